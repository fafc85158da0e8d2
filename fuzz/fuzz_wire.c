/* Every decoder of wire.h, chosen by the first byte: any bytes are refused or have one meaning,
 * which encodes to the same bytes.  Bodies of signed messages are signed here, plaintexts of sealed
 * ones go to their decoder behind the seal. */
#include "wire_private.h"

#include "wire_sample.h"

#define JSON FRE_WIRE_TYPES /* behind the types */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void recode(const sample *s, fre_wire_type type, fre_bytes in)
{
    fre_buf message, again;
    fre_bytes whole = in;
    uint64_t items;
    fre_err err;
    fre_status st;

    fre_buf_init(&message, SAMPLE_MAX);
    fre_buf_init(&again, SAMPLE_MAX);
    if (sample_is_signed(type)) {
        sample_sign(s, type, in, &message);
        whole = sample_view(&message);
    }
    st = sample_recoders[type](s, whole, &again, &err);
    items = fre_wire_items(whole);
    if (st == FRE_OK)
        must(again.n == whole.n && memcmp(again.p, whole.p, whole.n) == 0 && items <= whole.n);
    else
        must(st == FRE_E_DATA || st == FRE_E_KEY || st == FRE_E_REFUSED);
    fre_buf_wipe(&message);
    fre_buf_wipe(&again);
}

static void plaintext(const sample *s, fre_wire_type type, fre_bytes in)
{
    fre_entry m;

    if (wire_entry_decode(&m, &s->w, type, in, NULL) != FRE_OK)
        return;
    must(in.n + FRE_HPKE_OVERHEAD == fre_entry_sealed_bytes(&s->w, type));
    must(memcmp(m.id.b, in.p, sizeof m.id.b) == 0);
    must(m.packed.n == 0 || m.packed.p + m.packed.n == in.p + in.n);
}

static void json(fre_bytes in)
{
    fre_collection c, back;
    fre_collection_id a, b;
    fre_buf text;

    if (fre_collection_from_json(&c, in, NULL) != FRE_OK)
        return;
    fre_buf_init(&text, SAMPLE_MAX);
    must(fre_collection_to_json(&text, &c, NULL) == FRE_OK);
    must(fre_collection_from_json(&back, sample_view(&text), NULL) == FRE_OK);
    must(fre_collection_identify(&a, &c, NULL) == FRE_OK &&
         fre_collection_identify(&b, &back, NULL) == FRE_OK && memcmp(a.b, b.b, sizeof a.b) == 0);
    fre_buf_wipe(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static sample s;
    static bool ready;
    fre_wire_type type;
    fre_bytes in;

    if (!ready) {
        sample_init(&s);
        s.w.c.splits = true; /* the id stays: it is not made again */
    }
    ready = true;
    if (n == 0 || n > SAMPLE_MAX / 2)
        return 0;
    type = (fre_wire_type)data[0];
    in = (fre_bytes){.p = data + 1, .n = n - 1};
    if (type == FRE_WIRE_ENTRY || type == FRE_WIRE_ANSWER)
        plaintext(&s, type, in);
    else if (data[0] == JSON)
        json(in);
    else if (data[0] < SAMPLE_TYPES && sample_recoders[data[0]])
        recode(&s, type, in);
    return 0;
}
