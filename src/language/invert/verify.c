/* There and back: sentences are embedded, inverted, and embedded again.
 *
 * Sizes can agree by chance (many embedders have 384 dimensions); what an inverter writes for
 * another embedder is not about its input.  Opening an inverter does this with a few draws a sentence,
 * `model verify` with the whole search. */
#include "invert_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <fre/linalg.h>

/* Written for this; of different meaning, form and length. */
static const char *const sentence[FRE_VERIFY_SENTENCES] = {
    "Is there anything else I can help you with?",
    "a Python library for parsing dates",
    "The restaurant serves Italian food.",
    "What will the weather be like tomorrow?",
    "please play some jazz music",
    "She bought a new car last week.",
    "set an alarm for six in the morning",
    "How do I reset my password?",
    "I would like to book a table for two.",
    "The train leaves at nine o'clock.",
    "a command line tool to convert images",
    "turn off the lights in the kitchen",
    "What is the capital of France?",
    "My phone battery does not last very long.",
    "Thank you very much for your help.",
    "The patient was given a new medicine.",
    "how many calories are in an apple",
    "He plays football with his friends every Sunday.",
    "transfer money to my savings account",
    "The book was written by a famous author.",
};

const char *fre_verify_sentence(size_t i)
{
    return i < FRE_VERIFY_SENTENCES ? sentence[i] : NULL;
}

static fre_status embed(fre_embedder *e, float *out, const char *const *text, fre_err *err)
{
    size_t len[FRE_VERIFY_SENTENCES];

    for (size_t i = 0; i < FRE_VERIFY_SENTENCES; i++)
        len[i] = strlen(text[i]);
    return fre_embed_texts(e, out, text, len, FRE_VERIFY_SENTENCES, err);
}

/* Which sentence an output lies nearest to. */
static size_t nearest(const float *y, const float *x, size_t dim)
{
    size_t best = 0;

    for (size_t j = 1; j < FRE_VERIFY_SENTENCES; j++)
        if (fre_dist2(y, x + j * dim, dim) < fre_dist2(y, x + best * dim, dim))
            best = j;
    return best;
}

static int ascending(const void *a, const void *b)
{
    const double *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

/* From the embeddings x of the sentences and y of what came back. */
static void measure(fre_verification *out, const float *x, const float *y, size_t dim)
{
    double sorted[FRE_VERIFY_SENTENCES];

    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < FRE_VERIFY_SENTENCES; i++) {
        const float *a = x + i * dim, *b = y + i * dim;

        out->distance[i] = sorted[i] = sqrt(fre_dist2(a, b, dim));
        out->similarity[i] = /* 0: to no text */
            fre_is_zero_row(b, dim) ? 0
                                    : fre_dot(a, b, dim) / (fre_norm(a, dim) * fre_norm(b, dim));
        out->own[i] = nearest(b, x, dim) == i;
        out->returned += out->own[i];
        out->mean_distance += out->distance[i] / FRE_VERIFY_SENTENCES;
        out->mean_similarity += out->similarity[i] / FRE_VERIFY_SENTENCES;
    }
    qsort(sorted, FRE_VERIFY_SENTENCES, sizeof *sorted, ascending);
    out->median_distance =
        (sorted[(FRE_VERIFY_SENTENCES - 1) / 2] + sorted[FRE_VERIFY_SENTENCES / 2]) / 2;
    out->passed = out->returned >= FRE_VERIFY_RETURNED_MIN &&
                  out->mean_similarity >= FRE_VERIFY_SIMILARITY_MIN;
}

fre_status fre_inverter_verify(fre_inverter *v, fre_verification *out, fre_err *err)
{
    const double noise[FRE_VERIFY_SENTENCES] = {0};
    const size_t dim = fre_embedder_info(v->embedder)->dim;
    fre_inversion made[FRE_VERIFY_SENTENCES];
    const char *text[FRE_VERIFY_SENTENCES];
    float *x = malloc(2 * FRE_VERIFY_SENTENCES * dim * sizeof *x);
    fre_status st;

    if (!x)
        return fre_fail(err, FRE_E_NOMEM, "out of memory verifying the inverter");
    memset(made, 0, sizeof made);
    st = embed(v->embedder, x, sentence, err);
    if (st == FRE_OK)
        st = fre_invert(v, made, x, noise, FRE_VERIFY_SENTENCES, NULL, err);
    for (size_t i = 0; i < FRE_VERIFY_SENTENCES; i++)
        text[i] = made[i].text ? made[i].text : "";
    if (st == FRE_OK)
        st = embed(v->embedder, x + FRE_VERIFY_SENTENCES * dim, text, err);
    if (st == FRE_OK)
        measure(out, x, x + FRE_VERIFY_SENTENCES * dim, dim);
    for (size_t i = 0; i < FRE_VERIFY_SENTENCES; i++)
        fre_inversion_wipe(&made[i]);
    free(x);
    return st;
}

fre_status inv_check_works(fre_inverter *v, fre_err *err)
{
    const inv_tuning full = v->tuning;
    fre_verification seen;
    const char *made_for;
    fre_status st;

    v->tuning = inv_tuning_of(0, false);
    v->tuning.samples = v->tuning.keep = 8;
    v->tuning.rounds = 0;
    v->tuning.std_floor = full.std_floor;
    v->tuning.spread = full.spread;
    st = fre_inverter_verify(v, &seen, err);
    v->tuning = full;
    if (st != FRE_OK || seen.passed)
        return st;
    if (v->bridge)
        return fre_fail(err, FRE_E_MODEL,
                        "over this bridge the inverter does not bring texts back from this "
                        "embedder (%u of %u test sentences came back nearest to themselves): make "
                        "one of more public text by 'model bridge', or take {inverter} search",
                        seen.returned, FRE_VERIFY_SENTENCES);
    /* The name may go on with how the embedder pools. */
    made_for =
        fre_tensors_text(v->projector.tensors, INV_PROJECTOR_ARCHITECTURE ".embedding_model");
    return fre_fail(err, FRE_E_MODEL,
                    "this inverter does not bring texts back from this embedder; it was made for "
                    "%.*s: use that one, an inverter made for yours, or {inverter} none",
                    (int)strcspn(made_for, " ("), made_for);
}
