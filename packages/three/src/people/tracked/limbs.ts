/** Bends a body so that its head and hands have the poses of a headset. */
import { Matrix4, Quaternion, Vector3 } from "three";
import type { Pose } from "../../pose.js";
import { BODY, type Skeleton } from "../skeleton.js";

/** The tracked parts of a body. All other parts are derived from these. */
export interface TrackedBody {
  readonly head: Pose | undefined;
  readonly left: Pose | undefined;
  readonly right: Pose | undefined;
}

/** From the neck to the point between the eyes. */
const EYES = new Vector3(0, 0.19, -0.1);
/**
 * Maximum and minimum height of the neck above the middle of the body. All players have bodies of the same
 * size.
 */
const NECK_M_MAX = 0.54;
const NECK_M_MIN = -0.35;
/** Maximum lean. Beyond it the hips move, too. */
const LEAN_M_MAX = 0.3;
const LEG_M = BODY.thigh + BODY.shin;
const ARM_M = BODY.upperArm + BODY.forearm;

/** Poses a skeleton that stands at `root`, after its own animation. Updates all matrices. */
export function poseTracked(skeleton: Skeleton, root: Matrix4, { head, left, right }: TrackedBody): void {
  if (head) poseTrunk(skeleton, root, head);
  skeleton.place(root);
  if (left) poseArm(skeleton, left, true);
  if (right) poseArm(skeleton, right, false);
  skeleton.place(root);
}

/** Moves the neck below the head and the hips below the neck, and bends the knees by the missing height. */
function poseTrunk(skeleton: Skeleton, root: Matrix4, head: Pose): void {
  INVERSE.copy(root).invert();
  ROOT_TURN.setFromRotationMatrix(MATRIX.extractRotation(root)).invert();
  HEAD_TURN.copy(head.quaternion).premultiply(ROOT_TURN);
  NECK.copy(head.position).applyMatrix4(INVERSE).sub(POINT.copy(EYES).applyQuaternion(HEAD_TURN));
  NECK.y = Math.min(NECK_M_MAX, Math.max(NECK_M_MIN, NECK.y));

  const away = Math.hypot(NECK.x, NECK.z);
  const along = away > LEAN_M_MAX ? (away - LEAN_M_MAX) / away : 0;
  const leaning = Math.min(away, LEAN_M_MAX);
  const { pelvis, torso } = skeleton;
  const height = NECK.y - Math.sqrt(BODY.neckHeight ** 2 - leaning ** 2);
  pelvis.position.set(NECK.x * along, height, NECK.z * along);
  pelvis.rotation.set(0, 0, 0);
  torso.quaternion.setFromUnitVectors(UP, POINT.copy(NECK).sub(pelvis.position).normalize());
  skeleton.head.quaternion.copy(TURN.copy(torso.quaternion).invert().multiply(HEAD_TURN));
  bendKnees(skeleton, BODY.hipHeight - height);
}

/** Shortens both legs by this many metres. */
function bendKnees(skeleton: Skeleton, metres: number): void {
  const length = Math.min(LEG_M - 1e-4, Math.max(0.25, LEG_M - metres));
  if (length > LEG_M - 0.01) return;
  const { thigh, shin } = BODY;
  const knee = Math.PI - corner(thigh, shin, length);
  const hip = corner(thigh, length, shin);
  for (const leg of [skeleton.thighLeft, skeleton.thighRight]) leg.rotation.x += hip;
  for (const leg of [skeleton.shinLeft, skeleton.shinRight]) leg.rotation.x -= knee;
  for (const foot of [skeleton.footLeft, skeleton.footRight]) foot.rotation.x += knee - hip;
}

/** Moves a wrist to its position by two bones of known lengths. The elbow points down, out and back. */
function poseArm(skeleton: Skeleton, wrist: Pose, isLeft: boolean): void {
  const side = isLeft ? -1 : 1;
  const upper = isLeft ? skeleton.upperArmLeft : skeleton.upperArmRight;
  const fore = isLeft ? skeleton.forearmLeft : skeleton.forearmRight;
  INVERSE.copy(skeleton.torso.matrixWorld).invert();
  TARGET.copy(wrist.position).applyMatrix4(INVERSE).sub(upper.position);
  const distance = Math.min(ARM_M - 1e-3, Math.max(0.08, TARGET.length()));
  if (TARGET.lengthSq() < 1e-8) return;
  TARGET.normalize();
  POLE.set(0.45 * side, -1, 0.55);
  POLE.addScaledVector(TARGET, -POLE.dot(TARGET));
  if (POLE.lengthSq() < 1e-6) POLE.set(0, 0, 1).addScaledVector(TARGET, -TARGET.z);
  POLE.normalize();

  const { upperArm, forearm } = BODY;
  const shoulder = corner(upperArm, distance, forearm);
  const [cosine, sine] = [Math.cos(shoulder), Math.sin(shoulder)];
  // The upper arm hangs along -Y, and the elbow bends about X so that the forearm swings to -Z, away from the pole.
  AXIS_Y.copy(TARGET).multiplyScalar(-cosine).addScaledVector(POLE, -sine);
  AXIS_Z.copy(POLE).multiplyScalar(cosine).addScaledVector(TARGET, -sine);
  AXIS_X.crossVectors(AXIS_Y, AXIS_Z);
  upper.quaternion.setFromRotationMatrix(MATRIX.makeBasis(AXIS_X, AXIS_Y, AXIS_Z));
  fore.rotation.set(Math.PI - corner(upperArm, forearm, distance), 0, 0);
}

/** The angle between two sides of a triangle, given the third side. */
function corner(a: number, b: number, opposite: number): number {
  return Math.acos(Math.min(1, Math.max(-1, (a * a + b * b - opposite * opposite) / (2 * a * b))));
}

const UP = new Vector3(0, 1, 0);
const INVERSE = new Matrix4();
const MATRIX = new Matrix4();
const ROOT_TURN = new Quaternion();
const HEAD_TURN = new Quaternion();
const TURN = new Quaternion();
const NECK = new Vector3();
const POINT = new Vector3();
const TARGET = new Vector3();
const POLE = new Vector3();
const AXIS_X = new Vector3();
const AXIS_Y = new Vector3();
const AXIS_Z = new Vector3();
