/* The patient writer. */
#include "jsonrpc/put.h"

#include <string.h>

void sirix_put_init(struct sirix_put *put, struct sirix_buf *out)
{
    put->status = SIRIX_OK;
    put->error = (struct sirix_error){0};
    sirix_json_writer_init_buf(&put->writer, out, NULL);
}

/* Writes the name, if there is one; whether the value may follow. */
static bool begin(struct sirix_put *put, const char *name)
{
    if (put->status == SIRIX_OK && name != NULL) {
        put->status = sirix_json_write_name_str(&put->writer, name, &put->error);
    }
    return put->status == SIRIX_OK;
}

void sirix_put_object(struct sirix_put *put, const char *name)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_object_begin(&put->writer, &put->error);
    }
}

void sirix_put_array(struct sirix_put *put, const char *name)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_array_begin(&put->writer, &put->error);
    }
}

void sirix_put_object_end(struct sirix_put *put)
{
    if (begin(put, NULL)) {
        put->status = sirix_json_write_object_end(&put->writer, &put->error);
    }
}

void sirix_put_array_end(struct sirix_put *put)
{
    if (begin(put, NULL)) {
        put->status = sirix_json_write_array_end(&put->writer, &put->error);
    }
}

void sirix_put_str(struct sirix_put *put, const char *name, const char *text)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_string_str(&put->writer, text, &put->error);
    }
}

void sirix_put_plain(struct sirix_put *put, const char *name, struct sirix_bytes plain)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_string_plain(&put->writer, plain, &put->error);
    }
}

void sirix_put_canonical(struct sirix_put *put, const char *name, struct sirix_bytes canonical)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_string(&put->writer, canonical, &put->error);
    }
}

void sirix_put_raw(struct sirix_put *put, const char *name, struct sirix_bytes json)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_raw(&put->writer, json, &put->error);
    }
}

void sirix_put_raw_str(struct sirix_put *put, const char *name, const char *json)
{
    sirix_put_raw(put, name, (struct sirix_bytes){.data = json, .len = strlen(json)});
}

void sirix_put_u64(struct sirix_put *put, const char *name, uint64_t value)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_u64(&put->writer, value, &put->error);
    }
}

void sirix_put_i64(struct sirix_put *put, const char *name, int64_t value)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_i64(&put->writer, value, &put->error);
    }
}

void sirix_put_bool(struct sirix_put *put, const char *name, bool value)
{
    if (begin(put, name)) {
        put->status = sirix_json_write_bool(&put->writer, value, &put->error);
    }
}

void sirix_put_fail(struct sirix_put *put, enum sirix_status status,
                    const struct sirix_error *error)
{
    if (put->status == SIRIX_OK && status != SIRIX_OK) {
        put->status = status;
        put->error = error != NULL ? *error : (struct sirix_error){.status = status};
    }
}

enum sirix_status sirix_put_finish(struct sirix_put *put, struct sirix_error *err)
{
    if (put->status == SIRIX_OK) {
        put->status = sirix_json_writer_finish(&put->writer, &put->error);
    }
    sirix_json_writer_deinit(&put->writer);
    if (put->status != SIRIX_OK && err != NULL) {
        *err = put->error;
    }
    return put->status;
}
