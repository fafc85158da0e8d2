/* cmd_model.c - model list, model info. */
#include "cli.h"

#include <fre/bridge.h>
#include <fre/embed.h>
#include <fre/invert.h>
#include <fre/lm.h>
#include <fre/model.h>
#include <fre/prior.h>

#include <inttypes.h>
#include <string.h>

static const char *const bundled[][2] = {
    {FRE_EMBEDDER_DEFAULT, "embedder"},
    {FRE_INVERTER_DEFAULT, "inverter"},
    {FRE_INVERTER_PROJECTOR, "projector of the inverter"},
    {FRE_PRIOR_DEFAULT, "prior of the embedder"},
    {FRE_LM_DEFAULT, "language model (optional)"},
};

/* ---- list ----------------------------------------------------------------------------------------- */

static fre_status run_list(cli *c, fre_err *err)
{
    json_t *list = json_array();

    for (size_t i = 0; i < sizeof bundled / sizeof bundled[0]; i++) {
        char path[4096];
        fre_status st = fre_model_find(path, sizeof path, bundled[i][0], NULL);
        const char *where = st == FRE_OK ? path : NULL;

        if (!c->json)
            printf("%-38s %-26s %s\n", bundled[i][0], bundled[i][1], where ? where : "not found");
        if (list &&
            json_array_append_new(list, json_pack("{s:s, s:s, s:s?}", "name", bundled[i][0], "use",
                                                  bundled[i][1], "path", where)) != 0) {
            json_decref(list);
            list = NULL;
        }
    }
    if (c->json)
        return cli_json_print(list ? json_pack("{s:o}", "models", list) : NULL, err);
    json_decref(list);
    return FRE_OK;
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

static fre_status print_prior(const cli *c, const fre_prior *p, const char *path, fre_err *err)
{
    const fre_prior_info *info = fre_prior_info_view(p);
    char hash[2 * FRE_HASH_BYTES + 1];

    fre_hex(hash, info->sha256, FRE_HASH_BYTES);
    if (c->json)
        return cli_json_print(json_pack("{s:s, s:s, s:s, s:I, s:I, s:s, s:s, s:s}", "path", path,
                                        "kind", "prior", "sha256", hash, "dimension",
                                        (json_int_t)info->dim, "rows", (json_int_t)info->rows,
                                        "embedder", info->embedder, "embedder_sha256",
                                        info->embedder_hash, "source", info->source),
                              err);
    printf("path          %s\nkind          prior\nsha256        %s\ndimension     %" PRIu32
           "\nembeddings    %" PRIu32 "\nembedder      %s, sha256 %s\nsource        ",
           path, hash, info->dim, info->rows, info->embedder, info->embedder_hash);
    cli_print_safe(stdout, info->source, 0);
    putchar('\n');
    return FRE_OK;
}

static fre_status print_bridge(const cli *c, const fre_bridge *b, const char *path, fre_err *err)
{
    const fre_bridge_info *i = fre_bridge_info_view(b);
    char hash[2 * FRE_HASH_BYTES + 1];

    fre_hex(hash, i->sha256, FRE_HASH_BYTES);
    if (c->json)
        return cli_json_print(
            json_pack("{s:s, s:s, s:s, s:I, s:I, s:I, s:s, s:s, s:s, s:s, s:s, s:f, s:f}", "path",
                      path, "kind", "bridge", "sha256", hash, "dimension", (json_int_t)i->from.dim,
                      "to_dimension", (json_int_t)i->to.dim, "rows", (json_int_t)i->rows,
                      "embedder", i->from.embedder, "embedder_sha256", i->from.hash, "to_embedder",
                      i->to.embedder, "to_embedder_sha256", i->to.hash, "source", i->source,
                      "variance", i->variance, "variance_left", i->left),
            err);
    printf("path          %s\nkind          bridge\nsha256        %s\ndimension     %" PRIu32
           " to %" PRIu32 "\ntexts         %" PRIu32 "\nfrom          %s, sha256 %s\n"
           "to            %s, sha256 %s\nvariance      %.3f, of which %.3f stay unknown\n"
           "source        ",
           path, hash, i->from.dim, i->to.dim, i->rows, i->from.embedder, i->from.hash,
           i->to.embedder, i->to.hash, i->variance, i->left);
    cli_print_safe(stdout, i->source, 0);
    putchar('\n');
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

static fre_status info_of_bridge(const cli *c, const char *path, fre_err *err)
{
    fre_bridge *b = NULL;
    fre_status st = fre_bridge_open(&b, path, err);

    if (st == FRE_OK)
        st = print_bridge(c, b, path, err);
    fre_bridge_free(b);
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

    if (!strchr(path, '/') && fre_model_find(found, sizeof found, path, NULL) == FRE_OK)
        path = found;
    st = fre_model_architecture(architecture, sizeof architecture, path, err);
    if (st != FRE_OK)
        return st;
    if (strcmp(architecture, FRE_PRIOR_ARCHITECTURE) == 0)
        return info_of_prior(c, path, err);
    if (strcmp(architecture, FRE_BRIDGE_ARCHITECTURE) == 0)
        return info_of_bridge(c, path, err);
    st = open_any(&m, &kind, path, err);
    if (st != FRE_OK)
        return st;
    info = fre_model_info_view(m);
    fre_hex(hash, info->sha256, FRE_HASH_BYTES);
    if (c->json) {
        st = cli_json_print(
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:I, s:s, s:b}", "path", path, "name",
                      info->name, "kind", kind == FRE_MODEL_EMBEDDER ? "embedder" : "decoder",
                      "architecture", info->architecture, "sha256", hash, "dimension",
                      (json_int_t)info->dim, "context", (json_int_t)info->context, "text_tokens",
                      (json_int_t)info->text_tokens, "vocabulary",
                      (json_int_t)info->vocab, "pooling", info->pooling, "normalised",
                      (int)info->normalised),
            err);
    } else {
        printf("path          %s\nname          %s\nkind          %s\narchitecture  %s\n"
               "sha256        %s\ndimension     %" PRIu32 "\ncontext       %" PRIu32
               " tokens, of a text %" PRIu32 "\nvocabulary    %" PRIu32 " tokens\npooling       %s%s\n",
               path, info->name, kind == FRE_MODEL_EMBEDDER ? "embedder" : "decoder",
               info->architecture, hash, info->dim, info->context,
               info->text_tokens, info->vocab, info->pooling,
               info->normalised ? ", normalised" : "");
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
