/* Any bytes as what a client sends: it is one request at most, or nothing. */
#include "must.h"
#include "net_served.h"

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char heard[65536];
    static fre_http *h;
    static unsigned inputs;
    int fd;

    if (!h)
        h = served(&(fre_http_opts){.head_seconds = 1, .body_seconds = 1});
    served_let_go(); /* nothing waits at /wait */
    fd = raw_connect(fre_http_port(h));
    must(fd >= 0);
    (void)raw_send(fd, data, size);
    (void)shutdown(fd, SHUT_WR);
    (void)raw_hear(fd, heard, sizeof heard, 10, NULL);
    (void)close(fd);
    must(heard[0] == '\0' || raw_status(heard) >= 100);
    must(served_count() <= ++inputs);
    return 0;
}
