/* The ledger's reader: any bytes are a book or a clear refusal, and are never changed. */
#include <fre/ledger.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

/* What passed the reader is in range, and the sets' sums are of at least their entries. */
static void check(const fre_ledger_book *b)
{
    size_t releases = 0;

    for (size_t i = 0; i < b->n; i++) {
        const fre_ledger_entry *e = &b->entry[i];

        if ((!e->name && !e->content && !e->records && !e->rows) || !e->date || !e->what ||
            !(e->epsilon >= 0) || !(e->delta >= 0) || !(e->delta <= 1) || e->set >= b->n_sets ||
            e->state > FRE_LEDGER_UNKNOWN || b->set[e->set].sum.epsilon < e->epsilon ||
            b->set[e->set].sum.delta < e->delta)
            abort();
    }
    for (size_t i = 0; i < b->n_sets; i++)
        releases += b->set[i].sum.releases;
    if (releases != b->n)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const fre_ledger_spend spend = {.data_name = "a", .epsilon = 1, .budget_epsilon = 2};
    int fd = memfd_create("ledger", MFD_CLOEXEC);
    fre_ledger_book *b = NULL;
    char path[64];
    fre_status st;

    if (fd < 0 || write(fd, data, n) != (ssize_t)n)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    st = fre_ledger_read(&b, path, NULL);
    if (st != FRE_OK && st != FRE_E_DATA)
        abort();
    if (b)
        check(b);
    fre_ledger_book_free(b);
    /* A book that can be listed allows the spend or refuses it; another refuses the same way. */
    if (fre_ledger_check(path, &spend, NULL) == FRE_E_DATA && st == FRE_OK)
        abort();
    (void)close(fd);
    return 0;
}
