/* parties/client_state.c - a client's terms, beginning, end and saved state. */
#include "client.h"

#include <fre/linalg.h>

#define CLIENT_ROLE 0u

/* ---- terms ------------------------------------------------------------------------------------- */

fre_status fre_terms_new(fre_terms **out, const fre_collection *c, fre_err *err)
{
    fre_terms *t;
    fre_sketch_params grid;
    fre_status st;

    if (!out || !c)
        return FRE_E_ARG;
    st = fre_parties_check(c, err);
    if (st != FRE_OK)
        return st;
    st = fre_collection_check(NULL, c, err);
    if (st != FRE_OK)
        return st;
    t = calloc(1, sizeof *t);
    if (!t)
        return FRE_E_NOMEM;
    fre_collection_mechanism(&t->m, c);
    grid = (fre_sketch_params){.dim = c->dim, .grid = {c->proj, c->cell_edge}};
    memcpy(grid.seed, c->grid_seed, sizeof grid.seed);
    st = fre_wire_init(&t->w, c, err);
    if (st == FRE_OK && c->one_contact)
        st = fre_wire_derive_share_bits(&t->w, NULL, err);
    if (st != FRE_OK)
        goto out;
    st = fre_sketch_new(&t->grid, &grid);
    if (st != FRE_OK)
        goto out;
    st = fre_rotation_new(&t->rotation, c->dim, c->sign_seed);
    if (st != FRE_OK)
        goto out;
    *out = t;
    t = NULL; /* handed over */
out:
    fre_terms_free(t);
    return st;
}

void fre_terms_free(fre_terms *t)
{
    if (!t)
        return;
    fre_sketch_free(t->grid);
    fre_rotation_free(t->rotation);
    free(t);
}

const fre_wire *fre_terms_view(const fre_terms *t)
{
    return &t->w;
}

/* ---- beginning and end ------------------------------------------------------------------------- */

fre_client *client_empty(const fre_terms *terms, const float *x, uint32_t n,
                         const fre_client_host *host)
{
    fre_client *c = calloc(1, sizeof *c);

    if (!c)
        return NULL;
    c->slot = calloc(terms->w.c.cells_per_user, sizeof *c->slot);
    if (!c->slot) {
        free(c);
        return NULL;
    }
    for (uint32_t i = 0; i < terms->w.c.cells_per_user; i++)
        fre_buf_init(&c->slot[i].message, FRE_WIRE_MESSAGE_MAX);
    c->terms = terms;
    c->host = host;
    c->x = x;
    c->texts = n;
    c->now = INT64_MIN;
    c->step = CLIENT_ASKING;
    return c;
}

void client_end(fre_client *c, fre_status verdict)
{
    for (uint32_t i = 0; i < c->terms->w.c.cells_per_user; i++) {
        fre_buf_wipe(&c->slot[i].message);
        fre_wipe(&c->slot[i], sizeof c->slot[i]);
        fre_buf_init(&c->slot[i].message, FRE_WIRE_MESSAGE_MAX);
    }
    fre_hpke_sk_wipe(&c->ask);
    fre_wipe(c->report_seed, sizeof c->report_seed);
    fre_wipe(c->share_seed, sizeof c->share_seed);
    c->step = CLIENT_DONE;
    c->kept = false;
    if (c->verdict == FRE_OK)
        c->verdict = verdict;
}

void fre_client_free(fre_client *c)
{
    if (!c)
        return;
    client_end(c, FRE_OK);
    free(c->slot);
    fre_wipe_free(c, sizeof *c);
}

/* ---- state ------------------------------------------------------------------------------------- */

fre_status fre_client_save(const fre_client *c, fre_buf *out)
{
    parties_out o;

    if (!c || !out)
        return FRE_E_ARG;
    o = parties_out_open(out, &c->terms->w, CLIENT_ROLE);
    parties_put_uint(&o, c->texts, 4);
    parties_put_uint(&o, (uint64_t)c->now, 8);
    parties_put_uint(&o, (uint64_t)c->step, 1);
    parties_put_uint(&o, (uint64_t)c->verdict, 2);
    parties_put_uint(&o, c->cancelled, 1);
    parties_put_uint(&o, c->spent, 1);
    parties_put_uint(&o, c->made, 1);
    parties_put(&o, c->ask.b, sizeof c->ask.b);
    parties_put(&o, c->report_seed, sizeof c->report_seed);
    parties_put(&o, c->share_seed, sizeof c->share_seed);
    for (uint32_t i = 0; i < c->terms->w.c.cells_per_user; i++) {
        const client_slot *p = &c->slot[i];

        parties_put_uint(&o, p->real, 1);
        parties_put(&o, p->input.bytes, sizeof p->input.bytes);
        parties_put(&o, p->blind.b, sizeof p->blind.b);
        parties_put(&o, p->blinded.b, sizeof p->blinded.b);
        parties_put(&o, p->tag.b, sizeof p->tag.b);
        parties_put(&o, p->id.b, sizeof p->id.b);
        parties_put_uint(&o, p->counted, 1);
        parties_put_bytes(&o, p->message.p, p->message.n);
    }
    return parties_out_close(&o);
}

static void load_slot(parties_in *in, client_slot *p, fre_status *st)
{
    p->real = parties_get_bool(in) ? 1 : 0;
    parties_get(in, p->input.bytes, sizeof p->input.bytes);
    parties_get(in, p->blind.b, sizeof p->blind.b);
    parties_get(in, p->blinded.b, sizeof p->blinded.b);
    parties_get(in, p->tag.b, sizeof p->tag.b);
    parties_get(in, p->id.b, sizeof p->id.b);
    p->counted = parties_get_bool(in);
    parties_get_buf(in, &p->message, st);
}

static void load_fields(parties_in *in, fre_client *c, fre_status *st)
{
    if (parties_get_uint(in, 4) != c->texts)
        in->bad = true;
    c->now = (int64_t)parties_get_uint(in, 8);
    c->step = (client_step)parties_get_up_to(in, 1, CLIENT_DONE);
    if ((unsigned)c->step < CLIENT_ASKING)
        in->bad = true;
    c->verdict = (fre_status)parties_get_up_to(in, 2, FRE_E_REFUSED);
    c->cancelled = parties_get_bool(in);
    c->spent = parties_get_bool(in);
    c->made = parties_get_bool(in);
    parties_get(in, c->ask.b, sizeof c->ask.b);
    parties_get(in, c->report_seed, sizeof c->report_seed);
    parties_get(in, c->share_seed, sizeof c->share_seed);
    for (uint32_t i = 0; i < c->terms->w.c.cells_per_user; i++)
        load_slot(in, &c->slot[i], st);
}

fre_status fre_client_load(fre_client **out, const fre_terms *terms, const float *x, uint32_t n,
                           const fre_client_host *host, fre_bytes state, fre_err *err)
{
    fre_client *c;
    parties_in in;
    fre_status st;

    if (!out || !terms || !host || (n > 0 && !x) || n > terms->w.c.cells_per_user ||
        (state.n > 0 && !state.p))
        return FRE_E_ARG;
    if (!fre_is_finite_row(x, (size_t)n * terms->w.c.dim))
        return fre_fail(err, FRE_E_DATA, "an embedding holds a NaN or an infinity");
    c = client_empty(terms, x, n, host);
    if (!c)
        return FRE_E_NOMEM;
    st = parties_in_open(&in, state, &terms->w, CLIENT_ROLE, err);
    if (st == FRE_OK) {
        load_fields(&in, c, &st);
        st = parties_in_end(&in, st, err);
    }
    if (st == FRE_OK) {
        *out = c;
        c = NULL;
    }
    fre_client_free(c);
    return st;
}
