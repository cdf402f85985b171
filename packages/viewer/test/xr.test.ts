import { describe, expect, it } from "vitest";
import { Gyroscope, lookOf } from "../../page/src/input/gyroscope.js";
import { Dash, traceArc } from "../../page/src/xr/teleport.js";
import { panelLines } from "../../page/src/xr/wrist-panel.js";
import { createPose } from "../../three/src/pose.js";
import { readHeadsetState } from "../src/xr/xr-toggle.js";

/** A floor at a height, and optionally a wall that faces +X at x = 3. */
function hall(floorY: number, hasWall = false) {
  return {
    cast(
      x: number,
      y: number,
      _z: number,
      dx: number,
      dy: number,
      _dz: number,
      options: { reach?: number } = {},
    ): number {
      const hits = [dy < 0 && y > floorY ? (y - floorY) / -dy : Number.POSITIVE_INFINITY];
      if (hasWall && dx > 0 && x < 3) hits.push((3 - x) / dx);
      const nearest = Math.min(...hits);
      return nearest <= (options.reach ?? 100) ? nearest : Number.POSITIVE_INFINITY;
    },
  };
}

describe("an arc from a hand", () => {
  const points = new Float32Array(200);

  it("lands on the floor ahead", () => {
    const { landing } = traceArc(createPose(0, 1.2), hall(0), undefined, points);
    expect(landing!.y).toBeCloseTo(0);
    expect(landing!.z).toBeLessThan(-2.5);
    expect(landing!.x).toBeCloseTo(0);
  });

  it("leads nowhere into the sky or right beside a wall", () => {
    expect(traceArc(createPose(0, 1.2), hall(-500), undefined, points).landing).toBeUndefined();
    const beside = createPose(2.9, 1.2);
    expect(traceArc(beside, hall(0, true), undefined, points).landing).toBeUndefined();
  });
});

describe("a way in the dark", () => {
  it("leads to its goal in any view direction", () => {
    const dash = new Dash();
    dash.begin({ x: 3, y: 0, z: -4 }, 0);
    let [x, z, nowMs] = [0, 0, 0];
    for (const yaw = 2.1; dash.isOn && nowMs < 5000; nowMs += 16) {
      const way = dash.steer(x, z, yaw, nowMs);
      if (!way) break;
      x += (-way.forward * Math.sin(yaw) + way.right * Math.cos(yaw)) * 0.1;
      z += (-way.forward * Math.cos(yaw) - way.right * Math.sin(yaw)) * 0.1;
    }
    expect(Math.hypot(x - 3, z + 4)).toBeLessThan(0.4);
  });

  it("ends before an obstacle", () => {
    const dash = new Dash();
    dash.begin({ x: 3, y: 0, z: 0 }, 0);
    let endedMs = 0;
    for (let nowMs = 0; nowMs < 3000 && endedMs === 0; nowMs += 16) {
      if (!dash.steer(0, 0, 0, nowMs)) endedMs = nowMs;
    }
    expect(endedMs).toBeGreaterThan(300);
    expect(endedMs).toBeLessThan(500);
  });
});

describe("the panel above a wrist", () => {
  it("shows the contents of a screen's overlay", () => {
    const screen = new Map<string, unknown>([
      ["score", { red: 1, blue: 0 }],
      ["clock", 125],
      ["message", "Goal!"],
      ["phase", "playing"],
    ]);
    const lines = panelLines({ screen, chat: ["Ada: hello"], notice: "" }).map(({ kind, text }) => [
      kind,
      text,
    ]);
    expect(lines).toEqual([
      ["title", "blue 0 · red 1 · 2:05"],
      ["message", "Goal!"],
      ["plain", "phase: playing"],
      ["chat", "Ada: hello"],
    ]);
  });

  it("breaks long lines, and shows nothing where there is nothing", () => {
    expect(panelLines({ screen: new Map(), chat: [], notice: "" })).toEqual([]);
    const [first, second, ...rest] = panelLines({ screen: new Map(), chat: [], notice: "word ".repeat(60) });
    expect([...first!.text].length).toBeLessThanOrEqual(38);
    expect(second!.text.endsWith("…")).toBe(true);
    expect(rest).toEqual([]);
  });
});

describe("entering", () => {
  const xr = (answer: Promise<boolean>) => ({ isSessionSupported: () => answer });

  it("is offered if there is a headset, and otherwise the page knows why not", async () => {
    const state = (isSecureContext: boolean, system: ReturnType<typeof xr> | undefined) =>
      readHeadsetState({ isSecureContext, xr: system });
    expect(await state(true, xr(Promise.resolve(true)))).toBe("ready");
    expect(await state(true, xr(Promise.resolve(false)))).toBe("missing");
    expect(await state(true, xr(Promise.reject(new Error("blocked"))))).toBe("missing");
    expect(await state(true, undefined)).toBe("unknown");
    expect(await state(false, undefined)).toBe("insecure");
  });
});

describe("a phone that is moved", () => {
  it("looks level when it is held upright, and down when it lies flat", () => {
    expect(lookOf(0, 90, 0, 0)).toEqual({ yaw: expect.closeTo(0), pitch: expect.closeTo(0) });
    expect(lookOf(0, 0, 0, 0).pitch).toBeCloseTo(-Math.PI / 2);
    expect(lookOf(90, 90, 0, 0).yaw).toBeCloseTo(Math.PI / 2);
    expect(lookOf(0, 120, 0, 0).pitch).toBeCloseTo(Math.PI / 6);
  });

  it("turns the camera by as much, and not by the jump of a sensor that finds its north", () => {
    const controls = { lookYaw: 0, lookPitch: 0 };
    const gyroscope = new Gyroscope(controls);
    const turn = (alpha: number | null, beta: number) => gyroscope.handle({ alpha, beta, gamma: 0 });
    turn(10, 90);
    turn(20, 100);
    expect(controls.lookYaw).toBeCloseTo((10 * Math.PI) / 180, 2);
    expect(controls.lookPitch).toBeCloseTo((-10 * Math.PI) / 180, 2);
    turn(170, 100);
    turn(null, 100);
    expect(controls.lookYaw).toBeCloseTo((10 * Math.PI) / 180, 2);
  });
});
