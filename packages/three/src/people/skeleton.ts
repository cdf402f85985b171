import { type Matrix4, Object3D } from "three";
import type { FacePose } from "./face.js";
import type { JointAngles } from "./gait.js";

/** Lengths in metres of a body 1.8 m tall whose origin is the centre of its capsule. */
export const BODY = {
  hipHeight: -0.06,
  hipWidth: 0.105,
  thigh: 0.4,
  shin: 0.37,
  shoulderHeight: 0.4,
  shoulderWidth: 0.205,
  upperArm: 0.27,
  forearm: 0.25,
  neckHeight: 0.5,
  eyeHeight: 0.19,
  mouthHeight: 0.098,
} as const;

/** One skeleton, which is posed for each avatar in turn. Its matrices are copied and drawn. */
export class Skeleton {
  readonly root = new Object3D();
  readonly pelvis = new Object3D();
  readonly torso = new Object3D();
  readonly head = new Object3D();
  readonly eyes = new Object3D();
  readonly mouth = new Object3D();
  readonly upperArmLeft = new Object3D();
  readonly upperArmRight = new Object3D();
  readonly forearmLeft = new Object3D();
  readonly forearmRight = new Object3D();
  readonly thighLeft = new Object3D();
  readonly thighRight = new Object3D();
  readonly shinLeft = new Object3D();
  readonly shinRight = new Object3D();
  readonly footLeft = new Object3D();
  readonly footRight = new Object3D();

  constructor() {
    this.root.add(this.pelvis);
    this.pelvis.add(this.torso, this.thighLeft, this.thighRight);
    this.torso.add(this.head, this.upperArmLeft, this.upperArmRight);
    this.upperArmLeft.add(this.forearmLeft);
    this.upperArmRight.add(this.forearmRight);
    this.thighLeft.add(this.shinLeft);
    this.thighRight.add(this.shinRight);
    this.shinLeft.add(this.footLeft);
    this.shinRight.add(this.footRight);

    this.head.add(this.eyes, this.mouth);

    this.head.position.y = BODY.neckHeight;
    this.upperArmLeft.position.set(-BODY.shoulderWidth, BODY.shoulderHeight, 0);
    this.upperArmRight.position.set(BODY.shoulderWidth, BODY.shoulderHeight, 0);
    this.forearmLeft.position.y = this.forearmRight.position.y = -BODY.upperArm;
    this.thighLeft.position.set(-BODY.hipWidth, 0, 0);
    this.thighRight.position.set(BODY.hipWidth, 0, 0);
    this.shinLeft.position.y = this.shinRight.position.y = -BODY.thigh;
    this.footLeft.position.y = this.footRight.position.y = -BODY.shin;
  }

  /** Bodies face −Z, so swinging a limb forward is a positive turn about X, and leaning forward a negative one. */
  pose(angles: JointAngles): void {
    this.pelvis.position.set(angles.sway, BODY.hipHeight + angles.bob, 0);
    this.pelvis.rotation.set(0, angles.turn - angles.twist * 0.5, angles.roll);
    this.torso.rotation.set(-angles.lean, angles.twist * 1.5 - angles.turn * 0.75, -angles.roll);
    this.head.rotation.set(-angles.headPitch, angles.headYaw - angles.turn * 0.25, 0);
    this.upperArmLeft.rotation.set(angles.shoulderLeft, 0, -angles.spreadLeft);
    this.upperArmRight.rotation.set(angles.shoulderRight, 0, angles.spreadRight);
    this.forearmLeft.rotation.x = angles.elbowLeft;
    this.forearmRight.rotation.x = angles.elbowRight;
    this.thighLeft.rotation.x = angles.hipLeft;
    this.thighRight.rotation.x = angles.hipRight;
    this.shinLeft.rotation.x = -angles.kneeLeft;
    this.shinRight.rotation.x = -angles.kneeRight;
    this.footLeft.rotation.x = angles.ankleLeft;
    this.footRight.rotation.x = angles.ankleRight;
  }

  poseFace({ open, eyesX, eyesY, mouth }: FacePose): void {
    this.eyes.position.set(eyesX, BODY.eyeHeight + eyesY, 0);
    this.eyes.scale.set(1, open, 1);
    this.mouth.position.set(0, BODY.mouthHeight, 0);
    this.mouth.scale.set(1 - 0.25 * mouth, 1 + 3.2 * mouth, 1);
  }

  /** Places the body in the world, and computes the matrix of every joint. */
  place(matrix: Matrix4): void {
    this.root.matrix.copy(matrix);
    this.root.matrixAutoUpdate = false;
    this.root.matrixWorldNeedsUpdate = true;
    this.root.updateMatrixWorld(true);
  }
}
