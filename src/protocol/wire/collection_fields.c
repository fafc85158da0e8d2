/* collection_fields.c - the fields of a collection in the order of its encoding, and the encoding. */
#include "wire_private.h"

#include <sodium.h>

#include <stddef.h>

static const wire_choice adjacencies[] = {
    {FRE_ADJACENCY_ADD_REMOVE, "add-remove"}, {FRE_ADJACENCY_REPLACE, "replace"}, {0, NULL}};
static const wire_choice sensitivities[] = {{FRE_SENSITIVITY_PROBABILISTIC, "probabilistic"},
                                            {FRE_SENSITIVITY_WORST_CASE, "worst-case"},
                                            {0, NULL}};
static const wire_choice sketches[] = {
    {FRE_SKETCH_GRID, "grid"}, {FRE_SKETCH_CODEBOOK, "codebook"}, {0, NULL}};
static const wire_choice aeads[] = {{FRE_HPKE_AES_128_GCM, "aes-128-gcm"},
                                    {FRE_HPKE_CHACHA20_POLY1305, "chacha20-poly1305"},
                                    {0, NULL}};

static const wire_choice contacts[] = {{false, "two"}, {true, "one"}, {0, NULL}};
static const wire_choice noise_by[] = {{false, "clients"}, {true, "servers"}, {0, NULL}};

_Static_assert(sizeof(fre_adjacency) == sizeof(unsigned) &&
                   sizeof(fre_sensitivity) == sizeof(unsigned) &&
                   sizeof(fre_sketch_kind) == sizeof(unsigned) &&
                   sizeof(fre_hpke_aead) == sizeof(unsigned),
               "enumerations are read as unsigned");
_Static_assert(sizeof(double) == 8, "doubles travel as IEEE 754 binary64");

#define FIELD(name, kind, size, choices)                                                           \
    {                                                                                              \
#name, kind, offsetof(fre_collection, name), size, choices, WIRE_ALL                       \
    }

/* A field with another name than its member. */
#define NAMED(name, member, kind, size, choices)                                                   \
    {                                                                                              \
        name, kind, offsetof(fre_collection, member), size, choices, WIRE_ALL                      \
    }
/* A field of one kind of sketch. */
#define SKETCHED(name, member, kind, size, sketch_kind)                                            \
    {                                                                                              \
        name, kind, offsetof(fre_collection, sketch.member), size, NULL, sketch_kind               \
    }
#define OF_CONTRIBUTOR(name, who)                                                                  \
    NAMED(name "_contribution", contribution[who], WIRE_BYTES, 32, NULL),                          \
        NAMED(name "_commitment", commitment[who], WIRE_BYTES, 32, NULL)

const wire_field wire_collection_fields[] = {
    FIELD(embedder, WIRE_BYTES, 32, NULL),
    FIELD(dim, WIRE_U32, 4, NULL),
    OF_CONTRIBUTOR("relay", FRE_CONTRIBUTOR_RELAY),
    OF_CONTRIBUTOR("tag", FRE_CONTRIBUTOR_TAG),
    OF_CONTRIBUTOR("syn", FRE_CONTRIBUTOR_SYN),
    OF_CONTRIBUTOR("issuer", FRE_CONTRIBUTOR_ISSUER),
    FIELD(grid_seed, WIRE_BYTES, 32, NULL),
    FIELD(sign_seed, WIRE_BYTES, 32, NULL),
    NAMED("sketch", sketch.kind, WIRE_ENUM, 1, sketches),
    SKETCHED("proj", grid.proj, WIRE_U32, 4, FRE_SKETCH_GRID),
    SKETCHED("cell_edge", grid.cell_edge, WIRE_DOUBLE, 8, FRE_SKETCH_GRID),
    SKETCHED("codebook", codebook.sha256, WIRE_BYTES, 32, FRE_SKETCH_CODEBOOK),
    SKETCHED("codebook_level", codebook.level, WIRE_U32, 4, FRE_SKETCH_CODEBOOK),
    SKETCHED("public_cells", codebook.cells, WIRE_U64, 8, FRE_SKETCH_CODEBOOK),
    SKETCHED("clip_radius", codebook.radius, WIRE_DOUBLE, 8, FRE_SKETCH_CODEBOOK),
    SKETCHED("gain", codebook.gain, WIRE_DOUBLE, 8, FRE_SKETCH_CODEBOOK),
    FIELD(p32, WIRE_U64, 8, NULL),
    FIELD(threshold, WIRE_U64, 8, NULL),
    FIELD(tau, WIRE_U64, 8, NULL),
    FIELD(sigma, WIRE_DOUBLE, 8, NULL),
    FIELD(split, WIRE_DOUBLE, 8, NULL),
    FIELD(norm_bound, WIRE_DOUBLE, 8, NULL),
    FIELD(lambda16, WIRE_U64, 8, NULL),
    FIELD(gamma, WIRE_U32, 4, NULL),
    FIELD(users, WIRE_U64, 8, NULL),
    FIELD(batch_min, WIRE_U64, 8, NULL),
    FIELD(curious, WIRE_U32, 4, NULL),
    FIELD(dropout, WIRE_DOUBLE, 8, NULL),
    FIELD(cover, WIRE_BOOL, 1, NULL),
    NAMED("contacts", one_contact, WIRE_CHOICE, 1, contacts),
    NAMED("noise_by", server_noise, WIRE_CHOICE, 1, noise_by),
    FIELD(splits, WIRE_BOOL, 1, NULL),
    FIELD(adjacency, WIRE_ENUM, 1, adjacencies),
    FIELD(sensitivity, WIRE_ENUM, 1, sensitivities),
    FIELD(cells_per_user, WIRE_U32, 4, NULL),
    FIELD(epsilon, WIRE_DOUBLE, 8, NULL),
    FIELD(delta, WIRE_DOUBLE, 8, NULL),
    FIELD(phi, WIRE_DOUBLE, 8, NULL),
    FIELD(aead, WIRE_ENUM, 2, aeads),
    FIELD(oprf_pk, WIRE_BYTES, 32, NULL),
    FIELD(issuer_pk, WIRE_BYTES, 32, NULL),
    FIELD(tag_seal, WIRE_BYTES, 32, NULL),
    FIELD(syn_seal, WIRE_BYTES, 32, NULL),
    FIELD(issuer_seal, WIRE_BYTES, 32, NULL),
    FIELD(tag_sign, WIRE_BYTES, 32, NULL),
    FIELD(syn_sign, WIRE_BYTES, 32, NULL),
    FIELD(relay_sign, WIRE_BYTES, 32, NULL),
    FIELD(issuer_sign, WIRE_BYTES, 32, NULL),
    FIELD(relay_url, WIRE_URL, FRE_COLLECTION_URL_MAX, NULL),
    FIELD(tag_url, WIRE_URL, FRE_COLLECTION_URL_MAX, NULL),
    FIELD(syn_url, WIRE_URL, FRE_COLLECTION_URL_MAX, NULL),
    FIELD(issuer_url, WIRE_URL, FRE_COLLECTION_URL_MAX, NULL),
    FIELD(relay_pin, WIRE_BYTES, 32, NULL),
    FIELD(tag_pin, WIRE_BYTES, 32, NULL),
    FIELD(syn_pin, WIRE_BYTES, 32, NULL),
    FIELD(issuer_pin, WIRE_BYTES, 32, NULL),
    FIELD(open, WIRE_TIME, 8, NULL),
    FIELD(exchange_close, WIRE_TIME, 8, NULL),
    FIELD(tags_close, WIRE_TIME, 8, NULL),
    FIELD(shares_close, WIRE_TIME, 8, NULL),
    FIELD(end, WIRE_TIME, 8, NULL),
};
const size_t wire_collection_field_count =
    sizeof wire_collection_fields / sizeof wire_collection_fields[0];

/* The longest encoding is far below this. */
#define COLLECTION_BYTES_MAX 4096u

static const uint8_t *at(const fre_collection *c, const wire_field *f)
{
    return (const uint8_t *)c + f->offset;
}

bool wire_field_of(const fre_collection *c, const wire_field *f)
{
    return f->of == WIRE_ALL || f->of == (int)c->sketch.kind;
}

unsigned wire_enum_get(const fre_collection *c, const wire_field *f)
{
    unsigned v;

    memcpy(&v, at(c, f), sizeof v);
    return v;
}

void wire_enum_set(fre_collection *c, const wire_field *f, unsigned v)
{
    memcpy((uint8_t *)c + f->offset, &v, sizeof v);
}

bool wire_enum_is(const wire_field *f, unsigned v)
{
    for (const wire_choice *k = f->choices; k->name; k++) {
        if (k->value == v)
            return true;
    }
    return false;
}

/* ---- encode ------------------------------------------------------------------------------------ */

static uint64_t number(const fre_collection *c, const wire_field *f)
{
    uint64_t u64;
    uint32_t u32;
    bool b;

    if (f->kind == WIRE_BOOL || f->kind == WIRE_CHOICE) {
        memcpy(&b, at(c, f), sizeof b);
        return b;
    }
    if (f->kind == WIRE_ENUM)
        return wire_enum_get(c, f);
    if (f->kind == WIRE_U32) {
        memcpy(&u32, at(c, f), sizeof u32);
        return u32;
    }
    /* Times are positive; a double travels as its bits. */
    memcpy(&u64, at(c, f), sizeof u64);
    return u64;
}

static void put_field(fre_out *o, const fre_collection *c, const wire_field *f)
{
    if (f->kind == WIRE_BYTES) {
        fre_out_put(o, at(c, f), f->size);
    } else if (f->kind == WIRE_URL) {
        size_t n = strnlen((const char *)at(c, f), f->size);

        fre_out_uint(o, n, 1);
        fre_out_put(o, at(c, f), n);
    } else {
        fre_out_uint(o, number(c, f), (unsigned)f->size);
    }
}

fre_status fre_collection_encode(fre_buf *out, const fre_collection *c, fre_err *err)
{
    fre_out o = fre_out_begin(out);
    fre_status st;

    if (!out || !c)
        return FRE_E_ARG;
    if ((st = fre_collection_validate(c, err)) != FRE_OK)
        return st;
    fre_out_uint(&o, FRE_WIRE_VERSION, 1);
    fre_out_uint(&o, FRE_WIRE_COLLECTION, 1);
    for (size_t i = 0; i < wire_collection_field_count; i++)
        if (wire_field_of(c, &wire_collection_fields[i]))
            put_field(&o, c, &wire_collection_fields[i]);
    return wire_close(&o);
}

fre_status fre_collection_identify(fre_collection_id *out, const fre_collection *c, fre_err *err)
{
    fre_buf b;
    fre_status st;

    if (!out || !c)
        return FRE_E_ARG;
    fre_buf_init(&b, COLLECTION_BYTES_MAX);
    st = fre_collection_encode(&b, c, err);
    if (st == FRE_OK)
        (void)crypto_hash_sha256(out->b, b.p, b.n);
    fre_buf_wipe(&b);
    return st;
}

/* ---- decode ------------------------------------------------------------------------------------ */

static void read_field(fre_in *in, fre_collection *c, const wire_field *f)
{
    uint8_t *to = (uint8_t *)c + f->offset;
    uint64_t v;

    if (f->kind == WIRE_BYTES) {
        fre_in_copy(in, to, f->size, f->name);
        return;
    }
    if (f->kind == WIRE_URL) {
        size_t n = (size_t)fre_in_uint(in, 1, f->name);

        fre_in_copy(in, to, n, f->name); /* the last byte stays 0 */
        return;
    }
    v = fre_in_uint(in, (unsigned)f->size, f->name);
    if (f->kind == WIRE_BOOL || f->kind == WIRE_CHOICE) {
        bool b = v == 1;

        fre_in_require(in, v <= 1, f->name);
        memcpy(to, &b, sizeof b);
    } else if (f->kind == WIRE_ENUM) {
        fre_in_require(in, wire_enum_is(f, (unsigned)v), f->name);
        wire_enum_set(c, f, (unsigned)v);
    } else if (f->kind == WIRE_U32) {
        uint32_t u = (uint32_t)v;

        memcpy(to, &u, sizeof u);
    } else {
        fre_in_require(in, f->kind != WIRE_TIME || v <= INT64_MAX, f->name);
        memcpy(to, &v, sizeof v);
    }
}

/* A URL that holds a zero byte would come back shorter than it came: one encoding each. */
static void check_urls(fre_in *in, const fre_collection *c, fre_bytes whole)
{
    size_t n = 2;

    for (size_t i = 0; i < wire_collection_field_count; i++) {
        const wire_field *f = &wire_collection_fields[i];

        if (wire_field_of(c, f))
            n += f->kind == WIRE_URL ? 1 + strlen((const char *)at(c, f)) : f->size;
    }
    fre_in_require(in, n == whole.n, "url");
}

fre_status fre_collection_decode(fre_collection *out, fre_bytes in, fre_err *err)
{
    fre_collection c;
    fre_collection_id id;
    fre_wire_type type;
    fre_in body;
    fre_status st;

    if (!out)
        return FRE_E_ARG;
    st = fre_wire_peek(&type, &id, in);
    if (st == FRE_E_ARG || st == FRE_E_LIMIT)
        return st;
    if (st != FRE_OK || type != FRE_WIRE_COLLECTION)
        return fre_fail(err, FRE_E_DATA,
                        "collection: this is not a collection, or one that another version of this "
                        "program made");
    memset(&c, 0, sizeof c);
    body = (fre_in){.left = wire_view(in.p + 2, in.n - 2), .bad = NULL};
    for (size_t i = 0; i < wire_collection_field_count; i++)
        if (wire_field_of(&c, &wire_collection_fields[i]))
            read_field(&body, &c, &wire_collection_fields[i]);
    if (!body.bad && body.left.n == 0)
        check_urls(&body, &c, in);
    st = wire_end(&body, wire_name(FRE_WIRE_COLLECTION), err);
    if (st == FRE_OK)
        st = fre_collection_validate(&c, err);
    if (st == FRE_OK)
        memcpy(out, &c, sizeof c);
    return st;
}
