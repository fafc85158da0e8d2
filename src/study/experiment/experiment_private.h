/* experiment_private.h - the file, its runs, the processes, the rows. */
#ifndef FRE_EXPERIMENT_PRIVATE_H
#define FRE_EXPERIMENT_PRIVATE_H

#include <fre/experiment.h>

#include <jansson.h>
#include <sys/types.h>

#define EXPERIMENT_ID 16u /* digits */

/* ---- file.c ----------------------------------------------------------------------------------- */

typedef struct experiment_one {
    json_t *axes; /* what it has of the grid */
    char id[EXPERIMENT_ID + 1];
} experiment_one;

typedef struct experiment {
    const fre_experiment_opts *opts;
    json_t *file;
    char *input; /* path of the collection */
    char input_sha256[65];
    int folder; /* the output's, locked; -1: not open */
    experiment_one *run;
    size_t n, cap;
} experiment;

FRE_MUST_CHECK fre_status experiment_read(experiment *x, fre_err *err);
void experiment_wipe(experiment *x);

/* ---- names.c ---------------------------------------------------------------------------------- */

/* OUTPUT/folder/name end, to be freed; NULL: out of memory. */
char *experiment_path(const experiment *x, const char *folder, const char *name, const char *end);
/* Of the file; NULL: not there. */
const char *experiment_text(const experiment *x, const char *key);

/* ---- words.c: command lines ---------------------------------------------------------------------- */

typedef struct experiment_words {
    char **word; /* NULL-terminated */
    size_t n, cap;
    bool failed; /* out of memory */
} experiment_words;

/* NULL-terminated list of strings. */
void experiment_say(experiment_words *w, const char *first, ...) __attribute__((sentinel));
void experiment_words_wipe(experiment_words *w);
/* The command that makes run i's release with `threads` threads; the one that scores it; the one that embeds
 * the collection for it. */
void experiment_make(const experiment *x, experiment_words *w, size_t i, uint32_t threads);
void experiment_score(const experiment *x, experiment_words *w, size_t i, uint32_t threads);
void experiment_embed(const experiment *x, experiment_words *w, size_t i, uint32_t threads);
/* Where that one writes, for whoever reads it. */
char *experiment_embeddings(const experiment *x, size_t i);
/* The first EXPERIMENT_ID digits of a hash of these words, with the collection's. */
void experiment_name(const experiment *x, char out[EXPERIMENT_ID + 1], const experiment_words *w);
/* What decides a run's numbers. */
void experiment_identity(const experiment *x, experiment_words *w, const json_t *axes);

/* ---- process.c ------------------------------------------------------------------------------------ */

typedef struct experiment_end {
    int code; /* of the exit, or -1: it was killed */
    uint64_t peak_mib;
} experiment_end;

/* Its standard output and error go into files. */
FRE_MUST_CHECK fre_status experiment_start(pid_t *pid, const char *program,
                                           const experiment_words *w, const char *out,
                                           const char *errors, fre_err *err);
/* Has it ended? */
bool experiment_ended(pid_t pid, experiment_end *end);
/* End it, and wait for it. */
void experiment_kill(pid_t pid);
uint64_t experiment_free_mib(void);
void experiment_pause(void);

/* ---- rows.c --------------------------------------------------------------------------------------- */

/* Is there a row of run i? */
bool experiment_is_done(const experiment *x, size_t i);
typedef struct experiment_row {
    int code;
    const char *message;   /* NULL: none */
    json_t *made, *scores; /* NULL: none; borrowed */
    double seconds;
    uint64_t peak_mib;
} experiment_row;
FRE_MUST_CHECK fre_status experiment_keep(const experiment *x, size_t i, const experiment_row *row,
                                          fre_err *err);
/* All rows that are there, as CSV. */
FRE_MUST_CHECK fre_status experiment_csv(const experiment *x, const char *path, fre_err *err);

/* ---- run.c ---------------------------------------------------------------------------------------- */

FRE_MUST_CHECK fre_status experiment_run_all(experiment *x, fre_experiment_result *out,
                                             fre_err *err);

#endif
