/*
 * What people and programs read: safe text, colours, tables of words, and JSON.
 *
 * Safe      Text from a database may hold what a terminal acts on or what makes it lie: control
 *           characters, escapes, direction changes, invisible characters. As plain text they are
 *           always shown as \u{...}; in JSON text that goes to a terminal, as \uXXXX, which means
 *           the same value. JSON text to a file or pipe is as it was stored.
 * Errors    A failed write shows at sirixctl_out_finish(), as SIRIX_IO.
 */
#ifndef SIRIX_CLI_OUTPUT_H
#define SIRIX_CLI_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/bytes.h"
#include "sirix/sirix.h"
#include "json/writer.h"

enum sirixctl_colour {
    SIRIXCTL_COLOUR_NONE,
    SIRIXCTL_COLOUR_RED,
    SIRIXCTL_COLOUR_GREEN,
    SIRIXCTL_COLOUR_YELLOW,
    SIRIXCTL_COLOUR_CYAN,
    SIRIXCTL_COLOUR_BOLD,
};

struct sirixctl_out {
    FILE *file;
    bool is_terminal;
    bool colours;
    uint8_t pending[4]; /* The beginning of a character that a piece of JSON text ended in. */
    size_t pending_len;
};

/* colours: whether they are wanted at all (NO_COLOR and --color are asked elsewhere). */
void sirixctl_out_init(struct sirixctl_out *out, FILE *file, bool colours);

/* Whether everything was written. */
enum sirix_status sirixctl_out_finish(struct sirixctl_out *out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Our own words, with a format. */
void sirixctl_out_printf(struct sirixctl_out *out, const char *fmt, ...) SIRIX_PRINTF(2, 3);

/* "1 node", "2 nodes": a number of things whose plural is an s. */
void sirixctl_out_count(struct sirixctl_out *out, uint64_t count, const char *thing);

/* Somebody else's words, in one line. */
void sirixctl_out_text(struct sirixctl_out *out, struct sirix_bytes text);
void sirixctl_out_str(struct sirixctl_out *out, const char *text);

/* A piece of JSON text, cut anywhere. */
void sirixctl_out_json(struct sirixctl_out *out, struct sirix_bytes json);

void sirixctl_out_colour(struct sirixctl_out *out, enum sirixctl_colour colour);

/* An instant as RFC 3339, "-" for 0; a number of bytes as 12.3 MB. */
void sirixctl_out_time(struct sirixctl_out *out, uint64_t time_us);
void sirixctl_format_bytes(uint64_t bytes, char out_text[16]);

/* --- Objects ------------------------------------------------------------------------------------ */

/* A JSON answer under construction; the first failure is kept and told at the end. */
struct sirixctl_json {
    struct sirix_buf buf;
    struct sirix_json_writer writer;
    enum sirix_status status;
    struct sirix_error err;
};

void sirixctl_json_init(struct sirixctl_json *json);

/* Writes it and a newline, and gives everything back, also after a failure. */
enum sirix_status sirixctl_json_finish(struct sirixctl_json *json, struct sirixctl_out *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The same at the end of a command that may have failed with status, or that answers in words (out
 * NULL): then it only gives everything back and passes the status on.
 */
enum sirix_status sirixctl_json_end(struct sirixctl_json *json, struct sirixctl_out *out,
                                    enum sirix_status status,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* name NULL: an element, or the root. */
void sirixctl_json_object(struct sirixctl_json *json, const char *name);
void sirixctl_json_object_end(struct sirixctl_json *json);
void sirixctl_json_array(struct sirixctl_json *json, const char *name);
void sirixctl_json_array_end(struct sirixctl_json *json);
void sirixctl_json_str(struct sirixctl_json *json, const char *name, const char *value);
void sirixctl_json_text(struct sirixctl_json *json, const char *name, struct sirix_bytes value);
void sirixctl_json_u64(struct sirixctl_json *json, const char *name, uint64_t value);
void sirixctl_json_bool(struct sirixctl_json *json, const char *name, bool value);
void sirixctl_json_time(struct sirixctl_json *json, const char *name, uint64_t time_us);
void sirixctl_json_raw(struct sirixctl_json *json, const char *name, struct sirix_bytes value);
/* A member whose name is somebody else's; its value follows with name NULL. */
void sirixctl_json_name(struct sirixctl_json *json, struct sirix_bytes name);

#endif
