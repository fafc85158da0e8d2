/* A keeper: what it does for its server, when, and how often; and what its server never has. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "four_roles.h"
#include "keeper.h"
#include "must.h"

#include <signal.h>
#include <unistd.h>

typedef struct world {
    four_roles roles;
    fre_collection terms;
    fre_serve_keeper *keeper;
    fre_config config;
    fre_serve s;
} world;

static void begin(world *w)
{
    memset(w, 0, sizeof *w);
    four_roles_make(&w->roles);
    four_roles_commit(&w->roles);
    four_roles_terms(&w->terms, &w->roles);
    w->terms.users = 300;
    w->terms.open = fre_clock_unix() - 100; /* taking */
    w->terms.exchange_close = w->terms.open + 5000;
    w->terms.tags_close = w->terms.open + 6000;
    w->terms.shares_close = w->terms.open + 7000;
    w->terms.end = w->terms.open + 9000;
    assert_int_equal(fre_serve_keeper_start(&w->keeper, NULL), FRE_OK);
    w->s.config = &w->config;
    w->s.keeper = w->keeper;
    must(pthread_mutex_init(&w->s.clock.lock, NULL) == 0);
}

static void finish(world *w)
{
    fre_serve_keeper_stop(w->keeper);
    (void)pthread_mutex_destroy(&w->s.clock.lock);
    four_roles_remove(&w->roles);
}

/* As if the collection had begun so much earlier. */
static void later(world *w, int64_t seconds)
{
    w->terms.open -= seconds;
    w->terms.exchange_close -= seconds;
    w->terms.tags_close -= seconds;
    w->terms.shares_close -= seconds;
    w->terms.end -= seconds;
}

static fre_status open_site(serve_site *x, world *w, fre_role role, fre_err *err)
{
    static char name[] = "some-terms.json";
    const unsigned i = fre_role_contributor(role);
    fre_status st;

    w->config.role = role;
    *x = (serve_site){.s = &w->s};
    x->terms.c = w->terms;
    x->terms.path = name;
    st = fre_keys_find(&x->keys, w->roles.folder[i], NULL, &w->terms, role, err);
    must(st == FRE_OK);
    return serve_keeper_open(x, err);
}

static void close_site(serve_site *x)
{
    serve_keeper_close(x->kept);
    fre_keys_free(x->keys);
}

static const fre_keeper *key_of(const serve_site *x)
{
    return fre_keys_server(x->keys)->keeper;
}

/* As a device blinds something. */
static void blind(fre_oprf_element *out, uint32_t n, uint8_t of)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint8_t input[2] = {of, (uint8_t)i};
        fre_oprf_blind r;
        fre_rng rng;

        must(fre_rng_init(&rng) == FRE_OK);
        must(fre_oprf_blind_input(&r, &out[i], (fre_bytes){input, sizeof input}, &rng) == FRE_OK);
        fre_rng_wipe(&rng);
    }
}

static fre_status evaluate(const fre_keeper *k, const world *w, uint8_t of)
{
    const uint32_t n = w->terms.cells_per_user;
    fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX], evaluated[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;
    const fre_role role = w->config.role;
    fre_status st;

    blind(blinded, n, of);
    st = k->evaluate(k->ctx, evaluated, &proof, blinded, n);
    if (st == FRE_OK)
        assert_int_equal(fre_oprf_verify(fre_collection_party(&w->terms, role).oprf, blinded, n,
                                         evaluated, n, &proof),
                         FRE_OK);
    return st;
}

/* ---- evaluations -------------------------------------------------------------------------------------- */

static void it_evaluates_with_the_terms_key(void **state)
{
    static const fre_role role[] = {FRE_ROLE_TAG, FRE_ROLE_ISSUER};
    world w;

    (void)state;
    begin(&w);
    for (unsigned i = 0; i < 2; i++) {
        serve_site x;

        assert_int_equal(open_site(&x, &w, role[i], NULL), FRE_OK);
        assert_true(fre_keys_has_once(x.keys));
        assert_null(fre_keys_oprf(x.keys)); /* it is not in this process */
        assert_true(key_of(&x)->here(key_of(&x)->ctx));
        assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_OK);
        close_site(&x);
    }
    finish(&w);
}

/* The same elements, the same proof; others, another nonce: two proofs with one show the key. */
static void a_nonce_is_of_the_elements(void **state)
{
    fre_oprf_element blinded[2][FRE_COLLECTION_CELLS_MAX], evaluated[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof[3];
    uint32_t n;
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    n = w.terms.cells_per_user;
    assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
    blind(blinded[0], n, 1);
    blind(blinded[1], n, 1);
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(
            key_of(&x)->evaluate(key_of(&x)->ctx, evaluated, &proof[i], blinded[i / 2], n), FRE_OK);
    assert_memory_equal(proof[0].b, proof[1].b, sizeof proof[0].b);
    assert_memory_not_equal(proof[0].b, proof[2].b, 32);
    assert_memory_not_equal(proof[0].b + 32, proof[2].b + 32, 32);
    assert_int_equal(key_of(&x)->evaluate(key_of(&x)->ctx, evaluated, &proof[0], blinded[0], n + 1),
                     FRE_E_ARG);
    close_site(&x);
    finish(&w);
}

static void no_more_than_the_terms_have_users(void **state)
{
    fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX], evaluated[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;
    uint32_t n;
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    n = w.terms.cells_per_user;
    assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
    blind(blinded, n, 0);
    assert_int_equal(key_of(&x)->evaluate(key_of(&x)->ctx, evaluated, &proof, blinded, n), FRE_OK);
    for (uint64_t i = 1; i < w.terms.users; i++)
        assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_OK);
    assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_E_STATE);
    /* what was answered is answered again */
    assert_int_equal(key_of(&x)->evaluate(key_of(&x)->ctx, evaluated, &proof, blinded, n), FRE_OK);
    close_site(&x);
    finish(&w);
}

static void each_at_its_time(void **state)
{
    static const struct {
        fre_role role;
        int64_t seconds; /* since `open` */
        fre_status evaluates, vouches;
    } cases[] = {{FRE_ROLE_TAG, -1000, FRE_E_STATE, FRE_E_ARG},
                 {FRE_ROLE_TAG, 0, FRE_OK, FRE_E_ARG},
                 {FRE_ROLE_TAG, 5599, FRE_OK, FRE_E_ARG},
                 {FRE_ROLE_TAG, 5700, FRE_E_STATE, FRE_E_ARG},
                 {FRE_ROLE_TAG, 6000, FRE_E_STATE, FRE_E_STATE},
                 {FRE_ROLE_ISSUER, 100, FRE_OK, FRE_E_STATE},
                 {FRE_ROLE_ISSUER, 5700, FRE_E_STATE, FRE_E_STATE},
                 {FRE_ROLE_ISSUER, 6000, FRE_E_STATE, FRE_OK},
                 {FRE_ROLE_ISSUER, 8990, FRE_E_STATE, FRE_OK},
                 {FRE_ROLE_ISSUER, 9000, FRE_E_STATE, FRE_E_STATE}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const fre_vouch_member member = {.id = {{1}}};
        const fre_tag tag = {{2}};
        bool right = true;
        serve_site x;
        world w;

        begin(&w);
        later(&w, cases[i].seconds - 100);
        assert_int_equal(open_site(&x, &w, cases[i].role, NULL), FRE_OK);
        assert_true(fre_keys_has_once(
            x.keys)); /* the seal key beside it is the server's, whatever the time */
        assert_int_equal(evaluate(key_of(&x), &w, 1), cases[i].evaluates);
        assert_int_equal(key_of(&x)->vouch(key_of(&x)->ctx, &right, &tag, &member, 1),
                         cases[i].vouches);
        assert_int_equal(right, cases[i].vouches != FRE_OK);
        close_site(&x);
        finish(&w);
    }
}

/* Right are proofs under F(k_I, id), of which the server gets no byte; more of them than one request holds. */
static void it_says_which_proofs_are_right(void **state)
{
    enum { N = KEEPER_MEMBERS_MAX + 40 };
    static fre_vouch_member member[N];
    static bool right[N];
    fre_once once;
    fre_tag tag = {{7}};
    fre_wire wire;
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    later(&w, 5900);
    must(fre_once_read(&once, w.roles.files[FRE_CONTRIBUTOR_ISSUER].once, &w.terms, FRE_ROLE_ISSUER,
                       NULL) == FRE_OK);
    must(fre_wire_init(&wire, &w.terms, NULL) == FRE_OK);
    for (uint32_t i = 0; i < N; i++) {
        fre_oprf_output key;

        memcpy(member[i].id.b, &i, sizeof i);
        must(fre_oprf_evaluate(&key, &once.oprf,
                               (fre_bytes){member[i].id.b, sizeof member[i].id.b}) == FRE_OK);
        fre_vouching_make(&member[i].proof, &wire, &key, &tag);
        member[i].proof.b[0] ^= i % 3 == 0;
    }
    assert_int_equal(open_site(&x, &w, FRE_ROLE_ISSUER, NULL), FRE_OK);
    assert_int_equal(key_of(&x)->vouch(key_of(&x)->ctx, right, &tag, member, N), FRE_OK);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(right[i], i % 3 != 0);
    close_site(&x);
    finish(&w);
}

/* ---- masks ------------------------------------------------------------------------------------------------- */

/* Mask and masked key, which the server has both, are not the key; they bring it back in a process that can read the
 * wrap file, and in no other. */
static void a_mask_alone_brings_nothing_back(void **state)
{
    uint8_t mask[FRE_OPRF_SCALAR_BYTES] = {0}, masked[FRE_OPRF_SCALAR_BYTES] = {0}, x_or[32];
    fre_once once;
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    must(fre_once_read(&once, w.roles.files[FRE_CONTRIBUTOR_TAG].once, &w.terms, FRE_ROLE_TAG,
                       NULL) == FRE_OK);
    for (unsigned round = 0; round < 2; round++) {
        mask[5] = (uint8_t)round; /* zeros first: whoever asks for that has no key either */
        memcpy(masked, mask, sizeof mask);
        assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
        assert_int_equal(key_of(&x)->mask(key_of(&x)->ctx, masked), FRE_OK);
        for (unsigned i = 0; i < 32; i++)
            x_or[i] = masked[i] ^ mask[i];
        assert_memory_not_equal(x_or, once.oprf.b, 8);
        assert_memory_not_equal(x_or + 24, once.oprf.b + 24, 8);
        close_site(&x);
    }
    fre_serve_keeper_stop(w.keeper);
    must(unlink(w.roles.files[FRE_CONTRIBUTOR_TAG].once) == 0);
    must(fre_serve_keeper_start(&w.keeper, NULL) == FRE_OK);
    w.s.keeper = w.keeper;
    assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
    assert_false(key_of(&x)->here(key_of(&x)->ctx));
    assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_E_STATE);
    mask[5] = 3;
    assert_int_equal(key_of(&x)->unmask(key_of(&x)->ctx, masked, mask), FRE_E_KEY);
    mask[5] = 1;
    assert_int_equal(key_of(&x)->unmask(key_of(&x)->ctx, masked, mask), FRE_OK);
    assert_true(key_of(&x)->here(key_of(&x)->ctx));
    assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_OK);
    close_site(&x);
    finish(&w);
}

/* ---- what is over ------------------------------------------------------------------------------------------- */

/* Neither the once file nor a mask brings it back in the same process. */
static void over_is_over(void **state)
{
    uint8_t mask[FRE_OPRF_SCALAR_BYTES] = {9}, masked[FRE_OPRF_SCALAR_BYTES] = {9};
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
    assert_int_equal(key_of(&x)->mask(key_of(&x)->ctx, masked), FRE_OK);
    key_of(&x)->wipe(key_of(&x)->ctx);
    assert_false(key_of(&x)->here(key_of(&x)->ctx));
    for (unsigned again = 0; again < 2; again++) {
        assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_E_STATE);
        assert_int_equal(key_of(&x)->unmask(key_of(&x)->ctx, masked, mask), FRE_E_STATE);
        assert_int_equal(key_of(&x)->mask(key_of(&x)->ctx, masked), FRE_E_STATE);
        close_site(&x);
        assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
        assert_true(fre_keys_has_once(x.keys));
        assert_false(key_of(&x)->here(key_of(&x)->ctx));
    }
    close_site(&x);
    finish(&w);
}

/* By its own clock, whether or not its server does anything. */
static void it_ends_by_itself(void **state)
{
    uint8_t mask[FRE_OPRF_SCALAR_BYTES] = {1};
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    later(&w, 5899); /* a second is left */
    assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
    assert_true(key_of(&x)->here(key_of(&x)->ctx));
    (void)usleep(2500000);
    assert_int_equal(key_of(&x)->mask(key_of(&x)->ctx, mask), FRE_E_STATE);
    close_site(&x);
    finish(&w);
}

/* A site that could not be opened to its end is opened again; other terms of the same key are not. */
static void opened_again_for_the_same_terms_alone(void **state)
{
    fre_err err = {.text = ""};
    serve_site x, other;
    world w;

    (void)state;
    begin(&w);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
        assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_OK);
        close_site(&x);
    }
    w.terms.tags_close += 500;
    assert_int_equal(open_site(&other, &w, FRE_ROLE_TAG, &err), FRE_E_REFUSED);
    assert_non_null(strstr(err.text, "some-terms.json: "));
    assert_non_null(strstr(err.text, "other terms"));
    close_site(&other);
    finish(&w);
}

static void without_its_file_it_opens_nothing(void **state)
{
    fre_err err = {.text = ""};
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    must(unlink(w.roles.files[FRE_CONTRIBUTOR_TAG].wrap) == 0);
    assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, &err), FRE_E_NOINPUT);
    assert_non_null(strstr(err.text, ".wrap.json"));
    close_site(&x);
    write_file(w.roles.files[FRE_CONTRIBUTOR_ISSUER].wrap, "{}", 2);
    assert_int_equal(open_site(&x, &w, FRE_ROLE_ISSUER, &err), FRE_E_DATA);
    close_site(&x);
    finish(&w);
}

/* One of other keys would be noticed when a masked key is to come back, and can't. */
static void another_wrap_file_opens_nothing(void **state)
{
    fre_err err = {.text = ""};
    four_roles other;
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    four_roles_make(&other);
    for (unsigned i = 0; i < 2; i++) { /* another operator's; another role's */
        const char *own = w.roles.files[FRE_CONTRIBUTOR_TAG].wrap;
        char *text = text_of_file(i == 0 ? other.files[FRE_CONTRIBUTOR_TAG].wrap
                                         : w.roles.files[FRE_CONTRIBUTOR_ISSUER].wrap);

        write_file(own, text, strlen(text));
        free(text);
        assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, &err), FRE_E_DATA);
        assert_non_null(strstr(err.text, own));
        assert_non_null(strstr(err.text, "keygen"));
        close_site(&x);
    }
    four_roles_remove(&other);
    finish(&w);
}

/* ---- its death ------------------------------------------------------------------------------------------------ */

static pid_t child_of(const fre_serve_keeper *k)
{
    return *(const pid_t *)(const void *)k; /* its first member */
}

static void who_loses_it_hears_of_it(void **state)
{
    uint8_t mask[FRE_OPRF_SCALAR_BYTES] = {0};
    serve_site x;
    world w;

    (void)state;
    begin(&w);
    assert_int_equal(open_site(&x, &w, FRE_ROLE_TAG, NULL), FRE_OK);
    assert_true(serve_keeper_lives(w.keeper));
    must(kill(child_of(w.keeper), SIGTERM) ==
         0); /* of a supervisor, to all: it waits for its server */
    (void)usleep(200000);
    assert_true(serve_keeper_lives(w.keeper));
    assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_OK);
    must(kill(child_of(w.keeper), SIGKILL) == 0);
    while (serve_keeper_lives(w.keeper))
        (void)usleep(10000);
    assert_int_equal(evaluate(key_of(&x), &w, 1), FRE_E_IO);
    assert_int_equal(key_of(&x)->mask(key_of(&x)->ctx, mask), FRE_E_IO);
    key_of(&x)->wipe(key_of(&x)->ctx); /* it is */
    close_site(&x);
    finish(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(it_evaluates_with_the_terms_key),
                                       cmocka_unit_test(a_nonce_is_of_the_elements),
                                       cmocka_unit_test(no_more_than_the_terms_have_users),
                                       cmocka_unit_test(each_at_its_time),
                                       cmocka_unit_test(it_says_which_proofs_are_right),
                                       cmocka_unit_test(a_mask_alone_brings_nothing_back),
                                       cmocka_unit_test(over_is_over),
                                       cmocka_unit_test(it_ends_by_itself),
                                       cmocka_unit_test(opened_again_for_the_same_terms_alone),
                                       cmocka_unit_test(without_its_file_it_opens_nothing),
                                       cmocka_unit_test(another_wrap_file_opens_nothing),
                                       cmocka_unit_test(who_loses_it_hears_of_it)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
