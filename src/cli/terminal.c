/* terminal.c - what a terminal is given: its width, colour, text by columns, and no character of
 * anybody's data that would steer it. */
#include "cli.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utf8proc.h>

#define WIDTH_MIN 40u
#define WIDTH_MAX 1000u
#define PROSE_MAX 120u /* longer lines are hard to read */
#define BESIDE_MIN 20u /* a narrower column would hold a word a line */
#define UNDER 4u

/* ---- what the terminal can do ------------------------------------------------------------------ */

static bool is_terminal(FILE *f)
{
    const int fd = fileno(f);

    return fd >= 0 && isatty(fd) == 1;
}

bool cli_is_steerable(FILE *f)
{
    const char *kind = getenv("TERM");

    return is_terminal(f) && kind && *kind && strcmp(kind, "dumb") != 0;
}

size_t cli_columns(FILE *f)
{
    const char *stated = getenv("COLUMNS");
    const size_t digits = stated ? strspn(stated, "0123456789") : 0;
    unsigned long width = 0;
    struct winsize window;

    if (digits > 0 && stated[digits] == '\0')
        width = strtoul(stated, NULL, 10);
    if (width == 0 && is_terminal(f) && ioctl(fileno(f), TIOCGWINSZ, &window) == 0)
        width = window.ws_col;
    if (width == 0)
        return CLI_WIDTH;
    return width < WIDTH_MIN ? WIDTH_MIN : width > WIDTH_MAX ? WIDTH_MAX : (size_t)width;
}

/* NO_COLOR as no-color.org has it; CLICOLOR and CLICOLOR_FORCE as bixense.com/clicolors. */
static bool has_colour(FILE *f)
{
    const char *none = getenv("NO_COLOR"), *force = getenv("CLICOLOR_FORCE");
    const char *wish = getenv("CLICOLOR");

    if (none && *none)
        return false;
    if (force && *force && strcmp(force, "0") != 0)
        return true;
    return cli_is_steerable(f) && !(wish && strcmp(wish, "0") == 0);
}

void cli_styled(FILE *f, cli_style style, const char *text)
{
    static const char *const codes[] = {"1", "33", "31", "2"};
    const bool coloured = has_colour(f);

    if (coloured)
        fprintf(f, "\033[%sm", codes[style]);
    (void)cli_print_safe(f, text, 0);
    if (coloured)
        fputs("\033[0m", f);
}

void cli_heading(FILE *f, const char *text)
{
    cli_styled(f, CLI_BOLD, text);
    fputc('\n', f);
}

/* ---- characters -------------------------------------------------------------------------------- */

/* Controls, format characters (text direction, invisible ones, tags), line separators, what Unicode
 * leaves unassigned, and letters made to be invisible. */
static bool is_unsafe(utf8proc_int32_t c)
{
    const utf8proc_category_t kind = utf8proc_category(c);

    return kind == UTF8PROC_CATEGORY_CC || kind == UTF8PROC_CATEGORY_CF ||
           kind == UTF8PROC_CATEGORY_CS || kind == UTF8PROC_CATEGORY_CN ||
           kind == UTF8PROC_CATEGORY_ZL || kind == UTF8PROC_CATEGORY_ZP ||
           utf8proc_get_property(c)->ignorable;
}

/* One character of text, n bytes: its bytes and columns.  0 bytes: the end; -1 as character: not
 * UTF-8. */
static size_t next(utf8proc_int32_t *c, size_t *columns, const char *text, size_t n)
{
    utf8proc_ssize_t used;

    if (n == 0)
        return 0;
    used = utf8proc_iterate((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)n, c);
    if (used <= 0) {
        *c = -1;
        used = 1;
    }
    if (*c >= 0xfe00 && *c <= 0xfe0f)
        *columns = 0; /* variation selectors are left out: terminals disagree about them */
    else
        *columns = *c < 0 || is_unsafe(*c) ? 1 : (size_t)utf8proc_charwidth(*c);
    return (size_t)used;
}

static size_t width_of(const char *text, size_t n)
{
    size_t all = 0, columns, used;
    utf8proc_int32_t c;

    for (; (used = next(&c, &columns, text, n)) > 0; text += used, n -= used)
        all += columns;
    return all;
}

/* At most `columns` of n bytes; returns how many columns they took. */
static size_t print_part(FILE *f, const char *text, size_t n, size_t columns)
{
    size_t all = 0, wide, used;
    utf8proc_int32_t c;

    for (; (used = next(&c, &wide, text, n)) > 0; text += used, n -= used) {
        if (all + wide > columns)
            break;
        if (c >= 0xfe00 && c <= 0xfe0f)
            continue;
        if (c < 0 || is_unsafe(c))
            fputc('?', f);
        else
            fwrite(text, 1, used, f);
        all += wide;
    }
    return all;
}

size_t cli_print_safe(FILE *f, const char *text, size_t columns)
{
    const size_t n = strlen(text);
    size_t all;

    if (columns == 0 || width_of(text, n) <= columns)
        return print_part(f, text, n, SIZE_MAX);
    all = print_part(f, text, n, columns - 1);
    fputs("\xe2\x80\xa6", f);
    return all + 1;
}

static void spaces(FILE *f, size_t n)
{
    for (size_t i = 0; i < n; i++)
        fputc(' ', f);
}

void cli_print_cell(FILE *f, const char *text, size_t columns)
{
    spaces(f, columns - cli_print_safe(f, text, columns));
}

/* ---- lines ------------------------------------------------------------------------------------- */

/* One paragraph, up to a blank line or the end; returns what follows. */
static const char *wrap_paragraph(FILE *f, const char *text, size_t indent, size_t column)
{
    const size_t all = cli_columns(f), most = all < PROSE_MAX ? all : PROSE_MAX;
    const char *p = text;
    bool first = true;

    while (*p && !(p[0] == '\n' && p[1] == '\n')) {
        const size_t len = strcspn(p, " \n"), wide = width_of(p, len);

        if (len > 0) {
            if (!first && column + 1 + wide > most - 1) {
                fputc('\n', f);
                column = 0;
                first = true;
            }
            if (column < indent) {
                spaces(f, indent - column);
                column = indent;
            } else if (!first) {
                fputc(' ', f);
                column++;
            }
            column += print_part(f, p, len, SIZE_MAX);
            first = false;
        }
        p += len;
        if (*p == ' ' || (*p == '\n' && p[1] != '\n'))
            p++;
    }
    fputc('\n', f);
    return p;
}

void cli_wrap(FILE *f, const char *text, size_t indent, size_t column)
{
    if (indent + BESIDE_MIN > cli_columns(f)) { /* under what it belongs to, not beside it */
        if (column > 0)
            fputc('\n', f);
        indent = UNDER;
        column = 0;
    }
    text = wrap_paragraph(f, text, indent, column);
    while (*text) {
        text += strspn(text, "\n");
        if (!*text)
            return;
        fputc('\n', f);
        text = wrap_paragraph(f, text, indent, 0);
    }
}

/* One line, n bytes. */
static void fold_line(FILE *f, size_t indent, char *line)
{
    const size_t lead = strspn(line, " "), first = strcspn(line + lead, " ");
    const char *rest = line + lead + first + strspn(line + lead + first, " ");
    size_t column = lead + width_of(line + lead, first) + 1;

    if (!is_terminal(f) || width_of(line, strlen(line)) <= cli_columns(f)) {
        (void)cli_print_safe(f, line, 0);
        fputc('\n', f);
        return;
    }
    spaces(f, lead);
    (void)print_part(f, line + lead, first, SIZE_MAX); /* where it would have been */
    if (column + width_of(rest, strcspn(rest, " ")) > cli_columns(f))
        column = 0;
    fputc(column > 0 ? ' ' : '\n', f);
    cli_wrap(f, rest, indent, column);
}

void cli_fold(FILE *f, size_t indent, const char *fmt, ...)
{
    char text[4096], *rest = text, *line;
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    while ((line = strsep(&rest, "\n")) != NULL)
        fold_line(f, indent, line);
}

/* ---- tables ------------------------------------------------------------------------------------ */

static bool fits(FILE *f, const cli_column *column, size_t n)
{
    size_t all = 0;

    for (size_t i = 0; i < n; i++)
        all += 2 + (size_t)abs(column[i].width);
    return !is_terminal(f) || all <= cli_columns(f);
}

void cli_table_head(FILE *f, const cli_column *column, size_t n)
{
    char line[1024] = "";
    size_t at = 0;

    if (!fits(f, column, n))
        return;
    for (size_t i = 0; i < n && at < sizeof line; i++)
        at +=
            (size_t)snprintf(line + at, sizeof line - at, "  %*s", column[i].width, column[i].name);
    while (at > 0 && at < sizeof line && line[at - 1] == ' ')
        line[--at] = '\0';
    cli_heading(f, line);
}

void cli_table_row(FILE *f, const cli_column *column, size_t n, const char *const *cell)
{
    const bool whole = fits(f, column, n);

    for (size_t i = 0; i < n && whole; i++) {
        const size_t wide = width_of(cell[i], strlen(cell[i])), room = (size_t)abs(column[i].width);

        spaces(f, 2 + (column[i].width > 0 && room > wide ? room - wide : 0));
        (void)cli_print_safe(f, cell[i], 0);
        if (column[i].width < 0 && i + 1 < n && room > wide)
            spaces(f, room - wide);
    }
    if (whole) {
        fputc('\n', f);
        return;
    }
    if (cell[0][0])
        cli_fold(f, 4, "  %s", cell[0]);
    for (size_t i = 1; i < n; i++)
        if (cell[i][0])
            cli_fold(f, 6, "    %s: %s", column[i].name, cell[i]);
}

void cli_message(FILE *f, cli_style style, const char *prefix, const char *text)
{
    cli_styled(f, style, prefix);
    fputc(' ', f);
    if (is_terminal(f)) {
        cli_wrap(f, text, 4, width_of(prefix, strlen(prefix)) + 1);
        return;
    }
    (void)cli_print_safe(f, text, 0);
    fputc('\n', f);
}

void cli_note(FILE *f, const char *text)
{
    if (is_terminal(f)) {
        cli_wrap(f, text, 0, 0);
        return;
    }
    (void)cli_print_safe(f, text, 0);
    fputc('\n', f);
}

/* ---- JSON --------------------------------------------------------------------------------------- */

/* Outside strings JSON has no such character, so all of them may be written as escapes. */
void cli_print_json_text(FILE *f, const char *text, size_t n)
{
    size_t columns, used;
    utf8proc_int32_t c;

    for (; (used = next(&c, &columns, text, n)) > 0; text += used, n -= used) {
        if (c < 0 || c == '\n' || !is_unsafe(c))
            fwrite(text, 1, used, f);
        else if (c < 0x10000)
            fprintf(f, "\\u%04x", (unsigned)c);
        else
            fprintf(f, "\\u%04x\\u%04x", 0xd800u + ((unsigned)(c - 0x10000) >> 10),
                    0xdc00u + ((unsigned)c & 0x3ffu));
    }
}

void cli_print_line(FILE *f, const char *text, size_t n)
{
    if (is_terminal(f))
        cli_print_json_text(f, text, n);
    else
        fwrite(text, 1, n, f);
    fputc('\n', f);
}
