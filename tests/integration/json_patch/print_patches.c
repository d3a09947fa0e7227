/*
 * Prints what another implementation of RFC 6902 shall check: lines of JSON objects with the text of a
 * revision, the patch to another one, and the text of that. Revisions come from seeded random edits.
 *
 * Usage: print_patches SEED ROUNDS
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/document/patch.h"
#include "unit/document_diff/support.h"

enum { REVISIONS = 8 };

static void print_one(struct fixture *f, const struct sirix_view *before,
                      const struct sirix_view *after)
{
    const struct sirix_patch_options options = {
        .old_view = before, .new_view = after, .reader = f->reader};
    struct sirix_patch_writer *writer = NULL;
    struct sirix_buf patch;
    char *from = text_of_view(f, before, 0);
    char *to = text_of_view(f, after, 0);
    bool done = false;

    sirix_buf_init(&patch, SIZE_MAX);
    assert_int_equal(sirix_patch_writer_new(&options, &writer, NULL), SIRIX_OK);
    while (!done) {
        assert_int_equal(sirix_patch_writer_step(writer, 1000, &patch, &done, NULL), SIRIX_OK);
    }
    (void)printf("{\"from\":%s,\"patch\":%.*s,\"to\":%s}\n", from, (int)patch.len,
                 (const char *)patch.data, to);
    sirix_patch_writer_free(writer);
    sirix_buf_deinit(&patch);
    free(from);
    free(to);
}

int main(int argc, char **argv)
{
    uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;

    for (unsigned long round = 0; round < rounds; round++) {
        struct sirix_view views[REVISIONS];
        struct fixture f;

        fixture_open(&f);
        import_text(&f, "{\"n0\":[1,2,3,4,5,6,7,8,[9]],\"n1\":{\"n2\":[{},[]]},\"n3\":\"x\"}");
        for (size_t i = 0; i < REVISIONS; i++) {
            random_commit(&f, &random, 1 + random_below(&random, 15));
            fixture_head(&f, &views[i]);
        }
        for (size_t i = 0; i < REVISIONS * REVISIONS; i++) {
            print_one(&f, &views[i / REVISIONS], &views[i % REVISIONS]);
        }
        for (size_t i = 0; i < REVISIONS; i++) {
            sirix_view_close(&views[i]);
        }
        fixture_close(&f);
    }
    return EXIT_SUCCESS;
}
