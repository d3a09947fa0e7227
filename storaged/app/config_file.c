/* The whole file in memory, cut into lines in place. */
#include "app/config_file.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_MAX = 100 };

/* All bytes and a NUL. */
static enum sirix_status read_all(const char *path, char **out_text, size_t *out_len,
                                  struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    FILE *file = fopen(path, "re");

    if (file == NULL) {
        return sirix_fail(err, errno == ENOENT ? SIRIX_NOT_FOUND : SIRIX_IO, "%.*s: %s", SHOWN_MAX,
                          path, strerror(errno));
    }
    char *text = malloc(SIRIX_CONFIG_FILE_BYTES_MAX + 1);
    if (text == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the settings");
    } else {
        *out_len = fread(text, 1, SIRIX_CONFIG_FILE_BYTES_MAX, file);
        if (ferror(file) != 0) {
            status = sirix_fail(err, SIRIX_IO, "%.*s: cannot be read", SHOWN_MAX, path);
        } else if (fgetc(file) != EOF) {
            status = sirix_fail(err, SIRIX_INVALID, "%.*s: has more than %d bytes", SHOWN_MAX, path,
                                SIRIX_CONFIG_FILE_BYTES_MAX);
        } else if (memchr(text, '\0', *out_len) != NULL) {
            status = sirix_fail(err, SIRIX_INVALID, "%.*s: is no text", SHOWN_MAX, path);
        } else {
            text[*out_len] = '\0';
            *out_text = text;
            text = NULL;
        }
    }
    free(text);
    (void)fclose(file);
    return status;
}

/* The text without the white space around it, which is cut off in place. */
static char *trim(char *text)
{
    size_t len = 0;

    while (isspace((unsigned char)*text)) {
        text++;
    }
    len = strlen(text);
    while (len != 0 && isspace((unsigned char)text[len - 1])) {
        text[--len] = '\0';
    }
    return text;
}

static enum sirix_status read_line(const char *path, unsigned number, char *line,
                                   sirix_config_line_fn visit, void *context,
                                   struct sirix_error *err)
{
    struct sirix_error cause = {0};
    char *name = trim(line);
    char *equals = strchr(name, '=');

    if (name[0] == '\0' || name[0] == '#') {
        return SIRIX_OK;
    }
    if (equals == NULL) {
        return sirix_fail(err, SIRIX_INVALID, "%.*s, line %u: no NAME = VALUE", SHOWN_MAX, path,
                          number);
    }
    *equals = '\0';
    enum sirix_status status = visit(context, trim(name), trim(equals + 1), &cause);
    return status == SIRIX_OK ? SIRIX_OK
                              : sirix_fail(err, status, "%.*s, line %u: %.300s", SHOWN_MAX, path,
                                           number, cause.text);
}

enum sirix_status sirix_config_file_read(const char *path, sirix_config_line_fn visit,
                                         void *context, char **out_text, struct sirix_error *err)
{
    char *text = NULL;
    size_t len = 0;
    unsigned number = 0;
    enum sirix_status status = read_all(path, &text, &len, err);

    if (status != SIRIX_OK) {
        return status;
    }
    *out_text = text;
    for (char *line = text; status == SIRIX_OK && line != NULL;) {
        char *end = strchr(line, '\n');
        if (end != NULL) {
            *end = '\0';
        }
        status = read_line(path, ++number, line, visit, context, err);
        line = end == NULL ? NULL : end + 1;
    }
    return status;
}
