"""Reads numbers in packets (spec/SESSION.md, section 2)."""


def varint(n):
    out = b""
    while n > 0x7F:
        out, n = out + bytes([n & 0x7F | 0x80]), n >> 7
    return out + bytes([n])


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise ValueError(f"{n} bytes were expected at byte {self.at}")
        self.at += n
        return self.data[self.at - n : self.at]

    def u(self, n):
        return int.from_bytes(self.take(n), "little")

    def varint(self):
        out = shift = 0
        while True:
            byte = self.u(1)
            out, shift = out | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                return out

    def more(self):
        return self.at < len(self.data)
