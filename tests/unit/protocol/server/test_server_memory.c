/* Machines that are not made: each allocation of their constructors fails in turn, and nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "alloc_fail.h"
#include "server_net.h"

static net world;
static fre_collection terms;
static const float text[NET_DIM] = {1};

static fre_status nobody(void *ctx, uint8_t name[32], fre_bytes credentials)
{
    (void)ctx;
    (void)name;
    (void)credentials;
    return FRE_E_REFUSED;
}

static const fre_issuer_host host = {.person = nobody};
static fre_server_keys tag_keys, syn_keys, issuer_keys;
static fre_client_setup setup = {.x = text, .n = 1, .credentials = {(const uint8_t *)"abc", 3}, .fresh = true};

/* What a constructor takes is wiped by it. */
static fre_oprf_key *a_key(const fre_oprf_key *of)
{
    static fre_oprf_key key;

    key = *of;
    return &key;
}

ALLOC_CASE(fre_agreement_new, fre_agreement, fre_agreement_free,
           fre_agreement_new(&x, &terms, err));
ALLOC_CASE(fre_server_new_relay, fre_server, fre_server_free,
           fre_server_new_relay(&x, world.a, &world.s.relay_sk, err));
ALLOC_CASE(fre_server_new_issuer, fre_server, fre_server_free,
           fre_server_new_issuer(&x, world.a, &issuer_keys, a_key(&world.s.issuer_oprf), &host,
                                 err));
ALLOC_CASE(fre_server_new_tagging, fre_server, fre_server_free,
           fre_server_new_tagging(&x, world.a, &tag_keys, a_key(&world.s.oprf), err));
ALLOC_CASE(fre_server_new_synthesis, fre_server, fre_server_free,
           fre_server_new_synthesis(&x, world.a, &syn_keys, (fre_bytes){(const uint8_t *)"s", 1},
                                    err));
ALLOC_CASE(fre_server_new_client, fre_server, fre_server_free,
           fre_server_new_client(&x, world.a, &setup, err));

static void constructors(void **state)
{
    (void)state;
    terms = net_terms(&world.s);
    net_begin(&world, &terms, 1, 5);
    net_clients(&world);
    tag_keys = (fre_server_keys){world.s.tag, world.s.tag_sk};
    syn_keys = (fre_server_keys){world.s.syn, world.s.syn_sk};
    issuer_keys = (fre_server_keys){world.s.issuer, world.s.issuer_sk};
    (void)alloc_torture(&fre_server_new_relay_case, NULL);
    (void)alloc_torture(&fre_server_new_issuer_case, NULL);
    (void)alloc_torture(&fre_server_new_tagging_case, NULL);
    (void)alloc_torture(&fre_server_new_synthesis_case, NULL);
    (void)alloc_torture(&fre_server_new_client_case, NULL);
    net_end(&world);
}

/* Terms that keep their claim. */
static void agreements(void **state)
{
    sample keys;

    (void)state;
    terms = sample_collection(&keys);
    terms.one_contact = terms.server_noise = true;
    terms.dropout = 0;
    terms.sigma = 2;
    terms.epsilon = 8;
    terms.shares_close = terms.tags_close;
    (void)alloc_torture(&fre_agreement_new_case, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(constructors),
                                       cmocka_unit_test(agreements)};

    return cmocka_run_group_tests(tests, NULL, NULL);
}
