/* Reflection's source: the embedded set is found in, and damaged sets do not lead outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/standard/descriptors.h"
#include "sirix/descriptors.h"

static struct sirix_bytes embedded(void)
{
    return (struct sirix_bytes){
        .data = sirix_proto_descriptors,
        .len = (size_t)(sirix_proto_descriptors_end - sirix_proto_descriptors),
    };
}

static void files_are_found_by_name(void **state)
{
    struct sirix_bytes file = {.data = NULL, .len = 0};

    (void)state;
    assert_true(sirix_descriptors_find_file(embedded(), "sirix/storage/v1/storage.proto", &file));
    assert_true(file.len > 1000);
    assert_false(sirix_descriptors_find_file(embedded(), "storage.proto", &file));
    assert_false(sirix_descriptors_find_file(embedded(), "", &file));
}

static void symbols_are_found_at_every_level_and_nowhere_else(void **state)
{
    const struct {
        const char *symbol;
        bool found;
    } cases[] = {
        {"sirix.storage.v1.Storage", true},
        {"sirix.storage.v1.Storage.Apply", true},
        {"sirix.storage.v1.View", true},
        {"sirix.storage.v1.View.branch", true},
        {"sirix.storage.v1.NodeKind", true},
        {"sirix.storage.v1.ErrorDetail", true},
        {"grpc.health.v1.HealthCheckResponse.ServingStatus", true},
        {"grpc.health.v1.HealthCheckResponse.ServingStatus.SERVING", true},
        {"grpc.reflection.v1alpha.ServerReflection", true},
        {"sirix.storage.v1", false},
        {"sirix.storage.v1.", false},
        {"sirix.storage.v1.Stor", false},
        {"sirix.storage.v1.Storage.", false},
        {"sirix.storage.v1.Storage.Nothing", false},
        {"sirix.storage.v1.Storage.Apply.more", false},
        {"Storage", false},
        {".", false},
        {"", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_bytes file = {.data = NULL, .len = 0};
        bool found = sirix_descriptors_find_symbol(embedded(), cases[i].symbol, &file);

        if (found != cases[i].found || found != (file.len != 0)) {
            fail_msg("symbol '%s': %s", cases[i].symbol, found ? "found" : "not found");
        }
    }
}

static bool count_service(void *context, struct sirix_bytes package, struct sirix_bytes name)
{
    assert_true(package.len != 0 && name.len != 0);
    ++*(int *)context;
    return true;
}

static void every_service_is_listed(void **state)
{
    int count = 0;

    (void)state;
    assert_true(sirix_descriptors_services(embedded(), count_service, &count));
    assert_int_equal(count, 4);
}

static bool count_file(void *context, struct sirix_bytes file)
{
    (void)file;
    ++*(int *)context;
    return true;
}

/* The sanitizers are the judge: the copy ends exactly where the bytes do. */
static void a_set_cut_anywhere_is_walked_without_leaving_it(void **state)
{
    struct sirix_bytes whole = embedded();

    (void)state;
    for (size_t len = 0; len < whole.len; len += 97) {
        uint8_t *copy = malloc(len == 0 ? 1 : len);
        struct sirix_bytes cut = {.data = copy, .len = len};
        struct sirix_bytes file = {.data = NULL, .len = 0};
        int files = 0;

        assert_non_null(copy);
        memcpy(copy, whole.data, len);
        (void)sirix_descriptors_files(cut, count_file, &files);
        (void)sirix_descriptors_find_symbol(cut, "sirix.storage.v1.Storage.Nothing", &file);
        assert_null(file.data);
        free(copy);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_found_by_name),
        cmocka_unit_test(symbols_are_found_at_every_level_and_nowhere_else),
        cmocka_unit_test(every_service_is_listed),
        cmocka_unit_test(a_set_cut_anywhere_is_walked_without_leaving_it),
    };
    return cmocka_run_group_tests_name("rpc descriptors", tests, NULL, NULL);
}
