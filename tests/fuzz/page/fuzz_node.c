/*
 * Property: bytes that decode as a record encode back to the same bytes, and so do inline children.
 * The first 8 bytes of the input are the node's key.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "base/endian.h"
#include "store/page/node.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_children(const struct sirix_node *node)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    struct sirix_buf deltas;

    if (sirix_node_children(node, keys, NULL) == SIRIX_OK) {
        sirix_buf_init(&deltas, SIZE_MAX);
        if (sirix_node_children_encode(node->key, keys, (size_t)node->child_count, &deltas, NULL) ==
            SIRIX_OK) {
            assert(sirix_bytes_equal(sirix_buf_view(&deltas), node->children));
        }
        sirix_buf_deinit(&deltas);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirix_buf record;
    struct sirix_node node;
    struct sirix_bytes bytes = {0};

    if (size < 8) {
        return 0;
    }
    bytes = (struct sirix_bytes){.data = data + 8, .len = size - 8};
    if (sirix_node_decode(bytes, sirix_load_u64le(data), &node, NULL) != SIRIX_OK) {
        return 0;
    }
    sirix_buf_init(&record, SIZE_MAX);
    if (sirix_node_encode(&node, &record, NULL) == SIRIX_OK) {
        assert(sirix_bytes_equal(sirix_buf_view(&record), bytes));
    }
    sirix_buf_deinit(&record);
    (void)sirix_node_label(&node);
    if (sirix_node_is_container(node.kind) && !node.child_tree) {
        check_children(&node);
    }
    return 0;
}
