/* propose.c - the candidates of one round: which edits, of which parents, and how likely what comes
 * out is, under the decoder or, without one, under the n-grams of the nearest public texts. */
#include "invert_private.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define SHARES 64u
/* Texts of which a word edit proposes the one that promises most; with a vocabulary to tell them. */
#define HEATS 4u
#define HEATS_TOLD 8u

const char *const inv_kind_name[INV_KINDS] = {
    [INV_FIRST] = "draw",      [INV_SUFFIX] = "suffix", [INV_SPAN] = "span",
    [INV_REPLACE] = "token",   [INV_INSERT] = "insert", [INV_MOVE] = "move",
    [INV_DELETE] = "delete",   [INV_MARK] = "mark",     [INV_JOIN] = "join",
    [INV_CORRECT] = "correct", [INV_SWAP] = "swap",     [INV_NEAR] = "nearest",
    [INV_WORD] = "word",       [INV_ADD] = "add",       [INV_RESPOND] = "respond",
    [INV_UNKNOWN] = "unknown",
};

/* Shares of the kinds, by what became the best text in measurements (docs/decisions/0007). */
static const uint8_t with_decoder[INV_KINDS] = {
    [INV_SUFFIX] = 8, [INV_SPAN] = 11,   [INV_REPLACE] = 13, [INV_INSERT] = 7, [INV_MOVE] = 6,
    [INV_SWAP] = 4,   [INV_DELETE] = 11, [INV_MARK] = 2,     [INV_JOIN] = 2,
};
static const uint8_t with_both[INV_KINDS] = {
    [INV_SUFFIX] = 6, [INV_SPAN] = 8, [INV_REPLACE] = 10, [INV_INSERT] = 5,
    [INV_MOVE] = 6,   [INV_SWAP] = 3, [INV_DELETE] = 9,   [INV_MARK] = 2,
    [INV_JOIN] = 3,   [INV_WORD] = 3, [INV_ADD] = 3,      [INV_RESPOND] = 6,
};
static const uint8_t with_index[INV_KINDS] = {
    [INV_MOVE] = 7,  [INV_SWAP] = 5, [INV_DELETE] = 7, [INV_MARK] = 2,
    [INV_JOIN] = 11, [INV_WORD] = 8, [INV_ADD] = 8,    [INV_RESPOND] = 16,
};

static uint32_t below(fre_rng *rng, uint32_t n)
{
    return (uint32_t)fre_rng_below(rng, n);
}

static inv_kind draw_kind(const uint8_t share[INV_KINDS], fre_rng *rng)
{
    uint32_t u = below(rng, SHARES);
    int k = 0;

    while (k + 1 < INV_KINDS && u >= share[k])
        u -= share[k++];
    return (inv_kind)k;
}

/* Parents near the top are picked more often: the lesser of two draws. */
static const inv_cand *parent(const inv_pool *p, uint32_t parents, fre_rng *rng)
{
    uint32_t n = p->scored < parents ? (uint32_t)p->scored : parents;
    uint32_t a = below(rng, n), b = below(rng, n);

    return &p->cand[a < b ? a : b];
}

/* The most promising of a few new texts of one kind.  Length 0: none. */
static fre_status edit_words(char out[INV_TEXT_MAX], size_t *len, const fre_inverter *v,
                             inv_state *s, inv_kind kind)
{
    const inv_words_from from = {
        .ngram = s->ngram, .response = &s->response, .words = v->index ? &v->index->words : NULL};
    const uint32_t heats = v->vocabulary ? HEATS_TOLD : HEATS;
    double best = 0;
    fre_status st = FRE_OK;

    *len = 0;
    for (uint32_t i = 0; i < heats && st == FRE_OK; i++) {
        const inv_cand *a =
            kind == INV_RESPOND ? s->pool.cand : parent(&s->pool, s->parents, &s->rng);
        const inv_cand *b = kind == INV_JOIN ? parent(&s->pool, 4 * s->parents, &s->rng) : a;
        char text[INV_TEXT_MAX];
        const size_t n = inv_edit_words(text, kind, a->text, b->text, &from, &s->rng);
        bool accepted;
        double far;

        st = inv_pool_accepts(&s->pool, &accepted, text, n);
        if (st != FRE_OK || !accepted)
            continue;
        far = inv_screen_distance(s->screen, text);
        if (v->vocabulary)
            far -= inv_screen_worth(s->screen, s->noise_std) *
                   inv_vocabulary_worth(v->vocabulary, text);
        if (*len > 0 && far >= best)
            continue;
        best = far;
        *len = n;
        memcpy(out, text, n + 1);
    }
    return st;
}

bool inv_plan_text(inv_plan *out, const fre_model *m, const char *text, size_t n)
{
    size_t tokens = INV_TOKENS;

    if (fre_model_tokenize(m, out->head, &tokens, text, n, false) != FRE_OK || tokens == 0 ||
        tokens > INV_TOKENS)
        return false;
    out->n_head = (uint32_t)tokens;
    return true;
}

static bool is_token_edit(inv_kind k)
{
    return k == INV_SUFFIX || k == INV_SPAN || k == INV_REPLACE || k == INV_INSERT;
}

/* One text of whole words: into the next plan, or without a decoder straight into the pool. */
static fre_status add_words(fre_inverter *v, inv_state *s, inv_kind kind, const char *text,
                            size_t n)
{
    inv_plan *plan = v->decoder ? &s->plan[s->n_plan] : NULL;

    if (!plan)
        return inv_pool_add_text(&s->pool, text, n, kind, inv_ngram_logp(s->ngram, text));
    memset(plan, 0, sizeof *plan);
    plan->kind = kind;
    s->n_plan += inv_plan_text(plan, v->decoder, text, n);
    return FRE_OK;
}

/* One proposal: into the next plan, or without a decoder straight into the pool. */
static fre_status propose_one(fre_inverter *v, inv_state *s)
{
    const uint8_t *share = !v->decoder ? with_index : v->index ? with_both : with_decoder;
    const inv_kind kind = draw_kind(share, &s->rng);
    char text[INV_TEXT_MAX];
    size_t n;
    fre_status st;

    if (is_token_edit(kind)) {
        inv_plan *plan = &s->plan[s->n_plan];

        memset(plan, 0, sizeof *plan);
        plan->kind = kind;
        s->n_plan +=
            inv_edit_tokens(plan, kind, parent(&s->pool, s->parents, &s->rng), v->starts, &s->rng);
        return FRE_OK;
    }
    st = edit_words(text, &n, v, s, kind);
    return st == FRE_OK && n > 0 ? add_words(v, s, kind, text, n) : st;
}

/* Does the best text lack words that the embedder does not know, or say others in their place?  Whatever
 * such a word is, it moves the embedding in the same way, so a few trials tell. */
static fre_status try_unknown(fre_inverter *v, inv_state *s)
{
    const inv_cand *c = s->pool.cand;
    const char *best = c->told ? c->told : c->text, *end = strchr(best, '\0');
    const char *first = strchr(best, ' '), *last = strrchr(best, ' ');
    const struct {
        const char *from, *to;
        bool before, after;
    } trial[INV_TRIALS] = {{best, end, true, false},
                           {best, end, false, true},
                           {best, end, true, true},
                           {first ? first + 1 : NULL, end, true, false},
                           {last ? best : NULL, last, false, true}};
    fre_status st = FRE_OK;

    for (uint32_t i = 0; i < INV_TRIALS && st == FRE_OK; i++) {
        char text[INV_TEXT_MAX];
        int n;

        if (!trial[i].from)
            continue;
        n = snprintf(text, sizeof text, "%s%s%.*s%s%s", trial[i].before ? v->unknown : "",
                     trial[i].before ? " " : "", (int)(trial[i].to - trial[i].from), trial[i].from,
                     trial[i].after ? " " : "", trial[i].after ? v->unknown : "");
        if (n > 0 && (size_t)n < sizeof text)
            st = add_words(v, s, INV_UNKNOWN, text, (size_t)n);
    }
    return st;
}

static fre_status decode(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err)
{
    fre_status st = FRE_OK;

    for (uint32_t at = 0; at < s->n_plan && st == FRE_OK; at += INV_BATCH) {
        uint32_t n = s->n_plan - at < INV_BATCH ? s->n_plan - at : INV_BATCH;

        st = inv_drawer_run(d, s->draw + at, s->plan + at, n, s->prefix, v->tuning.temperature,
                            &s->rng, err);
    }
    for (uint32_t i = 0; i < s->n_plan && st == FRE_OK; i++)
        st = inv_pool_add(&s->pool, v->decoder, &s->draw[i]);
    s->trace.drawn += s->n_plan;
    return st;
}

static fre_status propose_edits(fre_inverter *v, inv_state *s)
{
    const uint32_t edits = v->tuning.edits;
    fre_status st = FRE_OK;

    for (uint32_t tries = 0;
         st == FRE_OK && tries < 2 * edits && s->n_plan + (s->pool.n - s->pool.scored) < edits;
         tries++)
        st = propose_one(v, s);
    return st;
}

/* In the first round and after half of them: the best text is better known then. */
static bool is_trial(const inv_tuning *t, const inv_state *s)
{
    return s->trace.rounds == 1 || s->trace.rounds == 1 + t->rounds / 2;
}

fre_status inv_propose(fre_inverter *v, inv_drawer *d, inv_state *s, fre_err *err)
{
    const inv_tuning *t = &v->tuning;
    fre_status st = FRE_OK;

    if (s->pool.scored == 0) { /* the first draws and the nearest texts are planned */
        st = decode(v, d, s, err);
        for (size_t i = 0; i < s->pool.n; i++)
            if (s->pool.cand[i].kind == INV_NEAR)
                s->pool.cand[i].rank = 0; /* before every draw */
        inv_pool_trim(&s->pool, t->keep + t->nearest);
        return st;
    }
    s->n_plan = 0;
    inv_screen_fit(s->screen, &s->pool, t->spread);
    if (v->index)
        st = inv_respond(&s->response, &v->index->words, s->mu, s->pool.embedding,
                         s->pool.cand[0].key);
    if (st == FRE_OK && s->correct)
        st = inv_correct(v, d, s, err);
    if (s->n_plan == 0) /* no corrector, or nothing for it to go on */
        st = st == FRE_OK ? propose_edits(v, s) : st;
    if (st == FRE_OK && v->unknown[0] && is_trial(t, s))
        st = try_unknown(v, s);
    if (st == FRE_OK)
        st = decode(v, d, s, err);
    inv_screen_rank(s->screen, &s->pool, s->noise_std);
    for (size_t i = s->pool.scored; i < s->pool.n; i++)
        if (s->pool.cand[i].kind == INV_UNKNOWN)
            s->pool.cand[i].rank = HUGE_VAL; /* they are few */
    inv_pool_trim(&s->pool, t->keep_edits);
    return st;
}
