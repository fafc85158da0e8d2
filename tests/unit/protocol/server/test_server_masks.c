/* Keys that survive a crash under a mask in another role's memory: who comes back when who stopped, what a
 * thief of a disk has, and that masks end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "issuer.h"
#include "masks.h"
#include "relay.h"
#include "server_view.h"
#include "synthesis.h"
#include "tagging.h"

#include <cmocka.h>

#define MAX 16
#define USERS 4u

static const fre_role owners[] = {FRE_ROLE_TAG, FRE_ROLE_ISSUER, FRE_ROLE_SYN};

static void begin_with(net *n, const fre_collection *c, uint64_t seed)
{
    net_begin(n, c, USERS, seed);
    n->a->exact = true;
    n->masked = true;
    for (uint32_t i = 0; i < USERS; i++)
        net_text(n, i, 0);
    net_clients(n);
    for (int i = 0; i < 4; i++) /* all keys are masked before it opens */
        net_step(n);
}

static void begin(net *n, bool two, uint64_t seed)
{
    fre_collection c;

    *n = (net){.users = 0};
    c = two ? net_terms_two(&n->s) : net_terms(&n->s);
    c.gamma = 1;
    begin_with(n, &c, seed);
}

static fre_server *server(const net *n, fre_role role)
{
    return n->links.server[role];
}

static mask_own *own(const net *n, fre_mask_key key)
{
    return &server(n, fre_mask_owner(key))->masks->own[key];
}

static mask_holding *held(const net *n, fre_mask_key key)
{
    return &server(n, fre_mask_holder(key))->masks->held[key];
}

static bool released(const net *n)
{
    static float centroid[MAX * NET_DIM];
    uint32_t count[MAX];

    return net_release(n, FRE_ROLE_RELAY, count, centroid, MAX) == 1 && count[0] == USERS;
}

static void forward(net *n)
{
    const fre_collection *c = &n->s.w.c;

    net_step(n);
    n->now += n->now < c->tags_close ? 50 : n->now < c->shares_close ? 20 : 1;
}

static bool over(const net *n)
{
    return fre_server_phase(server(n, FRE_ROLE_RELAY)) >= FRE_PHASE_DONE ||
           n->now >= n->s.w.c.end - 1;
}

static const net_row *row_of(const net *n, fre_mask_key key)
{
    const net_store *s = &n->store[fre_mask_owner(key)];

    for (size_t i = 0; i < s->n; i++)
        if (s->row[i].key.n == 2 && s->row[i].key.p[0] == SERVER_ROW_MASKED &&
            s->row[i].key.p[1] == (uint8_t)key)
            return &s->row[i];
    return NULL;
}

/* ---- a disk -------------------------------------------------------------------------------------- */

static bool store_has(const net *n, const void *p, size_t bytes)
{
    for (unsigned role = 1; role < NET_ROLES; role++)
        for (size_t i = 0; i < n->store[role].n; i++) {
            const fre_buf *v = &n->store[role].row[i].value;

            for (size_t k = 0; k + bytes <= v->n; k++)
                if (memcmp(v->p + k, p, bytes) == 0)
                    return true;
        }
    return false;
}

/* No store has a key or a mask, from the first row to the last; the owner's has key xor mask, whose mask is
 * held by the other role, and comes anew each time. */
static void rows_have_neither_key_nor_mask(void **state)
{
    uint8_t before[FRE_MASK_KEYS][32] = {{0}};

    (void)state;
    for (unsigned two = 0; two < 2; two++) {
        net n;

        for (begin(&n, two == 1, 1 + two); !over(&n); forward(&n)) {
            assert_false(store_has(&n, n.s.oprf.b, 32));
            assert_false(store_has(&n, n.s.issuer_oprf.b, 32));
            assert_false(store_has(&n, n.s.tag.sk.b, 32));
            assert_false(store_has(&n, n.s.syn.sk.b, 32));
            assert_false(store_has(&n, n.s.issuer.sk.b, 32));
            for (unsigned key = 1; key < FRE_MASK_KEYS; key++) {
                const mask_holding *h = held(&n, (fre_mask_key)key);

                for (uint32_t i = 0; i < h->n; i++)
                    assert_false(store_has(&n, h->at[i].mask, 32));
            }
        }
        assert_true(released(&n));
        net_end(&n);
    }
    for (unsigned again = 0; again < 2; again++) {
        net n;

        begin(&n, false, 7);
        for (unsigned key = 1; key < FRE_MASK_KEYS; key++) {
            const net_row *r = row_of(&n, (fre_mask_key)key);
            const mask_held *h = held(&n, (fre_mask_key)key)->at;
            const uint8_t *real[] = {NULL, n.s.oprf.b, n.s.tag.sk.b, n.s.issuer_oprf.b, n.s.syn.sk.b};

            assert_non_null(r);
            assert_int_equal(held(&n, (fre_mask_key)key)->n, 1);
            assert_memory_equal(r->value.p, h->id, FRE_HASH_BYTES);
            for (unsigned i = 0; i < 32; i++)
                assert_int_equal(r->value.p[3 * FRE_HASH_BYTES + i], real[key][i] ^ h->mask[i]);
            assert_memory_not_equal(before[key], h->mask, 32);
            memcpy(before[key], h->mask, 32);
        }
        net_end(&n);
    }
}

/* ---- who comes back --------------------------------------------------------------------------------- */

/* One death, at any row there is. */
static void one_death_at_any_row(void **state)
{
    (void)state;
    for (unsigned two = 0; two < 2; two++) {
        uint64_t k = 1, kills = 1;

        for (; kills > 0; k += two ? 3 : 2) {
            net n;

            begin(&n, two == 1, 3);
            n.kill_at = n.rows + k;
            while (!over(&n))
                forward(&n);
            kills = n.kills;
            if (!released(&n))
                fail_msg("two %u, row %llu", two, (unsigned long long)k);
            net_end(&n);
        }
        assert_true(k > 30);
    }
}

/* One role dies again and again, with losses on all links. */
static void one_role_dies_often(void **state)
{
    (void)state;
    for (unsigned role = 1; role < NET_ROLES; role++)
        for (uint64_t seed = 1; seed <= 8; seed++) {
            net n;

            begin(&n, seed % 2 == 0, 10 * seed);
            n.kill_only = (fre_role)role;
            n.kill_every = 2 + seed % 3;
            n.lose = n.lose_answer = n.twice = seed % 4 ? 40 : 0;
            n.late = seed % 4 ? 30 : 0;
            n.stride = 4;
            net_run(&n);
            if (!released(&n))
                fail_msg("role %u, seed %llu, %llu kills", role, (unsigned long long)seed,
                         (unsigned long long)n.kills);
            net_end(&n);
        }
}

static bool needed(const net *n, fre_role owner)
{
    const fre_server *x = server(n, owner);

    for (unsigned key = 1; key < FRE_MASK_KEYS; key++)
        if (fre_mask_owner((fre_mask_key)key) == owner && !x->ops->key_over(x, (fre_mask_key)key))
            return true;
    return false;
}

/* The holder stops at one step, the owner at the same or a later one: with the two together a key that is
 * needed is gone, and the run with it; otherwise nothing is. */
static void every_pair(void **state)
{
    uint32_t voids = 0, lives = 0;

    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        const fre_role owner = owners[k],
                       holder = owner == FRE_ROLE_SYN ? FRE_ROLE_ISSUER : FRE_ROLE_RELAY;
        bool ended = false;

        for (uint32_t first = 0; !ended; first++)
            for (uint32_t gap = 0; gap < 4; gap++) {
                bool lost = false;
                uint32_t at = 0;
                net n;

                begin(&n, k == 1, 20);
                for (; !over(&n); forward(&n), at++) {
                    if (at == first)
                        net_restart(&n, holder);
                    if (at == first + gap) {
                        lost = gap == 0 && needed(&n, owner);
                        net_restart(&n, owner);
                    }
                }
                ended = at < first;
                /* One step is time enough to say so and to mask anew but for the last row. */
                if (gap != 1 && released(&n) == lost)
                    fail_msg("owner %u, holder at %u, owner %u later", (unsigned)owner, first, gap);
                voids += lost;
                lives += !lost;
                net_end(&n);
            }
    }
    assert_true(voids > 20 && lives > 60);
}

/* Before there is a row nothing is there to come back. */
static void before_the_first_row(void **state)
{
    (void)state;
    for (unsigned k = 0; k < 3; k++) {
        fre_collection c;
        net n = {.users = 0};

        c = net_terms(&n.s);
        net_begin(&n, &c, USERS, 5);
        n.masked = true;
        net_clients(&n);
        net_restart(&n, owners[k]);
        net_step(&n);
        assert_int_equal(fre_server_phase(server(&n, owners[k])), FRE_PHASE_VOID);
        net_end(&n);
    }
}

/* ---- a thief ------------------------------------------------------------------------------------------ */

/* With the owner's disk, which has its signing key too: a question of his own. */
static void steal(const net *n, fre_mask_key key, uint8_t nonce, fre_buf *out)
{
    const net_row *r = row_of(n, key);
    const fre_sign_sk *sk[] = {NULL, &n->s.tag_sk, &n->s.syn_sk, &n->s.relay_sk, &n->s.issuer_sk};
    fre_mask m = {.key = key, .by = fre_mask_owner(key)};

    assert_non_null(r);
    memcpy(m.b, r->value.p, FRE_HASH_BYTES);
    memset(m.b + FRE_HASH_BYTES, nonce, FRE_HASH_BYTES);
    fre_buf_wipe(out);
    assert_int_equal(fre_mask_encode(out, &n->s.w, FRE_WIRE_MASK_GET, &m, sk[m.by]), FRE_OK);
}

/* He is first: the owner hears of it and cancels.  Bytes that were answered are answered alike. */
static void a_thief_is_noticed(void **state)
{
    (void)state;
    for (unsigned key = 1; key < FRE_MASK_KEYS; key++) {
        const fre_role owner = fre_mask_owner((fre_mask_key)key);
        fre_buf ask, answer, again;
        net n;

        begin(&n, false, 30);
        fre_buf_init(&ask, FRE_WIRE_MESSAGE_MAX);
        fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
        fre_buf_init(&again, FRE_WIRE_MESSAGE_MAX);
        steal(&n, (fre_mask_key)key, 1, &ask);
        assert_int_equal(view_send(&n, fre_mask_holder((fre_mask_key)key), sample_view(&ask), &answer),
                         FRE_ACCEPTED);
        assert_int_equal(view_send(&n, fre_mask_holder((fre_mask_key)key), sample_view(&ask), &again),
                         FRE_ACCEPTED);
        assert_int_equal(answer.n, again.n);
        assert_memory_equal(answer.p, again.p, answer.n);
        steal(&n, (fre_mask_key)key, 2, &ask);
        assert_int_equal(view_send(&n, fre_mask_holder((fre_mask_key)key), sample_view(&ask), NULL),
                         FRE_REJECTED_REPLAYED);
        net_step(&n);
        assert_int_equal(fre_server_phase(server(&n, owner)), FRE_PHASE_VOID);
        net_end(&n);
        /* While the owner is down: it is refused, and cancels. */
        begin(&n, false, 31);
        steal(&n, (fre_mask_key)key, 1, &ask);
        assert_int_equal(view_send(&n, fre_mask_holder((fre_mask_key)key), sample_view(&ask), NULL),
                         FRE_ACCEPTED);
        net_restart(&n, owner);
        net_step(&n);
        assert_int_equal(fre_server_phase(server(&n, owner)), FRE_PHASE_VOID);
        net_end(&n);
        fre_buf_wipe(&ask);
        fre_buf_wipe(&answer);
        fre_buf_wipe(&again);
    }
}

/* He is second: nothing for him, and the run goes on under another mask. */
static void a_thief_who_is_late(void **state)
{
    (void)state;
    for (unsigned key = 1; key < FRE_MASK_KEYS; key++) {
        fre_rejection why;
        fre_buf ask;
        net n;

        begin(&n, false, 32);
        fre_buf_init(&ask, FRE_WIRE_MESSAGE_MAX);
        steal(&n, (fre_mask_key)key, 1, &ask); /* the row as it was */
        net_restart(&n, fre_mask_owner((fre_mask_key)key));
        for (int i = 0; i < 3; i++)
            net_step(&n);
        why = view_send(&n, fre_mask_holder((fre_mask_key)key), sample_view(&ask), NULL);
        assert_int_equal(why, FRE_REJECTED_KEY); /* it is gone */
        while (!over(&n))
            forward(&n);
        assert_true(released(&n));
        fre_buf_wipe(&ask);
        net_end(&n);
    }
}

/* ---- masks end -------------------------------------------------------------------------------------------- */

/* Told by the owner, with the row. */
static void over_with_the_key(void **state)
{
    (void)state;
    for (unsigned two = 0; two < 2; two++) {
        net n;

        begin(&n, two == 1, 40);
        while (!over(&n))
            forward(&n);
        assert_true(released(&n));
        net_step(&n);
        for (unsigned key = 1; key < FRE_MASK_KEYS; key++) {
            assert_null(row_of(&n, (fre_mask_key)key));
            assert_int_equal(held(&n, (fre_mask_key)key)->n, 0);
            assert_true(held(&n, (fre_mask_key)key)->over);
            assert_true(own(&n, (fre_mask_key)key)->over);
        }
        net_end(&n);
    }
}

/* By the holder's own clock, though its owner never comes again. */
static void over_by_the_holders_clock(void **state)
{
    (void)state;
    for (unsigned key = 1; key < FRE_MASK_KEYS; key++) {
        const fre_role holder = fre_mask_holder((fre_mask_key)key);
        const int64_t end = key == FRE_MASK_TAG_OPRF ? 2000 : 4000; /* of net_terms */
        fre_letters none;
        fre_buf ask;
        net n;

        begin(&n, false, 41);
        fre_buf_init(&ask, FRE_WIRE_MESSAGE_MAX);
        fre_letters_init(&none);
        steal(&n, (fre_mask_key)key, 1, &ask);
        n.now = end - 1;
        assert_int_equal(fre_server_tick(server(&n, holder), &none, NULL, n.now), FRE_OK);
        assert_int_equal(held(&n, (fre_mask_key)key)->n, 1);
        n.now = end;
        if (key == FRE_MASK_TAG_OPRF)
            assert_int_equal(view_send(&n, holder, sample_view(&ask), NULL), FRE_REJECTED_EXPIRED);
        else
            assert_int_equal(fre_server_tick(server(&n, holder), &none, NULL, n.now), FRE_OK);
        assert_int_equal(held(&n, (fre_mask_key)key)->n, 0);
        for (size_t i = 0; i < sizeof(mask_held); i++)
            assert_int_equal(((const uint8_t *)held(&n, (fre_mask_key)key)->at)[i], 0);
        fre_letters_wipe(&none);
        fre_buf_wipe(&ask);
        net_end(&n);
    }
}

/* A host whose store is away makes no call for rows, and keys end all the same; when it is back nothing is lost. */
static void over_without_a_store(void **state)
{
    const tagging *t;
    net n;

    (void)state;
    begin(&n, false, 42);
    t = (const tagging *)server(&n, FRE_ROLE_TAG);
    while (n.now < n.s.w.c.tags_close)
        forward(&n);
    assert_true(server_key_here(&t->oprf));
    for (unsigned role = FRE_ROLE_TAG; role < NET_ROLES; role++)
        fre_server_expire(server(&n, (fre_role)role), n.s.w.c.tags_close - 1);
    assert_true(server_key_here(&t->oprf));
    assert_int_equal(held(&n, FRE_MASK_TAG_OPRF)->n, 1);
    for (unsigned role = FRE_ROLE_TAG; role < NET_ROLES; role++)
        fre_server_expire(server(&n, (fre_role)role), n.s.w.c.tags_close);
    assert_false(server_key_here(&t->oprf));
    assert_int_equal(held(&n, FRE_MASK_TAG_OPRF)->n, 0);
    while (!over(&n))
        forward(&n);
    assert_true(released(&n));
    net_end(&n);
}

/* At `end` everything is. */
static void nothing_outlives_the_end(void **state)
{
    net n;

    (void)state;
    begin(&n, false, 43);
    for (int i = 0; i < 10; i++)
        forward(&n);
    for (unsigned role = FRE_ROLE_TAG; role < NET_ROLES; role++)
        fre_server_expire(server(&n, (fre_role)role), n.s.w.c.end);
    for (unsigned key = 1; key < FRE_MASK_KEYS; key++) {
        const fre_server *x = server(&n, fre_mask_owner((fre_mask_key)key));

        assert_false(x->ops->key_here(x, (fre_mask_key)key));
        assert_int_equal(held(&n, (fre_mask_key)key)->n, 0);
    }
    net_end(&n);
}

/* ---- liars, junk ----------------------------------------------------------------------------------------------- */

/* Another mask is another key. */
static void a_holder_that_lies(void **state)
{
    (void)state;
    for (unsigned key = 1; key < FRE_MASK_KEYS; key++) {
        mask_holding *h;
        net n;

        begin(&n, false, 50);
        h = held(&n, (fre_mask_key)key);
        net_restart(&n, fre_mask_owner((fre_mask_key)key));
        h->at[0].mask[31] ^= 1;
        net_step(&n);
        assert_int_equal(fre_server_phase(server(&n, fre_mask_owner((fre_mask_key)key))),
                         FRE_PHASE_VOID);
        net_end(&n);
    }
}

static fre_rejection put(net *n, fre_mask_key key, fre_role by, uint8_t byte, fre_role to)
{
    const fre_sign_sk *sk[] = {NULL, &n->s.tag_sk, &n->s.syn_sk, &n->s.relay_sk, &n->s.issuer_sk};
    fre_mask m = {.key = key, .by = by};
    fre_rejection why;
    fre_buf b;

    memset(m.b, byte, sizeof m.b);
    fre_buf_init(&b, FRE_WIRE_MESSAGE_MAX);
    assert_int_equal(fre_mask_encode(&b, &n->s.w, FRE_WIRE_MASK_PUT, &m, sk[by]), FRE_OK);
    why = view_send(n, to, sample_view(&b), NULL);
    fre_buf_wipe(&b);
    return why;
}

/* Eight, and no more; old ones stay until their owner says that it has a later one. */
static void no_more_than_so_many(void **state)
{
    net n;

    (void)state;
    begin(&n, false, 51);
    for (uint8_t i = 1; i < MASK_HELD_MAX; i++)
        for (unsigned twice = 0; twice < 2; twice++)
            assert_int_equal(put(&n, FRE_MASK_TAG_SEAL, FRE_ROLE_TAG, i, FRE_ROLE_RELAY),
                             FRE_ACCEPTED);
    assert_int_equal(held(&n, FRE_MASK_TAG_SEAL)->n, MASK_HELD_MAX);
    assert_int_equal(put(&n, FRE_MASK_TAG_SEAL, FRE_ROLE_TAG, 99, FRE_ROLE_RELAY),
                     FRE_REJECTED_FULL);
    assert_int_equal(held(&n, FRE_MASK_TAG_OPRF)->n, 1);
    net_restart(&n, FRE_ROLE_TAG); /* its own is still there */
    while (!over(&n))
        forward(&n);
    assert_true(released(&n));
    net_end(&n);
}

/* Of a key's owner and holder alone, and to them. */
static void nobody_elses(void **state)
{
    net n;

    (void)state;
    begin(&n, false, 52);
    assert_int_equal(put(&n, FRE_MASK_TAG_SEAL, FRE_ROLE_TAG, 1, FRE_ROLE_ISSUER),
                     FRE_REJECTED_MALFORMED);
    assert_int_equal(put(&n, FRE_MASK_TAG_SEAL, FRE_ROLE_TAG, 1, FRE_ROLE_TAG),
                     FRE_REJECTED_MALFORMED);
    assert_int_equal(put(&n, FRE_MASK_SYN_SEAL, FRE_ROLE_SYN, 1, FRE_ROLE_RELAY),
                     FRE_REJECTED_MALFORMED);
    assert_int_equal(put(&n, FRE_MASK_TAG_SEAL, FRE_ROLE_RELAY, 1, FRE_ROLE_RELAY),
                     FRE_REJECTED_MALFORMED);
    assert_int_equal(put(&n, FRE_MASK_TAG_SEAL, FRE_ROLE_RELAY, 1, FRE_ROLE_TAG),
                     FRE_REJECTED_MALFORMED);
    for (unsigned key = 1; key < FRE_MASK_KEYS; key++)
        assert_int_equal(held(&n, (fre_mask_key)key)->n, 1);
    net_end(&n);
}

/* A late end of an older mask leaves the newer one. */
static void late_words(void **state)
{
    fre_mask first = {.key = FRE_MASK_TAG_SEAL, .by = FRE_ROLE_TAG};
    fre_buf old;
    net n;

    (void)state;
    begin(&n, false, 53);
    fre_buf_init(&old, FRE_WIRE_MESSAGE_MAX);
    memcpy(first.b, held(&n, FRE_MASK_TAG_SEAL)->at[0].id, FRE_HASH_BYTES);
    assert_int_equal(fre_mask_encode(&old, &n.s.w, FRE_WIRE_MASK_WIPE, &first, &n.s.tag_sk), FRE_OK);
    assert_int_equal(put(&n, FRE_MASK_TAG_SEAL, FRE_ROLE_TAG, 7, FRE_ROLE_RELAY), FRE_ACCEPTED);
    assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&old), NULL), FRE_ACCEPTED);
    assert_int_equal(held(&n, FRE_MASK_TAG_SEAL)->n, 2);
    server_sha256(first.b, server_view(held(&n, FRE_MASK_TAG_SEAL)->at[1].mask, FRE_MASK_BYTES));
    old.n = 0;
    assert_int_equal(fre_mask_encode(&old, &n.s.w, FRE_WIRE_MASK_WIPE, &first, &n.s.tag_sk), FRE_OK);
    assert_int_equal(view_send(&n, FRE_ROLE_RELAY, sample_view(&old), NULL), FRE_ACCEPTED);
    assert_int_equal(held(&n, FRE_MASK_TAG_SEAL)->n, 1);
    assert_memory_equal(held(&n, FRE_MASK_TAG_SEAL)->at[0].id, first.b, FRE_HASH_BYTES);
    fre_buf_wipe(&old);
    net_end(&n);
}

/* Where no rows are kept there is nothing to mask. */
static void no_rows_no_masks(void **state)
{
    fre_letters l;
    net n;

    (void)state;
    begin(&n, false, 54);
    fre_letters_init(&l);
    for (unsigned k = 0; k < 3; k++) {
        fre_server *x = net_make(&n, owners[k]);

        assert_int_equal(fre_server_tick(x, &l, NULL, n.now), FRE_OK);
        assert_int_equal(l.n, 0);
        fre_server_free(x);
    }
    fre_letters_wipe(&l);
    net_end(&n);
}

/* ---- a host's keeper -------------------------------------------------------------------------------- */

static unsigned wipes;

static bool is_kept(void *ctx)
{
    (void)ctx;
    return true;
}

static void count_wipe(void *ctx)
{
    (void)ctx;
    wipes++;
}

static fre_status nobody(void *ctx, uint8_t name[32], fre_bytes credentials)
{
    (void)ctx;
    (void)name;
    (void)credentials;
    return FRE_E_REFUSED;
}

static fre_server *with_keeper(const net *n, fre_role role)
{
    static const fre_keeper k = {.here = is_kept, .wipe = count_wipe};
    const fre_issuer_host host = {.person = nobody};
    const fre_server_keys of_tag = {.seal = n->s.tag, .sign = n->s.tag_sk, .keeper = &k},
                          of_issuer = {.seal = n->s.issuer, .sign = n->s.issuer_sk, .keeper = &k};
    fre_server *x = NULL;

    assert_int_equal(role == FRE_ROLE_TAG
                         ? fre_server_new_tagging(&x, n->a, &of_tag, NULL, NULL)
                         : fre_server_new_issuer(&x, n->a, &of_issuer, NULL, &host, NULL),
                     FRE_OK);
    return x;
}

/* Its wipe is for good, and who frees a machine may make another: a store that went away while it was restored. */
static void a_hosts_key_outlives_a_machine(void **state)
{
    static const fre_role role[] = {FRE_ROLE_TAG, FRE_ROLE_ISSUER};
    fre_delta rows;
    net n;

    (void)state;
    begin(&n, false, 55);
    fre_delta_init(&rows);
    for (unsigned i = 0; i < 2; i++) {
        fre_server *x = with_keeper(&n, role[i]);

        wipes = 0;
        fre_server_free(x);
        assert_int_equal(wipes, 0);
        x = with_keeper(&n, role[i]);
        assert_int_equal(fre_server_cancel(x, &rows, n.now), FRE_OK);
        assert_int_equal(wipes, 1); /* that is its end */
        fre_server_free(x);
    }
    fre_delta_wipe(&rows);
    net_end(&n);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_have_neither_key_nor_mask),
        cmocka_unit_test(one_death_at_any_row),
        cmocka_unit_test(one_role_dies_often),
        cmocka_unit_test(every_pair),
        cmocka_unit_test(before_the_first_row),
        cmocka_unit_test(a_thief_is_noticed),
        cmocka_unit_test(a_thief_who_is_late),
        cmocka_unit_test(over_with_the_key),
        cmocka_unit_test(over_by_the_holders_clock),
        cmocka_unit_test(over_without_a_store),
        cmocka_unit_test(nothing_outlives_the_end),
        cmocka_unit_test(a_holder_that_lies),
        cmocka_unit_test(no_more_than_so_many),
        cmocka_unit_test(nobody_elses),
        cmocka_unit_test(late_words),
        cmocka_unit_test(no_rows_no_masks),
        cmocka_unit_test(a_hosts_key_outlives_a_machine),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
