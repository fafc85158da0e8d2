/* What a collection released, from its signed parts.
 *
 *   test_collected parts TERMS SECRET DIR    writes the parts of a release, signed by the synthesis server's key */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/collected.h>

#include "must.h"
#include "temp_dir.h"
#include "wire_sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PARTS 3u
#define CELLS 2u /* of each */

/* Part i: cells i CELLS to i CELLS + 1, with counts of tau and more, centroids along an axis each. */
static void make_part(fre_buf *out, const fre_wire *w, uint32_t i, const char *statement,
                      const fre_sign_sk *sk)
{
    float *x = calloc((size_t)CELLS * w->c.dim, sizeof *x);
    fre_release_cell cell[CELLS];
    const fre_release_part m = {.part = {i, PARTS},
                                .time = 1900000000,
                                .statement = {(const uint8_t *)statement, strlen(statement)},
                                .n = CELLS};

    must(x != NULL);
    for (uint32_t k = 0; k < CELLS; k++) {
        x[(size_t)k * w->c.dim + i * CELLS + k] = 1;
        cell[k] = (fre_release_cell){.count = (uint32_t)w->c.tau + i * CELLS + k,
                                     .centroid = x + (size_t)k * w->c.dim};
    }
    must(fre_release_part_encode(out, w, &m, cell, sk) == FRE_OK);
    free(x);
}

typedef struct made {
    sample s;
    fre_buf part[PARTS];
    fre_bytes view[PARTS];
} made;

static void make_all(made *a, const char *statement)
{
    for (uint32_t i = 0; i < PARTS; i++) {
        fre_buf_init(&a->part[i], SAMPLE_MAX);
        make_part(&a->part[i], &a->s.w, i, statement, &a->s.syn_sk);
        a->view[i] = sample_view(&a->part[i]);
    }
}

static void drop_all(made *a)
{
    for (uint32_t i = 0; i < PARTS; i++)
        fre_buf_wipe(&a->part[i]);
}

static made all;

static int make(void **state)
{
    (void)test_dir_make(state);
    sample_init(&all.s);
    make_all(&all, "what the server says");
    return 0;
}

static int drop(void **state)
{
    drop_all(&all);
    return test_dir_remove(state);
}

static fre_collected_opts opts_of(const char *folder)
{
    return (fre_collected_opts){.terms = &all.s.w.c,
                                .part = all.view,
                                .n_parts = PARTS,
                                .output = folder,
                                .inverter = "none",
                                .threads = 1};
}

static void parts_become_a_release(void **state)
{
    char folder[512];
    const fre_collected_opts o = opts_of(temp_path(folder, &test_dir, "out"));
    fre_collected *x = NULL;
    fre_release back = {.n = 0};
    fre_err err = {.text = ""};

    (void)state;
    if (fre_collected_release(&x, &o, &err) != FRE_OK)
        fail_msg("%s", err.text);
    assert_int_equal(x->release.n, PARTS * CELLS);
    assert_int_equal(x->time, 1900000000);
    assert_true(x->other_statement);
    assert_memory_equal(&x->id, &all.s.w.id, sizeof x->id);
    for (size_t i = 0; i < x->release.n; i++) {
        const fre_released_cell *c = &x->release.cell[i];

        assert_int_equal(c->count, all.s.w.c.tau + i);
        assert_true(fabs(c->users - (double)c->count * 4294967296.0 / (double)all.s.w.c.p32) <
                    1e-9);
        assert_true(c->noise_norm > 0);
        assert_null(c->text.text);
    }
    assert_int_equal(fre_release_read(&back, folder, &err), FRE_OK);
    assert_int_equal(back.n, PARTS * CELLS);
    assert_true(back.is_private);
    assert_non_null(strstr(back.statement, "Claim:"));
    assert_null(strstr(back.statement, "what the server says"));
    fre_release_wipe(&back);
    fre_collected_free(x);
}

static void the_terms_statement_is_recognised(void **state)
{
    fre_collected_opts o = opts_of(NULL);
    fre_collected *x = NULL;
    fre_buf text;
    made own = {.s = all.s};

    (void)state;
    fre_buf_init(&text, 1u << 16);
    assert_int_equal(fre_collection_statement(&text, &all.s.w.c, NULL), FRE_OK);
    assert_int_equal(fre_buf_append(&text, "", 1), FRE_OK);
    make_all(&own, (const char *)text.p);
    o.part = own.view;
    assert_int_equal(fre_collected_release(&x, &o, NULL), FRE_OK);
    assert_false(x->other_statement);
    fre_collected_free(x);
    drop_all(&own);
    fre_buf_wipe(&text);
}

static void refuse(const fre_collected_opts *o, fre_status status, const char *says)
{
    fre_collected *x = NULL;
    fre_err err = {.text = ""};
    const fre_status st = fre_collected_release(&x, o, &err);

    assert_null(x);
    if (st != status || !strstr(err.text, says))
        fail_msg("%s: %s", fre_status_text(st), err.text);
    assert_true(!o->output || !path_exists(o->output));
}

static void other_parts_are_refused(void **state)
{
    char folder[512];
    fre_collected_opts o = opts_of(temp_path(folder, &test_dir, "none"));
    fre_bytes view[PARTS];
    made other = {.s = all.s};

    (void)state;
    o.part = view;
    memcpy(view, all.view, sizeof view);
    view[1] = all.view[2];
    refuse(&o, FRE_E_DATA, "part 1 of the release is another one");
    memcpy(view, all.view, sizeof view);
    o.n_parts = 2;
    refuse(&o, FRE_E_DATA, "has 3 parts, and 2 are here");
    o.n_parts = PARTS;
    all.part[1].p[100] ^= 1;
    refuse(&o, FRE_E_REFUSED, "part 1");
    all.part[1].p[100] ^= 1;
    all.part[1].p[5] ^= 1; /* the collection's id */
    refuse(&o, FRE_E_KEY, "another collection");
    all.part[1].p[5] ^= 1;
    view[2] = (fre_bytes){NULL, 0};
    refuse(&o, FRE_E_DATA, "part 2");
    make_all(&other, "another statement");
    memcpy(view, all.view, sizeof view);
    view[2] = other.view[2];
    refuse(&o, FRE_E_DATA, "of another release");
    drop_all(&other);
    other.s.syn_sk = all.s.tag_sk; /* who is not the synthesis server */
    make_all(&other, "what the server says");
    memcpy(view, other.view, sizeof view);
    refuse(&o, FRE_E_REFUSED, "part 0");
    drop_all(&other);
}

static void weak_terms_are_refused(void **state)
{
    fre_collected_opts o = opts_of(NULL);
    fre_collection c = all.s.w.c;

    (void)state;
    c.sigma /= 2;
    o.terms = &c;
    refuse(&o, FRE_E_REFUSED, "claim");
}

static void another_embedder_is_refused(void **state)
{
    fre_collected_opts o = opts_of(NULL);

    (void)state;
    o.inverter = NULL; /* the sample's embedder is no file */
    refuse(&o, FRE_E_DATA, "{embedder}");
}

/* ---- as a program -------------------------------------------------------------------------------- */

static int write_parts(const char *terms, const char *secret, const char *folder)
{
    static char text[65536], json[65536];
    char digits[65] = "", name[600];
    uint8_t seed[32];
    const char *at;
    fre_collection c;
    fre_sign_sk sk;
    fre_sign_pk pk;
    fre_wire w;
    long n = read_file(terms, json, sizeof json);
    fre_buf b;

    must(n > 0 &&
         fre_collection_from_json(&c, (fre_bytes){(uint8_t *)json, (size_t)n}, NULL) == FRE_OK);
    must(read_file(secret, text, sizeof text - 1) > 0);
    at = strstr(text, "\"sign\": \"");
    must(at != NULL);
    memcpy(digits, at + 9, 64);
    must(fre_unhex(seed, sizeof seed, digits));
    must(fre_sign_keygen_with(&sk, &pk, seed) == FRE_OK);
    must(fre_wire_init(&w, &c, NULL) == FRE_OK);
    for (uint32_t i = 0; i < PARTS; i++) {
        fre_buf_init(&b, SAMPLE_MAX);
        make_part(&b, &w, i, "what the server says", &sk);
        (void)snprintf(name, sizeof name, "%s/release-%u", folder, i);
        write_file(name, b.p, b.n);
        fre_buf_wipe(&b);
    }
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_become_a_release),
        cmocka_unit_test(the_terms_statement_is_recognised),
        cmocka_unit_test(other_parts_are_refused),
        cmocka_unit_test(weak_terms_are_refused),
        cmocka_unit_test(another_embedder_is_refused),
    };

    if (argc == 5 && strcmp(argv[1], "parts") == 0)
        return write_parts(argv[2], argv[3], argv[4]);
    return cmocka_run_group_tests(tests, make, drop);
}
