/* survey.c - see survey.h. */
#include "survey.h"

#include <inttypes.h>

static const char *plural(uint64_t n)
{
    return n == 1 ? "" : "s";
}

const char *cli_survey_warning(const cli_survey *s)
{
    if (s->records == 0 || s->repeated_records > 0)
        return NULL;
    return "no text is held by as many users as --threshold, word for word: what is found is "
           "repeated and nearly identical wordings, so little or nothing may be released, and the "
           "budget is spent all the same";
}

void cli_survey_print(const cli *c, const cli_survey *s)
{
    const char *warning = cli_survey_warning(s);

    if (c->quiet)
        return;
    cli_progress_end();
    if (!c->json)
        fprintf(stderr,
                "Not for publication: %" PRIu64 " record%s of %" PRIu64 " user%s, %" PRIu64
                " different text%s.\nHeld by at least %" PRIu64 " users, word for word: %" PRIu64
                " text%s, %" PRIu64 " of the %" PRIu64 " records that can count (%.1f %%).\n",
                s->records, plural(s->records), s->users, plural(s->users), s->distinct,
                plural(s->distinct), s->threshold, s->repeated_texts, plural(s->repeated_texts),
                s->repeated_records, s->counted,
                s->counted ? 100.0 * (double)s->repeated_records / (double)s->counted : 0.0);
    if (!c->json && s->wordless > 0)
        fprintf(stderr,
                "No word that the embedder knows: %" PRIu64 " record%s, which cannot count.\n",
                s->wordless, plural(s->wordless));
    if (warning)
        cli_warn(c, "(not for publication) %s", warning);
}
