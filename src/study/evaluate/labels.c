/* evaluate/labels.c - the labels of the originals while they are read. */
#include "evaluate_private.h"

#include <stdlib.h>
#include <string.h>

fre_status evaluate_labels_init(evaluate_labels *l)
{
    fre_status st = evaluate_distinct_init(&l->name, false);

    l->list = NULL;
    return st == FRE_OK ? evaluate_distinct_init(&l->pair, true) : st;
}

void evaluate_labels_wipe(evaluate_labels *l)
{
    evaluate_distinct_wipe(&l->name);
    evaluate_distinct_wipe(&l->pair);
    free(l->list);
    l->list = NULL;
}

fre_status evaluate_labels_add(evaluate_labels *l, size_t row, const char *label, size_t len,
                               fre_err *err)
{
    size_t at;
    fre_status st;

    if (len == 0)
        return FRE_OK;
    st = evaluate_distinct_add(&l->name, &at, label, len);
    if (st == FRE_OK && l->name.n > EVALUATE_LABELS_MAX)
        return fre_fail(err, FRE_E_DATA,
                        "more than %u different labels: does {label_field} name a label, or what "
                        "each record has for itself?",
                        EVALUATE_LABELS_MAX);
    if (st == FRE_OK) {
        const uint32_t pair[2] = {(uint32_t)row, (uint32_t)at};

        st = evaluate_distinct_add(&l->pair, &at, pair, sizeof pair);
    }
    return st == FRE_OK ? st : evaluate_no_memory(err);
}

fre_status evaluate_labels_view(evaluate_labels *l, fre_labels *out, const fre_originals *o)
{
    uint32_t *number = malloc((l->name.n + 1) * sizeof *number); /* as they first come */
    fre_labels v = {.n = 0};

    free(l->list);
    l->list = malloc((l->pair.n + 1) * sizeof *l->list);
    if (!l->list || !number) {
        free(number);
        return FRE_E_NOMEM;
    }
    memset(number, 0xff, (l->name.n + 1) * sizeof *number);
    for (size_t i = 0; i < l->pair.n; i++) {
        uint32_t pair[2];

        memcpy(pair, evaluate_distinct_text(&l->pair, i), sizeof pair);
        if (o->weight[pair[0]] == 0)
            continue;
        if (number[pair[1]] == UINT32_MAX)
            number[pair[1]] = (uint32_t)v.n++;
        l->list[v.n_pairs++] = (fre_label_pair){pair[0], number[pair[1]], l->pair.weight[i]};
    }
    v.pair = l->list;
    *out = v;
    free(number);
    return FRE_OK;
}
