/* items.c - how much is in a message that comes in parts: what a receiver counts before it keeps another. */
#include "wire_private.h"

/* Members of sets of which each has one at least: what of them is not their tags and numbers. */
static uint64_t members(fre_in *in, size_t each)
{
    const uint64_t heads = fre_in_uint(in, 4, "sets") * (sizeof(fre_tag) + 4);

    return in->left.n > heads ? (in->left.n - heads) / each : 0;
}

static void skip(fre_in *in, unsigned length)
{
    (void)wire_items(in, (uint32_t)fre_in_uint(in, length, "length"), 1, "length");
}

static uint64_t items(fre_in *in, fre_wire_type type)
{
    (void)wire_part(in);
    switch ((unsigned)type) {
    case FRE_WIRE_VOUCH:
        return members(in, sizeof(fre_vouch_member));
    case FRE_WIRE_VOUCHED:
        return members(in, sizeof(fre_report_id));
    case FRE_WIRE_RELEASE:
        (void)fre_in_uint(in, 8, "time");
        skip(in, 2);
        break;
    case FRE_WIRE_UNSEAL:
        skip(in, 4);
        break;
    case FRE_WIRE_COLLECTED:
    case FRE_WIRE_MIXED:
    case FRE_WIRE_GATHERED:
        skip(in, 2);
        break;
    default:
        return 0;
    }
    return fre_in_uint(in, 4, "items");
}

uint64_t fre_wire_items(fre_bytes message)
{
    fre_collection_id id;
    fre_wire_type type;
    fre_in in = {.bad = NULL};
    uint64_t n;

    if (fre_wire_peek(&type, &id, message) != FRE_OK ||
        message.n < FRE_WIRE_HEAD_BYTES + FRE_WIRE_SIGNATURE_BYTES)
        return 0;
    in.left = wire_view(message.p + FRE_WIRE_HEAD_BYTES,
                        message.n - FRE_WIRE_HEAD_BYTES - FRE_WIRE_SIGNATURE_BYTES);
    n = items(&in, type);
    return in.bad ? 0 : n;
}
