import type { Definition } from "nowcast/world";
import { describe, expect, it } from "vitest";
import { readSignal, SIGNAL_CHARACTERS_MAX, type Signal, writeSignal } from "../src/voice/signals.js";
import { passesVoices } from "../src/voice/voice-toggle.js";

describe("a voice signal", () => {
  it("comes back as it was", () => {
    const signals: Signal[] = [
      { type: "here", reply: true },
      { type: "offer", call: "k3", sdp: "v=0\r\n" },
      { type: "answer", call: "k3", sdp: "v=0\r\n" },
      { type: "candidate", call: "k3", candidate: "candidate:1 1 udp 1 10.0.0.1 9 typ host", mid: "0" },
      { type: "bye" },
    ];
    for (const signal of signals) {
      expect(readSignal({ from: 4, data: writeSignal(signal) })).toEqual({ from: 4, signal });
    }
  });

  it("is nothing where it makes no sense, whoever made it up", () => {
    const data = [
      "",
      "null",
      "[]",
      "{",
      '"here"',
      '{"type":"dance"}',
      '{"type":"offer"}',
      '{"type":"offer","call":7,"sdp":"v=0"}',
      `{"type":"candidate","call":"${"k".repeat(33)}","candidate":"","mid":"0"}`,
      `{"type":"offer","call":"k","sdp":"${"x".repeat(SIGNAL_CHARACTERS_MAX)}"}`,
    ];
    for (const text of data) expect(readSignal({ from: 4, data: text })).toBeUndefined();
    for (const payload of [
      undefined,
      null,
      5,
      [],
      { from: "4", data: '{"type":"bye"}' },
      { from: 4, data: 5 },
    ]) {
      expect(readSignal(payload)).toBeUndefined();
    }
  });

  it("is not sent where it has no room in an action", () => {
    const sdp = "ü".repeat(SIGNAL_CHARACTERS_MAX / 2);
    expect(writeSignal({ type: "offer", call: "k", sdp })).toBeUndefined();
  });
});

it("a world passes voices on if it has the action for it", () => {
  const world = (name: string, fields: readonly string[]) =>
    ({
      actions: [{ name, arguments: fields.map((field) => ({ name: field, type: "text" })) }],
    }) as unknown as Definition;
  expect(passesVoices(world("voice", ["data", "to"]))).toBe(true);
  expect(passesVoices(world("voice", ["data"]))).toBe(false);
  expect(passesVoices(world("sing", ["data", "to"]))).toBe(false);
  expect(passesVoices(undefined)).toBe(false);
});
