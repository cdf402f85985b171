/** The parts of a face that move, relative to the head. */
export interface FacePose {
  /** How far the eyes are open, 0 to 1. */
  open: number;
  /** Offset of the eyes to the right of the head and upward, in metres. */
  eyesX: number;
  eyesY: number;
  /** How far the mouth is open, 0 to 1. */
  mouth: number;
}

const BLINK_S = 0.13;
/** Mean time between two blinks; each body has another phase. */
const BLINK_EVERY_S = 3.7;
const EYES_M_MAX = 0.018;
/** The eyes are fully aside while the body turns at this speed, in radians a second. */
const TURN_MAX = 2.5;

/**
 * Poses a face. Eyes blink, look ahead of a turn of the body, and look about while it stands; a mouth moves while its player
 * speaks. `seconds` is the time of the body, `turning` its speed of turning to the left, in radians a second.
 */
export function poseFace(
  seconds: number,
  turning: number,
  speed: number,
  isSpeaking: boolean,
  out: FacePose,
): void {
  const blink = (seconds % BLINK_EVERY_S) / BLINK_S;
  out.open = blink < 1 ? Math.max(0.08, Math.abs(2 * blink - 1)) : 1;
  const ahead = Math.max(-1, Math.min(1, -turning / TURN_MAX));
  // Glances hold for a while, and then change at once, as those of people do.
  const glance =
    speed > 0.3 ? 0 : Math.sign(Math.sin(seconds * 0.43)) * (Math.sin(seconds * 0.9) > 0.55 ? 0.7 : 0);
  out.eyesX = EYES_M_MAX * (Math.abs(ahead) > 0.15 ? ahead : glance);
  out.eyesY = 0;
  out.mouth = isSpeaking ? 0.35 + 0.65 * Math.abs(Math.sin(seconds * 13) * Math.sin(seconds * 7.3 + 1)) : 0;
}
