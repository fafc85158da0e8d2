/* Key configurations of Oblivious HTTP: any bytes are a list or a refusal that writes nothing;
 * what was read can be written and read again. */
#include <fre/seal.h>

#include <stdlib.h>
#include <string.h>

#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void again(const fre_ohttp_config *c, size_t n)
{
    fre_ohttp_config back[FRE_OHTTP_CONFIGS_MAX];
    size_t back_n = 0;
    fre_buf b;

    must(n >= 1 && n <= FRE_OHTTP_CONFIGS_MAX);
    fre_buf_init(&b, FRE_OHTTP_CONFIG_BYTES_MAX);
    must(fre_ohttp_configs_encode(&b, c, n) == FRE_OK);
    must(fre_ohttp_configs_decode(back, &back_n, (fre_bytes){.p = b.p, .n = b.n}) == FRE_OK);
    must(back_n == n);
    for (size_t i = 0; i < n; i++) {
        must(back[i].id == c[i].id && back[i].aeads == c[i].aeads);
        must(memcmp(back[i].pk.b, c[i].pk.b, sizeof c[i].pk.b) == 0);
        for (unsigned j = 0; j < c[i].aeads; j++)
            must(back[i].aead[j] == c[i].aead[j]);
    }
    fre_buf_wipe(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const fre_bytes in = {.p = data, .n = n};
    fre_ohttp_config c[FRE_OHTTP_CONFIGS_MAX];
    size_t found = 99;
    fre_status st;

    memset(c, 0xa5, sizeof c);
    st = fre_ohttp_configs_decode(c, &found, in);
    if (st == FRE_OK) {
        again(c, found);
    } else {
        must(st == FRE_E_DATA || st == FRE_E_LIMIT || st == FRE_E_KEY);
        must_be_untouched(c, sizeof c);
        must(found == 99);
    }
    memset(c, 0xa5, sizeof c);
    st = fre_ohttp_config_decode(c, in);
    if (st == FRE_OK) {
        again(c, 1);
    } else {
        must(st == FRE_E_DATA || st == FRE_E_LIMIT || st == FRE_E_KEY);
        must_be_untouched(c, sizeof c);
    }
    return 0;
}
