/* survey.c - see survey.h. */
#include "survey.h"

#include <inttypes.h>

const char *cli_survey_warning(const cli_survey *s)
{
    if (s->records == 0 || s->repeated_records > 0 || s->by_levels)
        return NULL;
    return "no text is held by as many users as --threshold, word for word: what is found is "
           "repeated and nearly identical wordings, so little or nothing may be released, and the "
           "budget is spent all the same";
}

static void print_counts(const cli_survey *s)
{
    char line[300];

    (void)snprintf(line, sizeof line,
                   "Not for publication: %" PRIu64 " record%s of %" PRIu64 " user%s, %" PRIu64
                   " different text%s.",
                   s->records, cli_plural(s->records), s->users, cli_plural(s->users), s->distinct,
                   cli_plural(s->distinct));
    cli_note(stderr, line);
    (void)snprintf(line, sizeof line,
                   "Held by at least %" PRIu64 " users, word for word: %" PRIu64 " text%s, %" PRIu64
                   " of the %" PRIu64 " records that can count (%.1f %%).",
                   s->threshold, s->repeated_texts, cli_plural(s->repeated_texts),
                   s->repeated_records, s->counted,
                   s->counted ? 100.0 * (double)s->repeated_records / (double)s->counted : 0.0);
    cli_note(stderr, line);
    if (s->wordless == 0)
        return;
    (void)snprintf(line, sizeof line,
                   "No word that the embedder knows: %" PRIu64 " record%s, which cannot count.",
                   s->wordless, cli_plural(s->wordless));
    cli_note(stderr, line);
}

void cli_survey_print(const cli *c, const cli_survey *s)
{
    const char *warning = cli_survey_warning(s);

    if (c->quiet)
        return;
    cli_progress_end();
    if (!c->json)
        print_counts(s);
    if (warning)
        cli_warn(c, "(not for publication) %s", warning);
}
