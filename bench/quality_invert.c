/* How well texts come back from their embeddings, by noise: a table in Markdown.
 *
 *     build/release/bench/quality_invert TEXTS [N] [NORM ...]
 *
 * TEXTS: any format of fre/corpus.h; the first N (100) texts; NORM: total noise norms (0 .2 .5
 * .8).  Exact: equal to the original but for case (the embedder folds it); words: equal but for
 * case and punctuation; F1: of lower-case words; distance: between the embeddings of original and
 * output, which the inverter never sees when there is noise.  Repeatable: the noise has a seed. */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <fre/corpus.h>
#include <fre/invert.h>
#include <fre/linalg.h>

#define TEXTS_MAX 100000u
#define WORDS_MAX 512u

typedef struct texts {
    char **text;
    size_t *len, n;
    float *x;
    size_t dim;
} texts;

static fre_status load(texts *t, const char *path, size_t n, fre_err *err)
{
    fre_corpus *c = NULL;
    fre_record rec;
    bool more = true;
    fre_status st = fre_corpus_open(&c, path, NULL, err);

    t->text = calloc(n, sizeof *t->text);
    t->len = calloc(n, sizeof *t->len);
    if (!t->text || !t->len)
        st = FRE_E_NOMEM;
    while (st == FRE_OK && t->n < n) {
        st = fre_corpus_next(c, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        t->text[t->n] = strndup(rec.text, rec.text_len);
        t->len[t->n++] = rec.text_len;
    }
    fre_corpus_free(c);
    return st;
}

/* Lower case; with `plain` letters, digits and spaces only. */
static void fold(char *out, size_t cap, const char *s, bool plain)
{
    size_t n = 0;

    for (; *s && n + 1 < cap; s++) {
        unsigned char c = (unsigned char)*s;

        if (!plain || isalnum(c) || c == ' ' || c >= 0x80)
            out[n++] = (char)tolower(c);
    }
    out[n] = '\0';
}

static size_t words_of(char **word, char *s)
{
    size_t n = 0;

    for (char *save = NULL, *w = strtok_r(s, " ", &save); w && n < WORDS_MAX;
         w = strtok_r(NULL, " ", &save))
        word[n++] = w;
    return n;
}

static double word_f1(const char *a, const char *b)
{
    char x[4096], y[4096];
    char *u[WORDS_MAX], *v[WORDS_MAX];
    size_t nu, nv, both = 0;

    fold(x, sizeof x, a, true);
    fold(y, sizeof y, b, true);
    nu = words_of(u, x);
    nv = words_of(v, y);
    for (size_t i = 0; i < nu; i++)
        for (size_t j = 0; j < nv; j++)
            if (v[j] && strcmp(u[i], v[j]) == 0) {
                v[j] = NULL;
                both++;
                break;
            }
    return nu + nv ? 2.0 * (double)both / (double)(nu + nv) : 0.0;
}

static bool same_words(const char *a, const char *b)
{
    char x[4096], y[4096];

    fold(x, sizeof x, a, true);
    fold(y, sizeof y, b, true);
    return strcmp(x, y) == 0;
}

/* Box and Muller. */
static double gauss(fre_rng *r)
{
    double u = ((double)(fre_rng_u64(r) >> 11) + 0.5) * 0x1p-53;
    double v = (double)(fre_rng_u64(r) >> 11) * 0x1p-53;

    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}

static fre_status embed_outputs(fre_embedder *e, float *x, const fre_inversion *out, size_t n,
                                fre_err *err)
{
    const char **text = calloc(n, sizeof *text);
    size_t *len = calloc(n, sizeof *len);
    fre_status st = text && len ? FRE_OK : FRE_E_NOMEM;

    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        text[i] = out[i].text;
        len[i] = strlen(out[i].text);
    }
    if (st == FRE_OK)
        st = fre_embed_texts(e, x, text, len, n, err);
    free((void *)text);
    free(len);
    return st;
}

static void print_row(double norm, const texts *t, const fre_inversion *out, const float *y,
                      int64_t ms)
{
    double exact = 0, words = 0, f1 = 0, dist = 0, near = 0, far = 0;
    const double n = (double)t->n;

    for (size_t i = 0; i < t->n; i++) {
        double d = sqrt(fre_dist2(t->x + i * t->dim, y + i * t->dim, t->dim));

        exact += strcasecmp(out[i].text, t->text[i]) == 0;
        words += same_words(out[i].text, t->text[i]);
        f1 += word_f1(out[i].text, t->text[i]);
        dist += d;
        near += d <= 0.5;
        far += d <= 0.75;
    }
    printf("| %.2g | %zu | %.1f | %.1f | %.1f | %.3f | %.1f | %.1f | %.2f |\n", norm, t->n,
           100 * exact / n, 100 * words / n, 100 * f1 / n, dist / n, 100 * near / n, 100 * far / n,
           (double)ms / 1000 / n);
    fflush(stdout);
}

static fre_status measure(const texts *t, fre_embedder *e, fre_inverter *v, double norm,
                          fre_err *err)
{
    const uint8_t seed[FRE_SEED_BYTES] = {1};
    const double std = norm / sqrt((double)t->dim);
    float *mu = malloc(t->n * t->dim * sizeof *mu);
    double *noise = malloc(t->n * sizeof *noise);
    fre_inversion *out = calloc(t->n, sizeof *out);
    int64_t start;
    fre_rng rng;
    fre_status st = mu && noise && out ? fre_rng_init_seeded(&rng, seed, "noise") : FRE_E_NOMEM;

    if (st != FRE_OK)
        goto out;
    for (size_t i = 0; i < t->n * t->dim; i++)
        mu[i] = t->x[i] + (float)(std * gauss(&rng));
    for (size_t i = 0; i < t->n; i++)
        noise[i] = std;
    fre_rng_wipe(&rng);
    start = fre_clock_ms();
    st = fre_invert(v, out, mu, noise, t->n, NULL, err);
    start = fre_clock_ms() - start;
    if (st == FRE_OK)
        st = embed_outputs(e, mu, out, t->n, err);
    if (st == FRE_OK)
        print_row(norm, t, out, mu, start);
out:
    for (size_t i = 0; out && i < t->n; i++)
        fre_inversion_wipe(&out[i]);
    free(out);
    free(noise);
    free(mu);
    return st;
}

/* At the n norms, at the usual ones where none is named. */
static fre_status measure_all(const texts *t, fre_embedder *e, fre_inverter *v, char **norm, int n,
                              fre_err *err)
{
    static const double usual[] = {0, 0.2, 0.5, 0.8};
    const int all = n > 0 ? n : (int)(sizeof usual / sizeof *usual);
    fre_status st = FRE_OK;

    printf("| noise | n | exact | words | F1 | distance | <= .5 | <= .75 | s/text |\n"
           "|---|---|---|---|---|---|---|---|---|\n");
    for (int i = 0; i < all && st == FRE_OK; i++)
        st = measure(t, e, v, n > 0 ? strtod(norm[i], NULL) : usual[i], err);
    return st;
}

int main(int argc, char **argv)
{
    const size_t n = argc > 2 ? strtoul(argv[2], NULL, 10) : 100;
    const uint32_t threads = fre_cpu_count();
    fre_embedder_opts embedder = {.threads = threads};
    fre_inverter_opts inverter = {.threads = threads, .seed = 1};
    fre_embedder *e = NULL;
    fre_inverter *v = NULL;
    texts t = {0};
    fre_err err = {.text = ""};
    fre_status st;

    if (argc < 2 || n == 0 || n > TEXTS_MAX) {
        fprintf(stderr, "usage: quality_invert TEXTS [N] [NORM ...]\n");
        return 64;
    }
    st = load(&t, argv[1], n, &err);
    if (st != FRE_OK)
        goto out;
    st = fre_embedder_new(&e, &embedder, &err);
    if (st != FRE_OK)
        goto out;
    st = fre_inverter_new(&v, e, &inverter, &err);
    if (st != FRE_OK)
        goto out;
    t.dim = fre_embedder_info(e)->dim;
    t.x = malloc(t.n * t.dim * sizeof *t.x);
    st = t.x ? fre_embed_texts(e, t.x, (const char *const *)t.text, t.len, t.n, &err) : FRE_E_NOMEM;
    if (st == FRE_OK)
        st = measure_all(&t, e, v, argv + 3, argc - 3, &err);
out:
    if (st != FRE_OK)
        fprintf(stderr, "quality_invert: %s\n", err.text[0] ? err.text : fre_status_text(st));
    fre_inverter_free(v);
    fre_embedder_free(e);
    for (size_t i = 0; i < t.n; i++)
        free(t.text[i]);
    free((void *)t.text);
    free(t.len);
    free(t.x);
    return fre_status_exit_code(st);
}
