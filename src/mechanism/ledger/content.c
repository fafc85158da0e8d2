/* content.c - what is kept of the data themselves: salted, order-free, of bounded size.
 *
 * A hash of the multiset of records: the sum of their keyed hashes (Bellare and Micciancio, "A new
 * paradigm for collision-free hashing", 1997), itself hashed.  And min-hash sketches by one
 * permutation (Li, Owen and Zhang, "One permutation hashing", 2012) of b-bit values (Li and Konig,
 * "b-bit minwise hashing", 2010): a record's hash picks a bin and a value, and each bin keeps the
 * least one, cut to 16 bits.  The share of bins in which two sketches agree estimates the share of
 * distinct records that the two have in common (Jaccard). */
#include "ledger_private.h"

#include <string.h>

#define EMPTY UINT64_MAX

void fre_ledger_content_init(fre_ledger_content *c, const uint8_t salt[FRE_LEDGER_SALT_BYTES])
{
    memset(c, 0, sizeof *c);
    memcpy(c->salt, salt, sizeof c->salt);
    memset(c->text, 0xff, sizeof c->text);
    memset(c->user, 0xff, sizeof c->user);
    memset(c->row, 0xff, sizeof c->row);
}

static void keep_lesser(uint64_t bin[FRE_LEDGER_BINS], const uint64_t more[FRE_LEDGER_BINS])
{
    for (size_t i = 0; i < FRE_LEDGER_BINS; i++)
        bin[i] = more[i] < bin[i] ? more[i] : bin[i];
}

static void add_to_sum(fre_ledger_content *c, uint64_t low, uint64_t high)
{
    c->sum[0] += low;
    c->sum[1] += high + (c->sum[0] < low);
}

void fre_ledger_content_add(fre_ledger_content *c, const fre_ledger_content *more)
{
    add_to_sum(c, more->sum[0], more->sum[1]);
    c->texts += more->texts;
    keep_lesser(c->text, more->text);
    keep_lesser(c->user, more->user);
    keep_lesser(c->row, more->row);
}

static uint64_t word_at(const uint8_t *p)
{
    uint64_t w = 0;

    for (size_t i = sizeof w; i-- > 0;)
        w = w << 8 | p[i];
    return w;
}

static void keep_least(uint64_t bin[FRE_LEDGER_BINS], uint64_t hash)
{
    const uint64_t value = hash / FRE_LEDGER_BINS;
    uint64_t *least = &bin[hash % FRE_LEDGER_BINS];

    *least = value < *least ? value : *least;
}

void fre_ledger_add_text(fre_ledger_content *c, const void *text, size_t n)
{
    uint8_t hash[16];
    uint64_t low;

    fre_hash128(hash, c->salt, text, n);
    low = word_at(hash);
    add_to_sum(c, low, word_at(hash + 8));
    c->texts++;
    keep_least(c->text, low);
}

void fre_ledger_add_user(fre_ledger_content *c, const void *user, size_t n)
{
    uint8_t hash[16];

    fre_hash128(hash, c->salt, user, n);
    keep_least(c->user, word_at(hash));
}

/* Which of two coordinates is larger, 64 times: scale and rounding (another machine, half
 * precision) change hardly a bit, another text about half of them.  A row of zeros is no text, and
 * nothing to know data by: any two of them are alike. */
void fre_ledger_add_row(fre_ledger_content *c, const float *x, size_t dim)
{
    uint64_t order = 0;
    uint8_t hash[16];
    bool any = false;

    for (size_t i = 0; i < dim; i++)
        any = any || !(x[i] >= 0 && x[i] <= 0);
    for (size_t i = 0; i < 64; i++) {
        const size_t a = (i * 37 + 11) % dim, b = (i * 53 + 31 + dim / 2) % dim;

        order |= (uint64_t)(x[a] > x[b]) << i;
    }
    if (!any)
        return;
    fre_hash128(hash, c->salt, &order, sizeof order);
    keep_least(c->row, word_at(hash));
}

/* ---- in an entry ----------------------------------------------------------------------------- */

void ledger_records_digits(char out[LEDGER_RECORDS_DIGITS + 1], const fre_ledger_content *c)
{
    const uint64_t all[3] = {c->sum[0], c->sum[1], c->texts};
    uint8_t hash[16];

    fre_hash128(hash, c->salt, all, sizeof all);
    fre_hex(out, hash, sizeof hash);
}

/* Four digits a bin; "": nothing was ever added. */
void ledger_sketch_digits(char out[LEDGER_SKETCH_DIGITS + 1], const uint64_t bin[FRE_LEDGER_BINS])
{
    bool any = false;

    for (size_t i = 0; i < FRE_LEDGER_BINS; i++) {
        const unsigned kept =
            bin[i] == EMPTY ? LEDGER_EMPTY_BIN : (unsigned)(bin[i] % LEDGER_EMPTY_BIN);
        const uint8_t bytes[2] = {(uint8_t)(kept >> 8), (uint8_t)kept};

        any = any || bin[i] != EMPTY;
        fre_hex(out + 4 * i, bytes, sizeof bytes);
    }
    if (!any)
        out[0] = '\0';
}

double ledger_likeness(const char *a, const char *b)
{
    size_t same = 0, any = 0;

    if (!a || !b)
        return 0;
    for (size_t i = 0; i < LEDGER_SKETCH_DIGITS; i += 4) {
        const bool in_a = memcmp(a + i, "ffff", 4) != 0, in_b = memcmp(b + i, "ffff", 4) != 0;

        any += in_a || in_b;
        same += in_a && in_b && memcmp(a + i, b + i, 4) == 0;
    }
    return any > 0 ? (double)same / (double)any : 0;
}
