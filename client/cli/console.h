/*
 * A console for people: statements of one or more lines, edited with libedit, with a history that is
 * kept in a file and completion with Tab. Ctrl-C gives the statement at hand up, Ctrl-D ends.
 *
 * Terminal  stdin and stdout must be terminals.
 * History   $XDG_STATE_HOME/sirixctl/NAME.history, else ~/.local/state/sirixctl/NAME.history, mode 0600;
 *           where it cannot be kept it is not, without a word.
 */
#ifndef SIRIX_CLI_CONSOLE_H
#define SIRIX_CLI_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/bytes.h"
#include "base/status.h"

enum {
    SIRIXCTL_STATEMENT_BYTES_MAX = 1024 * 1024,
    SIRIXCTL_CANDIDATES_MAX = 256,
    SIRIXCTL_CANDIDATE_BYTES = 160,
};

/* What a word may become; those that do not begin with it are passed over. */
struct sirixctl_candidates {
    struct sirix_bytes word;   /* That is being typed. */
    struct sirix_bytes before; /* The line up to that word. */
    char items[SIRIXCTL_CANDIDATES_MAX][SIRIXCTL_CANDIDATE_BYTES];
    size_t count;
};
void sirixctl_candidates_add(struct sirixctl_candidates *candidates, const char *text);

/* Everything that is pointed to outlives the console. */
struct sirixctl_console_options {
    const char *name;       /* Of the history. */
    const char *prompt;     /* "query> " */
    const char *word_bytes; /* Beside letters and digits, what a word is made of. */
    /* Whether a text is a whole statement; an empty line ends one in any case. */
    bool (*is_complete)(void *context, struct sirix_bytes text);
    void (*complete)(void *context, struct sirixctl_candidates *candidates);
    void *context;
};

struct sirixctl_console;

/* Whether a person can be asked. */
bool sirixctl_console_possible(void);

enum sirix_status sirixctl_console_open(const struct sirixctl_console_options *options,
                                        struct sirixctl_console **out_console,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The next statement, without white space around it, never empty; valid until the next call. *out_ended:
 * there is none any more. SIRIX_EXHAUSTED: it is longer than SIRIXCTL_STATEMENT_BYTES_MAX.
 */
enum sirix_status sirixctl_console_read(struct sirixctl_console *console,
                                        struct sirix_bytes *out_statement, bool *out_ended,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Saves the history. NULL is allowed. */
void sirixctl_console_close(struct sirixctl_console *console);

#endif
