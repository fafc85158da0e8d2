#include "serve_world.h"

#include "must.h"
#include "temp_dir.h"

#include <fre/contribute.h>
#include <fre/net.h>
#include <fre/privacy.h>

#include <glob.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void ok(fre_status st, const fre_err *err)
{
    if (st != FRE_OK)
        (void)fprintf(stderr, "%s: %s\n", fre_status_text(st), err->text);
    must(st == FRE_OK);
}

/* A plan in which sixty of a thousand are enough. */
static void make_plan(fre_plan *plan, bool two)
{
    fre_plan_request q;
    fre_err err = {.text = ""};

    fre_plan_request_init(&q);
    q.epsilon = 20;
    q.delta = 1e-3;
    q.threshold = 30;
    q.population = 200;
    q.dim = WORLD_DIM;
    q.noise = FRE_NOISE_DISCRETE;
    q.dist = (fre_distributed){.on = true,
                               .cover = true,
                               .one_contact = !two,
                               .server_noise = !two,
                               .curious = 1,
                               .dropout = two ? .1 : 0};
    ok(fre_plan_make(plan, &q, &err), &err);
}

static void make(world *w, const char *folder, bool tls, bool two, const world_times *t,
                 const char *store, const fre_rehearsal *beside)
{
    const int64_t now = fre_clock_unix();
    fre_plan plan;
    const fre_rehearsal_opts o = {.folder = folder,
                                  .plan = &plan,
                                  .batch_min = 10,
                                  .tls = tls,
                                  .store = store,
                                  .beside = beside,
                                  .open = now + t->open,
                                  .exchange_close = now + t->exchange_close,
                                  .tags_close = now + t->tags_close,
                                  .shares_close = now + t->shares_close,
                                  .end = now + t->end};
    fre_err err = {.text = ""};

    *w = (world){.r = NULL};
    make_plan(&plan, two);
    ok(fre_rehearsal_make(&w->r, &o, &err), &err);
    ok(fre_agreement_new(&w->agreement, &w->r->terms, &err), &err);
}

void world_make(world *w, const char *folder, bool tls, bool two, const world_times *t,
                const char *store)
{
    make(w, folder, tls, two, t, store, NULL);
}

void world_make_beside(world *w, const char *folder, const world *beside, const world_times *t)
{
    const fre_collection *c = &beside->r->terms;

    make(w, folder, strncmp(c->relay_url, "https", 5) == 0, !c->one_contact, t, NULL, beside->r);
}

/* The hexadecimal digits of a key's file. */
static void read_ticket_key(uint8_t key[FRE_TICKET_KEY_BYTES], const char *folder)
{
    char path[512], hex[2 * FRE_TICKET_KEY_BYTES];

    (void)snprintf(path, sizeof path, "%s/ticket.key", folder);
    must(read_file(path, hex, sizeof hex) == (long)sizeof hex);
    for (size_t i = 0; i < FRE_TICKET_KEY_BYTES; i++) {
        const char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};

        key[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
}

static uint16_t port_of(const char *url)
{
    return (uint16_t)strtoul(strrchr(url, ':') + 1, NULL, 10);
}

/* The first that there is, owned; NULL: none. */
static char *certificate_in(const char *folder, fre_role role)
{
    char pattern[512], *path = NULL;
    glob_t found;

    (void)snprintf(pattern, sizeof pattern, "%s/%s/*.certificate.pem", folder, fre_role_name(role));
    if (glob(pattern, 0, NULL, &found) != 0)
        return NULL;
    must((path = strdup(found.gl_pathv[0])) != NULL);
    globfree(&found);
    return path;
}

void world_open(world *w, const char *folder)
{
    fre_err err = {.text = ""};

    *w = (world){.r = calloc(1, sizeof *w->r)};
    must(w->r && (w->r->folder = strdup(folder)) &&
         asprintf(&w->r->terms_path, "%s/terms/terms.json", folder) > 0);
    ok(fre_terms_read(&w->r->terms, w->r->terms_path, &err), &err);
    ok(fre_agreement_new(&w->agreement, &w->r->terms, &err), &err);
    read_ticket_key(w->r->ticket_key, folder);
    w->r->clients = port_of(w->r->terms.relay_url);
    for (unsigned role = FRE_ROLE_TAG; role < WORLD_ROLES; role++) {
        w->r->peer[role] = port_of(fre_collection_party(&w->r->terms, (fre_role)role).url);
        w->r->certificate[role] = certificate_in(folder, (fre_role)role);
    }
}

/* ---- servers ---------------------------------------------------------------------------------------------- */

static void print_line(void *ctx, const char *json)
{
    (void)ctx;
    if (getenv("FRE_TEST_LOG"))
        (void)fprintf(stderr, "%s\n", json);
}

void world_start(world *w, fre_role role)
{
    const fre_serve_log log = {.line = print_line};
    fre_err err = {.text = ""};

    ok(fre_config_read(&w->config[role], w->r->config[role], role, &err), &err);
    ok(fre_serve_start(&w->serve[role], w->config[role], NULL, &log, &err), &err);
}

void world_stop(world *w, fre_role role)
{
    fre_serve_stop(w->serve[role], 10);
    fre_config_free(w->config[role]);
    w->serve[role] = NULL;
    w->config[role] = NULL;
}

void world_start_all(world *w)
{
    for (unsigned role = FRE_ROLE_TAG; role < WORLD_ROLES; role++)
        world_start(w, (fre_role)role);
}

void world_end(world *w)
{
    for (unsigned role = FRE_ROLE_TAG; role < WORLD_ROLES; role++)
        world_stop(w, (fre_role)role);
    fre_agreement_free(w->agreement);
    fre_rehearsal_free(w->r);
}

/* ---- devices ----------------------------------------------------------------------------------------------- */

void world_embedding(float x[WORLD_DIM], uint32_t cluster)
{
    double square = 0;

    for (uint32_t j = 0; j < WORLD_DIM; j++) {
        x[j] = (float)((cluster + 2) * (j + 5) * 37 % 31) - 15.3f;
        square += (double)x[j] * (double)x[j];
    }
    for (uint32_t j = 0; j < WORLD_DIM; j++)
        x[j] = (float)((double)x[j] / sqrt(square));
}

size_t world_ticket(uint8_t ticket[FRE_TICKET_BYTES], char name[32], const world *w, uint32_t i)
{
    size_t n = 0;
    fre_err err = {.text = ""};

    (void)snprintf(name, 32, "device-%u", i);
    ok(fre_ticket_make(ticket, &n, w->r->ticket_key, &fre_agreement_wire(w->agreement)->id, name,
                       &err),
       &err);
    return n;
}

fre_status world_contribute(const world *w, uint32_t i, uint32_t cluster, bool once)
{
    float x[WORLD_DIM] = {0};
    uint8_t ticket[FRE_TICKET_BYTES];
    char name[32], state[512];
    bool already;
    fre_err err = {.text = ""};
    fre_contribute_opts o = {
        .terms = w->agreement, .state = state, .x = x, .n = cluster != UINT32_MAX, .once = once};
    fre_status st;

    if (cluster != UINT32_MAX)
        world_embedding(x, cluster);
    o.credentials = (fre_bytes){ticket, world_ticket(ticket, name, w, i)};
    (void)snprintf(state, sizeof state, "%s/%s", w->r->folder, name);
    st = fre_contribute(&already, &o, &err);
    if (st != FRE_OK && getenv("FRE_TEST_LOG"))
        (void)fprintf(stderr, "device %u: %s\n", i, err.text);
    return st;
}

typedef struct one {
    const world *w;
    uint32_t i, cluster;
    fre_status st;
} one;

static void *run_device(void *ctx)
{
    one *o = ctx;

    o->st = world_contribute(o->w, o->i, o->cluster, false);
    return NULL;
}

bool world_contribute_all(const world *w, uint32_t first, uint32_t n, uint32_t clusters)
{
    bool in_time = true;
    one *all = calloc(n, sizeof *all);
    pthread_t *thread = calloc(n, sizeof *thread);

    must(all && thread);
    for (uint32_t i = 0; i < n; i++) {
        all[i] = (one){.w = w, .i = first + i, .cluster = i % clusters};
        must(pthread_create(&thread[i], NULL, run_device, &all[i]) == 0);
    }
    for (uint32_t i = 0; i < n; i++) {
        must(pthread_join(thread[i], NULL) == 0);
        must(all[i].st == FRE_OK || all[i].st == FRE_E_REFUSED);
        in_time = in_time && all[i].st == FRE_OK;
    }
    free(all);
    free(thread);
    return in_time;
}

unsigned world_get(const world *w, uint16_t port, bool tls, const char *path, fre_buf *out)
{
    char url[64];
    const fre_http_client_opts o = {
        .url = url, .pin = tls ? w->r->terms.relay_pin : NULL, .total_seconds = 5};
    fre_http_client *c = NULL;
    unsigned status = 0;
    fre_err err = {.text = ""};

    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%u", tls ? "https" : "http", port);
    ok(fre_http_client_new(&c, &o, &err), &err);
    if (fre_http_get(c, out, &status, NULL, path, &err) != FRE_OK)
        status = 0;
    fre_http_client_free(c);
    return status;
}

static int by_size(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

int world_release(const world *w, unsigned seconds, uint32_t *count, uint32_t max)
{
    const fre_wire *wire = fre_agreement_wire(w->agreement);
    const bool tls = strncmp(w->r->terms.relay_url, "https", 5) == 0;
    const int64_t end = fre_clock_ms() + 1000 * (int64_t)seconds;
    char id[2 * FRE_HASH_BYTES + 1], path[128];
    fre_release_part part;
    fre_buf b;
    fre_err err = {.text = ""};

    fre_hex(id, wire->id.b, sizeof wire->id.b);
    (void)snprintf(path, sizeof path, "/fre/v2/%s/release/0", id);
    fre_buf_init(&b, FRE_WIRE_MESSAGE_MAX);
    while (world_get(w, w->r->clients, tls, path, &b) != 200) {
        fre_buf_wipe(&b);
        if (fre_clock_ms() > end)
            return -1;
        (void)usleep(200000);
    }
    ok(fre_release_part_decode(&part, wire, (fre_bytes){b.p, b.n}, &err), &err);
    must(part.n <= max);
    for (uint32_t i = 0; i < part.n; i++) {
        fre_release_cell cell;
        float x[WORLD_DIM];

        fre_release_part_at(&cell, x, &part, i);
        count[i] = cell.count;
    }
    qsort(count, part.n, sizeof *count, by_size);
    fre_buf_wipe(&b);
    return (int)part.n;
}
