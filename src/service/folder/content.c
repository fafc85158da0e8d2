/* folder/content.c - statement and texts of a release. */
#include <fre/folder.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char records_are_users[] =
    "No user was named, so each record counts as a user of its own: the claim is about one record, "
    "and "
    "not about a person with several. With m records in different cells m times epsilon and m "
    "times "
    "delta are at stake; whoever has about tau equal ones can be seen for certain.\n";

static const char total[] = "No record by itself decides whether there is a release: one that "
                            "cannot be used is left out, and "
                            "an embedding longer than the norm bound is cut to it.\n"
                            "Not covered by the claim is whether the whole input was refused: more "
                            "than N users, most records "
                            "not usable, none that holds a word, a damaged file; its format, "
                            "encoding and separators are taken for publicly known, and "
                            "its writer for one that keeps records apart.\n";

static const char first_fault_ends[] = "Strict: the first record that cannot be used, or whose "
                                       "embedding is longer than the norm bound, "
                                       "would have ended the run. That there is a release tells "
                                       "that nobody has such a record, and is not "
                                       "covered by the claim; nor is whether the whole input was "
                                       "refused (more than N users, none that "
                                       "holds a word, a damaged file).\n";

static fre_status about_users(fre_buf *b, bool users_named)
{
    return users_named ? FRE_OK
                       : fre_buf_append(b, records_are_users, sizeof records_are_users - 1);
}

static fre_status about_intake(fre_buf *b, bool strict)
{
    return strict ? fre_buf_append(b, first_fault_ends, sizeof first_fault_ends - 1)
                  : fre_buf_append(b, total, sizeof total - 1);
}

fre_status fre_folder_statement(char **out, const fre_plan *plan, bool is_private, bool users_named,
                                bool strict, fre_err *err)
{
    char *text = NULL;
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, 1u << 16);
    st = fre_plan_statement(&b, plan, is_private);
    if (st == FRE_OK && isfinite(plan->account.epsilon))
        st = about_users(&b, users_named);
    if (st == FRE_OK && isfinite(plan->account.epsilon))
        st = about_intake(&b, strict);
    if (st == FRE_OK)
        st = fre_buf_append(&b, "", 1);
    if (st == FRE_OK)
        text = strdup((const char *)b.p);
    fre_buf_wipe(&b);
    if (!text)
        return fre_fail(err, st != FRE_OK ? st : FRE_E_NOMEM, "out of memory");
    *out = text;
    return FRE_OK;
}

fre_status fre_folder_invert(fre_released_cell *cell, fre_inverter *inverter, const float *centroid,
                             const double *noise_std, size_t n, const fre_progress *progress,
                             fre_err *err)
{
    fre_inversion *v = NULL;
    fre_status st;

    if (n == 0)
        return FRE_OK;
    v = calloc(n, sizeof *v);
    if (!v)
        return fre_fail(err, FRE_E_NOMEM, "out of memory");
    st = fre_invert_apart(inverter, v, centroid, noise_std, n, progress, err);
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        cell[i].text = v[i]; /* moved */
    free(v);
    return st;
}

fre_status fre_folder_paraphrase(fre_released_cell *cell, fre_paraphraser *paraphraser,
                                 const float *centroid, size_t dim, const double *noise_std,
                                 size_t n, const fre_progress *progress, fre_err *err)
{
    fre_paraphrase_source *source = calloc(n + 1, sizeof *source);
    fre_paraphrases *made = calloc(n + 1, sizeof *made);
    fre_status st = FRE_OK;

    if (!source || !made)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; st == FRE_OK && i < n; i++)
        source[i] =
            (fre_paraphrase_source){.text = cell[i].text.text ? cell[i].text.text : "",
                                    .len = cell[i].text.text ? strlen(cell[i].text.text) : 0,
                                    .centroid = centroid + i * dim,
                                    .noise_std = noise_std[i]};
    if (st == FRE_OK)
        st = fre_paraphrase_texts(paraphraser, made, source, n, progress, err);
    for (size_t i = 0; st == FRE_OK && i < n; i++) {
        cell[i].text.paraphrases = made[i].text; /* moved */
        cell[i].text.n_paraphrases = made[i].n;
    }
    free(source);
    free(made);
    return st;
}
