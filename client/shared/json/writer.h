/*
 * The JSON writer: calls in document order, text out, to a buffer or to a sink in blocks.
 *
 * Checked    A call that would make the text wrong (a value where a name belongs, two roots, an end
 *            without its begin) is SIRIX_INTERNAL and writes nothing. Numbers and canonical strings
 *            are trusted to be what they are called; plain strings are checked for UTF-8.
 * Form       Compact, or indented with a line an element and `": "`; empty containers stay `{}`.
 *            No newline at the end.
 * Errors     Those of the sink or buffer, which are final: every later call returns the same. Misuse,
 *            depth_limit and plain text that is not UTF-8 (json_encoding) write nothing and are not.
 * Memory     A bit a level, the longest plain text escaped, and a block of at most 64 KiB for a sink.
 * Threads    One thread at a time.
 */
#ifndef SIRIX_JSON_WRITER_H
#define SIRIX_JSON_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

enum { SIRIX_JSON_WRITER_BLOCK_BYTES = 64 * 1024, SIRIX_JSON_WRITER_INDENT_MAX = 16 };

/* Takes len bytes of text, all or an error. */
typedef enum sirix_status (*sirix_json_sink_fn)(void *context, const void *data, size_t len,
                                                struct sirix_error *err);

/* A value of 0 (NULL) in a field means the default. */
struct sirix_json_writer_options {
    unsigned indent;    /* 0: compact; else spaces a level, at most SIRIX_JSON_WRITER_INDENT_MAX. */
    unsigned depth_max; /* Default SIRIX_JSON_DEPTH_MAX; SIRIX_INVALID (depth_limit) beyond. */
};

/* All fields are private to the writer. */
struct sirix_json_writer {
    struct sirix_json_writer_options options;
    struct sirix_buf *out; /* The caller's, or &block. */
    struct sirix_buf block;
    sirix_json_sink_fn sink;
    void *sink_context;
    struct sirix_buf kinds;   /* A bit a level: an object. */
    struct sirix_buf escaped; /* The plain text that is being written. */
    unsigned depth;
    bool is_empty; /* The innermost container has no child yet. */
    bool has_name; /* A name was written and its value is due. */
    bool has_root;
    bool in_string;
    enum sirix_status failed;
    struct sirix_error error;
};

/* A writer that appends to out, which stays the caller's. options may be NULL. */
void sirix_json_writer_init_buf(struct sirix_json_writer *writer, struct sirix_buf *out,
                                const struct sirix_json_writer_options *options);

/* A writer that hands blocks to a sink; nothing is complete before finish(). */
void sirix_json_writer_init_sink(struct sirix_json_writer *writer, sirix_json_sink_fn sink,
                                 void *context, const struct sirix_json_writer_options *options);

void sirix_json_writer_deinit(struct sirix_json_writer *writer);

enum sirix_status sirix_json_write_object_begin(struct sirix_json_writer *writer,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_object_end(struct sirix_json_writer *writer,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_array_begin(struct sirix_json_writer *writer,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_array_end(struct sirix_json_writer *writer,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* A member's name: canonical, plain, or a literal of ours that needs no escape. */
enum sirix_status sirix_json_write_name(struct sirix_json_writer *writer,
                                        struct sirix_bytes canonical,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_name_plain(struct sirix_json_writer *writer,
                                              struct sirix_bytes plain,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_name_str(struct sirix_json_writer *writer, const char *name,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* A string value: canonical, plain, or plain as a C string. */
enum sirix_status sirix_json_write_string(struct sirix_json_writer *writer,
                                          struct sirix_bytes canonical,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_string_plain(struct sirix_json_writer *writer,
                                                struct sirix_bytes plain,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_string_str(struct sirix_json_writer *writer, const char *text,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* A canonical string in parts: begin, any number of parts, end. */
enum sirix_status sirix_json_write_string_begin(struct sirix_json_writer *writer,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_string_part(struct sirix_json_writer *writer,
                                               struct sirix_bytes canonical,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_string_end(struct sirix_json_writer *writer,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* Other values; a number by its text, or from an integer or decimal (json/number.h). */
enum sirix_status sirix_json_write_number(struct sirix_json_writer *writer, struct sirix_bytes text,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_i64(struct sirix_json_writer *writer, int64_t value,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_u64(struct sirix_json_writer *writer, uint64_t value,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_decimal(struct sirix_json_writer *writer, int64_t mantissa,
                                           uint8_t scale, struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_bool(struct sirix_json_writer *writer, bool value,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_write_null(struct sirix_json_writer *writer,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* A whole value that is valid JSON text already; it is copied as it is, also when indenting. */
enum sirix_status sirix_json_write_raw(struct sirix_json_writer *writer, struct sirix_bytes json,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends the text: SIRIX_INTERNAL unless it is one whole value; hands the last block to the sink. */
enum sirix_status sirix_json_writer_finish(struct sirix_json_writer *writer,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
