/* test_cli_progress.c - what a run shows on standard error, under a clock of the test's own. */
#include "cli.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <fcntl.h>
#include <pty.h>
#include <termios.h>
#include <unistd.h>

static int64_t now_ms;

static int64_t fake_clock(void)
{
    return now_ms;
}

/* Standard error into a file or a pseudo-terminal, and back. */
typedef struct capture {
    int saved, from;
    char text[1 << 16];
} capture;

static void begin(capture *c, bool terminal)
{
    int to;

    (void)fflush(stderr);
    c->saved = dup(STDERR_FILENO);
    if (terminal) {
        struct termios raw;
        assert_int_equal(openpty(&c->from, &to, NULL, NULL, NULL), 0);
        assert_int_equal(tcgetattr(to, &raw), 0);
        cfmakeraw(&raw); /* no translation of line ends */
        assert_int_equal(tcsetattr(to, TCSANOW, &raw), 0);
    } else {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        c->from = ends[0];
        to = ends[1];
    }
    assert_int_equal(fcntl(c->from, F_SETFL, O_NONBLOCK), 0);
    assert_true(dup2(to, STDERR_FILENO) >= 0);
    (void)close(to);
    now_ms = 1000;
    fre_clock_set_source(fake_clock);
}

static void end(capture *c)
{
    ssize_t n;
    size_t all = 0;

    (void)fflush(stderr);
    while (all + 1 < sizeof c->text &&
           (n = read(c->from, c->text + all, sizeof c->text - 1 - all)) > 0)
        all += (size_t)n;
    c->text[all] = '\0';
    (void)dup2(c->saved, STDERR_FILENO);
    (void)close(c->saved);
    (void)close(c->from);
    fre_clock_set_source(NULL);
}

static capture c;

static void test_a_line_every_ten_seconds(void **state)
{
    fre_progress p;

    (void)state;
    begin(&c, false);
    cli_progress_start(&p, false);
    for (int second = 0; second <= 25; second++) {
        fre_progress_update(&p, "inverting", (uint64_t)second * 4, 200);
        now_ms += 1000;
    }
    cli_progress_end();
    end(&c);
    assert_string_equal(c.text, "inverting: 20%  4.0/s, 0:40 left\n"
                                "inverting: 40%  4.0/s, 0:30 left\n");
}

static void test_unknown_total(void **state)
{
    fre_progress p;

    (void)state;
    begin(&c, false);
    cli_progress_start(&p, false);
    fre_progress_update(&p, "embedding", 0, 0);
    now_ms += 10000;
    fre_progress_update(&p, "embedding", 2500000, 0);
    fre_progress_update(&p, "embedding", 2600000, 0); /* within the ten seconds */
    end(&c);
    assert_string_equal(c.text, "embedding: 2.5M done, 250.0k/s\n");
}

static void test_a_phase_without_numbers_is_said_once(void **state)
{
    fre_progress p;

    (void)state;
    begin(&c, false);
    cli_progress_start(&p, false);
    for (int second = 0; second <= 60; second++) {
        fre_progress_update(&p, second < 35 ? "waiting" : "taking part", 0, 0);
        now_ms += 1000;
    }
    cli_progress_end();
    end(&c);
    assert_string_equal(c.text, "waiting\ntaking part\n");
}

static void test_quiet(void **state)
{
    fre_progress p;

    (void)state;
    begin(&c, true);
    cli_progress_start(&p, true);
    fre_progress_update(&p, "embedding", 1, 2);
    now_ms += 60000;
    fre_progress_update(&p, "embedding", 2, 2);
    cli_progress_end();
    end(&c);
    assert_string_equal(c.text, "");
}

static void test_bar(void **state)
{
    fre_progress p;
    size_t redraws = 0, longest = 0;

    (void)state;
    begin(&c, true);
    cli_progress_start(&p, false);
    for (uint64_t i = 0; i <= 500; i++) {
        fre_progress_update(&p, "summing", i * 12345678901, UINT64_C(123456789012345));
        now_ms += 10;
    }
    fre_progress_update(&p, "noise", 4, 4);
    cli_progress_end();
    end(&c);
    for (const char *at = c.text; (at = strstr(at, "\r\033[K")) != NULL;) {
        size_t n;
        at += 4;
        n = strcspn(at, "\r\n");
        longest = n > longest ? n : longest;
        redraws++;
    }
    assert_in_range(redraws, 45, 56); /* five seconds at ten a second, the next phase, the end */
    assert_in_range(longest, 50, CLI_WIDTH - 1);
    assert_non_null(strstr(c.text, "summing             [...................."));
    assert_non_null(strstr(c.text, "\n\r\033[Knoise")); /* a phase leaves its last bar behind */
    assert_non_null(
        strstr(c.text, "summing             [####################] 100%")); /* and full */
    assert_non_null(strstr(c.text, "noise               [####################] 100%"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_line_every_ten_seconds),
        cmocka_unit_test(test_unknown_total),
        cmocka_unit_test(test_a_phase_without_numbers_is_said_once),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
