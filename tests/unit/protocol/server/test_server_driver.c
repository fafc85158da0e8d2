/* The driver: rows are kept before anything leaves, machines are entered and left, links do to messages
 * what they are told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "server_net.h"

#include <cmocka.h>

/* A host that writes down what happens. */
typedef struct diary {
    net n;
    fre_links links;
    char said[256]; /* e enter, l leave, k keep, c carry */
    bool full;      /* the store takes no more */
} diary;

static void note(diary *d, char what)
{
    const size_t n = strlen(d->said);

    if (n + 1 < sizeof d->said)
        d->said[n] = what;
}

static void on_enter(void *ctx, fre_server *x)
{
    (void)x;
    note(ctx, 'e');
}

static void on_leave(void *ctx, fre_server *x)
{
    (void)x;
    note(ctx, 'l');
}

static fre_status on_keep(void *ctx, fre_server *x, const fre_delta *rows)
{
    diary *d = ctx;

    (void)x;
    assert_true(rows->n > 0);
    note(d, 'k');
    return d->full ? FRE_E_IO : FRE_OK;
}

static fre_status on_carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                           fre_buf *answer)
{
    diary *d = ctx;

    (void)x;
    note(d, 'c');
    return fre_links_carry(&d->links, to, message, answer);
}

static void begin(diary *d)
{
    fre_collection c;

    memset(d, 0, sizeof *d);
    c = net_terms(&d->n.s);
    net_begin(&d->n, &c, 1, 3);
    net_text(&d->n, 0, 0);
    net_clients(&d->n);
    fre_links_init(&d->links);
    memcpy(d->links.server, d->n.links.server, sizeof d->links.server);
    d->links.host = (fre_host){
        .ctx = d, .enter = on_enter, .leave = on_leave, .keep = on_keep, .carry = on_carry};
    d->links.now = d->n.now = c.exchange_close - 1;
}

static void end(diary *d)
{
    fre_links_wipe(&d->links);
    net_end(&d->n);
}

static fre_status step(diary *d, size_t *letters)
{
    memset(d->said, 0, sizeof d->said);
    return fre_server_step(d->n.user[0].client, &d->links.host, letters, d->n.now);
}

/* The client asks (its rows first), the relay passes it on without being held, the issuer keeps before
 * it answers, the relay too; then the client takes the answer, and has nothing to keep yet. */
static void calls_in_their_order(void **state)
{
    size_t letters = 0;
    diary d;

    (void)state;
    begin(&d);
    assert_int_equal(step(&d, &letters), FRE_OK);
    assert_int_equal(letters, 1);
    assert_string_equal(d.said, "ekl" /* client */ "c"
                                "ekl" /* relay */ "c"
                                "ekl" /* issuer */
                                "ekl" /* relay */
                                "el" /* client */);
    end(&d);
}

static void nothing_leaves_that_is_not_kept(void **state)
{
    uint8_t entry[FRE_WIRE_HEAD_BYTES] = {FRE_WIRE_VERSION, FRE_WIRE_ENTRY};
    size_t letters = 7;
    fre_buf answer;
    diary d;

    (void)state;
    begin(&d);
    d.full = true;
    assert_int_equal(step(&d, &letters), FRE_E_IO);
    assert_int_equal(letters, 7);
    assert_string_equal(d.said, "ekl");
    /* Nor an answer: the relay has begun, and could not write it down. */
    memcpy(entry + 2, d.n.s.w.id.b, sizeof d.n.s.w.id.b);
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_server_take(d.n.links.server[FRE_ROLE_RELAY], &d.links.host, &answer,
                                     (fre_bytes){entry, sizeof entry}, d.n.now),
                     FRE_E_IO);
    assert_int_equal(answer.n, 0);
    end(&d);
    fre_buf_wipe(&answer);
}

static void rows_may_be_dropped(void **state)
{
    size_t letters = 0;
    diary d;

    (void)state;
    begin(&d);
    d.links.host.keep = NULL;
    assert_int_equal(step(&d, &letters), FRE_OK);
    assert_string_equal(d.said, "elcelcelelel");
    end(&d);
}

/* ---- links ------------------------------------------------------------------------------------ */

static uint64_t handled(const diary *d, fre_role role)
{
    const fre_tally *t = fre_server_tally(d->n.links.server[role]);
    uint64_t n = t->accepted + t->repeated;

    for (size_t i = 0; i < FRE_REJECTIONS; i++)
        n += t->rejected[i];
    return n;
}

static fre_status junk(diary *d, fre_buf *answer)
{
    static const uint8_t bytes[] = {1, 2, 3};

    fre_buf_wipe(answer);
    return fre_links_carry(&d->links, FRE_ROLE_SYN, (fre_bytes){bytes, sizeof bytes}, answer);
}

static void what_links_do(void **state)
{
    fre_buf answer;
    diary d;

    (void)state;
    begin(&d);
    d.links.rng = &d.n.rng;
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(junk(&d, &answer), FRE_OK);
    assert_true(answer.n > 0 && handled(&d, FRE_ROLE_SYN) == 1);
    d.links.lose = FRE_P_ONE;
    assert_int_equal(junk(&d, &answer), FRE_OK);
    assert_true(answer.n == 0 && handled(&d, FRE_ROLE_SYN) == 1 && d.links.lost == 1);
    d.links.lose = 0;
    d.links.lose_answer = FRE_P_ONE;
    assert_int_equal(junk(&d, &answer), FRE_OK);
    assert_true(answer.n == 0 && handled(&d, FRE_ROLE_SYN) == 2 && d.links.lost == 2);
    d.links.lose_answer = 0;
    d.links.repeat = FRE_P_ONE;
    assert_int_equal(junk(&d, &answer), FRE_OK);
    assert_true(answer.n > 0 && handled(&d, FRE_ROLE_SYN) == 4 && d.links.repeated == 1);
    d.links.repeat = 0;
    d.links.delay = FRE_P_ONE;
    assert_int_equal(junk(&d, &answer), FRE_OK);
    assert_true(answer.n == 0 && handled(&d, FRE_ROLE_SYN) == 4 && d.links.delayed == 1);
    d.links.delay = 0;
    assert_int_equal(junk(&d, &answer), FRE_OK);
    assert_true(answer.n > 0 && handled(&d, FRE_ROLE_SYN) == 6);
    end(&d);
    fre_buf_wipe(&answer);
}

static void who_is_not_there(void **state)
{
    static const uint8_t byte = 1;
    fre_buf answer;
    fre_links l;

    (void)state;
    fre_links_init(&l);
    fre_buf_init(&answer, 10);
    for (int role = -1; role < 7; role++)
        assert_int_equal(fre_links_carry(&l, (fre_role)role, (fre_bytes){&byte, 1}, &answer),
                         FRE_E_ARG);
    assert_int_equal(fre_server_take(NULL, &l.host, &answer, (fre_bytes){&byte, 1}, 0), FRE_E_ARG);
    assert_int_equal(fre_server_step(NULL, &l.host, NULL, 0), FRE_E_ARG);
    assert_int_equal(answer.n, 0);
    fre_links_wipe(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_in_their_order), cmocka_unit_test(nothing_leaves_that_is_not_kept),
        cmocka_unit_test(rows_may_be_dropped),  cmocka_unit_test(what_links_do),
        cmocka_unit_test(who_is_not_there),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
