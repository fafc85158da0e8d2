/* Writing plain tensors: GGUF version 3 (its specification), little-endian, float32. */
#include <fre/model.h>

#include <errno.h>
#include <string.h>

#define ALIGNMENT 32u
#define TYPE_U32 4u
#define TYPE_STRING 8u
#define TENSOR_F32 0u

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
    put_number(w, TENSOR_F32, 4);
    put_number(w, offset, 8);
}

static void put_floats(writer *w, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint32_t bits;

        memcpy(&bits, &x[i], sizeof bits);
        put_number(w, bits, sizeof bits);
    }
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
        offset += (entry[i].rows * entry[i].cols * 4 + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    }
    for (size_t i = 0; i < n_entries; i++) {
        pad(&w);
        put_floats(&w, entry[i].value, entry[i].rows * entry[i].cols);
    }
    pad(&w);
    if (w.failed || fflush(f) != 0)
        return fre_fail(err, FRE_E_IO, "cannot write the tensors: %s", strerror(errno));
    return FRE_OK;
}
