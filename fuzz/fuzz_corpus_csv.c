/* The CSV, TSV and text readers, and the guess by content, on any bytes, compressed or not. */
#include "drain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const fre_corpus_format formats[] = {FRE_CORPUS_CSV, FRE_CORPUS_TSV, FRE_CORPUS_TXT,
                                                FRE_CORPUS_AUTO};
    fre_corpus_opts opts = {0};

    if (size < 2)
        return 0;
    opts.format = formats[data[0] % 4];
    opts.invalid = (fre_corpus_invalid)(data[0] / 4 % 3);
    opts.text_field = data[0] & 0x10 ? "b" : "text";
    opts.user_field = data[0] & 0x20 ? "a" : NULL;
    opts.label_field = data[0] & 0x40 ? "text" : NULL;
    drain(&opts, data[1], (fre_bytes){data + 2, size - 2});
    return 0;
}
