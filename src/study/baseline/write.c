/* baseline/write.c - what aug-pe asks of its language model: random texts, and variations of one. */
#include "baseline_private.h"

#include <stdlib.h>
#include <string.h>

#define NEW_TOKENS 40u

/* Of everyday life, so that what is written differs; public, and the same whatever the input. */
static const char *const topics[] = {
    "the weather", "a delivery", "a bank account", "cooking",    "travel",   "music",    "health",
    "a calendar",  "work",       "school",         "a phone",    "shopping", "sports",   "a car",
    "news",        "family",     "a computer",     "languages",  "a game",   "films",    "books",
    "money",       "a hotel",    "a restaurant",   "directions", "an alarm", "a pet",    "clothes",
    "a garden",    "history",    "science",        "the law",    "a photo",  "a message"};
#define TOPICS (sizeof topics / sizeof *topics)

static const char *const manners[] = {
    "Rewrite this sentence in other words.", "Rewrite this sentence more casually.",
    "Rewrite this sentence more politely.", "Rewrite this sentence so that it is shorter.",
    "Write a similar sentence about something close to it."};
#define MANNERS (sizeof manners / sizeof *manners)

#define DEFAULT_PROMPT "Write one short message that a person might send to an assistant"

/* Repeatable with a seed, and different for each question. */
static uint64_t seed_of(const baseline_run *r, const char *about, uint64_t number)
{
    uint8_t key[FRE_SEED_BYTES] = {0}, out[16];
    uint64_t seed;

    memcpy(key, &r->writer_seed, sizeof r->writer_seed);
    memcpy(key + 8, &number, sizeof number);
    fre_hash128(out, key, about, strlen(about));
    memcpy(&seed, out, sizeof seed);
    return seed;
}

static fre_lm_sampling sampling_of(const baseline_run *r)
{
    return (fre_lm_sampling){.temperature = r->opts->evolution.temperature,
                             .top_k = 64,
                             .max_new = NEW_TOKENS,
                             .stop_at_newline = true,
                             .chat = fre_lm_can_chat(r->lm)};
}

static fre_status ask(baseline_run *r, char **text, size_t n, const char *prompt, uint64_t seed,
                      fre_err *err)
{
    fre_lm_sampling how = sampling_of(r);

    how.seed = seed;
    return fre_lm_sample(r->lm, text, n, prompt, strlen(prompt), &how, err);
}

/* n texts, a share of each topic; NULL where the model wrote none. */
fre_status baseline_write(baseline_run *r, char **text, size_t n, fre_err *err)
{
    const char *asked = r->opts->evolution.prompt;
    const size_t parts = asked ? 1 : TOPICS;
    fre_status st = FRE_OK;

    for (size_t i = 0, done = 0; st == FRE_OK && i < parts; i++) {
        const size_t to = n * (i + 1) / parts;
        char *prompt = NULL;

        fre_progress_update(r->opts->progress, "writing", done, n);
        if (asprintf(&prompt, "%s%s%s. Answer with the message only.",
                     asked ? asked : DEFAULT_PROMPT, asked ? "" : ", about ",
                     asked ? "" : topics[i]) < 0)
            return fre_fail(err, FRE_E_NOMEM, "out of memory");
        st = ask(r, text + done, to - done, prompt, seed_of(r, "random", i), err);
        done = to;
        free(prompt);
    }
    return st;
}

/* What is asked about one source, `each` times; prompt: to be freed. */
static fre_status make_questions(const baseline_run *r, fre_lm_prompt *question, char **prompt,
                                 size_t each, const char *source, uint64_t number)
{
    const uint64_t seed = seed_of(r, source, number + 1000);

    if (asprintf(prompt, "%s Answer with the sentence only.\n\n%s", manners[seed % MANNERS],
                 source) < 0) {
        *prompt = NULL;
        return FRE_E_NOMEM;
    }
    for (size_t k = 0; k < each; k++)
        question[k] = (fre_lm_prompt){*prompt, strlen(*prompt), seed, k};
    return FRE_OK;
}

/* The source itself where the model wrote nothing. */
static fre_status fill_gaps(char **text, size_t each, char *const *source, size_t n)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; i < n * each; i++)
        if (!text[i] && !(text[i] = strdup(source[i / each])))
            st = FRE_E_NOMEM;
    return st;
}

fre_status baseline_vary(baseline_run *r, char **text, size_t each, char *const *source, size_t n,
                         uint64_t number, fre_err *err)
{
    const fre_lm_sampling how = sampling_of(r);
    fre_lm_prompt *question = calloc(n * each + 1, sizeof *question);
    char **prompt = calloc(n + 1, sizeof *prompt);
    fre_status st = question && prompt ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < n; i++)
        st = make_questions(r, question + i * each, &prompt[i], each, source[i], number);
    if (st != FRE_OK) {
        st = fre_fail(err, st, "out of memory");
        goto out;
    }
    st = fre_lm_sample_each(r->lm, text, n * each, question, &how, err);
    if (st == FRE_OK && fill_gaps(text, each, source, n) != FRE_OK)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
out:
    for (size_t i = 0; prompt && i < n; i++)
        free(prompt[i]);
    free(prompt);
    free(question);
    return st;
}

/* x: n rows. */
fre_status baseline_embed(baseline_run *r, float *x, char *const *text, size_t n, fre_err *err)
{
    const char *at[BASELINE_TEXTS];
    size_t len[BASELINE_TEXTS];
    fre_status st = FRE_OK;

    for (size_t from = 0; st == FRE_OK && from < n; from += BASELINE_TEXTS) {
        const size_t m = n - from < BASELINE_TEXTS ? n - from : BASELINE_TEXTS;

        for (size_t i = 0; i < m; i++) {
            at[i] = text[from + i] ? text[from + i] : "";
            len[i] = strlen(at[i]);
        }
        st = fre_embed_texts(r->embedder, x + from * r->people.dim, at, len, m, err);
    }
    return st;
}
