/* tests/vectors/seal.txt, line by line, and buffers that show when they were touched. */
#ifndef FRE_TEST_SEAL_VECTORS_H
#define FRE_TEST_SEAL_VECTORS_H

#include <fre/seal.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define WORDS_MAX 10
#define TEST_BYTES 4096

typedef struct vector_line {
    char text[TEST_BYTES];
    char *word[WORDS_MAX];
    size_t words;
} vector_line;

static inline FILE *vectors_open(void)
{
    FILE *f = fopen(FRE_SOURCE_DIR "/tests/vectors/seal.txt", "r");

    assert_non_null(f);
    return f;
}

/* The next line that starts with one of the kinds (NULL ends them); false at the end. */
static inline bool vectors_next(FILE *f, vector_line *l, const char *const *kinds)
{
    while (fgets(l->text, sizeof l->text, f)) {
        char *rest = NULL;

        l->words = 0;
        for (char *w = strtok_r(l->text, " \n", &rest); w; w = strtok_r(NULL, " \n", &rest)) {
            assert_true(l->words < WORDS_MAX);
            l->word[l->words++] = w;
        }
        for (size_t i = 0; l->words > 0 && kinds[i]; i++) {
            if (strcmp(l->word[0], kinds[i]) == 0)
                return true;
        }
    }
    return false;
}

/* Bytes of one word; "-" is none. */
typedef struct hex_bytes {
    uint8_t b[TEST_BYTES];
    size_t n;
} hex_bytes;

static inline hex_bytes unhex(const char *word)
{
    hex_bytes h = {.n = 0};

    if (strcmp(word, "-") == 0)
        return h;
    h.n = strlen(word) / 2;
    assert_true(h.n <= sizeof h.b && fre_unhex(h.b, h.n, word));
    return h;
}

static inline fre_bytes bytes_of(const hex_bytes *h)
{
    return (fre_bytes){.p = h->b, .n = h->n};
}

static inline fre_bytes view(const void *p, size_t n)
{
    return (fre_bytes){.p = p, .n = n};
}

static inline fre_bytes text(const char *s)
{
    return view(s, strlen(s));
}

static inline void assert_bytes(fre_bytes got, fre_bytes want)
{
    assert_int_equal(got.n, want.n);
    if (want.n > 0)
        assert_memory_equal(got.p, want.p, want.n);
}

static inline void mark(void *p, size_t n)
{
    memset(p, 0xa5, n);
}

static inline void assert_untouched(const void *p, size_t n)
{
    const uint8_t *b = p;

    for (size_t i = 0; i < n; i++)
        assert_int_equal(b[i], 0xa5);
}

/* Curve25519's points of small order and their other encodings below 2^255 (RFC 7748 section 6.1
 * speaks of the result, all zero); the top bit is ignored, so each counts with it set as well. */
static const char *const small_order[] = {
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0100000000000000000000000000000000000000000000000000000000000000",
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
};

#endif /* FRE_TEST_SEAL_VECTORS_H */
