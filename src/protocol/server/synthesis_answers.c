/* server/synthesis_answers.c - two contacts: the list of what the issuer vouched for, and the answers to it:
 * of one member's the one whose sealed seed has the least hash.  All others say nothing, are of somebody whose
 * entry never came, which nobody can tell, or are junk. */
#include "synthesis.h"

/* ---- the list ----------------------------------------------------------------------------------------- */

typedef struct counts {
    fre_list_entry *e;
    size_t n, cap;
} counts;

static fre_status count_set(counts *k, const fre_vouched_set *s)
{
    fre_status st;

    if (k->n > 0 && memcmp(k->e[k->n - 1].tag.b, s->tag.b, sizeof s->tag.b) == 0) {
        k->e[k->n - 1].count += s->n;
        return FRE_OK;
    }
    st = fre_grow((void **)&k->e, &k->cap, k->n + 1, sizeof *k->e);
    if (st == FRE_OK)
        k->e[k->n++] = (fre_list_entry){.tag = s->tag, .count = s->n};
    return st;
}

static fre_status count_vouched(counts *k, const synthesis *x)
{
    fre_status st = FRE_OK;
    fre_tag_sets sets;
    fre_vouched_set s;

    for (uint32_t i = 0; st == FRE_OK && i < x->vouched.count; i++) {
        st = fre_vouched_decode(&sets, server_wire(&x->base),
                                server_buf_view(&x->vouched.part[i].bytes), NULL);
        while (st == FRE_OK && fre_vouched_next(&sets, &s))
            st = count_set(k, &s);
    }
    return st;
}

fre_status syn_make_list(synthesis *x, fre_delta *rows)
{
    counts k = {.n = 0};
    fre_buf message;
    fre_status st = count_vouched(&k, x);

    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    if (st == FRE_OK)
        st = fre_list_encode(&message, server_wire(&x->base), k.e, (uint32_t)k.n, &x->base.sign);
    if (st == FRE_OK)
        st = server_out_add(&x->list, rows, &message);
    fre_buf_wipe(&message);
    free(k.e);
    return st;
}

/* ---- answers ------------------------------------------------------------------------------------------- */

/* Of a member. */
typedef struct best {
    bool any;
    uint8_t hash[FRE_HASH_BYTES];
    uint32_t part, entry;
} best;

/* What the answer of a member is called whom the issuer vouched for. */
typedef struct called {
    fre_report_id name;
    uint32_t member;
} called;
typedef struct names {
    called *at; /* sorted */
    size_t n;
} names;

static int by_name(const void *a, const void *b)
{
    const called *x = a, *y = b;

    return memcmp(x->name.b, y->name.b, sizeof x->name.b);
}

static void compare(best *b, const fre_entry *e, uint32_t part, uint32_t entry)
{
    best other = {.any = true, .part = part, .entry = entry};

    server_sha256(other.hash, server_view(e->seed.b, sizeof e->seed.b));
    if (!b->any || memcmp(other.hash, b->hash, sizeof other.hash) < 0)
        *b = other;
}

/* FRE_E_DATA: rows of members are missing.  An issuer that vouches for somebody twice is stopped by S_tag. */
static fre_status name_set(names *k, const synthesis *x, const fre_vouched_set *s)
{
    for (uint32_t i = 0; i < s->n && k->n < x->members; i++) {
        const uint32_t at = syn_find(x, &s->tag, &s->id[i]);

        if (at == UINT32_MAX)
            return FRE_E_DATA;
        fre_answer_name(&k->at[k->n].name, server_wire(&x->base), &s->id[i],
                        &x->member[at].proof);
        k->at[k->n++].member = at;
    }
    return FRE_OK;
}

static fre_status name_vouched(names *k, const synthesis *x)
{
    fre_status st = FRE_OK;
    fre_tag_sets sets;
    fre_vouched_set s;

    for (uint32_t i = 0; st == FRE_OK && i < x->vouched.count; i++) {
        st = fre_vouched_decode(&sets, server_wire(&x->base),
                                server_buf_view(&x->vouched.part[i].bytes), NULL);
        while (st == FRE_OK && fre_vouched_next(&sets, &s))
            st = name_set(k, x, &s);
    }
    qsort(k->at, k->n, sizeof *k->at, by_name);
    return st;
}

static fre_status choose_in(const synthesis *x, best *b, const names *k, synthesis_opening *o,
                            uint32_t part)
{
    fre_status st = syn_opening(o, x, &x->gathered.part[part], FRE_WIRE_ANSWER);
    bool more = true;
    fre_entry e;

    while (st == FRE_OK && more) {
        const called *found = NULL;

        st = syn_open_next(o, x, &e, &more);
        if (st == FRE_OK && more)
            found = bsearch(&(called){.name = e.id}, k->at, k->n, sizeof *k->at, by_name);
        if (found)
            compare(&b[found->member], &e, part, o->next - 1);
    }
    return st;
}

static fre_status keep_all(synthesis *x, fre_delta *rows, const best *b, synthesis_opening *o)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < x->members; i++) {
        synthesis_member m = x->member[i];
        fre_entry e;

        if (!b[i].any)
            continue;
        st = syn_open_at(&o[b[i].part], x, &e, b[i].entry);
        m.seed = e.seed;
        if (st == FRE_OK)
            st = syn_member_keep(x, rows, i, &m, e.packed);
    }
    return st;
}

static fre_status choose_all(synthesis *x, fre_delta *rows, best *b, names *k, synthesis_opening *o)
{
    fre_status st = name_vouched(k, x);

    for (uint32_t i = 0; st == FRE_OK && i < x->gathered.count; i++)
        st = choose_in(x, b, k, &o[i], i);
    return st == FRE_OK ? keep_all(x, rows, b, o) : st;
}

fre_status syn_count_answers(synthesis *x, fre_delta *rows)
{
    const uint32_t parts = x->gathered.count;
    best *b = calloc((size_t)x->members + 1, sizeof *b);
    names k = {.at = calloc((size_t)x->members + 1, sizeof *k.at)};
    synthesis_opening *o = calloc(parts, sizeof *o);
    fre_status st = b && k.at && o ? choose_all(x, rows, b, &k, o) : FRE_E_NOMEM;

    for (uint32_t i = 0; o && i < parts; i++)
        syn_opening_wipe(&o[i]);
    free(o);
    free(k.at);
    free(b);
    if (st != FRE_OK)
        return st;
    fre_hpke_keypair_wipe(&x->seal);
    return server_parts_used(&x->gathered, rows);
}
