/* Texts drawn from the model: what the prompts of a workspace begin with alike is run once, then they step
 * side by side, each through the rest of its prompt and on.  Top-k sampling: Fan, Lewis, Dauphin, ACL 2018.  ChatML: each turn of a dialogue stands
 * between <|im_start|>ROLE and <|im_end|>. */
#include "lm_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SIDE_BY_SIDE 32u /* samples of one workspace: more win little and need memory */
#define TOP_K_MAX 1024u
#define TEXT_MAX (1u << 20) /* bytes of one text */

#define TOKENS_MAX (SIDE_BY_SIDE * 512u) /* of one workspace, prompts and texts */

/* What one text goes on from, and its stream of random numbers. */
typedef struct question {
    const int32_t *ids;
    uint32_t n;
    uint64_t seed, number;
    size_t at; /* in out */
} question;

typedef struct call {
    fre_lm *lm;
    const fre_lm_sampling *how;
    question *question;
    size_t n, each; /* texts in all, and of one job */
    char **out;
    fre_err err; /* of the first job that failed, guarded by lm->lock */
    bool failed;
} call;

/* One sample. */
typedef struct line {
    const question *from;
    fre_rng rng;
    fre_buf text;
    int32_t last;
    uint32_t drawn; /* tokens */
    bool done;
} line;

/* ---- one token ----------------------------------------------------------------------------- */

typedef struct choice {
    float logit;
    int32_t id;
} choice;

/* The k likeliest, best first, ties to the lower id; nearly all logits fail the first test. */
static uint32_t find_top(choice *top, uint32_t k, const float *logits, uint32_t vocab)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < vocab; i++) {
        uint32_t at = n;

        if (n == k && !(logits[i] > top[n - 1].logit))
            continue;
        if (n == k)
            at--;
        while (at > 0 && logits[i] > top[at - 1].logit)
            at--;
        memmove(top + at + 1, top + at, ((n < k ? n : k - 1) - at) * sizeof *top);
        top[at] = (choice){logits[i], (int32_t)i};
        n += n < k;
    }
    return n;
}

static double uniform(fre_rng *r)
{
    return (double)(fre_rng_u64(r) >> 11) * 0x1p-53;
}

/* Token with probability ~ e^(logit / T) among the first k of `top`, or all.  room: k + 1 choices
 * (k 0: none).  -1: a logit is not finite. */
static int32_t draw(fre_rng *r, choice *room, const float *logits, uint32_t vocab,
                    const fre_lm_sampling *how)
{
    uint32_t n = vocab, k = how->top_k < vocab ? how->top_k : vocab;
    double best = (double)logits[0], sum = 0, u;

    for (uint32_t i = 0; i < vocab; i++) {
        if (!isfinite(logits[i]))
            return -1;
        best = (double)logits[i] > best ? (double)logits[i] : best;
    }
    if (k > 0)
        n = find_top(room, k, logits, vocab);
    for (uint32_t i = 0; i < n; i++)
        sum += exp(((double)(k > 0 ? room[i].logit : logits[i]) - best) / how->temperature);
    u = uniform(r) * sum;
    for (uint32_t i = 0; i + 1 < n; i++) {
        u -= exp(((double)(k > 0 ? room[i].logit : logits[i]) - best) / how->temperature);
        if (u < 0)
            return k > 0 ? room[i].id : (int32_t)i;
    }
    return k > 0 ? room[n - 1].id : (int32_t)n - 1;
}

/* ---- one text ------------------------------------------------------------------------------ */

static fre_status start(line *x, const question *from)
{
    uint8_t seed[FRE_SEED_BYTES] = {0};

    for (unsigned b = 0; b < 8; b++) {
        seed[b] = (uint8_t)(from->seed >> (8 * b));
        seed[8 + b] = (uint8_t)(from->number >> (8 * b));
    }
    fre_buf_init(&x->text, TEXT_MAX);
    x->from = from;
    return fre_rng_init_seeded(&x->rng, seed, "fre-e2t lm sample");
}

/* Draw the next token of a text and append it. */
static fre_status extend(line *x, const call *c, choice *room, const float *logits)
{
    const fre_model *m = c->lm->model;
    size_t before = x->text.n;
    fre_status st;

    x->done = ++x->drawn == c->how->max_new;
    x->last = draw(&x->rng, room, logits, fre_model_info_view(m)->vocab, c->how);
    if (x->last < 0)
        return FRE_E_MODEL;
    if (fre_model_is_end(m, x->last) || fre_model_is_control(m, x->last)) {
        x->done = true;
        return FRE_OK;
    }
    st = fre_model_detokenize(m, &x->text, &x->last, 1);
    if (st == FRE_OK && c->how->stop_at_newline && x->text.n > before) {
        const uint8_t *line_end = memchr(x->text.p + before, '\n', x->text.n - before);
        bool text = false;

        for (size_t i = 0; i < before; i++)
            text = text || x->text.p[i] > ' ';
        for (const uint8_t *p = x->text.p + before; line_end && p < line_end; p++)
            text = text || *p > ' ';
        if (line_end && text) { /* an answer may start with an empty line */
            x->text.n = (size_t)(line_end - x->text.p);
            x->done = true;
        }
    }
    return st;
}

/* NULL in *out: nothing but white space came. */
static fre_status finish(char **out, const line *x)
{
    const char *p = (const char *)x->text.p;
    size_t n = x->text.n;

    *out = NULL;
    n = n ? fre_model_utf8(p, n) : 0; /* the last character may be cut */
    n = n ? strnlen(p, n) : 0;
    while (n > 0 && (unsigned char)p[n - 1] <= ' ')
        n--;
    while (n > 0 && (unsigned char)*p <= ' ') {
        p++;
        n--;
    }
    if (n == 0)
        return FRE_OK;
    *out = strndup(p, n);
    return *out ? FRE_OK : FRE_E_NOMEM;
}

/* ---- many ---------------------------------------------------------------------------------- */

/* How many tokens stand in front of every text: what all prompts begin with, but no prompt's last. */
static uint32_t in_front(const line *lines, uint32_t n)
{
    const question *first = lines[0].from;
    uint32_t common = first->n - 1;

    for (uint32_t i = 1; i < n; i++) {
        const question *q = lines[i].from;
        uint32_t k = 0;

        while (k < common && k + 1 < q->n && q->ids[k] == first->ids[k])
            k++;
        common = k;
    }
    return common;
}

/* The token of each text that goes on at a position; returns how many do. */
static uint32_t tokens_at(int32_t *ids, uint32_t *seq, const line *lines, uint32_t n, uint32_t pos)
{
    uint32_t going = 0;

    for (uint32_t i = 0; i < n; i++) {
        const question *q = lines[i].from;

        if (lines[i].done)
            continue;
        ids[going] = pos < q->n ? q->ids[pos] : lines[i].last;
        seq[going++] = i;
    }
    return going;
}

static fre_status step_all(const call *c, fre_model_ctx *x, line *lines, uint32_t n, choice *room,
                           float *logits, fre_err *err)
{
    const uint32_t vocab = fre_model_info_view(c->lm->model)->vocab, before = in_front(lines, n);
    int32_t ids[SIDE_BY_SIDE];
    uint32_t seq[SIDE_BY_SIDE], going;
    fre_status st = FRE_OK;

    if (before > 0)
        st = fre_model_prefix_tokens(x, NULL, 0, lines[0].from->ids, before, n, err);
    for (uint32_t pos = before; st == FRE_OK; pos++) {
        going = tokens_at(ids, seq, lines, n, pos);
        if (going == 0)
            break;
        st = fre_model_step(x, logits, ids, seq, going, pos, err);
        for (uint32_t i = 0; i < going && st == FRE_OK; i++)
            if (pos + 1 >= lines[seq[i]].from->n)
                st = extend(&lines[seq[i]], c, room, logits + (size_t)i * vocab);
    }
    return st;
}

static void keep_error(call *c, const fre_err *err)
{
    (void)pthread_mutex_lock(&c->lm->lock);
    if (!c->failed) {
        c->err = *err;
        c->failed = true;
    }
    (void)pthread_mutex_unlock(&c->lm->lock);
}

static fre_status run_some(void *ctx, uint64_t at)
{
    call *c = ctx;
    size_t first = (size_t)at * c->each;
    uint32_t n = (uint32_t)(c->n - first < c->each ? c->n - first : c->each);
    uint32_t vocab = fre_model_info_view(c->lm->model)->vocab, longest = 0;
    fre_model_ctx *x = NULL;
    line *lines = calloc(n, sizeof *lines);
    choice *room = calloc(c->how->top_k + 1, sizeof *room);
    float *logits = malloc((size_t)n * vocab * sizeof *logits);
    fre_err err = {.text = ""};
    fre_status st = FRE_E_NOMEM;

    for (uint32_t i = 0; i < n; i++)
        longest = c->question[first + i].n > longest ? c->question[first + i].n : longest;
    if (lines && room && logits)
        st = fre_model_ctx_new(&x, c->lm->model, longest + c->how->max_new, n, &err);
    for (uint32_t i = 0; i < n && st == FRE_OK; i++)
        st = start(&lines[i], &c->question[first + i]);
    if (st == FRE_OK)
        st = step_all(c, x, lines, n, room, logits, &err);
    for (uint32_t i = 0; i < n && st == FRE_OK; i++)
        st = finish(&c->out[lines[i].from->at], &lines[i]);
    if (st != FRE_OK) {
        if (!err.text[0])
            (void)fre_fail(&err, st, "%s drawing texts from the language model",
                           st == FRE_E_MODEL ? "a logit is not a finite number: damaged weights"
                                             : fre_status_text(st));
        keep_error(c, &err);
    }
    for (uint32_t i = 0; lines && i < n; i++) {
        fre_buf_wipe(&lines[i].text);
        fre_rng_wipe(&lines[i].rng);
    }
    free(lines);
    free(room);
    free(logits);
    fre_model_ctx_free(x);
    return st;
}

static fre_status run(call *c, fre_err *err)
{
    uint32_t threads = c->lm->threads, longest = 1;
    fre_status st;

    for (size_t i = 0; i < c->n; i++)
        longest = c->question[i].n > longest ? c->question[i].n : longest;
    c->each = (c->n + threads - 1) / threads;
    if (c->each > SIDE_BY_SIDE)
        c->each = SIDE_BY_SIDE;
    if (c->each > TOKENS_MAX / (longest + c->how->max_new))
        c->each = TOKENS_MAX / (longest + c->how->max_new);
    if (c->each == 0)
        c->each = 1;
    st = fre_parallel(threads, (c->n + c->each - 1) / c->each, run_some, c);
    return st == FRE_OK ? st
                        : fre_fail(err, st, "%s", c->failed ? c->err.text : fre_status_text(st));
}

/* ---- the prompt ------------------------------------------------------------------------------ */

#define TURN "<|im_start|>"
#define TURN_END "<|im_end|>"

bool fre_lm_can_chat(const fre_lm *lm)
{
    return fre_model_control(lm->model, TURN) >= 0 && fre_model_control(lm->model, TURN_END) >= 0;
}

typedef struct ids {
    int32_t *p;
    size_t n, cap;
} ids;

static fre_status add_text(const fre_lm *lm, ids *to, const char *text, size_t len)
{
    size_t room = to->cap - to->n, n = room;
    fre_status st = fre_model_tokenize(lm->model, to->p + to->n, &n, text, len, false);

    if (st == FRE_OK && n > room)
        return FRE_E_LIMIT;
    if (st == FRE_OK)
        to->n += n;
    return st;
}

static fre_status add_control(const fre_lm *lm, ids *to, const char *spelling)
{
    if (to->n == to->cap)
        return FRE_E_LIMIT;
    to->p[to->n++] = fre_model_control(lm->model, spelling);
    return FRE_OK;
}

/* What the user says never reads as a mark: it is tokenised as plain text. */
static fre_status make_prompt(const fre_lm *lm, ids *to, const char *prompt, size_t len, bool chat)
{
    fre_status st;

    if (!chat) {
        to->p[to->n++] = lm->begin;
        return add_text(lm, to, prompt, len);
    }
    st = add_control(lm, to, TURN);
    if (st != FRE_OK)
        return st;
    st = add_text(lm, to, "user\n", 5);
    if (st != FRE_OK)
        return st;
    st = add_text(lm, to, prompt, len);
    if (st != FRE_OK)
        return st;
    st = add_control(lm, to, TURN_END);
    if (st != FRE_OK)
        return st;
    st = add_text(lm, to, "\n", 1);
    if (st != FRE_OK)
        return st;
    st = add_control(lm, to, TURN);
    return st == FRE_OK ? add_text(lm, to, "assistant\n", 10) : st;
}

static fre_status check(const fre_lm *lm, const fre_lm_sampling *s, fre_err *err)
{
    const fre_model_info *info = fre_lm_info(lm);

    if (!isfinite(s->temperature) || !(s->temperature > 0) || s->top_k > TOP_K_MAX ||
        s->max_new == 0)
        return fre_fail(err, FRE_E_ARG,
                        "drawing texts needs a temperature above 0, top-k 0..%u and at least one "
                        "token a text",
                        TOP_K_MAX);
    if (s->chat && !fre_lm_can_chat(lm))
        return fre_fail(err, FRE_E_ARG, "the language model (%s) was not tuned to dialogues",
                        info->name);
    if (!s->chat && lm->begin < 0)
        return fre_fail(err, FRE_E_ARG, "the language model (%s) has no begin token", info->name);
    if (s->max_new >= info->context)
        return fre_fail(err, FRE_E_LIMIT, "the language model reads %u tokens, prompt included",
                        info->context);
    return FRE_OK;
}

/* The tokens of a prompt, which leave room for a text. */
static fre_status set_prompt(ids *to, const call *c, const char *prompt, size_t len, fre_err *err)
{
    const fre_status st = make_prompt(c->lm, to, prompt, len, c->how->chat);

    if (st == FRE_OK)
        return st;
    return fre_fail(err, st, "the prompt %s",
                    st == FRE_E_LIMIT  ? "is longer than the language model's context"
                    : st == FRE_E_DATA ? "is not valid UTF-8"
                                       : fre_status_text(st));
}

/* Prompts that begin alike come after each other. */
static int by_prompt(const void *a, const void *b)
{
    const question *x = a, *y = b;

    for (uint32_t i = 0; i < x->n && i < y->n; i++)
        if (x->ids[i] != y->ids[i])
            return x->ids[i] < y->ids[i] ? -1 : 1;
    return x->n != y->n ? (x->n < y->n ? -1 : 1) : (x->at > y->at) - (x->at < y->at);
}

/* Texts of one prompt, or (one false) of n. */
static fre_status ask(call *c, const fre_lm_prompt *prompt, bool one, fre_err *err)
{
    const size_t n_prompts = one ? 1 : c->n;
    ids *p = calloc(n_prompts, sizeof *p);
    fre_status st;

    c->question = calloc(c->n, sizeof *c->question);
    c->out = calloc(c->n, sizeof(char *));
    st = p && c->question && c->out ? FRE_OK : FRE_E_NOMEM;
    for (size_t i = 0; st == FRE_OK && i < n_prompts; i++) {
        p[i].cap = fre_lm_info(c->lm)->context - c->how->max_new;
        p[i].p = malloc(p[i].cap * sizeof *p[i].p);
        st = p[i].p ? set_prompt(&p[i], c, prompt[i].text, prompt[i].len, err) : FRE_E_NOMEM;
    }
    for (size_t i = 0; st == FRE_OK && i < c->n; i++)
        c->question[i] =
            one ? (question){p->p, (uint32_t)p->n, prompt->seed, i, i}
                : (question){p[i].p, (uint32_t)p[i].n, prompt[i].seed, prompt[i].number, i};
    if (st == FRE_OK && !one)
        qsort(c->question, c->n, sizeof *c->question, by_prompt);
    if (st == FRE_OK)
        st = run(c, err);
    else if (st == FRE_E_NOMEM)
        st = fre_fail(err, st, "out of memory drawing texts");
    for (size_t i = 0; p && i < n_prompts; i++)
        if (p[i].p) {
            fre_wipe(p[i].p, p[i].cap * sizeof *p[i].p);
            free(p[i].p);
        }
    free(p);
    free(c->question);
    return st;
}

static fre_status sample(fre_lm *lm, char **out, size_t n, const fre_lm_prompt *prompt, bool one,
                         const fre_lm_sampling *sampling, fre_err *err)
{
    call c = {.lm = lm, .how = sampling, .n = n};
    fre_status st = check(lm, sampling, err);

    if (st != FRE_OK || n == 0)
        return st;
    st = ask(&c, prompt, one, err);
    if (st == FRE_OK)
        memcpy(out, c.out, n * sizeof *out);
    for (size_t i = 0; c.out && st != FRE_OK && i < n; i++)
        free(c.out[i]);
    free(c.out);
    return st;
}

fre_status fre_lm_sample(fre_lm *lm, char **out, size_t n, const char *prompt, size_t len,
                         const fre_lm_sampling *sampling, fre_err *err)
{
    fre_lm_prompt p = {.text = prompt, .len = len};

    if (!lm || (n > 0 && !out) || (!prompt && len > 0) || !sampling)
        return fre_fail(err, FRE_E_ARG, "fre_lm_sample needs a prompt and room for texts");
    p.seed = sampling->seed;
    return sample(lm, out, n, &p, true, sampling, err);
}

fre_status fre_lm_sample_each(fre_lm *lm, char **out, size_t n, const fre_lm_prompt *prompt,
                              const fre_lm_sampling *sampling, fre_err *err)
{
    if (!lm || (n > 0 && (!out || !prompt)) || !sampling)
        return fre_fail(err, FRE_E_ARG, "fre_lm_sample_each needs prompts and room for texts");
    for (size_t i = 0; i < n; i++)
        if (!prompt[i].text && prompt[i].len > 0)
            return fre_fail(err, FRE_E_ARG, "fre_lm_sample_each needs prompts and room for texts");
    return sample(lm, out, n, prompt, false, sampling, err);
}
