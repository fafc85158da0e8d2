/* wire_sample.c - a collection, one example of every message, decoders with their encoders. */
#include "wire_sample_two.h"

fre_bytes sample_view(const fre_buf *b)
{
    return (fre_bytes){.p = b->p, .n = b->n};
}

fre_collection sample_collection(sample *s)
{
    fre_collection c;
    fre_hpke_sk sk;
    uint8_t seed[32];

    memset(&c, 0, sizeof c);
    memset(s, 0, sizeof *s);
    memset(c.embedder, 0xe0, sizeof c.embedder);
    for (size_t i = 0; i < FRE_CONTRIBUTORS; i++)
        memset(c.contribution[i], (int)(0xe1 + i), sizeof c.contribution[i]);
    fre_collection_draw(&c);
    /* plan --distributed --epsilon 4 --population 100000 */
    c.dim = 384;
    c.sketch = (fre_sketch_spec){.grid = {40, 0.15811388300841897}};
    c.p32 = 3521873182;
    c.threshold = 100;
    c.tau = 82;
    c.sigma = 0.75;
    c.split = 0.53832556820608812;
    c.norm_bound = 1;
    c.lambda16 = 46866;
    c.gamma = 14;
    c.users = 100000;
    c.batch_min = 1;
    c.curious = 1;
    c.dropout = 0.1;
    c.cover = true;
    c.cells_per_user = 1;
    c.epsilon = 4;
    c.delta = 1e-6;
    c.phi = 1e-10;
    c.aead = FRE_HPKE_AES_128_GCM;
    memset(sk.b, 0x11, sizeof sk.b);
    must(fre_hpke_keypair_from(&s->tag, &sk) == FRE_OK);
    memset(sk.b, 0x12, sizeof sk.b);
    must(fre_hpke_keypair_from(&s->syn, &sk) == FRE_OK);
    c.tag_seal = s->tag.pk;
    c.syn_seal = s->syn.pk;
    memset(sk.b, 0x13, sizeof sk.b);
    must(fre_hpke_keypair_from(&s->issuer, &sk) == FRE_OK);
    c.issuer_seal = s->issuer.pk;
    memset(seed, 0x21, sizeof seed);
    must(fre_sign_keygen_with(&s->tag_sk, &c.tag_sign, seed) == FRE_OK);
    memset(seed, 0x22, sizeof seed);
    must(fre_sign_keygen_with(&s->syn_sk, &c.syn_sign, seed) == FRE_OK);
    memset(seed, 0x23, sizeof seed);
    must(fre_sign_keygen_with(&s->relay_sk, &c.relay_sign, seed) == FRE_OK);
    memset(seed, 0x24, sizeof seed);
    must(fre_sign_keygen_with(&s->issuer_sk, &c.issuer_sign, seed) == FRE_OK);
    memset(seed, 0x32, sizeof seed);
    must(fre_oprf_key_derive(&s->issuer_oprf, seed, (fre_bytes){NULL, 0}) == FRE_OK);
    c.issuer_pk = s->issuer_oprf.pub;
    memset(seed, 0x31, sizeof seed);
    must(fre_oprf_key_derive(&s->oprf, seed, (fre_bytes){NULL, 0}) == FRE_OK);
    c.oprf_pk = s->oprf.pub;
    strcpy(c.relay_url, "https://relay.example");
    strcpy(c.tag_url, "https://tag.example:8443/fre");
    strcpy(c.syn_url, "https://syn.example");
    strcpy(c.issuer_url, "https://issuer.example");
    memset(c.relay_pin, 0xf1, sizeof c.relay_pin);
    memset(c.tag_pin, 0xf2, sizeof c.tag_pin);
    memset(c.syn_pin, 0xf3, sizeof c.syn_pin);
    memset(c.issuer_pin, 0xf4, sizeof c.issuer_pin);
    c.open = 1900000000;
    c.exchange_close = 1900080000;
    c.tags_close = 1900086400;
    c.shares_close = 1900172800;
    c.end = 1900259200;
    return c;
}

void sample_public_cells(fre_collection *c)
{
    c->sketch =
        (fre_sketch_spec){.kind = FRE_SKETCH_CODEBOOK,
                          .codebook = {.level = 3, .cells = 4096, .radius = 0.6, .gain = 1.3}};
    sample_fill(c->sketch.codebook.sha256, sizeof c->sketch.codebook.sha256, 0xc0);
    c->sensitivity = FRE_SENSITIVITY_WORST_CASE;
    c->split = 1.2;
}

void sample_init_from(sample *s, const fre_collection *c)
{
    must(fre_wire_init(&s->w, c, NULL) == FRE_OK);
    must(fre_wire_set_share_bits(&s->w, SAMPLE_BITS) == FRE_OK);
}

void sample_init(sample *s)
{
    fre_collection c = sample_collection(s);

    sample_init_from(s, &c);
}

const fre_sign_sk *sample_signer(const sample *s, fre_wire_type type)
{
    switch ((unsigned)type) {
    case FRE_WIRE_CLOSED:
        return &s->tag_sk;
    default:
        return type > FRE_WIRE_COLLECTION ? sample_signer_two(s, type) : &s->syn_sk;
    }
}

bool sample_is_signed(fre_wire_type type)
{
    return type == FRE_WIRE_CLOSED || type == FRE_WIRE_LIST || type == FRE_WIRE_RELEASE ||
           type == FRE_WIRE_CANCEL || (type >= FRE_WIRE_COLLECTED && type != FRE_WIRE_ANSWER);
}

static const char *sample_label(fre_wire_type type)
{
    static const char *const labels[] = {[FRE_WIRE_CLOSED] = "fre/closed/v1",
                                         [FRE_WIRE_LIST] = "fre/list/v1",
                                         [FRE_WIRE_RELEASE] = "fre/release/v1",
                                         [FRE_WIRE_CANCEL] = "fre/cancel/v1",
                                         [FRE_WIRE_COLLECTED] = "fre/collected/v2",
                                         [FRE_WIRE_MIXED] = "fre/mixed/v2",
                                         [FRE_WIRE_LISTED] = "fre/listed/v2",
                                         [FRE_WIRE_GATHERED] = "fre/gathered/v2",
                                         [FRE_WIRE_VOUCH] = "fre/vouch/v2",
                                         [FRE_WIRE_VOUCHED] = "fre/vouched/v2",
                                         [FRE_WIRE_UNSEAL] = "fre/unseal/v2",
                                         [FRE_WIRE_SUMMED] = "fre/summed/v2",
                                         [FRE_WIRE_MARK] = "fre/mark/v2",
                                         [FRE_WIRE_MARKED] = "fre/marked/v2",
                                         [FRE_WIRE_MASK_PUT] = "fre/mask-put/v2",
                                         [FRE_WIRE_MASK_GET] = "fre/mask-get/v2",
                                         [FRE_WIRE_MASK_WIPE] = "fre/mask-wipe/v2"};

    return labels[type];
}

void sample_sign(const sample *s, fre_wire_type type, fre_bytes body, fre_buf *out)
{
    const uint8_t head[2] = {FRE_WIRE_VERSION, (uint8_t)type};
    fre_signature sig;

    must(fre_buf_append(out, head, sizeof head) == FRE_OK &&
         fre_buf_append(out, s->w.id.b, sizeof s->w.id.b) == FRE_OK &&
         fre_buf_append(out, body.p, body.n) == FRE_OK &&
         fre_sign_statement(&sig, sample_signer(s, type), sample_label(type), sample_view(out)) ==
             FRE_OK &&
         fre_buf_append(out, sig.b, sizeof sig.b) == FRE_OK);
}

/* ---- one example of each ------------------------------------------------------------------------ */

void sample_fill(void *p, size_t n, uint8_t first)
{
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)p)[i] = (uint8_t)(first + i);
}

static void sample_elements(const sample *s, fre_oprf_element *blinded, fre_oprf_element *evaluated,
                            fre_oprf_proof *proof)
{
    uint32_t n = s->w.c.cells_per_user;

    for (uint32_t i = 0; i < n; i++) {
        fre_oprf_blind r;
        uint8_t scalar[32] = {0}, cell[32];

        scalar[0] = (uint8_t)(7 + i);
        sample_fill(cell, sizeof cell, (uint8_t)(0x40 + i));
        must(fre_oprf_blind_decode(&r, (fre_bytes){scalar, sizeof scalar}) == FRE_OK);
        must(fre_oprf_blind_input_with(&blinded[i], (fre_bytes){cell, sizeof cell}, &r) == FRE_OK);
    }
    if (evaluated && proof) {
        fre_oprf_nonce nonce = {{0}};

        nonce.b[0] = 9;
        must(fre_oprf_evaluate_elements(evaluated, &s->oprf, blinded, n) == FRE_OK);
        must(fre_oprf_prove_with(proof, &s->oprf, blinded, evaluated, n, &nonce) == FRE_OK);
    }
}

static void sample_closed(const sample *s, fre_buf *out)
{
    const fre_closed m = {.time = s->w.c.tags_close, .evaluations = 81234};

    must(fre_closed_encode(out, &s->w, &m, &s->tag_sk) == FRE_OK);
}

void sample_tags(fre_tag *tag, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sample_fill(tag[i].b, sizeof tag[i].b, (uint8_t)(0x10 * (i + 1)));
}

void sample_list(const sample *s, fre_buf *out)
{
    fre_tag tag[3];
    fre_list_entry e[3];

    sample_tags(tag, 3);
    for (uint32_t i = 0; i < 3; i++)
        e[i] = (fre_list_entry){.tag = tag[i], .count = (uint32_t)s->w.c.tau + 128 * i};
    must(fre_list_encode(out, &s->w, e, 3, &s->syn_sk) == FRE_OK);
}

static void sample_release(const sample *s, fre_buf *out)
{
    static const char statement[] = "epsilon 4, delta 1e-6";
    uint32_t dim = s->w.c.dim, tau = (uint32_t)s->w.c.tau;
    float *x = calloc(dim + 1, sizeof *x);
    const fre_release_cell cell[2] = {{.count = tau, .centroid = x},
                                      {.count = tau + 300, .centroid = x + 1}};
    const fre_release_part m = {.part = {0, 1},
                                .time = s->w.c.end,
                                .statement = {(const uint8_t *)statement, sizeof statement - 1},
                                .n = 2};

    must(x != NULL);
    for (uint32_t i = 0; i <= dim; i++)
        x[i] = (float)i / 512.0f - 0.25f;
    must(fre_release_part_encode(out, &s->w, &m, cell, &s->syn_sk) == FRE_OK);
    free(x);
}

void sample_message(const sample *s, fre_wire_type type, fre_buf *out)
{
    fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX], evaluated[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;

    switch ((unsigned)type) {
    case FRE_WIRE_TAG_REQUEST:
        sample_elements(s, blinded, NULL, NULL);
        must(fre_tag_request_encode(out, &s->w, blinded) == FRE_OK);
        break;
    case FRE_WIRE_TAG_RESPONSE:
        sample_elements(s, blinded, evaluated, &proof);
        must(fre_tag_response_encode(out, &s->w, evaluated, &proof) == FRE_OK);
        break;
    case FRE_WIRE_CLOSED:
        sample_closed(s, out);
        break;
    case FRE_WIRE_LIST:
        sample_list(s, out);
        break;
    case FRE_WIRE_RELEASE:
        sample_release(s, out);
        break;
    case FRE_WIRE_CANCEL:
        must(fre_cancel_encode(out, &s->w,
                               &(fre_cancel){.by = FRE_ROLE_SYN,
                                             .reason = FRE_CANCEL_TOO_FEW,
                                             .time = s->w.c.tags_close + 5},
                               &s->syn_sk) == FRE_OK);
        break;
    case FRE_WIRE_REJECTION:
        must(fre_rejection_encode(out, FRE_REJECTED_EXPIRED) == FRE_OK);
        break;
    case FRE_WIRE_RECEIPT:
        must(fre_receipt_encode(out) == FRE_OK);
        break;
    case FRE_WIRE_COLLECTION:
        must(fre_collection_encode(out, &s->w.c, NULL) == FRE_OK);
        break;
    default:
        sample_message_two(s, type, out);
    }
}

/* ---- a decoder, and its encoder on what it gave ------------------------------------------------- */

static fre_status recode_request(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_oprf_element e[FRE_COLLECTION_CELLS_MAX];
    fre_status st = fre_tag_request_decode(e, &s->w, in, err);

    return st == FRE_OK ? fre_tag_request_encode(out, &s->w, e) : st;
}

static fre_status recode_response(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_oprf_element e[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;
    fre_status st = fre_tag_response_decode(e, &proof, &s->w, in, err);

    return st == FRE_OK ? fre_tag_response_encode(out, &s->w, e, &proof) : st;
}

static fre_status recode_closed(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_closed m;
    fre_status st = fre_closed_decode(&m, &s->w, in, err);

    return st == FRE_OK ? fre_closed_encode(out, &s->w, &m, &s->tag_sk) : st;
}

static fre_status recode_list(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_list m;
    fre_list_entry *e;
    fre_status st = fre_list_decode(&m, &s->w, in, err);

    if (st != FRE_OK)
        return st;
    e = malloc((m.n + 1) * sizeof *e);
    must(e != NULL);
    for (uint32_t i = 0; i < m.n; i++)
        e[i] = fre_list_at(&m, i);
    st = fre_list_encode(out, &s->w, e, m.n, &s->syn_sk);
    free(e);
    return st;
}

static fre_status recode_release(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_release_part m;
    fre_release_cell *e;
    float *x;
    fre_status st = fre_release_part_decode(&m, &s->w, in, err);

    if (st != FRE_OK)
        return st;
    e = malloc((m.n + 1) * sizeof *e);
    x = malloc((m.n + 1) * s->w.c.dim * sizeof *x);
    must(e != NULL && x != NULL);
    for (uint32_t i = 0; i < m.n; i++)
        fre_release_part_at(&e[i], x + (size_t)i * s->w.c.dim, &m, i);
    st = fre_release_part_encode(out, &s->w, &m, e, &s->syn_sk);
    free(e);
    free(x);
    return st;
}

static fre_status recode_cancel(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_cancel m;
    const fre_sign_sk *sk = &s->syn_sk;
    fre_status st = fre_cancel_decode(&m, &s->w, in, err);

    if (st != FRE_OK)
        return st;
    if (m.by == FRE_ROLE_TAG)
        sk = &s->tag_sk;
    else if (m.by == FRE_ROLE_RELAY)
        sk = &s->relay_sk;
    else if (m.by == FRE_ROLE_ISSUER)
        sk = &s->issuer_sk;
    return fre_cancel_encode(out, &s->w, &m, sk);
}

static fre_status recode_rejection(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_rejection r;
    fre_status st = fre_rejection_decode(&r, in, err);

    (void)s;
    return st == FRE_OK ? fre_rejection_encode(out, r) : st;
}

static fre_status recode_receipt(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_status st = fre_receipt_decode(in, err);

    (void)s;
    return st == FRE_OK ? fre_receipt_encode(out) : st;
}

static fre_status recode_collection(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_collection c;
    fre_status st = fre_collection_decode(&c, in, err);

    (void)s;
    return st == FRE_OK ? fre_collection_encode(out, &c, err) : st;
}

sample_recoder *const sample_recoders[SAMPLE_TYPES] = {
    [FRE_WIRE_TAG_REQUEST] = recode_request,
    [FRE_WIRE_TAG_RESPONSE] = recode_response,
    [FRE_WIRE_CLOSED] = recode_closed,
    [FRE_WIRE_LIST] = recode_list,
    [FRE_WIRE_RELEASE] = recode_release,
    [FRE_WIRE_CANCEL] = recode_cancel,
    [FRE_WIRE_REJECTION] = recode_rejection,
    [FRE_WIRE_RECEIPT] = recode_receipt,
    [FRE_WIRE_COLLECTION] = recode_collection,
    [FRE_WIRE_ISSUE_REQUEST] = recode_issue_request,
    [FRE_WIRE_ISSUE_RESPONSE] = recode_issue_response,
    [FRE_WIRE_CARRY] = recode_carry,
    [FRE_WIRE_ADMITTED] = recode_admitted,
    [FRE_WIRE_COLLECTED] = recode_collected,
    [FRE_WIRE_MIXED] = recode_mixed,
    [FRE_WIRE_VOUCH] = recode_vouch,
    [FRE_WIRE_VOUCHED] = recode_vouched,
    [FRE_WIRE_UNSEAL] = recode_unseal,
    [FRE_WIRE_SUMMED] = recode_summed,
    [FRE_WIRE_MARK] = recode_mark,
    [FRE_WIRE_MARKED] = recode_marked,
    [FRE_WIRE_LISTED] = recode_listed,
    [FRE_WIRE_GATHERED] = recode_gathered,
    [FRE_WIRE_MASK_PUT] = recode_mask_put,
    [FRE_WIRE_MASK_GET] = recode_mask_get,
    [FRE_WIRE_MASK_WIPE] = recode_mask_wipe};
