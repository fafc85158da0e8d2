/* Binary HTTP: any bytes are a message or a refusal that writes nothing, and a message has one
 * meaning: encoded again, it decodes to the same. */
#include <fre/seal.h>

#include <stdlib.h>
#include <string.h>

#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void same(fre_bytes a, fre_bytes b)
{
    must(a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0));
}

static void same_fields(const fre_bhttp_fields *a, const fre_bhttp_fields *b)
{
    must(a->n == b->n && a->n <= FRE_BHTTP_FIELDS_MAX);
    for (size_t i = 0; i < a->n; i++) {
        same(a->at[i].name, b->at[i].name);
        same(a->at[i].value, b->at[i].value);
    }
}

static void again(const fre_bhttp *m, fre_bhttp_kind kind)
{
    fre_bhttp back;
    fre_buf b;

    fre_buf_init(&b, FRE_BHTTP_MESSAGE_MAX);
    /* Refused only for a name in upper case. */
    if (fre_bhttp_encode(&b, m, 0) == FRE_OK) {
        must(fre_bhttp_decode(&back, kind, (fre_bytes){.p = b.p, .n = b.n}) == FRE_OK);
        same(back.method, m->method);
        same(back.scheme, m->scheme);
        same(back.authority, m->authority);
        same(back.path, m->path);
        must(back.status == m->status);
        same(back.content, m->content);
        same_fields(&back.header, &m->header);
        same_fields(&back.trailer, &m->trailer);
        fre_bhttp_wipe(&back);
    }
    fre_buf_wipe(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static fre_bhttp m;

    for (unsigned kind = 0; kind < 2; kind++) {
        fre_status st;

        memset(&m, 0xa5, sizeof m);
        st = fre_bhttp_decode(&m, (fre_bhttp_kind)kind, (fre_bytes){.p = data, .n = n});
        if (st == FRE_OK) {
            again(&m, (fre_bhttp_kind)kind);
            fre_bhttp_wipe(&m);
        } else {
            must(st == FRE_E_DATA || st == FRE_E_LIMIT);
            must_be_untouched(&m, sizeof m);
        }
    }
    return 0;
}
