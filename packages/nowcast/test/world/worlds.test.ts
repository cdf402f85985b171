/** The list of a server's worlds. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, it } from "vitest";
import { NowcastError } from "../../src/errors/nowcast-error.js";
import { readWorlds, worldsOf } from "../../src/world/worlds.js";

const HASH = "0123456789abcdef".repeat(4);
const BASE = new URL("http://localhost:7777/");
const NOTHING = { rooms: [], players: undefined, goal: "", how: [], picture: undefined, group: "" };

const closes: (() => void)[] = [];
afterEach(() => {
  for (const close of closes.splice(0)) close();
});

it("lists the worlds of a server, and nothing that is none", () => {
  const answer = {
    worlds: [
      { name: "football", version: 3, hash: "ab", rooms: ["football", "football-2", 7] },
      { name: "playground", goal: "Pile up blocks", how: ["Grab one", 7], picture: `/assets/${HASH}` },
      { name: "shop", goal: 3, how: "no", picture: "https://elsewhere/x.jpg", group: ["no"] },
      { name: "plain", group: "For makers" },
      { name: "<b>NO</b>" },
      null,
    ],
  };
  const picture = new URL(`http://localhost:7777/assets/${HASH}`);
  expect(readWorlds(answer, undefined, BASE)).toEqual([
    { ...NOTHING, name: "football", rooms: ["football", "football-2"] },
    { ...NOTHING, name: "playground", goal: "Pile up blocks", how: ["Grab one"], picture },
    { ...NOTHING, name: "shop" },
    { ...NOTHING, name: "plain", group: "For makers" },
  ]);
  for (const none of [undefined, "no", { worlds: 3 }, 404]) expect(readWorlds(none, none, BASE)).toEqual([]);
});

it("the players of all rooms of a world are counted together, and invalid rooms are omitted", () => {
  const worlds = ["plaza", "arena", "empty"].map((name) => ({ name }));
  const rooms = [
    { name: "plaza", world: "plaza", players: 2 },
    { name: "plaza-2", world: "plaza", players: 1 },
    { name: "arena", world: "arena", players: 0 },
    { name: "odd", world: "arena", players: -1 },
    { name: "other", world: 3, players: 1 },
    null,
  ];
  expect(readWorlds({ worlds }, { rooms }, BASE).map(({ name, players }) => [name, players])).toEqual([
    ["plaza", 3],
    ["arena", 0],
    ["empty", 0],
  ]);
});

it("a server is asked by the address of a room, and one without a list is a network error", async () => {
  const asked: (string | undefined)[] = [];
  const server = createServer(({ url }, response) => {
    asked.push(url);
    if (url === "/api/worlds") response.end(JSON.stringify({ worlds: [{ name: "plaza", goal: "Meet" }] }));
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closes.push(() => server.close());
  const { port } = server.address() as AddressInfo;
  const worlds = await worldsOf(`http://127.0.0.1:${port}/r/plaza`);
  expect(worlds).toEqual([{ ...NOTHING, name: "plaza", goal: "Meet" }]);
  expect(asked.splice(0).sort()).toEqual(["/api/rooms", "/api/worlds"]);
  for (const path of ["game/", "game/r/plaza", "game/nowcast/plaza"]) {
    await expect(worldsOf(`http://127.0.0.1:${port}/${path}`)).rejects.toThrow("gave no list");
    expect(asked.splice(0).sort(), path).toEqual(["/game/api/rooms", "/game/api/worlds"]);
  }
  server.close();
  server.closeAllConnections();
  const error = await worldsOf(`http://127.0.0.1:${port}`).catch((caught: unknown) => caught);
  expect(error).toBeInstanceOf(NowcastError);
  expect(error).toMatchObject({ fault: "network" });
});
