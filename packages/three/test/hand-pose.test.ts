import fc from "fast-check";
import { Quaternion, Vector3 } from "three";
import { describe, expect, it } from "vitest";
import {
  decodeHandPose,
  encodeHandPose,
  HAND_JOINTS,
  HAND_POSE_BYTES,
  HAND_POSE_ERROR_DEG,
} from "../src/people/tracked/hand-pose.js";
import { curlHand, FINGERS, handSizeOf, placeJoints } from "../src/people/tracked/hand-shape.js";

const TIPS = new Set([4, 9, 14, 19, 24]);

/** An angle in degrees between two rotations of a hand. */
function degreesBetween(a: Float32Array, b: Float32Array, joint: number): number {
  const first = new Quaternion().fromArray(a, joint * 4);
  return (first.angleTo(new Quaternion().fromArray(b, joint * 4)) * 180) / Math.PI;
}

/** A hand with arbitrary joint rotations. */
const anyHand = fc
  .array(fc.double({ min: -1, max: 1, noNaN: true }), {
    minLength: HAND_JOINTS * 4,
    maxLength: HAND_JOINTS * 4,
  })
  .map((parts) => {
    const rotations = new Float32Array(parts);
    for (let joint = 0; joint < HAND_JOINTS; joint++) {
      const turn = new Quaternion().fromArray(rotations, joint * 4);
      if (turn.length() < 1e-3) turn.identity();
      turn.normalize().toArray(rotations, joint * 4);
    }
    return rotations;
  });

describe("the joints of a hand", () => {
  it("take 63 bytes, and are restored within the promised error, for any rotations", () => {
    expect(HAND_POSE_BYTES).toBeLessThanOrEqual(64);
    let worst = 0;
    fc.assert(
      fc.property(anyHand, fc.double({ min: 0.5, max: 1.5, noNaN: true }), (rotations, size) => {
        const bytes = encodeHandPose(rotations, size, new Uint8Array(HAND_POSE_BYTES));
        const read = new Float32Array(HAND_JOINTS * 4);
        expect(decodeHandPose(bytes, read)).toBeCloseTo(size, 2);
        for (let joint = 1; joint < HAND_JOINTS; joint++) {
          if (TIPS.has(joint)) continue;
          const degrees = degreesBetween(rotations, read, joint);
          worst = Math.max(worst, degrees);
          expect(degrees).toBeLessThan(HAND_POSE_ERROR_DEG);
        }
      }),
      { numRuns: 400 },
    );
    console.log(`farthest off: ${worst.toFixed(2)}°`);
  });

  it("come back within 3 mm at the fingertips", () => {
    const rotations = new Float32Array(HAND_JOINTS * 4);
    const [there, back] = [new Float32Array(HAND_JOINTS * 3), new Float32Array(HAND_JOINTS * 3)];
    for (let grip = 0; grip <= 1; grip += 0.05) {
      for (const isLeft of [true, false]) {
        curlHand(grip, isLeft, rotations);
        placeJoints(rotations, isLeft, 1, there);
        const read = new Float32Array(HAND_JOINTS * 4);
        const size = decodeHandPose(encodeHandPose(rotations, 1, new Uint8Array(HAND_POSE_BYTES)), read)!;
        placeJoints(read, isLeft, size, back);
        for (let joint = 0; joint < HAND_JOINTS; joint++) {
          const apart = new Vector3()
            .fromArray(there, joint * 3)
            .distanceTo(new Vector3().fromArray(back, joint * 3));
          expect(apart).toBeLessThan(0.003);
        }
      }
    }
  });

  it("are invalid with another length or type", () => {
    const rotations = new Float32Array(HAND_JOINTS * 4).fill(7);
    for (const wrong of [undefined, null, "hand", [1, 2], new Uint8Array(62), new Uint8Array(64)]) {
      expect(decodeHandPose(wrong, rotations)).toBeUndefined();
    }
    expect(rotations.every((part) => part === 7)).toBe(true);
  });

  it("are rotations of length 1 for any foreign bytes", () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: HAND_POSE_BYTES, maxLength: HAND_POSE_BYTES }), (bytes) => {
        const rotations = new Float32Array(HAND_JOINTS * 4);
        const size = decodeHandPose(bytes, rotations)!;
        expect(size >= 0.5 && size <= 1.5).toBe(true);
        for (let joint = 0; joint < HAND_JOINTS; joint++) {
          expect(new Quaternion().fromArray(rotations, joint * 4).length()).toBeCloseTo(1, 4);
        }
      }),
    );
  });
});

describe("the shape of a hand", () => {
  it("brings the fingertips to the palm when it closes, and puts the thumb on the inside", () => {
    const rotations = new Float32Array(HAND_JOINTS * 4);
    const joints = new Float32Array(HAND_JOINTS * 3);
    const tip = (grip: number, isLeft: boolean, joint: number): Vector3 => {
      curlHand(grip, isLeft, rotations);
      placeJoints(rotations, isLeft, 1, joints);
      return new Vector3().fromArray(joints, joint * 3);
    };
    const [open, closed] = [tip(0, false, 14), tip(1, false, 14)];
    expect(open.z).toBeLessThan(-0.16);
    expect(closed.length()).toBeLessThan(open.length() - 0.06);
    expect(closed.y).toBeLessThan(-0.02);
    expect(tip(0, false, 4).x).toBeLessThan(-0.05);
    expect(tip(0, true, 4).x).toBeGreaterThan(0.05);
  });

  it("has the size given by its middle finger", () => {
    const middle = FINGERS[2]!;
    const metres = [Math.abs(middle.root[2]), ...middle.bones];
    expect(handSizeOf(metres.map((bone) => bone * 0.8))).toBeCloseTo(0.8);
  });
});
