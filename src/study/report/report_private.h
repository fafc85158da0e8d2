/* report_private.h - what the files of this module share. */
#ifndef FRE_REPORT_PRIVATE_H
#define FRE_REPORT_PRIVATE_H

#include <fre/release.h>
#include <fre/report.h>

#include <jansson.h>

/* ---- read.c: the saved files ------------------------------------------------------------------ */

typedef struct report_input {
    fre_release release;
    json_t *about;      /* release.json */
    json_t **line;      /* release.n, of synthetic.jsonl */
    json_t *evaluation; /* NULL: none */
    bool is_named;      /* it names this release by its hash */
} report_input;

fre_status report_read(report_input *out, const fre_report_opts *o, fre_err *err);
void report_input_wipe(report_input *in);

/* ---- near.c: which centroids lie near which ------------------------------------------------------ */

#define REPORT_NEAR 15u

/* Of each centroid its k nearest others, nearest first. */
typedef struct report_near {
    size_t n, k; /* k = min(REPORT_NEAR, n - 1) */
    uint32_t *index;
    double *distance;
} report_near;

fre_status report_near_find(report_near *out, const fre_release *r, uint32_t threads);
void report_near_wipe(report_near *near);

/* ---- group.c: near wordings, and the tree of levels ------------------------------------------------ */

/* group[i]: the cell with the most users among those that say nearly what cell i says, possibly itself:
 * as the lines number their groups; where they don't, of the same theme, and within the radius once the
 * planned noise is taken off the distance. */
fre_status report_groups(uint32_t *group, const fre_release *r, const report_near *near);
/* parent[i]: the released cell of the next coarser level with a released one that holds centroid i;
 * FRE_RELEASE_NONE: there is none. */
fre_status report_parents(uint32_t *parent, const fre_release *r);

/* ---- map.c: centroids on a plane -------------------------------------------------------------------- */

#define REPORT_MAP_SIDE 1000

/* place: n pairs (x, y) in 0..REPORT_MAP_SIDE. */
fre_status report_map(int32_t *place, const fre_release *r, const report_near *near);
/* The first two principal components of n rows of d numbers: n pairs. */
fre_status report_principal(double *out, const float *x, size_t n, size_t d);

/* ---- claim.c: epsilon and delta in words -------------------------------------------------------------- */

#define REPORT_SHARE_BYTES 32u
/* How sure somebody may be at most, as "98.3 %", who thought it q likely before. */
void report_belief(char out[REPORT_SHARE_BYTES], double q, double epsilon);
/* NULL: the release is not private, or out of memory. */
json_t *report_claim(const report_input *in);

/* ---- data.c: what the page draws -------------------------------------------------------------------- */

/* JSON for a script element: whatever stands in strings, no markup can begin in it. */
fre_status report_script_json(fre_buf *out, const json_t *value, size_t digits);
fre_status report_about(fre_buf *out, const report_input *in, const fre_report_opts *o);
fre_status report_cells(fre_buf *out, const report_input *in, uint32_t threads);

/* ---- page.c ----------------------------------------------------------------------------------------- */

/* The files of template/, compiled in. */
extern const unsigned char report_template_html[], report_template_css[], report_template_js[];
extern const size_t report_template_html_size, report_template_css_size, report_template_js_size;

#endif
