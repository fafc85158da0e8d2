/* parties_net.c - four roles and the wires between them. */
#include "parties_net.h"

/* ---- beginning and end ------------------------------------------------------------------------- */

static fre_status net_keep(void *ctx, fre_bytes state)
{
    net_user *u = ctx;

    fre_buf_wipe(&u->disk);
    return fre_buf_append(&u->disk, state.p, state.n);
}

static fre_status net_spend(void *ctx, const fre_collection_id *id, double epsilon, double delta)
{
    net_user *u = ctx;

    (void)id;
    (void)epsilon;
    (void)delta;
    u->spends++;
    return FRE_OK;
}

void net_join(net *n, uint32_t i, const float *x, uint32_t texts)
{
    net_user *u = &n->user[i];

    u->n = n;
    u->texts = texts;
    if (texts > 0)
        memcpy(u->x, x, texts * SMALL_DIM * sizeof *x);
    u->host = (fre_client_host){.ctx = u, .keep = net_keep, .spend = net_spend, .noise = &n->noise};
    fre_buf_init(&u->disk, SAMPLE_MAX);
    for (unsigned k = 0; k < 3 * NET_SLOTS; k++)
        fre_buf_init(&u->first[k / NET_SLOTS][k % NET_SLOTS], SAMPLE_MAX);
    must(fre_client_new(&u->client, n->terms, u->x, texts, &u->host, &n->rng, NULL) == FRE_OK);
    must(fre_client_save(u->client, &u->disk) == FRE_OK);
    for (uint32_t p = 0; p < n->s.w.c.cells_per_user; p++) {
        u->real[p] = u->client->slot[p].real;
        if (p < texts)
            u->tag[p] = small_tag(&n->s, u->x + p * SMALL_DIM);
    }
}

void net_open(net *n, const sample *keys, const fre_collection *c, uint32_t users,
              uint64_t batch_min, uint64_t seed)
{
    const fre_relay_opts opts = {.batch_min = batch_min, .part_max = 32};
    static const char statement[] = "nothing in particular";
    fre_oprf_key oprf = keys->oprf;

    memset(n, 0, sizeof *n);
    n->s = *keys;
    small_rng(&n->rng, seed);
    n->noise = (fre_share_noise){.draw = small_no_noise};
    n->terms = small_unchecked_terms(c);
    n->s.w = *fre_terms_view(n->terms);
    n->tag_keys = (fre_tagging_keys){.seal = n->s.tag, .sign = n->s.tag_sk};
    n->syn_keys = (fre_synthesis_keys){.seal = n->s.syn, .sign = n->s.syn_sk};
    must(fre_tagging_new(&n->tag, c, &n->tag_keys, &oprf, &n->rng, NULL) == FRE_OK);
    must(fre_synthesis_new(&n->syn, c, &n->syn_keys,
                           (fre_bytes){(const uint8_t *)statement, sizeof statement - 1}, &n->rng,
                           NULL) == FRE_OK);
    must(fre_relay_new(&n->relay, c, &opts, &n->s.relay_sk, &n->rng, NULL) == FRE_OK);
    n->user = calloc(users, sizeof *n->user);
    must(n->user != NULL);
    n->users = users;
}

void net_close(net *n)
{
    for (uint32_t i = 0; i < n->users; i++) {
        fre_client_free(n->user[i].client);
        fre_buf_wipe(&n->user[i].disk);
        for (unsigned k = 0; k < 3 * NET_SLOTS; k++)
            fre_buf_wipe(&n->user[i].first[k / NET_SLOTS][k % NET_SLOTS]);
    }
    free(n->user);
    fre_tagging_free(n->tag);
    fre_synthesis_free(n->syn);
    fre_relay_free(n->relay);
    fre_terms_free(n->terms);
    fre_rng_wipe(&n->rng);
}

/* ---- crashes ----------------------------------------------------------------------------------- */

bool net_happens(net *n, unsigned of256)
{
    return of256 > 0 && fre_rng_below(&n->rng, 256) < of256;
}

void net_crash(net *n, fre_role who, bool keep_key)
{
    const fre_collection *c = &n->s.w.c;
    fre_oprf_key oprf = n->s.oprf;
    fre_buf state;

    fre_buf_init(&state, 64u * SAMPLE_MAX);
    if (who == FRE_ROLE_TAG) {
        must(fre_tagging_save(n->tag, &state) == FRE_OK);
        fre_tagging_free(n->tag);
        must(fre_tagging_load(&n->tag, c, &n->tag_keys, keep_key ? &oprf : NULL,
                              sample_view(&state), NULL) == FRE_OK);
    } else if (who == FRE_ROLE_SYN) {
        must(fre_synthesis_save(n->syn, &state) == FRE_OK);
        fre_synthesis_free(n->syn);
        must(fre_synthesis_load(&n->syn, c, &n->syn_keys, sample_view(&state), NULL) == FRE_OK);
    } else {
        must(fre_relay_save(n->relay, &state) == FRE_OK);
        fre_relay_free(n->relay);
        must(fre_relay_load(&n->relay, c, &n->s.relay_sk, sample_view(&state), NULL) == FRE_OK);
    }
    fre_buf_wipe(&state);
}

void net_crash_user(net *n, uint32_t i)
{
    net_user *u = &n->user[i];
    fre_outbox unsent;

    fre_outbox_init(&unsent);
    if (n->faults.in_time)
        must(fre_client_tick(u->client, &unsent, n->now) == FRE_OK);
    fre_outbox_wipe(&unsent);
    fre_client_free(u->client);
    must(fre_client_load(&u->client, n->terms, u->x, u->texts, &u->host, sample_view(&u->disk),
                         NULL) == FRE_OK);
}

/* ---- messages ---------------------------------------------------------------------------------- */

static void net_see(net *n, fre_role who, fre_bytes what)
{
    if (who == FRE_ROLE_SYN && fre_tagging_has_key(n->tag))
        n->syn_before_closed += what.n;
    if (n->saw)
        n->saw(n, who, what);
}

void net_handle(net *n, fre_role to, fre_bytes in, fre_buf *reply)
{
    fre_rejection why;

    net_see(n, to, in);
    if (to == FRE_ROLE_TAG)
        must(fre_tagging_handle(n->tag, reply, &why, in, n->now) == FRE_OK);
    else if (to == FRE_ROLE_SYN)
        must(fre_synthesis_handle(n->syn, reply, &why, in, n->now) == FRE_OK);
    else
        must(fre_relay_handle(n->relay, reply, &why, in, n->now) == FRE_OK);
}

static void net_answered(net *n, fre_role from, uint64_t cookie, fre_bytes reply)
{
    if (from == FRE_ROLE_TAG)
        must(fre_tagging_answered(n->tag, cookie, reply, n->now) == FRE_OK);
    else if (from == FRE_ROLE_SYN)
        must(fre_synthesis_answered(n->syn, cookie, reply, n->now) == FRE_OK);
    else
        must(fre_relay_answered(n->relay, cookie, reply, n->now) == FRE_OK);
}

size_t net_pump(net *n, fre_role who)
{
    fre_outbox out;
    size_t sent;
    fre_buf reply;

    fre_outbox_init(&out);
    fre_buf_init(&reply, FRE_WIRE_MESSAGE_MAX);
    if (net_happens(n, n->faults.crash))
        net_crash(n, who, true);
    if (who == FRE_ROLE_TAG)
        must(fre_tagging_tick(n->tag, &out, n->now) == FRE_OK);
    else if (who == FRE_ROLE_SYN)
        must(fre_synthesis_tick(n->syn, &out, n->now) == FRE_OK);
    else
        must(fre_relay_tick(n->relay, &out, n->now) == FRE_OK);
    for (size_t i = 0; i < out.n; i++) {
        const fre_bytes m = sample_view(&out.item[i].message);

        if (net_happens(n, n->faults.lose))
            continue;
        fre_buf_wipe(&reply);
        net_handle(n, out.item[i].to, m, &reply);
        if (net_happens(n, n->faults.twice)) {
            fre_buf_wipe(&reply);
            net_handle(n, out.item[i].to, m, &reply);
        }
        if (net_happens(n, n->faults.crash))
            net_crash(n, out.item[i].to, true);
        if (!net_happens(n, n->faults.lose_answer))
            net_answered(n, who, out.item[i].cookie, sample_view(&reply));
    }
    sent = out.n;
    fre_outbox_wipe(&out);
    fre_buf_wipe(&reply);
    return sent;
}

fre_bytes net_name(const uint32_t *i)
{
    return (fre_bytes){(const uint8_t *)i, sizeof *i};
}

void net_user_sends(net *n, uint32_t i, uint64_t cookie, fre_bytes m, fre_buf *reply)
{
    net_user *u = &n->user[i];
    const uint32_t place = (uint32_t)PARTIES_COOKIE_INDEX(cookie);
    fre_rejection why = FRE_NOT_REJECTED;

    net_see(n, FRE_ROLE_RELAY, m);
    if (fre_client_is_exchange(cookie)) {
        u->asked = m.n;
        must(fre_relay_exchange(n->relay, reply, &why, net_name(&i), m, n->now) == FRE_OK);
        if (why == FRE_NOT_REJECTED) {
            net_see(n, FRE_ROLE_TAG, m);
            must(fre_tagging_exchange(n->tag, reply, &why, m, n->now) == FRE_OK);
        }
        return;
    }
    must(fre_relay_submit(n->relay, reply, &why, net_name(&i), m, n->now) == FRE_OK);
    if (why != FRE_NOT_REJECTED)
        return;
    if (m.p[1] == FRE_WIRE_REPORT) {
        u->reported[place] = true;
        u->report_bytes = m.n;
        if (n->s.w.c.one_contact)
            u->answered[place] = u->real[place];
    } else {
        u->share_bytes = m.n;
        u->shared[place] = true;
    }
}

/* Does the share that this client has ready for a place say something?  Only it knows. */
static bool net_says(const net *n, const net_user *u, uint32_t place)
{
    fre_bytes raw = fre_relay_list_view(n->relay);
    fre_list list;

    return u->real[place] && u->client->slot[place].counted &&
           fre_list_decode(&list, &n->s.w, raw, NULL) == FRE_OK &&
           fre_list_scan(&list, &u->tag[place]) > 0;
}

/* A client repeats itself to the byte, whatever happened in between. */
static void net_note(net *n, net_user *u, uint64_t cookie, fre_bytes m)
{
    const unsigned kind = fre_client_is_exchange(cookie) ? 0 : m.p[1] == FRE_WIRE_REPORT ? 1 : 2;
    fre_buf *first = &u->first[kind][PARTIES_COOKIE_INDEX(cookie)];

    if (first->n == 0)
        must(fre_buf_append(first, m.p, m.n) == FRE_OK);
    else if (first->n != m.n || memcmp(first->p, m.p, m.n) != 0)
        n->broken = "a client sent two different messages in one place";
}

void net_step(net *n, uint32_t i)
{
    net_user *u = &n->user[i];
    fre_outbox out;
    fre_buf reply;

    if (u->gone)
        return;
    fre_outbox_init(&out);
    fre_buf_init(&reply, SAMPLE_MAX);
    if (net_happens(n, n->faults.crash))
        net_crash_user(n, i);
    if (fre_relay_cancel_view(n->relay).n > 0)
        must(fre_client_read(u->client, fre_relay_cancel_view(n->relay), n->now, NULL) == FRE_OK);
    else if (fre_relay_list_view(n->relay).n > 0 &&
             fre_client_stage(u->client) == FRE_STAGE_COUNTING)
        (void)!fre_client_read(u->client, fre_relay_list_view(n->relay), n->now, NULL);
    must(fre_client_tick(u->client, &out, n->now) == FRE_OK);
    for (size_t j = 0; j < out.n; j++) {
        const fre_bytes m = sample_view(&out.item[j].message);
        const uint64_t cookie = out.item[j].cookie;
        const uint32_t place = (uint32_t)PARTIES_COOKIE_INDEX(cookie);
        const bool says = fre_client_stage(u->client) == FRE_STAGE_SHARES && net_says(n, u, place);

        net_note(n, u, cookie, m);
        if (net_happens(n, n->faults.lose))
            continue;
        fre_buf_wipe(&reply);
        net_user_sends(n, i, cookie, m, &reply);
        if (net_happens(n, n->faults.twice)) {
            fre_buf_wipe(&reply);
            net_user_sends(n, i, cookie, m, &reply);
        }
        u->answered[place] |= says && u->shared[place];
        if (!net_happens(n, n->faults.lose_answer))
            must(fre_client_answered(u->client, cookie, sample_view(&reply), n->now) == FRE_OK);
        if (net_happens(n, n->faults.crash))
            net_crash_user(n, i);
    }
    fre_outbox_wipe(&out);
    fre_buf_wipe(&reply);
}

size_t net_pump_all(net *n, unsigned rounds)
{
    size_t sent = 0;

    for (unsigned i = 0; i < rounds; i++)
        for (unsigned who = FRE_ROLE_TAG; who <= FRE_ROLE_RELAY; who++)
            sent += net_pump(n, (fre_role)who);
    return sent;
}

void net_step_all(net *n)
{
    for (uint32_t i = 0; i < n->users; i++)
        net_step(n, i);
}

/* ---- the truth --------------------------------------------------------------------------------- */

uint32_t net_truth(const net *n, net_cell *cell, uint32_t max)
{
    uint32_t cells = 0;

    for (uint32_t i = 0; i < n->users; i++)
        for (uint32_t p = 0; p < n->user[i].texts; p++) {
            const net_user *u = &n->user[i];
            uint32_t at = 0;

            if (!u->real[p] || !u->reported[p])
                continue;
            while (at < cells && !small_same_tag(&cell[at].tag, &u->tag[p]))
                at++;
            if (at == cells) {
                must(cells < max);
                cell[cells++] = (net_cell){.tag = u->tag[p]};
            }
            cell[at].count++;
            cell[at].answers += u->answered[p];
            for (uint32_t j = 0; j < SMALL_DIM && u->answered[p]; j++)
                cell[at].sum[j] += (double)u->x[p * SMALL_DIM + j];
        }
    return cells;
}

/* ---- exact results ----------------------------------------------------------------------------- */

/* The lattice's step in all cells of fewer than 100 answers. */
static double net_lattice(const fre_collection *c)
{
    fre_mechanism m;

    fre_collection_mechanism(&m, c);
    return fre_quantisation(fre_sigma_local(&m, c->tau), c->split, c->dim);
}

void net_text(const net *n, float *x, uint32_t cluster, uint32_t member)
{
    double y[SMALL_DIM] = {0};

    y[cluster % SMALL_DIM] = cluster < SMALL_DIM ? 6 : -6;
    y[(cluster + 1 + member % 3) % SMALL_DIM] += 1;
    for (uint32_t j = 0; j < SMALL_DIM; j++)
        y[j] *= net_lattice(&n->s.w.c);
    fre_rotation_undo(n->terms->rotation, y);
    for (uint32_t j = 0; j < SMALL_DIM; j++)
        x[j] = (float)y[j];
}

/* Integer sum of the answers' rotated embeddings, from their sum. */
static void net_integers(const net *n, int64_t *out, const double *sum)
{
    float x[SMALL_DIM];
    double y[SMALL_DIM];

    for (uint32_t j = 0; j < SMALL_DIM; j++)
        x[j] = (float)sum[j];
    fre_rotation_apply(n->terms->rotation, y, x);
    for (uint32_t j = 0; j < SMALL_DIM; j++) {
        out[j] = llrint(y[j] / net_lattice(&n->s.w.c));
        must(fabs(y[j] / net_lattice(&n->s.w.c) - (double)out[j]) < 1e-2);
    }
}

static int net_by_content(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(net_result));
}

/* What has to be released, in the order of its bytes. */
static uint32_t net_expected(const net *n, net_result out[NET_CELLS_MAX])
{
    static net_cell cell[NET_CELLS_MAX];
    uint32_t cells = net_truth(n, cell, NET_CELLS_MAX), k = 0;

    memset(out, 0, NET_CELLS_MAX * sizeof *out);
    for (uint32_t i = 0; i < cells; i++) {
        if (cell[i].count < n->s.w.c.tau ||
            cell[i].answers < fre_parties_answers_needed(&n->s.w.c, cell[i].count))
            continue;
        out[k].count = cell[i].count;
        out[k].answers = cell[i].answers;
        net_integers(n, out[k++].sum, cell[i].sum);
    }
    qsort(out, k, sizeof *out, net_by_content);
    return k;
}

/* What S_syn released, in the same order. */
static uint32_t net_released(const net *n, net_result out[NET_CELLS_MAX])
{
    uint32_t k = 0;

    memset(out, 0, NET_CELLS_MAX * sizeof *out);
    for (uint32_t part = 0; part < fre_synthesis_release_parts(n->syn); part++) {
        fre_release_part m;

        must(fre_release_part_decode(&m, &n->s.w, fre_synthesis_release_view(n->syn, part), NULL) ==
             FRE_OK);
        for (uint32_t i = 0; i < m.n; i++) {
            float x[SMALL_DIM];
            double sum[SMALL_DIM];
            fre_release_cell cell;

            must(k < NET_CELLS_MAX);
            fre_release_part_at(&cell, x, &m, i);
            for (uint32_t j = 0; j < SMALL_DIM; j++)
                sum[j] = (double)x[j] * cell.answers;
            out[k].count = cell.count;
            out[k].answers = cell.answers;
            net_integers(n, out[k++].sum, sum);
        }
    }
    qsort(out, k, sizeof *out, net_by_content);
    return k;
}

bool net_is_exact(const net *n, uint32_t *cells)
{
    static net_result want[NET_CELLS_MAX], got[NET_CELLS_MAX];

    *cells = net_expected(n, want);
    return net_released(n, got) == *cells && memcmp(got, want, *cells * sizeof *got) == 0;
}
