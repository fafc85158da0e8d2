/* A client's entries and answers with its secrets poisoned: whether its coin fell on heads, its embedding, its
 * tag, the key of its place and the place itself.  The table of noise is made for the count of its cell, in
 * a time that depends on it (ct_server.supp; docs/decisions/0024). */
#include "client.h"
#include "ct.h"
#include "wire_sample.h"

#define DIM 24u

static void ok(fre_status st)
{
    ct_require(st == FRE_OK, fre_status_text(st));
}

static void terms(fre_collection *c, bool servers)
{
    sample s;

    *c = sample_collection(&s);
    c->dim = DIM;
    c->sketch = (fre_sketch_spec){.grid = {6, 0.5}};
    c->p32 = FRE_P_ONE / 2;
    c->threshold = 20;
    c->tau = 10;
    c->sigma = 0.5;
    c->split = 2;
    c->sensitivity = FRE_SENSITIVITY_WORST_CASE;
    c->dropout = 0;
    c->users = 1000;
    c->one_contact = true;
    c->server_noise = servers;
    c->cells_per_user = c->curious = 2;
    c->shares_close = c->tags_close;
}

static void take_messages(client *k)
{
    for (uint32_t i = 0; i < 2; i++) {
        ct_require(ct_is_secret(k->entry[i].message.p + k->entry[i].message.n - 64, 64),
                   "what is sealed should depend on the secrets");
        ct_unpoison(k->entry[i].message.p, k->entry[i].message.n);
    }
}

/* Tag 1 is listed, tag 2 is not. */
static server_list *a_list(const fre_server *x, const sample *s)
{
    const fre_list_entry e = {.tag = {{1}}, .count = 12};
    server_list *l = NULL;
    fre_buf list, both;

    fre_buf_init(&list, SAMPLE_MAX);
    fre_buf_init(&both, SAMPLE_MAX);
    ok(fre_list_encode(&list, &x->a->w, &e, 1, &s->syn_sk));
    ok(fre_listed_encode(&both, &x->a->w, sample_view(&list), &s->issuer_sk));
    ok(server_list_read(&l, x, sample_view(&both)));
    fre_buf_wipe(&list);
    fre_buf_wipe(&both);
    return l;
}

static void answers(void)
{
    float x[2 * DIM] = {1};
    const fre_client_setup setup = {.x = x, .n = 2, .fresh = true};
    fre_agreement *a = NULL;
    fre_server *made = NULL;
    server_list *l;
    fre_collection c;
    sample s;
    client *k;

    terms(&c, false);
    (void)sample_collection(&s);
    c.one_contact = false;
    c.shares_close = c.tags_close + 1000;
    x[DIM + 3] = 1;
    ok(server_agree(&a, &c, NULL));
    a->seeded = true;
    ok(fre_server_new_client(&made, a, &setup, NULL));
    l = a_list(made, &s);
    k = (client *)made;
    k->stage = CLIENT_SENDING;
    for (uint32_t i = 0; i < 2; i++) {
        k->place[i].tag.b[0] = (uint8_t)(i + 1);
        ct_poison(&k->place[i].real, 1);
        ct_poison(&k->place[i].place, sizeof k->place[i].place);
        ct_poison(&k->place[i].tag, sizeof k->place[i].tag);
        ct_poison(&k->place[i].name, sizeof k->place[i].name);
    }
    ct_poison(k->x, 2 * DIM * sizeof *k->x);
    ok(client_make_answers(k, NULL, l, false));
    take_messages(k);
    server_list_free(l);
    fre_server_free(made);
    fre_agreement_free(a);
}

static void entries(bool servers)
{
    float x[2 * DIM] = {1};
    const fre_client_setup setup = {.x = x, .n = 2, .fresh = true};
    fre_agreement *a = NULL;
    fre_server *made = NULL;
    fre_collection c;
    client *k;

    terms(&c, servers);
    x[DIM + 3] = 1;
    ok(server_agree(&a, &c, NULL));
    a->seeded = true;
    ok(fre_server_new_client(&made, a, &setup, NULL));
    k = (client *)made;
    k->stage = CLIENT_ADMITTED;
    k->key = calloc(2, sizeof *k->key);
    ct_require(k->key != NULL, "out of memory");
    for (uint32_t i = 0; i < 2; i++) {
        ct_poison(&k->place[i].real, 1);
        ct_poison(&k->place[i].place, sizeof k->place[i].place);
        k->place[i].tag.b[0] = (uint8_t)(i + 1);
        ct_poison(&k->place[i].tag, sizeof k->place[i].tag);
        ct_poison(&k->key[i], sizeof k->key[i]);
    }
    ct_poison(k->x, 2 * DIM * sizeof *k->x);
    ok(client_make_entries(k, NULL));
    take_messages(k);
    fre_server_free(made);
    fre_agreement_free(a);
}

static void by_servers(void)
{
    entries(true);
}

static void by_clients(void)
{
    entries(false);
}

/* What the machines do not do: a place without a text left out. */
static void leaky_place(void)
{
    client_place p = {.real = 1};
    volatile unsigned made = 0;

    ct_poison(&p.real, 1);
    if (p.real)
        made++;
    ct_unpoison((void *)(uintptr_t)&made, sizeof made);
}

int main(void)
{
    static const ct_case cases[] = {
        {"control: an entry for real places alone", leaky_place, true},
        {"entries, servers' noise", by_servers, false},
        {"entries, clients' noise", by_clients, false},
        {"answers", answers, false},
    };

    return ct_main("server", cases, sizeof cases / sizeof *cases);
}
