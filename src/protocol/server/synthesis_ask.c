/* server/synthesis_ask.c - what S_syn asks: of the issuer who has a place, of S_tag the sums of those. */
#include "synthesis.h"

#define PART_MEMBERS (1u << 18) /* 96 bytes each in an unseal: far below a message's limit */

/* ---- vouch ---------------------------------------------------------------------------------------- */

/* Members from..to-1 as sets; a tag may go on behind them. */
static fre_status vouch_part(synthesis *x, fre_delta *rows, uint32_t from, uint32_t to,
                             fre_part part)
{
    fre_vouch_member *m = malloc((to - from) * sizeof *m + 1);
    fre_vouch_set *set = malloc((to - from) * sizeof *set + 1);
    uint32_t n = 0;
    fre_buf message;
    fre_status st = m && set ? FRE_OK : FRE_E_NOMEM;

    for (uint32_t i = from; st == FRE_OK && i < to; i++) {
        m[i - from] =
            (fre_vouch_member){.id = x->member[i].id, .proof = x->member[i].proof};
        if (n > 0 &&
            memcmp(set[n - 1].tag.b, x->member[i].tag.b, sizeof set[n - 1].tag.b) == 0)
            set[n - 1].n++;
        else
            set[n++] = (fre_vouch_set){.tag = x->member[i].tag, .n = 1, .member = &m[i - from]};
    }
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    if (st == FRE_OK)
        st = fre_vouch_encode(&message, server_wire(&x->base), part, set, n, &x->base.sign);
    if (st == FRE_OK)
        st = server_out_add(&x->vouch, rows, &message);
    fre_buf_wipe(&message);
    free(m);
    free(set);
    return st;
}

/* An empty request too: the issuer's key ends with it. */
fre_status syn_make_vouch(synthesis *x, fre_delta *rows)
{
    const uint32_t n = x->members;
    const uint32_t parts = n > PART_MEMBERS ? (n + PART_MEMBERS - 1) / PART_MEMBERS : 1;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < parts; i++)
        st = vouch_part(x, rows, (uint32_t)((uint64_t)n * i / parts),
                        (uint32_t)((uint64_t)n * (i + 1) / parts), (fre_part){i, parts});
    return st;
}

/* ---- unseal ---------------------------------------------------------------------------------------- */

bool syn_knows(const synthesis *x, const fre_tag *tag, const fre_report_id *id, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (syn_find(x, tag, &id[i]) == UINT32_MAX)
            return false;
    return true;
}

/* Two contacts: did enough of that tag answer?  Members under it lie side by side. */
static bool has_answers(const synthesis *x, const fre_tag *tag)
{
    static const fre_report_id least;
    static const fre_sealed_entry_seed none;
    uint64_t n = 0;

    for (uint32_t i = syn_first(x, tag, &least);
         i < x->members && memcmp(x->member[i].tag.b, tag->b, sizeof tag->b) == 0; i++)
        n += memcmp(x->member[i].seed.b, none.b, sizeof none.b) != 0;
    return n >= server_ids_needed(&x->base, tag);
}

/* Of members of a set, or zeros.  FRE_E_DATA: rows of members are missing. */
static fre_status put_seeds(fre_sealed_entry_seed *out, const synthesis *x,
                            const fre_vouched_set *s, bool asked)
{
    for (uint32_t i = 0; i < s->n; i++) {
        const uint32_t at = syn_find(x, &s->tag, &s->id[i]);

        if (at == UINT32_MAX)
            return FRE_E_DATA;
        if (asked)
            out[i] = x->member[at].seed;
        else
            memset(out[i].b, 0, sizeof out[i].b);
    }
    return FRE_OK;
}

static fre_status unseal_part(synthesis *x, fre_delta *rows, uint32_t part)
{
    const fre_wire *w = server_wire(&x->base);
    fre_unseal m = {.part = {part, x->vouched.count},
                    .vouched = server_buf_view(&x->vouched.part[part].bytes)};
    fre_sealed_entry_seed *seed = NULL;
    fre_vouched_set s;
    fre_tag_sets sets;
    size_t cap = 0;
    fre_buf message;
    fre_status st = fre_vouched_decode(&sets, w, m.vouched, NULL);

    while (st == FRE_OK && fre_vouched_next(&sets, &s)) {
        const bool asked = w->c.one_contact || has_answers(x, &s.tag);

        st = fre_grow((void **)&seed, &cap, (size_t)m.n + s.n, sizeof *seed);
        if (st == FRE_OK)
            st = put_seeds(seed + m.n, x, &s, asked);
        m.n += s.n;
    }
    m.seed = seed;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    if (st == FRE_OK)
        st = fre_unseal_encode(&message, w, &m, &x->base.sign);
    if (st == FRE_OK)
        st = server_out_add(&x->unseal, rows, &message);
    fre_buf_wipe(&message);
    free(seed);
    return st;
}

fre_status syn_make_unseal(synthesis *x, fre_delta *rows)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < x->vouched.count; i++)
        st = unseal_part(x, rows, i);
    return st;
}
