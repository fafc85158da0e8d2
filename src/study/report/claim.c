/* report/claim.c - what epsilon and delta mean, as docs/privacy-plain.md has it; every number is
 * rounded to its safe side. */
#include "report_private.h"

#include <math.h>

/* q e^eps / (1 - q + q e^eps), whose complement is exact where it is small. */
void report_belief(char out[REPORT_SHARE_BYTES], double q, double epsilon)
{
    const double odds = q / (1 - q) * exp(epsilon), doubt = 100 / (1 + odds), sure = 100 - doubt;
    char digits[FRE_DIGITS_BYTES];
    int decimals = 0;

    if (sure < 99) {
        (void)snprintf(out, REPORT_SHARE_BYTES, "%s %%", fre_digits_up(digits, 3, sure));
        return;
    }
    while (decimals < 6 && doubt * pow(10, decimals) < 10)
        decimals++;
    if (doubt * pow(10, decimals) < 1)
        decimals = 0;
    (void)snprintf(out, REPORT_SHARE_BYTES, "%.*f %%", decimals,
                   100 - floor(doubt * pow(10, decimals)) / pow(10, decimals));
}

static json_t *beliefs(double epsilon)
{
    static const double before[] = {0.5, 0.1, 0.01, 0.001};
    static const char *const said[] = {"50 %", "10 %", "1 %", "0.1 %"};
    json_t *list = json_array();
    int bad = 0;

    for (size_t i = 0; list && i < sizeof before / sizeof *before; i++) {
        char after[REPORT_SHARE_BYTES];

        report_belief(after, before[i], epsilon);
        bad |= json_array_append_new(list, json_pack("[s, s]", said[i], after));
    }
    if (!bad)
        return list;
    json_decref(list);
    return NULL;
}

/* "at most 1 in n": the largest n of three digits that is not above 1/delta. */
static json_t *one_in(double delta)
{
    double unit = 1, n;

    if (!(delta > 0) || !(1 / delta < 9e15))
        return json_null();
    while (1 / delta / unit >= 1000)
        unit *= 10;
    n = floor(1 / delta / unit) * unit;
    return n >= 1 ? json_integer((json_int_t)n) : json_null();
}

static double number_of(const json_t *o, const char *key)
{
    const json_t *v = json_object_get(o, key);

    return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

json_t *report_claim(const report_input *in)
{
    const json_t *p = json_object_get(in->about, "parameters");
    const json_t *certified = json_object_get(in->about, "certified");
    const double claimed = number_of(p, "epsilon"), proved = number_of(certified, "epsilon");
    const double epsilon = isfinite(proved) ? proved : claimed;
    const double target = number_of(p, "delta_target");
    const double delta = isfinite(target) ? target : number_of(p, "delta");
    const double population = number_of(p, "population");
    char e[FRE_DIGITS_BYTES], d[FRE_DIGITS_BYTES], fails[FRE_DIGITS_BYTES];

    if (!in->release.is_private || !isfinite(epsilon) || !isfinite(delta))
        return NULL;
    return json_pack("{s:s, s:s, s:o, s:o, s:s}", "epsilon", fre_digits_up(e, 4, epsilon), "delta",
                     fre_digits_up(d, 4, delta), "beliefs", beliefs(epsilon), "one_in",
                     one_in(delta), "fails",
                     isfinite(population) ? fre_digits_up(fails, 2, delta * population) : "");
}
