/* simulate/states.c - saved states of many clients in little memory.  They have one length between
 * the contacts, and most of each (identities, wiped fields) is the same in all: what is kept is the
 * difference from the first, runs of zeros as their length. */
#include "simulate_private.h"

#define RUN_MAX 255u

fre_status simulate_states_init(simulate_states *x, uint64_t n)
{
    x->state = calloc(n, sizeof *x->state);
    return x->state ? FRE_OK : FRE_E_NOMEM;
}

void simulate_states_wipe(simulate_states *x, uint64_t n)
{
    for (uint64_t i = 0; x->state && i < n; i++)
        free(x->state[i]);
    free(x->state);
    if (x->model)
        fre_wipe(x->model, x->model_bytes);
    free(x->model);
    *x = (simulate_states){.state = NULL};
}

/* Zeros, others, and the others themselves, again and again up to the end. */
static fre_status squeeze(fre_buf *out, const simulate_states *x, const uint8_t *p)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; i < x->model_bytes && st == FRE_OK;) {
        uint8_t piece[2 + RUN_MAX] = {0};

        for (; i < x->model_bytes && piece[0] < RUN_MAX && p[i] == x->model[i]; i++)
            piece[0]++;
        for (; i < x->model_bytes && piece[1] < RUN_MAX && p[i] != x->model[i]; i++)
            piece[2 + piece[1]++] = p[i] ^ x->model[i];
        st = fre_buf_append(out, piece, 2u + piece[1]);
        fre_wipe(piece, sizeof piece);
    }
    return st;
}

fre_status simulate_states_put(simulate_states *x, uint64_t i, fre_bytes state)
{
    fre_buf b;
    fre_status st;

    if (!x->model) {
        x->model = malloc(state.n);
        if (!x->model)
            return FRE_E_NOMEM;
        memcpy(x->model, state.p, state.n);
        x->model_bytes = state.n;
    }
    if (state.n != x->model_bytes)
        return FRE_E_INTERNAL;
    fre_buf_init(&b, 2 * state.n + 2);
    st = squeeze(&b, x, state.p);
    if (st == FRE_OK) {
        x->state[i] = malloc(b.n);
        st = x->state[i] ? FRE_OK : FRE_E_NOMEM;
    }
    if (st == FRE_OK)
        memcpy(x->state[i], b.p, b.n);
    fre_buf_wipe(&b);
    return st;
}

fre_status simulate_states_move(simulate_states *x, fre_buf *out, uint64_t i)
{
    uint8_t *p = x->state[i], *at = p;
    fre_status st = fre_buf_append(out, x->model, x->model_bytes);
    uint8_t *to = st == FRE_OK ? out->p + (out->n - x->model_bytes) : NULL;

    for (size_t done = 0; st == FRE_OK && done < x->model_bytes;) {
        const size_t zeros = at[0], others = at[1];

        for (size_t j = 0; j < others; j++)
            to[done + zeros + j] ^= at[2 + j];
        done += zeros + others;
        at += 2 + others;
    }
    if (st == FRE_OK) {
        fre_wipe(p, (size_t)(at - p));
        free(p);
        x->state[i] = NULL;
    }
    return st;
}
