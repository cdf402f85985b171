import { explainClose } from "@nowcast/page";
import { NowcastError } from "nowcast";
import { expect, it } from "vitest";
import { ERROR_CODES } from "../../nowcast/src/errors/nowcast-error.js";
import { isRefusal } from "../../page/src/hud/close-reason.js";
import {
  basePath,
  readAddress,
  readMoment,
  readRoom,
  shareAddress,
  withMoment,
  withoutMoment,
  worldAddress,
} from "../src/page-address.js";
import { automaticQuality, ResolutionGovernor } from "../src/scene/quality.js";
import { DEFAULTS, loadSettings, parseHz, saveSettings } from "../src/settings.js";

it("room_in_path_is_lower_cased_and_refused_if_no_room_can_have_that_name", () => {
  expect(readRoom("/r/lab-2")).toEqual({ asked: "lab-2", room: "lab-2" });
  expect(readRoom("/")).toEqual({ asked: undefined, room: undefined });
  expect(readRoom("/r/ABC")).toEqual({ asked: "ABC", room: "abc" });
  expect(readRoom("/r/not%20a%20room")).toEqual({ asked: "not a room", room: undefined });
  expect(readRoom("/r/%E0%A4%A")).toEqual({ asked: "%E0%A4%A", room: undefined });
  expect(readAddress("/r/ABC", "")).toMatchObject({ room: "abc", askedRoom: "ABC" });
  expect(readAddress("/r/abc", "").askedRoom).toBeUndefined();
});

it("the addresses of rooms stay below the path at which the page is served", () => {
  const origin = "https://example.org";
  for (const [pathname, base] of [
    ["/", "/"],
    ["/r/barn", "/"],
    ["/game/", "/game/"],
    ["/game/r/barn", "/game/"],
    ["/r/r/barn", "/r/"],
  ] as const) {
    expect(basePath(pathname), pathname).toBe(base);
    expect(worldAddress({ origin, pathname }, "plaza"), pathname).toBe(`${origin}${base}r/plaza`);
  }
  expect(readRoom("/game/r/barn").room).toBe("barn");
});

it("names a room so that the server finds the requested world", () => {
  expect(readAddress("/", "?world=football").room).toBe("football");
  expect(readAddress("/r/football", "?world=football").room).toBe("football");
  expect(readAddress("/r/football-2", "?world=football").room).toBe("football-2");
  expect(readAddress("/r/friday", "?world=football").room).toBe("football-friday");
  expect(readAddress(`/r/${"a".repeat(32)}`, "?world=football").room).toBe(`football-${"a".repeat(23)}`);
  expect(readAddress("/r/friday", "?world=NO%20WORLD").room).toBe("friday");
});

it("takes a moment of the past from the query, and gives the room's past a name of its own", () => {
  const page = { origin: "http://localhost:7777", pathname: "/r/plaza" };
  expect(readAddress("/r/plaza", "?at=-5m").at).toBe("-5m");
  expect(readAddress("/r/plaza", "").at).toBeUndefined();
  expect(readMoment("2026-11-23T10:00Z")).toBe("20261123T1000Z");
  expect(readMoment("2026-11-23T10:00:05.250Z")).toBe("20261123T100005.250Z");
  expect(readMoment("3600")).toBe("3600");
  for (const wrong of ["", "5m", "-5", "noon", "2026-11-23", "-5m/../x", "2026-11-23T10:00"]) {
    expect(readMoment(wrong), wrong).toBeUndefined();
  }
  expect(worldAddress(page, "plaza", "-5m")).toBe("http://localhost:7777/r/plaza.-5m");
  expect(shareAddress(page, "plaza", "-5m")).toBe("http://localhost:7777/r/plaza?at=-5m");
  expect(withMoment("?at=-5m&token=a.b", "-1h")).toBe("?at=-1h&token=a.b");
  expect(withoutMoment("?at=-5m&token=a.b")).toBe("?token=a.b&enter=1");
});

it("takes everything that automation needs from the query", () => {
  const address = readAddress("/r/a", "?name=Ada%20L.&enter=1&carrier=websocket&hz=20");
  expect(address).toMatchObject({
    room: "a",
    name: "Ada L.",
    enter: true,
    hud: true,
    carrier: "websocket",
    networkHz: 20,
  });
  expect(readAddress("/r/a", "?hud=0").hud).toBe(false);
  expect(readAddress("/", "?carrier=pigeon&hz=often")).toMatchObject({
    carrier: undefined,
    networkHz: undefined,
  });
});

it("keeps a rate within the protocol's range", () => {
  expect(parseHz("1")).toBe(5);
  expect(parseHz(1e300)).toBe(60);
  expect(parseHz(Number.NaN)).toBe(0);
  expect(parseHz(null)).toBe(0);
});

it("remembers settings, and replaces damaged ones by defaults", () => {
  let kept = "";
  const storage = {
    setItem(_key: string, value: string) {
      kept = value;
    },
  };
  saveSettings({ ...DEFAULTS, name: "Ada", networkHz: 30 }, storage);
  expect(loadSettings({ getItem: () => kept })).toEqual({ ...DEFAULTS, name: "Ada", networkHz: 30 });
  expect(loadSettings({ getItem: () => "{oops" })).toEqual(DEFAULTS);
  expect(loadSettings({ getItem: () => '{"quality":"smoke","lookSpeed":99,"volume":2}' })).toEqual(DEFAULTS);
});

it("names cause and cure for every code of the SDK's errors", () => {
  for (const code of ERROR_CODES) {
    const { cause, cure } = explainClose(new NowcastError("network", "said so", { code }));
    expect(cause, code).toMatch(/^[A-Z].{10,}\.$/);
    expect(cure, code).toMatch(/^[A-Z].{10,}[.…]$/);
  }
});

it("shows a cure while it tries again only if the server answers and refuses all clients", () => {
  const refusals = ERROR_CODES.filter((code) => isRefusal(new NowcastError("refused", "no", { code })));
  expect(refusals).toEqual(expect.arrayContaining(["full", "room_closed", "not_encrypted", "wrong_origin"]));
  expect(refusals).not.toContain("going_away");
  expect(isRefusal(new NowcastError("network", "nobody answers"))).toBe(false);
});

it("shows in the server's text why a token is refused", () => {
  const error = new NowcastError("refused", "the token has expired", { code: "unauthorised" });
  expect(explainClose(error).cause).toContain("the token has expired.");
});

it("shows a banned player the end and the reason in the server's text", () => {
  const cause = "you are banned from this room until 2026-11-24T10:00:00Z: shouting";
  const { cause: told } = explainClose(new NowcastError("refused", cause, { code: "banned" }));
  expect(told).toBe(`The server keeps you out: ${cause}.`);
});

it("shows a kicked player the reason in the server's text", () => {
  const cause = "the world removed you: no input for ten minutes";
  const { cause: told } = explainClose(new NowcastError("refused", cause, { code: "kicked" }));
  expect(told).toBe(`You left this room: ${cause}.`);
});

it("names the obstacle for a page that was loaded over plain HTTP from another machine", () => {
  const cure = "open the page by https, or ask the server's operator for --self-signed";
  const error = new NowcastError("refused", "no", { code: "not_encrypted", cure });
  expect(explainClose(error).cause).toContain("this page came without one.");
  expect(explainClose(error).cure).toBe(
    "Open the page by https, or ask the server's operator for --self-signed.",
  );
});

it("draws plainly on a software renderer", () => {
  expect(automaticQuality("ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero)))", false)).toBe("low");
  expect(automaticQuality("ANGLE (NVIDIA GeForce RTX 3060)", false)).toBe("high");
  expect(automaticQuality("Apple GPU", true)).toBe("medium");
});

it("lowers the resolution on slow frames, within bounds, and raises it when there is time", () => {
  const governor = new ResolutionGovernor(1);
  for (let i = 0; i < 2000; i++) governor.frame(60);
  expect(governor.effective).toBeCloseTo(0.55);
  for (let i = 0; i < 20_000; i++) governor.frame(8);
  expect(governor.effective).toBe(1);
});

it("takes no hidden tab for a slow machine", () => {
  const governor = new ResolutionGovernor(1);
  for (let i = 0; i < 50; i++) governor.frame(60_000);
  expect(governor.scale).toBe(1);
});
