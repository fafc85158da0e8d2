/* Other encodings than UTF-8, by iconv (POSIX), in front of everything that looks at characters. */
#include "decode.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef struct known {
    const char *name, *iconv; /* iconv NULL: UTF-8, nothing to decode */
} known;

/* Names without their marks of punctuation, which programs set in many ways. */
static const known alias[] = {
    {"utf8", NULL},
    {"utf8sig", NULL},
    {"ascii", NULL},
    {"usascii", NULL},
    {"latin1", "ISO-8859-1"},
    {"iso88591", "ISO-8859-1"},
    {"windows1252", "CP1252"},
    {"cp1252", "CP1252"},
    {"utf16", "UTF-16"},
    {"utf16le", "UTF-16LE"},
    {"utf16be", "UTF-16BE"},
    {"utf32", "UTF-32"},
    {"utf32le", "UTF-32LE"},
    {"utf32be", "UTF-32BE"},
};

/* What iconv calls it; NULL: UTF-8. */
static const char *by_name(const char *encoding)
{
    char plain[32];
    size_t n = 0;

    for (const char *p = encoding; *p && n + 1 < sizeof plain; p++)
        if (!strchr("-_ .:", *p))
            plain[n++] = *p;
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof alias / sizeof *alias; i++)
        if (strcasecmp(plain, alias[i].name) == 0)
            return alias[i].iconv;
    return encoding;
}

fre_status fre_decode_open(fre_decoder *d, const char *encoding, const fre_src *src, fre_err *err)
{
    const char *name = encoding            ? by_name(encoding)
                       : src->rest_is_text ? NULL
                                           : fre_byte_order_mark(src->head.p, src->head.n);
    /* "" would be the locale's, and a slash asks for transliteration. */
    const bool plain = !name || (name[0] && !strchr(name, '/'));

    (void)memset(d, 0, sizeof *d);
    (void)snprintf(d->name, sizeof d->name, "%s", name ? name : "UTF-8");
    if (!name)
        return FRE_OK;
    if (plain)
        d->cd = iconv_open("UTF-8", name);
    if (!plain || (uintptr_t)d->cd == UINTPTR_MAX) /* (iconv_t)-1 */
        return fre_fail(err, FRE_E_USAGE,
                        "{encoding} %.40s is unknown to this system; iconv -l lists what is known",
                        name);
    d->on = true;
    d->unit = strncasecmp(name, "UTF-16", 6) == 0 || strncasecmp(name, "UCS-2", 5) == 0   ? 2
              : strncasecmp(name, "UTF-32", 6) == 0 || strncasecmp(name, "UCS-4", 5) == 0 ? 4
                                                                                          : 1;
    return FRE_OK;
}

/* One step of iconv from in[0..n) to out; false: more input is needed. */
static bool step(fre_decoder *d, uint8_t *out, size_t cap, size_t *got)
{
    char *from = (char *)d->in, *to = (char *)out;
    size_t left = d->n, room = cap, rc;
    int e;

    errno = 0;
    rc = iconv(d->cd, &from, &left, &to, &room);
    e = errno;
    *got = cap - room;
    if (rc == (size_t)-1 && (e == EILSEQ || (e == EINVAL && d->ended)) && room > 0) {
        const size_t skip = left < d->unit || e == EINVAL ? left : d->unit;

        out[(*got)++] = 0xff;
        from += skip;
        left -= skip;
    }
    (void)memmove(d->in, from, left);
    d->n = left;
    return *got > 0 || (rc == (size_t)-1 && e == E2BIG);
}

fre_status fre_decode_read(fre_decoder *d, fre_src *src, uint8_t *out, size_t cap, size_t *got,
                           fre_err *err)
{
    if (!d->on)
        return fre_src_read(src, out, cap, got, err);
    for (;;) {
        size_t more = 0;
        fre_status st = FRE_OK;

        if (d->n > 0 && step(d, out, cap, got))
            return FRE_OK;
        if (d->ended && d->n == 0) {
            *got = 0;
            return FRE_OK;
        }
        if (d->ended)
            continue;
        st = fre_src_read(src, d->in + d->n, sizeof d->in - d->n, &more, err);
        if (st)
            return st;
        d->ended = more == 0;
        d->n += more;
    }
}

void fre_decode_close(fre_decoder *d)
{
    if (d->on)
        (void)iconv_close(d->cd);
    fre_wipe(d->in, sizeof d->in);
    d->on = false;
}
