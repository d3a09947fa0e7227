/* The table behind enum sirix_method. */
#include "lib/transport/method.h"

const struct sirix_method_row sirix_method_rows[SIRIX_METHOD_COUNT] = {
#define SIRIX_X(upper, name, does_write, does_stream)                                              \
    [SIRIX_METHOD_##upper] = {"/sirix.storage.v1.Storage/" #name, (does_write), (does_stream)},
    SIRIX_METHOD_LIST(SIRIX_X)
#undef SIRIX_X
};
