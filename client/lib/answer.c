/* Answers and their memory. */
#include "lib/answer.h"

#include <stdlib.h>

#include "lib/transport/message.h"

union head {
    struct sirix_arena arena;
    max_align_t alignment;
};

enum sirix_status sirix_answer_new(size_t size, void **out_answer, struct sirix_error *err)
{
    union head *head = calloc(1, sizeof(*head) + size);

    if (head == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate an answer");
    }
    sirix_arena_init(&head->arena, SIRIX_MESSAGE_DECODED_BYTES_MAX);
    *out_answer = head + 1;
    return SIRIX_OK;
}

struct sirix_arena *sirix_answer_arena(void *answer)
{
    return &((union head *)answer - 1)->arena;
}

void sirix_client_free(const void *answer)
{
    union {
        const void *in;
        void *out;
    } pointer = {.in = answer};

    if (answer != NULL) {
        union head *head = (union head *)pointer.out - 1;

        sirix_arena_deinit(&head->arena);
        free(head);
    }
}

enum sirix_status sirix_answer_name(struct sirix_arena *arena, ProtobufCBinaryData name,
                                    const char **out_name, struct sirix_error *err)
{
    char *text = NULL;
    enum sirix_status status = sirix_arena_c_str(arena, sirix_message_bytes(name), &text, err);

    if (status == SIRIX_OK) {
        *out_name = text;
    }
    return status;
}
