/* cmd_bench.c - the program's own measurements. */
#include "bench.h"
#include "cli.h"

#include <stdlib.h>
#include <string.h>

static const char *const whats[] = {"pipeline", "embed", "protocol", "sampler", "codebook", NULL};

static const cli_positional positional[] = {
    {.name = "WHAT",
     .choices = whats,
     .optional = true,
     .help = "pipeline: embeddings to a release, without a model; embed: texts a second, and "
             "whether cells depend on threads and batches; protocol: microseconds of the "
             "distributed protocol's operations on one core; sampler: draws a second of each "
             "sampler on one core; codebook: embeddings into public cells (default: all)"},
};

static const cli_arg args[] = {
    CLI_HEADING("Options"),
    CLI_FILE("input", "FILE",
             .help = "pipeline: a .npy file (default: made embeddings); embed: texts (default: the "
                     "bundled population)"),
    CLI_COUNT("rows", "N", fre_bench_param_rows,
              .help = "pipeline, codebook: embeddings to make, of 384 dimensions"),
    CLI_FILE("embedder", "FILE",
             .help = "embed: GGUF file (default: the bundled all-MiniLM-L6-v2)"),
};

#define CLI_OF_FILES "is read by pipeline and embed alone: leave it out"
#define CLI_OF_ROWS "is about pipeline and codebook alone: leave it out"
#define CLI_OF_EMBED "is about embed alone: leave it out"

static const cli_rule rules[] = {
    {"input", "WHAT", CLI_LEFT_OUT, "needs the name of a measurement"},
    {"input", "WHAT", "protocol", CLI_OF_FILES},
    {"input", "WHAT", "sampler", CLI_OF_FILES},
    {"input", "WHAT", "codebook", CLI_OF_FILES},
    {"rows", "WHAT", "embed", CLI_OF_ROWS},
    {"rows", "WHAT", "protocol", CLI_OF_ROWS},
    {"rows", "WHAT", "sampler", CLI_OF_ROWS},
    {"rows", "input", CLI_GIVEN, "are made where no --input gives them: leave out one of the two"},
    {"embedder", "WHAT", "pipeline", CLI_OF_EMBED},
    {"embedder", "WHAT", "protocol", CLI_OF_EMBED},
    {"embedder", "WHAT", "sampler", CLI_OF_EMBED},
    {"embedder", "WHAT", "codebook", CLI_OF_EMBED},
};

static void print_lines(size_t indent, const char *text)
{
    cli_fold(stdout, indent, "%s", text);
}

/* json: NULL for lines on standard output. */
static fre_status measure(const cli *c, const char *what, const char *input, FILE *json,
                          fre_err *err)
{
    const fre_bench_output out = {.json = json, .lines = print_lines};

    if (strcmp(what, whats[0]) == 0)
        return fre_bench_pipeline(input, cli_whole(c, "rows"), c->threads, &out, err);
    if (strcmp(what, whats[2]) == 0)
        return fre_bench_protocol(&out, err);
    if (strcmp(what, whats[3]) == 0)
        return fre_bench_sampler(&out, err);
    if (strcmp(what, whats[4]) == 0)
        return fre_bench_codebook(cli_whole(c, "rows"), c->threads, &out, err);
    return fre_bench_embed(input, cli_text(c, "embedder"), c->threads, &out, err);
}

/* Everything at once: lines one after the other, or one object with a key for each. */
static fre_status measure_all(const cli *c, fre_err *err)
{
    json_t *all = json_object();
    fre_status st = FRE_OK;

    for (size_t i = 0; whats[i] && st == FRE_OK; i++) {
        char *text = NULL;
        size_t n = 0;
        FILE *json = c->json ? open_memstream(&text, &n) : NULL;

        st = json || !c->json ? measure(c, whats[i], NULL, json, err) : FRE_E_NOMEM;
        if (json) {
            (void)fclose(json);
            if (st == FRE_OK && json_object_set_new(all, whats[i], json_loads(text, 0, NULL)) != 0)
                st = FRE_E_NOMEM;
            free(text);
        }
    }
    if (st == FRE_OK && c->json)
        return cli_json_print(all, err);
    json_decref(all);
    return st;
}

static fre_status run(cli *c, fre_err *err)
{
    if (c->positional[0])
        return measure(c, c->positional[0], cli_text(c, "input"), c->json ? stdout : NULL, err);
    return measure_all(c, err);
}

const cli_command cli_cmd_bench = {
    .name = "bench",
    .summary = "measure speed and memory on this machine",
    .about = "Measures the program on this machine. The pipeline makes its embeddings first; its "
             "time starts after that. Nothing is kept.",
    .example =
        CLI_PROGRAM " bench pipeline --threads 2\n" CLI_PROGRAM " bench embed --input texts.jsonl",
    .positional = positional,
    .n_positional = 1,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .rules = rules,
    .n_rules = sizeof rules / sizeof rules[0],
    .run = run,
};
