/* audit_run.c - see audit_run.h. */
#include "audit_run.h"

#include "must.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fre_audit *audit_run(const fre_audit_opts *o)
{
    fre_audit *a = NULL;
    fre_err err = {.text = ""};
    const fre_status st = fre_audit_run(&a, o, &err);

    if (st != FRE_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    must(st == FRE_OK);
    for (size_t i = 0; i < a->n && getenv("AUDIT_VERBOSE"); i++) {
        const fre_audit_scenario *s = &a->scenario[i];

        (void)printf("  %-66s %.3f %-7s %-8s; delta %.5f of %.5f at %.2f%s\n", s->name,
                     s->epsilon_lower, s->learned ? "learned" : "known",
                     s->backward ? "backward" : "forward", s->curve_lower, s->curve_claimed,
                     s->curve_epsilon, s->curve_backward ? ", back" : "");
    }
    return a;
}

/* ---- collections ----------------------------------------------------------------------------------- */

fre_mechanism audit_of_servers(void)
{
    return (fre_mechanism){.p32 = FRE_P_ONE / 2,
                           .tau = 10,
                           .sigma = 1.1,
                           .population = 1000,
                           .sensitivity = FRE_SENSITIVITY_WORST_CASE,
                           .norm_bound = .5,
                           .dim = 4,
                           .lattice_step = .01, /* the protocol's costs a quarter in so few dimensions */
                           .cells_per_user = 1,
                           .noise = FRE_NOISE_DISCRETE,
                           .dist = {.on = true,
                                    .cover = true,
                                    .one_contact = true,
                                    .server_noise = true,
                                    .lambda = 2,
                                    .gamma = 20,
                                    .phi = 1e-10}};
}

fre_mechanism audit_of_clients(bool one_contact)
{
    fre_mechanism m = audit_of_servers();

    m.dist.server_noise = false;
    m.dist.one_contact = one_contact;
    m.dist.curious = 1;
    m.dist.dropout = one_contact ? 0 : .1;
    return m;
}

fre_audit_opts audit_claim(const fre_mechanism *m, uint64_t runs)
{
    fre_audit_opts o = {.mechanism = *m,
                        .epsilon = AUDIT_EPSILON,
                        .split = AUDIT_SPLIT,
                        .runs = runs,
                        .confidence = .999,
                        .threads = 2,
                        .seeded = true,
                        .seed = {17}};
    fre_account a;
    fre_err err = {.text = ""};

    if (fre_joint_delta_at_split(&a, m, AUDIT_EPSILON, AUDIT_SPLIT, &err) != FRE_OK)
        (void)fprintf(stderr, "%s\n", err.text);
    o.delta = a.delta;
    must(a.delta > 0 && a.delta < 1);
    return o;
}

void audit_passes(const fre_audit_opts *o, const char *what)
{
    fre_audit *a = audit_run(o);
    bool below = true;

    for (size_t i = 0; i < a->n; i++)
        below = below && a->scenario[i].curve_lower <= a->scenario[i].curve_claimed;
    (void)printf("sound, %s: %.3f of %.3f at delta %.3g\n", what, a->epsilon_lower, a->epsilon,
                 a->delta);
    (void)fflush(stdout);
    must(!a->refuted && a->curve && below && a->shares.beta > 0);
    fre_audit_free(a);
}

void audit_caught(fre_audit_opts o, const fre_audit_steps *steps, const char *what, const char *by)
{
    bool found = false;
    fre_audit *a;

    o.steps = steps;
    a = audit_run(&o);
    (void)printf("%s: %.3f of %.3f; delta %.4f of %.4f, %s\n", what, a->epsilon_lower, a->epsilon,
                 a->scenario[a->curve_worst].curve_lower,
                 a->scenario[a->curve_worst].curve_claimed, a->scenario[a->curve_worst].name);
    for (size_t i = 0; i < a->n; i++) {
        const fre_audit_scenario *s = &a->scenario[i];

        found = found || (strstr(s->name, by) &&
                          (s->epsilon_lower > a->epsilon || s->curve_lower > s->curve_claimed));
    }
    (void)fflush(stdout);
    must(a->refuted && found);
    fre_audit_free(a);
}
