/** Errors name the party at fault, a code for programs, and reason and cure for people. */
import { describe, expect, it } from "vitest";
import { asNowcastError, ERROR_CODES, WireError } from "../../src/errors/nowcast-error.js";
import { connect, NowcastError } from "../../src/index.js";
import { listen } from "../../src/node/index.js";
import { worldEnd } from "../../src/world/end.js";
import { waitFor } from "../wait-for.js";

async function caught(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe("an error", () => {
  it("has a code, a reason and a cure for every fault", () => {
    for (const fault of ["peer-misbehaved", "peer-incompatible", "refused", "network", "misuse"] as const) {
      const error = new NowcastError(fault, "it broke");
      expect(error).toMatchObject({ name: "NowcastError", fault, reason: "it broke", message: "it broke" });
      expect(ERROR_CODES).toContain(error.code);
      expect(error.cure.length).toBeGreaterThan(10);
    }
    const full = new NowcastError("misuse", "lane 3 is full", { code: "lane_full", cure: "wait" });
    expect(full).toMatchObject({ code: "lane_full", cure: "wait", message: "lane 3 is full: wait" });
    expect(new WireError("cut short", 7, "pose.x")).toMatchObject({
      fault: "peer-misbehaved",
      code: "malformed",
      reason: "pose.x: cut short (byte 7)",
    });
  });

  it("keeps the original error as the standard cause, and has none otherwise", () => {
    const inner = new TypeError("fetch failed");
    expect(asNowcastError(inner)).toMatchObject({ reason: "fetch failed", cause: inner });
    expect("cause" in new NowcastError("misuse", "it broke")).toBe(false);
  });

  it("of an endpoint that refuses has its code, reason and cure", async () => {
    const listener = await listen({ port: 0, sessionsMax: 1 });
    listener.advertise("tracker");
    const url = (name: string) => `nowcast://127.0.0.1:${listener.port}/${name}`;
    expect(await caught(connect(url("nobody")))).toMatchObject({
      fault: "refused",
      code: "no_such_name",
      reason: 'nothing is called "nobody" here',
      cure: "check the name, or start the service that has it",
    });
    const channel = await connect(url("tracker"));
    expect(await caught(connect(url("tracker")))).toMatchObject({
      fault: "refused",
      code: "full",
      cure: "try again later",
    });
    const late = channel.command(Uint8Array.of(1), { deadlineMs: 10 });
    expect(await caught(late)).toMatchObject({ fault: "network", code: "timed_out" });
    const unanswered = caught(channel.command(Uint8Array.of(1)));
    await listener.close();
    expect(await unanswered).toMatchObject({ fault: "refused", code: "going_away", closeCode: 10 });
    // All later calls fail with the same reason.
    expect(await caught(channel.command(Uint8Array.of(1)))).toMatchObject({ code: "going_away" });
    expect(await caught(connect(url("tracker")))).toMatchObject({ fault: "network", code: "unreachable" });
    expect(await caught(connect("nowhere:"))).toMatchObject({ fault: "misuse", code: "invalid_argument" });
  });

  it("distinguishes a channel closed by the program from one closed by the peer", async () => {
    const listener = await listen({ port: 0 });
    const service = listener.advertise("tracker");
    const url = `nowcast://127.0.0.1:${listener.port}/tracker`;
    const [ours, theirs] = await Promise.all([connect(url), service.accept()]);
    ours.close(64, "bye");
    expect(await caught(ours.command(Uint8Array.of(1)))).toMatchObject({
      fault: "misuse",
      code: "closed_here",
    });
    await waitFor("the close", () => theirs!.status.phase === "closed");
    const error = await caught(theirs!.command(Uint8Array.of(1)));
    expect(error).toMatchObject({ fault: "refused", code: "closed", closeCode: 64 });
    await listener.close();
  });
});

it.each([
  [0, "done"],
  [4, "lost"],
  [10, "going_away"],
  [64, "malformed"],
  [65, "out_of_bounds"],
  [66, "too_many_messages"],
  [67, "too_slow"],
  [68, "idle"],
  [72, "replaced"],
  [73, "banned"],
  [74, "unauthorised"],
  [75, "kicked"],
  [999, "closed"],
] as const)("the_close_code_%i_of_a_world_has_the_code_%s", (closeCode, code) => {
  expect(worldEnd(closeCode, "the reason")).toMatchObject({ code, closeCode, reason: "the reason" });
  expect(worldEnd(closeCode, "").reason).toContain(String(closeCode));
});
