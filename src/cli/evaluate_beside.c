/* evaluate_beside.c - a number and its references. */
#include "evaluate_output.h"

#include <math.h>

/* Two digits: "1.0", ".02", "12". */
static void put_short(char out[12], double v)
{
    if (!isfinite(v))
        (void)snprintf(out, 12, "-");
    else if (v >= 9.95 || v <= -9.95)
        (void)snprintf(out, 12, "%.0f", v);
    else if (v >= 0.995 || v < 0.0)
        (void)snprintf(out, 12, "%.1f", v);
    else
        (void)snprintf(out, 12, ".%02d", (int)lround(100.0 * v));
}

const char *cli_put_plain(char out[CLI_BESIDE_BYTES], double v)
{
    if (isfinite(v))
        (void)snprintf(out, CLI_BESIDE_BYTES, "%.*f", v >= 99.95 ? 0 : v >= 9.995 ? 1 : 3, v);
    else
        (void)snprintf(out, CLI_BESIDE_BYTES, "-");
    return out;
}

const char *cli_put_beside(char out[CLI_BESIDE_BYTES], double v,
                           const double *const beside[FRE_EVALUATE_REFERENCES])
{
    char plain[CLI_BESIDE_BYTES], of[FRE_EVALUATE_REFERENCES][12];

    for (size_t i = 0; i < FRE_EVALUATE_REFERENCES; i++)
        put_short(of[i], beside[i] ? *beside[i] : (double)NAN);
    if (isfinite(v))
        (void)snprintf(out, CLI_BESIDE_BYTES, "%s [%s %s]", cli_put_plain(plain, v), of[0], of[1]);
    else
        (void)snprintf(out, CLI_BESIDE_BYTES, "-");
    return out;
}
