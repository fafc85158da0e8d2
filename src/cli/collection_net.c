/* collection_net.c - see collection_net.h. */
#include "collection_net.h"

#include <string.h>

#ifdef FRE_HAVE_NET
#include <fre/net.h>

#define HOST_BYTES 256u

static void host_of(char out[HOST_BYTES], const char *url)
{
    const char *from = strstr(url, "://");
    size_t n;

    from = from ? from + 3 : url;
    n = *from == '[' ? strcspn(++from, "]") : strcspn(from, ":/");
    (void)snprintf(out, HOST_BYTES, "%.*s", (int)(n < HOST_BYTES ? n : HOST_BYTES - 1), from);
}

fre_status cli_net_pin(uint8_t pin[FRE_HASH_BYTES], const char *path, fre_err *err)
{
    fre_buf pem;
    fre_status st;

    fre_buf_init(&pem, 1u << 20);
    st = fre_file_read(&pem, path, err);
    if (st == FRE_OK)
        st = fre_net_spki_pin(pin, (fre_bytes){pem.p, pem.n}, err);
    fre_buf_wipe(&pem);
    return st;
}

fre_status cli_net_certificate(fre_buf *certificate, fre_buf *key, uint8_t pin[FRE_HASH_BYTES],
                               const char *url, fre_err *err)
{
    char host[HOST_BYTES];
    fre_status st;

    host_of(host, url);
    st = fre_net_self_signed(certificate, key, host, err);
    return st == FRE_OK ? fre_net_spki_pin(pin, (fre_bytes){certificate->p, certificate->n}, err)
                        : st;
}

/* ---- requests ---------------------------------------------------------------------------------- */

static fre_status verdict(unsigned status, const char *base, fre_err *err)
{
    if (status == 200)
        return FRE_OK;
    if (status == 404 || status == 429 || status == 503)
        return fre_fail(err, FRE_E_AGAIN, "%s answers %u: %s; try again later", base, status,
                        status == 404 ? "it is not there yet, or is not served there"
                                      : "it has no time");
    return fre_fail(err, FRE_E_REFUSED, "%s answers %u", base, status);
}

fre_status cli_net_get(fre_buf *out, const char *url, const uint8_t *pin, const char *rest,
                       fre_err *err)
{
    char base[FRE_NET_URL_BYTES], path[FRE_NET_PATH_BYTES];
    const fre_http_client_opts o = {.url = base,
                                    .pin = strncmp(url, "https://", 8) == 0 ? pin : NULL};
    fre_http_client *c = NULL;
    unsigned status = 0;
    fre_status st;

    if (!fre_net_split(base, path, url, rest))
        return fre_fail(err, FRE_E_USAGE, "'%.200s' is no address", url);
    st = fre_http_client_new(&c, &o, err);
    if (st != FRE_OK)
        return st;
    st = fre_http_get(c, out, &status, NULL, path, err);
    fre_http_client_free(c);
    return st == FRE_OK ? verdict(status, base, err) : st;
}

#else

static fre_status is_missing(fre_err *err)
{
    return fre_fail(err, FRE_E_USAGE,
                    "this program was built without libmicrohttpd, GnuTLS and libcurl, which https "
                    "needs: install them and build it again");
}

fre_status cli_net_pin(uint8_t pin[FRE_HASH_BYTES], const char *path, fre_err *err)
{
    (void)pin;
    (void)path;
    return is_missing(err);
}

fre_status cli_net_certificate(fre_buf *certificate, fre_buf *key, uint8_t pin[FRE_HASH_BYTES],
                               const char *url, fre_err *err)
{
    (void)certificate;
    (void)key;
    (void)pin;
    (void)url;
    return is_missing(err);
}

fre_status cli_net_get(fre_buf *out, const char *url, const uint8_t *pin, const char *rest,
                       fre_err *err)
{
    (void)out;
    (void)url;
    (void)pin;
    (void)rest;
    return is_missing(err);
}
#endif
