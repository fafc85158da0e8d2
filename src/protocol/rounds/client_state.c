/* rounds/client_state.c - a client's terms, beginning, end and saved state. */
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
    st = fre_rounds_check(c, err);
    if (st == FRE_OK)
        st = fre_collection_check(NULL, c, err);
    if (st != FRE_OK)
        return st;
    t = calloc(1, sizeof *t);
    if (!t)
        return FRE_E_NOMEM;
    fre_collection_mechanism(&t->m, c);
    grid = (fre_sketch_params){.dim = c->dim, .proj = c->proj, .cell_edge = c->cell_edge};
    memcpy(grid.seed, c->grid_seed, sizeof grid.seed);
    st = fre_wire_init(&t->w, c, err);
    if (st == FRE_OK && c->one_shot)
        st = fre_wire_derive_share_bits(&t->w, NULL, err);
    if (st == FRE_OK)
        st = fre_sketch_new(&t->grid, &grid);
    if (st == FRE_OK)
        st = fre_rotation_new(&t->rotation, c->dim, c->sign_seed);
    if (st == FRE_OK) {
        *out = t;
        t = NULL;
    }
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
    c->place = calloc(terms->w.c.cells_per_user, sizeof *c->place);
    if (!c->place) {
        free(c);
        return NULL;
    }
    for (uint32_t i = 0; i < terms->w.c.cells_per_user; i++)
        fre_buf_init(&c->place[i].message, FRE_WIRE_MESSAGE_MAX);
    c->terms = terms;
    c->host = host;
    c->x = x;
    c->texts = n;
    c->now = INT64_MIN;
    c->step = CLIENT_ASKING;
    return c;
}

void fre_client_free(fre_client *c)
{
    if (!c)
        return;
    client_end(c, FRE_OK);
    free(c->place);
    fre_wipe(c, sizeof *c);
    free(c);
}

/* ---- state ------------------------------------------------------------------------------------- */

fre_status fre_client_save(const fre_client *c, fre_buf *out)
{
    rounds_out o;

    if (!c || !out)
        return FRE_E_ARG;
    o = rounds_out_open(out, &c->terms->w, CLIENT_ROLE);
    rounds_put_uint(&o, c->texts, 4);
    rounds_put_uint(&o, (uint64_t)c->now, 8);
    rounds_put_uint(&o, (uint64_t)c->step, 1);
    rounds_put_uint(&o, (uint64_t)c->verdict, 2);
    rounds_put_uint(&o, c->cancelled, 1);
    rounds_put_uint(&o, c->spent, 1);
    rounds_put_uint(&o, c->made, 1);
    rounds_put(&o, c->ask.b, sizeof c->ask.b);
    rounds_put(&o, c->report_seed, sizeof c->report_seed);
    rounds_put(&o, c->share_seed, sizeof c->share_seed);
    for (uint32_t i = 0; i < c->terms->w.c.cells_per_user; i++) {
        const client_place *p = &c->place[i];

        rounds_put_uint(&o, p->real, 1);
        rounds_put(&o, p->input.bytes, sizeof p->input.bytes);
        rounds_put(&o, p->blind.b, sizeof p->blind.b);
        rounds_put(&o, p->blinded.b, sizeof p->blinded.b);
        rounds_put(&o, p->tag.b, sizeof p->tag.b);
        rounds_put(&o, p->id.b, sizeof p->id.b);
        rounds_put_uint(&o, p->counted, 1);
        rounds_put_bytes(&o, p->message.p, p->message.n);
    }
    return rounds_out_close(&o);
}

static void load_place(rounds_in *in, client_place *p, fre_status *st)
{
    p->real = rounds_get_bool(in) ? 1 : 0;
    rounds_get(in, p->input.bytes, sizeof p->input.bytes);
    rounds_get(in, p->blind.b, sizeof p->blind.b);
    rounds_get(in, p->blinded.b, sizeof p->blinded.b);
    rounds_get(in, p->tag.b, sizeof p->tag.b);
    rounds_get(in, p->id.b, sizeof p->id.b);
    p->counted = rounds_get_bool(in);
    rounds_get_buf(in, &p->message, st);
}

static void load_fields(rounds_in *in, fre_client *c, fre_status *st)
{
    if (rounds_get_uint(in, 4) != c->texts)
        in->bad = true;
    c->now = (int64_t)rounds_get_uint(in, 8);
    c->step = (client_step)rounds_get_up_to(in, 1, CLIENT_DONE);
    if ((unsigned)c->step < CLIENT_ASKING)
        in->bad = true;
    c->verdict = (fre_status)rounds_get_up_to(in, 2, FRE_E_REFUSED);
    c->cancelled = rounds_get_bool(in);
    c->spent = rounds_get_bool(in);
    c->made = rounds_get_bool(in);
    rounds_get(in, c->ask.b, sizeof c->ask.b);
    rounds_get(in, c->report_seed, sizeof c->report_seed);
    rounds_get(in, c->share_seed, sizeof c->share_seed);
    for (uint32_t i = 0; i < c->terms->w.c.cells_per_user; i++)
        load_place(in, &c->place[i], st);
}

fre_status fre_client_load(fre_client **out, const fre_terms *terms, const float *x, uint32_t n,
                           const fre_client_host *host, fre_bytes state, fre_err *err)
{
    fre_client *c;
    rounds_in in;
    fre_status st;

    if (!out || !terms || !host || (n > 0 && !x) || n > terms->w.c.cells_per_user ||
        (state.n > 0 && !state.p))
        return FRE_E_ARG;
    if (!fre_is_finite_row(x, (size_t)n * terms->w.c.dim))
        return fre_fail(err, FRE_E_DATA, "an embedding holds a NaN or an infinity");
    c = client_empty(terms, x, n, host);
    if (!c)
        return FRE_E_NOMEM;
    st = rounds_in_open(&in, state, &terms->w, CLIENT_ROLE, err);
    if (st == FRE_OK) {
        load_fields(&in, c, &st);
        st = rounds_in_end(&in, st, err);
    }
    if (st == FRE_OK) {
        *out = c;
        c = NULL;
    }
    fre_client_free(c);
    return st;
}
