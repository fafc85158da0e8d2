/* .npy files and their sidecars: what is read, what is refused, what is written. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "assert_num.h"
#include "corpus_private.h"
#include "temp_dir.h"

#define F32 "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"

static const float rows23[6] = {1, -2.5f, 3, 4, 5, 6e-30f};

/* magic, version, a dict padded to `pad` bytes (0: as it is), then the data. */
static size_t make(uint8_t *out, unsigned version, const char *dict, size_t pad, const void *data,
                   size_t bytes)
{
    size_t n = strlen(dict), len = pad > n ? pad : n, pre = version == 1 ? 10 : 12;

    (void)memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)version;
    out[7] = 0;
    (void)memset(out + 8, 0, 4);
    out[8] = (uint8_t)(len & 0xff);
    out[9] = (uint8_t)(len >> 8);
    (void)memset(out + pre, ' ', len);
    (void)memcpy(out + pre, dict, n);
    if (bytes)
        (void)memcpy(out + pre + len, data, bytes);
    return pre + len + bytes;
}

static void check_refused(const char *dict, size_t bytes, const char *want)
{
    uint8_t file[1024], zeros[256] = {0};
    size_t n = make(file, 1, dict, 0, zeros, bytes);
    fre_npy *f = NULL;
    fre_err err = {.text = ""};
    char full[512];

    assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, n}, &err), FRE_E_DATA);
    assert_null(f);
    (void)snprintf(full, sizeof full, "memory: %s", want);
    assert_string_equal(err.text, full);
}

static void test_versions(void **state)
{
    _Alignas(16) uint8_t file[512];
    float row[3];
    fre_err err = {.text = ""};

    (void)state;
    for (unsigned version = 1; version <= 3; version++) {
        /* 118 = 128 - 10 and 116 = 128 - 12: the array is aligned, as NumPy writes it. */
        size_t n = make(file, version, F32, version == 1 ? 118 : 116, rows23, sizeof rows23);
        fre_npy *f = NULL;

        assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, n}, &err), FRE_OK);
        assert_int_equal(fre_npy_rows(f), 2);
        assert_int_equal(fre_npy_dim(f), 3);
        assert_false(fre_npy_has_meta(f));
        assert_string_equal(fre_npy_meta_view(f)->sha256, "");
        assert_int_equal(fre_npy_row(f, row, 1, &err), FRE_OK);
        assert_memory_equal(row, rows23 + 3, sizeof row);
        assert_ptr_equal(fre_npy_row_view(f, 1), file + 128 + 12);
        assert_null(fre_npy_row_view(f, 2));
        assert_int_equal(fre_npy_row(f, row, 2, &err), FRE_E_ARG);
        assert_string_equal(err.text, "memory: row 3 of 2");
        fre_npy_free(f);
    }
}

static void test_float64(void **state)
{
    _Alignas(16) uint8_t file[512];
    double v[4] = {0.1, -7, (double)FLT_MAX, 1e39};
    size_t n = make(file, 1, "{'shape':(2,2),'fortran_order':False,\"descr\":\"<f8\"}\n", 118, v,
                    sizeof v);
    fre_npy *f = NULL;
    float row[2] = {9, 9};
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, n}, &err), FRE_OK);
    assert_int_equal(fre_npy_row(f, row, 0, &err), FRE_OK);
    assert_close((double)row[0], (double)0.1f, 0, 0);
    assert_close((double)row[1], -7, 0, 0);
    assert_null(fre_npy_row_view(f, 0));
    assert_int_equal(fre_npy_row(f, row, 1, &err), FRE_E_DATA);
    assert_string_equal(err.text,
                        "memory: row 2 holds a NaN, an infinity or a number too large for float32; "
                        "remove the row or embed its text again");
    fre_npy_free(f);
}

static void test_unaligned(void **state)
{
    _Alignas(16) uint8_t file[512];
    size_t n = make(file, 1, F32, 119, rows23, sizeof rows23);
    fre_npy *f = NULL;
    float row[3];
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, n}, &err), FRE_OK);
    assert_null(fre_npy_row_view(f, 0));
    assert_int_equal(fre_npy_row(f, row, 0, &err), FRE_OK);
    assert_memory_equal(row, rows23, sizeof row);
    fre_npy_free(f);
}

static void test_not_finite(void **state)
{
    static const double bad[] = {(double)NAN, (double)INFINITY, -(double)INFINITY};

    (void)state;
    for (int wide = 0; wide < 2; wide++) {
        for (size_t i = 0; i < 9; i++) { /* each value in each column */
            uint8_t file[512];
            double v8[6] = {1, 2, 3, (double)FLT_MAX, -(double)FLT_MAX, -5};
            float v4[6] = {1, 2, 3, FLT_MAX, -FLT_MAX, -5}, row[3] = {7, 7, 7};
            fre_npy *f = NULL;
            fre_err err = {.text = ""};
            size_t n = 0;

            v8[3 + i / 3] = bad[i % 3];
            v4[3 + i / 3] = (float)bad[i % 3];
            n = wide ? make(file, 1, "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3)}", 0,
                            v8, sizeof v8)
                     : make(file, 1, F32, 0, v4, sizeof v4);
            assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, n}, &err), FRE_OK);
            assert_int_equal(fre_npy_row(f, row, 1, &err), FRE_E_DATA);
            assert_non_null(strstr(err.text, "memory: row 2 holds a NaN"));
            assert_close((double)row[0], 7, 0, 0); /* untouched */
            assert_int_equal(fre_npy_row(f, row, 0, &err), FRE_OK);
            assert_close((double)row[2], 3, 0, 0);
            fre_npy_free(f);
        }
    }
}

static void test_zero_rows(void **state)
{
    uint8_t file[256];
    size_t n =
        make(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 384), }", 0, NULL, 0);
    fre_npy *f = NULL;
    fre_err err = {.text = ""};

    (void)state;
    assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, n}, &err), FRE_OK);
    assert_int_equal(fre_npy_rows(f), 0);
    assert_int_equal(fre_npy_dim(f), 384);
    assert_null(fre_npy_row_view(f, 0));
    fre_npy_release_before(f, 5); /* nothing to release */
    fre_npy_free(f);
}

static void test_refused_arrays(void **state)
{
    static const char todo[] = "save it with numpy as float32: np.save(path, x.astype('<f4'))";
    char want[256];

    (void)state;
#define REFUSE(what, dict)                                                                         \
    ((void)snprintf(want, sizeof want, "%s; %s", what, todo), check_refused(dict, 24, want))
    REFUSE("big-endian floats", "{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3)}");
    REFUSE("big-endian floats", "{'descr': '>f8', 'fortran_order': False, 'shape': (1, 3)}");
    REFUSE("an array of Python objects",
           "{'descr': '|O', 'fortran_order': False, 'shape': (1, 3)}");
    REFUSE("elements of type <f2, not float32 or float64",
           "{'descr': '<f2', 'fortran_order': False, 'shape': (4, 3)}");
    REFUSE("elements of type <i8, not float32 or float64",
           "{'descr': '<i8', 'fortran_order': False, 'shape': (1, 3)}");
#undef REFUSE
    check_refused("{'descr': [('a', '<f4'), ('b]', '<f4', (2,))], 'fortran_order': False, 'shape': "
                  "(1, 3)}",
                  24, "a structured array; save one 2-d array of float32");
    check_refused("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}", 24,
                  "the array is in Fortran order; save np.ascontiguousarray(x)");
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (6,)}", 24,
                  "an array of 1 dimension; embeddings are 2-d: one row a text");
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4,
                  "an array of 0 dimensions; embeddings are 2-d: one row a text");
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2,3)}", 24,
                  "an array of 10 dimensions; embeddings are 2-d: one row a text");
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 0)}", 0,
                  "rows of 0 numbers; 1 to 65536 are supported");
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 65537)}", 0,
                  "rows of 65537 numbers; 1 to 65536 are supported");
    check_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4)}", 24,
                  "the header names more rows than can exist");
    check_refused(F32, 23,
                  "the header says 2 rows of 3 numbers (24 bytes), but 23 bytes follow it; the "
                  "file is cut off or damaged");
    check_refused(F32, 25,
                  "the header says 2 rows of 3 numbers (24 bytes), but 25 bytes follow it; the "
                  "file is cut off or damaged");
}

static void test_refused_headers(void **state)
{
    static const struct {
        const char *dict, *why;
    } cases[] = {
        {"", "a dict is expected"},
        {"['descr']", "a dict is expected"},
        {"{'descr': '<f4'}", "descr, fortran_order or shape is missing"},
        {"{'fortran_order': False, 'shape': (2, 3)}", "descr, fortran_order or shape is missing"},
        {"{'descr': '<f4', 'descr': '<f4'}", "a key appears twice"},
        {"{'descr': <f4}", "descr is not a type"},
        {"{'descr': '<f4", "descr is not a type"},
        {"{'descr': '\\x3cf4'}", "descr is not a type"},
        {"{'descr': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'}", "descr is not a type"},
        {"{'descr': [('a', '<f4')", "descr is not a type"},
        {"{descr: '<f4'}", "a key in quotes and a colon are expected"},
        {"{'descr' '<f4'}", "a key in quotes and a colon are expected"},
        {"{'fortran_order': 0}", "fortran_order is neither True nor False"},
        {"{'shape': [2, 3]}", "shape is not a tuple of integers"},
        {"{'shape': (2 3)}", "shape is not a tuple of integers"},
        {"{'shape': (-2, 3)}", "shape is not a tuple of integers"},
        {"{'shape': (2, 99999999999999999999)}", "shape is not a tuple of integers"},
        {"{'shape': (2, 3)", "a comma or a closing brace is expected"},
        {"{'shape': (2, 3) 'descr': '<f4'}", "a comma or a closing brace is expected"},
        {"{'kind': 1}", "an unknown key"},
        {F32 " x", "something follows the dict"},
    };
    char want[128];
    uint8_t file[256];
    fre_npy *f = NULL;
    fre_err err = {.text = ""};
    size_t n = make(file, 1, F32, 0, rows23, sizeof rows23);

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        (void)snprintf(want, sizeof want, "the .npy header is damaged: %s", cases[i].why);
        check_refused(cases[i].dict, 24, want);
    }
    /* Python 2 wrote long integers with an L. */
    n = make(file, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 3L)}", 0, rows23, 24);
    assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, n}, &err), FRE_OK);
    fre_npy_free(f);
    f = NULL;

    file[6] = 4;
    assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, n}, &err), FRE_E_DATA);
    assert_string_equal(err.text, "memory: .npy version 4.0; 1.0 to 3.0 are supported");
    file[6] = 1;
    for (size_t cut = 0; cut < n; cut++) { /* every cut is refused, and read in bounds */
        uint8_t *exact = malloc(cut ? cut : 1);

        assert_non_null(exact);
        (void)memcpy(exact, file, cut);
        assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){exact, cut}, &err), FRE_E_DATA);
        free(exact);
    }
    assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, 9}, &err), FRE_E_DATA);
    assert_string_equal(err.text, "memory: is not a .npy file; write one with fre-e2t embed or "
                                  "numpy.save");
    assert_int_equal(fre_npy_open_memory(&f, (fre_bytes){file, 20}, &err), FRE_E_DATA);
    assert_string_equal(err.text, "memory: the header is cut off; get the file again");
    assert_null(f);
}

/* ---- files, sidecars, the writer ------------------------------------------------------- */

static void put(const char *path, const void *p, size_t n)
{
    FILE *f = fopen(path, "wb");

    assert_non_null(f);
    assert_int_equal(fwrite(p, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
}

static void write_array(const char *path, size_t rows, size_t dim, const float *x)
{
    FILE *f = fopen(path, "wb");
    fre_err err;

    assert_non_null(f);
    assert_int_equal(fre_npy_write_header(f, FRE_NPY_F4, rows, dim, &err), FRE_OK);
    assert_int_equal(ftell(f) % 64, 0);
    assert_int_equal(fwrite(x, sizeof *x, rows * dim, f), rows * dim);
    assert_int_equal(fclose(f), 0);
}

static void test_round_trip(void **state)
{
    temp_dir t;
    char path[512], side[520];
    fre_npy_meta m = {"all-\"MiniLM\"-L6 \xc3\xa9", "", true};
    fre_npy *f = NULL;
    FILE *s = NULL;
    fre_err err = {.text = ""};

    (void)state;
    temp_dir_make(&t);
    (void)temp_path(path, &t, "x.npy");
    (void)memset(m.sha256, 'a', 64);
    write_array(path, 2, 3, rows23);
    (void)snprintf(side, sizeof side, "%s.json", path);
    s = fopen(side, "w");
    assert_non_null(s);
    assert_int_equal(fre_npy_write_meta(s, &m, 2, 3, &err), FRE_OK);
    assert_int_equal(fclose(s), 0);
    assert_int_equal(fre_npy_open(&f, path, &err), FRE_OK);
    assert_true(fre_npy_has_meta(f));
    assert_string_equal(fre_npy_meta_view(f)->embedder, m.embedder);
    assert_string_equal(fre_npy_meta_view(f)->sha256, m.sha256);
    assert_true(fre_npy_meta_view(f)->normalised);
    assert_non_null(fre_npy_row_view(f, 0));
    assert_memory_equal(fre_npy_row_view(f, 0), rows23, sizeof rows23);
    fre_npy_free(f);
    temp_dir_remove(&t);
}

static void check_sidecar(const char *path, const char *json, const char *want)
{
    char side[520], full[700];
    fre_npy *f = NULL;
    fre_err err = {.text = ""};
    fre_status st = FRE_OK;

    (void)snprintf(side, sizeof side, "%s.json", path);
    put(side, json, strlen(json));
    st = fre_npy_open(&f, path, &err);
    if (want) {
        (void)snprintf(full, sizeof full, "%s.json: %s", path, want);
        assert_int_equal(st, FRE_E_DATA);
        assert_null(f);
        assert_string_equal(err.text, full);
    } else {
        assert_int_equal(st, FRE_OK);
        fre_npy_free(f);
    }
}

static void test_sidecar(void **state)
{
    temp_dir t;
    char path[512];
    char big[70000];

    (void)state;
    temp_dir_make(&t);
    (void)temp_path(path, &t, "x.npy");
    write_array(path, 2, 3, rows23);
    check_sidecar(
        path,
        "{\"embedder\":\"m\",\"sha256\":\"\",\"dimension\":3,\"normalised\":false,\"rows\":"
        "2,\"more\":1}",
        NULL);
    check_sidecar(path, "{\"dimension\":4,\"rows\":2}",
                  "dimension is 4, but the array has 3; the two files do not belong together");
    check_sidecar(path, "{\"dimension\":3,\"rows\":-1}",
                  "rows is -1, but the array has 2; the two files do not belong together");
    check_sidecar(path, "{\"dimension\":3.0,\"rows\":2}",
                  "the key \"dimension\" is missing or is not an integer; embed the texts again");
    check_sidecar(path, "{\"dimension\":3,\"rows\":2,\"normalised\":1}",
                  "the key \"normalised\" is missing or is not true or false; embed the texts "
                  "again");
    check_sidecar(path, "{\"dimension\":3,\"rows\":2,\"normalised\":true,\"sha256\":\"ABC\"}",
                  "the key \"sha256\" is missing or is not 64 lower-case hexadecimal digits; embed "
                  "the texts again");
    check_sidecar(path, "{\"dimension\":3,\"rows\":2,\"normalised\":true,\"sha256\":\"\"}",
                  "the key \"embedder\" is missing or is not a string of up to 127 bytes; embed "
                  "the texts again");
    check_sidecar(path, "{\n\"rows\":2,,}",
                  "line 2: not valid JSON; delete it or embed the texts again");
    check_sidecar(path, "[]", "not a JSON object; embed the texts again");
    (void)memset(big, ' ', sizeof big - 1);
    big[sizeof big - 1] = '\0';
    check_sidecar(path, big, "longer than 64 KiB, so not a sidecar of ours");
    temp_dir_remove(&t);
}

static void test_open_errors(void **state)
{
    temp_dir t;
    char path[512], want[700];
    fre_npy *f = NULL;
    fre_err err = {.text = ""};

    (void)state;
    temp_dir_make(&t);
    (void)temp_path(path, &t, "none.npy");
    (void)snprintf(want, sizeof want,
                   "%s: cannot be opened: No such file or directory; check the path", path);
    assert_int_equal(fre_npy_open(&f, path, &err), FRE_E_NOINPUT);
    assert_string_equal(err.text, want);
    (void)snprintf(want, sizeof want, "%s: is a folder; give a file of texts", t.path);
    assert_int_equal(fre_npy_open(&f, t.path, &err), FRE_E_NOINPUT);
    assert_string_equal(err.text, want);
    put(temp_path(path, &t, "empty.npy"), "", 0);
    (void)snprintf(want, sizeof want, "%s: is empty", path);
    assert_int_equal(fre_npy_open(&f, path, &err), FRE_E_NOINPUT);
    assert_string_equal(err.text, want);
    assert_null(f);
    temp_dir_remove(&t);
}

static size_t resident_pages(const void *at, size_t page)
{
    /* mincore() tells of the page cache, not of this process: ask for the mapping's own pages. */
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    size_t kib = 0;
    bool inside = false;

    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        unsigned long lo = 0, hi = 0;

        if (sscanf(line, "%lx-%lx ", &lo, &hi) == 2)
            inside = (uintptr_t)at >= lo && (uintptr_t)at < hi;
        else if (inside && sscanf(line, "Rss: %zu kB", &kib) == 1)
            break;
    }
    assert_int_equal(fclose(f), 0);
    return kib * 1024 / page;
}

/* Released rows leave memory, come back when read again, and can be released again. */
static void test_release(void **state)
{
    const size_t rows = 4096, dim = 256; /* 4 MiB */
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    float *x = malloc(rows * dim * sizeof *x), row[256];
    temp_dir t;
    char path[512];
    fre_npy *f = NULL;
    fre_err err = {.text = ""};

    (void)state;
    assert_non_null(x);
    for (size_t i = 0; i < rows * dim; i++)
        x[i] = (float)i;
    temp_dir_make(&t);
    write_array(temp_path(path, &t, "x.npy"), rows, dim, x);
    assert_int_equal(fre_npy_open(&f, path, &err), FRE_OK);
    for (int pass = 0; pass < 2; pass++) {
        for (size_t i = 0; i < rows; i++) {
            assert_int_equal(fre_npy_row(f, row, i, &err), FRE_OK);
            assert_memory_equal(row, x + i * dim, sizeof row);
        }
        assert_true(resident_pages(fre_npy_row_view(f, 0), page) > 900);
        fre_npy_release_before(f, rows / 2);
        fre_npy_release_before(f, rows);
        assert_true(resident_pages(fre_npy_row_view(f, 0), page) < 40);
    }
    fre_npy_free(f);
    free(x);
    temp_dir_remove(&t);
}

/* Arrays that NumPy itself wrote. */
static void test_numpy(void **state)
{
    static const struct {
        const char *name, *why; /* NULL: it opens */
    } files[] = {
        {"rows-f4.npy", NULL},
        {"rows-f8.npy", NULL},
        {"rows-f4-big.npy", "big-endian floats"},
        {"rows-f4-fortran.npy", "Fortran order"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char path[512];
        fre_npy *f = NULL;
        fre_err err = {.text = ""};
        float row[4];

        (void)snprintf(path, sizeof path, "%s/tests/data/%s", FRE_SOURCE_DIR, files[i].name);
        if (files[i].why) {
            assert_int_equal(fre_npy_open(&f, path, &err), FRE_E_DATA);
            assert_non_null(strstr(err.text, files[i].why));
            continue;
        }
        assert_int_equal(fre_npy_open(&f, path, &err), FRE_OK);
        assert_int_equal(fre_npy_rows(f), 3);
        assert_int_equal(fre_npy_dim(f), 4);
        for (size_t k = 0; k < 12; k++) {
            assert_int_equal(fre_npy_row(f, row, k / 4, &err), FRE_OK);
            assert_close((double)row[k % 4], ((double)k - 5) / 8, 0, 0);
        }
        fre_npy_free(f);
    }
}

static void test_writer(void **state)
{
    static const char two[] =
        "\x93NUMPY\x01\0\x76\0{'descr': '<f4', 'fortran_order': False, 'shape': "
        "(0, 384), }";
    static const char one[] =
        "\x93NUMPY\x01\0\x76\0{'descr': '<i8', 'fortran_order': False, 'shape': "
        "(18446744073709551615,), }";
    char buf[256];
    FILE *f = fmemopen(buf, sizeof buf, "w");
    FILE *full = fopen("/dev/full", "w");
    fre_npy_meta bad = {"\xff", "", false};
    fre_err err = {.text = ""};

    (void)state;
    assert_non_null(f);
    assert_non_null(full);
    assert_int_equal(fre_npy_write_header(f, FRE_NPY_F4, 0, 384, &err), FRE_OK);
    assert_int_equal(fflush(f), 0);
    assert_int_equal(ftell(f), 128);
    assert_memory_equal(buf, two, sizeof two - 1);
    assert_int_equal(buf[127], '\n');
    rewind(f);
    assert_int_equal(fre_npy_write_header(f, FRE_NPY_I8, SIZE_MAX, 0, &err), FRE_OK);
    assert_int_equal(fflush(f), 0);
    assert_int_equal(ftell(f), 128);
    assert_memory_equal(buf, one, sizeof one - 1);
    assert_int_equal(fre_npy_write_meta(f, &bad, 1, 1, &err), FRE_E_ARG);
    assert_int_equal(fclose(f), 0);
    (void)setvbuf(full, NULL, _IONBF, 0);
    assert_int_equal(fre_npy_write_header(full, FRE_NPY_F4, 1, 1, &err), FRE_E_IO);
    assert_string_equal(err.text, "the .npy header cannot be written: No space left on device");
    bad.embedder[0] = 'e';
    assert_int_equal(fre_npy_write_meta(full, &bad, 1, 1, &err), FRE_E_IO);
    (void)fclose(full);
}

static void check_numbers(const temp_dir *t, const char *dict, size_t bytes, const char *want)
{
    uint8_t file[512];
    char path[512];
    const float x[2] = {0.5f, -0.25f};
    size_t n = make(file, 1, dict, 0, x, bytes);
    FILE *f = fopen(temp_path(path, t, "s.npy"), "wb");
    fre_npy *a = NULL;
    fre_err err = {.text = ""};
    float row = 0;

    assert_non_null(f);
    assert_int_equal(fwrite(file, 1, n, f), n);
    assert_int_equal(fclose(f), 0);
    if (want) {
        assert_int_equal(fre_npy_open_numbers(&a, path, &err), FRE_E_DATA);
        assert_null(a);
        assert_non_null(strstr(err.text, want));
        return;
    }
    assert_int_equal(fre_npy_open_numbers(&a, path, &err), FRE_OK);
    assert_int_equal(fre_npy_rows(a), 2);
    assert_int_equal(fre_npy_dim(a), 1);
    assert_false(fre_npy_has_meta(a));
    assert_int_equal(fre_npy_row(a, &row, 1, &err), FRE_OK);
    assert_memory_equal(&row, &x[1], sizeof row);
    fre_npy_free(a);
}

static void test_numbers(void **state)
{
    temp_dir t;

    (void)state;
    temp_dir_make(&t);
    check_numbers(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)}", 8, NULL);
    check_numbers(&t, "{'descr': '<f4', 'fortran_order': True, 'shape': (2,)}", 8, NULL);
    check_numbers(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}", 8, NULL);
    check_numbers(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2)}", 8,
                  "s.npy: rows of 2 numbers; one number a row is wanted");
    check_numbers(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': ()}", 4,
                  "s.npy: an array of 0 dimensions; one number a row is wanted");
    check_numbers(&t, "{'descr': '<f4', 'fortran_order': False, 'shape': (3,)}", 8,
                  "s.npy: the header says 3 rows of 1 numbers (12 bytes), but 8 bytes follow it");
    temp_dir_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_versions),        cmocka_unit_test(test_float64),
        cmocka_unit_test(test_unaligned),       cmocka_unit_test(test_not_finite),
        cmocka_unit_test(test_zero_rows),       cmocka_unit_test(test_refused_arrays),
        cmocka_unit_test(test_refused_headers), cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_sidecar),         cmocka_unit_test(test_open_errors),
        cmocka_unit_test(test_release),         cmocka_unit_test(test_writer),
        cmocka_unit_test(test_numpy),           cmocka_unit_test(test_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
