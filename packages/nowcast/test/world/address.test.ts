import { expect, it } from "vitest";
import { NowcastError } from "../../src/index.js";
import { sessionUrl } from "../../src/world/address.js";
import { joinWorld } from "../../src/world/index.js";

it.each([
  ["nowcast://localhost:1/plaza", "http://localhost:1"],
  ["nowcast://example.invalid/plaza", "https://example.invalid:7777"],
  ["http://[::1]:1/r/plaza", "http://[::1]:1"],
  ["https://example.invalid/r/plaza", "https://example.invalid"],
])("a world at %s knows the origin of its server", (url, origin) => {
  const world = joinWorld(url);
  expect(world.serverOrigin).toBe(origin);
  world.close();
});

it("the_address_of_a_page_leads_to_its_room_and_to_a_moment_of_its_past", () => {
  expect(sessionUrl("https://example.org/")).toBe("https://example.org/nowcast/plaza");
  expect(sessionUrl("http://127.0.0.1:9/r/barn?name=Ada#x")).toBe("http://127.0.0.1:9/nowcast/barn");
  const past = "plaza.20261123T100000.250Z";
  expect(sessionUrl(`http://127.0.0.1:9/r/${past}`)).toBe(`http://127.0.0.1:9/nowcast/${past}`);
});

it("an_address_without_a_room_or_of_another_protocol_is_a_misuse", () => {
  for (const elsewhere of ["elsewhere", "r/plaza.", "r/.-5m", "r/plaza.-5m%2F"]) {
    expect(() => joinWorld(`http://127.0.0.1:9/${elsewhere}`)).toThrow("names no room");
  }
  expect(() => joinWorld("plaza")).toThrow(NowcastError);
  expect(() => joinWorld("ftp://127.0.0.1/plaza")).toThrow("names no room");
  expect(() => joinWorld("ws://127.0.0.1/ws/plaza")).toThrow("plain protocol");
});
