/* projector.h - embedding and noise level -> rows that stand in front of the text. */
#ifndef FRE_INVERT_PROJECTOR_H
#define FRE_INVERT_PROJECTOR_H

#include <fre/model.h>
#include <fre/prior.h>

#define INV_PROJECTOR_ARCHITECTURE "fre-e2t-projector"

/* One hidden layer and a straight way past it. */
typedef struct inv_net {
    const float *w0, *w1, *b1, *w2, *b2; /* borrowed from the tensors */
    uint32_t in, hidden, out;
} inv_net;

typedef struct inv_projector {
    fre_tensors *tensors;
    inv_net first, corrector;
    uint32_t dim, rows, width; /* width: of one prefix row */
    uint32_t corrector_rows;   /* 0: there is no corrector */
    bool posterior_mean;       /* what it reads: E[e | mu], not mu */
    const fre_prior *prior;    /* borrowed; NULL: none */
} inv_projector;

FRE_MUST_CHECK fre_status inv_projector_open(inv_projector *p, const char *path, fre_err *err);
void inv_projector_wipe(inv_projector *p);
/* Do the parts belong together?  Keeps the prior. */
FRE_MUST_CHECK fre_status inv_projector_fit(inv_projector *p, uint32_t embedder_dim,
                                            const fre_model_info *decoder, const fre_prior *prior,
                                            fre_err *err);
/* out: rows * width floats. */
FRE_MUST_CHECK fre_status inv_projector_run(const inv_projector *p, float *out, const float *mu,
                                            double noise_std);
/* The same for what is known of the embedding, by a bridge and as much as under such noise. */
FRE_MUST_CHECK fre_status inv_projector_run_known(const inv_projector *p, float *out,
                                                  const float *known, double noise_std);
/* out: corrector_rows * width floats, which go between those rows and the hypothesis. */
FRE_MUST_CHECK fre_status inv_corrector_run(const inv_projector *p, float *out, const float *mu,
                                            double noise_std, const float *hypothesis);

#endif /* FRE_INVERT_PROJECTOR_H */
