"""A stock WebTransport client (aioquic) in a session with one of our endpoints.

Written from spec/CARRIERS.md and spec/SESSION.md alone, as small as a session can be. It begins with the HELLO of the
vectors, sends every other packet of the vectors into the handshake, where they must do no harm, and then exchanges events,
states and a command with a service that answers everything. Before that it asks for a name that is not there, and must
be told so by the status of the answer.

usage: client.py HOST PORT NAME VECTORS
"""

import asyncio
import base64
import hashlib
import json
import ssl
import sys
import urllib.request

from aioquic.asyncio.client import connect
from aioquic.asyncio.protocol import QuicConnectionProtocol
from aioquic.h3.connection import H3_ALPN, H3Connection
from aioquic.h3.events import DatagramReceived, HeadersReceived
from aioquic.quic.configuration import QuicConfiguration
from cryptography.hazmat.primitives.serialization import Encoding

DEADLINE = 20


def varint(number):
    out = bytearray()
    while True:
        low, number = number & 0x7F, number >> 7
        out.append(low | (0x80 if number else 0))
        if not number:
            return bytes(out)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        part = self.data[self.at : self.at + count]
        assert len(part) == count, "a packet of the endpoint ends within a field"
        self.at += count
        return part

    def fixed(self, count):
        return int.from_bytes(self.take(count), "little")

    def varint(self):
        number = shift = 0
        while True:
            byte = self.fixed(1)
            number |= (byte & 0x7F) << shift
            if not byte & 0x80:
                return number
            shift += 7

    def bytes(self):
        return self.take(self.varint())

    def is_empty(self):
        return self.at == len(self.data)


def read_welcome(packet):
    reader = Reader(packet)
    assert reader.fixed(1) == 0x81, f"no WELCOME: {packet.hex()}"
    welcome = {
        "version": reader.varint(),
        "nonce": reader.take(8),
        "proof": reader.take(8),
        "session": reader.take(8),
        "token": reader.take(16),
        "epoch": reader.varint(),
        "hello_clock": reader.fixed(8),
        "clock": reader.fixed(8),
        "limits": [reader.varint() for _ in range(6)],
    }
    assert reader.is_empty(), "WELCOME does not end after its limits"
    return welcome


def read_frames(reader):
    """The frames of a data packet: a list of tuples that begin with a word."""
    frames = []
    while not reader.is_empty():
        kind = reader.fixed(1)
        lane = kind & 0x0F
        if kind == 0x00:
            continue
        if kind == 0x01:
            frames.append(("ping",))
        elif kind == 0x03:
            frames.append(("close", reader.varint(), reader.bytes().decode()))
        elif kind >> 4 == 1:
            interval, stamp = reader.varint(), reader.varint()
            while not reader.is_empty():
                key = reader.varint()
                if key == 0:
                    break
                offset, age, value = reader.varint(), reader.varint(), reader.bytes()
                frames.append(("state", lane, interval, stamp + offset, key, age, value))
        elif kind >> 4 == 2:
            number, what, before = reader.varint(), reader.fixed(1), reader.varint()
            answers = reader.varint() if what == 2 else None
            frames.append(("event", lane, number, what, before, answers, reader.bytes()))
        elif kind >> 4 == 5:
            frames.append(("window", lane, reader.varint()))
        else:
            raise AssertionError(f"unexpected frame 0x{kind:02x}")
    return frames


class Client(QuicConnectionProtocol):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.http = None
        self.status = {}
        self.packets = asyncio.Queue()

    def quic_event_received(self, event):
        if self.http is None:
            self.http = H3Connection(self._quic, enable_webtransport=True)
        for event in self.http.handle_event(event):
            if isinstance(event, HeadersReceived) and event.stream_id in self.status:
                self.status[event.stream_id].set_result(int(dict(event.headers)[b":status"]))
            elif isinstance(event, DatagramReceived):
                self.packets.put_nowait(event.data)

    async def enter(self, authority, path):
        """Extended CONNECT; the stream and the status of the answer."""
        if self.http is None:
            self.http = H3Connection(self._quic, enable_webtransport=True)
        stream = self._quic.get_next_available_stream_id()
        self.status[stream] = asyncio.get_running_loop().create_future()
        self.http.send_headers(
            stream,
            [
                (b":method", b"CONNECT"),
                (b":scheme", b"https"),
                (b":authority", authority.encode()),
                (b":path", path.encode()),
                (b":protocol", b"webtransport"),
            ],
        )
        self.transmit()
        return stream, await self.status[stream]


class Session:
    def __init__(self, client, stream):
        self.client, self.stream = client, stream
        self.number = self.largest = -1
        self.received = []
        self.frames = []  # of packets that came, not looked at yet

    def send(self, packet):
        self.client.http.send_datagram(self.stream, packet)
        self.client.transmit()

    def send_data(self, frames):
        """A data packet that acknowledges all that came."""
        self.number += 1
        acknowledgement = b""
        if self.received:
            largest = max(self.received)
            first = 0
            while largest - first - 1 in self.received:
                first += 1
            acknowledgement = largest.to_bytes(2, "little") + varint(0) + varint(first)
        header = bytes([1 if acknowledgement else 0]) + self.number.to_bytes(2, "little")
        self.send(header + (self.number * 64).to_bytes(3, "little") + acknowledgement + frames)

    async def next_packet(self):
        return await asyncio.wait_for(self.client.packets.get(), DEADLINE)

    async def until(self, word, is_wanted):
        """Receives until a frame comes that is wanted, and acknowledges."""
        while True:
            while self.frames:
                frame = self.frames.pop(0)
                if frame[0] == word and is_wanted(frame):
                    return frame
            packet = await self.next_packet()
            if packet[0] == 0x81:
                continue  # a second WELCOME for a second HELLO
            assert packet[0] < 0x80, f"unexpected packet {packet.hex()}"
            reader = Reader(packet)
            flags, number, _time = reader.fixed(1), reader.fixed(2), reader.fixed(3)
            if flags & 1:
                self.largest = max(self.largest, reader.fixed(2))
                reader.varint(), reader.varint()
                for _ in range(reader.varint() if flags & 2 else 0):
                    reader.varint(), reader.varint()
            self.received.append(number)
            frames = read_frames(reader)
            closes = [frame for frame in frames if frame[0] == "close"]
            assert word == "close" or not closes, f"closed: {closes}"
            if any(frame[0] in ("state", "event", "ping") for frame in frames):
                self.send_data(b"\x00")
            self.frames = frames


async def exchange(client, stream, vectors):
    session = Session(client, stream)
    valid = {packet["name"]: bytes.fromhex(packet["hex"]) for packet in vectors["valid"]}
    hello = valid["hello, new session"]
    session.send(hello)
    welcome = read_welcome(await session.next_packet())
    assert welcome["version"] == 1 and welcome["nonce"] == hello[7:15] and welcome["epoch"] == 0
    assert welcome["hello_clock"] == 1_000_000

    # Nothing of this is in its place, and most of it is nothing at all: dropped, counted, and no answer.
    others = [packet for packet in valid.values() if packet != hello]
    others += [bytes.fromhex(packet["hex"]) for packet in vectors["malformed"]]
    for packet in others:
        if packet:
            session.send(packet)
        await asyncio.sleep(0.001)
    session.send(hello)
    again = read_welcome(await session.next_packet())
    assert [again[key] for key in ("proof", "session", "token")] == [welcome[key] for key in ("proof", "session", "token")]

    proof = b"\x02" + welcome["proof"]
    event = b"an event of aioquic"
    session.send_data(proof + b"\x20" + varint(0) + b"\x00" + varint(0) + varint(len(event)) + event)
    frame = await session.until("event", lambda frame: frame[6] == event)
    assert frame[2:4] == (0, 0), frame

    # A state of interval 1 with stamp 1, and the event that closes the interval: its `before` is the sum of stamps.
    value = b"\x00\x01\x02\xff"
    states = b"\x10" + varint(1) + varint(1) + varint(7) + varint(0) + varint(3) + varint(len(value)) + value + b"\x00"
    closing = b"\x20" + varint(1) + b"\x00" + varint(1) + varint(4) + b"last"
    session.send_data(states + closing)
    frame = await session.until("state", lambda frame: frame[4] == 7)
    assert frame[6] == value, frame
    await session.until("event", lambda frame: frame[6] == b"last")

    command = b"what is the answer?"
    session.send_data(b"\x20" + varint(2) + b"\x01" + varint(0) + varint(len(command)) + command)
    frame = await session.until("event", lambda frame: frame[3] == 2)
    assert frame[5] == 2 and frame[6] == command[::-1], frame
    assert session.largest >= 0, "nothing was acknowledged"
    session.send_data(b"\x03" + varint(64) + varint(7) + b"goodbye")
    await asyncio.sleep(0.1)
    return len(others)


async def main(host, port, name, vectors):
    with urllib.request.urlopen(f"http://{host}:{port}/nowcast/{name}", timeout=DEADLINE) as answer:
        offer = json.load(answer)["webtransport"]
    configuration = QuicConfiguration(
        alpn_protocols=H3_ALPN, is_client=True, max_datagram_frame_size=65536, verify_mode=ssl.CERT_NONE
    )
    authority = f"{host}:{offer['port']}"
    async with connect(host, offer["port"], configuration=configuration, create_protocol=Client) as client:
        _, status = await asyncio.wait_for(client.enter(authority, "/nowcast/nobody"), DEADLINE)
        assert status == 404, f"a name that is not there was answered {status}"
    async with connect(host, offer["port"], configuration=configuration, create_protocol=Client) as client:
        certificate = client._quic.tls._peer_certificate.public_bytes(Encoding.DER)
        shown = base64.b64encode(hashlib.sha256(certificate).digest()).decode()
        assert shown in offer["certificate_hashes"], "the certificate is not the one that was announced"
        stream, status = await client.enter(authority, f"/nowcast/{name}")
        assert status == 200, f"the endpoint answered {status}"
        with open(vectors, encoding="utf-8") as file:
            count = await exchange(client, stream, json.load(file))
    print(f"aioquic: a session with events, states and a command, after {count} packets out of place")


asyncio.run(asyncio.wait_for(main(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4]), 3 * DEADLINE))
