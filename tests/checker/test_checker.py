#!/usr/bin/python3
"""Edits a store through the real daemon, then reads it back with the independent checker.

    test_checker.py --sirixctl SIRIXCTL --storaged STORAGED --proto DIR [--seed N]

Small documents are edited in every way on several branches, often enough that segments get packed, and
a long one is imported. Every revision's text as the daemon gives it must be the text that check.py
rebuilds from the bytes on disk by docs/format.md; so must labels and heads. Then a byte is flipped, and
both the checker and `sirixctl verify` must say so.
"""
import argparse
import hashlib
import json
import os
import random
import subprocess
import sys

import grpc

import case
import daemon

HERE = os.path.dirname(os.path.abspath(__file__))
EDITS = int(os.environ.get('SIRIX_CHECKER_EDITS', '1200'))
PACK_AFTER = 1200  # Makes two groups of 256 segments, and what is too new to be packed.
LONG_ROWS = 14000  # More than a megabyte: built in bulk.
BRANCHES = (b'main', b'one', b'two', b'three')
PLACE = {'database': b'db', 'resource': b'doc'}


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
        return [value(chance, depth + 1) for _ in range(chance.choice([0, 1, 3, 3, 3, 70 if depth == 0 else 2]))]
    return {'k%d' % i: value(chance, depth + 1) for i in range(chance.choice([0, 2, 2, 5, 80 if depth == 0 else 1]))}


class Editor:
    """Random changes; which of them the daemon refuses is not this test's business."""

    def __init__(self, client, chance):
        self.client, self.chance = client, chance
        self.done, self.newest = {}, 1

    def count(self, what, call, **fields):
        try:
            answer = call(**PLACE, **fields)
        except grpc.RpcError as failure:
            refused = (grpc.StatusCode.ALREADY_EXISTS, grpc.StatusCode.NOT_FOUND,
                       grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.INVALID_ARGUMENT,
                       grpc.StatusCode.OUT_OF_RANGE)
            assert failure.code() in refused, failure
            return None
        self.done[what] = self.done.get(what, 0) + 1
        return answer

    def nodes(self, branch):
        return self.client.ReadNode(view=case.pb.View(branch=branch), max_depth=3, max_nodes=300,
                                    **PLACE).nodes

    def operation(self, branch, number):
        chance, pb = self.chance, case.pb
        nodes = self.nodes(branch)
        if not nodes:
            return 'insert', case.insert(json.dumps({'list': [], 'wide': {}}))
        containers = [n for n in nodes if n.kind in (pb.NODE_KIND_OBJECT, pb.NODE_KIND_ARRAY)]
        others = nodes[1:] or nodes
        target = chance.choice(containers or nodes)
        name = b'new %d' % number if target.kind == pb.NODE_KIND_OBJECT else None
        place = {'node_key': target.node_key}
        place.update(chance.choice([{}, {'position': pb.POSITION_LAST_CHILD}, {
            'position': pb.POSITION_INDEX, 'index': chance.randrange(target.child_count + 1)}]))
        what = chance.choices(('insert', 'update', 'delete', 'rename', 'move'), (9, 5, 3, 2, 4))[0]
        text = json.dumps(value(chance), ensure_ascii=False)
        if what == 'insert':
            return what, case.insert(text, name=name, **place)
        other = chance.choice(others).node_key
        if what == 'update':
            return what, case.update(other, text)
        if what == 'delete':
            return what, case.delete(other)
        if what == 'rename':
            return what, case.rename(other, b'name %d' % number)
        return what, case.move(other, name=name, **place)

    def change(self, number):
        chance, client, pb = self.chance, self.client, case.pb
        branch = chance.choice(BRANCHES)
        some = pb.View(revision=chance.randrange(1, self.newest + 1))
        kind = chance.randrange(20)
        if kind == 0:
            self.count('branch', client.CreateBranch, name=branch, view=some)
        elif kind == 1:
            self.count('delete branch', client.DeleteBranch, name=branch)
        elif kind == 2:
            self.count('promote', client.Promote, branch=branch, replace=chance.random() < 0.5,
                       target=chance.choice(BRANCHES))
        elif kind == 3:
            self.count('snapshot', client.CreateSnapshot, name=b'label-%d' % chance.randrange(5),
                       view=some, replace=chance.random() < 0.5)
        elif kind == 4:
            self.count('delete snapshot', client.DeleteSnapshot,
                       name=b'label-%d' % chance.randrange(5))
        elif kind == 5:
            self.note(self.count('revert', client.Revert, branch=branch, view=some))
        else:
            try:
                what, operation = self.operation(branch, number)
            except grpc.RpcError as failure:
                assert failure.code() == grpc.StatusCode.NOT_FOUND, failure
                return
            self.note(self.count(what, client.Apply, branch=branch, operations=[operation],
                                 options=pb.WriteOptions(message=b'edit %d' % number)))

    def note(self, answer):
        if answer is not None:
            self.newest = max(self.newest, answer.result.revision)


def load(client, name, text, size=100000):
    pb = case.pb
    client.Import([pb.ImportRequest(start=pb.ImportStart(database=b'db', resource=name))]
                  + [pb.ImportRequest(data=text[i:i + size]) for i in range(0, len(text), size)])


def edit(client, chance):
    start = {'list': list(range(100)), 'wide': {'m%d' % i: i for i in range(100)}, 'deep': {}}
    load(client, b'doc', json.dumps(start).encode())
    editor = Editor(client, chance)
    for branch in BRANCHES[1:]:
        client.CreateBranch(name=branch, **PLACE)
    for number in range(1, EDITS + 1):
        editor.change(number)
    missing = {'insert', 'update', 'delete', 'rename', 'move', 'revert', 'branch', 'delete branch',
               'promote', 'snapshot', 'delete snapshot'} - set(editor.done)
    assert not missing, ('never done', missing)
    rows = [{'id': i, 'name': 'word %d' % (i % 500), 'tags': ['a', i, None], 'w': i / 8,
             'x%d' % (i % 300): True} for i in range(LONG_ROWS)]
    text = json.dumps(rows).encode()
    assert len(text) > 1 << 20
    load(client, b'long', text)
    key = client.ReadNode(database=b'db', resource=b'long', path=b'/[77]/name').nodes[0].node_key
    client.Apply(database=b'db', resource=b'long', operations=[case.update(key, '"other"')])
    return editor


def digests(client):
    """What the daemon has, as check.py prints it: (resource, revision) to digest; labels; heads."""
    pb, texts, labels = case.pb, {}, set()
    for name in (b'doc', b'long'):
        place = {'database': b'db', 'resource': name}
        for revision in range(1, client.GetResource(**place).newest_revision + 1):
            digest = hashlib.sha256()
            try:
                for part in client.ReadDocument(view=pb.View(revision=revision), **place):
                    digest.update(part.data)
            except grpc.RpcError as failure:
                assert 'no value' in failure.details(), failure
            texts[name.decode(), revision] = digest.hexdigest()
        for label in client.ListSnapshots(**place).snapshots:
            labels.add((name.decode(), 'snapshot', label.name.decode(), label.revision))
        for branch in client.ListBranches(**place).branches:
            labels.add((name.decode(), 'branch', branch.name.decode(), branch.revision))
    return texts, labels


def checker(data, *words):
    return subprocess.run([sys.executable, os.path.join(HERE, 'check.py'),
                           os.path.join(data, 'databases', 'db')] + list(words),
                          capture_output=True, timeout=300)


def compare(data, texts, labels):
    done = checker(data)
    if done.returncode != 0:
        sys.exit('the checker: ' + done.stderr.decode())
    rows = [line.split() for line in done.stdout.decode().splitlines()]
    packed = int(next(row[1] for row in rows if row[0] == 'packed'))
    found = {(row[0], int(row[1])): row[5] for row in rows if len(row) == 6}
    for key, digest in texts.items():
        assert found.pop(key) == digest, '%s, revision %d differs' % key
    assert not found, ('revisions that the daemon does not have', found)
    assert {(r[0], r[1], r[2], int(r[3])) for r in rows if len(r) == 4} == labels
    if EDITS >= PACK_AFTER:
        assert packed >= 200, 'only %d segments are in packs' % packed
    return packed


def damage(sirixctl, storaged, data):
    path = os.path.join(data, 'databases', 'db', 'data.mdb')
    with open(path, 'rb') as file:
        content = file.read()
    # Strings of leaves; some stand in pages that are free by now, so all of them.
    with open(path, 'wb') as file:
        file.write(content.replace(b'word ', b'Word '))
    done = checker(data)
    assert done.returncode == 1 and b'checksum' in done.stderr, done.stderr
    done = subprocess.run([sirixctl, 'verify', 'db', '--json', '--data', data, '--storaged',
                           storaged], capture_output=True, timeout=300)
    assert done.returncode == 76 and b'checksum' in done.stdout, (done.returncode, done.stdout)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--sirixctl', required=True)
    parser.add_argument('--storaged', required=True)
    parser.add_argument('--proto', required=True)
    parser.add_argument('--seed', type=int, default=1)
    case.ARGS = parser.parse_args()
    case.load()
    one = daemon.Daemon(case.ARGS.storaged)
    try:
        client = daemon.Client(one.owner, case.pb)
        editor = edit(client, random.Random(case.ARGS.seed))
        texts, labels = digests(client)
        client.close()
        assert one.end() == 0, one.log_text()[-2000:]
        packed = compare(one.folder, texts, labels)
        damage(case.ARGS.sirixctl, case.ARGS.storaged, one.folder)
    finally:
        one.close()
    print('seed %d: %d revisions read back by the independent checker, %d segments in packs; %s'
          % (case.ARGS.seed, len(texts), packed, editor.done))


if __name__ == '__main__':
    main()
