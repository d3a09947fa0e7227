"""Checks patches with an independent implementation of RFC 6902 (Debian: python3-jsonpatch).

Usage: check_patches.py PRINT_PATCHES SEED ROUNDS
"""
import decimal
import json
import subprocess
import sys

import jsonpatch


def read(text):
    return json.loads(text, parse_float=decimal.Decimal)


def main():
    lines = subprocess.run(sys.argv[1:4], check=True, stdout=subprocess.PIPE).stdout.splitlines()
    if not lines:
        sys.exit("nothing was printed")
    for number, line in enumerate(lines):
        case = read(line)
        got = jsonpatch.JsonPatch(case["patch"]).apply(case["from"])
        if got != case["to"]:
            sys.exit(f"case {number}: {line.decode()}\ngot {got}")
    print(f"{len(lines)} patches checked")


main()
