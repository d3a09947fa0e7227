/* Operations of a trial, shared by the files that make them. */
#ifndef SIRIX_TESTS_MODEL_OPERATION_H
#define SIRIX_TESTS_MODEL_OPERATION_H

#include "model/trial.h"

void operation_must(enum sirix_status status, const struct sirix_error *err, const char *what);
void operation_must_be(enum sirix_status status, enum sirix_status expected,
                       const struct sirix_error *err, const char *what);
struct sirix_bytes operation_bytes(const char *text);

/* The keys of a new node, and of all below it from the store; each must be new. */
void operation_use_key(struct trial *trial, const struct model_node *node);
void operation_learn_children(struct trial *trial, struct model_node *node);

struct model_node *operation_any_node(struct trial *trial);
void operation_set_name(struct model_node *node, const char *name);

/* A spot where something can go. */
struct inserting {
    struct sirix_edit_insert insert;
    struct model_node *parent; /* NULL: the value slot. */
    size_t index;
    struct sirix_buf name;
    struct sirix_bytes name_view;
    struct sirix_buf text;
};
void inserting_begin(struct trial *trial, struct inserting *in);
void inserting_end(struct inserting *in);

/* trial_insert.c */
void operation_insert(struct trial *trial);
void operation_insert_keyed(struct trial *trial);

#endif
