/* Reading the settings file. */
#include "guard/settings_read.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "base/name.h"
#include "json/text.h"

static enum sirix_status wrong(const char *key, const char *wanted, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "%s must be %s", key, wanted);
    sirix_error_set_field(err, key);
    return status;
}

/* A string value as a C string in the arena. */
static enum sirix_status read_c_str(struct sirix_arena *arena, const char *key,
                                    const struct sirix_json_node *value, const char **out,
                                    struct sirix_error *err)
{
    struct sirix_bytes plain = {.data = NULL, .len = 0};
    char *text = NULL;

    if (value->kind != SIRIX_JSON_KIND_STRING) {
        return wrong(key, "a text", err);
    }
    enum sirix_status status = sirix_json_text_to_plain(arena, value->value.text, &plain, err);
    if (status == SIRIX_OK && (plain.len == 0 || memchr(plain.data, '\0', plain.len) != NULL)) {
        return wrong(key, "a text that is not empty and has no NUL", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_c_str(arena, plain, &text, err);
    }
    if (status == SIRIX_OK) {
        *out = text;
    }
    return status;
}

static bool is_choice(const char *choices, const char *text)
{
    size_t len = strlen(text);

    for (const char *at = choices; at != NULL; at = strchr(at, '|')) {
        at += *at == '|';
        if (strncmp(at, text, len) == 0 && (at[len] == '\0' || at[len] == '|')) {
            return true;
        }
    }
    return false;
}

static enum sirix_status read_text(struct sirix_settings *settings,
                                   const struct sirix_setting *setting,
                                   const struct sirix_json_node *value, struct sirix_error *err)
{
    const char *text = NULL;
    enum sirix_status status = read_c_str(&settings->arena, setting->key, value, &text, err);

    if (text != NULL && setting->choices != NULL && !is_choice(setting->choices, text)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "%s must be one of %s", setting->key, setting->choices);
        sirix_error_set_field(err, setting->key);
    }
    if (status == SIRIX_OK) {
        memcpy((char *)settings + setting->offset, &text, sizeof(text));
    }
    return status;
}

static enum sirix_status read_bool(struct sirix_settings *settings,
                                   const struct sirix_setting *setting,
                                   const struct sirix_json_node *value, struct sirix_error *err)
{
    bool boolean = false;

    if (!sirix_json_get_bool(value, &boolean)) {
        return wrong(setting->key, "true or false", err);
    }
    memcpy((char *)settings + setting->offset, &boolean, sizeof(boolean));
    return SIRIX_OK;
}

static enum sirix_status read_number(struct sirix_settings *settings,
                                     const struct sirix_setting *setting,
                                     const struct sirix_json_node *value, struct sirix_error *err)
{
    int64_t number = 0;

    if (value->kind != SIRIX_JSON_KIND_NUMBER || !sirix_json_get_i64(value, &number) ||
        number < (int64_t)setting->min || number > (int64_t)setting->max) {
        enum sirix_status status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                              "%s must be a whole number from %" PRIu64 " to %" PRIu64,
                              setting->key, setting->min, setting->max);
        sirix_error_set_field(err, setting->key);
        return status;
    }
    const uint64_t positive = (uint64_t)number;
    memcpy((char *)settings + setting->offset, &positive, sizeof(positive));
    return SIRIX_OK;
}

/* An array of texts; with kind, of such names and `*`. */
static enum sirix_status read_list(struct sirix_arena *arena, const char *key,
                                   const enum sirix_name_kind *kind,
                                   const struct sirix_json_node *value,
                                   struct sirix_access_list *out, struct sirix_error *err)
{
    struct sirix_access_list list = {.is_given = true};
    void *names = NULL;

    if (value->kind != SIRIX_JSON_KIND_ARRAY) {
        return wrong(key, kind == NULL ? "an array of texts" : "an array of names", err);
    }
    enum sirix_status status =
        sirix_arena_calloc(arena, sirix_json_count(value), sizeof(*list.names), &names, err);
    if (status != SIRIX_OK) {
        return status;
    }
    list.names = names;
    for (const struct sirix_json_node *item = sirix_json_first(value);
         item != NULL && status == SIRIX_OK; item = item->next) {
        const char *name = "";

        status = read_c_str(arena, key, item, &name, err);
        if (status == SIRIX_OK && kind != NULL && strcmp(name, "*") != 0) {
            const struct sirix_bytes bytes = {.data = name, .len = strlen(name)};
            status = sirix_name_check(*kind, bytes, key, err);
        }
        if (status == SIRIX_OK) {
            list.names[list.count++] = name;
        }
    }
    if (status == SIRIX_OK) {
        *out = list;
    }
    return status;
}

static enum sirix_status read_rules(struct sirix_arena *arena, const char *key,
                                    const struct sirix_json_node *value,
                                    struct sirix_access *access, struct sirix_error *err)
{
    const enum sirix_name_kind kind = SIRIX_NAME_RESOURCE;
    struct sirix_access_rule *rules = NULL;
    void *memory = NULL;
    size_t count = 0;

    if (value->kind != SIRIX_JSON_KIND_OBJECT) {
        return wrong(key, "an object of databases and arrays of names", err);
    }
    enum sirix_status status =
        sirix_arena_calloc(arena, sirix_json_count(value), sizeof(*rules), &memory, err);
    rules = memory;
    for (const struct sirix_json_node *item = sirix_json_first(value);
         item != NULL && status == SIRIX_OK; item = item->next) {
        char *database = NULL;

        status = sirix_name_check(SIRIX_NAME_DATABASE, item->name, key, err);
        if (status == SIRIX_OK) {
            status = sirix_arena_c_str(arena, item->name, &database, err);
        }
        if (status == SIRIX_OK) {
            rules[count].database = database;
            status = read_list(arena, key, &kind, item, &rules[count].resources, err);
            count++;
        }
    }
    if (status == SIRIX_OK) {
        access->rules = rules;
        access->rule_count = count;
    }
    return status;
}

enum sirix_status sirix_setting_read_access(struct sirix_arena *arena,
                                            const struct sirix_json_node *member,
                                            struct sirix_access *access, bool *out_is_known,
                                            struct sirix_error *err)
{
    const struct {
        const char *key;
        enum sirix_name_kind kind;
        struct sirix_access_list *list; /* NULL: rules. */
    } keys[] = {
        {"allowDatabases", SIRIX_NAME_DATABASE, &access->allow_databases},
        {"denyDatabases", SIRIX_NAME_DATABASE, &access->deny_databases},
        {"allowResources", SIRIX_NAME_RESOURCE, NULL},
        {"allowBranches", SIRIX_NAME_BRANCH, &access->allow_branches},
    };

    *out_is_known = true;
    for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
        const struct sirix_bytes key = {.data = keys[i].key, .len = strlen(keys[i].key)};

        if (sirix_bytes_equal(member->name, key)) {
            return keys[i].list == NULL
                       ? read_rules(arena, keys[i].key, member, access, err)
                       : read_list(arena, keys[i].key, &keys[i].kind, member, keys[i].list, err);
        }
    }
    *out_is_known = false;
    return SIRIX_OK;
}

enum sirix_status sirix_setting_read(struct sirix_settings *settings,
                                     const struct sirix_setting *setting,
                                     const struct sirix_json_node *value, struct sirix_error *err)
{
    void *at = (char *)settings + setting->offset;
    enum sirix_status status = SIRIX_OK;
    bool is_known = true;

    switch (setting->type) {
    case SIRIX_SETTING_TEXT:
        status = read_text(settings, setting, value, err);
        break;
    case SIRIX_SETTING_BOOL:
        status = read_bool(settings, setting, value, err);
        break;
    case SIRIX_SETTING_NUMBER:
        status = read_number(settings, setting, value, err);
        break;
    case SIRIX_SETTING_TEXTS:
        status = read_list(&settings->arena, setting->key, NULL, value, at, err);
        break;
    case SIRIX_SETTING_NAMES:
    case SIRIX_SETTING_RULES:
        status =
            sirix_setting_read_access(&settings->arena, value, &settings->access, &is_known, err);
        break;
    }
    return status;
}

static const struct sirix_setting *find(struct sirix_bytes key)
{
    for (size_t i = 0; i < sirix_settings_count; i++) {
        const struct sirix_setting *setting = &sirix_settings_table[i];
        const struct sirix_bytes name = {.data = setting->key, .len = strlen(setting->key)};

        if (sirix_bytes_equal(name, key)) {
            return setting;
        }
    }
    return NULL;
}

/* Names of members may hold anything: shown with controls as escapes, and cut. */
static enum sirix_status unknown_key(struct sirix_bytes key, const char *where,
                                     struct sirix_error *err)
{
    enum { SHOWN_BYTES_MAX = 80 };
    size_t len = sirix_json_text_cut(key, SHOWN_BYTES_MAX);

    return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                             "unknown key \"%.*s\"%s", (int)len, (const char *)key.data, where);
}

enum sirix_status sirix_settings_parse(struct sirix_settings *settings, struct sirix_bytes text,
                                       struct sirix_error *err)
{
    struct sirix_json_tree tree;
    enum sirix_status status = sirix_json_tree_init(&tree, &settings->arena, err);

    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&tree, text, NULL, NULL, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_json_node *server = sirix_json_member_str(&tree, tree.root, "server");
    if (tree.root->kind != SIRIX_JSON_KIND_OBJECT || server == NULL ||
        server->kind != SIRIX_JSON_KIND_OBJECT) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                 "the file must be an object with one object \"server\" in it");
    }
    for (const struct sirix_json_node *item = sirix_json_first(tree.root); item != NULL;
         item = item->next) {
        if (item != server) {
            return unknown_key(item->name, " beside \"server\"", err);
        }
    }
    for (const struct sirix_json_node *item = sirix_json_first(server);
         item != NULL && status == SIRIX_OK; item = item->next) {
        const struct sirix_setting *setting = find(item->name);

        status = setting == NULL ? unknown_key(item->name, " in \"server\"", err)
                                 : sirix_setting_read(settings, setting, item, err);
    }
    return status;
}

enum sirix_status sirix_setting_read_file(const char *path, struct sirix_buf *out,
                                          struct sirix_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return sirix_fail(err, SIRIX_IO, "cannot open: %s", strerror(errno));
    }
    enum sirix_status status = SIRIX_OK;
    for (;;) {
        status = sirix_buf_reserve(out, 4096, err);
        if (status != SIRIX_OK) {
            break;
        }
        ssize_t got = read(fd, out->data + out->len, 4096);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            status = sirix_fail(err, SIRIX_IO, "cannot read: %s", strerror(errno));
        }
        if (got <= 0) {
            break;
        }
        out->len += (size_t)got;
    }
    (void)close(fd);
    return status;
}

enum sirix_status sirix_settings_load(struct sirix_settings *settings, const char *path,
                                      struct sirix_error *err)
{
    struct sirix_error inner = {0};
    struct sirix_buf text;

    sirix_buf_init(&text, SIRIX_SETTINGS_FILE_BYTES_MAX);
    enum sirix_status status = sirix_setting_read_file(path, &text, &inner);
    if (status == SIRIX_OK) {
        status = sirix_settings_parse(settings, sirix_buf_view(&text), &inner);
    }
    sirix_buf_deinit(&text);
    if (status != SIRIX_OK) {
        (void)sirix_fail_reason(err, status, inner.reason, "%s: %s", path, inner.text);
        sirix_error_set_field(err, inner.field);
    }
    return status;
}
