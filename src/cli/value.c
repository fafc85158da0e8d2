/* value.c - one value of a command line: its kind, its range, its default. */
#include "cli.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- ranges ----------------------------------------------------------------------------------- */

void cli_join_choices(char *out, size_t n, const char *const *choices)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; choices[i]; i++) {
        const char *sep = i == 0 ? "" : choices[i + 1] ? ", " : " or ";
        int w = snprintf(out + used, n - used, "%s%s", sep, choices[i]);
        if (w < 0 || (size_t)w >= n - used)
            return;
        used += (size_t)w;
    }
}

const char *cli_preset(const cli_arg *arg)
{
    if (arg->preset || !arg->param || arg->required || arg->no_preset)
        return arg->preset;
    return arg->param->preset_text;
}

void cli_describe_range(char *out, size_t n, const cli_arg *arg)
{
    char range[FRE_PARAM_RANGE_BYTES];

    if (arg->param) {
        snprintf(out, n, "%s", fre_param_range(range, arg->param));
        return;
    }
    out[0] = '\0';
    switch (arg->kind) {
    case CLI_U64:
        snprintf(out, n, "at least 0");
        break;
    case CLI_ENUM:
        cli_join_choices(out, n, arg->choices);
        break;
    case CLI_HEX32:
        snprintf(out, n, "1 to 64 hexadecimal digits");
        break;
    case CLI_GROUP:
    case CLI_FLAG:
    case CLI_DOUBLE: /* has an entry */
    case CLI_STRING:
    case CLI_PATH:
        break;
    }
}

/* ---- one value ---------------------------------------------------------------------------------- */

/* A number in base 16; fewer than 64 digits stand for one with zeros in front. */
static bool parse_hex32(uint8_t out[32], const char *text)
{
    const size_t n = strlen(text);
    char digits[65];

    if (n == 0 || n > 64)
        return false;
    memset(digits, '0', 64 - n);
    memcpy(digits + 64 - n, text, n + 1);
    return fre_unhex(out, 32, digits);
}

const char *cli_echo(char out[CLI_ECHO_BYTES], const char *text)
{
    size_t i;
    for (i = 0; i < 40 && text[i]; i++)
        out[i] = iscntrl((unsigned char)text[i]) ? '?' : text[i];
    memcpy(out + i, text[i] ? "..." : "", text[i] ? 4 : 1);
    return out;
}

static fre_status refuse_value(const cli_arg *arg, const char *what, const char *text, fre_err *err)
{
    char range[200], shown[CLI_ECHO_BYTES], word[40] = "";

    cli_describe_range(range, sizeof range, arg);
    if (arg->word)
        snprintf(word, sizeof word, "%s or ", arg->word);
    return fre_fail(err, FRE_E_USAGE, "--%s must be %s%s%s%s, not '%s'", arg->name, word, what,
                    *what && strncmp(range, "at least", 8) == 0 ? "of " : "", range,
                    cli_echo(shown, text));
}

static bool append_digit(uint64_t *v, char c)
{
    const unsigned digit = (unsigned)(c - '0');

    if (c < '0' || c > '9' || *v > (UINT64_MAX - digit) / 10)
        return false;
    *v = *v * 10 + digit;
    return true;
}

/* Digits, or a number in scientific notation that is whole, such as 1e5 or 2.5e6; exactly. */
static bool parse_whole(uint64_t *out, const char *text)
{
    const char *e = strpbrk(text, "eE"), *p = text;
    uint64_t v = 0, zeros = 0;

    if (!(*p >= '0' && *p <= '9'))
        return false;
    if (e) {
        const char *q = e + 1 + (e[1] == '+');

        if (!*q || strlen(q) > 2)
            return false;
        for (; *q; q++)
            if (!append_digit(&zeros, *q))
                return false;
    }
    for (; *p && p != e && *p != '.'; p++)
        if (!append_digit(&v, *p))
            return false;
    if (*p == '.' && !e)
        return false;
    for (p += *p == '.'; *p && p != e; p++, zeros--)
        if (zeros == 0 || !append_digit(&v, *p))
            return false;
    for (; zeros > 0; zeros--)
        if (!append_digit(&v, '0'))
            return false;
    *out = v;
    return true;
}

static bool parse_number(double *out, const char *text)
{
    char *end = NULL;
    double v;

    /* strtod would also take "nan", "inf", hexadecimal floats and leading space. */
    if (!*text || strspn(text, "0123456789.eE+-") != strlen(text))
        return false;
    v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return false;
    *out = v;
    return true;
}

static bool in_range(const cli_arg *arg, double v)
{
    return !arg->param || fre_param_holds(arg->param, v);
}

static fre_status parse_choice(cli_value *out, const cli_arg *arg, const char *text, fre_err *err)
{
    for (size_t i = 0; arg->choices[i]; i++) {
        if (strcmp(arg->choices[i], text) == 0) {
            out->choice = i;
            return FRE_OK;
        }
    }
    return refuse_value(arg, "", text, err);
}

fre_status cli_parse_value(cli_value *out, const cli_arg *arg, const char *text, fre_err *err)
{
    cli_value v = {.text = text, .set = true};
    fre_status st = FRE_OK;

    if (arg->word && strcmp(text, arg->word) == 0) {
        v.is_word = true;
        v.number = strcmp(text, "inf") == 0 ? (double)INFINITY : 0.0;
        *out = v;
        return FRE_OK;
    }
    switch (arg->kind) {
    case CLI_U64:
        if (!parse_whole(&v.whole, text) || !in_range(arg, (double)v.whole))
            st = refuse_value(arg, "a whole number ", text, err);
        break;
    case CLI_DOUBLE:
        if (!parse_number(&v.number, text) || !in_range(arg, v.number))
            st = refuse_value(arg, "a number ", text, err);
        break;
    case CLI_ENUM:
        st = parse_choice(&v, arg, text, err);
        break;
    case CLI_HEX32:
        if (!parse_hex32(v.bytes, text))
            st = fre_fail(err, FRE_E_USAGE, "--%s must be 1 to 64 hexadecimal digits", arg->name);
        break;
    case CLI_STRING:
    case CLI_PATH:
        if (!*text)
            st = fre_fail(err, FRE_E_USAGE, "--%s must not be empty", arg->name);
        break;
    case CLI_GROUP:
    case CLI_FLAG:
        break;
    }
    if (st == FRE_OK)
        *out = v;
    return st;
}
