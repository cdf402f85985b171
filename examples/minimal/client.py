#!/usr/bin/env python3
"""The smallest client of a Nowcast world: spec/MINIMAL.md in Python, with its standard library alone.

    nowcast serve &
    python3 client.py localhost:7777 playground

Joins over WebSocket, walks, receives its own movement, loses its connection, acts meanwhile, resumes the session, walks, and leaves.
"""

import base64, math, os, socket, struct, sys, time

from movement import Movement, metres
from reader import Reader, varint

LIMITS = [8, 1_048_576, 262_144, 16_384, 10_000, 60_000]  # SESSION.md, section 9
PING, PROOF, CLOSE = 0x01, 0x02, 0x03
STATES, EVENT, EVENT_PART, STATE_PART, WINDOW, REPLICATION = 0x10, 0x20, 0x30, 0x40, 0x50, 0x60
PART_BYTES = 1024
PLAYERS, SCREENS = 1 << 32, 1 << 33  # WORLD.md, section 2: from which keys on states are those


class WebSocket:
    """CARRIERS.md, section 4: one packet is one binary message."""

    def __init__(self, host, port, path):
        self.socket = socket.create_connection((host, port), 10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        key = base64.b64encode(os.urandom(16)).decode()
        lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Connection: Upgrade", "Upgrade: websocket"]
        lines += ["Sec-WebSocket-Version: 13", f"Sec-WebSocket-Key: {key}", "Sec-WebSocket-Protocol: nowcast.1"]
        self.socket.sendall("\r\n".join(lines + ["", ""]).encode())
        self.data = b""
        while b"\r\n\r\n" not in self.data:
            self.data += self.some()
        head, self.data = self.data.split(b"\r\n\r\n", 1)
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise ConnectionError((head + self.data).decode(errors="replace"))

    def some(self):
        data = self.socket.recv(65_536)
        if not data:
            raise ConnectionError("the server ended the connection")
        return data

    def send(self, payload, opcode=2):
        mask, n = os.urandom(4), len(payload)
        head = bytes([0x80 | opcode]) + (bytes([0x80 | n]) if n < 126 else b"\xfe" + struct.pack(">H", n))
        self.socket.sendall(head + mask + bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload)))

    def frame(self):
        """Returns the opcode and the payload of the next complete frame; None if none has arrived."""
        if len(self.data) < 2:
            return None
        n, head = self.data[1] & 0x7F, 2
        if n >= 126:
            head = 4 if n == 126 else 10
            n = int.from_bytes(self.data[2:head], "big")
        if len(self.data) < head + n:
            return None
        opcode, payload, self.data = self.data[0] & 0xF, self.data[head : head + n], self.data[head + n :]
        return opcode, payload

    def receive(self, seconds):
        """Returns the next packet; None if none arrives in that time."""
        until = time.monotonic() + seconds
        while True:
            frame = self.frame()
            if frame is None:
                left = until - time.monotonic()
                if left <= 0:
                    return None
                self.socket.settimeout(left)
                try:
                    self.data += self.some()
                except TimeoutError:
                    return None
            elif frame[0] == 2:
                return frame[1]
            elif frame[0] == 8:
                raise ConnectionError("the server closed the WebSocket")
            elif frame[0] == 9:
                self.send(frame[1], 10)


class Session:
    """The part of SESSION.md that MINIMAL.md requires."""

    def __init__(self, host, port, room):
        self.place, self.room = (host, port), room
        self.identity, self.epoch = None, 0  # what resuming takes
        self.number = 0  # of the next packet
        self.largest, self.run = -1, 0  # the last packet received, and how many before it without a gap
        self.next_event = {}  # by lane, of those that arrive
        self.reported = {}  # by lane, what WINDOW said last
        self.events, self.stamp, self.before = 0, 0, 0  # ours, on lane 0; the last is the stamp of the open interval's state
        self.unacknowledged = []  # our events, and the last state of each interval: (number of the packet or None, frame)
        self.newest = {}  # stamps of the states that arrived, by lane and key
        self.parts = {}  # of long messages, what arrived
        self.heard = []  # what arrived: (kind, lane, key, bytes)
        self.connect()

    def clock(self):
        return time.monotonic_ns() // 1000

    def connect(self):
        path = f"/nowcast/{self.room}" + ("?resume=1" if self.identity else "")
        self.carrier = WebSocket(*self.place, path)
        self.nonce, self.proven = os.urandom(8), False
        hello = b"\x80NOWC\x01\x01" + self.nonce + struct.pack("<Q", self.clock())
        hello += b"".join(map(varint, LIMITS)) + bytes([self.identity is not None])
        if self.identity:
            self.epoch += 1
            hello += self.identity + varint(self.epoch)
        self.carrier.send(hello.ljust(160, b"\0"))
        packet = self.carrier.receive(10)
        if not packet or packet[0] != 0x81:
            raise ConnectionError(f"no WELCOME but {packet!r}")
        welcome = Reader(packet)
        welcome.take(1)
        assert welcome.varint() == 1 and welcome.take(8) == self.nonce
        self.proof, self.identity = welcome.take(8), welcome.take(24)
        # Everything that is unacknowledged counts as lost, and is sent again.
        self.unacknowledged = [(None, frame) for _, frame in self.unacknowledged]
        self.send(bytes([PING]))

    def send(self, frames=b""):
        """Sends one packet: acknowledgement, PROOF until it is acknowledged, WINDOW if events were consumed, unsent messages, `frames`."""
        head = struct.pack("<BH", self.largest >= 0, self.number & 0xFFFF)
        head += (self.clock() // 16 & 0xFFFFFF).to_bytes(3, "little")
        if self.largest >= 0:
            head += struct.pack("<H", self.largest & 0xFFFF) + varint(0) + varint(self.run)
        if not self.proven:
            head += bytes([PROOF]) + self.proof
        for lane, consumed in self.next_event.items():
            if self.reported.get(lane) != consumed:
                head += bytes([WINDOW | lane]) + varint(consumed)
                self.reported[lane] = consumed
        for at, (packet, frame) in enumerate(self.unacknowledged):
            if packet is None:
                head += frame
                self.unacknowledged[at] = (self.number, frame)
        self.number += 1
        try:
            self.carrier.send(head + frames)
        except OSError:
            pass  # The carrier is dead: the packet is lost, and what it held is sent again after the resumption.

    def event(self, payload):
        """Puts an event on lane 0. Its `before` is the stamp of the last state of our only key in its interval, or 0."""
        before, self.before = self.before, 0
        frame = bytes([EVENT]) + varint(self.events) + b"\0" + varint(before) + varint(len(payload)) + payload
        self.events += 1
        self.unacknowledged.append((None, frame))
        self.send()

    def state(self, key, value):
        """Puts the newest value of our one key on lane 0. It is kept until it is acknowledged or a newer one of its interval replaces it,
        because the event after it waits for it at the server."""
        if self.before:
            is_older = lambda frame: frame[0] == STATES and frame.startswith(bytes([STATES]) + varint(self.events))
            self.unacknowledged = [pair for pair in self.unacknowledged if not is_older(pair[1])]
        self.stamp = self.before = self.stamp + 1
        record = varint(key) + b"\0" + b"\0" + varint(len(value)) + value + b"\0"
        self.unacknowledged.append((None, bytes([STATES]) + varint(self.events) + varint(self.stamp) + record))
        self.send()

    def receive(self, seconds):
        """Reads and acknowledges everything that arrives in that time."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            packet = self.carrier.receive(min(left, 0.02))
            if packet is None:
                continue
            is_eliciting = self.read(packet)
            # The packet is acknowledged at once. The client may also wait for up to 60 ms more (SESSION.md, section 6).
            if is_eliciting:
                self.send()
        heard, self.heard = self.heard, []
        return heard

    def read(self, packet):
        reader = Reader(packet)
        flags, low = reader.u(1), reader.u(2)
        if flags > 3:
            return False
        reader.take(3)
        number = self.largest + 1 + ((low - self.largest - 1 + 0x8000 & 0xFFFF) - 0x8000)
        if number <= self.largest:
            return False
        self.run, self.largest = self.run + 1 if number == self.largest + 1 else 0, number
        if self.largest == 0:
            self.run = 0
        if flags & 1:
            self.read_acknowledgement(reader, flags)
        is_eliciting = False
        while reader.more():
            kind = reader.u(1)
            is_eliciting |= kind not in (0, CLOSE)
            self.read_frame(reader, kind & 0xF0, kind & 0x0F)
        return is_eliciting

    def read_acknowledgement(self, reader, flags):
        low, _, first = reader.u(2), reader.varint(), reader.varint()
        largest = self.number - 1 - (self.number - 1 - low & 0xFFFF)
        ranges = [(largest - first, largest)]
        for _ in range(reader.varint() if flags & 2 else 0):
            top = ranges[-1][0] - reader.varint() - 2
            ranges.append((top - reader.varint(), top))
        self.proven = True
        is_known = lambda packet: packet is not None and any(a <= packet <= b for a, b in ranges)
        self.unacknowledged = [pair for pair in self.unacknowledged if not is_known(pair[0])]

    def read_frame(self, reader, kind, lane):
        if kind == 0:
            if lane == CLOSE:
                code, text = reader.varint(), reader.take(reader.varint())
                raise ConnectionError(f"closed by the server: {code}: {text.decode()}")
            assert lane in (0, PING), "no other frame comes without a lane"
        elif kind == STATES:
            _, stamp = reader.varint(), reader.varint()
            while reader.more() and (key := reader.varint()):
                offset, _, value = reader.varint(), reader.varint(), reader.take(reader.varint())
                self.read_state(lane, key, stamp + offset, value)
        elif kind == STATE_PART:
            _, stamp, key, _ = (reader.varint() for _ in range(4))
            value = self.read_part(reader, (lane, STATES, stamp))
            if value is not None:
                self.read_state(lane, key, stamp, value)
        elif kind in (EVENT, EVENT_PART):
            number, what, _ = reader.varint(), reader.u(1), reader.varint()
            if what == 2:
                reader.varint()
            is_whole = kind == EVENT
            payload = reader.take(reader.varint()) if is_whole else self.read_part(reader, (lane, EVENT, number))
            # On a reliable carrier events arrive in order. Events that arrived before a cut arrive again.
            if payload is not None and number == self.next_event.get(lane, 0):
                self.next_event[lane] = number + 1
                if what == 0:
                    self.heard.append(("event", lane, number, payload))
        elif kind == WINDOW:
            reader.varint()
        elif kind == REPLICATION:
            self.heard.append(("movement", lane, 0, reader.take(reader.varint())))
        else:
            raise ValueError(f"0x{kind:02x} is no type of a frame")

    def read_state(self, lane, key, stamp, value):
        if stamp > self.newest.get((lane, key), 0):
            self.newest[lane, key] = stamp
            self.heard.append(("state", lane, key, value))

    def read_part(self, reader, message):
        """Returns the whole message when its last part has arrived; None before that."""
        total, index = reader.varint(), reader.varint()
        if total > LIMITS[2]:
            raise ValueError(f"a message of {total} bytes")
        parts = self.parts.setdefault(message, {})
        parts[index] = reader.take(min(PART_BYTES, total - PART_BYTES * index))
        if sum(map(len, parts.values())) < total:
            return None
        return b"".join(part for _, part in sorted(self.parts.pop(message).items()))

    def close(self):
        self.send(bytes([CLOSE]) + varint(0) + varint(0))
        try:
            while self.carrier.receive(1) is not None:
                pass
        except ConnectionError:
            pass  # The server ended the carrier: it knows.
        self.carrier.socket.close()


def join(name, hz):
    """WORLD.md, section 3: the size of all texts, variant 0, protocol, the size of this text, rate, no bytes of a key, the text."""
    size = varint(len(name.encode()))
    return size + b"\0" + struct.pack("<I", 8) + size + struct.pack("<I", hz) + b"\0" + name.encode()


def act(action, arguments=b"\xc0"):
    """Variant 1: no number, the size of the name, then of the arguments, which are MessagePack (nil: all have their defaults)."""
    size = varint(len(action.encode()))
    return size + b"\1\0" + size + varint(len(arguments)) + arguments + action.encode()


def controls(number, forward, right, yaw):
    # The two bools are bits in front of the other fields.
    return b"\0" + struct.pack("<Hfff", number, forward, right, yaw)


def avatar_of(player):
    """Reads a Player. The first bit in front states whether there is an avatar. Its id stands behind the size of the name."""
    reader = Reader(player)
    reader.varint()
    has_avatar, _ = reader.u(1) & 1, reader.varint()
    return reader.u(4) if has_avatar else None


def texts_of(event, count, bits=0):
    """Of an event whose only texts are its first fields: those. They stand at the end of it, one after the other; `bits` is how many
    bytes of bits stand before its fields."""
    reader = Reader(event)
    size, _ = reader.varint(), reader.u(1 + bits)
    sizes = [reader.varint() for _ in range(count)]
    area, texts = event[len(event) - size :], []
    for size in sizes:
        texts, area = texts + [area[:size].decode()], area[size:]
    return texts


class Client:
    def __init__(self, host, port, room, name):
        self.session, self.movement = Session(host, port, room), Movement()
        self.player, self.avatar, self.number = None, None, 0
        self.entities, self.rows = set(), {}
        self.session.event(join(name, 20))

    def watch(self, seconds):
        """Handles the server's messages for that time."""
        for kind, lane, key, value in self.session.receive(seconds):
            if kind == "movement":
                self.rows.update(self.movement.read(value))
            elif kind == "state" and lane == 0 and key < PLAYERS:
                (self.entities.add if value else self.entities.discard)(key)
            elif kind == "state" and lane == 0 and key < SCREENS:
                if key - PLAYERS == self.player:
                    self.avatar = avatar_of(value) if value else None
            elif kind == "event" and lane == 0:
                self.hear(value)

    @property
    def where(self):
        row = self.rows.get(self.avatar)
        return metres(*row) if row else None

    def hear(self, event):
        reader = Reader(event)
        _, variant = reader.varint(), reader.u(1)
        if variant == 0:
            assert self.player is None, "Welcome comes once"
            # A bit in front states whether the player was resumed.
            _, _, self.player = reader.u(1), reader.u(4), reader.u(4)
        elif variant == 2:
            print("happened:", *texts_of(event, 1), flush=True)
        elif variant == 3:
            print("refused:", *texts_of(event, 2, bits=1), flush=True)

    def steer(self, forward):
        self.number = self.number + 1 & 0xFFFF
        self.session.state(1, controls(self.number, forward, 0.0, 0.0))

    def walk(self, seconds):
        """Walks towards -Z, and returns the distance."""
        start = self.where
        self.steer(1.0)
        self.watch(seconds)
        self.steer(0.0)
        return math.dist(start, self.where)


def main():
    address, room, action = (sys.argv[1:] + ["localhost:7777", "playground", "grab"][len(sys.argv) - 1 :])[:3]
    host, port = address.rsplit(":", 1)
    client = Client(host, int(port), room, "Ada")
    until = time.monotonic() + 20
    while not (client.where and client.entities) and time.monotonic() < until:
        client.watch(0.1)
    print(f"joined as player {client.player}, entity {client.avatar} of {len(client.entities)}, at {client.where}", flush=True)
    client.watch(1.0)  # the whole picture of a large world takes a moment
    print(f"walked {client.walk(1.0):.2f} m", flush=True)
    print("newest controls in force:", client.movement.controls, flush=True)
    client.session.carrier.socket.close()
    client.steer(1.0)
    client.session.event(act(action))
    client.session.connect()
    print("cut, and resumed", flush=True)
    client.watch(0.5)
    client.steer(0.0)
    client.watch(0.3)
    print(f"walked {client.walk(1.0):.2f} m", flush=True)
    client.session.close()
    print("left", flush=True)


if __name__ == "__main__":
    main()
