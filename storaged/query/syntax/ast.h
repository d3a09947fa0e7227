/*
 * The syntax tree of a query, as written: names are not resolved, numbers are still text.
 *
 * Memory    Nodes, their lists and decoded texts lie in the arena given to the parser; names and
 *           numbers are views of the query's text, which must live as long.
 * Shape     Operators of one rank are one flat node (a chain of 100,000 additions has height 2),
 *           and else-if chains are one node. What still nests is bounded: no node is higher than
 *           SIRIX_AST_HEIGHT_MAX, so a pass may recurse over children.
 * Place     Every node has the line and column, from 1 and in characters, of its first token; for
 *           binary operators and postfix steps, of the operator.
 *
 * The list says what children[] of each kind are. `e` is any expression, `e?` a child that may be
 * NULL, `e*` any number. What is neither a child nor named here is unused.
 *
 *   kind               children, and other members
 *   STRING             text: decoded UTF-8
 *   INTEGER DECIMAL DOUBLE   text: the digits as written
 *   TRUE FALSE NULL
 *   VARIABLE           name
 *   CONTEXT            ($$, or a lone dot)
 *   NAME               name; a bare name, short for $$.name
 *   SEQUENCE           e*; no child is ()
 *   RANGE              from, to
 *   OR AND             e, e+
 *   NOT                e; the prefix operator of JSONiq
 *   COMPARE            left, right; op: SIRIX_AST_EQ .. SIRIX_AST_GENERAL_GE, SIRIX_AST_IS ..
 *   CONCAT             e, e+
 *   ADD MULTIPLY       e, e+; ops[i] stands before children[i], ops[0] is unused
 *   UNARY              e; op: SIRIX_AST_PLUS, SIRIX_AST_MINUS (signs are already multiplied)
 *   UNION              e, e+
 *   INTERSECT          e, e+; ops[i]: SIRIX_AST_INTERSECT, SIRIX_AST_EXCEPT
 *   INSTANCE_OF TREAT_AS CASTABLE_AS CAST_AS    e; type
 *   MAP                e, e+; the simple map `!`
 *   IF                 (condition, then)+, else
 *   SWITCH             e, CASE+, default
 *   CASE               e+, result as last child
 *   TYPESWITCH         e, TYPE_CASE+, TYPE_CASE with no types
 *   TYPE_CASE          result; name?: a variable; types[]: alternatives
 *   SOME EVERY         FOR+, condition as last child
 *   TRY                e, CATCH+
 *   CATCH              e; names[]: the tests, `*` as an empty local or an empty uri with a flag
 *   FLWOR              clause+, return as last child
 *   FOR                e; name, type?, position?: at $p; flag ALLOWING_EMPTY
 *   LET                e; name, type?
 *   WHERE              e
 *   GROUP              GROUP_KEY+
 *   GROUP_KEY          e?; name, type?; text: the collation or empty
 *   ORDER              ORDER_KEY+; flag STABLE
 *   ORDER_KEY          e; flags DESCENDING, EMPTY_GREATEST, EMPTY_LEAST; text: collation
 *   COUNT              name
 *   WINDOW             e, WINDOW_EDGE start, WINDOW_EDGE? end; name, type?; flag SLIDING
 *   WINDOW_EDGE        when; name?: current, position?, previous?, next?; flag ONLY
 *   CALL               arguments e*; name. An argument may be a PLACEHOLDER
 *   DYNAMIC_CALL       function, arguments e*
 *   PLACEHOLDER        (the ? of a partial application)
 *   FUNCTION_NAME      name, number: arity; name#arity
 *   FUNCTION           body?; parameters[], type?; an inline function
 *   FIELD              base, key; .name is a key that is a STRING
 *   DESCENDANT         base, key; =>>name and //name
 *   LOOKUP             base, key?; XQuery's ?key, no key is ?*. A NULL base is the context
 *   PREDICATE          base, e; base[e]: filter, position or member, by value
 *   FILTER             base, e; base[?e]
 *   MEMBER             base, e; base[[e]]
 *   SLICE              base, from?, to?, step?
 *   UNBOX              base; base[]
 *   PROJECT            base, key+; base{a,b}
 *   OBJECT             (PAIR or e)*; an e is an object that is merged in place
 *   PAIR               key, value
 *   MERGE              e; {| e |}
 *   ARRAY              e*; members of all of them in order
 *   INSERT             content, target, position?; content is an OBJECT for {..} and key : value
 *   APPEND             content, target
 *   DELETE             target
 *   REPLACE            target, value
 *   RENAME             target, new name
 *   COPY               LET+, modify, return
 *   BLOCK              statement*, result?; see below
 *   DECLARE            e?; name, type?; the statement variable $x := e
 *   ASSIGN             e; name
 *   WHILE              condition, body
 *   BREAK CONTINUE
 *   EXIT               e
 *
 * A BLOCK runs its statements in order and, if it does not end in a semicolon, gives the value of
 * its last child; its last child is NULL if it does. The updates of a statement are applied before
 * the next one starts.
 */
#ifndef SIRIX_SYNTAX_AST_H
#define SIRIX_SYNTAX_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

enum { SIRIX_AST_HEIGHT_MAX = 1000 };

/* X(NAME, name): every kind of node. */
#define SIRIX_AST_KIND_LIST(X)                                                                     \
    X(STRING, string)                                                                              \
    X(INTEGER, integer)                                                                            \
    X(DECIMAL, decimal)                                                                            \
    X(DOUBLE, double)                                                                              \
    X(TRUE, true)                                                                                  \
    X(FALSE, false)                                                                                \
    X(NULL, null)                                                                                  \
    X(VARIABLE, variable)                                                                          \
    X(CONTEXT, context)                                                                            \
    X(NAME, name)                                                                                  \
    X(SEQUENCE, sequence)                                                                          \
    X(RANGE, range)                                                                                \
    X(OR, or)                                                                                      \
    X(AND, and)                                                                                    \
    X(NOT, not )                                                                                   \
    X(COMPARE, compare)                                                                            \
    X(CONCAT, concat)                                                                              \
    X(ADD, add)                                                                                    \
    X(MULTIPLY, multiply)                                                                          \
    X(UNARY, unary)                                                                                \
    X(UNION, union)                                                                                \
    X(INTERSECT, intersect)                                                                        \
    X(INSTANCE_OF, instance_of)                                                                    \
    X(TREAT_AS, treat_as)                                                                          \
    X(CASTABLE_AS, castable_as)                                                                    \
    X(CAST_AS, cast_as)                                                                            \
    X(MAP, map)                                                                                    \
    X(IF, if)                                                                                      \
    X(SWITCH, switch)                                                                              \
    X(CASE, case)                                                                                  \
    X(TYPESWITCH, typeswitch)                                                                      \
    X(TYPE_CASE, type_case)                                                                        \
    X(SOME, some)                                                                                  \
    X(EVERY, every)                                                                                \
    X(TRY, try)                                                                                    \
    X(CATCH, catch)                                                                                \
    X(FLWOR, flwor)                                                                                \
    X(FOR, for)                                                                                    \
    X(LET, let)                                                                                    \
    X(WHERE, where)                                                                                \
    X(GROUP, group)                                                                                \
    X(GROUP_KEY, group_key)                                                                        \
    X(ORDER, order)                                                                                \
    X(ORDER_KEY, order_key)                                                                        \
    X(COUNT, count)                                                                                \
    X(WINDOW, window)                                                                              \
    X(WINDOW_EDGE, window_edge)                                                                    \
    X(CALL, call)                                                                                  \
    X(DYNAMIC_CALL, dynamic_call)                                                                  \
    X(PLACEHOLDER, placeholder)                                                                    \
    X(FUNCTION_NAME, function_name)                                                                \
    X(FUNCTION, function)                                                                          \
    X(FIELD, field)                                                                                \
    X(DESCENDANT, descendant)                                                                      \
    X(LOOKUP, lookup)                                                                              \
    X(PREDICATE, predicate)                                                                        \
    X(FILTER, filter)                                                                              \
    X(MEMBER, member)                                                                              \
    X(SLICE, slice)                                                                                \
    X(UNBOX, unbox)                                                                                \
    X(PROJECT, project)                                                                            \
    X(OBJECT, object)                                                                              \
    X(PAIR, pair)                                                                                  \
    X(MERGE, merge)                                                                                \
    X(ARRAY, array)                                                                                \
    X(INSERT, insert)                                                                              \
    X(APPEND, append)                                                                              \
    X(DELETE, delete)                                                                              \
    X(REPLACE, replace)                                                                            \
    X(RENAME, rename)                                                                              \
    X(COPY, copy)                                                                                  \
    X(BLOCK, block)                                                                                \
    X(DECLARE, declare)                                                                            \
    X(ASSIGN, assign)                                                                              \
    X(WHILE, while)                                                                                \
    X(BREAK, break)                                                                                \
    X(CONTINUE, continue)                                                                          \
    X(EXIT, exit)

enum sirix_ast_kind {
#define SIRIX_X(upper, lower) SIRIX_AST_##upper,
    SIRIX_AST_KIND_LIST(SIRIX_X)
#undef SIRIX_X
        SIRIX_AST_KIND_COUNT
};

enum sirix_ast_op {
    SIRIX_AST_OP_NONE,
    SIRIX_AST_EQ, /* Value comparison: of one item with one item. */
    SIRIX_AST_NE,
    SIRIX_AST_LT,
    SIRIX_AST_LE,
    SIRIX_AST_GT,
    SIRIX_AST_GE,
    SIRIX_AST_GENERAL_EQ, /* General comparison: of any item with any item. */
    SIRIX_AST_GENERAL_NE,
    SIRIX_AST_GENERAL_LT,
    SIRIX_AST_GENERAL_LE,
    SIRIX_AST_GENERAL_GT,
    SIRIX_AST_GENERAL_GE,
    SIRIX_AST_PLUS,
    SIRIX_AST_MINUS,
    SIRIX_AST_TIMES,
    SIRIX_AST_DIV,
    SIRIX_AST_IDIV,
    SIRIX_AST_MOD,
    SIRIX_AST_OP_INTERSECT,
    SIRIX_AST_OP_EXCEPT,
    SIRIX_AST_IS, /* Of nodes of XML, of which there are none: of empty sequences. */
    SIRIX_AST_BEFORE,
    SIRIX_AST_AFTER,
};

/* Flags of nodes. */
enum {
    SIRIX_AST_ALLOWING_EMPTY = 1u << 0,
    SIRIX_AST_STABLE = 1u << 1,
    SIRIX_AST_DESCENDING = 1u << 2,
    SIRIX_AST_EMPTY_GREATEST = 1u << 3,
    SIRIX_AST_EMPTY_LEAST = 1u << 4,
    SIRIX_AST_SLIDING = 1u << 5,
    SIRIX_AST_ONLY = 1u << 6,
    SIRIX_AST_UPDATING = 1u << 7,         /* declare updating function, %an:updating */
    SIRIX_AST_EXTERNAL = 1u << 8,         /* declare variable $x external */
    SIRIX_AST_PRIVATE = 1u << 9,          /* %private; kept for messages only */
    SIRIX_AST_ASSIGNABLE = 1u << 10,      /* a variable that := may set */
    SIRIX_AST_PUBLIC = 1u << 11,          /* %public */
    SIRIX_AST_NONASSIGNABLE = 1u << 13,   /* %an:nonassignable */
    SIRIX_AST_HOLDS_SEQUENCES = 1u << 12, /* OBJECT: map { }; ARRAY: [ ] of XQuery 3.1 */
};

/*
 * A name as written: prefix:local, Q{uri}local or local. In a catch test `*` is an empty local with
 * any_local, and *:local has any_uri.
 */
struct sirix_ast_name {
    struct sirix_bytes prefix; /* Empty if none. */
    struct sirix_bytes uri;    /* If has_uri. */
    struct sirix_bytes local;
    bool has_uri;
    bool any_uri;
    bool any_local;
};

enum sirix_ast_type_kind {
    SIRIX_AST_TYPE_EMPTY,      /* (), empty-sequence() */
    SIRIX_AST_TYPE_ITEM,       /* item, item() */
    SIRIX_AST_TYPE_NAMED,      /* name: an atomic type, such as xs:integer, integer, atomic, null */
    SIRIX_AST_TYPE_JSON_ITEM,  /* json-item, json-item(): any value of JSON */
    SIRIX_AST_TYPE_STRUCTURED, /* structured-item(): an object, an array (or a node) */
    SIRIX_AST_TYPE_OBJECT,     /* object, object(), map(*); or map(K, V): key and value */
    SIRIX_AST_TYPE_ARRAY,      /* array, array(), array(*); or array(T): value */
    SIRIX_AST_TYPE_FUNCTION,   /* function(*), function; or function(T*) as T: parameters, value */
    SIRIX_AST_TYPE_NODE,       /* node(), element(), ...: of XML, no item has such a type */
};

enum sirix_ast_occurrence {
    SIRIX_AST_ONE,
    SIRIX_AST_OPTIONAL, /* ? */
    SIRIX_AST_ANY,      /* * */
    SIRIX_AST_SOME_OF,  /* + */
};

/* A sequence type, or the single type of a cast. */
struct sirix_ast_type {
    enum sirix_ast_type_kind kind;
    enum sirix_ast_occurrence occurrence;
    uint32_t line;
    uint32_t column;
    struct sirix_ast_name name;
    bool is_any; /* OBJECT, ARRAY, FUNCTION: nothing is said about what is inside. */
    struct sirix_ast_type *key;
    struct sirix_ast_type *value;
    struct sirix_ast_type **parameters;
    uint32_t parameter_count;
};

struct sirix_ast_parameter {
    struct sirix_ast_name name;
    struct sirix_ast_type *type; /* NULL: item()* */
    uint32_t line;
    uint32_t column;
};

/* What few nodes have. NULL where none of it is set. */
struct sirix_ast_more {
    struct sirix_ast_type **types; /* TYPE_CASE */
    struct sirix_ast_name *names;  /* CATCH */
    struct sirix_ast_parameter *parameters;
    uint32_t type_count;
    uint32_t name_count;
    uint32_t parameter_count;
    struct sirix_ast_name *position; /* at $p */
    struct sirix_ast_name *previous; /* previous $p, next $n of a window's edge */
    struct sirix_ast_name *next;
};

struct sirix_ast {
    uint16_t kind;   /* enum sirix_ast_kind */
    uint16_t op;     /* enum sirix_ast_op */
    uint32_t flags;  /* SIRIX_AST_ALLOWING_EMPTY and so on. */
    uint32_t line;   /* From 1. */
    uint32_t column; /* From 1, in characters. */
    uint32_t height; /* 1 + that of the highest child. */
    uint32_t child_count;
    struct sirix_ast **children;
    uint8_t *ops; /* child_count of enum sirix_ast_op, or NULL. */
    struct sirix_ast_name *name;
    struct sirix_ast_type *type;
    struct sirix_ast_more *more;
    struct sirix_bytes text;
    uint64_t number;
};

/* Which rules hold where JSONiq, XQuery and SirixDB read the same text differently. */
enum sirix_syntax_dialect {
    SIRIX_SYNTAX_SIRIX,  /* The default: SirixDB's. */
    SIRIX_SYNTAX_JSONIQ, /* After jsoniq version: positions from 1 and so on; see docs/query.md. */
    SIRIX_SYNTAX_XQUERY, /* After xquery version: XQuery's escapes in strings, [[n]] from 0. */
};

enum sirix_ast_declaration_kind {
    SIRIX_DECLARE_NAMESPACE,        /* prefix, uri; import module namespace p = "uri" too */
    SIRIX_DECLARE_DEFAULT_FUNCTION, /* uri */
    SIRIX_DECLARE_DEFAULT_ELEMENT,  /* uri */
    SIRIX_DECLARE_OPTION,           /* name, value: text */
    SIRIX_DECLARE_COLLATION,        /* uri */
    SIRIX_DECLARE_EMPTY_ORDER,      /* flags: EMPTY_GREATEST or EMPTY_LEAST */
    SIRIX_DECLARE_DECIMAL_FORMAT,   /* name? (NULL: default), properties: name, text pairs */
    SIRIX_DECLARE_SETTER,           /* ordering, boundary-space, ...: uri is its name; no effect */
    SIRIX_DECLARE_VARIABLE,         /* name, type?, body? */
    SIRIX_DECLARE_CONTEXT,          /* type?, body?; flag EXTERNAL */
    SIRIX_DECLARE_FUNCTION,         /* name, parameters, type?, body? (NULL: empty) */
};

struct sirix_ast_property {
    struct sirix_bytes name;
    struct sirix_bytes value;
    uint32_t line;
    uint32_t column;
};

/* One declaration of the prolog. */
struct sirix_ast_declaration {
    enum sirix_ast_declaration_kind kind;
    uint32_t flags; /* EXTERNAL, UPDATING, PRIVATE, ASSIGNABLE, EMPTY_GREATEST, EMPTY_LEAST */
    uint32_t line;
    uint32_t column;
    struct sirix_ast_name *name;
    struct sirix_bytes prefix;
    struct sirix_bytes uri; /* Decoded. */
    struct sirix_bytes text;
    struct sirix_ast_type *type;
    struct sirix_ast *body;
    struct sirix_ast_parameter *parameters;
    uint32_t parameter_count;
    struct sirix_ast_property *properties;
    uint32_t property_count;
};

/* A whole query. */
struct sirix_ast_module {
    enum sirix_syntax_dialect dialect;
    unsigned jsoniq_version; /* 10 or 31 as written; 0 if the query does not say. */
    bool xquery_31;          /* It begins with xquery version "3.1". */
    struct sirix_ast_declaration *declarations; /* In the order of the text. */
    uint32_t declaration_count;
    struct sirix_ast *body;
    uint32_t node_count; /* Of all trees together. */
};

/* The name of a kind, such as "flwor". Never NULL. */
const char *sirix_ast_kind_name(enum sirix_ast_kind kind);

/* The operator as it is written, such as "idiv"; "" for SIRIX_AST_OP_NONE. */
const char *sirix_ast_op_name(enum sirix_ast_op op);

#endif
