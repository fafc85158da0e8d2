/* cmd_evaluate.c - how near a synthetic set is to the originals.  Not a private output. */
#include "corpus_args.h"
#include "evaluate_output.h"
#include "report_file.h"

#include <fre/lm.h>
#include <fre/privacy.h>

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const cli_positional positional[] = {
    {.name = "SYNTHETIC", .help = "a release's folder, its synthetic.jsonl, or any file of texts"},
    {.name = "ORIGINAL", .help = "the private texts (as synthesize reads them), or a .npy"},
};

static const cli_arg args[] = {
    CLI_HEADING("Essentials"),
    CLI_TEXT_FIELD,
    CLI_COUNT("threshold", "T", fre_param_threshold, .no_preset = true,
              .help =
                  "how many similar texts make a frequent one (default: the release's, or 100)"),
    CLI_NUMBER("radius", "R", fre_param_radius, .no_preset = true,
               .help = "distance of embeddings that counts as similar (default: the release's, or "
                       "0.5)"),
    {.name = "public",
     .kind = CLI_FLAG,
     .help = "the originals are public: no warning that the result is not private"},
    CLI_HEADING("Evaluation"),
    CLI_FILE("release", "DIR",
             .help = "folder with release.json and centroids.npy, for the levels of centroids and "
                     "cells (default: SYNTHETIC, when that is a folder)"),
    CLI_NUMBER("alpha", "A", fre_evaluate_param_alpha,
               .help = "a text is found when one lies within A times R"),
    CLI_FILE("against", "OTHER", .repeats = true,
             .help = "another release or file of texts, to compare on the same originals; can be "
                     "given several times"),
    CLI_FILE("reference", "FILE",
             .help = "public texts that have nothing to do with the originals, whose numbers stand "
                     "in brackets as the worst to expect; \"none\": without (default: a bundled "
                     "corpus)"),
    CLI_HEADING("Originals"),
    CLI_FORMAT_ARGS,
    {.name = "label-field",
     .metavar = "F",
     .kind = CLI_STRING,
     .help = "key or column with a record's label (its topic, say): how purely the released cells "
             "hold one, level by level, and what the release is worth to a classifier of it"},
    {.name = "no-classifiers",
     .kind = CLI_FLAG,
     .help = "with --label-field: train none, which takes long where there are many labels"},
    CLI_FILE("embeddings", "X.npy",
             .help = "a row for each record of ORIGINAL, as embed made them (default: embed them)"),
    CLI_FILE("save-embeddings", "X.npy",
             .help = "make such a file, for the next evaluation; as private as the originals"),
    CLI_REPORT,
    {.name = "force", .kind = CLI_FLAG, .help = "replace these files if they exist"},
    CLI_HEADING("Model"),
    CLI_EMBEDDER,
    CLI_FILE("language-model", "FILE",
             .help = "GGUF file of a causal language model, for NLL and perplexity; \"default\": "
                     "SmolLM2-135M-Instruct, obtained by " FRE_LM_SCRIPT),
    CLI_FILE("codebook", "FILE",
             .help = "public cells of a release by levels (default: the embedder's)"),
};

static void warn_about(const cli *c, const fre_evaluation *e, bool first)
{
    if (e->release_threshold > 0 &&
        (e->release_threshold != e->threshold || fabs(e->release_radius - e->radius) > 0.0))
        cli_warn(c,
                 "%s was made with --radius %g --threshold %" PRIu64
                 ", this evaluation uses %g and %" PRIu64,
                 first ? "the release" : e->name, e->release_radius, e->release_threshold,
                 e->radius, e->threshold);
    if (!first)
        return;
    if (!cli_flag(c, "public"))
        cli_warn(c, "these numbers come from the originals without noise and are not private: "
                    "keep them where the originals are (--public: the originals are public)");
    if (cli_unknown_warning(&e->original_text))
        cli_warn(c, "%s", cli_unknown_warning(&e->original_text));
    if (cli_foreign_warning(&e->original_text))
        cli_warn(c, "%s", cli_foreign_warning(&e->original_text));
    if (e->frequent == 0)
        cli_warn(c, "no original is frequent: there is nothing to find, so those numbers are "
                    "undefined; lower --threshold or raise --radius");
}

/* Parameters are flags here. */
static int name_flags(json_t *o)
{
    char text[CLI_NAMED_BYTES];
    json_t *item;
    size_t i;
    int bad = 0;

    json_array_foreach(json_object_get(o, "missing"), i, item)
    {
        const char *why = json_string_value(json_object_get(item, "why"));

        bad |= json_object_set_new(item, "why", json_string(cli_named(text, why)));
    }
    json_array_foreach(json_object_get(o, "against"), i, item)
    {
        bad |= name_flags(item);
    }
    return bad;
}

/* NULL: out of memory. */
static json_t *evaluation_json(const fre_evaluation *e, size_t n)
{
    fre_buf text;
    json_t *o;

    fre_buf_init(&text, (size_t)1 << 24);
    o = cli_json_of(fre_evaluation_json(&text, e, n), &text);
    if (o && name_flags(o) != 0) {
        json_decref(o);
        o = NULL;
    }
    return o;
}

/* ---- the report ---------------------------------------------------------------------------------- */

static const char *release_of(const cli *c)
{
    const char *synthetic = c->positional[0];
    struct stat s;

    if (cli_given(c, "release"))
        return cli_text(c, "release");
    return stat(synthetic, &s) == 0 && S_ISDIR(s.st_mode) ? synthetic : NULL;
}

static fre_status open_report(fre_outfile **report, const cli *c, fre_err *err)
{
    if (!cli_given(c, "report"))
        return FRE_OK;
    if (!release_of(c))
        return fre_fail(err, FRE_E_USAGE,
                        "--report shows a release: give its folder as SYNTHETIC, or add --release "
                        "DIR");
    if (!cli_flag(c, "public"))
        (void)umask(077); /* as private as the originals */
    return cli_report_open(report, c, "report", err);
}

static fre_status write_report(fre_outfile **report, const cli *c, const json_t *evaluation,
                               fre_err *err)
{
    char *text = evaluation ? json_dumps(evaluation, JSON_REAL_PRECISION(17)) : NULL;
    fre_status st;

    if (text) {
        const fre_report_opts o = {.release = release_of(c),
                                   .evaluation_json = {(const uint8_t *)text, strlen(text)},
                                   .originals_public = cli_flag(c, "public"),
                                   .threads = c->threads};

        st = cli_report_write(report, NULL, c, &o, "report", err);
    } else {
        st = fre_fail(err, FRE_E_NOMEM, "out of memory for a report");
    }
    free(text);
    return st;
}

static fre_status options(fre_evaluate_opts *o, const cli *c, fre_err *err)
{
    fre_status st;

    fre_evaluate_opts_init(o);
    o->synthetic = c->positional[0];
    o->original = c->positional[1];
    o->release = cli_text(c, "release");
    o->embeddings = cli_text(c, "embeddings");
    o->save_embeddings = cli_text(c, "save-embeddings");
    o->force = cli_flag(c, "force");
    o->reference = cli_text(c, "reference");
    o->language_model = cli_text(c, "language-model");
    o->against = c->list;
    o->n_against = c->n_list;
    st = cli_corpus_opts(&o->corpus, c, err);
    if (st != FRE_OK)
        return st;
    o->corpus.label_field = cli_text(c, "label-field");
    o->no_classifiers = cli_flag(c, "no-classifiers");
    o->embedder = cli_text(c, "embedder");
    o->codebook = cli_text(c, "codebook");
    o->radius = cli_given(c, "radius") ? cli_number(c, "radius") : 0.0;
    o->threshold = cli_given(c, "threshold") ? cli_whole(c, "threshold") : 0;
    o->alpha = cli_number(c, "alpha");
    o->threads = c->threads;
    o->progress = &c->progress;
    if (!o->save_embeddings)
        return FRE_OK;
    if (strcmp(o->save_embeddings, "-") == 0)
        return fre_fail(err, FRE_E_USAGE,
                        "--save-embeddings must be a file, not standard output: its sidecar goes "
                        "beside it");
    (void)umask(077); /* embeddings are as private as the texts */
    st = cli_refuse_inputs(c, c->positional[0], "save-embeddings", err);
    return st == FRE_OK ? cli_refuse_inputs(c, c->positional[1], "save-embeddings", err) : st;
}

static void tell(const cli *c, const fre_evaluation *e)
{
    if (!c->quiet)
        cli_print_input(c, false, &e->input, e->originals, e->empty, e->invalid);
    for (size_t i = 0; i <= c->n_list; i++)
        warn_about(c, &e[i], i == 0);
}

static fre_status run(cli *c, fre_err *err)
{
    fre_evaluate_opts o;
    fre_outfile *report = NULL;
    json_t *json = NULL;
    fre_evaluation *e = calloc(1 + c->n_list, sizeof *e);
    fre_status st = e ? options(&o, c, err) : fre_fail(err, FRE_E_NOMEM, "out of memory");

    if (st == FRE_OK)
        st = open_report(&report, c, err);
    if (st == FRE_OK)
        st = fre_evaluate_files(e, &o, err);
    cli_progress_end();
    if (st != FRE_OK)
        goto out;
    tell(c, e);
    json = evaluation_json(e, 1 + c->n_list);
    if (report)
        st = write_report(&report, c, json, err);
    if (st != FRE_OK)
        goto out;
    if (c->json) {
        st = cli_json_print(json, err);
        json = NULL;
        goto out;
    }
    cli_print_evaluation(e, 1 + c->n_list);
    if (cli_given(c, "report"))
        cli_report_print(c, "report");
out:
    json_decref(json);
    fre_outfile_free(report);
    free(e);
    return st;
}

const cli_command cli_cmd_evaluate = {
    .name = "evaluate",
    .summary = "compare synthetic texts with the originals",
    .about =
        "Precision: the share of synthetic texts near some original; recall: the share of "
        "originals near some synthetic text; L2: the mean distance from a synthetic text to "
        "the nearest original. Against the frequent originals (at least --threshold texts "
        "within --radius, itself included) and against all, for the texts, the noisy "
        "centroids and the cells of a release. A release is also scored level by level. Where "
        "texts have paraphrases, they count at a "
        "level of their own, \"rephrased\": texts and paraphrases as one set. Beside each number "
        "stand in brackets what as many real texts, drawn from one half of the originals and set "
        "beside the other, would have, and as many texts that have nothing to do with them.\n\n"
        "The result is computed on the originals and is NOT private.",
    .example = CLI_PROGRAM " evaluate release texts.csv --text-field message",
    .positional = positional,
    .n_positional = 2,
    .args = args,
    .n_args = sizeof args / sizeof args[0],
    .run = run,
};
