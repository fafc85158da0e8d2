/* A client whose relay answers what it likes: bytes of the script, the real answer, or that one changed,
 * cut or said to another letter; and says to it what it likes, with two contacts lists too.  It never makes a
 * second coin, place, entry or answer, and ends when its time is over. */
#include "client.h"
#include "server_net.h"

#define STEPS 24u
#define USERS 4u /* with two contacts: it, and three that make a list */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

typedef struct script {
    fre_bytes left;
    net n;
    fre_buf entry, answer; /* as first sent */
} script;

static uint8_t next(script *s)
{
    const uint8_t b = s->left.n > 0 ? s->left.p[0] : 0;

    if (s->left.n > 0)
        s->left = server_view(s->left.p + 1, s->left.n - 1);
    return b;
}

static void change(script *s, fre_buf *answer)
{
    const uint8_t how = next(s);
    const size_t some = next(s);

    if (how % 4 == 1 && answer->n > 0)
        answer->p[some * 37 % answer->n] ^= (uint8_t)(1u << how / 4 % 8);
    if (how % 4 == 2)
        answer->n = answer->n * some / 255;
    if (how % 4 == 3) {
        const size_t k = some < s->left.n ? some : s->left.n;

        answer->n = 0;
        if (k > 0)
            must(fre_buf_append(answer, s->left.p, k) == FRE_OK);
        s->left = server_view(s->left.p ? s->left.p + k : NULL, s->left.n - k);
    }
}

/* What is sent once is sent byte for byte ever after. */
static void look(script *s, fre_bytes message)
{
    const fre_server *relay = s->n.links.server[FRE_ROLE_RELAY];
    fre_buf *first;
    fre_carry m;

    if (fre_carry_decode(&m, relay->list ? &relay->list->w : &s->n.s.w, message, NULL) != FRE_OK)
        must(false);
    if (m.what != FRE_WIRE_ENTRY && m.what != FRE_WIRE_ANSWER)
        return;
    first = m.what == FRE_WIRE_ENTRY ? &s->entry : &s->answer;
    if (first->n == 0)
        must(fre_buf_append(first, message.p, message.n) == FRE_OK);
    must(first->n == message.n && memcmp(first->p, message.p, message.n) == 0);
}

static void post(script *s, fre_server *x, const fre_letters *l)
{
    fre_buf answer;

    fre_buf_init(&answer, FRE_WIRE_MESSAGE_MAX);
    for (size_t i = 0; i < l->n; i++) {
        const fre_letter *letter = &l->letter[i];

        look(s, sample_view(&letter->message));
        (void)net_send(&s->n, (fre_role)0, letter->to, sample_view(&letter->message), &answer);
        change(s, &answer);
        must(fre_server_answered(x, NULL, letter->cookie ^ (next(s) == 255), sample_view(&answer),
                                 s->n.now) == FRE_OK);
    }
    fre_buf_wipe(&answer);
}

/* What a relay may publish, or anything. */
static void say(script *s, fre_server *x)
{
    uint8_t bytes[FRE_WIRE_HEAD_BYTES + 64] = {FRE_WIRE_VERSION, next(s)};
    const size_t k = next(s) % 64;
    fre_reply r;

    memcpy(bytes + 2, s->n.s.w.id.b, sizeof s->n.s.w.id.b);
    for (size_t i = 0; i < k; i++)
        bytes[FRE_WIRE_HEAD_BYTES + i] = next(s);
    fre_reply_init(&r);
    must(fre_server_handle(x, &r, server_view(bytes, FRE_WIRE_HEAD_BYTES + k), s->n.now) == FRE_OK);
    must(r.message.n > 0);
    fre_reply_wipe(&r);
}

/* Everybody else's step; then the list, as it is or changed, to the client. */
static void others(script *s, fre_server *x)
{
    fre_server *relay;
    fre_bytes list;
    fre_buf copy;
    fre_reply r;

    s->n.user[0].client = NULL;
    net_step(&s->n);
    s->n.user[0].client = x;
    relay = s->n.links.server[FRE_ROLE_RELAY];
    list = fre_server_list_view(relay);
    if (list.n == 0 || next(s) % 4 == 0)
        return;
    fre_buf_init(&copy, FRE_WIRE_MESSAGE_MAX);
    fre_reply_init(&r);
    must(fre_buf_append(&copy, list.p, list.n) == FRE_OK);
    if (next(s) % 4 == 0)
        change(s, &copy);
    must(fre_server_handle(x, &r, sample_view(&copy), s->n.now) == FRE_OK && r.message.n > 0);
    fre_reply_wipe(&r);
    fre_buf_wipe(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static script s;
    fre_letters l;
    fre_server *x;
    fre_collection c;
    uint8_t first;

    memset(&s, 0, sizeof s);
    s.left = server_view(data, n);
    fre_buf_init(&s.entry, FRE_WIRE_MESSAGE_MAX);
    fre_buf_init(&s.answer, FRE_WIRE_MESSAGE_MAX);
    first = next(&s);
    c = first % 4 == 3 ? net_terms_two(&s.n.s) : net_terms(&s.n.s);
    net_begin(&s.n, &c, c.one_contact ? 1 : USERS, first);
    for (uint32_t i = 0; i < s.n.users; i++)
        net_text(&s.n, i, 0);
    net_clients(&s.n);
    x = s.n.user[0].client;
    for (uint32_t i = 0; i < STEPS && s.left.n > 0; i++) {
        s.n.now += (int64_t)next(&s) + 1;
        fre_letters_init(&l);
        must(fre_server_tick(x, &l, NULL, s.n.now) == FRE_OK);
        post(&s, x, &l);
        fre_letters_wipe(&l);
        if (next(&s) % 8 == 0)
            say(&s, x);
        if (!c.one_contact)
            others(&s, x);
    }
    s.n.now = s.n.now > c.shares_close ? s.n.now : c.shares_close;
    fre_letters_init(&l);
    must(fre_server_tick(x, &l, NULL, s.n.now) == FRE_OK);
    must(l.n == 0 && fre_server_phase(x) >= FRE_PHASE_CLOSED);
    must(((client *)x)->place == NULL && ((client *)x)->x == NULL); /* secrets are gone */
    fre_letters_wipe(&l);
    fre_buf_wipe(&s.entry);
    fre_buf_wipe(&s.answer);
    net_end(&s.n);
    return 0;
}
