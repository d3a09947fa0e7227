/* The parts of the product's registry, and what they share. */
#ifndef SIRIX_MCP_PRODUCT_H
#define SIRIX_MCP_PRODUCT_H

#include "mcp/registry.h"
#include "sirix/sirix.h"

extern const struct sirix_mcp_resource sirix_product_resources[];
extern const size_t sirix_product_resource_count;
extern const struct sirix_mcp_prompt sirix_product_prompts[];
extern const size_t sirix_product_prompt_count;

enum sirix_status sirix_product_complete(struct sirix_mcp_request *request,
                                         struct sirix_mcp_completion *completion,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* The page about SQL. */
enum sirix_status sirix_product_sql_page(struct sirix_mcp_request *request,
                                         const struct sirix_uri_values *values,
                                         struct sirix_put *put, struct sirix_error *err);

/* Options of a call of the storage that belongs to a request but to no tool. */
struct sirix_call_options sirix_product_options(const struct sirix_mcp_request *request);

/*
 * Whether the caller may see a resource of these names, which are C strings; resource NULL: a
 * database. SIRIX_INVALID, SIRIX_NOT_FOUND.
 */
enum sirix_status sirix_product_check(const struct sirix_mcp_server *server, const char *database,
                                      const char *resource,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
