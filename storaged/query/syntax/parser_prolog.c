/* The version and the declarations before the body of a query. */
#include <stdlib.h>

#include "query/syntax/parser_internal.h"

/* --- Version ---------------------------------------------------------------------------------- */

static bool is_bytes(struct sirix_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

/* A name of an encoding has letters, digits and few signs; which one it is makes no difference. */
static bool check_encoding(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_bytes name = {NULL, 0};

    if (!parser_string(parser, &name)) {
        return false;
    }

    const char *at = name.data;
    bool is_name = name.len != 0 && ((at[0] | 0x20) >= 'a' && (at[0] | 0x20) <= 'z');

    for (size_t i = 0; i < name.len && is_name; i++) {
        is_name = strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
                         at[i]) != NULL &&
                  at[i] != '\0';
    }
    if (!is_name) {
        parser_fail_at(parser, &place, "XQST0087", "this is no name of an encoding");
    }
    return is_name;
}

static bool set_dialect(struct parser *parser, bool is_jsoniq, const struct sirix_token *place,
                        struct sirix_bytes version)
{
    if (!is_jsoniq) {
        if (!is_bytes(version, "1.0") && !is_bytes(version, "3.0") && !is_bytes(version, "3.1")) {
            parser_fail_at(parser, place, "XQST0031",
                           "there is XQuery 1.0, 3.0 and 3.1, but no such version");
            return false;
        }
        parser->dialect = SIRIX_SYNTAX_XQUERY;
        parser->xquery_31 = is_bytes(version, "3.1");
    } else {
        bool is_10 = is_bytes(version, "1.0");
        bool is_31 = is_bytes(version, "3.1");

        if (!is_10 && !is_31) {
            parser_fail_at(parser, place, "XQST0031",
                           "there is JSONiq 1.0 and 3.1, but no such version");
            return false;
        }
        parser->dialect = SIRIX_SYNTAX_JSONIQ;
        parser->jsoniq_version = is_10 ? 10 : 31;
    }
    return true;
}

void parser_apply_dialect(struct parser *parser)
{
    parser->lexer.escapes[0] = parser->dialect != SIRIX_SYNTAX_XQUERY;
    parser->lexer.escapes[1] = parser->dialect == SIRIX_SYNTAX_JSONIQ;
}

/* jsoniq version "1.0" encoding "utf-8"; */
bool parser_version(struct parser *parser)
{
    bool is_jsoniq = parser_at_word(parser, "jsoniq");
    struct sirix_bytes text = {NULL, 0};

    if (!parser_at_words(parser, is_jsoniq ? "jsoniq" : "xquery", "version") &&
        !parser_at_words(parser, is_jsoniq ? "jsoniq" : "xquery", "encoding")) {
        return parser->status == SIRIX_OK;
    }
    if (!parser_advance(parser)) {
        return false;
    }
    if (parser_take_word(parser, "version")) {
        struct sirix_token place = parser->token;

        if (!parser_string(parser, &text) || !set_dialect(parser, is_jsoniq, &place, text)) {
            return false;
        }
    }
    if (parser_take_word(parser, "encoding") && !check_encoding(parser)) {
        return false;
    }
    /* The token behind the semicolon is the first that the dialect is for. */
    parser_apply_dialect(parser);
    return parser_expect(parser, SIRIX_TOKEN_SEMICOLON, "';'");
}

/* --- Annotations ------------------------------------------------------------------------------ */

/* (literal, ...) behind the name of an annotation. */
static bool skip_literals(struct parser *parser)
{
    if (!parser_take(parser, SIRIX_TOKEN_OPEN)) {
        return parser->status == SIRIX_OK;
    }
    do {
        enum sirix_token_kind kind = parser->token.kind;

        if (kind != SIRIX_TOKEN_STRING && kind != SIRIX_TOKEN_INTEGER &&
            kind != SIRIX_TOKEN_DECIMAL && kind != SIRIX_TOKEN_DOUBLE) {
            parser_fail_expected(parser, "a literal");
            return false;
        }
        if (!parser_advance(parser)) {
            return false;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser_expect(parser, SIRIX_TOKEN_CLOSE, "',' or ')'");
}

/* Annotations without a prefix, and those with one of these, are not for queries to make up. */
static bool is_known_annotation(const struct sirix_ast_name *name)
{
    static const char *const known[] = {
        "public",
        "private",
        "updating",
        "sequential",
        "nonsequential",
        "assignable",
        "nonassignable",
        "deterministic",
        "unsafe",
        "nondeterministic",
        "strictlydeterministic",
    };
    static const char *const reserved[] = {"fn", "xs", "xsi", "xml", "math", "map", "array"};

    for (size_t i = 0; i < sizeof(reserved) / sizeof(reserved[0]); i++) {
        if (is_bytes(name->prefix, reserved[i])) {
            return false;
        }
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (is_bytes(name->local, known[i])) {
            return true;
        }
    }
    return name->prefix.len != 0 || name->has_uri;
}

static bool refuse(struct parser *parser, const struct sirix_token *place, const char *code,
                   const char *message)
{
    parser_fail_at(parser, place, code, message);
    return false;
}

/* One annotation behind its %. Which of sequential and nonsequential were seen is kept apart. */
static bool read_annotation(struct parser *parser, uint32_t *flags, uint32_t *order)
{
    static const struct {
        const char *name;
        uint32_t flag;
    } known[] = {
        {"public", SIRIX_AST_PUBLIC},
        {"private", SIRIX_AST_PRIVATE},
        {"updating", SIRIX_AST_UPDATING},
        {"assignable", SIRIX_AST_ASSIGNABLE},
        {"nonassignable", SIRIX_AST_NONASSIGNABLE},
    };
    struct sirix_token place = parser->token;
    struct sirix_ast_name *name = parser_advance(parser) ? parser_name(parser) : NULL;

    if (name == NULL || !skip_literals(parser)) {
        return false;
    }
    if (!is_known_annotation(name)) {
        return refuse(parser, &place, "XQST0045",
                      "the namespace of this annotation is not for queries");
    }
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        *flags |= is_bytes(name->local, known[i].name) ? known[i].flag : 0;
    }
    *order |= is_bytes(name->local, "sequential") ? 1u : 0;
    *order |= is_bytes(name->local, "nonsequential") ? 2u : 0;
    if (*order == 3) {
        return refuse(parser, &place, "XQAN0001",
                      "a function is either sequential or nonsequential");
    }
    return (*flags & SIRIX_AST_PUBLIC) == 0 || (*flags & SIRIX_AST_PRIVATE) == 0 ||
           refuse(parser, &place, "XQST0106", "a function is either public or private");
}

bool parser_annotations(struct parser *parser, uint32_t *flags)
{
    uint32_t order = 0;

    while (parser_at(parser, SIRIX_TOKEN_PERCENT)) {
        if (!read_annotation(parser, flags, &order)) {
            return false;
        }
    }
    return parser->status == SIRIX_OK;
}

/* --- Declarations ----------------------------------------------------------------------------- */

static bool read_value_or_external(struct parser *parser, struct sirix_ast_declaration *out)
{
    if (parser_take_word(parser, "external")) {
        out->flags |= SIRIX_AST_EXTERNAL;
        if (!parser_take(parser, SIRIX_TOKEN_ASSIGN)) {
            return parser->status == SIRIX_OK;
        }
    } else if (!parser_expect(parser, SIRIX_TOKEN_ASSIGN, "':=' or 'external'")) {
        return false;
    }
    out->body = parser_single(parser);
    return out->body != NULL;
}

/* Behind `declare ... variable` and `declare context item`. */
static bool read_variable(struct parser *parser, struct sirix_ast_declaration *out)
{
    out->kind = SIRIX_DECLARE_VARIABLE;
    out->line = parser->token.line;
    out->column = parser->token.column;
    out->name = parser_variable_name(parser);
    return out->name != NULL && parser_as(parser, &out->type) &&
           read_value_or_external(parser, out);
}

static bool read_context(struct parser *parser, struct sirix_ast_declaration *out)
{
    out->kind = SIRIX_DECLARE_CONTEXT;
    return parser_expect_word(parser, "item") && parser_as(parser, &out->type) &&
           read_value_or_external(parser, out);
}

static bool read_function(struct parser *parser, struct sirix_ast_declaration *out)
{
    out->kind = SIRIX_DECLARE_FUNCTION;
    out->line = parser->token.line;
    out->column = parser->token.column;
    if (parser_at_reserved(parser)) {
        parser_fail_at(parser, &parser->token, "XPST0003",
                       "this name is reserved: no function can have it");
        return false;
    }
    out->name = parser_name(parser);
    if (out->name == NULL || !parser_parameters(parser, &out->parameters, &out->parameter_count) ||
        !parser_as(parser, &out->type)) {
        return false;
    }
    if (parser_at_word(parser, "external")) {
        parser_fail_at(parser, &parser->token, "XPST0017", "there are no external functions");
        return false;
    }
    out->body = parser_body(parser);
    return out->body != NULL;
}

static bool read_namespace(struct parser *parser, struct sirix_ast_declaration *out)
{
    out->kind = SIRIX_DECLARE_NAMESPACE;
    return parser_local_name(parser, &out->prefix) &&
           parser_expect(parser, SIRIX_TOKEN_EQUAL, "'='") && parser_string(parser, &out->uri);
}

/* name = "value" ... */
static bool read_decimal_format(struct parser *parser, struct sirix_ast_declaration *out)
{
    enum { PROPERTIES_MAX = 32 };
    struct sirix_ast_property properties[PROPERTIES_MAX];

    out->kind = SIRIX_DECLARE_DECIMAL_FORMAT;
    while (!parser_at(parser, SIRIX_TOKEN_SEMICOLON)) {
        struct sirix_ast_property *property = &properties[out->property_count];

        if (out->property_count == PROPERTIES_MAX) {
            parser_fail_expected(parser, "';'");
            return false;
        }
        property->line = parser->token.line;
        property->column = parser->token.column;
        out->property_count++;
        if (!parser_local_name(parser, &property->name) ||
            !parser_expect(parser, SIRIX_TOKEN_EQUAL, "'='") ||
            !parser_string(parser, &property->value)) {
            return false;
        }
    }
    if (out->property_count == 0) {
        return true;
    }
    out->properties = parser_alloc(parser, out->property_count, sizeof(properties[0]));
    if (out->properties == NULL) {
        return false;
    }
    memcpy(out->properties, properties, out->property_count * sizeof(properties[0]));
    return true;
}

/* Behind `declare default`. */
static bool read_default(struct parser *parser, struct sirix_ast_declaration *out)
{
    if (parser_take_word(parser, "collation")) {
        out->kind = SIRIX_DECLARE_COLLATION;
        return parser_string(parser, &out->uri);
    }
    if (parser_take_word(parser, "order")) {
        out->kind = SIRIX_DECLARE_EMPTY_ORDER;
        if (!parser_expect_word(parser, "empty")) {
            return false;
        }
        if (parser_take_word(parser, "greatest")) {
            out->flags = SIRIX_AST_EMPTY_GREATEST;
            return parser->status == SIRIX_OK;
        }
        out->flags = SIRIX_AST_EMPTY_LEAST;
        return parser_expect_word(parser, "least");
    }
    if (parser_take_word(parser, "decimal-format")) {
        return read_decimal_format(parser, out);
    }
    if (parser_take_word(parser, "element")) {
        out->kind = SIRIX_DECLARE_DEFAULT_ELEMENT;
    } else {
        out->kind = SIRIX_DECLARE_DEFAULT_FUNCTION;
        if (!parser_expect_word(parser, "function")) {
            return false;
        }
    }
    return parser_expect_word(parser, "namespace") && parser_string(parser, &out->uri);
}

/* The declarations that say nothing here: their form is checked, and that there is one of each. */
static bool read_setter(struct parser *parser, struct sirix_ast_declaration *out)
{
    static const struct {
        const char *name;
        const char *first;
        const char *second;
    } setters[] = {
        {"boundary-space", "preserve", "strip"},
        {"construction", "preserve", "strip"},
        {"ordering", "ordered", "unordered"},
        {"revalidation", "strict", "skip"},
    };
    struct sirix_bytes ignored = {NULL, 0};

    out->kind = SIRIX_DECLARE_SETTER;
    out->uri = parser_text(parser, &parser->token);
    if (parser_take_word(parser, "base-uri")) {
        return parser_string(parser, &ignored);
    }
    if (parser_take_word(parser, "copy-namespaces")) {
        return (parser_take_word(parser, "preserve") ||
                parser_expect_word(parser, "no-preserve")) &&
               parser_expect(parser, SIRIX_TOKEN_COMMA, "','") &&
               (parser_take_word(parser, "inherit") || parser_expect_word(parser, "no-inherit"));
    }
    for (size_t i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
        if (parser_take_word(parser, setters[i].name)) {
            return parser_take_word(parser, setters[i].first) ||
                   parser_expect_word(parser, setters[i].second);
        }
    }
    parser_fail_expected(parser, "what is declared: a variable, a function, ...");
    return false;
}

/* Behind `declare`. */
static bool read_declaration(struct parser *parser, struct sirix_ast_declaration *out)
{
    if (!parser_annotations(parser, &out->flags)) {
        return false;
    }
    if (parser_take_word(parser, "updating")) {
        out->flags |= SIRIX_AST_UPDATING;
    } else {
        (void)(parser_take_word(parser, "sequential") || parser_take_word(parser, "nonsequential"));
    }
    if (parser_take_word(parser, "variable")) {
        return read_variable(parser, out);
    }
    if (parser_take_word(parser, "function")) {
        return read_function(parser, out);
    }
    if (parser_take_word(parser, "namespace")) {
        return read_namespace(parser, out);
    }
    if (parser_take_word(parser, "context")) {
        return read_context(parser, out);
    }
    if (parser_take_word(parser, "default")) {
        return read_default(parser, out);
    }
    if (parser_take_word(parser, "decimal-format")) {
        out->name = parser_name(parser);
        return out->name != NULL && read_decimal_format(parser, out);
    }
    if (parser_take_word(parser, "option")) {
        out->kind = SIRIX_DECLARE_OPTION;
        out->name = parser_name(parser);
        return out->name != NULL && parser_string(parser, &out->text);
    }
    return read_setter(parser, out);
}

/* import module namespace p = "uri" at "place", ... */
static bool read_import(struct parser *parser, struct sirix_ast_declaration *out)
{
    struct sirix_bytes ignored = {NULL, 0};

    if (parser_at_word(parser, "schema")) {
        parser_fail_at(parser, &parser->token, "XQST0009", "schemas cannot be imported");
        return false;
    }
    if (!parser_expect_word(parser, "module")) {
        return false;
    }
    out->flags = SIRIX_AST_EXTERNAL; /* It has to be a namespace that is known. */
    if (parser_take_word(parser, "namespace")) {
        if (!read_namespace(parser, out)) {
            return false;
        }
    } else {
        out->kind = SIRIX_DECLARE_NAMESPACE;
        if (!parser_string(parser, &out->uri)) {
            return false;
        }
    }
    if (parser_take_word(parser, "at")) {
        do {
            (void)parser_string(parser, &ignored);
        } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    }
    return parser->status == SIRIX_OK;
}

/* --- Prolog ----------------------------------------------------------------------------------- */

/* Whether `declare` or `import` at hand begins a declaration. */
static bool at_declaration(struct parser *parser)
{
    if (!parser_at_word(parser, "declare") && !parser_at_word(parser, "import")) {
        return false;
    }

    const struct sirix_token *ahead = parser_ahead(parser);

    return ahead != NULL && (ahead->kind == SIRIX_TOKEN_NAME || ahead->kind == SIRIX_TOKEN_PERCENT);
}

static bool reserve(struct parser *parser, struct sirix_ast_module *module, uint32_t *cap)
{
    if (module->declaration_count >= SIRIX_SYNTAX_DECLARATIONS_MAX) {
        parser_fail_status(parser, sirix_query_fail_limit(parser->err, "query.declarations",
                                                          "the query declares more than %d things",
                                                          SIRIX_SYNTAX_DECLARATIONS_MAX));
        return false;
    }

    if (module->declaration_count < *cap) {
        return true;
    }

    uint32_t grown_cap = *cap == 0 ? 8 : *cap * 2;
    struct sirix_ast_declaration *grown =
        parser_alloc(parser, grown_cap, sizeof(module->declarations[0]));

    if (grown == NULL) {
        return false;
    }
    if (module->declaration_count != 0) {
        memcpy(grown, module->declarations,
               module->declaration_count * sizeof(module->declarations[0]));
    }
    module->declarations = grown;
    *cap = grown_cap;
    return true;
}

bool parser_prolog(struct parser *parser, struct sirix_ast_module *module)
{
    uint32_t cap = 0;

    if (parser_at_words(parser, "module", "namespace")) {
        parser_fail_at(parser, &parser->token, "XQST0016", "a query cannot be a library module");
        return false;
    }
    while (at_declaration(parser)) {
        struct sirix_ast_declaration declaration = {.line = parser->token.line,
                                                    .column = parser->token.column};
        bool is_import = parser_at_word(parser, "import");

        if (!reserve(parser, module, &cap) || !parser_advance(parser) ||
            !(is_import ? read_import(parser, &declaration)
                        : read_declaration(parser, &declaration)) ||
            !parser_expect(parser, SIRIX_TOKEN_SEMICOLON, "';'")) {
            return false;
        }
        module->declarations[module->declaration_count++] = declaration;
    }
    return parser->status == SIRIX_OK;
}
