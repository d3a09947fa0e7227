#!/usr/bin/python3
"""An independent reader of a database folder: everything docs/format.md says, and nothing else.

    check.py DIR                       checks every revision of every resource; prints one line each:
                                       RESOURCE REVISION BRANCH NODES TEXT-BYTES SHA256-OF-TEXT
                                       and for each label and branch, and what is in packs:
                                       RESOURCE snapshot NAME REVISION
                                       RESOURCE branch NAME HEAD
                                       packed SEGMENTS
    check.py DIR --text RES REVISION   prints the JSON text of one revision

It shares no code with the store. The database must not be open for writing. Exit code 1 and the reason
when something breaks a rule.
"""
import struct
import sys

from pages import Node, tree_items, trie_rows
from primitives import Bytes, Damaged, require, sha256, siphash24
from storage import Storage


STEP_ELEMENT, STEP_ANY = 0xfffffffe, 0xffffffff


class Resource:
    def __init__(self, storage, number, name):
        self.storage, self.number, self.name = storage, number, name
        prefix = b'r' + struct.pack('>I', number)
        self.names, self.index, self.heads = {}, {}, {}
        self.branches, self.snapshots, self.branch_names = {}, {}, {}
        self.moves, self.gone, self.paths, self.coarse = [], [], set(), False
        self.known_paths, self.path_ids, self.hashes = set(), {}, {}
        for key, value in storage.refs(b'h' + prefix[1:]):
            body = Bytes(value)
            if key[5:6] == b'H':
                self.heads[struct.unpack('>Q', key[6:])[0]] = (body.u64(), body.u64(), body.i64())
            else:
                require(key[5:] == b'C', 'a changing row of another kind')
                self._counters(body)
        runs = []
        for key, value in storage.refs(prefix):
            tag, rest = key[5:6], key[6:]
            body = Bytes(value)
            if tag == b'W':
                self.names[struct.unpack('>I', rest)[0]] = value
            elif tag == b'I':
                runs.append(struct.unpack('>Q', rest)[0])
                self._run(runs[-1], body, 16)
                require(body.done(), 'an index row of another length')
            elif tag == b'L':
                self._label(rest, body)
            elif tag == b'B':
                self.branch_names[struct.unpack('>Q', rest)[0]] = value
            elif tag == b'M':
                self.moves.append((struct.unpack('>Q', rest[:8])[0],
                                   [(body.u64(), body.u64()) for _ in range(2)]))
            elif tag == b'Z':
                body.u64(), body.i64()
                self.gone.append((rest[:-9], body.u64(), (body.u64(), body.u64())))
            elif tag == b'P':
                self._path(rest, body)
            elif tag == b'D':
                self.created = body.i64()
                self.seed = bytes(body.take(16))
                require(body.text8() == name, 'a resource under two names')
        require(runs == list(range(self.last_revision // 16)), 'index rows %s' % runs)
        require(max(self.index) == self.last_revision, 'counters and index of revisions')
        require(self.index[1][1] == self.created, 'a descriptor of another time than revision 1')
        for branch, (revision, address, _) in self.heads.items():
            require(self.index[revision][0] == address, 'head of branch %d' % branch)
        self._check_labels()

    def _counters(self, body):
        self.last_revision, self.last_time, self.next_key = body.u64(), body.i64(), body.u64()
        body.u64()
        self.next_branch, self.oldest = body.u64(), body.u64()
        self.counts = (body.u64(), body.u64(), body.u64())
        self._run(self.last_revision // 16, body, self.last_revision % 16 + 1)
        require(body.done(), 'bytes behind the counters')

    def _run(self, run, body, count):
        for i in range(count):
            address, time, branch = body.u64(), body.i64(), body.u64()
            if address:
                self.index[run * 16 + i] = (address, time, branch)

    def _label(self, name, body):
        kind, _created = body.u32(), body.i64()
        revision, address, time = body.u64(), body.u64(), body.i64()
        at = (revision, address, time)
        if kind == 1:
            branch, _expires = body.u64(), body.i64()
            written = body.text8()
            self.branches[written] = (branch, at)
        else:
            require(kind == 2, 'a label of another kind')
            written = body.text8()
            self.snapshots[written] = at
        require(body.done() and written.lower() == name, 'a label under another name')

    def _path(self, key, body):
        path, kind = struct.unpack('>QB', key)
        parent, step = body.u64(), body.u32()
        if path == 0:
            self.coarse = True
        elif path == 1:
            require((parent, step) == (0, STEP_ANY), 'the path of the value')
        else:
            require(path == self.path(parent, step), 'a path under another id')
        self.paths.add((path, kind))
        self.known_paths.add(path)

    def path(self, parent, step):
        found = self.path_ids.get((parent, step))
        if found is None:
            found = siphash24(self.seed, struct.pack('<QI', parent, step))
            found = self.path_ids[parent, step] = found + 2 if found < 2 else found
        return found

    def _check_labels(self):
        for name, (revision, address, time) in (
                list(self.snapshots.items()) + [(n, at) for n, (_, at) in self.branches.items()]):
            require(self.index[revision][:2] == (address, time), 'label %s' % name.decode())
        for name, (branch, _) in self.branches.items():
            require(branch in self.heads and self.branch_names[branch] == name,
                    'branch %s' % name.decode())
        require(set(self.heads) == {0} | {branch for branch, _ in self.branches.values()},
                'heads without a branch')
        require(max(self.heads) < self.next_branch, 'a branch id that was never given')
        for branch, ends in self.moves:
            require(branch in self.heads or branch in self.branch_names, 'a move of no branch')
            require(all(self.index[r][0] == a for r, a in ends), 'a move to no revision')
        for _, began, (revision, address) in self.gone:
            require(began in self.index and self.index[revision][0] == address,
                    'a deleted branch of no revision')
        require(self.counts == (len(self.index), len(self.branches) + 1, len(self.snapshots)),
                'counters of revisions, branches and snapshots: %s' % (self.counts,))

    def hash(self, name):
        if name not in self.hashes:
            self.hashes[name] = siphash24(self.seed, name)
        return self.hashes[name]

    def check_path(self, path, node):
        require(self.coarse or (path, node.value_kind) in self.paths,
                'kind %d of key %d is not in the path summary' % (node.value_kind, node.key))

    def step_down(self, path, node):
        """The path of a child: the step that is stored, or any."""
        step = STEP_ELEMENT if not node.field else STEP_ANY if node.name_id is None else node.name_id
        exact = self.path(path, step)
        if exact in self.known_paths or not node.field:
            return exact
        return self.path(path, STEP_ANY)

    def record(self, revision):
        address, time, branch = self.index[revision]
        require(address & (1 << 21) - 1 == 2, 'a record that is not at offset 16')
        number = address >> 21
        segment = self.storage.segment(number)
        require(segment[3] == 1 and struct.unpack('<I', segment[4:8])[0] == self.number,
                'segment %d is no commit of this resource' % number)
        record = Record(segment)
        require((record.revision, record.time, record.branch) == (revision, time, branch),
                'index row of revision %d' % revision)
        record.number = number
        return record


class Record:
    def __init__(self, segment):
        body = Bytes(segment, 16)
        require(body.u8() == 0x52 and body.u8() == 1, 'type of a record')
        author_len, message_len = body.u16(), body.u32()
        self.revision, self.time = body.u64(), body.i64()
        self.parent, self.parent_address = body.u64(), body.u64()
        self.jump, self.jump_address = body.u64(), body.u64()
        self.depth, self.height, self.branch = body.u32(), body.u32(), body.u64()
        self.root, self.next_key = body.u64(), body.u64()
        self.nodes, self.text_bytes, self.adopted_from = body.u64(), body.u64(), body.u64()
        self.adoptions, self.segments = body.u32(), body.u32()
        require(body.u64() == 0, 'secondary roots')
        self.body, self.chain = bytes(body.take(32)), bytes(body.take(32))
        self.fields = bytes(segment[16:16 + 160])
        self.author, self.message = bytes(body.take(author_len)), bytes(body.take(message_len))
        self.end = (body.at + 7) // 8 * 8


def check_chain(resource, records):
    for record in records.values():
        parent = records.get(record.parent)
        require((record.parent == 0) == (parent is None), 'a parent that is not there')
        before = parent.chain if parent else bytes(32)
        require(record.chain == sha256(before, record.fields, record.author,
                                       sha256(record.message)),
                'chain of revision %d' % record.revision)
        require(record.depth == (parent.depth + 1 if parent else 0), 'depth')
        if parent:
            require(resource.index[record.parent][0] == record.parent_address, 'parent address')
            require(resource.index[record.jump][0] == record.jump_address, 'jump address')
            require(record.time > parent.time, 'time of revision %d' % record.revision)
        if record.segments == 1:
            segment = resource.storage.segment(record.number)
            require(record.body == sha256(segment[record.end:]),
                    'body of revision %d' % record.revision)


def ordered_children(resource, node, nodes):
    """Keys of a container's children in order, with tree and name index checked."""
    keys = node.children
    if node.tree is not None:
        items = tree_items(resource.storage, node.tree, 4)
        keys = [key for key, _ in items]
        for key, label in items:
            require(key in nodes and nodes[key].label == label, 'label of key %d' % key)
    require(len(keys) == node.count, 'child count of key %d' % node.key)
    if node.index:
        expected = sorted((resource.hash(nodes[key].name) & 0xFFFFFFFF, key)
                          for key in keys)
        require(tree_items(resource.storage, node.index, 6) == expected,
                'name index of key %d' % node.key)
    return keys


def text_of(resource, record):
    """The JSON text of a revision, every node of its trie used exactly once."""
    nodes = {}
    for key, raw in trie_rows(resource.storage, record.root, record.height):
        require(0 < key < record.next_key, 'a key that was never given: %d' % key)
        nodes[key] = Node(resource.storage, resource.names, key, raw)
    if not nodes:
        require(record.nodes == 0 and record.text_bytes == 0, 'counts of an empty revision')
        return b''
    out, stack, used, values = [], [(1, 0, False, 0)], 0, 0
    while stack:
        item = stack.pop()
        if isinstance(item, bytes):
            out.append(item)
            continue
        key, parent, member, path = item
        node = nodes.get(key)
        require(node is not None and node.parent == parent, 'parent of key %d' % key)
        require(node.field == member, 'a member in an array or an element in an object')
        used, values = used + 1, values + 1
        if member:
            out.append(b'"' + node.name + b'":')
        if node.kind == 9:
            node = nodes.get(key + 1)
            require(node is not None and node.parent == key and node.kind in (1, 2),
                    'container of field %d' % key)
            used += 1
        path = resource.step_down(path, nodes[key]) if path else 1
        resource.check_path(path, node)
        if node.value is not None:
            out.append(node.value)
            continue
        keys = ordered_children(resource, node, nodes)
        is_object = node.kind == 1
        if is_object:
            texts = [nodes[k].name for k in keys if k in nodes]
            require(len(set(texts)) == len(keys), 'a member twice in key %d' % node.key)
        out.append(b'{' if is_object else b'[')
        stack.append(b'}' if is_object else b']')
        for position in range(len(keys) - 1, -1, -1):
            stack.append((keys[position], node.key, is_object, path))
            if position:
                stack.append(b',')
    text = b''.join(out)
    require(used == len(nodes), 'rows that no parent names: %d' % (len(nodes) - used))
    require(values == record.nodes, 'node count %d, counted %d' % (record.nodes, values))
    require(len(text) == record.text_bytes, 'text bytes %d, counted %d'
            % (record.text_bytes, len(text)))
    return text


def resources_of(storage):
    for key, value in storage.refs(b'N'):
        body = Bytes(value)
        number, name = body.u32(), body.text8()
        require(key[1:] == name.lower(), 'key of a resource\'s name')
        yield Resource(storage, number, name)


def main(arguments):
    storage = Storage(arguments[0])
    if len(arguments) == 4 and arguments[1] == '--text':
        for resource in resources_of(storage):
            if resource.name == arguments[2].encode():
                sys.stdout.buffer.write(text_of(resource, resource.record(int(arguments[3]))))
                return 0
        raise Damaged('no resource %s' % arguments[2])
    for resource in resources_of(storage):
        records = {}
        for revision in sorted(resource.index):
            try:
                record = records[revision] = resource.record(revision)
                text = text_of(resource, record)
            except Damaged as damage:
                raise Damaged('%s, revision %d: %s' % (resource.name.decode(), revision, damage))
            print(resource.name.decode(), revision, record.branch, record.nodes, len(text),
                  sha256(text).hex())
        check_chain(resource, records)
        for name, (revision, _, _) in sorted(resource.snapshots.items()):
            print(resource.name.decode(), 'snapshot', name.decode(), revision)
        heads = {b'main': 0}
        heads.update((n, branch) for n, (branch, _) in resource.branches.items())
        for name, branch in sorted(heads.items()):
            print(resource.name.decode(), 'branch', name.decode(), resource.heads[branch][0])
    print('packed', storage.packed)
    for number in storage.segments:
        storage.segment(number)
    return 0


if __name__ == '__main__':
    if len(sys.argv) not in (2, 5):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    try:
        sys.exit(main(sys.argv[1:]))
    except Damaged as damage:
        print('check.py: %s' % damage, file=sys.stderr)
        sys.exit(1)
