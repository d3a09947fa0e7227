/* The reader's place: its stack of open containers, errors that name it, and the JSON pointer. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/utf8.h"
#include "json/canonical.h"
#include "json/reader_internal.h"
#include "json/text.h"

enum { LEVELS_FIRST = 16 };

_Static_assert(sizeof(struct sirix_json_level) <= 64, "json/reader.h promises this");

enum sirix_status reader_keep_error(struct sirix_json_reader *reader, enum sirix_status status,
                                    const struct sirix_error *err)
{
    reader->failed = status;
    if (err != NULL) {
        reader->error = *err;
    } else {
        reader->error = (struct sirix_error){.status = status};
    }
    return status;
}

enum sirix_status reader_fail(struct sirix_json_reader *reader, enum sirix_reason reason,
                              uint64_t offset, struct sirix_error *err, const char *fmt, ...)
{
    char sentence[256];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, args);
    va_end(args);
    enum sirix_status status =
        sirix_fail_reason(&reader->error, SIRIX_INVALID, reason, "%s at byte %llu", sentence,
                          (unsigned long long)offset);
    sirix_error_set_offset(&reader->error, offset);
    (void)sirix_json_reader_pointer(reader, reader->error.pointer, sizeof(reader->error.pointer));
    reader->failed = status;
    if (err != NULL) {
        *err = reader->error;
    }
    return status;
}

enum sirix_status reader_push(struct sirix_json_reader *reader, bool is_object, uint64_t offset,
                              struct sirix_error *err)
{
    if (reader->depth == reader->options.depth_max) {
        return reader_fail(reader, SIRIX_REASON_DEPTH_LIMIT, offset, err,
                           "more than %u arrays and objects within each other",
                           reader->options.depth_max);
    }
    if (reader->depth == reader->level_cap) {
        unsigned cap = reader->level_cap == 0 ? LEVELS_FIRST : reader->level_cap * 2;
        struct sirix_json_level *levels = realloc(reader->levels, cap * sizeof(*levels));

        if (levels == NULL) {
            enum sirix_status status =
                sirix_fail(err, SIRIX_NO_MEMORY, "cannot keep %u levels of nesting", cap);
            return reader_keep_error(reader, status, err);
        }
        reader->levels = levels;
        reader->level_cap = cap;
    }
    struct sirix_json_level *level = &reader->levels[reader->depth++];
    level->name = NULL;
    level->name_len = 0;
    level->position = 0;
    level->is_object = is_object;
    level->has_name = false;
    level->is_cut = false;
    return SIRIX_OK;
}

static void keep_name(struct sirix_json_level *level)
{
    if (level->name != NULL) {
        struct sirix_bytes name = {.data = level->name, .len = level->name_len};
        size_t len = sirix_json_text_cut(name, sizeof(level->kept));

        memcpy(level->kept, level->name, len);
        level->is_cut = len != level->name_len;
        level->name_len = (uint32_t)len;
        level->name = NULL;
    }
}

void reader_note_name(struct sirix_json_reader *reader, struct sirix_bytes name, bool in_chunk)
{
    struct sirix_json_level *level = &reader->levels[reader->depth - 1];

    if (reader->kept_depth >= reader->depth) {
        reader->kept_depth = reader->depth - 1;
    }
    level->name = name.len == 0 ? NULL : name.data;
    level->name_len = (uint32_t)name.len;
    level->has_name = true;
    level->is_cut = false;
    if (!in_chunk) {
        keep_name(level);
    }
}

void reader_keep_names(struct sirix_json_reader *reader)
{
    for (unsigned i = reader->depth; i > reader->kept_depth; i--) {
        keep_name(&reader->levels[i - 1]);
    }
    reader->kept_depth = reader->depth;
}

/* --- Pointer ---------------------------------------------------------------------------------- */

struct text {
    char *to;
    size_t len;
    size_t max; /* Room without the NUL. */
    bool full;
};

/* A piece is there whole or not at all, and nothing comes behind one that was left out. */
static void put(struct text *text, const void *piece, size_t len)
{
    if (text->full || len > text->max - text->len) {
        text->full = true;
        return;
    }
    memcpy(text->to + text->len, piece, len);
    text->len += len;
}

/* How long the unit is that starts here: an escape, a character, or a cut one at the end. */
static size_t unit_len(const uint8_t *name, size_t len)
{
    size_t unit = 1;

    if (name[0] == '\\') {
        unit = len > 1 && name[1] == 'u' ? 6 : 2;
        return unit < len ? unit : len;
    }
    while (unit < len && (name[unit] & 0xc0) == 0x80) {
        unit++;
    }
    return unit;
}

/* A name as a pointer shows it; controls stay escaped, so that the result is a safe C string. */
static void put_name(struct text *text, const uint8_t *name, size_t len)
{
    for (size_t at = 0; at < len;) {
        size_t unit = unit_len(name + at, len - at);

        if (name[at] == '~') {
            put(text, "~0", 2);
        } else if (name[at] == '/') {
            put(text, "~1", 2);
        } else if (unit == 2 && (name[at + 1] == '"' || name[at + 1] == '\\')) {
            put(text, name + at + 1, 1);
        } else {
            put(text, name + at, unit);
        }
        at += unit;
    }
}

static void put_member(struct text *text, const struct sirix_json_level *level)
{
    bool is_kept = level->name == NULL;
    const uint8_t *name = is_kept ? (const uint8_t *)level->kept : level->name;
    struct sirix_bytes whole = {.data = name, .len = level->name_len};
    size_t len = sirix_json_text_cut(whole, LEVEL_NAME_BYTES);

    put(text, "/", 1);
    put_name(text, name, len);
    if (len != level->name_len || level->is_cut) {
        put(text, "...", 3);
    }
}

size_t sirix_json_reader_pointer(const struct sirix_json_reader *reader, char *to, size_t to_bytes)
{
    struct text text = {.to = to, .max = to_bytes - 1};

    for (unsigned i = 0; i < reader->depth; i++) {
        const struct sirix_json_level *level = &reader->levels[i];

        if (level->is_object && level->has_name) {
            put_member(&text, level);
        } else if (!level->is_object) {
            char number[24];
            int len =
                snprintf(number, sizeof(number), "/%llu", (unsigned long long)level->position);

            put(&text, number, (size_t)len);
        }
    }
    to[text.len] = '\0';
    return text.len;
}

void sirix_json_reader_locate(const struct sirix_json_reader *reader,
                              const struct sirix_json_event *event, struct sirix_error *err)
{
    if (err != NULL) {
        sirix_error_set_offset(err, event->offset);
        (void)sirix_json_reader_pointer(reader, err->pointer, sizeof(err->pointer));
    }
}
