/* parties_small.c - a collection that a test can hold all of. */
#include "parties_small.h"

fre_collection small_collection(sample *s)
{
    fre_collection c = sample_collection(s);

    c.dim = SMALL_DIM;
    c.proj = 6;
    c.cell_edge = 0.5;
    c.p32 = UINT64_C(3) << 30; /* 3/4 */
    c.threshold = 4;
    c.tau = 3;
    c.sigma = 2;
    c.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    c.split = 2;
    c.lambda16 = FRE_TSDLAP_ONE;
    c.gamma = 4;
    c.users = 1000;
    c.curious = 0;
    c.dropout = 0.5;
    c.epsilon = 20;
    c.delta = 0.5;
    c.open = 1000;
    c.exchange_close = 1900;
    c.tags_close = 2000;
    c.shares_close = 3000;
    c.end = 4000;
    return c;
}

void small_init_from(sample *s, const fre_collection *c)
{
    must(fre_wire_init(&s->w, c, NULL) == FRE_OK);
}

void small_rng(fre_rng *r, uint64_t seed)
{
    uint8_t bytes[FRE_SEED_BYTES] = {0};

    memcpy(bytes, &seed, sizeof seed);
    must(fre_rng_init_seeded(r, bytes, "test/rounds") == FRE_OK);
}

fre_terms *small_unchecked_terms(const fre_collection *c)
{
    fre_sketch_params grid = {.dim = c->dim, .grid = {c->proj, c->cell_edge}};
    fre_terms *t = calloc(1, sizeof *t);

    must(t && fre_wire_init(&t->w, c, NULL) == FRE_OK);
    fre_collection_mechanism(&t->m, c);
    memcpy(grid.seed, c->grid_seed, sizeof grid.seed);
    must(!c->one_contact || fre_wire_derive_share_bits(&t->w, NULL, NULL) == FRE_OK);
    must(fre_sketch_new(&t->grid, &grid) == FRE_OK);
    must(fre_rotation_new(&t->rotation, c->dim, c->sign_seed) == FRE_OK);
    return t;
}

void small_text(float x[SMALL_DIM], uint32_t cluster, uint32_t member)
{
    for (uint32_t i = 0; i < SMALL_DIM; i++)
        x[i] = 1e-3f * (float)((member * 7 + i * 3) % 5);
    x[cluster % SMALL_DIM] += 0.9f;
}

void small_no_noise(const void *ctx, fre_rng *r, int32_t *out, size_t n)
{
    (void)ctx;
    (void)r;
    memset(out, 0, n * sizeof *out);
}

void small_answer(const sample *s, const fre_oprf_key *key, fre_bytes request, fre_buf *reply,
                  fre_rng *r)
{
    const uint32_t n = s->w.c.cells_per_user;
    fre_oprf_element *e = calloc(n, sizeof *e);
    fre_ohttp_exchange x;
    fre_oprf_proof proof;
    fre_buf message;

    must(e != NULL);
    fre_buf_init(&message, SAMPLE_MAX);
    must(fre_exchange_open(&x, &message, &s->w, FRE_WIRE_TAG_REQUEST, &s->tag, request, NULL) ==
         FRE_OK);
    must(fre_tag_request_decode(e, &s->w, sample_view(&message), NULL) == FRE_OK);
    must(fre_oprf_blind_evaluate(e, &proof, key, e, n, r) == FRE_OK);
    fre_buf_wipe(&message);
    must(fre_tag_response_encode(&message, &s->w, e, &proof) == FRE_OK);
    must(fre_exchange_answer(&x, reply, &s->w, sample_view(&message), r) == FRE_OK);
    fre_buf_wipe(&message);
    fre_ohttp_exchange_wipe(&x);
    free(e);
}

fre_tag small_tag(const sample *s, const float *x)
{
    fre_sketch_params p = {.dim = s->w.c.dim, .grid = {s->w.c.proj, s->w.c.cell_edge}};
    fre_oprf_output o;
    fre_sketch *grid;
    fre_cell cell;
    fre_tag tag;

    memcpy(p.seed, s->w.c.grid_seed, sizeof p.seed);
    must(fre_sketch_new(&grid, &p) == FRE_OK);
    must(fre_sketch_cell(grid, &cell, x, p.dim) == FRE_OK);
    must(fre_oprf_evaluate(&o, &s->oprf, (fre_bytes){cell.bytes, sizeof cell.bytes}) == FRE_OK);
    memcpy(tag.b, o.b, sizeof tag.b);
    fre_sketch_free(grid);
    return tag;
}

bool small_same_tag(const fre_tag *a, const fre_tag *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}
