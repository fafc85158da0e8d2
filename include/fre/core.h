/** fre/core.h - what every other module stands on: status codes, byte views, a bounded buffer,
 * secret wipe and compare, the CSPRNG, the clock hook, log and progress sinks, worker threads,
 * the user's folders, the atomic output directory and the private spool.
 *
 * Conventions of the whole library.  Argument order: object, outputs, in/outs, inputs; a length
 * follows its array; options last.  Outputs are written on success only.  A function that keeps
 * a pointer says so.  Library code never prints and never exits.  The host's locale changes
 * nothing, and nothing here changes it.  Threads: an object is used by one thread at a time unless
 * its header says "immutable" or "internally locked".
 */
#ifndef FRE_CORE_H
#define FRE_CORE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FRE_MUST_CHECK __attribute__((warn_unused_result))
#define FRE_API __attribute__((visibility("default")))
#define FRE_PRINTF(f, a) __attribute__((format(printf, f, a)))

/* ---- status ------------------------------------------------------------------------------ */

/* Every fallible function returns fre_status; every code lives in this list.
 *   name, value, exit code of the program (sysexits.h), text
 *   0x0xx caller   0x1xx data or peer   0x2xx environment   0x3xx limit or policy            */
#define FRE_STATUS_MAP(X)                                                                          \
    X(OK, 0x000, 0, "success")                                                                     \
    X(E_ARG, 0x001, 70, "argument outside its documented range")                                   \
    X(E_STATE, 0x002, 70, "call not allowed in this state")                                        \
    X(E_INTERNAL, 0x003, 70, "internal error")                                                     \
    X(E_USAGE, 0x004, 64, "usage error")                                                           \
    X(E_INFEASIBLE, 0x005, 64, "the privacy budget cannot be met")                                 \
    X(E_DATA, 0x101, 65, "malformed data")                                                         \
    X(E_MODEL, 0x102, 65, "unusable model file")                                                   \
    X(E_PROOF, 0x103, 65, "a proof does not verify")                                               \
    X(E_KEY, 0x104, 77, "unknown key or suite")                                                    \
    X(E_NOINPUT, 0x201, 66, "input missing or unreadable")                                         \
    X(E_EXISTS, 0x202, 73, "output exists or cannot be created")                                   \
    X(E_IO, 0x203, 74, "input/output error")                                                       \
    X(E_AGAIN, 0x204, 75, "try again later")                                                       \
    X(E_INTERRUPTED, 0x205, 130, "interrupted")                                                    \
    X(E_NOMEM, 0x301, 70, "out of memory")                                                         \
    X(E_LIMIT, 0x302, 65, "a limit was reached")                                                   \
    X(E_REFUSED, 0x303, 77, "refused")

typedef enum fre_status {
#define X(name, value, exit_code, text) FRE_##name = (value),
    FRE_STATUS_MAP(X)
#undef X
} fre_status;

/** Static string, never NULL, safe to log. */
FRE_API const char *fre_status_text(fre_status s);
/** Exit code of the program for s (0, 64, 65, 66, 70, 73, 74, 75, 77, 130). */
FRE_API int fre_status_exit_code(fre_status s);

#define FRE_ERR_BYTES 512u
#define FRE_PARAM_BYTES 32u /* a parameter's name with its 0 */
/** One sentence for a person: what is wrong, where (line, field), what to do.  Holds no secret
 * and no user text.  Written on failure only.  Parameters stand in braces, "{sampling_rate} must
 * be above 0": fre_param_render turns them into what the reader calls them. */
typedef struct fre_err {
    char text[FRE_ERR_BYTES];
    char field[FRE_PARAM_BYTES]; /**< the first parameter that the sentence names; "": none */
} fre_err;

/** Format into err (NULL allowed) and return s, so that `return fre_fail(err, FRE_E_DATA, ...)`
 * is one statement. */
FRE_API fre_status fre_fail(fre_err *err, fre_status s, const char *fmt, ...) FRE_PRINTF(3, 4);

/** What a reader calls a parameter: "--sampling-rate" for sampling_rate.  Writes it with its 0 into
 * out[n] and returns true; false: that is no parameter of theirs, and the braces stay. */
typedef bool fre_param_name(char *out, size_t n, const char *param);

/** An error's text or a warning with its parameters as the reader calls them.  name NULL: by
 * themselves, without braces.  out[n] gets what fits, with its 0; returns out. */
FRE_API const char *fre_param_render(char *out, size_t n, const char *text, fre_param_name *name);

/** What to say and return where the system refused to open or create something: "DOING: why; what to
 * do", DOING by fmt.  e is the errno.  FRE_E_IO where the process or the system has no descriptor
 * left, FRE_E_NOMEM where it has no memory: then the path isn't to blame.  Else `otherwise`, with
 * `advice` (NULL: none). */
FRE_API fre_status fre_open_failed(fre_err *err, int e, fre_status otherwise, const char *advice,
                                   const char *fmt, ...) FRE_PRINTF(5, 6);
#define FRE_CHECK_PATH "check the path"

/* ---- bytes ------------------------------------------------------------------------------- */

/** Borrowed bytes. */
typedef struct fre_bytes {
    const uint8_t *p;
    size_t n;
} fre_bytes;

/** Growable bytes with a hard limit chosen at init.  fre_buf_init / fre_buf_wipe. */
typedef struct fre_buf {
    uint8_t *p;
    size_t n, cap, max;
} fre_buf;

FRE_API void fre_buf_init(fre_buf *b, size_t max);
/** Wipe content, release memory, keep the limit. */
FRE_API void fre_buf_wipe(fre_buf *b);
/** FRE_E_LIMIT beyond max, FRE_E_NOMEM; the buffer is unchanged on failure. */
FRE_API FRE_MUST_CHECK fre_status fre_buf_append(fre_buf *b, const void *p, size_t n);
/** Room for n more bytes, no more than that where b is empty: of what is large, or kept in numbers, the size
 * of which is known.  Errors as above; appending as much cannot fail then. */
FRE_API FRE_MUST_CHECK fre_status fre_buf_reserve(fre_buf *b, size_t n);
FRE_API FRE_MUST_CHECK fre_status fre_buf_printf(fre_buf *b, const char *fmt, ...) FRE_PRINTF(2, 3);

/** Reads what somebody else wrote: big-endian numbers, never beyond the end.  The first field that is not there or is
 * refused stays in bad; from there on all that is read is 0. */
typedef struct fre_in {
    fre_bytes left;  /**< not read yet; borrowed */
    const char *bad; /**< name of a field; NULL: fine so far */
} fre_in;

/** n bytes, borrowed; NULL: they are not there, or n is 0. */
FRE_API const uint8_t *fre_in_take(fre_in *in, size_t n, const char *field);
/** The same, copied; zeros where they are not there. */
FRE_API void fre_in_copy(fre_in *in, void *out, size_t n, const char *field);
/** A number of 1 to 8 bytes. */
FRE_API uint64_t fre_in_uint(fre_in *in, unsigned bytes, const char *field);
/** Notes the field unless ok. */
FRE_API void fre_in_require(fre_in *in, bool ok, const char *field);

/** Appends to b; the first failure is kept in st. */
typedef struct fre_out {
    fre_buf *b; /**< borrowed */
    size_t start;
    fre_status st;
} fre_out;

/** b NULL: st is FRE_E_ARG. */
FRE_API fre_out fre_out_begin(fre_buf *b);
FRE_API void fre_out_put(fre_out *o, const void *p, size_t n);
/** A number of 1 to 8 bytes, big-endian. */
FRE_API void fre_out_uint(fre_out *o, uint64_t v, unsigned bytes);
/** st; where that is a failure, b is as it was at the beginning, and what was appended is wiped. */
FRE_API FRE_MUST_CHECK fre_status fre_out_end(fre_out *o);

/** Zero n bytes in a way the compiler keeps. */
FRE_API void fre_wipe(void *p, size_t n);
/** Wipe n bytes at p and free them.  p NULL is allowed. */
FRE_API void fre_wipe_free(void *p, size_t n);
/** Make *array (NULL: none yet) hold at least n elements of `size` bytes: doubles, new ones are zero,
 * the old copy is wiped; *cap in elements.  FRE_E_NOMEM. */
FRE_API FRE_MUST_CHECK fre_status fre_grow(void **array, size_t *cap, size_t n, size_t size);
/** Constant-time equality. */
FRE_API bool fre_secret_eq(const void *a, const void *b, size_t n);

/** Marks the n bytes at p, derived from a secret, as public from here on; the line says why.
 * Nothing at run time; the constant-time run, which poisons secrets under valgrind, obeys it. */
#ifdef FRE_CONSTANT_TIME
#include <valgrind/memcheck.h>
#define FRE_DECLASSIFY(p, n) ((void)VALGRIND_MAKE_MEM_DEFINED((p), (n)))
#else
#define FRE_DECLASSIFY(p, n) ((void)(p), (void)(n))
#endif

#define FRE_HASH_BYTES 32u
/** SHA-256 of a file, streamed.  FRE_E_NOINPUT, FRE_E_IO, FRE_E_INTERRUPTED. */
FRE_API FRE_MUST_CHECK fre_status fre_sha256_file(uint8_t out[FRE_HASH_BYTES], const char *path,
                                                  fre_err *err);
/** SHA-256 of salt || all that is added.  Caller's storage; fre_sha256_end wipes it. */
typedef struct fre_sha256 {
    uint64_t state[13];
} fre_sha256;
FRE_API void fre_sha256_begin(fre_sha256 *h, fre_bytes salt);
FRE_API void fre_sha256_add(fre_sha256 *h, const void *p, size_t n);
FRE_API void fre_sha256_end(uint8_t out[FRE_HASH_BYTES], fre_sha256 *h);
/** Up to n bytes into out; 0 at the end, -1 with errno. */
typedef ssize_t fre_read_fn(void *ctx, uint8_t *out, size_t n);
/** SHA-256 of salt || all that fn gives; name is for messages. */
FRE_API FRE_MUST_CHECK fre_status fre_sha256_read(uint8_t out[FRE_HASH_BYTES], fre_bytes salt,
                                                  fre_read_fn *fn, void *ctx, const char *name,
                                                  fre_err *err);
/** 2*n lower-case digits and a NUL. */
FRE_API void fre_hex(char *out, const uint8_t *p, size_t n);
#define FRE_PERCENT_BYTES 16u
/** A share in 0..1 for people, two digits: "0.5 %", "12 %", "100 %". */
FRE_API void fre_percent(char out[FRE_PERCENT_BYTES], double share);
/** n significant digits (1..15) of x, as %g has them, that read back as a number never below
 * (above) x and less than one unit of the last digit from it; where n < 13, x counts
 * as its first 13 digits, since sums of doubles have no more.  Infinities and NaN as they are.  Every
 * privacy number that people read is printed so, on its safe side.  Up: epsilon, delta, bounds of
 * chances, the noise a plan needs, distances and rates that cost more the larger they are.  Down: what
 * is left of a budget and the budget, an audit's lower bounds, the noise that a release has. */
#define FRE_DIGITS_BYTES 32u
FRE_API const char *fre_digits_up(char out[FRE_DIGITS_BYTES], int n, double x);
FRE_API const char *fre_digits_down(char out[FRE_DIGITS_BYTES], int n, double x);
/** Exactly n bytes from 2*n digits; false otherwise. */
FRE_API FRE_MUST_CHECK bool fre_unhex(uint8_t *out, size_t n, const char *hex);

/* ---- randomness -------------------------------------------------------------------------- */

#define FRE_SEED_BYTES 32u
/** A CSPRNG stream: ChaCha20 with fast key erasure, keyed from the system (fre_rng_init) or, for
 * runs marked NOT PRIVATE, from a seed and a label (fre_rng_init_seeded).  A stream is never
 * shared: one thread at a time, and a forked child rekeys from the system (seeded: aborts).
 * SECRET.  Caller's storage; fre_rng_wipe. */
typedef struct fre_rng {
    uint8_t key[32]; /* SECRET */
    uint8_t block[1024];
    size_t left; /* unread bytes at the end of block */
    int64_t pid; /* mark of the process that owns the stream (not its pid: see rng.c) */
    bool seeded;
} fre_rng;

FRE_API FRE_MUST_CHECK fre_status fre_rng_init(fre_rng *r);
FRE_API FRE_MUST_CHECK fre_status fre_rng_init_seeded(fre_rng *r, const uint8_t seed[32],
                                                      const char *label);
/** The stream of a name under a key: the same ones give the same draws, and who lacks the key can tell none
 * of them from chance.  FRE_E_INTERNAL. */
FRE_API FRE_MUST_CHECK fre_status fre_rng_init_named(fre_rng *r, const uint8_t key[FRE_SEED_BYTES],
                                                     const void *name, size_t n);
FRE_API void fre_rng_wipe(fre_rng *r);
FRE_API void fre_rng_bytes(fre_rng *r, void *out, size_t n);
FRE_API uint32_t fre_rng_u32(fre_rng *r);
FRE_API uint64_t fre_rng_u64(fre_rng *r);
/** Uniform on 0..n-1, exact (rejection); n >= 1. */
FRE_API uint64_t fre_rng_below(fre_rng *r, uint64_t n);

/** Keyed 128-bit hash of a text (BLAKE2b-128), for look-up tables that a hostile input cannot
 * fill with collisions. */
FRE_API void fre_hash128(uint8_t out[16], const uint8_t key[32], const void *p, size_t n);

/* ---- clock, log, progress, interruption --------------------------------------------------- */

/** Monotonic milliseconds; tests replace the source. */
FRE_API int64_t fre_clock_ms(void);
FRE_API void fre_clock_set_source(int64_t (*f)(void));
/** Milliseconds that go on while the machine sleeps, as the time of day does. */
FRE_API int64_t fre_clock_boot_ms(void);
/** Seconds since 1970 in UTC, for dates that people read; never for durations. */
FRE_API int64_t fre_clock_unix(void);

/** Sleeps; a signal may end it early. */
FRE_API void fre_sleep_ms(unsigned ms);
/** Half of ms, and up to as much again at random: pauses after which those who lost the same server do not all come
 * back at once. */
FRE_API unsigned fre_jitter_ms(unsigned ms);

/** Progress of one phase.  A sink is called with units done and in all (0: unknown); it decides
 * what to show.  The library calls it from one thread at a time. */
typedef struct fre_progress {
    void (*update)(void *ctx, const char *phase, uint64_t done, uint64_t total);
    void *ctx;
} fre_progress;
/** NULL-safe. */
FRE_API void fre_progress_update(const fre_progress *p, const char *phase, uint64_t done,
                                 uint64_t total);

/** Set by the program's signal handler; long loops poll it and return FRE_E_INTERRUPTED.
 * Async-signal-safe. */
FRE_API void fre_interrupt_set(void);
FRE_API bool fre_interrupted(void);
FRE_API void fre_interrupt_clear(void);

/** For a process that handles secrets, once at its start, before it opens a file: standard streams
 * that the parent closed are there again (reading or writing them fails, as it would have), so that
 * what is printed cannot land in a file; no core dumps, no attaching by other processes of the same
 * user.  FRE_E_IO: the system refused the latter; FRE_E_INTERNAL: no /dev/null, no randomness. */
FRE_API FRE_MUST_CHECK fre_status fre_core_harden(void);

/* ---- threads ----------------------------------------------------------------------------- */

#define FRE_THREADS_MAX 1024u
/** Run job(ctx, i) for i in 0..n-1 on up to `threads` threads (1..FRE_THREADS_MAX; the caller's counts).
 * Returns the status of the lowest i that failed; later jobs may be skipped after a failure. */
FRE_API FRE_MUST_CHECK fre_status fre_parallel(uint32_t threads, uint64_t n,
                                               fre_status (*job)(void *ctx, uint64_t i), void *ctx);
/** Online processors this process may use, >= 1. */
FRE_API uint32_t fre_cpu_count(void);

/** Instructions that only some processors have. */
typedef enum fre_cpu_set { FRE_CPU_AVX2, FRE_CPU_AVX2_FMA, FRE_CPU_AVX512F } fre_cpu_set;
/** Whether this processor has them and the system lets them be used; never on other machines than x86-64. */
FRE_API bool fre_cpu_has(fre_cpu_set set);

/* ---- the user's folders ------------------------------------------------------------------- */

typedef enum fre_user_dir { FRE_USER_CACHE, FRE_USER_STATE } fre_user_dir;

/** *out: the folder fre-e2t in the user's cache or state folder, whether it is there or not; owned (free).
 * $XDG_CACHE_HOME ($XDG_STATE_HOME) if it is an absolute path, else .cache (.local/state) in $HOME, else
 * in the home that the user database lists.  to_write: root passes over a folder of another user, whose
 * HOME sudo may have kept.  FRE_E_NOINPUT: there is no home; FRE_E_IO, FRE_E_NOMEM: it could not be looked
 * up. */
FRE_API FRE_MUST_CHECK fre_status fre_user_folder(char **out, fre_user_dir which, bool to_write,
                                                  fre_err *err);
/** Make the folders of a file's path that are missing, for this user alone (0700).  0 or an errno. */
FRE_API FRE_MUST_CHECK int fre_make_parents(const char *path);

/** An advisory lock (flock) of the open file fd, for one process alone; waits half a minute at most.  name: the file, and
 * awaited: what is waited for, as the sentences say it.  It ends with the last copy of fd.  FRE_E_AGAIN: another
 * process has it; FRE_E_INTERRUPTED; FRE_E_IO: it cannot be locked. */
FRE_API FRE_MUST_CHECK fre_status fre_lock_wait(int fd, const char *name, const char *awaited,
                                                fre_err *err);

/* ---- private files ----------------------------------------------------------------------- */

/** A file with secrets: this user's, regular, readable and writable by nobody else, and no link; opened to
 * read and write.  fresh: made (0600) where it is missing, *fresh says so; NULL: it has to be there.
 * FRE_E_REFUSED: another kind of file; FRE_E_NOINPUT (FRE_E_IO where fresh): it cannot be opened. */
FRE_API FRE_MUST_CHECK fre_status fre_private_open(int *fd, bool *fresh, const char *path,
                                                   fre_err *err);
/** All of it, appended; give out a limit.  FRE_E_LIMIT: it is longer. */
FRE_API FRE_MUST_CHECK fre_status fre_private_read(fre_buf *out, const char *path, fre_err *err);
/** The same of any regular file, whoever's it is. */
FRE_API FRE_MUST_CHECK fre_status fre_file_read(fre_buf *out, const char *path, fre_err *err);
/** A new file (0600), there whole and synced or not at all.  replace: in the place of one that is there, and as
 * private.  FRE_E_EXISTS: a file is there; FRE_E_IO. */
FRE_API FRE_MUST_CHECK fre_status fre_private_write(const char *path, fre_bytes bytes, bool replace,
                                                    fre_err *err);
/** The same in the place of one that is there, whose bytes are overwritten once the new ones are: of a file that has one
 * reader or writer at a time, for whoever reads the old one meanwhile reads zeros.  FRE_E_IO: also where that failed. */
FRE_API FRE_MUST_CHECK fre_status fre_private_renew(const char *path, fre_bytes bytes,
                                                    fre_err *err);
/** Overwrites and removes such a file, and syncs its folder.  *was (may be NULL): it was there.  What a file
 * system, a disk or a backup copied earlier is not reached. */
FRE_API FRE_MUST_CHECK fre_status fre_private_erase(const char *path, bool *was, fre_err *err);
/** A folder of this user that nobody else can write to.  make: made, with its parents (0700), if it is missing.
 * FRE_E_REFUSED: it is another's, or others can; FRE_E_EXISTS (FRE_E_NOINPUT where !make). */
FRE_API FRE_MUST_CHECK fre_status fre_private_folder(const char *path, bool make, fre_err *err);

/* ---- output directory -------------------------------------------------------------------- */

/** A directory that appears whole or not at all: files are made in a hidden sibling
 * ".NAME.partial-XXXXXX" (mode 0700), synced, and the sibling is renamed to its name.  With
 * force an existing directory of an earlier run is swapped out in one rename (renameat2
 * RENAME_EXCHANGE, or two renames where the file system has none) and then removed.  */
typedef struct fre_outdir fre_outdir;

/** The file that marks a directory as the output of a run: whoever fills an outdir writes it. */
#define FRE_OUTDIR_MARK "release.json"

/** names: the files that an output may consist of, the mark among them, NULL-terminated; borrowed
 * until free.  force replaces only a directory that is empty, or has the mark and nothing but files
 * of these names, so that a slip of the pen cannot delete anything else.
 * Also removes partial siblings of the same name whose process is gone (it held a lock).
 * FRE_E_EXISTS: path exists and !force, is not a replaceable directory, or its parent is missing
 * or not writable. */
FRE_API FRE_MUST_CHECK fre_status fre_outdir_open(fre_outdir **out, const char *path,
                                                  const char *const *names, bool force,
                                                  fre_err *err);
/** New file in it, mode 0644 less the umask, opened for writing; owned by the outdir until commit
 * or free (do not close it).  FRE_E_ARG: not a plain name, or made before. */
FRE_API FRE_MUST_CHECK fre_status fre_outdir_file(fre_outdir *o, FILE **out, const char *name,
                                                  fre_err *err);
/** Flush, check every file for errors, close, sync, rename.  FRE_E_IO names the file ("disk full");
 * FRE_E_EXISTS: the name was taken meanwhile.  After a failure only fre_outdir_free is left. */
FRE_API FRE_MUST_CHECK fre_status fre_outdir_commit(fre_outdir *o, fre_err *err);
/** Remove what was made (if not committed) and free.  NULL is allowed. */
FRE_API void fre_outdir_free(fre_outdir *o);

/** One file, the same promise: written to a temporary sibling, renamed by commit.  `path` "-"
 * is standard output; a device or pipe is written directly.  FRE_E_EXISTS: a file is there and
 * !force, a directory is there, or the folder is missing or not writable. */
typedef struct fre_outfile fre_outfile;
FRE_API FRE_MUST_CHECK fre_status fre_outfile_open(fre_outfile **out, const char *path, bool force,
                                                   fre_err *err);
/** The stream to write to, until commit; do not close it. */
FRE_API FILE *fre_outfile_stream(fre_outfile *o);
FRE_API FRE_MUST_CHECK fre_status fre_outfile_commit(fre_outfile *o, fre_err *err);
FRE_API void fre_outfile_free(fre_outfile *o);
/** Called from the program's signal path before it dies: unlinks every open temporary.  Not
 * async-signal-safe; call it from normal context after fre_interrupted(). */
FRE_API void fre_outputs_abandon(void);

/* ---- spool ------------------------------------------------------------------------------- */

/** Append-only file of fixed-size records, encrypted (XChaCha20-Poly1305 by blocks) under a key
 * that lives in locked memory, or, when the caller wants to resume, in a key file of mode 0600.
 * Without a resume path the file is unlinked as soon as it is open.  Nothing readable is left
 * after a kill.  Sequential write, then any number of sequential passes. */
typedef struct fre_spool fre_spool;

typedef struct fre_spool_opts {
    const char *dir;         /**< folder for the file; NULL: $TMPDIR or /tmp */
    const char *resume_path; /**< NULL: anonymous.  Else data at PATH.spool, key at PATH.key */
    size_t record_bytes;     /**< 1..2^20 */
} fre_spool_opts;

/** Opens; with resume_path and both files present, continues after the last whole block (a block
 * is 64 KiB of records; a run that is killed loses the records of an unfinished one).
 * FRE_E_DATA: the files are there but do not fit (record size, key, damage before the end).
 * FRE_E_REFUSED: a file is a link, or others can read it.  FRE_E_AGAIN: another run has it open.
 * FRE_E_IO: no file can be made; "disk full" with the folder. */
FRE_API FRE_MUST_CHECK fre_status fre_spool_open(fre_spool **out, const fre_spool_opts *opts,
                                                 fre_err *err);
FRE_API uint64_t fre_spool_count(const fre_spool *s);
/** Also during a pass, which then sees the record.  On failure the record is not appended. */
FRE_API FRE_MUST_CHECK fre_status fre_spool_append(fre_spool *s, const void *record, fre_err *err);
/** Push whole blocks to the file so that a resume would see them. */
FRE_API FRE_MUST_CHECK fre_status fre_spool_flush(fre_spool *s, fre_err *err);
/** Start a pass at record 0 (a new spool stands there). */
FRE_API FRE_MUST_CHECK fre_status fre_spool_rewind(fre_spool *s, fre_err *err);
/** Next record into out; FRE_E_STATE at the end (callers count). */
FRE_API FRE_MUST_CHECK fre_status fre_spool_next(fre_spool *s, void *out, fre_err *err);
/** Wipe the key, close; `remove` deletes the resumable files too.  NULL is allowed. */
FRE_API void fre_spool_free(fre_spool *s, bool remove);

#ifdef __cplusplus
}
#endif
#endif /* FRE_CORE_H */
