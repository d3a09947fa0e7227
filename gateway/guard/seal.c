/* Authenticated encryption of small texts. */
#include "guard/seal.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "guard/base64url.h"
#include "json/canonical.h"

/* VERSION, nonce, encrypted(expiry, payload), tag. */
enum {
    VERSION = 1,
    NONCE_BYTES = 12,
    EXPIRY_BYTES = 8,
    TAG_BYTES = 16,
    HEAD_BYTES = 1 + NONCE_BYTES,
    FRAME_BYTES = HEAD_BYTES + EXPIRY_BYTES + TAG_BYTES,
    LINE_BYTES = 2 * SIRIX_SEAL_KEY_BYTES,
    FILE_BYTES_MAX = 1024,
};

/* --- Keys ------------------------------------------------------------------------------------------ */

enum sirix_status sirix_seal_keys_random(struct sirix_seal_keys *out, struct sirix_error *err)
{
    struct sirix_seal_keys keys = {.count = 1};
    enum sirix_status status = sirix_random_bytes(keys.keys[0], sizeof(keys.keys[0]), err);

    if (status == SIRIX_OK) {
        *out = keys;
    }
    return status;
}

/* One line of hex digits; what follows it, or NULL. */
static const char *read_key(const char *text, const char *end, uint8_t key[SIRIX_SEAL_KEY_BYTES])
{
    if (end - text < LINE_BYTES) {
        return NULL;
    }
    for (size_t i = 0; i < SIRIX_SEAL_KEY_BYTES; i++) {
        const int high = sirix_json_hex_digit((uint8_t)text[2 * i]);
        const int low = sirix_json_hex_digit((uint8_t)text[2 * i + 1]);

        if (high < 0 || low < 0) {
            return NULL;
        }
        key[i] = (uint8_t)(high << 4 | low);
    }
    text += LINE_BYTES;
    return text == end ? text : *text == '\n' ? text + 1 : NULL;
}

static enum sirix_status parse_keys(const char *path, const char *text, size_t len,
                                    struct sirix_seal_keys *out, struct sirix_error *err)
{
    struct sirix_seal_keys keys = {.count = 0};
    const char *end = text + len;

    while (text != NULL && text < end && keys.count < SIRIX_SEAL_KEYS_MAX) {
        text = read_key(text, end, keys.keys[keys.count++]);
    }
    if (text != end || keys.count == 0) {
        return sirix_fail(err, SIRIX_INVALID, "%s must have one or two lines of %d hex digits",
                          path, (int)LINE_BYTES);
    }
    *out = keys;
    return SIRIX_OK;
}

static enum sirix_status read_file(const char *path, int fd, struct sirix_seal_keys *out,
                                   struct sirix_error *err)
{
    char text[FILE_BYTES_MAX];
    struct stat facts;
    size_t len = 0;
    ssize_t got = 0;

    if (fstat(fd, &facts) != 0 || !S_ISREG(facts.st_mode)) {
        return sirix_fail(err, SIRIX_INVALID, "%s is no ordinary file", path);
    }
    if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        return sirix_fail(err, SIRIX_INVALID, "%s may be read by others; make its mode 0600", path);
    }
    do {
        got = read(fd, text + len, sizeof(text) - len);
        len += got > 0 ? (size_t)got : 0;
    } while (got > 0 || (got < 0 && errno == EINTR));
    if (got < 0) {
        return sirix_fail(err, SIRIX_IO, "cannot read %s: %s", path, strerror(errno));
    }
    return parse_keys(path, text, len, out, err);
}

/* Makes the file under another name and gives it its own only if nobody did so meanwhile. */
static enum sirix_status create_file(const char *path, struct sirix_error *err)
{
    char draft[4096];
    char id[SIRIX_RANDOM_ID_BYTES];
    char more[SIRIX_RANDOM_ID_BYTES];
    enum sirix_status status = sirix_random_id(id, err);

    if (status == SIRIX_OK) {
        status = sirix_random_id(more, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if ((size_t)snprintf(draft, sizeof(draft), "%s.%s", path, id) >= sizeof(draft)) {
        return sirix_fail(err, SIRIX_INVALID, "the path of the key file is too long");
    }
    const int fd = open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) {
        return sirix_fail(err, SIRIX_IO, "cannot make %s: %s", path, strerror(errno));
    }
    status = sirix_random_id(id, err);
    if (status == SIRIX_OK && (dprintf(fd, "%s%s\n", id, more) != LINE_BYTES + 1 ||
                               fsync(fd) != 0 || (link(draft, path) != 0 && errno != EEXIST))) {
        status = sirix_fail(err, SIRIX_IO, "cannot make %s: %s", path, strerror(errno));
    }
    (void)unlink(draft);
    (void)close(fd);
    return status;
}

enum sirix_status sirix_seal_keys_load(const char *path, bool create, struct sirix_seal_keys *out,
                                       struct sirix_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    enum sirix_status status = SIRIX_OK;

    if (fd < 0 && errno == ENOENT && create) {
        status = create_file(path, err);
        if (status != SIRIX_OK) {
            return status;
        }
        fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (fd < 0) {
        return sirix_fail(err, SIRIX_IO, "cannot open %s: %s", path, strerror(errno));
    }
    status = read_file(path, fd, out, err);
    (void)close(fd);
    return status;
}

/* --- Sealing --------------------------------------------------------------------------------------- */

/* What is authenticated beside the payload. */
static int add_binding(EVP_CIPHER_CTX *cipher, const struct sirix_seal_binding *binding,
                       bool encrypts)
{
    int (*const update)(EVP_CIPHER_CTX *, unsigned char *, int *, const unsigned char *, int) =
        encrypts ? EVP_EncryptUpdate : EVP_DecryptUpdate;
    int len = 0;

    /* With its NUL, so that nothing runs together. */
    return update(cipher, NULL, &len, (const unsigned char *)binding->purpose,
                  (int)strlen(binding->purpose) + 1) == 1 &&
           (binding->context.len == 0 ||
            update(cipher, NULL, &len, binding->context.data, (int)binding->context.len) == 1);
}

/* Fills the frame, whose nonce is there, with what is encrypted and the tag. */
static bool encrypt(EVP_CIPHER_CTX *cipher, const uint8_t *key,
                    const struct sirix_seal_binding *binding, const uint8_t expiry[EXPIRY_BYTES],
                    struct sirix_bytes payload, uint8_t *frame)
{
    uint8_t *at = frame + HEAD_BYTES;
    int len = 0;

    return EVP_EncryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, frame + 1) == 1 &&
           add_binding(cipher, binding, true) == 1 &&
           EVP_EncryptUpdate(cipher, at, &len, expiry, EXPIRY_BYTES) == 1 &&
           (payload.len == 0 || EVP_EncryptUpdate(cipher, at + EXPIRY_BYTES, &len, payload.data,
                                                  (int)payload.len) == 1) &&
           EVP_EncryptFinal_ex(cipher, at + EXPIRY_BYTES + payload.len, &len) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_GET_TAG, TAG_BYTES,
                               at + EXPIRY_BYTES + payload.len) == 1;
}

enum sirix_status sirix_seal_close(const struct sirix_seal_keys *keys,
                                   const struct sirix_seal_binding *binding,
                                   struct sirix_bytes payload, int64_t expires_at_s,
                                   struct sirix_buf *out, struct sirix_error *err)
{
    uint8_t expiry[EXPIRY_BYTES];
    struct sirix_buf frame;
    EVP_CIPHER_CTX *cipher = NULL;

    assert(keys->count != 0 && payload.len <= SIRIX_SEAL_PAYLOAD_BYTES_MAX);
    for (size_t i = 0; i < EXPIRY_BYTES; i++) {
        expiry[i] = (uint8_t)((uint64_t)expires_at_s >> 8 * (EXPIRY_BYTES - 1 - i));
    }
    sirix_buf_init(&frame, SIZE_MAX);
    enum sirix_status status = sirix_buf_append_fill(&frame, 0, FRAME_BYTES + payload.len, err);
    if (status == SIRIX_OK) {
        frame.data[0] = VERSION;
        status = sirix_random_bytes(frame.data + 1, NONCE_BYTES, err);
    }
    if (status == SIRIX_OK) {
        cipher = EVP_CIPHER_CTX_new();
        if (cipher == NULL ||
            !encrypt(cipher, keys->keys[0], binding, expiry, payload, frame.data)) {
            status = sirix_fail(err, SIRIX_NO_MEMORY, "cannot seal a text");
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_base64url_encode(out, frame.data, frame.len, err);
    }
    EVP_CIPHER_CTX_free(cipher);
    sirix_buf_deinit(&frame);
    return status;
}

/* Whether a frame opens with the key: then out has what was encrypted. */
static bool decrypt(EVP_CIPHER_CTX *cipher, const uint8_t *key,
                    const struct sirix_seal_binding *binding, uint8_t *frame, size_t len,
                    uint8_t *out)
{
    const size_t hidden = len - HEAD_BYTES - TAG_BYTES;
    int done = 0;

    return EVP_CIPHER_CTX_reset(cipher) == 1 &&
           EVP_DecryptInit_ex(cipher, EVP_aes_256_gcm(), NULL, key, frame + 1) == 1 &&
           add_binding(cipher, binding, false) == 1 &&
           EVP_DecryptUpdate(cipher, out, &done, frame + HEAD_BYTES, (int)hidden) == 1 &&
           EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_GCM_SET_TAG, TAG_BYTES,
                               frame + HEAD_BYTES + hidden) == 1 &&
           EVP_DecryptFinal_ex(cipher, out + hidden, &done) == 1;
}

static enum sirix_status refuse(const char *text, struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s", text);
}

enum sirix_status sirix_seal_open(const struct sirix_seal_keys *keys,
                                  const struct sirix_seal_binding *binding, struct sirix_bytes text,
                                  int64_t now_s, struct sirix_arena *arena, struct sirix_bytes *out,
                                  struct sirix_error *err)
{
    static const char unknown[] = "this is not what the server has given out for this request";
    void *memory = NULL;
    size_t len = 0;
    bool is_open = false;

    if (text.len > SIRIX_SEAL_TEXT_BYTES_MAX) {
        return refuse(unknown, err);
    }
    /* The frame, and behind it what was hidden in it. */
    enum sirix_status status = sirix_arena_alloc(arena, 2 * (text.len + FRAME_BYTES), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    uint8_t *frame = memory;
    uint8_t *opened = frame + text.len + FRAME_BYTES;
    if (text.len == 0 || !sirix_base64url_decode(text, frame, &len) || len < FRAME_BYTES ||
        frame[0] != VERSION) {
        return refuse(unknown, err);
    }
    EVP_CIPHER_CTX *cipher = EVP_CIPHER_CTX_new();
    if (cipher == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot open a text");
    }
    for (size_t i = 0; i < keys->count && !is_open; i++) {
        is_open = decrypt(cipher, keys->keys[i], binding, frame, len, opened);
    }
    EVP_CIPHER_CTX_free(cipher);
    if (!is_open) {
        return refuse(unknown, err);
    }
    uint64_t expires_at_s = 0;
    for (size_t i = 0; i < EXPIRY_BYTES; i++) {
        expires_at_s = expires_at_s << 8 | opened[i];
    }
    if (now_s > (int64_t)expires_at_s) {
        return refuse("this has expired; begin again", err);
    }
    *out = (struct sirix_bytes){.data = opened + EXPIRY_BYTES, .len = len - FRAME_BYTES};
    return SIRIX_OK;
}

enum sirix_status sirix_seal_mac(const struct sirix_seal_keys *keys, const char *purpose,
                                 struct sirix_bytes data, uint8_t out[SIRIX_SHA256_BYTES],
                                 struct sirix_error *err)
{
    struct sirix_buf text;
    unsigned len = 0;

    assert(keys->count != 0);
    sirix_buf_init(&text, SIZE_MAX);
    enum sirix_status status = sirix_buf_append(&text, purpose, strlen(purpose) + 1, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(&text, data, err);
    }
    if (status == SIRIX_OK && HMAC(EVP_sha256(), keys->keys[0], SIRIX_SEAL_KEY_BYTES, text.data,
                                   text.len, out, &len) == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "cannot make a digest");
    }
    sirix_buf_deinit(&text);
    return status;
}
