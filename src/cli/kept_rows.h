/* kept_rows.h - embeddings of public texts, kept beside an output until it is made, so that an interrupted run
 * can go on. */
#ifndef FRE_CLI_KEPT_ROWS_H
#define FRE_CLI_KEPT_ROWS_H

#include <fre/embed.h>

typedef struct cli_kept cli_kept;

/* OUTPUT.resume.spool and .key; what an interrupted run left there is read first.  The embedder and output are
 * borrowed until free.  Statuses of fre_spool_open. */
FRE_MUST_CHECK fre_status cli_kept_open(cli_kept **out, fre_embedder *e, const char *output,
                                        fre_err *err);
/* fre_embed_texts, of the next n texts: rows that were kept come from there.  FRE_E_DATA also: they are of
 * other texts, or of another embedder. */
FRE_MUST_CHECK fre_status cli_kept_embed(cli_kept *k, float *rows, const char *const *text,
                                         const size_t *len, size_t n, fre_err *err);
/* remove: the output is made, and nothing is to be gone on with.  NULL is allowed. */
void cli_kept_free(cli_kept *k, bool remove);

#endif /* FRE_CLI_KEPT_ROWS_H */
