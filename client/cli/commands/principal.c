/*
 * sirixctl principal add|rotate|remove|list FILE ...
 *
 * Keeps the file of principals that storaged reads (docs/service.md): one a line, of a token its SHA-256
 * alone. A new token is printed once, to standard output and nowhere else. The file is replaced as a
 * whole, so that storaged never reads half of it; storaged checks all of it when it reads it again.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "cli/commands/commands.h"

enum {
    FILE_BYTES_MAX = 4 * 1024 * 1024,
    TOKEN_RANDOM_BYTES = 32,
    PRIVATE_MODE = 0600,
};

static const char token_prefix[] = "sirix_";
static const char token_word[] = "token=";
static const char space[] = " \t\r";

/* --- Files -------------------------------------------------------------------------------------- */

static enum sirix_status fail_errno(struct sirix_error *err, const char *doing, const char *path)
{
    return sirix_fail(err, SIRIX_IO, "%s %s: %s", doing, path, strerror(errno));
}

/* missing_too: a file that is not there is an empty one. */
static enum sirix_status read_file(const char *path, bool missing_too, char **out_text,
                                   struct sirix_error *err)
{
    char *bytes = NULL;
    size_t len = 0;

    if (missing_too && access(path, F_OK) != 0 && errno == ENOENT) {
        *out_text = calloc(1, 1);
        return *out_text == NULL ? sirix_fail(err, SIRIX_NO_MEMORY, "allocate a file") : SIRIX_OK;
    }
    enum sirix_status status = sirixctl_read_file(path, FILE_BYTES_MAX, &bytes, &len, err);
    if (status != SIRIX_OK) {
        return status;
    }
    char *text = strndup(len == 0 ? "" : bytes, len);
    if (text == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate a file");
    } else if (strlen(text) != len) {
        free(text);
        status = sirix_fail(err, SIRIX_INVALID, "%s is no text", path);
    } else {
        *out_text = text;
    }
    free(bytes);
    return status;
}

static enum sirix_status write_all(int fd, const struct sirix_buf *text, const char *path,
                                   struct sirix_error *err)
{
    for (size_t at = 0; at < text->len;) {
        ssize_t put = write(fd, text->data + at, text->len - at);

        if (put < 0) {
            return fail_errno(err, "write", path);
        }
        at += (size_t)put;
    }
    return fsync(fd) == 0 ? SIRIX_OK : fail_errno(err, "write", path);
}

/* The new file takes the place of the old one; two at once: one is refused. */
static enum sirix_status replace_file(const char *path, const struct sirix_buf *text,
                                      struct sirix_error *err)
{
    struct sirix_buf name;
    const char *new_path = NULL;
    struct stat before = {.st_mode = PRIVATE_MODE};

    sirix_buf_init(&name, SIZE_MAX);
    enum sirix_status status = sirix_buf_printf(&name, err, "%s.new", path);
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&name, &new_path, err);
    }
    if (status != SIRIX_OK) {
        sirix_buf_deinit(&name);
        return status;
    }
    (void)stat(path, &before); /* A new file is its owner's alone. */
    int fd = open(new_path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, PRIVATE_MODE);
    if (fd < 0) {
        status = fail_errno(err, "make", new_path);
    } else {
        status = write_all(fd, text, new_path, err);
        if (status == SIRIX_OK && fchmod(fd, before.st_mode & 0777) != 0) {
            status = fail_errno(err, "set the mode of", new_path);
        }
        (void)close(fd);
        if (status == SIRIX_OK && rename(new_path, path) != 0) {
            status = fail_errno(err, "replace", path);
        }
        if (status != SIRIX_OK) {
            (void)unlink(new_path);
        }
    }
    sirix_buf_deinit(&name);
    return status;
}

/* --- Lines -------------------------------------------------------------------------------------- */

/* Cuts the next line off; NULL: there is none. */
static char *next_line(char **rest)
{
    char *line = *rest;

    if (line == NULL || *line == '\0') {
        return NULL;
    }
    char *end = strchr(line, '\n');
    *rest = end == NULL ? NULL : end + 1;
    if (end != NULL) {
        *end = '\0';
    }
    return line;
}

/* Whether a line is that of a principal. */
static bool is_of(const char *line, const char *name)
{
    line += strspn(line, space);
    size_t len = strcspn(line, " \t\r#");

    return len == strlen(name) && memcmp(line, name, len) == 0;
}

static enum sirix_status check_word(const char *what, const char *word, struct sirix_error *err)
{
    if (word[0] == '\0' || strpbrk(word, " \t\r\n#") != NULL) {
        return sirixctl_usage(err, "%s is empty, or has a blank or a # in it", what);
    }
    return SIRIX_OK;
}

/* One change of the file; token: what was made for it, to be shown once the file is written. */
struct edit {
    struct sirixctl *ctl;
    char token[sizeof(token_prefix) + SIRIX_SHA256_HEX_BYTES];
};

/* Makes a token and appends the word of its hash. */
static enum sirix_status make_token(struct edit *edit, struct sirix_buf *line,
                                    struct sirix_error *err)
{
    uint8_t random[TOKEN_RANDOM_BYTES];
    uint8_t hash[SIRIX_SHA256_BYTES];
    char hex[SIRIX_SHA256_HEX_BYTES];

    if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random)) {
        return sirix_fail(err, SIRIX_IO, "the system has no random bytes: %s", strerror(errno));
    }
    sirix_sha256_hex(random, hex); /* As many bytes as a hash has: their digits. */
    (void)snprintf(edit->token, sizeof(edit->token), "%s%s", token_prefix, hex);
    explicit_bzero(random, sizeof(random));
    enum sirix_status status = sirix_sha256(edit->token, strlen(edit->token), hash, err);
    if (status == SIRIX_OK) {
        sirix_sha256_hex(hash, hex);
        status = sirix_buf_printf(line, err, " %ssha256:%s", token_word, hex);
    }
    return status;
}

/* Writes the file and shows the token. */
static enum sirix_status finish(struct edit *edit, const struct sirix_buf *text,
                                struct sirix_error *err)
{
    struct sirixctl *ctl = edit->ctl;
    struct sirixctl_json json;
    enum sirix_status status = replace_file(ctl->args.operands[0], text, err);

    if (status == SIRIX_OK && edit->token[0] != '\0' && ctl->json) {
        sirixctl_json_init(&json);
        sirixctl_json_object(&json, NULL);
        sirixctl_json_str(&json, "token", edit->token);
        sirixctl_json_object_end(&json);
        status = sirixctl_json_finish(&json, &ctl->out, err);
    } else if (status == SIRIX_OK && edit->token[0] != '\0') {
        sirixctl_out_printf(&ctl->out, "%s\n", edit->token);
    }
    explicit_bzero(edit->token, sizeof(edit->token));
    return status;
}

/* Puts into the new file what takes the place of the principal's line. */
typedef enum sirix_status (*edit_fn)(struct edit *edit, const char *line, struct sirix_buf *into,
                                     struct sirix_error *err);

/* Copies all lines but that of the principal, which goes through edit. */
static enum sirix_status edit_lines(struct edit *edit, char *text, const char *name, edit_fn change,
                                    struct sirix_buf *into, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    char *rest = text;
    char *line = NULL;
    bool found = false;

    while (status == SIRIX_OK && (line = next_line(&rest)) != NULL) {
        if (!is_of(line, name)) {
            status = sirix_buf_printf(into, err, "%s\n", line);
            continue;
        }
        found = true;
        status = change(edit, line, into, err);
    }
    if (status == SIRIX_OK && !found) {
        status = sirix_fail(err, SIRIX_NOT_FOUND, "there is no principal %s", name);
    }
    return status;
}

static enum sirix_status edit_file(struct sirixctl *ctl, edit_fn change, struct sirix_error *err)
{
    struct edit edit = {.ctl = ctl};
    const char *path = ctl->args.operands[0];
    const char *name = ctl->args.operands[1];
    struct sirix_buf into;
    char *text = NULL;

    sirix_buf_init(&into, FILE_BYTES_MAX);
    enum sirix_status status = check_word("the name", name, err);
    if (status == SIRIX_OK) {
        status = read_file(path, false, &text, err);
    }
    if (status == SIRIX_OK) {
        status = edit_lines(&edit, text, name, change, &into, err);
    }
    if (status == SIRIX_OK) {
        status = finish(&edit, &into, err);
    }
    free(text);
    sirix_buf_deinit(&into);
    return status;
}

/* --- add ---------------------------------------------------------------------------------------- */

enum add_flag { ADD_DATABASES, ADD_RESOURCES, ADD_BRANCHES, ADD_CERTIFICATE, ADD_SPEAKS };

static const struct sirixctl_flag add_flags[] = {
    [ADD_DATABASES] = {"databases", "PATTERNS", "only these, such as shop,log-*"},
    [ADD_RESOURCES] = {"resources", "PATTERNS", "only these, such as users,shop/*"},
    [ADD_BRANCHES] = {"branches", "PATTERNS", "changes only these branches and snapshots"},
    [ADD_CERTIFICATE] = {"certificate", "NAME", "known by dns:, uri: or cn: and a name; no token"},
    [ADD_SPEAKS] = {"speaks-for-others", NULL, "its --on-behalf-of is believed"},
};

static enum sirix_status append_flag(struct sirixctl *ctl, enum add_flag flag,
                                     struct sirix_buf *line, struct sirix_error *err)
{
    const char *value = ctl->args.own[flag];

    if (value == NULL) {
        return SIRIX_OK;
    }
    if (add_flags[flag].value == NULL) {
        return sirix_buf_printf(line, err, " %s", add_flags[flag].name);
    }
    enum sirix_status status = check_word(add_flags[flag].name, value, err);
    return status == SIRIX_OK ? sirix_buf_printf(line, err, " %s=%s", add_flags[flag].name, value)
                              : status;
}

static enum sirix_status append_principal(struct edit *edit, struct sirix_buf *into,
                                          struct sirix_error *err)
{
    struct sirixctl *ctl = edit->ctl;
    enum sirix_status status = SIRIX_OK;

    if (into->len != 0 && into->data[into->len - 1] != '\n') {
        status = sirix_buf_append_str(into, "\n", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_printf(into, err, "%s %s", ctl->args.operands[1], ctl->args.operands[2]);
    }
    for (enum add_flag flag = ADD_DATABASES; status == SIRIX_OK && flag <= ADD_SPEAKS; flag++) {
        status = append_flag(ctl, flag, into, err);
    }
    if (status == SIRIX_OK && ctl->args.own[ADD_CERTIFICATE] == NULL) {
        status = make_token(edit, into, err);
    }
    return status == SIRIX_OK ? sirix_buf_append_str(into, "\n", err) : status;
}

static enum sirix_status run_add(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *path = ctl->args.operands[0];
    const char *name = ctl->args.operands[1];
    const char *role = ctl->args.operands[2];
    struct edit edit = {.ctl = ctl};
    struct sirix_buf into;
    char *text = NULL;

    sirix_buf_init(&into, FILE_BYTES_MAX);
    enum sirix_status status = check_word("the name", name, err);
    if (status == SIRIX_OK && strcmp(role, "reader") != 0 && strcmp(role, "writer") != 0 &&
        strcmp(role, "operator") != 0) {
        status = sirixctl_usage(err, "a role is reader, writer or operator");
    }
    if (status == SIRIX_OK) {
        status = read_file(path, true, &text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(&into, text, err);
    }
    char *rest = text;
    char *line = NULL;
    while (status == SIRIX_OK && (line = next_line(&rest)) != NULL) {
        if (is_of(line, name)) {
            status = sirix_fail(err, SIRIX_ALREADY_EXISTS, "there is a principal %s", name);
        }
    }
    if (status == SIRIX_OK) {
        status = append_principal(&edit, &into, err);
    }
    if (status == SIRIX_OK) {
        status = finish(&edit, &into, err);
    }
    free(text);
    sirix_buf_deinit(&into);
    return status;
}

/* --- rotate and remove -------------------------------------------------------------------------- */

enum rotate_flag { ROTATE_FINISH };

static const struct sirixctl_flag rotate_flags[] = {
    [ROTATE_FINISH] = {"finish", NULL, "make no token, and forget all but the newest"},
};

static size_t count_tokens(const char *line)
{
    size_t count = 0;

    for (line += strspn(line, space); *line != '\0' && *line != '#'; line += strspn(line, space)) {
        count += strncmp(line, token_word, sizeof(token_word) - 1) == 0 ? 1 : 0;
        line += strcspn(line, space);
    }
    return count;
}

/* Copies a line without its first `drop` tokens and its comment. */
static enum sirix_status copy_line(const char *line, size_t drop, struct sirix_buf *into,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    const char *between = "";

    line += strspn(line, space);
    while (status == SIRIX_OK && *line != '\0' && *line != '#') {
        size_t len = strcspn(line, space);

        if (drop != 0 && strncmp(line, token_word, sizeof(token_word) - 1) == 0) {
            drop--;
        } else {
            status = sirix_buf_printf(into, err, "%s%.*s", between, (int)len, line);
            between = " ";
        }
        line += len;
        line += strspn(line, space);
    }
    return status;
}

static enum sirix_status rotate(struct edit *edit, const char *line, struct sirix_buf *into,
                                struct sirix_error *err)
{
    bool is_last = edit->ctl->args.own[ROTATE_FINISH] != NULL;
    size_t count = count_tokens(line);
    /* All but the newest go, which stays good beside the new one. */
    enum sirix_status status = copy_line(line, count == 0 ? 0 : count - 1, into, err);

    if (status == SIRIX_OK && !is_last) {
        status = make_token(edit, into, err);
    }
    return status == SIRIX_OK ? sirix_buf_append_str(into, "\n", err) : status;
}

static enum sirix_status run_rotate(struct sirixctl *ctl, struct sirix_error *err)
{
    return edit_file(ctl, rotate, err);
}

static enum sirix_status leave_out(struct edit *edit, const char *line, struct sirix_buf *into,
                                   struct sirix_error *err)
{
    (void)edit;
    (void)line;
    (void)into;
    (void)err;
    return SIRIX_OK;
}

static enum sirix_status run_remove(struct sirixctl *ctl, struct sirix_error *err)
{
    return edit_file(ctl, leave_out, err);
}

/* --- list --------------------------------------------------------------------------------------- */

/* Everything but hashes. */
static enum sirix_status show_principal(struct sirixctl *ctl, const char *line,
                                        struct sirixctl_json *json, struct sirix_error *err)
{
    struct sirix_buf words;
    const char *text = NULL;
    size_t tokens = count_tokens(line);

    sirix_buf_init(&words, FILE_BYTES_MAX);
    enum sirix_status status = copy_line(line, tokens, &words, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&words, &text, err);
    }
    if (status == SIRIX_OK && words.len != 0 && ctl->json) {
        size_t name = strcspn(text, " ");
        const char *role = text + name + strspn(text + name, " ");
        size_t role_len = strcspn(role, " ");
        const char *rest = role + role_len + strspn(role + role_len, " ");

        sirixctl_json_object(json, NULL);
        sirixctl_json_text(json, "name", (struct sirix_bytes){.data = text, .len = name});
        sirixctl_json_text(json, "role", (struct sirix_bytes){.data = role, .len = role_len});
        sirixctl_json_u64(json, "tokens", tokens);
        sirixctl_json_str(json, "rest", rest);
        sirixctl_json_object_end(json);
    } else if (status == SIRIX_OK && words.len != 0) {
        sirixctl_out_str(&ctl->out, text);
        sirixctl_out_printf(&ctl->out, "  (");
        sirixctl_out_count(&ctl->out, tokens, "token");
        sirixctl_out_printf(&ctl->out, ")\n");
    }
    sirix_buf_deinit(&words);
    return status;
}

static enum sirix_status run_list(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirixctl_json json;
    char *text = NULL;
    char *line = NULL;
    enum sirix_status status = read_file(ctl->args.operands[0], false, &text, err);

    if (status != SIRIX_OK) {
        return status;
    }
    char *rest = text;
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_array(&json, "principals");
    while (status == SIRIX_OK && (line = next_line(&rest)) != NULL) {
        status = show_principal(ctl, line, &json, err);
    }
    sirixctl_json_array_end(&json);
    sirixctl_json_object_end(&json);
    free(text);
    return sirixctl_json_end(&json, ctl->json ? &ctl->out : NULL, status, err);
}

/* --- reload ------------------------------------------------------------------------------------- */

static enum sirix_status run_reload(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirixctl_json json;
    uint32_t count = 0;
    enum sirix_status status = sirixctl_connect(ctl, err);

    if (status == SIRIX_OK) {
        status = sirix_client_reload_principals(ctl->client, &ctl->call, &count, err);
    }
    if (status == SIRIX_OK && ctl->json) {
        sirixctl_json_init(&json);
        sirixctl_json_object(&json, NULL);
        sirixctl_json_u64(&json, "principals", count);
        sirixctl_json_object_end(&json);
        status = sirixctl_json_finish(&json, &ctl->out, err);
    } else if (status == SIRIX_OK && !ctl->quiet) {
        sirixctl_out_count(&ctl->out, count, "principal");
        sirixctl_out_printf(&ctl->out, "\n");
    }
    return status;
}

const struct sirixctl_command sirixctl_principal_add = {
    .name = "principal add",
    .operands = "FILE NAME ROLE",
    .summary = "Add a line to the file of principals, and print its token",
    .details =
        "ROLE is reader, writer or operator. The token is printed this once; the file has its\n"
        "hash. storaged reads the file with --principals, and again after a reload.",
    .answer = "{\"token\"}; nothing with --certificate",
    .flags = SIRIXCTL_FLAGS(add_flags),
    .operands_min = 3,
    .operands_max = 3,
    .needs = SIRIXCTL_NEEDS_NOTHING,
    .run = run_add,
};

const struct sirixctl_command sirixctl_principal_rotate = {
    .name = "principal rotate",
    .operands = "FILE NAME",
    .summary = "Add a new token to a principal, and print it; the one before stays good",
    .details = "Reload, give the new token to the clients, then rotate --finish and reload again.",
    .answer = "{\"token\"}; nothing with --finish",
    .flags = SIRIXCTL_FLAGS(rotate_flags),
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_NOTHING,
    .run = run_rotate,
};

const struct sirixctl_command sirixctl_principal_remove = {
    .name = "principal remove",
    .operands = "FILE NAME",
    .summary = "Take the line of a principal out of the file",
    .answer = "nothing",
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_NOTHING,
    .run = run_remove,
};

const struct sirixctl_command sirixctl_principal_list = {
    .name = "principal list",
    .operands = "FILE",
    .summary = "List the principals of a file, without what shows who they are",
    .answer = "{\"principals\":[{\"name\",\"role\",\"tokens\",\"rest\"}]}",
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_NOTHING,
    .run = run_list,
};

const struct sirixctl_command sirixctl_principal_reload = {
    .name = "principal reload",
    .operands = "",
    .summary = "Let the server read its file of principals again",
    .answer = "{\"principals\"}",
    .operands_min = 0,
    .operands_max = 0,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_reload,
};
