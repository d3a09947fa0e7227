/* Names of the revisions. */
#include "mcp/era.h"

#include <string.h>

static const char *const names[] = {
    [SIRIX_MCP_NONE] = "",
    [SIRIX_MCP_2024_11_05] = "2024-11-05",
    [SIRIX_MCP_2025_03_26] = "2025-03-26",
    [SIRIX_MCP_2025_06_18] = "2025-06-18",
    [SIRIX_MCP_2025_11_25] = "2025-11-25",
    [SIRIX_MCP_2026_07_28] = "2026-07-28",
};

const char *sirix_mcp_version_name(enum sirix_mcp_version version)
{
    return names[version];
}

enum sirix_mcp_version sirix_mcp_version_find(struct sirix_bytes name)
{
    for (enum sirix_mcp_version version = SIRIX_MCP_NEWEST; version > SIRIX_MCP_NONE; version--) {
        const struct sirix_bytes known = {.data = names[version], .len = strlen(names[version])};

        if (sirix_bytes_equal(known, name)) {
            return version;
        }
    }
    return SIRIX_MCP_NONE;
}
