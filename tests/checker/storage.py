"""Segments, packs and ref rows of one database, read through LMDB's own binding."""
import struct

import lmdb

from primitives import Bytes, crc32c, require

HEADER = 16


class Storage:
    def __init__(self, directory):
        self.env = lmdb.open(directory, readonly=True, lock=False, max_dbs=8, map_size=1 << 40)
        self.txn = self.env.begin()
        self.tables = {name: self.env.open_db(name.encode(), self.txn, create=False,
                                              integerkey=name in ('seg', 'pack'))
                       for name in ('seg', 'pack', 'refs', 'meta')}
        self.checked = set()
        major, _minor = struct.unpack('<HH', self.txn.get(b'format', db=self.tables['meta'])[:4])
        require(major == 1, 'unknown format version %d' % major)
        self.segments = {}
        self._load()

    def _load(self):
        for key, value in self.txn.cursor(self.tables['seg']):
            self.segments[struct.unpack('=Q', key)[0]] = value
        self.packed = 0
        for key, pack in self.txn.cursor(self.tables['pack']):
            head = Bytes(pack)
            require(head.u16() == 0x5053 and head.u8() == 1, 'a pack without its magic')
            head.u8()
            crc, first, length, count = head.u32(), head.u64(), head.u32(), head.u16()
            directory = 24 + 4 * count
            require(length == len(pack) and 1 <= count <= 256, 'a pack of another length')
            require(crc == crc32c(pack[8:directory]), 'checksum of a pack')
            for (entry,) in struct.iter_unpack('<I', pack[24:directory]):
                number, offset = first + (entry & 255), (entry >> 8) * 8
                require(number <= struct.unpack('=Q', key)[0], 'a member above its pack\'s key')
                require(number not in self.segments, 'segment %d is stored twice' % number)
                size = int.from_bytes(pack[offset + 8:offset + 12], 'little')
                self.segments[number] = pack[offset:offset + size]
                self.packed += 1

    def segment(self, number):
        data = self.segments.get(number)
        require(data is not None, 'segment %d is missing' % number)
        if number not in self.checked:
            head = Bytes(data)
            require(head.u16() == 0x5352 and head.u8() == 1, 'segment %d: magic' % number)
            require(head.u8() in (1, 2), 'segment %d: kind' % number)
            head.u32()
            require(head.u32() == len(data), 'segment %d: length' % number)
            require(head.u32() == crc32c(data[:12], data[16:]), 'segment %d: checksum' % number)
            self.checked.add(number)
        return data

    def at(self, address):
        """The bytes from an address to the end of its segment."""
        number, offset = address >> 21, (address & (1 << 21) - 1) * 8
        data = self.segment(number)
        require(HEADER <= offset < len(data), 'address past the end of segment %d' % number)
        return memoryview(data)[offset:]

    def refs(self, prefix):
        with self.txn.cursor(self.tables['refs']) as cursor:
            if cursor.set_range(prefix):
                for key, value in cursor:
                    if not key.startswith(prefix):
                        return
                    yield bytes(key), bytes(value)
