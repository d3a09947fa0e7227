/* The table of tools. The order is that of tools/list, for ever: clients keep it in prompts. */
#include "mcp/tools.h"

#include "mcp/schemas_sql.h"

/* An any-typed member: no type, but said what it is. */
#define ANY(name, description) "\"" name "\":{\"description\":\"" description "\"}"

#define CHANGE                                                                                     \
    SIRIX_O_STRING("type")                                                                         \
    "," SIRIX_O_INTEGER("nodeKey") "," SIRIX_O_STRING("path") "," ANY(                             \
        "value", "What was inserted") "," ANY("oldValue", "Before") "," ANY("newValue", "After")

#define INSERT_DATA                                                                                \
    ANY("data", "Any JSON value. Into an object: an object of the members to add. A string that "  \
                "is wholly a JSON object or array is taken as that")                               \
    ",\"dataJson\":{\"type\":\"string\",\"description\":\"Instead of data: JSON text\"},"          \
    "\"parentNodeKey\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"The object or array " \
    "to insert into (default: the document's value); for right_sibling the sibling\"},"            \
    "\"position\":{\"type\":\"string\",\"enum\":[\"first_child\",\"last_child\","                  \
    "\"right_sibling\"],\"default\":\"first_child\",\"description\":\"Where\"}," SIRIX_P_BRANCH

#define UPDATE_VALUE                                                                               \
    "\"nodeKey\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"The node\"}," ANY(          \
        "value",                                                                                   \
        "New value, any JSON value; a string is that string") ",\"valueJson\":{\"type\":"          \
                                                              "\"string\",\"description\":"        \
                                                              "\"Instead of value: JSON text\"},"  \
                                                              "\"replace\":{\"type\":\"boolean\"," \
                                                              "\"default\":false,\"description\":" \
                                                              "\"Also an object or "               \
                                                              "array that has children, which "    \
                                                              "are then "                          \
                                                              "deleted\"}," SIRIX_P_BRANCH

const struct sirix_mcp_tool
    sirix_mcp_tools
        [] =
            {
                {
                    .name = "sirix_list_databases",
                    .title = "List databases",
                    .description = "List the databases that can be read.",
                    .input_schema = SIRIX_INPUT("", SIRIX_P_LIST),
                    .output_schema = SIRIX_OUTPUT(
                        "\"count\",\"databases\"",
                        SIRIX_O_OBJECTS("databases",
                                        SIRIX_O_STRING("name") "," SIRIX_O_INTEGER("storedBytes"))),
                    .is_idempotent = true,
                    .run = sirix_tool_list_databases,
                },
                {
                    .name = "sirix_list_resources",
                    .title = "List resources",
                    .description =
                        "List the resources (JSON documents) of a database with their newest "
                        "revision.",
                    .input_schema = SIRIX_INPUT("\"database\"", SIRIX_P_DATABASE "," SIRIX_P_LIST),
                    .output_schema = SIRIX_OUTPUT(
                        "\"count\",\"resources\"",
                        SIRIX_O_OBJECTS("resources",
                                        SIRIX_O_STRING("name") "," SIRIX_O_INTEGER(
                                            "latestRevision") "," SIRIX_O_STRING("lastModified"))),
                    .is_idempotent = true,
                    .run = sirix_tool_list_resources,
                },
                {
                    .name = "sirix_resource_info",
                    .title = "Describe a resource",
                    .description =
                        "Facts about a resource: newest revision, number of revisions, times, "
                        "size, "
                        "branches and snapshots. With revision, snapshot or timestamp, nodeCount "
                        "and textBytes are those of that revision.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE, SIRIX_P_RESOURCE "," SIRIX_P_VIEW),
                    .output_schema =
                        SIRIX_OUTPUT("\"resource\",\"latestRevision\",\"created\",\"lastModified\"",
                                     SIRIX_O_STRING("database") "," SIRIX_O_STRING(
                                         "resource") "," SIRIX_O_INTEGER("late"
                                                                         "stRe"
                                                                         "visi"
                                                                         "on") "," SIRIX_O_INTEGER("oldestRevision") "," SIRIX_O_INTEGER("revisionCount") "," SIRIX_O_STRING("created") "," SIRIX_O_STRING("lastModified") "," SIRIX_O_STRING("storageType") "," SIRIX_O_INTEGER("nodeCoun"
                                                                                                                                                                                                                                                                                 "t") "," SIRIX_O_OBJECTS("branches", SIRIX_O_HEAD) "," SIRIX_O_OBJECTS("snapshots",
                                                                                                                                                                                                                                                                                                                                                        SIRIX_O_HEAD)),
                    .is_idempotent = true,
                    .run = sirix_tool_resource_info,
                },
                {
                    .name = "sirix_query",
                    .title = "Query with JSONiq",
                    .description =
                        "Ask any question about the stored JSON in JSONiq. With database and "
                        "resource, $$ is the document: $$.users[] is each element, .name a field, "
                        "[0] the first element. Or open documents in the query: jn:doc('db', "
                        "'resource') or jn:doc('db', 'resource', 3) for revision 3. Example: for "
                        "$u "
                        "in $$.users[] where $u.age gt 30 order by $u.name return {\"name\": "
                        "$u.name}. revision, snapshot, branch or timestamp read an earlier state. "
                        "Functions over time: jn:all-times, jn:previous, sdb:item-history, "
                        "sdb:revision, sdb:branches. Stored items come with nodeKey and path for "
                        "sirix_read_node, sirix_update and sirix_delete. It only reads.",
                    .input_schema =
                        SIRIX_INPUT("\"query\"", "\"query\":{\"type\":\"string\",\"description\":"
                                                 "\"JSONiq\"}," SIRIX_P_RESOURCE
                                                 "," SIRIX_P_LIST "," SIRIX_P_VIEW),
                    .output_schema =
                        SIRIX_OUTPUT(
                            "\"count\",\"items\"",
                            SIRIX_O_OBJECTS("items", ANY("value", "The item") "," SIRIX_O_INTEGER("nodeKey") "," SIRIX_O_STRING("path") "," SIRIX_O_INTEGER(
                                                         "revision")) "," SIRIX_O_OBJECTS("read",
                                                                                          SIRIX_O_STRING("database") "," SIRIX_O_STRING(
                                                                                              "reso"
                                                                                              "urc"
                                                                                              "e") "," SIRIX_O_INTEGER("revision"))),
                    .is_idempotent = true,
                    .run = sirix_tool_query,
                },
                {
                    .name = "sirix_read_node",
                    .title = "Read a node",
                    .description = "Read a node of a JSON document and what is below it. Starts at "
                                   "the document's value; "
                                   "nodeKey or path (such as /users/[5]/name) name another node. "
                                   "Answers the node's kind, "
                                   "its value where it is complete, and its children with name or "
                                   "index, nodeKey, kind "
                                   "and childCount, down to maxDepth. Every nodeKey can be given "
                                   "to sirix_read_node, "
                                   "sirix_insert, sirix_update and sirix_delete. Long lists go on "
                                   "with cursor, long "
                                   "strings with the nodeKey and offset that the answer names.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE, SIRIX_P_RESOURCE
                                    ",\"nodeKey\":{\"type\":\"integer\",\"minimum\":0,\"default\":"
                                    "0,\"description\":\"The "
                                    "node; 0 is the document\"},"
                                    "\"path\":{\"type\":\"string\",\"description\":\"Path of the "
                                    "node instead of its "
                                    "key\"},"
                                    "\"maxDepth\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":"
                                    "100,\"default\":3,"
                                    "\"description\":\"Levels below the node\"},"
                                    "\"offset\":{\"type\":\"integer\",\"minimum\":0,"
                                    "\"description\":\"Where a long string "
                                    "goes on: nextOffset of the answer before\"}," SIRIX_P_LIST
                                    "," SIRIX_P_VIEW),
                    .output_schema =
                        SIRIX_OUTPUT("\"revision\",\"kind\"",
                                     SIRIX_O_INTEGER("revision") "," SIRIX_O_STRING(
                                         "timestamp") "," SIRIX_O_INTEGER("nodeKey") "," SIRIX_O_STRING("path") "," SIRIX_O_STRING("kind") "," SIRIX_O_INTEGER("childCount") "," ANY("value", "The value, where it is complete") "," SIRIX_O_INTEGER("nextOffset") "," SIRIX_O_INTEGER("valueBytes") "," SIRIX_O_OBJECTS("children",
                                                                                                                                                                                                                                                                                                                         SIRIX_O_STRING("name") "," SIRIX_O_INTEGER("index") "," SIRIX_O_INTEGER("nodeKey") "," SIRIX_O_STRING("kind") "," SIRIX_O_INTEGER(
                                                                                                                                                                                                                                                                                                                             "childCount") "," ANY("value",
                                                                                                                                                                                                                                                                                                                                                   "Of a scalar"))),
                    .is_idempotent = true,
                    .run = sirix_tool_read_node,
                },
                {
                    .name = "sirix_history",
                    .title = "Revision history",
                    .description =
                        "List the revisions of a resource, newest first, with time, message and "
                        "user.",
                    .input_schema = SIRIX_INPUT(SIRIX_R_RESOURCE, SIRIX_P_RESOURCE
                                                ",\"count\":{\"type\":\"integer\",\"minimum\":1,"
                                                "\"default\":20,\"description\":"
                                                "\"Number of revisions\"},"
                                                "\"cursor\":{\"type\":\"string\",\"description\":"
                                                "\"nextCursor of the answer "
                                                "before\"}," SIRIX_P_VIEW),
                    .output_schema = SIRIX_OUTPUT(
                        "\"count\",\"revisions\"",
                        SIRIX_O_OBJECTS(
                            "revisions",
                            SIRIX_O_INTEGER("revision") "," SIRIX_O_STRING(
                                "timestamp") "," SIRIX_O_STRING("message") "," SIRIX_O_STRING("use"
                                                                                              "r"))),
                    .is_idempotent = true,
                    .run = sirix_tool_history,
                },
                {
                    .name = "sirix_diff",
                    .title = "Compare two revisions",
                    .description =
                        "Show what changed between two revisions or snapshots of a resource: "
                        "counts of the "
                        "whole diff and the changes with nodeKey, path and values. Without ends it "
                        "compares "
                        "the newest revision with the one before it. Use it to review changes "
                        "before keeping "
                        "or reverting them. format json-patch answers an RFC 6902 patch instead.",
                    .input_schema = SIRIX_INPUT(
                        SIRIX_R_RESOURCE, SIRIX_P_RESOURCE
                        ",\"from_revision\":{\"type\":\"integer\",\"minimum\":0,\"description\":"
                        "\"Default: the "
                        "one before the other end\"},"
                        "\"to_revision\":{\"type\":\"integer\",\"minimum\":0,\"description\":"
                        "\"Default: the "
                        "newest\"},"
                        "\"from_snapshot\":{\"type\":\"string\",\"description\":\"Alternative: "
                        "named "
                        "snapshot\"},"
                        "\"to_snapshot\":{\"type\":\"string\",\"description\":\"Alternative: named "
                        "snapshot\"},"
                        "\"format\":{\"type\":\"string\",\"enum\":[\"native\",\"json-patch\"],"
                        "\"default\":"
                        "\"native\",\"description\":\"Form of the changes\"}," SIRIX_P_LIST
                        "," SIRIX_P_BRANCH),
                    .output_schema =
                        SIRIX_OUTPUT(
                            "\"fromRevision\",\"toRevision\",\"inserts\",\"deletes\",\"updates\"",
                            SIRIX_O_INTEGER("fromRevision") "," SIRIX_O_INTEGER("toRevision") "," SIRIX_O_INTEGER("inserts") "," SIRIX_O_INTEGER(
                                "d"
                                "e"
                                "l"
                                "e"
                                "t"
                                "e"
                                "s") "," SIRIX_O_INTEGER("updates") "," SIRIX_O_INTEGER("replaces") "," SIRIX_O_INTEGER("renames") "," SIRIX_O_INTEGER("moves") "," SIRIX_O_OBJECTS("changes",
                                                                                                                                                                                    CHANGE) "," SIRIX_O_OBJECTS("patch",
                                                                                                                                                                                                                SIRIX_O_STRING("op") "," SIRIX_O_STRING(
                                                                                                                                                                                                                    "path")) "," SIRIX_O_STRING("note")),
                    .is_idempotent = true,
                    .run = sirix_tool_diff,
                },
                {
                    .name = "sirix_list_snapshots",
                    .title = "List snapshots",
                    .description =
                        "List the named snapshots (labels) of a resource with their revisions.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE, SIRIX_P_RESOURCE "," SIRIX_P_LIST),
                    .output_schema = SIRIX_OUTPUT(
                        "\"count\",\"snapshots\"",
                        "\"snapshots\":{\"type\":\"object\",\"description\":\"By label\","
                        "\"additionalProperties\":{\"type\":\"object\",\"properties\":"
                        "{" SIRIX_O_INTEGER("revision") "," SIRIX_O_STRING("timestamp") "}}}"),
                    .is_idempotent = true,
                    .run = sirix_tool_list_snapshots,
                },
                {
                    .name = "sirix_list_branches",
                    .title = "List branches",
                    .description = "List the branches of a resource with their heads.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE, SIRIX_P_RESOURCE "," SIRIX_P_LIST),
                    .output_schema = SIRIX_OUTPUT("\"count\",\"branches\"",
                                                  SIRIX_O_OBJECTS("branches", SIRIX_O_HEAD)),
                    .is_idempotent = true,
                    .run = sirix_tool_list_branches,
                },
                {
                    .name = "status",
                    .title = "State of the server",
                    .description = "Show the state of gateway and storage: versions, uptime, "
                                   "counts, health, read-only or not, limits.",
                    .input_schema =
                        "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}",
                    .output_schema = SIRIX_OUTPUT(
                        "\"version\",\"readOnly\"",
                        SIRIX_O_STRING("health") "," SIRIX_O_INTEGER(
                            "uptimeSeconds") ",\"counts\":"
                                             "{\"type\":\"object\"}," SIRIX_O_STRING("version") "," SIRIX_O_STRING(
                                                 "protocolVersion") "," SIRIX_O_BOOLEAN("readOn"
                                                                                        "ly") ","
                                                                                              "\"li"
                                                                                              "mits"
                                                                                              "\":{"
                                                                                              "\"ty"
                                                                                              "pe\""
                                                                                              ":"
                                                                                              "\"ob"
                                                                                              "ject"
                                                                                              "\"},"
                                                                                              "\"st"
                                                                                              "orag"
                                                                                              "e\":"
                                                                                              "{"
                                                                                              "\"ty"
                                                                                              "pe\""
                                                                                              ":"
                                                                                              "\"ob"
                                                                                              "ject"
                                                                                              "\""
                                                                                              "}"),
                    .is_idempotent = true,
                    .run = sirix_tool_status,
                },
                {
                    .name = "store_query",
                    .title = "Ask in SQL",
                    .description = SIRIX_SQL_QUERY_ABOUT,
                    .input_schema = SIRIX_INPUT(
                        "\"sql\"", "\"sql\":{\"type\":\"string\",\"description\":\"One "
                                   "statement that reads\"},\"limit\":{\"type\":\"integer\","
                                   "\"minimum\":1,\"description\":\"Rows at most; up to the "
                                   "server's ceiling\"}," SIRIX_SQL_P_DATABASE),
                    .output_schema = SIRIX_SQL_QUERY_OUTPUT,
                    .is_idempotent = true,
                    .has_status = true,
                    .run = sirix_tool_store_query,
                },
                {
                    .name = "catalog_tables",
                    .title = "List tables",
                    .description =
                        "List the tables and relations that store_query can ask, with what a row "
                        "of each is.",
                    .input_schema = SIRIX_INPUT("", SIRIX_SQL_P_DATABASE "," SIRIX_SQL_P_LIMIT),
                    .output_schema = SIRIX_SQL_TABLES_OUTPUT,
                    .is_idempotent = true,
                    .has_status = true,
                    .run = sirix_tool_catalog_tables,
                },
                {
                    .name = "catalog_describe",
                    .title = "Describe a table",
                    .description =
                        "Show the columns of one table or relation of store_query: name, type, "
                        "what it holds. Hidden columns are arguments; SELECT * leaves them out.",
                    .input_schema = SIRIX_INPUT(
                        "\"table\"", "\"table\":{\"type\":\"string\",\"description\":\"Its name, "
                                     "without quotes, such as users/orders\"}," SIRIX_SQL_P_DATABASE
                                     "," SIRIX_SQL_P_LIMIT),
                    .output_schema = SIRIX_SQL_DESCRIBE_OUTPUT,
                    .is_idempotent = true,
                    .has_status = true,
                    .run = sirix_tool_catalog_describe,
                },
                {
                    .name = "catalog_search",
                    .title = "Search the catalogue",
                    .description =
                        "Find tables, columns and paths by words in their names and meanings, when "
                        "you do not know what the data is called. All words must occur.",
                    .input_schema = SIRIX_INPUT(
                        "\"words\"",
                        "\"words\":{\"type\":\"string\",\"description\":\"Words, with "
                        "spaces between\"}," SIRIX_SQL_P_DATABASE "," SIRIX_SQL_P_LIMIT),
                    .output_schema = SIRIX_SQL_SEARCH_OUTPUT,
                    .is_idempotent = true,
                    .has_status = true,
                    .run = sirix_tool_catalog_search,
                },
                {
                    .name = "sirix_create_snapshot",
                    .title = "Create a snapshot",
                    .description =
                        "Give the newest (or the named) revision of a resource a name, so that it "
                        "can be read, "
                        "compared and reverted to later. Costs nothing; do it before a risky "
                        "change. The label "
                        "main moves; any other label that is elsewhere is refused without replace.",
                    .input_schema = SIRIX_INPUT(SIRIX_R_RESOURCE ",\"name\"", SIRIX_P_RESOURCE
                                                ",\"name\":{\"type\":\"string\",\"description\":"
                                                "\"Label, such as before-migration\"},"
                                                "\"replace\":{\"type\":\"boolean\",\"default\":"
                                                "false,\"description\":\"Move a label "
                                                "that is at another revision\"}," SIRIX_P_VIEW),
                    .output_schema = SIRIX_OUTPUT(
                        "\"message\",\"name\",\"revision\"", SIRIX_O_NAMES
                        "," SIRIX_O_STRING("name") "," SIRIX_O_INTEGER("revision") "," SIRIX_O_STRING(
                            "timestamp") "," SIRIX_O_INTEGER("previousRevision") "," SIRIX_O_BOOLEAN("change"
                                                                                                     "d")),
                    .writes = true,
                    .is_idempotent = true,
                    .run = sirix_tool_create_snapshot,
                },
                {
                    .name = "sirix_delete_snapshot",
                    .title = "Delete a snapshot",
                    .description = "Remove a named snapshot. The revision that it named stays.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE ",\"name\"", SIRIX_P_RESOURCE
                                    ",\"name\":{\"type\":\"string\",\"description\":\"Label\"}"),
                    .output_schema =
                        SIRIX_OUTPUT("\"message\",\"name\",\"revision\"", SIRIX_O_NAMES
                                     "," SIRIX_O_STRING("name") "," SIRIX_O_INTEGER("revision")),
                    .writes = true,
                    .is_idempotent = true,
                    .run = sirix_tool_delete_snapshot,
                },
                {
                    .name = "sirix_insert",
                    .title = "Insert data",
                    .description = "Insert a JSON value below or beside a node; makes a new "
                                   "revision. Into an array: one "
                                   "element. Into an object: data is an object whose members are "
                                   "added. A resource "
                                   "without a value takes data as its value. Exact numbers are "
                                   "kept as written.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE, SIRIX_P_RESOURCE
                                    "," INSERT_DATA "," SIRIX_P_WRITE "," SIRIX_P_CONFIRM),
                    .output_schema = SIRIX_OUTPUT("\"message\"", SIRIX_O_WRITE
                                                  "," SIRIX_O_CONFIRM "," SIRIX_O_STRING("kind")),
                    .writes = true,
                    .target = "branch",
                    .run = sirix_tool_insert,
                },
                {
                    .name = "sirix_update",
                    .title = "Update a value",
                    .description = "Set the value of a node to any JSON value; makes a new "
                                   "revision. The node keeps its "
                                   "nodeKey and place. A string in value is stored as that string. "
                                   "An object or array "
                                   "with children is refused unless replace is true.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE ",\"nodeKey\"", SIRIX_P_RESOURCE
                                    "," UPDATE_VALUE "," SIRIX_P_WRITE "," SIRIX_P_CONFIRM),
                    .output_schema = SIRIX_OUTPUT("\"message\"", SIRIX_O_WRITE
                                                  "," SIRIX_O_CONFIRM "," SIRIX_O_STRING("kind")),
                    .writes = true,
                    .target = "branch",
                    .run = sirix_tool_update,
                },
                {
                    .name = "sirix_delete",
                    .title = "Delete a node",
                    .description =
                        "Delete a node and everything below it; makes a new revision. Older "
                        "revisions keep it.",
                    .input_schema = SIRIX_INPUT(
                        SIRIX_R_RESOURCE ",\"nodeKey\"", SIRIX_P_RESOURCE
                        ",\"nodeKey\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"The "
                        "node\"}," SIRIX_P_BRANCH "," SIRIX_P_WRITE "," SIRIX_P_CONFIRM),
                    .output_schema = SIRIX_OUTPUT("\"message\"", SIRIX_O_WRITE "," SIRIX_O_CONFIRM),
                    .writes = true,
                    .target = "branch",
                    .is_destructive = true,
                    .run = sirix_tool_delete,
                },
                {
                    .name = "sirix_execute_update_query",
                    .title = "Update by a query",
                    .description =
                        "Change stored JSON by a JSONiq update: insert json, append json, delete "
                        "json, replace json value of, rename json. All changes of the query become "
                        "one new revision of each resource it touches; older revisions keep what "
                        "was. Example: for $u in $$.users[] where $u.age lt 18 return insert json "
                        "{\"minor\": true} into $u. Try the part that selects with sirix_query "
                        "first.",
                    .input_schema =
                        SIRIX_INPUT("\"query\"", "\"query\":{\"type\":\"string\",\"description\":"
                                                 "\"JSONiq\"}," SIRIX_P_RESOURCE "," SIRIX_P_BRANCH
                                                 "," SIRIX_P_WRITE "," SIRIX_P_CONFIRM),
                    .output_schema = SIRIX_OUTPUT(
                        "\"message\"",
                        SIRIX_O_WRITE "," SIRIX_O_OBJECTS(
                            "updates",
                            SIRIX_O_STRING("database") "," SIRIX_O_STRING("resource") "," SIRIX_O_STRING(
                                "branch") "," SIRIX_O_INTEGER("revision") "," SIRIX_O_INTEGER("pare"
                                                                                              "ntRe"
                                                                                              "visi"
                                                                                              "on")) "," SIRIX_O_CONFIRM),
                    .writes = true,
                    .target = SIRIX_MCP_ANY_BRANCH,
                    .is_destructive = true,
                    .run = sirix_tool_update_query,
                },
                {
                    .name = "sirix_revert",
                    .title = "Revert to a revision",
                    .description =
                        "Bring back the content of an earlier revision or snapshot as a new "
                        "revision. Nothing is lost: the revisions in between stay.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE, SIRIX_P_RESOURCE
                                    "," SIRIX_P_VIEW "," SIRIX_P_WRITE "," SIRIX_P_CONFIRM),
                    .output_schema =
                        SIRIX_OUTPUT("\"message\"", SIRIX_O_WRITE
                                     "," SIRIX_O_CONFIRM "," SIRIX_O_INTEGER("revertedTo")),
                    .writes = true,
                    .target = "branch",
                    .is_destructive = true,
                    .run = sirix_tool_revert,
                },
                {
                    .name = "sirix_create_resource",
                    .title = "Create a resource",
                    .description =
                        "Create a resource without a value; sirix_insert then gives it one.",
                    .input_schema = SIRIX_INPUT(SIRIX_R_RESOURCE, SIRIX_P_RESOURCE
                                                ",\"createDatabase\":{\"type\":\"boolean\","
                                                "\"default\":false,\"description\":\"Create "
                                                "the database too if it is not there\"},"
                                                "\"message\":{\"type\":\"string\",\"description\":"
                                                "\"Kept with the first revision\"}"),
                    .output_schema = SIRIX_OUTPUT(
                        "\"message\",\"database\",\"resource\",\"revision\"", SIRIX_O_WRITE),
                    .writes = true,
                    .creates = true,
                    .target = "branch", /* Its first revision is one of main. */
                    .run = sirix_tool_create_resource,
                },
                {
                    .name = "sirix_create_branch",
                    .title = "Create a branch",
                    .description =
                        "Begin a branch at the newest (or the named) revision. Nothing is copied; "
                        "writes with this branch do not touch main.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE ",\"name\"", SIRIX_P_RESOURCE
                                    ",\"name\":{\"type\":\"string\",\"description\":\"Name of the "
                                    "new branch\"}," SIRIX_P_VIEW),
                    .output_schema = SIRIX_OUTPUT("\"message\",\"name\",\"revision\"",
                                                  SIRIX_O_NAMES "," SIRIX_O_HEAD),
                    .writes = true,
                    .target = "name",
                    .run = sirix_tool_create_branch,
                },
                {
                    .name = "sirix_delete_branch",
                    .title = "Delete a branch",
                    .description = "Remove a branch. Its revisions stay readable by number.",
                    .input_schema =
                        SIRIX_INPUT(SIRIX_R_RESOURCE ",\"name\"", SIRIX_P_RESOURCE
                                    ",\"name\":{\"type\":\"string\",\"description\":\"Branch\"},"
                                    "\"expectedRevision\":{\"type\":\"integer\",\"minimum\":0,"
                                    "\"description\":\"Refuse "
                                    "unless its head is this revision\"}"),
                    .output_schema =
                        SIRIX_OUTPUT("\"message\",\"name\",\"revision\"", SIRIX_O_NAMES
                                     "," SIRIX_O_STRING("name") "," SIRIX_O_INTEGER("revision")),
                    .writes = true,
                    .target = "name",
                    .run = sirix_tool_delete_branch,
                },
                {
                    .name = "sirix_promote",
                    .title = "Promote a branch",
                    .description =
                        "Move main (or target) to the head of a branch. Refused unless the head of "
                        "the target is part of the branch's history, or replace is true.",
                    .input_schema = SIRIX_INPUT(
                        SIRIX_R_RESOURCE ",\"branch\"", SIRIX_P_RESOURCE
                        ",\"branch\":{\"type\":\"string\",\"description\":\"The branch "
                        "to promote\"},"
                        "\"target\":{\"type\":\"string\",\"description\":\"The branch "
                        "that moves, default "
                        "main\"},"
                        "\"replace\":{\"type\":\"boolean\",\"default\":false,"
                        "\"description\":\"Also where the "
                        "target has revisions of its own, which it then loses\"},"
                        "\"expectedRevision\":{\"type\":\"integer\",\"minimum\":0,"
                        "\"description\":\"Refuse "
                        "unless the target's head is this revision\"}," SIRIX_P_CONFIRM),
                    .output_schema = SIRIX_OUTPUT(
                        "\"message\"", SIRIX_O_NAMES
                        "," SIRIX_O_STRING("branch") "," SIRIX_O_STRING("target") "," SIRIX_O_INTEGER("revision") "," SIRIX_O_INTEGER(
                            "previousRevision") "," SIRIX_O_BOOLEAN("changed") "," SIRIX_O_INTEGER("parentRevision") "," SIRIX_O_CONFIRM),
                    .writes = true,
                    .target = "target",
                    .is_destructive = true,
                    .run = sirix_tool_promote,
                },
};
const size_t sirix_mcp_tool_count = sizeof(sirix_mcp_tools) / sizeof(sirix_mcp_tools[0]);
