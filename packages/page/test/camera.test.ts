import { ease, wrapAngle, yawOf } from "@nowcast/three";
import { Vector3 } from "three";
import { describe, expect, it } from "vitest";
import { armDirection, nextDistance } from "../src/camera.js";

describe("the camera's arm", () => {
  it("reaches behind an avatar that faces −Z", () => {
    const arm = armDirection(0, 0, new Vector3());
    expect(arm.toArray().map((v) => Math.round(v * 1e6) / 1e6)).toEqual([0, 0, 1]);
  });

  it("reaches to +X when yaw has turned a quarter counter-clockwise, facing −X", () => {
    const arm = armDirection(Math.PI / 2, 0, new Vector3());
    expect(arm.x).toBeCloseTo(1);
    expect(arm.z).toBeCloseTo(0);
  });

  it("goes up when looking down, and stays of unit length", () => {
    const arm = armDirection(1.2, 0.7, new Vector3());
    expect(arm.y).toBeCloseTo(Math.sin(0.7));
    expect(arm.length()).toBeCloseTo(1);
  });
});

describe("nextDistance", () => {
  it("comes in at once when a block is in the way", () => {
    expect(nextDistance(6, 6, 2, 1 / 60)).toBe(2);
  });

  it("glides out again when the way is free, without overshooting", () => {
    let distance = 2;
    for (let frame = 0; frame < 600; frame++) {
      const next = nextDistance(distance, 6, Number.POSITIVE_INFINITY, 1 / 60);
      expect(next).toBeGreaterThanOrEqual(distance);
      expect(next).toBeLessThanOrEqual(6);
      distance = next;
    }
    expect(distance).toBeCloseTo(6, 3);
  });

  it("glides in when the person zooms in", () => {
    const next = nextDistance(8, 4, Number.POSITIVE_INFINITY, 1 / 60);
    expect(next).toBeLessThan(8);
    expect(next).toBeGreaterThan(4);
  });
});

describe("ease", () => {
  it("covers the same ground in a second at 20 frames as at 120", () => {
    const after = (frames: number) => {
      let left = 1;
      for (let i = 0; i < frames; i++) left *= 1 - ease(5, 1 / frames);
      return left;
    };
    expect(after(20)).toBeCloseTo(after(120), 9);
  });
});

describe("angles", () => {
  it("wrap into one turn", () => {
    expect(wrapAngle(2 * Math.PI + 1)).toBeCloseTo(1);
    expect(wrapAngle(-0.5)).toBeCloseTo(-0.5);
    expect(Math.abs(wrapAngle(123456.7))).toBeLessThanOrEqual(Math.PI + 1e-9);
  });

  it("come back from a quaternion about Y", () => {
    for (const yaw of [-3, -1.2, 0, 0.4, 2.9]) {
      expect(yawOf({ qx: 0, qy: Math.sin(yaw / 2), qz: 0, qw: Math.cos(yaw / 2) })).toBeCloseTo(yaw);
    }
  });
});
