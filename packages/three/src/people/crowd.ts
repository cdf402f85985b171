import { type Color, DynamicDrawUsage, Group, InstancedMesh, Matrix4, type Object3D, Vector3 } from "three";
import { ease, wrapAngle } from "../angle.js";
import type { Body } from "../look/body.js";
import { copyPose, type Pose, yawOf } from "../pose.js";
import type { Obstacles } from "../scene/obstacles.js";
import type { Prop } from "../scene/prop.js";
import { ContactShadows } from "./contact-shadows.js";
import { type Emote, emoteOf, emoteSeconds, poseEmote } from "./emotes.js";
import { type FacePose, poseFace } from "./face.js";
import { createJointAngles, legsToward, type Motion, phaseStep, poseBody, smooth } from "./gait.js";
import { createOutfit, readOutfit, shirtOf, skinOf } from "./outfit.js";
import { createParts, type Part } from "./parts.js";
import { createPersonMaterial } from "./person-material.js";
import { moveToSeat, poseSeated } from "./seat.js";
import { Skeleton } from "./skeleton.js";

/** The height of the skeleton before scaling. */
const HEIGHT_M = 1.8;
/** Default colours of clothes; the number of the player selects one. */
const SHIRTS = [0xe4572e, 0x2e86ab, 0xf2b134, 0x43a047, 0x8e5aa8, 0xef6f94, 0x17a398, 0x5c6bc0] as const;
/** Widths of the builds in `OUTFIT_CHOICES.build`, after the usual one. */
const WIDTHS = [1, 0.88, 1.14] as const;
/** A person whose axis is nearer to the eye than this is not drawn, in metres. */
const EYE_M = 0.7;
/** A landing with more force raises dust. */
const DUSTY_LANDING = 0.2;
/** Greatest distance from the feet to a body on which they stand, in metres. */
const GROUND_M = 0.3;

/** A drawn person, moved by a player or by the world. */
export interface Member extends Pose {
  readonly id: number;
  readonly motion: Motion;
  body: Body;
  /** As a multiple of {@link HEIGHT_M}. */
  size: number;
  halfHeight: number;
  color: number;
  skin: Color;
  /** The hat that it wears, in `OUTFIT_CHOICES.hat`, from 1; 0 for none. */
  hat: number;
  /** Width of the body as a multiple of the usual one. */
  width: number;
  /** The present gesture, and the time since it began. */
  emote: Emote | undefined;
  emoteSeconds: number;
  /** Whether its player speaks. */
  isSpeaking: boolean;
  /** Direction in the previous frame, and speed of turning to the left, in radians and radians a second. */
  lastYaw: number;
  turning: number;
  /** Half of the height of the vehicle that it drives, in metres; `undefined` for a person on foot. */
  seat: number | undefined;
  /** Whether a model is drawn in its place. */
  isModelled: boolean;
  velocityX: number;
  velocityZ: number;
  /** Its position in the previous frame. */
  lastX: number;
  lastY: number;
  lastZ: number;
  /** What it stood on in the previous frame, if that may move, and where that was. */
  ground: Prop | undefined;
  groundX: number;
  groundZ: number;
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
  readonly #material = createPersonMaterial();
  readonly #contacts = new ContactShadows();
  readonly #skeleton = new Skeleton();
  readonly #joints: Object3D[][];
  readonly #angles = createJointAngles();
  readonly #face: FacePose = { open: 1, eyesX: 0, eyesY: 0, mouth: 0 };
  readonly #list: Member[] = [];
  readonly #byId = new Map<number, Member>();
  /** The drivers of vehicles, by the vehicles. */
  readonly #drivers = new Map<number, Member>();
  #capacity = 0;
  /** Receives a person who lands on the ground, and the force of the landing from 0 to 1. */
  onLanding: ((member: Member, force: number) => void) | undefined;
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

  /** The colour of a player's skin, also of a driver and of a player without a drawn avatar. */
  skinOf(player: number, avatar: number | undefined): Color {
    const member = avatar === undefined ? undefined : (this.#byId.get(avatar) ?? this.#drivers.get(avatar));
    return member?.skin ?? skinOf(player);
  }

  add(body: Body, pose: Pose): void {
    this.remove(body.id);
    const member = createMember(body, pose);
    this.#byId.set(body.id, member);
    this.#insert(member);
  }

  /** Seats a driver on a vehicle, whose half height is in metres. The driver is drawn until the vehicle is removed. */
  seat(vehicle: Body, pose: Pose, halfHeight: number): void {
    this.remove(vehicle.id);
    const member = createMember({ ...vehicle, scale: [1, 1, 1], outfit: 0, appearance: undefined }, pose);
    member.seat = halfHeight;
    moveToSeat(member, halfHeight);
    this.#drivers.set(vehicle.id, member);
    this.#insert(member);
  }

  #insert(member: Member): void {
    this.#list.push(member);
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
    if (member.body.emote !== body.emote) {
      member.emote = emoteOf(body.emote);
      member.emoteSeconds = 0;
    }
    member.body = body;
    Object.assign(member, bearingOf(body));
    member.size = sizeOf(body);
    member.halfHeight = (HEIGHT_M / 2) * member.size;
    member.color = colorOf(body);
    this.#paint(this.#list.indexOf(member));
    this.#count();
  }

  remove(id: number): void {
    const member = this.#byId.get(id) ?? this.#drivers.get(id);
    if (!member) return;
    this.#list.splice(this.#list.indexOf(member), 1);
    this.#byId.delete(id);
    this.#drivers.delete(id);
    for (let i = 0; i < this.#list.length; i++) this.#paint(i);
    this.#count();
  }

  clear(): void {
    this.#list.length = 0;
    this.#byId.clear();
    this.#drivers.clear();
    this.#count();
  }

  /** `hasJumped` says that there is no way from the earlier pose to this one. */
  place(id: number, pose: Pose, hasJumped = false): void {
    const member = this.#byId.get(id) ?? this.#drivers.get(id);
    if (!member) return;
    copyPose(pose, member);
    if (hasJumped) {
      const { x, y, z } = pose.position;
      [member.lastX, member.lastY, member.lastZ] = [x, y, z];
      member.velocityX = 0;
      member.velocityZ = 0;
      member.motion.rise = 0;
      member.ground = undefined;
    }
    if (member.seat !== undefined) moveToSeat(member, member.seat);
  }

  /** Moves the mouth of a player who speaks. */
  setSpeaking(id: number, isSpeaking: boolean): void {
    const member = this.#byId.get(id);
    if (member) member.isSpeaking = isSpeaking;
  }

  /**
   * Advances every body by a frame. `hidden` is not drawn, because the camera is inside it; neither are people who are so near
   * to the point `eye` that they would fill the picture.
   */
  update(seconds: number, obstacles: Obstacles, hidden: number | undefined, eye?: Vector3): void {
    for (let i = 0; i < this.#list.length; i++) {
      const member = this.#list[i]!;
      const landing = advance(member, seconds, obstacles);
      if (landing > DUSTY_LANDING) this.onLanding?.(member, landing);
      poseBody(member.motion, this.#angles);
      if (member.seat === undefined && !member.body.isSeated) this.#poseGesture(member);
      else poseSeated(this.#angles);
      this.#skeleton.pose(this.#angles);
      poseFace(member.motion.seconds, member.turning, member.motion.speed, member.isSpeaking, this.#face);
      this.#skeleton.poseFace(this.#face);
      const { position, quaternion } = member;
      const isDrawn = member.id !== hidden && !member.isModelled && !isAtEye(member, eye);
      const size = isDrawn ? member.size : 0;
      SCALE.set(size * member.width, size, size * member.width);
      this.#skeleton.place(MATRIX.compose(position, quaternion, SCALE));
      if (isDrawn) this.tracking?.pose(member, this.#skeleton, MATRIX);
      this.#copyOut(i, member.hat);
      const touch = member.seat === undefined && !member.body.isSeated ? 1 - member.motion.air : 0;
      this.#contacts.set(
        i,
        position.x,
        position.y - member.halfHeight,
        position.z,
        size * member.width * touch,
      );
    }
    this.#contacts.mesh.instanceMatrix.needsUpdate = true;
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
    this.group.remove(this.#contacts.mesh);
    this.#contacts.dispose();
  }

  #poseGesture(member: Member): void {
    const { emote, motion } = member;
    if (emote === undefined) return;
    const share = (1 - motion.air) * (1 - motion.carry) * (1 - smooth(0.4, 2, motion.speed));
    poseEmote(emote, member.emoteSeconds, share, this.#angles);
  }

  #copyOut(index: number, hat: number): void {
    for (let m = 0; m < this.#meshes.length; m++) {
      const joints = this.#joints[m]!;
      const { hats } = this.#parts[m]!;
      const isWorn = hats === undefined || hats.includes(hat);
      for (let j = 0; j < joints.length; j++) {
        this.#meshes[m]!.setMatrixAt(index * joints.length + j, isWorn ? joints[j]!.matrixWorld : NOWHERE);
      }
    }
  }

  #count(): void {
    this.#contacts.mesh.count = this.#list.length;
    this.#meshes.forEach((mesh, m) => {
      mesh.count = this.#list.length * this.#joints[m]!.length;
      const { hats } = this.#parts[m]!;
      mesh.visible = hats === undefined || this.#list.some(({ hat }) => hats.includes(hat));
    });
  }

  #paint(index: number): void {
    const member = this.#list[index]!;
    const outfit = createOutfit(wearerOf(member.body), member.color, member.body.outfit);
    member.skin = outfit.skin;
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
    this.group.remove(this.#contacts.mesh);
    this.#contacts.reserve(capacity);
    this.group.add(this.#contacts.mesh);
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

function createMember(body: Body, pose: Pose): Member {
  const { x, y, z } = pose.position;
  return {
    position: pose.position.clone(),
    quaternion: pose.quaternion.clone(),
    id: body.id,
    body,
    size: sizeOf(body),
    halfHeight: (HEIGHT_M / 2) * sizeOf(body),
    color: colorOf(body),
    skin: skinOf(wearerOf(body)),
    ...bearingOf(body),
    emote: undefined,
    emoteSeconds: 0,
    isSpeaking: false,
    lastYaw: yawOf(pose.quaternion),
    turning: 0,
    seat: undefined,
    isModelled: false,
    velocityX: 0,
    velocityZ: 0,
    ...{ lastX: x, lastY: y, lastZ: z },
    ...{ ground: undefined, groundX: 0, groundZ: 0 },
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
}

/** Derives the motion of the limbs from the motion of the body. Returns the force of a landing in this frame, 0 for none. */
function advance(member: Member, seconds: number, obstacles: Obstacles): number {
  const motion = member.motion;
  motion.seconds += seconds;
  if (seconds <= 0) return 0;
  if (member.emote !== undefined) {
    member.emoteSeconds += seconds;
    if (member.emoteSeconds > emoteSeconds(member.emote)) member.emote = undefined;
  }
  if (member.seat !== undefined || member.body.isSeated) return 0;
  const yaw = yawOf(member.quaternion);
  const { x, y, z } = member.position;
  member.turning += (wrapAngle(yaw - member.lastYaw) / seconds - member.turning) * ease(10, seconds);
  member.lastYaw = yaw;
  let dx = x - member.lastX;
  const dy = y - member.lastY;
  let dz = z - member.lastZ;
  member.lastX = x;
  member.lastY = y;
  member.lastZ = z;
  const { ground, groundX, groundZ } = member;
  standOn(member, obstacles);
  if (member.ground !== undefined && member.ground === ground) {
    // A passenger who stands on a boat does not walk.
    dx -= ground.position.x - groundX;
    dz -= ground.position.z - groundZ;
  }
  motion.rise += (dy / seconds - motion.rise) * ease(20, seconds);
  const follow = ease(12, seconds);
  member.velocityX += (dx / seconds - member.velocityX) * follow;
  member.velocityZ += (dz / seconds - member.velocityZ) * follow;
  motion.speed = Math.hypot(member.velocityX, member.velocityZ);
  if (motion.speed > 0.3) {
    legsToward(yaw, member.velocityX, member.velocityZ, LEGS);
    motion.backward = LEGS.backward;
    motion.heading += (LEGS.heading - motion.heading) * ease(9, seconds);
  }
  motion.phase = wrapAngle(motion.phase + phaseStep(Math.hypot(dx, dz), motion.speed));

  const aloft = isAloft(member, obstacles);
  const wasAloft = motion.air > 0.6;
  motion.air += ((aloft ? 1 : 0) - motion.air) * ease(aloft ? 16 : 22, seconds);
  const landing = wasAloft && !aloft ? Math.min(1, Math.max(0, -motion.rise / 7)) : 0;
  motion.landing = Math.max(motion.landing, landing);
  motion.landing *= Math.exp(-8 * seconds);
  motion.carry += ((member.body.holding === undefined ? 0 : 1) - motion.carry) * ease(10, seconds);
  motion.fling *= Math.exp(-7 * seconds);
  return landing;
}

/** Remembers the moving body under the feet. */
function standOn(member: Member, obstacles: Obstacles): void {
  const { x, y, z } = member.position;
  member.ground = obstacles.looseBelow(x, y, z, member.halfHeight + GROUND_M);
  member.groundX = member.ground?.position.x ?? 0;
  member.groundZ = member.ground?.position.z ?? 0;
}

/** The protocol does not state on which body a player stands, so the ground under the feet is searched. */
function isAloft(member: Member, obstacles: Obstacles): boolean {
  if (Math.abs(member.motion.rise) < 0.8 && member.motion.air < 0.05) return false;
  const feet = member.halfHeight + 0.1;
  const except = member.body.holding;
  const { x, y, z } = member.position;
  return obstacles.cast(x, y, z, 0, -1, 0, { margin: 0.08, except, reach: feet }) > feet;
}

function sizeOf({ appearance, scale }: Body): number {
  const form = appearance?.form;
  return ((form?.shape === "person" ? form.height : HEIGHT_M) / HEIGHT_M) * Math.abs(scale[1]);
}

/** The world's colour has priority over the player's, because the world's shows the team. */
function colorOf(body: Body): number {
  return body.appearance?.color ?? shirtOf(body.outfit) ?? SHIRTS[wearerOf(body) % SHIRTS.length]!;
}

/** The number that selects clothes. A player's number, so that the clothes stay when the avatar changes. */
function wearerOf({ id, driver, player }: Body): number {
  return driver ?? player ?? id;
}

function bearingOf({ outfit }: Body): Pick<Member, "hat" | "width"> {
  const { hat, build } = readOutfit(outfit);
  return { hat, width: WIDTHS[build] ?? 1 };
}

/** Whether a body is so near to the eye that it would fill the picture. */
function isAtEye({ position, size, halfHeight }: Member, eye: Vector3 | undefined): boolean {
  if (!eye || Math.abs(eye.y - position.y) > halfHeight + 0.25) return false;
  return Math.hypot(eye.x - position.x, eye.z - position.z) < EYE_M * size;
}

const LEGS = { backward: false, heading: 0 };
const SCALE = new Vector3();
const MATRIX = new Matrix4();
/** The place of hats that a body does not wear. */
const NOWHERE = new Matrix4().makeScale(0, 0, 0);
