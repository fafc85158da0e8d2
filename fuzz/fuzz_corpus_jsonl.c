/* The JSON lines reader on any bytes, in reads of a size taken from the input, and its scanner
 * against jansson: what jansson accepts we accept, with the same text. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "corpus_private.h"
#include "drain.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Our scanner takes any number and any \u escape; jansson takes neither 1e999 nor "\ud800". */
static bool beyond_jansson(const uint8_t *line, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if ((line[i] >= '0' && line[i] <= '9') ||
            (i + 1 < n && line[i] == '\\' && line[i + 1] == 'u'))
            return true;
    return false;
}

static void compare_line(const uint8_t *line, size_t n)
{
    const size_t flags = JSON_ALLOW_NUL | JSON_DECODE_INT_AS_REAL;
    fre_json_want want = {.name = "text"};
    uint8_t *copy = malloc(n + 1);
    json_error_t je;
    json_t *j = NULL, *theirs = NULL;
    size_t at = 0;
    bool bad = false;
    const char *why = NULL;

    must(copy != NULL);
    (void)memcpy(copy, line, n);
    j = json_loadb((const char *)line, n, flags, &je);
    if (j && !json_is_object(j)) {
        json_decref(j);
        j = NULL;
    }
    why = fre_json_scan(copy, n, &want, 1, &at);
    must(!why || at <= n);
    if (j) {
        /* Nesting is the one thing that we limit more tightly. */
        must(!why || strstr(why, "nesting"));
        theirs = json_object_get(j, "text");
        if (!why) {
            must((want.kind == FRE_JSON_STRING) == json_is_string(theirs));
            must((want.kind == FRE_JSON_ABSENT) == !theirs);
        }
    } else if (!why) {
        must(beyond_jansson(line, n) || fre_utf8_first_bad(line, n) < n ||
             json_error_code(&je) == json_error_stack_overflow);
    }
    if (!why && want.kind == FRE_JSON_STRING) {
        if (want.escaped)
            want.n = fre_json_unescape(want.p, want.n, &bad);
        if (j && !bad) {
            must(json_string_length(theirs) == want.n);
            must(memcmp(json_string_value(theirs), want.p, want.n) == 0);
        }
    }
    json_decref(j);
    free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fre_corpus_opts opts = {.format = FRE_CORPUS_JSONL};

    if (size < 1)
        return 0;
    opts.invalid = (fre_corpus_invalid)(data[0] % 3);
    opts.user_field = data[0] & 4 ? "user" : NULL;
    opts.label_field = data[0] & 8 ? "text" : NULL;
    drain(&opts, data[0], (fre_bytes){data + 1, size - 1});
    compare_line(data + 1, size - 1);
    return 0;
}
