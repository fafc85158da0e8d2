/* evaluate/classifier.c - liblinear behind one function; docs/decisions/0026-evaluation.md says why it. */
#include "classifier.h"

#include <math.h>

#ifdef FRE_HAVE_LIBLINEAR

#include <limits.h>
#include <linear.h>
#include <pthread.h>
#include <stdlib.h>

#define COST 10.0 /* C: rows of norm 1 are near each other */
#define STOP 0.1  /* of that solver, by liblinear's own advice */
#define SEED 1u   /* of the order in which it takes the rows */

bool evaluate_has_linear(void)
{
    return true;
}

/* What is trained, one at a time. */
static struct {
    pthread_mutex_t lock;
    const struct problem *on; /* guarded by lock */
    bool stopped;             /* guarded by lock */
} training = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* liblinear prints a sign every ten rounds, and calls nothing else of ours.  It has no way to be stopped; but where
 * no row holds a number there is nothing more to learn, and it ends within two rounds, which take no time. */
static void stop_if_interrupted(const char *text)
{
    (void)text;
    if (!fre_interrupted())
        return;
    training.stopped = true;
    for (int i = 0; i < training.on->l; i++) {
        training.on->x[i][0].value = (double)NAN;
        training.on->x[i][1].index = -1;
    }
}

/* A row as liblinear has it: d features numbered from 1, the constant one, and an end. */
static void put_row(struct feature_node *out, const float *x, size_t d)
{
    for (size_t j = 0; j < d; j++)
        out[j] = (struct feature_node){(int)j + 1, (double)x[j]};
    out[d] = (struct feature_node){(int)d + 1, 1.0};
    out[d + 1] = (struct feature_node){-1, 0.0};
}

static bool has_one_label(const evaluate_labelled *t)
{
    for (size_t i = 1; i < t->n; i++)
        if (t->label[i] != t->label[0])
            return false;
    return true;
}

static double share_of(const evaluate_labelled *test, uint32_t label)
{
    size_t right = 0;

    for (size_t i = 0; i < test->n; i++)
        right += test->label[i] == label;
    return (double)right / (double)test->n;
}

static fre_status test_model(double *out, const struct model *m, const evaluate_labelled *test,
                             struct feature_node *room)
{
    size_t right = 0;

    for (size_t i = 0; i < test->n; i++) {
        if (fre_interrupted())
            return FRE_E_INTERRUPTED;
        put_row(room, test->x + test->row[i] * test->d, test->d);
        right += (uint32_t)predict(m, room) == test->label[i];
    }
    *out = (double)right / (double)test->n;
    return FRE_OK;
}

/* liblinear shuffles by rand(), which is the process's: the same rows give the same model, and whoever else calls
 * rand() goes on where they were.  The rows are used up where it is interrupted. */
static fre_status train_seeded(struct model **out, const struct problem *p)
{
    const struct parameter how = {.solver_type = MCSVM_CS, .eps = STOP, .C = COST};
    char state[128], *before;
    bool stopped;

    (void)pthread_mutex_lock(&training.lock);
    training.on = p;
    training.stopped = false;
    set_print_string_function(stop_if_interrupted);
    before = initstate(SEED, state, sizeof state);
    *out = train(p, &how);
    (void)setstate(before);
    stopped = training.stopped;
    (void)pthread_mutex_unlock(&training.lock);
    return stopped ? FRE_E_INTERRUPTED : FRE_OK;
}

fre_status evaluate_linear(double *out, const evaluate_labelled *from,
                           const evaluate_labelled *test)
{
    const size_t width = from->d + 2;
    struct problem p = {.l = (int)from->n, .n = (int)from->d + 1, .bias = 1.0};
    struct feature_node *nodes, *room;
    struct model *m;
    fre_status st = FRE_E_NOMEM;

    *out = (double)NAN;
    if (from->n == 0 || test->n == 0)
        return FRE_OK;
    if (has_one_label(from)) {
        *out = share_of(test, from->label[0]);
        return FRE_OK;
    }
    if (from->n > INT_MAX || from->d > INT_MAX - 2)
        return FRE_E_LIMIT;
    nodes = malloc(from->n * width * sizeof *nodes);
    room = malloc(width * sizeof *room);
    p.x = malloc(from->n * sizeof *p.x);
    p.y = malloc(from->n * sizeof *p.y);
    if (nodes && room && p.x && p.y) {
        for (size_t i = 0; i < from->n; i++) {
            p.x[i] = nodes + i * width;
            p.y[i] = (double)from->label[i];
            put_row(p.x[i], from->x + from->row[i] * from->d, from->d);
        }
        st = train_seeded(&m, &p);
        if (st == FRE_OK)
            st = test_model(out, m, test, room);
        free_and_destroy_model(&m);
    }
    free(nodes);
    free(room);
    free(p.x);
    free(p.y);
    return st;
}

#else

bool evaluate_has_linear(void)
{
    return false;
}

fre_status evaluate_linear(double *out, const evaluate_labelled *train,
                           const evaluate_labelled *test)
{
    (void)train;
    (void)test;
    *out = (double)NAN;
    return FRE_E_INTERNAL;
}

#endif
