/* decode.h - other encodings than UTF-8, read from a source. */
#ifndef FRE_CORPUS_DECODE_H
#define FRE_CORPUS_DECODE_H

#include "source.h"

#include <iconv.h>

#define FRE_DECODE_BYTES 4096u

/* What cannot be decoded becomes one byte 0xff, which no UTF-8 has, so that the record it lies in is
 * found to be invalid and no other. */
typedef struct fre_decoder {
    iconv_t cd;
    bool on, ended; /* off: the bytes are UTF-8 */
    size_t unit;    /* bytes that a character has at least */
    uint8_t in[FRE_DECODE_BYTES];
    size_t n;
    char name[32];
} fre_decoder;

/* encoding NULL: by the mark in head, else UTF-8.  FRE_E_USAGE: unknown. */
FRE_MUST_CHECK fre_status fre_decode_open(fre_decoder *d, const char *encoding, const fre_src *src,
                                          fre_err *err);
FRE_MUST_CHECK fre_status fre_decode_read(fre_decoder *d, fre_src *src, uint8_t *out, size_t cap,
                                          size_t *got, fre_err *err);
void fre_decode_close(fre_decoder *d);

#endif /* FRE_CORPUS_DECODE_H */
