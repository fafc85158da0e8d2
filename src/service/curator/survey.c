/* curator/survey.c - the whole input is looked at before the pass that is released, where it can be
 * read twice, and what can be refused is. */
#include "curator_private.h"

#include <stdlib.h>

#define SURVEY_ROWS 1024u

static void report_survey(curator_run *r)
{
    fre_survey_counts n;

    fre_survey_count(&n, r->survey, r->opts->plan.threshold);
    r->stats.records = n.records;
    r->stats.users = n.users;
    r->stats.distinct = n.distinct;
    r->stats.empty += n.empty; /* 0 where the ingest counted */
    r->stats.invalid += n.invalid;
    r->stats.counted = n.counted;
    r->stats.repeated_texts = n.repeated_texts;
    r->stats.repeated_records = n.repeated_records;
    r->stats.wordless = n.no_word + n.unknown;
    if (r->opts->dry_run) /* else the ingest counts */
        r->stats.text =
            (fre_text_counts){.records = n.records, .empty = n.no_word, .unknown = n.unknown};
    curator_report(r);
}

/* Where it can be read twice, what can be refused is refused before the first text is embedded.  A
 * dry run reads whatever it is given. */
static bool can_survey_first(const curator_run *r)
{
    return r->opts->dry_run || r->npy || fre_corpus_can_again(r->corpus);
}

static fre_status check_public_corpus(const curator_run *r, fre_inverter *inverter, fre_err *err)
{
    return r->npy ? FRE_OK : fre_inverter_check_corpus(inverter, curator_text_marks(r), err);
}

/* From what holds nothing to release, nothing is: a refusal before any budget is spent. */
static fre_status check_any(const curator_run *r, fre_err *err)
{
    return fre_survey_check_any(r->survey, r->opts->input, err);
}

static void add_to_content(void *ctx, const fre_record *rec)
{
    curator_run *r = ctx;

    if (!r->in_ledger)
        return;
    fre_ledger_add_text(&r->ahead, rec->text, rec->text_len);
    if (rec->user)
        fre_ledger_add_user(&r->ahead, rec->user, rec->user_len);
}

static fre_status survey_texts(curator_run *r, fre_err *err)
{
    fre_status st = fre_corpus_can_again(r->corpus)
                        ? fre_corpus_again(r->corpus, r->content.salt, err)
                        : FRE_OK;

    if (st == FRE_OK)
        st = fre_survey_add_corpus(r->survey, r->corpus, err);
    if (st == FRE_OK)
        r->ahead.has_bytes = fre_corpus_sha256(r->ahead.bytes, r->corpus);
    return st;
}

static fre_status survey_rows(curator_run *r, fre_err *err)
{
    const size_t rows = fre_npy_rows(r->npy);
    float *x = calloc(SURVEY_ROWS * (size_t)r->dim, sizeof *x);
    fre_status st = x ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");

    for (size_t from = 0, n = 0; st == FRE_OK && from < rows; from += n) {
        n = rows - from < SURVEY_ROWS ? rows - from : SURVEY_ROWS;
        st = fre_interrupted() ? fre_fail(err, FRE_E_INTERRUPTED, "interrupted")
                               : curator_rows(r, x, from, n, err);
        for (size_t i = 0; st == FRE_OK && i < n; i++) {
            st = fre_survey_add_npy_row(r->survey, NULL, x + i * r->dim, r->npy, r->names, from + i,
                                        curator_is_strict(r->opts), err);
            if (r->in_ledger && curator_row_is_usable(r, from + i))
                fre_ledger_add_row(&r->ahead, x + i * r->dim, r->dim);
        }
        fre_progress_update(r->opts->progress, "reading", from, rows);
    }
    fre_wipe_free(x, SURVEY_ROWS * (size_t)r->dim * sizeof *x);
    return st == FRE_OK ? fre_survey_end_rows(r->survey, err) : st;
}

/* The file's bytes are a key of the data in the ledger. */
static fre_status hash_rows_file(curator_run *r, fre_err *err)
{
    const fre_bytes salt = {r->content.salt, sizeof r->content.salt};

    return r->npy && r->in_ledger
               ? fre_npy_sha256(r->content.bytes, &r->content.has_bytes, r->npy, salt, err)
               : FRE_OK;
}

fre_status curator_survey(curator_run *r, fre_curator_result *rel, fre_inverter *inverter,
                          fre_err *err)
{
    const fre_curator_opts *o = r->opts;
    const fre_survey_opts so = {.cells_per_user = o->plan.cells_per_user,
                                .population = o->plan.population,
                                .progress = o->progress,
                                .seen = add_to_content,
                                .seen_ctx = r,
                                .kind = r->npy ? NULL : fre_embedder_kind,
                                .kind_ctx = r->embedder};
    fre_status st;

    if (o->parts)
        return curator_survey_parts(r, rel, inverter, err);
    st = fre_survey_new(&r->survey, &so, err);
    if (st != FRE_OK || !can_survey_first(r))
        return st;
    st = hash_rows_file(r, err);
    r->ahead = r->content;
    if (st == FRE_OK)
        st = r->npy ? survey_rows(r, err) : survey_texts(r, err);
    if (st == FRE_OK)
        st = check_any(r, err);
    if (st == FRE_OK)
        st = curator_ledger_look(r, rel, &r->ahead, err);
    if (st != FRE_OK)
        return st;
    report_survey(r);
    st = check_public_corpus(r, inverter, err);
    return st == FRE_OK && r->corpus && !o->dry_run
               ? fre_corpus_again(r->corpus, r->content.salt, err)
               : st;
}

fre_status curator_check_ingested(curator_run *r, fre_inverter *inverter, fre_err *err)
{
    fre_status st = FRE_OK;

    if (!r->surveyed) {
        st = check_any(r, err);
        if (st == FRE_OK) {
            report_survey(r);
            st = check_public_corpus(r, inverter, err);
        }
    }
    if (st == FRE_OK)
        st = curator_check_codebook(r, err);
    if (st == FRE_OK && inverter)
        st = fre_inverter_check_sources(inverter, curator_text_marks(r), curator_row_marks(r), err);
    return st;
}
