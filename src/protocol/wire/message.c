/* message.c - heads, signatures, and the short messages. */
#include "wire_private.h"

static const struct {
    const char *name;
    const char *label; /* of its signature; NULL: not signed */
    bool has_id;
} types[] = {
    [FRE_WIRE_TAG_REQUEST] = {"tag request", NULL, true},
    [FRE_WIRE_TAG_RESPONSE] = {"tag response", NULL, true},
    [FRE_WIRE_CLOSED] = {"closed statement", "fre/closed/v1", true},
    [FRE_WIRE_LIST] = {"list", "fre/list/v1", true},
    [FRE_WIRE_RELEASE] = {"release", "fre/release/v1", true},
    [FRE_WIRE_CANCEL] = {"cancel", "fre/cancel/v1", true},
    [FRE_WIRE_REJECTION] = {"rejection", NULL, false},
    [FRE_WIRE_RECEIPT] = {"receipt", NULL, false},
    [FRE_WIRE_COLLECTION] = {"collection", NULL, false},
    [FRE_WIRE_ISSUE_REQUEST] = {"issue request", NULL, true},
    [FRE_WIRE_ISSUE_RESPONSE] = {"issue response", NULL, true},
    [FRE_WIRE_CARRY] = {"request to the relay", NULL, true},
    [FRE_WIRE_ADMITTED] = {"admission", NULL, true},
    [FRE_WIRE_ENTRY] = {"entry", NULL, true},
    [FRE_WIRE_COLLECTED] = {"collected entries", "fre/collected/v2", true},
    [FRE_WIRE_MIXED] = {"mixed entries", "fre/mixed/v2", true},
    [FRE_WIRE_VOUCH] = {"vouch request", "fre/vouch/v2", true},
    [FRE_WIRE_VOUCHED] = {"vouched members", "fre/vouched/v2", true},
    [FRE_WIRE_UNSEAL] = {"unseal request", "fre/unseal/v2", true},
    [FRE_WIRE_SUMMED] = {"summed members", "fre/summed/v2", true},
    [FRE_WIRE_MARK] = {"mark", "fre/mark/v2", true},
    [FRE_WIRE_MARKED] = {"acknowledged mark", "fre/marked/v2", true},
    [FRE_WIRE_LISTED] = {"list of both servers", "fre/listed/v2", true},
    [FRE_WIRE_ANSWER] = {"answer", NULL, true},
    [FRE_WIRE_GATHERED] = {"gathered answers", "fre/gathered/v2", true},
    [FRE_WIRE_MASK_PUT] = {"mask", "fre/mask-put/v2", true},
    [FRE_WIRE_MASK_GET] = {"request for a mask", "fre/mask-get/v2", true},
    [FRE_WIRE_MASK_WIPE] = {"end of a mask", "fre/mask-wipe/v2", true},
};
#define TYPES (sizeof types / sizeof types[0])

const char *wire_name(fre_wire_type type)
{
    size_t i = (size_t)type;

    return i < TYPES && types[i].name ? types[i].name : "message";
}

/* ---- heads ------------------------------------------------------------------------------------- */

void wire_head(uint8_t out[FRE_WIRE_HEAD_BYTES], const fre_wire *w, fre_wire_type type)
{
    out[0] = FRE_WIRE_VERSION;
    out[1] = (uint8_t)type;
    memcpy(out + 2, w->id.b, sizeof w->id.b);
}

void wire_put_head(fre_out *o, const fre_wire *w, fre_wire_type type)
{
    uint8_t head[FRE_WIRE_HEAD_BYTES];

    wire_head(head, w, type);
    fre_out_put(o, head, sizeof head);
}

fre_status fre_wire_peek(fre_wire_type *type, fre_collection_id *id, fre_bytes in)
{
    fre_collection_id named = {{0}};

    if (!type || !id || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    if (in.n > FRE_WIRE_MESSAGE_MAX)
        return FRE_E_LIMIT;
    if (in.n < 2 || in.p[0] != FRE_WIRE_VERSION || in.p[1] >= TYPES || !types[in.p[1]].name)
        return FRE_E_DATA;
    if (types[in.p[1]].has_id) {
        if (in.n < FRE_WIRE_HEAD_BYTES)
            return FRE_E_DATA;
        memcpy(named.b, in.p + 2, sizeof named.b);
    }
    *type = (fre_wire_type)in.p[1];
    *id = named;
    return FRE_OK;
}

fre_status wire_begin(fre_in *in, const fre_wire *w, fre_wire_type type, fre_bytes message,
                      fre_err *err)
{
    fre_wire_type found;
    fre_collection_id id;
    fre_status st;

    if (!w)
        return FRE_E_ARG;
    st = fre_wire_peek(&found, &id, message);
    if (st == FRE_E_LIMIT)
        return fre_fail(err, st, "%s: longer than %u bytes, which no message is", wire_name(type),
                        FRE_WIRE_MESSAGE_MAX);
    if (st != FRE_OK || found != type)
        return fre_fail(err, st == FRE_OK ? FRE_E_DATA : st,
                        "%s: this is another kind of message, or another version", wire_name(type));
    if (memcmp(id.b, w->id.b, sizeof id.b) != 0)
        return fre_fail(err, FRE_E_KEY, "%s: it belongs to another collection", wire_name(type));
    *in = (fre_in){.left =
                       wire_view(message.p + FRE_WIRE_HEAD_BYTES, message.n - FRE_WIRE_HEAD_BYTES),
                   .bad = NULL};
    return FRE_OK;
}

/* ---- signatures ------------------------------------------------------------------------------- */

fre_status wire_begin_signed(fre_in *in, const fre_wire *w, fre_wire_type type,
                             const fre_sign_pk *pk, fre_bytes message, fre_err *err)
{
    fre_signature sig;
    fre_in body;
    fre_status st = wire_begin(&body, w, type, message, err);

    if (st != FRE_OK)
        return st;
    if (body.left.n < sizeof sig.b)
        return fre_fail(err, FRE_E_DATA, "%s: it is cut short: ask the sender for it again",
                        wire_name(type));
    body.left.n -= sizeof sig.b;
    message.n -= sizeof sig.b;
    memcpy(sig.b, message.p + message.n, sizeof sig.b);
    st = fre_sign_verify(pk, &sig, types[type].label, message);
    if (st == FRE_E_REFUSED)
        return fre_fail(err, st,
                        "%s: its signature is not by the key that the collection names for it",
                        wire_name(type));
    if (st == FRE_OK)
        *in = body;
    return st;
}

fre_status wire_close_signed(fre_out *o, fre_wire_type type, const fre_sign_sk *sk)
{
    fre_signature sig;

    if (!sk)
        wire_fail(o, FRE_E_ARG);
    if (o->st == FRE_OK)
        o->st = fre_sign_statement(&sig, sk, types[type].label,
                                   wire_view(o->b->p + o->start, o->b->n - o->start));
    if (o->st == FRE_OK)
        fre_out_put(o, sig.b, sizeof sig.b);
    return wire_close(o);
}

/* ---- parts ------------------------------------------------------------------------------------ */

static bool part_is_fine(fre_part part)
{
    return part.count <= FRE_WIRE_PARTS_MAX && part.index < part.count;
}

void wire_put_part(fre_out *o, fre_part part)
{
    if (!part_is_fine(part))
        wire_fail(o, FRE_E_ARG);
    fre_out_uint(o, part.index, 4);
    fre_out_uint(o, part.count, 4);
}

fre_part wire_part(fre_in *in)
{
    fre_part part;

    part.index = (uint32_t)fre_in_uint(in, 4, "part");
    part.count = (uint32_t)fre_in_uint(in, 4, "part");
    fre_in_require(in, part_is_fine(part), "part");
    return part;
}

/* ---- closed ----------------------------------------------------------------------------------- */

static bool time_is_fine(int64_t t)
{
    return t >= 1 && t <= FRE_COLLECTION_TIME_MAX;
}

static int64_t read_time(fre_in *in)
{
    uint64_t t = fre_in_uint(in, 8, "time");

    fre_in_require(in, t >= 1 && t <= (uint64_t)FRE_COLLECTION_TIME_MAX, "time");
    return (int64_t)t;
}

fre_status fre_closed_encode(fre_buf *out, const fre_wire *w, const fre_closed *m,
                             const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);

    if (!w || !m || !time_is_fine(m->time) || m->evaluations > w->c.users * w->c.cells_per_user)
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_CLOSED);
    fre_out_uint(&o, (uint64_t)m->time, 8);
    fre_out_uint(&o, m->evaluations, 8);
    return wire_close_signed(&o, FRE_WIRE_CLOSED, sk);
}

fre_status fre_closed_decode(fre_closed *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    fre_closed m;
    fre_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    st = wire_begin_signed(&body, w, FRE_WIRE_CLOSED, &w->c.tag_sign, in, err);
    if (st != FRE_OK)
        return st;
    m.time = read_time(&body);
    m.evaluations = fre_in_uint(&body, 8, "evaluations");
    fre_in_require(&body, m.evaluations <= w->c.users * w->c.cells_per_user, "evaluations");
    st = wire_end(&body, wire_name(FRE_WIRE_CLOSED), err);
    if (st == FRE_OK)
        *out = m;
    return st;
}

/* ---- cancel ----------------------------------------------------------------------------------- */

const fre_sign_pk *wire_key_of(const fre_wire *w, unsigned role)
{
    switch (role) {
    case FRE_ROLE_TAG:
        return &w->c.tag_sign;
    case FRE_ROLE_SYN:
        return &w->c.syn_sign;
    case FRE_ROLE_RELAY:
        return &w->c.relay_sign;
    case FRE_ROLE_ISSUER:
        return &w->c.issuer_sign;
    default:
        return NULL;
    }
}

static bool reason_is_fine(unsigned reason)
{
    return reason >= FRE_CANCEL_OPERATOR && reason <= FRE_CANCEL_DISAGREE;
}

fre_status fre_cancel_encode(fre_buf *out, const fre_wire *w, const fre_cancel *m,
                             const fre_sign_sk *sk)
{
    fre_out o = fre_out_begin(out);

    if (!w || !m || !wire_key_of(w, (unsigned)m->by) || !reason_is_fine((unsigned)m->reason) ||
        !time_is_fine(m->time))
        return FRE_E_ARG;
    wire_put_head(&o, w, FRE_WIRE_CANCEL);
    fre_out_uint(&o, (uint64_t)m->by, 1);
    fre_out_uint(&o, (uint64_t)m->reason, 1);
    fre_out_uint(&o, (uint64_t)m->time, 8);
    return wire_close_signed(&o, FRE_WIRE_CANCEL, sk);
}

fre_status fre_cancel_decode(fre_cancel *out, const fre_wire *w, fre_bytes in, fre_err *err)
{
    const char *name = wire_name(FRE_WIRE_CANCEL);
    const fre_sign_pk *pk;
    unsigned by, reason;
    int64_t t;
    fre_in body;
    fre_status st;

    if (!out || !w)
        return FRE_E_ARG;
    st = wire_begin(&body, w, FRE_WIRE_CANCEL, in, err);
    if (st != FRE_OK)
        return st;
    /* The role tells whose signature it has to be; nothing else is looked at before. */
    pk = wire_key_of(w, (unsigned)fre_in_uint(&body, 1, "by"));
    fre_in_require(&body, pk != NULL, "by");
    if (!pk)
        return wire_end(&body, name, err);
    st = wire_begin_signed(&body, w, FRE_WIRE_CANCEL, pk, in, err);
    if (st != FRE_OK)
        return st;
    by = (unsigned)fre_in_uint(&body, 1, "by");
    reason = (unsigned)fre_in_uint(&body, 1, "reason");
    fre_in_require(&body, reason_is_fine(reason), "reason");
    t = read_time(&body);
    st = wire_end(&body, name, err);
    if (st == FRE_OK)
        *out = (fre_cancel){.by = (fre_role)by, .reason = (fre_cancel_reason)reason, .time = t};
    return st;
}

/* ---- rejection, receipt ------------------------------------------------------------------------ */

const char *fre_rejection_text(fre_rejection r)
{
    switch (r) {
#define X(name, value, text)                                                                       \
    case FRE_REJECTED_##name:                                                                      \
        return text;
        FRE_REJECTION_MAP(X)
#undef X
    }
    return "unknown";
}

fre_rejection fre_rejection_of(fre_status s)
{
    if (s == FRE_E_DATA)
        return FRE_REJECTED_MALFORMED;
    if (s == FRE_E_KEY)
        return FRE_REJECTED_COLLECTION;
    if (s == FRE_E_REFUSED)
        return FRE_REJECTED_UNAUTHENTIC;
    if (s == FRE_E_PROOF)
        return FRE_REJECTED_PROOF;
    if (s == FRE_E_LIMIT)
        return FRE_REJECTED_SIZE;
    return FRE_REJECTED_UNAVAILABLE;
}

fre_status fre_rejection_encode(fre_buf *out, fre_rejection r)
{
    const uint8_t bytes[3] = {FRE_WIRE_VERSION, FRE_WIRE_REJECTION, (uint8_t)r};

    if (!out || (unsigned)r < 1 || (unsigned)r >= FRE_REJECTIONS)
        return FRE_E_ARG;
    return fre_buf_append(out, bytes, sizeof bytes);
}

static fre_status begin_short(fre_in *in, fre_wire_type type, fre_bytes message, fre_err *err)
{
    fre_wire_type found;
    fre_collection_id id;
    fre_status st = fre_wire_peek(&found, &id, message);

    if (st != FRE_OK || found != type)
        return fre_fail(err, st == FRE_OK ? FRE_E_DATA : st,
                        "%s: this is another kind of message, or another version", wire_name(type));
    *in = (fre_in){.left = wire_view(message.p + 2, message.n - 2), .bad = NULL};
    return FRE_OK;
}

fre_status fre_rejection_decode(fre_rejection *out, fre_bytes in, fre_err *err)
{
    unsigned code;
    fre_in body;
    fre_status st;

    if (!out)
        return FRE_E_ARG;
    if ((st = begin_short(&body, FRE_WIRE_REJECTION, in, err)) != FRE_OK)
        return st;
    code = (unsigned)fre_in_uint(&body, 1, "code");
    fre_in_require(&body, code >= 1 && code < FRE_REJECTIONS, "code");
    st = wire_end(&body, wire_name(FRE_WIRE_REJECTION), err);
    if (st == FRE_OK)
        *out = (fre_rejection)code;
    return st;
}

fre_status fre_receipt_encode(fre_buf *out)
{
    const uint8_t bytes[2] = {FRE_WIRE_VERSION, FRE_WIRE_RECEIPT};

    return out ? fre_buf_append(out, bytes, sizeof bytes) : FRE_E_ARG;
}

fre_status fre_receipt_decode(fre_bytes in, fre_err *err)
{
    fre_in body;
    fre_status st = begin_short(&body, FRE_WIRE_RECEIPT, in, err);

    return st == FRE_OK ? wire_end(&body, wire_name(FRE_WIRE_RECEIPT), err) : st;
}
