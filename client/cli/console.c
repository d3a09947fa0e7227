/* A console on libedit. */
#include "cli/console.h"

#include <errno.h>
#include <fcntl.h>
#include <histedit.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

enum { HISTORY_MAX = 1000, PATH_BYTES_MAX = 4096, LIST_COLUMNS = 72 };

struct sirixctl_console {
    struct sirixctl_console_options options;
    EditLine *edit;
    History *history;
    HistEvent event;
    char history_path[PATH_BYTES_MAX]; /* "": none is kept. */
    struct sirix_buf statement;
    struct sirixctl_candidates *candidates;
    bool more;     /* The line that is read goes on with a statement. */
    bool given_up; /* Ctrl-C. */
};

bool sirixctl_console_possible(void)
{
    return isatty(STDIN_FILENO) == 1 && isatty(STDOUT_FILENO) == 1;
}

void sirixctl_candidates_add(struct sirixctl_candidates *candidates, const char *text)
{
    const size_t len = strlen(text);

    if (candidates->count == SIRIXCTL_CANDIDATES_MAX || len >= SIRIXCTL_CANDIDATE_BYTES ||
        len < candidates->word.len ||
        (candidates->word.len != 0 &&
         memcmp(text, candidates->word.data, candidates->word.len) != 0)) {
        return;
    }
    memcpy(candidates->items[candidates->count++], text, len + 1);
}

static struct sirixctl_console *console_of(EditLine *edit)
{
    struct sirixctl_console *console = NULL;

    (void)el_get(edit, EL_CLIENTDATA, &console);
    return console;
}

static char *prompt(EditLine *edit)
{
    struct sirixctl_console *console = console_of(edit);
    static char more[] = "    -> ";
    union {
        const char *in;
        char *out;
    } text = {.in = console->options.prompt}; /* libedit only reads it. */

    return console->more ? more : text.out;
}

/* --- Keys --------------------------------------------------------------------------------------- */

static unsigned char give_up(EditLine *edit, int key)
{
    (void)key;
    console_of(edit)->given_up = true;
    return CC_NEWLINE;
}

static bool is_word_byte(const struct sirixctl_console *console, char byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
           (byte >= '0' && byte <= '9') ||
           (byte != '\0' && strchr(console->options.word_bytes, byte) != NULL);
}

/* How much all candidates have in common. */
static size_t common_prefix(const struct sirixctl_candidates *candidates)
{
    const char *first = candidates->items[0];
    size_t len = strlen(first);

    for (size_t i = 1; i < candidates->count; i++) {
        size_t same = 0;

        while (same < len && candidates->items[i][same] == first[same]) {
            same++;
        }
        len = same;
    }
    return len;
}

static void list_candidates(const struct sirixctl_candidates *candidates)
{
    size_t column = 0;

    (void)putchar('\n');
    for (size_t i = 0; i < candidates->count; i++) {
        const size_t len = strlen(candidates->items[i]);

        if (column != 0 && column + len > LIST_COLUMNS) {
            (void)putchar('\n');
            column = 0;
        }
        (void)printf("%s%s", column == 0 ? "" : "  ", candidates->items[i]);
        column += len + 2;
    }
    (void)putchar('\n');
    (void)fflush(stdout);
}

static unsigned char complete(EditLine *edit, int key)
{
    struct sirixctl_console *console = console_of(edit);
    struct sirixctl_candidates *candidates = console->candidates;
    const LineInfo *line = el_line(edit);
    const char *word = line->cursor;

    (void)key;
    while (word > line->buffer && is_word_byte(console, word[-1])) {
        word--;
    }
    candidates->word = (struct sirix_bytes){.data = word, .len = (size_t)(line->cursor - word)};
    candidates->before =
        (struct sirix_bytes){.data = line->buffer, .len = (size_t)(word - line->buffer)};
    candidates->count = 0;
    console->options.complete(console->options.context, candidates);
    if (candidates->count == 0) {
        return CC_REFRESH_BEEP;
    }
    const size_t have = candidates->word.len;
    const size_t common = common_prefix(candidates);
    if (common > have) {
        candidates->items[0][common] = '\0';
        return el_insertstr(edit, candidates->items[0] + have) == 0 ? CC_REFRESH : CC_REFRESH_BEEP;
    }
    if (candidates->count == 1) {
        return CC_NORM;
    }
    list_candidates(candidates);
    return CC_REDISPLAY;
}

/* --- The history -------------------------------------------------------------------------------- */

/* Makes the folders of a path that lacks its last components; a failure shows when the file is written. */
static void make_folders(char *path)
{
    for (char *slash = strchr(path + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(path, 0700); /* It may be there. */
        *slash = '/';
    }
}

static void find_history(struct sirixctl_console *console)
{
    const char *state = getenv("XDG_STATE_HOME");
    const char *home = getenv("HOME");
    int len = 0;

    if (state != NULL && state[0] == '/') {
        len = snprintf(console->history_path, PATH_BYTES_MAX, "%s/sirixctl/%s.history", state,
                       console->options.name);
    } else if (home != NULL && home[0] == '/') {
        len = snprintf(console->history_path, PATH_BYTES_MAX, "%s/.local/state/sirixctl/%s.history",
                       home, console->options.name);
    }
    if (len < 0 || len >= PATH_BYTES_MAX) {
        console->history_path[0] = '\0';
    }
    if (console->history_path[0] != '\0') {
        (void)history(console->history, &console->event, H_LOAD, console->history_path);
    }
}

static void save_history(struct sirixctl_console *console)
{
    if (console->history == NULL || console->history_path[0] == '\0') {
        return;
    }
    make_folders(console->history_path);
    const int fd = open(console->history_path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd >= 0) {
        (void)close(fd); /* It has the right mode before anything stands in it. */
        (void)history(console->history, &console->event, H_SAVE, console->history_path);
    }
}

/* --- The console -------------------------------------------------------------------------------- */

/* Lines are in UTF-8, also where nobody has said so. */
static void choose_encoding(void)
{
    (void)setlocale(LC_CTYPE, "");
    if (MB_CUR_MAX == 1) {
        (void)setlocale(LC_CTYPE, "C.UTF-8");
    }
}

enum sirix_status sirixctl_console_open(const struct sirixctl_console_options *options,
                                        struct sirixctl_console **out_console,
                                        struct sirix_error *err)
{
    struct sirixctl_console *console = calloc(1, sizeof(*console));

    if (console == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a console");
    }
    console->options = *options;
    sirix_buf_init(&console->statement, SIRIXCTL_STATEMENT_BYTES_MAX + 2);
    choose_encoding();
    console->candidates = calloc(1, sizeof(*console->candidates));
    console->edit = el_init("sirixctl", stdin, stdout, stderr);
    console->history = history_init();
    if (console->candidates == NULL || console->edit == NULL || console->history == NULL) {
        sirixctl_console_close(console);
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a console");
    }
    (void)history(console->history, &console->event, H_SETSIZE, HISTORY_MAX);
    (void)history(console->history, &console->event, H_SETUNIQUE, 1);
    find_history(console);
    (void)el_set(console->edit, EL_CLIENTDATA, console);
    (void)el_set(console->edit, EL_PROMPT, prompt);
    (void)el_set(console->edit, EL_EDITOR, "emacs");
    (void)el_set(console->edit, EL_HIST, history, console->history);
    (void)el_set(console->edit, EL_ADDFN, "sirix-complete", "complete", complete);
    (void)el_set(console->edit, EL_ADDFN, "sirix-give-up", "give up", give_up);
    (void)el_source(console->edit, NULL); /* ~/.editrc, if there is one. */
    (void)el_set(console->edit, EL_BIND, "^I", "sirix-complete", NULL);
    /* Ctrl-C is a key while a line is edited, and a signal while a statement runs. */
    (void)el_set(console->edit, EL_SETTY, "-d", "-isig", NULL);
    (void)el_set(console->edit, EL_BIND, "^C", "sirix-give-up", NULL);
    *out_console = console;
    return SIRIX_OK;
}

static struct sirix_bytes trim(struct sirix_bytes text)
{
    const char *start = text.data;
    const char *end = start + text.len;

    while (start < end && strchr(" \t\r\n", *start) != NULL) {
        start++;
    }
    while (end > start && strchr(" \t\r\n", end[-1]) != NULL) {
        end--;
    }
    return (struct sirix_bytes){.data = start, .len = (size_t)(end - start)};
}

/* Ends the statement with a NUL that is not counted, and puts it into the history. */
static enum sirix_status give(struct sirixctl_console *console, struct sirix_bytes *out_statement,
                              struct sirix_error *err)
{
    const struct sirix_bytes text = trim(sirix_buf_view(&console->statement));
    const size_t at = (size_t)((const uint8_t *)text.data - console->statement.data);
    enum sirix_status status = sirix_buf_append_fill(&console->statement, '\0', 1, err);

    if (status == SIRIX_OK) {
        char *start = (char *)console->statement.data + at;

        start[text.len] = '\0';
        (void)history(console->history, &console->event, H_ENTER, start);
        *out_statement = (struct sirix_bytes){.data = start, .len = text.len};
    }
    return status;
}

enum sirix_status sirixctl_console_read(struct sirixctl_console *console,
                                        struct sirix_bytes *out_statement, bool *out_ended,
                                        struct sirix_error *err)
{
    sirix_buf_clear(&console->statement);
    *out_ended = false;
    for (;;) {
        int len = 0;

        console->more = console->statement.len != 0;
        console->given_up = false;
        const char *line = el_gets(console->edit, &len);
        if (console->given_up) {
            (void)puts("^C");
            sirix_buf_clear(&console->statement);
            continue;
        }
        if (line == NULL || len <= 0) {
            (void)putchar('\n');
            *out_ended = true;
            return SIRIX_OK;
        }
        const struct sirix_bytes bytes = {.data = line, .len = (size_t)len};
        const bool is_empty = trim(bytes).len == 0;
        enum sirix_status status =
            is_empty ? SIRIX_OK : sirix_buf_append_bytes(&console->statement, bytes, err);
        if (status != SIRIX_OK) {
            return status;
        }
        const struct sirix_bytes text = trim(sirix_buf_view(&console->statement));
        if (text.len != 0 &&
            (is_empty || console->options.is_complete(console->options.context, text))) {
            return give(console, out_statement, err);
        }
    }
}

void sirixctl_console_close(struct sirixctl_console *console)
{
    if (console == NULL) {
        return;
    }
    save_history(console);
    if (console->history != NULL) {
        history_end(console->history);
    }
    if (console->edit != NULL) {
        el_end(console->edit);
    }
    free(console->candidates);
    sirix_buf_deinit(&console->statement);
    free(console);
}
