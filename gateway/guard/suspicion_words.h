/* Words by their kind. Internal to guard/suspicion.c. */
#ifndef SIRIX_GUARD_SUSPICION_WORDS_H
#define SIRIX_GUARD_SUSPICION_WORDS_H

#include <stdint.h>

enum sirix_words {
    SIRIX_WORDS_DROP,   /* Not to follow any more, */
    SIRIX_WORDS_PRIOR,  /* what was before, */
    SIRIX_WORDS_RULES,  /* of rules. */
    SIRIX_WORDS_TOOL,   /* Tools of ours, */
    SIRIX_WORDS_ACT,    /* and what to do with them. */
    SIRIX_WORDS_AI,     /* Whom it is said to, */
    SIRIX_WORDS_MUST,   /* and that they have to. */
    SIRIX_WORDS_SECRET, /* What is worth stealing, */
    SIRIX_WORDS_WHERE,  /* and where to. */
    SIRIX_WORDS_HIDE,   /* Not to be told */
    SIRIX_WORDS_USER,   /* to whom. */
    SIRIX_WORDS_SHOW,   /* To be shown, */
    SIRIX_WORDS_PROMPT, /* of what a model was told. */
    SIRIX_WORDS_STRONG, /* Enough alone. */
    SIRIX_WORDS_KINDS,
};

enum { SIRIX_SUSPICION_WORDS_MAX = 1024 };

/* All words by their first byte: those of byte b are entries first[b] to first[b + 1]. */
struct sirix_suspicion_index {
    struct {
        const char *text;
        uint8_t len;
        uint8_t kind; /* enum sirix_words */
    } entries[SIRIX_SUSPICION_WORDS_MAX];
    uint16_t first[257];
};

/* Made at first use; any thread. */
const struct sirix_suspicion_index *sirix_suspicion_index(void);

#endif
