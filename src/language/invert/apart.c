/* apart.c - the texts of one release.  Its cells are different points, so one text for two of them is
 * wrong for one, mostly for the one that lies farther from it. */
#include "others.h"
#include "tuning.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const uint8_t table_key[32]; /* texts come from our own search: no flooding */

void inv_others_wipe(inv_others *o)
{
    for (uint32_t i = 0; i < o->n; i++)
        fre_inversion_wipe(&o->v[i]);
    o->n = 0;
}

/* Words alone: case, marks and spaces aside. */
static void key_of(uint8_t key[16], const char *text)
{
    char plain[INV_TEXT_MAX];
    size_t n = 0;

    for (const char *s = text; *s && n < sizeof plain; s++)
        if (isalnum((unsigned char)*s) || (unsigned char)*s >= 0x80)
            plain[n++] = (char)tolower((unsigned char)*s);
    fre_hash128(key, table_key, plain, n);
}

typedef struct claim {
    double distance;
    size_t row;
} claim;

static int nearer(const void *a, const void *b)
{
    const claim *x = a, *y = b;

    if (x->distance < y->distance || x->distance > y->distance)
        return x->distance < y->distance ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static bool is_taken(const uint8_t (*key)[16], size_t n, const uint8_t mine[16])
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(key[i], mine, 16) == 0)
            return true;
    return false;
}

/* key: of all rows' texts now. */
static void give_way(fre_inversion *made, inv_others *others, uint8_t (*key)[16], size_t n,
                     size_t row)
{
    for (uint32_t i = 0; i < others[row].n; i++) {
        const fre_inversion old = made[row];
        uint8_t mine[16];

        key_of(mine, others[row].v[i].text);
        if (is_taken((const uint8_t(*)[16])key, n, mine))
            continue;
        made[row] = others[row].v[i];
        others[row].v[i] = old;
        memcpy(key[row], mine, sizeof mine);
        return;
    }
}

fre_status inv_set_apart(fre_inversion *made, inv_others *others, size_t n)
{
    uint8_t(*key)[16] = calloc(n, sizeof *key);
    uint8_t(*seen)[16] = malloc(n * sizeof *seen);
    claim *order = malloc(n * sizeof *order);
    size_t texts = 0;
    fre_status st = key && seen && order ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; i < n && st == FRE_OK; i++)
        if (made[i].text) {
            key_of(key[i], made[i].text);
            order[texts++] = (claim){.distance = made[i].distance, .row = i};
        }
    if (st == FRE_OK)
        qsort(order, texts, sizeof *order, nearer);
    for (size_t i = 0; i < texts && st == FRE_OK; i++) {
        const size_t row = order[i].row;

        if (is_taken((const uint8_t(*)[16])seen, i, key[row]))
            give_way(made, others, key, n, row);
        memcpy(seen[i], key[row], sizeof seen[i]);
    }
    free(order);
    free(seen);
    free(key);
    return st;
}
