/* small_release.h - a release of a fraction of a second, and what its tests ask of files.  Behind
 * cmocka's headers. */
#ifndef FRE_TESTS_SMALL_RELEASE_H
#define FRE_TESTS_SMALL_RELEASE_H

#include <fre/curator.h>

#include "temp_dir.h"

#define SMALL_EPSILON 8

/* No texts, a record a user, a plan of a hundredth of a second. */
static inline fre_curator_opts small_release(const char *input, const char *output)
{
    fre_curator_opts o;

    fre_curator_opts_init(&o);
    o.input = input;
    o.output = output;
    o.inverter = "none";
    o.threads = 1;
    o.plan.epsilon = SMALL_EPSILON;
    o.plan.threshold = 40;
    o.plan.population = 1000;
    o.plan.proj = 20;
    o.plan.sampling_rate = .5;
    return o;
}

/* x: n x d, or one row that is repeated. */
static inline void write_rows(const char *path, const float *x, size_t n, size_t d, bool repeated)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fre_npy_write_header(f, FRE_NPY_F4, n, d, NULL), FRE_OK);
    for (size_t i = 0; i < n; i++)
        assert_int_equal(fwrite(repeated ? x : x + i * d, sizeof *x, d, f), d);
    assert_int_equal(fclose(f), 0);
}

/* The folder of a release, whole or begun. */
static inline void remove_release(const char *folder)
{
    static const char *const names[] = {"release.json", "centroids.npy", "centroids.npy.json",
                                        "counts.npy", "synthetic.jsonl"};
    char path[1400];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(folder);
}

#endif /* FRE_TESTS_SMALL_RELEASE_H */
