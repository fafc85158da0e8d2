/* Writing plain tensors: GGUF version 3 (its specification), little-endian. */
#include <fre/model.h>

#include <errno.h>
#include <string.h>

#define ALIGNMENT 32u
#define TYPE_U32 4u
#define TYPE_STRING 8u

/* What a type is to the file, and the bytes of a number. */
static const struct {
    uint32_t number;
    size_t bytes;
} types[] = {
    [FRE_TENSORS_F32] = {0, 4},
    [FRE_TENSORS_I8] = {24, 1},
    [FRE_TENSORS_I32] = {26, 4},
};

/* Bytes written so far, and whether one failed. */
typedef struct writer {
    FILE *f;
    uint64_t at;
    bool failed;
} writer;

static void put(writer *w, const void *p, size_t n)
{
    w->failed = w->failed || fwrite(p, 1, n, w->f) != n;
    w->at += n;
}

static void put_number(writer *w, uint64_t v, size_t bytes)
{
    uint8_t b[8];

    for (size_t i = 0; i < bytes; i++)
        b[i] = (uint8_t)(v >> (8 * i));
    put(w, b, bytes);
}

static void put_text(writer *w, const char *s)
{
    put_number(w, strlen(s), 8);
    put(w, s, strlen(s));
}

static void pad(writer *w)
{
    static const uint8_t zero[ALIGNMENT];

    if (w->at % ALIGNMENT != 0)
        put(w, zero, ALIGNMENT - w->at % ALIGNMENT);
}

static void put_pair(writer *w, const char *key, const char *text, uint32_t number)
{
    put_text(w, key);
    put_number(w, text ? TYPE_STRING : TYPE_U32, 4);
    if (text)
        put_text(w, text);
    else
        put_number(w, number, 4);
}

/* Name, dimensions (innermost first), type, offset in the data. */
static void put_header(writer *w, const fre_tensors_entry *t, uint64_t offset)
{
    put_text(w, t->name);
    put_number(w, t->rows == 1 ? 1 : 2, 4);
    put_number(w, t->cols, 8);
    if (t->rows != 1)
        put_number(w, t->rows, 8);
    put_number(w, types[t->type].number, 4);
    put_number(w, offset, 8);
}

static void put_numbers(writer *w, const fre_tensors_entry *t)
{
    const size_t n = t->rows * t->cols;
    const uint8_t *p = t->value;

    if (t->type == FRE_TENSORS_I8) {
        put(w, p, n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, p + i * sizeof bits, sizeof bits);
        put_number(w, bits, sizeof bits);
    }
}

static uint64_t padded_bytes(const fre_tensors_entry *t)
{
    const uint64_t bytes = (uint64_t)t->rows * t->cols * types[t->type].bytes;

    return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

fre_status fre_tensors_write(FILE *f, const char *architecture, const fre_tensors_pair *pair,
                             size_t n_pairs, const fre_tensors_entry *entry, size_t n_entries,
                             fre_err *err)
{
    writer w = {.f = f};
    uint64_t offset = 0;

    if (!f || !architecture)
        return fre_fail(err, FRE_E_ARG, "fre_tensors_write needs a file and an architecture");
    put(&w, "GGUF", 4);
    put_number(&w, 3, 4);
    put_number(&w, n_entries, 8);
    put_number(&w, n_pairs + 1, 8);
    put_pair(&w, "general.architecture", architecture, 0);
    for (size_t i = 0; i < n_pairs; i++)
        put_pair(&w, pair[i].key, pair[i].text, pair[i].number);
    for (size_t i = 0; i < n_entries; i++) {
        put_header(&w, &entry[i], offset);
        offset += padded_bytes(&entry[i]);
    }
    for (size_t i = 0; i < n_entries; i++) {
        pad(&w);
        put_numbers(&w, &entry[i]);
    }
    pad(&w);
    if (w.failed || fflush(f) != 0)
        return fre_fail(err, FRE_E_IO, "cannot write the tensors: %s", strerror(errno));
    return FRE_OK;
}
