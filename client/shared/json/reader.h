/*
 * The JSON reader: text comes in as chunks of any size, events come out one by one.
 *
 *     sirix_json_reader_init(&reader, &options);
 *     for (;;) {
 *         status = sirix_json_reader_next(&reader, &event, err);
 *         if (status != SIRIX_OK) { fail }
 *         if (event.kind == SIRIX_JSON_NEED_INPUT) {
 *             read more, then sirix_json_reader_feed(&reader, chunk, is_last);
 *         } else if (event.kind == SIRIX_JSON_END) {
 *             break;
 *         } else { use the event }
 *     }
 *     sirix_json_reader_deinit(&reader);
 *
 * Grammar    RFC 8259 exactly: no comments, trailing commas, single quotes, NaN, leading zeros or
 *            raw controls in strings; one value, and nothing but space, tab, LF and CR around it.
 *            A UTF-8 byte order mark at the very start is skipped and told (had_bom). Invalid UTF-8
 *            and lone surrogates are refused; U+0000 is allowed as \u0000. Exponents of any size
 *            are kept as text.
 * NDJSON     Any number of values with white space between them (no commas), delivered as the
 *            elements of one array; blank lines and empty input are fine, values that touch are not.
 * Exactness  Strings and names arrive in canonical form (json/text.h), numbers as written.
 * Duplicates Members of one name are not noticed here; the consumer knows where to look.
 * Memory     Two growing blocks: one string part or name or number (at most 384 KiB), and the path
 *            (at most 64 bytes a level). A string of any allowed size needs no more.
 * Limits     Each with a name in the options; refused with reason depth_limit or size_limit before
 *            memory is taken.
 * Errors     SIRIX_INVALID with reason json_syntax, json_encoding, json_truncated, depth_limit or
 *            size_limit, the byte offset, and the JSON pointer of the place; SIRIX_NO_MEMORY. After
 *            an error every call gives the same error again.
 * Threads    One thread at a time.
 */
#ifndef SIRIX_JSON_READER_H
#define SIRIX_JSON_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "json/number.h"

enum {
    SIRIX_JSON_DEPTH_MAX = 1000,                    /* Default; open arrays and objects. */
    SIRIX_JSON_NAME_BYTES_MAX = 64 * 1024,          /* Decoded. */
    SIRIX_JSON_NUMBER_BYTES_MAX = 64 * 1024,        /* Of the text. */
    SIRIX_JSON_STRING_BYTES_MAX = 64 * 1024 * 1024, /* Default; decoded. */
    SIRIX_JSON_PART_BYTES_MAX = 64 * 1024,          /* Default; canonical bytes of one event. */
    SIRIX_JSON_PART_BYTES_MIN = 16,
};

enum sirix_json_event_kind {
    SIRIX_JSON_NEED_INPUT, /* All of the chunk is used; feed the next one. */
    SIRIX_JSON_OBJECT_BEGIN,
    SIRIX_JSON_OBJECT_END,
    SIRIX_JSON_ARRAY_BEGIN,
    SIRIX_JSON_ARRAY_END,
    SIRIX_JSON_NAME,        /* Of the member whose value follows. */
    SIRIX_JSON_STRING,      /* A whole string of at most part_bytes_max. */
    SIRIX_JSON_STRING_PART, /* Of a longer one: in order, the first and the last one marked. */
    SIRIX_JSON_NUMBER,
    SIRIX_JSON_TRUE,
    SIRIX_JSON_FALSE,
    SIRIX_JSON_NULL,
    SIRIX_JSON_END, /* The value and the input are over. Given again if asked again. */
};

/* Fields that do not name the event's kind have no meaning. */
struct sirix_json_event {
    enum sirix_json_event_kind kind;
    bool has_escapes; /* NAME, STRING, STRING_PART: text holds a backslash. */
    bool is_first;    /* STRING_PART; also true for STRING. */
    bool is_last;     /* STRING_PART; also true for STRING. */
    /*
     * NAME, STRING, STRING_PART: canonical, without quotes; no part cuts an escape or a character.
     * NUMBER: as written. Valid until the next call of next(), and no longer than the chunk.
     */
    struct sirix_bytes text;
    size_t plain_len;                /* NAME, STRING, STRING_PART: decoded bytes of text. */
    struct sirix_json_number number; /* NUMBER. */
    uint64_t offset;                 /* Of the token's first byte in the whole input. */
};

/* A value of 0 (false) in a field means the default. */
struct sirix_json_reader_options {
    unsigned depth_max;
    size_t string_bytes_max; /* Decoded, of one string value. */
    size_t part_bytes_max;   /* At least SIRIX_JSON_PART_BYTES_MIN; longer strings come in parts. */
    bool ndjson;
};

struct sirix_json_level; /* One open container: which child we are at. */

/* All fields are private to the reader. */
struct sirix_json_reader {
    struct sirix_json_reader_options options;
    const uint8_t *start; /* The chunk: [start, end), read up to at. */
    const uint8_t *at;
    const uint8_t *end;
    uint64_t start_offset; /* Of start in the whole input. */
    bool is_last;
    bool had_bom;
    bool had_record;    /* NDJSON: a value has begun before. */
    bool touches_value; /* NDJSON: no white space yet since the last value. */
    uint8_t state;
    uint8_t token;    /* Which token a chunk's end has cut, if any. */
    uint8_t bom_seen; /* Bytes of a byte order mark at the start. */
    uint8_t pending_len;
    uint8_t pending[12]; /* A cut escape or character. */
    bool part_open;      /* Parts of this string were given already. */
    bool cut_by_chunk;   /* The token goes on in the next chunk; buf has its beginning. */
    bool text_changed;   /* The text lies in buf, not in the chunk. */
    bool token_escapes;
    size_t token_shrink;       /* Canonical minus decoded bytes of what lies in buf. */
    size_t token_plain_before; /* Decoded bytes of the parts given. */
    uint64_t token_offset;
    struct sirix_buf buf;
    struct sirix_json_level *levels;
    unsigned depth;
    unsigned level_cap;
    unsigned kept_depth;      /* Outer levels whose names do not lie in the chunk. */
    enum sirix_status failed; /* Not OK: the error is final. */
    struct sirix_error error;
};

/* Starts a reader; options may be NULL. Allocates nothing. */
void sirix_json_reader_init(struct sirix_json_reader *reader,
                            const struct sirix_json_reader_options *options);
void sirix_json_reader_deinit(struct sirix_json_reader *reader);

/* Starts again with the same options and memory. */
void sirix_json_reader_reset(struct sirix_json_reader *reader);

/*
 * Gives the next chunk, when init or NEED_INPUT asks for it; it stays the caller's and must live,
 * unchanged, until next() asks for the following one. An empty chunk is fine. is_last: there is no
 * more after this one.
 */
void sirix_json_reader_feed(struct sirix_json_reader *reader, struct sirix_bytes chunk,
                            bool is_last);

/* The next event. On failure *out_event is untouched. */
enum sirix_status sirix_json_reader_next(struct sirix_json_reader *reader,
                                         struct sirix_json_event *out_event,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether the input began with a byte order mark: skipped, and not written back by anything. */
bool sirix_json_reader_had_bom(const struct sirix_json_reader *reader);

/* Bytes of the input used so far: for progress. */
uint64_t sirix_json_reader_offset(const struct sirix_json_reader *reader);

/* Open arrays and objects, the one of NDJSON included. */
unsigned sirix_json_reader_depth(const struct sirix_json_reader *reader);

/*
 * Adds where the reader stands to an error that the consumer found in the event just given: its
 * offset and the JSON pointer of the value or member. err may be NULL.
 */
void sirix_json_reader_locate(const struct sirix_json_reader *reader,
                              const struct sirix_json_event *event, struct sirix_error *err);

/*
 * Writes the JSON pointer of the current place, NUL-terminated and cut at a character if longer;
 * names longer than 40 bytes are cut too and end in "...". Returns its length.
 */
size_t sirix_json_reader_pointer(const struct sirix_json_reader *reader, char *to, size_t to_bytes);

#endif
