/* Errors, told. */
#include "cli/tell.h"

#include <inttypes.h>
#include <string.h>

enum { POINTER_BYTES_MAX = 120 }; /* Told to people; JSON has all of it. */
static const char cut_mark[] = "...";

/* --- Words ------------------------------------------------------------------------------------ */

/* Where it is wrong and other facts, each behind the one before. */
static void tell_fact(struct sirixctl_out *out, bool *first, const char *name, const char *value)
{
    sirixctl_out_printf(out, "%s%s", *first ? " (" : ", ", name);
    sirixctl_out_str(out, value);
    *first = false;
}

static bool is_continuation(char byte)
{
    return ((unsigned char)byte & 0xc0U) == 0x80U; /* Of a character of UTF-8. */
}

static void tell_number(struct sirixctl_out *out, bool *first, const char *name, uint64_t value)
{
    char text[24];

    (void)snprintf(text, sizeof(text), "%" PRIu64, value);
    tell_fact(out, first, name, text);
}

/* A pointer of a thousand levels helps nobody: its two ends, each of whole characters. */
static void tell_pointer(struct sirixctl_out *out, bool *first, const char *pointer)
{
    char text[POINTER_BYTES_MAX + sizeof(cut_mark)];
    size_t len = strlen(pointer);
    size_t head = POINTER_BYTES_MAX / 2;
    size_t tail = len - head;

    if (len <= POINTER_BYTES_MAX) {
        tell_fact(out, first, "at ", pointer);
        return;
    }
    while (head > 0 && is_continuation(pointer[head])) {
        head--;
    }
    while (is_continuation(pointer[tail])) {
        tail++;
    }
    (void)snprintf(text, sizeof(text), "%.*s%s%s", (int)head, pointer, cut_mark, pointer + tail);
    tell_fact(out, first, "at ", text);
}

/* A sentence of the server may name the field already. */
static bool says(const struct sirix_error *err, const char *word)
{
    return word[0] == '\0' || strstr(err->text, word) != NULL;
}

static void tell_facts(struct sirixctl_out *out, const struct sirix_error *err)
{
    bool first = true;
    char byte[32];

    /* A flag is the caller's own word; other fields are those of a request, for programs. */
    if (strncmp(err->field, "--", 2) == 0 && !says(err, err->field)) {
        tell_fact(out, &first, "", err->field);
    }
    if (!says(err, err->pointer)) {
        tell_pointer(out, &first, err->pointer);
    }
    (void)snprintf(byte, sizeof(byte), "byte %" PRIu64, err->offset);
    if (err->has_offset && !says(err, byte)) {
        tell_fact(out, &first, "", byte);
    }
    if (err->current_revision != 0) {
        tell_number(out, &first, "the head is revision ", err->current_revision);
    }
    if (err->oldest_revision != 0) {
        tell_number(out, &first, "the oldest to read is ", err->oldest_revision);
    }
    if (err->newest_revision != 0 && err->newest_revision != err->current_revision) {
        tell_number(out, &first, "the newest is ", err->newest_revision);
    }
    if (err->retry_after_ms != 0) {
        tell_number(out, &first, "worth another try in ms: ", err->retry_after_ms);
    }
    sirixctl_out_printf(out, "%s\n", first ? "" : ")");
}

void sirixctl_tell_words(struct sirixctl_out *out, const struct sirix_error *err, const char *hint)
{
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_RED);
    sirixctl_out_printf(out, "sirixctl: ");
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_NONE);
    sirixctl_out_str(out, err->text);
    tell_facts(out, err);
    if (hint[0] != '\0') {
        sirixctl_out_printf(out, "hint: ");
        sirixctl_out_str(out, hint);
        sirixctl_out_printf(out, "\n");
    }
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_number(struct sirixctl_json *json, const char *name, uint64_t value)
{
    if (value != 0) {
        sirixctl_json_u64(json, name, value);
    }
}

void sirixctl_tell_json(struct sirixctl_out *out, const struct sirix_error *err)
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
    if (err->code[0] != '\0') {
        sirixctl_json_str(&json, "code", err->code);
    }
    json_number(&json, "line", err->line);
    json_number(&json, "column", err->column);
    json_number(&json, "currentRevision", err->current_revision);
    json_number(&json, "oldestRevision", err->oldest_revision);
    json_number(&json, "newestRevision", err->newest_revision);
    json_number(&json, "retryAfterMs", err->retry_after_ms);
    sirixctl_json_object_end(&json);
    sirixctl_json_object_end(&json);
    if (sirixctl_json_finish(&json, out, NULL) != SIRIX_OK) {
        (void)fputs("{\"error\":{\"status\":\"internal\"}}\n", out->file);
    }
}
