/* Removes a folder of a test with everything in it. */
#ifndef SIRIX_TESTS_SQL_REMOVE_TREE_H
#define SIRIX_TESTS_SQL_REMOVE_TREE_H

#include <ftw.h>
#include <stdio.h>

static inline int remove_entry(const char *path, const struct stat *stat, int type,
                               struct FTW *place)
{
    (void)stat;
    (void)type;
    (void)place;
    return remove(path);
}

static inline int remove_tree(const char *dir)
{
    enum { OPEN_MAX_AT_ONCE = 16 };

    return nftw(dir, remove_entry, OPEN_MAX_AT_ONCE, FTW_DEPTH | FTW_PHYS);
}

#endif
