/* Reading the audit log back. */
#include "guard/audit_check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "guard/audit.h"
#include "json/text.h"
#include "json/tree.h"

enum {
    HEX_CHARS = 2 * SIRIX_SHA256_BYTES,
    TAIL_BYTES = 9 + HEX_CHARS + 2, /* ,"hash":"…"} */
    READ_BYTES = 64 * 1024,
    LINE_MEMORY_MAX = 16 * 1024 * 1024,
};

static enum sirix_status wrong(const char *what, struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHAIN, "%s", what);
}

enum sirix_status sirix_audit_check_init(struct sirix_audit_check *check, struct sirix_error *err)
{
    *check = (struct sirix_audit_check){0};
    check->intents = calloc(SIRIX_AUDIT_INTENTS_MAX, sizeof(*check->intents));
    return check->intents != NULL ? SIRIX_OK : sirix_fail(err, SIRIX_NO_MEMORY, "no memory");
}

void sirix_audit_check_deinit(struct sirix_audit_check *check)
{
    if (check != NULL) {
        free(check->intents);
        check->intents = NULL;
    }
}

/* --- Members --------------------------------------------------------------------------------------- */

struct reading {
    struct sirix_arena arena;
    struct sirix_json_tree tree;
};

static bool take_u64(struct reading *r, const char *name, uint64_t *out)
{
    const struct sirix_json_node *node = sirix_json_member_str(&r->tree, r->tree.root, name);
    int64_t number = 0;

    if (node == NULL || node->kind != SIRIX_JSON_KIND_NUMBER ||
        !sirix_json_get_i64(node, &number) || number < 0) {
        return false;
    }
    *out = (uint64_t)number;
    return true;
}

/* A text as a C string; "" where there is none. False: it does not fit, or has a NUL. */
static bool take_text(struct reading *r, const char *name, char *out, size_t size)
{
    const struct sirix_json_node *node = sirix_json_member_str(&r->tree, r->tree.root, name);
    struct sirix_bytes plain = {.data = NULL, .len = 0};

    out[0] = '\0';
    if (node == NULL || node->kind != SIRIX_JSON_KIND_STRING) {
        return true;
    }
    if (sirix_json_text_to_plain(&r->arena, node->value.text, &plain, NULL) != SIRIX_OK ||
        plain.len >= size || (plain.len != 0 && memchr(plain.data, '\0', plain.len) != NULL)) {
        return false;
    }
    if (plain.len != 0) {
        memcpy(out, plain.data, plain.len);
    }
    out[plain.len] = '\0';
    return true;
}

/* --- Lines ----------------------------------------------------------------------------------------- */

/* Whether the line ends with the hash of what is before it; then that. */
static enum sirix_status take_hash(struct sirix_bytes line, char out[SIRIX_SHA256_HEX_BYTES],
                                   struct sirix_error *err)
{
    static const char begin[] = ",\"hash\":\"";
    uint8_t digest[SIRIX_SHA256_BYTES];
    const char *text = line.data;

    if (line.len <= TAIL_BYTES || memcmp(text + line.len - TAIL_BYTES, begin, 9) != 0 ||
        memcmp(text + line.len - 2, "\"}", 2) != 0) {
        return wrong("the line has no hash at its end", err);
    }
    enum sirix_status status = sirix_sha256(text, line.len - TAIL_BYTES, digest, err);
    if (status == SIRIX_OK) {
        char hash[SIRIX_SHA256_HEX_BYTES];

        sirix_sha256_hex(digest, hash);
        if (memcmp(hash, text + line.len - TAIL_BYTES + 9, HEX_CHARS) != 0) {
            return wrong("the line was changed: its hash is another one", err);
        }
        memcpy(out, hash, sizeof(hash));
    }
    return status;
}

static enum sirix_status begin_chain(struct sirix_audit_check *check, struct reading *r,
                                     uint64_t seq, const char *previous, struct sirix_error *err)
{
    char instance[SIRIX_AUDIT_NAME_BYTES_MAX];
    uint64_t part = 0;

    if (!take_text(r, "instance", instance, sizeof(instance)) || !take_u64(r, "part", &part)) {
        return wrong("the genesis says neither instance nor part", err);
    }
    if (part == 1) {
        if (seq != 0 || strspn(previous, "0") != HEX_CHARS) {
            return wrong("the chain does not begin with its genesis", err);
        }
    } else if (!check->has_chain || !check->is_rotated || part != check->part + 1 ||
               strcmp(instance, check->instance) != 0) {
        return wrong("the part before this one is missing", err);
    } else if (seq != check->seq + 1 || strcmp(previous, check->hash) != 0) {
        return wrong("the part does not follow the one before", err);
    }
    memcpy(check->instance, instance, sizeof(instance));
    check->part = part;
    check->has_chain = true;
    return SIRIX_OK;
}

static enum sirix_status follow(struct sirix_audit_check *check, uint64_t seq, const char *previous,
                                struct sirix_error *err)
{
    if (!check->has_chain) {
        return wrong("the file does not begin with a genesis", err);
    }
    if (check->has_ended || check->is_rotated) {
        return wrong("there is a line behind the end of the chain", err);
    }
    if (seq != check->seq + 1) {
        return sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHAIN,
                                 "lines are missing: %" PRIu64 " follows %" PRIu64, seq,
                                 check->seq);
    }
    return strcmp(previous, check->hash) == 0
               ? SIRIX_OK
               : wrong("the line does not follow the one before: prev is another hash", err);
}

static enum sirix_status add_intent(struct sirix_audit_check *check, struct reading *r,
                                    uint64_t seq, struct sirix_error *err)
{
    struct sirix_audit_intent intent = {.seq = seq};

    if (check->intent_count == SIRIX_AUDIT_INTENTS_MAX) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "more than %d writes have no outcome",
                          (int)SIRIX_AUDIT_INTENTS_MAX);
    }
    if (!take_text(r, "tool", intent.tool, sizeof(intent.tool)) ||
        !take_text(r, "database", intent.database, sizeof(intent.database)) ||
        !take_text(r, "resource", intent.resource, sizeof(intent.resource)) ||
        !take_text(r, "key", intent.key, sizeof(intent.key))) {
        return wrong("the intent cannot be read", err);
    }
    memcpy(intent.instance, check->instance, sizeof(intent.instance));
    check->intents[check->intent_count++] = intent;
    return SIRIX_OK;
}

static enum sirix_status end_intent(struct sirix_audit_check *check, uint64_t seq,
                                    struct sirix_error *err)
{
    for (size_t i = 0; i < check->intent_count; i++) {
        if (check->intents[i].seq == seq &&
            strcmp(check->intents[i].instance, check->instance) == 0) {
            check->intents[i] = check->intents[--check->intent_count];
            return SIRIX_OK;
        }
    }
    return wrong("the outcome belongs to no intent", err);
}

static enum sirix_status take_line(struct sirix_audit_check *check, struct reading *r,
                                   const char *hash, struct sirix_error *err)
{
    char event[32];
    char previous[SIRIX_SHA256_HEX_BYTES];
    uint64_t seq = 0;
    uint64_t intent = 0;

    if (r->tree.root->kind != SIRIX_JSON_KIND_OBJECT || !take_u64(r, "seq", &seq) ||
        !take_text(r, "event", event, sizeof(event)) ||
        !take_text(r, "prev", previous, sizeof(previous))) {
        return wrong("the line has no seq, event or prev", err);
    }
    const bool is_genesis = strcmp(event, "genesis") == 0;
    enum sirix_status status =
        is_genesis ? begin_chain(check, r, seq, previous, err) : follow(check, seq, previous, err);
    if (status == SIRIX_OK && strcmp(event, "intent") == 0) {
        status = add_intent(check, r, seq, err);
    } else if (status == SIRIX_OK && take_u64(r, "intent", &intent)) {
        status = end_intent(check, intent, err);
    }
    if (status == SIRIX_OK) {
        check->seq = seq;
        check->lines++;
        check->has_ended = strcmp(event, "end") == 0;
        check->is_rotated = strcmp(event, "rotate") == 0;
        memcpy(check->hash, hash, SIRIX_SHA256_HEX_BYTES);
    }
    return status;
}

enum sirix_status sirix_audit_check_line(struct sirix_audit_check *check, struct sirix_bytes line,
                                         struct sirix_error *err)
{
    char hash[SIRIX_SHA256_HEX_BYTES];
    struct reading r;
    enum sirix_status status = take_hash(line, hash, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_arena_init(&r.arena, LINE_MEMORY_MAX);
    status = sirix_json_tree_init(&r.tree, &r.arena, err);
    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&r.tree, line, NULL, NULL, err);
        if (status == SIRIX_INVALID) {
            status = wrong("the line is no JSON", err);
        }
    }
    if (status == SIRIX_OK) {
        status = take_line(check, &r, hash, err);
    }
    sirix_arena_deinit(&r.arena);
    return status;
}

/* --- Files ----------------------------------------------------------------------------------------- */

/* All whole lines that are in the buffer; what is left stays in it. */
static enum sirix_status take_lines(struct sirix_audit_check *check, struct sirix_buf *buf,
                                    uint64_t *number, struct sirix_error *err)
{
    size_t done = 0;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && done < buf->len) {
        const uint8_t *end = memchr(buf->data + done, '\n', buf->len - done);
        struct sirix_error inner = {0};

        if (end == NULL) {
            break;
        }
        const struct sirix_bytes line = {.data = buf->data + done,
                                         .len = (size_t)(end - buf->data) - done};
        ++*number;
        status = sirix_audit_check_line(check, line, &inner);
        if (status != SIRIX_OK) {
            (void)sirix_fail_reason(err, status, inner.reason, "line %" PRIu64 ": %s", *number,
                                    inner.text);
        }
        done += line.len + 1;
    }
    sirix_buf_consume(buf, done);
    return status;
}

enum sirix_status sirix_audit_check_file(struct sirix_audit_check *check, int fd,
                                         struct sirix_error *err)
{
    struct sirix_buf buf;
    uint64_t number = 0;
    ssize_t got = 1;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&buf, SIRIX_AUDIT_LINE_BYTES_MAX + READ_BYTES + 1);
    while (status == SIRIX_OK && got != 0) {
        status = sirix_buf_reserve(&buf, READ_BYTES, err);
        if (status == SIRIX_OK) {
            got = read(fd, buf.data + buf.len, READ_BYTES);
        }
        if (status == SIRIX_OK && got < 0 && errno != EINTR) {
            status = sirix_fail(err, SIRIX_IO, "cannot read: %s", strerror(errno));
        }
        if (status == SIRIX_OK && got > 0) {
            buf.len += (size_t)got;
            status = take_lines(check, &buf, &number, err);
        }
        if (status == SIRIX_OK && buf.len > SIRIX_AUDIT_LINE_BYTES_MAX) {
            status = sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHAIN,
                                       "line %" PRIu64 " is longer than any that was written",
                                       number + 1);
        }
    }
    if (status == SIRIX_OK && number == 0) {
        status = wrong("the file has no whole line", err);
    }
    if (status == SIRIX_OK) {
        check->is_torn = buf.len != 0;
    }
    sirix_buf_deinit(&buf);
    return status;
}
