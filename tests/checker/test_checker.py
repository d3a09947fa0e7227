#!/usr/bin/python3
"""Edits a store through the real programs, then reads it back with the independent checker.

    test_checker.py SIRIXCTL STORAGED [SEED]

Every revision's text as the daemon exports it must be the text that check.py rebuilds from the bytes on
disk by docs/format.md. Then a byte is flipped, and both the checker and `sirixctl verify` must say so.
"""
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
EDITS = int(os.environ.get('SIRIX_CHECKER_EDITS', '80'))


class Programs:
    def __init__(self, sirixctl, storaged, data):
        self.sirixctl, self.storaged, self.data = sirixctl, storaged, data

    def __call__(self, *words, ok=(0,), text=None):
        command = [self.sirixctl] + list(words) + ['--data', self.data, '--storaged', self.storaged]
        done = subprocess.run(command, input=text, capture_output=True, timeout=120)
        if done.returncode not in ok:
            sys.exit('%s: exit %d\n%s' % (' '.join(words), done.returncode, done.stderr.decode()))
        return done.stdout

    def wait_for_the_end(self):
        """An embedded daemon ends some seconds after its last client."""
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            if not os.path.exists(os.path.join(self.data, 'storaged.sock')):
                return
            time.sleep(0.05)
        sys.exit('storaged did not end after its last client')


def value(chance, depth=0):
    kind = chance.randrange(9 if depth < 3 else 6)
    if kind == 0:
        return chance.choice([True, False, None])
    if kind == 1:
        return chance.choice([0, -1, 7, 2**63 - 1, -2**63, 2**70, 123456789])
    if kind == 2:
        return chance.choice([0.5, -12.75, 1e300, 100000.25, 3.141592653589793])
    if kind == 3:
        return chance.choice(['', 'plain', 'q"\\\n\t\x01', 'é😀\0', 'x' * 2000])
    if kind in (4, 5):
        return 'word %d' % chance.randrange(100)
    if kind == 6:
        return [value(chance, depth + 1) for _ in range(chance.choice([0, 1, 3, 70]))]
    return {'k%d' % i: value(chance, depth + 1) for i in range(chance.choice([0, 2, 5, 80]))}


def nodes_of(run):
    out = run('read', 'db/doc', '--json', '--depth', '3')
    flat, stack = [], [json.loads(out)]
    while stack:
        item = stack.pop()
        if isinstance(item, dict):
            if 'nodeKey' in item and 'kind' in item:
                flat.append(item)
            stack.extend(item.values())
        elif isinstance(item, list):
            stack.extend(item)
    return flat


def edit(run, chance, number):
    nodes = nodes_of(run)
    containers = [n for n in nodes if n['kind'] in ('object', 'array')]
    others = [n for n in nodes if n['nodeKey'] != 1]
    what = chance.random()
    message = 'edit %d' % number
    text = json.dumps(value(chance), ensure_ascii=False)
    if what < 0.55 or not others:
        target = chance.choice(containers)
        words = ['insert', 'db/doc', str(target['nodeKey']), '-']
        if target['kind'] == 'object':
            words += ['--name', 'new %d' % number]
        words += ['--position', chance.choice(
            ['first', 'last', str(chance.randrange(target['childCount'] + 1))])]
    elif what < 0.8:
        words = ['update', 'db/doc', str(chance.choice(others)['nodeKey']), '-']
    elif what < 0.9:
        words = ['delete', 'db/doc', str(chance.choice(others)['nodeKey'])]
    else:
        revision = chance.randrange(2, number + 2)
        words = ['revert', 'db/doc@%d' % revision]
    run(*words, '--message', message, ok=(0, 65, 66, 73, 78), text=text.encode())


def checker(data, *words):
    return subprocess.run([sys.executable, os.path.join(HERE, 'check.py'),
                           os.path.join(data, 'databases', 'db')] + list(words),
                          capture_output=True, timeout=300)


def compare(run, data):
    history = run('history', 'db/doc', '--json', '--count', '1000')
    run.wait_for_the_end()
    done = checker(data)
    if done.returncode != 0:
        sys.exit('the checker: ' + done.stderr.decode())
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    assert len(rows) > EDITS // 2, 'only %d revisions were made' % len(rows)
    assert len(json.loads(history)['revisions']) == len(rows)
    for row in rows:
        if row[1] == '1':
            continue
        text = run('export', 'db/doc@' + row[1])
        text = text[:-1] if text.endswith(b'\n') else text
        assert hashlib.sha256(text).hexdigest() == row[5], 'revision %s differs' % row[1]
        json.loads(text)
    return len(rows)


def damage(run, data):
    run.wait_for_the_end()
    path = os.path.join(data, 'databases', 'db', 'data.mdb')
    content = open(path, 'rb').read()
    # Strings of leaves; some stand in pages that are free by now, so all of them.
    with open(path, 'wb') as file:
        file.write(content.replace(b'word ', b'Word '))
    done = checker(data)
    assert done.returncode == 1 and b'checksum' in done.stderr, done.stderr
    out = run('verify', 'db', '--json', ok=(76,))
    assert b'checksum' in out, out


def main():
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix='sirix-checker-') as data:
        run = Programs(sys.argv[1], sys.argv[2], data)
        start = {'list': list(range(100)), 'wide': {'m%d' % i: i for i in range(100)}, 'deep': {}}
        run('import', 'db/doc', '-', text=json.dumps(start).encode())
        for number in range(1, EDITS + 1):
            edit(run, chance, number)
        revisions = compare(run, data)
        damage(run, data)
    print('seed %d: %d revisions read back by the independent checker' % (seed, revisions))


if __name__ == '__main__':
    main()
