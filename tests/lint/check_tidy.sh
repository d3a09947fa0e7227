#!/bin/sh
# Fails when clang-tidy 14 finds something in our sources (.clang-tidy has the checks).
# Usage: check_tidy.sh SOURCE_DIR BUILD_DIR quick|whole (a build, for its compile_commands.json)
#
# quick leaves the analyzer out, which takes nine tenths of the time. tidy_ledger.txt lists folders and
# files that are not looked at yet; it only shrinks.
set -eu
cd "$1"
build=$2
checks=
[ "$3" = whole ] || checks=-clang-analyzer-*
out=$(mktemp)
trap 'rm -f "$out"' EXIT
find client gateway storaged -name '*.c' | grep -v -f tests/lint/tidy_ledger.txt >"$out.files" || true
trap 'rm -f "$out" "$out.files"' EXIT
[ -s "$out.files" ] || { echo "no sources to look at" >&2; exit 1; }
# gcc has warnings that clang does not know; theirs are for the compiler to find.
if ! xargs -P2 -n4 clang-tidy-14 -p "$build" --quiet --extra-arg=-Wno-unknown-warning-option \
    "--checks=$checks" <"$out.files" >"$out" 2>/dev/null; then
    grep -E 'error|warning' "$out" | sort -u | head -100 >&2
    exit 1
fi
