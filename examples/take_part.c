/* examples/take_part.c - a user's device in the distributed mode: the calls of fre/server.h in their
 * order, in the functions that begin with device_.  So that it runs by itself, 280 devices, the relay,
 * the issuer and both servers are in this one program, and the network is a function call: a real
 * device has device_post() send over HTTP instead, and asks its system for the time.
 *
 *   cc take_part.c $(pkg-config --cflags --libs fre-e2t) -o take_part
 *   ./take_part
 */
#include <fre/server.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM 16u      /* of an embedding; 384 with the bundled model */
#define GROUPS 3u    /* texts that many have ... */
#define GROUP 80u    /* ... and how many */
#define DEVICES 280u /* the other 40 have a text that nobody else has */
#define STEP 25      /* seconds between two looks at the clock */

static void must(fre_status st, const fre_err *err)
{
    if (st == FRE_OK)
        return;
    (void)fprintf(stderr, "%s\n", err && err->text[0] ? err->text : fre_status_text(st));
    exit(fre_status_exit_code(st));
}

static fre_bytes view(const fre_buf *b)
{
    return (fre_bytes){.p = b->p, .n = b->n};
}

/* ---- rows on a disk --------------------------------------------------------------------------- */

#define ROWS_MAX 8u

typedef struct row {
    uint8_t table;
    fre_buf key, value;
} row;
typedef struct disk {
    row row[ROWS_MAX];
    size_t n;
} disk;

static void row_write(row *r, const fre_row *from)
{
    r->table = from->table;
    fre_buf_init(&r->key, 64);
    fre_buf_init(&r->value, FRE_WIRE_MESSAGE_MAX);
    must(fre_buf_append(&r->key, from->key.p, from->key.n), NULL);
    must(fre_buf_append(&r->value, from->value.p, from->value.n), NULL);
}

static void row_erase(disk *d, size_t i)
{
    fre_buf_wipe(&d->row[i].key);
    fre_buf_wipe(&d->row[i].value);
    d->row[i] = d->row[--d->n];
}

/* A file of the device, readable by its owner alone; all of it, or nothing. */
static void disk_commit(disk *d, const fre_delta *rows)
{
    size_t at = 0;
    fre_row r;

    while (fre_delta_next(rows, &at, &r)) {
        for (size_t i = 0; i < d->n; i++)
            if (d->row[i].table == r.table && d->row[i].key.n == r.key.n &&
                (r.key.n == 0 || memcmp(d->row[i].key.p, r.key.p, r.key.n) == 0))
                row_erase(d, i);
        if (!r.erase && d->n < ROWS_MAX)
            row_write(&d->row[d->n++], &r);
    }
}

static void disk_wipe(disk *d)
{
    while (d->n > 0)
        row_erase(d, 0);
}

/* ---- the device ----------------------------------------------------------------------------------- */

typedef struct device {
    uint32_t name; /* its account: the issuer knows it, and nobody else */
    float x[DIM];  /* its text's embedding: fre_embed_texts */
    fre_server *client;
    disk disk;
    double spent;   /* its owner's ledger: fre/ledger.h */
    fre_host host;  /* its disk and its network */
    fre_links *net; /* in place of HTTP */
} device;

/* Called before anything leaves: what is not on disk then may be said otherwise after a crash. */
static fre_status device_keep(void *ctx, fre_server *x, const fre_delta *rows)
{
    device *d = ctx;

    (void)x;
    disk_commit(&d->disk, rows);
    return FRE_OK;
}

/* One message to the relay, to whom alone a device speaks; its answer, if one comes. */
static fre_status device_post(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                              fre_buf *answer)
{
    const device *d = ctx;

    (void)x;
    return fre_links_carry(d->net, to, message, answer);
}

/* fresh: coin and all other randomness are drawn here, once and for all. */
static void device_make(device *d, const fre_agreement *terms, bool fresh)
{
    const fre_client_setup setup = {.x = d->x,
                                    .n = 1,
                                    .credentials = {(const uint8_t *)&d->name, sizeof d->name},
                                    .fresh = fresh};
    fre_err err = {.text = ""};

    must(fre_server_new_client(&d->client, terms, &setup, &err), &err);
}

/* The budget is spent before anything is sent, whether there will be a release or not. */
static void device_begin(device *d, const fre_agreement *terms, fre_links *net)
{
    const double epsilon = fre_agreement_wire(terms)->c.epsilon;

    d->net = net;
    d->host = (fre_host){.ctx = d, .keep = device_keep, .carry = device_post};
    if (d->spent + epsilon > 10) /* the owner's budget */
        return;
    d->spent += epsilon;
    device_make(d, terms, true);
}

/* The device is switched off and on again. */
static void device_restart(device *d, const fre_agreement *terms)
{
    fre_err err = {.text = ""};

    if (!d->client || d->disk.n == 0)
        return; /* it has not sent anything yet */
    fre_server_free(d->client);
    device_make(d, terms, false);
    for (size_t i = 0; i < d->disk.n; i++) {
        const row *r = &d->disk.row[i];
        const fre_row on_disk = {.table = r->table, .key = view(&r->key), .value = view(&r->value)};

        must(fre_server_restore(d->client, &on_disk, &err), &err);
    }
    must(fre_server_restore(d->client, NULL, &err), &err);
}

/* Whenever the device is awake.  The machine says what is due now, at times that it drew; what has no
 * answer is due again next time, byte for byte. */
static void device_wakes(device *d, int64_t now)
{
    size_t letters = d->client ? 1 : 0; /* no budget was left for it */

    for (unsigned i = 0; i < 2 && letters > 0; i++)
        must(fre_server_step(d->client, &d->host, &letters, now), NULL);
}

/* What the relay publishes; its signature is checked here. */
static void device_reads(device *d, fre_bytes part, int64_t now)
{
    fre_buf answer;

    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    must(fre_server_take(d->client, &d->host, &answer, part, now), NULL);
    fre_buf_wipe(&answer);
}

/* ---- the servers ---------------------------------------------------------------------------------- */

/* The issuer's account system: everybody with a number has an account. */
static fre_status who_is(void *ctx, uint8_t name[32], fre_bytes credentials)
{
    (void)ctx;
    if (credentials.n != sizeof(uint32_t))
        return FRE_E_REFUSED;
    memset(name, 0, 32);
    memcpy(name, credentials.p, credentials.n);
    return FRE_OK;
}

/* Secrets of each role, made on its own host; only public halves meet in the terms. */
typedef struct secrets {
    fre_server_keys keys[FRE_ROLE_ISSUER + 1]; /* by role */
    fre_oprf_key tag, issuer;
} secrets;

static void draw_secrets(secrets *s, fre_collection_parts *p)
{
    fre_sign_pk *const sign[] = {NULL, &p->tag_sign, &p->syn_sign, &p->relay_sign, &p->issuer_sign};
    fre_rng r;

    must(fre_rng_init(&r), NULL);
    fre_rng_bytes(&r, p->contribution, sizeof p->contribution);
    must(fre_oprf_key_generate(&s->tag, &r), NULL);
    must(fre_oprf_key_generate(&s->issuer, &r), NULL);
    for (unsigned role = FRE_ROLE_TAG; role <= FRE_ROLE_ISSUER; role++) {
        must(fre_hpke_keygen(&s->keys[role].seal, &r), NULL);
        must(fre_sign_keygen(&s->keys[role].sign, sign[role], &r), NULL);
    }
    fre_rng_wipe(&r);
    p->oprf_pk = s->tag.pub;
    p->issuer_pk = s->issuer.pub;
    p->tag_seal = s->keys[FRE_ROLE_TAG].seal.pk;
    p->syn_seal = s->keys[FRE_ROLE_SYN].seal.pk;
    p->issuer_seal = s->keys[FRE_ROLE_ISSUER].seal.pk;
}

static void make_terms(fre_collection *c, secrets *s)
{
    fre_collection_parts parts = {.aead = FRE_HPKE_AES_128_GCM,
                                  .batch_min = 100,
                                  .relay_url = "http://localhost:8001",
                                  .tag_url = "http://localhost:8002",
                                  .syn_url = "http://localhost:8003",
                                  .issuer_url = "http://localhost:8004",
                                  .open = 1000,
                                  .exchange_close = 2000,
                                  .tags_close = 3000,
                                  .shares_close = 3000,
                                  .end = 4000};
    fre_plan_request q;
    fre_plan plan;
    fre_err err = {.text = ""};

    fre_plan_request_init(&q);
    q.epsilon = 8;
    q.delta = 1e-4;
    q.threshold = 40;
    q.population = 1000;
    q.dim = DIM;
    q.noise = FRE_NOISE_DISCRETE;
    q.dist = (fre_distributed){
        .on = true, .cover = true, .one_contact = true, .server_noise = true, .curious = 1};
    must(fre_plan_make(&plan, &q, &err), &err);
    draw_secrets(s, &parts);
    must(fre_collection_from_plan(c, &plan, &parts, &err), &err);
}

/* Their rows are dropped here: a real server commits them to its database. */
static void make_servers(fre_links *net, const fre_agreement *terms, secrets *s)
{
    static const char statement[] = "an example";
    const fre_issuer_host accounts = {.person = who_is};
    fre_server **x = net->server;
    fre_err err = {.text = ""};

    must(fre_server_new_relay(&x[FRE_ROLE_RELAY], terms, &s->keys[FRE_ROLE_RELAY].sign, &err),
         &err);
    must(fre_server_new_issuer(&x[FRE_ROLE_ISSUER], terms, &s->keys[FRE_ROLE_ISSUER], &s->issuer,
                               &accounts, &err),
         &err);
    must(fre_server_new_tagging(&x[FRE_ROLE_TAG], terms, &s->keys[FRE_ROLE_TAG], &s->tag, &err),
         &err);
    must(fre_server_new_synthesis(&x[FRE_ROLE_SYN], terms, &s->keys[FRE_ROLE_SYN],
                                  (fre_bytes){(const uint8_t *)statement, sizeof statement - 1},
                                  &err),
         &err);
}

/* Until the release is with the relay, or nothing is to come. */
static void servers_talk(fre_links *net)
{
    while (fre_server_phase(net->server[FRE_ROLE_RELAY]) < FRE_PHASE_DONE)
        for (unsigned role = FRE_ROLE_TAG; role <= FRE_ROLE_ISSUER; role++)
            must(fre_server_step(net->server[role], &net->host, NULL, net->now), NULL);
}

/* ---- all of it ------------------------------------------------------------------------------------ */

/* Points on a sphere: a group's all the same, the others' far from everything. */
static void embed(float x[DIM], uint32_t i)
{
    memset(x, 0, DIM * sizeof *x);
    if (i < GROUPS * GROUP)
        x[i % GROUPS] = 1;
    else
        x[GROUPS + i % 8] = (i % 2 == 0 ? 1.0f : -1.0f) * (1 - 0.01f * (float)(i % 40));
}

static void print_release(const fre_server *x, const fre_wire *w)
{
    fre_err err = {.text = ""};

    for (uint32_t part = 0; part < fre_server_release_parts(x); part++) {
        fre_release_part m;

        must(fre_release_part_decode(&m, w, fre_server_release_view(x, part), &err), &err);
        (void)printf("released %" PRIu32 " cells\n", m.n);
        for (uint32_t i = 0; i < m.n; i++) {
            fre_release_cell cell;
            float c[DIM];

            fre_release_part_at(&cell, c, &m, i);
            (void)printf("about %.0f users: %.2f %.2f %.2f ...\n",
                         (double)cell.count * (double)FRE_P_ONE / (double)w->c.p32, (double)c[0],
                         (double)c[1], (double)c[2]);
        }
    }
}

static void collect(device *all, fre_links *net, const fre_agreement *terms)
{
    const fre_collection *c = &fre_agreement_wire(terms)->c;
    const fre_server *relay = net->server[FRE_ROLE_RELAY];

    for (net->now = c->open; net->now < c->tags_close; net->now += STEP)
        for (uint32_t i = 0; i < DEVICES; i++) {
            device_wakes(&all[i], net->now);
            if ((net->now / STEP + i) % 20 == 0)
                device_restart(&all[i], terms);
        }
    net->now = c->tags_close;
    servers_talk(net);
    for (uint32_t part = 0; part < fre_server_release_parts(relay); part++)
        device_reads(&all[0], fre_server_release_view(relay, part), net->now);
}

int main(void)
{
    static device devices[DEVICES];
    static secrets keys;
    fre_links net;
    fre_collection c;
    fre_agreement *terms = NULL; /* one for all machines of a process */
    fre_err err = {.text = ""};

    must(fre_core_harden(), &err);
    make_terms(&c, &keys);
    must(fre_agreement_new(&terms, &c, &err), &err); /* do the terms keep their claim? */
    fre_links_init(&net);
    make_servers(&net, terms, &keys);
    fre_wipe(&keys, sizeof keys);
    for (uint32_t i = 0; i < DEVICES; i++) {
        devices[i].name = i;
        embed(devices[i].x, i);
        device_begin(&devices[i], terms, &net);
    }
    collect(devices, &net, terms);
    print_release(devices[0].client, fre_agreement_wire(terms));

    for (uint32_t i = 0; i < DEVICES; i++) {
        fre_server_free(devices[i].client);
        disk_wipe(&devices[i].disk);
    }
    for (unsigned role = 0; role <= FRE_ROLE_ISSUER; role++)
        fre_server_free(net.server[role]);
    fre_links_wipe(&net);
    fre_agreement_free(terms);
    return 0;
}
