/* audit/shares.c - a released cell's sum as its parties make it: each member's share, rounded, masked and
 * packed; both servers' sums; their noise, where it is theirs; both together, lifted.  Curious members' shares
 * are known, and so left out.  Nothing stands in for anything. */
#include "audit_private.h"

#include <math.h>
#include <string.h>

fre_status audit_hands_init(audit_hands *out, const audit_setup *s)
{
    const audit_shares *h = s->shares;

    for (unsigned i = 0; i < 2; i++)
        out->sum[i] = calloc(s->dim, sizeof *out->sum[i]);
    out->before = calloc(s->dim, sizeof *out->before);
    out->packed = calloc(1, h->bytes);
    if (!out->sum[0] || !out->sum[1] || !out->before || !out->packed)
        return FRE_E_NOMEM;
    return fre_share_expander_new(&out->expander, s->dim, h->cell[0].bits);
}

void audit_hands_wipe(audit_hands *h)
{
    free(h->sum[0]);
    free(h->sum[1]);
    free(h->before);
    free(h->packed);
    fre_share_expander_free(h->expander);
    *h = (audit_hands){.expander = NULL};
}

/* ---- shares ------------------------------------------------------------------------------------ */

static size_t index_of(const audit_shares *h, const fre_mechanism *m, uint64_t count)
{
    const uint64_t at = count > m->tau ? count - m->tau : 0;

    return at < h->n ? (size_t)at : h->n - 1;
}

/* `times` members of one embedding. */
static fre_status add_shares(audit_actor *a, const float *x, uint64_t times, size_t of)
{
    const audit_shares *h = a->setup->shares;
    const fre_share_cell *cell = &h->cell[of];
    audit_hands *w = &a->hands;
    fre_share_noise noise;
    fre_status st = FRE_OK;

    if (h->table)
        noise = fre_share_table_noise(h->table[of]);
    for (uint64_t i = 0; st == FRE_OK && i < times; i++) {
        fre_share_seed seed;

        st = a->setup->steps->share(w->packed, h->bytes, &seed, h->rotation, cell, x,
                                    h->table ? &noise : NULL, &a->shares);
        if (st == FRE_OK)
            st = fre_share_expander_add(w->expander, w->sum[0], &seed);
        if (st == FRE_OK)
            st = fre_share_add(w->sum[1], a->setup->dim, cell->bits,
                               (fre_bytes){.p = w->packed, .n = h->bytes});
    }
    return st;
}

/* Both servers' noise, without that of whoever looks: from now on before[] is what it takes off. */
static void add_noise(audit_actor *a, size_t of, unsigned cell)
{
    const audit_setup *s = a->setup;
    const unsigned own = s->scenario.viewer == AUDIT_TAG ? 0 : 1;
    audit_hands *w = &a->hands;

    memcpy(w->before, w->sum[own], s->dim * sizeof *w->before);
    for (unsigned i = 0; i < 2 && !s->shares->table; i++)
        s->steps->server_noise(w->sum[i], s->dim, &s->shares->cell[of], &a->noise, i, cell);
    for (uint32_t j = 0; j < s->dim; j++)
        w->before[j] = w->sum[own][j] - w->before[j];
}

static int64_t lifted(uint32_t word, uint32_t bits)
{
    const uint32_t mask = UINT32_MAX >> (32 - bits);
    const int64_t v = word & mask;

    return v >= INT64_C(1) << (bits - 1) ? v - (INT64_C(1) << bits) : v;
}

/* ---- the law ----------------------------------------------------------------------------------- */

/* A coordinate of the sum, in steps. */
typedef struct coordinate {
    double seen;     /* beside that many of the others */
    double variance; /* of noise and of the others' roundings */
    double low;      /* of the record beside one of the others, if it is rounded down */
    double chance;   /* that it is rounded up */
} coordinate;

/* ln of how much likelier `seen` is with the record in place of one of the others. */
static double likelier(const coordinate *c)
{
    const double down = c->low * (2 * c->seen - c->low) / (2 * c->variance);
    const double high = c->low + 1, up = high * (2 * c->seen - high) / (2 * c->variance);

    if (c->chance < 1e-9)
        return down;
    return audit_log_add(log1p(-c->chance) + down, log(c->chance) + up);
}

static double fit(const audit_actor *a, unsigned cell, size_t of, unsigned world)
{
    const audit_setup *s = a->setup;
    const audit_shares *h = s->shares;
    const double answers = (double)a->view.answers[cell], step = h->cell[of].beta;
    const double noise = ldexp((double)h->cell[of].var16, -16) * (h->table ? answers : 1);
    double sum = 0;

    for (uint32_t j = 0; j < s->dim; j++) {
        const double others = h->others[j] / step, mine = h->extra[world][j] / step;
        const double between = others - floor(others), rounded = floor(mine + 1e-6);
        const coordinate c = {.seen = (double)a->sum[cell][j] - answers * others,
                              .variance = noise + answers * between * (1 - between),
                              .low = rounded - others,
                              .chance = fmax(0, mine - rounded)};

        sum += likelier(&c);
    }
    return sum;
}

/* The record is one of `count` members and of `answers` among them, if it is there at all. */
static void fit_all(audit_actor *a, unsigned cell, size_t of, uint64_t count)
{
    const audit_setup *s = a->setup;
    audit_view *v = &a->view;
    const double share = (double)v->answers[cell] / (double)count;

    for (unsigned w = 0; w < 2; w++) {
        if (s->scenario.extra[w].cell != (int)cell)
            continue;
        v->fit[cell][w] = fit(a, cell, of, w);
        if (share < 1)
            v->fit[cell][w] = audit_log_add(log(share) + v->fit[cell][w], log1p(-share));
    }
}

static double along(const audit_setup *s, const int64_t *sum, uint64_t answers, double step)
{
    double t = 0;

    for (uint32_t j = 0; j < s->dim; j++)
        t += ((double)sum[j] * step - (double)answers * s->shares->others[j]) * s->direction[j];
    return t;
}

/* ---- one cell ---------------------------------------------------------------------------------- */

/* How many of `members` answer: all but those that drop out, each for itself. */
static uint64_t answering(audit_actor *a, uint64_t members)
{
    const double stay = 1 - a->setup->opts->mechanism.dist.dropout;
    uint64_t n = 0;

    if (stay >= 1)
        return members;
    for (uint64_t i = 0; i < members; i++)
        n += fre_sample_coin(&a->coins, fre_p32(stay));
    return n;
}

fre_status audit_shares_sum(audit_actor *a, unsigned cell, uint64_t others, bool mine,
                            unsigned world)
{
    const audit_setup *s = a->setup;
    const fre_mechanism *m = &s->opts->mechanism;
    const uint64_t curious = cell == 0 ? m->dist.curious : 0;
    const size_t of = index_of(s->shares, m, others + mine + curious);
    const fre_share_cell *c = &s->shares->cell[of];
    const uint64_t from = answering(a, others), own = mine ? answering(a, 1) : 0;
    audit_view *v = &a->view;
    audit_hands *w = &a->hands;
    fre_status st;

    v->answers[cell] = from + own;
    v->opened[cell] = from + own + curious >= c->answers_needed;
    v->fit[cell][0] = v->fit[cell][1] = v->along[cell] = 0;
    memset(a->sum[cell], 0, s->dim * sizeof *a->sum[cell]);
    if (!v->opened[cell])
        return FRE_OK;
    for (unsigned i = 0; i < 2; i++)
        memset(w->sum[i], 0, s->dim * sizeof *w->sum[i]);
    st = add_shares(a, s->others, from, of);
    if (st == FRE_OK && own)
        st = add_shares(a, s->mine[world][0].x, 1, of);
    if (st != FRE_OK)
        return st;
    add_noise(a, of, cell);
    fre_share_combine(w->sum[0], w->sum[1], s->dim);
    for (uint32_t j = 0; j < s->dim; j++)
        a->sum[cell][j] = lifted(w->sum[0][j] - w->before[j], c->bits);
    v->along[cell] = along(s, a->sum[cell], v->answers[cell], c->beta);
    fit_all(a, cell, of, others + mine);
    return FRE_OK;
}
