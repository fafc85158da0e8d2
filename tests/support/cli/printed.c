#include "printed.h"

#include <string.h>

#include "cli.h"

bool fits_terminal(const char *text, const char *name)
{
    bool fits = true;

    for (const char *line = text; *line;) {
        const size_t n = strcspn(line, "\n");

        if (n >= CLI_WIDTH)
            (void)fprintf(stderr, "%s: a line of %zu columns: %.*s\n", name, n, (int)n, line);
        if (n > 0 && line[n - 1] == ' ')
            (void)fprintf(stderr, "%s: a line ends with a space: %.*s\n", name, (int)n, line);
        fits = fits && n < CLI_WIDTH && (n == 0 || line[n - 1] != ' ');
        line += n + (line[n] == '\n');
    }
    return fits;
}
