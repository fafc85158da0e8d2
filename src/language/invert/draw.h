/* draw.h - plans, what one sequence is to write, and the drawer, which writes them. */
#ifndef FRE_INVERT_DRAW_H
#define FRE_INVERT_DRAW_H

#include "projector.h"
#include "tuning.h"

/* Where a candidate comes from. */
typedef enum inv_kind {
    INV_FIRST, /* first draws */
    INV_SUFFIX,
    INV_SPAN,
    INV_REPLACE,
    INV_INSERT,
    INV_MOVE,
    INV_DELETE,
    INV_MARK,
    INV_JOIN,
    INV_CORRECT, /* the corrector's */
    INV_SWAP,
    INV_NEAR,    /* texts of the public corpus */
    INV_WORD,    /* a word for another, by its neighbours */
    INV_ADD,     /* a word more, by its neighbours */
    INV_RESPOND, /* a word that the distance asks for */
    INV_UNKNOWN, /* a word that the embedder does not know, more or for another */
    INV_KINDS
} inv_kind;

/* Given tokens, then drawn ones, then given ones.  `open`: drawn until the end token, no tail;
 * else exactly n_free are drawn, none of them the end, and the end follows the tail. */
typedef struct inv_plan {
    int32_t head[INV_TOKENS], tail[INV_TOKENS];
    uint32_t n_head, n_free, n_tail;
    bool open, greedy;
    inv_kind kind;
} inv_plan;

typedef struct inv_draw {
    int32_t ids[INV_TOKENS];
    uint32_t n;
    inv_kind kind;
    double logp; /* log p(text and end | prefix) at temperature 1, natural log */
} inv_draw;

/* Workspace of one thread. */
typedef struct inv_drawer {
    fre_model_ctx *ctx;
    const fre_model *model;
    float *logits;
    uint32_t capacity, prefix_rows, max_rows; /* of a prefix: the projector's, with a hypothesis */
    int32_t end;
} inv_drawer;

FRE_MUST_CHECK fre_status inv_drawer_init(inv_drawer *d, const fre_model *m, const inv_projector *p,
                                          uint32_t capacity, fre_err *err);
void inv_drawer_wipe(inv_drawer *d);
/* n <= capacity sequences after one prefix. */
FRE_MUST_CHECK fre_status inv_drawer_run(inv_drawer *d, inv_draw *out, const inv_plan *plan,
                                         uint32_t n, const float *prefix, double temperature,
                                         fre_rng *rng, fre_err *err);
/* The same after n_rows rows and then tokens, a corrector's. */
typedef struct inv_prefix {
    const float *rows;
    uint32_t n_rows;
    const int32_t *ids;
    uint32_t n_ids;
} inv_prefix;
FRE_MUST_CHECK fre_status inv_drawer_run_behind(inv_drawer *d, inv_draw *out, const inv_plan *plan,
                                                uint32_t n, const inv_prefix *prefix,
                                                double temperature, fre_rng *rng, fre_err *err);

#endif /* FRE_INVERT_DRAW_H */
