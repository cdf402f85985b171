import { afterEach, expect, it, vi } from "vitest";
import { openWebTransport } from "../../src/carrier/webtransport.js";

afterEach(() => vi.unstubAllGlobals());

/**
 * Replaces the browser's WebTransport by one with the platform's streams. The given datagrams already wait when the
 * page begins to read.
 */
function stubWebTransport(waiting: readonly Uint8Array[]): void {
  const readable = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const datagram of waiting) controller.enqueue(datagram);
    },
  });
  class WebTransport {
    readonly ready = Promise.resolve();
    readonly closed = new Promise<void>(() => {});
    readonly datagrams = { readable, createWritable: () => new WritableStream<Uint8Array>() };
    close(): void {}
  }
  vi.stubGlobal("WebTransport", WebTransport);
}

it("datagrams_that_wait_together_are_dated_before_the_first_of_them_is_handled", async () => {
  stubWebTransport([1, 2, 3, 4, 5].map((number) => Uint8Array.of(number)));
  const carrier = await openWebTransport("https://example.test/", [], new AbortController().signal);
  const handled: { readonly number: number; readonly arrivedAtMs: number }[] = [];
  let firstHandledAtMs = 0;
  await new Promise<void>((resolve) => {
    carrier.begin({
      packet(bytes, arrivedAtMs) {
        firstHandledAtMs ||= performance.now();
        handled.push({ number: bytes[0]!, arrivedAtMs });
        // Keeps the thread busy, like a page that draws between two packets.
        const untilMs = performance.now() + 5;
        while (performance.now() < untilMs);
        if (handled.length === 5) resolve();
      },
      room: () => {},
      ended: () => {},
    });
  });
  expect(handled.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5]);
  for (const { arrivedAtMs } of handled) expect(arrivedAtMs).toBeLessThanOrEqual(firstHandledAtMs);
});
