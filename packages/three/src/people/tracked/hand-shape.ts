/** Computes the joints of a hand from their rotations: the bones of an adult's hand, scaled. */
import { Quaternion, Vector3 } from "three";
import { HAND_JOINTS } from "./hand-pose.js";

interface Finger {
  /** Its first joint. */
  readonly first: number;
  /**
   * The position of the first joint relative to the wrist of a right hand, in metres. Fingers point to -Z, and the back
   * of the hand faces Y.
   */
  readonly root: readonly [number, number, number];
  /** Lengths of the finger's bones in metres, from the first joint to the tip. */
  readonly bones: readonly number[];
  /** Half the thickness of the finger in metres. */
  readonly radius: number;
  /** The finger's angle to the right when the hand is open, in radians, for a right hand. */
  readonly spread: number;
}

/** The joints of each finger follow one another; bone `i` goes from joint `first + i` to the next. */
export const FINGERS: readonly Finger[] = [
  { first: 1, root: [-0.026, -0.012, -0.026], bones: [0.038, 0.034, 0.025], radius: 0.0105, spread: -0.75 },
  { first: 5, root: [-0.02, 0, -0.034], bones: [0.062, 0.038, 0.024, 0.02], radius: 0.0092, spread: -0.1 },
  {
    first: 10,
    root: [-0.004, 0.002, -0.034],
    bones: [0.062, 0.043, 0.028, 0.021],
    radius: 0.0094,
    spread: -0.02,
  },
  {
    first: 15,
    root: [0.011, 0.001, -0.033],
    bones: [0.057, 0.039, 0.026, 0.021],
    radius: 0.0088,
    spread: 0.07,
  },
  {
    first: 20,
    root: [0.024, -0.004, -0.031],
    bones: [0.051, 0.031, 0.019, 0.019],
    radius: 0.0078,
    spread: 0.17,
  },
];

/** The middle of the palm as seen from the wrist, in metres, the same for both hands. */
export const PALM: readonly [number, number, number] = [0, -0.02, -0.075];

/** Length from the wrist to the tip of the middle finger. It defines the size of a hand. */
const LENGTH_M = Math.abs(FINGERS[2]!.root[2]) + FINGERS[2]!.bones.reduce((sum, bone) => sum + bone, 0);

/**
 * Computes the size of a hand from the distances between the joints of its middle finger, wrist first, in
 * metres.
 */
export function handSizeOf(metres: readonly number[]): number {
  return metres.reduce((sum, bone) => sum + bone, 0) / LENGTH_M;
}

/** Rotations of a hand without tracked joints: open at a grip of 0, a fist at 1. */
export function curlHand(grip: number, isLeft: boolean, rotations: Float32Array): void {
  const side = isLeft ? -1 : 1;
  rotations.fill(0);
  rotations[3] = 1;
  for (const { first, bones, spread } of FINGERS) {
    const isThumb = first === 1;
    // In a fist, the thumb lies across the fingers, and the fingers are together.
    const yaw = -side * spread * (1 - grip * (isThumb ? 0.35 : 0.8));
    let bend = isThumb ? 0.15 : 0;
    for (let i = 0; i <= bones.length; i++) {
      TURN.setFromAxisAngle(UP, yaw);
      BEND.setFromAxisAngle(RIGHT, -bend);
      TURN.multiply(BEND).toArray(rotations, (first + i) * 4);
      bend += isThumb ? 0.1 + 0.45 * grip : 0.14 + (i === 0 ? 1.15 : 1.3) * grip;
    }
  }
}

/** Writes the positions of the joints, x, y, z in metres relative to the wrist. */
export function placeJoints(rotations: Float32Array, isLeft: boolean, size: number, out: Float32Array): void {
  const side = isLeft ? -1 : 1;
  out.fill(0, 0, HAND_JOINTS * 3);
  for (const { first, root, bones } of FINGERS) {
    POINT.set(root[0] * side, root[1], root[2]).multiplyScalar(size);
    POINT.toArray(out, first * 3);
    for (let i = 0; i < bones.length; i++) {
      TURN.fromArray(rotations, (first + i) * 4);
      POINT.add(BONE.set(0, 0, -bones[i]! * size).applyQuaternion(TURN));
      POINT.toArray(out, (first + i + 1) * 3);
    }
  }
}

const UP = new Vector3(0, 1, 0);
const RIGHT = new Vector3(1, 0, 0);
const TURN = new Quaternion();
const BEND = new Quaternion();
const POINT = new Vector3();
const BONE = new Vector3();
