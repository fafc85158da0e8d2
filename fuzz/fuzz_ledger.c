/* The ledger's reader: any bytes are a book or a clear refusal, and are never changed. */
#include <fre/ledger.h>

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void visit(void *ctx, const fre_ledger_entry *e)
{
    (void)ctx;
    /* What passed the reader is in range. */
    if (!e->data || !e->date || !e->what || !(e->epsilon >= 0) || !(e->delta >= 0) ||
        !(e->delta <= 1))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const fre_ledger_spend spend = {.data_name = "a", .epsilon = 1, .budget_epsilon = 2};
    int fd = memfd_create("ledger", MFD_CLOEXEC);
    char path[64];
    fre_status st;

    if (fd < 0 || write(fd, data, n) != (ssize_t)n)
        abort();
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    st = fre_ledger_list(path, visit, NULL, NULL);
    if (st != FRE_OK && st != FRE_E_DATA)
        abort();
    /* A book that can be listed allows the spend or refuses it; another refuses the same way. */
    if (fre_ledger_check(path, &spend, NULL) == FRE_E_DATA && st == FRE_OK)
        abort();
    (void)close(fd);
    return 0;
}
