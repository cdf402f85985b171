"""A second reader of replication deltas, written from spec/DELTA.md alone.

    second_reader.py VECTORS

reads every conversation in the folder VECTORS and compares each frame.
"""

import json
import sys
from math import floor, sqrt
from pathlib import Path


def wrap(number):
    return (number + 2**31) % 2**32 - 2**31


# Section 3


def magnitude(n):
    if n < 4:
        return n
    octave = n.bit_length() - 1
    return min(2 * octave + (n >> (octave - 1) & 1), 31)


def inframe(values, largest, bits):
    if values[0] == largest:
        return values[1:]
    top = float((1 << bits) - 1)
    a, b, c = [2.0 * s - top for s in values[1:]]
    rest = 2.0 * top * top - (a * a + b * b + c * c)
    q = [a, b, c]
    q.insert(values[0], sqrt(rest) if rest > 0.0 else 0.0)
    sign = -1.0 if q[largest] < 0.0 else 1.0
    return [floor((sign * part + top) / 2.0 + 0.5) for i, part in enumerate(q) if i != largest]


class Invalid(Exception):
    pass


# Section 2


class Column:
    def __init__(self, kind, bits, first):
        self.kind, self.bits, self.first = kind, bits, first

    def value(self, guess, residual):
        if self.kind == "largest":
            return guess + residual & 3
        value = wrap(guess + residual)
        if self.kind == "component" and not 0 <= value < 1 << self.bits:
            raise Invalid("a value")
        return value


def columns_of(layout):
    columns = []
    for field in layout:
        first = len(columns)
        if field["kind"] == "orientation":
            columns.append(Column("largest", field["bits"], first))
            columns += [Column("component", field["bits"], first) for _ in range(3)]
        else:
            columns.append(Column("number", 32, first))
    return columns


# Section 8


class Bits:
    def __init__(self, data, columns):
        self.bits = [byte >> i & 1 for byte in data for i in range(8)]
        self.at = 0
        start = [2 * a if a < 4 else (2 + (a & 1)) << (a // 2) for a in range(32)]
        self.means = [[start[a] for a in range(32) for _ in range(16)] for _ in columns]

    def plain(self, count):
        if self.at + count > len(self.bits):
            raise Invalid("cut off")
        out = sum(self.bits[self.at + i] << i for i in range(count))
        self.at += count
        return out

    def rice(self, k):
        ones = 0
        while ones < 20 and self.plain(1):
            ones += 1
        return self.plain(32) if ones == 20 else ones << k | self.plain(k)

    def mask(self, errors):
        quiet = [i for i, error in enumerate(errors) if error == 0]
        coded = set(range(len(errors))) - set(quiet)
        if quiet and self.plain(1):
            coded |= {i for i in quiet if self.plain(1)}
        return coded

    def residual(self, i, column, error, row_error):
        if column.kind == "largest":
            residual = self.rice(0)
            if residual > 3:
                raise Invalid("a largest component")
            return residual
        situation = magnitude(error) * 16 + magnitude(row_error) // 2
        mean = self.means[i][situation]
        z = self.rice((mean // 22).bit_length())
        self.means[i][situation] = (31 * mean + 16 * min(z, 65536)) // 32
        return wrap(z >> 1 ^ -(z & 1))

    def finish(self):
        if len(self.bits) - self.at >= 8 or any(self.bits[self.at :]):
            raise Invalid("bits are left over")


# Section 5


def read_ids(bits, base):
    if bits.plain(1):
        return list(base)
    ids, following = [id for id in base if bits.plain(1)], 0
    for _ in range(bits.plain(24)):
        width = bits.plain(6)
        id = following + bits.plain(width)
        if width > 32 or id >= 2**32 or id in base:
            raise Invalid("an id")
        ids.append(id)
        following = id + 1
    return sorted(ids)


# Sections 6 and 7


def guess_of(column, i, values, rows, ahead, behind):
    if column.kind == "largest":
        return rows[0][i]
    if column.kind == "component":
        first = column.first
        rows = [inframe(row[first : first + 4], values[first], column.bits) for row in rows]
        b, p = rows[0][i - first - 1], rows[1][i - first - 1]
    else:
        b, p = rows[0][i], rows[1][i]
    step = wrap(b - p)
    moved = 0
    if abs(step) <= 2**20 and 0 < behind <= 255 and ahead <= 255:
        moved = (2 * step * ahead + behind) // (2 * behind)
    return wrap(b + moved)


def errors_of(b, p, o):
    return [8 * min(abs(wrap(wrap(x - y) - wrap(y - z))), 4000) for x, y, z in zip(b, p, o)]


def read(columns, tick, data, past):
    """Reads a frame: a row for each id. `past` has pairs of a tick and a frame."""
    if data[0] & 0b11111001 or data[0] >> 1 != len(past):
        raise Invalid("the header")
    bits = Bits(data[1:], columns)
    frames = [frame for _, frame in past]
    ahead = (tick - past[0][0]) % 2**32 if past else 0
    behind = (past[0][0] - past[1][0]) % 2**32 if len(past) > 1 else 0
    rows, above, last = {}, [0] * len(columns), 0
    for id in read_ids(bits, list(frames[0]) if past else []):
        b = frames[0].get(id) if past else None
        if b is not None and not bits.plain(1):
            rows[id] = above = b
            continue
        if b is not None:
            p = frames[1].get(id, b) if len(past) > 1 else b
            o = frames[2].get(id, p) if len(past) > 2 else p
            errors = errors_of(b, p, o)
        else:
            errors = [4096] * len(columns)
        coded, values, row_error, is_first = bits.mask(errors), [], last, True
        for i, column in enumerate(columns):
            guess = guess_of(column, i, values, (b, p), ahead, behind) if b is not None else above[i]
            residual = bits.residual(i, column, errors[i], row_error) if i in coded else 0
            values.append(column.value(guess, residual))
            if column.kind != "largest":
                size = 16 * min(abs(residual), 4000)
                row_error, is_first = (size if is_first else (row_error + size) // 2), False
        rows[id] = above = values
        last = row_error
    bits.finish()
    return rows


def converse(file):
    conversation = json.loads(file.read_text())
    columns = columns_of(conversation["layout"])
    frames = {}
    for index, step in enumerate(conversation["steps"]):
        past = [(tick, frames[tick]) for tick in step["past"]]
        frame = read(columns, step["tick"], bytes.fromhex(step["bytes"]), past)
        found = [value for row in frame.values() for value in row]
        if list(frame) != step["ids"] or found != step["values"]:
            at = next((i for i, pair in enumerate(zip(found, step["values"])) if pair[0] != pair[1]), None)
            raise SystemExit(f"{file.name}, step {index}: another frame, from value {at} on")
        frames[step["tick"]] = frame
    return len(conversation["steps"])


def main():
    files = sorted(Path(sys.argv[1]).glob("*.json"))
    assert files, "the folder has no vectors"
    print(f"{sum(map(converse, files))} frames read from the page alone")


main()
