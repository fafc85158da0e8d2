/* The header of a CSV or TSV file: which column is which. */
#include "corpus_private.h"

#include <stdio.h>
#include <string.h>

#define COLUMN_SHOWN 32u /* bytes of one column name in a message */
#define COLUMNS_SHOWN 6u /* names in a message: it must fit fre_err with the path */

const char *fre_field_param(const fre_corpus *c, int field)
{
    static const char *const flag[FRE_FIELDS] = {"{text_field}", "{user_field}", "{label_field}"};

    if (field == FRE_FIELD_TEXT && c->text_param)
        return c->text_param;
    return flag[c->every_record && field == FRE_FIELD_TEXT ? FRE_FIELD_USER : field];
}

const char *fre_delimiter_name(uint8_t delim)
{
    return delim == ','    ? "comma"
           : delim == '\t' ? "tab"
           : delim == ';'  ? "semicolon"
           : delim == '|'  ? "vertical bar"
                           : "delimiter";
}

/* A header's field is the name: as it stands, or with the white space around both left out. */
static bool field_is(const fre_csv_field *f, const char *name, bool trimmed)
{
    uint8_t *p = f->p, *q = (uint8_t *)(uintptr_t)name; /* read only */
    size_t n = f->n, m = strlen(name), j = 0;

    if (trimmed) {
        fre_utf8_trim(&p, &n);
        fre_utf8_trim(&q, &m);
    }
    for (size_t i = 0; i < n; i++) {
        if (j == m || p[i] != q[j++])
            return false;
        i += f->doubled && p[i] == '"';
    }
    return j == m;
}

bool fre_has_text_column(const fre_corpus *c, uint8_t *p, size_t len, uint8_t delim, size_t *n)
{
    fre_csv_fields it = {p, len, 0, delim, false};
    fre_csv_field f;
    bool found = false;

    for (*n = 0; fre_csv_next(&it, &f); (*n)++)
        found = found || field_is(&f, c->field[FRE_FIELD_TEXT], true);
    return found;
}

/* The names of the columns for a message, "..." after the sixth; false when the row may be no
 * header: then it may hold somebody's text, and messages show none.  A header is sure to be one if it
 * has two columns or more, all called as programs call them, and one that is well known.  s: the likely
 * one of all. */
static bool list_columns(char *out, size_t cap, fre_suggestion *s, const fre_raw *raw,
                         uint8_t delim)
{
    fre_csv_fields it = {raw->p, raw->n, 0, delim, false};
    fre_csv_field f;
    size_t at = 0, seen = 0;
    bool known = false;

    out[0] = '\0';
    while (fre_csv_next(&it, &f)) {
        fre_utf8_trim(&f.p, &f.n);
        if (!fre_is_field_name(f.p, f.n))
            return false;
        fre_suggest(s, f.p, f.n);
        known = known || fre_is_usual_name(f.p, f.n);
        if (seen < COLUMNS_SHOWN)
            at += (size_t)snprintf(out + at, cap - at, "%s\"%.*s\"", seen ? ", " : "", (int)f.n,
                                   (const char *)f.p);
        seen++;
    }
    if (seen < 2 || !(known || s->name[0]))
        return false;
    if (seen > COLUMNS_SHOWN)
        (void)snprintf(out + at, cap - at, ", ... %zu in all", seen);
    return true;
}

static fre_status no_column(const fre_corpus *c, const fre_raw *raw, int field, fre_err *err)
{
    char list[COLUMNS_SHOWN * (COLUMN_SHOWN + 4) + 32], likely[64] = "";
    fre_suggestion s = {.asked = c->field[field],
                        .is_text = field == FRE_FIELD_TEXT && !c->every_record};

    const bool is_header = list_columns(list, sizeof list, &s, raw, c->delim);

    /* A word that everybody has tells nothing of a text. */
    if (s.name[0] && (is_header || fre_is_usual_name((const uint8_t *)s.name, strlen(s.name))))
        (void)snprintf(likely, sizeof likely, "; did you mean \"%s\"?", s.name);
    if (!is_header)
        return fre_fail(
            err, FRE_E_DATA,
            "%s: line %llu: no column \"%.40s\"%s; name one with %s, or add a first row "
            "with the names of the columns if this row is not that",
            c->src->name, (unsigned long long)raw->line, c->field[field], likely,
            fre_field_param(c, field));
    return fre_fail(err, FRE_E_DATA,
                    "%s: line %llu: no column \"%.40s\"%s (columns: %s); name one with %s",
                    c->src->name, (unsigned long long)raw->line, c->field[field], likely, list,
                    fre_field_param(c, field));
}

static fre_status match_column(fre_corpus *c, const fre_raw *raw, int field, bool trimmed,
                               fre_err *err)
{
    fre_csv_fields it = {raw->p, raw->n, 0, c->delim, false};
    fre_csv_field f;

    for (size_t i = 0; fre_csv_next(&it, &f); i++) {
        if (!field_is(&f, c->field[field], trimmed))
            continue;
        if (c->column[field] != FRE_COLUMN_NONE)
            return fre_fail(err, FRE_E_DATA,
                            "%s: line %llu: two columns are named \"%.40s\"; rename one",
                            c->src->name, (unsigned long long)raw->line, c->field[field]);
        c->column[field] = i;
    }
    return FRE_OK;
}

static fre_status match_columns(fre_corpus *c, const fre_raw *raw, fre_err *err)
{
    fre_csv_fields it = {raw->p, raw->n, 0, c->delim, false};
    fre_csv_field f;
    fre_status st = FRE_OK;

    while (fre_csv_next(&it, &f))
        c->columns++;
    for (int r = 0; st == FRE_OK && r < FRE_FIELDS; r++) {
        if (!c->field[r])
            continue;
        st = match_column(c, raw, r, false, err);
        if (st == FRE_OK && c->column[r] == FRE_COLUMN_NONE)
            st = match_column(c, raw, r, true, err);
        if (st == FRE_OK && c->column[r] == FRE_COLUMN_NONE)
            st = no_column(c, raw, r, err);
    }
    return st;
}

fre_status fre_corpus_header(fre_corpus *c, fre_err *err)
{
    fre_raw raw = {NULL, 0, 0};
    bool more = false;
    fre_status st = fre_lines_next(c, &more, &raw, err);

    if (st == FRE_OK && !more)
        st = fre_fail(err, FRE_E_NOINPUT, "%s: is empty; give a file with at least one text",
                      c->src->name);
    if (st)
        return st;
    if (fre_utf8_first_bad(raw.p, raw.n) < raw.n && c->invalid != FRE_CORPUS_INVALID_REPLACE)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line 1: the header is not valid UTF-8; name the file's encoding "
                        "({encoding} latin-1)",
                        c->src->name);
    st = fre_corpus_repair(c, &raw, err);
    return st == FRE_OK ? match_columns(c, &raw, err) : st;
}
