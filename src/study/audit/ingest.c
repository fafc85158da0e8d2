/* audit/ingest.c - the user in whom the two inputs differ, taken in as a curator takes in everybody: an
 * embedding is cut to the norm bound, or left out if it holds no numbers; names are folded; the first
 * text counts.  Coins and sums come with every run. */
#include "audit_private.h"

#include <math.h>
#include <string.h>

typedef struct record {
    const char *name;
    int cell;
    double position; /* along the scenario's line; NAN: no numbers */
} record;

/* What is known of the users so far. */
typedef struct book {
    char *name[AUDIT_MINE_MAX];
    uint32_t held[AUDIT_MINE_MAX]; /* one text each: the attack is on a claim about one cell */
    size_t users;
    float *text[AUDIT_MINE_MAX]; /* distinct embeddings */
    uint32_t texts;
} book;

#define COMPOSED "Zo\xc3\xab"
#define DECOMPOSED "Zoe\xcc\x88"

/* Returns their number. */
static size_t records_of(record out[AUDIT_MINE_MAX], const audit_setup *s, unsigned world)
{
    const audit_extra *e = &s->scenario.extra[world];
    const double bound = s->lattice.norm_bound;
    const record odd[] = {
        {COMPOSED, 0, NAN},          {COMPOSED, 0, 1000 * bound}, /* the one that counts */
        {COMPOSED, 0, 1000 * bound}, {COMPOSED, 1, .97 * bound},   {DECOMPOSED, 0, 900 * bound},
        {COMPOSED, 0, .99 * bound},  {DECOMPOSED, 1, .98 * bound},
    };

    if (e->cell == AUDIT_NOWHERE)
        return 0;
    out[0] = (record){COMPOSED, e->cell, e->position};
    if (!s->scenario.odd)
        return 1;
    memcpy(out, odd, sizeof odd);
    return sizeof odd / sizeof *odd;
}

static uint32_t user_of(book *b, char *folded)
{
    for (size_t i = 0; i < b->users; i++) {
        if (strcmp(b->name[i], folded) == 0) {
            free(folded);
            return (uint32_t)i;
        }
    }
    b->name[b->users] = folded;
    b->held[b->users] = FRE_MAP_NONE;
    return (uint32_t)b->users++;
}

/* x becomes the book's, or is freed. */
static uint32_t text_of(book *b, float *x, uint32_t dim)
{
    for (uint32_t i = 0; i < b->texts; i++) {
        if (memcmp(b->text[i], x, dim * sizeof *x) == 0) {
            free(x);
            return i;
        }
    }
    b->text[b->texts] = x;
    return b->texts++;
}

static float *embedding(const audit_setup *s, unsigned world, const record *r)
{
    float *x = malloc(s->dim * sizeof *x);

    for (uint32_t j = 0; x && j < s->dim; j++)
        x[j] = s->scenario.odd ? (float)(r->position * s->direction[j]) : s->extra[world][j];
    return x;
}

static fre_status take(audit_setup *s, unsigned world, book *b, const record *r)
{
    float *x = embedding(s, world, r), *own = malloc(s->dim * sizeof *own);
    char *folded = NULL;
    uint32_t text, user;
    fre_status st = x && own ? FRE_OK : FRE_E_NOMEM;

    if (st == FRE_OK && !s->steps->clip(x, s->dim, s->lattice.norm_bound))
        goto out; /* left out, like a record that cannot be read */
    if (st == FRE_OK)
        st = s->steps->fold(&folded, r->name, strlen(r->name), FRE_FOLD_NFC);
    if (st != FRE_OK)
        goto out;
    memcpy(own, x, s->dim * sizeof *own);
    user = user_of(b, folded);
    text = text_of(b, x, s->dim);
    x = NULL; /* handed over */
    if (s->steps->takes(&b->held[user], 1, text)) {
        s->mine[world][s->n_mine[world]++] = (audit_mine){.cell = r->cell, .x = own};
        own = NULL; /* handed over */
    }
out:
    free(x);
    free(own);
    return st;
}

fre_status audit_ingest(audit_setup *s)
{
    fre_status st = FRE_OK;

    for (unsigned w = 0; st == FRE_OK && w < 2; w++) {
        record list[AUDIT_MINE_MAX];
        const size_t n = records_of(list, s, w);
        book b = {.users = 0};

        for (size_t i = 0; st == FRE_OK && i < n; i++)
            st = take(s, w, &b, &list[i]);
        for (size_t i = 0; i < AUDIT_MINE_MAX; i++) {
            free(b.name[i]);
            free(b.text[i]);
        }
    }
    return st;
}
