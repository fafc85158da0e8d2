/* wrap.c - the wrap file: what a keeper has and its server has not; and the once file, as a keeper reads it. */
#include "config_private.h"

enum { WRAP_FORMAT, WRAP_VERSION, WRAP_ROLE, WRAP_SIGN, WRAP_KEY, WRAP_KEYS };

#define OTHER_FILE                                                                                 \
    "is another than its secret file's: put the file there that keygen made together with that"

fre_status config_wrap_write(const uint8_t wrap[FRE_WRAP_BYTES], const fre_half *h,
                             const char *path, fre_err *err)
{
    fre_buf text;
    fre_status st;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_buf_printf(&text, "{\n  \"format\": \"fre-e2t wrap\",\n  \"version\": 1,\n");
    if (st == FRE_OK)
        st = config_put_hex(&text, "wrap", wrap, FRE_WRAP_BYTES);
    if (st == FRE_OK)
        st = config_put_hex(&text, "sign", h->sign.b, sizeof h->sign.b);
    if (st == FRE_OK)
        st = fre_buf_printf(&text, "  \"role\": \"%s\"\n}\n", fre_role_name(h->role));
    st = st == FRE_OK ? fre_private_write(path, (fre_bytes){text.p, text.n}, false, err)
                      : fre_fail(err, st, "the keys cannot be written: %s", fre_status_text(st));
    fre_buf_wipe(&text);
    return st;
}

/* With another wrap the masked keys would be lost when they are to come back, not before. */
static fre_status check_owner(const config_object *o, const fre_sign_pk *sign, fre_role role,
                              fre_err *err)
{
    const char *of = NULL;
    fre_sign_pk pk;
    fre_status st = config_string(&of, o, WRAP_ROLE, 32, err);

    if (st == FRE_OK)
        st = config_hex(pk.b, sizeof pk.b, o, WRAP_SIGN, err);
    if (st != FRE_OK)
        return st;
    if (strcmp(of, fre_role_name(role)) != 0)
        return config_bad(o, WRAP_ROLE, OTHER_FILE, err);
    return memcmp(pk.b, sign->b, sizeof pk.b) == 0 ? FRE_OK
                                                   : config_bad(o, WRAP_SIGN, OTHER_FILE, err);
}

static fre_status parse(uint8_t wrap[FRE_WRAP_BYTES], fre_buf *text, const char *path,
                        const fre_sign_pk *sign, fre_role role, fre_err *err)
{
    fre_json_want want[WRAP_KEYS] = {[WRAP_FORMAT] = {.name = "format"},
                                     [WRAP_VERSION] = {.name = "version"},
                                     [WRAP_ROLE] = {.name = "role"},
                                     [WRAP_SIGN] = {.name = "sign"},
                                     [WRAP_KEY] = {.name = "wrap"}};
    const config_object o = {.path = path, .outer = "", .want = want, .n = WRAP_KEYS};
    fre_status st = config_read_object(&o, text->p, text->n, err);

    if (st == FRE_OK)
        st = config_check_format(&o, "fre-e2t wrap", err);
    if (st == FRE_OK)
        st = check_owner(&o, sign, role, err);
    return st == FRE_OK ? config_hex(wrap, FRE_WRAP_BYTES, &o, WRAP_KEY, err) : st;
}

fre_status fre_wrap_read(uint8_t wrap[FRE_WRAP_BYTES], const char *path, const fre_collection *c,
                         fre_role role, fre_err *err)
{
    fre_buf text;
    fre_status st;

    if (!wrap || !path || !c || !config_has_oprf(role))
        return FRE_E_ARG;
    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    st = fre_private_read(&text, path, err);
    if (st == FRE_OK)
        st = parse(wrap, &text, path, fre_collection_party(c, role).sign, role, err);
    fre_buf_wipe(&text);
    return st;
}

fre_status fre_once_read(fre_once *out, const char *path, const fre_collection *c, fre_role role,
                         fre_err *err)
{
    fre_half h = {.role = role};
    fre_party t;
    bool erased = false;
    config_once k;
    fre_status st;

    if (!out || !path || !c || !config_has_seal(role))
        return FRE_E_ARG;
    *out = (fre_once){.there = false};
    if (!config_is_there(path))
        return FRE_OK;
    t = fre_collection_party(c, role);
    h.seal = *t.seal;
    if (t.oprf)
        h.oprf = *t.oprf;
    st = config_once_read(&k, &erased, path, &h, err);
    if (st != FRE_OK)
        return st;
    /* One by one: a compound literal may be a copy on the stack, which nobody wipes. */
    out->there = !erased;
    out->seal = k.seal;
    out->oprf = k.oprf;
    fre_wipe(&k, sizeof k);
    return FRE_OK;
}
