#include "four_roles.h"

#include "must.h"
#include "wire_sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

fre_role role_of(fre_contributor who)
{
    for (unsigned r = FRE_ROLE_TAG; r <= FRE_ROLE_ISSUER; r++)
        if (fre_role_contributor((fre_role)r) == who)
            return (fre_role)r;
    must(false);
    return FRE_ROLE_TAG;
}

void four_roles_make(four_roles *r)
{
    static const uint8_t pin[FRE_HASH_BYTES] = {9};
    fre_err err = {.text = ""};

    memset(r, 0, sizeof *r);
    temp_dir_make(&r->dir);
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        const char *name = fre_role_name(role_of((fre_contributor)i));
        char url[64];
        const fre_keygen_opts o = {.role = role_of((fre_contributor)i),
                                   .url = url,
                                   .pin = pin,
                                   .folder = temp_path(r->folder[i], &r->dir, name)};

        (void)snprintf(url, sizeof url, "https://%s.example:8443", name);
        must(fre_keygen(&r->files[i], &o, &err) == FRE_OK);
        must(fre_half_read(&r->half[i], r->files[i].half, &err) == FRE_OK);
    }
}

void four_roles_commit(four_roles *r)
{
    char path[512];
    fre_err err = {.text = ""};
    fre_buf text;

    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++) {
        fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
        must(fre_keys_commit(&text, r->files[i].secret, r->half, &err) == FRE_OK);
        write_file(temp_path(path, &r->dir, "shown.json"), text.p, text.n);
        must(fre_reveal_read(&r->reveal[i], path, &err) == FRE_OK);
        fre_buf_wipe(&text);
    }
}

void four_roles_terms(fre_collection *out, four_roles *r)
{
    fre_collection_parts p = {.batch_min = 1};
    fre_err err = {.text = ""};
    sample *s = malloc(sizeof *s);

    must(s != NULL);
    *out = sample_collection(s);
    free(s);
    must(fre_collection_gather(&p, r->half, r->reveal, &err) == FRE_OK);
    memcpy(out->contribution, p.contribution, sizeof out->contribution);
    fre_collection_draw(out);
    out->oprf_pk = p.oprf_pk;
    out->issuer_pk = p.issuer_pk;
    out->tag_seal = p.tag_seal;
    out->syn_seal = p.syn_seal;
    out->issuer_seal = p.issuer_seal;
    out->tag_sign = p.tag_sign;
    out->syn_sign = p.syn_sign;
    out->relay_sign = p.relay_sign;
    out->issuer_sign = p.issuer_sign;
    memcpy(out->relay_pin, p.relay_pin, sizeof out->relay_pin);
    memcpy(out->tag_pin, p.tag_pin, sizeof out->tag_pin);
    memcpy(out->syn_pin, p.syn_pin, sizeof out->syn_pin);
    memcpy(out->issuer_pin, p.issuer_pin, sizeof out->issuer_pin);
    (void)snprintf(out->relay_url, sizeof out->relay_url, "%s", p.relay_url);
    (void)snprintf(out->tag_url, sizeof out->tag_url, "%s", p.tag_url);
    (void)snprintf(out->syn_url, sizeof out->syn_url, "%s", p.syn_url);
    (void)snprintf(out->issuer_url, sizeof out->issuer_url, "%s", p.issuer_url);
    must(fre_collection_validate(out, &err) == FRE_OK);
}

void write_terms(const char *path, const fre_collection *c)
{
    fre_buf text;

    fre_buf_init(&text, FRE_CONFIG_FILE_MAX);
    must(fre_collection_to_json(&text, c, NULL) == FRE_OK);
    write_file(path, text.p, text.n);
    fre_buf_wipe(&text);
}

void four_roles_remove(four_roles *r)
{
    for (unsigned i = 0; i < FRE_CONTRIBUTORS; i++)
        fre_keygen_files_wipe(&r->files[i]);
    temp_dir_remove(&r->dir);
}

char *text_of_file(const char *path)
{
    char *text = calloc(1, FRE_CONFIG_FILE_MAX + 1);

    must(text && read_file(path, text, FRE_CONFIG_FILE_MAX) >= 0);
    return text;
}

void replace_in_file(const char *path, const char *from, const char *to)
{
    char *text = text_of_file(path), *at = strstr(text, from);
    FILE *f = fopen(path, "wb"); /* keeps the mode */

    must(at && f);
    (void)fwrite(text, 1, (size_t)(at - text), f);
    (void)fputs(to, f);
    (void)fputs(at + strlen(from), f);
    must(fclose(f) == 0);
    free(text);
}
