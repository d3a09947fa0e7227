/*
 * What the parser's files share.
 *
 * A parsing function returns the node it has read, or NULL when it failed: why is then in
 * parser->status and parser->err, and nothing more is read. This file's functions are the ground;
 * whatever can come again inside itself goes through parser_single(), or enters by itself.
 */
#ifndef SIRIX_SYNTAX_PARSER_INTERNAL_H
#define SIRIX_SYNTAX_PARSER_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/buf.h"
#include "query/syntax/lexer.h"
#include "query/syntax/parser.h"

struct parser {
    struct sirix_arena *arena;
    struct sirix_bytes text;
    struct sirix_query_error *err;
    enum sirix_status status; /* SIRIX_OK, or why parsing stopped. */
    struct sirix_lexer lexer;
    struct sirix_token token; /* The current one. */
    struct sirix_token ahead; /* The one behind it, if has_ahead. */
    bool has_ahead;
    size_t last_end;   /* Where the token before the current one ended. */
    size_t closed_end; /* Where a statement ended that needs no semicolon. */
    uint32_t depth;
    uint32_t node_count;
    enum sirix_syntax_dialect dialect;
    unsigned jsoniq_version;
    bool xquery_31;
    struct sirix_buf list;  /* Pointers to nodes of the lists that are being read. */
    struct sirix_buf ops;   /* Their operators, where a list has some. */
    struct sirix_ast *seed; /* A value that is already read: see parser_value(). */
};

/* --- Tokens ----------------------------------------------------------------------------------- */

/* Reads on. */
bool parser_advance(struct parser *parser);

/* Reads on by a number of tokens. */
bool parser_skip(struct parser *parser, unsigned count);

/* The token behind the current one; NULL when the text is wrong there. */
const struct sirix_token *parser_ahead(struct parser *parser);

/* The text of a token. */
struct sirix_bytes parser_text(const struct parser *parser, const struct sirix_token *token);

static inline bool parser_at(const struct parser *parser, enum sirix_token_kind kind)
{
    return parser->token.kind == kind;
}

/* Whether a token is this name. */
bool parser_is_word(const struct parser *parser, const struct sirix_token *token, const char *word);
bool parser_at_word(const struct parser *parser, const char *word);

/* Whether the current and the next token are these names; whether the next one is of a kind. */
bool parser_at_words(struct parser *parser, const char *word, const char *next);
bool parser_at_word_then(struct parser *parser, const char *word, enum sirix_token_kind kind);

/* Reads the token if it is there: whether it was. A failure is seen in parser->status. */
bool parser_take(struct parser *parser, enum sirix_token_kind kind);
bool parser_take_word(struct parser *parser, const char *word);

/* Reads a token that has to be there; what: how it is called in the message, such as "')'". */
bool parser_expect(struct parser *parser, enum sirix_token_kind kind, const char *what);
bool parser_expect_word(struct parser *parser, const char *word);

/* --- Errors: always NULL or false ------------------------------------------------------------- */

void *parser_fail_expected(struct parser *parser, const char *what);
void *parser_fail_at(struct parser *parser, const struct sirix_token *token, const char *code,
                     const char *message);
void *parser_fail_status(struct parser *parser, enum sirix_status status);

/* One level deeper, and back. */
bool parser_enter(struct parser *parser);
void parser_leave(struct parser *parser);

/* --- Nodes ------------------------------------------------------------------------------------ */

/* Cleared memory; NULL on failure. */
void *parser_alloc(struct parser *parser, size_t count, size_t size);

/* A node with room for children, at the place of a token. */
struct sirix_ast *parser_node(struct parser *parser, enum sirix_ast_kind kind,
                              const struct sirix_token *place, uint32_t child_count);

/* Nodes of one and two children; the second may be NULL. */
struct sirix_ast *parser_node1(struct parser *parser, enum sirix_ast_kind kind,
                               const struct sirix_token *place, struct sirix_ast *child);
struct sirix_ast *parser_node2(struct parser *parser, enum sirix_ast_kind kind,
                               const struct sirix_token *place, struct sirix_ast *first,
                               struct sirix_ast *second);

/* Sets a node's height from its children; false when it is too high. */
bool parser_measure(struct parser *parser, struct sirix_ast *node);

struct sirix_ast_more *parser_more(struct parser *parser, struct sirix_ast *node);

/*
 * Children of unknown number: open, push each (which may be NULL: no child), and close, which makes
 * the node with all that were pushed since. A list inside another one ends first.
 */
size_t parser_list_open(const struct parser *parser);
bool parser_list_push(struct parser *parser, struct sirix_ast *node);
size_t parser_list_count(const struct parser *parser, size_t mark);
/* Number i of the list that began at mark; i is below its count. NULL where NULL was pushed. */
struct sirix_ast *parser_list_at(const struct parser *parser, size_t mark, size_t i);
struct sirix_ast *parser_list_close(struct parser *parser, size_t mark, enum sirix_ast_kind kind,
                                    const struct sirix_token *place);

/* --- Names and strings ------------------------------------------------------------------------ */

/* Whether a name begins at the current token. */
bool parser_at_name(const struct parser *parser);

/* local, prefix:local or Q{uri}local. */
struct sirix_ast_name *parser_name(struct parser *parser);

/* $name */
struct sirix_ast_name *parser_variable_name(struct parser *parser);

/*
 * A name without prefix, as bytes: of a:b only the a is read, when it stands where a colon may
 * follow. A string literal, decoded. False on failure.
 */
bool parser_local_name(struct parser *parser, struct sirix_bytes *out);
bool parser_string(struct parser *parser, struct sirix_bytes *out);

/* A STRING node, of bytes, and of the literal at hand. */
struct sirix_ast *parser_string_node(struct parser *parser, const struct sirix_token *place,
                                     struct sirix_bytes text);
struct sirix_ast *parser_literal(struct parser *parser);

/* A node that carries a name. */
struct sirix_ast *parser_named(struct parser *parser, enum sirix_ast_kind kind,
                               const struct sirix_token *place, struct sirix_ast_name *name,
                               uint32_t child_count);

/* --- The grammar ------------------------------------------------------------------------------ */

struct sirix_ast *parser_single(struct parser *parser);     /* One expression, no comma. */
struct sirix_ast *parser_expression(struct parser *parser); /* With commas. */
struct sirix_ast *parser_operators(struct parser *parser, unsigned level_min);
struct sirix_ast *parser_value(struct parser *parser); /* Signs, postfix steps and `!`. */
struct sirix_ast *parser_postfix(struct parser *parser);
struct sirix_ast *parser_primary(struct parser *parser);

/* Reads (argument, ...) and pushes the arguments onto the list that is open. */
bool parser_arguments(struct parser *parser);

struct sirix_ast *parser_braces(struct parser *parser); /* An object or a block. */
struct sirix_ast *parser_map(struct parser *parser);    /* map { key : value, ... } */
struct sirix_ast *parser_array(struct parser *parser);  /* [...] */
struct sirix_ast *parser_merge(struct parser *parser);  /* {| ... |} */
struct sirix_ast *parser_inline_function(struct parser *parser);

/* Whether a name is at hand that no function can have. */
bool parser_at_reserved(const struct parser *parser);

/* %name(...) ...: what they set is added to *flags. */
bool parser_annotations(struct parser *parser, uint32_t *flags);
struct sirix_ast *parser_flwor(struct parser *parser);
struct sirix_ast *parser_quantified(struct parser *parser);
struct sirix_ast *parser_if(struct parser *parser);
struct sirix_ast *parser_switch(struct parser *parser);
struct sirix_ast *parser_typeswitch(struct parser *parser);
struct sirix_ast *parser_try(struct parser *parser);
struct sirix_ast *parser_update(struct parser *parser); /* At insert, append, delete, ... */
struct sirix_ast *parser_copy(struct parser *parser);
struct sirix_ast *parser_statement(struct parser *parser); /* A statement or an expression. */
struct sirix_ast *parser_while(struct parser *parser);
struct sirix_ast *parser_declare(struct parser *parser);

/* What stands in a function's, try's or catch's braces, braces included; () if nothing. */
struct sirix_ast *parser_body(struct parser *parser);

/* Statements up to the token `close`, which is left; the first may already be read. */
struct sirix_ast *parser_statements(struct parser *parser, struct sirix_ast *first,
                                    const struct sirix_token *place, enum sirix_token_kind close);

/* Whether an update keyword (insert json, ...) is at hand. */
bool parser_at_update(struct parser *parser);

/* Types. parser_as() reads `as T` if it is there: *out is NULL if not. */
struct sirix_ast_type *parser_sequence_type(struct parser *parser);
struct sirix_ast_type *parser_single_type(struct parser *parser);
bool parser_as(struct parser *parser, struct sirix_ast_type **out);

/* (name as T, ...) with its parentheses. */
bool parser_parameters(struct parser *parser, struct sirix_ast_parameter **out,
                       uint32_t *out_count);

/* How strings are read in parser->dialect. */
void parser_apply_dialect(struct parser *parser);

/* The declarations before the body; the version is read separately, first. */
bool parser_version(struct parser *parser);
bool parser_prolog(struct parser *parser, struct sirix_ast_module *module);

#endif
