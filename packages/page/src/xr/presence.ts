import {
  encodeHandPose,
  HAND_POSE_BYTES,
  type Pose,
  type TrackedPart,
  trackedPartOf,
} from "@nowcast/three/internal";
import type { Entity, EntityId, World } from "nowcast/world";
import type { Side } from "./tracked-input.js";

/** The parts of a world that a presence needs. */
export type PresenceWorld = Pick<
  World,
  "spawn" | "move" | "set" | "despawn" | "definition" | "entities" | "playerId" | "status"
>;

/** A part of the local player's body in this frame, in the world. */
export interface PartState {
  /** Pose of the wrist, or of the point between the eyes. */
  readonly pose: Pose;
  /** The velocity, in metres a second. */
  readonly velocity: readonly [number, number, number];
  /** The grip of a hand, 0 to 1. */
  readonly grip: number;
  /** A hand's joints relative to the wrist, if they are tracked. */
  readonly rotations: Float32Array | undefined;
  readonly size: number;
}

/** A part that was not tracked for this time is removed. */
const LOST_MS = 500;
/**
 * A headset counts as stopped if there was no frame during this many checks. A slow headset is not mistaken for a
 * stopped one, because slow frames delay the checks, too.
 */
const LOOKS_MAX = 6;
/** Minimum interval of poses: 30 a second. */
const MOVE_MS = 33;
/**
 * Minimum interval of joints. They move slowly relative to the wrist, so a dozen updates a second are enough.
 */
const JOINTS_MS = 83;
const GRIP_STEP = 0.03;
/** Interval at which a player at rest reports that the player is present. */
const BEAT_MS = 1000;
/** Time after a connection returned in which the entities of a resumed player arrive. */
const ARRIVAL_MS = 1_000;
/** Time until a refused part is requested again. */
const RETRY_MS = 3000;
/** Maximum speed of a hand, in metres a second. */
const SPEED_MAX = 20;

type Place = "head" | Side;

/** A part of the local player's body, as an entity that this client owns. */
interface Part {
  readonly place: Place;
  id: EntityId | undefined;
  isAsking: boolean;
  /** Whether the world has sent the entity. If it is missing afterwards, the rules removed it. */
  isThere: boolean;
  seenMs: number;
  movedMs: number;
  setMs: number;
  askAgainMs: number;
  beat: boolean;
  grip: number;
  readonly joints: Uint8Array;
  hasJoints: boolean;
}

/**
 * Shows the local player's head and hands to others, as entities of the kinds `head` and `hand` that this client
 * spawns and owns, if the world has such kinds. They exist while a headset tracks them. They are removed half a second after tracking
 * stops, or a second and a half after the last frame, by six checks of {@link Presence.idle}.
 */
export class Presence {
  readonly #parts: readonly Part[];
  #isClosed = false;
  /** Number of checks since the newest frame. */
  #looks = 0;
  /** The last frame without a connection. */
  #offlineMs = Number.NEGATIVE_INFINITY;
  readonly #world: PresenceWorld;

  constructor(world: PresenceWorld) {
    this.#world = world;
    this.#parts = [createPart("head"), createPart("left"), createPart("right")];
  }

  /** The entity of a hand, once it exists. */
  handId(side: Side): number | undefined {
    const part = this.#parts.find(({ place }) => place === side);
    return part?.isThere ? part.id : undefined;
  }

  /** Sets all poses of a frame; `undefined` for untracked parts. */
  update(
    nowMs: number,
    head: PartState | undefined,
    left: PartState | undefined,
    right: PartState | undefined,
  ): void {
    this.#looks = 0;
    if (this.#world.status !== "open") {
      this.#offlineMs = nowMs;
      return this.forget();
    }
    for (const part of this.#parts) {
      const state = part.place === "head" ? head : part.place === "left" ? left : right;
      if (state) this.#show(part, state, nowMs);
      else this.#lose(part, nowMs);
    }
  }

  /** Removes all parts if no frames arrive. Call it four times a second, by a timer. */
  idle(): void {
    this.#looks++;
    if (this.#looks < LOOKS_MAX) return;
    for (const part of this.#parts) if (part.id !== undefined) this.#remove(part);
  }

  /**
   * Handles a new connection. This client no longer owns its earlier entities, unless the world reports that it does.
   */
  forget(): void {
    for (const part of this.#parts) reset(part);
  }

  /** Removes all parts. */
  close(): void {
    this.#isClosed = true;
    for (const part of this.#parts) this.#remove(part);
  }

  #show(part: Part, state: PartState, nowMs: number): void {
    part.seenMs = nowMs;
    if (part.id === undefined) return this.#ask(part, state, nowMs);
    if (this.#world.entities.has(part.id)) part.isThere = true;
    else if (part.isThere) {
      reset(part);
      part.askAgainMs = nowMs + RETRY_MS;
      return;
    }
    if (nowMs - part.movedMs >= MOVE_MS) {
      part.movedMs = nowMs;
      this.#world.move(part.id, { ...numbersOf(state.pose), velocity: bounded(state.velocity) });
    }
    this.#describe(part, part.id, state, nowMs);
  }

  /** Sends the fingers when they have moved, and reports at intervals that the player is present. */
  #describe(part: Part, id: EntityId, state: PartState, nowMs: number): void {
    const sinceMs = nowMs - part.setMs;
    if (sinceMs < JOINTS_MS) return;
    const changes: Record<string, unknown> = {};
    if (part.place !== "head") {
      if (Math.abs(state.grip - part.grip) > GRIP_STEP) {
        part.grip = state.grip;
        changes["grip"] = state.grip;
      }
      const joints = this.#jointsOf(part, state);
      if (joints !== undefined) changes["joints"] = joints;
    }
    if (sinceMs >= BEAT_MS) {
      part.beat = !part.beat;
      changes["beat"] = part.beat;
    }
    if (Object.keys(changes).length === 0) return;
    part.setMs = nowMs;
    this.#world.set(id, changes);
  }

  /** The joints if they changed; `null` as soon as they are not tracked any more. */
  #jointsOf(part: Part, { rotations, size }: PartState): Uint8Array | null | undefined {
    if (rotations === undefined) {
      if (!part.hasJoints) return undefined;
      part.hasJoints = false;
      return null;
    }
    encodeHandPose(rotations, size, ENCODED);
    if (part.hasJoints && ENCODED.every((byte, i) => byte === part.joints[i])) return undefined;
    part.hasJoints = true;
    part.joints.set(ENCODED);
    return part.joints.slice();
  }

  #ask(part: Part, { pose }: PartState, nowMs: number): void {
    if (part.isAsking) return;
    const kind = this.#kindOf(part.place === "head" ? "head" : "hand");
    if (kind === undefined) return;
    const known = this.#ownedAlready(kind, part.place);
    if (known !== undefined) {
      part.id = known;
      return;
    }
    if (nowMs < part.askAgainMs || nowMs - this.#offlineMs < ARRIVAL_MS) return;
    part.isAsking = true;
    const attributes = part.place === "head" ? {} : { left: part.place === "left" };
    this.#world
      .spawn(kind, { ...numbersOf(pose), attributes })
      .then((id) => {
        part.isAsking = false;
        if (this.#isClosed) this.#world.despawn(id);
        else part.id = id;
      })
      .catch(() => {
        // The world refused the request, or the connection is lost. Another attempt follows later.
        part.isAsking = false;
        part.askAgainMs = nowMs + RETRY_MS;
      });
  }

  #kindOf(part: TrackedPart): string | undefined {
    return this.#world.definition?.kinds.find((kind) => trackedPartOf(kind) === part)?.name;
  }

  /** After the same player resumed, it still owns its entities. */
  #ownedAlready(kind: string, place: Place): EntityId | undefined {
    const taken = new Set(this.#parts.map(({ id }) => id));
    for (const entity of this.#world.entities.values()) {
      if (entity.kind.name !== kind || entity.owner !== this.#world.playerId || taken.has(entity.id))
        continue;
      if (place === "head" || (entity.attributes["left"] === true) === (place === "left")) return entity.id;
    }
    return undefined;
  }

  #lose(part: Part, nowMs: number): void {
    if (part.id !== undefined && nowMs - part.seenMs > LOST_MS) this.#remove(part);
  }

  #remove(part: Part): void {
    if (part.id !== undefined) this.#world.despawn(part.id);
    reset(part);
  }
}

function createPart(place: Place): Part {
  return {
    place,
    id: undefined,
    isAsking: false,
    isThere: false,
    seenMs: 0,
    movedMs: 0,
    setMs: 0,
    askAgainMs: 0,
    beat: false,
    grip: 0,
    joints: new Uint8Array(HAND_POSE_BYTES),
    hasJoints: false,
  };
}

function reset(part: Part): void {
  part.id = undefined;
  part.isThere = false;
  part.movedMs = part.setMs = 0;
  part.grip = 0;
  part.hasJoints = false;
}

function numbersOf({ position, quaternion }: Pose): Pick<Entity, "position" | "quaternion"> {
  return { position: position.toArray(), quaternion: quaternion.toArray() };
}

function bounded([x, y, z]: readonly [number, number, number]): readonly [number, number, number] {
  const speed = Math.hypot(x, y, z);
  const share = speed > SPEED_MAX ? SPEED_MAX / speed : 1;
  return [x * share, y * share, z * share];
}

const ENCODED = new Uint8Array(HAND_POSE_BYTES);
