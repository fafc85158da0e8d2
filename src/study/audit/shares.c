/* audit/shares.c - a released cell's sums as its parties make them: each member's share, rounded, masked and
 * packed; the cut into thirds, where there is one, by the ids' hashes; both servers' sums; their noise, where
 * it is theirs; both together, lifted.  Curious members' shares are known, and so left out; their places in the
 * cut are not.  Nothing stands in for anything. */
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
    out->id = calloc(h->members, sizeof *out->id);
    out->third = calloc(h->members, 1);
    if (!out->sum[0] || !out->sum[1] || !out->before || !out->packed || !out->id || !out->third)
        return FRE_E_NOMEM;
    return fre_share_expander_new(&out->expander, s->dim, h->cell[0].bits);
}

void audit_hands_wipe(audit_hands *h)
{
    free(h->sum[0]);
    free(h->sum[1]);
    free(h->before);
    free(h->packed);
    free(h->id);
    free(h->third);
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
static void add_noise(audit_actor *a, size_t of, unsigned which)
{
    const audit_setup *s = a->setup;
    const unsigned own = s->scenario.viewer == AUDIT_TAG ? 0 : 1;
    audit_hands *w = &a->hands;

    memcpy(w->before, w->sum[own], s->dim * sizeof *w->before);
    for (unsigned i = 0; i < 2 && !s->shares->table; i++)
        s->steps->server_noise(w->sum[i], s->dim, &s->shares->cell[of], &a->noise, i, which);
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

/* Of one of a cell's sums. */
static double fit(const audit_actor *a, unsigned cell, uint32_t part, size_t of, unsigned world)
{
    const audit_setup *s = a->setup;
    const audit_shares *h = s->shares;
    const int64_t *seen = a->sum[cell] + (size_t)part * s->dim;
    const double answers = (double)a->view.sums[cell].answers[part], step = h->cell[of].beta;
    const double noise = ldexp((double)h->cell[of].var16, -16) * (h->table ? answers : 1);
    double sum = 0;

    for (uint32_t j = 0; j < s->dim; j++) {
        const double others = h->others[j] / step, mine = h->extra[world][j] / step;
        const double between = others - floor(others), rounded = floor(mine + 1e-6);
        const coordinate c = {.seen = (double)seen[j] - answers * others,
                              .variance = noise + answers * between * (1 - between),
                              .low = rounded - others,
                              .chance = fmax(0, mine - rounded)};

        sum += likelier(&c);
    }
    return sum;
}

/* In the third that is told, or in each with its share of those who answered. */
static double fit_cell(const audit_actor *a, unsigned cell, size_t of, unsigned world)
{
    const audit_sums *p = &a->view.sums[cell];
    const double all = (double)a->view.answers[cell];
    double sum = -HUGE_VAL;

    if (!a->setup->scenario.blind)
        return fit(a, cell, p->told, of, world);
    for (uint32_t i = 0; i < p->n; i++)
        if (p->answers[i] > 0)
            sum = audit_log_add(sum, log((double)p->answers[i] / all) + fit(a, cell, i, of, world));
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
        v->fit[cell][w] = fit_cell(a, cell, of, w);
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

/* ---- the cut ----------------------------------------------------------------------------------- */

/* Who answered: `others` honest members, then perhaps the user in whom the inputs differ, then the curious. */
typedef struct answering {
    uint64_t others, mine, curious;
} answering;

/* Where the record is; without one any place that it could have. */
static uint32_t tell(audit_actor *a, const answering *k)
{
    if (k->mine)
        return a->hands.third[k->others];
    return k->others > 0 ? a->hands.third[fre_rng_below(&a->shares, k->others)] : 0;
}

/* Ids are drawn by their owners, what cuts them by S_tag. */
static fre_status cut(audit_actor *a, audit_sums *p, const answering *k, uint64_t count)
{
    const audit_setup *s = a->setup;
    const uint64_t n = k->others + k->mine + k->curious;
    fre_split_seed seed;
    fre_status st;

    *p = (audit_sums){.n = s->steps->sums(&s->opts->mechanism, count)};
    if (p->n == 1) {
        p->answers[0] = k->others + k->mine;
        return FRE_OK;
    }
    fre_rng_bytes(&a->shares, a->hands.id, (size_t)n * sizeof *a->hands.id);
    fre_rng_bytes(&a->noise, &seed, sizeof seed);
    st = fre_split_ids(a->hands.third, &s->shares->wire, &seed, a->hands.id, (size_t)n);
    for (uint64_t i = 0; st == FRE_OK && i < k->others + k->mine; i++)
        p->answers[a->hands.third[i]]++;
    if (st == FRE_OK)
        p->told = tell(a, k);
    return st;
}

/* ---- one cell ---------------------------------------------------------------------------------- */

/* How many of `members` answer: all but those that drop out, each for itself. */
static uint64_t answer(audit_actor *a, uint64_t members)
{
    const double stay = 1 - a->setup->opts->mechanism.dist.dropout;
    uint64_t n = 0;

    if (stay >= 1)
        return members;
    for (uint64_t i = 0; i < members; i++)
        n += fre_sample_coin(&a->coins, fre_p32(stay));
    return n;
}

/* One of a cell's sums, with that embedding of the user in it, or nobody's. */
static fre_status make_sum(audit_actor *a, unsigned cell, uint32_t part, size_t of, const float *mine)
{
    const audit_setup *s = a->setup;
    const audit_sums *p = &a->view.sums[cell];
    int64_t *out = a->sum[cell] + (size_t)part * s->dim;
    audit_hands *w = &a->hands;
    fre_status st;

    for (unsigned i = 0; i < 2; i++)
        memset(w->sum[i], 0, s->dim * sizeof *w->sum[i]);
    st = add_shares(a, s->others, p->answers[part] - (mine != NULL), of);
    if (st == FRE_OK && mine)
        st = add_shares(a, mine, 1, of);
    if (st != FRE_OK)
        return st;
    add_noise(a, of, p->n == 1 ? cell : 2 + AUDIT_SUMS_MAX * cell + part);
    fre_share_combine(w->sum[0], w->sum[1], s->dim);
    for (uint32_t j = 0; j < s->dim; j++)
        out[j] = lifted(w->sum[0][j] - w->before[j], s->shares->cell[of].bits);
    a->view.along[cell] += along(s, out, p->answers[part], s->shares->cell[of].beta);
    return FRE_OK;
}

fre_status audit_shares_sum(audit_actor *a, unsigned cell, uint64_t others, bool mine,
                            unsigned world)
{
    const audit_setup *s = a->setup;
    const fre_mechanism *m = &s->opts->mechanism;
    const uint64_t curious = cell == 0 ? m->dist.curious : 0, count = others + mine + curious;
    const size_t of = index_of(s->shares, m, count);
    const uint64_t from = answer(a, others);
    const answering k = {from, mine ? answer(a, 1) : 0, curious};
    audit_view *v = &a->view;
    fre_status st = FRE_OK;

    v->answers[cell] = k.others + k.mine;
    v->opened[cell] = k.others + k.mine + curious >= s->shares->cell[of].answers_needed;
    v->fit[cell][0] = v->fit[cell][1] = v->along[cell] = 0;
    v->sums[cell] = (audit_sums){.n = 1};
    memset(a->sum[cell], 0, AUDIT_SUMS_MAX * s->dim * sizeof *a->sum[cell]);
    if (!v->opened[cell])
        return FRE_OK;
    st = cut(a, &v->sums[cell], &k, count);
    for (uint32_t i = 0; st == FRE_OK && i < v->sums[cell].n; i++)
        st = make_sum(a, cell, i, of,
                      k.mine && v->sums[cell].told == i ? s->mine[world][0].x : NULL);
    if (st == FRE_OK)
        fit_all(a, cell, of, others + mine);
    return st;
}
