/* Where candidates come from: a language model that answers an instruction or, if it was not made to,
 * continues a list of rewritings (few-shot prompting: Brown et al., NeurIPS 2020); and the inverter's
 * decoder, asked for places around the text's own. */
#include "paraphrase_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* A stream, or a seed, of one source: its own content and nothing of its neighbours. */
static fre_status source_rng(const fre_paraphraser *p, fre_rng *rng, const fre_paraphrase_source *s)
{
    uint8_t key[FRE_SEED_BYTES] = {0}, seed[FRE_SEED_BYTES] = {0};

    memcpy(key, &p->o.seed, sizeof p->o.seed);
    memcpy(key + sizeof p->o.seed, &s->noise_std, sizeof s->noise_std);
    if (s->centroid)
        fre_hash128(key + 16, key, s->centroid, p->dim * sizeof *s->centroid);
    fre_hash128(seed, key, s->text, s->len);
    return fre_rng_init_seeded(rng, seed, "fre-e2t paraphrase");
}

/* ---- the language model ------------------------------------------------------------------------ */

static const struct {
    const char *text, *other;
} example[] = {
    {"how do i reset my password", "what are the steps to choose a new password"},
    {"I'd like a table for two tonight.", "Could we get a table for two people this evening?"},
    {"library for reading configuration files", "a package that parses config files"},
    {"the delivery came three days late", "my order arrived three days after it was due"},
    {"play something relaxing", "put on some calm music please"},
    {"What is the tallest building in Europe?", "Which building in Europe is the highest?"},
};

#define INSTRUCTION                                                                                \
    "Rewrite this sentence in other words. Keep its meaning. Answer with the sentence only."
#define LABEL_TEXT "Sentence: "
#define LABEL_OTHER "Same meaning, other words: "

static fre_status append(fre_buf *b, const char *s)
{
    return fre_buf_append(b, s, strlen(s));
}

/* The text on one line, whatever is in it. */
static fre_status append_line(fre_buf *b, const char *text, size_t len)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; i < len && st == FRE_OK; i++) {
        const char c = (unsigned char)text[i] < 0x20u || text[i] == 0x7f ? ' ' : text[i];

        st = fre_buf_append(b, &c, 1);
    }
    return st;
}

fre_status para_prompt(fre_buf *out, const char *text, size_t len, bool chat)
{
    fre_status st = FRE_OK;

    if (chat) {
        st = append(out, INSTRUCTION "\n\n");
        return st == FRE_OK ? append_line(out, text, len) : st;
    }
    for (size_t i = 0; i < sizeof example / sizeof *example && st == FRE_OK; i++)
        st = fre_buf_printf(out, LABEL_TEXT "%s\n" LABEL_OTHER "%s\n\n", example[i].text,
                            example[i].other);
    if (st == FRE_OK)
        st = append(out, LABEL_TEXT);
    if (st == FRE_OK)
        st = append_line(out, text, len);
    /* Without the space: it belongs to the token of the first word. */
    return st == FRE_OK ? fre_buf_append(out, "\n" LABEL_OTHER, sizeof "\n" LABEL_OTHER - 2) : st;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

const char *para_answer(const char *text, size_t *len)
{
    const char *end = text + strcspn(text, "\n");

    while (text < end && (is_blank(*text) || *text == '-' || *text == '*'))
        text++;
    while (end > text && is_blank(end[-1]))
        end--;
    if (end - text >= 2 && *text == '"' && end[-1] == '"') {
        text++;
        end--;
    }
    *len = (size_t)(end - text);
    return text;
}

/* A model that has lost the thread goes on with the list or with its labels. */
static bool is_answer(const char *answer, size_t len, size_t source_len)
{
    return len > 0 && len <= 2 * source_len + 40 &&
           strncasecmp(answer, LABEL_TEXT, strlen(LABEL_TEXT) - 1) != 0 &&
           strncasecmp(answer, LABEL_OTHER, strlen(LABEL_OTHER) - 2) != 0;
}

fre_status para_ask_lm(fre_paraphraser *p, para_list *l, const fre_paraphrase_source *s,
                       fre_err *err)
{
    const size_t n = (size_t)p->o.paraphrases * PARA_TRIES_LM;
    fre_lm_sampling how = {.temperature = PARA_COOLER * p->o.temperature,
                           .top_k = 64,
                           .max_new = (uint32_t)(s->len / 3 + 12),
                           .stop_at_newline = true,
                           .chat = fre_lm_can_chat(p->o.lm)};
    char **answer = calloc(n, sizeof *answer);
    fre_buf prompt;
    fre_rng rng;
    fre_status st;

    memset(&rng, 0, sizeof rng);
    fre_buf_init(&prompt, 1u << 16);
    st = answer ? source_rng(p, &rng, s) : FRE_E_NOMEM;
    if (st == FRE_OK) {
        how.seed = fre_rng_u64(&rng);
        st = para_prompt(&prompt, s->text, s->len, how.chat);
    }
    if (st == FRE_OK)
        st = fre_lm_sample(p->o.lm, answer, n, (const char *)prompt.p, prompt.n, &how, err);
    for (size_t i = 0; i < n && st == FRE_OK; i++) {
        size_t len = 0;
        const char *text = answer[i] ? para_answer(answer[i], &len) : NULL;

        if (text && is_answer(text, len, s->len))
            st = para_list_add(l, text, len, 0.0);
    }
    for (size_t i = 0; answer && i < n; i++)
        free(answer[i]);
    free(answer);
    fre_buf_wipe(&prompt);
    fre_rng_wipe(&rng);
    return st;
}

/* ---- the inverter's decoder --------------------------------------------------------------------- */

/* Box and Muller 1958. */
static double gauss(fre_rng *r)
{
    const double u = ((double)(fre_rng_u64(r) >> 11) + 0.5) * 0x1p-53;
    const double v = (double)(fre_rng_u64(r) >> 11) * 0x1p-53;

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

/* Distance of the places from the text's embedding, of the limit: a short, common text is written
 * again from nearby, a long one is lost from afar. */
static const double scatter_norm[PARA_POINTS] = {0.5, 0.8, 1.2, 1.2, 1.7, 1.7};

/* Places around the text's embedding, so that the decoder writes of what lies beside it. */
static fre_status scatter(const fre_paraphraser *p, float *mu, const fre_paraphrase_source *s,
                          const float *x, const double *std)
{
    fre_rng rng;
    fre_status st;

    memset(&rng, 0, sizeof rng);
    st = source_rng(p, &rng, s);
    for (size_t i = 0; st == FRE_OK && i < PARA_POINTS * p->dim; i++)
        mu[i] = x[i % p->dim] + (float)(std[i / p->dim] * gauss(&rng));
    fre_rng_wipe(&rng);
    return st;
}

fre_status para_ask_decoder(fre_paraphraser *p, para_list *l, const fre_paraphrase_source *s,
                            const float *x, fre_err *err)
{
    const size_t wanted = (size_t)p->o.paraphrases * PARA_TRIES_DECODER;
    const size_t most = wanted > PARA_DRAWS_LEAST ? wanted : PARA_DRAWS_LEAST;
    const size_t each = (most + PARA_POINTS - 1) / PARA_POINTS;
    const fre_draw_opts how = {.n = each, .temperature = p->o.temperature, .seed = p->o.seed};
    float *mu = calloc(PARA_POINTS * p->dim, sizeof *mu);
    fre_draw *draw = calloc(PARA_POINTS * each, sizeof *draw);
    double noise[PARA_POINTS];
    fre_status st = mu && draw ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; i < PARA_POINTS; i++)
        noise[i] = scatter_norm[i] * p->o.distance / sqrt((double)p->dim);
    if (st == FRE_OK)
        st = scatter(p, mu, s, x, noise);
    if (st == FRE_OK)
        st = fre_inverter_draw(p->o.inverter, draw, &how, mu, noise, PARA_POINTS, err);
    for (size_t i = 0; i < PARA_POINTS * each && st == FRE_OK; i++)
        if (draw[i].text)
            st = para_list_add(l, draw[i].text, strlen(draw[i].text), draw[i].logp);
    for (size_t i = 0; draw && i < PARA_POINTS * each; i++)
        fre_draw_wipe(&draw[i]);
    free(draw);
    free(mu);
    return st;
}
