/**
 * A page that is loaded again.
 *
 * @vitest-environment jsdom
 */
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type SeatClaim, tabSeat } from "../../src/world/tab-seat.js";

const ROOM = "https://example.org/nowcast/plaza";
const CLAIM: SeatClaim = {
  key: Uint8Array.from({ length: 16 }, (_, i) => 250 - i),
  lastNumber: 7,
  name: "Ada",
};

let page: AbortController;

beforeEach(() => {
  page = new AbortController();
});

afterEach(() => {
  page.abort();
  sessionStorage.clear();
  vi.useRealTimers();
});

function take(address = ROOM): SeatClaim | undefined {
  return tabSeat().take(address, () => CLAIM, page.signal);
}

/** The browser unloads the page; the next page has listeners of its own. */
function unload(persisted = false): void {
  window.dispatchEvent(Object.assign(new Event("pagehide"), { persisted }));
  if (persisted) return;
  page.abort();
  page = new AbortController();
}

it("lets the next page of the tab go on as the same player, once", () => {
  expect(take()).toBeUndefined();
  unload();
  expect(take("https://example.org/nowcast/other")).toBeUndefined();
  expect(take()).toEqual(CLAIM);
  // A second world of this page, or a copy of the tab, is another player.
  expect(take()).toBeUndefined();
});

it("keeps nothing while a page is shown that the browser had kept", () => {
  take();
  unload(true);
  expect(sessionStorage.length).toBe(1);
  window.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
  expect(sessionStorage.length).toBe(0);
});

it("keeps nothing after the player left", () => {
  take();
  page.abort();
  unload();
  expect(take()).toBeUndefined();
});

it("keeps no seat longer than the server holds it", () => {
  vi.useFakeTimers({ now: 1_000_000 });
  take();
  unload();
  vi.setSystemTime(1_031_000);
  expect(take()).toBeUndefined();
});

it.each(["{", "null", '{"key":[1],"lastNumber":1,"goneAtMs":0}'])("ignores the foreign text %s", (text) => {
  sessionStorage.setItem(`nowcast seat ${ROOM}`, text);
  expect(take()).toBeUndefined();
});

it("is a new player in a browser that keeps no data", () => {
  vi.spyOn(window, "sessionStorage", "get").mockImplementation(() => {
    throw new DOMException("denied", "SecurityError");
  });
  expect(take()).toBeUndefined();
  unload();
  expect(take()).toBeUndefined();
  vi.restoreAllMocks();
});
