/* server/issuer_vouch.c - which members of which tags have a place.
 *
 * Every id is evaluated before anything is answered.  An id is kept if its proof is right and it was not
 * kept before; under a tag with fewer than tau of them none is named, but they stay kept.  A tag may
 * go on over parts. */
#include "issuer.h"

/* A set of one part, with the members that were kept. */
typedef struct kept_set {
    uint32_t part;
    fre_vouched_set set; /* ids: owned */
} kept_set;

typedef struct work {
    kept_set *set;
    size_t n, cap;
    server_table seen; /* ids that were kept */
    fre_tag tag;       /* of the last set */
    fre_report_id id;  /* and its last member */
    size_t first;      /* the tag's first set */
    uint64_t kept;     /* of the tag so far */
    bool any, ok;
} work;

static void work_wipe(work *k)
{
    for (size_t i = 0; i < k->n; i++)
        free((void *)(uintptr_t)k->set[i].set.id);
    free(k->set);
    server_table_wipe(&k->seen);
}

/* The tag is over: too few and it is not there. */
static void close_tag(work *k, uint64_t tau)
{
    if (k->kept < tau)
        for (size_t i = k->first; i < k->n; i++)
            k->set[i].set.n = 0;
    k->first = k->n;
    k->kept = 0;
}

/* One whose proof is right: is it the first time that its id is kept? */
static fre_status keep_first(bool *first, issuer *x, work *k, const fre_report_id *kept)
{
    uint8_t name[SERVER_HASH_BYTES]; /* clients choose their ids */

    server_hash(name, &x->base, server_view(kept->b, sizeof kept->b));
    *first = !server_table_find(&k->seen, name);
    return *first ? server_table_put(&k->seen, name, 0) : FRE_OK;
}

static fre_status keep_members(issuer *x, work *k, const fre_vouch_set *asked, uint32_t part)
{
    const fre_keeper *at = x->oprf.at;
    fre_report_id *id = malloc(asked->n * sizeof *id);
    bool *right = calloc(asked->n, sizeof *right);
    uint32_t n = 0;
    fre_status st =
        id && right ? fre_grow((void **)&k->set, &k->cap, k->n + 1, sizeof *k->set) : FRE_E_NOMEM;

    if (st == FRE_OK)
        st = at->vouch(at->ctx, right, &asked->tag, asked->member, asked->n);
    for (uint32_t i = 0; st == FRE_OK && i < asked->n; i++) {
        bool first = false;

        if (right[i])
            st = keep_first(&first, x, k, &asked->member[i].id);
        if (first)
            id[n++] = asked->member[i].id;
    }
    free(right);
    if (st != FRE_OK) {
        free(id);
        return st;
    }
    k->set[k->n++] =
        (kept_set){.part = part, .set = {.tag = asked->tag, .n = n, .id = id}};
    k->kept += n;
    return FRE_OK;
}

/* Does this set come behind the last one? */
static bool in_order(const work *k, const fre_vouch_set *s)
{
    const int order = k->any ? memcmp(k->tag.b, s->tag.b, sizeof s->tag.b) : -1;

    return order < 0 ||
           (order == 0 && memcmp(k->id.b, s->member[0].id.b, sizeof k->id.b) < 0);
}

static fre_status read_part(issuer *x, work *k, uint32_t part)
{
    const uint64_t tau = server_wire(&x->base)->c.tau;
    fre_tag_sets sets;
    fre_vouch_set s;
    fre_status st = fre_vouch_decode(&sets, server_wire(&x->base),
                                     server_buf_view(&x->asked.part[part].bytes), NULL);

    while (st == FRE_OK && k->ok && fre_vouch_next(&sets, &s)) {
        k->ok = in_order(k, &s);
        if (!k->ok)
            break;
        if (k->any && memcmp(k->tag.b, s.tag.b, sizeof s.tag.b) != 0)
            close_tag(k, tau);
        st = keep_members(x, k, &s, part);
        k->tag = s.tag;
        k->id = s.member[s.n - 1].id;
        k->any = true;
    }
    return st;
}

/* Sets of a part lie side by side. */
static fre_status answer_part(issuer *x, fre_delta *rows, const work *k, size_t *at, uint32_t part)
{
    fre_vouched_set *set = calloc(k->n + 1, sizeof *set);
    uint32_t n = 0;
    fre_buf message;
    fre_status st;

    if (!set)
        return FRE_E_NOMEM;
    for (; *at < k->n && k->set[*at].part == part; ++*at)
        if (k->set[*at].set.n > 0)
            set[n++] = k->set[*at].set;
    fre_buf_init(&message, FRE_WIRE_MESSAGE_MAX);
    st = fre_vouched_encode(&message, server_wire(&x->base), (fre_part){part, x->asked.count}, set,
                            n, &x->base.sign);
    if (st == FRE_OK)
        st = server_out_add(&x->answers, rows, &message);
    fre_buf_wipe(&message);
    free(set);
    return st;
}

fre_status issuer_vouch(issuer *x, fre_delta *rows, bool *ok)
{
    work k = {.ok = true};
    size_t at = 0;
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && k.ok && i < x->asked.count; i++)
        st = read_part(x, &k, i);
    if (st == FRE_OK)
        close_tag(&k, server_wire(&x->base)->c.tau);
    for (uint32_t i = 0; st == FRE_OK && k.ok && i < x->asked.count; i++)
        st = answer_part(x, rows, &k, &at, i);
    *ok = k.ok;
    work_wipe(&k);
    return st;
}
