/* release/content.c - a release in memory: its statement and its texts. */
#include <fre/release.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_level(fre_release *r, const char *name, const fre_sketch_spec *sketch)
{
    fre_release_level *l = &r->level[r->n_levels++];

    (void)snprintf(l->name, sizeof l->name, "%s", name);
    l->sketch = *sketch;
}

static void set_levels(fre_release *r, const fre_plan *plan)
{
    const fre_plan_request *q = &plan->request;

    r->n_levels = 0;
    if (!q->no_grid)
        add_level(r, "grid", &plan->mechanism.sketch);
    for (size_t i = 0; i < q->n_levels; i++)
        add_level(r, q->level[i].name, &q->level[i].sketch);
}

const uint8_t *fre_release_codebook(const fre_release *r)
{
    return r->n_levels > 0 ? fre_sketch_file(&r->level[r->n_levels - 1].sketch) : NULL;
}

void fre_release_set_plan(fre_release *r, const fre_plan *plan, const uint8_t *grid_seed)
{
    const fre_mechanism *m = &plan->mechanism;

    r->grid = (fre_sketch_params){.dim = plan->request.dim, .grid = fre_plan_compare_grid(plan)};
    memcpy(r->grid.seed, grid_seed, sizeof r->grid.seed);
    r->threshold = plan->request.threshold;
    r->radius = plan->request.radius;
    r->sampling_rate = (double)m->p32 / (double)FRE_P_ONE;
    r->sigma = m->sigma;
    r->tau = m->tau;
    r->records_max = m->population;
    r->norm_bound = plan->request.norm_bound;
    set_levels(r, plan);
}

bool fre_release_has_themes(const fre_release *r)
{
    return r->n_levels > 1 || fre_release_codebook(r);
}

const char *fre_release_no_cell(const fre_release *r)
{
    return fre_release_has_themes(r) ? FRE_RELEASE_NO_CELL_BY_LEVELS : FRE_RELEASE_NO_CELL;
}

static void wipe_cell(fre_released_cell *c)
{
    fre_inversion_wipe(&c->text);
    free(c->around);
    for (size_t i = 0; i < c->n_texts; i++)
        fre_inversion_wipe(&c->texts[i]);
    free(c->texts);
}

void fre_release_wipe(fre_release *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->cell && i < r->n; i++)
        wipe_cell(&r->cell[i]);
    free(r->cell);
    free(r->centroid);
    free(r->cell_name);
    free(r->statement);
    *r = (fre_release){.n = 0};
}

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

static fre_status about_strictness(fre_buf *b, bool strict)
{
    return strict ? fre_buf_append(b, first_fault_ends, sizeof first_fault_ends - 1)
                  : fre_buf_append(b, total, sizeof total - 1);
}

fre_status fre_release_statement(char **out, const fre_plan *plan, bool is_private,
                                 bool users_named, bool strict, fre_err *err)
{
    char *text = NULL;
    fre_buf b;
    fre_status st;

    fre_buf_init(&b, 1u << 16);
    st = fre_plan_statement(&b, plan, is_private);
    if (st != FRE_OK)
        goto out;
    if (isfinite(plan->account.epsilon)) {
        st = about_users(&b, users_named);
        if (st == FRE_OK)
            st = about_strictness(&b, strict);
    }
    if (st == FRE_OK)
        st = fre_buf_append(&b, "", 1);
    if (st == FRE_OK)
        text = strdup((const char *)b.p);
out:
    fre_buf_wipe(&b);
    if (!text)
        return fre_fail(err, st != FRE_OK ? st : FRE_E_NOMEM, "out of memory");
    *out = text;
    return FRE_OK;
}

fre_status fre_release_invert(fre_release *r, fre_inverter *inverter, const double *noise_std,
                              const fre_progress *progress, fre_err *err)
{
    const size_t dim = r->grid.dim;
    fre_inversion *v = calloc(r->n + 1, sizeof *v);
    float *mu = malloc((r->n * dim + 1) * sizeof *mu);
    double *std = malloc((r->n + 1) * sizeof *std);
    size_t n = 0;
    fre_status st = v && mu && std ? FRE_OK : fre_fail(err, FRE_E_NOMEM, "out of memory");

    for (size_t i = 0; st == FRE_OK && i < r->n; i++) {
        if (r->cell[i].text.text)
            continue;
        memcpy(mu + n * dim, r->centroid + i * dim, dim * sizeof *mu);
        std[n++] = noise_std[i];
    }
    if (st == FRE_OK && n > 0)
        st = fre_invert_apart(inverter, v, mu, std, n, progress, err);
    n = 0;
    for (size_t i = 0; st == FRE_OK && i < r->n; i++)
        if (!r->cell[i].text.text)
            r->cell[i].text = v[n++]; /* moved */
    free(v);
    free(mu);
    free(std);
    return st;
}

static bool is_kept(const fre_released_cell *c, double least)
{
    return c->text.confidence.known && c->text.confidence.same >= least;
}

void fre_release_keep(fre_release *r, double least)
{
    const size_t dim = r->grid.dim;
    size_t n = 0;

    for (size_t i = 0; i < r->n; i++) {
        if (!is_kept(&r->cell[i], least)) {
            r->level[r->cell[i].level].cells--;
            wipe_cell(&r->cell[i]);
            continue;
        }
        r->cell[n] = r->cell[i];
        memmove(r->centroid + n * dim, r->centroid + i * dim, dim * sizeof *r->centroid);
        if (r->cell_name)
            r->cell_name[n] = r->cell_name[i];
        n++;
    }
    r->min_confidence = least;
    r->left_out += r->n - n;
    r->n = n;
}

fre_status fre_release_paraphrase(fre_release *r, fre_paraphraser *paraphraser,
                                  const double *noise_std, const fre_progress *progress,
                                  fre_err *err)
{
    fre_paraphrase_source *source = calloc(r->n + 1, sizeof *source);
    fre_paraphrases *made = calloc(r->n + 1, sizeof *made);
    fre_status st = FRE_OK;

    if (!source || !made)
        st = fre_fail(err, FRE_E_NOMEM, "out of memory");
    for (size_t i = 0; st == FRE_OK && i < r->n; i++) {
        const char *text = r->cell[i].text.text ? r->cell[i].text.text : "";

        source[i] = (fre_paraphrase_source){.text = text,
                                            .len = strlen(text),
                                            .centroid = r->centroid + i * r->grid.dim,
                                            .noise_std = noise_std[i]};
    }
    if (st == FRE_OK)
        st = fre_paraphrase_texts(paraphraser, made, source, r->n, progress, err);
    for (size_t i = 0; st == FRE_OK && i < r->n; i++) {
        r->cell[i].text.paraphrases = made[i].text; /* moved */
        r->cell[i].text.n_paraphrases = made[i].n;
    }
    free(source);
    free(made);
    return st;
}
