import { KEY_BYTES } from "./client-key.js";

/** The data by which the server knows a client: with these values another page goes on as the same player. */
export interface SeatClaim {
  /** The client's key: a secret between it and the server. */
  readonly key: Uint8Array;
  /** The number of the client's newest durable action. */
  readonly lastNumber: number;
  /** The name with which the client joined. */
  readonly name: string | undefined;
}

/**
 * Keeps a client's claim on its seat during a page reload. {@link tabSeat} keeps it in the tab.
 */
export interface Seat {
  /**
   * Takes the kept claim for a room's address, so that no other client finds the claim. `current` is called when the page goes, and
   * its claim is kept. After `signal` has aborted, nothing is kept.
   */
  take(address: string, current: () => SeatClaim, signal: AbortSignal): SeatClaim | undefined;
}

const PREFIX = "nowcast seat ";
/** Servers hold the seat of a lost client for this time (`spec/WORLD.md`, section 1). */
const HELD_MS = 30_000;

/**
 * This tab's seat: a player who reloads the page, or goes away and back within 30 s, is the same player. If the tab is
 * closed, the avatar leaves after these 30 s.
 *
 * The claim is in the tab's `sessionStorage` only between two pages. So a copy of a tab is another player.
 *
 * ```ts
 * const world = joinWorld("nowcast://localhost:7777/shop", { name: "Ada", seat: tabSeat() });
 * ```
 */
export function tabSeat(): Seat {
  return {
    take(address, current, signal) {
      const item = PREFIX + address;
      const keep = (): void => {
        const { key, lastNumber, name } = current();
        const goneAtMs = Date.now();
        storage()?.setItem(item, JSON.stringify({ key: [...key], lastNumber, name, goneAtMs }));
      };
      const taken = takeItem(item);
      globalThis.addEventListener?.("pagehide", () => attempt(keep), { signal });
      // The browser shows a page again that it has kept, with the claim in memory.
      globalThis.addEventListener?.("pageshow", () => takeItem(item), { signal });
      return taken === undefined ? undefined : readClaim(taken);
    },
  };
}

function takeItem(item: string): string | undefined {
  return attempt(() => {
    const kept = storage()?.getItem(item) ?? undefined;
    storage()?.removeItem(item);
    return kept;
  });
}

function readClaim(text: string): SeatClaim | undefined {
  const kept: unknown = attempt(() => JSON.parse(text));
  if (typeof kept !== "object" || kept === null) return undefined;
  const { key, lastNumber, name, goneAtMs } = kept as Record<string, unknown>;
  const isHeld = typeof goneAtMs === "number" && Math.abs(Date.now() - goneAtMs) < HELD_MS;
  if (!isHeld || !Array.isArray(key) || key.length !== KEY_BYTES || !Number.isSafeInteger(lastNumber)) {
    return undefined;
  }
  return {
    key: Uint8Array.from(key),
    lastNumber: lastNumber as number,
    name: typeof name === "string" ? name : undefined,
  };
}

function storage(): Storage | undefined {
  return globalThis.sessionStorage;
}

/** A browser that keeps no data for the page throws. Then each page is a new player. */
function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    return undefined;
  }
}
