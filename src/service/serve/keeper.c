/* serve/keeper.c - the server's side of its keeper: a process that has the VOPRF keys; see fre_serve_keeper_start. */
#include "keeper.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define ANSWER_SECONDS 10
#define END_MS 1000

struct fre_serve_keeper {
    pid_t pid; /* 0: it is gone, and no key with it is anywhere */
    int socket;
    pthread_mutex_t lock;    /* around request and answer, which are locked memory */
    keeper_request *request; /* SECRET */
    keeper_answer *answer;   /* SECRET */
};

/* ---- its life ---------------------------------------------------------------------------------------- */

static bool has_ended(pid_t pid)
{
    return waitpid(pid, NULL, WNOHANG) != 0;
}

/* It ends when its socket does; one that does not is killed.  Its memory is gone when this returns. */
static void end(fre_serve_keeper *p, int64_t ms)
{
    const int64_t until = fre_clock_ms() + ms;

    if (p->pid == 0)
        return;
    (void)close(p->socket);
    p->socket = -1;
    while (!has_ended(p->pid)) {
        if (fre_clock_ms() >= until) {
            (void)kill(p->pid, SIGKILL);
            while (waitpid(p->pid, NULL, 0) < 0 && errno == EINTR)
                ;
            break;
        }
        (void)poll(NULL, 0, 2);
    }
    p->pid = 0;
}

static ssize_t receive(int socket, void *p, size_t n)
{
    ssize_t got;

    do
        got = recv(socket, p, n, 0);
    while (got < 0 && errno == EINTR);
    return got;
}

static fre_status greet(const fre_serve_keeper *p, fre_err *err)
{
    fre_status st = FRE_E_IO;

    if (receive(p->socket, &st, sizeof st) == (ssize_t)sizeof st && st == FRE_OK)
        return FRE_OK;
    if (st == FRE_E_NOMEM)
        return fre_fail(err, st, "out of memory");
    if (st == FRE_E_REFUSED)
        return fre_fail(err, st,
                        "memory of the process that keeps keys may be written to swap space: turn "
                        "swap off, or allow it to lock all of its memory (LimitMEMLOCK=infinity)");
    return fre_fail(err, FRE_E_IO, "the process that keeps keys did not start");
}

static fre_status fork_it(fre_serve_keeper *p, fre_err *err)
{
    const struct timeval wait = {.tv_sec = ANSWER_SECONDS};
    const pid_t parent = getpid();
    int pair[2];

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return fre_fail(err, FRE_E_IO, "no socket for the process that keeps keys");
    (void)fflush(NULL);
    p->pid = fork();
    if (p->pid == 0)
        keeper_run(pair[1], p->request, p->answer, parent);
    (void)close(pair[1]);
    p->socket = pair[0];
    if (p->pid < 0) {
        p->pid = 0;
        (void)close(pair[0]);
        return fre_fail(err, FRE_E_IO,
                        "the process that keeps keys cannot be started: allow one process more "
                        "(TasksMax, RLIMIT_NPROC), and memory");
    }
    (void)setsockopt(p->socket, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    return greet(p, err);
}

static fre_serve_keeper *make(void)
{
    fre_serve_keeper *p = sodium_init() < 0 ? NULL : calloc(1, sizeof *p);

    if (!p)
        return NULL;
    p->request = sodium_malloc(sizeof *p->request);
    p->answer = sodium_malloc(sizeof *p->answer);
    if (!p->request || !p->answer || pthread_mutex_init(&p->lock, NULL) != 0) {
        sodium_free(p->request);
        sodium_free(p->answer);
        free(p);
        return NULL;
    }
    return p;
}

fre_status fre_serve_keeper_start(fre_serve_keeper **out, fre_err *err)
{
    fre_serve_keeper *p = out ? make() : NULL;
    fre_status st;

    if (!p)
        return out ? fre_fail(err, FRE_E_NOMEM, "out of memory") : FRE_E_ARG;
    st = fork_it(p, err);
    if (st == FRE_OK)
        *out = p;
    else
        fre_serve_keeper_stop(p);
    return st;
}

void fre_serve_keeper_stop(fre_serve_keeper *p)
{
    if (!p)
        return;
    end(p, END_MS);
    sodium_free(p->request);
    sodium_free(p->answer);
    (void)pthread_mutex_destroy(&p->lock);
    free(p);
}

bool serve_keeper_lives(fre_serve_keeper *p)
{
    struct pollfd f;
    bool lives;

    (void)pthread_mutex_lock(&p->lock);
    f = (struct pollfd){.fd = p->socket, .events = POLLRDHUP};
    lives = p->pid != 0 && poll(&f, 1, 0) == 0;
    (void)pthread_mutex_unlock(&p->lock);
    return lives;
}

bool serve_keeper_watch(fre_serve *s)
{
    if (!s->keeper || serve_keeper_lives(s->keeper))
        return true;
    serve_end(s, FRE_E_IO, "the process that keeps keys is gone");
    return false;
}

/* ---- calls --------------------------------------------------------------------------------------------- */

static bool exchange(const fre_serve_keeper *p, size_t n, size_t want)
{
    return p->pid != 0 && send(p->socket, p->request, n, MSG_NOSIGNAL) == (ssize_t)n &&
           receive(p->socket, p->answer, sizeof *p->answer) == (ssize_t)(KEEPER_ANSWER_HEAD + want);
}

/* Under the lock.  n: bytes of the request behind its head; want: of the answer.  Who does not answer is killed: a key
 * that nobody can use or wipe is nowhere then. */
static fre_status call(fre_serve_keeper *p, keeper_verb verb, size_t n, size_t want)
{
    p->request->verb = verb;
    if (exchange(p, KEEPER_HEAD + n, want))
        return p->answer->st;
    end(p, 0);
    return FRE_E_IO;
}

/* What was asked and answered does not stay. */
static void release(fre_serve_keeper *p, size_t n, size_t got)
{
    fre_wipe(p->request, KEEPER_HEAD + n);
    fre_wipe(p->answer, KEEPER_ANSWER_HEAD + got);
    (void)pthread_mutex_unlock(&p->lock);
}

/* ---- one key ---------------------------------------------------------------------------------------------- */

struct serve_kept {
    fre_keeper k;
    fre_serve_keeper *p;
    uint32_t at;
    atomic_bool here; /* it came, and the machine did not wipe it */
};

static keeper_request *begin(const serve_kept *k)
{
    (void)pthread_mutex_lock(&k->p->lock);
    k->p->request->at = k->at;
    return k->p->request;
}

static bool is_here(void *ctx)
{
    return atomic_load(&((serve_kept *)ctx)->here);
}

static fre_status evaluate(void *ctx, fre_oprf_element *evaluated, fre_oprf_proof *proof,
                           const fre_oprf_element *blinded, uint32_t n)
{
    const serve_kept *k = ctx;
    const size_t bytes = n * sizeof *blinded;
    fre_serve_keeper *p = k->p;
    fre_status st;

    if (n > FRE_COLLECTION_CELLS_MAX)
        return FRE_E_ARG;
    begin(k)->n = n;
    memcpy(p->request->u.blinded, blinded, bytes);
    st = call(p, KEEPER_EVALUATE, bytes, sizeof p->answer->u.evaluate);
    if (st == FRE_OK) {
        memcpy(evaluated, p->answer->u.evaluate.evaluated, bytes);
        *proof = p->answer->u.evaluate.proof;
    }
    release(p, bytes, sizeof p->answer->u.evaluate);
    return st;
}

static fre_status vouch_some(const serve_kept *k, bool *right, const fre_tag *tag,
                             const fre_vouch_member *member, uint32_t n)
{
    const size_t bytes = sizeof *tag + n * sizeof *member;
    fre_serve_keeper *p = k->p;
    fre_status st;

    begin(k)->n = n;
    p->request->u.vouch.tag = *tag;
    memcpy(p->request->u.vouch.member, member, n * sizeof *member);
    st = call(p, KEEPER_VOUCH, bytes, sizeof p->answer->u.right);
    if (st == FRE_OK)
        memcpy(right, p->answer->u.right, n * sizeof *right);
    release(p, bytes, sizeof p->answer->u.right);
    return st;
}

static fre_status vouch(void *ctx, bool *right, const fre_tag *tag, const fre_vouch_member *member,
                        uint32_t n)
{
    fre_status st = FRE_OK;

    for (uint32_t i = 0; st == FRE_OK && i < n; i += KEEPER_MEMBERS_MAX) {
        const uint32_t some = n - i < KEEPER_MEMBERS_MAX ? n - i : KEEPER_MEMBERS_MAX;

        st = vouch_some(ctx, right + i, tag, member + i, some);
    }
    return st;
}

static fre_status mask(void *ctx, uint8_t io[FRE_OPRF_SCALAR_BYTES])
{
    const serve_kept *k = ctx;
    fre_serve_keeper *p = k->p;
    fre_status st;

    memcpy(begin(k)->u.mask.mask, io, FRE_OPRF_SCALAR_BYTES);
    st = call(p, KEEPER_MASK, sizeof p->request->u.mask, sizeof p->answer->u.masked);
    if (st == FRE_OK)
        memcpy(io, p->answer->u.masked, FRE_OPRF_SCALAR_BYTES);
    release(p, sizeof p->request->u.mask, sizeof p->answer->u.masked);
    return st;
}

static fre_status unmask(void *ctx, const uint8_t masked[FRE_OPRF_SCALAR_BYTES],
                         const uint8_t mask_bytes[FRE_OPRF_SCALAR_BYTES])
{
    serve_kept *k = ctx;
    keeper_request *q = begin(k);
    fre_status st;

    memcpy(q->u.mask.masked, masked, FRE_OPRF_SCALAR_BYTES);
    memcpy(q->u.mask.mask, mask_bytes, FRE_OPRF_SCALAR_BYTES);
    st = call(k->p, KEEPER_UNMASK, sizeof q->u.mask, 0);
    release(k->p, sizeof q->u.mask, 0);
    if (st == FRE_OK)
        atomic_store(&k->here, true);
    return st;
}

/* The next look finds a keeper that had to be killed for it. */
static void wipe(void *ctx)
{
    serve_kept *k = ctx;

    atomic_store(&k->here, false);
    (void)begin(k);
    if (call(k->p, KEEPER_WIPE, 0, 0) != FRE_OK)
        end(k->p, 0);
    release(k->p, 0, 0);
}

/* ---- opening ------------------------------------------------------------------------------------------------ */

static bool put_path(char out[PATH_MAX], const char *path)
{
    return path && snprintf(out, PATH_MAX, "%s", path) < PATH_MAX;
}

static fre_status put_open(keeper_open *o, const serve_site *x, int64_t now, fre_err *err)
{
    fre_buf terms;
    fre_status st;

    memset(o, 0, sizeof *o);
    o->role = x->s->config->role;
    o->now = now;
    fre_buf_init(&terms, KEEPER_TERMS_MAX);
    st = fre_collection_encode(&terms, &x->terms.c, err);
    o->terms_bytes = (uint32_t)terms.n;
    if (st == FRE_OK)
        memcpy(o->terms, terms.p, terms.n);
    fre_buf_wipe(&terms);
    if (st == FRE_OK && (!put_path(o->once, fre_keys_once_path(x->keys)) ||
                         !put_path(o->wrap, fre_keys_wrap_path(x->keys))))
        st = fre_fail(err, FRE_E_USAGE, "a path of the folder of keys is too long");
    return st;
}

static fre_status open_kept(serve_kept *k, const serve_site *x, int64_t now, fre_err *err)
{
    fre_serve_keeper *p = k->p;
    const keeper_answer *a = p->answer;
    fre_status st;

    (void)pthread_mutex_lock(&p->lock);
    st = put_open(&p->request->u.open, x, now, err);
    if (st == FRE_OK) {
        st = call(p, KEEPER_OPEN, sizeof(keeper_open), sizeof a->u.open);
        if (st == FRE_E_IO && p->pid == 0)
            (void)fre_fail(err, st, "the process that keeps keys is gone");
        else if (st != FRE_OK)
            (void)fre_fail(err, st, "%.300s: %s", x->terms.path,
                           a->u.open.err.text[0] ? a->u.open.err.text : fre_status_text(st));
    }
    if (st == FRE_OK) {
        k->at = a->at;
        atomic_store(&k->here, a->u.open.here);
        fre_keys_keep(x->keys, &k->k, a->u.open.once ? &a->u.open.seal : NULL);
    }
    release(p, sizeof(keeper_open), sizeof a->u.open);
    return st;
}

fre_status serve_keeper_open(serve_site *x, fre_err *err)
{
    serve_kept *k = calloc(1, sizeof *k);
    int64_t now;
    fre_status st;

    if (!k)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    k->p = x->s->keeper;
    k->k = (fre_keeper){.ctx = k,
                        .here = is_here,
                        .evaluate = evaluate,
                        .vouch = vouch,
                        .mask = mask,
                        .unmask = unmask,
                        .wipe = wipe};
    st = serve_clock_now(&x->s->clock, &now)
             ? open_kept(k, x, now, err)
             : fre_fail(err, FRE_E_REFUSED, "the time of day is not sure: no key is opened");
    if (st == FRE_OK)
        x->kept = k;
    else
        free(k);
    return st;
}

void serve_keeper_close(serve_kept *k)
{
    if (!k)
        return;
    (void)begin(k);
    (void)call(k->p, KEEPER_DROP, 0, 0);
    release(k->p, 0, 0);
    free(k);
}
