/**
 * A visit of a page that the browser hides.
 *
 * @vitest-environment jsdom
 */
import { expect, it, vi } from "vitest";
import { Visit, type VisitParts } from "../src/visit.js";

const connections: { isClosed: boolean; close(): void }[] = [];
vi.mock(import("../src/world-connection.js"), () => {
  class WorldConnection {
    isClosed = false;

    constructor() {
      connections.push(this);
    }

    close(): void {
      this.isClosed = true;
    }
  }
  return { WorldConnection } as never;
});

function hide(persisted: boolean): void {
  window.dispatchEvent(Object.assign(new Event("pagehide"), { persisted }));
}

it("ends with its page, but not while the browser keeps the page for a return", () => {
  const parts = { settings: {}, clear: () => undefined, began: () => undefined } as unknown as VisitParts;
  new Visit(parts).enter("https://example.org/r/plaza", {});
  hide(true);
  window.dispatchEvent(Object.assign(new Event("pageshow"), { persisted: true }));
  expect(
    connections.map(({ isClosed }) => isClosed),
    "the same player goes on",
  ).toEqual([false]);
  hide(false);
  expect(connections.map(({ isClosed }) => isClosed)).toEqual([true]);
});
