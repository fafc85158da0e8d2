/* server_net.c - see server_net.h. */
#include "server_net.h"

#include <stdio.h>

/* ---- store -------------------------------------------------------------------------------------- */

static int order(const net_row *r, const uint8_t *key, size_t n)
{
    const size_t least = r->key.n < n ? r->key.n : n;
    const int o = memcmp(r->key.p, key, least);

    return o != 0 ? o : (r->key.n > n) - (r->key.n < n);
}

static size_t place(const net_store *s, const uint8_t *key, size_t n, bool *found)
{
    size_t low = 0, high = s->n;

    *found = false;
    while (low < high) {
        const size_t mid = low + (high - low) / 2;
        const int o = order(&s->row[mid], key, n);

        if (o == 0) {
            *found = true;
            return mid;
        }
        if (o < 0)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static void row_wipe(net_row *r)
{
    fre_buf_wipe(&r->key);
    fre_buf_wipe(&r->value);
}

static void apply(net_store *s, const fre_row *row)
{
    uint8_t key[256];
    size_t at, n = row->key.n + 1;
    bool found;

    must(n <= sizeof key);
    key[0] = row->table;
    if (row->key.n > 0)
        memcpy(key + 1, row->key.p, row->key.n);
    at = place(s, key, n, &found);
    if (found) {
        row_wipe(&s->row[at]);
        memmove(s->row + at, s->row + at + 1, (s->n - at - 1) * sizeof *s->row);
        s->n--;
    }
    if (row->erase)
        return;
    must(fre_grow((void **)&s->row, &s->cap, s->n + 1, sizeof *s->row) == FRE_OK);
    memmove(s->row + at + 1, s->row + at, (s->n - at) * sizeof *s->row);
    fre_buf_init(&s->row[at].key, SIZE_MAX / 2);
    fre_buf_init(&s->row[at].value, SIZE_MAX / 2);
    must(fre_buf_append(&s->row[at].key, key, n) == FRE_OK);
    must(fre_buf_append(&s->row[at].value, row->value.p, row->value.n) == FRE_OK);
    s->n++;
}

void net_store_commit(net_store *s, const fre_delta *rows)
{
    size_t at = 0;
    fre_row row;

    while (fre_delta_next(rows, &at, &row))
        apply(s, &row);
}

fre_status net_store_restore(const net_store *s, fre_server *x)
{
    fre_status st = FRE_OK;

    /* Backwards, for the order of rows is not to count. */
    for (size_t i = s->n; st == FRE_OK && i-- > 0;) {
        const fre_row row = {.table = s->row[i].key.p[0],
                             .key = {s->row[i].key.p + 1, s->row[i].key.n - 1},
                             .value = sample_view(&s->row[i].value)};

        st = fre_server_restore(x, &row, NULL);
    }
    return st == FRE_OK ? fre_server_restore(x, NULL, NULL) : st;
}

size_t net_store_bytes(const net_store *s)
{
    size_t n = 0;

    for (size_t i = 0; i < s->n; i++)
        n += s->row[i].key.n + s->row[i].value.n;
    return n;
}

void net_store_wipe(net_store *s)
{
    for (size_t i = 0; i < s->n; i++)
        row_wipe(&s->row[i]);
    free(s->row);
    *s = (net_store){.n = 0};
}

/* ---- machines --------------------------------------------------------------------------------------- */

fre_collection net_terms(sample *s)
{
    fre_collection c = sample_collection(s);

    c.dim = NET_DIM;
    c.sketch = (fre_sketch_spec){.grid = {6, 0.5}};
    c.p32 = FRE_P_ONE;
    c.threshold = 3;
    c.tau = 3;
    c.sigma = 0.02;
    c.sensitivity = FRE_SENSITIVITY_WORST_CASE;
    c.split = 2;
    c.lambda16 = FRE_TSDLAP_ONE;
    c.gamma = 2;
    c.users = 60;
    c.curious = 0;
    c.dropout = 0;
    c.one_contact = true;
    c.server_noise = true;
    c.epsilon = 20;
    c.delta = 0.5;
    c.open = 1000;
    c.exchange_close = 1400;
    c.tags_close = 2000;
    c.shares_close = 2000;
    c.end = 4000;
    return c;
}

fre_collection net_terms_two(sample *s)
{
    fre_collection c = net_terms(s);

    c.one_contact = false;
    c.server_noise = false;
    c.shares_close = 2600;
    return c;
}

/* Credentials are the user's number; strangers have none here. */
static fre_status who_is(void *ctx, uint8_t name[32], fre_bytes credentials)
{
    net *n = ctx;
    uint32_t i;

    n->who_asked++;
    if (n->who != FRE_OK)
        return n->who;
    if (credentials.n != 4)
        return FRE_E_REFUSED;
    memcpy(&i, credentials.p, 4);
    if (i >= n->users - n->strangers)
        return FRE_E_REFUSED;
    memset(name, 0, 32);
    memcpy(name, credentials.p, 4);
    return FRE_OK;
}

/* Seal and VOPRF keys of zeros where they are not given. */
static fre_server *make(net *n, fre_role role, bool with_keys)
{
    static const char statement[] = "NOT PRIVATE: a test";
    const fre_issuer_host host = {.ctx = n, .person = who_is};
    const fre_hpke_keypair none = {.pk = {{0}}};
    const fre_server_keys keys[NET_ROLES] = {
        [FRE_ROLE_TAG] = {.seal = with_keys ? n->s.tag : none, .sign = n->s.tag_sk},
        [FRE_ROLE_SYN] = {.seal = with_keys ? n->s.syn : none, .sign = n->s.syn_sk},
        [FRE_ROLE_ISSUER] = {.seal = with_keys ? n->s.issuer : none, .sign = n->s.issuer_sk}};
    fre_oprf_key tag = n->s.oprf, issuer = n->s.issuer_oprf;
    fre_server *x = NULL;
    fre_err err = {.text = ""};
    fre_status st = FRE_OK;

    if (role == FRE_ROLE_TAG)
        st = fre_server_new_tagging(&x, n->a, &keys[role], with_keys ? &tag : NULL, &err);
    else if (role == FRE_ROLE_SYN)
        st = fre_server_new_synthesis(&x, n->a, &keys[role],
                                      (fre_bytes){(const uint8_t *)statement, sizeof statement - 1},
                                      &err);
    else if (role == FRE_ROLE_ISSUER)
        st = fre_server_new_issuer(&x, n->a, &keys[role], with_keys ? &issuer : NULL, &host, &err);
    else
        st = fre_server_new_relay(&x, n->a, &n->s.relay_sk, &err);
    if (st != FRE_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    must(st == FRE_OK);
    return x;
}

fre_server *net_make(net *n, fre_role role)
{
    return make(n, role, true);
}

static fre_status keep(void *ctx, fre_server *x, const fre_delta *rows);
static fre_status carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer);

void net_begin(net *n, const fre_collection *c, uint32_t users, uint64_t seed)
{
    uint8_t bytes[FRE_SEED_BYTES] = {0};
    fre_err err = {.text = ""};
    fre_status st;

    memcpy(bytes, &seed, sizeof seed);
    must(fre_rng_init_seeded(&n->rng, bytes, "test/net") == FRE_OK);
    st = server_agree(&n->a, c, &err);
    if (st != FRE_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    must(st == FRE_OK);
    must(!n->cells || fre_agreement_set_cells(n->a, n->cells, NULL) == FRE_OK);
    n->s.w = *fre_agreement_wire(n->a);
    fre_agreement_rehearse(n->a, bytes, false);
    fre_links_init(&n->links);
    n->links.host = (fre_host){.ctx = n, .keep = keep, .carry = carry};
    n->links.rng = &n->rng;
    for (unsigned role = 1; role < NET_ROLES; role++)
        n->links.server[role] = net_make(n, (fre_role)role);
    n->users = users;
    n->user = calloc(users, sizeof *n->user);
    must(n->user != NULL);
    n->now = c->open - 1;
    n->stride = 40;
}

void net_text(net *n, uint32_t user, uint32_t cluster)
{
    net_user *u = &n->user[user];
    float *x = u->x + (size_t)u->texts++ * NET_DIM;

    for (uint32_t i = 0; i < NET_DIM; i++)
        x[i] = 1e-4f * (float)((user * 7 + i * 3) % 5);
    x[cluster % NET_DIM] += cluster < NET_DIM ? 0.9f : -0.9f;
}

fre_server *net_make_client(net *n, uint32_t i, bool fresh)
{
    net_user *u = &n->user[i];
    const fre_client_setup setup = {
        .x = u->x, .n = u->texts, .credentials = {u->credentials, 4}, .fresh = fresh, .number = i};
    fre_server *x = NULL;

    must(fre_server_new_client(&x, n->a, &setup, NULL) == FRE_OK);
    return x;
}

void net_clients(net *n)
{
    for (uint32_t i = 0; i < n->users; i++) {
        memcpy(n->user[i].credentials, &i, 4);
        n->user[i].client = net_make_client(n, i, true);
    }
}

void net_end(net *n)
{
    for (unsigned role = 1; role < NET_ROLES; role++) {
        fre_server_free(n->links.server[role]);
        net_store_wipe(&n->store[role]);
    }
    for (uint32_t i = 0; i < n->users; i++) {
        fre_server_free(n->user[i].client);
        net_store_wipe(&n->user[i].store);
    }
    free(n->user);
    fre_links_wipe(&n->links);
    fre_agreement_free(n->a);
    fre_rng_wipe(&n->rng);
    *n = (net){.users = 0};
}

void net_restart(net *n, fre_role role)
{
    if (n->links.server[role] == n->stepping)
        n->fallen = n->stepping;
    else
        fre_server_free(n->links.server[role]);
    n->links.server[role] = make(n, role, !n->masked);
    must((n->restore ? n->restore(n, role, n->links.server[role])
                     : net_store_restore(&n->store[role], n->links.server[role])) == FRE_OK);
}

/* A client whose first row was not committed has sent nothing, and begins anew. */
void net_restart_client(net *n, uint32_t i)
{
    net_user *u = &n->user[i];

    fre_server_free(u->client);
    u->client = net_make_client(n, i, u->store.n == 0);
    if (u->store.n > 0)
        must(net_store_restore(&u->store, u->client) == FRE_OK);
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

/* True: killed before its rows were committed.  The row at which it is killed is inside of this call. */
static bool killed(net *n, fre_role role, const fre_delta *rows)
{
    const bool again =
        (n->kill_only == 0 || n->kill_only == role) && n->kill_every > 0 && rows->n > 0 && fre_rng_below(&n->rng, n->kill_every) == 0;

    n->rows += rows->n;
    if (!again && (n->kill_at == 0 || n->rows < n->kill_at || rows->n == 0))
        return false;
    n->kill_at = 0;
    n->kills++;
    return true;
}

/* Whose machine it is: its store; a client's number. */
static net_store *store_of(net *n, const fre_server *x, uint32_t *client)
{
    const fre_role role = fre_server_role(x);

    *client = n->sender;
    if (role != 0)
        return &n->store[role];
    must(n->sender < n->users && n->user[n->sender].client == x);
    return &n->user[n->sender].store;
}

static fre_status keep(void *ctx, fre_server *x, const fre_delta *rows)
{
    net *n = ctx;
    const fre_role role = fre_server_role(x);
    uint32_t client;
    net_store *store = store_of(n, x, &client);

    if (role != 0 && x != n->links.server[role])
        return FRE_E_AGAIN; /* it is dead */
    if (!killed(n, role, rows)) {
        net_store_commit(store, rows);
        if (n->kept && role != 0)
            n->kept(n, role, rows);
        return FRE_OK;
    }
    if (role != 0)
        net_restart(n, role);
    else
        net_restart_client(n, client);
    return FRE_E_AGAIN;
}

static fre_status carry(void *ctx, const fre_server *x, fre_role to, fre_bytes message,
                        fre_buf *answer)
{
    return net_carry(ctx, x ? fre_server_role(x) : (fre_role)0, to, message, answer);
}

fre_status net_carry(net *n, fre_role from, fre_role to, fre_bytes message, fre_buf *answer)
{
    const int64_t outer = n->links.now; /* of a call that makes this one */
    fre_buf copy;
    fre_status st = FRE_OK;

    fre_buf_init(&copy, FRE_WIRE_MESSAGE_MAX);
    must(fre_buf_append(&copy, message.p, message.n) == FRE_OK);
    if (n->change)
        n->change(n, from, to, &copy);
    if (copy.n > 0 || message.n == 0) { /* else it never arrives */
        if (n->saw)
            n->saw(n, from, to, sample_view(&copy));
        n->links.now = n->now + n->ahead[to];
        n->links.lose = (uint64_t)n->lose << 24;
        n->links.lose_answer = (uint64_t)n->lose_answer << 24;
        n->links.repeat = (uint64_t)n->twice << 24;
        n->links.delay = (uint64_t)n->late << 24;
        st = fre_links_carry(&n->links, to, sample_view(&copy), answer);
        n->links.now = outer;
    }
    fre_buf_wipe(&copy);
    return st;
}

bool net_send(net *n, fre_role from, fre_role to, fre_bytes message, fre_buf *answer)
{
    fre_buf_wipe(answer);
    must(net_carry(n, from, to, message, answer) == FRE_OK);
    return answer->n > 0;
}

static void step(net *n, fre_server *x)
{
    fre_status st;

    n->stepping = x;
    st = fre_server_step(x, &n->links.host, NULL, n->now + n->ahead[fre_server_role(x)]);
    n->stepping = NULL;
    fre_server_free(n->fallen);
    n->fallen = NULL;
    must(st == FRE_OK || st == FRE_E_AGAIN);
}

/* Two contacts: a client without the list asks for it. */
static void fetch_list(net *n, fre_server *client)
{
    const fre_bytes list = fre_server_list_view(n->links.server[FRE_ROLE_RELAY]);
    fre_status st = FRE_OK;
    fre_buf answer;

    if (list.n == 0 || fre_server_phase(client) != FRE_PHASE_TAKING ||
        fre_rng_below(&n->rng, 256) < n->lose)
        return;
    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    st = fre_server_take(client, &n->links.host, &answer, list, n->now + n->ahead[0]);
    must(st == FRE_OK || st == FRE_E_AGAIN);
    fre_buf_wipe(&answer);
}

static void step_client(net *n, uint32_t i)
{
    n->sender = i;
    step(n, n->user[i].client);
    fetch_list(n, n->user[i].client);
    n->sender = UINT32_MAX;
}

void net_step(net *n)
{
    for (uint32_t i = 0; i < n->users; i++)
        if (n->user[i].client)
            step_client(n, i);
    for (unsigned role = 1; role < NET_ROLES; role++)
        step(n, n->links.server[role]);
}

void net_run(net *n)
{
    const fre_collection *c = &n->s.w.c;

    for (; n->now < c->end - 1; n->now += n->now < c->tags_close     ? n->stride
                                          : n->now < c->shares_close ? 8
                                                                     : 1) {
        net_step(n);
        if (fre_server_phase(n->links.server[FRE_ROLE_RELAY]) >= FRE_PHASE_DONE)
            return;
    }
}

/* ---- the release ----------------------------------------------------------------------------------------------- */

int net_release(const net *n, fre_role role, uint32_t *count, float *centroid, uint32_t max)
{
    const fre_server *x = n->links.server[role];
    uint32_t cells = 0;

    if (fre_server_release_parts(x) == 0)
        return -1;
    for (uint32_t p = 0; p < fre_server_release_parts(x); p++) {
        fre_release_part m;
        fre_release_cell cell;

        must(fre_release_part_decode(&m, &n->s.w, fre_server_release_view(x, p), NULL) == FRE_OK);
        for (uint32_t i = 0; i < m.n; i++) {
            must(cells < max);
            fre_release_part_at(&cell, centroid + (size_t)cells * NET_DIM, &m, i);
            count[cells++] = cell.count;
        }
    }
    return (int)cells;
}
