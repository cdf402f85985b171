import type { MsgpackValue } from "../codec/msgpack-value.js";
import { encodeMsgpack } from "../codec/msgpack-writer.js";
import { kindOf, NowcastError } from "../errors/nowcast-error.js";
import type { WaitOptions } from "../events/cancellable-waits.js";
import type { OwnerRequest, TargetPose } from "./protocol.js";
import { Requests } from "./requests.js";
import { SendInterval } from "./send-interval.js";
import type { SessionAdapter } from "./session/session-adapter.js";
import type {
  Entity,
  EntityId,
  OwnedPose,
  PlayerId,
  Quaternion,
  SpawnOptions,
  Vec3,
  WorldRecord,
} from "./world.js";

/**
 * Maximum bytes of attributes: a message's maximum, minus the fields around the attributes (`spec/WORLD.md`, section
 * 6).
 */
const ATTRIBUTES_BYTES_MAX = 3_900;

/** The parts of a world that ownership needs. */
export interface OwnedWorld {
  readonly playerId: PlayerId | undefined;
  readonly entities: ReadonlyMap<EntityId, Entity>;
  readonly session: SessionAdapter | undefined;
  /** Called when a request or a target was not sent. */
  unsent(): void;
}

/**
 * The entities that this client owns. Requests ownership, and sends the newest target poses, at
 * most thirty times a second.
 */
export class Ownership {
  readonly #requests: Requests<EntityId>;
  /** Entities that the server granted, even if their description is not known yet. */
  readonly #granted = new Set<EntityId>();
  readonly #wanted = new Map<EntityId, TargetPose>();
  readonly #interval = new SendInterval(() => this.#flush());
  readonly #world: OwnedWorld;

  constructor(world: OwnedWorld) {
    this.#world = world;
    this.#requests = new Requests(0, () => world.unsent());
  }

  async own(id: EntityId, options: WaitOptions = {}): Promise<void> {
    if (this.#isMine(id)) return;
    await this.#ask((number) => ({ type: "own", entity: id, number }), options);
  }

  spawn(kind: string, options: SpawnOptions): Promise<EntityId> {
    const { position, quaternion: rotation, attributes = {} } = options;
    const place = { position: vec3(position, "position"), rotation: quaternion(rotation ?? UPRIGHT) };
    checkAttributes(attributes);
    return this.#ask((number) => ({ type: "spawn", number, kind, ...place, attributes }), options);
  }

  release(id: EntityId, to: PlayerId | undefined): void {
    this.#wanted.delete(id);
    this.#granted.delete(id);
    this.#send({ type: "release", entity: id, to });
  }

  set(id: EntityId, attributes: WorldRecord): void {
    checkAttributes(attributes);
    this.#send({ type: "set", entity: id, attributes });
  }

  despawn(id: EntityId): void {
    this.#wanted.delete(id);
    this.#send({ type: "despawn", entity: id });
  }

  move(id: EntityId, pose: OwnedPose): void {
    const goal = this.#goal(id, pose);
    if (!this.#isMine(id)) return this.#world.unsent();
    this.#wanted.set(id, goal);
    this.#interval.schedule();
  }

  granted(entity: EntityId, number: number): void {
    this.#granted.add(entity);
    this.#requests.done(number, entity);
  }

  denied(request: string, entity: EntityId | undefined, number: number, reason: string): void {
    if (request === "own" || request === "spawn") this.#requests.refused(number, `${request}: ${reason}`);
    // A client must not move an entity that it no longer owns.
    if (request === "move" && entity !== undefined) this.#wanted.delete(entity);
  }

  /** Handles an entity that has another owner, or was removed. */
  lost(id: EntityId): void {
    this.#granted.delete(id);
    this.#wanted.delete(id);
  }

  /**
   * Handles a new connection: this client owns nothing, and its earlier requests will not be
   * answered.
   */
  restart(why: string): void {
    this.#interval.stop();
    this.#granted.clear();
    this.#wanted.clear();
    this.#requests.restart(why);
  }

  #isMine(id: EntityId): boolean {
    const { playerId, entities } = this.#world;
    return this.#granted.has(id) || (playerId !== undefined && entities.get(id)?.owner === playerId);
  }

  #goal(id: EntityId, { position, quaternion: rotation, velocity, spin }: OwnedPose): TargetPose {
    const moves = velocity !== undefined || spin !== undefined;
    return {
      position: vec3(position, "position"),
      rotation: quaternion(rotation ?? this.#wanted.get(id)?.rotation ?? this.#rotationOf(id)),
      velocity: moves
        ? { linear: vec3(velocity ?? ZERO, "velocity"), angular: vec3(spin ?? ZERO, "spin") }
        : undefined,
    };
  }

  #rotationOf(id: EntityId): Quaternion {
    const entity = this.#world.entities.get(id);
    return entity === undefined ? UPRIGHT : [...entity.quaternion];
  }

  #ask(request: (number: number) => OwnerRequest, options: WaitOptions): Promise<EntityId> {
    const send = (number: number): boolean => this.#world.session?.owner(request(number)) ?? false;
    return this.#requests.ask("the request", send, options);
  }

  #send(request: OwnerRequest): void {
    if (!this.#world.session?.owner(request)) this.#world.unsent();
  }

  #flush(): void {
    const { session } = this.#world;
    if (this.#wanted.size === 0 || session === undefined) return;
    for (const [id, goal] of this.#wanted) {
      // If the lane is full, the newest target is sent when the lane has room again.
      if (!session.move(id, goal)) return this.#interval.retry();
      this.#wanted.delete(id);
    }
    this.#interval.sent();
  }
}

const ZERO: Vec3 = [0, 0, 0];
const UPRIGHT: Quaternion = [0, 0, 0, 1];

function numbers(value: unknown, count: number, name: string): readonly number[] {
  const isGood = Array.isArray(value) && value.length === count && value.every(Number.isFinite);
  if (!isGood) {
    throw new NowcastError("misuse", `${name} is ${kindOf(value)}, not ${count} finite numbers`);
  }
  return [...value];
}

function vec3(value: Vec3, name: string): Vec3 {
  return numbers(value, 3, name) as unknown as Vec3;
}

function quaternion(value: Quaternion): Quaternion {
  const parts = numbers(value, 4, "rotation");
  const length = Math.hypot(...parts);
  if (length < 1e-3) throw new NowcastError("misuse", "rotation is a quaternion of no length");
  return parts.map((part) => part / length) as unknown as Quaternion;
}

function checkAttributes(attributes: WorldRecord): void {
  if (typeof attributes !== "object" || attributes === null || Array.isArray(attributes)) {
    throw new NowcastError("misuse", `attributes are ${kindOf(attributes)}, not an object`);
  }
  const bytes = encodeMsgpack(attributes as MsgpackValue).length;
  if (bytes <= ATTRIBUTES_BYTES_MAX) return;
  throw new NowcastError("misuse", `attributes of ${bytes} bytes, more than ${ATTRIBUTES_BYTES_MAX}`);
}
