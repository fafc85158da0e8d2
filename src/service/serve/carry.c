/* serve/carry.c - the other roles: who they are, what each may send, and messages to them. */
#include "serve_private.h"

/* ---- who they are ----------------------------------------------------------------------------------- */

bool serve_has_others(const fre_serve *s)
{
    return s->config->peers[s->config->role] != NULL;
}

fre_role serve_role_of(const serve_site *x, const uint8_t pin[FRE_NET_PIN_BYTES])
{
    for (unsigned role = FRE_ROLE_TAG; role < SERVE_ROLES; role++)
        if ((role != x->s->config->role || serve_has_others(x->s)) &&
            memcmp(x->shown_pin[role], pin, FRE_NET_PIN_BYTES) == 0)
            return (fre_role)role;
    return (fre_role)0;
}

/* ---- what each may send -------------------------------------------------------------------------------- */

#define FROM(role) (1u << (role))
#define ANY (FROM(FRE_ROLE_TAG) | FROM(FRE_ROLE_SYN) | FROM(FRE_ROLE_RELAY) | FROM(FRE_ROLE_ISSUER))

/* Whoever signs it.  What a type means to a role is its machine's to say. */
static const uint8_t sender[FRE_WIRE_TYPES] = {
    [FRE_WIRE_CLOSED] = FROM(FRE_ROLE_TAG),
    [FRE_WIRE_MIXED] = FROM(FRE_ROLE_TAG),
    [FRE_WIRE_SUMMED] = FROM(FRE_ROLE_TAG),
    [FRE_WIRE_MARK] = FROM(FRE_ROLE_TAG),
    [FRE_WIRE_VOUCH] = FROM(FRE_ROLE_SYN),
    [FRE_WIRE_LIST] = FROM(FRE_ROLE_SYN),
    [FRE_WIRE_LISTED] = FROM(FRE_ROLE_SYN),
    [FRE_WIRE_UNSEAL] = FROM(FRE_ROLE_SYN),
    [FRE_WIRE_RELEASE] = FROM(FRE_ROLE_SYN),
    [FRE_WIRE_COLLECTED] = FROM(FRE_ROLE_RELAY),
    [FRE_WIRE_GATHERED] = FROM(FRE_ROLE_RELAY),
    [FRE_WIRE_CANCEL] = ANY,
    [FRE_WIRE_MASK_PUT] = ANY,
    [FRE_WIRE_MASK_GET] = ANY,
    [FRE_WIRE_MASK_WIPE] = ANY,
};

/* Encapsulated requests are signed by nobody: they come from the relay, or are no participant's.  From another process of
 * the relay comes what clients sent it, and nothing else. */
bool serve_may_send(fre_role here, fre_role from, fre_bytes message)
{
    fre_wire_type type;
    fre_collection_id id;

    if (message.n > 0 && message.p[0] == FRE_COLLECTION_OHTTP_KEY_ID)
        return from == FRE_ROLE_RELAY && from != here &&
               (here == FRE_ROLE_TAG || here == FRE_ROLE_ISSUER);
    if (fre_wire_peek(&type, &id, message) != FRE_OK)
        return false;
    if (from == (fre_role)0 || from == here)
        return here == FRE_ROLE_RELAY && type == FRE_WIRE_CARRY;
    return (sender[type] & FROM(from)) != 0;
}

fre_role serve_signer_of(fre_role here, fre_bytes message)
{
    for (unsigned role = FRE_ROLE_TAG; role < SERVE_ROLES; role++)
        if ((fre_role)role != here && serve_may_send(here, (fre_role)role, message))
            return (fre_role)role;
    return serve_may_send(here, here, message) ? here : (fre_role)0;
}

/* ---- messages -------------------------------------------------------------------------------------------- */

/* What a role shows its peers: a certificate of the key that it signs with. */
typedef struct identity {
    fre_buf certificate, key; /* key: SECRET */
} identity;

#define LETTER_SECONDS 120u
#define QUICK_SECONDS 10u

/* One address of a process. */
static fre_status open_way(serve_way *way, const serve_site *x, fre_role role, const char *url,
                           const identity *me, fre_err *err)
{
    const bool quick = x->s->config->role == FRE_ROLE_RELAY;
    char origin[FRE_NET_URL_BYTES];
    fre_http_client_opts opts = {.url = origin,
                                 .connect_seconds = 5,
                                 .total_seconds = LETTER_SECONDS};
    fre_status st;

    if (strncmp(url, "https:", 6) == 0) {
        opts.pin = fre_collection_party(&x->terms.c, role).pin;
        opts.certificate_pem = serve_view(&me->certificate);
        opts.key_pem = serve_view(&me->key);
    }
    if (!fre_net_split(origin, way->path, url, x->path))
        return fre_fail(err, FRE_E_DATA, "the address of another role is too long");
    st = fre_http_client_new(&way->slow, &opts, err);
    opts.total_seconds = QUICK_SECONDS;
    return st == FRE_OK && quick ? fre_http_client_new(&way->quick, &opts, err) : st;
}

/* Where a role listens for its peers, as the operator of this one knows it. */
static fre_status open_peer(serve_site *x, fre_role role, const identity *me, fre_err *err)
{
    const char *known = x->s->config->peers[role];
    const char *at = known ? known : fre_collection_party(&x->terms.c, role).url;
    serve_party *to = &x->peer[role];
    fre_status st = FRE_OK;

    while (st == FRE_OK && *at && to->n < FRE_CONFIG_ADDRESSES_MAX) {
        const size_t bytes = strcspn(at, " ");
        char *url = strndup(at, bytes);

        st = url ? open_way(&to->way[to->n++], x, role, url, me, err) : FRE_E_NOMEM;
        free(url);
        at += bytes + (at[bytes] == ' ');
    }
    return st;
}

/* A front speaks to its like alone. */
static bool is_wanted(const serve_site *x, fre_role role)
{
    const bool own = role == x->s->config->role;

    return own ? x->front && role == FRE_ROLE_RELAY : !x->front;
}

fre_status serve_peers_open(serve_site *x, fre_err *err)
{
    const fre_role me = x->s->config->role;
    char origin[FRE_NET_URL_BYTES];
    identity shown;
    fre_status st;

    (void)snprintf(x->path, sizeof x->path, FRE_COLLECTION_PATH "%s", x->name);
    if (!fre_net_split(origin, x->own_path, fre_collection_party(&x->terms.c, me).url, ""))
        return fre_fail(err, FRE_E_DATA, "this role's address in the terms is too long");

    for (unsigned role = FRE_ROLE_TAG; role < SERVE_ROLES; role++)
        fre_net_ed25519_pin(x->shown_pin[role],
                            fre_collection_party(&x->terms.c, (fre_role)role).sign->b);
    fre_buf_init(&shown.certificate, FRE_NET_PEM_MAX);
    fre_buf_init(&shown.key, FRE_NET_PEM_MAX);
    st = fre_net_ed25519_certificate(&shown.certificate, &shown.key,
                                     fre_keys_server(x->keys)->sign.b, err);
    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role < SERVE_ROLES; role++)
        if (is_wanted(x, (fre_role)role))
            st = open_peer(x, (fre_role)role, &shown, err);
    fre_buf_wipe(&shown.certificate);
    fre_buf_wipe(&shown.key);
    return st;
}

static void each_way(serve_site *x, void (*fn)(fre_http_client *c))
{
    for (unsigned role = 0; role < SERVE_ROLES; role++)
        for (size_t i = 0; i < x->peer[role].n; i++) {
            fn(x->peer[role].way[i].slow);
            fn(x->peer[role].way[i].quick);
        }
}

void serve_peers_cancel(serve_site *x)
{
    each_way(x, fre_http_client_cancel);
}

void serve_peers_close(serve_site *x)
{
    each_way(x, fre_http_client_free);
    for (unsigned role = 0; role < SERVE_ROLES; role++)
        x->peer[role].n = 0;
}

/* ---- to a role, by whichever of its processes takes it --------------------------------------------------- */

typedef struct sending {
    bool quick;
    const fre_bytes *message; /* NULL: a GET */
    const char *rest;
} sending;

static fre_status try_way(const serve_way *way, const sending *what, fre_buf *answer,
                          unsigned *status)
{
    fre_http_client *c = what->quick && way->quick ? way->quick : way->slow;
    char path[FRE_NET_PATH_BYTES];

    *status = 0;
    if (what->message)
        return fre_http_post(c, answer, status, NULL, way->path, *what->message, NULL);
    if ((size_t)snprintf(path, sizeof path, "%s%s", way->path, what->rest) >= sizeof path)
        return FRE_E_ARG;
    return fre_http_get(c, answer, status, NULL, path, NULL);
}

/* From the one that answered last, each once: who plays no role says 503, and who is away nothing.  FRE_E_AGAIN: nobody
 * answered. */
static fre_status send_to(serve_party *to, const sending *what, fre_buf *answer, unsigned *status)
{
    const size_t first = atomic_load(&to->last);

    for (size_t i = 0; i < to->n; i++) {
        const size_t at = (first + i) % to->n;
        const fre_status st = try_way(&to->way[at], what, answer, status);

        if (st == FRE_OK && (*status == 200 || (!what->message && *status == 404))) {
            atomic_store(&to->last, at);
            return FRE_OK;
        }
        fre_buf_wipe(answer);
        if (st == FRE_E_NOMEM)
            return st;
    }
    return FRE_E_AGAIN;
}

fre_status serve_own_ask(serve_site *x, const fre_bytes *message, const char *rest, fre_buf *answer,
                         unsigned *status)
{
    const sending what = {.quick = true, .message = message, .rest = rest};

    return send_to(&x->peer[x->s->config->role], &what, answer, status);
}

fre_status serve_peer_post(serve_site *x, fre_role to, bool quick, fre_bytes message,
                           fre_buf *answer)
{
    const sending what = {.quick = quick, .message = &message};
    unsigned status;
    const fre_status st = send_to(&x->peer[to], &what, answer, &status);

    if (st != FRE_E_AGAIN)
        return st;
    atomic_fetch_add(&x->unreached[to], 1);
    return FRE_OK;
}
