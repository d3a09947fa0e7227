/* What the two files of guard/jwt.h share. */
#ifndef SIRIX_GUARD_JWT_KEYS_H
#define SIRIX_GUARD_JWT_KEYS_H

#include "guard/jwt.h"

/* The member of that name of an object; NULL: none. */
const struct sirix_json_node *sirix_jwt_member(const struct sirix_json_node *object,
                                               const char *name);

/* The canonical text of a string; data NULL: it is none. */
struct sirix_bytes sirix_jwt_text(const struct sirix_json_node *node);

/* Whether the name is that of an algorithm that is taken. */
bool sirix_jwt_algorithm_find(struct sirix_bytes name, enum sirix_jwt_algorithm *out);

#endif
