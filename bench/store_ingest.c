/* bench/store_ingest.c - reports a second that a relay can acknowledge: the two rows of each (its token's
 * count, and 2.2 kB of ciphertext), many in one commit, as a server that waits a few milliseconds for company
 * commits them.  Elapsed time, for what is measured is the disk.
 *
 *   store_ingest WHERE [REPORTS]     WHERE as fre/store.h has it; made and removed again
 */
#include <fre/store.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEALED 2200u /* bytes of an entry at d = 384 (docs/wire.md, section 3) */

static void must(fre_status st, const fre_err *err)
{
    if (st == FRE_OK)
        return;
    (void)fprintf(stderr, "%s\n", err && err->text[0] ? err->text : fre_status_text(st));
    exit(fre_status_exit_code(st));
}

/* What the relay's machine writes for an entry. */
static void report(fre_delta *d, fre_rng *r)
{
    uint8_t token[16], hash[16], sealed[SEALED];
    const uint8_t counts[9] = {1};
    fre_row row = {.table = 5, .key = {token, sizeof token}, .value = {counts, sizeof counts}};

    fre_rng_bytes(r, token, sizeof token);
    fre_rng_bytes(r, hash, sizeof hash);
    fre_rng_bytes(r, sealed, sizeof sealed);
    must(fre_delta_add(d, &row), NULL);
    row = (fre_row){.table = 4, .key = {hash, sizeof hash}, .value = {sealed, sizeof sealed}};
    must(fre_delta_add(d, &row), NULL);
}

static int64_t ingest(fre_store *s, fre_rng *r, size_t reports, size_t group)
{
    int64_t ms = 0;
    fre_err err = {.text = ""};

    for (size_t done = 0; done < reports; done += group) {
        const fre_delta *one;
        int64_t start;
        fre_delta d;

        fre_delta_init(&d);
        for (size_t i = 0; i < group; i++)
            report(&d, r);
        one = &d;
        start = fre_clock_ms();
        must(fre_store_commit(s, &one, 1, &err), &err);
        ms += fre_clock_ms() - start;
        fre_delta_wipe(&d);
    }
    return ms > 0 ? ms : 1;
}

static fre_status seen(void *ctx, const fre_row *row)
{
    (void)row;
    ++*(size_t *)ctx;
    return FRE_OK;
}

int main(int argc, char **argv)
{
    static const size_t groups[] = {1, 16, 128, 1024};
    const fre_collection_id id = {.b = {7}};
    uint8_t key[FRE_STORE_KEY_BYTES];
    const size_t reports = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;
    size_t rows = 0;
    int64_t start;
    fre_store *s = NULL;
    fre_err err = {.text = ""};
    fre_rng r;

    if (argc < 2 || argc > 3 || reports == 0) {
        (void)fprintf(stderr, "usage: store_ingest WHERE [REPORTS]\n");
        return 64;
    }
    must(fre_rng_init(&r), NULL);
    fre_rng_bytes(&r, key, sizeof key);
    must(
        fre_store_open(&s,
                       &(fre_store_opts){
                           .where = argv[1], .collection = &id, .role = FRE_ROLE_RELAY, .key = key},
                       &err),
        &err);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
        const size_t n = groups[i] == 1 && reports > 2000 ? 2000 : reports;
        const int64_t ms = ingest(s, &r, n, groups[i]);

        (void)printf("%5zu reports a commit: %9.0f reports/s\n", groups[i],
                     (double)n * 1000 / (double)ms);
    }
    start = fre_clock_ms();
    must(fre_store_load(s, seen, &rows, &err), &err);
    (void)printf("reading %zu rows again: %.2f s\n", rows, (double)(fre_clock_ms() - start) / 1000);
    must(fre_store_destroy(s, &err), &err);
    fre_rng_wipe(&r);
    return 0;
}
