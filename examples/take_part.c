/* examples/take_part.c - a user's device in the distributed mode: the calls of fre/parties.h in their
 * order, in the functions that begin with device_.  So that it runs by itself, 280 devices, the relay
 * and both servers are in this one program, and the network is a function call: a real device has
 * post() send over HTTP instead, and asks its system for the time.
 *
 *   cc take_part.c $(pkg-config --cflags --libs fre-e2t) -o take_part
 *   ./take_part
 */
#include <fre/parties.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM 16u      /* of an embedding; 384 with the bundled model */
#define GROUPS 3u    /* texts that many have ... */
#define GROUP 80u    /* ... and how many */
#define DEVICES 280u /* the other 40 have a text that nobody else has */
#define STEPS 3u     /* in each phase; a device needs two of its own choosing */

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

/* ---- the parties ------------------------------------------------------------------------------- */

typedef struct servers {
    fre_relay *relay;
    fre_tagging *tagging;
    fre_synthesis *synthesis;
} servers;

typedef struct device {
    uint32_t name; /* by which the relay knows it */
    float x[DIM];  /* its text's embedding: fre_embed_texts */
    fre_client *client;
    fre_buf disk; /* a file of the device, readable by its owner alone */
    double spent; /* its owner's ledger: fre/ledger.h */
} device;

/* ---- the device ----------------------------------------------------------------------------------- */

/* Called before anything leaves: what is not on disk then may be said otherwise after a crash. */
static fre_status device_keep(void *ctx, fre_bytes state)
{
    device *d = ctx;

    fre_buf_wipe(&d->disk);
    return fre_buf_append(&d->disk, state.p, state.n);
}

/* Called before the first report leaves, again after a restart; the same collection counts once. */
static fre_status device_spend(void *ctx, const fre_collection_id *id, double epsilon, double delta)
{
    device *d = ctx;

    (void)id;
    (void)delta;
    if (d->spent <= 0)
        d->spent = epsilon;
    return d->spent <= 10 ? FRE_OK : FRE_E_REFUSED; /* the owner's budget */
}

static fre_client_host device_host(device *d)
{
    return (fre_client_host){.ctx = d, .keep = device_keep, .spend = device_spend};
}

/* Coin and all other randomness are drawn here, once and for all. */
static void device_begin(device *d, const fre_client_host *host, const fre_terms *terms)
{
    fre_err err = {.text = ""};
    fre_rng r;

    must(fre_rng_init(&r), NULL);
    must(fre_client_new(&d->client, terms, d->x, 1, host, &r, &err), &err);
    fre_rng_wipe(&r);
    fre_buf_init(&d->disk, 1u << 20);
    must(fre_client_save(d->client, &d->disk), NULL);
}

/* The device is switched off and on again. */
static void device_restart(device *d, const fre_client_host *host, const fre_terms *terms)
{
    fre_err err = {.text = ""};

    fre_client_free(d->client);
    must(fre_client_load(&d->client, terms, d->x, 1, host, view(&d->disk), &err), &err);
}

/* One message to the relay; what it answers.  An exchange goes on to S_tag. */
static void post(servers *s, const device *d, uint64_t cookie, fre_bytes m, fre_buf *reply,
                 int64_t now)
{
    const fre_bytes name = {(const uint8_t *)&d->name, sizeof d->name};
    fre_rejection why;

    if (!fre_client_is_exchange(cookie)) {
        must(fre_relay_submit(s->relay, reply, &why, name, m, now), NULL);
        return;
    }
    must(fre_relay_exchange(s->relay, reply, &why, name, m, now), NULL);
    if (why == FRE_NOT_REJECTED)
        must(fre_tagging_exchange(s->tagging, reply, &why, m, now), NULL);
}

/* Whenever the device is awake: read what is published, send what is due, take the answers.  What has
 * no answer is due again next time, byte for byte. */
static void device_wakes(device *d, servers *s, int64_t now)
{
    const fre_bytes list = fre_relay_list_view(s->relay); /* a real one fetches it */
    fre_err err = {.text = ""};
    fre_outbox out;
    fre_buf reply;

    if (list.n > 0 && fre_client_stage(d->client) == FRE_STAGE_COUNTING)
        must(fre_client_read(d->client, list, now, &err), &err);
    fre_outbox_init(&out);
    must(fre_client_tick(d->client, &out, now), NULL);
    for (size_t i = 0; i < out.n; i++) {
        fre_buf_init(&reply, FRE_WIRE_MESSAGE_MAX);
        post(s, d, out.item[i].cookie, view(&out.item[i].message), &reply, now);
        must(fre_client_answered(d->client, out.item[i].cookie, view(&reply), now), NULL);
        fre_buf_wipe(&reply);
    }
    fre_outbox_wipe(&out);
}

/* ---- the servers ---------------------------------------------------------------------------------- */

/* A message to a server, and its answer back to the sender. */
static void carry(servers *s, fre_role from, const fre_outbox_item *item, int64_t now)
{
    const fre_bytes m = view(&item->message);
    fre_rejection why;
    fre_buf reply;

    fre_buf_init(&reply, FRE_WIRE_MESSAGE_MAX);
    if (item->to == FRE_ROLE_TAG)
        must(fre_tagging_handle(s->tagging, &reply, &why, m, now), NULL);
    else if (item->to == FRE_ROLE_SYN)
        must(fre_synthesis_handle(s->synthesis, &reply, &why, m, now), NULL);
    else
        must(fre_relay_handle(s->relay, &reply, &why, m, now), NULL);
    if (from == FRE_ROLE_TAG)
        must(fre_tagging_answered(s->tagging, item->cookie, view(&reply), now), NULL);
    else if (from == FRE_ROLE_SYN)
        must(fre_synthesis_answered(s->synthesis, item->cookie, view(&reply), now), NULL);
    else
        must(fre_relay_answered(s->relay, item->cookie, view(&reply), now), NULL);
    fre_buf_wipe(&reply);
}

/* Until the servers have nothing to tell each other. */
static void servers_talk(servers *s, int64_t now)
{
    size_t said;

    do {
        said = 0;
        for (unsigned role = FRE_ROLE_TAG; role <= FRE_ROLE_RELAY; role++) {
            fre_outbox out;

            fre_outbox_init(&out);
            if (role == FRE_ROLE_TAG)
                must(fre_tagging_tick(s->tagging, &out, now), NULL);
            else if (role == FRE_ROLE_SYN)
                must(fre_synthesis_tick(s->synthesis, &out, now), NULL);
            else
                must(fre_relay_tick(s->relay, &out, now), NULL);
            for (size_t i = 0; i < out.n; i++)
                carry(s, (fre_role)role, &out.item[i], now);
            said += out.n;
            fre_outbox_wipe(&out);
        }
    } while (said > 0);
}

/* Terms, keys and machines.  Each party makes its keys on its own host; only public halves meet. */
static void servers_begin(servers *s, fre_collection *c)
{
    static const char statement[] = "an example";
    const fre_relay_opts relay_opts = {.batch_min = 100};
    fre_collection_parts parts = {.aead = FRE_HPKE_AES_128_GCM,
                                  .batch_min = 1,
                                  .relay_url = "http://localhost:8001",
                                  .tag_url = "http://localhost:8002",
                                  .syn_url = "http://localhost:8003",
                                  .issuer_url = "http://localhost:8004",
                                  .open = 1000,
                                  .exchange_close = 1999,
                                  .tags_close = 2000,
                                  .shares_close = 3000,
                                  .end = 4000};
    fre_plan_request q;
    fre_tagging_keys tag;
    fre_synthesis_keys syn;
    fre_sign_sk relay;
    fre_oprf_key oprf;
    fre_plan plan;
    fre_err err = {.text = ""};
    fre_rng r;

    fre_plan_request_init(&q);
    q.epsilon = 8;
    q.delta = 1e-4;
    q.threshold = 40;
    q.population = 1000;
    q.dim = DIM;
    q.noise = FRE_NOISE_DISCRETE;
    q.dist = (fre_distributed){.on = true, .cover = true, .curious = 1, .dropout = .1};
    must(fre_plan_make(&plan, &q, &err), &err);
    must(fre_rng_init(&r), NULL);
    fre_rng_bytes(&r, parts.contribution, sizeof parts.contribution);
    /* These machines ask no issuer: keys that nobody holds. */
    must(fre_oprf_key_generate(&oprf, &r), NULL);
    must(fre_hpke_keygen(&tag.seal, &r), NULL);
    must(fre_sign_keygen(&relay, &parts.issuer_sign, &r), NULL);
    parts.issuer_pk = oprf.pub;
    parts.issuer_seal = tag.seal.pk;
    must(fre_oprf_key_generate(&oprf, &r), NULL);
    must(fre_hpke_keygen(&tag.seal, &r), NULL);
    must(fre_hpke_keygen(&syn.seal, &r), NULL);
    must(fre_sign_keygen(&tag.sign, &parts.tag_sign, &r), NULL);
    must(fre_sign_keygen(&syn.sign, &parts.syn_sign, &r), NULL);
    must(fre_sign_keygen(&relay, &parts.relay_sign, &r), NULL);
    parts.oprf_pk = oprf.pub;
    parts.tag_seal = tag.seal.pk;
    parts.syn_seal = syn.seal.pk;
    must(fre_collection_from_plan(c, &plan, &parts, &err), &err);
    must(fre_tagging_new(&s->tagging, c, &tag, &oprf, &r, &err), &err);
    must(fre_synthesis_new(&s->synthesis, c, &syn,
                           (fre_bytes){(const uint8_t *)statement, sizeof statement - 1}, &r, &err),
         &err);
    must(fre_relay_new(&s->relay, c, &relay_opts, &relay, &r, &err), &err);
    fre_hpke_keypair_wipe(&tag.seal);
    fre_hpke_keypair_wipe(&syn.seal);
    fre_sign_sk_wipe(&tag.sign);
    fre_sign_sk_wipe(&syn.sign);
    fre_sign_sk_wipe(&relay);
    fre_rng_wipe(&r);
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

static void print_release(const servers *s, const fre_wire *w)
{
    fre_err err = {.text = ""};

    for (uint32_t part = 0; part < fre_relay_release_parts(s->relay); part++) {
        fre_release_part m;

        must(fre_release_part_decode(&m, w, fre_relay_release_view(s->relay, part), &err), &err);
        (void)printf("released %" PRIu32 " cells\n", m.n);
        for (uint32_t i = 0; i < m.n; i++) {
            fre_release_cell cell;
            float x[DIM];

            fre_release_part_at(&cell, x, &m, i);
            (void)printf("about %.0f users: %.2f %.2f %.2f ...\n",
                         (double)cell.count * (double)FRE_P_ONE / (double)w->c.p32, (double)x[0],
                         (double)x[1], (double)x[2]);
        }
    }
}

int main(void)
{
    static device devices[DEVICES];
    static fre_client_host hosts[DEVICES];
    servers s;
    fre_collection c;
    fre_terms *terms = NULL; /* one for all devices of a process */
    fre_err err = {.text = ""};

    must(fre_core_harden(), &err);
    servers_begin(&s, &c);
    must(fre_terms_new(&terms, &c, &err), &err); /* do the terms keep their claim? */
    for (uint32_t i = 0; i < DEVICES; i++) {
        devices[i].name = i;
        embed(devices[i].x, i);
        hosts[i] = device_host(&devices[i]);
        device_begin(&devices[i], &hosts[i], terms);
    }
    for (int64_t now = c.open; now < c.open + STEPS; now++)
        for (uint32_t i = 0; i < DEVICES; i++)
            device_wakes(&devices[i], &s, now);
    servers_talk(&s, c.tags_close);
    for (uint32_t i = 0; i < DEVICES; i += 7)
        device_restart(&devices[i], &hosts[i], terms);
    for (int64_t now = c.tags_close; now < c.tags_close + STEPS; now++)
        for (uint32_t i = 0; i < DEVICES; i++)
            device_wakes(&devices[i], &s, now);
    servers_talk(&s, c.shares_close);
    print_release(&s, fre_terms_view(terms));

    for (uint32_t i = 0; i < DEVICES; i++) {
        fre_client_free(devices[i].client);
        fre_buf_wipe(&devices[i].disk);
    }
    fre_terms_free(terms);
    fre_relay_free(s.relay);
    fre_synthesis_free(s.synthesis);
    fre_tagging_free(s.tagging);
    return 0;
}
