/* status.c - status codes and the one-sentence error. */
#include "core_private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *fre_status_text(fre_status s)
{
    switch (s) {
#define X(name, value, exit_code, text)                                                            \
    case FRE_##name:                                                                               \
        return text;
        FRE_STATUS_MAP(X)
#undef X
    default:
        break;
    }
    return "unknown status";
}

int fre_status_exit_code(fre_status s)
{
    static const struct {
        fre_status status;
        int code;
    } table[] = {
#define X(name, value, exit_code, text) {FRE_##name, (exit_code)},
        FRE_STATUS_MAP(X)
#undef X
    };

    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (table[i].status == s)
            return table[i].code;
    }
    return 70; /* EX_SOFTWARE: a value outside the list is a bug of ours */
}

/* "{sampling_rate}" at text: the name's length; 0: none starts there. */
static size_t param_at(char name[FRE_PARAM_BYTES], const char *text)
{
    size_t n;

    if (text[0] != '{')
        return 0;
    n = strspn(text + 1, "abcdefghijklmnopqrstuvwxyz0123456789_");
    if (n == 0 || n >= FRE_PARAM_BYTES || text[1 + n] != '}')
        return 0;
    memcpy(name, text + 1, n);
    name[n] = '\0';
    return n;
}

fre_status fre_fail(fre_err *err, fre_status s, const char *fmt, ...)
{
    va_list ap;

    if (!err)
        return s;
    va_start(ap, fmt);
    (void)vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    err->field[0] = '\0';
    for (const char *p = err->text; (p = strchr(p, '{')) && param_at(err->field, p) == 0;)
        p++;
    return s;
}

const char *fre_param_render(char *out, size_t n, const char *text, fre_param_name *name)
{
    char param[FRE_PARAM_BYTES], shown[2 * FRE_PARAM_BYTES];
    size_t used = 0;

    while (*text && used + 1 < n) {
        const size_t len = param_at(param, text);
        const char *part = text;
        size_t n_part = 1;

        if (len > 0 && (!name || name(shown, sizeof shown, param))) {
            part = name ? shown : param;
            n_part = strlen(part);
            text += len + 1; /* and its closing brace, below */
        }
        if (n_part > n - 1 - used)
            break;
        memcpy(out + used, part, n_part);
        used += n_part;
        text++;
    }
    if (n > 0)
        out[used] = '\0';
    return out;
}

void fre_percent(char out[FRE_PERCENT_BYTES], double share)
{
    const double percent = 100 * share;

    (void)snprintf(out, FRE_PERCENT_BYTES, percent < 9.5 ? "%.2g %%" : "%.0f %%", percent);
}

#define EXACT_DIGITS 13 /* sums of doubles have no more: 16.000000000000004 is 16 */

/* sign 1: never below x; -1: never above it. */
static const char *digits(char out[FRE_DIGITS_BYTES], int n, double x, int sign)
{
    double beyond;

    if (n < EXACT_DIGITS) {
        (void)snprintf(out, FRE_DIGITS_BYTES, "%.*g", EXACT_DIGITS, x);
        x = strtod(out, NULL);
    }
    beyond = x;
    do {
        (void)snprintf(out, FRE_DIGITS_BYTES, "%.*g", n, beyond);
        beyond += sign * fabs(x) * pow(10, -n); /* at most a unit of the last digit */
    } while (sign * strtod(out, NULL) < sign * x);
    return out;
}

const char *fre_digits_up(char out[FRE_DIGITS_BYTES], int n, double x)
{
    return digits(out, n, x, 1);
}

const char *fre_digits_down(char out[FRE_DIGITS_BYTES], int n, double x)
{
    return digits(out, n, x, -1);
}

fre_status fre_open_failed(fre_err *err, int e, fre_status otherwise, const char *advice,
                           const char *fmt, ...)
{
    char doing[FRE_ERR_BYTES * 3 / 4]; /* leaves room for the rest */
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(doing, sizeof doing, fmt, ap);
    va_end(ap);
    if (e == ENOMEM)
        return fre_fail(err, FRE_E_NOMEM, "%s: out of memory", doing);
    if (e == EMFILE || e == ENFILE) {
        otherwise = FRE_E_IO;
        advice = e == EMFILE ? "raise the limit (ulimit -n 256)"
                             : "the whole system's limit is reached: try again later";
    }
    return fre_fail(err, otherwise, "%s: %s%s%s", doing, strerror(e), advice ? "; " : "",
                    advice ? advice : "");
}

fre_status fre_core_write_failed(fre_err *err, int e, const char *what, const char *where)
{
    if (e == ENOSPC || e == EDQUOT)
        return fre_fail(err, FRE_E_IO,
                        "disk full while writing %s in '%.300s'; free some space there", what,
                        where);
    return fre_open_failed(err, e, FRE_E_IO, NULL, "cannot write %s in '%.300s'", what, where);
}
