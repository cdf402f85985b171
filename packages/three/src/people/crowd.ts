import {
  DynamicDrawUsage,
  Group,
  InstancedMesh,
  Matrix4,
  MeshLambertMaterial,
  type Object3D,
  Quaternion,
  Vector3,
} from "three";
import { ease, wrapAngle } from "../angle.js";
import type { Body } from "../look/body.js";
import { copyPose, type Pose, yawOf } from "../pose.js";
import type { Obstacles } from "../scene/obstacles.js";
import { createJointAngles, legsToward, type Motion, phaseStep, poseBody } from "./gait.js";
import { createOutfit } from "./outfit.js";
import { createParts, type Part } from "./parts.js";
import { Skeleton } from "./skeleton.js";

/** The height of the skeleton before scaling. */
const HEIGHT_M = 1.8;
/** Default colours of clothes; the number of the player selects one. */
const SHIRTS = [0xe4572e, 0x2e86ab, 0xf2b134, 0x43a047, 0x8e5aa8, 0xef6f94, 0x17a398, 0x5c6bc0] as const;
/** A movement farther than this in one frame is a teleport, not a step. */
const TELEPORT_M = 3;

/** A drawn person, moved by a player or by the world. */
export interface Member extends Pose {
  readonly id: number;
  readonly motion: Motion;
  body: Body;
  /** As a multiple of {@link HEIGHT_M}. */
  size: number;
  halfHeight: number;
  color: number;
  /** Whether a model is drawn in its place. */
  isModelled: boolean;
  velocityX: number;
  velocityZ: number;
  /** Its position in the previous frame. */
  lastX: number;
  lastY: number;
  lastZ: number;
}

/** Bends the bodies of players with tracked heads and hands. */
export interface BodyTracking {
  /**
   * Bends a body that stands at `root`, and updates the skeleton's matrices. Returns false for a body without
   * tracking.
   */
  pose(member: Member, skeleton: Skeleton, root: Matrix4): boolean;
}

/** All players. Each kind of body part is one draw call, for any number of players. */
export class Crowd {
  readonly group = new Group();
  readonly #parts: readonly Part[] = createParts();
  readonly #meshes: InstancedMesh[] = [];
  readonly #material = new MeshLambertMaterial({ vertexColors: true });
  readonly #skeleton = new Skeleton();
  readonly #joints: Object3D[][];
  readonly #angles = createJointAngles();
  readonly #list: Member[] = [];
  readonly #byId = new Map<number, Member>();
  #capacity = 0;
  /** The tracking, set as soon as a player in the world has a headset. */
  tracking: BodyTracking | undefined;

  constructor() {
    this.#joints = this.#parts.map((part) => part.joints.map((joint) => joint(this.#skeleton)));
    this.#reserve(16);
  }

  get members(): readonly Member[] {
    return this.#list;
  }

  get(id: number): Member | undefined {
    return this.#byId.get(id);
  }

  /** The colour of a player's shirt; grey for an absent player. */
  colorOf(id: number | undefined): number {
    return (id === undefined ? undefined : this.#byId.get(id)?.color) ?? 0x9a9a9a;
  }

  add(body: Body, pose: Pose): void {
    if (this.#byId.has(body.id)) this.remove(body.id);
    const member: Member = {
      id: body.id,
      body,
      size: sizeOf(body),
      halfHeight: (HEIGHT_M / 2) * sizeOf(body),
      color: colorOf(body),
      isModelled: false,
      ...{ x: pose.x, y: pose.y, z: pose.z, qx: pose.qx, qy: pose.qy, qz: pose.qz, qw: pose.qw },
      velocityX: 0,
      velocityZ: 0,
      lastX: pose.x,
      lastY: pose.y,
      lastZ: pose.z,
      motion: {
        phase: (body.id * 1.7) % 6.28,
        speed: 0,
        backward: false,
        heading: 0,
        air: 0,
        rise: 0,
        carry: body.holding === undefined ? 0 : 1,
        fling: 0,
        landing: 0,
        seconds: (body.id * 3.1) % 100,
      },
    };
    this.#list.push(member);
    this.#byId.set(body.id, member);
    if (this.#list.length > this.#capacity) this.#reserve(this.#capacity * 2);
    else this.#paint(this.#list.length - 1);
    this.#count();
  }

  /** Applies another look or held item; the animation continues. */
  change(body: Body): void {
    const member = this.#byId.get(body.id);
    if (!member) return;
    // When the arms release an item, they swing through. The strength of a throw is not known here.
    if (member.body.holding !== undefined && body.holding === undefined) member.motion.fling = 1;
    member.body = body;
    member.size = sizeOf(body);
    member.halfHeight = (HEIGHT_M / 2) * member.size;
    member.color = colorOf(body);
    this.#paint(this.#list.indexOf(member));
  }

  remove(id: number): void {
    const member = this.#byId.get(id);
    if (!member) return;
    this.#list.splice(this.#list.indexOf(member), 1);
    this.#byId.delete(id);
    for (let i = 0; i < this.#list.length; i++) this.#paint(i);
    this.#count();
  }

  clear(): void {
    this.#list.length = 0;
    this.#byId.clear();
    this.#count();
  }

  place(id: number, pose: Pose): void {
    const member = this.#byId.get(id);
    if (member) copyPose(pose, member);
  }

  /** Advances every body by a frame. `hidden` is not drawn, because the camera is inside it. */
  update(seconds: number, obstacles: Obstacles, hidden: number | undefined): void {
    for (let i = 0; i < this.#list.length; i++) {
      const member = this.#list[i]!;
      advance(member, seconds, obstacles);
      poseBody(member.motion, this.#angles);
      this.#skeleton.pose(this.#angles);
      POSITION.set(member.x, member.y, member.z);
      ROTATION.set(member.qx, member.qy, member.qz, member.qw);
      const isDrawn = member.id !== hidden && !member.isModelled;
      SCALE.setScalar(isDrawn ? member.size : 0);
      this.#skeleton.place(MATRIX.compose(POSITION, ROTATION, SCALE));
      if (isDrawn) this.tracking?.pose(member, this.#skeleton, MATRIX);
      this.#copyOut(i);
    }
    for (let m = 0; m < this.#meshes.length; m++) this.#meshes[m]!.instanceMatrix.needsUpdate = true;
  }

  dispose(): void {
    this.clear();
    for (const mesh of this.#meshes) {
      this.group.remove(mesh);
      mesh.dispose();
    }
    for (const part of this.#parts) part.geometry.dispose();
    this.#material.dispose();
  }

  #copyOut(index: number): void {
    for (let m = 0; m < this.#meshes.length; m++) {
      const joints = this.#joints[m]!;
      for (let j = 0; j < joints.length; j++) {
        this.#meshes[m]!.setMatrixAt(index * joints.length + j, joints[j]!.matrixWorld);
      }
    }
  }

  #count(): void {
    this.#meshes.forEach((mesh, m) => {
      mesh.count = this.#list.length * this.#joints[m]!.length;
    });
  }

  #paint(index: number): void {
    const member = this.#list[index]!;
    const outfit = createOutfit(member.id, member.color);
    this.#meshes.forEach((mesh, m) => {
      const joints = this.#joints[m]!.length;
      for (let j = 0; j < joints; j++) mesh.setColorAt(index * joints + j, outfit[this.#parts[m]!.cloth]);
      if (mesh.instanceColor) mesh.instanceColor.needsUpdate = true;
    });
  }

  #reserve(capacity: number): void {
    this.#capacity = capacity;
    for (const mesh of this.#meshes) {
      this.group.remove(mesh);
      mesh.dispose();
    }
    this.#meshes.length = 0;
    this.#parts.forEach((part, m) => {
      const mesh = new InstancedMesh(part.geometry, this.#material, capacity * this.#joints[m]!.length);
      mesh.instanceMatrix.setUsage(DynamicDrawUsage);
      mesh.castShadow = true;
      mesh.receiveShadow = true;
      mesh.frustumCulled = false;
      this.#meshes.push(mesh);
      this.group.add(mesh);
    });
    for (let i = 0; i < this.#list.length; i++) this.#paint(i);
    this.#count();
  }
}

/** Derives the motion of the limbs from the motion of the body. */
function advance(member: Member, seconds: number, obstacles: Obstacles): void {
  const motion = member.motion;
  motion.seconds += seconds;
  if (seconds <= 0) return;
  let dx = member.x - member.lastX;
  const dy = member.y - member.lastY;
  let dz = member.z - member.lastZ;
  member.lastX = member.x;
  member.lastY = member.y;
  member.lastZ = member.z;
  if (Math.abs(dx) + Math.abs(dy) + Math.abs(dz) > TELEPORT_M) {
    dx = 0;
    dz = 0;
    member.velocityX = 0;
    member.velocityZ = 0;
    motion.rise = 0;
  } else {
    motion.rise += (dy / seconds - motion.rise) * ease(20, seconds);
  }
  const follow = ease(12, seconds);
  member.velocityX += (dx / seconds - member.velocityX) * follow;
  member.velocityZ += (dz / seconds - member.velocityZ) * follow;
  motion.speed = Math.hypot(member.velocityX, member.velocityZ);
  if (motion.speed > 0.3) {
    legsToward(yawOf(member), member.velocityX, member.velocityZ, LEGS);
    motion.backward = LEGS.backward;
    motion.heading += (LEGS.heading - motion.heading) * ease(9, seconds);
  }
  motion.phase = wrapAngle(motion.phase + phaseStep(Math.hypot(dx, dz), motion.speed));

  const aloft = isAloft(member, obstacles);
  const wasAloft = motion.air > 0.6;
  motion.air += ((aloft ? 1 : 0) - motion.air) * ease(aloft ? 16 : 22, seconds);
  if (wasAloft && !aloft) motion.landing = Math.max(motion.landing, Math.min(1, -motion.rise / 7));
  motion.landing *= Math.exp(-8 * seconds);
  motion.carry += ((member.body.holding === undefined ? 0 : 1) - motion.carry) * ease(10, seconds);
  motion.fling *= Math.exp(-7 * seconds);
}

/** The protocol does not state on which body a player stands, so the ground under the feet is searched. */
function isAloft(member: Member, obstacles: Obstacles): boolean {
  if (Math.abs(member.motion.rise) < 0.8 && member.motion.air < 0.05) return false;
  const feet = member.halfHeight + 0.1;
  const except = member.body.holding;
  return obstacles.cast(member.x, member.y, member.z, 0, -1, 0, { margin: 0.08, except, reach: feet }) > feet;
}

function sizeOf({ appearance, scale }: Body): number {
  const form = appearance?.form;
  return ((form?.shape === "person" ? form.height : HEIGHT_M) / HEIGHT_M) * Math.abs(scale[1]);
}

function colorOf({ id, appearance }: Body): number {
  return appearance?.color ?? SHIRTS[id % SHIRTS.length]!;
}

const LEGS = { backward: false, heading: 0 };
const POSITION = new Vector3();
const ROTATION = new Quaternion();
const SCALE = new Vector3();
const MATRIX = new Matrix4();
