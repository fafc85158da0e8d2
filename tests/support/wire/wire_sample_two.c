/* wire_sample_two.c - one example of each message about places and entries, decoders with encoders. */
#include "wire_sample_two.h"

#include <stdlib.h>

static void elements(const sample *s, fre_oprf_element *blinded, fre_oprf_element *evaluated,
                     fre_oprf_proof *proof)
{
    const uint32_t n = s->w.c.cells_per_user;

    for (uint32_t i = 0; i < n; i++) {
        uint8_t scalar[32] = {0}, id[16];
        fre_oprf_blind r;

        scalar[0] = (uint8_t)(11 + i);
        sample_fill(id, sizeof id, (uint8_t)(0x33 + i));
        must(fre_oprf_blind_decode(&r, (fre_bytes){scalar, sizeof scalar}) == FRE_OK);
        must(fre_oprf_blind_input_with(&blinded[i], (fre_bytes){id, sizeof id}, &r) == FRE_OK);
    }
    must(fre_oprf_evaluate_elements(evaluated, &s->issuer_oprf, blinded, n) == FRE_OK);
    must(fre_oprf_prove_with(proof, &s->issuer_oprf, blinded, evaluated, n,
                             &(fre_oprf_nonce){{13}}) == FRE_OK);
}

static void issue(const sample *s, fre_wire_type type, fre_buf *out)
{
    fre_oprf_element blinded[FRE_COLLECTION_CELLS_MAX], evaluated[FRE_COLLECTION_CELLS_MAX];
    uint8_t ticket[20];
    fre_oprf_proof proof;

    elements(s, blinded, evaluated, &proof);
    sample_fill(ticket, sizeof ticket, 0x90);
    if (type == FRE_WIRE_ISSUE_REQUEST)
        must(fre_issue_request_encode(out, &s->w, (fre_bytes){ticket, sizeof ticket}, blinded) ==
             FRE_OK);
    else
        must(fre_issue_response_encode(out, &s->w, evaluated, &proof) == FRE_OK);
}

static void carry(const sample *s, fre_buf *out)
{
    const size_t n = fre_exchange_request_bytes(&s->w, FRE_WIRE_TAG_REQUEST);
    uint8_t *bytes = malloc(n);
    fre_carry m = {.what = FRE_WIRE_TAG_REQUEST, .bytes = {bytes, n}};

    must(bytes != NULL);
    sample_fill(bytes, n, 0x15);
    sample_fill(m.token.b, sizeof m.token.b, 0x25);
    must(fre_carry_encode(out, &s->w, &m) == FRE_OK);
    free(bytes);
}

static void admitted(const sample *s, fre_buf *out)
{
    const size_t n = fre_exchange_answer_bytes(&s->w);
    uint8_t *bytes = malloc(n);
    fre_admitted m = {.answer = {bytes, n}};

    must(bytes != NULL);
    sample_fill(bytes, n, 0x16);
    sample_fill(m.token.b, sizeof m.token.b, 0x26);
    must(fre_admitted_encode(out, &s->w, &m) == FRE_OK);
    free(bytes);
}

void sample_entry(const sample *s, fre_wire_type type, fre_buf *out)
{
    const fre_hpke_sk one = {{0x71}}, two = {{0x72}};
    const size_t n = fre_wire_share_bytes(&s->w);
    uint8_t *packed = malloc(n);
    fre_oprf_output key;
    fre_share_seed seed;
    fre_place place = {.cell = 0};
    fre_entry m = {.packed = {packed, n}};

    must(packed != NULL);
    sample_fill(packed, n, 0x42);
    sample_fill(m.tag.b, sizeof m.tag.b, 0x10);
    sample_fill(place.b, sizeof place.b, 0x52);
    sample_fill(seed.b, sizeof seed.b, 0x62);
    fre_place_id(&m.id, &s->w, &place);
    must(fre_oprf_evaluate(&key, &s->issuer_oprf, (fre_bytes){m.id.b, sizeof m.id.b}) == FRE_OK);
    fre_vouching_make(&m.proof, &s->w, &key, &m.tag);
    must(fre_entry_seed_seal_with(&m.seed, &s->w, &m.tag, &m.id, &seed, &place, &one) == FRE_OK);
    if (type == FRE_WIRE_ANSWER)
        fre_answer_name(&m.id, &s->w, &m.id, &m.proof);
    must(fre_entry_seal_with(out, &s->w, type, &m, &two) == FRE_OK);
    free(packed);
}

static void batch(const sample *s, fre_wire_type type, fre_buf *out)
{
    const size_t each =
        fre_entry_sealed_bytes(&s->w, type == FRE_WIRE_GATHERED ? FRE_WIRE_ANSWER : FRE_WIRE_ENTRY);
    uint8_t *sealed = malloc(2 * each);
    fre_batch m = {.part = {4, 5}, .sealed = {sealed, 2 * each}, .n = 2};
    fre_buf closed;

    must(sealed != NULL);
    sample_fill(sealed, 2 * each, 0x50);
    fre_buf_init(&closed, SAMPLE_MAX);
    if (type == FRE_WIRE_MIXED) {
        sample_message(s, FRE_WIRE_CLOSED, &closed);
        m.closed = sample_view(&closed);
    }
    must(fre_batch_encode(out, &s->w, type, &m, sample_signer(s, type)) == FRE_OK);
    fre_buf_wipe(&closed);
    free(sealed);
}

static void listed(const sample *s, fre_buf *out)
{
    fre_buf list;

    fre_buf_init(&list, SAMPLE_MAX);
    sample_list(s, &list);
    must(fre_listed_encode(out, &s->w, sample_view(&list), &s->issuer_sk) == FRE_OK);
    fre_buf_wipe(&list);
}

static void mark(const sample *s, fre_wire_type type, fre_buf *out)
{
    fre_mark m = {.kind = FRE_MARK_SUM};

    sample_fill(m.hash, sizeof m.hash, 0x77);
    must(fre_mark_encode(out, &s->w, type, &m, sample_signer(s, type)) == FRE_OK);
}

static void ids_of(fre_report_id id[3])
{
    for (uint32_t i = 0; i < 3; i++)
        sample_fill(id[i].b, sizeof id[i].b, (uint8_t)(0x60 + i));
}

static void vouch(const sample *s, fre_buf *out)
{
    fre_vouch_member m[3];
    fre_vouch_set set[2];
    fre_report_id id[3];
    fre_tag tag[2];

    sample_tags(tag, 2);
    ids_of(id);
    for (uint32_t i = 0; i < 3; i++) {
        m[i].id = id[i];
        sample_fill(m[i].proof.b, sizeof m[i].proof.b, (uint8_t)(0xa0 + i));
    }
    set[0] = (fre_vouch_set){.tag = tag[0], .n = 2, .member = m};
    set[1] = (fre_vouch_set){.tag = tag[1], .n = 1, .member = m + 2};
    must(fre_vouch_encode(out, &s->w, (fre_part){0, 1}, set, 2, &s->syn_sk) == FRE_OK);
}

static void vouched(const sample *s, fre_buf *out)
{
    fre_vouched_set set[2];
    fre_report_id id[3];
    fre_tag tag[2];

    sample_tags(tag, 2);
    ids_of(id);
    set[0] = (fre_vouched_set){.tag = tag[0], .n = 2, .id = id};
    set[1] = (fre_vouched_set){.tag = tag[1], .n = 1, .id = id + 2};
    must(fre_vouched_encode(out, &s->w, (fre_part){0, 1}, set, 2, &s->issuer_sk) == FRE_OK);
}

static void unseal(const sample *s, fre_buf *out)
{
    fre_sealed_entry_seed seed[3];
    fre_unseal m = {.part = {0, 1}, .n = 3, .seed = seed};
    fre_buf inner;

    for (uint32_t i = 0; i < 3; i++)
        sample_fill(seed[i].b, sizeof seed[i].b, (uint8_t)(0xb0 + i));
    fre_buf_init(&inner, SAMPLE_MAX);
    vouched(s, &inner);
    m.vouched = sample_view(&inner);
    must(fre_unseal_encode(out, &s->w, &m, &s->syn_sk) == FRE_OK);
    fre_buf_wipe(&inner);
}

static void summed(const sample *s, fre_buf *out)
{
    const size_t n = fre_wire_share_bytes(&s->w);
    uint8_t *packed = malloc(n);
    fre_summed_set set[2];
    fre_report_id id[3];
    fre_tag tag[2];

    must(packed != NULL);
    sample_fill(packed, n, 0xc0);
    sample_tags(tag, 2);
    ids_of(id);
    set[0] = (fre_summed_set){.tag = tag[0], .n = 2, .id = id, .packed = {packed, n}};
    set[1] = (fre_summed_set){.tag = tag[1], .n = 1, .id = id + 2}; /* goes on */
    must(fre_summed_encode(out, &s->w, (fre_part){0, 2}, set, 2, &s->tag_sk) == FRE_OK);
    free(packed);
}

/* Of S_tag to the relay. */
static void mask(const sample *s, fre_wire_type type, fre_buf *out)
{
    fre_mask m = {.key = FRE_MASK_TAG_SEAL, .by = FRE_ROLE_TAG};

    sample_fill(m.b, type == FRE_WIRE_MASK_WIPE ? sizeof m.b / 2 : sizeof m.b, 0x90);
    must(fre_mask_encode(out, &s->w, type, &m, &s->tag_sk) == FRE_OK);
}

void sample_message_two(const sample *s, fre_wire_type type, fre_buf *out)
{
    switch ((unsigned)type) {
    case FRE_WIRE_ISSUE_REQUEST:
    case FRE_WIRE_ISSUE_RESPONSE:
        issue(s, type, out);
        break;
    case FRE_WIRE_CARRY:
        carry(s, out);
        break;
    case FRE_WIRE_ADMITTED:
        admitted(s, out);
        break;
    case FRE_WIRE_ENTRY:
    case FRE_WIRE_ANSWER:
        sample_entry(s, type, out);
        break;
    case FRE_WIRE_LISTED:
        listed(s, out);
        break;
    case FRE_WIRE_GATHERED:
    case FRE_WIRE_COLLECTED:
    case FRE_WIRE_MIXED:
        batch(s, type, out);
        break;
    case FRE_WIRE_VOUCH:
        vouch(s, out);
        break;
    case FRE_WIRE_VOUCHED:
        vouched(s, out);
        break;
    case FRE_WIRE_UNSEAL:
        unseal(s, out);
        break;
    case FRE_WIRE_SUMMED:
        summed(s, out);
        break;
    case FRE_WIRE_MARK:
    case FRE_WIRE_MARKED:
        mark(s, type, out);
        break;
    case FRE_WIRE_MASK_PUT:
    case FRE_WIRE_MASK_GET:
    case FRE_WIRE_MASK_WIPE:
        mask(s, type, out);
        break;
    default:
        abort();
    }
}

const fre_sign_sk *sample_signer_two(const sample *s, fre_wire_type type)
{
    switch ((unsigned)type) {
    case FRE_WIRE_COLLECTED:
    case FRE_WIRE_GATHERED:
    case FRE_WIRE_MARKED:
        return &s->relay_sk;
    case FRE_WIRE_LISTED:
    case FRE_WIRE_VOUCHED:
        return &s->issuer_sk;
    case FRE_WIRE_VOUCH:
    case FRE_WIRE_UNSEAL:
        return &s->syn_sk;
    default:
        return &s->tag_sk;
    }
}

/* ---- a decoder, and its encoder on what it gave ------------------------------------------------- */

fre_status recode_issue_request(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_oprf_element e[FRE_COLLECTION_CELLS_MAX];
    fre_bytes credentials;
    fre_status st = fre_issue_request_decode(&credentials, e, &s->w, in, err);

    return st == FRE_OK ? fre_issue_request_encode(out, &s->w, credentials, e) : st;
}

fre_status recode_issue_response(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_oprf_element e[FRE_COLLECTION_CELLS_MAX];
    fre_oprf_proof proof;
    fre_status st = fre_issue_response_decode(e, &proof, &s->w, in, err);

    return st == FRE_OK ? fre_issue_response_encode(out, &s->w, e, &proof) : st;
}

fre_status recode_carry(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_carry m;
    fre_status st = fre_carry_decode(&m, &s->w, in, err);

    return st == FRE_OK ? fre_carry_encode(out, &s->w, &m) : st;
}

fre_status recode_admitted(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_admitted m;
    fre_status st = fre_admitted_decode(&m, &s->w, in, err);

    return st == FRE_OK ? fre_admitted_encode(out, &s->w, &m) : st;
}

static fre_status recode_batch(const sample *s, fre_wire_type type, fre_bytes in, fre_buf *out,
                               fre_err *err)
{
    fre_batch m;
    fre_status st = fre_batch_decode(&m, &s->w, type, in, err);

    return st == FRE_OK ? fre_batch_encode(out, &s->w, type, &m, sample_signer(s, type)) : st;
}

fre_status recode_collected(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    return recode_batch(s, FRE_WIRE_COLLECTED, in, out, err);
}

fre_status recode_mixed(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    return recode_batch(s, FRE_WIRE_MIXED, in, out, err);
}

fre_status recode_gathered(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    return recode_batch(s, FRE_WIRE_GATHERED, in, out, err);
}

fre_status recode_listed(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    const size_t head = FRE_WIRE_HEAD_BYTES + 4;
    fre_list m;
    fre_status st = fre_listed_decode(&m, &s->w, in, err);

    if (st != FRE_OK)
        return st;
    return fre_listed_encode(out, &s->w,
                             (fre_bytes){in.p + head, in.n - head - FRE_WIRE_SIGNATURE_BYTES},
                             &s->issuer_sk);
}

static fre_status recode_either_mark(const sample *s, fre_wire_type type, fre_bytes in,
                                     fre_buf *out, fre_err *err)
{
    fre_mark m;
    fre_status st = fre_mark_decode(&m, &s->w, type, in, err);

    return st == FRE_OK ? fre_mark_encode(out, &s->w, type, &m, sample_signer(s, type)) : st;
}

fre_status recode_mark(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    return recode_either_mark(s, FRE_WIRE_MARK, in, out, err);
}

fre_status recode_marked(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    return recode_either_mark(s, FRE_WIRE_MARKED, in, out, err);
}

static fre_status recode_mask(const sample *s, fre_wire_type type, fre_bytes in, fre_buf *out,
                              fre_err *err)
{
    const fre_sign_sk *const sk[] = {NULL, &s->tag_sk, &s->syn_sk, &s->relay_sk, &s->issuer_sk};
    fre_mask m;
    fre_status st = fre_mask_decode(&m, &s->w, type, in, err);

    return st == FRE_OK ? fre_mask_encode(out, &s->w, type, &m, sk[m.by]) : st;
}

fre_status recode_mask_put(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    return recode_mask(s, FRE_WIRE_MASK_PUT, in, out, err);
}

fre_status recode_mask_get(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    return recode_mask(s, FRE_WIRE_MASK_GET, in, out, err);
}

fre_status recode_mask_wipe(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    return recode_mask(s, FRE_WIRE_MASK_WIPE, in, out, err);
}

fre_status recode_vouch(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_tag_sets m;
    fre_vouch_set *e;
    uint32_t n = 0;
    fre_status st = fre_vouch_decode(&m, &s->w, in, err);

    if (st != FRE_OK)
        return st;
    e = malloc((m.n + 1) * sizeof *e);
    must(e != NULL);
    while (fre_vouch_next(&m, &e[n]))
        n++;
    st = fre_vouch_encode(out, &s->w, m.part, e, n, &s->syn_sk);
    free(e);
    return st;
}

fre_status recode_vouched(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_tag_sets m;
    fre_vouched_set *e;
    uint32_t n = 0;
    fre_status st = fre_vouched_decode(&m, &s->w, in, err);

    if (st != FRE_OK)
        return st;
    e = malloc((m.n + 1) * sizeof *e);
    must(e != NULL);
    while (fre_vouched_next(&m, &e[n]))
        n++;
    st = fre_vouched_encode(out, &s->w, m.part, e, n, &s->issuer_sk);
    free(e);
    return st;
}

fre_status recode_unseal(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_unseal m;
    fre_status st = fre_unseal_decode(&m, &s->w, in, err);

    return st == FRE_OK ? fre_unseal_encode(out, &s->w, &m, &s->syn_sk) : st;
}

fre_status recode_summed(const sample *s, fre_bytes in, fre_buf *out, fre_err *err)
{
    fre_tag_sets m;
    fre_summed_set *e;
    uint32_t n = 0;
    fre_status st = fre_summed_decode(&m, &s->w, in, err);

    if (st != FRE_OK)
        return st;
    e = malloc((m.n + 1) * sizeof *e);
    must(e != NULL);
    while (fre_summed_next(&m, &e[n]))
        n++;
    st = fre_summed_encode(out, &s->w, m.part, e, n, &s->tag_sk);
    free(e);
    return st;
}
