/** Tests the session in TypeScript with the vectors that also test the session in Rust. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { ReceivedNumbers, unfoldAcknowledgement, unfoldNumber } from "../../src/session/packet/numbers.js";
import { type Packet, readPacket, writePacket } from "../../src/session/packet/packets.js";
import { MalformedPacket, PacketReader } from "../../src/session/packet/reader.js";
import { PacketWriter, varintLength } from "../../src/session/packet/writer.js";
import { SendRate } from "../../src/session/rate/rate.js";
import { RoundTrip } from "../../src/session/rtt.js";

function vectors<T>(name: string): T {
  return JSON.parse(
    readFileSync(new URL(`../../../../spec/vectors/session/${name}.json`, import.meta.url), "utf8"),
  );
}

const fromHex = (hex: string): Uint8Array => Uint8Array.from(Buffer.from(hex, "hex"));
const toHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString("hex");
const snake = (name: string): string => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** A packet in the form of the vectors. */
function tell(value: unknown): unknown {
  if (value instanceof Uint8Array) return toHex(value);
  if (typeof value === "bigint") return value.toString();
  if (Array.isArray(value)) return value.map(tell);
  if (typeof value !== "object" || value === null) return value === undefined ? null : value;
  return Object.fromEntries(
    Object.entries(value).map(([name, field]) => [name === "ageMs" ? "age" : snake(name), tell(field)]),
  );
}

function tellPacket(packet: Packet): unknown {
  if (packet.type !== "welcome") return tell(packet);
  const { session, token, epoch, ...rest } = packet;
  return tell({ ...rest, resume: { session, token, epoch } });
}

interface Valid {
  name: string;
  hex: string;
  packet: unknown;
}

describe("packets", () => {
  const { valid, malformed } = vectors<{ valid: Valid[]; malformed: { name: string; hex: string }[] }>(
    "packets",
  );

  it.each(valid)("reads and writes: $name", ({ hex, packet }) => {
    const read = readPacket(fromHex(hex));
    expect(tellPacket(read)).toEqual(packet);
    const writer = new PacketWriter(65_536);
    writePacket(writer, read);
    // The writer chooses the length of a HELLO above the minimum.
    if (read.type === "hello") writer.zeros(hex.length / 2 - writer.length);
    expect(toHex(writer.finish())).toBe(hex);
  });

  it.each(malformed)("refuses: $name", ({ hex }) => {
    expect(() => readPacket(fromHex(hex))).toThrow(MalformedPacket);
  });

  it("refuses every packet that is cut, or reads it as a shorter one", () => {
    for (const { hex } of valid) {
      const bytes = fromHex(hex);
      for (let length = 0; length < bytes.length; length++) {
        try {
          readPacket(bytes.subarray(0, length));
        } catch (error) {
          expect(error).toBeInstanceOf(MalformedPacket);
        }
      }
    }
  });
});

interface Numbers {
  varints: { hex: string; value: number | string }[];
  packet_numbers: { largest_received: number | null; low: number; number: number }[];
  acknowledgements: { hex: string; largest_sent: number | null; ranges: [number, number][] | null }[];
}

describe("numbers", () => {
  const numbers = vectors<Numbers>("numbers");

  it.each(numbers.varints)("varint $hex", ({ hex, value }) => {
    const read = new PacketReader(fromHex(hex)).varint("varint");
    expect(tell(read)).toBe(value);
    const writer = new PacketWriter(16);
    writer.varint(read);
    expect(toHex(writer.finish())).toBe(hex);
    expect(varintLength(read)).toBe(hex.length / 2);
  });

  it.each(numbers.packet_numbers)("packet number $low after $largest_received", (vector) => {
    expect(unfoldNumber(vector.low, vector.largest_received ?? -1)).toBe(vector.number);
  });

  it.each(numbers.acknowledgements)("acknowledgement $hex of $largest_sent", ({
    hex,
    largest_sent,
    ranges,
  }) => {
    const packet = readPacket(fromHex(hex));
    if (packet.type !== "data" || !packet.ack) throw new Error("the vector holds an acknowledgement");
    const { ack } = packet;
    if (ranges === null)
      expect(() => unfoldAcknowledgement(ack, largest_sent ?? -1)).toThrow(MalformedPacket);
    else expect(unfoldAcknowledgement(ack, largest_sent ?? -1)).toEqual(ranges);
  });

  it("acknowledges received packets so that the sender understands it", () => {
    const received = new ReceivedNumbers();
    for (const number of [0, 1, 2, 5, 6, 9, 70_000]) received.add(number);
    expect(received.judge(69_500)).toBe("new");
    expect(received.judge(68_000)).toBe("ancient");
    expect(unfoldAcknowledgement(received.acknowledgement(0)!, 70_001)).toEqual([[70_000, 70_000]]);
    received.add(69_998);
    received.add(69_997);
    expect(received.judge(69_997)).toBe("duplicate");
    expect(unfoldAcknowledgement(received.acknowledgement(0)!, 70_001)).toEqual([
      [70_000, 70_000],
      [69_997, 69_998],
    ]);
  });
});

interface RttStep {
  sample: number;
  ack_delay: number;
  minimum: number;
  smoothed: number;
  variation: number;
}

it("estimates round-trip time", () => {
  const roundTrip = new RoundTrip();
  for (const step of vectors<RttStep[]>("rtt")) {
    roundTrip.sample(step.sample, step.ack_delay);
    const { minimumUs: minimum, smoothedUs: smoothed, variationUs: variation } = roundTrip;
    expect({ minimum, smoothed, variation }).toEqual({
      minimum: step.minimum,
      smoothed: step.smoothed,
      variation: step.variation,
    });
  }
});

interface RateStep {
  now: number;
  spent?: number;
  has_room?: boolean;
  lost?: number;
  number: number;
  next_number: number;
  sent: number;
  arrived: number;
  rate: number;
}

/** The start of the times in the vectors. */
const START_US = 1e9;
const RATE_PACKET_BYTES = 3_000;

it.each(vectors<{ name: string; steps: RateStep[] }[]>("rate"))("adjusts the rate: $name", ({ steps }) => {
  const rate = new SendRate(Number.POSITIVE_INFINITY);
  for (const step of steps) {
    const nowUs = START_US + step.now;
    if (step.spent !== undefined) {
      rate.spend(nowUs, step.spent, undefined, step.has_room!);
      continue;
    }
    if (step.lost !== undefined) {
      rate.lost(step.lost);
      continue;
    }
    rate.holdBack();
    rate.acknowledged(nowUs, {
      number: step.number,
      nextNumber: step.next_number,
      sentUs: START_US + step.sent,
      arrivedUs: step.arrived,
      packetBytes: RATE_PACKET_BYTES,
      bytes: RATE_PACKET_BYTES,
      busyPeriod: 0,
      isReliable: false,
    });
    expect(Math.abs(rate.bytesPerSecond / step.rate - 1)).toBeLessThan(1e-6);
  }
});
