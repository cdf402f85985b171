/** A session whose carrier falls silent without an end (`spec/SESSION.md`, section 12). */
import { expect, it } from "vitest";
import { CARRIER_TRAITS, type Notice, type Session } from "../../src/session/index.js";
import { createRandom, Pair } from "./pair.js";

const SECOND = 1_000_000;
/** Longer than the idle time-out, shorter than the time to resume. */
const STOPPED_US = 12 * SECOND;

function notices(session: Session): Notice[] {
  const all: Notice[] = [];
  for (let notice = session.pollNotice(); notice; notice = session.pollNotice()) all.push(notice);
  return all;
}

function read(session: Session, nowUs: number): number[] {
  const numbers: number[] = [];
  for (let message = session.receive(nowUs); message; message = session.receive(nowUs)) {
    if (message.type === "event") numbers.push(message.value[0]!);
  }
  return numbers;
}

for (const carrier of [CARRIER_TRAITS.datagrams, CARRIER_TRAITS.stream]) {
  const kind = carrier.isReliable ? "a stream" : "datagrams";
  for (const stopped of [0, 1]) {
    it(`continues over ${kind} when end ${stopped} was stopped beyond the idle time-out`, () => {
      const pair = new Pair(createRandom(7), carrier);
      const [teller, listener] = stopped === 1 ? pair.ends : [pair.ends[1], pair.ends[0]];
      pair.runUntil(pair.nowUs + SECOND);
      expect(notices(teller)).toEqual([{ type: "opened", resumed: false }]);
      notices(listener);
      const seen: number[] = [];
      const tell = (number: number): void => {
        teller.putEvent(pair.clock(1 - stopped), 0, Uint8Array.of(number));
        pair.touch(1 - stopped);
        pair.runUntil(pair.nowUs + SECOND / 10);
      };
      for (let number = 0; number < 5; number++) tell(number);
      seen.push(...read(listener, pair.clock(stopped)));
      pair.stop(stopped);
      for (let number = 5; number < 20; number++) tell(number);
      pair.runUntil(pair.nowUs + STOPPED_US);
      expect(teller.isDetached).toBe(true);
      pair.goOn();
      expect(notices(listener)).toEqual([{ type: "detached" }, { type: "opened", resumed: true }]);
      for (let number = 20; number < 25; number++) tell(number);
      pair.runUntil(pair.nowUs + 3 * SECOND);
      seen.push(...read(listener, pair.clock(stopped)));
      expect(notices(teller)).toEqual([{ type: "detached" }, { type: "opened", resumed: true }]);
      expect(pair.ends.map((end) => end.isOpen)).toEqual([true, true]);
      expect(seen).toEqual(Array.from({ length: 25 }, (_, number) => number));
      expect(teller.isSettled).toBe(true);
    });
  }
}

it("takes nothing more from a carrier that has ended, silent or not", () => {
  const pair = new Pair(createRandom(7), CARRIER_TRAITS.datagrams);
  pair.runUntil(pair.nowUs + SECOND);
  pair.ends[0].putEvent(pair.clock(0), 0, Uint8Array.of(1));
  pair.touch(0);
  pair.stop(1);
  pair.runUntil(pair.nowUs + STOPPED_US);
  const silent = pair.ends[1];
  silent.handleTimeout(pair.clock(1));
  expect([silent.isDetached, silent.isAttached]).toEqual([true, true]);
  silent.detach(pair.clock(1));
  expect([silent.isDetached, silent.isAttached]).toEqual([true, false]);
  pair.goOn();
  expect(silent.isDetached).toBe(true);
  expect(silent.stats.dropped.closed).toBeGreaterThan(0);
});
