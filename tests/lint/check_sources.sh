#!/bin/sh
# Rules that a grep can hold: file sizes, banned functions, comment style, names of this or that machine.
# Usage: check_sources.sh SOURCE_DIR
set -eu
cd "$1"
failed=0

files=$(find storaged gateway client tests -name '*.[ch]' -print | LC_ALL=C sort)

fail() {
    printf '%s\n' "$1" >&2
    failed=1
}

# One file, one thing. Tests in Python are lists and may be a little longer.
for file in $files $(find tests deploy -name '*.py' -print | LC_ALL=C sort); do
    case "$file" in *.py) limit=640 ;; *) limit=600 ;; esac
    lines=$(wc -l <"$file")
    if [ "$lines" -gt "$limit" ]; then
        fail "$file: $lines lines, the limit is $limit"
    fi
done

# Unbounded, locale-dependent, or a way into a shell.
banned='(^|[^_[:alnum:]])(strcpy|strcat|sprintf|vsprintf|gets|strtok|atoi|atol|atof|system|popen|tmpnam|mktemp|alloca|rand|srand)[[:space:]]*\('
hits=$(grep -nE "$banned" $(printf '%s\n' $files | grep -v '^tests/') || true)
[ -z "$hits" ] || fail "banned functions:
$hits"

# fork() after gRPC has started hangs; storaged and the gateway never fork at all.
hits=$(grep -nE '(^|[^_[:alnum:]])fork[[:space:]]*\(\)' $(printf '%s\n' $files | grep -v '^tests/') || true)
[ -z "$hits" ] || fail "fork:
$hits"

# Comments are /* */; a // outside a string or an address is not ours.
hits=$(grep -nE '^[[:space:]]*//' $files || true)
[ -z "$hits" ] || fail "line comments:
$hits"

# A decision's four digits begin its file's name and its title, and are of no other; 0000 is the template.
numbers=''
for file in docs/adr/*; do
    name=${file##*/}
    number=${name%%-*}
    case "$name" in
    0000-template.md) continue ;;
    [0-9][0-9][0-9][0-9]-?*.md) ;;
    *)
        fail "$file: the name of a decision is its four digits, -, words and .md"
        continue
        ;;
    esac
    case "$(head -n 1 "$file")" in
    "# $number. "?*) ;;
    *) fail "$file: the title has to begin with \"# $number. \"" ;;
    esac
    case "$numbers" in
    *" $number "*) fail "$file: another decision has the number $number" ;;
    esac
    numbers="$numbers $number "
done

exit "$failed"
