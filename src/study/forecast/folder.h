/* folder.h - where a forecast keeps the corpus' embeddings and a release. */
#ifndef FRE_FORECAST_FOLDER_H
#define FRE_FORECAST_FOLDER_H

#include <fre/core.h>

typedef struct forecast_folder {
    char path[3072];    /* "": none */
    char rows[3200];    /* a .npy in it */
    char release[3200]; /* a folder in it */
} forecast_folder;

/* In $TMPDIR or /tmp.  FRE_E_IO. */
FRE_MUST_CHECK fre_status forecast_folder_make(forecast_folder *f, fre_err *err);
/* With what a forecast leaves in it. */
void forecast_folder_remove(forecast_folder *f);

#endif
