/* Every reader of an operator's files: any bytes are refused by a sentence, or are such a file. */
#include "config_private.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static char path[64];

static void put(const uint8_t *data, size_t n)
{
    int fd;

    (void)snprintf(path, sizeof path, "/tmp/fre-fuzz-config-%ld", (long)getpid());
    fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || write(fd, data, n) != (ssize_t)n)
        abort();
    (void)close(fd);
}

static void verdict(fre_status st, const fre_err *err)
{
    if (st != FRE_OK && (err->text[0] == '\0' || st == FRE_E_INTERNAL || st == FRE_E_ARG))
        abort();
}

static void read_halves(void)
{
    fre_err err = {.text = ""};
    fre_half h;
    fre_reveal r;

    verdict(fre_half_read(&h, path, &err), &err);
    err.text[0] = '\0';
    verdict(fre_reveal_read(&r, path, &err), &err);
}

static void read_secrets(void)
{
    fre_err err = {.text = ""};
    config_secret s;
    config_once once;
    fre_signer signer;
    fre_signer_kind kind;
    fre_sign_pk pk;
    const fre_half h = {.role = FRE_ROLE_TAG};
    bool erased = false;

    verdict(config_secret_read(&s, path, &err), &err);
    err.text[0] = '\0';
    if (config_once_read(&once, &erased, path, &h, &err) == FRE_OK && !erased)
        abort(); /* no key is zeros */
    err.text[0] = '\0';
    verdict(fre_signer_read(&signer, path, &err), &err);
    err.text[0] = '\0';
    verdict(fre_signer_key_read(&pk, &kind, path, &err), &err);
}

static void read_config(void)
{
    for (unsigned role = FRE_ROLE_TAG; role <= FRE_ROLE_ISSUER; role++) {
        fre_err err = {.text = ""};
        fre_config *c = NULL;

        verdict(fre_config_read(&c, path, (fre_role)role, &err), &err);
        fre_config_free(c);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    put(data, n);
    read_halves();
    read_secrets();
    read_config();
    (void)unlink(path);
    return 0;
}
