/* contribute/terms.c - terms by their address, of which their id is the end: whoever answers can give those, or none. */
#include "contribute_private.h"

#include <unistd.h>

#define TERMS_BYTES_MAX 65536u

static bool id_of(fre_collection_id *id, const char *url)
{
    const size_t before = strlen(FRE_COLLECTION_PATH), digits = 2 * sizeof id->b, n = strlen(url);

    return n > before + digits &&
           strncmp(url + n - digits - before, FRE_COLLECTION_PATH, before) == 0 &&
           fre_unhex(id->b, sizeof id->b, url + n - digits);
}

/* Of that id, or nothing. */
static fre_status decode(fre_collection *out, const fre_collection_id *id, const fre_buf *b)
{
    fre_collection_id found;
    fre_collection c;
    fre_status st = fre_collection_decode(&c, (fre_bytes){b->p, b->n}, NULL);

    if (st == FRE_OK)
        st = fre_collection_identify(&found, &c, NULL);
    if (st == FRE_E_NOMEM)
        return st;
    if (st != FRE_OK || memcmp(found.b, id->b, sizeof found.b) != 0)
        return FRE_E_DATA;
    *out = c;
    return FRE_OK;
}

static fre_status fetch(fre_buf *out, const char *url, const char *proxy, fre_err *err)
{
    char origin[FRE_NET_URL_BYTES], path[FRE_NET_PATH_BYTES];
    const fre_http_client_opts opts = {.url = origin,
                                       .any_key = strncmp(url, "https:", 6) == 0,
                                       .proxy = proxy,
                                       .limit = TERMS_BYTES_MAX};
    fre_http_client *c = NULL;
    fre_status st;

    if (!fre_net_split(origin, path, url, ""))
        return fre_fail(err, FRE_E_USAGE, "the collection's address is too long");
    st = fre_http_client_new(&c, &opts, err);
    return st == FRE_OK
               ? contribute_get(out, c, path, "there is no such collection at that address",
                                FRE_E_NOINPUT, err)
               : st;
}

static fre_status fetch_and_keep(fre_collection *out, const fre_collection_id *id, const char *url,
                                 const char *kept, const char *proxy, fre_err *err)
{
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, TERMS_BYTES_MAX);
    st = fetch(&b, url, proxy, err);
    if (st == FRE_OK && (st = decode(out, id, &b)) == FRE_E_DATA)
        st = fre_fail(err, st,
                      "what that address gives is not the collection that it names: ask whoever gave "
                      "it to you");
    if (st == FRE_OK)
        st = fre_private_write(kept, (fre_bytes){b.p, b.n}, access(kept, F_OK) == 0, err);
    fre_buf_wipe(&b);
    return st;
}

fre_status fre_contribute_fetch_terms(fre_collection *out, const char *url, const char *kept,
                                      const char *proxy, fre_err *err)
{
    fre_collection_id id;
    fre_buf b;
    fre_status st;

    if (!out || !url || !kept)
        return FRE_E_ARG;
    if (!id_of(&id, url))
        return fre_fail(err, FRE_E_USAGE,
                        "a collection's address is ..." FRE_COLLECTION_PATH
                        "ID, with an id of %zu hexadecimal digits",
                        2 * sizeof id.b);
    fre_buf_init(&b, TERMS_BYTES_MAX);
    st = fre_file_read(&b, kept, NULL);
    if (st == FRE_OK)
        st = decode(out, &id, &b);
    fre_buf_wipe(&b);
    return st == FRE_OK || st == FRE_E_NOMEM ? st
                                             : fetch_and_keep(out, &id, url, kept, proxy, err);
}
