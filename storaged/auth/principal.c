/* The two principals that a daemon without tokens or certificates knows. */
#include "auth/principal.h"

const struct sirix_principal sirix_principal_owner = {
    .role = SIRIX_ROLE_OPERATOR,
    .name = "owner",
};

const struct sirix_principal sirix_principal_reader = {
    .role = SIRIX_ROLE_READER,
    .name = "reader",
};
