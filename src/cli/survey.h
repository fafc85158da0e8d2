/* survey.h - what was seen of the input before anything is spent, for the curator's own eyes. */
#ifndef FRE_CLI_SURVEY_H
#define FRE_CLI_SURVEY_H

#include "cli.h"

/* Of fre/survey.h; threshold: users who make a text a repeated one. */
typedef struct cli_survey {
    uint64_t records, users, distinct, wordless, counted, repeated_texts, repeated_records,
        threshold;
    bool by_levels; /* themes are looked for too: texts need not be repeated */
} cli_survey;

/* On standard error unless the command is quiet or writes JSON; with a warning, in any case, where no
 * text is repeated that often. */
void cli_survey_print(const cli *c, const cli_survey *s);
/* The warning alone; NULL: none is due. */
const char *cli_survey_warning(const cli_survey *s);

#endif
