/* For tests: what the fast paths are compared with. */
#ifndef FRE_MODEL_REFERENCE_H
#define FRE_MODEL_REFERENCE_H

#include <fre/model.h>

/* A model that llama.cpp runs (kernels NULL) or that bert.h or causal.h runs with the kernels of
 * this name; FRE_E_STATE: this processor does not have them, or the model is of another shape. */
FRE_MUST_CHECK fre_status fre_model_open_reference(fre_model **out, const char *path,
                                                   fre_model_kind kind, const char *kernels,
                                                   fre_err *err);

#endif
