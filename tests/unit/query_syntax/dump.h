/* A syntax tree as one line of text, for the tests' tables: (kind parts...). */
#ifndef SIRIX_TESTS_QUERY_SYNTAX_DUMP_H
#define SIRIX_TESTS_QUERY_SYNTAX_DUMP_H

#include "base/buf.h"
#include "query/syntax/ast.h"

/* Appends the node; a NULL is `_`. */
void dump_ast(struct sirix_buf *to, const struct sirix_ast *node);

/* Appends the declarations, each in parentheses. */
void dump_prolog(struct sirix_buf *to, const struct sirix_ast_module *module);

#endif
