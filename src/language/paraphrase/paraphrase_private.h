/* paraphrase_private.h - the parts: asking for candidates, telling them apart, choosing. */
#ifndef FRE_PARAPHRASE_PRIVATE_H
#define FRE_PARAPHRASE_PRIVATE_H

#include <fre/fold.h>
#include <fre/paraphrase.h>

/* Tuned on held-out public text (docs/inversion.md). */
#define PARA_TRIES_LM 1u      /* answers of the language model for each paraphrase wanted */
#define PARA_COOLER 0.6       /* its temperature, of the one asked for: at 1 a small one strays */
#define PARA_TRIES_DECODER 8u /* texts of the decoder, likewise, ... */
#define PARA_DRAWS_LEAST 48u  /* ... and at least so many in all */
#define PARA_POINTS 6u        /* that the decoder is asked for */
#define PARA_SCORED 3u        /* of the near ones the language model scores, for each wanted */

/* ---- fold.c: texts as their words ------------------------------------------------------------- */

/* Equal but for case, marks and spaces; of folded texts. */
bool para_same(const char *a, const char *b);
/* F1 of the words of two folded texts, each word as often as it comes; 0 when one has none. */
double para_overlap(const char *a, const char *b);

/* ---- choose.c: the best of the candidates ----------------------------------------------------- */

typedef struct para_candidate {
    char *text;   /* owned */
    char *folded; /* owned */
    double logp;
    double dist2; /* to the centroid, or to the text's own embedding without one */
    bool near;
    double score;
} para_candidate;

/* The candidates of one source. */
typedef struct para_list {
    para_candidate *c;
    size_t n, cap, drawn;
    char *folded;             /* the source itself, owned */
    const fre_teller *teller; /* borrowed; NULL: everything is told */
    char *source;             /* for the teller, owned */
} para_list;

void para_list_wipe(para_list *l);
/* Takes a copy of the text unless it is the source or known already, has no word, or is none to tell. */
FRE_MUST_CHECK fre_status para_list_add(para_list *l, const char *text, size_t len, double logp);
/* Where a source lies, and how far from it a candidate may. */
typedef struct para_place {
    const float *text;     /* E(text) */
    const float *centroid; /* mu; E(text) without one */
    double noise_std, distance;
    size_t dim;
} para_place;

/* Distances of every candidate (x: l->n rows) and whether it is near. */
void para_measure(para_list *l, const float *x, const para_place *p);
/* Drop what is not near, and of those near (*near of them) the farthest beyond `most`. */
void para_keep_near(para_list *l, size_t *near, size_t most);
/* The posterior of each candidate. */
void para_score(para_list *l, double noise_std);
/* At most `want` of them, best first, moved into out. */
FRE_MUST_CHECK fre_status para_choose(fre_paraphrases *out, para_list *l, size_t want);

/* ---- ask.c: candidates ------------------------------------------------------------------------ */

/* What the language model is shown for a text: an instruction (chat), or a list to go on with. */
FRE_MUST_CHECK fre_status para_prompt(fre_buf *out, const char *text, size_t len, bool chat);
/* A model's answer without spaces, quotes, list marks and labels around it: a part of `text`. */
const char *para_answer(const char *text, size_t *len);

struct fre_paraphraser {
    fre_paraphraser_opts o; /* defaults filled in */
    fre_teller *teller;
    size_t dim;
};

/* A centroid or noise that cannot be used: FRE_E_DATA, which calls the source by its number. */
FRE_MUST_CHECK fre_status para_check_source(const fre_paraphrase_source *s, size_t dim,
                                            size_t number, fre_err *err);

/* Candidates of one source, seeded by its own content. */
FRE_MUST_CHECK fre_status para_ask_lm(fre_paraphraser *p, para_list *l, const fre_paraphrase_source *s,
                       fre_err *err);
/* The same by the inverter; x: E(text). */
FRE_MUST_CHECK fre_status para_ask_decoder(fre_paraphraser *p, para_list *l, const fre_paraphrase_source *s,
                            const float *x, fre_err *err);

#endif
