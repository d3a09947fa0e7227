/*
 * Items from JSON text and back.
 */
#ifndef SIRIX_QUERY_VALUE_JSON_H
#define SIRIX_QUERY_VALUE_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "query/value/item.h"
#include "query/value/sequence.h"
#include "json/writer.h"

enum sirix_json_doubles {
    SIRIX_JSON_DOUBLES_LAST, /* Of several fields of one name the last one stays, at the first one's place. */
    SIRIX_JSON_DOUBLES_FIRST,
    SIRIX_JSON_DOUBLES_REFUSE, /* FOJS0003 */
};

/* One JSON text as an item; FOJS0001 when it is not one, with the place in it. */
enum sirix_status sirix_item_parse_json(struct sirix_work *work, struct sirix_bytes text,
                                        enum sirix_json_doubles doubles, struct sirix_item *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* A text of any number of JSON values one after the other (JSON lines), as a sequence. */
enum sirix_status sirix_items_parse_json_lines(struct sirix_work *work, struct sirix_bytes text,
                                               struct sirix_sequence *out,
                                               struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * Writes an item as a JSON value. Numbers as numbers (INF and NaN as strings), other atomics that JSON
 * does not know as strings; SENR0001 for functions. Depth at most SIRIX_VALUE_DEPTH_MAX. No C recursion.
 */
enum sirix_status sirix_item_write_json(struct sirix_work *work, struct sirix_item item,
                                        struct sirix_json_writer *writer,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The same as compact text at the end of a buffer. */
enum sirix_status sirix_item_print_json(struct sirix_work *work, struct sirix_item item,
                                        struct sirix_buf *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * The text of a number item in JSON: its xs:string text if that is JSON, else one of equal value;
 * false for INF and NaN.
 */
enum sirix_status sirix_number_print_json(struct sirix_work *work, struct sirix_item number,
                                          struct sirix_buf *to, bool *out_is_number,
                                          struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
