/* examples/release_texts.c - the library in forty lines: a file of texts, one a line, to a folder
 * with a private release, and the three most frequent texts on the screen.
 *
 *   cc release_texts.c $(pkg-config --cflags --libs fre-e2t) -o release_texts
 *   ./release_texts requests.txt out 4 1000000
 */
#include <fre/curator.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    fre_curator_opts opts;
    fre_curator_result *result = NULL;
    const fre_release *release;
    char why[2 * FRE_ERR_BYTES];
    fre_err err;
    fre_status st;

    if (argc != 5) {
        (void)fprintf(stderr, "usage: %s TEXTS FOLDER EPSILON POPULATION\n", argv[0]);
        return 64;
    }
    st = fre_core_harden(); /* no core dumps, and standard streams that are there */
    if (st != FRE_OK) {
        (void)fprintf(stderr, "%s\n", fre_status_text(st));
        return fre_status_exit_code(st);
    }
    fre_curator_opts_init(&opts); /* the documented defaults */
    opts.input = argv[1];
    opts.output = argv[2];
    opts.plan.epsilon = strtod(argv[3], NULL);
    opts.plan.population = strtoull(argv[4], NULL, 10);

    st = fre_curator_synthesize(&result, &opts, &err);
    if (st != FRE_OK) {
        (void)fprintf(stderr, "%s\n", fre_param_render(why, sizeof why, err.text, NULL));
        return fre_status_exit_code(st);
    }
    release = &result->release;
    (void)printf("%zu texts that many users wrote\n%s\n", release->n, release->statement);
    for (size_t i = 0; i < release->n && i < 3; i++)
        (void)printf("%8.0f users  %s\n", release->cell[i].users, release->cell[i].text.text);
    fre_curator_result_free(result);
    return 0;
}
