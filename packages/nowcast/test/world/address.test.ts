import { expect, it, vi } from "vitest";
import { NowcastError } from "../../src/index.js";
import { sessionUrl, tokenIn } from "../../src/world/address.js";
import { joinWorld } from "../../src/world/index.js";

it.each([
  ["nowcast://localhost:1/plaza", "http://localhost:1"],
  ["nowcast://example.invalid/plaza", "https://example.invalid:7777"],
  ["http://[::1]:1/r/plaza", "http://[::1]:1"],
  ["https://example.invalid/r/plaza", "https://example.invalid"],
  ["https://example.invalid/game/r/plaza", "https://example.invalid/game"],
  ["nowcast://localhost:1/game/plaza", "http://localhost:1/game"],
])("a world at %s knows the address of its server", (url, server) => {
  const world = joinWorld(url);
  expect(world.serverUrl).toBe(server);
  world.close();
});

it("the_address_of_a_page_leads_to_its_room_and_to_a_moment_of_its_past", () => {
  expect(sessionUrl("https://example.org/r/barn/")).toBe("https://example.org/nowcast/barn");
  expect(sessionUrl("http://127.0.0.1:9/r/barn?name=Ada#x")).toBe("http://127.0.0.1:9/nowcast/barn");
  expect(sessionUrl("https://example.org/a/r/r/barn")).toBe("https://example.org/a/r/nowcast/barn");
  const past = "plaza.20261123T100000.250Z";
  expect(sessionUrl(`http://127.0.0.1:9/r/${past}`)).toBe(`http://127.0.0.1:9/nowcast/${past}`);
});

it("the_token_of_an_invitation_is_used_and_no_error_shows_it", () => {
  for (const invitation of [
    "https://example.org/r/barn?token=secret.x#y",
    "nowcast://h/barn?a=b&token=secret.x",
  ]) {
    expect(tokenIn(invitation)).toBe("secret.x");
    expect(sessionUrl(invitation)).not.toContain("secret");
  }
  expect(tokenIn("nowcast://h/barn")).toBe(undefined);
  for (const broken of [
    "http://h/x/?token=secret",
    "ws://h/ws/a?token=secret",
    "plaza?token=secret",
    "nowcast://?token=secret",
  ]) {
    const join = (): unknown => joinWorld(broken).close();
    expect(join).toThrow(NowcastError);
    expect(join).not.toThrow("secret");
  }
});

it("a_join_without_a_server_says_so_once_unless_the_program_listens", async () => {
  const warned: string[] = [];
  vi.spyOn(console, "warn").mockImplementation((text) => void warned.push(text));
  const failures = { count: 0 };
  const nobody = "nowcast://127.0.0.1:1/plaza";
  const quiet = joinWorld(nobody, { retry: true });
  const heard = joinWorld(nobody, { retry: true });
  await new Promise<void>((resolve) => {
    heard.on("error", () => ++failures.count === 2 && resolve());
  });
  await vi.waitUntil(() => warned.length > 0, { timeout: 10_000 });
  expect(warned).toEqual([expect.stringContaining("The world at http://127.0.0.1:1 is tried again")]);
  joinWorld(nobody);
  await expect(joinWorld(nobody)).rejects.toMatchObject({ code: "unreachable" });
  const caught = await new Promise<unknown>((resolve) => void joinWorld(nobody).catch(resolve));
  expect(caught).toMatchObject({ code: "unreachable" });
  await vi.waitUntil(() => warned.length > 1, { timeout: 10_000 });
  expect(warned.slice(1)).toEqual([
    expect.stringContaining("The world at http://127.0.0.1:1 was not joined"),
  ]);
  quiet.close();
  heard.close();
  vi.restoreAllMocks();
});

it("an_address_without_a_room_or_of_another_protocol_is_a_misuse", () => {
  for (const elsewhere of ["", "elsewhere", "r/plaza.", "r/.-5m", "r/plaza.-5m%2F"]) {
    expect(() => joinWorld(`http://127.0.0.1:9/${elsewhere}`)).toThrow("names no room");
  }
  expect(() => joinWorld("plaza")).toThrow(NowcastError);
  expect(() => joinWorld("ftp://127.0.0.1/plaza")).toThrow("names no room");
  expect(() => joinWorld("ws://127.0.0.1/ws/plaza")).toThrow("plain protocol");
});
