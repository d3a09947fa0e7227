/*
 * sirixctl completion bash|zsh|fish
 *
 * Prints a script for the shell, made from the tables of commands and flags, so that it cannot
 * differ from what the program takes.
 */
#include <string.h>

#include "cli/commands/commands.h"

/* The words that stand first: each once, though `snapshot` begins three commands. */
static bool begins_new_word(size_t at)
{
    const char *name = sirixctl_commands[at]->name;
    size_t len = strcspn(name, " ");

    return at == 0 || strncmp(sirixctl_commands[at - 1]->name, name, len) != 0 ||
           strcspn(sirixctl_commands[at - 1]->name, " ") != len;
}

static void print_first_words(struct sirixctl_out *out)
{
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        if (begins_new_word(i)) {
            const char *name = sirixctl_commands[i]->name;

            sirixctl_out_printf(out, "%.*s ", (int)strcspn(name, " "), name);
        }
    }
}

/* The second words of a first one. */
static void print_second_words(struct sirixctl_out *out, const char *name)
{
    size_t len = strcspn(name, " ");

    for (size_t i = 0; i < sirixctl_command_count; i++) {
        const char *other = sirixctl_commands[i]->name;

        if (strncmp(other, name, len) == 0 && other[len] == ' ') {
            sirixctl_out_printf(out, "%s ", other + len + 1);
        }
    }
}

static void print_flags(struct sirixctl_out *out, const struct sirixctl_flags *flags)
{
    for (size_t i = 0; i < flags->count; i++) {
        sirixctl_out_printf(out, "--%s ", flags->items[i].name);
    }
}

/* --- bash, and zsh by way of it --------------------------------------------------------------- */

/* Steps over the flags that stand before the command; `at` is then the command's place. */
static void print_bash_lead(struct sirixctl_out *out)
{
    const char *between = "";

    sirixctl_out_printf(out, "    while [ \"$at\" -lt \"$COMP_CWORD\" ]; do\n"
                             "        case \"${COMP_WORDS[at]}\" in\n            ");
    for (size_t i = 0; i < sirixctl_common_flags.count; i++) {
        if (sirixctl_common_flags.items[i].value != NULL) {
            sirixctl_out_printf(out, "%s--%s", between, sirixctl_common_flags.items[i].name);
            between = "|";
        }
    }
    sirixctl_out_printf(out, ") at=$((at + 2)) ;;\n            --*) at=$((at + 1)) ;;\n"
                             "            *) break ;;\n        esac\n    done\n");
}

static void print_bash(struct sirixctl_out *out)
{
    sirixctl_out_printf(out, "_sirixctl() {\n"
                             "    local word=${COMP_WORDS[COMP_CWORD]} words='' at=1\n");
    print_bash_lead(out);
    sirixctl_out_printf(out, "    local first=${COMP_WORDS[at]} second=${COMP_WORDS[at + 1]}\n"
                             "    if [ \"$COMP_CWORD\" -eq \"$at\" ]; then\n        words='");
    print_first_words(out);
    print_flags(out, &sirixctl_common_flags);
    sirixctl_out_printf(out, "--version'\n    elif [ \"$COMP_CWORD\" -gt \"$at\" ]; then\n"
                             "        case \"$first $second\" in\n");
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        const struct sirixctl_command *command = sirixctl_commands[i];

        sirixctl_out_printf(out, "        '%s'%s) words='", command->name,
                            strchr(command->name, ' ') != NULL ? "" : "*");
        print_flags(out, &command->flags);
        print_flags(out, &sirixctl_common_flags);
        sirixctl_out_printf(out, "' ;;\n");
    }
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        const char *name = sirixctl_commands[i]->name;

        if (begins_new_word(i) && strchr(name, ' ') != NULL) {
            sirixctl_out_printf(out, "        '%.*s'*) words='", (int)strcspn(name, " "), name);
            print_second_words(out, name);
            sirixctl_out_printf(out, "' ;;\n");
        }
    }
    sirixctl_out_printf(out, "        esac\n    fi\n"
                             "    COMPREPLY=($(compgen -W \"$words\" -- \"$word\"))\n"
                             "}\n"
                             "complete -o default -F _sirixctl sirixctl\n");
}

static void print_zsh(struct sirixctl_out *out)
{
    sirixctl_out_printf(out, "#compdef sirixctl\nautoload -U +X bashcompinit && bashcompinit\n");
    print_bash(out);
}

/* --- fish ------------------------------------------------------------------------------------- */

/* Summaries and helps stand in single quotes; they hold none themselves, but a later one may. */
static void print_quoted(struct sirixctl_out *out, const char *text)
{
    sirixctl_out_printf(out, "'");
    for (const char *at = text; *at != '\0'; at++) {
        sirixctl_out_printf(out, "%s%c", *at == '\'' || *at == '\\' ? "\\" : "", *at);
    }
    sirixctl_out_printf(out, "'");
}

static void print_fish_flags(struct sirixctl_out *out, const struct sirixctl_flags *flags,
                             const char *condition)
{
    for (size_t i = 0; i < flags->count; i++) {
        const struct sirixctl_flag *flag = &flags->items[i];

        sirixctl_out_printf(out, "complete -c sirixctl -n \"%s\" -l %s%s -d ", condition,
                            flag->name, flag->value != NULL ? " -r" : "");
        print_quoted(out, flag->help);
        sirixctl_out_printf(out, "\n");
    }
}

/* A command of one word; condition is what its flags need to have seen. */
static void print_fish_word(struct sirixctl_out *out, const struct sirixctl_command *command,
                            char *condition, size_t condition_bytes)
{
    sirixctl_out_printf(out, "complete -c sirixctl -n __fish_use_subcommand -a %s -d ",
                        command->name);
    print_quoted(out, command->summary);
    sirixctl_out_printf(out, "\n");
    (void)snprintf(condition, condition_bytes, "__fish_seen_subcommand_from %s", command->name);
}

/* A command of two words. */
static void print_fish_words(struct sirixctl_out *out, size_t at, char *condition,
                             size_t condition_bytes)
{
    const struct sirixctl_command *command = sirixctl_commands[at];
    int first_len = (int)strcspn(command->name, " ");
    const char *second = command->name + first_len + 1;

    if (begins_new_word(at)) {
        sirixctl_out_printf(out, "complete -c sirixctl -n __fish_use_subcommand -a %.*s\n",
                            first_len, command->name);
    }
    sirixctl_out_printf(out,
                        "complete -c sirixctl -n \"__fish_seen_subcommand_from %.*s\" -a %s -d ",
                        first_len, command->name, second);
    print_quoted(out, command->summary);
    sirixctl_out_printf(out, "\n");
    (void)snprintf(condition, condition_bytes,
                   "__fish_seen_subcommand_from %.*s; and __fish_seen_subcommand_from %s",
                   first_len, command->name, second);
}

static void print_fish(struct sirixctl_out *out)
{
    char condition[128];

    print_fish_flags(out, &sirixctl_common_flags, "true");
    for (size_t i = 0; i < sirixctl_command_count; i++) {
        const struct sirixctl_command *command = sirixctl_commands[i];

        if (strchr(command->name, ' ') == NULL) {
            print_fish_word(out, command, condition, sizeof(condition));
        } else {
            print_fish_words(out, i, condition, sizeof(condition));
        }
        print_fish_flags(out, &command->flags, condition);
    }
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *shell = ctl->args.operands[0];

    if (strcmp(shell, "bash") == 0) {
        print_bash(&ctl->out);
    } else if (strcmp(shell, "zsh") == 0) {
        print_zsh(&ctl->out);
    } else if (strcmp(shell, "fish") == 0) {
        print_fish(&ctl->out);
    } else {
        return sirixctl_usage(err, "no completion for `%s`; there is bash, zsh and fish", shell);
    }
    return SIRIX_OK;
}

const struct sirixctl_command sirixctl_completion = {
    .name = "completion",
    .operands = "bash|zsh|fish",
    .summary = "Print a completion script for a shell",
    .details = "bash: source <(sirixctl completion bash)",
    .answer = "the script, as without it",
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_NOTHING,
    .run = run,
};
