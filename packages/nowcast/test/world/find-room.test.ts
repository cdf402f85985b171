/** Rooms by query, and the names of private rooms. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { NowcastError } from "../../src/errors/nowcast-error.js";
import { chooseRoom, findRoom, privateRoom } from "../../src/world/find-room.js";
import { readRooms } from "../../src/world/worlds.js";

const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

const room = (name: string, players: number, world = "party") => ({ name, world, players, playersMax: 8 });

it("the fullest room with enough free seats is chosen", () => {
  const rooms = [room("party", 1), room("party-2", 5), room("party-3", 7), room("shop", 2, "shop")];
  expect(chooseRoom(rooms, { world: "party" })).toBe("party-3");
  expect(chooseRoom(rooms, { world: "party", freeSeats: 2 })).toBe("party-2");
  expect(chooseRoom(rooms, { world: "party", freeSeats: 7 })).toBe("party");
  expect(chooseRoom([room("b", 2), room("a", 2)], { world: "party" })).toBe("a");
});

it("a world without a fitting room gets a new room", () => {
  expect(chooseRoom([], { world: "party" })).toBe("party");
  expect(chooseRoom([room("party", 8), room("party-2", 8)], { world: "party" })).toBe("party-3");
  expect(chooseRoom([room("party-2", 8)], { world: "party" })).toBe("party");
  const long = "x".repeat(32);
  expect(() => chooseRoom([room(long, 8, long)], { world: long })).toThrow(/too long/);
});

it("entries that are no rooms are omitted", () => {
  const entries = [room("party", 1), { ...room("odd", 1), players: -1 }, { ...room("<b>", 1) }, 3, null];
  expect(readRooms({ rooms: entries })).toEqual([room("party", 1)]);
  for (const none of [undefined, "no", { rooms: 3 }]) expect(readRooms(none)).toEqual([]);
});

it("a private room has a word that nobody can guess, or a chosen one", () => {
  const names = new Set(Array.from({ length: 50 }, () => privateRoom("party")));
  expect(names.size).toBe(50);
  for (const name of names) expect(name).toMatch(/^party--[a-z2-9]{12}$/);
  expect(privateRoom("capture-the-flag")).toMatch(/^capture-the-flag--[a-z2-9]{12}$/);
  expect(privateRoom("party", "tuesday")).toBe("party--tuesday");
  for (const word of ["", "Tue", "a b", "x".repeat(30)]) {
    expect(() => privateRoom("party", word)).toThrow(NowcastError);
  }
  expect(() => privateRoom("x".repeat(28))).toThrow(/too long/);
});

it("a server is asked by any of its addresses", async () => {
  const asked: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    asked.push(url);
    response.end(JSON.stringify({ rooms: [room("party", 8), room("party-2", 3)] }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closes.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const address of [`http://127.0.0.1:${port}/`, `nowcast://127.0.0.1:${port}/plaza`]) {
    expect(await findRoom(address, { world: "party" }), address).toBe("party-2");
  }
  expect(asked).toEqual(["/api/rooms", "/api/rooms"]);
  await expect(findRoom(`http://127.0.0.1:${port}`, { world: "No" })).rejects.toThrow(/name of a world/);
  await expect(findRoom("http://x", { world: "party", freeSeats: 0 })).rejects.toThrow(/freeSeats/);
});
