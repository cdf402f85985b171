"""A reader of motion rows. It runs the code of spec/MOTION.md, section 3, and follows section 4. Arguments: the page, and
spec/vectors/world/motion.json. Fails if a value differs in one bit."""

import json
import re
import struct
import sys
from math import floor, sqrt

PAGE, VECTORS = sys.argv[1:]


def rounded(v):
    return max(-(2**31), min(2**31 - 1, floor(v + 0.5)))


code = re.search(r"```python\n(.*?)```", open(PAGE, encoding="utf-8").read(), re.DOTALL)
names = {"sqrt": sqrt, "SQRT2": sqrt(2.0), "rounded": rounded}
exec(code.group(1), names)
State = names["State"]


def wrap(n):
    return (n + 2**31) % 2**32 - 2**31


class Bits:
    def __init__(self, data):
        self.bits, self.size, self.at = int.from_bytes(data, "little"), 8 * len(data), 0

    def number(self, n):
        self.at += n
        if self.at > self.size:
            raise ValueError("the frame is cut off")
        return self.bits >> self.at - n & (1 << n) - 1

    def vector(self, count):
        width = self.number(5)
        width = 32 if width == 31 else width
        numbers = [self.number(width) for _ in range(count)]
        return [n - (1 << width) if width and n >> width - 1 else n for n in numbers]

    def end(self):
        if self.size - self.at > 7 or self.bits >> self.at:
            raise ValueError("the frame has unread bytes or filling")


def read_frame(data, grain, tick, baseline):
    """Returns the id and the row of a frame; `None` for a frame without entities."""
    if not data:
        return None
    p, r = grain - 256 >> 4, grain & 15
    bits, guess, entity, state = Bits(data), [0] * 19, None, None
    if baseline is not None:
        state = State(baseline["row"], p, r)
        state.advance((tick - baseline["tick"]) % 2**32)
        guess, entity = state.row(p, r), baseline["id"]
    if baseline is None or bits.number(1):
        entity = bits.number(bits.number(6))
    add = lambda count, first: [wrap(a + b) for a, b in zip(bits.vector(count), first)]
    position = add(3, guess[:3])
    largest = bits.number(2) if bits.number(1) else guess[3]
    components = add(3, [0] * 3 if state is None else state.components(largest, r))
    rest = [add(3, guess[at : at + 3]) for at in (7, 10, 13)]
    inertia = bits.vector(2) if bits.number(1) else guess[16:18]
    decay = bits.vector(1) if bits.number(1) else guess[18:]
    bits.end()
    return entity, position + [largest] + components + sum(rest, []) + inertia + decay


def main():
    vectors, checked = json.load(open(VECTORS, encoding="utf-8")), 0
    for integrated in vectors["integrated"]:
        grain, row = integrated["grain"], integrated["row"]
        p, r = grain - 256 >> 4, grain & 15
        for after in integrated["after"]:
            state = State(row, p, r)
            state.advance(after["steps"])
            for name in ("position", "rotation", "velocity", "spin", "acceleration"):
                found = [struct.pack(">d", value).hex() for value in getattr(state, name)]
                assert found == after[name], f"{name} after {after['steps']} steps: {found}, not {after[name]}"
            assert state.row(p, r) == after["row"], f"the row after {after['steps']} steps"
            checked += 1
    for encoded in vectors["encoded"]:
        frame = encoded["frame"]
        found = read_frame(bytes.fromhex(encoded["bytes"]), encoded["grain"], frame["tick"], encoded["baseline"])
        expected = None if frame.get("row") is None else (frame["id"], frame["row"])
        assert found == expected, f"{found}, not {expected}"
        checked += 1
    assert checked > 30, checked


main()
