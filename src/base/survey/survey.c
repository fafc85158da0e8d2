/* survey.c - see fre/survey.h. */
#include <fre/survey.h>
#include <fre/map.h>
#include <fre/linalg.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PROGRESS_RECORDS 8192u
#define PENDING 0xffu /* of a text whose first record failed: the next one is the first */

struct fre_survey {
    fre_survey_opts opts;
    fre_text_map texts;
    fre_contributors *users;
    uint64_t *holders; /* of each text: counted records */
    uint8_t *kind;     /* of each text: fre_survey_kind, or PENDING */
    size_t cap_holders, cap_kind;
    fre_overlap_set *text_marks, *row_marks;
    fre_survey_counts counts;
    uint64_t unusable; /* rows */
    fre_err first;     /* about the first of them */
};

fre_status fre_survey_new(fre_survey **out, const fre_survey_opts *opts, fre_err *err)
{
    fre_survey *s = calloc(1, sizeof *s);
    fre_status st = FRE_E_NOMEM;

    if (!s)
        goto out;
    s->opts = *opts;
    st = fre_text_map_init(&s->texts);
    if (st != FRE_OK)
        goto out;
    st = fre_contributors_new(&s->users, opts->cells_per_user, opts->population, NULL);
    if (st != FRE_OK)
        goto out;
    st = fre_overlap_set_new(&s->text_marks);
    if (st != FRE_OK)
        goto out;
    st = fre_overlap_set_new(&s->row_marks);
    if (st != FRE_OK)
        goto out;
    *out = s;
    return FRE_OK;
out:
    fre_survey_free(s);
    return fre_fail(err, st, "%s before looking over the input", fre_status_text(st));
}

void fre_survey_free(fre_survey *s)
{
    if (!s)
        return;
    fre_text_map_wipe(&s->texts);
    fre_contributors_free(s->users);
    fre_wipe_free(s->holders, s->cap_holders * sizeof *s->holders);
    fre_wipe_free(s->kind, s->cap_kind);
    fre_overlap_set_free(s->text_marks);
    fre_overlap_set_free(s->row_marks);
    fre_wipe(s, sizeof *s);
    free(s);
}

/* ---- one record ------------------------------------------------------------------------------ */

static fre_status find_text(fre_survey *s, uint32_t *index, bool *is_new, const void *p, size_t n)
{
    /* Room for what is kept of a text before there is one more. */
    const size_t room = (size_t)s->texts.map.n + 1;
    fre_status st = fre_grow((void **)&s->holders, &s->cap_holders, room, sizeof *s->holders);

    if (st == FRE_OK)
        st = fre_grow((void **)&s->kind, &s->cap_kind, room, sizeof *s->kind);
    if (st == FRE_OK)
        st = fre_text_map_put(&s->texts, index, is_new, p, n);
    if (st != FRE_OK)
        return st;
    if (*is_new)
        s->kind[*index] = PENDING;
    *is_new = s->kind[*index] == PENDING;
    return FRE_OK;
}

/* A record of seen's text, which find_text found; kind: of a new one. */
static fre_status count(fre_survey *s, fre_survey_seen *seen, fre_survey_kind new_kind,
                        const char *user, size_t user_len, fre_err *err)
{
    const uint8_t kind = seen->is_new ? (uint8_t)new_kind : s->kind[seen->text];
    bool first;
    fre_status st = fre_contributors_user(s->users, &seen->user, &first, user, user_len, err);

    if (st != FRE_OK)
        return st;
    s->kind[seen->text] = kind;
    s->counts.records++;
    s->counts.users = fre_contributors_users(s->users);
    s->counts.distinct = s->texts.map.n;
    s->counts.no_word += kind == FRE_SURVEY_EMPTY;
    s->counts.unknown += kind == FRE_SURVEY_UNKNOWN;
    seen->counts =
        kind == FRE_SURVEY_WORDS && fre_contributors_accept(s->users, seen->user, seen->text);
    s->holders[seen->text] += seen->counts;
    s->counts.counted += seen->counts;
    return FRE_OK;
}

static fre_status failed(fre_status st, fre_err *err)
{
    return fre_fail(err, st, "%s while looking over the input", fre_status_text(st));
}

fre_status fre_survey_add_text(fre_survey *s, fre_survey_seen *seen, const char *text, size_t len,
                               const char *user, size_t user_len, fre_err *err)
{
    fre_survey_kind kind = FRE_SURVEY_WORDS;
    fre_survey_seen own;
    fre_status st;

    seen = seen ? seen : &own;
    st = find_text(s, &seen->text, &seen->is_new, text, len);
    if (st == FRE_OK && seen->is_new && s->opts.kind)
        st = s->opts.kind(s->opts.kind_ctx, &kind, text, len);
    if (st == FRE_OK && seen->is_new)
        st = fre_overlap_add_text(s->text_marks, text, len);
    return st == FRE_OK ? count(s, seen, kind, user, user_len, err) : failed(st, err);
}

fre_status fre_survey_add_row(fre_survey *s, fre_survey_seen *seen, const float *row, size_t dim,
                              const char *user, size_t user_len, fre_err *err)
{
    const fre_survey_kind kind = fre_is_zero_row(row, dim) ? FRE_SURVEY_EMPTY : FRE_SURVEY_WORDS;
    fre_survey_seen own;
    fre_status st;

    seen = seen ? seen : &own;
    st = find_text(s, &seen->text, &seen->is_new, row, dim * sizeof *row);
    if (st == FRE_OK && seen->is_new)
        st = fre_survey_mark_row(s, row, dim);
    return st == FRE_OK ? count(s, seen, kind, user, user_len, err) : failed(st, err);
}

fre_status fre_survey_mark_row(fre_survey *s, const float *row, size_t dim)
{
    return fre_overlap_add_row(s->row_marks, row, dim);
}

/* ---- a corpus -------------------------------------------------------------------------------- */

fre_status fre_survey_add_npy_row(fre_survey *s, fre_survey_seen *seen, const float *x,
                                  const fre_npy *npy, const fre_names *users, size_t i, bool strict,
                                  fre_err *err)
{
    const size_t dim = fre_npy_dim(npy);
    size_t len = 0;
    const char *user = users ? fre_names_view(users, i, &len) : NULL;
    fre_err why = {.text = ""};

    if (users && !user)
        (void)fre_fail(&why, FRE_E_DATA, "row %zu: its user is missing", i + 1);
    else if (fre_npy_row_is_usable(npy, i))
        return fre_survey_add_row(s, seen, x, dim, user, len, err);
    else
        (void)fre_npy_refuse_row(npy, i, &why);
    if (strict)
        return fre_fail(err, FRE_E_DATA, "%s", why.text);
    s->first = s->unusable++ == 0 ? why : s->first;
    s->counts.invalid++;
    if (seen)
        *seen = (fre_survey_seen){.user = FRE_MAP_NONE, .text = FRE_MAP_NONE};
    return FRE_OK;
}

fre_status fre_survey_end_rows(const fre_survey *s, fre_err *err)
{
    return fre_corpus_check_most(s->unusable, s->counts.records, 0, &s->first, err);
}

fre_status fre_survey_add_corpus(fre_survey *s, fre_corpus *corpus, fre_err *err)
{
    fre_corpus_stats stats;
    fre_record rec;
    bool more = true;
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        st = fre_corpus_next(corpus, &more, &rec, err);
        if (st != FRE_OK || !more)
            break;
        if (s->opts.seen)
            s->opts.seen(s->opts.seen_ctx, &rec);
        st = fre_survey_add_text(s, NULL, rec.text, rec.text_len, rec.user, rec.user_len, err);
        if (s->counts.records % PROGRESS_RECORDS != 0)
            continue;
        fre_corpus_get_stats(corpus, &stats);
        fre_progress_update(s->opts.progress, "reading", stats.records,
                            fre_corpus_expected(&stats));
        if (st == FRE_OK && fre_interrupted())
            st = fre_fail(err, FRE_E_INTERRUPTED, "interrupted");
    }
    fre_corpus_get_stats(corpus, &stats);
    s->counts.empty += stats.empty;
    s->counts.invalid += stats.invalid;
    return st;
}

/* ---- what was seen --------------------------------------------------------------------------- */

void fre_survey_count(fre_survey_counts *out, const fre_survey *s, uint64_t threshold)
{
    *out = s->counts;
    for (size_t i = 0; i < s->texts.map.n; i++)
        if (s->holders[i] >= threshold) {
            out->repeated_texts++;
            out->repeated_records += s->holders[i];
        }
}

fre_status fre_survey_check_any(const fre_survey *s, const char *input, fre_err *err)
{
    const fre_survey_counts *n = &s->counts;

    if (n->records == 0)
        return fre_fail(err, FRE_E_NOINPUT,
                        "%.300s: holds no text%s; give a file with at least one", input,
                        n->invalid > 0 ? " that can be used" : "");
    if (n->no_word + n->unknown == n->records)
        return fre_fail(err, FRE_E_DATA,
                        "the input holds no text with a word that the embedder knows; choose "
                        "another with {embedder} FILE");
    return FRE_OK;
}

fre_overlap_set *fre_survey_texts(fre_survey *s)
{
    return s->text_marks;
}

fre_overlap_set *fre_survey_rows(fre_survey *s)
{
    return s->row_marks;
}
