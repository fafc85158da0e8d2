/* ledger/params.c - ranges; see fre/param.h. */
#include <fre/ledger.h>

const fre_param fre_ledger_param_budget_epsilon = {
    .name = "budget_epsilon", .highest = 1e6, .above = true};
const fre_param fre_ledger_param_budget_delta = {
    .name = "budget_delta", .highest = 1, .above = true};
