/* report/read.c - a release's folder and an evaluation, from the files. */
#include "report_private.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Path of a file of the folder; the caller frees it.  NULL: out of memory. */
static char *inside(const char *folder, const char *name)
{
    char *path = NULL;

    return asprintf(&path, "%s/%s", folder, name) < 0 ? NULL : path;
}

static fre_status load_file(json_t **out, const char *path, const char *advice, fre_err *err)
{
    json_error_t where;
    json_t *o = json_load_file(path, JSON_REJECT_DUPLICATES, &where);

    if (!o && where.line <= 0)
        return fre_open_failed(err, errno, FRE_E_NOINPUT, advice, "cannot read %.300s", path);
    if (!json_is_object(o)) {
        const int line = o ? 1 : where.line;

        json_decref(o);
        return fre_fail(err, FRE_E_DATA, "%.300s, line %d: not a JSON object; %s", path, line,
                        advice);
    }
    *out = o;
    return FRE_OK;
}

/* fre_release_read has checked that each line is an object and that there are n. */
static fre_status load_lines(report_input *in, const char *path, fre_err *err)
{
    const fre_corpus_opts opts = {.keep_json = true, .empty_ok = true};
    json_error_t where = {.line = 0};
    fre_corpus *c = NULL;
    fre_record rec;
    bool go_on = true;
    fre_status st = fre_corpus_open(&c, path, &opts, err);

    for (size_t i = 0; st == FRE_OK; i++) {
        st = fre_corpus_next(c, &go_on, &rec, err);
        if (st != FRE_OK || !go_on)
            break;
        if (i < in->release.n)
            in->line[i] = json_loadb((const char *)rec.json, rec.json_len, 0, &where);
        if (i < in->release.n && !in->line[i] && where.line < 0)
            st = fre_fail(err, FRE_E_NOMEM, "out of memory for a report");
        else if (i >= in->release.n || !in->line[i])
            st = fre_fail(err, FRE_E_AGAIN, "%.300s changed while it was read: try again", path);
    }
    fre_corpus_free(c);
    return st;
}

static fre_status load_release(report_input *in, const char *folder, fre_err *err)
{
    char *about = inside(folder, FRE_OUTDIR_MARK), *texts = inside(folder, "synthetic.jsonl");
    fre_status st = FRE_OK;

    if (!about || !texts)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory for a report");
    if (st == FRE_OK)
        st = fre_release_read(&in->release, folder, err);
    if (st == FRE_OK)
        st = load_file(&in->about, about, "is it a folder that synthesize made?", err);
    if (st == FRE_OK) {
        in->line = calloc(in->release.n + 1, sizeof(json_t *));
        st = in->line ? load_lines(in, texts, err)
                      : fre_fail(err, FRE_E_NOMEM, "out of memory for a report");
    }
    free(about);
    free(texts);
    return st;
}

/* ---- the evaluation --------------------------------------------------------------------------------- */

#define EVALUATION_ADVICE "an evaluation is what evaluate prints as JSON"

#define EVALUATE_AGAIN "evaluate this release again"

/* An evaluation names the release that it was made of, unless an earlier version made it or it is of texts
 * alone. */
static fre_status check_named(report_input *in, const char *folder, const char *name, fre_err *err)
{
    const char *stated = json_string_value(json_object_get(in->evaluation, "release_sha256"));
    uint8_t sha[FRE_HASH_BYTES];
    char hex[2 * FRE_HASH_BYTES + 1];
    fre_status st;

    in->is_named = stated != NULL;
    if (!stated)
        return FRE_OK;
    st = fre_release_sha256(sha, folder, err);
    if (st != FRE_OK)
        return st;
    fre_hex(hex, sha, sizeof sha);
    if (strcmp(hex, stated) == 0)
        return FRE_OK;
    return fre_fail(err, FRE_E_DATA,
                    "%.300s is of another release, or of this one before it was changed: it names "
                    "sha256 %.12s..., this one has %.12s...; " EVALUATE_AGAIN,
                    name, stated, hex);
}

/* What else it says of the release, and what this release says. */
static fre_status check_same(const report_input *in, const char *name, fre_err *err)
{
    const fre_release *r = &in->release;
    const json_t *levels = json_object_get(in->evaluation, "levels"), *level;
    const json_int_t centroids = json_integer_value(json_object_get(in->evaluation, "centroids"));
    bool same = centroids == 0 || (uint64_t)centroids == r->n;
    size_t i;

    if (json_is_array(levels))
        same = same && json_array_size(levels) == r->n_levels;
    json_array_foreach(levels, i, level)
    {
        const char *called = json_string_value(json_object_get(level, "level"));
        const json_int_t cells = json_integer_value(json_object_get(level, "cells"));

        same = same && i < r->n_levels && called && strcmp(called, r->level[i].name) == 0 &&
               cells >= 0 && (uint64_t)cells == r->level[i].cells;
    }
    if (same)
        return FRE_OK;
    return fre_fail(err, FRE_E_DATA,
                    "%.300s is of another release: it counts other cells than the %zu of this "
                    "one; " EVALUATE_AGAIN,
                    name, r->n);
}

static fre_status load_evaluation(report_input *in, const fre_report_opts *o, fre_err *err)
{
    const char *name = o->evaluation ? o->evaluation : "the evaluation";
    json_error_t where = {.line = 0};
    fre_status st = FRE_OK;

    if (o->evaluation)
        st = load_file(&in->evaluation, name, EVALUATION_ADVICE, err);
    else if (o->evaluation_json.n > 0)
        in->evaluation = json_loadb((const char *)o->evaluation_json.p, o->evaluation_json.n,
                                    JSON_REJECT_DUPLICATES, &where);
    else
        return FRE_OK;
    if (st == FRE_OK && !in->evaluation && where.line < 0)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory for a report");
    if (st != FRE_OK)
        return st;
    if (!json_is_integer(json_object_get(in->evaluation, "originals")) ||
        !json_is_integer(json_object_get(in->evaluation, "synthetic")))
        return fre_fail(
            err, FRE_E_DATA,
            "%.300s has no whole numbers \"originals\" and \"synthetic\": " EVALUATION_ADVICE,
            name);
    st = check_same(in, name, err);
    return st == FRE_OK ? check_named(in, o->release, name, err) : st;
}

fre_status report_read(report_input *out, const fre_report_opts *o, fre_err *err)
{
    report_input in = {.about = NULL};
    fre_status st = load_release(&in, o->release, err);

    /* A public report has no use for it, so that no number of it is even looked at. */
    if (st == FRE_OK && !o->is_public)
        st = load_evaluation(&in, o, err);
    if (st == FRE_OK && o->is_public && !in.release.is_private)
        st = fre_fail(err, FRE_E_REFUSED,
                      "this release says NOT PRIVATE, so nothing of it can be shown to the "
                      "public: leave out {public}, or make a release with a budget");
    if (st != FRE_OK) {
        report_input_wipe(&in);
        return st;
    }
    *out = in;
    return FRE_OK;
}

void report_input_wipe(report_input *in)
{
    for (size_t i = 0; in->line && i < in->release.n; i++)
        json_decref(in->line[i]);
    free(in->line);
    json_decref(in->about);
    json_decref(in->evaluation);
    fre_release_wipe(&in->release);
    *in = (report_input){.about = NULL};
}
