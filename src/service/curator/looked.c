/* curator/looked.c - what is known once all records were looked over, here or elsewhere. */
#include "curator_private.h"

void curator_report(curator_run *r)
{
    r->surveyed = true;
    if (r->opts->looked)
        r->opts->looked(r->opts->looked_ctx, &r->stats);
}

fre_overlap_set *curator_text_marks(const curator_run *r)
{
    return r->text_marks ? r->text_marks : fre_survey_texts(r->survey);
}

fre_overlap_set *curator_row_marks(const curator_run *r)
{
    return r->row_marks ? r->row_marks : fre_survey_rows(r->survey);
}
