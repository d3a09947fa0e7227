#!/bin/sh
# Fails when clang-tidy 14 finds something in our sources (.clang-tidy has the checks).
# Usage: check_tidy.sh SOURCE_DIR BUILD_DIR (a clang build, for its compile_commands.json)
set -eu
cd "$1"
build=$2
out=$(mktemp)
trap 'rm -f "$out"' EXIT
if ! find client gateway storaged -name '*.c' -print0 |
    xargs -0 -r -P2 -n4 clang-tidy-14 -p "$build" --quiet >"$out" 2>/dev/null; then
    grep -E 'error|warning' "$out" | sort -u | head -100 >&2
    exit 1
fi
