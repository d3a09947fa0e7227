/* A folder to throw away, with whatever files a backend makes in it. */
#ifndef SIRIX_TESTS_DOCUMENT_TEMP_DIR_H
#define SIRIX_TESTS_DOCUMENT_TEMP_DIR_H

#include <dirent.h>
#include <stdio.h>
#include <unistd.h>

static inline void temp_dir_remove(const char *dir)
{
    DIR *open = opendir(dir);
    struct dirent *entry = NULL;

    while (open != NULL && (entry = readdir(open)) != NULL) {
        if (entry->d_name[0] != '.') {
            (void)unlinkat(dirfd(open), entry->d_name, 0);
        }
    }
    if (open != NULL) {
        (void)closedir(open);
    }
    (void)rmdir(dir);
}

#endif
