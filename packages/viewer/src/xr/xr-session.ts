import type { Actor, Input, Target, TargetRule } from "@nowcast/page";
import type { Landing, Side } from "@nowcast/page/headset";
import type { Pose } from "@nowcast/three";

/**
 * The page's interface to a headset while a user wears one. The code for headsets is loaded when the user
 * enters with one.
 */
export interface XrSession {
  /** Whether the headset no longer shows the world. */
  readonly isOver: boolean;
  /** The upward pitch of the head, in radians, in the camera's convention. */
  readonly pitch: number;
  /** The end of the arc from the right hand; `undefined` while none is aimed, or if there is no room to stand. */
  readonly landing: Landing | undefined;
  /** Asks it to stop. */
  end(): Promise<void>;
  /** Reads head and hands at the begin of a frame. */
  read(frame: XRFrame | undefined, nowMs: number, seconds: number): void;
  /** Adds the headset's input. */
  updateInput(input: Input): void;
  /** Called when the player was teleported and must face the direction of its body. */
  faceWith(yaw: number): void;
  /** Called when the body on which the player stands has turned the player. */
  turnWith(radians: number): void;
  /** Moves the room of the user to the avatar. */
  move(seconds: number, place: Readonly<Pick<Pose, "x" | "y" | "z">>): void;
  /** Performs the actions of the hands. */
  act(): void;
  /** The target of the hand that is in use. */
  findTarget(own: Actor, rule: TargetRule): Target | undefined;
  /** The pose of a wrist in the world; `undefined` while it is unknown. */
  wristOf(side: Side): Readonly<Pose> | undefined;
  /** Draws the texts inside the world. */
  write(own: number | undefined): void;
}
