/** A world on a session against a server that breaks the rules. */
import { describe, expect, it } from "vitest";
import { waitFor } from "../wait-for.js";
import { type ScriptedSession, WELCOME } from "./scripted-session.js";
import { entity, kind, player, screen } from "./server-words.js";
import { collect, DEFINITION, join, PLAYERS_KEY, SCREENS_KEY, SHEEP, serve, sheep } from "./session-bench.js";

describe("a server that breaks the rules", () => {
  const tooMany = (say: (server: ScriptedSession, at: number) => void, count: number) => {
    return (server: ScriptedSession) => {
      for (let at = 0; at < count; at++) say(server, at);
    };
  };
  const crowd = Array.from({ length: 1_025 }, (_, at) => kind(`kind ${at}`, {}));
  it.each<[string, (server: ScriptedSession) => void, RegExp]>([
    ["of no kind", (server) => server.put(SHEEP, entity({ kind: 2 })), /entity\.kind: 2, where there are 2/],
    ["with too few bytes of attributes", (server) => server.put(SHEEP, entity({})), /byte 0/],
    [
      "with too many bytes of attributes",
      (server) => server.put(SHEEP, entity({ kind: 1, attributes: Uint8Array.of(0, 0, 0) })),
      /byte/,
    ],
    [
      "of a scale that is not a number",
      (server) => server.put(SHEEP, sheep(1, { scale: [1, Number.NaN, 1] })),
      /entity\.scale should be finite/,
    ],
    [
      "infinitely far away",
      (server) => {
        const position: [number, number, number] = [Number.POSITIVE_INFINITY, 0, 0];
        server.put(SHEEP, sheep(1, { place: { position, rotation: [0, 0, 0, 1] } }));
      },
      /entity\.place\.position should be finite/,
    ],
    ["that is no entity", (server) => server.put(SHEEP, Uint8Array.of(255)), /byte/],
    ["that is not a player", (server) => server.put(PLAYERS_KEY + 1, Uint8Array.of(255)), /byte/],
    ["that is not a screen", (server) => server.put(SCREENS_KEY + 1, Uint8Array.of(255)), /byte/],
    ["that is not an event", (server) => server.sayBytes(Uint8Array.of(255)), /byte/],
    ["that is no movement", (server) => server.replicate(Uint8Array.of(1, 2, 3)), /tick/],
    [
      "of too many kinds",
      (server) => server.say({ Define: { definition: { ...DEFINITION, kinds: crowd } } }),
      /1025 kinds, more than 1024/,
    ],
    [
      "of a kind without a shape",
      (server) => {
        const shapeless = { ...crowd[0]!, attributes: new Uint8Array(0) };
        server.say({ Define: { definition: { ...DEFINITION, kinds: [shapeless] } } });
      },
      /kind "kind 0"/,
    ],
    [
      "of too many players",
      tooMany((server, at) => server.put(PLAYERS_KEY + at, player({ name: "", avatar: null })), 8_193),
      /more than 8192 players/,
    ],
    [
      "of too many screens",
      tooMany(
        (server, at) => server.put(SCREENS_KEY + at, screen({ place: `${at}`, personal: false, value: 1 })),
        4_097,
      ),
      /more than 4096 values/,
    ],
  ])("is left with the code 64 after a message %s, and tried again", async (_, lie, cause) => {
    const server = await serve();
    const world = join(server);
    const errors = collect(world, "error");
    await world.ready;
    const [first] = server.channels;
    lie(server);
    await waitFor("the second session", () => world.stats.reconnects === 1);
    expect(errors[0]).toMatchObject({ error: { fault: "peer-misbehaved" } });
    expect(errors[0]!.error.message).toMatch(cause);
    await waitFor("the server to receive it", () => first!.status.closed !== undefined);
    expect(first!.status.closed).toMatchObject({ code: 64 });
  });

  it("closes if entities arrive before the first definition", async () => {
    const server = await serve((server) => {
      server.say({ Welcome: WELCOME });
      server.put(SHEEP, sheep(1));
    });
    const errors = collect(join(server, { reconnect: false }), "error");
    await waitFor("the end", () => errors.length > 0);
    expect(errors[0]!.error.message).toMatch(/an entity before the first definition/);
  });

  it("is left for good when it speaks another version", async () => {
    const server = await serve((server) => server.say({ Welcome: { ...WELCOME, protocol: 2 } }));
    const world = join(server);
    const errors = collect(world, "error");
    await expect(world.ready).rejects.toMatchObject({ fault: "peer-incompatible", code: "version" });
    expect(errors).toMatchObject([{ retryInMs: undefined }]);
  });
});
