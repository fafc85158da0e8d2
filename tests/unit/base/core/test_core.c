/* Status, buffer, hash, rng, clock, progress, interruption, threads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fre/core.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "temp_dir.h"

/* ---- status ------------------------------------------------------------------------------ */

static void status_has_text_and_exit_code(void **state)
{
    static const struct {
        fre_status status;
        int code;
    } expected[] = {
        {FRE_OK, 0},       {FRE_E_ARG, 70},        {FRE_E_STATE, 70},        {FRE_E_INTERNAL, 70},
        {FRE_E_USAGE, 64}, {FRE_E_INFEASIBLE, 64}, {FRE_E_DATA, 65},         {FRE_E_MODEL, 65},
        {FRE_E_PROOF, 65}, {FRE_E_KEY, 77},        {FRE_E_NOINPUT, 66},      {FRE_E_EXISTS, 73},
        {FRE_E_IO, 74},    {FRE_E_AGAIN, 75},      {FRE_E_INTERRUPTED, 130}, {FRE_E_NOMEM, 70},
        {FRE_E_LIMIT, 65}, {FRE_E_REFUSED, 77},
    };

    (void)state;
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        assert_int_equal(fre_status_exit_code(expected[i].status), expected[i].code);
        assert_true(strlen(fre_status_text(expected[i].status)) > 3);
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(fre_status_text(expected[i].status),
                                    fre_status_text(expected[j].status));
    }
    assert_int_equal(fre_status_exit_code((fre_status)0x7ff), 70);
    assert_non_null(fre_status_text((fre_status)0x7ff));
}

static void fail_formats_cuts_and_allows_null(void **state)
{
    char longer[2 * FRE_ERR_BYTES];
    fre_err err;

    (void)state;
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(fre_fail(&err, FRE_E_DATA, "line %d", 7), FRE_E_DATA);
    assert_string_equal(err.text, "line 7");
    assert_int_equal(fre_fail(NULL, FRE_E_IO, "line %d", 7), FRE_E_IO);
    (void)fre_fail(&err, FRE_E_IO, "%s", longer);
    assert_int_equal(strlen(err.text), FRE_ERR_BYTES - 1);
}

static bool shouted(char *out, size_t n, const char *param)
{
    if (strcmp(param, "sampling_rate") != 0)
        return false;
    (void)snprintf(out, n, "RATE");
    return true;
}

/* The library names parameters; each reader has names of their own for them. */
static void errors_name_parameters(void **state)
{
    char out[64], small[8], none[1] = "x";
    fre_err err;

    (void)state;
    (void)fre_fail(&err, FRE_E_USAGE, "%s is too high: lower {sampling_rate} or {tau}", "x{}{A}");
    assert_string_equal(err.field, "sampling_rate");
    assert_string_equal(fre_param_render(out, sizeof out, err.text, NULL),
                        "x{}{A} is too high: lower sampling_rate or tau");
    assert_string_equal(fre_param_render(out, sizeof out, err.text, shouted),
                        "x{}{A} is too high: lower RATE or {tau}");
    assert_string_equal(fre_param_render(small, sizeof small, "{sampling_rate}", shouted), "RATE");
    assert_string_equal(fre_param_render(small, sizeof small, "a {sampling_rate}", NULL), "a ");
    assert_string_equal(fre_param_render(none, 1, "a", NULL), "");
    (void)fre_fail(&err, FRE_E_DATA,
                   "line 7 has {\"a\": 1} and {an_unending_name_of_a_parameter_x}");
    assert_string_equal(err.field, "");
    assert_string_equal(fre_param_render(out, 11, "{a} {b", NULL), "a {b");
}

/* ---- buffer ------------------------------------------------------------------------------ */

/* Never on the unsafe side, never a unit of the last digit away, and short numbers as they are. */
static void digits_keep_their_side(void **state)
{
    static const double exact[] = {0,      4,       0.1, 1e-7, 5e-324, 1.7976931348623157e308,
                                   9.9996, 0.000123};
    char up[FRE_DIGITS_BYTES], down[FRE_DIGITS_BYTES];
    uint64_t x = 14;
    size_t i;

    (void)state;
    for (i = 0; i < 100000; i++) {
        int n = (int)(i % 15) + 1;
        double value, a, b, slack;

        x = x * 6364136223846793005u + 1442695040888963407u;
        value = i < 8 ? exact[i] : ldexp((double)(x >> 11) * 0x1p-53, (int)(x % 600) - 300);
        value = i % 3 == 2 ? -value : value;
        a = strtod(fre_digits_down(down, n, value), NULL);
        b = strtod(fre_digits_up(up, n, value), NULL);
        slack = n < 13 ? 1e-12 * fabs(value) : 0;
        assert_true(a <= value + slack && value <= b + slack);
        if (i >= 8)
            assert_true(b - a <= fabs(value) * pow(10, 1 - n) * 1.1);
    }
    assert_string_equal(fre_digits_up(up, 4, 0.12341), "0.1235");
    assert_string_equal(fre_digits_down(down, 4, 0.12349), "0.1234");
    assert_string_equal(fre_digits_up(up, 4, 9.99991), "10");
    assert_string_equal(fre_digits_up(up, 6, 16.000000000000004), "16");
    assert_string_equal(fre_digits_down(down, 6, 0.99999999999999956), "1");
    assert_string_equal(fre_digits_up(up, 15, 1e-7), "1e-07");
    assert_string_equal(fre_digits_up(up, 6, 4), "4");
    assert_string_equal(fre_digits_up(up, 6, HUGE_VAL), "inf");
}

static void buffer_grows_to_its_limit_only(void **state)
{
    fre_buf b;
    uint8_t block[100];

    (void)state;
    memset(block, 0x5a, sizeof block);
    fre_buf_init(&b, 250);
    assert_int_equal(fre_buf_append(&b, NULL, 0), FRE_OK);
    assert_int_equal(fre_buf_append(&b, NULL, 1), FRE_E_ARG);
    assert_int_equal(fre_buf_append(&b, block, 100), FRE_OK);
    assert_int_equal(fre_buf_append(&b, block, 100), FRE_OK);
    assert_int_equal(fre_buf_append(&b, block, 51), FRE_E_LIMIT);
    assert_int_equal(b.n, 200);
    assert_int_equal(fre_buf_append(&b, block, SIZE_MAX), FRE_E_LIMIT);
    assert_int_equal(fre_buf_append(&b, block, 50), FRE_OK);
    assert_int_equal(b.n, 250);
    assert_int_equal(fre_buf_append(&b, block, 1), FRE_E_LIMIT);
    for (size_t i = 0; i < b.n; i++)
        assert_int_equal(b.p[i], 0x5a);
    fre_buf_wipe(&b);
    assert_null(b.p);
    assert_int_equal(b.n, 0);
    assert_int_equal(b.max, 250);
    assert_int_equal(fre_buf_append(&b, block, 100), FRE_OK);
    fre_buf_wipe(&b);
    fre_buf_wipe(&b);
}

static void buffer_takes_the_room_it_was_asked_for(void **state)
{
    static const uint8_t block[5000];
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 6000);
    assert_int_equal(fre_buf_reserve(&b, 6001), FRE_E_LIMIT);
    assert_int_equal(fre_buf_reserve(&b, SIZE_MAX), FRE_E_LIMIT);
    assert_null(b.p);
    assert_int_equal(fre_buf_reserve(&b, 5000), FRE_OK);
    assert_int_equal(b.n, 0);
    assert_int_equal(b.cap, 5001);
    for (size_t i = 0; i < 5000; i++) {
        const uint8_t *was = b.p;

        assert_int_equal(fre_buf_append(&b, block, 1), FRE_OK);
        assert_ptr_equal(b.p, was);
    }
    fre_buf_wipe(&b);
    assert_int_equal(fre_buf_append(&b, block, sizeof block), FRE_OK);
    assert_int_equal(b.cap, sizeof block + 1);
    fre_buf_wipe(&b);
}

static void buffer_can_append_from_itself(void **state)
{
    fre_buf b;

    (void)state;
    fre_buf_init(&b, SIZE_MAX);
    assert_int_equal(fre_buf_append(&b, "abcdefghijklmnopqrstuvwxyz012345", 32), FRE_OK);
    for (int i = 0; i < 6; i++) /* crosses several moves of the storage */
        assert_int_equal(fre_buf_append(&b, b.p, b.n), FRE_OK);
    assert_int_equal(b.n, 2048);
    for (size_t i = 0; i < b.n; i++)
        assert_int_equal(b.p[i], b.p[i % 32]);
    fre_buf_wipe(&b);
}

static void buffer_printf_counts_and_limits(void **state)
{
    fre_buf b;

    (void)state;
    fre_buf_init(&b, 12);
    assert_int_equal(fre_buf_printf(&b, "%s-%d", "abc", 42), FRE_OK);
    assert_int_equal(b.n, 6);
    assert_memory_equal(b.p, "abc-42", 7); /* with a NUL that is not counted */
    assert_int_equal(fre_buf_printf(&b, "%s", "1234567"), FRE_E_LIMIT);
    assert_int_equal(b.n, 6);
    assert_memory_equal(b.p, "abc-42", 7);
    assert_int_equal(fre_buf_printf(&b, "%s", "123456"), FRE_OK);
    assert_memory_equal(b.p, "abc-42123456", 13);
    fre_buf_wipe(&b);
}

static void wipe_and_compare(void **state)
{
    uint8_t a[33], b[33];

    (void)state;
    memset(a, 7, sizeof a);
    memset(b, 7, sizeof b);
    assert_true(fre_secret_eq(a, b, sizeof a));
    b[32] = 8;
    assert_false(fre_secret_eq(a, b, sizeof a));
    assert_true(fre_secret_eq(a, b, 32));
    assert_true(fre_secret_eq(NULL, NULL, 0));
    fre_wipe(a, 32);
    for (size_t i = 0; i < 32; i++)
        assert_int_equal(a[i], 0);
    assert_int_equal(a[32], 7);
    fre_wipe(NULL, 0);
}

/* ---- hashes and digits ------------------------------------------------------------------- */

static void sha256_of_a_file(void **state)
{
    /* FIPS 180-4 examples: "abc", the empty message, a million times "a". */
    static const char *const wanted[] = {
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0",
    };
    static const size_t sizes[] = {3, 0, 1000000};
    temp_dir t;
    char path[512], hex[65];
    uint8_t out[32];
    char *a = malloc(1000000);
    fre_err err;

    (void)state;
    assert_non_null(a);
    temp_dir_make(&t);
    (void)temp_path(path, &t, "f");
    for (size_t i = 0; i < 3; i++) {
        memset(a, 'a', 1000000);
        if (i == 0)
            memcpy(a, "abc", 3);
        write_file(path, a, sizes[i]);
        assert_int_equal(fre_sha256_file(out, path, &err), FRE_OK);
        fre_hex(hex, out, sizeof out);
        assert_string_equal(hex, wanted[i]);
    }
    free(a);
    memset(out, 9, sizeof out);
    (void)temp_path(path, &t, "absent");
    assert_int_equal(fre_sha256_file(out, path, &err), FRE_E_NOINPUT);
    assert_non_null(strstr(err.text, "absent"));
    assert_int_equal(fre_sha256_file(out, t.path, &err), FRE_E_NOINPUT); /* a folder */
    assert_int_equal(fre_sha256_file(out, "/proc/self/mem", &err), FRE_E_IO);
    assert_int_equal(fre_sha256_file(out, NULL, NULL), FRE_E_ARG);
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], 9);
    temp_dir_remove(&t);
}

static void salt_goes_in_front_of_the_file(void **state)
{
    uint8_t plain[32], salted[32];
    fre_sha256 h;
    temp_dir t;
    char path[512];

    (void)state;
    temp_dir_make(&t);
    (void)temp_path(path, &t, "f");
    write_file(path, "abc", 3);
    assert_int_equal(fre_sha256_file(plain, path, NULL), FRE_OK);
    fre_sha256_begin(&h, (fre_bytes){(const uint8_t *)"a", 1});
    fre_sha256_add(&h, "b", 1);
    fre_sha256_add(&h, "c", 1);
    fre_sha256_end(salted, &h);
    assert_memory_equal(salted, plain, 32);
    temp_dir_remove(&t);
}

/* Whole blocks may go another way than the rest: in parts of any length, the sum is that of bytes one
 * by one, which never makes a block's worth at once. */
static void a_hash_in_parts_is_that_of_bytes(void **state)
{
    static const size_t parts[] = {0, 1, 55, 63, 64, 65, 1023, 1024, 1025, 2048, 4095, 5000};
    enum { N = sizeof parts / sizeof *parts, MOST = 3 * 5000 };
    static uint8_t text[MOST];
    uint8_t whole[32], bytes[32];

    (void)state;
    for (size_t i = 0; i < MOST; i++)
        text[i] = (uint8_t)(i * i / 7 + i);
    for (size_t a = 0; a < N; a++)
        for (size_t b = 0; b < N; b++) {
            const size_t n[] = {parts[a], parts[b], 1024};
            fre_sha256 h, one;
            size_t at = 0;

            fre_sha256_begin(&h, (fre_bytes){NULL, 0});
            fre_sha256_begin(&one, (fre_bytes){NULL, 0});
            for (size_t i = 0; i < 3; i++) {
                fre_sha256_add(&h, text + at, n[i]);
                at += n[i];
            }
            for (size_t i = 0; i < at; i++)
                fre_sha256_add(&one, text + i, 1);
            fre_sha256_end(whole, &h);
            fre_sha256_end(bytes, &one);
            assert_memory_equal(whole, bytes, sizeof whole);
        }
}

static void hash128_is_keyed_blake2b(void **state)
{
    /* Made with Python: hashlib.blake2b(b"hello", digest_size=16, key=bytes(range(32))). */
    uint8_t key[32], a[16], b[16];
    char hex[33];

    (void)state;
    for (uint8_t i = 0; i < 32; i++)
        key[i] = i;
    fre_hash128(a, key, "hello", 5);
    fre_hex(hex, a, 16);
    assert_string_equal(hex, "b6cd31b2100d036e7bfa834e88e5b054");
    key[31] ^= 1;
    fre_hash128(b, key, "hello", 5);
    assert_memory_not_equal(a, b, 16);
    fre_hash128(b, key, NULL, 0);
}

static void hex_round_trip(void **state)
{
    static const char *const bad[] = {"", "0", "000", "00000", "0g00", "00 0", "-100", "0x00"};
    uint8_t in[256], out[256], two[2] = {1, 2};
    char text[513];

    (void)state;
    for (size_t i = 0; i < 256; i++)
        in[i] = (uint8_t)i;
    fre_hex(text, in, 256);
    assert_int_equal(strlen(text), 512);
    assert_memory_equal(text, "000102030405060708090a0b0c0d0e0f10", 34);
    assert_true(fre_unhex(out, 256, text));
    assert_memory_equal(in, out, 256);
    assert_true(fre_unhex(two, 2, "aBCd"));
    assert_int_equal(two[0], 0xab);
    assert_int_equal(two[1], 0xcd);
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_false(fre_unhex(two, 2, bad[i]));
    assert_false(fre_unhex(two, 2, NULL));
    assert_int_equal(two[0], 0xab);
    assert_int_equal(two[1], 0xcd);
}

/* ---- rng --------------------------------------------------------------------------------- */

static void rng_stream_is_chacha20(void **state)
{
    /* RFC 8439 appendix A.1, test vectors 1 and 2: keystream blocks 0 and 1 of the zero key and
     * nonce.  A refill keeps the first 32 bytes as its next key and hands out the rest. */
    static const char keystream[] =
        "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
        "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
        "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f";
    uint8_t wanted[96], got[96];
    fre_rng r;

    (void)state;
    assert_true(fre_unhex(wanted, sizeof wanted, keystream));
    assert_int_equal(fre_rng_init(&r), FRE_OK);
    memset(r.key, 0, sizeof r.key);
    fre_rng_bytes(&r, got, 5);
    fre_rng_bytes(&r, got + 5, 91);
    assert_memory_equal(got, wanted, 96);
    for (size_t i = 0; i < 96; i++) /* what was read is gone */
        assert_int_equal(r.block[i], 0);
    memset(r.key, 0, sizeof r.key);
    r.left = 0;
    assert_int_equal(fre_rng_u32(&r), 0x7c5941da);
    assert_true(fre_rng_u64(&r) == 0x3fe024778d485751u);
    fre_rng_wipe(&r);
    fre_rng_wipe(NULL);
}

static void rng_seeded_repeats_and_labels_differ(void **state)
{
    uint8_t seed[32] = {1}, a[5000], b[5000];
    fre_rng r, s;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "noise"), FRE_OK);
    assert_int_equal(fre_rng_init_seeded(&s, seed, "noise"), FRE_OK);
    fre_rng_bytes(&r, a, sizeof a);
    for (size_t i = 0; i < sizeof b; i += 50) /* the cut of the reads does not matter */
        fre_rng_bytes(&s, b + i, 50);
    assert_memory_equal(a, b, sizeof a);
    assert_int_equal(fre_rng_init_seeded(&s, seed, "coins"), FRE_OK);
    fre_rng_bytes(&s, b, sizeof b);
    assert_memory_not_equal(a, b, 32);
    seed[31] = 1;
    assert_int_equal(fre_rng_init_seeded(&s, seed, "noise"), FRE_OK);
    fre_rng_bytes(&s, b, sizeof b);
    assert_memory_not_equal(a, b, 32);
    assert_int_equal(fre_rng_init_seeded(&s, NULL, "noise"), FRE_E_ARG);
    assert_int_equal(fre_rng_init_seeded(&s, seed, NULL), FRE_E_ARG);
    assert_int_equal(fre_rng_init_seeded(NULL, seed, "noise"), FRE_E_ARG);
    assert_int_equal(fre_rng_init(NULL), FRE_E_ARG);
    fre_rng_wipe(&r);
    fre_rng_wipe(&s);
}

/* Beyond what comes from the hash itself, too. */
static void rng_named_repeats_and_names_differ(void **state)
{
    uint8_t key[32] = {1}, a[100], b[100];
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_named(&r, key, "anna", 4), FRE_OK);
    fre_rng_bytes(&r, a, sizeof a);
    assert_int_equal(fre_rng_init_named(&r, key, "anna", 4), FRE_OK);
    for (size_t i = 0; i < sizeof b; i += 5) /* the cut of the reads does not matter */
        fre_rng_bytes(&r, b + i, 5);
    assert_memory_equal(a, b, sizeof a);
    for (size_t i = 0; i + 32 < sizeof a; i++) /* the stream does not come again */
        assert_memory_not_equal(a, a + i + 1, 16);
    assert_int_equal(fre_rng_init_named(&r, key, "ann", 3), FRE_OK);
    fre_rng_bytes(&r, b, sizeof b);
    assert_memory_not_equal(a, b, 32);
    key[31] = 1;
    assert_int_equal(fre_rng_init_named(&r, key, "anna", 4), FRE_OK);
    fre_rng_bytes(&r, b, sizeof b);
    assert_memory_not_equal(a, b, 32);
    fre_rng_wipe(&r);
}

static void rng_system_streams_differ(void **state)
{
    uint8_t a[64], b[64];
    fre_rng r, s;

    (void)state;
    assert_int_equal(fre_rng_init(&r), FRE_OK);
    assert_int_equal(fre_rng_init(&s), FRE_OK);
    fre_rng_bytes(&r, a, sizeof a);
    fre_rng_bytes(&s, b, sizeof b);
    assert_memory_not_equal(a, b, sizeof a);
    fre_rng_wipe(&r);
    fre_rng_wipe(&s);
}

static void rng_forked_child_draws_its_own(void **state)
{
    uint8_t mine[32], theirs[32];
    int ends[2], status;
    fre_rng r;
    pid_t pid;

    (void)state;
    assert_int_equal(fre_rng_init(&r), FRE_OK);
    fre_rng_bytes(&r, mine, 1); /* the block now holds unread bytes that both processes share */
    assert_int_equal(pipe(ends), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        fre_rng_bytes(&r, theirs, sizeof theirs);
        _exit(write(ends[1], theirs, sizeof theirs) == (ssize_t)sizeof theirs ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(read(ends[0], theirs, sizeof theirs), (int)sizeof theirs);
    fre_rng_bytes(&r, mine, sizeof mine);
    assert_memory_not_equal(mine, theirs, sizeof mine);
    (void)close(ends[0]);
    (void)close(ends[1]);
    fre_rng_wipe(&r);
}

static void rng_forked_seeded_child_aborts(void **state)
{
    const struct rlimit none = {0, 0};
    uint8_t seed[32] = {3};
    fre_rng r;
    int status;
    pid_t pid;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "x"), FRE_OK);
    (void)fre_rng_u32(&r);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGABRT, SIG_DFL);
        (void)fre_rng_u32(&r);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
    fre_rng_wipe(&r);
}

static void rng_below_is_uniform_and_in_range(void **state)
{
    static const uint64_t limits[] = {
        1, 2, 3, 5, 255, 256, 257, UINT64_C(1) << 32, (UINT64_C(1) << 63) + 1, UINT64_MAX};
    uint8_t seed[32] = {5};
    uint32_t count[6] = {0};
    double chi2 = 0;
    fre_rng r;

    (void)state;
    assert_int_equal(fre_rng_init_seeded(&r, seed, "below"), FRE_OK);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        for (int j = 0; j < 200; j++)
            assert_true(fre_rng_below(&r, limits[i]) < limits[i]);
    }
    for (int i = 0; i < 60000; i++)
        count[fre_rng_below(&r, 6)]++;
    for (size_t i = 0; i < 6; i++)
        chi2 += ((double)count[i] - 10000.) * ((double)count[i] - 10000.) / 10000.;
    assert_true(chi2 < 35.9); /* 5 degrees of freedom, p = 1e-6; the seed is fixed */
    assert_true(fre_rng_below(&r, UINT64_MAX) > UINT32_MAX);
    fre_rng_wipe(&r);
}

/* ---- clock, progress, interruption, hardening -------------------------------------------- */

static int64_t frozen(void)
{
    return 1234;
}

static void clock_source_is_replaceable(void **state)
{
    int64_t a = fre_clock_ms();

    (void)state;
    assert_true(fre_clock_ms() >= a);
    fre_clock_set_source(frozen);
    assert_int_equal(fre_clock_ms(), 1234);
    fre_clock_set_source(NULL);
    assert_true(fre_clock_ms() >= a);
    assert_true(fre_clock_boot_ms() >= a);
    assert_true(fre_clock_unix() > INT64_C(1600000000)); /* not a monotonic clock's value */
}

static void note_progress(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    uint64_t *seen = ctx;

    seen[0] = done;
    seen[1] = total;
    seen[2] = strlen(phase);
}

static void progress_reaches_its_sink(void **state)
{
    uint64_t seen[3] = {0};
    fre_progress p = {.update = note_progress, .ctx = seen};
    fre_progress silent = {.update = NULL, .ctx = NULL};

    (void)state;
    fre_progress_update(&p, "reading", 3, 10);
    assert_int_equal(seen[0], 3);
    assert_int_equal(seen[1], 10);
    assert_int_equal(seen[2], 7);
    fre_progress_update(NULL, "reading", 4, 10);
    fre_progress_update(&silent, "reading", 4, 10);
    assert_int_equal(seen[0], 3);
}

static void on_signal(int number)
{
    (void)number;
    fre_interrupt_set();
}

static void interruption_is_a_flag(void **state)
{
    (void)state;
    assert_false(fre_interrupted());
    (void)signal(SIGUSR1, on_signal);
    assert_int_equal(raise(SIGUSR1), 0);
    assert_true(fre_interrupted());
    fre_interrupt_clear();
    assert_false(fre_interrupted());
    (void)signal(SIGUSR1, SIG_DFL);
}

/* Whatever the parent closed, no file of the process's own gets the number of a stream. */
static void closed_streams_are_open_again(void **state)
{
    (void)state;
    for (unsigned closed = 0; closed < 8; closed++) {
        const pid_t child = fork();
        int status;

        assert_true(child >= 0);
        if (child == 0) {
            char byte = 0;
            bool ok;

            for (int i = 0; i < 3; i++)
                if (closed & 1u << i)
                    (void)close(i);
            ok = fre_core_harden() == FRE_OK && open("/dev/null", O_RDONLY) > 2;
            if (closed & 1u)
                ok = ok && read(0, &byte, 1) < 0 && errno == EBADF;
            if (closed & 2u)
                ok = ok && write(1, &byte, 1) < 0 && errno == EBADF;
            _exit(ok ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    }
}

static void hardened_process_dumps_no_core(void **state)
{
    int status;
    pid_t pid = fork();

    (void)state;
    assert_true(pid >= 0);
    if (pid == 0) {
        struct rlimit limit = {1, 1};
        bool ok = fre_core_harden() == FRE_OK && getrlimit(RLIMIT_CORE, &limit) == 0 &&
                  limit.rlim_max == 0;
#if !defined(__SANITIZE_ADDRESS__)
        ok = ok && prctl(PR_GET_DUMPABLE) == 0;
#endif
        _exit(ok ? 0 : 1);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
}

/* ---- threads ----------------------------------------------------------------------------- */

typedef struct counter {
    atomic_uint runs[1000];
    uint64_t fail_at, fail_also; /* UINT64_MAX: none */
    pthread_t caller;
    atomic_uint elsewhere;
} counter;

static fre_status count_run(void *ctx, uint64_t i)
{
    counter *t = ctx;

    atomic_fetch_add(&t->runs[i], 1);
    if (!pthread_equal(pthread_self(), t->caller))
        atomic_fetch_add(&t->elsewhere, 1);
    if (i == t->fail_at)
        return FRE_E_DATA;
    return i == t->fail_also ? FRE_E_IO : FRE_OK;
}

static void parallel_runs_each_job_once(void **state)
{
    static const uint32_t threads[] = {1, 2, 7, 1024};
    counter *t = calloc(1, sizeof *t);

    (void)state;
    assert_non_null(t);
    t->caller = pthread_self();
    t->fail_at = t->fail_also = UINT64_MAX;
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(fre_parallel(threads[k], 1000, count_run, t), FRE_OK);
        for (size_t i = 0; i < 1000; i++)
            assert_int_equal(atomic_load(&t->runs[i]), k + 1);
        if (k == 0)
            assert_int_equal(atomic_load(&t->elsewhere), 0);
    }
    assert_int_equal(fre_parallel(3, 0, count_run, t), FRE_OK);
    assert_int_equal(fre_parallel(0, 1, count_run, t), FRE_E_ARG);
    assert_int_equal(fre_parallel(1025, 1, count_run, t), FRE_E_ARG);
    assert_int_equal(fre_parallel(1, 1, NULL, t), FRE_E_ARG);
    free(t);
}

static void parallel_reports_the_lowest_failure(void **state)
{
    counter *t = calloc(1, sizeof *t);

    (void)state;
    assert_non_null(t);
    t->caller = pthread_self();
    for (uint32_t threads = 1; threads <= 16; threads++) {
        t->fail_at = 101;
        t->fail_also = 103;
        assert_int_equal(fre_parallel(threads, 1000, count_run, t), FRE_E_DATA);
        t->fail_at = 103;
        t->fail_also = 101;
        assert_int_equal(fre_parallel(threads, 1000, count_run, t), FRE_E_IO);
    }
    for (size_t i = 0; i <= 101; i++) /* every job below the failure has run */
        assert_int_equal(atomic_load(&t->runs[i]), 32);
    assert_int_equal(atomic_load(&t->runs[999]), 0);
    free(t);
}

/* Two jobs that are certain to run on two threads. */
typedef struct pair {
    pthread_barrier_t both;
    pthread_t caller;
    atomic_bool zero_done;
    bool take_signals, failing;
} pair;

static fre_status meet(void *ctx, uint64_t i)
{
    pair *p = ctx;
    sigset_t now;

    (void)pthread_barrier_wait(&p->both);
    if (!pthread_equal(pthread_self(), p->caller) &&
        pthread_sigmask(SIG_SETMASK, NULL, &now) == 0 && sigismember(&now, SIGINT) == 0)
        p->take_signals = true; /* written by the one helper */
    if (i == 0) {
        atomic_store(&p->zero_done, true);
        return p->failing ? FRE_E_DATA : FRE_OK;
    }
    while (!atomic_load(&p->zero_done)) /* fail last, most likely */
        (void)sched_yield();
    for (int k = 0; k < 1000; k++)
        (void)sched_yield();
    return p->failing ? FRE_E_IO : FRE_OK;
}

static void parallel_leaves_signals_to_the_caller(void **state)
{
    pair p = {.caller = pthread_self(), .failing = false};
    sigset_t before, after;

    (void)state;
    assert_int_equal(pthread_barrier_init(&p.both, NULL, 2), 0);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &before), 0);
    assert_int_equal(fre_parallel(2, 2, meet, &p), FRE_OK);
    assert_false(p.take_signals);
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &after), 0);
    assert_int_equal(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
    (void)pthread_barrier_destroy(&p.both);
}

static void parallel_keeps_the_lower_of_two_failures(void **state)
{
    pair p = {.caller = pthread_self(), .failing = true};

    (void)state;
    assert_int_equal(pthread_barrier_init(&p.both, NULL, 2), 0);
    assert_int_equal(fre_parallel(2, 2, meet, &p), FRE_E_DATA);
    (void)pthread_barrier_destroy(&p.both);
}

static void cpu_count_is_positive(void **state)
{
    (void)state;
    assert_true(fre_cpu_count() >= 1);
    assert_true(fre_cpu_count() <= 65536);
}

static void cpu_has_what_the_compiler_says(void **state)
{
    (void)state;
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") != 0;

    assert_int_equal(fre_cpu_has(FRE_CPU_AVX2), avx2);
    assert_int_equal(fre_cpu_has(FRE_CPU_AVX2_FMA), avx2 && __builtin_cpu_supports("fma") != 0);
    assert_int_equal(fre_cpu_has(FRE_CPU_AVX512F), __builtin_cpu_supports("avx512f") != 0);
#else
    assert_false(fre_cpu_has(FRE_CPU_AVX2));
#endif
}

/* ---- bytes in and out ---------------------------------------------------------------------------- */

static void a_reader_stops_at_the_end(void **state)
{
    const uint8_t bytes[] = {1, 2, 3, 4, 5, 6};
    uint8_t rest[4] = {9, 9, 9, 9};
    fre_in in = {.left = {bytes, sizeof bytes}};

    (void)state;
    assert_int_equal(fre_in_uint(&in, 3, "first"), 0x010203);
    assert_null(fre_in_take(&in, 0, "nothing"));
    assert_null(in.bad);
    fre_in_copy(&in, rest, sizeof rest, "second");
    assert_string_equal(in.bad, "second");
    assert_memory_equal(rest, "\0\0\0\0", sizeof rest);
    fre_in_require(&in, false, "third");
    assert_string_equal(in.bad, "second");
    assert_int_equal(fre_in_uint(&in, 1, "fourth"), 0);
    assert_int_equal(in.left.n, 3);
}

static void a_writer_takes_back_what_failed(void **state)
{
    fre_buf b;
    fre_out o;

    (void)state;
    fre_buf_init(&b, 12);
    o = fre_out_begin(&b);
    fre_out_uint(&o, 0x0102030405060708, 8);
    assert_int_equal(fre_out_end(&o), FRE_OK);
    assert_memory_equal(b.p, "\1\2\3\4\5\6\7\10", 8);
    o = fre_out_begin(&b);
    fre_out_uint(&o, 1, 4);
    fre_out_put(&o, "x", 1);
    fre_out_put(&o, "", 0);
    assert_int_equal(fre_out_end(&o), FRE_E_LIMIT);
    assert_int_equal(b.n, 8);
    o = fre_out_begin(NULL);
    fre_out_uint(&o, 1, 4);
    assert_int_equal(fre_out_end(&o), FRE_E_ARG);
    fre_buf_wipe(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reader_stops_at_the_end),
        cmocka_unit_test(a_writer_takes_back_what_failed),
        cmocka_unit_test(status_has_text_and_exit_code),
        cmocka_unit_test(fail_formats_cuts_and_allows_null),
        cmocka_unit_test(errors_name_parameters),
        cmocka_unit_test(digits_keep_their_side),
        cmocka_unit_test(buffer_grows_to_its_limit_only),
        cmocka_unit_test(buffer_takes_the_room_it_was_asked_for),
        cmocka_unit_test(buffer_can_append_from_itself),
        cmocka_unit_test(buffer_printf_counts_and_limits),
        cmocka_unit_test(wipe_and_compare),
        cmocka_unit_test(sha256_of_a_file),
        cmocka_unit_test(salt_goes_in_front_of_the_file),
        cmocka_unit_test(a_hash_in_parts_is_that_of_bytes),
        cmocka_unit_test(hash128_is_keyed_blake2b),
        cmocka_unit_test(hex_round_trip),
        cmocka_unit_test(rng_stream_is_chacha20),
        cmocka_unit_test(rng_seeded_repeats_and_labels_differ),
        cmocka_unit_test(rng_named_repeats_and_names_differ),
        cmocka_unit_test(rng_system_streams_differ),
        cmocka_unit_test(rng_forked_child_draws_its_own),
        cmocka_unit_test(rng_forked_seeded_child_aborts),
        cmocka_unit_test(rng_below_is_uniform_and_in_range),
        cmocka_unit_test(clock_source_is_replaceable),
        cmocka_unit_test(progress_reaches_its_sink),
        cmocka_unit_test(interruption_is_a_flag),
        cmocka_unit_test(closed_streams_are_open_again),
        cmocka_unit_test(hardened_process_dumps_no_core),
        cmocka_unit_test(parallel_runs_each_job_once),
        cmocka_unit_test(parallel_reports_the_lowest_failure),
        cmocka_unit_test(parallel_leaves_signals_to_the_caller),
        cmocka_unit_test(parallel_keeps_the_lower_of_two_failures),
        cmocka_unit_test(cpu_count_is_positive),
        cmocka_unit_test(cpu_has_what_the_compiler_says),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
