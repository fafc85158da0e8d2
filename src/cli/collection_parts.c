/* collection_parts.c - see collection_parts.h. */
#include "collection_parts.h"
#include "collection_files.h"
#include "collection_net.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define NAME_BYTES 4200u

void cli_parts_wipe(cli_parts *p)
{
    for (uint32_t i = 0; p->part && i < p->n; i++)
        fre_buf_wipe(&p->part[i]);
    free(p->part);
    free(p->view);
    *p = (cli_parts){NULL};
}

static bool is_address(const char *from)
{
    return strncmp(from, "http://", 7) == 0 || strncmp(from, "https://", 8) == 0;
}

/* Where parts come from. */
typedef struct source {
    const fre_wire *w;
    const char *folder; /* NULL: an address */
    const char *url;
} source;

static fre_status read_one(fre_buf *out, const source *s, uint32_t i, fre_err *err)
{
    char name[NAME_BYTES], id[2 * sizeof s->w->id.b + 1];

    if (s->folder) {
        if ((size_t)snprintf(name, sizeof name, "%s/release-%u", s->folder, i) >= sizeof name)
            return fre_fail(err, FRE_E_NOINPUT, "the path '%.200s...' is too long", s->folder);
        return fre_file_read(out, name, err);
    }
    fre_hex(id, s->w->id.b, sizeof s->w->id.b);
    (void)snprintf(name, sizeof name, FRE_COLLECTION_PATH "%s/release/%u", id, i);
    return cli_net_get(out, s->url, s->w->c.relay_pin, name, err);
}

/* Signature and place; the first says how many there are. */
static fre_status check_one(uint32_t *count, const fre_buf *b, const source *s, uint32_t i,
                            fre_err *err)
{
    fre_err why = {.text = ""};
    fre_release_part m;
    fre_status st = fre_release_part_decode(&m, s->w, (fre_bytes){b->p, b->n}, &why);

    if (st != FRE_OK)
        return fre_fail(err, st, "part %u of the release: %.400s", i,
                        why.text[0] ? why.text : fre_status_text(st));
    if (m.part.index != i)
        return fre_fail(err, FRE_E_DATA, "part %u of the release is in the place of part %u",
                        m.part.index, i);
    *count = m.part.count;
    return FRE_OK;
}

static fre_status add_one(cli_parts *p, const source *s, uint32_t *count, fre_err *err)
{
    const uint32_t i = p->n;
    fre_status st;

    fre_buf_init(&p->part[i], FRE_WIRE_MESSAGE_MAX);
    p->n++;
    st = read_one(&p->part[i], s, i, err);
    if (st == FRE_OK)
        st = check_one(count, &p->part[i], s, i, err);
    p->view[i] = (fre_bytes){p->part[i].p, p->part[i].n};
    return st;
}

static fre_status make_room(cli_parts *p, size_t n, fre_err *err)
{
    fre_buf *part = realloc(p->part, n * sizeof *part);
    fre_bytes *view;

    if (part)
        p->part = part;
    view = realloc(p->view, n * sizeof *view);
    if (view)
        p->view = view;
    return part && view ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");
}

static fre_status read_all(cli_parts *p, const source *s, fre_err *err)
{
    uint32_t count = 1, same;
    fre_status st = make_room(p, 1, err);

    if (st == FRE_OK)
        st = add_one(p, s, &count, err);
    if (st == FRE_OK)
        st = make_room(p, count, err);
    while (st == FRE_OK && p->n < count)
        st = add_one(p, s, &same, err);
    return st;
}

fre_status cli_parts_read(cli_parts *out, const fre_collection *c, const char *from, fre_err *err)
{
    source s = {.url = c->relay_url};
    cli_parts p = {NULL};
    fre_wire w;
    fre_status st = fre_wire_init(&w, c, err);

    if (st != FRE_OK)
        return st;
    s.w = &w;
    if (from && is_address(from))
        s.url = from;
    else
        s.folder = from;
    st = read_all(&p, &s, err);
    if (st == FRE_OK)
        *out = p;
    else
        cli_parts_wipe(&p);
    return st;
}

fre_status cli_parts_keep(const cli_parts *p, const char *folder, fre_err *err)
{
    char name[NAME_BYTES];
    fre_status st = FRE_OK;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return fre_open_failed(err, errno, FRE_E_EXISTS, FRE_CHECK_PATH,
                               "cannot make the folder '%.300s'", folder);
    for (uint32_t i = 0; st == FRE_OK && i < p->n; i++) {
        if ((size_t)snprintf(name, sizeof name, "%s/release-%u", folder, i) >= sizeof name)
            return fre_fail(err, FRE_E_EXISTS, "the path '%.200s...' is too long", folder);
        st = cli_write_text(name, p->view[i], false, err);
    }
    return st;
}

void cli_parts_hash(uint8_t out[FRE_HASH_BYTES], const cli_parts *p)
{
    uint8_t one[FRE_HASH_BYTES];
    fre_sha256 h, all;

    fre_sha256_begin(&all, (fre_bytes){NULL, 0});
    for (uint32_t i = 0; i < p->n; i++) {
        fre_sha256_begin(&h, p->view[i]);
        fre_sha256_end(one, &h);
        fre_sha256_add(&all, one, sizeof one);
    }
    fre_sha256_end(out, &all);
}
