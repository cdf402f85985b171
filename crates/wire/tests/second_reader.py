"""A second reader of replication deltas, written from spec/DELTA.md alone: it runs the code that stands on the page.

    second_reader.py DELTA.md VECTORS [STEPS]

reads every conversation in the folder VECTORS and compares each frame. With STEPS, a file of intermediate values of the
bodies predictor, it also compares those; with --write STEPS it writes them.
"""

import json
import re
import struct
import sys
from math import floor, sqrt
from pathlib import Path
from types import SimpleNamespace


def wrap(number):
    return (number + 2**31) % 2**32 - 2**31


# Section 3


def magnitude(n):
    if n < 4:
        return n
    octave = n.bit_length() - 1
    return min(2 * octave + (n >> (octave - 1) & 1), 31)


def log(n):
    m = n + 8
    octave = m.bit_length() - 1
    return octave - 1.0 + m / 2**octave


def level(n):
    return log(n) - 6.0


def unpack(values, bits):
    top = float((1 << bits) - 1)
    a, b, c = [2.0 * s - top for s in values[1:]]
    rest = 2.0 * top * top - (a * a + b * b + c * c)
    out = [a, b, c]
    out.insert(values[0], sqrt(rest) if rest > 0.0 else 0.0)
    return out


def components(q, largest, bits):
    top = float((1 << bits) - 1)
    sign = -1.0 if q[largest] < 0.0 else 1.0
    return [(sign * c + top) / 2.0 for i, c in enumerate(q) if i != largest]


def inframe(values, largest, bits):
    if values[0] == largest:
        return values[1:]
    return [floor(c + 0.5) for c in components(unpack(values, bits), largest, bits)]


class Invalid(Exception):
    pass


# Section 2


class Column:
    def __init__(self, kind, bits, first):
        self.kind, self.bits, self.first = kind, bits, first
        self.is_number = kind in ("number", "angle", "component")

    def difference(self, to, start):
        if self.kind != "angle":
            return wrap(to - start)
        half = 1 << (self.bits - 1)
        return (to - start + half) % (1 << self.bits) - half

    def sum(self, start, difference):
        if self.kind != "angle":
            return wrap(start + difference)
        return (start + difference) % (1 << self.bits)

    def holds(self, value):
        top = {"flag": 1, "largest": 3}.get(self.kind)
        if top is None:
            top = None if self.kind == "number" else (1 << self.bits) - 1
        return top is None or 0 <= value <= top


def columns_of(layout):
    columns = []
    for field in layout:
        kind, bits, first = field["kind"], field.get("bits", 32), len(columns)
        if kind == "orientation":
            columns.append(Column("largest", bits, first))
            columns += [Column("component", bits, first) for _ in range(3)]
        else:
            columns.append(Column(kind, bits, first))
    group, before = -1, None
    for column in columns:
        named = (column.kind, column.bits if column.kind in ("angle",) else 0)
        named += (column.first,) if column.kind == "component" else ()
        if named != before:
            group, before = group + 1, named
        column.group = group
    return columns


# Sections 8 and 9: the two coders


class Fast:
    def __init__(self, data, means, columns):
        self.bits = [byte >> i & 1 for byte in data for i in range(8)]
        self.at = 0
        start = [2 * a if a < 4 else (2 + (a & 1)) << (a // 2) for a in range(32)]
        self.means = means or [[start[a] for a in range(32) for _ in range(16)] for _ in columns]
        self.means = [list(column) for column in self.means]

    def plain(self, count):
        if self.at + count > len(self.bits):
            raise Invalid("cut off")
        out = 0
        for i in range(count):
            out |= self.bits[self.at + i] << i
        self.at += count
        return out

    def rice(self, k):
        ones = 0
        while ones < 20 and self.plain(1):
            ones += 1
        return self.plain(32) if ones == 20 else ones << k | self.plain(k)

    def changed(self, scene):
        return self.plain(1)

    def mask(self, errors):
        quiet = [i for i, error in enumerate(errors) if error == 0]
        missed = set(range(len(errors))) - set(quiet)
        if quiet and self.plain(1):
            missed |= {i for i in quiet if self.plain(1)}
        return missed

    def value(self, i, column, scene, guess, error, row_error):
        if column.kind == "flag":
            return self.plain(1)
        if column.kind == "largest":
            return self.rice(0)
        situation = magnitude(error) * 16 + magnitude(row_error) // 2
        mean = self.means[i][situation]
        z = self.rice((mean // 22).bit_length())
        self.means[i][situation] = (31 * mean + 16 * min(z, 65536)) // 32
        return wrap(z >> 1 ^ -(z & 1))

    def finish(self):
        if len(self.bits) - self.at >= 8 or any(self.bits[self.at :]):
            raise Invalid("bits are left over")
        return "fast", self.means


class Small:
    """The arithmetic coder of 9.1, below the page's own code of 9.2 and 9.3."""

    page = {}

    def __init__(self, data, code, models, columns):
        self.data, self.taken, self.low, self.high, self.code = data, 0, 0, 2**32 - 1, 0
        for _ in range(4):
            self.take()
        # The learnt model outlives a packet, so its code runs once. It reads from the current packet.
        Small.page.update(decide=self.decide, plain=self.plain)
        if "Switch" not in Small.page:
            Small.page.update(floor=floor, magnitude=magnitude, log=log, level=level)
            exec(code, Small.page)
        switch, count = self.page["Switch"], len(columns)
        groups = columns[-1].group + 1
        self.page.update(models or {
            "still": [switch() for _ in range(32)],
            "moving": [switch() for _ in range(96)],
            "choices": [[(switch(), switch()) for _ in range(32)] for _ in range(count)],
            "expectations": [self.page["Expectation"]() for _ in range(count)],
            "numbers": [[[switch() for _ in range(24)] for _ in range(36)] for _ in range(groups)],
        })
        self.page["recent"] = [level(0)] * 3
        for expectation in self.page["expectations"]:
            type(expectation).check(expectation)

    def take(self):
        byte = self.data[self.taken] if self.taken < len(self.data) else 0
        self.code = (self.code << 8 | byte) & 0xFFFFFFFF
        self.taken += 1

    def decide(self, p):
        middle = self.low + (self.high - self.low) * p // 65536
        bit = int(self.code <= middle)
        if bit:
            self.high = middle
        else:
            self.low = middle + 1
        while self.low >> 24 == self.high >> 24:
            if self.taken >= len(self.data) + 4:
                raise Invalid("cut off")
            self.low = self.low << 8 & 0xFFFFFFFF
            self.high = (self.high << 8 | 0xFF) & 0xFFFFFFFF
            self.take()
        return bit

    def plain(self, count):
        out = 0
        for _ in range(count):
            out = out << 1 | self.decide(32768)
        return out

    def changed(self, scene):
        self.page.update(scene)
        return self.page["read_changed"]()

    def mask(self, errors):
        return set(range(len(errors)))

    def value(self, i, column, scene, guess, error, row_error):
        value, lean, doubt, moved = guess
        if column.kind == "flag":
            return self.page["read_flag"](i, value)
        if column.kind == "largest":
            return self.page["read_largest"](i, doubt)
        r = self.page["read_number"](i, column.group, error, row_error, lean, doubt, moved)
        return wrap(r)

    def finish(self):
        last = None
        for count in range(4):
            unit = 0xFFFFFFFF >> 8 * count
            value = self.low + unit & ~unit
            if value <= min(self.high, 0xFFFFFFFF):
                last = value.to_bytes(4, "big")[:count]
                break
        if last is None:
            last = self.low.to_bytes(4, "big")
        if self.data[self.taken - 4 :] != last or len(self.data) != self.taken - 4 + len(last):
            raise Invalid("not the end that an encoder writes")
        names = ("still", "moving", "choices", "expectations", "numbers")
        return "small", {name: self.page[name] for name in names}


# Sections 7 and 10: the two predictors


class Linear:
    def __init__(self, columns):
        self.columns = columns

    def begin(self, past, memory):
        self.past = past

    def guess(self, r, i, values):
        column, b = self.columns[i], self.past.row(0, r)
        if column.kind in ("flag", "largest"):
            return b[i], 0, 0, 0
        p = self.past.row(1, r) or b
        o = self.past.row(2, r) or p
        if column.kind == "component":
            first = column.first
            b, p, o = [inframe(v[first : first + 4], values[first], column.bits)[i - first - 1] for v in (b, p, o)]
        else:
            b, p, o = b[i], p[i], o[i]
        step = column.difference(b, p)
        bend = wrap(step - column.difference(p, o))
        ahead = self.past.age(0)
        behind = (self.past.age(1) - ahead) % 2**32
        moved = 0
        if abs(step) <= 2**20 and 0 < behind <= 255 and ahead <= 255:
            moved = (2 * step * ahead + behind) // (2 * behind)
        return column.sum(b, moved), 0, magnitude(8 * min(abs(bend), 2**20)), moved

    def learn(self, r, values):
        pass

    def end(self):
        return []


class Bodies:
    """The page's own code of section 10."""

    def __init__(self, code, predictor):
        self.code = code
        self.body = SimpleNamespace(**predictor, bits=predictor["orientationBits"])
        if "touching" not in predictor:
            self.body.touching = None
        self.trace = None

    def begin(self, past, memory):
        page = {"sqrt": sqrt, "floor": floor, "magnitude": magnitude, "wrap": wrap, "unpack": unpack}
        page |= {"components": components, "inframe": inframe, "body": self.body}
        page |= {"rows": past.rows, "row": past.row, "age": past.age, "depth": past.depth}
        page |= {"changed": past.changed, "memory": memory}
        exec(self.code, page)
        page["begin"]()
        self.page, self.expected = page, None
        if self.trace is not None:
            group = page["group"]
            self.trace |= {"group": {name: real(getattr(group, name)) for name in ("centre", "velocity", "turning")}}
            self.trace["rows"] = []

    def expect(self, r):
        if self.expected == r:
            return
        self.page["expect"](r)
        self.expected = r
        if self.trace is not None:
            page, m = self.page, self.page["m"]
            named = ("place_own", "turn_own", "place_near", "attitude_near", "doubt_place", "doubt_turn")
            self.trace["rows"].append(
                {"row": r, "moving": m.moving, "grouped": m.grouped, "classes": [m.class_move, m.class_turn]}
                | {"velocity": real(m.velocity), "velocity_long": real(m.velocity_long)}
                | {"turning": real(m.turning), "turning_long": real(m.turning_long)}
                | {name: real(page[name]) for name in named}
            )

    def guess(self, r, i, values):
        self.expect(r)
        guess = self.page["guess"](r, i, values)
        if self.trace is not None:
            self.trace["rows"][-1].setdefault("guesses", []).append([int(part) for part in guess])
        return guess

    def learn(self, r, values):
        self.expect(r)
        self.page["learn"](r, values)
        self.expected = None

    def end(self):
        return self.page["end"]()


def real(value):
    """A binary64 as its bits in hexadecimal, or a list of them."""
    return [real(part) for part in value] if isinstance(value, list) else struct.pack(">d", value).hex()


# Sections 1, 4, 5 and 6


class Baseline:
    def __init__(self, tick, ids, rows, changes, errors, models, memory):
        self.tick, self.ids, self.rows = tick, ids, rows
        self.changes, self.errors, self.models, self.memory = changes, errors, models, memory


class Past:
    def __init__(self, tick, ids, baselines):
        self.tick, self.ids, self.baselines = tick, ids, baselines
        self.rows, self.depth = len(ids), len(baselines)
        self.places = [{id: at for at, id in enumerate(baseline.ids)} for baseline in baselines]

    def row(self, i, r):
        if i >= self.depth:
            return None
        at = self.places[i].get(self.ids[r])
        return None if at is None else self.baselines[i].rows[at]

    def age(self, i):
        return (self.tick - self.baselines[i].tick) % 2**32 if i < self.depth else 0

    def of(self, r, what):
        at = self.places[0].get(self.ids[r]) if self.depth else None
        return None if at is None else getattr(self.baselines[0], what)[at]

    def changed(self, r):
        return (self.of(r, "changes") or 0) & 1


def read_ids(coder, base):
    if coder.plain(1):
        return list(base)
    kept = [id for id in base if coder.plain(1)]
    following = 0
    for _ in range(coder.plain(24)):
        bits = coder.plain(6)
        id = following + coder.plain(bits)
        if bits > 32 or id >= 2**32 or id in base:
            raise Invalid("an id")
        kept.append(id)
        following = id + 1
    return sorted(kept)


def read(conversation, codes, columns, predictor, tick, data, baselines):
    header = data[0]
    if header & 0b11110000 or header & 0b1001 not in (0, 0b1001) or header >> 1 & 3 != len(baselines):
        raise Invalid("the header")
    mode = "small" if header & 1 else "fast"
    newest = baselines[0] if baselines else None
    models = newest.models[1] if newest and newest.models[0] == mode else None
    if mode == "fast":
        coder = Fast(data[1:], models, columns)
    else:
        coder = Small(data[1:], codes[9], copy_models(models), columns)
    ids = read_ids(coder, newest.ids if newest else [])
    past = Past(tick, ids, baselines)
    predictor.begin(past, newest.memory if newest else [])
    flag_columns = [i for i, column in enumerate(columns) if column.kind == "flag"][:2]
    near, last, rows, changes, errors = 0, 0, [], [], []
    for r in range(len(ids)):
        b = past.row(0, r)
        scene = {"changed": 1, "near_rows": near, "flags": 0, "speed": 0}
        bit = 1
        if b is not None:
            scene["changed"] = past.of(r, "changes")
            scene["flags"] = sum(b[column] << i for i, column in enumerate(flag_columns))
            p = past.row(1, r)
            if scene["changed"] and p is not None:
                moved = [abs(column.difference(x, y)) for column, x, y in zip(columns, b, p)]
                scene["speed"] = min(max(moved), 2**20)
            bit = coder.changed(scene)
        changes.append((scene["changed"] << 1 | bit) & 0xFF)
        near = near << 1 | bit
        if not bit:
            rows.append(b)
            errors.append(past.of(r, "errors"))
            continue
        row_errors = list(past.of(r, "errors")) if b is not None else [4096] * len(columns)
        mask, values, row_error, is_first = coder.mask(row_errors), [], last, True
        for i, column in enumerate(columns):
            if b is not None:
                guess = predictor.guess(r, i, values)
            else:
                guess = (rows[r - 1][i] if r else 0), 0, 31, 0
            if isinstance(coder, Small):
                coder.page.update(scene)
            rest = coder.value(i, column, scene, guess, row_errors[i], row_error) if i in mask else 0
            if column.kind == "largest" and rest > 3:
                raise Invalid("a largest component")
            value = {"flag": rest ^ (guess[0] & 1), "largest": guess[0] + rest & 3}.get(column.kind)
            value = column.sum(guess[0], rest) if value is None else value
            if not column.holds(value):
                raise Invalid("a value")
            values.append(value)
            z = 16 * min(abs(rest), 4000)
            row_errors[i] = (row_errors[i] + z) // 2
            if column.is_number:
                row_error = z if is_first else (row_error + z) // 2
                is_first = False
        rows.append(values)
        errors.append(row_errors)
        last = row_error
        if b is not None:
            predictor.learn(r, values)
    return Baseline(tick, ids, rows, changes, errors, coder.finish(), predictor.end())


def copy_models(models):
    if models is None:
        return None

    def copy(part):
        if isinstance(part, (list, tuple)):
            return type(part)(copy(one) for one in part)
        if hasattr(part, "P") or hasattr(part, "set"):
            new = object.__new__(type(part))
            new.__dict__.update({name: copy(value) for name, value in part.__dict__.items()})
            return new
        return part

    return {name: copy(part) for name, part in models.items()}


def of_frames(columns, baselines):
    """Section 13: what the coding left behind is made of the frames."""
    if not baselines:
        return []
    newest = baselines[0]
    past = Past(newest.tick, newest.ids, baselines[1:])
    changes, errors = [], []
    for r, b in enumerate(newest.rows):
        p = past.row(0, r) or b
        o = past.row(1, r) or p
        changes.append(int(b != p) | int(p != o) << 1)
        bends = [wrap(c.difference(x, y) - c.difference(y, z)) for c, x, y, z in zip(columns, b, p, o)]
        errors.append([8 * min(abs(bend), 4000) for bend in bends])
    unlearnt = Baseline(newest.tick, newest.ids, newest.rows, changes, errors, (None, None), [])
    return [unlearnt] + baselines[1:]


TRACED = "bodies-small.json"
TRACED_STEPS = 4
TRACED_ROWS = 6


def converse(file, codes):
    conversation = json.loads(file.read_text())
    columns = columns_of(conversation["layout"])
    predictor = Linear(columns)
    if conversation["predictor"]["kind"] == "bodies":
        predictor = Bodies(codes[10], {k: v for k, v in conversation["predictor"].items() if k != "kind"})
    frames, traces = {}, []
    for index, step in enumerate(conversation["steps"]):
        baselines = [frames[tick] for tick in step["past"]]
        if file.name.startswith("frames-"):
            baselines = of_frames(columns, baselines)
        is_traced = file.name == TRACED and index < TRACED_STEPS
        if is_traced:
            predictor.trace = {"tick": step["tick"]}
        data = bytes.fromhex(step["bytes"])
        frame = read(conversation, codes, columns, predictor, step["tick"], data, baselines)
        if is_traced:
            predictor.trace["rows"] = predictor.trace["rows"][:TRACED_ROWS]
            traces.append(predictor.trace)
            predictor.trace = None
        found = [value for row in frame.rows for value in row]
        if frame.ids != step["ids"] or found != step["values"]:
            at = next((i for i, pair in enumerate(zip(found, step["values"])) if pair[0] != pair[1]), None)
            raise SystemExit(f"{file.name}, step {index}: another frame, from value {at} on")
        frames[step["tick"]] = frame
    return len(conversation["steps"]), traces


def main():
    page, folder, *rest = sys.argv[1:]
    text = Path(page).read_text()
    codes = {}
    for number in (9, 10):
        section = re.search(rf"^## {number}\. .*?(?=^## )", text, re.M | re.S).group(0)
        codes[number] = "\n".join(re.findall(r"^```python\n(.*?)^```", section, re.M | re.S))
    steps, traces = 0, []
    for file in sorted(Path(folder).glob("*.json")):
        if not file.name.endswith("steps.json"):
            count, traced = converse(file, codes)
            steps, traces = steps + count, traces + traced
    about = "Intermediate values of spec/DELTA.md, section 10, for the first steps of " + TRACED
    about += ": of the first rows that changed, what `expect` works out and the guesses of all columns; reals are the bits"
    about += " of a binary64 in big-endian hexadecimal."
    found = json.dumps({"about": about, "steps": traces}, separators=(",", ":")) + "\n"
    if rest[:1] == ["--write"]:
        Path(rest[1]).write_text(found)
    elif rest and Path(rest[0]).read_text() != found:
        raise SystemExit(f"{rest[0]}: other intermediate values")
    print(f"{steps} frames read from the page alone")


main()
