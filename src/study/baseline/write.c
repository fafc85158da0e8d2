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

static fre_status ask(baseline_run *r, char **text, size_t n, const char *prompt, uint64_t seed,
                      fre_err *err)
{
    const fre_lm_sampling how = {.temperature = r->opts->evolution.temperature,
                                 .top_k = 64,
                                 .max_new = NEW_TOKENS,
                                 .stop_at_newline = true,
                                 .chat = fre_lm_can_chat(r->lm),
                                 .seed = seed};

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

/* n texts; the source itself where the model wrote none. */
fre_status baseline_vary(baseline_run *r, char **text, size_t n, const char *source,
                         uint64_t number, fre_err *err)
{
    const uint64_t seed = seed_of(r, source, number + 1000);
    char *prompt = NULL;
    fre_status st;

    if (asprintf(&prompt, "%s Answer with the sentence only.\n\n%s", manners[seed % MANNERS],
                 source) < 0)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = ask(r, text, n, prompt, seed, err);
    free(prompt);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        if (!text[i] && !(text[i] = strdup(source)))
            st = fre_fail(err, FRE_E_NOMEM, "out of memory");
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
