/*
 * A client of storaged in C, with libsirix.
 *
 *     cc users.c $(pkg-config --cflags --libs sirix) -o users
 *     ./users ADDRESS
 *
 * ADDRESS is unix:PATH or HOST:PORT.
 */
#include <sirix/sirix.h>
#include <stdio.h>

#define TEXT(literal)                                                                              \
    {                                                                                              \
        (literal), sizeof(literal) - 1                                                             \
    }

/* A text as the library reads it, piece by piece; a file would be read here. */
struct text {
    struct sirix_bytes left;
};

static enum sirix_status read_text(void *context, void *buffer, size_t capacity, size_t *out_len,
                                   struct sirix_error *err)
{
    struct text *text = context;
    size_t len = text->left.len < capacity ? text->left.len : capacity;

    (void)err;
    memcpy(buffer, text->left.data, len);
    text->left.data = (const char *)text->left.data + len;
    text->left.len -= len;
    *out_len = len;
    return SIRIX_OK;
}

static enum sirix_status import_users(struct sirix_client *client, struct sirix_error *err)
{
    struct text text = {TEXT("[{\"name\":\"Ann\",\"age\":31}]")};
    struct sirix_import_request request = {.database = "c",
                                           .resource = "users",
                                           .write.message = TEXT("import"),
                                           .source = {read_text, &text}};
    struct sirix_import_result result;

    return sirix_client_import(client, &request, NULL, &result, err);
}

/* The node by its path, then the change by its key. The idempotency key makes it safe to send again. */
static enum sirix_status change_age(struct sirix_client *client, struct sirix_error *err)
{
    struct sirix_read_node_request read = {
        .database = "c", .resource = "users", .target.path = TEXT("/[0]/age")};
    struct sirix_operation update = {.kind = SIRIX_OPERATION_UPDATE, .json = TEXT("32")};
    struct sirix_apply_request apply = {
        .database = "c",
        .resource = "users",
        .write = {.message = TEXT("birthday"), .idempotency_key = TEXT("birthday-1")},
        .operations = &update,
        .operation_count = 1,
    };
    struct sirix_node_page *page = NULL;
    struct sirix_apply_result *applied = NULL;
    enum sirix_status status = sirix_client_read_node(client, &read, NULL, &page, err);

    if (status == SIRIX_OK) {
        update.node_key = page->nodes[0].node_key;
        status = sirix_client_apply(client, &apply, NULL, &applied, err);
    }
    sirix_client_free(page);
    sirix_client_free(applied);
    return status;
}

static enum sirix_status show_history(struct sirix_client *client, struct sirix_error *err)
{
    struct sirix_history_request request = {.database = "c", .resource = "users"};
    struct sirix_history_page *page = NULL;
    enum sirix_status status = sirix_client_history(client, &request, NULL, &page, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = page->count; i > 0; i--) {
        const struct sirix_revision_info *item = &page->items[i - 1];

        printf("revision %u: %.*s\n", (unsigned)item->revision, (int)item->message.len,
               (const char *)item->message.data);
    }
    sirix_client_free(page);
    return SIRIX_OK;
}

static enum sirix_status show_first(struct sirix_client *client, struct sirix_error *err)
{
    struct sirix_read_document_request request = {
        .database = "c", .resource = "users", .view = {.kind = SIRIX_VIEW_REVISION, .revision = 1}};
    struct sirix_document_stream *stream = NULL;
    struct sirix_bytes piece;
    enum sirix_status status = sirix_client_read_document(client, &request, NULL, &stream, err);

    if (status != SIRIX_OK) {
        return status;
    }
    printf("text of 1: ");
    while ((status = sirix_document_stream_next(stream, &piece, err)) == SIRIX_OK &&
           piece.len != 0) {
        (void)fwrite(piece.data, 1, piece.len, stdout);
    }
    printf("\n");
    sirix_document_stream_close(stream);
    return status;
}

static enum sirix_status show_query(struct sirix_client *client, struct sirix_error *err)
{
    struct sirix_query_request request = {
        .query = TEXT("$$[].age"), .database = "c", .resource = "users"};
    struct sirix_query_stream *stream = NULL;
    struct sirix_query_part part = {.kind = SIRIX_QUERY_PART_ITEMS};
    enum sirix_status status = sirix_client_query(client, &request, NULL, &stream, err);

    while (status == SIRIX_OK && part.kind != SIRIX_QUERY_PART_END) {
        status = sirix_query_stream_next(stream, &part, err);
        for (size_t i = 0;
             status == SIRIX_OK && part.kind == SIRIX_QUERY_PART_ITEMS && i < part.count; i++) {
            printf("query: %.*s\n", (int)part.items[i].json.len,
                   (const char *)part.items[i].json.data);
        }
    }
    sirix_query_stream_close(stream);
    return status;
}

/* What a program can use of an error: the stable names of docs/errors.md. */
static void show_error(struct sirix_client *client)
{
    struct sirix_resource_list *list = NULL;
    struct sirix_error err;

    memset(&err, 0, sizeof(err));
    if (sirix_client_list_resources(client, "none", NULL, NULL, &list, &err) != SIRIX_OK) {
        printf("error: %s %s\n", sirix_status_name(err.status), sirix_reason_name(err.reason));
    }
    sirix_client_free(list);
}

int main(int argc, char **argv)
{
    struct sirix_client *client = NULL;
    struct sirix_error err;
    enum sirix_status status = SIRIX_OK;

    memset(&err, 0, sizeof(err));
    if (argc != 2) {
        (void)fprintf(stderr, "users ADDRESS\n");
        return 2;
    }
    status = sirix_client_open(argv[1], NULL, &client, &err);
    if (status == SIRIX_OK) {
        status = import_users(client, &err);
    }
    if (status == SIRIX_OK) {
        status = change_age(client, &err);
    }
    if (status == SIRIX_OK) {
        status = show_history(client, &err);
    }
    if (status == SIRIX_OK) {
        status = show_first(client, &err);
    }
    if (status == SIRIX_OK) {
        status = show_query(client, &err);
    }
    if (status == SIRIX_OK) {
        show_error(client);
    } else {
        (void)fprintf(stderr, "%s: %s\n", sirix_status_name(err.status), err.text);
    }
    sirix_client_close(client);
    return status == SIRIX_OK ? 0 : 1;
}
