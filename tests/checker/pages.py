"""Tries, node records, strings, child trees and name indexes."""
from primitives import Bytes, require, sha256

FUSED = range(10, 16)


def inner_children(page, level, index):
    head = Bytes(page)
    require(head.u8() == 1 and head.u8() == level, 'an inner page of another type or level')
    presence, low, base, lengths = head.u16(), head.u32(), head.u64(), head.u64()
    require(presence != 0 and low == index & 0xFFFFFFFF, 'an inner page in another place')
    children, rank = [], 0
    for slot in range(16):
        if presence >> slot & 1:
            size = lengths >> 4 * rank & 15
            distance = int.from_bytes(head.take(size), 'little')
            require(size == (distance.bit_length() + 7) // 8, 'a distance in too many bytes')
            children.append((slot, base + distance))
            rank += 1
    require(lengths >> 4 * rank == 0 if rank < 16 else True, 'lengths without a child')
    require(min(a for _, a in children) == base, 'base is not the lowest child')
    return children


def record_row(body):
    """A record, or None for the length byte 0."""
    size = body.u8()
    if size == 0:
        return None
    if size == 255:
        size = body.u32()
        require(size >= 255, 'a long length for a short record')
    return bytes(body.take(size))


def full_leaf(page, index):
    head = Bytes(page)
    require(head.u8() == 2, 'a leaf of another type')
    flags, count, size, first = head.u8(), head.u16(), head.u32(), head.u64()
    require(flags < 2 and first == index * 64, 'a leaf in another place')
    body = Bytes(page, 16, 16 + size)
    rows, slot, hole = {}, flags, False
    while not body.done():
        record = record_row(body)
        if record is None:
            run = body.u8()
            require(1 <= run <= 63 and not hole, 'a run of slots that may not be')
            slot, hole = slot + run, True
        else:
            rows[slot] = record
            slot, hole = slot + (2 if record[0] & 15 in FUSED else 1), False
    require(not hole and slot <= 65 and len(rows) == count, 'rows of a leaf')
    return flags, rows


def leaf(storage, address, index):
    page = storage.at(address)
    if page[0] == 2:
        return full_leaf(page, index)
    head = Bytes(page)
    require(head.u8() == 3, 'a leaf page of unknown type')
    flags, count, zero, size, base = head.u8(), head.u8(), head.u8(), head.u32(), head.u64()
    require(flags < 2 and count <= 8 and zero == 0, 'head of a leaf delta')
    require(base >> 21 <= address >> 21, 'a base in a later segment')
    _, rows = full_leaf(storage.at(base), index)
    body, last = Bytes(page, 16, 16 + size), -1
    for _ in range(count):
        slot = body.u8()
        require(last < slot < 64, 'slots of a delta do not rise')
        last, record = slot, record_row(body)
        if record is None:
            rows.pop(slot, None)
        else:
            rows[slot] = record
    require(body.done(), 'bytes behind a delta')
    return flags, dict(sorted(rows.items()))


def trie_rows(storage, root, height):
    """(key, record) of a whole trie, in the order of the keys."""
    if root == 0:
        return
    stack = [(height, 0, root)]
    carried = None
    while stack:
        level, index, address = stack.pop()
        if level == 0:
            flags, rows = leaf(storage, address, index)
            require(rows, 'a leaf without rows')
            require(bool(flags) == (carried == index * 64), 'carry flag of leaf %d' % index)
            covered = -1
            for slot, record in rows.items():
                require(slot > covered and not (flags and slot == 0), 'rows overlap')
                covered = slot + (1 if record[0] & 15 in FUSED else 0)
                yield index * 64 + slot, record
            carried = index * 64 + 64 if covered == 64 else None
            continue
        for slot, child in reversed(inner_children(storage.at(address), level, index)):
            require(child >> 21 <= address >> 21, 'a child in a later segment')
            stack.append((level - 1, index * 16 + slot, child))


def long_string(storage, address, length):
    head = Bytes(storage.at(address))
    require(head.u8() == 8 and bytes(head.take(3)) == b'\0\0\0', 'a string root of another type')
    count, stored, _decoded, chunk_size, zero = (head.u32(), head.u64(), head.u64(), head.u32(),
                                                 head.u32())
    digest = bytes(head.take(32))
    require(stored == length and zero == 0, 'length of a long string')
    parts = []
    for _ in range(count):
        chunk = Bytes(storage.at(head.u64()))
        require(chunk.u8() == 9 and bytes(chunk.take(3)) == b'\0\0\0', 'a chunk of another type')
        parts.append(bytes(chunk.take(chunk.u32())))
    require(all(len(p) == chunk_size for p in parts[:-1]), 'a chunk of another length')
    text = b''.join(parts)
    require(len(text) == length and sha256(text) == digest, 'hash of a long string')
    return text


class Node:
    """A decoded record; `value` is the JSON text of a scalar, `children` keys or a tree address."""

    def __init__(self, storage, names, key, record):
        body = Bytes(record)
        first = body.u8()
        self.key, self.kind, order = key, first & 15, first >> 4 & 3
        self.record_len = len(record)
        flag6, flag7 = first >> 6 & 1, first >> 7 & 1
        require(self.kind != 0 and order != 3, 'a record of kind 0 or order 3')
        self.label = {0: (key, 0), 1: (-key, 0)}.get(order)
        if self.label is None:
            self.label = (body.zigzag(), body.varint())
        self.parent = key + body.zigzag()
        self.name_id = None
        self.name = self._name(storage, names, body) if self.kind >= 9 else None
        self.field = self.kind >= 9
        self.value_kind = self.kind - 7 if self.kind in FUSED else self.kind
        self.value = self.children = self.tree = self.index = None
        self.count = 0
        if self.value_kind in (1, 2):
            self._children(body, flag6)
        elif self.value_kind == 3:
            self.value = b'"' + self._text(storage, body, flag6) + b'"'
            require(bool(flag7) == (b'\\' in self.value), 'escaped flag of a string')
        elif self.value_kind == 4:
            self.value = b'%d' % body.zigzag()
        elif self.value_kind == 5:
            self.value = self._text(storage, body, flag6) if flag7 else self._decimal(body)
        elif self.value_kind in (6, 7, 8):
            self.value = (b'true', b'false', b'null')[self.value_kind - 6]
        require(body.done(), 'bytes behind the record of key %d' % key)

    @staticmethod
    def _text(storage, body, out_of_line):
        length = body.varint()
        require((length > 1024) == bool(out_of_line), 'a text of %d bytes in the wrong form' % length)
        return long_string(storage, body.u64(), length) if out_of_line else bytes(body.take(length))

    @staticmethod
    def _decimal(body):
        scale, mantissa = body.varint(), body.zigzag()
        require(1 <= scale <= 127, 'scale of a decimal')
        digits = (b'%d' % abs(mantissa)).rjust(scale + 1, b'0')
        return (b'-' if mantissa < 0 else b'') + digits[:-scale] + b'.' + digits[-scale:]

    def _name(self, storage, names, body):
        head = body.varint()
        if head & 3 == 0:
            self.name_id = head >> 2
            require(self.name_id in names, 'an interned name without a row: %d' % self.name_id)
            return names[self.name_id]
        if head & 3 == 1:
            require(head >> 3 <= 1024, 'a long name in place')
            return bytes(body.take(head >> 3))
        require(head & 3 == 2 and head >> 3 > 1024, 'form of a name')
        return long_string(storage, body.u64(), head >> 3)

    def _children(self, body, tree):
        self.count = body.varint()
        if tree:
            self.tree = body.u64()
            self.index = body.u64() if self.kind == 1 else None
            return
        require(self.count <= 64, 'too many children in place')
        self.children, key = [], self.key
        for _ in range(self.count):
            step = body.zigzag()
            require(step != 0, 'a child at distance 0')
            key += step
            self.children.append(key)


def next_label(body, before, rotated):
    step, minor = body.zigzag(), body.varint()
    if rotated:  # Stored rotated left by 24 bits.
        minor = minor >> 24 | (minor & 0xFFFFFF) << 40
    major = (before[0] + step + (1 << 63)) % (1 << 64) - (1 << 63)
    return (major, before[1] + minor) if step == 0 else (major, minor)


def child_leaf(page):
    head = Bytes(page)
    require(head.u8() == 4, 'a child leaf of another type')
    count, size = head.u8(), head.u16()
    body = Bytes(page, 4, size)
    flags = body.u8()
    keys = [body.varint()]
    if flags >> 2 & 1:
        step = body.zigzag()
        keys += [keys[0] + step * i for i in range(1, count)]
    else:
        for _ in range(count - 1):
            keys.append(keys[-1] + body.zigzag())
    orders = [flags & 3] * count
    if flags & 3 == 3:
        packed = body.take((count + 3) // 4)
        orders = [packed[i // 4] >> 2 * (i % 4) & 3 for i in range(count)]
    labels, before = [], (0, 0)
    for key, order in zip(keys, orders):
        if order == 0:
            label = (key, 0)
        elif order == 1:
            label = (-key, 0)
        else:
            label = next_label(body, before, True)
        labels.append(label)
        before = label
    require(body.done() and labels == sorted(set(labels)), 'labels of a child leaf')
    return list(zip(keys, labels))


def name_leaf(page):
    head = Bytes(page)
    require(head.u8() == 6, 'a name leaf of another type')
    count, size = head.u8(), head.u16()
    body = Bytes(page, 4, size)
    value, low = body.u32(), body.varint()
    keys = [low + body.varint() for _ in range(count)]
    hashes = [value]
    for _ in range(count - 1):
        value += body.varint()
        hashes.append(value)
    items = list(zip(hashes, keys))
    require(body.done() and items == sorted(set(items)), 'items of a name leaf')
    return items


def tree_items(storage, root, leaf_type, level=None):
    """Items of a child tree (4) or name index (6) in order; counts and first labels are checked."""
    if root == 0:
        return []
    page = storage.at(root)
    if page[0] == leaf_type:
        require(level in (None, 0), 'a leaf at another level')
        return child_leaf(page) if leaf_type == 4 else name_leaf(page)
    head = Bytes(page)
    require(head.u8() == leaf_type + 1, 'a tree page of another type')
    shape, size = head.u8(), head.u16()
    require(shape >> 4 >= 1 and level in (None, shape >> 4), 'an inner page at another level')
    body, entries = Bytes(page, 4, size), (shape & 15) + 1
    below = [body.u64() for _ in range(entries)]
    counts = [body.varint() for _ in range(entries)]
    items, before = [], (0, 0)
    for address, count in zip(below, counts):
        before = next_label(body, before, leaf_type == 4)
        require(address >> 21 <= root >> 21, 'a tree page in a later segment')
        part = tree_items(storage, address, leaf_type, (shape >> 4) - 1)
        require(len(part) == count, 'count of an inner page')
        require((part[0][1] if leaf_type == 4 else part[0]) == before, 'first label of an entry')
        items += part
    require(body.done(), 'bytes behind an inner page')
    return items
