/* parties/synthesis_sort.c - most significant byte first, each entry swapped straight into its
 * bucket (McIlroy, Bostic, McIlroy, "Engineering radix sort", 1993).  Linear whatever keys clients
 * choose, and without a second copy of the tags in memory. */
#include "synthesis_reports.h"

#define KEY_BYTES 48u
#define SMALL 24u
_Static_assert(sizeof(fre_report) == KEY_BYTES + 4, "one key, and a million reports in 52 MB");

/* Byte `depth` of the key that begins `start` bytes into the entry and wraps around. */
static unsigned key_byte(const fre_report *e, unsigned depth, unsigned start)
{
    const unsigned at = depth + start;

    return ((const uint8_t *)e)[at < KEY_BYTES ? at : at - KEY_BYTES];
}

static int order(const fre_report *a, const fre_report *b, unsigned start)
{
    const uint8_t *p = (const uint8_t *)a, *q = (const uint8_t *)b;
    const int high = memcmp(p + start, q + start, KEY_BYTES - start);

    return high != 0 ? high : memcmp(p, q, start);
}

static void insertion(fre_report *e, size_t n, unsigned start)
{
    for (size_t i = 1; i < n; i++) {
        const fre_report v = e[i];
        size_t k = i;

        for (; k > 0 && order(&e[k - 1], &v, start) > 0; k--)
            e[k] = e[k - 1];
        e[k] = v;
    }
}

/* Into buckets by the byte at depth; end[b] is where bucket b ends. */
static void distribute(fre_report *e, size_t end[256], unsigned depth, unsigned start)
{
    size_t head[256], total = 0;

    for (unsigned b = 0; b < 256; b++) {
        head[b] = total;
        total += end[b];
        end[b] = total;
    }
    for (unsigned b = 0; b < 256; b++)
        while (head[b] < end[b]) {
            fre_report v = e[head[b]];
            unsigned k = key_byte(&v, depth, start);

            while (k != b) {
                const fre_report w = e[head[k]];

                e[head[k]++] = v;
                v = w;
                k = key_byte(&v, depth, start);
            }
            e[head[b]++] = v;
        }
}

/* Recursion is at most KEY_BYTES deep. */
static void sort(fre_report *e, size_t n, unsigned depth, unsigned start)
{
    size_t end[256];

    for (;; depth++) {
        if (depth == KEY_BYTES)
            return;
        if (n <= SMALL) {
            insertion(e, n, start);
            return;
        }
        memset(end, 0, sizeof end);
        for (size_t i = 0; i < n; i++)
            end[key_byte(&e[i], depth, start)]++;
        if (end[key_byte(e, depth, start)] < n)
            break; /* else all share this byte */
    }
    distribute(e, end, depth, start);
    for (unsigned b = 0; b < 256; b++) {
        const size_t from = b > 0 ? end[b - 1] : 0;

        if (end[b] - from > 1)
            sort(e + from, end[b] - from, depth + 1, start);
    }
}

void synthesis_sort(fre_report *e, size_t n, bool id_first)
{
    sort(e, n, 0, id_first ? sizeof(fre_tag) : 0);
}
