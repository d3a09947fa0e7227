#!/bin/sh
# Fails when a file includes a header that its folder may not see, or a target links a library of ours
# whose headers it may not include: the arrows of docs/architecture.md.
#
# Two tables. ARROWS: a folder, then the prefixes of our own headers that it may include. OUTSIDE: a
# pattern of a library's header, then the folders (or files) that may include it.
# Usage: check_includes.sh SOURCE_DIR
set -eu
cd "$1"

# Longest folder first: the first match decides.
arrows='
client/shared/base       base/
client/shared/json       base/ json/
client/shared/probe      base/ probe/
client/lib               base/ sirix/ lib/ storage.pb-c.h error.pb-c.h health.pb-c.h reflection.pb-c.h
client/cli               base/ json/ sirix/ cli/
client/include           sirix/ base/
storaged/store/segment   base/ store/segment/
storaged/store/page      base/ store/segment/ store/page/
storaged/store/child     base/ store/segment/ store/page/ store/child/
storaged/store/revision  base/ store/segment/ store/page/ store/child/ store/revision/
storaged/store/document  base/ json/ store/
storaged/store           store/
storaged/query/syntax    base/ query/error.h query/syntax/
storaged/query/value     base/ json/ query/error.h query/value/
storaged/query/function  base/ json/ query/error.h query/value/ query/function/
storaged/query/plan      base/ json/ query/error.h query/syntax/ query/value/ query/function/ query/plan/
storaged/query           base/ json/ store/ query/
storaged/auth            base/ auth/
storaged/service         base/ json/ store/ query/query.h query/catalogue.h query/error.h service/
storaged/sql             base/ json/ store/ query/node/stored.h service/ sql/
storaged/ops             base/ probe/ store/ service/ ops/
storaged/rpc             base/ service/ sql/sql.h sql/stream.h auth/ rpc/ sirix/descriptors.h .pb-c.h
storaged/app             base/ probe/ rpc/ ops/ auth/ service/ app/
storaged/main.c          app/
gateway/backend          base/ sirix/ backend/
gateway/guard            base/ json/ guard/
gateway/jsonrpc          base/ json/ jsonrpc/
gateway/mcp              base/ json/ sirix/ backend/ guard/ jsonrpc/ mcp/
gateway/transport        base/ json/ probe/ guard/ jsonrpc/ mcp/ transport/
gateway                  base/ json/ probe/ sirix/ backend/ guard/ mcp/ transport/ app.h audit_command.h
'

outside='
lmdb\.h           ^storaged/store/segment/lmdb_|^tests/
openssl/          ^client/shared/base/|^gateway/|^storaged/auth/|^tests/
zstd\.h           ^storaged/store/|^tests/
gmp\.h            ^storaged/query/value/|^tests/
pcre2\.h          ^storaged/query/value/|^tests/
utf8proc\.h       ^storaged/query/value/|^tests/
sqlite3\.h        ^storaged/sql/|^tests/
grpc/             ^storaged/rpc/|^client/lib/|^tests/
protobuf-c/       ^storaged/rpc/|^client/lib/|^tests/
microhttpd\.h     ^gateway/transport/|^client/shared/probe/|^tests/
curl/             ^gateway/|^tests/
cmocka\.h         ^tests/
'

failed=0
list=$(mktemp)
trap 'rm -f "$list"' EXIT
find storaged gateway client -name '*.[ch]' -print | LC_ALL=C sort |
    xargs grep -nE '^[[:space:]]*#[[:space:]]*include' >"$list" || true

# Both checks read the arrows, and ask which folder of the table a path is in (0: none).
reader='
    function read_arrows(    n, i, j, lines, fields, f) {
        n = split(arrows, lines, "\n")
        for (i = 1; i <= n; i++) {
            fields = split(lines[i], f, /[[:space:]]+/)
            if (fields < 2) continue
            count++; folder[count] = f[1]; allowed[count] = ""
            for (j = 2; j <= fields; j++) allowed[count] = allowed[count] f[j] " "
        }
    }
    function folder_of(path,    i) {
        for (i = 1; i <= count; i++)
            if (index(path, folder[i] "/") == 1 || path == folder[i]) return i
        return 0
    }
    # Links ask for a whole folder: some header of it will do.
    function may(at, header, whole,    k, j, a) {
        k = split(allowed[at], a, " ")
        for (j = 1; j <= k; j++)
            if (index(header, a[j]) == 1 || (whole && index(a[j], header) == 1) ||
                (a[j] ~ /pb-c\.h$/ && header ~ /\.pb-c\.h$/)) return 1
        return 0
    }
'

awk -v arrows="$arrows" -v outside="$outside" "$reader"'
    BEGIN {
        read_arrows()
        m = split(outside, lines, "\n")
        for (i = 1; i <= m; i++)
            if (split(lines[i], f, /[[:space:]]+/) >= 2) { o++; pattern[o] = f[1]; where[o] = f[2] }
    }
    {
        split($0, part, ":"); file = part[1]
        header = $0; sub(/^[^"<]*["<]/, "", header); sub(/[">].*$/, "", header)
        if ($0 ~ /include[[:space:]]*"/) {
            at = folder_of(file)
            if (!at) { print file ": in a folder without arrows; add it to tests/lint/check_includes.sh"; bad = 1 }
            else if (!may(at, header, 0)) { print file ": may not include \"" header "\""; bad = 1 }
        }
        for (i = 1; i <= o; i++)
            if (header ~ "^" pattern[i] && file !~ where[i]) {
                print file ": may not include <" header ">"; bad = 1
            }
    }
    END { exit bad }
' "$list" || failed=1

# Links: every library of ours stands for the headers of the folder that makes it.
find storaged gateway client proto -name CMakeLists.txt -print | LC_ALL=C sort | xargs awk -v arrows="$arrows" "$reader"'
    function prefix(path) {
        if (path ~ /^client\/lib/) return "sirix/"
        if (path ~ /^proto/) return "storage.pb-c.h"
        sub(/^storaged\//, "", path); sub(/^client\/shared\//, "", path)
        return path "/"
    }
    BEGIN { read_arrows() }
    { sub(/#.*/, ""); text[FILENAME] = text[FILENAME] " " $0 }
    END {
        for (file in text) {
            path = file; sub(/\/CMakeLists.txt$/, "", path)
            n = split(text[file], word, /[[:space:]()]+/)
            for (i = 1; i < n; i++)
                if (word[i] == "add_library" && word[i + 1] ~ /^sirix_/) made[word[i + 1]] = path
        }
        for (file in text) {
            path = file; sub(/\/CMakeLists.txt$/, "", path)
            rest = text[file]
            while (match(rest, /target_link_libraries[[:space:]]*\([^)]*\)/)) {
                n = split(substr(rest, RSTART, RLENGTH), word, /[[:space:]()]+/)
                rest = substr(rest, RSTART + RLENGTH)
                for (i = 3; i <= n; i++)
                    if (word[i] in made && made[word[i]] != path && !may(folder_of(path), prefix(made[word[i]]), 1)) {
                        print file ": " word[2] " may not link " word[i]; bad = 1
                    }
            }
        }
        exit bad
    }
' || failed=1

exit "$failed"
