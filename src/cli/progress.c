/* progress.c - what a long run shows on standard error. */
#include "cli.h"

#include <inttypes.h>
#include <string.h>

#define REDRAW_MS 100
#define LINE_MS 10000
#define BAR 20u

/* One program, one standard error: the only state of this file. */
static struct {
    bool terminal, drawn; /* terminal: one that can be drawn on */
    bool said;            /* of the phase, that it has begun */
    char phase[32];
    int64_t phase_ms, shown_ms;
    uint64_t total;      /* of the phase, as last told; 0: not known */
    uint64_t phase_done; /* done when the phase was first seen: the rate starts there */
} bar;

static void clock_text(char *out, size_t n, double seconds)
{
    uint64_t s = seconds > 359999.0 ? 359999u : (uint64_t)(seconds + 0.5);
    if (s >= 3600)
        snprintf(out, n, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, s / 3600, s / 60 % 60, s % 60);
    else
        snprintf(out, n, "%" PRIu64 ":%02" PRIu64, s / 60, s % 60);
}

/* "12.3k": three figures whatever the size. */
static void short_number(char *out, size_t n, double x)
{
    if (x >= 1e6)
        snprintf(out, n, "%.1fM", x / 1e6);
    else if (x >= 1e3)
        snprintf(out, n, "%.1fk", x / 1e3);
    else
        snprintf(out, n, "%.1f", x);
}

static void describe(char *out, size_t n, uint64_t done, uint64_t total, int64_t now)
{
    double seconds = (double)(now - bar.phase_ms) / 1e3;
    double fresh = done > bar.phase_done ? (double)(done - bar.phase_done) : 0.0;
    double rate = seconds > 0.0 ? fresh / seconds : 0.0;
    char rate_part[24], done_part[24], left[36] = "";

    if (done == 0 && total == 0) { /* it has only begun */
        out[0] = '\0';
        return;
    }
    short_number(rate_part, sizeof rate_part, rate);
    if (total > 0) {
        uint64_t percent = done >= total ? 100 : (uint64_t)((double)done * 100.0 / (double)total);
        if (rate > 0.0) {
            char t[24];
            clock_text(t, sizeof t, done >= total ? 0.0 : (double)(total - done) / rate);
            snprintf(left, sizeof left, ", %s left", t);
        }
        snprintf(out, n, "%3" PRIu64 "%%  %s/s%s", percent, rate_part, left);
    } else {
        short_number(done_part, sizeof done_part, (double)done);
        snprintf(out, n, "%s done, %s/s", done_part, rate_part);
    }
}

static void draw(uint64_t done, uint64_t total, int64_t now)
{
    char text[80], line[160], cells[BAR + 3] = "";

    describe(text, sizeof text, done, total, now);
    if (total > 0) {
        size_t full = done >= total ? BAR : (size_t)((double)done * BAR / (double)total);
        cells[0] = '[';
        memset(cells + 1, '#', full);
        memset(cells + 1 + full, '.', BAR - full);
        cells[BAR + 1] = ']';
        cells[BAR + 2] = '\0';
    }
    (void)snprintf(line, sizeof line, "%-19.19s %s %.38s", bar.phase, cells, text);
    fprintf(stderr, "\r\033[K%.*s", (int)cli_columns(stderr) - 1, line);
    fflush(stderr);
    bar.drawn = true;
}

/* A phase without numbers once: a device waits for days. */
static void say(uint64_t done, uint64_t total, int64_t now)
{
    char text[80];

    describe(text, sizeof text, done, total, now);
    if (text[0])
        fprintf(stderr, "%s: %s\n", bar.phase, text + strspn(text, " "));
    else if (!bar.said)
        fprintf(stderr, "%s\n", bar.phase);
    bar.said = true;
}

static void update(void *ctx, const char *phase, uint64_t done, uint64_t total)
{
    int64_t now = fre_clock_ms();

    (void)ctx;
    if (strncmp(phase, bar.phase, sizeof bar.phase - 1) != 0) {
        if (bar.drawn && bar.total > 0) /* the next has begun, so this one is done */
            draw(bar.total, bar.total, now);
        if (bar.drawn)
            fputc('\n', stderr);
        bar.drawn = bar.said = false;
        snprintf(bar.phase, sizeof bar.phase, "%s", phase);
        bar.phase_ms = now;
        bar.phase_done = done;
        if (bar.terminal)
            bar.shown_ms = now - REDRAW_MS;
    }
    bar.total = total;
    if (bar.terminal) {
        bool last = total > 0 && done >= total;
        if (now - bar.shown_ms >= REDRAW_MS || last) {
            draw(done, total, now);
            bar.shown_ms = now;
        }
    } else if (now - bar.shown_ms >= LINE_MS) {
        say(done, total, now);
        bar.shown_ms = now;
    }
}

void cli_progress_start(fre_progress *out, bool quiet)
{
    memset(&bar, 0, sizeof bar);
    bar.terminal = cli_is_steerable(stderr);
    bar.shown_ms = fre_clock_ms();
    *out = (fre_progress){.update = quiet ? NULL : update};
}

void cli_progress_end(void)
{
    if (bar.drawn)
        fputs("\r\033[K", stderr);
    bar.drawn = false;
    bar.phase[0] = '\0';
}
