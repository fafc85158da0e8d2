/* plan_args.c - from the privacy arguments to a request. */
#include "plan_args.h"

const char *const cli_adjacencies[] = {"add-remove", "replace", NULL};
const char *const cli_accountants[] = {"joint", "paper", NULL};
const char *const cli_gaussians[] = {"analytic", "zcdp", NULL};
const char *const cli_sensitivities[] = {"probabilistic", "worst-case", NULL};
const char *const cli_noises[] = {"continuous", "discrete", NULL};
const char *const cli_counts[] = {"noisy", "sampled", NULL};
const char *const cli_switch[] = {"on", "off", NULL};
const char *const cli_contacts[] = {"one", "two", NULL};
const char *const cli_noise_by[] = {"servers", "clients", NULL};

/* A value that the joint accountant would pass over in silence. */
static fre_status refuse_paper_flags(const fre_plan_request *r, fre_err *err)
{
    fre_plan_request preset;
    const char *flag = NULL;

    fre_plan_request_init(&preset);
    if (r->gaussian == FRE_GAUSSIAN_ZCDP)
        flag = "gaussian zcdp";
    else if (r->budget_factor > 0)
        flag = "budget-factor";
    else if (fabs(r->sensitivity_ratio - preset.sensitivity_ratio) > 0)
        flag = "sensitivity-ratio";
    if (!flag || r->accountant == FRE_ACCOUNTANT_PAPER)
        return FRE_OK;
    return fre_fail(err, FRE_E_USAGE, "--%s belongs to --accountant paper", flag);
}

fre_status cli_plan_request(fre_plan_request *out, const cli *c, fre_err *err)
{
    fre_plan_request r;
    fre_status st;

    if (cli_given(c, "cell-edge") && cli_given(c, "cell-scale"))
        return fre_fail(err, FRE_E_USAGE, "give --cell-edge or --cell-scale, not both");
    fre_plan_request_init(&r);
    r.epsilon = cli_number(c, "epsilon");
    r.delta = cli_number(c, "delta"); /* 0: auto */
    r.threshold = cli_whole(c, "threshold");
    r.radius = cli_number(c, "radius");
    r.population = cli_whole(c, "population");
    r.proj = (uint32_t)cli_whole(c, "projection-dim"); /* 0: auto */
    r.cell_scale = cli_number(c, "cell-scale");
    r.cell_edge = cli_number(c, "cell-edge"); /* 0: not given */
    r.sampling_rate = cli_number(c, "sampling-rate");
    r.adjacency = cli_choice(c, "adjacency") ? FRE_ADJACENCY_REPLACE : FRE_ADJACENCY_ADD_REMOVE;
    r.accountant = cli_choice(c, "accountant") ? FRE_ACCOUNTANT_PAPER : FRE_ACCOUNTANT_JOINT;
    r.gaussian = cli_choice(c, "gaussian") ? FRE_GAUSSIAN_ZCDP : FRE_GAUSSIAN_ANALYTIC;
    r.budget_factor = cli_number(c, "budget-factor");
    r.sensitivity_ratio = cli_number(c, "sensitivity-ratio");
    r.sensitivity =
        cli_choice(c, "sensitivity") ? FRE_SENSITIVITY_WORST_CASE : FRE_SENSITIVITY_PROBABILISTIC;
    r.norm_bound = cli_number(c, "norm-bound");
    r.cells_per_user = (uint32_t)cli_whole(c, "max-cells-per-user");
    st = refuse_paper_flags(&r, err);
    if (st == FRE_OK)
        st = fre_plan_request_levels(&r, cli_text(c, "levels"), fre_param_clip_radius.preset,
                                     cli_choice(c, "counts") ? FRE_COUNTS_SAMPLED
                                                             : FRE_COUNTS_NOISY,
                                     err);
    if (st == FRE_OK)
        *out = r;
    return st;
}

json_t *cli_warning_json(const char *warning)
{
    return cli_texts_json(&warning, warning ? 1 : 0);
}

fre_status cli_collection(fre_distributed *out, const cli *c, fre_err *err)
{
    const bool one_contact = cli_choice(c, "contacts") == 0;
    const bool servers = cli_given(c, "noise-by") ? cli_choice(c, "noise-by") == 0 : one_contact;

    if (one_contact && cli_given(c, "dropout") && cli_number(c, "dropout") > 0)
        return fre_fail(err, FRE_E_USAGE,
                        "--contacts one asks for no second answer that could stay out: leave out "
                        "--dropout");
    if (servers && !one_contact)
        return fre_fail(err, FRE_E_USAGE,
                        "--noise-by servers needs --contacts one: with two, users add the noise");
    *out = (fre_distributed){.on = true,
                             .cover = cli_choice(c, "cover") == 0,
                             .one_contact = one_contact,
                             .server_noise = servers,
                             .splits = cli_flag(c, "splits"),
                             .curious = (uint32_t)cli_whole(c, "curious-users"),
                             .dropout = one_contact ? 0 : cli_number(c, "dropout")};
    return FRE_OK;
}

fre_status cli_distributed(fre_distributed *out, fre_noise *noise, const cli *c, fre_err *err)
{
    const bool on = cli_flag(c, "distributed");
    fre_distributed d;
    fre_status st;

    if (!on && cli_given(c, "noise") && cli_choice(c, "noise"))
        return fre_fail(err, FRE_E_USAGE,
                        "--noise discrete is made of the users' own shares and needs "
                        "--distributed: a curator's noise is continuous, exactly rounded");
    st = cli_collection(&d, c, err);
    if (st != FRE_OK)
        return st;
    d.on = on;
    *noise = on ? FRE_NOISE_DISCRETE : FRE_NOISE_CONTINUOUS;
    if (cli_given(c, "noise"))
        *noise = cli_choice(c, "noise") ? FRE_NOISE_DISCRETE : FRE_NOISE_CONTINUOUS;
    *out = d;
    return FRE_OK;
}

fre_status cli_distributed_request(fre_plan_request *io, const cli *c, fre_err *err)
{
    fre_status st = cli_distributed(&io->dist, &io->noise, c, err);

    if (st != FRE_OK)
        return st;
    if (io->accountant == FRE_ACCOUNTANT_PAPER) { /* its protocol has two, and users add noise */
        io->dist.server_noise = io->dist.server_noise && cli_given(c, "noise-by");
        io->dist.one_contact = io->dist.one_contact && cli_given(c, "contacts");
    }
    if (!cli_given(c, "curious-users"))
        io->dist.curious *= io->cells_per_user; /* w counts places */
    for (size_t i = 0; io->dist.on && i < io->n_levels && !cli_given(c, "counts"); i++)
        io->level[i].counts = FRE_COUNTS_SAMPLED; /* the only kind there */
    return FRE_OK;
}

fre_status cli_collection_request(fre_plan_request *out, const cli *c, fre_err *err)
{
    fre_status st = cli_plan_request(out, c, err);

    if (st == FRE_OK)
        st = cli_collection(&out->dist, c, err);
    if (st != FRE_OK)
        return st;
    out->noise = FRE_NOISE_DISCRETE;
    if (!cli_given(c, "curious-users"))
        out->dist.curious *= out->cells_per_user; /* w counts places */
    for (size_t i = 0; i < out->n_levels && !cli_given(c, "counts"); i++)
        out->level[i].counts = FRE_COUNTS_SAMPLED;   /* the only kind there */
    out->max_dummies = cli_number(c, "max-dummies"); /* 0: not given */
    return st;
}
