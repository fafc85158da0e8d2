/* index_file.c - the file of an index: header, then for texts and words: embeddings (a byte a
 * coordinate), scale, squared norm, occurrences, offsets, text; then a chained hash of all of it.
 * Numbers as the machine has them: a cache is made where it is used. */
#include "index_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fre/linalg.h>

#define MAGIC "fre-e2t index 2"
#define BLOCK (1u << 20) /* bytes hashed at a time */
#define ALIGN 64u
#define CHUNK 4096u /* texts embedded in one call */

typedef struct head {
    char magic[16];
    uint8_t corpus[FRE_HASH_BYTES], embedder[FRE_HASH_BYTES];
    uint64_t dim, n[2], text_bytes[2];
    uint8_t pad[8];
} head;
_Static_assert(sizeof(head) % ALIGN == 0, "sections are aligned");

/* ---- name ------------------------------------------------------------------------------------ */

/* The ending decides how a corpus is read, so it belongs to the key. */
static const char *ending(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strchr(name, '.');

    return dot ? dot : "";
}

/* So does the field of its texts, where that is another than "text". */
static fre_status hash_corpus(uint8_t out[FRE_HASH_BYTES], const fre_corpus *corpus,
                              const char *path, fre_err *err)
{
    fre_corpus_about about;
    char how[320];
    fre_err why = {.text = ""};
    fre_status st;

    fre_corpus_get_about(corpus, &about);
    if (!about.text_field[0] || strcmp(about.text_field, "text") == 0)
        (void)snprintf(how, sizeof how, "%.200s", ending(path));
    else
        (void)snprintf(how, sizeof how, "%.200s\n%s", ending(path), about.text_field);
    st = fre_input_sha256(out, fre_corpus_input(corpus),
                          (fre_bytes){.p = (const uint8_t *)how, .n = strlen(how)}, &why);
    return st == FRE_OK ? st : fre_fail(err, st, "public corpus: %s", why.text);
}

fre_status inv_index_key_make(inv_index_key *k, const fre_corpus *corpus, const char *path,
                              const uint8_t *model, const fre_embedder *e, fre_err *err)
{
    char *folder = NULL, hex[33];
    uint8_t name[16], all[2 * FRE_HASH_BYTES];
    fre_status st = FRE_OK;

    if (corpus)
        st = hash_corpus(k->corpus, corpus, path, err);
    else
        memcpy(k->corpus, model, FRE_HASH_BYTES);
    if (st != FRE_OK)
        return st;
    memcpy(k->embedder, fre_embedder_info(e)->sha256, FRE_HASH_BYTES);
    memcpy(all, k->corpus, FRE_HASH_BYTES);
    memcpy(all + FRE_HASH_BYTES, k->embedder, FRE_HASH_BYTES);
    fre_hash128(name, k->embedder, all, sizeof all);
    fre_hex(hex, name, sizeof name);
    k->path[0] = '\0';
    st = fre_user_folder(&folder, FRE_USER_CACHE, true, NULL);
    if (st == FRE_E_NOMEM)
        return st;
    if (st == FRE_OK && strlen(folder) < sizeof k->path - 128)
        (void)snprintf(k->path, sizeof k->path, "%s/public-%s.index", folder, hex);
    free(folder);
    return FRE_OK;
}

/* ---- layout ---------------------------------------------------------------------------------- */

static size_t aligned(size_t n)
{
    return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Offsets of a section's six parts from `from` on; part[6]: its end.  Sizes are bounded by
 * INV_INDEX_MAX rows of at most 2^16 numbers, so nothing overflows. */
static void layout(size_t part[7], size_t from, size_t n, size_t dim, size_t text_bytes)
{
    const size_t size[6] = {n * dim, n * 4, n * 4, n * 4, (n + 1) * 8, text_bytes};

    part[0] = from;
    for (int i = 0; i < 6; i++)
        part[i + 1] = aligned(part[i] + size[i]);
}

static void borrow(inv_rows *r, const uint8_t *p, const size_t part[7], size_t n, uint32_t dim)
{
    *r = (inv_rows){.n = n,
                    .dim = dim,
                    .q = (const int8_t *)(p + part[0]),
                    .scale = (const float *)(const void *)(p + part[1]),
                    .norm2 = (const float *)(const void *)(p + part[2]),
                    .count = (const uint32_t *)(const void *)(p + part[3]),
                    .at = (const uint64_t *)(const void *)(p + part[4]),
                    .text = (const char *)(p + part[5])};
}

/* ---- reading --------------------------------------------------------------------------------- */

static void chain(uint8_t sum[32], const void *p, size_t n)
{
    uint8_t next[16];

    fre_hash128(next, sum, p, n);
    memcpy(sum, next, sizeof next);
}

static bool sums_agree(const uint8_t *p, size_t n)
{
    uint8_t sum[32] = {0};
    const size_t content = n - 16;

    for (size_t at = 0; at < content; at += BLOCK)
        chain(sum, p + at, content - at < BLOCK ? content - at : BLOCK);
    return memcmp(sum, p + content, 16) == 0;
}

static bool rows_sound(const inv_rows *r, size_t text_bytes)
{
    for (size_t i = 0; i < r->n; i++)
        if (r->at[i] > r->at[i + 1] || r->at[i + 1] - r->at[i] > INV_INDEX_TEXT_MAX)
            return false;
    return r->at[0] == 0 && r->at[r->n] == text_bytes;
}

/* The map becomes x's if it is a sound index. */
static bool adopt_map(inv_index *x, void *map, size_t len, const inv_index_key *k, uint32_t dim)
{
    const uint8_t *p = map;
    head h;
    size_t part[2][7];

    if (len < sizeof h + 16)
        return false;
    memcpy(&h, p, sizeof h);
    if (memcmp(h.magic, MAGIC, sizeof h.magic) != 0 || h.dim != dim || h.n[0] == 0 ||
        h.n[0] > INV_INDEX_MAX || h.n[1] > INV_INDEX_MAX || h.text_bytes[0] > len ||
        h.text_bytes[1] > len || memcmp(h.corpus, k->corpus, sizeof h.corpus) != 0 ||
        memcmp(h.embedder, k->embedder, sizeof h.embedder) != 0)
        return false;
    layout(part[0], sizeof h, h.n[0], dim, h.text_bytes[0]);
    layout(part[1], part[0][6], h.n[1], dim, h.text_bytes[1]);
    if (part[1][6] + 16 != len || !sums_agree(p, len))
        return false;
    borrow(&x->texts, p, part[0], h.n[0], dim);
    borrow(&x->words, p, part[1], h.n[1], dim);
    if (!rows_sound(&x->texts, h.text_bytes[0]) || !rows_sound(&x->words, h.text_bytes[1]))
        return false;
    x->map = map;
    x->map_len = len;
    return true;
}

static bool load_fd(inv_index *x, int fd, const inv_index_key *k, uint32_t dim)
{
    struct stat s;
    void *map;

    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode) || s.st_size <= 0)
        return false;
    map = mmap(NULL, (size_t)s.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return false;
    if (adopt_map(x, map, (size_t)s.st_size, k, dim))
        return true;
    (void)munmap(map, (size_t)s.st_size);
    return false;
}

bool inv_index_load(inv_index *x, const inv_index_key *k, uint32_t dim)
{
    const int fd = k->path[0] ? open(k->path, O_RDONLY | O_CLOEXEC) : -1;
    bool good;

    if (fd < 0)
        return false;
    good = load_fd(x, fd, k, dim);
    (void)close(fd);
    return good;
}

/* ---- writing --------------------------------------------------------------------------------- */

typedef struct writer {
    FILE *f;
    uint8_t *block;
    size_t used, total;
    uint8_t sum[32];
    bool failed;
} writer;

static void flush_block(writer *w)
{
    if (w->used == 0)
        return;
    chain(w->sum, w->block, w->used);
    w->failed |= fwrite(w->block, 1, w->used, w->f) != w->used;
    w->used = 0;
}

static void put(writer *w, const void *data, size_t n)
{
    const uint8_t *p = data;

    w->total += n;
    while (n > 0) {
        size_t m = BLOCK - w->used < n ? BLOCK - w->used : n;

        memcpy(w->block + w->used, p, m);
        w->used += m;
        p += m;
        n -= m;
        if (w->used == BLOCK)
            flush_block(w);
    }
}

static void put_padding(writer *w)
{
    static const uint8_t zero[ALIGN];

    put(w, zero, aligned(w->total) - w->total);
}

/* q = round(x / scale), scale = max |x| / 127; norm2 of what q stands for. */
static void quantise(int8_t *q, float *scale, float *norm2, const float *x, size_t dim)
{
    float top = 0;
    double sum = 0;

    for (size_t i = 0; i < dim; i++)
        top = fmaxf(top, fabsf(x[i]));
    *scale = top / 127.0F;
    for (size_t i = 0; i < dim; i++) {
        q[i] = top > 0 ? (int8_t)lrintf(x[i] / *scale) : 0;
        sum += (double)q[i] * q[i];
    }
    *norm2 = (float)(sum * (double)*scale * (double)*scale);
}

typedef struct section {
    const inv_texts *t;
    const char **text;
    size_t *len;
    float *x, *scale, *norm2;
    int8_t *q;
} section;

static fre_status put_rows(writer *w, section *s, fre_embedder *e, const char *phase,
                           const fre_progress *progress, fre_err *err)
{
    const size_t dim = fre_embedder_info(e)->dim, n = s->t->n;

    for (size_t at = 0; at < n; at += CHUNK) {
        const size_t m = n - at < CHUNK ? n - at : CHUNK;
        fre_status st;

        fre_progress_update(progress, phase, at, n);
        for (size_t i = 0; i < m; i++) {
            s->text[i] = (const char *)s->t->text.p + s->t->at[at + i];
            s->len[i] = (size_t)(s->t->at[at + i + 1] - s->t->at[at + i]);
        }
        st = fre_embed_texts(e, s->x, s->text, s->len, m, err);
        if (st != FRE_OK)
            return st;
        for (size_t i = 0; i < m; i++) {
            quantise(s->q, &s->scale[at + i], &s->norm2[at + i], s->x + i * dim, dim);
            put(w, s->q, dim);
        }
    }
    fre_progress_update(progress, phase, n, n);
    return FRE_OK;
}

static fre_status put_section(writer *w, const inv_texts *t, fre_embedder *e, const char *phase,
                              const fre_progress *progress, fre_err *err)
{
    static const uint64_t none = 0; /* offsets of no texts */
    const size_t dim = fre_embedder_info(e)->dim, n = t->n ? t->n : 1;
    section s = {.t = t};
    fre_status st = FRE_E_NOMEM;

    s.text = calloc(CHUNK, sizeof *s.text);
    s.len = calloc(CHUNK, sizeof *s.len);
    s.x = malloc(CHUNK * dim * sizeof *s.x);
    s.q = malloc(dim);
    s.scale = malloc(n * sizeof *s.scale);
    s.norm2 = malloc(n * sizeof *s.norm2);
    if (s.text && s.len && s.x && s.q && s.scale && s.norm2)
        st = put_rows(w, &s, e, phase, progress, err);
    if (st == FRE_OK) {
        put_padding(w);
        put(w, s.scale, t->n * sizeof *s.scale);
        put_padding(w);
        put(w, s.norm2, t->n * sizeof *s.norm2);
        put_padding(w);
        if (t->n > 0)
            put(w, t->count, t->n * sizeof *t->count);
        put_padding(w);
        put(w, t->at ? t->at : &none, (t->n + 1) * sizeof *t->at);
        put_padding(w);
        if (t->text.n > 0)
            put(w, t->text.p, t->text.n);
        put_padding(w);
    }
    free((void *)s.text);
    free(s.len);
    free(s.x);
    free(s.q);
    free(s.scale);
    free(s.norm2);
    return st;
}

static fre_status put_all(FILE *f, const inv_index_key *k, fre_embedder *e, const inv_texts *texts,
                          const inv_texts *words, const fre_progress *progress, fre_err *err)
{
    writer w = {.f = f, .block = malloc(BLOCK)};
    head h = {.magic = MAGIC,
              .dim = fre_embedder_info(e)->dim,
              .n = {texts->n, words->n},
              .text_bytes = {texts->text.n, words->text.n}};
    fre_status st;

    if (!w.block)
        return FRE_E_NOMEM;
    memcpy(h.corpus, k->corpus, sizeof h.corpus);
    memcpy(h.embedder, k->embedder, sizeof h.embedder);
    put(&w, &h, sizeof h);
    st = put_section(&w, texts, e, "index", progress, err);
    if (st == FRE_OK)
        st = put_section(&w, words, e, "words", progress, err);
    flush_block(&w);
    w.failed |= fwrite(w.sum, 1, 16, f) != 16 || fflush(f) != 0;
    free(w.block);
    if (st == FRE_OK && w.failed)
        st = fre_fail(err, FRE_E_IO,
                      "the index of the public corpus cannot be written: %s; free some space in "
                      "the cache folder",
                      strerror(errno));
    return st;
}

fre_status inv_index_write(inv_index *x, const inv_index_key *k, fre_embedder *e,
                           const inv_texts *texts, const inv_texts *words,
                           const fre_progress *progress, fre_err *err)
{
    const uint32_t dim = fre_embedder_info(e)->dim;
    fre_outfile *o = NULL;
    FILE *f = NULL;
    bool mapped = false;
    fre_status st = FRE_OK;

    if (k->path[0] && fre_make_parents(k->path) == 0 &&
        fre_outfile_open(&o, k->path, true, NULL) != FRE_OK)
        o = NULL;
    f = o ? fre_outfile_stream(o) : tmpfile();
    if (!f)
        return fre_open_failed(err, errno, FRE_E_IO, NULL,
                               "no temporary file for the index of the public corpus");
    st = put_all(f, k, e, texts, words, progress, err);
    if (st == FRE_OK && o)
        st = fre_outfile_commit(o, err);
    if (st == FRE_OK)
        mapped = o ? inv_index_load(x, k, dim) : load_fd(x, fileno(f), k, dim);
    if (st == FRE_OK && !mapped)
        st = fre_fail(err, FRE_E_IO, "the index of the public corpus changed while it was written");
    if (o)
        fre_outfile_free(o);
    else
        (void)fclose(f);
    return st;
}
