/* serve/log.c - what a process says of itself, and that it has to end. */
#include "serve_private.h"

#include <stdio.h>
#include <time.h>

void serve_say(fre_serve *s, const char *event, const serve_site *x, const char *more)
{
    const time_t now = (time_t)fre_clock_unix();
    char line[512 + 2 * FRE_ERR_BYTES], date[32], of[64] = "";
    struct tm utc;

    if (!s->log.line)
        return;
    (void)gmtime_r(&now, &utc);
    (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    if (x)
        (void)snprintf(of, sizeof of, ",\"collection\":\"%.16s\"", x->name);
    (void)snprintf(line, sizeof line, "{\"time\":\"%s\",\"role\":\"%s\",\"event\":\"%s\"%s%s}",
                   date, fre_role_name(s->config->role), event, of, more ? more : "");
    (void)pthread_mutex_lock(&s->log_lock);
    s->log.line(s->log.ctx, line);
    (void)pthread_mutex_unlock(&s->log_lock);
}

/* Nothing that would have to be escaped but quotes, and no byte that may not be UTF-8. */
static void escape(char *out, size_t n, const char *text)
{
    size_t at = 0;

    for (; *text && at + 2 < n; text++) {
        if (*text == '"' || *text == '\\')
            out[at++] = '\\';
        out[at++] = (unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e ? '?' : *text;
    }
    out[at] = 0;
}

void serve_say_why(fre_serve *s, const char *event, const char *why)
{
    char text[2 * FRE_ERR_BYTES], more[sizeof text + 16];

    escape(text, sizeof text, why);
    (void)snprintf(more, sizeof more, ",\"why\":\"%s\"", text);
    serve_say(s, event, NULL, more);
}

void serve_end(fre_serve *s, fre_status st, const char *why)
{
    (void)pthread_mutex_lock(&s->end_lock);
    if (s->end == FRE_OK) {
        s->end = st == FRE_OK ? FRE_E_INTERNAL : st;
        (void)fre_fail(&s->end_err, s->end, "%s; start the server again: it goes on from its store",
                       why);
    }
    (void)pthread_cond_broadcast(&s->end_due);
    (void)pthread_mutex_unlock(&s->end_lock);
}
