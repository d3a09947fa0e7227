/* Prints docs/cli.md from the tables of the commands, so that the page cannot be wrong. */
#include "cli/help.h"

int main(void)
{
    sirixctl_help_page(stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
