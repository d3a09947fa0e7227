/*
 * From the bytes of a query to its syntax tree: one grammar for JSONiq, SirixDB's dialect of it and
 * what both take from XQuery 3.1 (docs/query.md).
 *
 * Errors    The first mistake is the answer, with its code (XPST0003 for most), line, column and
 *           what was expected there: SIRIX_INVALID. A limit below is SIRIX_EXHAUSTED and named.
 * Cost      Linear in the text: nothing is read twice. Memory: the arena's, about 150 bytes a node.
 * Stack     The parser recurses once for each level of nesting, at most SIRIX_SYNTAX_NESTING_MAX,
 *           and needs up to SIRIX_SYNTAX_STACK_BYTES of it: threads with small stacks run it on a
 *           larger one.
 * Threads   Any number, each with an arena of its own.
 */
#ifndef SIRIX_SYNTAX_PARSER_H
#define SIRIX_SYNTAX_PARSER_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/status.h"
#include "query/error.h"
#include "query/syntax/ast.h"

enum {
    SIRIX_SYNTAX_TEXT_BYTES_MAX = 1024 * 1024,
    SIRIX_SYNTAX_NESTING_MAX = 1000, /* Parentheses, constructors, bodies, ... in each other. */
    SIRIX_SYNTAX_NODES_MAX = 500000, /* Of one syntax tree. */
    SIRIX_SYNTAX_DECLARATIONS_MAX = 10000,
    SIRIX_SYNTAX_STACK_BYTES = 8 * 1024 * 1024, /* Sanitized builds included. */
};

/*
 * Parses a whole query into the arena. dialect is what holds unless the text begins with a version
 * declaration. The tree refers to text (names and numbers), which must live as long as it is used.
 */
enum sirix_status sirix_syntax_parse(struct sirix_arena *arena, struct sirix_bytes text,
                                     enum sirix_syntax_dialect dialect,
                                     struct sirix_ast_module **out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
