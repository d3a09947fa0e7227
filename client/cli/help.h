/* What the program says about itself, all of it out of the tables of commands, flags and statuses. */
#ifndef SIRIX_CLI_HELP_H
#define SIRIX_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

void sirixctl_help(FILE *file);
void sirixctl_help_command(FILE *file, const struct sirixctl_command *command);

/* docs/cli.md. */
void sirixctl_help_page(FILE *file);

#endif
