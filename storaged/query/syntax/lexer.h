/*
 * The words of a query. Keywords are names here: what a name means depends on where it stands,
 * which only the parser knows.
 *
 * Space     Blanks, comments (: that nest :) and C's comments stand between tokens. `//` begins a
 *           comment to the end of its line where a value would have to begin and what follows is no
 *           name; everywhere else it is the descendant step.
 * Names     hold letters, digits, `_` and `-`, not dots: $a.b is a step from $a.
 * Threads   One lexer, one thread. Copying the struct copies the place in the text.
 */
#ifndef SIRIX_SYNTAX_LEXER_H
#define SIRIX_SYNTAX_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "query/error.h"

/* X(NAME, text): one token a spelling, the longest match first where one begins another. */
#define SIRIX_TOKEN_SYMBOL_LIST(X)                                                                 \
    X(DESCENDANT, "=>>")                                                                           \
    X(TEMPLATE_OPEN, "``[")                                                                        \
    X(PRAGMA_OPEN, "(#")                                                                           \
    X(BEFORE, "<<")                                                                                \
    X(AFTER, ">>")                                                                                 \
    X(ARROW, "=>")                                                                                 \
    X(ASSIGN, ":=")                                                                                \
    X(NOT_EQUAL, "!=")                                                                             \
    X(LESS_EQUAL, "<=")                                                                            \
    X(GREATER_EQUAL, ">=")                                                                         \
    X(SLASHES, "//")                                                                               \
    X(CONCAT, "||")                                                                                \
    X(MERGE_OPEN, "{|")                                                                            \
    X(MERGE_CLOSE, "|}")                                                                           \
    X(CONTEXT, "$$")                                                                               \
    X(OPEN, "(")                                                                                   \
    X(CLOSE, ")")                                                                                  \
    X(SQUARE_OPEN, "[")                                                                            \
    X(SQUARE_CLOSE, "]")                                                                           \
    X(BRACE_OPEN, "{")                                                                             \
    X(BRACE_CLOSE, "}")                                                                            \
    X(COMMA, ",")                                                                                  \
    X(SEMICOLON, ";")                                                                              \
    X(COLON, ":")                                                                                  \
    X(DOT, ".")                                                                                    \
    X(DOLLAR, "$")                                                                                 \
    X(QUESTION, "?")                                                                               \
    X(BANG, "!")                                                                                   \
    X(EQUAL, "=")                                                                                  \
    X(LESS, "<")                                                                                   \
    X(GREATER, ">")                                                                                \
    X(PLUS, "+")                                                                                   \
    X(MINUS, "-")                                                                                  \
    X(STAR, "*")                                                                                   \
    X(SLASH, "/")                                                                                  \
    X(BAR, "|")                                                                                    \
    X(HASH, "#")                                                                                   \
    X(PERCENT, "%")

enum sirix_token_kind {
    SIRIX_TOKEN_END,
    SIRIX_TOKEN_NAME,   /* local */
    SIRIX_TOKEN_QNAME,  /* prefix:local, without space */
    SIRIX_TOKEN_BRACED, /* Q{uri} */
    SIRIX_TOKEN_STRING, /* With its quotes. */
    SIRIX_TOKEN_INTEGER,
    SIRIX_TOKEN_DECIMAL,
    SIRIX_TOKEN_DOUBLE,
#define SIRIX_X(upper, text) SIRIX_TOKEN_##upper,
    SIRIX_TOKEN_SYMBOL_LIST(SIRIX_X)
#undef SIRIX_X
};

struct sirix_token {
    enum sirix_token_kind kind;
    uint32_t line;
    uint32_t column;
    size_t start; /* Offsets in the text. */
    size_t end;
    size_t colon; /* QNAME: where the colon is. */
};

struct sirix_lexer {
    const uint8_t *text;
    size_t len;
    size_t at;
    uint32_t line; /* Of at. */
    uint32_t column;
    bool escapes[2];  /* Whether a backslash escapes in "..." and in '...'. */
    bool after_value; /* The last token may end a value. */
};

/* Starts at the beginning. text is valid UTF-8 and outlives the lexer. */
void sirix_lexer_init(struct sirix_lexer *lexer, struct sirix_bytes text);

/* The next token; at the end of the text END, again and again. XPST0003 for what is none. */
enum sirix_status sirix_lexer_next(struct sirix_lexer *lexer, struct sirix_token *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * What is no tokens: the text from the lexer's place up to the first of two marks (the second may be
 * NULL). The lexer goes on behind the mark; *out_second: which of them it was. XPST0003 when there is none.
 */
enum sirix_status sirix_lexer_raw(struct sirix_lexer *lexer, const char *first, const char *second,
                                  struct sirix_bytes *out, bool *out_second,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Whether name could stand as a name by itself. */
bool sirix_lexer_is_name(struct sirix_bytes name);

#endif
