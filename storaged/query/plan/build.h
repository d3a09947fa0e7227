/*
 * The static pass: from a syntax tree to a plan.
 *
 * Everything that can be known without running is decided here: which variable, function and type a
 * name means, how many arguments a call has, where updates may stand, which literals are which
 * items. Errors have the codes of the languages (XPST0008, XPST0017, XPST0051, XQST0034, XUST0001,
 * ...), line and column, and the nearest known name where a name is not known.
 */
#ifndef SIRIX_QUERY_PLAN_BUILD_H
#define SIRIX_QUERY_PLAN_BUILD_H

#include "query/function/function.h"
#include "query/plan/plan.h"
#include "query/syntax/ast.h"
#include "query/value/work.h"

enum {
    SIRIX_PLAN_SLOTS_MAX = 10000,     /* Variables of one function or of the main expression. */
    SIRIX_PLAN_FUNCTIONS_MAX = 10000, /* Declared and inline ones together. */
};

/*
 * Builds the plan in work->arena. It refers to the module's text, which must live as long; the
 * module itself is not needed any more, but for the texts of its decimal formats.
 */
enum sirix_status sirix_plan_build(struct sirix_work *work,
                                   const struct sirix_function_set *functions,
                                   const struct sirix_ast_module *module,
                                   struct sirix_plan_query **out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
