/* The reader's public face: open, next record, statistics. */
#include "corpus_int.h"

#include <stdlib.h>
#include <string.h>

typedef struct value {
    uint8_t *p;
    size_t n;
} value;

static fre_status copy_fields(fre_corpus *c, const fre_corpus_opts *o)
{
    const char *name[FRE_ROLES] = {o->text_field ? o->text_field : "text", o->user_field,
                                   o->label_field};

    for (int r = 0; r < FRE_ROLES; r++) {
        c->column[r] = FRE_COLUMN_NONE;
        if (!name[r])
            continue;
        c->field[r] = strdup(name[r]);
        if (!c->field[r])
            return FRE_E_NOMEM;
    }
    return FRE_OK;
}

/* path NULL: memory. */
static fre_status corpus_open(fre_corpus **out, const char *path, fre_bytes data, size_t chunk,
                              const fre_corpus_opts *opts, fre_err *err)
{
    static const fre_corpus_opts none = {0};
    fre_corpus *c = calloc(1, sizeof *c);
    fre_status st = FRE_OK;

    if (!opts)
        opts = &none;
    if (!c)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    c->src.fd = -1;
    c->format = opts->format;
    c->invalid = opts->invalid;
    /* a byte can become three */
    fre_buf_init(&c->repaired, 3u * (size_t)FRE_CORPUS_TEXT_MAX + 1);
    st = copy_fields(c, opts);
    if (st) {
        (void)fre_fail(err, st, "out of memory");
        goto out;
    }
    st = path ? fre_src_open(&c->src, path, err) : fre_src_open_memory(&c->src, data, chunk, err);
    if (st)
        goto out;
    st = fre_corpus_sniff(c, path ? path : "", err);
    if (st)
        goto out;
    if (c->format == FRE_CORPUS_TXT && (opts->user_field || opts->label_field)) {
        st =
            fre_fail(err, FRE_E_USAGE,
                     "%s: a text file has one text a line and no fields; use %s with JSON "
                     "lines, CSV or TSV",
                     c->src.name, fre_role_flag(opts->user_field ? FRE_ROLE_USER : FRE_ROLE_LABEL));
        goto out;
    }
    if (c->delim) {
        st = fre_corpus_header(c, err);
        if (st)
            goto out;
    }
    *out = c;
    c = NULL;
out:
    fre_corpus_free(c);
    return st;
}

fre_status fre_corpus_open(fre_corpus **out, const char *path, const fre_corpus_opts *opts,
                           fre_err *err)
{
    fre_bytes none = {NULL, 0};

    return corpus_open(out, path, none, FRE_SRC_CHUNK, opts, err);
}

fre_status fre_corpus_open_chunked(fre_corpus **out, fre_bytes data, size_t chunk,
                                   const fre_corpus_opts *opts, fre_err *err)
{
    return corpus_open(out, NULL, data, chunk, opts, err);
}

fre_status fre_corpus_open_memory(fre_corpus **out, fre_bytes data, const fre_corpus_opts *opts,
                                  fre_err *err)
{
    return corpus_open(out, NULL, data, FRE_SRC_CHUNK, opts, err);
}

static fre_status line_fail(const fre_corpus *c, const fre_raw *raw, int role, const char *what,
                            const char *todo, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA, "%s: line %llu: the field \"%.40s\" %s; %s %s", c->src.name,
                    (unsigned long long)raw->line, c->field[role], what, todo, fre_role_flag(role));
}

/* Characters before offset at, plus one. */
static size_t column_of(const uint8_t *p, size_t at)
{
    size_t n = 1;

    for (size_t i = 0; i < at; i++)
        n += (p[i] & 0xc0) != 0x80;
    return n;
}

static fre_status json_kind_check(const fre_corpus *c, const fre_raw *raw, int role,
                                  fre_json_kind k, fre_err *err)
{
    static const char *const what[] = {
        [FRE_JSON_ABSENT] = "is missing",  [FRE_JSON_STRING] = "is a string",
        [FRE_JSON_NUMBER] = "is a number", [FRE_JSON_BOOL] = "is true or false",
        [FRE_JSON_NULL] = "is null",       [FRE_JSON_OBJECT] = "is an object",
        [FRE_JSON_ARRAY] = "is an array",
    };
    bool scalar = k == FRE_JSON_NUMBER || (k == FRE_JSON_BOOL && role == FRE_ROLE_LABEL);

    if (k == FRE_JSON_STRING || (scalar && role != FRE_ROLE_TEXT))
        return FRE_OK;
    if (k == FRE_JSON_ABSENT)
        return line_fail(c, raw, role, what[k], "add it, or name another with", err);
    return line_fail(c, raw, role, what[k],
                     role == FRE_ROLE_TEXT ? "make it a string, or name another with"
                                           : "make it a string or a number, or name another with",
                     err);
}

/* An escape for U+0000 or a lone surrogate in a wanted value. */
static fre_status bad_escape(fre_corpus *c, const fre_raw *raw, bool *skip, fre_err *err)
{
    if (c->invalid == FRE_CORPUS_INVALID_FAIL)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: a string escapes NUL or half of a surrogate pair; remove "
                        "the escape or use --invalid skip or replace",
                        c->src.name, (unsigned long long)raw->line);
    *skip = c->invalid == FRE_CORPUS_INVALID_SKIP;
    if (*skip || raw->p != c->repaired.p) /* a record counts once */
        c->stats.invalid++;
    return FRE_OK;
}

static fre_status parse_json(fre_corpus *c, const fre_raw *raw, value v[FRE_ROLES], bool *skip,
                             fre_err *err)
{
    fre_json_want want[FRE_ROLES];
    size_t same[FRE_ROLES] = {0};
    size_t wants = 0, at = 0;
    const char *why = NULL;
    bool bad = false;
    fre_status st = FRE_OK;

    for (int r = 0; r < FRE_ROLES; r++) {
        size_t k = 0;

        if (!c->field[r])
            continue;
        /* two roles may share a field, which is decoded once */
        while (k < wants && strcmp(want[k].name, c->field[r]) != 0)
            k++;
        same[r] = k;
        if (k == wants)
            want[wants++].name = c->field[r];
    }
    why = fre_json_scan(raw->p, raw->n, want, wants, &at);
    if (why)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu, column %zu: not valid JSON: %s; write one object a line",
                        c->src.name, (unsigned long long)raw->line, column_of(raw->p, at), why);
    for (int r = 0; r < FRE_ROLES; r++) {
        if (!c->field[r])
            continue;
        st = json_kind_check(c, raw, r, want[same[r]].kind, err);
        if (st)
            return st;
    }
    for (size_t k = 0; k < wants; k++)
        if (want[k].escaped)
            want[k].n = fre_json_unescape(want[k].p, want[k].n, &bad);
    for (int r = 0; r < FRE_ROLES; r++) {
        if (!c->field[r])
            continue;
        v[r].p = want[same[r]].p;
        v[r].n = want[same[r]].n;
    }
    return bad ? bad_escape(c, raw, skip, err) : FRE_OK;
}

static fre_status parse_csv(fre_corpus *c, const fre_raw *raw, value v[FRE_ROLES], fre_err *err)
{
    fre_csv_fields it = {raw->p, raw->n, 0, c->delim, false};
    fre_csv_field f, hit[FRE_ROLES];
    size_t fields = 0;
    bool surplus = false;

    (void)memset(hit, 0, sizeof hit);
    for (; fre_csv_next(&it, &f); fields++) {
        for (int r = 0; r < FRE_ROLES; r++)
            if (c->column[r] == fields)
                hit[r] = f;
        surplus = surplus || (fields >= c->columns && f.n > 0);
    }
    for (int r = 0; r < FRE_ROLES; r++)
        if (c->field[r] && c->column[r] >= fields)
            return fre_fail(err, FRE_E_DATA,
                            "%s: line %llu: %zu fields where the header has %zu, and \"%.40s\" is "
                            "number %zu; add the missing fields, or quote a field that holds a "
                            "line break",
                            c->src.name, (unsigned long long)raw->line, fields, c->columns,
                            c->field[r], c->column[r] + 1);
    /* A comma in an unquoted text would lose the text's end without a word.  Empty surplus
     * fields (spreadsheets write them) lose nothing. */
    if (surplus)
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: %zu fields where the header has %zu; put quotes around a "
                        "field that holds a %s",
                        c->src.name, (unsigned long long)raw->line, fields, c->columns,
                        c->delim == ',' ? "comma" : "tab");
    for (int r = 0; r < FRE_ROLES; r++) {
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

static bool is_blank(const fre_raw *raw)
{
    uint8_t *p = raw->p;
    size_t n = raw->n;

    fre_utf8_trim(&p, &n);
    return n == 0;
}

/* *skip: counted, nothing to deliver. */
static fre_status parse(fre_corpus *c, fre_raw *raw, value v[FRE_ROLES], bool *skip, fre_err *err)
{
    fre_status st = fre_corpus_repair(c, raw, skip, err);

    if (st || *skip)
        return st;
    if (is_blank(raw)) {
        c->stats.empty++;
        *skip = true;
        return FRE_OK;
    }
    if (c->format == FRE_CORPUS_JSONL) {
        st = parse_json(c, raw, v, skip, err);
    } else if (c->delim) {
        st = parse_csv(c, raw, v, err);
    } else {
        v[FRE_ROLE_TEXT].p = raw->p;
        v[FRE_ROLE_TEXT].n = raw->n;
    }
    if (st || *skip)
        return st;
    for (int r = 0; r < FRE_ROLES; r++)
        if (v[r].p)
            fre_utf8_trim(&v[r].p, &v[r].n);
    if (v[FRE_ROLE_TEXT].n == 0) {
        c->stats.empty++;
        *skip = true;
        return FRE_OK;
    }
    if (c->field[FRE_ROLE_USER] && v[FRE_ROLE_USER].n == 0)
        return line_fail(c, raw, FRE_ROLE_USER, "is empty",
                         "every record needs its user; fill it in, or name another with", err);
    return FRE_OK;
}

fre_status fre_corpus_next(fre_corpus *c, bool *more, fre_record *rec, fre_err *err)
{
    for (;;) {
        value v[FRE_ROLES] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
        fre_raw raw = {NULL, 0, 0};
        bool got = false, skip = false;
        fre_status st = fre_corpus_take(c, &got, &raw, err);

        if (st)
            return st;
        if (!got) {
            *more = false;
            return FRE_OK;
        }
        st = parse(c, &raw, v, &skip, err);
        if (st)
            return st;
        if (skip)
            continue;
        /* Last of all: a value's NUL overwrites the delimiter after it. */
        for (int r = 0; r < FRE_ROLES; r++)
            if (v[r].p)
                v[r].p[v[r].n] = 0;
        c->stats.records++;
        *rec = (fre_record){(const char *)v[FRE_ROLE_TEXT].p,
                            v[FRE_ROLE_TEXT].n,
                            (const char *)v[FRE_ROLE_USER].p,
                            v[FRE_ROLE_USER].n,
                            (const char *)v[FRE_ROLE_LABEL].p,
                            v[FRE_ROLE_LABEL].n,
                            raw.line};
        *more = true;
        return FRE_OK;
    }
}

void fre_corpus_get_stats(const fre_corpus *c, fre_corpus_stats *out)
{
    const double consumed = (double)(c->decoded - (c->end - c->begin));

    *out = c->stats;
    out->bytes = fre_src_taken(&c->src);
    if (c->end > c->begin) /* of a compressed file: in proportion */
        out->bytes = (uint64_t)((double)out->bytes * consumed / (double)c->decoded);
    out->bytes_all = c->src.bytes_all;
}

uint64_t fre_corpus_expected(const fre_corpus_stats *s)
{
    if (s->bytes == 0 || s->bytes_all == 0)
        return 0;
    if (s->bytes >= s->bytes_all)
        return s->records;
    return (uint64_t)((double)s->records * (double)s->bytes_all / (double)s->bytes);
}

void fre_corpus_free(fre_corpus *c)
{
    if (!c)
        return;
    fre_src_close(&c->src);
    if (c->buf) {
        fre_wipe(c->buf, c->cap); /* texts */
        free(c->buf);
    }
    fre_buf_wipe(&c->repaired);
    for (int r = 0; r < FRE_ROLES; r++)
        free(c->field[r]);
    free(c);
}
