/* bhttp_rules.c - which bytes may stand where in a message: RFC 9292 sections 3.4 to 3.6, which
 * refer to RFC 9113 section 8 and RFC 9110 section 5. */
#include "seal_private.h"

static bool is_alnum(uint8_t c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* tchar of RFC 9110 section 5.6.2. */
static bool is_token_char(uint8_t c)
{
    return is_alnum(c) || (c != 0 && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

static bool is_scheme_char(uint8_t c)
{
    return is_alnum(c) || c == '+' || c == '-' || c == '.';
}

static bool is_visible(uint8_t c)
{
    return c > 0x20 && c < 0x7f;
}

static bool is_authority_char(uint8_t c)
{
    /* No user name: RFC 9113 section 8.3.1. */
    return is_visible(c) && c != '@' && c != '/' && c != '?' && c != '#';
}

static bool is_path_char(uint8_t c)
{
    return is_visible(c) && c != '#';
}

static bool is_value_char(uint8_t c)
{
    return c == '\t' || (c >= 0x20 && c != 0x7f);
}

static bool all(fre_bytes b, bool (*rule)(uint8_t))
{
    for (size_t i = 0; i < b.n; i++) {
        if (!rule(b.p[i]))
            return false;
    }
    return true;
}

static bool equals(fre_bytes b, const char *text)
{
    fre_bytes t = seal_text(text);

    if (b.n != t.n)
        return false;
    for (size_t i = 0; i < b.n; i++) {
        if (b.p[i] != t.p[i])
            return false;
    }
    return true;
}

fre_status bhttp_check_target(const fre_bhttp *m)
{
    if (m->method.n > FRE_BHTTP_METHOD_MAX || m->scheme.n > FRE_BHTTP_SCHEME_MAX ||
        m->authority.n > FRE_BHTTP_AUTHORITY_MAX || m->path.n > FRE_BHTTP_PATH_MAX)
        return FRE_E_LIMIT;
    if (m->method.n == 0 || !all(m->method, is_token_char) || equals(m->method, "CONNECT"))
        return FRE_E_DATA;
    if (m->scheme.n == 0 || !all(m->scheme, is_scheme_char) ||
        !all(m->authority, is_authority_char))
        return FRE_E_DATA;
    if (m->path.n == 0 || !all(m->path, is_path_char))
        return FRE_E_DATA;
    if (m->path.p[0] != '/' && !(equals(m->path, "*") && equals(m->method, "OPTIONS")))
        return FRE_E_DATA;
    return FRE_OK;
}

static bool is_blank(uint8_t c)
{
    return c == ' ' || c == '\t';
}

fre_status bhttp_check_field(const fre_bhttp_field *f)
{
    const fre_bytes v = f->value;

    if (f->name.n > FRE_BHTTP_NAME_MAX || v.n > FRE_BHTTP_VALUE_MAX)
        return FRE_E_LIMIT;
    /* A colon is no token character, so pseudo-fields end here. */
    if (f->name.n == 0 || !all(f->name, is_token_char) || !all(v, is_value_char))
        return FRE_E_DATA;
    if (v.n > 0 && (is_blank(v.p[0]) || is_blank(v.p[v.n - 1])))
        return FRE_E_DATA;
    return FRE_OK;
}

static bool same_name(fre_bytes b, const char *lower)
{
    fre_bytes t = seal_text(lower);

    if (b.n != t.n)
        return false;
    for (size_t i = 0; i < b.n; i++) {
        uint8_t c = b.p[i];

        if ((c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c) != t.p[i])
            return false;
    }
    return true;
}

bool fre_bhttp_find(const fre_bhttp_fields *f, fre_bytes *value, const char *name)
{
    const fre_bhttp_field *found = NULL;

    if (!f || !value || !name)
        return false;
    for (size_t i = 0; i < f->n && i < FRE_BHTTP_FIELDS_MAX; i++) {
        if (!same_name(f->at[i].name, name))
            continue;
        if (found)
            return false;
        found = &f->at[i];
    }
    if (found)
        *value = found->value;
    return found != NULL;
}
