import { describe, expect, it } from "vitest";
import {
  createJointAngles,
  legsToward,
  type Motion,
  phaseStep,
  poseBody,
  strideLength,
} from "../src/people/gait.js";

function motion(changes: Partial<Motion> = {}): Motion {
  return {
    phase: 0,
    speed: 0,
    backward: false,
    heading: 0,
    air: 0,
    rise: 0,
    carry: 0,
    fling: 0,
    landing: 0,
    seconds: 0,
    ...changes,
  };
}

function pose(changes: Partial<Motion>) {
  const out = createJointAngles();
  poseBody(motion(changes), out);
  return out;
}

/** Range of a joint over a whole stride. */
function swing(joint: "hipLeft" | "kneeLeft" | "shoulderLeft", changes: Partial<Motion>): number {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (let phase = 0; phase < 2 * Math.PI; phase += 0.1) {
    const angle = pose({ ...changes, phase })[joint];
    least = Math.min(least, angle);
    most = Math.max(most, angle);
  }
  return most - least;
}

describe("walking", () => {
  it("swings the legs against each other and the arms against the legs", () => {
    const angles = pose({ speed: 2, phase: Math.PI / 2 });
    const rest = pose({ speed: 2, phase: 0 });
    expect(angles.hipLeft - rest.hipLeft).toBeGreaterThan(0.3);
    expect(angles.hipRight - rest.hipRight).toBeCloseTo(-(angles.hipLeft - rest.hipLeft));
    expect(angles.shoulderLeft).toBeLessThan(angles.shoulderRight);
  });

  it("swings farther and bends the knees more when running", () => {
    expect(swing("hipLeft", { speed: 6.4 })).toBeGreaterThan(1.3 * swing("hipLeft", { speed: 3.2 }));
    expect(swing("kneeLeft", { speed: 6.4 })).toBeGreaterThan(1.3 * swing("kneeLeft", { speed: 3.2 }));
  });

  it("never bends a knee forward", () => {
    for (const speed of [0, 0.5, 2, 3.2, 6.4]) {
      for (let phase = 0; phase < 2 * Math.PI; phase += 0.05) {
        const angles = pose({ speed, phase });
        expect(angles.kneeLeft).toBeGreaterThanOrEqual(0);
        expect(angles.kneeRight).toBeGreaterThanOrEqual(0);
      }
    }
  });

  it("moves no joint by a jump when speed or phase change a little", () => {
    for (let speed = 0; speed < 7; speed += 0.02) {
      const a = pose({ speed, phase: speed * 3 });
      const b = pose({ speed: speed + 0.02, phase: speed * 3 + 0.06 });
      for (const joint of Object.keys(a) as (keyof typeof a)[]) {
        expect(Math.abs(a[joint] - b[joint]), joint).toBeLessThan(0.15);
      }
    }
  });

  it("takes one stride for one stride's length of ground", () => {
    expect(phaseStep(strideLength(3), 3)).toBeCloseTo(2 * Math.PI);
    expect(strideLength(6.4)).toBeGreaterThan(strideLength(3.2));
  });
});

describe("standing", () => {
  it("breathes, and keeps the legs still", () => {
    const a = pose({ seconds: 0 });
    const b = pose({ seconds: 0.8 });
    expect(a.bob).not.toBe(b.bob);
    expect(a.hipLeft).toBe(b.hipLeft);
    expect(a.kneeLeft).toBe(b.kneeLeft);
  });
});

describe("carrying", () => {
  it("raises both arms equally, whatever the legs do", () => {
    for (const phase of [0, 1, 2, 3, 4, 5]) {
      const angles = pose({ carry: 1, speed: 3, phase });
      expect(angles.shoulderLeft).toBeGreaterThan(1);
      expect(angles.shoulderLeft).toBeCloseTo(angles.shoulderRight);
    }
  });
});

describe("legsToward", () => {
  const legs = { backward: false, heading: 0 };

  it("goes straight where the body faces: yaw 0 is −Z", () => {
    legsToward(0, 0, -1, legs);
    expect(legs.backward).toBe(false);
    expect(legs.heading).toBeCloseTo(0);
  });

  it("turns the hips left for a step to the left, and right for one to the right", () => {
    legsToward(0, -1, 0, legs);
    expect(legs.backward).toBe(false);
    expect(legs.heading).toBeCloseTo(Math.PI / 2);
    legsToward(0, 1, 0, legs);
    expect(legs.heading).toBeCloseTo(-Math.PI / 2);
  });

  it("walks backward toward the back, with hips never beyond a right angle", () => {
    legsToward(0, 0, 1, legs);
    expect(legs.backward).toBe(true);
    expect(legs.heading).toBeCloseTo(0);
    for (let angle = 0; angle < 6.3; angle += 0.1) {
      legsToward(1.1, Math.sin(angle), Math.cos(angle), legs);
      expect(Math.abs(legs.heading)).toBeLessThanOrEqual(Math.PI / 2 + 1e-9);
    }
  });
});
