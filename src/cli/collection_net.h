/* collection_net.h - what the commands of a collection need of the module net, which a build may lack. */
#ifndef FRE_CLI_COLLECTION_NET_H
#define FRE_CLI_COLLECTION_NET_H

#include <fre/core.h>

/* The pin of the first certificate in the PEM file. */
FRE_MUST_CHECK fre_status cli_net_pin(uint8_t pin[FRE_HASH_BYTES], const char *path, fre_err *err);
/* A new key and certificate of the host in url, as PEM (key: SECRET), and its pin. */
FRE_MUST_CHECK fre_status cli_net_certificate(fre_buf *certificate, fre_buf *key,
                                              uint8_t pin[FRE_HASH_BYTES], const char *url,
                                              fre_err *err);

/* GET url's path + rest into out; pin: FRE_HASH_BYTES, ignored with http.  FRE_E_AGAIN: it is not there yet, or the server
 * has no time. */
FRE_MUST_CHECK fre_status cli_net_get(fre_buf *out, const char *url, const uint8_t *pin,
                                      const char *rest, fre_err *err);

#endif
