/* From a record to its text, user and label. */
#include "corpus_private.h"

#include <stdio.h>
#include <string.h>

static fre_status line_fail(const fre_corpus *c, const fre_raw *raw, int field, const char *what,
                            const char *todo, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA, "%s: line %llu: the field \"%.40s\" %s; %s %s", c->src->name,
                    (unsigned long long)raw->line, c->field[field], what, todo,
                    fre_field_param(c, field));
}

/* Line and column (in characters) of offset `at` in a record of one or more lines. */
static void position_of(const fre_raw *raw, size_t at, uint64_t *line, size_t *column)
{
    *line = raw->line;
    *column = 1;
    for (size_t i = 0; i < at; i++) {
        *column += (raw->p[i] & 0xc0) != 0x80;
        if (raw->p[i] == '\n') {
            *line += 1;
            *column = 1;
        }
    }
}

static bool suggest_member(void *ctx, const uint8_t *key, size_t n, const uint8_t *value)
{
    (void)value;
    fre_suggest(ctx, key, n);
    return true;
}

static fre_status missing_member(const fre_corpus *c, const fre_raw *raw, int field, fre_err *err)
{
    fre_suggestion s = {.asked = c->field[field],
                        .is_text = field == FRE_FIELD_TEXT && !c->every_record};
    char todo[96];
    size_t at = 0;

    (void)fre_json_members(raw->p, raw->n, suggest_member, &s, &at);
    (void)snprintf(todo, sizeof todo,
                   s.name[0] ? "did you mean \"%s\"? Add it, or name another with"
                             : "add it, or name another with",
                   s.name);
    return line_fail(c, raw, field, "is missing", todo, err);
}

static fre_status json_kind_check(const fre_corpus *c, const fre_raw *raw, int field,
                                  fre_json_kind k, fre_err *err)
{
    static const char *const what[] = {
        [FRE_JSON_STRING] = "is a string",    [FRE_JSON_NUMBER] = "is a number",
        [FRE_JSON_BOOL] = "is true or false", [FRE_JSON_NULL] = "is null",
        [FRE_JSON_OBJECT] = "is an object",   [FRE_JSON_ARRAY] = "is an array",
    };
    bool scalar = k == FRE_JSON_NUMBER || (k == FRE_JSON_BOOL && field == FRE_FIELD_LABEL);

    if (k == FRE_JSON_STRING || (scalar && (field != FRE_FIELD_TEXT || c->every_record)))
        return FRE_OK;
    if (k == FRE_JSON_NULL && field == FRE_FIELD_TEXT && (c->keep_json || c->null_text))
        return FRE_OK;
    if (k == FRE_JSON_ABSENT)
        return missing_member(c, raw, field, err);
    return line_fail(c, raw, field, what[k],
                     field == FRE_FIELD_TEXT ? "make it a string, or name another with"
                                             : "make it a string or a number, or name another with",
                     err);
}

/* An escape for U+0000 or a lone surrogate in a wanted value. */
static fre_status bad_escape(fre_corpus *c, const fre_raw *raw, fre_err *err)
{
    if (c->invalid != FRE_CORPUS_INVALID_REPLACE)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: a string escapes NUL or half of a surrogate pair; remove "
                        "the escape",
                        c->src->name, (unsigned long long)raw->line);
    if (raw->p != c->repaired.p) /* a record counts once */
        c->stats.invalid++;
    return FRE_OK;
}

static fre_status not_json(const fre_corpus *c, const fre_raw *raw, const char *why, size_t at,
                           fre_err *err)
{
    uint64_t line = 0;
    size_t column = 0;

    position_of(raw, at, &line, &column);
    return fre_fail(err, FRE_E_DATA, "%s: line %llu, column %zu: not valid JSON: %s%s",
                    c->src->name, (unsigned long long)line, column, why,
                    c->layout == FRE_LAYOUT_LINES ? "; write one object a line" : "");
}

/* An element of an array that is a string is a text. */
static fre_status parse_string(fre_corpus *c, const fre_raw *raw, fre_value *v, fre_err *err)
{
    size_t at = 0;
    bool bad = false;
    const char *why = fre_json_value(raw->p, raw->n, &at);

    if (why || at != raw->n)
        return not_json(c, raw, why ? why : "something follows the string", at, err);
    for (int r = FRE_FIELD_USER; r < FRE_FIELDS; r++)
        if (c->field[r])
            return fre_fail(err, FRE_E_DATA,
                            "%s: line %llu: a text without fields, but %s names one; write objects",
                            c->src->name, (unsigned long long)raw->line, fre_field_param(c, r));
    v->p = raw->p + 1;
    v->n = fre_json_unescape(raw->p + 1, raw->n - 2, &bad);
    return bad ? bad_escape(c, raw, err) : FRE_OK;
}

/* What is wanted of an object; two may share a field, which is decoded once: same[r]. */
static size_t wanted(const fre_corpus *c, fre_json_want want[FRE_FIELDS], size_t same[FRE_FIELDS])
{
    size_t wants = 0;

    for (int r = 0; r < FRE_FIELDS; r++) {
        size_t k = 0;

        if (!c->field[r])
            continue;
        while (k < wants && strcmp(want[k].name, c->field[r]) != 0)
            k++;
        same[r] = k;
        if (k == wants)
            want[wants++].name = c->field[r];
    }
    return wants;
}

static fre_status parse_json(fre_corpus *c, const fre_raw *raw, fre_value v[FRE_FIELDS],
                             fre_err *err)
{
    fre_json_want want[FRE_FIELDS];
    size_t same[FRE_FIELDS] = {0};
    size_t at = 0;
    const size_t wants = wanted(c, want, same);
    const char *why = NULL;
    bool bad = false;
    fre_status st = FRE_OK;

    if (c->layout >= FRE_LAYOUT_ARRAY && raw->p[0] == '"')
        return parse_string(c, raw, &v[FRE_FIELD_TEXT], err);
    why = fre_json_scan(raw->p, raw->n, want, wants, &at);
    if (why)
        return not_json(c, raw, why, at, err);
    for (int r = 0; r < FRE_FIELDS; r++) {
        if (!c->field[r])
            continue;
        st = json_kind_check(c, raw, r, want[same[r]].kind, err);
        if (st)
            return st;
    }
    for (size_t k = 0; k < wants; k++)
        if (want[k].escaped)
            want[k].n = fre_json_unescape(want[k].p, want[k].n, &bad);
    for (int r = 0; r < FRE_FIELDS; r++) {
        if (!c->field[r] || want[same[r]].kind == FRE_JSON_NULL)
            continue;
        v[r].p = want[same[r]].p;
        v[r].n = want[same[r]].n;
    }
    return bad ? bad_escape(c, raw, err) : FRE_OK;
}

/* Lines with a wrong number of fields may be several records, the first with a stray quote: only that
 * one is lost, and reading goes on after its line. */
static void resume_after_first_line(fre_corpus *c, const fre_raw *raw)
{
    const uint8_t *end = memchr(raw->p, c->eol, raw->n);

    if (!end || raw->p == c->repaired.p || c->invalid == FRE_CORPUS_INVALID_FAIL)
        return;
    c->begin = (size_t)(end + 1 - c->buf);
    c->line = raw->line;
}

static fre_status parse_csv(fre_corpus *c, const fre_raw *raw, fre_value v[FRE_FIELDS],
                            fre_err *err)
{
    fre_csv_fields it = {raw->p, raw->n, 0, c->delim, false};
    fre_csv_field f, hit[FRE_FIELDS];
    size_t fields = 0;
    bool surplus = false;

    (void)memset(hit, 0, sizeof hit);
    for (; fre_csv_next(&it, &f); fields++) {
        for (int r = 0; r < FRE_FIELDS; r++)
            if (c->column[r] == fields)
                hit[r] = f;
        surplus = surplus || (fields >= c->columns && f.n > 0);
    }
    for (int r = 0; r < FRE_FIELDS; r++) {
        if (!c->field[r] || c->column[r] < fields)
            continue;
        resume_after_first_line(c, raw);
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: %zu fields where the header has %zu, and \"%.40s\" is "
                        "number %zu; add the missing fields, or quote a field that holds a "
                        "line break",
                        c->src->name, (unsigned long long)raw->line, fields, c->columns,
                        c->field[r], c->column[r] + 1);
    }
    /* A comma in an unquoted text would lose the text's end without a word.  Empty surplus
     * fields (spreadsheets write them) lose nothing. */
    if (surplus) {
        resume_after_first_line(c, raw);
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: %zu fields where the header has %zu; put quotes around a "
                        "field that holds a %s",
                        c->src->name, (unsigned long long)raw->line, fields, c->columns,
                        fre_delimiter_name(c->delim));
    }
    for (int r = 0; r < FRE_FIELDS; r++) {
        bool done = false;

        for (int q = 0; q < r; q++) {
            if (c->field[r] && c->field[q] && c->column[q] == c->column[r]) {
                v[r] = v[q];
                done = true;
            }
        }
        if (!c->field[r] || done)
            continue;
        v[r].p = hit[r].p;
        v[r].n = hit[r].doubled ? fre_csv_undouble(hit[r].p, hit[r].n) : hit[r].n;
    }
    return FRE_OK;
}

fre_status fre_corpus_parse(fre_corpus *c, fre_raw *raw, fre_value v[FRE_FIELDS], fre_err *err)
{
    if (c->format == FRE_CORPUS_JSONL)
        return parse_json(c, raw, v, err);
    if (c->delim)
        return parse_csv(c, raw, v, err);
    v[FRE_FIELD_TEXT] = (fre_value){raw->p, raw->n};
    return FRE_OK;
}
