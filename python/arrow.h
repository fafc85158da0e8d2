/* arrow.h - columns of texts and users of Arrow arrays as JSON lines.  The structs are those of the Arrow C data
 * interface (arrow.apache.org/docs/format/CDataInterface.html), which are stable and made to be copied. */
#ifndef FRE_PYTHON_ARROW_H
#define FRE_PYTHON_ARROW_H

#include <fre/core.h>

struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

struct ArrowArrayStream {
    int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *);
    int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *);
    const char *(*get_last_error)(struct ArrowArrayStream *);
    void (*release)(struct ArrowArrayStream *);
    void *private_data;
};

/** A column: what its schema says, checked by the caller. */
typedef struct fre_py_column {
    int64_t child; /**< of the chunk; -1: the chunk itself */
    char
        format; /**< of its values: u U v (strings, large strings, views), c C s S i I l L (integers), n (nulls) */
    char index;      /**< of a dictionary: its indices, one of the integers; 0: it is none */
    const char *key; /**< the name as a JSON string */
} fre_py_column;

/** Rows first..first + n - 1 of a chunk as JSON lines at the end of fd; user NULL: none.  A null is left out (a text: null).
 * before: rows of chunks before, which messages count.  FRE_E_DATA: a chunk that contradicts itself; FRE_E_IO;
 * FRE_E_NOMEM.  How long a buffer is the interface does not say, but of views: offsets that rise beyond one are the
 * exporter's word. */
fre_status fre_py_arrow_lines(int fd, const struct ArrowArray *chunk, int64_t first, int64_t n,
                              const fre_py_column *text, const fre_py_column *user, int64_t before,
                              fre_err *err);

#endif
