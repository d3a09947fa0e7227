/* The tools: one table, and what their handlers share. */
#ifndef SIRIX_MCP_TOOLS_H
#define SIRIX_MCP_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mcp/answer.h"
#include "mcp/arguments.h"
#include "mcp/notify.h"
#include "mcp/server.h"

struct sirix_mcp_call;

/* The target of a tool that may write to any branch of any resource, as its arguments alone say. */
#define SIRIX_MCP_ANY_BRANCH "*"

struct sirix_mcp_tool {
    const char *name;
    const char *title;
    const char *description;   /* At most 1,500 characters. */
    const char *input_schema;  /* JSON text. */
    const char *output_schema; /* JSON text; NULL: it answers content (call->content) alone. */
    bool writes;               /* Listed and callable in read-write mode only. */
    bool is_destructive;
    bool is_idempotent;
    bool creates;       /* Makes databases or resources: only some callers may. */
    const char *target; /* The argument that names the branch it writes to; NULL: to none. */
    bool has_status; /* Its answers have `status`, and what it refuses is structured: mcp/sql.h. */
    /* Fills call->answer, or call->content. */
    enum sirix_status (*run)(struct sirix_mcp_call *call, struct sirix_error *err);
};

extern const struct sirix_mcp_tool sirix_mcp_tools[];
extern const size_t sirix_mcp_tool_count;

/* What the audit log says about a write. */
struct sirix_mcp_trace {
    bool has_intent;
    uint64_t intent;          /* seq of its line. */
    uint64_t revision_before; /* 0: not known. */
    uint64_t revision_after;
    const char *confirmed; /* How a person, or a second call, said yes; NULL: nobody was asked. */
};

/* One call of a tool. */
struct sirix_mcp_call {
    struct sirix_mcp_request *request;
    const struct sirix_mcp_server *server;
    const struct sirix_mcp_context *context; /* The request's. */
    struct sirix_arena *arena;
    const struct sirix_mcp_tool *tool;
    struct sirix_arguments arguments;
    struct sirix_answer answer;
    struct sirix_buf content; /* JSON text of an array of blocks. */
    uint64_t deadline_ns;     /* On the monotonic clock. */
    const char *database;     /* Checked; "" until then. */
    const char *resource;
    const struct sirix_json_node *given; /* The arguments as they came; NULL: none. */
    /* Nothing is done in this call: its answer is a question to the client's user, or a preview. */
    bool is_held;
    struct sirix_mcp_trace trace;
};

/*
 * Runs a tool outside of tools/call, with all that guards one: *out_json gets its answer, one object.
 * A refusal is returned.
 */
enum sirix_status sirix_mcp_run_tool(struct sirix_mcp_request *request,
                                     const struct sirix_mcp_tool *tool,
                                     struct sirix_json_node *arguments, struct sirix_buf *out_json,
                                     bool *out_is_truncated,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* The tool of that name, spelt with underscores or dots; NULL if there is none for the caller. */
const struct sirix_mcp_tool *sirix_mcp_tool_find(const struct sirix_mcp_server *server,
                                                 struct sirix_bytes name);

/* Whether the caller of the server may call a tool of its registry. */
bool sirix_mcp_tool_is_there(const struct sirix_mcp_server *server,
                             const struct sirix_mcp_tool *tool);

/* --- What handlers share ---------------------------------------------------------------------- */

/* Options of the next call of the backend: cancel handle and what is left of the time. */
struct sirix_call_options sirix_mcp_options(const struct sirix_mcp_call *call);

/*
 * Take the arguments database, and resource, over into the call, checked as names and by the allow
 * and deny lists: what is denied is answered exactly like what is not there.
 */
enum sirix_status sirix_mcp_take_database(struct sirix_mcp_call *call,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_take_resource(struct sirix_mcp_call *call,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* The sentence about something that is not there, whoever found out. */
enum sirix_status sirix_mcp_no_database(const struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_mcp_no_resource(const struct sirix_mcp_call *call, struct sirix_error *err);

/* The argument of that name as a checked name, or NULL when it was not given. */
enum sirix_status sirix_mcp_name(const struct sirix_mcp_call *call, const char *argument,
                                 bool is_branch, const char **out,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* At most one of revision, snapshot and timestamp, and branch. */
enum sirix_status sirix_mcp_view(const struct sirix_mcp_call *call, struct sirix_view *out,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* The allow and deny lists as storaged wants them: it looks at them wherever it opens something. */
enum sirix_status sirix_mcp_scope(struct sirix_mcp_call *call, struct sirix_scope *out,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* Message, expectedRevision, whom we act for, and a fresh idempotency key. */
enum sirix_status sirix_mcp_write_options(const struct sirix_mcp_call *call,
                                          struct sirix_write_options *out,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
/* The same of a call that makes no revision: nothing would keep the message, and for whom it is done. */
enum sirix_status sirix_mcp_label_options(const struct sirix_mcp_call *call,
                                          struct sirix_write_options *out,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Items in the answer: the cap, or the argument of that name where it is lower. */
uint64_t sirix_mcp_limit(struct sirix_mcp_call *call, const char *argument, uint64_t otherwise);

/* Why a list that has limit items ends there, as bits of limitsApplied. */
unsigned sirix_mcp_limit_reason(const struct sirix_mcp_call *call, uint64_t limit);

/* --- Handlers --------------------------------------------------------------------------------- */

enum sirix_status sirix_tool_list_databases(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_list_resources(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_resource_info(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_create_resource(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_status(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_read_node(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_history(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_diff(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_store_query(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_catalog_tables(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_catalog_describe(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_catalog_search(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_query(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_update_query(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_list_snapshots(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_create_snapshot(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_delete_snapshot(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_list_branches(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_create_branch(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_delete_branch(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_promote(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_insert(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_update(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_delete(struct sirix_mcp_call *call, struct sirix_error *err);
enum sirix_status sirix_tool_revert(struct sirix_mcp_call *call, struct sirix_error *err);

#endif
