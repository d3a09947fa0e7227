/* Lists that come in pages. */
#include "cli/pages.h"

static void show_page(struct sirixctl *ctl, const struct sirixctl_list_kind *kind,
                      const struct sirixctl_page *page, struct sirixctl_json *json)
{
    for (size_t i = 0; i < page->count; i++) {
        if (ctl->json) {
            kind->show_json(json, page->items, i);
        } else {
            kind->show_words(&ctl->out, page->items, i);
        }
    }
}

enum sirix_status sirixctl_show_list(struct sirixctl *ctl, const struct sirixctl_list_kind *kind,
                                     void *context, uint64_t count, struct sirixctl_json *json,
                                     struct sirix_error *err)
{
    struct sirixctl_page current = {.answer = NULL};
    struct sirix_page wanted = {.size = 0};
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && count != 0) {
        struct sirixctl_page next = {.answer = NULL};

        wanted.size = count < SIRIXCTL_PAGE_MAX ? (uint32_t)count : SIRIXCTL_PAGE_MAX;
        status = kind->fetch(ctl, context, &wanted, &next, err);
        if (status == SIRIX_OK && next.next_cursor.len != 0 &&
            sirix_bytes_equal(wanted.cursor, next.next_cursor)) {
            status = sirix_fail(err, SIRIX_INTERNAL, "the server's list does not end");
        }
        sirix_client_free(current.answer); /* Its cursor was needed until now. */
        current = next;
        wanted.cursor = next.next_cursor;
        if (status == SIRIX_OK) {
            show_page(ctl, kind, &current, json);
            count -= current.count < count ? current.count : count;
        }
        if (wanted.cursor.len == 0) {
            break;
        }
    }
    sirix_client_free(current.answer);
    return status;
}
