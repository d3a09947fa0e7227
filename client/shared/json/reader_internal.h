/* What the files of the reader share. Nothing outside json/reader*.c includes this. */
#ifndef SIRIX_JSON_READER_INTERNAL_H
#define SIRIX_JSON_READER_INTERNAL_H

#include "json/reader.h"

/* What may come next in the text. */
enum reader_state {
    STATE_START,        /* Nothing was read; a byte order mark may come. */
    STATE_VALUE,        /* A value, nothing else. */
    STATE_VALUE_OR_END, /* Behind `[`. */
    STATE_NAME_OR_END,  /* Behind `{`. */
    STATE_NAME,         /* Behind a comma in an object. */
    STATE_COLON,
    STATE_COMMA_OR_END,
    STATE_RECORD, /* NDJSON: a value or the end of the input. */
    STATE_TAIL,   /* The value is over; white space may follow. */
    STATE_END,
};

/* A token that began and is not over: cut by the end of the chunk, or a string between parts. */
enum reader_token {
    TOKEN_NONE,
    TOKEN_STRING,
    TOKEN_NAME,
    TOKEN_NUMBER,
    TOKEN_LITERAL,
};

enum { LEVEL_NAME_BYTES = 40 };

struct sirix_json_level {
    const uint8_t *name; /* In the chunk; NULL once it was copied to kept. */
    uint64_t position;
    uint32_t name_len;
    bool is_object;
    bool has_name; /* Objects: a name was read. */
    bool is_cut;   /* kept is not the whole name. */
    char kept[LEVEL_NAME_BYTES];
};

/* Where a pointer into the chunk lies in the whole input. */
static inline uint64_t reader_offset_of(const struct sirix_json_reader *reader, const uint8_t *at)
{
    return reader->start_offset + (uint64_t)(at - reader->start);
}

/* Records the reader's final error, with the place, and returns its status. */
enum sirix_status reader_fail(struct sirix_json_reader *reader, enum sirix_reason reason,
                              uint64_t offset, struct sirix_error *err, const char *fmt, ...)
    SIRIX_PRINTF(5, 6);

/* Records an error that another function described in *err, and returns its status. */
enum sirix_status reader_keep_error(struct sirix_json_reader *reader, enum sirix_status status,
                                    const struct sirix_error *err);

/* Each reads a token that starts at reader->at, or goes on with the one that was cut. */
enum sirix_status reader_string(struct sirix_json_reader *reader, enum reader_token token,
                                struct sirix_json_event *out, struct sirix_error *err);
enum sirix_status reader_number(struct sirix_json_reader *reader, struct sirix_json_event *out,
                                struct sirix_error *err);

/* Opens a level; closes the innermost one; notes a member's name. */
enum sirix_status reader_push(struct sirix_json_reader *reader, bool is_object, uint64_t offset,
                              struct sirix_error *err);
void reader_note_name(struct sirix_json_reader *reader, struct sirix_bytes name, bool in_chunk);

/* Copies names that lie in the chunk, because it goes. */
void reader_keep_names(struct sirix_json_reader *reader);

/* Tells the caller that the chunk is used up. */
static inline void reader_need_input(struct sirix_json_reader *reader, struct sirix_json_event *out)
{
    reader->at = reader->end;
    reader_keep_names(reader);
    out->kind = SIRIX_JSON_NEED_INPUT;
    out->offset = reader_offset_of(reader, reader->end);
}

#endif
