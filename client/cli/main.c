/*
 * sirixctl: the people's door to a storaged.
 *
 * Finds the command, reads its flags, connects, runs it, and tells its error. Answers go to stdout,
 * everything else to stderr.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"

enum { TIMEOUT_MAX_S = 4 * 1000 * 1000, CONNECT_MS = 2000, WORD_BYTES_MAX = 128 };

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

static void print_exit_codes(FILE *file)
{
    static const enum sirix_status every_one[] = {
#define SIRIX_X(upper, lower, grpc, jsonrpc, exit_code) SIRIX_##upper,
        SIRIX_STATUS_LIST(SIRIX_X)
#undef SIRIX_X
    };

    (void)fputs("\nExit codes (64 is also any mistake on the command line):\n", file);
    for (size_t i = 0; i < sizeof(every_one) / sizeof(every_one[0]); i++) {
        (void)fprintf(file, "  %3d %s\n", sirix_status_exit_code(every_one[i]),
                      sirix_status_name(every_one[i]));
    }
}

static void print_help(FILE *file)
{
    (void)fputs("Usage: sirixctl COMMAND (--storage ADDRESS | --data DIR) ...\n\nCommands:\n",
                file);
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        (void)fprintf(file, "  %-18s %s\n", sirixctl_commands[i]->name,
                      sirixctl_commands[i]->summary);
    }
    (void)fputs("\nFlags of every command:\n", file);
    print_flags(file, &sirixctl_common_flags);
    (void)fputs("\nA resource is named DB/RESOURCE[@WHAT]. WHAT is a revision number, an RFC 3339\n"
                "time, `main` for the head of main, or else a snapshot, or else a branch.\n"
                "sirixctl COMMAND --help says more.\n",
                file);
    print_exit_codes(file);
}

static void print_command_help(FILE *file, const struct sirixctl_command *command)
{
    (void)fprintf(file, "Usage: sirixctl %s %s\n\n%s.\n", command->name, command->operands,
                  command->summary);
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

/* --- Finding the command ---------------------------------------------------------------------- */

static enum sirix_status fail_no_command(const char *word, struct sirix_error *err)
{
    const char *names[64];
    size_t count = 0;

    for (size_t i = 0; i < sirixctl_command_count && count < 64; i++) {
        names[count++] = sirixctl_commands[i]->name;
    }
    const char *nearest = sirixctl_nearest(word, names, count);
    if (nearest != NULL) {
        return sirixctl_usage(err, "no command `%.*s`; did you mean `%s`?", WORD_BYTES_MAX, word,
                              nearest);
    }
    return sirixctl_usage(err, "no command `%.*s`; sirixctl --help lists them", WORD_BYTES_MAX,
                          word);
}

/* The command that the first word, or the first two, name; how many words to *out_words. */
static const struct sirixctl_command *find_command(int argc, const char **argv, int *out_words)
{
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        const char *name = sirixctl_commands[i]->name;
        size_t first = strcspn(name, " ");

        if (strlen(argv[0]) != first || strncmp(argv[0], name, first) != 0) {
            continue;
        }
        if (name[first] == '\0') {
            *out_words = 1;
            return sirixctl_commands[i];
        }
        if (argc > 1 && strcmp(argv[1], name + first + 1) == 0) {
            *out_words = 2;
            return sirixctl_commands[i];
        }
    }
    return NULL;
}

/* --- Running ---------------------------------------------------------------------------------- */

static bool wants_colours(const char *when, FILE *file)
{
    const char *no_color = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");

    if (when != NULL && strcmp(when, "auto") != 0) {
        return strcmp(when, "always") == 0;
    }
    return isatty(fileno(file)) == 1 && (no_color == NULL || no_color[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

static enum sirix_status read_common(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *color = ctl->args.common[SIRIXCTL_COLOR];
    uint64_t timeout_s = 0;

    if (color != NULL && strcmp(color, "auto") != 0 && strcmp(color, "always") != 0 &&
        strcmp(color, "never") != 0) {
        return sirixctl_usage(err, "--color wants auto, always or never, not `%s`", color);
    }
    enum sirix_status status = sirixctl_parse_optional(ctl->args.common[SIRIXCTL_TIMEOUT],
                                                       "--timeout", TIMEOUT_MAX_S, &timeout_s, err);
    if (status != SIRIX_OK) {
        return status;
    }
    ctl->call.deadline_ms = (uint32_t)(timeout_s * 1000);
    ctl->json = ctl->args.common[SIRIXCTL_JSON] != NULL;
    ctl->quiet = ctl->args.common[SIRIXCTL_QUIET] != NULL;
    sirixctl_out_init(&ctl->out, stdout, wants_colours(color, stdout));
    return SIRIX_OK;
}

static enum sirix_status connect(struct sirixctl *ctl, const struct sirixctl_command *command,
                                 struct sirix_error *err)
{
    const char *storage = ctl->args.common[SIRIXCTL_STORAGE];
    const char *data = ctl->args.common[SIRIXCTL_DATA];
    const struct sirix_client_options options = {
        .client_name = "sirixctl",
        .connect_timeout_ms = CONNECT_MS,
    };

    if (command->needs == SIRIXCTL_NEEDS_NOTHING) {
        return SIRIX_OK;
    }
    if ((storage == NULL) == (data == NULL)) {
        return sirixctl_usage(err,
                              "where is the data? give either --storage ADDRESS or --data DIR");
    }
    if (storage != NULL) {
        return sirix_client_open(storage, &options, &ctl->client, err);
    }
    const struct sirix_embedded_options embedded = {
        .read_only = command->needs == SIRIXCTL_NEEDS_READER,
        .program = ctl->args.common[SIRIXCTL_STORAGED],
        .client = options,
    };
    return sirix_embedded_open(data, &embedded, &ctl->client, err);
}

static enum sirix_status run_command(struct sirixctl *ctl, const struct sirixctl_command *command,
                                     struct sirix_error *err)
{
    size_t given = ctl->args.operand_count;

    if (given < command->operands_min || given > command->operands_max) {
        return sirixctl_usage(err, "%s: wants %s%s", command->name,
                              command->operands[0] != '\0' ? command->operands : "no arguments",
                              given > command->operands_max ? ", and nothing else" : "");
    }
    enum sirix_status status = connect(ctl, command, err);
    if (status == SIRIX_OK) {
        status = command->run(ctl, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_out_finish(&ctl->out, err);
    } else {
        (void)fflush(stdout); /* What was answered before it failed. */
    }
    sirix_client_close(ctl->client);
    return status;
}

/* --- Errors ----------------------------------------------------------------------------------- */

static void print_error_json(struct sirixctl_out *out, const struct sirix_error *err)
{
    struct sirixctl_json json;

    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_object(&json, "error");
    sirixctl_json_str(&json, "status", sirix_status_name(err->status));
    sirixctl_json_str(&json, "reason", sirix_reason_name(err->reason));
    sirixctl_json_str(&json, "message", err->text);
    if (err->field[0] != '\0') {
        sirixctl_json_str(&json, "field", err->field);
    }
    if (err->pointer[0] != '\0') {
        sirixctl_json_str(&json, "pointer", err->pointer);
    }
    if (err->has_offset) {
        sirixctl_json_u64(&json, "offset", err->offset);
    }
    if (err->current_revision != 0) {
        sirixctl_json_u64(&json, "currentRevision", err->current_revision);
    }
    if (err->retry_after_ms != 0) {
        sirixctl_json_u64(&json, "retryAfterMs", err->retry_after_ms);
    }
    sirixctl_json_object_end(&json);
    sirixctl_json_object_end(&json);
    if (sirixctl_json_finish(&json, out, NULL) != SIRIX_OK) {
        (void)fputs("{\"error\":{\"status\":\"internal\"}}\n", out->file);
    }
}

static void print_error(struct sirixctl_out *out, const struct sirix_error *err)
{
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_RED);
    sirixctl_out_printf(out, "sirixctl: ");
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_NONE);
    sirixctl_out_str(out, err->text);
    sirixctl_out_printf(out, " (%s%s%s", sirix_status_name(err->status),
                        err->reason != SIRIX_REASON_NONE ? ", " : "",
                        err->reason != SIRIX_REASON_NONE ? sirix_reason_name(err->reason) : "");
    if (err->field[0] != '\0') {
        sirixctl_out_printf(out, "; field ");
        sirixctl_out_str(out, err->field);
    }
    if (err->pointer[0] != '\0') {
        sirixctl_out_printf(out, "; at ");
        sirixctl_out_str(out, err->pointer);
    }
    if (err->has_offset) {
        sirixctl_out_printf(out, "; byte %" PRIu64, err->offset);
    }
    if (err->current_revision != 0) {
        sirixctl_out_printf(out, "; the head is revision %" PRIu64, err->current_revision);
    }
    if (err->retry_after_ms != 0) {
        sirixctl_out_printf(out, "; try again in %" PRIu64 " ms", err->retry_after_ms);
    }
    sirixctl_out_printf(out, ")\n");
}

int main(int argc, char **argv)
{
    const char **words = calloc((size_t)argc + 1, sizeof(*words));
    const struct sirixctl_command *command = NULL;
    struct sirixctl ctl = {.client = NULL};
    struct sirix_error err = {0};
    struct sirixctl_out errors;
    int skipped = 0;
    enum sirix_status status = SIRIX_OK;

    sirixctl_out_init(&errors, stderr, false);
    if (words == NULL) {
        status = sirix_fail(&err, SIRIX_NO_MEMORY, "allocate the arguments");
        goto out;
    }
    for (int i = 1; i < argc; i++) {
        words[i - 1] = argv[i];
    }
    if (argc < 2) {
        print_help(stderr);
        status = SIRIX_UNSUPPORTED;
        goto out;
    }
    if (strcmp(words[0], "--help") == 0 || strcmp(words[0], "help") == 0) {
        print_help(stdout);
        goto out;
    }
    if (strcmp(words[0], "--version") == 0) {
        (void)puts("sirixctl " SIRIX_VERSION);
        goto out;
    }
    command = find_command(argc - 1, words, &skipped);
    status = command == NULL
                 ? fail_no_command(words[0], &err)
                 : sirixctl_args_parse(argc - 1 - skipped, words + skipped, &sirixctl_common_flags,
                                       &command->flags, &ctl.args, &err);
    if (status == SIRIX_OK && ctl.args.common[SIRIXCTL_HELP] != NULL) {
        print_command_help(stdout, command);
        goto out;
    }
    if (status == SIRIX_OK) {
        status = read_common(&ctl, &err);
    }
    if (status == SIRIX_OK) {
        status = run_command(&ctl, command, &err);
    }
    errors.colours = wants_colours(ctl.args.common[SIRIXCTL_COLOR], stderr);
    if (status != SIRIX_OK && ctl.json) {
        print_error_json(&errors, &err);
    } else if (status != SIRIX_OK) {
        print_error(&errors, &err);
    }
out:
    free(words);
    return sirix_status_exit_code(status);
}
