/* cmd_model.c - model list, model info. */
#include "cli.h"
#include "codebook_output.h"

#include <fre/bridge.h>
#include <fre/embed.h>
#include <fre/invert.h>
#include <fre/lm.h>
#include <fre/model.h>
#include <fre/prior.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const bundled[][2] = {
    {FRE_EMBEDDER_DEFAULT, "embedder"},
    {FRE_INVERTER_DEFAULT, "inverter"},
    {FRE_INVERTER_PROJECTOR, "projector of the inverter"},
    {FRE_VOCABULARY_DEFAULT, "vocabulary of the inverter"},
    {FRE_PRIOR_DEFAULT, "prior of the embedder"},
    {FRE_CODEBOOK_DEFAULT, "codebook of the embedder"},
    {FRE_LM_DEFAULT, "language model (optional)"},
};

/* A line of what a file says of itself, which may be anything. */
static FRE_PRINTF(2, 3) void row(const char *name, const char *fmt, ...)
{
    char value[8192];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    cli_fold(stdout, 4, "%-13s %s", name, value);
}

/* ---- list ----------------------------------------------------------------------------------------- */

#define BUNDLED (sizeof bundled / sizeof bundled[0])

typedef struct location {
    char path[4096]; /* "": not found */
} location;

static void print_locations(const location *found)
{
    size_t longest = 0;

    for (size_t i = 0; i < BUNDLED; i++)
        longest = cli_width(found[i].path) > longest ? cli_width(found[i].path) : longest;
    for (size_t i = 0; i < BUNDLED; i++) {
        const cli_column column[] = {{.name = "", .width = -35},
                                     {.name = "", .width = -26},
                                     {.name = "", .width = -(int)longest}};
        const bool there = found[i].path[0] != '\0';
        const cli_cell cell[] = {
            {.text = bundled[i][0]},
            {.text = bundled[i][1]},
            {.text = there ? found[i].path : "not found", .style = there ? CLI_PLAIN : CLI_YELLOW}};

        cli_table_row(stdout, column, 3, cell);
    }
}

static json_t *locations_json(const location *found)
{
    json_t *list = json_array();

    for (size_t i = 0; list && i < BUNDLED; i++) {
        const char *path = found[i].path[0] ? found[i].path : NULL;

        if (json_array_append_new(list, json_pack("{s:s, s:s, s:s?}", "name", bundled[i][0], "use",
                                                  bundled[i][1], "path", path)) != 0) {
            json_decref(list);
            return NULL;
        }
    }
    return list ? json_pack("{s:o}", "models", list) : NULL;
}

/* A bundled file, as a path without "..". */
static bool find_bundled(char *path, size_t n, const char *name)
{
    char *real;

    if (fre_model_find(path, n, name, NULL) != FRE_OK)
        return false;
    real = realpath(path, NULL);
    if (real && strlen(real) < n)
        memcpy(path, real, strlen(real) + 1);
    free(real);
    return true;
}

static fre_status run_list(cli *c, fre_err *err)
{
    location *found = calloc(BUNDLED, sizeof *found);
    fre_status st = FRE_OK;

    if (!found)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; i < BUNDLED; i++)
        if (!find_bundled(found[i].path, sizeof found[i].path, bundled[i][0]))
            found[i].path[0] = '\0';
    if (c->json)
        st = cli_json_print(locations_json(found), err);
    else
        print_locations(found);
    free(found);
    return st;
}

const cli_command cli_cmd_model_list = {
    .name = "model list",
    .summary = "list the models that the program uses, and where they lie",
    .about = "Lists the default models and the files they were found at. FRE_MODEL_DIR names a "
             "folder that is looked at first.",
    .example = CLI_PROGRAM " model list",
    .run = run_list,
};

/* ---- info ------------------------------------------------------------------------------------------- */

static const cli_positional info_positional[] = {
    {.name = "MODEL", .help = "a GGUF file, or the name of a bundled model"},
};

static fre_status open_any(fre_model **out, fre_model_kind *kind, const char *path, fre_err *err)
{
    fre_err first;
    fre_status st = fre_model_open(out, path, FRE_MODEL_EMBEDDER, &first);

    *kind = FRE_MODEL_EMBEDDER;
    if (st != FRE_E_MODEL) {
        if (st != FRE_OK && err)
            *err = first;
        return st;
    }
    *kind = FRE_MODEL_DECODER;
    return fre_model_open(out, path, FRE_MODEL_DECODER, err);
}

/* null: the file does not record it. */
static json_t *card_json(const fre_prior_card *k)
{
    if (k->n_marks == 0)
        return json_null();
    return json_pack("{s:s, s:s, s:s, s:s, s:I}", "file", k->file, "sha256", k->sha256, "author",
                     k->author, "kind", k->rows ? "rows" : "texts", "marks",
                     (json_int_t)k->n_marks);
}

static void print_card(const char *source, const fre_prior_card *k)
{
    row("source", "%s", source);
    if (k->file[0])
        row("made of", "%s, sha256 %s", k->file, k->sha256);
    if (k->author[0])
        row("author", "%s", k->author);
}

static fre_status print_prior(const cli *c, const fre_prior *p, const char *path, fre_err *err)
{
    const fre_prior_info *info = fre_prior_info_view(p);
    char hash[2 * FRE_HASH_BYTES + 1];

    fre_hex(hash, info->sha256, FRE_HASH_BYTES);
    if (c->json)
        return cli_json_print(json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:o}", "path",
                                        path, "kind", "prior", "sha256", hash, "dimension",
                                        (json_int_t)info->dim, "rows", (json_int_t)info->rows,
                                        "embedder", info->embedder, "embedder_sha256",
                                        info->embedder_hash, "source", info->source, "made_of",
                                        card_json(&info->card)),
                              err);
    row("path", "%s", path);
    row("kind", "prior");
    row("sha256", "%s", hash);
    row("dimension", "%" PRIu32, info->dim);
    row("embeddings", "%" PRIu32, info->rows);
    row("embedder", "%s, sha256 %s", info->embedder, info->embedder_hash);
    print_card(info->source, &info->card);
    return FRE_OK;
}

static fre_status print_codebook(const cli *c, const fre_codebook *b, const char *path,
                                 fre_err *err)
{
    const fre_codebook_info *info = fre_codebook_info_view(b);
    char hash[2 * FRE_HASH_BYTES + 1];

    fre_hex(hash, info->sha256, FRE_HASH_BYTES);
    if (c->json)
        return cli_json_print(
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:s, s:o, s:o}", "path", path, "kind",
                      "codebook", "sha256", hash, "dimension", (json_int_t)info->dim, "rows",
                      (json_int_t)info->rows, "embedder", info->embedder, "embedder_sha256",
                      info->embedder_hash, "source", info->source, "made_of",
                      card_json(&info->card), "levels", cli_codebook_levels_json(b)),
            err);
    row("path", "%s", path);
    row("kind", "codebook");
    row("sha256", "%s", hash);
    row("dimension", "%" PRIu32, info->dim);
    row("embeddings", "%" PRIu32, info->rows);
    row("embedder", "%s, sha256 %s", info->embedder, info->embedder_hash);
    print_card(info->source, &info->card);
    cli_codebook_levels_print(stdout, b);
    return FRE_OK;
}

static fre_status print_bridge(const cli *c, const fre_bridge *b, const char *path, fre_err *err)
{
    const fre_bridge_info *i = fre_bridge_info_view(b);
    char hash[2 * FRE_HASH_BYTES + 1];

    fre_hex(hash, i->sha256, FRE_HASH_BYTES);
    if (c->json)
        return cli_json_print(
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:f, s:f, s:o}",
                      "path", path, "kind", "bridge", "sha256", hash, "dimension",
                      (json_int_t)i->from.dim, "to_dimension", (json_int_t)i->to.dim, "rows",
                      (json_int_t)i->rows, "embedder", i->from.embedder, "embedder_sha256",
                      i->from.hash, "to_embedder", i->to.embedder, "to_embedder_sha256", i->to.hash,
                      "source", i->source, "variance", i->variance, "variance_left", i->left,
                      "made_of", card_json(&i->card)),
            err);
    row("path", "%s", path);
    row("kind", "bridge");
    row("sha256", "%s", hash);
    row("dimension", "%" PRIu32 " to %" PRIu32, i->from.dim, i->to.dim);
    row("texts", "%" PRIu32, i->rows);
    row("from", "%s, sha256 %s", i->from.embedder, i->from.hash);
    row("to", "%s, sha256 %s", i->to.embedder, i->to.hash);
    row("variance", "%.3f, of which %.3f stay unknown", i->variance, i->left);
    print_card(i->source, &i->card);
    return FRE_OK;
}

static fre_status info_of_prior(const cli *c, const char *path, fre_err *err)
{
    fre_prior *p = NULL;
    fre_status st = fre_prior_open(&p, path, err);

    if (st == FRE_OK)
        st = print_prior(c, p, path, err);
    fre_prior_free(p);
    return st;
}

static fre_status info_of_codebook(const cli *c, const char *path, fre_err *err)
{
    fre_codebook *b = NULL;
    fre_status st = fre_codebook_open(&b, path, err);

    if (st == FRE_OK)
        st = print_codebook(c, b, path, err);
    fre_codebook_free(b);
    return st;
}

static fre_status info_of_bridge(const cli *c, const char *path, fre_err *err)
{
    fre_bridge *b = NULL;
    fre_status st = fre_bridge_open(&b, path, err);

    if (st == FRE_OK)
        st = print_bridge(c, b, path, err);
    fre_bridge_free(b);
    return st;
}

static fre_status info_of_vocabulary(const cli *c, const char *path, fre_err *err)
{
    char hash[2 * FRE_HASH_BYTES + 1];
    const char *source;
    uint32_t words = 0, pairs = 0;
    fre_tensors *t = NULL;
    fre_status st = fre_tensors_open(&t, path, FRE_VOCABULARY_ARCHITECTURE, err);

    if (st == FRE_OK)
        st = fre_tensors_u32(t, &words, FRE_VOCABULARY_ARCHITECTURE ".words", err);
    if (st == FRE_OK)
        st = fre_tensors_u32(t, &pairs, FRE_VOCABULARY_ARCHITECTURE ".pairs", err);
    if (st != FRE_OK) {
        fre_tensors_free(t);
        return st;
    }
    source = fre_tensors_text(t, FRE_VOCABULARY_ARCHITECTURE ".source");
    fre_hex(hash, fre_tensors_sha256(t), FRE_HASH_BYTES);
    if (c->json) {
        st = cli_json_print(json_pack("{s:s, s:s, s:s, s:I, s:I, s:s}", "path", path, "kind",
                                      "vocabulary", "sha256", hash, "words", (json_int_t)words,
                                      "pairs", (json_int_t)pairs, "source", source),
                            err);
    } else {
        row("path", "%s", path);
        row("kind", "vocabulary");
        row("sha256", "%s", hash);
        row("words", "%" PRIu32, words);
        row("pairs", "%" PRIu32, pairs);
        row("source", "%s", source);
    }
    fre_tensors_free(t);
    return st;
}

static fre_status run_info(cli *c, fre_err *err)
{
    const char *path = c->positional[0];
    char found[4096], architecture[64], hash[2 * FRE_HASH_BYTES + 1];
    const fre_model_info *info;
    fre_model_kind kind;
    fre_model *m = NULL;
    fre_status st;

    if (!strchr(path, '/') && find_bundled(found, sizeof found, path))
        path = found;
    st = fre_model_architecture(architecture, sizeof architecture, path, err);
    if (st != FRE_OK)
        return st;
    if (strcmp(architecture, FRE_PRIOR_ARCHITECTURE) == 0)
        return info_of_prior(c, path, err);
    if (strcmp(architecture, FRE_CODEBOOK_ARCHITECTURE) == 0)
        return info_of_codebook(c, path, err);
    if (strcmp(architecture, FRE_BRIDGE_ARCHITECTURE) == 0)
        return info_of_bridge(c, path, err);
    if (strcmp(architecture, FRE_VOCABULARY_ARCHITECTURE) == 0)
        return info_of_vocabulary(c, path, err);
    st = open_any(&m, &kind, path, err);
    if (st != FRE_OK)
        return st;
    info = fre_model_info_view(m);
    fre_hex(hash, info->sha256, FRE_HASH_BYTES);
    if (c->json) {
        st = cli_json_print(
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:b}", "path", path,
                      "name", info->name, "kind",
                      kind == FRE_MODEL_EMBEDDER ? "embedder" : "decoder", "architecture",
                      info->architecture, "sha256", hash, "dimension", (json_int_t)info->dim,
                      "context", (json_int_t)info->context, "text_tokens",
                      (json_int_t)info->text_tokens, "vocabulary", (json_int_t)info->vocab,
                      "pooling", info->pooling, "normalised", (int)info->normalised),
            err);
    } else {
        row("path", "%s", path);
        row("name", "%s", info->name);
        row("kind", "%s", kind == FRE_MODEL_EMBEDDER ? "embedder" : "decoder");
        row("architecture", "%s", info->architecture);
        row("sha256", "%s", hash);
        row("dimension", "%" PRIu32, info->dim);
        row("context", "%" PRIu32 " tokens, of a text at most %" PRIu32, info->context,
            info->text_tokens);
        row("vocabulary", "%" PRIu32 " tokens", info->vocab);
        row("pooling", "%s%s", info->pooling, info->normalised ? ", normalised" : "");
    }
    fre_model_free(m);
    return st;
}

const cli_command cli_cmd_model_info = {
    .name = "model info",
    .summary = "show what a model file is",
    .about = "Shows kind, architecture, dimension, context, how much of a text is "
             "read, pooling and hash of a model file.",
    .example = CLI_PROGRAM " model info " FRE_EMBEDDER_DEFAULT,
    .positional = info_positional,
    .n_positional = 1,
    .run = run_info,
};
