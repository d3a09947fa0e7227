#!/bin/sh
# Fails when cppcheck finds something. Usage: check_cppcheck.sh SOURCE_DIR
#
# Off, because version 2.10 is wrong about them here: uninitvar and uninitStructMember do not follow
# "a failing call leaves its outputs alone" (compilers and sanitizers watch that), internalAstError is its
# own failure on compound literals.
set -eu
cd "$1"
exec cppcheck --enable=warning,performance,portability --std=c11 --inline-suppr --quiet \
    --error-exitcode=1 -j2 --max-configs=1 -D__linux__ -DNULL=0 -DSIRIX_VERSION='"0"' \
    -Iclient/shared -Iclient/include -Iclient -Istoraged -Igateway \
    --suppress=missingIncludeSystem --suppress=uninitvar --suppress=uninitStructMember \
    --suppress=internalAstError --suppress=legacyUninitvar \
    client gateway storaged
