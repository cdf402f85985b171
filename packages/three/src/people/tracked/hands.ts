import {
  CapsuleGeometry,
  Color,
  DynamicDrawUsage,
  Group,
  InstancedMesh,
  Matrix4,
  MeshLambertMaterial,
  Quaternion,
  Vector3,
} from "three";
import type { Pose } from "../../pose.js";
import { HAND_JOINTS } from "./hand-pose.js";
import { FINGERS, placeJoints } from "./hand-shape.js";

/** A hand as it is drawn. Its pose is the wrist's. */
export interface ShownHand extends Pose {
  readonly isLeft: boolean;
  /** Rotations of all joints relative to the wrist. */
  readonly rotations: Float32Array;
  readonly size: number;
}

const BONES = FINGERS.reduce((sum, { bones }) => sum + bones.length, 0);
/** The bones of the fingers, and the palm. */
const PARTS = BONES + 1;
/** Half of the palm's width and thickness in metres. */
const PALM_HALF = [0.034, 0.0125] as const;
/** The knuckles of the middle and the ring finger, where the palm ends. */
const KNUCKLES = [11, 16] as const;

/** Hands with fingers, in one draw call. */
export class Hands {
  readonly group = new Group();
  readonly #geometry = bone();
  readonly #material = new MeshLambertMaterial();
  readonly #joints = new Float32Array(HAND_JOINTS * 3);
  #mesh: InstancedMesh | undefined;
  #capacity = 0;
  #count = 0;

  /** Begins a frame without hands. */
  begin(): void {
    this.#count = 0;
  }

  draw(hand: ShownHand, skin: Color): void {
    if (this.#count >= this.#capacity) this.#reserve(Math.max(4, this.#capacity * 2));
    const joints = this.#joints;
    if (!this.#mesh) return;
    placeJoints(hand.rotations, hand.isLeft, hand.size, joints);
    WRIST.compose(hand.position, hand.quaternion, ONE);
    let at = this.#count * PARTS;
    for (const { first, bones, radius } of FINGERS) {
      const thick = radius * hand.size;
      for (let i = 0; i < bones.length; i++) {
        FROM.fromArray(joints, (first + i) * 3);
        TO.fromArray(joints, (first + i + 1) * 3);
        TURN.fromArray(hand.rotations, (first + i) * 4);
        this.#put(at++, thick, thick, skin);
      }
    }
    FROM.set(0, 0, 0.012 * hand.size);
    TO.fromArray(joints, KNUCKLES[0] * 3)
      .add(KNUCKLE.fromArray(joints, KNUCKLES[1] * 3))
      .multiplyScalar(0.5);
    TURN.setFromUnitVectors(AHEAD, KNUCKLE.copy(TO).sub(FROM).normalize());
    this.#put(at, PALM_HALF[0] * hand.size, PALM_HALF[1] * hand.size, skin);
    this.#count++;
  }

  /** Ends the frame and shows the hands drawn in it. */
  end(): void {
    const mesh = this.#mesh;
    if (!mesh) return;
    mesh.count = this.#count * PARTS;
    mesh.instanceMatrix.needsUpdate = true;
    if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
  }

  dispose(): void {
    this.#mesh?.dispose();
    this.#geometry.dispose();
    this.#material.dispose();
    this.group.removeFromParent();
  }

  /** A bone from `FROM` to `TO`, turned by `TURN`, of half this width and thickness. */
  #put(at: number, halfX: number, halfY: number, skin: Color): void {
    SCALE.set(halfX, halfY, Math.max(1e-4, FROM.distanceTo(TO)));
    MATRIX.compose(FROM, TURN, SCALE).premultiply(WRIST);
    this.#mesh?.setMatrixAt(at, MATRIX);
    this.#mesh?.setColorAt(at, skin);
  }

  #reserve(capacity: number): void {
    const mesh = new InstancedMesh(this.#geometry, this.#material, capacity * PARTS);
    mesh.instanceMatrix.setUsage(DynamicDrawUsage);
    mesh.castShadow = true;
    mesh.frustumCulled = false;
    const before = this.#mesh;
    if (before) {
      for (let i = 0; i < this.#count * PARTS; i++) {
        before.getMatrixAt(i, MATRIX);
        mesh.setMatrixAt(i, MATRIX);
        before.getColorAt(i, COLOR);
        mesh.setColorAt(i, COLOR);
      }
      this.group.remove(before);
      before.dispose();
    }
    this.group.add(mesh);
    this.#mesh = mesh;
    this.#capacity = capacity;
  }
}

/**
 * Creates a bone from the origin to -Z, of length and radius 1. The caps are flat, so that scaled bones look round at
 * the ends.
 */
function bone(): CapsuleGeometry {
  const geometry = new CapsuleGeometry(1, 1, 4, 10);
  const position = geometry.getAttribute("position");
  for (let i = 0; i < position.count; i++) {
    const y = position.getY(i);
    const beyond = Math.max(0, Math.abs(y) - 0.5);
    position.setY(i, Math.sign(y) * (Math.min(0.5, Math.abs(y)) + beyond * 0.28));
  }
  geometry.rotateX(-Math.PI / 2).translate(0, 0, -0.5);
  geometry.computeVertexNormals();
  return geometry;
}

const ONE = new Vector3(1, 1, 1);
const AHEAD = new Vector3(0, 0, -1);
const WRIST = new Matrix4();
const MATRIX = new Matrix4();
const COLOR = new Color();
const FROM = new Vector3();
const TO = new Vector3();
const KNUCKLE = new Vector3();
const TURN = new Quaternion();
const SCALE = new Vector3();
