/* Names of kinds and operators, for messages, explain and tests. */
#include "query/syntax/ast.h"

const char *sirix_ast_kind_name(enum sirix_ast_kind kind)
{
    static const char *const names[] = {
#define SIRIX_X(upper, lower) #lower,
        SIRIX_AST_KIND_LIST(SIRIX_X)
#undef SIRIX_X
    };

    return (unsigned)kind < SIRIX_AST_KIND_COUNT ? names[kind] : "unknown";
}

const char *sirix_ast_op_name(enum sirix_ast_op op)
{
    static const char *const names[] = {
        "",   "eq", "ne", "lt", "le",  "gt",   "ge",  "=",         "!=",     "<",  "<=", ">",
        ">=", "+",  "-",  "*",  "div", "idiv", "mod", "intersect", "except", "is", "<<", ">>"};

    return (unsigned)op < sizeof(names) / sizeof(names[0]) ? names[op] : "";
}
