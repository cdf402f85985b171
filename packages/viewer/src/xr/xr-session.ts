import type { Pose } from "@nowcast/three";
import type { Target, TargetRule } from "../actions.js";
import type { Input } from "../input/input-collector.js";
import type { Actor } from "../targets.js";
import type { Landing } from "./teleport.js";
import type { Side } from "./tracked-input.js";

/** The page's interface to a headset while a person wears one; the headset itself is loaded when it is put on. */
export interface XrSession {
  /** It shows the world no more. */
  readonly isOver: boolean;
  /** How far the head is tipped up, in radians, as cameras count it. */
  readonly pitch: number;
  /** Where the arc from the right hand leads; undefined while none is aimed, or where one cannot stand. */
  readonly landing: Landing | undefined;
  /** Asks it to stop. */
  end(): Promise<void>;
  /** Reads head and hands at the begin of a frame. */
  read(frame: XRFrame | undefined, nowMs: number, seconds: number): void;
  /** Says where the controls point. */
  updateInput(input: Input): void;
  /** The person was put somewhere, and looks the way that it does there. */
  faceWith(own: Readonly<Pose>): void;
  /** The person was turned by something that it stands on. */
  turnWith(radians: number): void;
  /** Brings the room of the person to where its avatar is. */
  move(seconds: number, place: Readonly<Pick<Pose, "x" | "y" | "z">>): void;
  /** Does what the hands ask for. */
  act(): void;
  /** The target that the hand in use reaches. */
  findTarget(own: Actor, rule: TargetRule): Target | undefined;
  /** Where a wrist is in the world; undefined while that is not known. */
  wristOf(side: Side): Readonly<Pose> | undefined;
  /** Writes what is to be read inside of the world. */
  write(own: number | undefined): void;
}
