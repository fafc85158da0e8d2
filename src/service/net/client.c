/* client.c - requests to one server, whose key is known. */
#include "net_private.h"

#include <signal.h>
#include <time.h>

#include <curl/curl.h>

#define IDLE_MAX 8u /* handles, each with a connection of its own, that are kept */
#define HEADERS_MAX 16384u
#define PIN_TEXT_BYTES 64u

struct fre_http_client {
    char *url, *proxy;
    bool tls;
    char pin[PIN_TEXT_BYTES];   /* "sha256//" and base64; empty: any key */
    uint8_t *certificate, *key; /* the key is SECRET */
    size_t certificate_bytes, key_bytes;
    unsigned connect_seconds, total_seconds;
    size_t limit;
    struct curl_slist *post_headers, *get_headers;
    atomic_bool cancelled;
    pthread_mutex_t lock;
    CURL *idle[IDLE_MAX];
    unsigned n_idle;
};

/* ---- making -------------------------------------------------------------------------------------- */

static bool curl_usable;

static void begin_curl(void)
{
    curl_usable = curl_global_init(CURL_GLOBAL_DEFAULT) == 0;
}

static void pin_text(char out[PIN_TEXT_BYTES], const uint8_t pin[FRE_NET_PIN_BYTES])
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    static const char before[] = "sha256//";
    uint8_t padded[FRE_NET_PIN_BYTES + 1] = {0};
    char *p = out + strlen(before);

    memcpy(out, before, strlen(before));
    memcpy(padded, pin, FRE_NET_PIN_BYTES);
    for (size_t i = 0; i < sizeof padded; i += 3) {
        const uint32_t v = (uint32_t)padded[i] << 16 | (uint32_t)padded[i + 1] << 8 | padded[i + 2];

        for (int shift = 18; shift >= 0; shift -= 6)
            *p++ = digits[v >> shift & 63];
    }
    p[-1] = '='; /* 32 bytes: one short of a multiple of three */
    *p = '\0';
}

/* "//HOST[:PORT]" of a scheme, and nothing else: no user, path, query or space. */
static bool authority_ok(const char *p)
{
    size_t n;

    if (strncmp(p, "//", 2) != 0)
        return false;
    n = strspn(p + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789.-_:[]");
    return n > 0 && n <= 300 && p[2 + n] == '\0';
}

static bool url_ok(const char *url, bool *tls)
{
    *tls = strncmp(url, "https:", 6) == 0;
    return *tls ? authority_ok(url + 6) : strncmp(url, "http:", 5) == 0 && authority_ok(url + 5);
}

static fre_status check(const fre_http_client_opts *o, fre_err *err)
{
    bool tls;

    if (!o->url || !url_ok(o->url, &tls))
        return fre_fail(err, FRE_E_ARG, "a server's address is https://HOST:PORT, without a path");
    if (tls && !o->pin == !o->any_key)
        return fre_fail(err, FRE_E_ARG, "a server with https needs the pin of its key");
    if (!tls && (o->pin || o->any_key || o->certificate_pem.n > 0))
        return fre_fail(err, FRE_E_ARG, "a server whose key is pinned needs https");
    if (o->proxy && (strncmp(o->proxy, "socks5h:", 8) != 0 || !authority_ok(o->proxy + 8)))
        return fre_fail(err, FRE_E_ARG, "a proxy is socks5h://HOST:PORT");
    if (o->certificate_pem.n > 0 || o->key_pem.n > 0)
        return net_pair_check(o->certificate_pem, o->key_pem, err);
    return FRE_OK;
}

static bool copy_bytes(uint8_t **out, size_t *n, fre_bytes b)
{
    if (b.n == 0)
        return true;
    *out = malloc(b.n);
    if (!*out)
        return false;
    memcpy(*out, b.p, b.n);
    *n = b.n;
    return true;
}

/* An empty value takes a header away that libcurl would send by itself. */
static bool add_headers(struct curl_slist **list, const char *const *line)
{
    for (; *line; line++) {
        struct curl_slist *longer = curl_slist_append(*list, *line);

        if (!longer)
            return false;
        *list = longer;
    }
    return true;
}

static bool fill(fre_http_client *c, const fre_http_client_opts *o)
{
    static const char *const post[] = {"Content-Type: " FRE_NET_TYPE,
                                       "Accept:", "Expect:", "User-Agent:", NULL};
    static const char *const get[] = {"Accept:", "User-Agent:", NULL};

    c->connect_seconds = o->connect_seconds > 0 ? o->connect_seconds : 10;
    c->total_seconds = o->total_seconds > 0 ? o->total_seconds : 60;
    c->limit = o->limit > 0 ? o->limit : (size_t)64 << 20;
    c->tls = o->pin || o->any_key;
    if (o->pin)
        pin_text(c->pin, o->pin);
    c->url = strdup(o->url);
    c->proxy = strdup(o->proxy ? o->proxy : "");
    return c->url && c->proxy &&
           copy_bytes(&c->certificate, &c->certificate_bytes, o->certificate_pem) &&
           copy_bytes(&c->key, &c->key_bytes, o->key_pem) && add_headers(&c->post_headers, post) &&
           add_headers(&c->get_headers, get);
}

bool fre_net_split(char origin[FRE_NET_URL_BYTES], char path[FRE_NET_PATH_BYTES], const char *url,
                   const char *rest)
{
    const char *host = strstr(url, "://"), *slash = host ? strchr(host + 3, '/') : NULL;
    const size_t n = slash ? (size_t)(slash - url) : strlen(url);
    size_t below = slash ? strlen(slash) : 0;

    below -= below > 0 && slash[below - 1] == '/';
    return host && n < FRE_NET_URL_BYTES &&
           (size_t)snprintf(origin, FRE_NET_URL_BYTES, "%.*s", (int)n, url) < FRE_NET_URL_BYTES &&
           (size_t)snprintf(path, FRE_NET_PATH_BYTES, "%.*s%s", (int)below, slash ? slash : "",
                            rest) < FRE_NET_PATH_BYTES;
}

fre_status fre_http_client_new(fre_http_client **out, const fre_http_client_opts *opts,
                               fre_err *err)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    fre_http_client *c;
    fre_status st;

    if (!out || !opts)
        return FRE_E_ARG;
    st = check(opts, err);
    if (st != FRE_OK)
        return st;
    (void)pthread_once(&once, begin_curl);
    if (!curl_usable)
        return fre_fail(err, FRE_E_INTERNAL, "the HTTP library could not begin");
    c = calloc(1, sizeof *c);
    if (!c)
        return FRE_E_NOMEM;
    (void)pthread_mutex_init(&c->lock, NULL);
    if (!fill(c, opts)) {
        fre_http_client_free(c);
        return FRE_E_NOMEM;
    }
    *out = c;
    return FRE_OK;
}

void fre_http_client_free(fre_http_client *c)
{
    if (!c)
        return;
    while (c->n_idle > 0)
        curl_easy_cleanup(c->idle[--c->n_idle]);
    curl_slist_free_all(c->post_headers);
    curl_slist_free_all(c->get_headers);
    (void)pthread_mutex_destroy(&c->lock);
    fre_wipe_free(c->key, c->key_bytes);
    free(c->certificate);
    free(c->url);
    free(c->proxy);
    free(c);
}

void fre_http_client_cancel(fre_http_client *c)
{
    if (c)
        atomic_store(&c->cancelled, true);
}

/* ---- one request --------------------------------------------------------------------------------- */

typedef struct exchange {
    fre_buf *answer;
    size_t limit, headers;
    bool whole_head;
    fre_status st; /* of what came */
} exchange;

static size_t on_answer(char *p, size_t size, size_t n, void *ctx)
{
    exchange *x = ctx;

    x->st =
        size * n > x->limit - x->answer->n ? FRE_E_LIMIT : fre_buf_append(x->answer, p, size * n);
    return x->st == FRE_OK ? size * n : 0;
}

static size_t on_header(char *p, size_t size, size_t n, void *ctx)
{
    exchange *x = ctx;

    /* An empty line ends a head, that of a 100 too. */
    x->whole_head = size * n <= 2 && (p[0] == '\r' || p[0] == '\n');
    x->headers += size * n;
    if (x->headers <= HEADERS_MAX)
        return size * n;
    x->st = FRE_E_LIMIT;
    return 0;
}

/* libcurl asks all the time, and once a second where nothing happens. */
static int on_progress(void *ctx, curl_off_t all, curl_off_t so_far, curl_off_t up_all,
                       curl_off_t up_so_far)
{
    (void)all;
    (void)so_far;
    (void)up_all;
    (void)up_so_far;
    return atomic_load(&((fre_http_client *)ctx)->cancelled);
}

static CURL *handle_of(fre_http_client *c)
{
    CURL *h = NULL;

    (void)pthread_mutex_lock(&c->lock);
    if (c->n_idle > 0)
        h = c->idle[--c->n_idle];
    (void)pthread_mutex_unlock(&c->lock);
    return h ? h : curl_easy_init();
}

/* With its connection, which the next request finds. */
static void give_back(fre_http_client *c, CURL *h, bool good)
{
    (void)pthread_mutex_lock(&c->lock);
    if (good && c->n_idle < IDLE_MAX) {
        c->idle[c->n_idle++] = h;
        h = NULL;
    }
    (void)pthread_mutex_unlock(&c->lock);
    if (h)
        curl_easy_cleanup(h);
}

/* Whom to trust: the pin decides alone, so that no authority and no date can; without one nobody is. */
static bool set_tls(CURL *h, const fre_http_client *c)
{
    struct curl_blob certificate = {c->certificate, c->certificate_bytes, CURL_BLOB_NOCOPY};
    struct curl_blob key = {c->key, c->key_bytes, CURL_BLOB_NOCOPY};
    CURLcode e = curl_easy_setopt(h, CURLOPT_PINNEDPUBLICKEY, c->pin[0] ? c->pin : NULL);

    e = e ? e : curl_easy_setopt(h, CURLOPT_SSL_VERIFYPEER, 0L);
    e = e ? e : curl_easy_setopt(h, CURLOPT_SSL_VERIFYHOST, 0L);
    e = e ? e : curl_easy_setopt(h, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
    e = e ? e : curl_easy_setopt(h, CURLOPT_SSL_SESSIONID_CACHE, 0L);
    if (e == CURLE_OK && c->key) {
        e = curl_easy_setopt(h, CURLOPT_SSLCERT_BLOB, &certificate);
        e = e ? e : curl_easy_setopt(h, CURLOPT_SSLKEY_BLOB, &key);
    }
    return e == CURLE_OK;
}

/* An empty proxy and an empty list of exceptions: the environment is not asked for either. */
static bool set_way(CURL *h, fre_http_client *c)
{
    CURLcode e = curl_easy_setopt(h, CURLOPT_PROTOCOLS_STR, c->tls ? "https" : "http");

    e = e ? e : curl_easy_setopt(h, CURLOPT_PROXY, c->proxy);
    e = e ? e : curl_easy_setopt(h, CURLOPT_NOPROXY, "");
    e = e ? e : curl_easy_setopt(h, CURLOPT_FOLLOWLOCATION, 0L);
    e = e ? e : curl_easy_setopt(h, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
    e = e ? e : curl_easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    e = e ? e : curl_easy_setopt(h, CURLOPT_PATH_AS_IS, 1L);
    e = e ? e : curl_easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
    e = e ? e : curl_easy_setopt(h, CURLOPT_MAXCONNECTS, 1L);
    e = e ? e : curl_easy_setopt(h, CURLOPT_CONNECTTIMEOUT, (long)c->connect_seconds);
    e = e ? e : curl_easy_setopt(h, CURLOPT_TIMEOUT, (long)c->total_seconds);
    e = e ? e : curl_easy_setopt(h, CURLOPT_NOPROGRESS, 0L);
    e = e ? e : curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, on_progress);
    e = e ? e : curl_easy_setopt(h, CURLOPT_XFERINFODATA, c);
    return e == CURLE_OK;
}

static bool set_request(CURL *h, const fre_http_client *c, const char *url, const fre_bytes *body,
                        exchange *x)
{
    CURLcode e = curl_easy_setopt(h, CURLOPT_URL, url);

    if (e == CURLE_OK && body) {
        e = curl_easy_setopt(h, CURLOPT_POST, 1L);
        e = e ? e : curl_easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body->n);
        e = e ? e
              : curl_easy_setopt(h, CURLOPT_POSTFIELDS, body->n > 0 ? (const char *)body->p : "");
    }
    e = e ? e : curl_easy_setopt(h, CURLOPT_HTTPHEADER, body ? c->post_headers : c->get_headers);
    e = e ? e : curl_easy_setopt(h, CURLOPT_WRITEFUNCTION, on_answer);
    e = e ? e : curl_easy_setopt(h, CURLOPT_WRITEDATA, x);
    e = e ? e : curl_easy_setopt(h, CURLOPT_HEADERFUNCTION, on_header);
    e = e ? e : curl_easy_setopt(h, CURLOPT_HEADERDATA, x);
    return e == CURLE_OK;
}

static const struct {
    CURLcode code;
    fre_status st;
    const char *text;
} failures[] = {
    {CURLE_OUT_OF_MEMORY, FRE_E_NOMEM, "out of memory"},
    {CURLE_SSL_PINNEDPUBKEYNOTMATCH, FRE_E_KEY,
     "the server does not have the key that is pinned: somebody else answers, or its key was "
     "replaced"},
    {CURLE_SSL_CONNECT_ERROR, FRE_E_IO,
     "the server agreed on no TLS 1.2 or 1.3: it speaks something else, does not take this "
     "certificate, or went away"},
    {CURLE_ABORTED_BY_CALLBACK, FRE_E_IO, "the request was given up"},
    {CURLE_WEIRD_SERVER_REPLY, FRE_E_DATA, "the server's answer is no HTTP"},
    {CURLE_UNSUPPORTED_PROTOCOL, FRE_E_DATA, "the server's answer is no HTTP"},
    {CURLE_OPERATION_TIMEDOUT, FRE_E_IO, "the server took too long: try again later"},
    {CURLE_COULDNT_CONNECT, FRE_E_IO, "the server cannot be reached: try again later"},
    {CURLE_COULDNT_RESOLVE_HOST, FRE_E_IO, "the server's name is not known: try again later"},
    {CURLE_COULDNT_RESOLVE_PROXY, FRE_E_IO, "the proxy's name is not known: try again later"},
    {CURLE_PROXY, FRE_E_IO, "the proxy does not reach the server: try again later"},
};

static fre_status failed(CURLcode e, const exchange *x, fre_err *err)
{
    if (e == CURLE_OK)
        return FRE_OK;
    if (x->st != FRE_OK)
        return fre_fail(err, x->st, "the server's answer: %s", fre_status_text(x->st));
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++)
        if (failures[i].code == e)
            return fre_fail(err, failures[i].st, "%s", failures[i].text);
    return fre_fail(err, FRE_E_IO, "the server went away: try again later");
}

/* OpenSSL may write to a connection that is closed. */
static CURLcode perform(CURL *h)
{
    const struct timespec now = {0, 0};
    sigset_t pipe, before, pending;
    CURLcode e;

    (void)sigemptyset(&pipe);
    (void)sigaddset(&pipe, SIGPIPE);
    (void)sigpending(&pending);
    (void)pthread_sigmask(SIG_BLOCK, &pipe, &before);
    e = curl_easy_perform(h);
    if (!sigismember(&pending, SIGPIPE))
        while (sigtimedwait(&pipe, NULL, &now) > 0)
            ;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return e;
}

/* libcurl takes a head that breaks off, and a body that ends with its connection, for whole ones: whoever can
 * break a connection could shorten an answer. */
static fre_status check_whole(CURL *h, const exchange *x, fre_err *err)
{
    curl_off_t length = -1;

    if (!x->whole_head)
        return fre_fail(err, FRE_E_IO, "the server went away: try again later");
    (void)curl_easy_getinfo(h, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    return length >= 0 ? FRE_OK : fre_fail(err, FRE_E_DATA, "the server's answer has no length");
}

static void tell(CURL *h, unsigned *status, unsigned *retry_after)
{
    long code = 0;
    curl_off_t wait = 0;

    (void)curl_easy_getinfo(h, CURLINFO_RESPONSE_CODE, &code);
    (void)curl_easy_getinfo(h, CURLINFO_RETRY_AFTER, &wait);
    *status = (unsigned)code;
    if (retry_after)
        *retry_after = wait < 0 ? 0 : wait > 86400 ? 86400 : (unsigned)wait;
}

static fre_status ask(fre_http_client *c, CURL *h, fre_buf *answer, unsigned *status,
                      unsigned *retry_after, const char *url, const fre_bytes *body, fre_err *err)
{
    exchange x = {.answer = answer, .limit = c->limit};
    fre_status st;

    curl_easy_reset(h); /* of options; its connection stays */
    if (!set_way(h, c) || (c->tls && !set_tls(h, c)) || !set_request(h, c, url, body, &x))
        return FRE_E_NOMEM;
    st = failed(perform(h), &x, err);
    if (st == FRE_OK)
        st = check_whole(h, &x, err);
    if (st == FRE_OK)
        tell(h, status, retry_after);
    else
        fre_buf_wipe(answer);
    return st;
}

static fre_status exchange_one(fre_http_client *c, fre_buf *answer, unsigned *status,
                               unsigned *retry_after, const char *path, const fre_bytes *body,
                               fre_err *err)
{
    char url[FRE_NET_PATH_MAX + 320];
    CURL *h;
    fre_status st;

    if (!c || !answer || answer->n > 0 || !status || !net_path_ok(path))
        return FRE_E_ARG;
    (void)snprintf(url, sizeof url, "%s%s", c->url, path);
    h = handle_of(c);
    if (!h)
        return FRE_E_NOMEM;
    st = ask(c, h, answer, status, retry_after, url, body, err);
    give_back(c, h, st == FRE_OK);
    return st;
}

fre_status fre_http_post(fre_http_client *c, fre_buf *answer, unsigned *status,
                         unsigned *retry_after, const char *path, fre_bytes body, fre_err *err)
{
    return exchange_one(c, answer, status, retry_after, path, &body, err);
}

fre_status fre_http_get(fre_http_client *c, fre_buf *answer, unsigned *status,
                        unsigned *retry_after, const char *path, fre_err *err)
{
    return exchange_one(c, answer, status, retry_after, path, NULL, err);
}
