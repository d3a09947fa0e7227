#!/bin/sh
# Installs the Debian packages of one or more sets, if any is missing. Usage: packages.sh SET...
#
#   build   what compiling needs          run   what the programs need at run time
#   try     the real data of deploy/try   test  what tests/run needs beyond build
set -eu

build='cmake ninja-build gcc libc6-dev pkg-config liblmdb-dev libprotobuf-c-dev protobuf-c-compiler
       libgrpc-dev libssl-dev libmicrohttpd-dev libedit-dev libgmp-dev libpcre2-dev libutf8proc-dev
       libsqlite3-dev libcurl4-openssl-dev'
run='liblmdb0 libprotobuf-c1 libgrpc29 libssl3 libmicrohttpd12 libedit2 libgmp10 libpcre2-8-0 libutf8proc2
     libsqlite3-0 libcurl4'
try='iso-codes python3'
test='libcmocka-dev g++ clang-14 clang-format-14 clang-tidy-14 cppcheck libclang-rt-14-dev llvm-14 python3
      python3-grpcio python3-protobuf python3-lmdb python3-jsonpatch protobuf-compiler protobuf-compiler-grpc grpc-proto
      iso-codes procps util-linux ca-certificates openssl dpkg-dev systemd
      golang-go golang-github-masterminds-sprig-dev golang-k8s-sigs-yaml-dev python3-yaml'

wanted=
for set in "$@"; do
    case "$set" in
    build) wanted="$wanted $build" ;;
    run) wanted="$wanted $run" ;;
    try) wanted="$wanted $try" ;;
    test) wanted="$wanted $test" ;;
    *)
        echo "packages.sh: unknown set '$set' (build, run, try, test)" >&2
        exit 2
        ;;
    esac
done

# npm only where nobody brought one: Debian's conflicts with Node packages from elsewhere.
case " $* " in
*" test "*) command -v npm >/dev/null 2>&1 || wanted="$wanted nodejs npm" ;;
esac

missing=
for package in $wanted; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" != 0 ]; then
    echo "These Debian packages are missing; install them as root and run this again:" >&2
    echo "   apt-get install$missing" >&2
    exit 1
fi
echo "Installing Debian packages:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086 # a list on purpose
if ! { apt-get update && apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    cat "$log" >&2
    exit 1
fi
