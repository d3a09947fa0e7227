/* sirix-mcp: an MCP server, a client of storaged behind it. */
#include "app.h"

int main(int argc, char **argv)
{
    const struct sirix_mcp_registry registry = sirix_mcp_product();

    return sirix_gateway_main(argc, argv, &registry);
}
