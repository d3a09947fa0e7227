/* Which tool a name is, and for whom it is there. */
#include <string.h>

#include "mcp/tools.h"

/* Whether name is the tool's, where a dot may stand for its first underscore. */
static bool is_name(const char *tool, struct sirix_bytes name)
{
    const char *given = name.data;
    const char *underscore = strchr(tool, '_');

    if (name.len != strlen(tool)) {
        return false;
    }
    for (size_t i = 0; i < name.len; i++) {
        bool is_dot = given[i] == '.' && underscore == tool + i;
        if (given[i] != tool[i] && !is_dot) {
            return false;
        }
    }
    return true;
}

bool sirix_mcp_tool_is_there(const struct sirix_mcp_server *server,
                             const struct sirix_mcp_tool *tool)
{
    return (!tool->writes || !server->settings->read_only) &&
           (!tool->creates || server->may_create);
}

const struct sirix_mcp_tool *sirix_mcp_tool_find(const struct sirix_mcp_server *server,
                                                 struct sirix_bytes name)
{
    for (size_t i = 0; i < server->registry->tool_count; i++) {
        const struct sirix_mcp_tool *tool = &server->registry->tools[i];

        if (is_name(tool->name, name) && sirix_mcp_tool_is_there(server, tool)) {
            return tool;
        }
    }
    return NULL;
}
