/* What a client hides of itself, poisoned: its tag while it reads the list, and all that it hands in.
 * seal's own run poisons the keys. */
#include "ct.h"

#include "wire_sample.h"

static void ok(fre_status st)
{
    ct_require(st == FRE_OK, fre_status_text(st));
}

typedef struct party {
    sample s;
    fre_buf list_bytes, out;
    fre_list list;
    fre_tag tag[3];
    fre_rng rng;
    uint8_t packed[4096];
} party;

static void start(party *p)
{
    const uint8_t seed[FRE_SEED_BYTES] = {1};

    sample_init(&p->s);
    fre_buf_init(&p->list_bytes, SAMPLE_MAX);
    fre_buf_init(&p->out, SAMPLE_MAX);
    sample_list(&p->s, &p->list_bytes);
    ok(fre_list_decode(&p->list, &p->s.w, sample_view(&p->list_bytes), NULL));
    sample_tags(p->tag, 3);
    ok(fre_rng_init_seeded(&p->rng, seed, "constant-time/wire"));
}

static void finish(party *p)
{
    fre_buf_wipe(&p->list_bytes);
    fre_buf_wipe(&p->out);
}

static void scan(void)
{
    static party p;
    uint32_t count;

    start(&p);
    p.tag[2].b[31] ^= 1; /* the last one is not there */
    for (uint32_t i = 0; i < 3; i++) {
        ct_poison(p.tag[i].b, sizeof p.tag[i].b);
        count = fre_list_scan(&p.list, &p.tag[i]);
        ct_require(ct_is_secret(&count, sizeof count), "the count should be secret");
        ct_unpoison(&count, sizeof count);
        ct_require(count == (i < 2 ? 82 + 128 * i : 0), "the count is wrong");
    }
    finish(&p);
}

/* Binary search, which the header warns of. */
static void leaky_search(void)
{
    static party p;
    uint32_t count = 0;

    start(&p);
    ct_poison(p.tag[1].b, sizeof p.tag[1].b);
    (void)fre_list_find(&p.list, &p.tag[1], &count);
    finish(&p);
}

/* An entry or answer whose parts are poisoned; sealed, it opens to what it was. */
static void hand_in(fre_wire_type type)
{
    static const fre_hpke_sk ephemeral = {{7}};
    static party p;
    fre_entry m = {.packed = {p.packed, 0}}, back;
    fre_bytes sealed;
    fre_buf plain;

    start(&p);
    m.packed.n = fre_wire_share_bytes(&p.s.w);
    sample_fill(m.id.b, sizeof m.id.b, 1);
    m.tag = p.tag[0];
    sample_fill(m.proof.b, sizeof m.proof.b, 4);
    sample_fill(m.seed.b, sizeof m.seed.b, 2);
    sample_fill(p.packed, sizeof p.packed, 3);
    ct_poison(m.tag.b, sizeof m.tag.b);
    ct_poison(m.id.b, sizeof m.id.b);
    ct_poison(m.proof.b, sizeof m.proof.b);
    ct_poison(m.seed.b, sizeof m.seed.b);
    ct_poison(p.packed, m.packed.n);
    ok(fre_entry_seal_with(&p.out, &p.s.w, type, &m, &ephemeral));
    ct_unpoison(p.out.p, p.out.n); /* public: it is sent, sealed */
    fre_buf_init(&plain, SAMPLE_MAX);
    ok(fre_entry_split(&sealed, &p.s.w, type, (fre_bytes){p.out.p, p.out.n}, NULL));
    ok(fre_entry_open(&back, &plain, &p.s.w, type, &p.s.syn, sealed, NULL));
    ct_require(type == FRE_WIRE_ANSWER || memcmp(back.tag.b, p.tag[0].b, sizeof back.tag.b) == 0,
               "the tag came back otherwise");
    fre_buf_wipe(&plain);
    finish(&p);
}

static void entry(void)
{
    hand_in(FRE_WIRE_ENTRY);
}

static void answer(void)
{
    hand_in(FRE_WIRE_ANSWER);
}

int main(void)
{
    static const ct_case cases[] = {
        {"control: binary search for a tag", leaky_search, true},
        {"scan of the list", scan, false},
        {"entry", entry, false},
        {"answer", answer, false},
    };

    return ct_main("wire", cases, sizeof cases / sizeof *cases);
}
