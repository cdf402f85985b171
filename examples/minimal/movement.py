"""Movement: REPLICATION payloads of a world (spec/WORLD.md, section 5), encoded as deltas (spec/DELTA.md)."""

import math

from reader import Reader


def wrap(n):
    return (n + 2**31) % 2**32 - 2**31


def largest_of(row, largest, top):
    """Returns a row's components as if `largest` were left out, for numbers up to `top` (DELTA.md, section 3)."""
    if row[3] == largest:
        return row[4:]
    q = [2.0 * s - top for s in row[4:]]
    rest = 2.0 * top * top - (q[0] * q[0] + q[1] * q[1] + q[2] * q[2])
    q.insert(row[3], math.sqrt(rest) if rest > 0 else 0.0)
    sign = -1.0 if q[largest] < 0 else 1.0
    return [math.floor((sign * c + top) / 2.0 + 0.5) for i, c in enumerate(q) if i != largest]


def magnitude(n):
    return n if n < 4 else min(2 * n.bit_length() - 2 + (n >> n.bit_length() - 2 & 1), 31)


class Movement:
    """Section 5: frames of groups, encoded against frames that arrived before."""

    def __init__(self):
        self.groups = {}
        self.controls = 0  # the newest of ours that were in force, by their number

    def read(self, payload):
        """The newest quantization and row of each id."""
        reader, where = Reader(payload), {}
        now, self.controls = reader.u(4), reader.u(2)
        tick, past = now, []
        while reader.more():
            first = reader.varint()
            group, is_motion, is_alike, depth = first >> 4, first >> 3 & 1, first >> 2 & 1, first & 3
            if is_motion:
                # A motion row (MOTION.md), which a minimal client skips.
                tick, past = tick if is_alike else now - reader.varint(), []
                for _ in range(depth or 1):
                    reader.varint()  # the age of the baseline, or the quantization
                reader.take(reader.varint())
                continue
            if is_alike:
                if depth != len(past) or not past:
                    raise ValueError("a record has the ages of the record before it, and there is none with this depth")
            else:
                tick = now - reader.varint()
                past = [tick - reader.varint() for _ in range(depth)]
                if past:
                    reader.varint()
            grain = None if past else reader.varint()
            delta = reader.take(reader.varint())
            frames = self.groups.setdefault(group, {})
            if tick in frames or any(tick not in frames for tick in past):
                continue
            if past:
                grain = frames[past[0]][0]
            rows = read_delta(delta, grain, tick, past, [frames[tick][1] for tick in past])
            frames[tick] = grain, rows
            newest, rows = frames[max(frames)]
            where.update((id, (newest, row)) for id, row in rows.items())
            while len(frames) > 128:
                del frames[min(frames)]
        return where


def metres(grain, row):
    """Returns a row's position. One step is 1/2^p m, and a jump stands in the bits above (WORLD.md, section 4)."""
    return [part / 2 ** (grain >> 4 & 15) for part in row[:3]]


def read_delta(data, grain, tick, ticks, past):
    """Decodes frames (DELTA.md, sections 5 to 8). A frame has a row of seven numbers for each id."""
    bits, at = int.from_bytes(data[1:], "little"), 0
    top = 2.0 ** (grain & 15) - 1.0

    def plain(n):
        nonlocal at
        at += n
        return bits >> at - n & (1 << n) - 1

    def rice(k):
        ones = 0
        while ones < 20 and plain(1):
            ones += 1
        return plain(32) if ones == 20 else ones << k | plain(k)

    base = past[0] if past else {}
    ids = list(base)
    if not plain(1):
        ids, following = [id for id in base if plain(1)], 0
        for _ in range(plain(24)):
            following += plain(plain(6)) + 1
            ids.append(following - 1)
    means, rows, last = {}, {}, 0
    before = [0] * 7
    ahead = tick - ticks[0] if ticks else 0
    behind = ticks[0] - ticks[1] if len(ticks) > 1 else -ahead % 2**32
    for id in sorted(ids):
        b = base.get(id)
        p = past[1].get(id, b) if len(past) > 1 else b
        o = past[2].get(id, p) if len(past) > 2 else p
        if b and not plain(1):
            before = rows[id] = b
            continue
        bend = lambda x, y, z: 8 * min(abs(wrap(wrap(x - y) - wrap(y - z))), 4000)
        errors = [bend(*column) for column in zip(b, p, o)] if b else [4096] * 7
        quiet = [i for i, error in enumerate(errors) if error == 0]
        missed = set(range(7)) - set(quiet)
        if quiet and plain(1):
            missed |= {i for i in quiet if plain(1)}
        row, row_error, is_first = [], last, True
        for i in range(7):
            guess = b[i] if b else before[i]
            if b and i != 3:
                x, y, z = (b[i], p[i], o[i]) if i < 3 else [largest_of(r, row[3], top)[i - 4] for r in (b, p, o)]
                step = wrap(x - y)
                moves = abs(step) <= 2**20 and 0 < behind <= 255 and ahead <= 255
                guess = x + ((2 * step * ahead + behind) // (2 * behind) if moves else 0)
            rest = 0
            if i in missed:
                own = magnitude(errors[i])
                if i == 3:
                    rest = rice(0)
                else:
                    situation = i, own, magnitude(row_error) // 2
                    mean = means.get(situation, 2 * own if own < 4 else (2 + own % 2) << own // 2)
                    z = rice((mean // 22).bit_length())
                    means[situation] = (31 * mean + 16 * min(z, 65536)) // 32
                    rest = wrap(z >> 1 ^ -(z & 1))
            row.append(guess + rest & 3 if i == 3 else wrap(guess + rest))
            if i != 3:
                size = 16 * min(abs(rest), 4000)
                row_error, is_first = (size if is_first else (row_error + size) // 2), False
        before, last = row, row_error
        rows[id] = row
    return rows
