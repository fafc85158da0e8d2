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
#define BESIDE_MIN 24u /* a narrower column would hold a word or two a line */
#define UNDER 4u
#define VALUE 13u /* columns of a value that a note stands beside */

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

static void style_on(FILE *f, cli_style style)
{
    static const char *const codes[] = {"", "1", "33", "31", "2"};

    if (style != CLI_PLAIN && has_colour(f))
        fprintf(f, "\033[%sm", codes[style]);
}

static void style_off(FILE *f, cli_style style)
{
    if (style != CLI_PLAIN && has_colour(f))
        fputs("\033[0m", f);
}

void cli_styled(FILE *f, cli_style style, const char *text)
{
    style_on(f, style);
    (void)cli_print_safe(f, text, 0);
    style_off(f, style);
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

size_t cli_width(const char *text)
{
    return width_of(text, strlen(text));
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

    if (columns == 0 || cli_width(text) <= columns)
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

/* ---- lines ------------------------------------------------------------------------------------- */

/* One paragraph, up to a blank line or the end; its first line begins at `start`, the others at
 * `indent`.  Between words that stay on a line two spaces stay two.  Returns what follows. */
static const char *wrap_paragraph(FILE *f, const char *text, size_t start, size_t indent,
                                  size_t column)
{
    const size_t all = cli_columns(f), most = (all < PROSE_MAX ? all : PROSE_MAX) - 1;
    bool first = true;

    for (;;) {
        bool broken = false;
        size_t gap = 0, len, wide;

        for (; *text == ' ' || (*text == '\n' && text[1] != '\n'); text++, gap++)
            broken |= *text == '\n';
        len = strcspn(text, " \n");
        if (len == 0)
            break;
        gap = gap > 1 && !broken ? 2 : 1;
        wide = width_of(text, len);
        if (!first && column + gap + wide > most) {
            fputc('\n', f);
            column = 0;
            start = indent;
            first = true;
        }
        if (first)
            gap = column < start ? start - column : 0;
        spaces(f, gap);
        column += gap + print_part(f, text, len, SIZE_MAX);
        first = false;
        text += len;
    }
    fputc('\n', f);
    return text;
}

static bool has_room_beside(FILE *f, size_t indent)
{
    return indent + BESIDE_MIN <= cli_columns(f);
}

void cli_wrap(FILE *f, const char *text, size_t indent, size_t column)
{
    if (!has_room_beside(f, indent)) { /* under what it belongs to */
        if (column > 0)
            fputc('\n', f);
        indent = UNDER;
        column = 0;
    }
    text = wrap_paragraph(f, text, indent, indent, column);
    while (*text) {
        text += strspn(text, "\n");
        if (!*text)
            return;
        fputc('\n', f);
        text = wrap_paragraph(f, text, indent, indent, 0);
    }
}

static bool fits_line(FILE *f, const char *line)
{
    return !is_terminal(f) || cli_width(line) <= cli_columns(f);
}

void cli_fold(FILE *f, size_t indent, const char *fmt, ...)
{
    char text[8192], *rest = text, *line;
    va_list ap;

    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    while ((line = strsep(&rest, "\n")) != NULL) {
        const size_t lead = strspn(line, " ");

        if (fits_line(f, line)) {
            (void)cli_print_safe(f, line, 0);
            fputc('\n', f);
        } else {
            (void)wrap_paragraph(f, line + lead, lead < indent ? lead : indent, indent, 0);
        }
    }
}

void cli_heading(FILE *f, const char *text)
{
    if (fits_line(f, text)) {
        cli_styled(f, CLI_BOLD, text);
        fputc('\n', f);
        return;
    }
    style_on(f, CLI_BOLD);
    cli_wrap(f, text, 0, 0);
    style_off(f, CLI_BOLD);
}

void cli_noted(FILE *f, int name_width, const char *name, const char *value, const char *note)
{
    const size_t at = 2 + (size_t)name_width + 1, beside = at + VALUE;
    size_t column = at + cli_width(value);

    fprintf(f, "  %-*s %s", name_width, name, value);
    if (!*note) {
        fputc('\n', f);
        return;
    }
    if (has_room_beside(f, beside) && column + 2 > beside) { /* a long value pushes it on */
        spaces(f, 2);
        column += 2;
    }
    cli_wrap(f, note, beside, column);
}

/* ---- tables ------------------------------------------------------------------------------------ */

#define GAP 2u /* before a column */

static size_t room_of(const cli_column *column)
{
    return (size_t)abs(column->width);
}

/* The column that heads a block. */
static size_t head_of(const cli_column *column, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (column[i].rest)
            return i;
    return 0;
}

/* Columns left for the one that takes the rest. */
static size_t rest_of(FILE *f, const cli_column *column, size_t n)
{
    size_t all = GAP + 1; /* the line's last stays free */

    for (size_t i = 0; i < n; i++)
        all += column[i].rest ? 0 : GAP + room_of(&column[i]);
    return all < cli_columns(f) ? cli_columns(f) - all : 0;
}

static bool fits(FILE *f, const cli_column *column, size_t n)
{
    size_t all = 0;

    for (size_t i = 0; i < n; i++) {
        if (column[i].rest)
            return !is_terminal(f) || rest_of(f, column, n) >= room_of(&column[i]);
        all += GAP + room_of(&column[i]);
    }
    return !is_terminal(f) || all <= cli_columns(f);
}

void cli_table_head(FILE *f, const cli_column *column, size_t n)
{
    char line[1024] = "";
    size_t at = 0;

    if (!fits(f, column, n)) { /* of what each block's first line is */
        (void)snprintf(line, sizeof line, "  %s", column[head_of(column, n)].name);
        cli_heading(f, line);
        return;
    }
    for (size_t i = 0; i < n && at < sizeof line; i++) {
        const int width = !column[i].rest ? column[i].width
                          : i + 1 < n     ? -(int)rest_of(f, column, n)
                                          : 0;

        at += (size_t)snprintf(line + at, sizeof line - at, "  %*s", width, column[i].name);
    }
    while (at > 0 && at < sizeof line && line[at - 1] == ' ')
        line[--at] = '\0';
    cli_heading(f, line);
}

static void print_cell(FILE *f, const cli_cell *cell, size_t columns)
{
    style_on(f, cell->style);
    (void)cli_print_safe(f, cell->text, columns);
    style_off(f, cell->style);
}

static void print_whole(FILE *f, const cli_column *column, size_t n, const cli_cell *cell)
{
    size_t last = n;

    while (last > 0 && !cell[last - 1].text[0])
        last--;
    for (size_t i = 0; i < last; i++) {
        const size_t rest = column[i].rest ? rest_of(f, column, n) : 0;
        const size_t room = rest > room_of(&column[i]) ? rest : room_of(&column[i]);
        const size_t wide = cli_width(cell[i].text), free = room > wide ? room - wide : 0;

        spaces(f, GAP + (column[i].width > 0 ? free : 0));
        print_cell(f, &cell[i], column[i].width < 0 ? room : 0); /* no number is cut */
        if (column[i].width < 0 && i + 1 < last)
            spaces(f, free);
    }
    fputc('\n', f);
}

/* Its cells but one, each behind its column's name, as many on a line as fit. */
static void print_block(FILE *f, const cli_column *column, size_t n, const cli_cell *cell)
{
    const size_t head = head_of(column, n);
    size_t at = 0;

    if (cell[head].text[0])
        cli_fold(f, UNDER, "  %s", cell[head].text);
    for (size_t i = 0; i < n; i++) {
        const char *name = column[i].name + strspn(column[i].name, " "), *space;
        char item[4096];

        if (i == head || !cell[i].text[0])
            continue;
        space = *name && name[strlen(name) - 1] != ' ' ? " " : "";
        (void)snprintf(item, sizeof item, "%s%s%s", name, space,
                       cell[i].text + strspn(cell[i].text, " "));
        for (size_t end = strlen(item); end > 0 && item[end - 1] == ' '; end--)
            item[end - 1] = '\0';
        if (at > 0 && at + 2 + cli_width(item) < cli_columns(f)) {
            fputs(", ", f);
            at += 2 + cli_print_safe(f, item, 0);
            continue;
        }
        if (at > 0)
            fputc('\n', f);
        at = 0;
        spaces(f, UNDER);
        if (UNDER + cli_width(item) < cli_columns(f))
            at = UNDER + cli_print_safe(f, item, 0);
        else
            (void)wrap_paragraph(f, item, UNDER, UNDER + 2, UNDER);
    }
    if (at > 0)
        fputc('\n', f);
}

void cli_table_row(FILE *f, const cli_column *column, size_t n, const cli_cell *cell)
{
    if (fits(f, column, n))
        print_whole(f, column, n, cell);
    else
        print_block(f, column, n, cell);
}

const char *cli_plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

void cli_message(FILE *f, cli_style style, const char *prefix, const char *text)
{
    cli_styled(f, style, prefix);
    fputc(' ', f);
    if (is_terminal(f)) {
        cli_wrap(f, text, UNDER, cli_width(prefix) + 1);
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
