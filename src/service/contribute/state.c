/* contribute/state.c - what a client must not forget.
 *
 * File:  magic (8)  collection id (32)  rows, as fre_delta has them.  It is small, so that each change writes it
 * anew: to a sibling, synced and renamed; what was there before is overwritten. */
#include "contribute_private.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC "fre-cl1\n"
#define MAGIC_BYTES 8u
#define HEAD (MAGIC_BYTES + FRE_HASH_BYTES)
#define FILE_MAX (16u << 20)

/* ---- rows ------------------------------------------------------------------------------------------ */

static bool same(const fre_row *a, const fre_row *b)
{
    return a->table == b->table && a->key.n == b->key.n &&
           (a->key.n == 0 || memcmp(a->key.p, b->key.p, a->key.n) == 0);
}

static bool is_in(const fre_delta *d, const fre_row *row)
{
    fre_row r;
    size_t at = 0;

    while (fre_delta_next(d, &at, &r))
        if (same(&r, row))
            return true;
    return false;
}

/* Of both, the last of each key; erased ones go. */
static fre_status merge(fre_delta *out, const fre_delta *old, const fre_delta *rows)
{
    fre_status st = FRE_OK;
    size_t at = 0, from;
    fre_row r, later;

    while (st == FRE_OK && fre_delta_next(old, &at, &r))
        if (!is_in(rows, &r))
            st = fre_delta_add(out, &r);
    at = 0;
    while (st == FRE_OK && fre_delta_next(rows, &at, &r)) {
        bool last = !r.erase;

        from = at;
        while (last && fre_delta_next(rows, &from, &later))
            last = !same(&r, &later);
        if (last)
            st = fre_delta_add(out, &r);
    }
    return st;
}

fre_bytes state_row(const state *s, uint8_t table)
{
    fre_row r;
    size_t at = 0;

    while (fre_delta_next(&s->rows, &at, &r))
        if (r.table == table)
            return r.value;
    return (fre_bytes){NULL, 0};
}

/* ---- the file ------------------------------------------------------------------------------------------ */

static bool is_there(const char *path)
{
    struct stat about;

    return lstat(path, &about) == 0 || errno != ENOENT;
}

static fre_status write_file(const state *s, const fre_delta *rows, fre_err *err)
{
    fre_buf b; /* SECRET */
    fre_status st;

    fre_buf_init(&b, FILE_MAX);
    st = fre_buf_append(&b, MAGIC, MAGIC_BYTES);
    if (st == FRE_OK)
        st = fre_buf_append(&b, s->id.b, sizeof s->id.b);
    if (st == FRE_OK)
        st = fre_buf_append(&b, rows->raw.p, rows->raw.n);
    if (st != FRE_OK)
        st = fre_fail(err, st, "the state is too long, or there is no memory for it");
    else if (is_there(s->path))
        st = fre_private_renew(s->path, (fre_bytes){b.p, b.n}, err);
    else
        st = fre_private_write(s->path, (fre_bytes){b.p, b.n}, false, err);
    fre_buf_wipe(&b);
    return st;
}

/* No file keeps an erased row. */
static fre_status parse(state *s, fre_bytes in, fre_err *err)
{
    fre_status st = fre_delta_read(&s->rows, in);
    size_t at = 0;
    fre_row r;

    while (st == FRE_OK && fre_delta_next(&s->rows, &at, &r))
        st = r.erase ? FRE_E_DATA : FRE_OK;
    if (st == FRE_E_DATA)
        return fre_fail(err, st, "%s: this is no whole state of a contribution", s->path);
    return st == FRE_OK ? st : fre_fail(err, st, "out of memory");
}

static fre_status load(state *s, fre_err *err)
{
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, FILE_MAX);
    st = fre_private_read(&b, s->path, err);
    if (st == FRE_OK && (b.n < HEAD || memcmp(b.p, MAGIC, MAGIC_BYTES) != 0))
        st = fre_fail(err, FRE_E_DATA, "%s: this is no state of a contribution", s->path);
    else if (st == FRE_OK && memcmp(b.p + MAGIC_BYTES, s->id.b, sizeof s->id.b) != 0)
        st = fre_fail(err, FRE_E_REFUSED,
                      "%s: the state is of another collection; give each a file of its own",
                      s->path);
    if (st == FRE_OK)
        st = parse(s, (fre_bytes){b.p + HEAD, b.n - HEAD}, err);
    fre_buf_wipe(&b);
    return st;
}

static bool is_at(int fd, const char *path)
{
    struct stat held, there;

    return fstat(fd, &held) == 0 && lstat(path, &there) == 0 && held.st_ino == there.st_ino &&
           held.st_dev == there.st_dev;
}

/* The lock's file goes with the lock, so whoever gets it has to look whether it is the one of that name still. */
static fre_status take_lock(state *s, fre_err *err)
{
    if (asprintf(&s->lock_path, "%s.lock", s->path) < 0) {
        s->lock_path = NULL;
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    }
    for (;;) {
        s->lock = open(s->lock_path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (s->lock < 0)
            return fre_open_failed(err, errno, FRE_E_IO, FRE_CHECK_PATH, "cannot lock '%.300s'",
                                   s->path);
        if (flock(s->lock, LOCK_EX | LOCK_NB) != 0) {
            (void)close(s->lock);
            s->lock = -1;
            return fre_fail(err, FRE_E_AGAIN, "%s: another process goes on with it", s->path);
        }
        if (is_at(s->lock, s->lock_path))
            return FRE_OK;
        (void)close(s->lock);
    }
}

fre_status state_open(state *s, const char *path, const fre_collection_id *id, fre_err *err)
{
    fre_status st;

    *s = (state){.lock = -1, .id = *id};
    fre_delta_init(&s->rows);
    s->path = strdup(path);
    if (!s->path)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = take_lock(s, err);
    if (st != FRE_OK)
        return st;
    return is_there(path) ? load(s, err) : FRE_OK;
}

fre_status state_add(state *s, const fre_delta *rows, fre_err *err)
{
    fre_delta all;
    fre_status st;

    fre_delta_init(&all);
    st = merge(&all, &s->rows, rows);
    st = st == FRE_OK ? write_file(s, &all, err) : fre_fail(err, st, "out of memory");
    if (st != FRE_OK) {
        fre_delta_wipe(&all);
        return st;
    }
    fre_delta_wipe(&s->rows);
    s->rows = all;
    return FRE_OK;
}

fre_status state_add_row(state *s, uint8_t table, fre_bytes value, fre_err *err)
{
    const fre_row row = {.table = table, .value = value};
    fre_delta one;
    fre_status st;

    fre_delta_init(&one);
    st = fre_delta_add(&one, &row);
    st = st == FRE_OK ? state_add(s, &one, err) : fre_fail(err, st, "out of memory");
    fre_delta_wipe(&one);
    return st;
}

/* In a new file first: a crash must not lose that it was said. */
fre_status state_end(state *s, fre_status verdict, fre_err *err)
{
    const uint8_t how = verdict == FRE_OK;
    const fre_row row = {.table = STATE_VERDICT, .value = {&how, 1}};
    fre_delta one;
    fre_status st;

    fre_delta_init(&one);
    st = fre_delta_add(&one, &row);
    st = st == FRE_OK ? write_file(s, &one, err) : fre_fail(err, st, "out of memory");
    if (st != FRE_OK) {
        fre_delta_wipe(&one);
        return st;
    }
    fre_delta_wipe(&s->rows);
    s->rows = one;
    return FRE_OK;
}

void state_close(state *s)
{
    fre_delta_wipe(&s->rows);
    if (s->lock >= 0) {
        (void)unlink(s->lock_path);
        (void)close(s->lock);
    }
    s->lock = -1;
    free(s->lock_path);
    free(s->path);
    s->path = s->lock_path = NULL;
}
