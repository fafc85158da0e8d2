/* audit_run.h - audits that tests run: what they found, in a line each; sound ones and such with a defect in
 * one step. */
#ifndef FRE_TEST_AUDIT_RUN_H
#define FRE_TEST_AUDIT_RUN_H

#include <fre/audit.h>

/* Ends the program where it fails.  AUDIT_VERBOSE: a line for each scenario. */
fre_audit *audit_run(const fre_audit_opts *o);

/* ---- collections with discrete noise, of few numbers ---------------------------------------------- */

#define AUDIT_EPSILON 2 /* above 2 ln 2, what two records at p = .5 cost */
#define AUDIT_SPLIT 1

/* One contact, servers' noise; clients'. */
fre_mechanism audit_of_servers(void);
fre_mechanism audit_of_clients(bool one_contact);
/* At the delta that its own account gives. */
fre_audit_opts audit_claim(const fre_mechanism *m, uint64_t runs);
/* No test refutes it. */
void audit_passes(const fre_audit_opts *o, const char *what);
/* Refuted, also by a scenario whose name has `by` in it. */
void audit_caught(fre_audit_opts o, const fre_audit_steps *steps, const char *what, const char *by);

#endif /* FRE_TEST_AUDIT_RUN_H */
