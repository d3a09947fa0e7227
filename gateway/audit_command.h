/* `sirix-mcp audit verify`: checks audit logs, and settles writes without an outcome. */
#ifndef SIRIX_GATEWAY_AUDIT_COMMAND_H
#define SIRIX_GATEWAY_AUDIT_COMMAND_H

/* argv[1] is "audit". The exit code; see docs/mcp.md. */
int sirix_audit_command(int argc, char *const *argv);

#endif
