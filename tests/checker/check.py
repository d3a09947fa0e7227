#!/usr/bin/python3
"""An independent reader of a database folder: everything docs/format.md says, and nothing else.

    check.py DIR                       checks every revision of every resource; prints one line each:
                                       RESOURCE REVISION BRANCH NODES TEXT-BYTES SHA256-OF-TEXT
    check.py DIR --text RES REVISION   prints the JSON text of one revision

It shares no code with the store. The database must not be open for writing. Exit code 1 and the reason
when something breaks a rule.
"""
import struct
import sys

from pages import Node, tree_items, trie_rows
from primitives import Bytes, Damaged, require, sha256, siphash24
from storage import Storage


class Resource:
    def __init__(self, storage, number, name):
        self.storage, self.number, self.name = storage, number, name
        prefix = b'r' + struct.pack('>I', number)
        self.names, self.index, self.heads = {}, {}, {}
        for key, value in storage.refs(prefix):
            tag, rest = key[5:6], key[6:]
            body = Bytes(value)
            if tag == b'W':
                self.names[struct.unpack('>I', rest)[0]] = value
            elif tag == b'I':
                run = struct.unpack('>Q', rest)[0]
                for i in range(len(value) // 24):
                    address, time, branch = body.u64(), body.i64(), body.u64()
                    if address:
                        self.index[run * 16 + i] = (address, time, branch)
            elif tag == b'H':
                self.heads[struct.unpack('>Q', rest)[0]] = (body.u64(), body.u64(), body.i64())
            elif tag == b'C':
                self.last_revision, self.last_time, self.next_key = body.u64(), body.i64(), body.u64()
            elif tag == b'D':
                body.i64()
                self.seed = bytes(body.take(16))
                require(body.text8() == name, 'a resource under two names')
        require(max(self.index) == self.last_revision, 'counters and index of revisions')
        for branch, (revision, address, _) in self.heads.items():
            require(self.index[revision][0] == address, 'head of branch %d' % branch)

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
        expected = sorted((siphash24(resource.seed, nodes[key].name) & 0xFFFFFFFF, key)
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
    out, stack, used, values = [], [(1, 0, False)], 0, 0
    while stack:
        item = stack.pop()
        if isinstance(item, bytes):
            out.append(item)
            continue
        key, parent, member = item
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
            stack.append((keys[position], node.key, is_object))
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
