/* report/page.c - the page: the template with style, script, their hashes, and the data. */
#include "report_private.h"

#include <string.h>

#define SOURCE_BYTES 64u

/* 'sha256-...' of a style or script, as a content security policy has it (CSP 3, 2.3.1). */
static void source_hash(char out[SOURCE_BYTES], fre_bytes text)
{
    static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint8_t hash[FRE_HASH_BYTES + 1] = {0};
    fre_sha256 h;
    size_t n = (size_t)snprintf(out, SOURCE_BYTES, "'sha256-");

    fre_sha256_begin(&h, (fre_bytes){NULL, 0});
    fre_sha256_add(&h, text.p, text.n);
    fre_sha256_end(hash, &h);
    for (size_t i = 0; i < FRE_HASH_BYTES; i += 3) { /* 32 bytes: 43 digits and one "=" */
        const uint32_t three = (uint32_t)hash[i] << 16 | (uint32_t)hash[i + 1] << 8 |
                               (i + 2 < FRE_HASH_BYTES ? hash[i + 2] : 0u);

        for (unsigned shift = 24; shift > 0; shift -= 6)
            out[n++] = digit[three >> (shift - 6) & 63];
    }
    memcpy(out + n - 1, "='", sizeof "='");
}

typedef struct part {
    const char *name;
    fre_bytes text;
} part;

static const part *find(const part *parts, size_t n, const uint8_t *name, size_t len)
{
    for (size_t i = 0; i < n; i++)
        if (strlen(parts[i].name) == len && memcmp(parts[i].name, name, len) == 0)
            return &parts[i];
    return NULL;
}

/* The template with each {{name}} replaced. */
static fre_status fill(fre_buf *out, fre_bytes page, const part *parts, size_t n)
{
    const uint8_t *p = page.p, *end = page.p + page.n;
    fre_status st = FRE_OK;

    while (st == FRE_OK) {
        const uint8_t *open = memmem(p, (size_t)(end - p), "{{", 2);
        const uint8_t *close = open ? memmem(open, (size_t)(end - open), "}}", 2) : NULL;
        const part *found;

        if (!close)
            return fre_buf_append(out, p, (size_t)(end - p));
        found = find(parts, n, open + 2, (size_t)(close - open - 2));
        st = fre_buf_append(out, p, (size_t)(open - p));
        if (st == FRE_OK)
            st = found ? fre_buf_append(out, found->text.p, found->text.n) : FRE_E_INTERNAL;
        p = close + 2;
    }
    return st;
}

static fre_bytes view(const fre_buf *b)
{
    return (fre_bytes){b->p, b->n};
}

static fre_status write_page(fre_buf *out, const report_input *in, const fre_report_opts *o)
{
    const fre_bytes style = {report_template_css, report_template_css_size};
    const fre_bytes script = {report_template_js, report_template_js_size};
    char style_hash[SOURCE_BYTES], script_hash[SOURCE_BYTES];
    fre_buf about, cells;
    fre_status st;

    fre_buf_init(&about, FRE_REPORT_MAX);
    fre_buf_init(&cells, FRE_REPORT_MAX);
    source_hash(style_hash, style);
    source_hash(script_hash, script);
    st = report_about(&about, in, o);
    if (st == FRE_OK)
        st = report_cells(&cells, in, o->threads);
    if (st == FRE_OK) {
        const part parts[] = {
            {"style", style},
            {"script", script},
            {"style_hash", {(const uint8_t *)style_hash, strlen(style_hash)}},
            {"script_hash", {(const uint8_t *)script_hash, strlen(script_hash)}},
            {"about", view(&about)},
            {"cells", view(&cells)},
        };

        st = fill(out, (fre_bytes){report_template_html, report_template_html_size}, parts,
                  sizeof parts / sizeof *parts);
    }
    fre_buf_wipe(&about);
    fre_buf_wipe(&cells);
    return st;
}

fre_status fre_report_render(fre_buf *out, const fre_report_opts *o, fre_err *err)
{
    const size_t before = out->n;
    report_input in;
    fre_status st;

    if (!o->release || o->threads < 1 || o->threads > FRE_THREADS_MAX ||
        (o->evaluation && o->evaluation_json.n > 0))
        return fre_fail(err, FRE_E_ARG, "a report needs a release, threads, and one evaluation");
    st = report_read(&in, o, err);
    if (st != FRE_OK)
        return st;
    st = write_page(out, &in, o);
    report_input_wipe(&in);
    if (st == FRE_OK)
        return FRE_OK;
    out->n = before;
    return fre_fail(err, st, "%s",
                    st == FRE_E_LIMIT         ? "the report would have more than 1 GiB"
                    : st == FRE_E_NOMEM       ? "out of memory for a report"
                    : st == FRE_E_INTERRUPTED ? "interrupted"
                                              : fre_status_text(st));
}
