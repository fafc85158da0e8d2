/* serve/carry.c - the other roles: who they are, what each may send, and messages to them. */
#include "serve_private.h"

/* ---- who they are ----------------------------------------------------------------------------------- */

fre_role serve_role_of(const serve_site *x, const uint8_t pin[FRE_NET_PIN_BYTES])
{
    for (unsigned role = FRE_ROLE_TAG; role < SERVE_ROLES; role++)
        if (role != x->s->config->role && memcmp(x->shown_pin[role], pin, FRE_NET_PIN_BYTES) == 0)
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

/* Encapsulated requests are signed by nobody: they come from the relay, or are no participant's. */
bool serve_may_send(fre_role here, fre_role from, fre_bytes message)
{
    fre_wire_type type;
    fre_collection_id id;

    if (message.n > 0 && message.p[0] == FRE_COLLECTION_OHTTP_KEY_ID)
        return from == FRE_ROLE_RELAY && (here == FRE_ROLE_TAG || here == FRE_ROLE_ISSUER);
    if (fre_wire_peek(&type, &id, message) != FRE_OK)
        return false;
    if (from == (fre_role)0)
        return here == FRE_ROLE_RELAY && type == FRE_WIRE_CARRY;
    return (sender[type] & FROM(from)) != 0;
}

fre_role serve_signer_of(fre_role here, fre_bytes message)
{
    for (unsigned role = FRE_ROLE_TAG; role < SERVE_ROLES; role++)
        if ((fre_role)role != here && serve_may_send(here, (fre_role)role, message))
            return (fre_role)role;
    return (fre_role)0;
}

/* ---- messages -------------------------------------------------------------------------------------------- */

/* What a role shows its peers: a certificate of the key that it signs with. */
typedef struct identity {
    fre_buf certificate, key; /* key: SECRET */
} identity;

#define LETTER_SECONDS 120u
#define QUICK_SECONDS 10u

/* Where a role listens for its peers, as the operator of this one knows it. */
static fre_status open_peer(serve_site *x, fre_role role, const identity *me, fre_err *err)
{
    const fre_party o = fre_collection_party(&x->terms.c, role);
    const char *url = x->s->config->peers[role] ? x->s->config->peers[role] : o.url;
    char origin[FRE_NET_URL_BYTES];
    fre_http_client_opts opts = {.url = origin,
                                 .connect_seconds = 5,
                                 .total_seconds = LETTER_SECONDS};
    fre_status st;

    if (strncmp(url, "https:", 6) == 0) {
        opts.pin = o.pin;
        opts.certificate_pem = serve_view(&me->certificate);
        opts.key_pem = serve_view(&me->key);
    }
    if (!fre_net_split(origin, x->peer_path[role], url, x->path))
        return fre_fail(err, FRE_E_DATA, "the address of another role is too long");
    st = fre_http_client_new(&x->peer[role], &opts, err);
    opts.total_seconds = QUICK_SECONDS;
    return st == FRE_OK && x->s->config->role == FRE_ROLE_RELAY
               ? fre_http_client_new(&x->quick[role], &opts, err)
               : st;
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
        if ((fre_role)role != me)
            st = open_peer(x, (fre_role)role, &shown, err);
    fre_buf_wipe(&shown.certificate);
    fre_buf_wipe(&shown.key);
    return st;
}

void serve_peers_cancel(serve_site *x)
{
    for (unsigned role = 0; role < SERVE_ROLES; role++) {
        fre_http_client_cancel(x->peer[role]);
        fre_http_client_cancel(x->quick[role]);
    }
}

void serve_peers_close(serve_site *x)
{
    for (unsigned role = 0; role < SERVE_ROLES; role++) {
        fre_http_client_free(x->peer[role]);
        fre_http_client_free(x->quick[role]);
        x->peer[role] = x->quick[role] = NULL;
    }
}

fre_status serve_peer_post(serve_site *x, fre_role to, bool quick, fre_bytes message,
                           fre_buf *answer)
{
    fre_http_client *way = quick && x->quick[to] ? x->quick[to] : x->peer[to];
    unsigned status = 0;
    const fre_status st =
        fre_http_post(way, answer, &status, NULL, x->peer_path[to], message, NULL);

    if (st == FRE_OK && status == 200)
        return FRE_OK;
    fre_buf_wipe(answer);
    atomic_fetch_add(&x->unreached[to], 1);
    return st == FRE_E_NOMEM ? st : FRE_OK;
}
