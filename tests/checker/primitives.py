"""Bytes of the format that everything else is made of: checksums, varints, hashes.

Written from docs/format.md alone, so that the page and the store are held against each other.
"""
import hashlib
import struct


class Damaged(Exception):
    """Stored bytes break a rule of docs/format.md."""


def require(condition, text):
    if not condition:
        raise Damaged(text)


def _crc_tables():
    table = []
    for n in range(256):
        c = n
        for _ in range(8):
            c = (c >> 1) ^ (0x82F63B78 if c & 1 else 0)
        table.append(c)
    tables = [table]
    for _ in range(7):
        last = tables[-1]
        tables.append([(last[n] >> 8) ^ table[last[n] & 255] for n in range(256)])
    return tables


_CRC = _crc_tables()


def crc32c(*parts):
    t0, t1, t2, t3, t4, t5, t6, t7 = _CRC
    crc = 0xFFFFFFFF
    for part in parts:
        part = bytes(part)
        whole = len(part) // 8 * 8
        for low, high in struct.iter_unpack('<II', part[:whole]):
            low ^= crc
            crc = (t7[low & 255] ^ t6[low >> 8 & 255] ^ t5[low >> 16 & 255] ^ t4[low >> 24]
                   ^ t3[high & 255] ^ t2[high >> 8 & 255] ^ t1[high >> 16 & 255] ^ t0[high >> 24])
        for byte in part[whole:]:
            crc = (crc >> 8) ^ t0[(crc ^ byte) & 255]
    return crc ^ 0xFFFFFFFF


def sha256(*parts):
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.digest()


_MASK = (1 << 64) - 1


def siphash24(key, data):
    """SipHash-2-4 (Aumasson and Bernstein, 2012), 64 bits."""
    k0, k1 = struct.unpack('<QQ', key)
    v0, v1 = k0 ^ 0x736F6D6570736575, k1 ^ 0x646F72616E646F6D
    v2, v3 = k0 ^ 0x6C7967656E657261, k1 ^ 0x7465646279746573

    def rotate(x, n):
        return (x << n | x >> (64 - n)) & _MASK

    def rounds(n):
        nonlocal v0, v1, v2, v3
        for _ in range(n):
            v0 = (v0 + v1) & _MASK
            v1 = rotate(v1, 13) ^ v0
            v0 = rotate(v0, 32)
            v2 = (v2 + v3) & _MASK
            v3 = rotate(v3, 16) ^ v2
            v0 = (v0 + v3) & _MASK
            v3 = rotate(v3, 21) ^ v0
            v2 = (v2 + v1) & _MASK
            v1 = rotate(v1, 17) ^ v2
            v2 = rotate(v2, 32)

    whole = len(data) // 8 * 8
    for (word,) in struct.iter_unpack('<Q', data[:whole]):
        v3 ^= word
        rounds(2)
        v0 ^= word
    last = int.from_bytes(data[whole:], 'little') | (len(data) & 255) << 56
    v3 ^= last
    rounds(2)
    v0 ^= last
    v2 ^= 255
    rounds(4)
    return v0 ^ v1 ^ v2 ^ v3


class Bytes:
    """A place in bytes that is read forward; every read past the end is damage."""

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def take(self, n):
        require(0 <= n <= self.end - self.at, 'bytes end too early')
        self.at += n
        return self.data[self.at - n:self.at]

    def u8(self):
        return self.take(1)[0]

    def u16(self):
        return int.from_bytes(self.take(2), 'little')

    def u32(self):
        return int.from_bytes(self.take(4), 'little')

    def u64(self):
        return int.from_bytes(self.take(8), 'little')

    def i64(self):
        return int.from_bytes(self.take(8), 'little', signed=True)

    def text8(self):
        return bytes(self.take(self.u8()))

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            require(shift < 63 or byte <= 1, 'a varint is longer than 64 bits')
            value |= (byte & 127) << shift
            if byte < 128:
                require(byte != 0 or shift == 0, 'a varint is not in its shortest form')
                return value
            shift += 7

    def zigzag(self):
        value = self.varint()
        return value >> 1 ^ -(value & 1)

    def done(self):
        return self.at == self.end
