/* What a host needs to know of a machine: who asks, where keys may still lie, which rows stay. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "issuer.h"
#include "server_view.h"

#include <cmocka.h>

#define MAX 16
#define USERS 4u

static void begin(net *n, bool masked)
{
    fre_collection c;

    *n = (net){.users = 0};
    c = net_terms(&n->s);
    net_begin(n, &c, USERS, 1);
    n->a->exact = true;
    n->masked = masked;
    for (uint32_t i = 0; i < USERS; i++)
        net_text(n, i, 0);
    net_clients(n);
}

/* Nothing of it arrives. */
static void hold(net *n, fre_role from, fre_role to, fre_buf *message)
{
    fre_buf *request = n->ctx;

    (void)from;
    if (to != FRE_ROLE_ISSUER || message->n == 0 || message->p[0] != FRE_COLLECTION_OHTTP_KEY_ID)
        return;
    if (request->n == 0)
        assert_int_equal(fre_buf_append(request, message->p, message->n), FRE_OK);
    fre_buf_wipe(message);
}

/* Up to the first issue request, which the issuer has not seen. */
static void first_issue(net *n, fre_buf *request)
{
    fre_buf_init(request, FRE_WIRE_MESSAGE_MAX);
    begin(n, false);
    n->change = hold;
    n->ctx = request;
    n->now = n->s.w.c.open;
    while (request->n == 0 && n->now < n->s.w.c.exchange_close - 10) {
        net_step(n);
        n->now += 10;
    }
    n->change = NULL;
    assert_true(request->n > 0);
}

static size_t credentials(net *n, fre_bytes request, fre_buf *out)
{
    fre_buf_init(out, 64);
    assert_int_equal(fre_server_credentials(n->links.server[FRE_ROLE_ISSUER], out, request),
                     FRE_OK);
    return out->n;
}

/* They are those of the client; none of what was answered, of junk, or of another role's. */
static void credentials_are_found(void **state)
{
    net n;
    fre_buf request, found;

    (void)state;
    first_issue(&n, &request);
    assert_int_equal(credentials(&n, sample_view(&request), &found), 4);
    assert_true(found.p[0] < USERS);
    fre_buf_wipe(&found);
    request.p[request.n - 1] ^= 1;
    assert_int_equal(credentials(&n, sample_view(&request), &found), 0);
    request.p[request.n - 1] ^= 1;
    assert_int_equal(credentials(&n, (fre_bytes){NULL, 0}, &found), 0);
    assert_int_equal(
        fre_server_credentials(n.links.server[FRE_ROLE_TAG], &found, sample_view(&request)),
        FRE_E_ARG);
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&request), NULL), FRE_ACCEPTED);
    assert_int_equal(credentials(&n, sample_view(&request), &found), 0);
    fre_buf_wipe(&request);
    net_end(&n);
}

/* A verifier that is away is no refusal, and stops nobody's machine; who was admitted is not asked for again,
 * whatever has become of the credentials. */
static void who_it_is_cannot_be_told(void **state)
{
    net n;
    fre_buf request, first, again;
    uint32_t asked;

    (void)state;
    first_issue(&n, &request);
    fre_buf_init(&first, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&again, FRE_WIRE_MESSAGE_MAX);
    for (unsigned i = 0; i < 2; i++) {
        n.who = i == 0 ? FRE_E_AGAIN : FRE_E_IO;
        assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&request), NULL),
                         FRE_REJECTED_UNAVAILABLE);
    }
    n.who = FRE_E_REFUSED;
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&request), NULL),
                     FRE_REJECTED_ADMISSION);
    n.who = FRE_OK;
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&request), &first), FRE_ACCEPTED);
    asked = n.who_asked;
    n.who = FRE_E_REFUSED;
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&request), &again), FRE_ACCEPTED);
    assert_int_equal(first.n, again.n);
    assert_memory_equal(first.p, again.p, first.n);
    net_restart(&n, FRE_ROLE_ISSUER);
    assert_int_equal(view_send(&n, FRE_ROLE_ISSUER, sample_view(&request), NULL), FRE_ACCEPTED);
    assert_int_equal(n.who_asked, asked);
    fre_buf_wipe(&request);
    fre_buf_wipe(&first);
    fre_buf_wipe(&again);
    net_end(&n);
}

/* Keys may go from wherever they came from once all of a role's are masked; not while its holder is away. */
static void keys_are_masked(void **state)
{
    static const fre_role owners[] = {FRE_ROLE_TAG, FRE_ROLE_ISSUER, FRE_ROLE_SYN};
    net n;

    (void)state;
    begin(&n, true);
    assert_true(fre_server_keys_masked(n.links.server[FRE_ROLE_RELAY])); /* it has none */
    n.lose = 256;
    for (unsigned i = 0; i < 3; i++)
        net_step(&n);
    for (unsigned i = 0; i < 3; i++)
        assert_false(fre_server_keys_masked(n.links.server[owners[i]]));
    n.lose = 0;
    for (unsigned i = 0; i < 4; i++)
        net_step(&n);
    for (unsigned i = 0; i < 3; i++)
        assert_true(fre_server_keys_masked(n.links.server[owners[i]]));
    net_restart(&n, FRE_ROLE_TAG);
    assert_false(fre_server_keys_masked(n.links.server[FRE_ROLE_TAG]));
    for (unsigned i = 0; i < 4; i++)
        net_step(&n);
    assert_true(fre_server_keys_masked(n.links.server[FRE_ROLE_TAG]));
    net_run(&n);
    for (unsigned i = 0; i < 3; i++) /* they are over */
        assert_true(fre_server_keys_masked(n.links.server[owners[i]]));
    net_end(&n);
}

/* A relay of the rows that stay publishes what it did, and acknowledges no other mark. */
static void rows_that_stay(void **state)
{
    static float x[MAX * NET_DIM];
    uint32_t count[MAX];
    net n;

    (void)state;
    begin(&n, true);
    net_run(&n);
    for (unsigned role = FRE_ROLE_TAG; role < NET_ROLES; role++) {
        fre_delta stays;

        fre_delta_init(&stays);
        for (size_t i = 0; i < n.store[role].n; i++) {
            const net_row *r = &n.store[role].row[i];
            const fre_row row = {.table = r->key.p[0],
                                 .key = {r->key.p + 1, r->key.n - 1},
                                 .value = {r->value.p, r->value.n}};

            if (fre_server_row_stays(&row))
                assert_int_equal(fre_delta_add(&stays, &row), FRE_OK);
        }
        assert_true(stays.n >= 1 && stays.n < n.store[role].n);
        net_store_wipe(&n.store[role]);
        net_store_commit(&n.store[role], &stays);
        fre_delta_wipe(&stays);
        net_restart(&n, (fre_role)role);
        assert_int_equal(fre_server_phase(n.links.server[role]), FRE_PHASE_DONE);
    }
    assert_int_equal(net_release(&n, FRE_ROLE_RELAY, count, x, MAX), 1);
    assert_int_equal(count[0], USERS);
    net_end(&n);
}

/* Rows that a host kept as they were come back the same; cut anywhere else than between rows they do not. */
static void rows_are_read_again(void **state)
{
    const uint8_t bytes[] = {1, 2, 3, 4, 5};
    const fre_row rows[] = {{.table = 3, .key = {bytes, 2}, .value = {bytes, 5}},
                            {.table = 4, .erase = true, .key = {bytes, 1}},
                            {.table = 5, .value = {bytes, 3}}};
    size_t ends[3] = {0}, at = 0;
    fre_delta all, again;
    fre_row r;

    (void)state;
    fre_delta_init(&all);
    fre_delta_init(&again);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(fre_delta_add(&all, &rows[i]), FRE_OK);
        ends[i] = all.raw.n;
    }
    for (size_t n = 0; n <= all.raw.n; n++) {
        const bool whole = n == 0 || n == ends[0] || n == ends[1] || n == ends[2];

        assert_int_equal(fre_delta_read(&again, (fre_bytes){all.raw.p, n}),
                         whole ? FRE_OK : FRE_E_DATA);
        assert_int_equal(again.raw.n, whole ? n : 0);
        if (n < all.raw.n)
            fre_delta_wipe(&again);
    }
    assert_int_equal(again.n, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(fre_delta_next(&again, &at, &r));
        assert_int_equal(r.table, rows[i].table);
        assert_int_equal(r.erase, rows[i].erase);
        assert_int_equal(r.value.n, rows[i].value.n);
    }
    memset(all.raw.p + 2, 0xff, 8); /* lengths whose sum is beyond 32 bits */
    assert_int_equal(fre_delta_read(&again, (fre_bytes){all.raw.p, all.raw.n}), FRE_E_DATA);
    assert_int_equal(again.n, 3);
    fre_delta_wipe(&all);
    fre_delta_wipe(&again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(credentials_are_found), cmocka_unit_test(who_it_is_cannot_be_told),
        cmocka_unit_test(keys_are_masked),       cmocka_unit_test(rows_that_stay),
        cmocka_unit_test(rows_are_read_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
