/* What a source holds, decompressed: gzip (RFC 1952, any number of members), zstd (RFC 8878, any number of
 * frames), or as it is. */
#include "source.h"

#include <string.h>
#include <zstd_errors.h>

static bool is_gzip(const uint8_t *p, size_t n)
{
    return n >= 2 && p[0] == 0x1f && p[1] == 0x8b;
}

/* A frame that holds no data (RFC 8878 sec. 3.1.2), whose first bytes are ASCII. */
static bool is_skippable(const uint8_t *p, size_t n)
{
    return n >= 4 && (p[0] & 0xf0) == 0x50 && memcmp(p + 1, "\x2a\x4d\x18", 3) == 0;
}

static bool is_zstd(const uint8_t *p, size_t n)
{
    return (n >= 4 && memcmp(p, "\x28\xb5\x2f\xfd", 4) == 0) || is_skippable(p, n);
}

static fre_status truncated(const fre_src *s, const char *what, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "%s: the %s data ends early, after %llu bytes of the file; the file is cut "
                    "off, get it again whole",
                    s->name, what, (unsigned long long)s->bytes);
}

static fre_status damaged(const fre_src *s, const char *what, fre_err *err)
{
    return fre_fail(err, FRE_E_DATA,
                    "%s: the %s data is damaged near byte %llu of the file; get the file again",
                    s->name, what, (unsigned long long)(s->bytes - (s->len - s->pos)));
}

bool fre_is_packed(const fre_src *s)
{
    const uint8_t *p = s->in + s->pos;
    const size_t n = s->len - s->pos;

    return is_gzip(p, n) || is_zstd(p, n);
}

/* Between gzip members or zstd frames: padding with zeros is skipped, as gzip does, and white space.
 * *end: nothing follows. */
static fre_status next_part(fre_src *s, bool *end, fre_err *err)
{
    const bool gzip = s->kind == FRE_SRC_GZIP;
    fre_status st = FRE_OK;

    for (;;) {
        while (s->pos < s->len && memchr("\0 \t\r\n", s->in[s->pos], 5))
            s->pos++;
        if (s->pos < s->len || s->eof)
            break;
        st = fre_src_fill(s, err);
        if (st)
            return st;
    }
    *end = s->pos == s->len;
    if (*end)
        return FRE_OK;
    st = fre_src_need(s, 4, err);
    if (st)
        return st;
    if (s->len - s->pos < 4 && (s->in[s->pos] == 0x1f || s->in[s->pos] == 0x28))
        return truncated(s, gzip ? "gzip" : "zstd", err); /* a header that has begun */
    if (gzip ? !is_gzip(s->in + s->pos, s->len - s->pos)
             : !is_zstd(s->in + s->pos, s->len - s->pos))
        return fre_fail(err, FRE_E_DATA,
                        "%s: something that is not %s follows the compressed data at byte %llu; "
                        "compress the file again whole",
                        s->name, gzip ? "gzip" : "zstd",
                        (unsigned long long)(s->bytes - (s->len - s->pos)));
    if (gzip && inflateReset(&s->z) != Z_OK)
        return fre_fail(err, FRE_E_INTERNAL, "%s: zlib state was lost", s->name);
    return FRE_OK;
}

static fre_status gzip_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    fre_status st = FRE_OK;
    uInt room = cap > (1u << 30) ? (1u << 30) : (uInt)cap;

    for (;;) {
        int rc = Z_OK;
        size_t n = 0;

        if (s->z_between) {
            bool end = false;

            st = next_part(s, &end, err);
            if (st || end) {
                *got = 0;
                return st;
            }
            s->z_between = false;
        }
        s->z.next_in = s->in + s->pos;
        s->z.avail_in = (uInt)(s->len - s->pos);
        s->z.next_out = out;
        s->z.avail_out = room;
        rc = inflate(&s->z, Z_NO_FLUSH);
        s->pos = s->len - s->z.avail_in;
        n = room - s->z.avail_out;
        if (rc == Z_STREAM_END)
            s->z_between = true;
        else if (rc != Z_OK && rc != Z_BUF_ERROR)
            return damaged(s, "gzip", err);
        if (n > 0) {
            *got = n;
            return FRE_OK;
        }
        if (!s->z_between && s->pos == s->len) {
            if (s->eof)
                return truncated(s, "gzip", err);
            st = fre_src_fill(s, err);
            if (st)
                return st;
        }
    }
}

static fre_status zstd_fail(const fre_src *s, ZSTD_ErrorCode code, fre_err *err)
{
    if (code == ZSTD_error_dictionary_wrong || code == ZSTD_error_dictionary_corrupted)
        return fre_fail(err, FRE_E_DATA,
                        "%s: was compressed with a dictionary, which is not in the file; "
                        "decompress it first (zstd -d -D DICTIONARY)",
                        s->name);
    if (code == ZSTD_error_frameParameter_windowTooLarge || code == ZSTD_error_memory_allocation)
        return fre_fail(err, FRE_E_LIMIT,
                        "%s: zstd's window is too large for the memory here; compress the file "
                        "again without --long (zstd -d --long=31, then zstd)",
                        s->name);
    return damaged(s, "zstd", err);
}

static fre_status zstd_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    fre_status st = FRE_OK;

    for (;;) {
        ZSTD_outBuffer o = {out, cap, 0};
        ZSTD_inBuffer i = {s->in, s->len, s->pos};
        size_t rc = 0;

        if (s->zs_between) {
            bool end = false;

            st = next_part(s, &end, err);
            if (st || end) {
                *got = 0;
                return st;
            }
            s->zs_between = false;
            i = (ZSTD_inBuffer){s->in, s->len, s->pos};
        }
        rc = ZSTD_decompressStream(s->zs, &o, &i);
        s->pos = i.pos;
        if (ZSTD_isError(rc))
            return zstd_fail(s, ZSTD_getErrorCode(rc), err);
        s->zs_between = rc == 0;
        if (o.pos > 0) {
            *got = o.pos;
            return FRE_OK;
        }
        if (!s->zs_between && s->pos == s->len) {
            if (s->eof)
                return truncated(s, "zstd", err);
            st = fre_src_fill(s, err);
            if (st)
                return st;
        }
    }
}

static fre_status plain_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    size_t n = 0;

    if (s->pos == s->len && !s->eof) {
        fre_status st = fre_src_fill(s, err);

        if (st)
            return st;
    }
    n = s->len - s->pos < cap ? s->len - s->pos : cap;
    (void)memcpy(out, s->in + s->pos, n);
    s->pos += n;
    *got = n;
    return FRE_OK;
}

fre_status fre_unpack_read(fre_src *s, uint8_t *out, size_t cap, size_t *got, fre_err *err)
{
    switch (s->kind) {
    case FRE_SRC_PLAIN:
        return plain_read(s, out, cap, got, err);
    case FRE_SRC_GZIP:
        return gzip_read(s, out, cap, got, err);
    case FRE_SRC_ZSTD:
        return zstd_read(s, out, cap, got, err);
    }
    return fre_fail(err, FRE_E_INTERNAL, "%s: unknown compression", s->name);
}

void fre_unpack_end(fre_src *s)
{
    if (s->z_open)
        (void)inflateEnd(&s->z);
    (void)ZSTD_freeDStream(s->zs);
    (void)memset(&s->z, 0, sizeof s->z);
    s->zs = NULL;
    s->z_open = s->z_between = s->zs_between = false;
    s->kind = FRE_SRC_PLAIN;
}

fre_status fre_unpack_begin(fre_src *s, fre_err *err)
{
    if (is_gzip(s->in, s->len)) {
        if (inflateInit2(&s->z, 15 + 16) != Z_OK)
            return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
        s->z_open = true;
        s->kind = FRE_SRC_GZIP;
        return FRE_OK;
    }
    s->zs = ZSTD_createDStream();
    /* --ultra and --long make windows of up to 2 GiB; memory is only touched as data come. */
    if (!s->zs ||
        ZSTD_isError(ZSTD_DCtx_setParameter(s->zs, ZSTD_d_windowLogMax,
                                            ZSTD_dParam_getBounds(ZSTD_d_windowLogMax).upperBound)))
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", s->name);
    s->zs_between = true;
    s->kind = FRE_SRC_ZSTD;
    return FRE_OK;
}

fre_status fre_unpack_try(fre_src *s, bool to_its_end, bool *can, fre_err *err)
{
    fre_status st = fre_unpack_begin(s, err);
    uint8_t out[4096];
    size_t got = 1, all = 0;
    bool is_cut;
    fre_err why;

    if (st != FRE_OK)
        return st;
    while (st == FRE_OK && got > 0) {
        st = fre_unpack_read(s, out, sizeof out, &got, &why);
        all += st == FRE_OK ? got : 0;
    }
    fre_wipe(out, sizeof out);
    fre_unpack_end(s);
    is_cut = s->pos == s->len && !is_skippable(s->in, s->len);
    s->pos = 0;
    *can = to_its_end ? st == FRE_OK && all > 0
                      : all > 0 || is_cut || ZSTD_getDictID_fromFrame(s->in, s->len) != 0;
    return FRE_OK;
}
