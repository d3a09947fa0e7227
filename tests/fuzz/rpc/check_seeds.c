/*
 * Whether the corpus, named file by file, has an input for each request that a client may send which
 * unpacks and is not empty unless the message has no fields. Names those that have none.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/endian.h"
#include "fuzz/rpc/requests.h"

enum { INPUT_BYTES_MAX = 64 * 1024 };

/* Its request, if it is a good seed of one. */
static const struct request *seed_of(const char *path, const struct request *all, size_t count)
{
    static uint8_t input[INPUT_BYTES_MAX];
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        perror(path);
        exit(EXIT_FAILURE);
    }
    const size_t size = fread(input, 1, sizeof(input), file);
    (void)fclose(file);
    if (size < REQUEST_TAG_BYTES) {
        return NULL;
    }
    const struct request *found = requests_find(all, count, sirix_load_u16le(input));
    ProtobufCMessage *message = protobuf_c_message_unpack(
        found->type, NULL, size - REQUEST_TAG_BYTES, input + REQUEST_TAG_BYTES);
    const bool is_good = found->tag == sirix_load_u16le(input) && message != NULL &&
                         (size > REQUEST_TAG_BYTES || found->type->n_fields == 0);

    if (message != NULL) {
        protobuf_c_message_free_unpacked(message, NULL);
    }
    return is_good ? found : NULL;
}

int main(int argc, char **argv)
{
    static struct request all[REQUESTS_MAX];
    static bool has_seed[REQUESTS_MAX];
    const size_t count = requests_all(all);
    int exit_code = EXIT_SUCCESS;

    for (int i = 1; i < argc; i++) {
        const struct request *found = seed_of(argv[i], all, count);
        if (found != NULL) {
            has_seed[found - all] = true;
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (!has_seed[i]) {
            (void)fprintf(stderr, "no seed for %s; it begins with the bytes %02x %02x\n",
                          all[i].type->name, all[i].tag & 0xffU, all[i].tag >> 8U);
            exit_code = EXIT_FAILURE;
        }
    }
    (void)printf("%zu requests\n", count);
    return exit_code;
}
