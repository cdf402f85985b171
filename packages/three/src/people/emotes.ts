import { type JointAngles, smooth } from "./gait.js";

/** The gestures of people, in the order of their numbers: the attribute `emote` has the number, from 1, in its low 4 bits. */
export const EMOTES = ["wave", "point", "cheer", "dance", "nod", "bow"] as const;

export type Emote = (typeof EMOTES)[number];

const SECONDS: Readonly<Record<Emote, number>> = {
  wave: 2.4,
  point: 2.2,
  cheer: 2.4,
  dance: 6,
  nod: 1.6,
  bow: 2,
};
const NUMBER_MASK = 0xf;
const COUNT_MASK = 0xfff;

/** The gesture of an attribute `emote`; `undefined` for none. The other bits make repeated gestures differ. */
export function emoteOf(attribute: number): Emote | undefined {
  return EMOTES[(attribute & NUMBER_MASK) - 1];
}

/** The attribute `emote` for the gesture number `count` of a visit. */
export function packEmote(emote: Emote, count: number): number {
  return ((count & COUNT_MASK) << 4) | (EMOTES.indexOf(emote) + 1);
}

export function emoteSeconds(emote: Emote): number {
  return SECONDS[emote];
}

/**
 * Adds a gesture that began `seconds` ago to a pose. It is blended in and out within a quarter of a second; `share`, 0 to 1,
 * weakens it while the body moves.
 */
export function poseEmote(emote: Emote, seconds: number, share: number, out: JointAngles): void {
  const weight =
    share * smooth(0, 0.25, seconds) * (1 - smooth(SECONDS[emote] - 0.25, SECONDS[emote], seconds));
  if (weight <= 0) return;
  const toward = (name: keyof JointAngles, angle: number): void => {
    out[name] += (angle - out[name]) * weight;
  };
  const beat = Math.sin(seconds * 9);
  switch (emote) {
    case "wave":
      toward("shoulderRight", 0.2);
      toward("spreadRight", 2.35 + 0.2 * beat);
      toward("elbowRight", 0.25);
      toward("headYaw", -0.15);
      return;
    case "point":
      toward("shoulderRight", 1.52);
      toward("spreadRight", 0.05);
      toward("elbowRight", 0.02);
      toward("twist", 0.12);
      return;
    case "cheer":
      for (const arm of ["shoulderLeft", "shoulderRight"] as const) toward(arm, 2.85 + 0.15 * beat);
      for (const arm of ["spreadLeft", "spreadRight"] as const) toward(arm, 0.45);
      for (const arm of ["elbowLeft", "elbowRight"] as const) toward(arm, 0.15);
      out.bob += weight * 0.05 * Math.max(0, beat);
      toward("headPitch", 0.2);
      return;
    case "dance":
      poseDance(seconds, weight, toward, out);
      return;
    case "nod":
      out.headPitch -= weight * 0.24 * (1 - Math.cos(seconds * 11));
      return;
    case "bow":
      toward("lean", 0.85);
      toward("headPitch", -0.35);
      toward("shoulderRight", 0.9);
      toward("elbowRight", 1.5);
      return;
  }
}

function poseDance(
  seconds: number,
  weight: number,
  toward: (name: keyof JointAngles, angle: number) => void,
  out: JointAngles,
): void {
  const step = Math.sin(seconds * 5.6);
  out.bob -= weight * 0.05 * Math.abs(step);
  toward("sway", 0.06 * step);
  toward("roll", 0.08 * step);
  toward("twist", 0.28 * step);
  toward("shoulderLeft", 1.1 + 0.7 * step);
  toward("shoulderRight", 1.1 - 0.7 * step);
  toward("elbowLeft", 1.3);
  toward("elbowRight", 1.3);
  toward("spreadLeft", 0.45);
  toward("spreadRight", 0.45);
  toward("hipLeft", 0.35 * Math.max(0, step));
  toward("hipRight", 0.35 * Math.max(0, -step));
  toward("kneeLeft", 0.75 * Math.max(0, step) + 0.12);
  toward("kneeRight", 0.75 * Math.max(0, -step) + 0.12);
}
