/* experiment/run.c - runs side by side, as many as memory allows; see fre/experiment.h. */
#include "experiment_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define REFUSED                                                                                    \
    64 /* the program's code for a budget that can't be met, and for flags that don't fit */
#define MESSAGE 400u

typedef enum stage { EMBED, MAKE, SCORE } stage;

/* A place for one run at a time. */
typedef struct slot {
    pid_t pid; /* 0: free */
    size_t run;
    stage stage;
    int64_t began;
    uint64_t peak_mib;
} slot;

typedef struct pool {
    experiment *x;
    fre_experiment_result *out;
    slot *slot;
    size_t n, busy;       /* slots */
    uint64_t largest_mib; /* that a run has taken so far; 0: none has ended */
    size_t next;
    fre_err *err;
} pool;

static char *log_path(const experiment *x, size_t run, const char *end)
{
    return experiment_path(x, "logs", x->run[run].id, end);
}

/* ---- folders ------------------------------------------------------------------------------------- */

static fre_status make_folder(char *path, fre_err *err)
{
    fre_status st = FRE_OK;

    if (!path)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        st = fre_open_failed(err, errno, FRE_E_EXISTS, FRE_CHECK_PATH, "cannot make %.300s", path);
    free(path);
    return st;
}

/* Runs of two at once would take each other's files.  The lock ends with this process; a file system without
 * locks has none. */
static fre_status lock_folder(experiment *x, fre_err *err)
{
    x->folder = open(x->opts->output, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (x->folder < 0)
        return fre_open_failed(err, errno, FRE_E_IO, FRE_CHECK_PATH, "cannot open %.300s",
                               x->opts->output);
    if (flock(x->folder, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
        return fre_fail(err, FRE_E_AGAIN,
                        "another experiment is at work in %.300s: wait for its end, or name "
                        "another folder",
                        x->opts->output);
    return FRE_OK;
}

/* The folder is this experiment's, or new. */
static fre_status open_folder(experiment *x, fre_err *err)
{
    static const char *const inside[] = {"rows", "releases", "embeddings", "logs"};
    char *rows = experiment_path(x, "", "rows", "");
    fre_status st = make_folder(strdup(x->opts->output), err);
    const bool is_ours = rows && access(rows, F_OK) == 0;

    free(rows);
    if (st == FRE_OK && !is_ours && rmdir(x->opts->output) != 0)
        return fre_fail(err, FRE_E_EXISTS,
                        "%.300s is there and no experiment's folder: name another one",
                        x->opts->output);
    if (st == FRE_OK && !is_ours)
        st = make_folder(strdup(x->opts->output), err);
    if (st == FRE_OK)
        st = lock_folder(x, err);
    for (size_t i = 0; st == FRE_OK && i < sizeof inside / sizeof *inside; i++)
        st = make_folder(experiment_path(x, "", inside[i], ""), err);
    return st;
}

/* ---- one run --------------------------------------------------------------------------------------- */

/* The last line of what it said, or what to say in its place. */
static void last_line(const experiment *x, size_t run, char out[MESSAGE])
{
    char *path = log_path(x, run, ".err"), line[MESSAGE];
    FILE *f = path ? fopen(path, "re") : NULL;

    (void)snprintf(out, MESSAGE, "it said nothing");
    while (f && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0])
            memcpy(out, line, sizeof line);
    }
    if (f)
        (void)fclose(f);
    free(path);
}

static json_t *said(const experiment *x, size_t run, const char *end)
{
    char *path = log_path(x, run, end);
    json_t *j = path ? json_load_file(path, 0, NULL) : NULL;

    free(path);
    return j;
}

static const char *const ends[] = {".embed", ".made", ".scores"};

static fre_status start(pool *p, slot *s, uint32_t threads)
{
    experiment_words w = {.n = 0};
    char *out = log_path(p->x, s->run, ends[s->stage]), *errors = log_path(p->x, s->run, ".err");
    fre_status st;

    if (s->stage == EMBED)
        experiment_embed(p->x, &w, s->run, threads);
    else if (s->stage == MAKE)
        experiment_make(p->x, &w, s->run, threads);
    else
        experiment_score(p->x, &w, s->run, threads);
    st = experiment_start(&s->pid, p->x->opts->program, &w, out, errors, p->err);
    experiment_words_wipe(&w);
    free(out);
    free(errors);
    return st;
}

static void forget_logs(const experiment *x, size_t run)
{
    static const char *const all[] = {".embed", ".made", ".scores", ".err"};

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *path = log_path(x, run, all[i]);

        if (path)
            (void)unlink(path);
        free(path);
    }
}

static void fail(pool *p, const slot *s, int code)
{
    char line[MESSAGE];

    if (p->out->failed++ > 0)
        return;
    last_line(p->x, s->run, line);
    (void)fre_fail(&p->out->why, FRE_E_AGAIN, "run %s ended with code %d: %s", p->x->run[s->run].id,
                   code, line);
}

static fre_status conclude(pool *p, const slot *s, int code)
{
    json_t *made = said(p->x, s->run, ".made"), *scores = said(p->x, s->run, ".scores");
    char line[MESSAGE] = "";
    const experiment_row row = {.code = code,
                                .message = code ? line : NULL,
                                .made = code ? NULL : made,
                                .scores = code ? NULL : scores,
                                .seconds = (double)(fre_clock_ms() - s->began) / 1000,
                                .peak_mib = s->peak_mib};
    fre_status st = FRE_OK;

    if (code)
        last_line(p->x, s->run, line);
    if (!code && (!made || !scores)) {
        fail(p, s, -1);
    } else {
        p->out->refused += code != 0;
        st = experiment_keep(p->x, s->run, &row, p->err);
        forget_logs(p->x, s->run);
    }
    json_decref(made);
    json_decref(scores);
    return st;
}

/* What comes after the end of a run's command; the slot is free, or has the next one. */
static fre_status go_on(pool *p, slot *s, const experiment_end *end, uint32_t threads)
{
    fre_status st = FRE_OK;

    s->peak_mib = end->peak_mib > s->peak_mib ? end->peak_mib : s->peak_mib;
    if (end->code == 0 && s->stage < SCORE) {
        s->stage = s->stage == EMBED ? MAKE : SCORE;
        return start(p, s, threads);
    }
    if (end->code == 0 || (end->code == REFUSED && s->stage == MAKE))
        st = conclude(p, s, end->code);
    else
        fail(p, s, end->code);
    p->largest_mib = s->peak_mib > p->largest_mib ? s->peak_mib : p->largest_mib;
    s->pid = 0;
    p->busy--;
    fre_progress_update(p->x->opts->progress, "running", p->next - p->busy, p->x->n);
    return st;
}

/* ---- all of them ---------------------------------------------------------------------------------- */

/* Until the first has ended nobody knows what one takes; then as many as fit. */
static bool may_start(const pool *p)
{
    const uint64_t memory =
        p->x->opts->memory_mib ? p->x->opts->memory_mib : experiment_free_mib() / 2;

    if (p->busy == 0)
        return true;
    if (p->largest_mib == 0 || p->busy >= p->n)
        return false;
    /* What is free is counted without those that run. */
    return (p->x->opts->memory_mib ? p->busy + 1 : 1) * p->largest_mib <= memory;
}

static bool has_embeddings(const experiment *x, size_t run)
{
    char *path = experiment_embeddings(x, run);
    const bool is = path && access(path, R_OK) == 0;

    free(path);
    return is;
}

/* The next run that isn't done; the first of its embedder makes the embeddings, alone. */
static fre_status start_next(pool *p, uint32_t threads)
{
    slot *s = p->slot;

    while (p->next < p->x->n && experiment_is_done(p->x, p->next)) {
        p->out->kept++;
        p->next++;
    }
    if (p->next >= p->x->n || (!has_embeddings(p->x, p->next) && p->busy > 0))
        return FRE_OK;
    while (s->pid != 0)
        s++;
    *s = (slot){.run = p->next++, .began = fre_clock_ms()};
    s->stage = has_embeddings(p->x, s->run) ? MAKE : EMBED;
    p->busy++;
    return start(p, s, s->stage == EMBED ? p->x->opts->threads : threads);
}

static bool is_embedding(const pool *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (p->slot[i].pid != 0 && p->slot[i].stage == EMBED)
            return true;
    return false;
}

static fre_status look_after(pool *p, uint32_t threads)
{
    experiment_end end;
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < p->n; i++)
        if (p->slot[i].pid != 0 && experiment_ended(p->slot[i].pid, &end))
            st = go_on(p, &p->slot[i], &end, threads);
    return st;
}

static fre_status run_pool(pool *p)
{
    const uint32_t threads = p->x->opts->threads;
    const uint32_t each = threads > p->n ? threads / (uint32_t)p->n : 1;
    fre_status st = FRE_OK;

    while (st == FRE_OK && (p->next < p->x->n || p->busy > 0)) {
        if (fre_interrupted())
            return fre_fail(p->err, FRE_E_INTERRUPTED, "interrupted; what is done stays");
        if (p->next < p->x->n && !is_embedding(p) && may_start(p))
            st = start_next(p, each);
        if (st == FRE_OK)
            st = look_after(p, each);
        experiment_pause();
    }
    return st;
}

fre_status experiment_run_all(experiment *x, fre_experiment_result *out, fre_err *err)
{
    const size_t jobs = x->opts->jobs ? x->opts->jobs : x->opts->threads;
    pool p = {.x = x, .out = out, .n = jobs, .err = err};
    fre_status st = open_folder(x, err);

    if (st != FRE_OK)
        return st;
    p.slot = calloc(jobs, sizeof *p.slot);
    st = p.slot ? run_pool(&p) : fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; p.slot && i < jobs; i++)
        if (p.slot[i].pid != 0)
            experiment_kill(p.slot[i].pid);
    free(p.slot);
    return st;
}
