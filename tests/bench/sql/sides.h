/* The two contestants: the same statements' answers as text, and how long each took. */
#ifndef SIRIX_TESTS_BENCH_SQL_SIDES_H
#define SIRIX_TESTS_BENCH_SQL_SIDES_H

#include <stddef.h>
#include <stdint.h>

enum { SIDE_TEXT_BYTES = 4096 };

struct side_answer {
    char text[SIDE_TEXT_BYTES]; /* Values with '|' between, rows with ';'; reals with six digits. */
    size_t rows;
};

struct ours;
/* A data folder with the records as resource `records` and others as `others` of database `db`. */
struct ours *ours_open(const char *dir, const char *records, const char *others);
void ours_close(struct ours *ours);
void ours_run(struct ours *ours, const char *sql, struct side_answer *out);
/* Until its time is over; returns how much later than that it ended, in ms. */
double ours_run_until(struct ours *ours, const char *sql, uint32_t time_max_ms);
/* node_key of a row by its place. */
uint64_t ours_key(struct ours *ours, uint64_t place);

struct theirs;
/* A file with tables records(id INTEGER PRIMARY KEY, doc TEXT) and others, a line a row. */
struct theirs *theirs_open(const char *file, const char *records_lines, const char *others_lines);
void theirs_close(struct theirs *theirs);
void theirs_run(struct theirs *theirs, const char *sql, struct side_answer *out);

void side_add(struct side_answer *answer, const char *text, size_t len, int first);

#endif
