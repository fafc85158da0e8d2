/* The reader's public face: open, next record, statistics. */
#include "corpus_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static fre_status copy_options(fre_corpus *c, const fre_corpus_opts *o)
{
    const char *preset = o->every_record ? "user" : "text";
    const char *name[FRE_FIELDS] = {o->text_field ? o->text_field : preset, o->user_field,
                                    o->label_field};

    c->asked_format = o->format;
    c->asked_delimiter = o->delimiter;
    c->asked_text = o->text_field != NULL;
    c->asked_encoding = o->encoding ? strdup(o->encoding) : NULL;
    c->invalid = o->invalid;
    c->user_fold = o->user_fold;
    c->keep_json = o->keep_json;
    c->null_text = o->null_text;
    c->empty_ok = o->empty_ok;
    c->every_record = o->every_record;
    c->text_param = o->text_param;
    c->encoded = o->encoding != NULL;
    c->na = o->na_values ? strdup(o->na_values) : NULL;
    if ((o->na_values && !c->na) || (o->encoding && !c->asked_encoding))
        return FRE_E_NOMEM;
    for (int r = 0; r < FRE_FIELDS; r++) {
        if (!name[r])
            continue;
        c->field[r] = strdup(name[r]);
        if (!c->field[r])
            return FRE_E_NOMEM;
    }
    return FRE_OK;
}

static fre_status no_fields(const fre_corpus *c, fre_err *err)
{
    return fre_fail(err, FRE_E_USAGE,
                    "%s: a text file has one text a line and no fields; use %s with JSON lines, "
                    "CSV or TSV",
                    c->src->name,
                    fre_field_param(c, c->field[FRE_FIELD_USER]    ? FRE_FIELD_USER
                                       : c->field[FRE_FIELD_LABEL] ? FRE_FIELD_LABEL
                                                                   : FRE_FIELD_TEXT));
}

/* Before the first record, the source being at its first byte. */
static fre_status start(fre_corpus *c, fre_err *err)
{
    fre_status st;

    c->format = c->asked_format;
    c->layout = FRE_LAYOUT_LINES;
    c->delim = 0;
    c->eol = '\n';
    c->opened = c->separated = c->closed = c->eof = c->failed = false;
    c->columns = c->begin = c->end = 0;
    c->decoded = c->line = c->dropped = 0;
    c->stats = (fre_corpus_stats){.records = 0};
    for (int r = 0; r < FRE_FIELDS; r++)
        c->column[r] = FRE_COLUMN_NONE;
    fre_decode_close(&c->decoder);
    st = fre_decode_open(&c->decoder, c->asked_encoding, c->src, err);
    if (st == FRE_OK)
        st = fre_corpus_sniff(c, c->asked_delimiter, err);
    if (st == FRE_OK && c->format == FRE_CORPUS_TXT &&
        (c->field[FRE_FIELD_USER] || c->field[FRE_FIELD_LABEL] || c->asked_text))
        return no_fields(c, err);
    if (st == FRE_OK && c->keep_json && c->format != FRE_CORPUS_JSONL &&
        c->format != FRE_CORPUS_TXT)
        c->keep_json = false;
    return st == FRE_OK && c->delim ? fre_corpus_header(c, err) : st;
}

fre_status fre_corpus_open_input(fre_corpus **out, fre_input *in, const fre_corpus_opts *opts,
                                 fre_err *err)
{
    static const fre_corpus_opts none = {0};
    fre_corpus *c = calloc(1, sizeof *c);
    fre_status st;

    if (!c) {
        fre_input_free(in);
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    c->input = in;
    c->src = &in->src;
    /* a byte can become three */
    fre_buf_init(&c->repaired, 3u * (size_t)FRE_CORPUS_TEXT_MAX + 1);
    fre_buf_init(&c->object, 3u * (size_t)FRE_CORPUS_TEXT_MAX + 1);
    st = copy_options(c, opts ? opts : &none);
    st = st == FRE_OK ? start(c, err) : fre_fail(err, st, "out of memory");
    if (st == FRE_OK)
        *out = c;
    else
        fre_corpus_free(c);
    return st;
}

const fre_input *fre_corpus_input(const fre_corpus *c)
{
    return c->input;
}

bool fre_corpus_can_again(const fre_corpus *c)
{
    return fre_src_can_rewind(c->src);
}

fre_status fre_corpus_again(fre_corpus *c, const uint8_t salt[FRE_HASH_BYTES], fre_err *err)
{
    fre_status st = fre_src_rewind(c->src, salt, err);

    return st == FRE_OK ? start(c, err) : st;
}

bool fre_corpus_sha256(uint8_t out[FRE_HASH_BYTES], const fre_corpus *c)
{
    if (c->src->has_sum)
        (void)memcpy(out, c->src->sum, FRE_HASH_BYTES);
    return c->src->has_sum;
}

fre_status fre_corpus_open(fre_corpus **out, const char *path, const fre_corpus_opts *opts,
                           fre_err *err)
{
    fre_input *in = NULL;
    fre_status st = fre_input_open(&in, path, false, err);

    return st == FRE_OK ? fre_corpus_open_input(out, in, opts, err) : st;
}

fre_status fre_corpus_open_chunked(fre_corpus **out, fre_bytes data, size_t chunk,
                                   const fre_corpus_opts *opts, fre_err *err)
{
    fre_input *in = NULL;
    fre_status st = fre_input_open_memory(&in, data, chunk, err);

    return st == FRE_OK ? fre_corpus_open_input(out, in, opts, err) : st;
}

fre_status fre_corpus_open_memory(fre_corpus **out, fre_bytes data, const fre_corpus_opts *opts,
                                  fre_err *err)
{
    return fre_corpus_open_chunked(out, data, FRE_SRC_CHUNK, opts, err);
}

static bool is_blank(const fre_raw *raw)
{
    uint8_t *p = raw->p;
    size_t n = raw->n;

    fre_utf8_trim(&p, &n);
    return n == 0;
}

/* Texts and users that count as missing. */
static bool is_missing(const fre_corpus *c, const fre_value *v)
{
    for (const char *p = c->na; p && *p;) {
        const size_t n = strcspn(p, ",");

        if (n == v->n && memcmp(p, v->p, n) == 0)
            return true;
        p += n + (p[n] == ',');
    }
    return v->n == 0;
}

static fre_status keep_object(fre_corpus *c, const fre_raw *raw, fre_err *err)
{
    fre_status st;

    if (!c->keep_json || c->format != FRE_CORPUS_JSONL)
        return FRE_OK;
    fre_buf_wipe(&c->object);
    if (raw->p[0] == '"') /* a text of an array */
        return FRE_OK;
    st = fre_buf_append(&c->object, raw->p, raw->n);
    return st == FRE_OK ? st
                        : fre_fail(err, FRE_E_NOMEM, "%s: line %llu: out of memory for one record",
                                   c->src->name, (unsigned long long)raw->line);
}

/* *skip: counted, nothing to deliver. */
static fre_status use(fre_corpus *c, fre_raw *raw, fre_value v[FRE_FIELDS], bool *skip,
                      fre_err *err)
{
    fre_status st = fre_corpus_repair(c, raw, err);

    if (st)
        return st;
    *skip = is_blank(raw);
    if (!*skip) {
        st = keep_object(c, raw, err);
        if (st == FRE_OK)
            st = fre_corpus_parse(c, raw, v, err);
        if (st)
            return st;
        for (int r = 0; r < FRE_FIELDS; r++)
            if (v[r].p)
                fre_utf8_trim(&v[r].p, &v[r].n);
        *skip = !c->keep_json && is_missing(c, &v[FRE_FIELD_TEXT]);
    }
    if (*skip) {
        c->stats.empty++;
        return FRE_OK;
    }
    if (c->field[FRE_FIELD_USER] && is_missing(c, &v[FRE_FIELD_USER]))
        return fre_fail(err, FRE_E_DATA,
                        "%s: line %llu: the field \"%.40s\" is empty; every record needs its user; "
                        "fill it in, or name another with {user_field}",
                        c->src->name, (unsigned long long)raw->line, c->field[FRE_FIELD_USER]);
    return FRE_OK;
}

/* A file of which most records cannot be used is of another format, or has another field. */
fre_status fre_corpus_check_most(uint64_t unusable, uint64_t used, uint64_t empty,
                                 const fre_err *first, fre_err *err)
{
    if (unusable == 0 || (used > 0 && unusable <= used + empty))
        return FRE_OK;
    return fre_fail(err, FRE_E_DATA,
                    "%llu of %llu records cannot be used, so the format or a field is wrong; the "
                    "first: %.380s",
                    (unsigned long long)unusable, (unsigned long long)(unusable + used + empty),
                    first->text);
}

static fre_status at_end(fre_corpus *c, bool *more, fre_err *err)
{
    fre_status st = c->every_record ? FRE_OK
                                    : fre_corpus_check_most(c->dropped, c->stats.records,
                                                            c->stats.empty, &c->first, err);

    if (st == FRE_OK)
        st = fre_src_finish(c->src, err);
    if (st == FRE_OK)
        *more = false;
    return st;
}

/* Whether a record that has nothing to deliver has its place all the same.  A blank line is a record
 * only where a record may be one. */
static bool has_place(const fre_corpus *c, const fre_raw *raw, fre_status st)
{
    return c->every_record && (st != FRE_OK || !is_blank(raw) ||
                               (c->delim ? c->columns == 1 : c->format == FRE_CORPUS_TXT));
}

static void deliver(fre_corpus *c, fre_record *rec, const fre_value v[FRE_FIELDS], uint64_t line)
{
    /* Last of all: a value's NUL overwrites the delimiter after it. */
    for (int r = 0; r < FRE_FIELDS; r++)
        if (v[r].p)
            v[r].p[v[r].n] = 0;
    c->stats.records++;
    *rec = (fre_record){(const char *)v[FRE_FIELD_TEXT].p,
                        v[FRE_FIELD_TEXT].n,
                        (const char *)v[FRE_FIELD_USER].p,
                        v[FRE_FIELD_USER].n,
                        (const char *)v[FRE_FIELD_LABEL].p,
                        v[FRE_FIELD_LABEL].n,
                        line,
                        (char *)c->object.p,
                        c->object.n};
}

static void drop_user(fre_corpus *c)
{
    if (c->user)
        fre_wipe(c->user, strlen(c->user));
    free(c->user);
    c->user = NULL;
}

/* The record's user as names are compared. */
static fre_status fold_user(fre_corpus *c, fre_record *rec, fre_err *err)
{
    fre_status st;

    drop_user(c);
    if (!rec->user || c->user_fold == FRE_FOLD_NONE)
        return FRE_OK;
    st = fre_fold_text(&c->user, rec->user, rec->user_len, c->user_fold);
    if (st != FRE_OK)
        return fre_fail(err, st, "%s: line %llu: %s while reading its user", c->src->name,
                        (unsigned long long)rec->line, fre_status_text(st));
    rec->user = c->user;
    rec->user_len = strlen(c->user);
    return FRE_OK;
}

/* What was read well before and is not now was changed, if the file says so. */
static fre_status explain(const fre_corpus *c, fre_status st, const fre_err *why, fre_err *err)
{
    if (c->src->has_sum && st != FRE_E_INTERRUPTED && fre_src_check(c->src, err) != FRE_OK)
        return FRE_E_AGAIN;
    if (err)
        *err = *why;
    return st;
}

static fre_status next_raw(fre_corpus *c, bool *more, fre_raw *raw, fre_err *err)
{
    return c->layout == FRE_LAYOUT_LINES ? fre_lines_next(c, more, raw, err)
                                         : fre_document_next(c, more, raw, err);
}

fre_status fre_corpus_next(fre_corpus *c, bool *more, fre_record *rec, fre_err *err)
{
    for (;;) {
        const uint64_t repaired = c->stats.invalid;
        fre_value v[FRE_FIELDS] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
        fre_raw raw = {NULL, 0, 0};
        fre_err why = {.text = ""};
        bool got = true, skip = false;
        fre_status st = next_raw(c, &got, &raw, &why);

        if (st == FRE_OK && !got)
            return at_end(c, more, err);
        if (st == FRE_OK)
            st = use(c, &raw, v, &skip, &why);
        if ((st == FRE_E_DATA || st == FRE_E_LIMIT) && !c->failed &&
            c->invalid != FRE_CORPUS_INVALID_FAIL) {
            if (c->dropped++ == 0)
                c->first = why;
            c->stats.invalid = repaired + 1; /* a record counts once */
            skip = true;
        }
        if (st != FRE_OK && !skip)
            return explain(c, st, &why, err);
        if (skip && has_place(c, &raw, st)) {
            *rec = (fre_record){.line = raw.line};
            *more = true;
            return FRE_OK;
        }
        if (skip)
            continue;
        deliver(c, rec, v, raw.line);
        *more = true;
        return fold_user(c, rec, err);
    }
}

static const char *format_name(const fre_corpus *c)
{
    static const char *const json[] = {"JSON lines", "JSON objects", "a JSON array",
                                       "an array in a JSON object"};

    if (c->format == FRE_CORPUS_JSONL)
        return json[c->layout];
    if (!c->delim)
        return c->eol == '\r' ? "text lines (ended by CR)" : "text lines";
    return c->format == FRE_CORPUS_TSV ? "TSV" : c->eol == '\r' ? "CSV (lines ended by CR)" : "CSV";
}

void fre_corpus_get_about(const fre_corpus *c, fre_corpus_about *out)
{
    static const char *const packed[] = {
        [FRE_SRC_PLAIN] = "none", [FRE_SRC_GZIP] = "gzip", [FRE_SRC_ZSTD] = "zstd"};

    (void)memset(out, 0, sizeof *out);
    out->format = format_name(c);
    out->compression = packed[c->src->kind];
    out->delimiter = (char)c->delim;
    out->is_empty = c->src->bytes == 0;
    (void)snprintf(out->encoding, sizeof out->encoding, "%s", c->decoder.name);
    if (c->format != FRE_CORPUS_TXT)
        (void)snprintf(out->text_field, sizeof out->text_field, "%s", c->field[FRE_FIELD_TEXT]);
}

void fre_corpus_get_stats(const fre_corpus *c, fre_corpus_stats *out)
{
    const double consumed = (double)(c->decoded - (c->end - c->begin));

    *out = c->stats;
    out->bytes = fre_src_used(c->src);
    if (c->end > c->begin) /* of a compressed file: in proportion */
        out->bytes = (uint64_t)((double)out->bytes * consumed / (double)c->decoded);
    out->bytes_all = c->src->bytes_all;
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
    fre_decode_close(&c->decoder);
    fre_input_free(c->input);
    if (c->buf) {
        fre_wipe(c->buf, c->cap); /* texts */
        free(c->buf);
    }
    drop_user(c);
    fre_buf_wipe(&c->repaired);
    fre_buf_wipe(&c->object);
    free(c->na);
    free(c->asked_encoding);
    for (int r = 0; r < FRE_FIELDS; r++)
        free(c->field[r]);
    free(c);
}
