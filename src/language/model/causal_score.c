/* Log-probabilities of whole sequences: all rows in a few passes, then the head block by block, so
 * that its weights are read once a pass and no row of logits is ever kept. */
#include "causal_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HEAD_BLOCK 1024u /* logits of a row that are in memory at once */

/* What is asked of a row: the logit of a token. */
typedef struct target {
    uint32_t row;
    int32_t id;
    double *out;
} target;

/* log sum exp of a row, block after block. */
typedef struct total {
    double top, sum;
} total;

typedef struct score {
    const fre_causal *m;
    fre_causal_state *s;
    const fre_kernels *kernels;
    const int32_t *ends;
    int32_t *id;        /* of each row */
    uint32_t *of, *pos; /* likewise: see fre_causal_state */
    uint32_t n_rows;
    target *target;
    uint32_t n_targets;
    double *end_logit; /* n_seqs x n_ends */
    total *total;      /* of each row */
    float *logits;     /* of the rows of a pass, one block */
} score;

/* Leading tokens that two sequences have in common. */
static uint32_t common(const int32_t *a, uint32_t n, const int32_t *b, uint32_t m)
{
    uint32_t i = 0;

    while (i < n && i < m && a[i] == b[i])
        i++;
    return i;
}

/* Rows and targets of all sequences.  The last token of a sequence needs a row only where its end
 * is asked for; it has one all the same if a longer sequence shares it. */
static void lay_out(score *w, double *logp, bool ends, uint32_t n_ends, const int32_t *ids,
                    const uint32_t *len, uint32_t n_seqs)
{
    uint32_t at = 0, before = 0, n_before = 0; /* the sequence before: start and rows */

    for (uint32_t q = 0; q < n_seqs; at += len[q++]) {
        uint32_t rows = ends ? len[q] : len[q] - 1;
        uint32_t shared = common(ids + before, n_before, ids + at, rows);

        memcpy(w->s->place + at, w->s->place + before, shared * sizeof *w->s->place);
        for (uint32_t i = shared; i < rows; i++) {
            w->id[w->n_rows] = ids[at + i];
            w->of[w->n_rows] = at;
            w->pos[w->n_rows] = i;
            w->s->place[at + i] = w->n_rows++;
        }
        logp[at] = 0;
        for (uint32_t i = 1; i < len[q]; i++)
            w->target[w->n_targets++] =
                (target){w->s->place[at + i - 1], ids[at + i], &logp[at + i]};
        for (uint32_t i = 0; ends && i < n_ends; i++)
            w->target[w->n_targets++] =
                (target){w->s->place[at + len[q] - 1], w->ends[i], &w->end_logit[q * n_ends + i]};
        before = at;
        n_before = rows;
    }
}

/* Logits [first, first + n) of the `rows` rows from row `at` on, which lie in w->logits. */
static void add_block(score *w, uint32_t at, uint32_t rows, uint32_t first, uint32_t n)
{
    for (uint32_t i = 0; i < rows; i++) {
        total *t = &w->total[at + i];
        float top = 0;
        double sum = (double)w->kernels->spread(&top, w->logits + i * n, n);

        if (first == 0) {
            *t = (total){(double)top, sum};
        } else if ((double)top > t->top) {
            t->sum = t->sum * exp(t->top - (double)top) + sum;
            t->top = (double)top;
        } else {
            t->sum += sum * exp((double)top - t->top);
        }
    }
    for (uint32_t i = 0; i < w->n_targets; i++) {
        const target *t = &w->target[i];
        uint32_t id = (uint32_t)t->id;

        if (t->row >= at && t->row - at < rows && id >= first && id - first < n)
            *t->out = (double)w->logits[(t->row - at) * n + id - first];
    }
}

/* Rows [at, at + n). */
static void pass(score *w, uint32_t at, uint32_t n)
{
    const fre_causal *m = w->m;
    fre_causal_state *s = w->s;

    for (uint32_t i = 0; i < n; i++) {
        s->row[i] = at + i;
        s->of[i] = w->of[at + i];
        s->pos[i] = w->pos[at + i];
        fre_table_row(&m->table, s->x + i * m->dim, (size_t)w->id[at + i]);
    }
    fre_causal_forward(m, s, w->kernels, n);
    w->kernels->rms(s->y, s->x, n, m->dim, m->last_norm, m->eps);
    for (uint32_t first = 0; first < m->vocab; first += HEAD_BLOCK) {
        uint32_t width = (uint32_t)m->vocab - first;

        width = width < HEAD_BLOCK ? width : HEAD_BLOCK;
        w->kernels->matmul(w->logits, s->y, n, m->dim, width, m->head.packed + first * m->dim,
                           m->head.bias + first);
        add_block(w, at, n, first, width);
    }
}

double fre_log_sum(const double *x, uint32_t n)
{
    double top = x[0], sum = 0;

    for (uint32_t i = 1; i < n; i++)
        top = x[i] > top ? x[i] : top;
    for (uint32_t i = 0; i < n; i++)
        sum += exp(x[i] - top);
    return top + log(sum);
}

static fre_status finish(const score *w, double *end, uint32_t n_ends, uint32_t n_seqs)
{
    bool finite = true;

    for (uint32_t i = 0; i < w->n_targets; i++) {
        const total *t = &w->total[w->target[i].row];

        *w->target[i].out -= t->top + log(t->sum);
        finite = finite && isfinite(*w->target[i].out);
    }
    for (uint32_t q = 0; end && q < n_seqs; q++) {
        end[q] = fre_log_sum(w->end_logit + q * n_ends, n_ends);
    }
    return finite ? FRE_OK : FRE_E_MODEL;
}

fre_status fre_causal_score(const fre_causal *m, fre_causal_state *s, const fre_kernels *kernels,
                            double *logp, double *end, const fre_causal_seqs *seqs)
{
    score w = {.m = m, .s = s, .kernels = kernels, .ends = seqs->ends};
    const uint32_t n_seqs = seqs->n, n_ends = seqs->n_ends, *len = seqs->len;
    size_t all = 0;
    fre_status st = FRE_E_NOMEM;

    for (uint32_t q = 0; q < n_seqs; q++)
        all += len[q];
    w.id = calloc(all, sizeof *w.id);
    w.of = calloc(all, sizeof *w.of);
    w.pos = calloc(all, sizeof *w.pos);
    w.total = calloc(all, sizeof *w.total);
    w.target = calloc(all + (size_t)n_seqs * n_ends, sizeof *w.target);
    w.end_logit = calloc((size_t)n_seqs * n_ends + 1, sizeof *w.end_logit);
    w.logits = aligned_alloc(64, (size_t)s->max_pass * HEAD_BLOCK * sizeof *w.logits);
    if (!w.id || !w.of || !w.pos || !w.total || !w.target || !w.end_logit || !w.logits)
        goto out;
    lay_out(&w, logp, end != NULL, n_ends, seqs->ids, len, n_seqs);
    st = FRE_OK;
    for (uint32_t at = 0; at < w.n_rows && st == FRE_OK; at += s->max_pass) {
        uint32_t left = w.n_rows - at;

        if (fre_interrupted())
            st = FRE_E_INTERRUPTED;
        else
            pass(&w, at, left < s->max_pass ? left : s->max_pass);
    }
    if (st == FRE_OK)
        st = finish(&w, end, n_ends, n_seqs);
out:
    free(w.id);
    free(w.of);
    free(w.pos);
    free(w.total);
    free(w.target);
    free(w.end_logit);
    free(w.logits);
    return st;
}
