/*
 * sirixctl: the people's door to a storaged.
 *
 * Finds the command, reads its flags, runs it, and tells its error. Answers go to stdout,
 * everything else to stderr.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/help.h"
#include "cli/tell.h"

enum { TIMEOUT_MAX_S = 4 * 1000 * 1000, WORD_BYTES_MAX = 128, COMMANDS_MAX = 64 };

/* --- Finding the command ---------------------------------------------------------------------- */

/* The second words of a first one: "create, list, delete"; "" where no command has two words. */
static void list_second_words(const char *first, char *to, size_t to_bytes)
{
    size_t len = strlen(first);
    size_t used = 0;

    to[0] = '\0';
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        const char *name = sirixctl_commands[i]->name;

        if (strncmp(name, first, len) == 0 && name[len] == ' ' && used < to_bytes) {
            int written =
                snprintf(to + used, to_bytes - used, "%s%s", used != 0 ? ", " : "", name + len + 1);

            used += written > 0 ? (size_t)written : 0;
        }
    }
}

static enum sirix_status fail_no_command(int argc, const char **argv, struct sirix_error *err)
{
    const char *names[COMMANDS_MAX];
    char seconds[WORD_BYTES_MAX];
    size_t count = 0;

    for (size_t i = 0; i < sirixctl_command_count && count < COMMANDS_MAX; i++) {
        names[count++] = sirixctl_commands[i]->name;
    }
    list_second_words(argv[0], seconds, sizeof(seconds));
    if (seconds[0] != '\0') {
        return sirixctl_usage(err, "%s %.*s: there is %s", argv[0], WORD_BYTES_MAX,
                              argc > 1 ? argv[1] : "what?", seconds);
    }
    const char *nearest = sirixctl_nearest(argv[0], names, count);
    if (nearest != NULL) {
        return sirixctl_usage(err, "no command `%.*s`; did you mean `%s`?", WORD_BYTES_MAX, argv[0],
                              nearest);
    }
    return sirixctl_usage(err, "no command `%.*s`; sirixctl --help lists them", WORD_BYTES_MAX,
                          argv[0]);
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
    if (ctl->args.common[SIRIXCTL_TIMEOUT] != NULL && timeout_s == 0) {
        return sirixctl_usage(err, "--timeout wants 1 second or more, not 0");
    }
    ctl->call.deadline_ms = (uint32_t)(timeout_s * 1000);
    ctl->json = ctl->args.common[SIRIXCTL_JSON] != NULL;
    ctl->quiet = ctl->args.common[SIRIXCTL_QUIET] != NULL;
    sirixctl_out_init(&ctl->out, stdout, wants_colours(color, stdout));
    return SIRIX_OK;
}

static enum sirix_status run_command(struct sirixctl *ctl, struct sirix_error *err)
{
    const struct sirixctl_command *command = ctl->command;
    size_t given = ctl->args.operand_count;

    if (given < command->operands_min || given > command->operands_max) {
        return sirixctl_usage(err, "%s: wants %s%s", command->name,
                              command->operands[0] != '\0' ? command->operands : "no arguments",
                              given > command->operands_max ? ", and nothing else" : "");
    }
    enum sirix_status status = sirixctl_check_door(ctl, err);
    if (status == SIRIX_OK) {
        status = command->run(ctl, err);
    }
    if (status == SIRIX_OK) {
        return sirixctl_out_finish(&ctl->out, err);
    }
    (void)fflush(stdout); /* What was answered before it failed. */
    return status;
}

/* Whether an error is told as JSON, also where the flags could not be read. */
static bool asks_for_json(int argc, const char **argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--json") == 0) {
            return true;
        }
    }
    return false;
}

/* Puts the flags that stand before the command behind it. */
static void move_lead(int lead, int words, const char **argv, const char **scratch)
{
    memcpy(scratch, argv, (size_t)lead * sizeof(*argv));
    memmove(argv, argv + lead, (size_t)words * sizeof(*argv));
    memcpy(argv + words, scratch, (size_t)lead * sizeof(*argv));
}

/* Finds the command and reads all flags; *out_done: help was wanted and is given. */
static enum sirix_status read_line(struct sirixctl *ctl, int argc, const char **argv,
                                   const char **scratch, bool *out_done, struct sirix_error *err)
{
    int lead = 0;
    int words = 0;
    enum sirix_status status = sirixctl_args_lead(argc, argv, &sirixctl_common_flags, &lead, err);

    if (status != SIRIX_OK) {
        return status;
    }
    bool help = lead < argc && strcmp(argv[lead], "help") == 0;
    if (lead == argc || (help && (lead + 1 == argc || argv[lead + 1][0] == '-'))) {
        bool asked = help || strcmp(argv[lead - 1], "--help") == 0;

        sirixctl_help(asked ? stdout : stderr);
        *out_done = true;
        return asked ? SIRIX_OK : sirixctl_usage(err, "which command?");
    }
    if (help) {
        argc -= lead + 1;
        argv += lead + 1;
        lead = 0;
    }
    ctl->command = find_command(argc - lead, argv + lead, &words);
    if (ctl->command == NULL) {
        return fail_no_command(argc - lead, argv + lead, err);
    }
    if (help) {
        sirixctl_help_command(stdout, ctl->command);
        *out_done = true;
        return SIRIX_OK;
    }
    move_lead(lead, words, argv, scratch);
    status = sirixctl_args_parse(argc - words, argv + words, &sirixctl_common_flags,
                                 &ctl->command->flags, &ctl->args, err);
    if (status == SIRIX_OK && ctl->args.common[SIRIXCTL_HELP] != NULL) {
        sirixctl_help_command(stdout, ctl->command);
        *out_done = true;
        return SIRIX_OK;
    }
    return status != SIRIX_OK ? status : read_common(ctl, err);
}

static void tell(struct sirixctl *ctl, const struct sirix_error *err, bool json)
{
    char hint[SIRIXCTL_HINT_BYTES_MAX];
    struct sirixctl_out errors;

    sirixctl_out_init(&errors, stderr, wants_colours(ctl->args.common[SIRIXCTL_COLOR], stderr));
    if (json) {
        sirixctl_tell_json(&errors, err);
        return;
    }
    sirixctl_hint(ctl, err, hint);
    sirixctl_tell_words(&errors, err, hint);
}

static enum sirix_status run_line(struct sirixctl *ctl, int argc, const char **argv,
                                  const char **scratch)
{
    struct sirix_error err = {0};
    bool json = asks_for_json(argc, argv);
    bool done = false;
    enum sirix_status status = read_line(ctl, argc, argv, scratch, &done, &err);

    if (status == SIRIX_OK && !done) {
        status = run_command(ctl, &err);
    }
    if (status != SIRIX_OK && !done) {
        tell(ctl, &err, json);
    }
    sirixctl_disconnect(ctl);
    return status;
}

int main(int argc, char **argv)
{
    size_t count = argc > 1 ? (size_t)argc - 1 : 0;
    const char **words = calloc(2 * count + 1, sizeof(*words)); /* And as many to sort them. */
    struct sirixctl ctl = {.client = NULL};

    /* `| head` ends us without a word, also where somebody had that signal ignored. */
    (void)signal(SIGPIPE, SIG_DFL);
    if (words == NULL) {
        (void)fputs("sirixctl: out of memory\n", stderr);
        return sirix_status_exit_code(SIRIX_NO_MEMORY);
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = argv[i + 1];
    }
    enum sirix_status status = SIRIX_OK;
    if (count == 0) {
        sirixctl_help(stderr);
        status = SIRIX_UNSUPPORTED;
    } else if (strcmp(words[0], "--version") == 0) {
        (void)puts("sirixctl " SIRIX_VERSION);
    } else {
        status = run_line(&ctl, (int)count, words, words + count);
    }
    free(words);
    return sirix_status_exit_code(status);
}
