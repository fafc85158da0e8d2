/* Inside wire: the bounded reader and the writer, and what messages share. */
#ifndef FRE_WIRE_PRIVATE_H
#define FRE_WIRE_PRIVATE_H

#include <fre/wire.h>

#include <string.h>

static inline fre_bytes wire_view(const void *p, size_t n)
{
    return (fre_bytes){.p = p, .n = n};
}

/* ---- beside core's reader (fre_in): a decoder checks once, at its end ------------------------- */

/* n items of `each` bytes, without overflow. */
fre_bytes wire_items(fre_in *in, uint32_t n, size_t each, const char *field);
/* FRE_OK if all was well and nothing is left; else FRE_E_DATA with a sentence. */
FRE_MUST_CHECK fre_status wire_end(const fre_in *in, const char *message, fre_err *err);

/* ---- and its writer (fre_out), which wire_close ends ------------------------------------------ */

/* Room for a message of a known size, where it is large or one of many. */
void wire_reserve(fre_out *o, size_t n);
void wire_fail(fre_out *o, fre_status st);
FRE_MUST_CHECK fre_status wire_close(fre_out *o);

uint32_t wire_get32(const uint8_t *p);
void wire_set32(uint8_t *p, uint32_t v);

/* ---- message.c: heads, signatures, infos ------------------------------------------------------ */

void wire_put_head(fre_out *o, const fre_wire *w, fre_wire_type type);
void wire_head(uint8_t out[FRE_WIRE_HEAD_BYTES], const fre_wire *w, fre_wire_type type);
/* Checks head and size, and leaves the body in `in`. */
FRE_MUST_CHECK fre_status wire_begin(fre_in *in, const fre_wire *w, fre_wire_type type,
                                     fre_bytes message, fre_err *err);
/* The same for a signed message, whose signature is verified; leaves the body without it. */
FRE_MUST_CHECK fre_status wire_begin_signed(fre_in *in, const fre_wire *w, fre_wire_type type,
                                            const fre_sign_pk *pk, fre_bytes message, fre_err *err);
/* Signs what was written since fre_out_begin and closes. */
FRE_MUST_CHECK fre_status wire_close_signed(fre_out *o, fre_wire_type type, const fre_sign_sk *sk);
/* Name of a type in messages to people; "message" for no type. */
const char *wire_name(fre_wire_type type);

/* A role's signing key; NULL: no role. */
const fre_sign_pk *wire_key_of(const fre_wire *w, unsigned role);

void wire_put_part(fre_out *o, fre_part part);
fre_part wire_part(fre_in *in);

/* ---- entry.c: plaintexts, for the fuzz target; type: an entry or answer --------------------------- */

FRE_MUST_CHECK fre_status wire_entry_decode(fre_entry *out, const fre_wire *w, fre_wire_type type,
                                            fre_bytes plain, fre_err *err);

/* ---- sets.c: members by tag.  set:  tag (32)  number of members (4)  members, an id first ----- */

typedef struct wire_set {
    const uint8_t *tag;
    const uint8_t *member;
    uint32_t n;
} wire_set;
/* before: the set in front of it, NULL: the first.  each: bytes of a member.  FRE_E_ARG: fewer members than
 * least, or an order not kept. */
void wire_put_set(fre_out *o, const wire_set *before, const wire_set *s, size_t each,
                  uint32_t least);
/* Number of sets (4)  sets; at: the i-th of list. */
typedef wire_set wire_set_at(const void *list, uint32_t i);
void wire_put_sets(fre_out *o, const void *list, uint32_t n, wire_set_at *at, size_t each,
                   uint32_t least);
/* n members of `each` bytes: are their ids strictly ascending? */
bool wire_ids_ascend(const uint8_t *member, uint32_t n, size_t each);
/* One set, not checked; false: the input is bad. */
bool wire_read_set(fre_in *in, wire_set *out, size_t each);
/* part (8)  number of sets (4)  sets: leaves *raw = the sets, which are all checked. */
FRE_MUST_CHECK fre_status wire_decode_sets(fre_part *part, uint32_t *n, fre_bytes *raw,
                                           fre_in *body, size_t each, uint32_t least,
                                           fre_wire_type type, fre_err *err);
bool wire_next_set(uint32_t *n, fre_bytes *raw, wire_set *out, size_t each);

/* ---- tags.c: elements of a request or response ------------------------------------------------- */

void wire_put_elements(fre_out *o, const fre_wire *w, const fre_oprf_element *e);
/* The caller copies them out, once the whole message has been checked. */
fre_bytes wire_read_elements(fre_in *in, const fre_wire *w);
void wire_copy_elements(fre_oprf_element *out, const fre_wire *w, fre_bytes raw);
void wire_put_answer(fre_out *o, const fre_wire *w, const fre_oprf_element *evaluated,
                     const fre_oprf_proof *proof);
FRE_MUST_CHECK fre_status wire_read_answer(fre_oprf_element *evaluated, fre_oprf_proof *proof,
                                           const fre_wire *w, fre_wire_type type, fre_bytes in,
                                           fre_err *err);

/* ---- entry.c: infos of seals ------------------------------------------------------------------ */

#define WIRE_INFO_MAX 128u
/* u8 length of label || label || collection id || more */
fre_bytes wire_info(uint8_t out[WIRE_INFO_MAX], const fre_wire *w, const char *label,
                    const fre_tag *tag, const fre_report_id *id, fre_bytes more);

/* ---- collection_fields.c: the table of a collection's fields, in the order of the encoding ---- */

typedef enum wire_kind {
    WIRE_BYTES, /* `size` bytes */
    WIRE_BOOL,
    WIRE_CHOICE, /* a bool by the name of each value */
    WIRE_ENUM,   /* an enumeration of `names`; `size` bytes in the encoding */
    WIRE_U32,
    WIRE_U64,
    WIRE_DOUBLE,
    WIRE_URL,
    WIRE_TIME
} wire_kind;

typedef struct wire_choice {
    unsigned value;
    const char *name; /* NULL: end of the list */
} wire_choice;

typedef struct wire_field {
    const char *name;
    wire_kind kind;
    size_t offset, size;
    const wire_choice *choices;
    int of; /* a collection with this kind of sketch has it, or WIRE_ALL */
} wire_field;
#define WIRE_ALL (-1)

extern const wire_field wire_collection_fields[];
extern const size_t wire_collection_field_count;

/* Has this collection the field?  Its sketch's kind has to be there already. */
bool wire_field_of(const fre_collection *c, const wire_field *f);
/* May the index stand for a cell?  A grid's cells have none: 0. */
bool wire_is_cell(const fre_wire *w, uint32_t cell);
/* An enumeration's value as a number, and back. */
unsigned wire_enum_get(const fre_collection *c, const wire_field *f);
void wire_enum_set(fre_collection *c, const wire_field *f, unsigned v);
bool wire_enum_is(const wire_field *f, unsigned v);

/* ---- collection_rules.c, collection_parties.c: what fields may be ------------------------------ */

typedef struct wire_rule {
    bool ok;
    const char *field;
    const char *must;
} wire_rule;
FRE_MUST_CHECK fre_status wire_apply(const wire_rule *r, size_t n, fre_err *err);
#define WIRE_APPLY(rules, err) wire_apply(rules, sizeof(rules) / sizeof(rules)[0], err)

/* Contributions, keys, addresses. */
FRE_MUST_CHECK fre_status wire_check_parties(const fre_collection *c, fre_err *err);

/* One contact: the most that a cell can hold, and cells as full as they need be. */
static inline uint64_t wire_largest_cell(const fre_mechanism *m, uint64_t *cells)
{
    const uint64_t largest = m->population > m->tau ? m->population : m->tau;

    *cells = largest / m->tau;
    return largest;
}

#endif /* FRE_WIRE_PRIVATE_H */
