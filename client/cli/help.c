/* Help, and the page of the documentation that is made from the same tables. */
#include "cli/help.h"

#include <string.h>

/* --- Exit codes ------------------------------------------------------------------------------- */

static const enum sirix_status every_status[] = {
#define SIRIX_X(upper, lower, grpc, jsonrpc, exit_code) SIRIX_##upper,
    SIRIX_STATUS_LIST(SIRIX_X)
#undef SIRIX_X
};

enum { STATUS_COUNT = sizeof(every_status) / sizeof(every_status[0]) };

/* The smallest exit code above one; 0: there is none. */
static int next_code(int above)
{
    int next = 0;

    for (size_t i = 0; i < STATUS_COUNT; i++) {
        int code = sirix_status_exit_code(every_status[i]);

        if (code > above && (next == 0 || code < next)) {
            next = code;
        }
    }
    return next;
}

/* All that end with a code, in one line. */
static void print_statuses(FILE *file, int code, const char *between)
{
    const char *before = "";

    for (size_t i = 0; i < STATUS_COUNT; i++) {
        if (sirix_status_exit_code(every_status[i]) == code) {
            (void)fprintf(file, "%s%s", before, sirix_status_name(every_status[i]));
            before = between;
        }
    }
    if (code == sirix_status_exit_code(SIRIX_UNSUPPORTED)) {
        (void)fprintf(file, "%sa mistake on the command line", between);
    }
}

static void print_exit_codes(FILE *file)
{
    (void)fputs("\nExit codes:\n", file);
    for (int code = 0, more = 1; more != 0; code = next_code(code), more = code) {
        (void)fprintf(file, "  %3d  ", code);
        print_statuses(file, code, ", ");
        (void)fputc('\n', file);
    }
    (void)fprintf(file, "  %3d  whoever read the output went away\n", SIRIXCTL_EXIT_PIPE);
}

/* --- Help ------------------------------------------------------------------------------------- */

static void print_flags(FILE *file, const struct sirixctl_flags *flags)
{
    for (size_t i = 0; i < flags->count; i++) {
        const struct sirixctl_flag *flag = &flags->items[i];
        char left[64];

        (void)snprintf(left, sizeof(left), "--%s%s%s", flag->name, flag->value != NULL ? " " : "",
                       flag->value != NULL ? flag->value : "");
        (void)fprintf(file, "  %-26s %s\n", left, flag->help);
    }
}

void sirixctl_help(FILE *file)
{
    (void)fputs("Usage: sirixctl (--storage ADDRESS | --data DIR) COMMAND ...\n\nCommands:\n",
                file);
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        (void)fprintf(file, "  %-18s %s\n", sirixctl_commands[i]->name,
                      sirixctl_commands[i]->summary);
    }
    (void)fputs("\nFlags of every command, before or behind it:\n", file);
    print_flags(file, &sirixctl_common_flags);
    (void)fputs("\nA resource is named DB/RESOURCE[@WHAT]. WHAT is a revision number, an RFC 3339\n"
                "time, `main` for the head of main, or else a snapshot, or else a branch.\n"
                "`--` ends the flags. sirixctl help COMMAND says more, sirixctl --version which\n"
                "program this is.\n",
                file);
    print_exit_codes(file);
}

void sirixctl_help_command(FILE *file, const struct sirixctl_command *command)
{
    (void)fprintf(file, "Usage: sirixctl %s%s%s\n\n%s.\n", command->name,
                  command->operands[0] != '\0' ? " " : "", command->operands, command->summary);
    if (command->details != NULL) {
        (void)fprintf(file, "\n%s\n", command->details);
    }
    if (command->flags.count != 0) {
        (void)fputs("\nFlags:\n", file);
        print_flags(file, &command->flags);
    }
    (void)fputs("\nFlags of every command:\n", file);
    print_flags(file, &sirixctl_common_flags);
}

/* --- docs/cli.md ------------------------------------------------------------------------------ */

/* A bar ends a cell of a table. */
static void print_cell(FILE *file, const char *text)
{
    for (; *text != '\0'; text++) {
        (void)fprintf(file, "%s%c", *text == '|' ? "\\" : "", *text);
    }
}

static void page_flags(FILE *file, const struct sirixctl_flags *flags)
{
    (void)fputs("| flag | what |\n| --- | --- |\n", file);
    for (size_t i = 0; i < flags->count; i++) {
        const struct sirixctl_flag *flag = &flags->items[i];

        (void)fprintf(file, "| `--%s%s%s` | ", flag->name, flag->value != NULL ? " " : "",
                      flag->value != NULL ? flag->value : "");
        print_cell(file, flag->help);
        (void)fputs(" |\n", file);
    }
}

static void page_command(FILE *file, const struct sirixctl_command *command)
{
    (void)fprintf(file, "\n### %s\n\n%s.\n\n```\nsirixctl %s%s%s\n```\n", command->name,
                  command->summary, command->name, command->operands[0] != '\0' ? " " : "",
                  command->operands);
    if (command->details != NULL) {
        (void)fprintf(file, "\n%s\n", command->details);
    }
    if (command->flags.count != 0) {
        (void)fputc('\n', file);
        page_flags(file, &command->flags);
    }
    (void)fprintf(file, "\nWith `--json`:\n\n```\n%s\n```\n", command->answer);
}

void sirixctl_help_page(FILE *file)
{
    (void)fputs("# The command line\n\n"
                "Printed from the tables of `client/cli` by `tests/unit/client/cli_page.c`; a test "
                "compares the two.\n\n"
                "`sirixctl (--storage ADDRESS | --data DIR) COMMAND ...` Answers go to standard "
                "output, all else to standard error.\n\n"
                "A resource is named `DB/RESOURCE[@WHAT]`. WHAT is a revision number, an RFC 3339 "
                "time, `main` for the head of branch main, or else a snapshot, or else a "
                "branch. `snapshot:NAME` is that snapshot and `branch:NAME` that branch, whatever "
                "else has the name: `@snapshot:main` is the only way to read a snapshot called "
                "main. A NODE is a key or a path such as `/users/[5]/name`.\n\n"
                "Ctrl-C cancels; a second one ends the program at once.\n\n"
                "## Flags of every command\n\nThey may also stand before the command. `--` ends "
                "the flags; a dash and a digit begin a number.\n\n",
                file);
    page_flags(file, &sirixctl_common_flags);
    (void)fputs("\n## Commands\n", file);
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        page_command(file, sirixctl_commands[i]);
    }
    (void)fputs(
        "\n## Errors\n\nIn words: one line that says what is wrong and where, and a hint "
        "where one is known. With `--json`, on standard error:\n\n```\n"
        "{\"error\":{\"status\",\"reason\",\"message\",\"field\"?,\"pointer\"?,\"offset\"?,\n"
        "\"code\"?,\"line\"?,\"column\"?,"
        "\"currentRevision\"?,\"oldestRevision\"?,\"newestRevision\"?,\"retryAfterMs\"?}}\n"
        "```\n\nThe statuses and reasons are those of [errors.md](errors.md).\n\n"
        "| exit code | after |\n| --- | --- |\n",
        file);
    for (int code = 0, more = 1; more != 0; code = next_code(code), more = code) {
        (void)fprintf(file, "| %d | ", code);
        print_statuses(file, code, ", ");
        (void)fputs(" |\n", file);
    }
    (void)fprintf(file, "| %d | whoever read the output went away |\n", SIRIXCTL_EXIT_PIPE);
}
