/* The forward pass: Touvron et al. 2023 (RMSNorm before each part, rotary positions, SwiGLU). */
#include "causal_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NO_ROW UINT32_MAX
/* Of a score: enough to spread the reading of the weights; the rows stay in the L2 cache. */
#define PASS_ROWS 256u

static fre_status make(fre_causal_state **out, const fre_causal *m, uint32_t max_tokens,
                       uint32_t max_seqs, uint32_t max_rows, uint32_t max_pass)
{
    fre_causal_state *s = calloc(1, sizeof *s);
    size_t pass = max_pass, padded;

    if (!s)
        return FRE_E_NOMEM;
    s->max_tokens = max_tokens;
    s->max_seqs = max_seqs;
    s->max_rows = max_rows;
    s->max_pass = max_pass;
    s->kv = m->kv_heads * m->head_dim;
    padded = (max_tokens + KERNEL_LANES - 1) / KERNEL_LANES * KERNEL_LANES;
    s->pool = aligned_alloc(64, (size_t)s->max_rows * m->n_layers * 2 * s->kv * sizeof(float));
    s->place = calloc(s->max_rows, sizeof *s->place);
    s->keys = calloc(max_tokens, sizeof(float *));
    s->values = calloc(max_tokens, sizeof(float *));
    s->row = calloc(pass, sizeof *s->row);
    s->of = calloc(pass, sizeof *s->of);
    s->pos = calloc(pass, sizeof *s->pos);
    s->x = aligned_alloc(64, pass * m->dim * sizeof(float));
    s->y = aligned_alloc(64, pass * m->dim * sizeof(float));
    s->qkv = aligned_alloc(64, pass * (m->dim + 2 * s->kv) * sizeof(float));
    s->gate = aligned_alloc(64, pass * m->wide * sizeof(float));
    s->up = aligned_alloc(64, pass * m->wide * sizeof(float));
    s->room = aligned_alloc(64, padded * sizeof(float));
    if (!s->pool || !s->place || !s->keys || !s->values || !s->row || !s->of || !s->pos || !s->x ||
        !s->y || !s->qkv || !s->gate || !s->up || !s->room) {
        fre_causal_state_free(s);
        return FRE_E_NOMEM;
    }
    memset(s->place, 0xff, s->max_rows * sizeof *s->place);
    *out = s;
    return FRE_OK;
}

fre_status fre_causal_state_new(fre_causal_state **out, const fre_causal *m, uint32_t max_tokens,
                                uint32_t max_seqs)
{
    return make(out, m, max_tokens, max_seqs, max_tokens * max_seqs,
                max_tokens > max_seqs ? max_tokens : max_seqs);
}

fre_status fre_causal_state_new_score(fre_causal_state **out, const fre_causal *m,
                                      uint32_t max_tokens, uint32_t max_all)
{
    return make(out, m, max_tokens, 1, max_all, max_all < PASS_ROWS ? max_all : PASS_ROWS);
}

void fre_causal_state_free(fre_causal_state *s)
{
    if (!s)
        return;
    free(s->pool);
    free(s->place);
    free(s->keys);
    free(s->values);
    free(s->row);
    free(s->of);
    free(s->pos);
    free(s->x);
    free(s->y);
    free(s->qkv);
    free(s->gate);
    free(s->up);
    free(s->room);
    free(s);
}

static float *row_keys(const fre_causal *m, const fre_causal_state *s, uint32_t row, size_t layer)
{
    return s->pool + ((size_t)row * m->n_layers + layer) * 2 * s->kv;
}

static void turn(const fre_causal *m, float *x, size_t n, uint32_t pos)
{
    const float *t = m->turn + pos * m->head_dim;

    for (size_t h = 0; h < n; h += m->head_dim, x += m->head_dim) {
        for (size_t i = 0; i < m->head_dim; i += 2) {
            float a = x[i], b = x[i + 1];

            x[i] = a * t[i] - b * t[i + 1];
            x[i + 1] = a * t[i + 1] + b * t[i];
        }
    }
}

/* Row i of the step attends to the rows of its sequence up to its own position. */
static void attention(const fre_causal *m, fre_causal_state *s, const fre_kernels *kernels,
                      size_t layer, uint32_t n)
{
    size_t width = m->dim + 2 * s->kv, group = m->heads / m->kv_heads;
    float scale = 1.0f / sqrtf((float)m->head_dim);

    for (uint32_t i = 0; i < n; i++) {
        float *q = s->qkv + i * width, *keys = row_keys(m, s, s->row[i], layer);

        turn(m, q, m->dim, s->pos[i]);
        turn(m, q + m->dim, s->kv, s->pos[i]);
        memcpy(keys, q + m->dim, 2 * s->kv * sizeof *q); /* values follow the keys in both */
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t *place = s->place + s->of[i];
        const float *q = s->qkv + i * width;

        for (uint32_t j = 0; j <= s->pos[i]; j++) {
            s->keys[j] = row_keys(m, s, place[j], layer);
            s->values[j] = s->keys[j] + s->kv;
        }
        for (size_t h = 0; h < m->heads; h++)
            kernels->recall(s->y + i * m->dim + h * m->head_dim, q + h * m->head_dim, s->keys,
                            s->values, h / group * m->head_dim, s->pos[i] + 1, m->head_dim, scale,
                            s->room);
    }
}

static void run(const fre_kernels *kernels, const fre_product *p, float *c, const float *a,
                size_t m)
{
    kernels->matmul(c, a, m, p->k, p->n, p->packed, p->bias);
}

static void add(float *x, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i++)
        x[i] += y[i];
}

void fre_causal_forward(const fre_causal *m, fre_causal_state *s, const fre_kernels *kernels,
                        uint32_t n)
{
    for (size_t i = 0; i < m->n_layers; i++) {
        const fre_causal_layer *y = &m->layer[i];

        kernels->rms(s->y, s->x, n, m->dim, y->before_attention, m->eps);
        run(kernels, &y->qkv, s->qkv, s->y, n);
        attention(m, s, kernels, i, n);
        run(kernels, &y->out, s->qkv, s->y, n); /* qkv is free again */
        add(s->x, s->qkv, n * m->dim);
        kernels->rms(s->y, s->x, n, m->dim, y->before_ffn, m->eps);
        run(kernels, &y->gate, s->gate, s->y, n);
        run(kernels, &y->up, s->up, s->y, n);
        kernels->swiglu(s->gate, s->up, n * m->wide);
        run(kernels, &y->down, s->y, s->gate, n);
        add(s->x, s->y, n * m->dim);
    }
}

void fre_causal_prefix(const fre_causal *m, fre_causal_state *s, const fre_kernels *kernels,
                       const float *rows, uint32_t n_rows, const int32_t *ids, uint32_t n_ids,
                       uint32_t n_seqs)
{
    const uint32_t n = n_rows + n_ids;

    memset(s->place, 0xff, s->max_rows * sizeof *s->place);
    s->used = n;
    for (uint32_t q = 0; q < n_seqs; q++)
        for (uint32_t i = 0; i < n; i++)
            s->place[q * s->max_tokens + i] = i;
    for (uint32_t i = 0; i < n; i++) {
        s->row[i] = s->pos[i] = i;
        s->of[i] = 0;
    }
    /* Rows read the keys of rows before them, which the same layer has just written. */
    if (n_rows > 0)
        memcpy(s->x, rows, (size_t)n_rows * m->dim * sizeof *rows);
    for (uint32_t i = 0; i < n_ids; i++)
        fre_table_row(&m->table, s->x + (n_rows + i) * m->dim, (size_t)ids[i]);
    fre_causal_forward(m, s, kernels, n);
}

/* Give row i of a step its place in the pool and in its sequences. */
static bool place_row(fre_causal_state *s, uint32_t i, const uint32_t *seq, uint32_t n_seq,
                      uint32_t pos)
{
    if (s->used >= s->max_rows)
        return false;
    for (uint32_t j = 0; j < n_seq; j++) {
        uint32_t *place = s->place + seq[j] * s->max_tokens;

        if (pos > 0 && place[pos - 1] == NO_ROW)
            return false;
        place[pos] = s->used;
    }
    s->row[i] = s->used++;
    s->of[i] = seq[0] * s->max_tokens;
    s->pos[i] = pos;
    return true;
}

fre_status fre_causal_step(const fre_causal *m, fre_causal_state *s, const fre_kernels *kernels,
                           float *logits, const fre_causal_rows *rows)
{
    const uint32_t n = rows->n, *seq = rows->seq;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t size = rows->n_seq ? rows->n_seq[i] : 1;

        if (!place_row(s, i, seq, size, rows->pos))
            return FRE_E_STATE;
        fre_table_row(&m->table, s->x + i * m->dim, (size_t)rows->ids[i]);
        seq += size;
    }
    fre_causal_forward(m, s, kernels, n);
    kernels->rms(s->y, s->x, n, m->dim, m->last_norm, m->eps);
    run(kernels, &m->head, logits, s->y, n);
    return FRE_OK;
}
