/* arrow.c - see arrow.h. */
#include "arrow.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define VIEW_INLINE 12                     /* bytes of a string that stand in its view */
#define FURTHEST (INT64_MAX / 64)          /* row, so that nothing that is multiplied overflows */
#define UNSOUND "data is no sound Arrow: " /* what a message about a chunk begins with */

/* A value: a string, or an integer as digits. */
typedef struct value {
    const char *p;
    size_t n;
    bool is_null, is_number;
    char digits[24];
} value;

/* Buffers that values of a format are read from. */
static int64_t buffers_of(char format)
{
    if (format == 'n')
        return 0;
    return format == 'u' || format == 'U' || format == 'v' ? 3 : 2;
}

static bool is_whole(const struct ArrowArray *a, int64_t least_buffers)
{
    return a && a->length >= 0 && a->length <= FURTHEST && a->offset >= 0 &&
           a->offset <= FURTHEST && (a->n_buffers <= 0 || a->buffers) &&
           (a->length == 0 || a->n_buffers >= least_buffers);
}

/* What a column is read from, once and for all its rows; NULL: it is not there. */
static const struct ArrowArray *column_of(const struct ArrowArray *chunk, const fre_py_column *c)
{
    const struct ArrowArray *a = chunk;
    const int64_t buffers = buffers_of(c->format);

    if (!is_whole(chunk, 0))
        return NULL;
    if (c->child >= 0) {
        if (c->child >= chunk->n_children || !chunk->children)
            return NULL;
        a = chunk->children[c->child];
    }
    if (!is_whole(a, c->index ? buffers_of(c->index) : buffers))
        return NULL;
    if (c->index && !is_whole(a->dictionary, buffers))
        return NULL;
    return c->child < 0 || a->length >= chunk->offset + chunk->length ? a : NULL;
}

static bool is_valid(const struct ArrowArray *a, int64_t i)
{
    const uint8_t *bits = a->n_buffers > 0 ? a->buffers[0] : NULL;

    i += a->offset;
    return !bits || bits[i / 8] >> (i % 8) & 1;
}

/* A signed one of that format, or an unsigned one that fits. */
static int64_t integer_at(const struct ArrowArray *a, char format, int64_t i)
{
    const void *p = a->buffers[1];

    i += a->offset;
    switch (format) {
    case 'c':
        return ((const int8_t *)p)[i];
    case 'C':
        return ((const uint8_t *)p)[i];
    case 's':
        return ((const int16_t *)p)[i];
    case 'S':
        return ((const uint16_t *)p)[i];
    case 'i':
        return ((const int32_t *)p)[i];
    case 'I':
        return ((const uint32_t *)p)[i];
    default:
        return ((const int64_t *)p)[i];
    }
}

/* From begin to end of the bytes at data. */
static bool put_range(value *out, const char *data, int64_t begin, int64_t end)
{
    if (begin < 0 || end < begin)
        return false;
    out->p = data ? data + begin : "";
    out->n = (size_t)(end - begin);
    return data || out->n == 0;
}

static bool put_view(value *out, const struct ArrowArray *a, int64_t i)
{
    const char *view = (const char *)a->buffers[1] + 16 * (i + a->offset);
    const int64_t last = a->n_buffers - 1; /* the lengths of those that strings stand in */
    const int64_t *lengths = a->buffers[last];
    int32_t length, buffer, offset;

    memcpy(&length, view, 4);
    if (length >= 0 && length <= VIEW_INLINE)
        return put_range(out, view + 4, 0, length);
    memcpy(&buffer, view + 8, 4);
    memcpy(&offset, view + 12, 4);
    if (length < 0 || buffer < 0 || buffer >= last - 2 ||
        !lengths || /* behind validity and views */
        (int64_t)offset + length > lengths[buffer])
        return false;
    return put_range(out, a->buffers[2 + buffer], offset, (int64_t)offset + length);
}

static void put_number(value *out, const struct ArrowArray *a, char format, int64_t i)
{
    if (format == 'L')
        (void)snprintf(out->digits, sizeof out->digits, "%" PRIu64,
                       ((const uint64_t *)a->buffers[1])[i + a->offset]);
    else
        (void)snprintf(out->digits, sizeof out->digits, "%" PRId64, integer_at(a, format, i));
    out->p = out->digits;
    out->n = strlen(out->digits);
    out->is_number = true;
}

static bool put_plain(value *out, const struct ArrowArray *a, char format, int64_t i)
{
    const int64_t at = i + a->offset;

    if (format == 'n' || !is_valid(a, i)) {
        out->is_null = true;
        return true;
    }
    if (!a->buffers[1])
        return false;
    if (format == 'u')
        return put_range(out, a->buffers[2], ((const int32_t *)a->buffers[1])[at],
                         ((const int32_t *)a->buffers[1])[at + 1]);
    if (format == 'U')
        return put_range(out, a->buffers[2], ((const int64_t *)a->buffers[1])[at],
                         ((const int64_t *)a->buffers[1])[at + 1]);
    if (format == 'v')
        return put_view(out, a, i);
    put_number(out, a, format, i);
    return true;
}

/* Row i of the chunk, of its column a.  A row of the table that is null is null in all columns. */
static bool put_value(value *out, const struct ArrowArray *chunk, const struct ArrowArray *a,
                      const fre_py_column *c, int64_t i)
{
    int64_t at;

    memset(out, 0, sizeof *out);
    if (c->child >= 0) {
        out->is_null = !is_valid(chunk, i);
        i += chunk->offset;
    }
    if (out->is_null)
        return true;
    if (!c->index)
        return put_plain(out, a, c->format, i);
    out->is_null = !is_valid(a, i);
    if (out->is_null)
        return true;
    if (!a->buffers[1])
        return false;
    at = integer_at(a, c->index, i);
    return at >= 0 && at < a->dictionary->length && put_plain(out, a->dictionary, c->format, at);
}

static void write_string(FILE *f, const char *p, size_t n)
{
    putc_unlocked('"', f);
    for (size_t i = 0; i < n; i++) {
        const unsigned char c = (unsigned char)p[i];

        if (c == '"' || c == '\\')
            putc_unlocked('\\', f);
        if (c < 0x20)
            (void)fprintf(f, "\\u%04x", c);
        else
            putc_unlocked(c, f);
    }
    putc_unlocked('"', f);
}

static void write_value(FILE *f, const value *v)
{
    if (v->is_null)
        (void)fputs("null", f);
    else if (v->is_number)
        (void)fwrite(v->p, 1, v->n, f);
    else
        write_string(f, v->p, v->n);
}

/* A column and what it is read from; a NULL: there is none. */
typedef struct source {
    const fre_py_column *column;
    const struct ArrowArray *a;
} source;

/* Whose value cannot be read; NULL: all went well. */
static const fre_py_column *write_row(FILE *f, const struct ArrowArray *chunk, int64_t i,
                                      source text, source user)
{
    value v;

    if (!put_value(&v, chunk, text.a, text.column, i))
        return text.column;
    (void)putc_unlocked('{', f);
    (void)fputs(text.column->key, f);
    (void)putc_unlocked(':', f);
    write_value(f, &v);
    if (user.a && !put_value(&v, chunk, user.a, user.column, i))
        return user.column;
    if (user.a && !v.is_null) {
        (void)putc_unlocked(',', f);
        (void)fputs(user.column->key, f);
        (void)putc_unlocked(':', f);
        write_value(f, &v);
    }
    (void)fputs("}\n", f);
    return NULL;
}

static fre_status write_rows(FILE *f, const struct ArrowArray *chunk, int64_t first, int64_t n,
                             source text, source user, int64_t before, fre_err *err)
{
    const fre_py_column *unsound = NULL;

    for (int64_t i = first; i < first + n; i++) {
        unsound = write_row(f, chunk, i, text, user);
        if (unsound)
            return fre_fail(err, FRE_E_DATA,
                            UNSOUND
                            "row %" PRId64
                            " of the column %s has an offset, a length or an index outside it",
                            before + i + 1, unsound->key);
    }
    return FRE_OK;
}

fre_status fre_py_arrow_lines(int fd, const struct ArrowArray *chunk, int64_t first, int64_t n,
                              const fre_py_column *text, const fre_py_column *user, int64_t before,
                              fre_err *err)
{
    const source t = {text, column_of(chunk, text)},
                 u = {user, user ? column_of(chunk, user) : NULL};
    fre_status st;
    int own, e;
    FILE *f;

    if (!t.a || (user && !u.a) || first < 0 || n < 0 || n > chunk->length - first)
        return fre_fail(err, FRE_E_DATA,
                        UNSOUND "the column %s has fewer rows or buffers than its table says",
                        t.a && user && !u.a ? user->key : text->key);
    own = dup(fd);
    f = own >= 0 ? fdopen(own, "ab") : NULL;
    if (!f) {
        e = errno;
        if (own >= 0)
            (void)close(own);
        return fre_open_failed(err, e, FRE_E_IO, NULL, "data cannot be handed over");
    }
    st = write_rows(f, chunk, first, n, t, u, before, err);
    e = ferror(f) ? errno : 0;
    if (fclose(f) != 0)
        e = errno;
    if (st != FRE_OK || e == 0)
        return st;
    return fre_open_failed(err, e, FRE_E_IO, NULL, "data cannot be handed over");
}
