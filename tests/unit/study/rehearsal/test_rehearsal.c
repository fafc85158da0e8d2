/* A collection over HTTP, whole: four roles with their listeners and stores, devices with their states. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/net.h>

#include "serve_world.h"
#include "temp_dir.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEVICES 120u

static const world_times usual = {
    .open = 1, .exchange_close = 8, .tags_close = 14, .shares_close = 14, .end = 120};
static const world_times two = {
    .open = 1, .exchange_close = 8, .tags_close = 13, .shares_close = 22, .end = 120};

/* A world of its own in the folder, with windows of time as small as this machine allows now: they are doubled
 * until nobody is late. */
typedef bool trial(world *w, void *ctx);
typedef struct kind {
    bool tls, two;
    const char *store;
} kind;

static void try(const kind *k, trial *f, void *ctx)
{
    bool in_time = false;

    for (int scale = 1; !in_time; scale *= 2) {
        const world_times *t = k->two ? &two : &usual;
        const world_times wide = {t->open, t->exchange_close * scale, t->tags_close * scale,
                                  t->shares_close * scale, t->end * scale};
        char folder[512];
        world w;

        assert_true(scale <= 32);
        (void)snprintf(folder, sizeof folder, "%s/%d", test_dir.path, scale);
        assert_int_equal(mkdir(folder, 0700), 0);
        world_make(&w, folder, k->tls, k->two, &wide, k->store);
        world_start_all(&w);
        in_time = f(&w, ctx);
        world_end(&w);
    }
}

static void must_release(const world *w)
{
    uint32_t count[8];

    assert_int_equal(world_release(w, 40, count, 8), 2);
    assert_true(count[0] > 0 && count[1] <= DEVICES / 2);
}

/* Keys are nowhere but under masks once the collection runs. */
static void must_be_masked(const world *w)
{
    for (unsigned role = FRE_ROLE_TAG; role < WORLD_ROLES; role++)
        if (w->r->once[role])
            assert_int_not_equal(access(w->r->once[role], F_OK), 0);
}

static bool one_contact(world *w, void *ctx)
{
    (void)ctx;
    if (!world_contribute_all(w, 0, DEVICES, 2))
        return false;
    must_release(w);
    must_be_masked(w);
    /* A second contribution sends nothing. */
    assert_int_equal(world_contribute(w, 0, 1, true), FRE_OK);
    return true;
}

static void from_keys_to_release(void **state)
{
    const kind k = {.tls = true};

    (void)state;
    try(&k, one_contact, NULL);
}

static void two_contacts(void **state)
{
    const kind k = {.tls = true, .two = true};

    (void)state;
    try(&k, one_contact, NULL);
}

/* ---- restarts: the keys come back from under their masks, and nothing is lost ------------------------- */

typedef struct crowd {
    const world *w;
    atomic_bool done, in_time;
} crowd;

static void *contribute_all(void *ctx)
{
    crowd *c = ctx;

    c->in_time = world_contribute_all(c->w, 0, DEVICES, 2);
    c->done = true;
    return NULL;
}

static bool restart_all(world *w, void *ctx)
{
    uint32_t count[8];
    crowd c = {.w = w};
    pthread_t devices;

    (void)ctx;
    assert_int_equal(pthread_create(&devices, NULL, contribute_all, &c), 0);
    (void)sleep(2); /* all keys are masked */
    for (unsigned i = 0; !c.done || (c.in_time && world_release(w, 0, count, 8) < 0); i++) {
        const fre_role role = (fre_role)(FRE_ROLE_TAG + i % 4);

        world_stop(w, role);
        world_start(w, role);
        (void)usleep(400000);
    }
    assert_int_equal(pthread_join(devices, NULL), 0);
    if (!c.in_time)
        return false;
    must_release(w);
    must_be_masked(w);
    return true;
}

static void every_role_is_restarted_all_the_time(void **state)
{
    const kind k = {.tls = true};

    (void)state;
    try(&k, restart_all, NULL);
}

/* ---- who may say what ------------------------------------------------------------------------------------- */

/* Status of a POST to a role's listener of peers, by who shows this role's own certificate. */
static unsigned post_as(const world *w, fre_role to, fre_role as, fre_bytes message,
                        fre_buf *answer)
{
    const uint8_t *const pins[] = {NULL, w->r->terms.tag_pin, w->r->terms.syn_pin,
                                   w->r->terms.relay_pin, w->r->terms.issuer_pin};
    char url[64], id[2 * FRE_HASH_BYTES + 1], path[128];
    fre_buf certificate, key;
    fre_http_client_opts o = {.url = url, .pin = pins[to], .total_seconds = 5};
    fre_http_client *c = NULL;
    fre_keys *keys = NULL;
    unsigned status = 0;
    fre_err err = {.text = ""};

    fre_buf_init(&certificate, FRE_NET_PEM_MAX);
    fre_buf_init(&key, FRE_NET_PEM_MAX);
    if (as != (fre_role)0) {
        char folder[512];

        (void)snprintf(folder, sizeof folder, "%s/%s", w->r->folder, fre_role_name(as));
        assert_int_equal(fre_keys_find(&keys, folder, NULL, &w->r->terms, as, &err), FRE_OK);
        assert_int_equal(
            fre_net_ed25519_certificate(&certificate, &key, fre_keys_server(keys)->sign.b, &err),
            FRE_OK);
        o.certificate_pem = (fre_bytes){certificate.p, certificate.n};
        o.key_pem = (fre_bytes){key.p, key.n};
    }
    (void)snprintf(url, sizeof url, "https://127.0.0.1:%u", w->r->peer[to]);
    fre_hex(id, fre_agreement_wire(w->agreement)->id.b, FRE_HASH_BYTES);
    (void)snprintf(path, sizeof path, "/fre/v2/%s", id);
    assert_int_equal(fre_http_client_new(&c, &o, &err), FRE_OK);
    if (fre_http_post(c, answer, &status, NULL, path, message, &err) != FRE_OK)
        status = 0;
    fre_http_client_free(c);
    fre_keys_free(keys);
    fre_buf_wipe(&certificate);
    fre_buf_wipe(&key);
    return status;
}

static fre_rejection rejection_of(fre_buf *answer)
{
    fre_rejection r = FRE_ACCEPTED;

    assert_int_equal(fre_rejection_decode(&r, (fre_bytes){answer->p, answer->n}, NULL), FRE_OK);
    fre_buf_wipe(answer);
    return r;
}

/* Encapsulated requests, which nobody signs, come from the relay alone: else S_syn would learn the tag of any
 * cell that it guesses.  Nobody without a certificate of these terms is heard at all. */
static void only_the_relay_asks_for_tags(void **state)
{
    static const world_times lasting = {
        .open = 1, .exchange_close = 600, .tags_close = 700, .shares_close = 700, .end = 800};
    static const uint8_t junk[200] = {FRE_COLLECTION_OHTTP_KEY_ID};
    const fre_bytes ask = {junk, sizeof junk};
    const uint8_t version[] = {2, FRE_WIRE_CARRY};
    fre_buf answer;
    world w;

    (void)state;
    world_make(&w, test_dir.path, true, false, &lasting, NULL);
    world_start_all(&w);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    (void)sleep(3); /* it is open */
    for (unsigned to = FRE_ROLE_TAG; to < WORLD_ROLES; to++) {
        assert_int_equal(post_as(&w, (fre_role)to, (fre_role)0, ask, &answer), 0);
        for (unsigned as = FRE_ROLE_TAG; as < WORLD_ROLES; as++) {
            const unsigned status = post_as(&w, (fre_role)to, (fre_role)as, ask, &answer);

            if (as == to) {
                assert_int_equal(status, 0); /* nobody is its own peer */
                continue;
            }
            assert_int_equal(status, 200);
            /* The machine of the right one opens it, and finds junk: also malformed, but not here. */
            assert_int_equal(rejection_of(&answer), FRE_REJECTED_MALFORMED);
        }
        if (to != FRE_ROLE_RELAY) {
            assert_int_equal(post_as(&w, (fre_role)to, FRE_ROLE_RELAY,
                                     (fre_bytes){version, sizeof version}, &answer),
                             200);
            assert_int_equal(rejection_of(&answer), FRE_REJECTED_MALFORMED);
        }
    }
    world_end(&w);
}

/* ---- health ------------------------------------------------------------------------------------------------ */

static bool has(const fre_buf *b, const char *text)
{
    return memmem(b->p, b->n, text, strlen(text)) != NULL;
}

static bool health(world *w, void *ctx)
{
    fre_buf b;

    (void)ctx;
    fre_buf_init(&b, 1u << 20);
    for (unsigned role = FRE_ROLE_TAG; role < WORLD_ROLES; role++) {
        assert_int_equal(world_get(w, w->r->health[role], false, "/healthz", &b), 200);
        fre_buf_wipe(&b);
        assert_int_equal(world_get(w, w->r->health[role], false, "/readyz", &b), 200);
        fre_buf_wipe(&b);
        assert_int_equal(world_get(w, w->r->health[role], false, "/metrics", &b), 200);
        assert_true(has(&b, "fre_ready 1\n") && has(&b, "# TYPE fre_phase gauge\n"));
        fre_buf_wipe(&b);
        assert_int_equal(world_get(w, w->r->health[role], false, "/fre/v2/log", &b), 404);
        fre_buf_wipe(&b);
    }
    if (!world_contribute_all(w, 0, DEVICES, 2)) /* over plain HTTP, which the loopback may have */
        return false;
    must_release(w);
    return true;
}

static void health_and_metrics(void **state)
{
    const kind k = {.tls = false};

    (void)state;
    try(&k, health, NULL);
}

/* The operator of any role cancels: all roles hear it. */
static void a_cancel_is_heard(void **state)
{
    char path[600];
    fre_buf b;
    world w;

    (void)state;
    world_make(&w, test_dir.path, true, false, &usual, NULL);
    world_start_all(&w);
    (void)sleep(2);
    (void)snprintf(path, sizeof path, "%s.cancel", w.r->terms_path);
    world_stop(&w, FRE_ROLE_TAG);
    world_stop(&w, FRE_ROLE_SYN);
    world_stop(&w, FRE_ROLE_ISSUER);
    write_file(path, "", 0);
    (void)sleep(3); /* the relay alone sees the file, and says so when they are back */
    assert_int_equal(unlink(path), 0);
    world_start(&w, FRE_ROLE_TAG);
    world_start(&w, FRE_ROLE_SYN);
    world_start(&w, FRE_ROLE_ISSUER);
    fre_buf_init(&b, 1u << 20);
    for (unsigned role = FRE_ROLE_TAG; role < WORLD_ROLES; role++) {
        char line[128], id[2 * FRE_HASH_BYTES + 1];
        bool void_now = false;

        fre_hex(id, fre_agreement_wire(w.agreement)->id.b, FRE_HASH_BYTES);
        (void)snprintf(line, sizeof line, "fre_phase{collection=\"%.16s\"} 7\n", id);
        for (unsigned i = 0; i < 100 && !void_now; i++) {
            (void)usleep(200000);
            assert_int_equal(world_get(&w, w.r->health[role], false, "/metrics", &b), 200);
            void_now = has(&b, line);
            fre_buf_wipe(&b);
        }
        assert_true(void_now);
    }
    assert_int_equal(world_contribute(&w, 1, 0, false), FRE_E_REFUSED);
    world_end(&w);
}

/* ---- the same users, exactly ------------------------------------------------------------------------------ */

/* Of commands alone, for a test that compares releases: servers that add no noise, and devices that draw from a seed and
 * their number.  What machines are made by is linked with these in front. */
static enum { EARNEST, EXACT_SERVERS, SEEDED_DEVICES } how_exact = EARNEST;

fre_status __real_fre_agreement_new(fre_agreement **out, const fre_collection *c, fre_err *err);
fre_status __wrap_fre_agreement_new(fre_agreement **out, const fre_collection *c, fre_err *err);
fre_status __real_fre_server_new_client(fre_server **out, const fre_agreement *a,
                                        const fre_client_setup *s, fre_err *err);
fre_status __wrap_fre_server_new_client(fre_server **out, const fre_agreement *a,
                                        const fre_client_setup *s, fre_err *err);

fre_status __wrap_fre_agreement_new(fre_agreement **out, const fre_collection *c, fre_err *err)
{
    static const uint8_t seed[FRE_SEED_BYTES] = "the same devices in every world";
    const fre_status st = __real_fre_agreement_new(out, c, err);

    if (st == FRE_OK && how_exact != EARNEST)
        fre_agreement_rehearse(*out, how_exact == SEEDED_DEVICES ? seed : NULL,
                               how_exact == EXACT_SERVERS);
    return st;
}

/* The number is in its ticket: a length, then "device-N", then what looks like anything. */
fre_status __wrap_fre_server_new_client(fre_server **out, const fre_agreement *a,
                                        const fre_client_setup *s, fre_err *err)
{
    fre_client_setup numbered = *s;

    for (size_t i = sizeof "device-"; how_exact == SEEDED_DEVICES && i <= s->credentials.p[0]; i++)
        numbered.number = 10 * numbered.number + (uint64_t)(s->credentials.p[i] - '0');
    return __real_fre_server_new_client(out, a, &numbered, err);
}

/* A server of the program, but that it is exact, until SIGTERM. */
static int serve(char **words)
{
    fre_config *config = NULL;
    fre_serve_keeper *keeper = NULL;
    fre_serve *s = NULL;
    fre_role role;
    sigset_t stop;
    int sig;
    fre_err err = {.text = ""};

    how_exact = EXACT_SERVERS;
    (void)sigemptyset(&stop);
    (void)sigaddset(&stop, SIGTERM);
    (void)pthread_sigmask(SIG_BLOCK, &stop, NULL);
    assert_true(fre_role_of(&role, words[0]));
    if (fre_serve_keeper_start(&keeper, &err) != FRE_OK ||
        fre_config_read(&config, words[1], role, &err) != FRE_OK ||
        fre_serve_start(&s, config, keeper, NULL, &err) != FRE_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        return 1;
    }
    (void)sigwait(&stop, &sig);
    fre_serve_stop(s, 10);
    fre_serve_keeper_stop(keeper);
    fre_config_free(config);
    return 0;
}

static void print_mark(const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        (void)printf("%02x", ((const uint8_t *)p)[i]);
    (void)printf("\n");
}

static int by_bytes(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(float) * (WORLD_DIM + 1));
}

/* Every cell: count and centroid as hexadecimal digits, sorted. */
static int cells(char **words)
{
    struct {
        uint32_t count;
        float x[WORLD_DIM];
    } all[8];
    char path[128], id[2 * FRE_HASH_BYTES + 1];
    fre_release_part part;
    fre_buf b;
    world w;

    world_open(&w, words[0]);
    fre_hex(id, fre_agreement_wire(w.agreement)->id.b, FRE_HASH_BYTES);
    (void)snprintf(path, sizeof path, "/fre/v2/%s/release/0", id);
    fre_buf_init(&b, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(world_get(&w, w.r->clients, true, path, &b), 200);
    assert_int_equal(fre_release_part_decode(&part, fre_agreement_wire(w.agreement),
                                             (fre_bytes){b.p, b.n}, NULL),
                     FRE_OK);
    assert_true(part.n <= 8);
    for (uint32_t i = 0; i < part.n; i++) {
        fre_release_cell cell;

        fre_release_part_at(&cell, all[i].x, &part, i);
        all[i].count = cell.count;
    }
    qsort(all, part.n, sizeof *all, by_bytes);
    for (uint32_t i = 0; i < part.n; i++)
        print_mark(&all[i], sizeof *all);
    fre_buf_wipe(&b);
    world_end(&w);
    return 0;
}

/* ---- for tests with processes, which start servers themselves ------------------------------------------- */

static int make(char **words)
{
    const bool two_contacts = strcmp(words[3], "two") == 0;
    const world_times *t = two_contacts ? &two : &usual;
    const int scale = atoi(words[4]);
    const world_times wide = {t->open + 1, t->exchange_close * scale, t->tags_close * scale,
                              t->shares_close * scale, t->end * scale};
    world w;

    world_make(&w, words[0], strcmp(words[2], "tls") == 0, two_contacts, &wide,
               words[1][0] ? words[1] : NULL);
    world_end(&w);
    return 0;
}

/* One more collection of the servers of another folder: its terms are not in theirs yet. */
static int beside(char **words)
{
    const int scale = atoi(words[2]);
    const world_times wide = {usual.open + 3, usual.exchange_close * scale,
                              usual.tags_close * scale, usual.shares_close * scale,
                              usual.end * scale};
    world w, there;

    world_open(&there, words[0]);
    world_make_beside(&w, words[1], &there, &wide);
    world_end(&w);
    world_end(&there);
    return 0;
}

/* 3: somebody came too late. */
static int devices(char **words)
{
    world w;
    bool in_time;

    world_open(&w, words[0]);
    in_time = world_contribute_all(&w, (uint32_t)atoi(words[1]), (uint32_t)atoi(words[2]), 2);
    world_end(&w);
    return in_time ? 0 : 3;
}

static int seeded_devices(char **words)
{
    how_exact = SEEDED_DEVICES;
    return devices(words);
}

/* The sampling rate, and the counts of the cells.  3: none came in so many seconds. */
static int release(char **words)
{
    uint32_t count[8];
    world w;
    int n;

    world_open(&w, words[0]);
    n = world_release(&w, (unsigned)atoi(words[1]), count, 8);
    (void)printf("%.9g", (double)w.r->terms.p32 / 4294967296.0);
    for (int i = 0; i < n; i++)
        (void)printf(" %u", count[i]);
    (void)printf("\n");
    world_end(&w);
    return n < 0 ? 3 : 0;
}

static void print_kind(const char *what, const void *p, size_t n)
{
    (void)printf("%s ", what);
    print_mark(p, n);
}

/* Of a text: embedding, cell, and its tag, as long as S_tag's key lies in a file. */
static void print_text(const fre_sketch *grid, const fre_oprf_key *key, uint32_t i)
{
    float x[WORLD_DIM];
    fre_oprf_output out;
    fre_cell cell;

    world_embedding(x, i);
    assert_int_equal(fre_sketch_cell(grid, &cell, x, WORLD_DIM), FRE_OK);
    print_kind("embedding", x, sizeof x);
    print_kind("cell", cell.bytes, sizeof cell.bytes);
    if (!key)
        return;
    assert_int_equal(fre_oprf_evaluate(&out, key, (fre_bytes){cell.bytes, sizeof cell.bytes}),
                     FRE_OK);
    print_kind("tag", out.b, sizeof(fre_tag));
}

static void print_texts(const world *w)
{
    const fre_collection *c = &w->r->terms;
    fre_sketch_params p = {.dim = WORLD_DIM, .grid = c->sketch.grid};
    fre_sketch *grid = NULL;
    fre_keys *keys = NULL;
    char folder[512];

    memcpy(p.seed, c->grid_seed, sizeof p.seed);
    assert_int_equal(fre_sketch_new(&grid, &p), FRE_OK);
    (void)snprintf(folder, sizeof folder, "%s/%s", w->r->folder, fre_role_name(FRE_ROLE_TAG));
    assert_int_equal(fre_keys_find(&keys, folder, NULL, c, FRE_ROLE_TAG, NULL), FRE_OK);
    assert_int_equal(fre_keys_read_once(keys, NULL), FRE_OK);
    for (uint32_t i = 0; i < 2; i++)
        print_text(grid, fre_keys_has_once(keys) ? fre_keys_oprf(keys) : NULL, i);
    fre_keys_free(keys);
    fre_sketch_free(grid);
}

/* What hardly anybody may know, a kind and hexadecimal digits a line. */
static int marks(char **words)
{
    world w;

    world_open(&w, words[0]);
    print_texts(&w);
    for (uint32_t i = 0; i < (uint32_t)atoi(words[1]); i++) {
        uint8_t ticket[FRE_TICKET_BYTES];
        char name[32];

        print_kind("ticket", ticket, world_ticket(ticket, name, &w, i));
        print_kind("name", name, strlen(name));
    }
    world_end(&w);
    return 0;
}

static int command(int argc, char **argv)
{
    static const struct {
        const char *name;
        int words;
        int (*run)(char **words);
    } commands[] = {{"make", 5, make},       {"beside", 3, beside},
                    {"devices", 3, devices}, {"seeded-devices", 3, seeded_devices},
                    {"serve", 2, serve},     {"cells", 1, cells},
                    {"release", 2, release}, {"marks", 2, marks}};

    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        if (strcmp(argv[1], commands[i].name) == 0 && argc == commands[i].words + 2)
            return commands[i].run(argv + 2);
    return 2;
}

int main(int argc, char **argv)
{
#define IN_A_FOLDER(test) cmocka_unit_test_setup_teardown(test, test_dir_make, test_dir_remove)
    const struct CMUnitTest tests[] = {
        IN_A_FOLDER(from_keys_to_release),
        IN_A_FOLDER(two_contacts),
        IN_A_FOLDER(every_role_is_restarted_all_the_time),
        IN_A_FOLDER(only_the_relay_asks_for_tags),
        IN_A_FOLDER(health_and_metrics),
        IN_A_FOLDER(a_cancel_is_heard),
    };

    if (argc > 1)
        return command(argc, argv);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
