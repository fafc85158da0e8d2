/* Machines restored from rows that are none of theirs: rows of a real store with bytes changed, cut, left
 * out or said twice, and rows of nobody.  A machine is restored, or it isn't; one that is answers whatever
 * comes. */
#include "server_net.h"

#include <stdlib.h>

#define USERS 3u
#define ROWS_MAX 24u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define STOPPED 7u
static net stopped[STOPPED]; /* collections, left in three phases with one contact and in four with two */

/* Machines lie where the leak detector does not look for what they hold. */
static void end(void)
{
    for (size_t i = 0; i < STOPPED; i++)
        net_end(&stopped[i]);
}

static void start(void)
{
    static const int64_t until[STOPPED] = {1500, 2002, 2020, 1500, 2020, 2300, 2610};

    for (size_t i = 0; i < STOPPED; i++) {
        fre_collection c = i < 3 ? net_terms(&stopped[i].s) : net_terms_two(&stopped[i].s);

        net_begin(&stopped[i], &c, USERS, i);
        for (uint32_t k = 0; k < USERS; k++)
            net_text(&stopped[i], k, 0);
        net_clients(&stopped[i]);
        for (; stopped[i].now < until[i];
             stopped[i].now += stopped[i].now < 2000 || (i > 4 && stopped[i].now < 2600) ? 50 : 1)
            net_step(&stopped[i]);
    }
    must(atexit(end) == 0);
}

static uint8_t next(fre_bytes *in)
{
    const uint8_t b = in->n > 0 ? in->p[0] : 0;

    if (in->n > 0)
        *in = server_view(in->p + 1, in->n - 1);
    return b;
}

/* A row of the store, changed as the script says. */
static fre_status restore_one(fre_server *x, const net_store *s, size_t i, fre_bytes *in)
{
    const uint8_t how = next(in);
    const net_row *from = &s->row[i];
    fre_row row = {.table = from->key.p[0], .key = {from->key.p + 1, from->key.n - 1}};
    fre_buf value;
    fre_status st;

    if (how % 4 == 1)
        return FRE_OK; /* left out */
    fre_buf_init(&value, FRE_WIRE_MESSAGE_MAX);
    must(fre_buf_append(&value, from->value.p, from->value.n) == FRE_OK);
    if (how % 4 == 2 && value.n > 0)
        value.p[(size_t)next(in) * 37 % value.n] ^= (uint8_t)(1u << how / 4 % 8);
    if (how % 4 == 3)
        value.n = value.n * next(in) / 255;
    row.value = server_buf_view(&value);
    if (how / 128)
        row.table = next(in);
    st = fre_server_restore(x, &row, NULL);
    fre_buf_wipe(&value);
    return st;
}

/* Rows that fit together only by chance may stop a machine, with a status. */
static void any(fre_status st)
{
    (void)st;
}

static void use(net *n, fre_server *x, fre_bytes in)
{
    fre_letters letters;
    fre_reply reply;
    uint8_t message[FRE_WIRE_HEAD_BYTES + 64] = {FRE_WIRE_VERSION, next(&in)};
    const size_t more = in.n < 64 ? in.n : 64;

    memcpy(message + 2, n->s.w.id.b, sizeof n->s.w.id.b);
    if (more > 0)
        memcpy(message + FRE_WIRE_HEAD_BYTES, in.p, more);
    fre_letters_init(&letters);
    fre_reply_init(&reply);
    any(fre_server_tick(x, &letters, &reply.rows, n->now));
    for (size_t i = 0; i < letters.n; i++)
        any(fre_server_answered(x, NULL, letters.letter[i].cookie, in, n->now));
    must(fre_server_handle(x, &reply, server_view(message, sizeof message), n->now + 1) == FRE_OK &&
         reply.message.n > 0);
    fre_letters_wipe(&letters);
    fre_reply_wipe(&reply);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    fre_bytes in = server_view(data, n);
    net *of;
    unsigned role;
    const net_store *s;
    fre_server *x;
    fre_status st = FRE_OK;

    if (!stopped[0].a)
        start();
    of = &stopped[next(&in) % STOPPED];
    role = next(&in) % NET_ROLES;
    s = role == 0 ? &of->user[0].store : &of->store[role];
    x = role == 0 ? net_make_client(of, 0, false) : net_make(of, (fre_role)role);
    for (size_t i = 0; st == FRE_OK && i < s->n && i < ROWS_MAX; i++)
        st = restore_one(x, s, i, &in);
    if (st == FRE_OK)
        st = fre_server_restore(x, NULL, NULL);
    must(st == FRE_OK || st == FRE_E_DATA || st == FRE_E_LIMIT || st == FRE_E_KEY ||
         st == FRE_E_REFUSED || st == FRE_E_ARG);
    if (st == FRE_OK)
        use(of, x, in);
    fre_server_free(x);
    return 0;
}
