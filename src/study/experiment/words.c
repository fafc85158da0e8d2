/* experiment/words.c - the command lines of a run. */
#include "experiment_private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void add(experiment_words *w, const char *word)
{
    if (w->failed || fre_grow((void **)&w->word, &w->cap, w->n + 2, sizeof *w->word) != FRE_OK ||
        !(w->word[w->n] = strdup(word))) {
        w->failed = true;
        return;
    }
    w->word[++w->n] = NULL;
}

void experiment_say(experiment_words *w, const char *first, ...)
{
    va_list rest;

    va_start(rest, first);
    for (const char *word = first; word; word = va_arg(rest, const char *))
        add(w, word);
    va_end(rest);
}

void experiment_words_wipe(experiment_words *w)
{
    for (size_t i = 0; i < w->n; i++)
        free(w->word[i]);
    free(w->word);
    *w = (experiment_words){.n = 0};
}

/* Without quotes. */
static char *value_text(const json_t *value)
{
    return json_is_string(value) ? strdup(json_string_value(value))
                                 : json_dumps(value, JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
}

/* The flag of that name, and its value; NULL: it has none. */
static void say_flag(experiment_words *w, const char *name, const char *value)
{
    char *flag = NULL;

    if (asprintf(&flag, "-%c%s", '-', name) < 0) {
        w->failed = true;
        return;
    }
    add(w, flag);
    free(flag);
    if (value)
        add(w, value);
}

/* A value that is freed. */
static void say_made(experiment_words *w, const char *name, char *value)
{
    if (!value)
        w->failed = true;
    else if (name)
        say_flag(w, name, value);
    else
        add(w, value);
    free(value);
}

/* true: the flag alone; false and null: nothing. */
static void add_flag(experiment_words *w, const char *key, const json_t *value)
{
    if (json_is_null(value) || json_is_false(value))
        return;
    if (json_is_true(value))
        say_flag(w, key, NULL);
    else
        say_made(w, key, value_text(value));
}

/* All of an object but what has a meaning of its own here. */
static void add_flags(experiment_words *w, const json_t *flags, const json_t *unless)
{
    const char *key;
    json_t *value;

    json_object_foreach((json_t *)(uintptr_t)flags, key, value)
    {
        if (strcmp(key, "method") != 0 && strcmp(key, "seed") != 0 && !json_object_get(unless, key))
            add_flag(w, key, value);
    }
}

static const json_t *part(const experiment *x, const char *key)
{
    return json_object_get(x->file, key);
}

/* What a run has of the grid, else of what is set for all. */
static const json_t *setting(const experiment *x, const json_t *axes, const char *key)
{
    const json_t *value = json_object_get(axes, key);

    return value ? value : json_object_get(part(x, "set"), key);
}

/* A method that is no baseline's name. */
static bool is_ours(const json_t *method)
{
    return json_is_string(method) && strcmp(json_string_value(method), "fre-e2t") == 0;
}

static const char *method(const experiment *x, const json_t *axes)
{
    const json_t *name = setting(x, axes, "method");

    return is_ours(name) ? NULL : json_string_value(name);
}

static bool merge(json_t *into, const json_t *flags)
{
    return !flags || json_object_update(into, (json_t *)(uintptr_t)flags) == 0;
}

/* Flags that will be said, in an order that is not the file's. */
static void add_known(experiment_words *w, const json_t *flags, const json_t *unless)
{
    json_t *said = json_object(), *value;
    const char *key;
    void *next;

    if (!merge(said, flags) || !merge(said, unless))
        w->failed = true;
    json_object_foreach_safe(said, next, key, value)
    {
        if (json_is_null(value) || json_is_false(value) ||
            (strcmp(key, "method") == 0 && is_ours(value)))
            (void)json_object_del(said, key);
    }
    say_made(w, NULL, json_dumps(said, JSON_SORT_KEYS | JSON_REAL_PRECISION(15)));
    json_decref(said);
}

void experiment_identity(const experiment *x, experiment_words *w, const json_t *axes)
{
    const char *users = experiment_text(x, "user_field"),
               *labels = experiment_text(x, "label_field");

    experiment_say(w, users ? users : "", labels ? labels : "", NULL);
    add_known(w, part(x, "set"), axes);
    add_known(w, part(x, "read"), NULL);
    add_known(w, part(x, "evaluate"), NULL);
}

void experiment_name(const experiment *x, char out[EXPERIMENT_ID + 1], const experiment_words *w)
{
    uint8_t sha[FRE_HASH_BYTES];
    char hex[2 * FRE_HASH_BYTES + 1];
    fre_sha256 h;

    fre_sha256_begin(&h, (fre_bytes){(const uint8_t *)x->input_sha256, 64});
    for (size_t i = 0; i < w->n; i++)
        fre_sha256_add(&h, w->word[i], strlen(w->word[i]) + 1);
    fre_sha256_end(sha, &h);
    fre_hex(hex, sha, sizeof sha);
    memcpy(out, hex, EXPERIMENT_ID);
    out[EXPERIMENT_ID] = '\0';
}

/* ---- commands ------------------------------------------------------------------------------------ */

static void add_threads(experiment_words *w, uint32_t threads)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%" PRIu32, threads);
    say_flag(w, "threads", text);
    say_flag(w, "quiet", NULL);
}

static void add_embedder(const experiment *x, experiment_words *w, size_t i)
{
    const json_t *embedder = setting(x, x->run[i].axes, "embedder");

    if (embedder)
        add_flag(w, "embedder", embedder);
}

char *experiment_embeddings(const experiment *x, size_t i)
{
    experiment_words w = {.n = 0};
    char id[EXPERIMENT_ID + 1];

    add_embedder(x, &w, i);
    add_flags(&w, part(x, "read"), NULL);
    experiment_name(x, id, &w);
    experiment_words_wipe(&w);
    return experiment_path(x, "embeddings", id, ".npy");
}

void experiment_embed(const experiment *x, experiment_words *w, size_t i, uint32_t threads)
{
    experiment_say(w, "fre-e2t", "embed", x->input, NULL);
    say_made(w, "output", experiment_embeddings(x, i));
    add_embedder(x, w, i);
    add_flags(w, part(x, "read"), NULL);
    add_threads(w, threads);
}

/* A number is a seed's last digits. */
static void add_seed(experiment_words *w, const json_t *seed)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRIx64, (uint64_t)json_integer_value(seed));
    say_flag(w, "seed", json_is_string(seed) ? json_string_value(seed) : text);
}

static void add_users(const experiment *x, experiment_words *w)
{
    const char *field = experiment_text(x, "user_field");

    if (field)
        say_flag(w, "user-file", x->input);
    say_flag(w, "user-field", field ? field : "none");
}

void experiment_make(const experiment *x, experiment_words *w, size_t i, uint32_t threads)
{
    const json_t *axes = x->run[i].axes;
    const char *name = method(x, axes);

    experiment_say(w, "fre-e2t", name ? "baseline" : "synthesize", NULL);
    if (name)
        experiment_say(w, name, NULL);
    say_made(w, NULL, experiment_embeddings(x, i));
    say_made(w, "output", experiment_path(x, "releases", x->run[i].id, ""));
    if (!name)
        say_flag(w, "ledger", "none");
    say_flag(w, "force", NULL);
    say_flag(w, "json", NULL);
    add_users(x, w);
    add_seed(w, setting(x, axes, "seed"));
    add_flags(w, axes, NULL);
    add_flags(w, part(x, "set"), axes);
    add_threads(w, threads);
}

void experiment_score(const experiment *x, experiment_words *w, size_t i, uint32_t threads)
{
    const char *labels = experiment_text(x, "label_field");

    experiment_say(w, "fre-e2t", "evaluate", NULL);
    say_made(w, NULL, experiment_path(x, "releases", x->run[i].id, ""));
    experiment_say(w, x->input, NULL);
    say_flag(w, "json", NULL);
    say_made(w, "embeddings", experiment_embeddings(x, i));
    add_embedder(x, w, i);
    if (labels)
        say_flag(w, "label-field", labels);
    add_flags(w, part(x, "read"), NULL);
    add_flags(w, part(x, "evaluate"), NULL);
    add_threads(w, threads);
}
