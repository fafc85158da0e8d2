/* audit/learn.c - a test that knows no law: how often each view came up in the training runs of
 * either input.  A view that was seen before as a whole counts as itself, any other by its rounded
 * name.  It finds what the known law cannot: a stream that repeats, numbers that are missing. */
#include "audit_private.h"

#include <math.h>

typedef struct entry {
    uint64_t key; /* 0: free */
    uint32_t seen[2];
} entry;

typedef struct table {
    entry *slot;
    size_t mask;
} table;

/* The slot of a key, or the free one where it belongs.  Keys are hashes. */
static entry *find(const table *t, uint64_t key)
{
    size_t i = (size_t)key & t->mask;

    while (t->slot[i].key != 0 && t->slot[i].key != key)
        i = (i + 1) & t->mask;
    return &t->slot[i];
}

static fre_status table_init(table *t, size_t keys)
{
    size_t n = 16;

    while (n < 2 * keys)
        n *= 2;
    t->slot = calloc(n, sizeof *t->slot);
    t->mask = n - 1;
    return t->slot ? FRE_OK : FRE_E_NOMEM;
}

static void count(table *t, uint64_t key, unsigned world)
{
    entry *e = find(t, key);

    e->key = key;
    e->seen[world]++;
}

static double score_of(const table *t, const audit_trace *a)
{
    const entry *e = find(t, a->exact);

    if (e->seen[0] + e->seen[1] < 2)
        e = find(t, a->coarse);
    return log(((double)e->seen[1] + .5) / ((double)e->seen[0] + .5));
}

fre_status audit_learn(double *score[2], const audit_trace *const trace[2], size_t n, size_t train)
{
    table t;
    fre_status st = table_init(&t, 4 * train);

    if (st != FRE_OK)
        return st;
    for (unsigned w = 0; w < 2; w++) {
        for (size_t i = 0; i < train; i++) {
            count(&t, trace[w][i].exact, w);
            count(&t, trace[w][i].coarse, w);
        }
    }
    for (unsigned w = 0; w < 2; w++) {
        for (size_t i = train; i < n; i++)
            score[w][i] = score_of(&t, &trace[w][i]);
    }
    free(t.slot);
    return FRE_OK;
}
