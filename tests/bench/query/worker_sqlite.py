#!/usr/bin/env python3
"""SQLite as a process of its own: a line of SQL as JSON in, its rows as one line of JSON out."""
import json
import sqlite3
import sys

database = sqlite3.connect(sys.argv[1], isolation_level=None)
database.execute("pragma journal_mode=WAL")
database.execute("pragma mmap_size=2000000000")
for line in sys.stdin:
    rows = database.execute(json.loads(line)).fetchall()
    sys.stdout.write(json.dumps([row[0] for row in rows]) + "\n")
    sys.stdout.flush()
