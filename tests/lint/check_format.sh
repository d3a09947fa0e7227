#!/bin/sh
# Fails when clang-format 14 would change a file of ours. Usage: check_format.sh SOURCE_DIR
set -eu
cd "$1"
tool=clang-format-14
command -v "$tool" >/dev/null 2>&1 || tool=clang-format
command -v "$tool" >/dev/null 2>&1 || {
    echo "clang-format is not installed: run tests/run, which installs it" >&2
    exit 1
}
find storaged gateway client tests -name '*.[ch]' -print0 | xargs -0 -r "$tool" --dry-run -Werror
