/* collection_files.c - see collection_files.h. */
#include "collection_files.h"
#include "plan_output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

fre_status cli_read_halves(fre_half half[FRE_CONTRIBUTORS], const cli *c, fre_err *err)
{
    fre_status st = FRE_OK;

    for (size_t i = 0; st == FRE_OK && i < FRE_CONTRIBUTORS; i++)
        st = fre_half_read(&half[i], c->positional[i], err);
    return st;
}

fre_status cli_write_text(const char *path, fre_bytes text, bool force, fre_err *err)
{
    fre_outfile *f = NULL;
    fre_status st = fre_outfile_open(&f, path, force, err);

    if (st == FRE_OK && fwrite(text.p, 1, text.n, fre_outfile_stream(f)) != text.n)
        st = fre_fail(err, FRE_E_IO, "cannot write '%.300s': disk full?", path);
    if (st == FRE_OK)
        st = fre_outfile_commit(f, err);
    fre_outfile_free(f);
    return st;
}

void cli_print_path(const char *path)
{
    fputs("  ", stdout);
    (void)cli_print_safe(stdout, path, 0);
    putchar('\n');
}

/* ---- times ------------------------------------------------------------------------------------- */

const char *cli_time_text(char out[CLI_TIME_BYTES], int64_t t)
{
    const time_t seconds = (time_t)t;
    struct tm utc;

    if (!gmtime_r(&seconds, &utc) || strftime(out, CLI_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &utc) == 0)
        (void)snprintf(out, CLI_TIME_BYTES, "%" PRId64, t);
    return out;
}

static bool digits(const char **p, unsigned n, int *out)
{
    *out = 0;
    for (unsigned i = 0; i < n; i++, ++*p) {
        if (**p < '0' || **p > '9')
            return false;
        *out = 10 * *out + (**p - '0');
    }
    return true;
}

static bool sign_of(const char **p, const char *signs)
{
    const bool is = **p && strchr(signs, **p);

    *p += is;
    return is;
}

/* "Z", "+01:00" to the end: seconds east. */
static bool zone(const char *p, int *east)
{
    const int sign = *p == '-' ? -1 : 1;
    int hours, minutes;

    *east = 0;
    if (sign_of(&p, "Zz"))
        return *p == '\0';
    if (!sign_of(&p, "+-") || !digits(&p, 2, &hours) || !sign_of(&p, ":") ||
        !digits(&p, 2, &minutes) || *p || hours > 23 || minutes > 59)
        return false;
    *east = sign * (3600 * hours + 60 * minutes);
    return true;
}

/* RFC 3339, whole seconds. */
static bool instant(int64_t *out, const char *p)
{
    struct tm t = {.tm_isdst = 0}, again;
    time_t seconds;
    int east;

    if (!digits(&p, 4, &t.tm_year) || !sign_of(&p, "-") || !digits(&p, 2, &t.tm_mon) ||
        !sign_of(&p, "-") || !digits(&p, 2, &t.tm_mday) || !sign_of(&p, "Tt ") ||
        !digits(&p, 2, &t.tm_hour) || !sign_of(&p, ":") || !digits(&p, 2, &t.tm_min) ||
        !sign_of(&p, ":") || !digits(&p, 2, &t.tm_sec) || !zone(p, &east))
        return false;
    t.tm_year -= 1900;
    t.tm_mon -= 1;
    again = t;
    seconds = timegm(&again);
    if (again.tm_mon != t.tm_mon || again.tm_mday != t.tm_mday || again.tm_hour != t.tm_hour ||
        again.tm_min != t.tm_min || again.tm_sec != t.tm_sec)
        return false; /* the 31st of February */
    *out = (int64_t)seconds - east;
    return *out > 0;
}

/* "+90m" */
static bool duration(int64_t *out, const char *p)
{
    static const struct {
        char unit;
        int64_t seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86400}, {'w', 604800}};
    int64_t n = 0;
    unsigned k = 0;

    for (p++; *p >= '0' && *p <= '9' && k < 9; p++, k++)
        n = 10 * n + (*p - '0');
    for (size_t i = 0; k > 0 && i < sizeof units / sizeof units[0]; i++) {
        if (p[0] == units[i].unit && p[1] == '\0') {
            *out = n * units[i].seconds;
            return n > 0;
        }
    }
    return false;
}

fre_status cli_time(int64_t *out, const char *flag, const char *text, int64_t since, fre_err *err)
{
    char shown[CLI_ECHO_BYTES];
    int64_t t;

    if (text[0] == '+' ? !duration(&t, text) : !instant(&t, text))
        return fre_fail(err, FRE_E_USAGE,
                        "--%s must be a time as 2027-01-31T18:00:00Z, or + and a duration as +36h "
                        "or +7d (s, m, h, d, w), not '%s'",
                        flag, cli_echo(shown, text));
    *out = text[0] == '+' ? since + t : t;
    return FRE_OK;
}

/* ---- terms ------------------------------------------------------------------------------------- */

#define NAME 22

static FRE_PRINTF(2, 3) void row(const char *name, const char *fmt, ...)
{
    char value[400];
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(value, sizeof value, fmt, ap);
    va_end(ap);
    cli_fold(stdout, 6, "  %-*s %s", NAME, name, value);
}

static void print_asked(const fre_collection *c, const fre_plan *plan)
{
    char hex[2 * FRE_HASH_BYTES + 1], rate[FRE_DIGITS_BYTES], edge[FRE_DIGITS_BYTES],
        sigma[FRE_DIGITS_BYTES];

    cli_heading(stdout, "What is asked");
    row("texts of a user", "at most %" PRIu32 ", each in a cell of its own", c->cells_per_user);
    row("users", "at most %" PRIu64 "; nothing is counted below %" PRIu64 " entries", c->users,
        c->batch_min);
    fre_hex(hex, c->embedder, sizeof c->embedder);
    row("embedder", "%" PRIu32 " numbers, file with SHA-256 %s", c->dim, hex);
    if (c->sketch.kind == FRE_SKETCH_GRID) {
        row("cells", "grid, %" PRIu32 " dimensions, edge %s", c->sketch.grid.proj,
            fre_digits_up(edge, 6, c->sketch.grid.cell_edge));
    } else {
        fre_hex(hex, c->sketch.codebook.sha256, FRE_HASH_BYTES);
        row("cells", "%" PRIu64 " public ones, level %" PRIu32 " of the codebook with SHA-256 %s",
            c->sketch.codebook.cells, c->sketch.codebook.level, hex);
    }
    row("released", "cells of about %" PRIu64 " users: sampled at %s, at least %" PRIu64,
        c->threshold, fre_digits_up(rate, 6, (double)c->p32 / (double)FRE_P_ONE), c->tau);
    row("noise of a sum", "%s a coordinate, by %s", fre_digits_down(sigma, 6, c->sigma),
        c->server_noise ? "each of two servers" : "the users");
    row("contacts", "%s", c->one_contact ? "one" : "two");
    row("dummy reports", "%.0f expected", plan->expected_dummies);
    putchar('\n');
}

static void print_who(const char *what, const fre_collection *c, fre_role role)
{
    const fre_party p = fre_collection_party(c, role);
    char name[FRE_KEYS_NAME_BYTES];

    row(what, "%s  (keys %s)", p.url, fre_keys_name(name, role, p.sign));
}

static void print_when(const fre_collection *c)
{
    char t[CLI_TIME_BYTES];

    cli_heading(stdout, "When");
    row("exchanges from", "%s", cli_time_text(t, c->open));
    row("exchanges until", "%s", cli_time_text(t, c->exchange_close));
    row("entries until", "%s", cli_time_text(t, c->tags_close));
    if (!c->one_contact)
        row("answers until", "%s", cli_time_text(t, c->shares_close));
    row("everything until", "%s", cli_time_text(t, c->end));
    putchar('\n');
}

void cli_print_terms(const fre_collection *c, const fre_collection_id *id, const fre_plan *plan)
{
    char hex[2 * sizeof id->b + 1];

    fre_hex(hex, id->b, sizeof id->b);
    cli_heading(stdout, "Collection");
    cli_print_path(hex);
    putchar('\n');
    print_asked(c, plan);
    cli_heading(stdout, "Who runs it");
    print_who("relay", c, FRE_ROLE_RELAY);
    print_who("tagging server", c, FRE_ROLE_TAG);
    print_who("synthesis server", c, FRE_ROLE_SYN);
    print_who("issuer", c, FRE_ROLE_ISSUER);
    putchar('\n');
    print_when(c);
}

static json_t *terms_object(const fre_collection *c)
{
    json_t *o;
    fre_buf text;

    fre_buf_init(&text, 1u << 20);
    o = cli_json_of(fre_collection_to_json(&text, c, NULL), &text);
    return o;
}

static json_t *statement_json(const fre_plan *plan)
{
    json_t *o = NULL;
    fre_buf text;

    fre_buf_init(&text, 1u << 20);
    if (fre_plan_statement(&text, plan, true) == FRE_OK)
        o = json_stringn((const char *)text.p, text.n);
    fre_buf_wipe(&text);
    return o;
}

json_t *cli_terms_json(const fre_collection *c, const fre_plan *plan)
{
    json_t *terms = terms_object(c);
    const char *id = json_string_value(json_object_get(terms, "id"));

    if (!id) {
        json_decref(terms);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:o, s:o}", "id", id, "terms", terms, "plan", cli_plan_json(plan),
                     "statement", statement_json(plan));
}
