/* parties/relay_state.c - a relay's beginning, end, saved state, and what it shows. */
#include "relay.h"

#define PART_DEFAULT 16384u

/* ---- end --------------------------------------------------------------------------------------- */

size_t relay_held(const fre_relay *x)
{
    uint32_t left = x->parts;
    size_t n;

    if (x->parts == 0)
        return x->mixed;
    while (left > 0 && x->done[left - 1])
        left--;
    n = (size_t)left * x->part_size;
    return n < x->mixed ? n : x->mixed;
}

void relay_forget_mix(fre_relay *x)
{
    fre_wipe_free(x->mix, (x->mix_cap < x->mixed ? x->mix_cap : x->mixed) *
                              fre_wire_sealed_bytes(&x->base.w, x->mixing));
    free(x->done);
    x->mix = NULL;
    x->done = NULL;
    x->mixed = x->mix_cap = 0;
    x->parts = x->settled = 0;
    parties_table_wipe(&x->seen);
}

void relay_end(fre_relay *x, fre_stage stage)
{
    relay_forget_mix(x);
    relay_registry_wipe(&x->registry);
    fre_wipe_free(x->client, x->client_cap * sizeof *x->client);
    x->client = NULL;
    x->clients = x->client_cap = 0;
    parties_table_wipe(&x->names);
    x->base.stage = stage;
}

/* ---- beginning --------------------------------------------------------------------------------- */

/* All exchanges of a collection have one size, that of this one. */
static fre_status find_ask_bytes(size_t *out, const fre_wire *w, fre_rng *rng)
{
    fre_oprf_element *blinded = calloc(w->c.cells_per_user, sizeof *blinded);
    fre_ohttp_exchange x;
    fre_buf message, sealed;
    fre_status st;

    if (!blinded)
        return FRE_E_NOMEM;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&sealed, FRE_WIRE_MESSAGE_MAX);
    st = fre_tag_request_encode(&message, w, blinded);
    if (st == FRE_OK)
        st =
            fre_exchange_ask(&x, &sealed, w, FRE_WIRE_TAG_REQUEST, parties_buf_view(&message), rng);
    if (st == FRE_OK) {
        *out = sealed.n;
        fre_ohttp_exchange_wipe(&x);
    }
    fre_buf_wipe(&message);
    fre_buf_wipe(&sealed);
    free(blinded);
    return st;
}

static fre_relay *empty(void)
{
    fre_relay *x = calloc(1, sizeof *x);

    if (!x)
        return NULL;
    x->mixing = FRE_WIRE_REPORT;
    fre_buf_init(&x->closed, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&x->list, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&x->void_statement, FRE_WIRE_MESSAGE_MAX);
    return x;
}

/* Is sk the key that the collection names? */
static fre_status check_key(const fre_sign_sk *sk, const fre_collection *c, fre_err *err)
{
    static const char label[] = "fre/relay/own-key/v1";
    const fre_bytes text = parties_view(label, sizeof label);
    fre_signature sig;
    fre_status st = fre_sign_statement(&sig, sk, label, text);

    if (st == FRE_OK)
        st = fre_sign_verify(&c->relay_sign, &sig, label, text);
    return st == FRE_OK || st == FRE_E_NOMEM
               ? st
               : fre_fail(err, FRE_E_KEY,
                          "the relay's signing key is not the one that the collection names");
}

fre_status fre_relay_new(fre_relay **out, const fre_collection *c, const fre_relay_opts *opts,
                         const fre_sign_sk *sk, fre_rng *rng, fre_err *err)
{
    fre_relay *x;
    fre_status st;

    if (!out || !c || !opts || !sk || !rng || opts->batch_min < 1)
        return fre_fail(err, FRE_E_ARG, "a relay's smallest batch must be at least 1");
    st = check_key(sk, c, err);
    if (st != FRE_OK)
        return st;
    x = empty();
    if (!x)
        return FRE_E_NOMEM;
    st = parties_base_init(&x->base, c, FRE_ROLE_RELAY, rng, err);
    if (st == FRE_OK)
        st = find_ask_bytes(&x->ask_bytes, &x->base.w, rng);
    if (st == FRE_OK) {
        x->sk = *sk;
        x->opts = *opts;
        if (x->opts.part_max == 0)
            x->opts.part_max = PART_DEFAULT;
        *out = x;
        x = NULL;
    }
    fre_relay_free(x);
    return st;
}

void fre_relay_free(fre_relay *x)
{
    if (!x)
        return;
    relay_end(x, FRE_STAGE_VOID);
    parties_base_wipe(&x->base);
    fre_buf_wipe(&x->closed);
    fre_buf_wipe(&x->list);
    fre_buf_wipe(&x->void_statement);
    for (uint32_t i = 0; i < x->release_parts; i++)
        fre_buf_wipe(&x->release[i]);
    free(x->release);
    fre_wipe_free(x, sizeof *x);
}

/* ---- state ------------------------------------------------------------------------------------- */

static void put_buf(parties_out *o, const fre_buf *b)
{
    parties_put_bytes(o, b->p, b->n);
}

fre_status fre_relay_save(const fre_relay *x, fre_buf *out)
{
    parties_out o;

    if (!x || !out)
        return FRE_E_ARG;
    o = parties_out_open(out, &x->base.w, FRE_ROLE_RELAY);
    parties_base_save(&o, &x->base);
    parties_put_uint(&o, x->opts.batch_min, 8);
    parties_put_uint(&o, x->opts.part_max, 4);
    parties_put_uint(&o, x->ask_bytes, 8);
    parties_put_uint(&o, x->clients, 4);
    for (size_t i = 0; i < x->clients; i++) {
        parties_put(&o, x->client[i].key, sizeof x->client[i].key);
        parties_put(&o, x->client[i].ask, sizeof x->client[i].ask);
        parties_put_uint(&o, x->client[i].reports, 2);
        parties_put_uint(&o, x->client[i].shares, 2);
    }
    parties_put_uint(&o, x->all_clients, 8);
    parties_put_uint(&o, x->exchanges, 8);
    parties_put_uint(&o, x->reporting, 8);
    parties_put_uint(&o, x->sharing, 8);
    parties_put_uint(&o, x->reports, 8);
    parties_put_uint(&o, x->shares, 8);
    parties_put_uint(&o, x->mixing == FRE_WIRE_SHARE, 1);
    parties_put_uint(&o, x->mixed, 8);
    parties_put_bytes(&o, x->mix, relay_held(x) * fre_wire_sealed_bytes(&x->base.w, x->mixing));
    parties_put_table(&o, &x->seen);
    parties_put_uint(&o, x->handed, 1);
    parties_put_uint(&o, x->part_size, 4);
    parties_put_bytes(&o, x->done, x->parts);
    relay_registry_save(&o, &x->registry);
    put_buf(&o, &x->closed);
    put_buf(&o, &x->list);
    put_buf(&o, &x->void_statement);
    parties_put_uint(&o, x->release_parts, 4);
    for (uint32_t i = 0; i < x->release_parts; i++)
        put_buf(&o, &x->release[i]);
    return parties_out_close(&o);
}

#define CLIENT_BYTES (2 * PARTIES_HASH_BYTES + 4)

static void load_clients(parties_in *in, fre_relay *x, fre_status *st)
{
    size_t n = (size_t)parties_get_up_to(in, 4, in->left.n / CLIENT_BYTES);

    if (n == 0)
        return;
    x->client = calloc(n, sizeof *x->client);
    if (!x->client || parties_table_reserve(&x->names, n) != FRE_OK) {
        *st = FRE_E_NOMEM;
        in->bad = true;
        return;
    }
    x->client_cap = n;
    for (; !in->bad && x->clients < n; x->clients++) {
        relay_client *c = &x->client[x->clients];

        parties_get(in, c->key, sizeof c->key);
        parties_get(in, c->ask, sizeof c->ask);
        c->reports = (uint16_t)parties_get_up_to(in, 2, x->base.w.c.cells_per_user);
        c->shares = (uint16_t)parties_get_up_to(in, 2, x->base.w.c.cells_per_user);
        if (in->bad || parties_table_find(&x->names, c->key))
            in->bad = true;
        else
            parties_table_insert(&x->names, c->key, (uint32_t)x->clients);
    }
}

/* Which parts of the flush are settled. */
static void load_parts(parties_in *in, fre_relay *x, fre_status *st)
{
    fre_bytes done;

    x->part_size = (uint32_t)parties_get_uint(in, 4);
    done = parties_get_bytes(in);
    if (in->bad || done.n == 0)
        return;
    if (done.n > FRE_WIRE_PARTS_MAX || x->part_size == 0 ||
        done.n != x->mixed / x->part_size + (x->mixed % x->part_size > 0)) {
        in->bad = true;
        return;
    }
    x->done = malloc(done.n);
    if (!x->done) {
        *st = FRE_E_NOMEM;
        in->bad = true;
        return;
    }
    memcpy(x->done, done.p, done.n);
    x->parts = (uint32_t)done.n;
    for (uint32_t i = 0; i < x->parts; i++) {
        in->bad |= x->done[i] > 1;
        x->settled += x->done[i];
    }
}

/* The mix, and how far its flush is. */
static void load_mix(parties_in *in, fre_relay *x, fre_status *st)
{
    fre_bytes mix;
    size_t each;

    x->mixing = parties_get_bool(in) ? FRE_WIRE_SHARE : FRE_WIRE_REPORT;
    each = fre_wire_sealed_bytes(&x->base.w, x->mixing);
    x->mixed = (size_t)parties_get_uint(in, 8);
    mix = parties_get_bytes(in);
    parties_get_table(in, &x->seen, st);
    x->handed = parties_get_bool(in);
    load_parts(in, x, st);
    if (in->bad || each == 0 || mix.n % each != 0 || mix.n / each != relay_held(x)) {
        in->bad = true;
        return;
    }
    if (mix.n == 0)
        return;
    x->mix = malloc(mix.n);
    if (!x->mix) {
        *st = FRE_E_NOMEM;
        in->bad = true;
        return;
    }
    memcpy(x->mix, mix.p, mix.n);
    x->mix_cap = mix.n / each;
}

static void load_published(parties_in *in, fre_relay *x, fre_status *st)
{
    size_t n;

    parties_get_buf(in, &x->closed, st);
    parties_get_buf(in, &x->list, st);
    parties_get_buf(in, &x->void_statement, st);
    n = (size_t)parties_get_up_to(in, 4, FRE_WIRE_PARTS_MAX);
    if (in->bad || n == 0)
        return;
    x->release = calloc(n, sizeof *x->release);
    if (!x->release) {
        *st = FRE_E_NOMEM;
        in->bad = true;
        return;
    }
    x->release_parts = (uint32_t)n;
    for (size_t i = 0; i < n; i++)
        fre_buf_init(&x->release[i], FRE_WIRE_MESSAGE_MAX);
    for (size_t i = 0; i < n && !in->bad; i++) {
        parties_get_buf(in, &x->release[i], st);
        x->release_got += x->release[i].n > 0;
    }
}

static void load_fields(parties_in *in, fre_relay *x, fre_status *st)
{
    parties_base_load(in, &x->base, st);
    x->opts.batch_min = parties_get_uint(in, 8);
    x->opts.part_max = (uint32_t)parties_get_uint(in, 4);
    x->ask_bytes = (size_t)parties_get_up_to(in, 8, FRE_WIRE_MESSAGE_MAX);
    if (x->opts.batch_min < 1 || x->opts.part_max < 1)
        in->bad = true;
    load_clients(in, x, st);
    x->all_clients = parties_get_uint(in, 8);
    x->exchanges = parties_get_uint(in, 8);
    x->reporting = parties_get_uint(in, 8);
    x->sharing = parties_get_uint(in, 8);
    x->reports = parties_get_uint(in, 8);
    x->shares = parties_get_uint(in, 8);
    load_mix(in, x, st);
    relay_registry_load(in, &x->registry, x->opts.part_max, st);
    load_published(in, x, st);
}

fre_status fre_relay_load(fre_relay **out, const fre_collection *c, const fre_sign_sk *sk,
                          fre_bytes state, fre_err *err)
{
    fre_relay *x;
    parties_in in;
    fre_status st;

    if (!out || !c || !sk || (state.n > 0 && !state.p))
        return FRE_E_ARG;
    st = check_key(sk, c, err);
    if (st != FRE_OK)
        return st;
    x = empty();
    if (!x)
        return FRE_E_NOMEM;
    x->base.role = FRE_ROLE_RELAY;
    fre_buf_init(&x->base.cancel, FRE_WIRE_MESSAGE_MAX);
    st = fre_wire_init(&x->base.w, c, err);
    if (st == FRE_OK)
        st = parties_in_open(&in, state, &x->base.w, FRE_ROLE_RELAY, err);
    if (st == FRE_OK) {
        load_fields(&in, x, &st);
        st = parties_in_end(&in, st, err);
    }
    if (st == FRE_OK) {
        x->sk = *sk;
        *out = x;
        x = NULL;
    }
    fre_relay_free(x);
    return st;
}

/* ---- what it shows ----------------------------------------------------------------------------- */

fre_stage fre_relay_stage(const fre_relay *x)
{
    return x->base.stage;
}

const fre_counters *fre_relay_counters(const fre_relay *x)
{
    return &x->base.counters;
}

void fre_relay_count(fre_relay_counts *out, const fre_relay *x)
{
    *out = (fre_relay_counts){.clients = x->all_clients,
                              .exchanges = x->exchanges,
                              .reporting = x->reporting,
                              .sharing = x->sharing,
                              .reports = x->reports,
                              .shares = x->shares,
                              .parts = x->parts,
                              .settled = x->settled};
}

fre_bytes fre_relay_list_view(const fre_relay *x)
{
    return parties_buf_view(&x->list);
}

fre_bytes fre_relay_cancel_view(const fre_relay *x)
{
    return parties_buf_view(&x->void_statement);
}

static bool is_whole(const fre_relay *x)
{
    return x->release_parts > 0 && x->release_got == x->release_parts;
}

uint32_t fre_relay_release_parts(const fre_relay *x)
{
    return is_whole(x) ? x->release_parts : 0;
}

fre_bytes fre_relay_release_view(const fre_relay *x, uint32_t part)
{
    return is_whole(x) && part < x->release_parts ? parties_buf_view(&x->release[part])
                                                  : parties_view(NULL, 0);
}
