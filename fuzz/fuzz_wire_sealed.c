/* What is sealed, by the first byte: HTTP requests and responses that somebody with the right keys
 * made up, raw bytes in place of sealed ones, and genuine messages with bytes changed.  Nothing is
 * taken that is not whole; of what is refused nothing is written; a change is never overlooked. */
#include "wire_sample_two.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct genuine {
    sample s;
    fre_rng rng;
    fre_ohttp_exchange client, server;
    fre_oprf_element blinded;
    fre_buf request, response, answer; /* whole messages */
    fre_tag tag;
    fre_report_id id;
    fre_sealed_entry_seed seed;
} genuine;

static void make(genuine *g)
{
    const uint8_t seed[FRE_SEED_BYTES] = {9};
    const fre_share_seed share = {{3}};
    const fre_place place = {.b = {4}};
    const fre_hpke_sk ephemeral = {{5}};
    fre_oprf_blind blind;
    fre_buf message, taken;

    sample_init(&g->s);
    must(fre_rng_init_seeded(&g->rng, seed, "fuzz/wire_sealed") == FRE_OK);
    fre_buf_init(&g->request, SAMPLE_MAX);
    fre_buf_init(&g->response, SAMPLE_MAX);
    fre_buf_init(&g->answer, SAMPLE_MAX);
    fre_buf_init(&message, SAMPLE_MAX);
    fre_buf_init(&taken, SAMPLE_MAX);
    must(fre_oprf_blind_input(&blind, &g->blinded, (fre_bytes){seed, sizeof seed}, &g->rng) ==
         FRE_OK);
    must(fre_tag_request_encode(&message, &g->s.w, &g->blinded) == FRE_OK);
    must(fre_exchange_ask(&g->client, &g->request, &g->s.w, FRE_WIRE_TAG_REQUEST,
                          sample_view(&message), &g->rng) == FRE_OK);
    must(fre_exchange_open(&g->server, &taken, &g->s.w, FRE_WIRE_TAG_REQUEST, &g->s.tag,
                           sample_view(&g->request), NULL) == FRE_OK);
    fre_buf_wipe(&message);
    must(fre_rejection_encode(&message, FRE_REJECTED_FULL) == FRE_OK);
    must(fre_exchange_answer(&g->server, &g->response, &g->s.w, sample_view(&message), &g->rng) ==
         FRE_OK);
    memset(g->tag.b, 5, sizeof g->tag.b);
    fre_place_id(&g->id, &g->s.w, &place);
    must(fre_entry_seed_seal_with(&g->seed, &g->s.w, &g->tag, &g->id, &share, &place, &ephemeral) ==
         FRE_OK);
    sample_entry(&g->s, FRE_WIRE_ANSWER, &g->answer);
    fre_buf_wipe(&message);
    fre_buf_wipe(&taken);
}

/* in, cut or filled up with zeros to the one size that there is. */
static void fit(fre_buf *out, fre_bytes in, size_t n)
{
    static const uint8_t zero[1];

    fre_buf_init(out, SAMPLE_MAX);
    must(fre_buf_append(out, in.p, in.n < n ? in.n : n) == FRE_OK);
    while (out->n < n)
        must(fre_buf_append(out, zero, 1) == FRE_OK);
}

/* All bytes of a part, in their order: content may come in chunks, with their lengths between them. */
static bool is_within(const fre_buf *part, const fre_buf *whole)
{
    size_t found = 0;

    for (size_t i = 0; found < part->n && i < whole->n; i++)
        found += whole->p[i] == part->p[found];
    return found == part->n;
}

static void refused(fre_status st, const fre_buf *out)
{
    must(st == FRE_E_DATA || st == FRE_E_REFUSED || st == FRE_E_KEY || st == FRE_E_LIMIT);
    must(out->n == 0);
}

/* A client that seals what it likes. */
static void request(genuine *g, fre_bytes in)
{
    fre_ohttp_config config;
    fre_ohttp_exchange x, y;
    fre_buf plain, sealed, out;
    fre_status st;

    fit(&plain, in, g->request.n - FRE_OHTTP_REQUEST_OVERHEAD);
    fre_buf_init(&sealed, SAMPLE_MAX);
    fre_buf_init(&out, SAMPLE_MAX);
    fre_collection_ohttp_config(&config, &g->s.w.c, FRE_WIRE_TAG_REQUEST);
    must(fre_ohttp_request_seal(&x, &sealed, &config, g->s.w.c.aead, sample_view(&plain),
                                &g->rng) == FRE_OK);
    st = fre_exchange_open(&y, &out, &g->s.w, FRE_WIRE_TAG_REQUEST, &g->s.tag, sample_view(&sealed),
                           NULL);
    if (st == FRE_OK) {
        must(is_within(&out, &plain));
        fre_ohttp_exchange_wipe(&y);
    } else {
        refused(st, &out);
    }
    fre_ohttp_exchange_wipe(&x);
    fre_buf_wipe(&plain);
    fre_buf_wipe(&sealed);
    fre_buf_wipe(&out);
}

/* An S_tag that does. */
static void response(genuine *g, fre_bytes in)
{
    const size_t over = fre_ohttp_nonce_bytes(&g->server) + FRE_HPKE_TAG_BYTES;
    fre_buf plain, sealed, out;
    fre_status st;

    fit(&plain, in, g->response.n - over);
    fre_buf_init(&sealed, SAMPLE_MAX);
    fre_buf_init(&out, SAMPLE_MAX);
    must(fre_ohttp_response_seal(&g->server, &sealed, sample_view(&plain), &g->rng) == FRE_OK);
    st = fre_exchange_read(&g->client, &out, &g->s.w, sample_view(&sealed), NULL);
    if (st == FRE_OK)
        must(is_within(&out, &plain));
    else
        refused(st, &out);
    fre_buf_wipe(&plain);
    fre_buf_wipe(&sealed);
    fre_buf_wipe(&out);
}

/* Bytes of a stranger, who has no key. */
static void raw(genuine *g, fre_bytes in)
{
    fre_ohttp_exchange x;
    static const fre_wire_type types[] = {FRE_WIRE_ENTRY, FRE_WIRE_ANSWER};
    fre_entry m;
    fre_bytes sealed;
    fre_buf out;

    fre_buf_init(&out, SAMPLE_MAX);
    refused(fre_exchange_open(&x, &out, &g->s.w, FRE_WIRE_TAG_REQUEST, &g->s.tag, in, NULL), &out);
    refused(fre_exchange_read(&g->client, &out, &g->s.w, in, NULL), &out);
    for (size_t i = 0; i < 2; i++) {
        if (fre_entry_split(&sealed, &g->s.w, types[i], in, NULL) == FRE_OK)
            must(sealed.p >= in.p && sealed.p + sealed.n == in.p + in.n);
        must(fre_entry_open(&m, &out, &g->s.w, types[i], &g->s.syn, in, NULL) != FRE_OK);
    }
    fre_buf_wipe(&out);
}

/* Into `at`, byte by byte; does anything differ then? */
static bool change(uint8_t *at, size_t n, fre_bytes by)
{
    bool differs = false;

    for (size_t i = 0; i < n && i < by.n; i++) {
        at[i] ^= by.p[i];
        differs |= by.p[i] != 0;
    }
    return differs;
}

static void changed(genuine *g, fre_bytes by)
{
    fre_sealed_entry_seed seed = g->seed;
    const bool other = change((uint8_t *)&seed, sizeof seed, by);
    fre_entry m;
    fre_share_seed opened;
    fre_place place;
    fre_bytes sealed;
    fre_buf message, plain;
    bool differs;

    must((fre_entry_seed_open(&opened, &place, &g->s.w, &g->s.tag, &g->tag, &g->id, &seed) ==
          FRE_OK) == !other);
    fre_buf_init(&plain, SAMPLE_MAX);
    fit(&message, sample_view(&g->answer), g->answer.n);
    differs = change(message.p, message.n, by);
    if (fre_entry_split(&sealed, &g->s.w, FRE_WIRE_ANSWER, sample_view(&message), NULL) == FRE_OK)
        must((fre_entry_open(&m, &plain, &g->s.w, FRE_WIRE_ANSWER, &g->s.syn, sealed, NULL) ==
              FRE_OK) == !differs);
    else
        must(differs);
    fre_buf_wipe(&message);
    fre_buf_wipe(&plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static void (*const kinds[])(genuine *, fre_bytes) = {request, response, raw, changed};
    static genuine g;
    static bool ready;

    if (!ready)
        make(&g);
    ready = true;
    if (n == 0 || n > SAMPLE_MAX / 2)
        return 0;
    kinds[data[0] % 4](&g, (fre_bytes){.p = data + 1, .n = n - 1});
    return 0;
}
