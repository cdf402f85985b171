import { expect, it } from "vitest";
import { joinWorld } from "../../src/world/index.js";

it.each([
  ["nowcast://localhost:1/plaza", "http://localhost:1"],
  ["nowcast://example.invalid/plaza", "https://example.invalid:7777"],
  ["http://[::1]:1/r/plaza", "http://[::1]:1"],
  ["https://example.invalid/r/plaza", "https://example.invalid"],
  ["ws://localhost:1/ws/plaza", "http://localhost:1"],
  ["wss://example.invalid/ws/plaza", "https://example.invalid"],
])("a world at %s knows the origin of its server", (url, origin) => {
  const world = joinWorld(url);
  expect(world.serverOrigin).toBe(origin);
  world.close();
});
