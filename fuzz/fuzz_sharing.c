/* Packed residues: bits | number of words, two bytes | bytes.  Either they are refused and the sum
 * is as it was, or they are what the words pack to again. */
#include <fre/sharing.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define WORDS_MAX 2048u

static void must(bool holds)
{
    if (!holds)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static uint32_t sum[WORDS_MAX], before[WORDS_MAX];
    static uint8_t again[WORDS_MAX * 4];
    uint8_t *exact; /* so that a read beyond the end is seen */
    uint32_t bits;
    size_t words, bytes;
    fre_status st;

    if (n < 3)
        return 0;
    bits = data[0];
    words = ((size_t)data[1] << 8 | data[2]) % (WORDS_MAX + 1);
    bytes = n - 3;
    exact = malloc(bytes + 1);
    must(exact != NULL);
    memcpy(exact, data + 3, bytes);
    for (size_t i = 0; i < WORDS_MAX; i++)
        sum[i] = before[i] = 0;
    st = fre_share_add(sum, words, bits, (fre_bytes){.p = exact, .n = bytes});
    if (st == FRE_OK) {
        must(bytes == (words * bits + 7) / 8);
        must(fre_share_pack(again, bytes, sum, words, bits) == FRE_OK);
        must(memcmp(again, exact, bytes) == 0);
    } else {
        must(st == FRE_E_DATA || st == FRE_E_ARG);
        must(st == FRE_E_DATA || words == 0 || bits < FRE_SHARING_BITS_MIN ||
             bits > FRE_SHARING_BITS_MAX);
        must(memcmp(sum, before, sizeof sum) == 0);
    }
    free(exact);
    return 0;
}
