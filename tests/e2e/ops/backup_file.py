"""Reads and makes backups from docs/format.md alone."""
import hashlib
import struct

START, ROWS, SEGMENTS, END = 1, 2, 3, 4
TABLE = []
for number in range(256):
    for _ in range(8):
        number = (number >> 1) ^ (0x82F63B78 if number & 1 else 0)
    TABLE.append(number)


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = TABLE[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    return crc ^ 0xFFFFFFFF


def frame(kind, payload):
    head = struct.pack("<B3xI", kind, len(payload))
    return head + struct.pack("<I", crc32c(head + payload)) + payload


def frames(data):
    """[(offset, type, payload)]; their lengths are believed, checksums are not looked at."""
    found, at = [], 0
    while at < len(data):
        kind, length = struct.unpack_from("<B3xI", data, at)
        found.append((at, kind, data[at + 12:at + 12 + length]))
        at += 12 + length
    return found


def join(parts):
    return b"".join(frame(kind, payload) for kind, payload in parts)


def close(parts, end):
    """The parts with an end that fits them, made from another end."""
    body = join(parts)
    rows = segments = size = 0
    for kind, payload in parts:
        at = 0
        while at < len(payload) and kind in (ROWS, SEGMENTS):
            if kind == ROWS:
                key, value = struct.unpack_from("<HH", payload, at)
                at += 4 + key + value
                rows += 1
            else:
                length = struct.unpack_from("<QI", payload, at)[1]
                at += 12 + length
                segments += 1
                size += length
    head = struct.pack("<QQQ", rows, segments, size) + end[24:48] + hashlib.sha256(body).digest()
    return body + frame(END, head + end[80:])


class Backup:
    """A whole backup, checked."""

    def __init__(self, data):
        self.rows, self.segments = {}, {}
        self.size = 0
        row_count = 0
        parts = frames(data)
        for at, kind, payload in parts:
            head = data[at:at + 8]
            assert struct.unpack_from("<I", data, at + 8)[0] == crc32c(head + payload), at
            if kind == START:
                magic, major, minor, flags = struct.unpack_from("<8sHHI", payload)
                assert (magic, major, minor) == (b"SIRIXBAK", 1, 0)
                self.made_us, self.created_us = struct.unpack_from("<qq", payload, 16)
                self.incremental, self.base, self.name = flags == 1, payload[32:64], payload[64:]
            elif kind == ROWS:
                pos = 0
                while pos < len(payload):
                    key, value = struct.unpack_from("<HH", payload, pos)
                    pos += 4
                    self.rows[payload[pos:pos + key]] = payload[pos + key:pos + key + value]
                    pos += key + value
                    row_count += 1
            elif kind == SEGMENTS:
                pos = 0
                while pos < len(payload):
                    number, length = struct.unpack_from("<QI", payload, pos)
                    pos += 12
                    self.segments[number] = payload[pos:pos + length]
                    pos += length
                    self.size += length
        at, kind, payload = parts[-1]
        assert kind == END
        rows, segments, size, self.next, created, holes = struct.unpack_from("<QQQQqQ", payload)
        assert (rows, segments, size) == (row_count, len(self.segments), self.size)
        assert created == self.created_us
        self.sha = payload[48:80]
        assert hashlib.sha256(data[:at]).digest() == self.sha
        self.holes = [struct.unpack_from("<QQ", payload, 80 + 16 * i) for i in range(holes)]
        assert struct.unpack_from("<Q", payload, 80 + 16 * holes)[0] == 12 + len(payload)
        assert len(payload) == 88 + 16 * holes
