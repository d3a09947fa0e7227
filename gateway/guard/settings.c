/* The table of settings, defaults, and what follows from all of them together. */
#include "guard/settings.h"

#include <inttypes.h>
#include <string.h>

#include "guard/jwks.h"
#include "guard/settings_read.h"
#include "json/writer.h"

#define AT(field) offsetof(struct sirix_settings, field)

const struct sirix_setting sirix_settings_table[] = {
    {"name", AT(name), "\"sirix-mcp\"", 0, 0, NULL, SIRIX_SETTING_TEXT,
     "name that the server gives itself"},
    {"version", AT(version), "\"" SIRIX_VERSION "\"", 0, 0, NULL, SIRIX_SETTING_TEXT,
     "version that the server gives itself"},
    {"transport", AT(transport), "\"stdio\"", 0, 0, "stdio|http", SIRIX_SETTING_TEXT,
     "how clients connect"},
    {"databasePath", AT(database_path), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "data folder; a storaged is started there if none runs"},
    {"storage", AT(storage), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "address of a running storaged instead: unix:PATH or HOST:PORT"},
    {"readOnly", AT(read_only), "true", 0, 0, NULL, SIRIX_SETTING_BOOL,
     "list and call only the tools that read, over the reader's socket"},
    {"allowDatabases", AT(access.allow_databases), NULL, 0, 0, NULL, SIRIX_SETTING_NAMES,
     "only these databases; exact names or `*`"},
    {"denyDatabases", AT(access.deny_databases), NULL, 0, 0, NULL, SIRIX_SETTING_NAMES,
     "never these databases; wins over every other list"},
    {"allowResources", AT(access.rules), NULL, 0, 0, NULL, SIRIX_SETTING_RULES,
     "for a database: only these of its resources; `[]` is none"},
    {"allowBranches", AT(access.allow_branches), NULL, 0, 0, NULL, SIRIX_SETTING_NAMES,
     "only these branches may be written to; exact names or `*`"},
    {"maxResultSize", AT(max_result_size), "100", 1, 10000, NULL, SIRIX_SETTING_NUMBER,
     "items in one answer"},
    {"maxResultBytes", AT(max_result_bytes), "40960", 4096, 1048576, NULL, SIRIX_SETTING_NUMBER,
     "bytes of JSON in one answer"},
    {"maxStringValueLength", AT(max_string_value_length), "4096", 16, 65536, NULL,
     SIRIX_SETTING_NUMBER, "code points of one string in an answer"},
    {"sanitizeOutput", AT(sanitize_output), "true", 0, 0, NULL, SIRIX_SETTING_BOOL,
     "make invisible and direction-changing characters visible"},
    {"maxCallsPerMinute", AT(max_calls_per_minute), "600000", 1, 6000000, NULL,
     SIRIX_SETTING_NUMBER, "calls of tools that one caller may make"},
    {"maxConcurrentCalls", AT(max_concurrent_calls), "256", 1, 10000, NULL, SIRIX_SETTING_NUMBER,
     "calls of tools of one caller that may run at once"},
    {"queryTimeoutMs", AT(query_timeout_ms), "30000", 1, 600000, NULL, SIRIX_SETTING_NUMBER,
     "milliseconds that one reading call may take"},
    {"writeTimeoutMs", AT(write_timeout_ms), "5000", 1, 600000, NULL, SIRIX_SETTING_NUMBER,
     "milliseconds that one writing call may take, its wait in the queue included"},
    {"toolNames", AT(tool_names), "\"underscore\"", 0, 0, "underscore|dotted", SIRIX_SETTING_TEXT,
     "spelling of the names that are listed; both can be called"},
    {"httpListen", AT(http_listen), "\"127.0.0.1:8760\"", 0, 0, NULL, SIRIX_SETTING_TEXT,
     "address of the HTTP transport"},
    {"httpHosts", AT(http_hosts), NULL, 0, 0, NULL, SIRIX_SETTING_TEXTS,
     "more names by which clients may call it, in Host and Origin"},
    {"httpTlsCert", AT(http_tls_cert), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "certificate chain (PEM) of the HTTP transport, which then speaks TLS alone"},
    {"httpTlsKey", AT(http_tls_key), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT, "its private key (PEM)"},
    {"httpPlain", AT(http_plain), "false", 0, 0, NULL, SIRIX_SETTING_BOOL,
     "beyond loopback without TLS: what stands in front of it speaks TLS"},
    {"publicUrl", AT(public_url), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "URL of the endpoint as clients know it: https://mcp.example.com/mcp"},
    {"callersFile", AT(callers_file), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "static tokens of callers over HTTP, and their rights"},
    {"oauthIssuer", AT(oauth_issuer), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "authorization server whose access tokens are taken, as their `iss` names it"},
    {"oauthJwksUrl", AT(oauth_jwks_url), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "where its keys are: https, or http of this machine"},
    {"oauthAudience", AT(oauth_audience), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "whom its tokens must be for; not given: publicUrl"},
    {"stateKeyFile", AT(state_key_file), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "key that seals what clients keep for us; two lines while it is changed"},
    {"confirmDestructive", AT(confirm_destructive), "true", 0, 0, NULL, SIRIX_SETTING_BOOL,
     "ask before destructive calls"},
    {"confirm", AT(confirm), NULL, 0, 0, "two-step|elicit-only", SIRIX_SETTING_TEXT,
     "where the client cannot ask; not given: two-step on stdio, elicit-only over HTTP"},
    {"confirmWrites", AT(confirm_writes), "false", 0, 0, NULL, SIRIX_SETTING_BOOL,
     "ask before insert and update too"},
    {"auditLog", AT(audit_log), "true", 0, 0, NULL, SIRIX_SETTING_BOOL,
     "one line a call, written before the answer"},
    {"auditLogPath", AT(audit_log_path), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "files of the audit log stand beside it; not given: DIR/audit/, with storage stderr"},
    {"tokenFile", AT(token_file), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "token that is shown to the storaged at storage; read again when the file changes"},
    {"tlsCa", AT(tls_ca), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "TLS to storage, whose certificate these authorities (PEM), or those of the `system`, signed"},
    {"tlsCert", AT(tls_cert), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT,
     "our certificate (PEM) for storage"},
    {"tlsKey", AT(tls_key), NULL, 0, 0, NULL, SIRIX_SETTING_TEXT, "its private key (PEM)"},
    {"sqlDefaultRows", AT(sql_default_rows), "100", 1, 10000, NULL, SIRIX_SETTING_NUMBER,
     "rows of an SQL answer"},
    {"sqlMaxRows", AT(sql_max_rows), "1000", 1, 100000, NULL, SIRIX_SETTING_NUMBER,
     "rows that a call may ask for"},
};
const size_t sirix_settings_count = sizeof(sirix_settings_table) / sizeof(sirix_settings_table[0]);

static enum sirix_status set_default(struct sirix_settings *settings, struct sirix_json_tree *tree,
                                     const struct sirix_setting *setting, struct sirix_error *err)
{
    const struct sirix_bytes text = {setting->default_text, strlen(setting->default_text)};
    enum sirix_status status = sirix_json_tree_parse(tree, text, NULL, NULL, err);

    return status == SIRIX_OK ? sirix_setting_read(settings, setting, tree->root, err) : status;
}

enum sirix_status sirix_settings_init(struct sirix_settings *settings, struct sirix_error *err)
{
    struct sirix_json_tree tree;

    *settings = (struct sirix_settings){0};
    sirix_arena_init(&settings->arena, SIZE_MAX);
    enum sirix_status status = sirix_json_tree_init(&tree, &settings->arena, err);
    for (size_t i = 0; i < sirix_settings_count && status == SIRIX_OK; i++) {
        if (sirix_settings_table[i].default_text != NULL) {
            status = set_default(settings, &tree, &sirix_settings_table[i], err);
        }
    }
    if (status != SIRIX_OK) {
        sirix_settings_deinit(settings);
    }
    return status;
}

void sirix_settings_deinit(struct sirix_settings *settings)
{
    if (settings != NULL) {
        sirix_arena_deinit(&settings->arena);
    }
}

bool sirix_settings_know_callers(const struct sirix_settings *settings)
{
    return settings->callers_file != NULL || settings->oauth_issuer != NULL;
}

static enum sirix_status refuse(const char *key, const char *text, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s", text);

    sirix_error_set_field(err, key);
    return status;
}

/* Whether a text can stand in a header between quotes. */
static bool is_plain(const char *text)
{
    bool is_good = true;

    for (; *text != '\0'; text++) {
        is_good &= *text > ' ' && *text <= '~' && *text != '"' && *text != '\\';
    }
    return is_good;
}

/* What must be given together, and what does nothing where it is given. */
static enum sirix_status check_callers(const struct sirix_settings *settings,
                                       struct sirix_error *err)
{
    const bool is_http = strcmp(settings->transport, "http") == 0;
    const bool has_issuer = settings->oauth_issuer != NULL;
    const char *url = settings->public_url;

    if (sirix_settings_know_callers(settings) && !is_http) {
        return refuse("transport",
                      "callersFile and oauthIssuer are for HTTP; over stdio whoever starts the "
                      "process is the caller",
                      err);
    }
    if (has_issuer != (settings->oauth_jwks_url != NULL) || (has_issuer && url == NULL) ||
        (settings->oauth_audience != NULL && !has_issuer)) {
        return refuse("oauthIssuer",
                      "oauthIssuer, oauthJwksUrl and publicUrl go together (and oauthAudience only "
                      "with them)",
                      err);
    }
    if (has_issuer && !sirix_jwks_url_is_good(settings->oauth_jwks_url)) {
        return refuse("oauthJwksUrl",
                      "oauthJwksUrl must be a URL of https, or of http on this machine", err);
    }
    if (url != NULL &&
        ((strncmp(url, "https://", 8) != 0 && strncmp(url, "http://", 7) != 0) || !is_plain(url))) {
        return refuse(
            "publicUrl",
            "publicUrl must begin with https:// or http://, and have no spaces and quotes", err);
    }
    if ((settings->http_tls_cert == NULL) != (settings->http_tls_key == NULL)) {
        return refuse("httpTlsCert", "httpTlsCert and httpTlsKey go together", err);
    }
    return settings->http_tls_cert != NULL && settings->http_plain
               ? refuse("httpPlain", "httpPlain and httpTlsCert exclude each other", err)
               : SIRIX_OK;
}

enum sirix_status sirix_settings_check(const struct sirix_settings *settings,
                                       struct sirix_error *err)
{
    if (settings->database_path != NULL && settings->storage != NULL) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                 "databasePath and storage exclude each other; give one");
    }
    if (settings->database_path == NULL && settings->storage == NULL) {
        return sirix_fail_reason(
            err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
            "where is the data? Give --database-path DIR or --storage ADDRESS");
    }
    if (settings->storage == NULL && (settings->token_file != NULL || settings->tls_ca != NULL ||
                                      settings->tls_cert != NULL || settings->tls_key != NULL)) {
        return refuse("storage",
                      "tokenFile, tlsCa, tlsCert and tlsKey are for a storaged at storage; at "
                      "databasePath who may open the folder may do all",
                      err);
    }
    enum sirix_status status = check_callers(settings, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (settings->sql_default_rows > settings->sql_max_rows) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                 "sqlDefaultRows is larger than sqlMaxRows");
    }
    return SIRIX_OK;
}

/* --- Printing --------------------------------------------------------------------------------- */

static enum sirix_status print_list(struct sirix_json_writer *writer,
                                    const struct sirix_access_list *list, struct sirix_error *err)
{
    enum sirix_status status = sirix_json_write_array_begin(writer, err);

    for (size_t i = 0; i < list->count && status == SIRIX_OK; i++) {
        status = sirix_json_write_string_str(writer, list->names[i], err);
    }
    return status == SIRIX_OK ? sirix_json_write_array_end(writer, err) : status;
}

static enum sirix_status print_rules(struct sirix_json_writer *writer,
                                     const struct sirix_access *access, struct sirix_error *err)
{
    enum sirix_status status = sirix_json_write_object_begin(writer, err);

    for (size_t i = 0; i < access->rule_count && status == SIRIX_OK; i++) {
        status = sirix_json_write_name_str(writer, access->rules[i].database, err);
        if (status == SIRIX_OK) {
            status = print_list(writer, &access->rules[i].resources, err);
        }
    }
    return status == SIRIX_OK ? sirix_json_write_object_end(writer, err) : status;
}

static bool is_absent(const struct sirix_settings *settings, const struct sirix_setting *setting)
{
    const char *at = (const char *)settings + setting->offset;
    const char *text = NULL;

    switch (setting->type) {
    case SIRIX_SETTING_TEXT:
        memcpy(&text, at, sizeof(text));
        return text == NULL;
    case SIRIX_SETTING_NAMES:
    case SIRIX_SETTING_TEXTS:
        return !((const struct sirix_access_list *)(const void *)at)->is_given;
    case SIRIX_SETTING_RULES:
        return settings->access.rule_count == 0;
    default:
        return false;
    }
}

static enum sirix_status print_value(const struct sirix_settings *settings,
                                     const struct sirix_setting *setting,
                                     struct sirix_json_writer *writer, struct sirix_error *err)
{
    const char *at = (const char *)settings + setting->offset;
    const char *text = NULL;
    uint64_t number = 0;
    bool boolean = false;

    switch (setting->type) {
    case SIRIX_SETTING_TEXT:
        memcpy(&text, at, sizeof(text));
        return sirix_json_write_string_str(writer, text, err);
    case SIRIX_SETTING_BOOL:
        memcpy(&boolean, at, sizeof(boolean));
        return sirix_json_write_bool(writer, boolean, err);
    case SIRIX_SETTING_NUMBER:
        memcpy(&number, at, sizeof(number));
        return sirix_json_write_u64(writer, number, err);
    case SIRIX_SETTING_NAMES:
    case SIRIX_SETTING_TEXTS:
        return print_list(writer, (const struct sirix_access_list *)(const void *)at, err);
    default:
        return print_rules(writer, &settings->access, err);
    }
}

static enum sirix_status print_member(const struct sirix_settings *settings,
                                      const struct sirix_setting *setting,
                                      struct sirix_json_writer *writer, struct sirix_error *err)
{
    enum sirix_status status = sirix_json_write_name_str(writer, setting->key, err);

    return status == SIRIX_OK ? print_value(settings, setting, writer, err) : status;
}

enum sirix_status sirix_settings_print(const struct sirix_settings *settings, struct sirix_buf *out,
                                       struct sirix_error *err)
{
    const struct sirix_json_writer_options options = {.indent = 2};
    struct sirix_json_writer writer;

    sirix_json_writer_init_buf(&writer, out, &options);
    enum sirix_status status = sirix_json_write_object_begin(&writer, err);
    if (status == SIRIX_OK) {
        status = sirix_json_write_name_str(&writer, "server", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_write_object_begin(&writer, err);
    }
    for (size_t i = 0; i < sirix_settings_count && status == SIRIX_OK; i++) {
        const struct sirix_setting *setting = &sirix_settings_table[i];

        if (!is_absent(settings, setting)) {
            status = print_member(settings, setting, &writer, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_json_write_object_end(&writer, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_write_object_end(&writer, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_writer_finish(&writer, err);
    }
    sirix_json_writer_deinit(&writer);
    return status;
}

static const char *type_name(const struct sirix_setting *setting)
{
    static const char *const names[] = {
        [SIRIX_SETTING_TEXT] = "text",           [SIRIX_SETTING_BOOL] = "boolean",
        [SIRIX_SETTING_NUMBER] = "integer",      [SIRIX_SETTING_NAMES] = "list of names",
        [SIRIX_SETTING_TEXTS] = "list of texts", [SIRIX_SETTING_RULES] = "object",
    };

    return names[setting->type];
}

static enum sirix_status print_limits(struct sirix_buf *out, const struct sirix_setting *setting,
                                      struct sirix_error *err)
{
    if (setting->type == SIRIX_SETTING_NUMBER) {
        return sirix_buf_printf(out, err, " %" PRIu64 "–%" PRIu64, setting->min, setting->max);
    }
    if (setting->choices == NULL) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_buf_append_str(out, ": `", err);
    for (const char *at = setting->choices; *at != '\0' && status == SIRIX_OK; at++) {
        status = *at == '|' ? sirix_buf_append_str(out, "`, `", err)
                            : sirix_buf_append_u8(out, (uint8_t)*at, err);
    }
    return status == SIRIX_OK ? sirix_buf_append_str(out, "`", err) : status;
}

static enum sirix_status print_row(struct sirix_buf *out, const struct sirix_setting *setting,
                                   struct sirix_error *err)
{
    /* The version of the day would make a new text of every release. */
    bool is_version = strcmp(setting->key, "version") == 0;
    bool is_plain = is_version || setting->default_text == NULL;
    const char *value = is_version ? "the program's" : setting->default_text;
    enum sirix_status status =
        sirix_buf_printf(out, err, "| `%s` | %s", setting->key, type_name(setting));

    if (status == SIRIX_OK) {
        status = print_limits(out, setting, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_printf(out, err, " | %s%s%s | %s |\n", is_plain ? "" : "`",
                                  value == NULL ? "–" : value, is_plain ? "" : "`", setting->help);
    }
    return status;
}

enum sirix_status sirix_settings_print_docs(struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_str(
        out, "| key | type | default | what it does |\n| --- | --- | --- | --- |\n", err);

    for (size_t i = 0; i < sirix_settings_count && status == SIRIX_OK; i++) {
        status = print_row(out, &sirix_settings_table[i], err);
    }
    return status;
}

enum sirix_status sirix_settings_print_help(struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < sirix_settings_count && status == SIRIX_OK; i++) {
        const struct sirix_setting *setting = &sirix_settings_table[i];

        status = sirix_buf_printf(out, err, "  %-21s %s%s%s%s\n", setting->key, setting->help,
                                  setting->default_text == NULL ? "" : " (",
                                  setting->default_text == NULL ? "" : setting->default_text,
                                  setting->default_text == NULL ? "" : ")");
    }
    return status;
}
