/* Prints docs/errors.md from the status and reason lists, so that the page cannot be wrong. */
#include <stdio.h>

#include "base/status.h"

int main(void)
{
    (void)printf(
        "# Errors\n\n"
        "Printed from `client/shared/base/status.h` by `tests/lint/errors_table.c`; a test "
        "compares the two.\n\n"
        "## Statuses\n\n"
        "| status | gRPC code | JSON-RPC code | exit code |\n| --- | --- | --- | --- |\n");
#define SIRIX_X(upper, lower, grpc, jsonrpc, exit_code)                                            \
    (void)printf("| `%s` | %d | %d | %d |\n", #lower, grpc, jsonrpc, exit_code);
    SIRIX_STATUS_LIST(SIRIX_X)
#undef SIRIX_X
    (void)printf("\n## Reasons\n\nA reason says more inside one status; the list only grows.\n\n");
#define SIRIX_X(upper, lower) (void)printf("* `%s`\n", #lower);
    SIRIX_REASON_LIST(SIRIX_X)
#undef SIRIX_X
    return 0;
}
