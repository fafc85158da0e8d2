/* test_cli_tables.c - every command's table, and what is made from it. */
#include "cli.h"

#include <fre/privacy.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "assert_num.h"
#include "printed.h"

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("not in the text: %s", part);
}

static void test_names_are_unique(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_all.n; i++) {
        const cli_command *cmd = cli_all.command[i];
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(cmd->name, cli_all.command[j]->name);
        for (size_t a = 0; a < cli_n_args(cmd); a++)
            for (size_t b = 0; b < a; b++) {
                const cli_arg *x = cli_arg_at(cmd, a), *y = cli_arg_at(cmd, b);
                if (x->kind == CLI_GROUP || y->kind == CLI_GROUP)
                    continue;
                assert_string_not_equal(x->name, y->name);
                assert_true(!x->letter || x->letter != y->letter);
            }
    }
}

/* A number's range and default are its entry's; cli_arg has no room for a range of its own.  The
 * flag is the entry's name; "--sigma-factor" and its kin share one. */
static void assert_is_the_library_s(const cli_arg *arg)
{
    const size_t n = strlen(arg->param->name), m = strlen(arg->name);

    assert_int_equal(arg->kind, arg->param->whole ? CLI_U64 : CLI_DOUBLE);
    assert_true(m >= n);
    for (size_t i = 0; i < n; i++) {
        const char c = arg->param->name[i];

        assert_int_equal(arg->name[m - n + i], c == '_' ? '-' : c);
    }
}

static void test_entries_are_complete(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_all.n; i++) {
        const cli_command *cmd = cli_all.command[i];
        assert_non_null(cmd->run);
        assert_has(cmd->example, CLI_PROGRAM);
        assert_true(cli_n_args(cmd) <= CLI_ARGS_MAX);
        for (size_t a = 0; a < cli_n_args(cmd); a++) {
            const cli_arg *arg = cli_arg_at(cmd, a);
            fre_err err = {.text = ""};
            cli_value v;
            if (arg->kind == CLI_GROUP)
                continue;
            assert_non_null(arg->help);
            if (arg->kind == CLI_FLAG)
                continue;
            if (arg->kind == CLI_ENUM)
                assert_non_null(arg->choices);
            else
                assert_non_null(arg->metavar);
            assert_false(arg->required && cli_preset(arg));
            if (cli_preset(arg) && cli_parse_value(&v, arg, cli_preset(arg), &err) != FRE_OK)
                fail_msg("%s: %s", cmd->name, err.text);
            if (arg->param)
                assert_is_the_library_s(arg);
            else if (arg->kind == CLI_U64 || arg->kind == CLI_DOUBLE)
                assert_string_equal(arg->name, "seed"); /* the one number without a range */
        }
    }
}

static bool has_name(const cli_command *cmd, const char *name)
{
    for (size_t i = 0; i < cmd->n_positional; i++)
        if (strcmp(cmd->positional[i].name, name) == 0)
            return true;
    for (size_t i = 0; i < cmd->n_args; i++)
        if (cmd->args[i].kind != CLI_GROUP && strcmp(cmd->args[i].name, name) == 0)
            return true;
    return false;
}

static void test_rules_name_arguments(void **state)
{
    (void)state;
    for (size_t i = 0; i < cli_all.n; i++) {
        const cli_command *cmd = cli_all.command[i];

        for (size_t r = 0; r < cmd->n_rules; r++)
            if (!has_name(cmd, cmd->rules[r].flag) || !has_name(cmd, cmd->rules[r].other))
                fail_msg("%s: --%s, %s", cmd->name, cmd->rules[r].flag, cmd->rules[r].other);
    }
}

static void test_help_fits_80_columns(void **state)
{
    char *printed = NULL;

    (void)state;
    PRINTED(cli_print_overview(f, &cli_all));
    assert_fits(printed, "overview");
    free(printed);
    for (size_t i = 0; i < cli_all.n; i++) {
        const cli_command *cmd = cli_all.command[i];
        PRINTED(cli_print_help(f, cmd));
        assert_fits(printed, cmd->name);
        assert_has(printed, "\nExample:\n  ");
        for (size_t a = 0; a < cli_n_args(cmd); a++) {
            char flag[64];
            const cli_arg *arg = cli_arg_at(cmd, a);
            snprintf(flag, sizeof flag, arg->kind == CLI_GROUP ? "\n%s:\n" : "--%s", arg->name);
            assert_has(printed, flag);
            if (arg->kind != CLI_GROUP && arg->preset) {
                snprintf(flag, sizeof flag, "%s)", arg->preset);
                assert_has(printed, flag);
            }
        }
        free(printed);
    }
}

static void test_man_has_everything(void **state)
{
    char *printed = NULL;

    (void)state;
    PRINTED(cli_print_man(f, &cli_all));
    assert_has(printed, ".SH EXIT STATUS");
    for (size_t i = 0; i < cli_all.n; i++) {
        const cli_command *cmd = cli_all.command[i];
        char heading[64];
        snprintf(heading, sizeof heading, "\n.SS %s\n", cmd->name);
        assert_has(printed, heading);
    }
    assert_has(printed, "\\fB\\-\\-sampling\\-rate\\fR \\fIP\\fR|auto\n");
    assert_has(printed, "\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIDIR\\fR\n");
    /* No line may begin with a quote or a dot that is not a request. */
    for (const char *p = printed; (p = strstr(p, "\n.")) != NULL; p += 2)
        if (!strchr("TSPnfRhabB", p[2]))
            fail_msg("an odd request: %.20s", p + 1);
    assert_null(strstr(printed, "\n'"));
    free(printed);
}

static void test_completions_have_every_flag(void **state)
{
    static const char *const shells[] = {"bash", "zsh", "fish"};

    (void)state;
    for (size_t s = 0; s < 3; s++) {
        char *printed = NULL;
        PRINTED(cli_print_completion(f, &cli_all, shells[s]));
        for (size_t i = 0; i < cli_all.n; i++)
            for (size_t a = 0; a < cli_n_args(cli_all.command[i]); a++) {
                const cli_arg *arg = cli_arg_at(cli_all.command[i], a);
                char flag[64];
                if (arg->kind == CLI_GROUP)
                    continue;
                snprintf(flag, sizeof flag, s == 2 ? "-l %s" : "--%s", arg->name);
                assert_has(printed, flag);
            }
        free(printed);
    }
}

static void test_find_command(void **state)
{
    static const struct {
        const char *words[2], *name, *message;
        int used;
    } cases[] = {
        {{"plan", "x"}, "plan", "", 1},
        {{"model", "list"}, "model list", "", 2},
        {{"model", "info"}, "model info", "", 2},
        {{"model", "x"},
         NULL,
         "'model' needs a second word: 'model list' or 'model info' or 'model prior' or 'model "
         "bridge' or 'model codebook' or 'model verify'",
         0},
        {{"synthesise", "x"},
         NULL,
         "'synthesise' is not a command of this version; did you mean 'synthesize'?",
         0},
        {{"weather", "x"},
         NULL,
         "'weather' is not a command of this version; 'fre-e2t help' lists them",
         0},
        {{"", "x"}, NULL, "'' is not a command of this version; 'fre-e2t help' lists them", 0},
        {{"pla", "x"}, NULL, "'pla' is not a command of this version; did you mean 'plan'?", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char first[32], second[32];
        char *argv[2] = {first, second};
        fre_err err = {.text = ""};
        int used = 0;
        snprintf(first, sizeof first, "%s", cases[i].words[0]);
        snprintf(second, sizeof second, "%s", cases[i].words[1]);
        const cli_command *cmd = cli_find_command(&cli_all, 2, argv, &used, &err);
        assert_string_equal(err.text, cases[i].message);
        assert_int_equal(used, cases[i].used);
        if (cases[i].name)
            assert_string_equal(cmd->name, cases[i].name);
        else
            assert_null(cmd);
    }
}

/* The tables' defaults are those of the planner. */
static void test_plan_defaults(void **state)
{
    char epsilon[] = "--epsilon=4", dir[] = "-ox", in[] = "in";
    char *argv[] = {epsilon, dir, in};
    fre_plan_request r;
    fre_err err;
    static cli c;

    (void)state;
    fre_plan_request_init(&r);
    assert_int_equal(cli_parse(&c, &cli_all, &cli_cmd_synthesize, 3, argv, &err), FRE_OK);
    for (int i = 0; i < 2; i++) {
        assert_close(cli_number(&c, "delta"), r.delta, 0.0, 0.0);
        assert_true(cli_whole(&c, "threshold") == r.threshold);
        assert_close(cli_number(&c, "radius"), r.radius, 0.0, 0.0);
        assert_true(cli_whole(&c, "population") == r.population);
        assert_int_equal(cli_whole(&c, "projection-dim"), r.proj);
        assert_close(cli_number(&c, "cell-scale"), r.cell_scale, 0.0, 0.0);
        assert_close(cli_number(&c, "sampling-rate"), r.sampling_rate, 0.0, 0.0);
        assert_int_equal(cli_choice(&c, "adjacency"), r.adjacency);
        assert_int_equal(cli_choice(&c, "accountant"), r.accountant);
        assert_int_equal(cli_choice(&c, "gaussian"), r.gaussian);
        assert_int_equal(cli_choice(&c, "sensitivity"), r.sensitivity);
        assert_close(cli_number(&c, "norm-bound"), r.norm_bound, 0.0, 0.0);
        assert_close(cli_number(&c, "budget-factor"), r.budget_factor, 0.0, 0.0);
        assert_close(cli_number(&c, "sensitivity-ratio"), r.sensitivity_ratio, 0.0, 0.0);
        assert_int_equal(cli_whole(&c, "max-cells-per-user"), r.cells_per_user);
        assert_int_equal(cli_parse(&c, &cli_all, &cli_cmd_plan, 1, argv, &err), FRE_OK);
    }
    assert_int_equal(cli_whole(&c, "dimension"), r.dim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names_are_unique),
        cmocka_unit_test(test_entries_are_complete),
        cmocka_unit_test(test_rules_name_arguments),
        cmocka_unit_test(test_help_fits_80_columns),
        cmocka_unit_test(test_man_has_everything),
        cmocka_unit_test(test_completions_have_every_flag),
        cmocka_unit_test(test_find_command),
        cmocka_unit_test(test_plan_defaults),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
