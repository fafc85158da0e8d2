/* collection_json.c - a collection for people: one JSON object, the fields of its encoding. */
#include "wire_private.h"

#include <jansson.h>

#define JSON_BYTES_MAX 65536u
#define BYTES_FIELD 32u /* every field of bytes */

/* ---- to JSON ----------------------------------------------------------------------------------- */

static json_t *hex_value(const uint8_t *p)
{
    char text[2 * BYTES_FIELD + 1];

    fre_hex(text, p, BYTES_FIELD);
    return json_string(text);
}

static json_t *choice_value(const wire_field *f, unsigned v)
{
    for (const wire_choice *k = f->choices; k->name; k++) {
        if (k->value == v)
            return json_string(k->name);
    }
    return NULL;
}

static json_t *to_value(const fre_collection *c, const wire_field *f)
{
    const uint8_t *p = (const uint8_t *)c + f->offset;
    uint64_t u64;
    uint32_t u32;
    double x;
    bool b;

    switch (f->kind) {
    case WIRE_BYTES:
        return hex_value(p);
    case WIRE_BOOL:
        memcpy(&b, p, sizeof b);
        return json_boolean(b);
    case WIRE_ENUM:
        return choice_value(f, wire_enum_get(c, f));
    case WIRE_CHOICE:
        memcpy(&b, p, sizeof b);
        return choice_value(f, b);
    case WIRE_U32:
        memcpy(&u32, p, sizeof u32);
        return json_integer((json_int_t)u32);
    case WIRE_U64:
    case WIRE_TIME:
        memcpy(&u64, p, sizeof u64); /* below 2^63 in a valid collection */
        return json_integer((json_int_t)u64);
    case WIRE_DOUBLE:
        memcpy(&x, p, sizeof x);
        return json_real(x);
    case WIRE_URL:
        return json_string((const char *)p);
    }
    return NULL;
}

static int append(const char *text, size_t n, void *out)
{
    return fre_buf_append(out, text, n) == FRE_OK ? 0 : -1;
}

fre_status fre_collection_to_json(fre_buf *out, const fre_collection *c, fre_err *err)
{
    fre_collection_id id;
    json_t *root = NULL;
    fre_buf text;
    fre_status st;
    bool ok;

    if (!out || !c)
        return FRE_E_ARG;
    st = fre_collection_identify(&id, c, err);
    if (st != FRE_OK)
        return st;
    fre_buf_init(&text, JSON_BYTES_MAX);
    root = json_object();
    ok = root && json_object_set_new(root, "id", hex_value(id.b)) == 0;
    for (size_t i = 0; ok && i < wire_collection_field_count; i++) {
        const wire_field *f = &wire_collection_fields[i];

        ok = !wire_field_of(c, f) || json_object_set_new(root, f->name, to_value(c, f)) == 0;
    }
    /* 17 digits read back to the same double. */
    ok = ok &&
         json_dump_callback(root, append, &text, JSON_INDENT(2) | JSON_REAL_PRECISION(17)) == 0 &&
         fre_buf_append(&text, "\n", 1) == FRE_OK;
    st = ok ? fre_buf_append(out, text.p, text.n) : FRE_E_NOMEM;
    json_decref(root);
    fre_buf_wipe(&text);
    return st;
}

/* ---- from JSON --------------------------------------------------------------------------------- */

static bool from_choice(unsigned *v, const wire_field *f, const char *s)
{
    for (const wire_choice *k = f->choices; s && k->name; k++) {
        if (strcmp(k->name, s) == 0) {
            *v = k->value;
            return true;
        }
    }
    return false;
}

static bool from_integer(uint8_t *to, const wire_field *f, const json_t *v)
{
    json_int_t i = json_integer_value(v);
    uint64_t u64 = (uint64_t)i;
    uint32_t u32 = (uint32_t)u64;

    if (!json_is_integer(v) || i < 0 || (f->kind == WIRE_U32 && i > (json_int_t)UINT32_MAX))
        return false;
    if (f->kind == WIRE_U32)
        memcpy(to, &u32, sizeof u32);
    else
        memcpy(to, &u64, sizeof u64);
    return true;
}

static bool from_url(uint8_t *to, const json_t *v)
{
    const char *s = json_string_value(v);
    size_t n = s ? json_string_length(v) : 0;

    if (n < 1 || n > FRE_COLLECTION_URL_MAX || strlen(s) != n)
        return false;
    memcpy(to, s, n);
    return true;
}

static bool from_value(fre_collection *c, const wire_field *f, const json_t *v)
{
    uint8_t *to = (uint8_t *)c + f->offset;
    unsigned choice = 0;
    double x;
    bool b, ok;

    switch (f->kind) {
    case WIRE_BYTES:
        return json_is_string(v) && fre_unhex(to, BYTES_FIELD, json_string_value(v));
    case WIRE_BOOL:
        b = json_is_true(v);
        memcpy(to, &b, sizeof b);
        return json_is_boolean(v);
    case WIRE_ENUM:
        ok = from_choice(&choice, f, json_string_value(v));
        wire_enum_set(c, f, choice);
        return ok;
    case WIRE_CHOICE:
        ok = from_choice(&choice, f, json_string_value(v));
        b = choice != 0;
        memcpy(to, &b, sizeof b);
        return ok;
    case WIRE_U32:
    case WIRE_U64:
    case WIRE_TIME:
        return from_integer(to, f, v);
    case WIRE_DOUBLE:
        x = json_number_value(v);
        memcpy(to, &x, sizeof x);
        return json_is_number(v);
    case WIRE_URL:
        return from_url(to, v);
    }
    return false;
}

static fre_status read_fields(fre_collection *c, const json_t *root, fre_err *err)
{
    size_t known = json_object_get(root, "id") ? 1 : 0;

    for (size_t i = 0; i < wire_collection_field_count; i++) {
        const wire_field *f = &wire_collection_fields[i];
        const json_t *v = json_object_get(root, f->name);

        if (!wire_field_of(c, f)) {
            if (v)
                return fre_fail(
                    err, FRE_E_DATA,
                    "collection: %s is of another kind of sketch than it has: remove it", f->name);
            continue;
        }
        if (!v)
            return fre_fail(err, FRE_E_DATA, "collection: the key %s is missing", f->name);
        if (!from_value(c, f, v))
            return fre_fail(err, FRE_E_DATA,
                            "collection: %s is of another kind or outside its range", f->name);
        known++;
    }
    if (json_object_size(root) != known)
        return fre_fail(err, FRE_E_DATA,
                        "collection: it has a key that no collection has: remove it");
    return FRE_OK;
}

static fre_status check_id(const fre_collection *c, const json_t *id, fre_err *err)
{
    fre_collection_id is;
    uint8_t said[sizeof is.b];
    fre_status st = fre_collection_identify(&is, c, err);

    if (st != FRE_OK || !id)
        return st;
    if (!json_is_string(id) || !fre_unhex(said, sizeof said, json_string_value(id)) ||
        memcmp(said, is.b, sizeof said) != 0)
        return fre_fail(err, FRE_E_DATA,
                        "collection: its id is not that of its fields: one was changed");
    return FRE_OK;
}

fre_status fre_collection_from_json(fre_collection *out, fre_bytes in, fre_err *err)
{
    fre_collection c;
    json_error_t where;
    json_t *root;
    fre_status st;

    if (!out || (in.n > 0 && !in.p))
        return FRE_E_ARG;
    if (in.n > JSON_BYTES_MAX)
        return fre_fail(err, FRE_E_LIMIT,
                        "collection: longer than %u bytes, which no collection is", JSON_BYTES_MAX);
    root = json_loadb(in.n > 0 ? (const char *)in.p : "", in.n, JSON_REJECT_DUPLICATES, &where);
    if (!json_is_object(root)) {
        int line = root ? 1 : where.line;

        json_decref(root);
        return fre_fail(err, FRE_E_DATA,
                        "collection: it is not one JSON object with every key once (line %d)",
                        line);
    }
    memset(&c, 0, sizeof c);
    st = read_fields(&c, root, err);
    if (st == FRE_OK)
        st = check_id(&c, json_object_get(root, "id"), err);
    if (st == FRE_OK)
        memcpy(out, &c, sizeof c);
    json_decref(root);
    return st;
}
