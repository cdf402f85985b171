import { Vector3 } from "three";
import type { Pose } from "../pose.js";
import type { JointAngles } from "./gait.js";

/** Height of a seated person's centre above the seat's top, in metres. */
const CENTRE_M = 0.16;
/** A vehicle's seat is above its centre by this share of its half height. */
const SEAT_SHARE = 0.3;

/** Poses a driver: legs ahead, hands at the wheel. The head still turns and breathes as before. */
export function poseSeated(out: JointAngles): void {
  out.bob = out.sway = out.roll = out.turn = out.twist = 0;
  out.lean = -0.06;
  out.hipLeft = out.hipRight = 1.42;
  out.kneeLeft = out.kneeRight = 1.25;
  out.ankleLeft = out.ankleRight = 0;
  out.shoulderLeft = out.shoulderRight = 0.85;
  out.elbowLeft = out.elbowRight = 0.55;
  out.spreadLeft = out.spreadRight = 0.06;
}

/** Moves a pose from the centre of a vehicle to that of its driver, along the vehicle's own axis. */
export function moveToSeat({ position, quaternion }: Pose, halfHeight: number): void {
  position.add(UP.set(0, halfHeight * SEAT_SHARE + CENTRE_M, 0).applyQuaternion(quaternion));
}

const UP = new Vector3();
