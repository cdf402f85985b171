import type { Definition } from "nowcast/world";
import { describe, expect, it } from "vitest";
import { isOwnNetwork, withoutHostAddresses } from "../../page/src/voice/candidates.js";
import { readSignal, SIGNAL_CHARACTERS_MAX, type Signal, writeSignal } from "../../page/src/voice/signals.js";
import { passesVoices } from "../../page/src/voice/voice-toggle.js";

describe("a voice signal", () => {
  it("is restored unchanged", () => {
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

  it("is rejected if it is invalid, whoever sent it", () => {
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

  it("is not sent if it does not fit in an action", () => {
    const sdp = "ü".repeat(SIGNAL_CHARACTERS_MAX / 2);
    expect(writeSignal({ type: "offer", call: "k", sdp })).toBeUndefined();
  });
});

it("a world forwards voices if it has the action for it", () => {
  const world = (name: string, fields: readonly string[]) =>
    ({
      actions: [{ name, arguments: fields.map((field) => ({ name: field, type: "text" })) }],
    }) as unknown as Definition;
  expect(passesVoices(world("voice", ["data", "to"]))).toBe(true);
  expect(passesVoices(world("voice", ["data"]))).toBe(false);
  expect(passesVoices(world("sing", ["data", "to"]))).toBe(false);
  expect(passesVoices(undefined)).toBe(false);
});

describe("addresses of a voice", () => {
  const candidate = (text: string): Signal => ({ type: "candidate", call: "k", candidate: text, mid: "0" });
  const host = "candidate:1 1 udp 2122260223 192.168.1.7 54321 typ host generation 0";
  const hostV6 = "candidate:2 1 udp 2122260223 2001:db8::7 54321 typ host";
  const hidden = "candidate:3 1 udp 2122260223 6f1c2a.local 54321 typ host";
  const reflexive = "candidate:4 1 udp 1686052607 203.0.113.9 40000 typ srflx raddr 192.168.1.7 rport 54321";

  it("host_candidates_are_withheld_from_strangers_unless_the_browser_hid_the_address", () => {
    expect(withoutHostAddresses(candidate(host))).toBeUndefined();
    expect(withoutHostAddresses(candidate(hostV6))).toBeUndefined();
    expect(withoutHostAddresses(candidate(hidden))).toEqual(candidate(hidden));
  });

  it("reflexive_candidates_lose_the_local_address_that_they_were_found_from", () => {
    expect(withoutHostAddresses(candidate(reflexive))).toEqual(
      candidate("candidate:4 1 udp 1686052607 203.0.113.9 40000 typ srflx raddr 0.0.0.0 rport 0"),
    );
  });

  it("descriptions_hold_no_local_address", () => {
    const lines = ["v=0", "m=audio 54321 UDP/TLS/RTP/SAVPF 111", "c=IN IP4 192.168.1.7"];
    lines.push(
      "a=rtcp:54321 IN IP4 192.168.1.7",
      ...[host, hidden, reflexive].map((line) => `a=${line}`),
      "",
    );
    const offer: Signal = { type: "offer", call: "k", sdp: lines.join("\r\n") };
    const sent = withoutHostAddresses(offer);
    expect(sent).toMatchObject({ type: "offer", call: "k" });
    const text = JSON.stringify(sent);
    expect(text).not.toContain("192.168.1.7");
    expect(text).toContain("6f1c2a.local");
    expect(text).toContain("203.0.113.9");
  });

  it("visitors_of_a_server_in_the_own_network_are_no_strangers", () => {
    for (const name of [
      "localhost",
      "127.0.0.1",
      "[::1]",
      "10.1.2.3",
      "172.20.0.1",
      "192.168.0.9",
      "[fd00::1]",
      "pi.local",
    ]) {
      expect(isOwnNetwork(name), name).toBe(true);
    }
    for (const name of ["example.org", "203.0.113.9", "172.32.0.1", "[2001:db8::1]", "10.example.org"]) {
      expect(isOwnNetwork(name), name).toBe(false);
    }
  });
});
