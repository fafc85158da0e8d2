/* corpus_args.c - from the arguments about texts to options, and what is said about an input. */
#include "corpus_args.h"

#include <inttypes.h>
#include <string.h>

const char *const cli_folds[] = {"nfc", "none", "case", NULL};
const char *const cli_formats[] = {"auto", "txt", "jsonl", "csv", "tsv", NULL};
const char *const cli_invalids[] = {"skip", "replace", NULL};

static const struct {
    const char *name;
    char delimiter;
} delimiters[] = {{"comma", ','},     {"tab", '\t'},         {"\\t", '\t'},
                  {"semicolon", ';'}, {"pipe", '|'},         {"bar", '|'},
                  {"space", ' '},     {"vertical bar", '|'}, {"auto", 0}};

static fre_status parse_delimiter(char *out, const char *text, fre_err *err)
{
    for (size_t i = 0; text && i < sizeof delimiters / sizeof *delimiters; i++) {
        if (strcmp(text, delimiters[i].name) == 0) {
            *out = delimiters[i].delimiter;
            return FRE_OK;
        }
    }
    if (text && (strlen(text) != 1 || strchr("\"\r\n", text[0]) || (unsigned char)text[0] > 0x7e))
        return fre_fail(
            err, FRE_E_USAGE,
            "--delimiter must be one ASCII character, or comma, tab, semicolon or pipe");
    *out = text ? text[0] : 0;
    return FRE_OK;
}

fre_status cli_corpus_opts(fre_corpus_opts *out, const cli *c, fre_err *err)
{
    static const fre_corpus_format formats[] = {FRE_CORPUS_AUTO, FRE_CORPUS_TXT, FRE_CORPUS_JSONL,
                                                FRE_CORPUS_CSV, FRE_CORPUS_TSV};
    static const fre_corpus_invalid invalids[] = {FRE_CORPUS_INVALID_SKIP,
                                                  FRE_CORPUS_INVALID_REPLACE};
    const bool strict = cli_flag(c, "strict");

    if (strict && cli_given(c, "invalid"))
        return fre_fail(err, FRE_E_USAGE,
                        "--strict ends the run at a record that --invalid would skip or replace: "
                        "leave out one of them");

    *out = (fre_corpus_opts){
        .format = formats[cli_choice(c, "format")],
        .invalid = strict ? FRE_CORPUS_INVALID_FAIL : invalids[cli_choice(c, "invalid")],
        .text_field = cli_given(c, "text-field") ? cli_text(c, "text-field") : NULL,
        .encoding = cli_text(c, "encoding"),
        .na_values = cli_text(c, "na-values"),
    };
    return parse_delimiter(&out->delimiter, cli_text(c, "delimiter"), err);
}

bool cli_names_users(const cli *c)
{
    return cli_given(c, "user-field") || cli_given(c, "user-file");
}

fre_status cli_user_opts(fre_corpus_opts *o, const cli *c, uint64_t cells, fre_err *err)
{
    const char *field = cli_text(c, "user-field");

    o->user_field = field && strcmp(field, "none") == 0 ? NULL : field;
    o->user_fold = (fre_fold)cli_choice(c, "user-fold"); /* in the same order */
    if (cli_given(c, "user-fold") && !o->user_field && !cli_given(c, "user-file"))
        return fre_fail(err, FRE_E_USAGE,
                        "--user-fold needs --user-field F, or --user-file FILE for a .npy: nobody "
                        "is named");
    if (cells > 1 && !o->user_field && !cli_given(c, "user-file"))
        return fre_fail(
            err, FRE_E_USAGE,
            "--max-cells-per-user needs --user-field F, or --user-file FILE for a .npy: "
            "without it each record is a user of its own");
    return FRE_OK;
}

static const char *delimiter_word(char d, char one[2])
{
    for (size_t i = 0; i < sizeof delimiters / sizeof *delimiters; i++)
        if (delimiters[i].delimiter == d)
            return delimiters[i].name;
    one[0] = d;
    one[1] = '\0';
    return one;
}

void cli_print_input(const cli *c, bool always, const fre_corpus_about *about, uint64_t records,
                     uint64_t empty, uint64_t invalid)
{
    char one[2];

    if (invalid > 0)
        cli_warn(c,
                 "(not for publication) %" PRIu64 " record%s could not be used and %s skipped or "
                 "repaired; --strict ends the run at the first and says why",
                 invalid, cli_plural(invalid), invalid == 1 ? "was" : "were");
    if (!always && !cli_flag(c, "verbose"))
        return;
    cli_progress_end();
    cli_fold(stderr, 4,
             "Input: %s; compression: %s%s%s%s%s%s%s%s.\nRecords: %" PRIu64 ", and %" PRIu64
             " empty, %" PRIu64 " not usable.",
             about->format, about->compression, about->delimiter ? "; delimiter: " : "",
             about->delimiter ? delimiter_word(about->delimiter, one) : "",
             about->encoding[0] ? "; encoding: " : "", about->encoding,
             about->text_field[0] ? "; text field: \"" : "", about->text_field,
             about->text_field[0] ? "\"" : "", records, empty, invalid);
}

void cli_print_corpus(const cli *c, const fre_corpus *corpus)
{
    fre_corpus_about about;
    fre_corpus_stats stats;

    if (!corpus)
        return;
    fre_corpus_get_about(corpus, &about);
    fre_corpus_get_stats(corpus, &stats);
    cli_print_input(c, false, &about, stats.records, stats.empty, stats.invalid);
}

json_t *cli_input_json(const fre_corpus_about *about)
{
    const char delimiter[2] = {about->delimiter, '\0'};

    return json_pack("{s:s, s:s, s:s?, s:s?, s:s?}", "format", about->format, "compression",
                     about->compression, "delimiter", about->delimiter ? delimiter : NULL,
                     "encoding", about->encoding[0] ? about->encoding : NULL, "text_field",
                     about->text_field[0] ? about->text_field : NULL);
}
