#!/bin/sh
# Installs the npm packages of this folder's lock file, once. Usage: install.sh FOLDER
#
# The lock names exact versions and checksums; the registry is whatever npm is configured for. It
# leaves out an optional package for Windows. Two builds may ask at once: the second waits for the
# first.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$1

mkdir -p "$to"
exec 9>"$to/.lock"
flock 9
if [ -f "$to/installed" ] && cmp -s "$here/package-lock.json" "$to/installed"; then
    exit 0
fi
rm -f "$to/installed"
cp "$here/package.json" "$here/package-lock.json" "$to/"
cd "$to"
npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
cp package-lock.json installed
