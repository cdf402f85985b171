/** The joints of a tracked hand in 63 bytes. */

/**
 * The joints of a hand in the order of WebXR (`XRHandJoint`): the wrist, four of the thumb, and five of each finger
 * from the index finger to the little finger, each list from the wrist to the tip.
 */
export const HAND_JOINTS = 25;
/** Length of an encoded hand. */
export const HAND_POSE_BYTES = 63;
/**
 * Maximum error of a decoded rotation, in degrees, for the encoded joints. The error of each of the three encoded
 * components is at most 0.0028. The fourth component is computed from these three, and its error is at most three times
 * as large.
 */
export const HAND_POSE_ERROR_DEG = 1.15;

/**
 * The encoded joints. The wrist is at its entity's pose; a fingertip has the direction of the bone before it.
 */
const ENCODED = [1, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 15, 16, 17, 18, 20, 21, 22, 23] as const;
/** The numbers of the fingertips. The number of the preceding joint is one less. */
const TIPS = [4, 9, 14, 19, 24] as const;
const COMPONENT_BITS = 8;
const COMPONENT_MAX = 2 ** COMPONENT_BITS - 1;
/** Bound of all components of a rotation except the largest: ±1/√2. */
const RANGE = Math.SQRT1_2;
const SIZE_MIN = 0.5;
const SIZE_MAX = 1.5;

/**
 * Encodes a hand: one byte for its size, then 19 rotations of 26 bits, lowest bits first. Two bits give the index of
 * the largest component of x, y, z, w; eight bits follow for each of the others, in that order ("smallest three").
 *
 * `rotations` are quaternions x, y, z, w of all {@link HAND_JOINTS} joints as seen from the wrist, of length 1.
 * `size` is a factor of the length of an adult's hand, 0.5 to 1.5. Returns `out`, of {@link HAND_POSE_BYTES}
 * bytes.
 */
export function encodeHandPose(rotations: Float32Array, size: number, out: Uint8Array): Uint8Array {
  out.fill(0);
  const share = (Math.min(SIZE_MAX, Math.max(SIZE_MIN, size)) - SIZE_MIN) / (SIZE_MAX - SIZE_MIN);
  out[0] = Math.round(share * 255);
  let bit = 8;
  for (const joint of ENCODED) {
    const at = joint * 4;
    const largest = largestOf(rotations, at);
    // A rotation and its negative are equal, so the omitted component can always be positive.
    const sign = rotations[at + largest]! < 0 ? -1 : 1;
    bit = write(out, bit, 2, largest);
    for (let i = 0; i < 4; i++) {
      if (i === largest) continue;
      const scaled = (sign * rotations[at + i]! + RANGE) / (2 * RANGE);
      const step = Math.round(Math.min(1, Math.max(0, scaled)) * COMPONENT_MAX);
      bit = write(out, bit, COMPONENT_BITS, step);
    }
  }
  return out;
}

/**
 * Decodes a hand into `rotations` and returns its size; `undefined` for invalid bytes, without writing. Any
 * bytes of the right length are a valid hand.
 */
export function decodeHandPose(bytes: unknown, rotations: Float32Array): number | undefined {
  if (!(bytes instanceof Uint8Array) || bytes.length !== HAND_POSE_BYTES) return undefined;
  rotations.set(IDENTITY, 0);
  let bit = 8;
  for (const joint of ENCODED) {
    const at = joint * 4;
    const largest = read(bytes, bit, 2);
    bit += 2;
    let rest = 1;
    for (let i = 0; i < 4; i++) {
      if (i === largest) continue;
      const part = (read(bytes, bit, COMPONENT_BITS) / COMPONENT_MAX) * 2 * RANGE - RANGE;
      bit += COMPONENT_BITS;
      rotations[at + i] = part;
      rest -= part * part;
    }
    rotations[at + largest] = Math.sqrt(Math.max(0, rest));
    normalize(rotations, at);
  }
  for (const tip of TIPS) rotations.copyWithin(tip * 4, (tip - 1) * 4, tip * 4);
  return SIZE_MIN + (bytes[0]! / 255) * (SIZE_MAX - SIZE_MIN);
}

function largestOf(rotations: Float32Array, at: number): number {
  let largest = 0;
  for (let i = 1; i < 4; i++) {
    if (Math.abs(rotations[at + i]!) > Math.abs(rotations[at + largest]!)) largest = i;
  }
  return largest;
}

/** Bytes from another client can contain three components whose squares sum to more than 1. */
function normalize(rotations: Float32Array, at: number): void {
  const length = Math.hypot(rotations[at]!, rotations[at + 1]!, rotations[at + 2]!, rotations[at + 3]!);
  for (let i = 0; i < 4; i++) rotations[at + i] = rotations[at + i]! / length;
}

/** Writes `bits` bits, the lowest first, and returns the position after them. */
function write(out: Uint8Array, bit: number, bits: number, value: number): number {
  for (let i = 0; i < bits; i++) {
    const place = bit + i;
    out[place >> 3] = out[place >> 3]! | (((value >> i) & 1) << (place & 7));
  }
  return bit + bits;
}

function read(bytes: Uint8Array, bit: number, bits: number): number {
  let value = 0;
  for (let i = 0; i < bits; i++) {
    const place = bit + i;
    value |= ((bytes[place >> 3]! >> (place & 7)) & 1) << i;
  }
  return value;
}

const IDENTITY = [0, 0, 0, 1] as const;
