/*
 * What an error of the storage is about, in the words of the tool that was called: the fields of the
 * storage's requests become the arguments of the tool's schema.
 */
#ifndef SIRIX_MCP_FIELDS_H
#define SIRIX_MCP_FIELDS_H

#include "mcp/tools.h"

/*
 * Renames the field of the error, also where its sentence names it. A field that no argument of the
 * tool stands for is dropped: it would send the caller after something that it cannot give.
 */
void sirix_mcp_name_argument(const struct sirix_mcp_call *call, struct sirix_error *error);

#endif
