/** fre/experiment.h - a grid of runs from one small file: releases and baselines made, each evaluated, one
 * CSV with a row a run.
 *
 * The runs are the program's own commands, each in a process of its own: what one needs of memory is given
 * back, a run that dies takes none of the others with it, and whatever evaluate measures is a column.
 * What is done stays in the output folder and isn't done again.  docs/formats.md has the file's keys.
 * Threads: one at a time; starts processes.
 */
#ifndef FRE_EXPERIMENT_H
#define FRE_EXPERIMENT_H

#include <fre/core.h>
#include <fre/param.h>

#ifdef __cplusplus
extern "C" {
#endif

FRE_API extern const fre_param fre_experiment_param_jobs;
FRE_API extern const fre_param fre_experiment_param_memory;

typedef struct fre_experiment_opts {
    const char *file; /**< the grid, JSON */
    const char
        *output; /**< folder of what is done; made, or gone on with if it is this experiment's */
    const char *data; /**< the collection in place of the file's, or the folder that it is in; NULL:
                              relative to the file */
    const char *program; /**< whose commands are run */
    uint32_t threads;    /**< fre_param_threads, of all runs together */
    uint32_t jobs;       /**< runs at once; fewer where memory is short; 0: one for each thread */
    uint64_t
        memory_mib; /**< that runs may take together, by what the largest so far took; 0: half of
                              what is free */
    const fre_progress *progress;
} fre_experiment_opts;

typedef struct fre_experiment_result {
    uint64_t runs;    /**< of the grid */
    uint64_t kept;    /**< of them, done before */
    uint64_t refused; /**< whose budget could not be met: a row without numbers */
    uint64_t failed;  /**< not done, and done next time */
    fre_err why;      /**< of the first that failed; "": none did */
    char csv[4096];   /**< where the rows are */
} fre_experiment_result;

/** FRE_E_NOINPUT, FRE_E_DATA: the file; FRE_E_USAGE: a number out of range; FRE_E_EXISTS: the output folder
 * is something else; FRE_E_IO; FRE_E_INTERRUPTED: the runs are ended, what is done stays. */
FRE_API FRE_MUST_CHECK fre_status fre_experiment_run(fre_experiment_result *out,
                                                     const fre_experiment_opts *o, fre_err *err);

#ifdef __cplusplus
}
#endif
#endif /* FRE_EXPERIMENT_H */
