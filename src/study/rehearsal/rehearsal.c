/* rehearsal/rehearsal.c - keys, terms and configurations of four roles in a folder; see fre/rehearsal.h. */
#include "rehearsal_private.h"

#include <fre/config.h>
#include <fre/net.h>

#include <arpa/inet.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/socket.h>

#define TEXT_MAX (1u << 20)

/* ---- ports and files ------------------------------------------------------------------------------ */

/* Below those that Linux gives connections, one of which could have it before its server has. */
#define PORT_LEAST 10240u
#define PORTS (32768u - PORT_LEAST)

static bool is_free(uint16_t port)
{
    const struct sockaddr_in a = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool ok = fd >= 0 && bind(fd, (const struct sockaddr *)&a, sizeof a) == 0;

    if (fd >= 0)
        (void)close(fd);
    return ok;
}

/* The next one; at: where the last one was, so that none comes twice. */
static fre_status free_port(uint16_t *out, uint32_t *at, fre_err *err)
{
    for (uint32_t i = 0; i < PORTS; i++) {
        *at = (*at + 1) % PORTS;
        *out = (uint16_t)(PORT_LEAST + *at);
        if (is_free(*out))
            return FRE_OK;
    }
    return fre_fail(err, FRE_E_IO, "no port can be had: %s", strerror(errno));
}

static fre_status new_ports(fre_rehearsal *r, fre_err *err)
{
    uint32_t at;
    fre_rng rng;
    fre_status st = fre_rng_init(&rng);

    if (st != FRE_OK)
        return fre_fail(err, st, "the system gives no randomness");
    at = (uint32_t)fre_rng_below(&rng, PORTS);
    fre_rng_wipe(&rng);
    st = free_port(&r->clients, &at, err);
    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role < FRE_REHEARSAL_ROLES; role++) {
        st = free_port(&r->peer[role], &at, err);
        if (st == FRE_OK)
            st = free_port(&r->health[role], &at, err);
    }
    return st;
}

static fre_status open_ports(fre_rehearsal *r, const fre_rehearsal *beside, fre_err *err)
{
    if (!beside)
        return new_ports(r, err);
    r->clients = beside->clients;
    memcpy(r->peer, beside->peer, sizeof r->peer);
    memcpy(r->health, beside->health, sizeof r->health);
    return FRE_OK;
}

static fre_status no_memory(fre_err *err)
{
    return fre_fail(err, FRE_E_NOMEM, "out of memory");
}

static fre_status make_folder(const fre_rehearsal *r, const char *name, fre_err *err)
{
    char *path = rehearsal_path(r, "%s", name);
    const fre_status st = path ? fre_private_folder(path, true, err) : no_memory(err);

    free(path);
    return st;
}

/* ---- keys ------------------------------------------------------------------------------------------ */

typedef struct maker {
    const fre_rehearsal_opts *o;
    fre_rehearsal *r;
    fre_keygen_files files[FRE_REHEARSAL_ROLES];
    fre_half half[FRE_CONTRIBUTORS];
    fre_reveal reveal[FRE_CONTRIBUTORS];
} maker;

/* there: the file of the one that is shown already; NULL: a new one is made. */
static fre_status certify(fre_keygen_opts *o, fre_buf *certificate, fre_buf *key,
                          uint8_t pin[FRE_NET_PIN_BYTES], const char *there, fre_err *err)
{
    fre_status st = there ? fre_file_read(certificate, there, err)
                          : fre_net_self_signed(certificate, key, "127.0.0.1", err);

    if (st == FRE_OK)
        st = fre_net_spki_pin(pin, (fre_bytes){certificate->p, certificate->n}, err);
    o->pin = pin;
    if (there)
        return st;
    o->certificate_pem = (fre_bytes){certificate->p, certificate->n};
    o->key_pem = (fre_bytes){key->p, key->n};
    return st;
}

static char *copy_of(const char *text)
{
    return text ? strdup(text) : NULL;
}

static fre_status keep_paths(maker *m, fre_role role, fre_err *err)
{
    const fre_keygen_files *f = &m->files[role];
    const char *shown = m->o->beside ? m->o->beside->certificate[role] : f->certificate;

    m->r->once[role] = copy_of(f->once);
    m->r->certificate[role] = copy_of(shown);
    return (f->once && !m->r->once[role]) || (shown && !m->r->certificate[role]) ? no_memory(err)
                                                                                 : FRE_OK;
}

static fre_status make_keys(maker *m, fre_role role, fre_err *err)
{
    const fre_rehearsal *beside = m->o->beside;
    char *folder = rehearsal_path(beside ? beside : m->r, "%s", fre_role_name(role));
    uint8_t pin[FRE_NET_PIN_BYTES];
    char url[64];
    fre_keygen_opts o = {.role = role, .url = url, .folder = folder};
    fre_buf certificate, key;
    fre_status st = folder ? FRE_OK : no_memory(err);

    (void)snprintf(url, sizeof url, "%s://127.0.0.1:%u", m->o->tls ? "https" : "http",
                   (unsigned)(role == FRE_ROLE_RELAY ? m->r->clients : m->r->peer[role]));
    fre_buf_init(&certificate, FRE_NET_PEM_MAX);
    fre_buf_init(&key, FRE_NET_PEM_MAX);
    if (st == FRE_OK && m->o->tls)
        st = certify(&o, &certificate, &key, pin, beside ? beside->certificate[role] : NULL, err);
    if (st == FRE_OK)
        st = fre_keygen(&m->files[role], &o, err);
    if (st == FRE_OK)
        st = keep_paths(m, role, err);
    fre_buf_wipe(&certificate);
    fre_buf_wipe(&key);
    free(folder);
    return st;
}

/* Commitments first, as among operators who don't trust each other. */
static fre_status reveal(maker *m, unsigned role, fre_err *err)
{
    char *path = rehearsal_path(m->r, "%s.contribution.json", fre_role_name((fre_role)role));
    fre_status st = path ? FRE_OK : no_memory(err);
    fre_buf text;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    if (st == FRE_OK)
        st = fre_keys_commit(&text, m->files[role].secret, m->half, err);
    if (st == FRE_OK)
        st = fre_private_write(path, (fre_bytes){text.p, text.n}, false, err);
    if (st == FRE_OK)
        st = fre_reveal_read(&m->reveal[role - 1], path, err);
    fre_buf_wipe(&text);
    free(path);
    return st;
}

static fre_status gather(maker *m, fre_collection_parts *parts, fre_err *err)
{
    fre_status st = FRE_OK;

    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role < FRE_REHEARSAL_ROLES; role++) {
        st = make_keys(m, (fre_role)role, err);
        if (st == FRE_OK)
            st = fre_half_read(&m->half[role - 1], m->files[role].half, err);
    }
    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && role < FRE_REHEARSAL_ROLES; role++)
        st = reveal(m, role, err);
    return st == FRE_OK ? fre_collection_gather(parts, m->half, m->reveal, err) : st;
}

/* ---- terms ----------------------------------------------------------------------------------------- */

static fre_status write_terms(fre_rehearsal *r, fre_err *err)
{
    fre_buf json;
    fre_status st;

    fre_buf_init(&json, TEXT_MAX);
    st = fre_collection_to_json(&json, &r->terms, err);
    if (st == FRE_OK)
        st = make_folder(r, "terms", err);
    r->terms_path = rehearsal_path(r, "terms/terms.json");
    if (st == FRE_OK)
        st = r->terms_path
                 ? fre_private_write(r->terms_path, (fre_bytes){json.p, json.n}, false, err)
                 : no_memory(err);
    fre_buf_wipe(&json);
    return st;
}

static fre_status make_terms(maker *m, fre_err *err)
{
    const fre_rehearsal_opts *o = m->o;
    fre_collection_parts parts = {.aead = FRE_HPKE_AES_128_GCM};
    fre_status st = gather(m, &parts, err);

    if (st != FRE_OK)
        return st;
    memcpy(parts.embedder, o->embedder, sizeof parts.embedder);
    parts.batch_min = o->batch_min;
    parts.open = o->open;
    parts.exchange_close = o->exchange_close;
    parts.tags_close = o->tags_close;
    parts.shares_close = o->shares_close;
    parts.end = o->end;
    st = fre_collection_from_plan(&m->r->terms, o->plan, &parts, err);
    return st == FRE_OK ? write_terms(m->r, err) : st;
}

/* A new one, or the one that the issuer has. */
static fre_status draw_ticket_key(fre_rehearsal *r, const fre_rehearsal *beside)
{
    fre_rng rng;
    fre_status st;

    if (beside) {
        memcpy(r->ticket_key, beside->ticket_key, sizeof r->ticket_key);
        return FRE_OK;
    }
    st = fre_rng_init(&rng);
    if (st == FRE_OK)
        fre_rng_bytes(&rng, r->ticket_key, sizeof r->ticket_key);
    fre_rng_wipe(&rng);
    return st;
}

static fre_status make_ticket_key(fre_rehearsal *r, const fre_rehearsal *beside, fre_err *err)
{
    char hex[2 * FRE_TICKET_KEY_BYTES + 1];
    char *path = rehearsal_path(r, "ticket.key");
    fre_status st = path ? draw_ticket_key(r, beside) : no_memory(err);

    if (st == FRE_OK) {
        fre_hex(hex, r->ticket_key, sizeof r->ticket_key);
        st = fre_private_write(path, (fre_bytes){(const uint8_t *)hex, sizeof hex - 1}, false, err);
        fre_wipe(hex, sizeof hex);
    }
    free(path);
    return st;
}

/* ---- configurations ----------------------------------------------------------------------------------- */

/* What a role has besides; the paths are ours and need no escapes. */
static fre_status write_own(fre_buf *b, const maker *m, fre_role role)
{
    const fre_rehearsal *r = m->r;

    if (role == FRE_ROLE_RELAY)
        return fre_buf_printf(b,
                              "\"public\":{\"listen\":\"127.0.0.1:%u\",\"requests_a_minute\":0},",
                              (unsigned)r->clients);
    if (role == FRE_ROLE_ISSUER)
        return fre_buf_printf(b, "\"credentials\":{\"kind\":\"hmac\",\"file\":\"%s/ticket.key\"},",
                              r->folder);
    return role == FRE_ROLE_SYN && m->o->codebook
               ? fre_buf_printf(b, "\"codebook\":\"%s\",", m->o->codebook)
               : FRE_OK;
}

/* Where the relay's listener of peers is, and what is shown there. */
static fre_status write_peers(fre_buf *b, const maker *m, fre_role role)
{
    fre_status st = FRE_OK;

    if (role != FRE_ROLE_RELAY)
        st = fre_buf_printf(b, "\"peers\":{\"relay\":\"%s://127.0.0.1:%u\"},",
                            m->o->tls ? "https" : "http", (unsigned)m->r->peer[FRE_ROLE_RELAY]);
    if (st == FRE_OK && m->o->tls)
        st = fre_buf_printf(b, "\"certificate\":\"%s\",\"private_key\":\"%s\",",
                            m->files[role].certificate, m->files[role].key);
    return st;
}

static fre_status write_json(fre_buf *b, const maker *m, fre_role role)
{
    const fre_rehearsal *r = m->r;
    const char *name = fre_role_name(role);
    fre_status st = fre_buf_printf(
        b,
        "{\"role\":\"%s\",\"keys\":\"%s/%s\",\"collections\":\"%s/terms\","
        "\"peer\":{\"listen\":\"127.0.0.1:%u\"},\"health\":{\"listen\":\"127.0.0.1:%u\"},",
        name, r->folder, name, r->folder, (unsigned)r->peer[role], (unsigned)r->health[role]);

    if (st == FRE_OK)
        st = write_own(b, m, role);
    if (st == FRE_OK)
        st = write_peers(b, m, role);
    if (st != FRE_OK)
        return st;
    return m->o->store ? fre_buf_printf(b, "\"store\":\"%s\"}\n", m->o->store)
                       : fre_buf_printf(b, "\"store\":\"sqlite:%s/%s/rows\"}\n", r->folder, name);
}

static fre_status write_config(const maker *m, fre_role role, fre_err *err)
{
    fre_rehearsal *r = m->r;
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, FRE_CONFIG_FILE_MAX);
    st = write_json(&b, m, role);
    r->config[role] = rehearsal_path(r, "%s/server.json", fre_role_name(role));
    if (st != FRE_OK || !r->config[role])
        st = no_memory(err);
    else
        st = fre_private_write(r->config[role], (fre_bytes){b.p, b.n}, false, err);
    fre_buf_wipe(&b);
    return st;
}

static fre_status make_all(maker *m, fre_err *err)
{
    fre_status st = open_ports(m->r, m->o->beside, err);

    if (st == FRE_OK)
        st = make_ticket_key(m->r, m->o->beside, err);
    if (st == FRE_OK)
        st = make_terms(m, err);
    for (unsigned role = FRE_ROLE_TAG; st == FRE_OK && !m->o->beside && role < FRE_REHEARSAL_ROLES;
         role++)
        st = write_config(m, (fre_role)role, err);
    return st;
}

fre_status fre_rehearsal_make(fre_rehearsal **out, const fre_rehearsal_opts *o, fre_err *err)
{
    fre_rehearsal *r;
    maker *m;
    fre_status st;

    if (!out || !o || !o->folder || !o->plan)
        return FRE_E_ARG;
    r = calloc(1, sizeof *r);
    m = calloc(1, sizeof *m);
    if (r)
        r->folder = strdup(o->folder);
    if (!r || !m || !r->folder) {
        free(m);
        fre_rehearsal_free(r);
        return no_memory(err);
    }
    *m = (maker){.o = o, .r = r};
    st = make_all(m, err);
    for (unsigned role = FRE_ROLE_TAG; role < FRE_REHEARSAL_ROLES; role++)
        fre_keygen_files_wipe(&m->files[role]);
    fre_wipe_free(m, sizeof *m);
    if (st != FRE_OK) {
        fre_rehearsal_free(r);
        return st;
    }
    *out = r;
    return FRE_OK;
}
