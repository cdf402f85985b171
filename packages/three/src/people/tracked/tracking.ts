import type { Group, Matrix4 } from "three";
import { ease } from "../../angle.js";
import { createPose, type Pose, type PoseSource } from "../../pose.js";
import type { Crowd, Member } from "../crowd.js";
import type { Skeleton } from "../skeleton.js";
import { decodeHandPose, HAND_JOINTS } from "./hand-pose.js";
import { curlHand } from "./hand-shape.js";
import { Hands } from "./hands.js";
import { poseTracked } from "./limbs.js";
import type { TrackedPart } from "./tracked-kinds.js";

/**
 * A head or a hand without updates for this long is hidden: its headset was put down, or its page is suspended. A
 * headset at rest sends the attribute `beat` once a second.
 */
export const TRACKED_S_MAX = 3;

/**
 * The fields of an entity of the SDK that are used here. The object stays the same as long as the entity
 * exists.
 */
export interface TrackedEntity {
  readonly id: number;
  readonly owner: number | undefined;
  /** The world step of the entity's last motion. */
  readonly tick: number;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** The shown state of a part of a player's body. */
export interface ShownPart extends Pose {
  readonly id: number;
  readonly part: TrackedPart;
  readonly entity: TrackedEntity;
  isLeft: boolean;
  /** False while its pose is unknown or too old. */
  isShown: boolean;
  /** The grip: 0 for an open hand, 1 for a fist. */
  grip: number;
  /** A hand's joints relative to the wrist: the shown joints, and the last received joints. */
  readonly rotations: Float32Array;
  readonly wanted: Float32Array;
  hasJoints: boolean;
  size: number;
  /** Time since the last update, in seconds. */
  quietS: number;
  lastTick: number;
  lastAttributes: TrackedEntity["attributes"] | undefined;
}

/** Heads and hands of players with headsets: bends their bodies, and draws their hands. */
export class Tracking {
  readonly #hands = new Hands();
  readonly #parts = new Map<number, ShownPart>();
  readonly #bodies = new Map<
    number,
    { head: Pose | undefined; left: Pose | undefined; right: Pose | undefined }
  >();
  readonly #crowd: Crowd;
  readonly #avatarOf: (player: number) => number | undefined;

  /** `avatarOf` returns the entity of a player's body. */
  constructor(crowd: Crowd, avatarOf: (player: number) => number | undefined) {
    this.#crowd = crowd;
    this.#avatarOf = avatarOf;
  }

  get group(): Group {
    return this.#hands.group;
  }

  /** All known parts, shown or not. */
  get all(): Iterable<Readonly<ShownPart>> {
    return this.#parts.values();
  }

  add(entity: TrackedEntity, part: TrackedPart): void {
    const rotations = new Float32Array(HAND_JOINTS * 4);
    curlHand(0, false, rotations);
    this.#parts.set(entity.id, {
      ...createPose(),
      id: entity.id,
      part,
      entity,
      isLeft: false,
      isShown: false,
      grip: 0,
      rotations,
      wanted: new Float32Array(rotations),
      hasJoints: false,
      size: 1,
      quietS: 0,
      lastTick: entity.tick,
      lastAttributes: undefined,
    });
  }

  remove(id: number): void {
    this.#parts.delete(id);
  }

  clear(): void {
    this.#parts.clear();
    this.#bodies.clear();
  }

  dispose(): void {
    this.clear();
    this.#hands.dispose();
  }

  /** Moves all parts to their current poses. */
  place(source: PoseSource): void {
    this.#bodies.clear();
    for (const shown of this.#parts.values()) {
      shown.isShown = shown.quietS < TRACKED_S_MAX && source.pose(shown.id, shown);
      const { owner } = shown.entity;
      if (!shown.isShown || owner === undefined) continue;
      const avatar = this.#avatarOf(owner);
      if (avatar === undefined) continue;
      let body = this.#bodies.get(avatar);
      if (!body) {
        body = { head: undefined, left: undefined, right: undefined };
        this.#bodies.set(avatar, body);
      }
      if (shown.part === "head") body.head = shown;
      else if (shown.isLeft) body.left = shown;
      else body.right = shown;
    }
  }

  /** Advances fingers by a frame, and draws hands. */
  update(seconds: number): void {
    this.#hands.begin();
    for (const shown of this.#parts.values()) {
      this.#observe(shown, seconds);
      if (shown.part !== "hand") continue;
      moveFingers(shown, seconds);
      if (!shown.isShown) continue;
      const { owner } = shown.entity;
      const avatar = owner === undefined ? undefined : this.#avatarOf(owner);
      this.#hands.draw(shown, this.#crowd.skinOf(owner ?? shown.id, avatar));
    }
    this.#hands.end();
  }

  /** Bends a body to its tracked head and hands. Returns false for a body without them. */
  pose(member: Member, skeleton: Skeleton, root: Matrix4): boolean {
    const body = this.#bodies.get(member.id);
    if (!body) return false;
    poseTracked(skeleton, root, body);
    return true;
  }

  #observe(shown: ShownPart, seconds: number): void {
    const { entity } = shown;
    const { tick, attributes } = entity;
    const isNew = tick !== shown.lastTick || attributes !== shown.lastAttributes;
    shown.quietS = isNew ? 0 : shown.quietS + seconds;
    shown.lastTick = tick;
    if (attributes === shown.lastAttributes) return;
    shown.lastAttributes = attributes;
    shown.isLeft = attributes["left"] === true;
    const { grip, joints } = attributes;
    shown.grip = Number.isFinite(grip) ? Math.min(1, Math.max(0, grip as number)) : 0;
    const size = decodeHandPose(joints, shown.wanted);
    shown.hasJoints = size !== undefined;
    shown.size = size ?? 1;
    if (!shown.hasJoints) curlHand(shown.grip, shown.isLeft, shown.wanted);
  }
}

/**
 * Joints arrive a dozen times a second. The shown joints reach a received pose within two of these intervals.
 */
function moveFingers({ rotations, wanted }: ShownPart, seconds: number): void {
  const share = ease(22, seconds);
  for (let at = 0; at < rotations.length; at += 4) {
    let dot = 0;
    for (let i = 0; i < 4; i++) dot += rotations[at + i]! * wanted[at + i]!;
    const sign = dot < 0 ? -1 : 1;
    let length = 0;
    for (let i = 0; i < 4; i++) {
      const part = rotations[at + i]! + (sign * wanted[at + i]! - rotations[at + i]!) * share;
      rotations[at + i] = part;
      length += part * part;
    }
    length = Math.sqrt(length) || 1;
    for (let i = 0; i < 4; i++) rotations[at + i] = rotations[at + i]! / length;
  }
}
