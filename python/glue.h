/* glue.h - the little that the Python package needs in C: a progress sink that is looked at from another
 * thread, so that the library never waits for the interpreter, and records by the thousand. */
#ifndef FRE_PYTHON_GLUE_H
#define FRE_PYTHON_GLUE_H

#include <fre/core.h>
#include <fre/partial.h>

#define FRE_PY_PHASE_BYTES 64u

/** The library's version. */
const char *fre_py_version(void);

/** Keeps what was told last.  Internally locked. */
typedef struct fre_py_progress fre_py_progress;
/** NULL: out of memory.  fre_py_progress_free. */
fre_py_progress *fre_py_progress_new(void);
void fre_py_progress_free(fre_py_progress *p);
/** Borrowed from p. */
const fre_progress *fre_py_progress_sink(const fre_py_progress *p);
/** phase "": nothing was told yet. */
void fre_py_progress_read(fre_py_progress *p, char phase[FRE_PY_PHASE_BYTES], uint64_t *done,
                          uint64_t *total);

/** fre_partial_worker_add of n records, as columns: user and text n x 16 bytes (user NULL: nobody is named), place
 * n times those of the worker, x n x dim floats (NULL: not of this stage). */
fre_status fre_py_partial_add(fre_partial_worker *w, size_t n, const uint8_t *user,
                              const uint8_t *text, const uint64_t *records, const uint8_t *place,
                              const float *x, fre_err *err);

#endif
