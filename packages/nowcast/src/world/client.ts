import { asNowcastError, NowcastError } from "../errors/nowcast-error.js";
import { CancellableWaits, DISPOSE, type WaitOptions } from "../events/cancellable-waits.js";
import { Emitter } from "../events/emitter.js";
import {
  boundedArguments,
  boundedHz,
  boundedText,
  LINE_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
} from "./bounded.js";
import { randomKey } from "./client-key.js";
import { DurableActions } from "./durable-actions.js";
import { InputSender } from "./input-sender.js";
import { SnapshotClock } from "./interpolation/snapshot-clock.js";
import { type OwnedWorld, Ownership } from "./ownership.js";
import type { InputChange, PosedWorld } from "./posed-world.js";
import type { Poses } from "./poses/poses.js";
import type { ProtocolHandlers, ReceivedMovement } from "./protocol.js";
import { RateMeter } from "./rate-meter.js";
import { Requests } from "./requests.js";
import type { SessionAdapter } from "./session/session-adapter.js";
import { SilenceMeter } from "./silence-meter.js";
import type { SeatClaim } from "./tab-seat.js";
import { watchAttribute, watchEntities } from "./watch.js";
import type {
  AvatarMotions,
  Connection,
  Definition,
  Display,
  Entity,
  EntityId,
  EntityListener,
  Input,
  JoinOptions,
  OwnedPose,
  Player,
  PlayerId,
  Pose,
  SpawnOptions,
  WorldEvents,
  WorldRecord,
  WorldStats,
  WorldStatus,
} from "./world.js";
import { WorldState } from "./world-state.js";

const WAITING_CHAT_LINES_MAX = 16;
/** Silence in milliseconds after which a connection counts as unstable, and as lost. */
const UNSTABLE_MS = 1_000;
const LOST_MS = 3_000;
/**
 * Interval at which the program records that it runs, so that a stall of the program does not count
 * as silence of the server.
 */
const RUN_INTERVAL_MS = 250;
/** The maximum view delay that is reported (`spec/WORLD.md`, section 3). */
const VIEW_DELAY_MS_MAX = 1_000;
/** Smaller changes of the delay are not reported, because they are not noticeable. */
const VIEW_DELAY_STEP_MS = 4;
const VIEW_DELAY_INTERVAL_MS = 1_000;
/** The display before its code is loaded. */
const NO_DISPLAY: Display = {
  tick: 0,
  delayMs: 0,
  starvedFrames: 0,
  ageMs: () => 0,
  hasJumped: () => false,
  isPredicted: false,
  carriedYaw: 0,
  holding: undefined,
  prediction: undefined,
};

type OpenSession = (world: WorldClient) => SessionAdapter;

/**
 * A joined world. Passes the program's requests to the adapter of the session, which passes received messages back to
 * this class.
 */
export class WorldClient implements PosedWorld, OwnedWorld, ProtocolHandlers {
  status: WorldStatus = "connecting";
  /** Whether the program waits for the world by `await`. */
  isAwaited = false;
  name: string | undefined;
  networkHz: number | undefined;
  readonly key: Uint8Array;
  readonly emitter = new Emitter<WorldEvents>();
  readonly state = new WorldState(this.emitter);
  readonly ready: Promise<void>;
  readonly joined: Promise<Entity>;

  readonly #waiting = new CancellableWaits();
  readonly #meter = new RateMeter();
  readonly #clock = new SnapshotClock();
  readonly isProgram: boolean;
  readonly #inputs: InputSender;
  readonly #durable: DurableActions;
  /** Other actions. Their numbers are above those of durable ones. */
  readonly #acts = new Requests<void>(2 ** 31, () => this.unsent());
  /** The last requested name that was sent to the server. */
  #sentName: string | undefined;
  readonly #ownership: Ownership;
  readonly #end = new AbortController();
  session: SessionAdapter | undefined;
  stepHz = 60;
  readonly #silence = new SilenceMeter();
  readonly #runTimer = setInterval(() => this.#silence.ran(performance.now()), RUN_INTERVAL_MS);
  #waitingChat: string[] = [];
  #welcomes = 0;
  /** The room of the newest welcome. */
  #room = "";
  #hasWarned = false;
  #unknownMessages = 0;
  #unsentActions = 0;
  readonly #motions: AvatarMotions | undefined;
  /** The poses of frames, and whether their code or that of their prediction is being loaded. */
  #poses: Poses | undefined;
  #isLoading = false;
  #sentViewDelayMs: number | undefined;
  #sentViewAtMs = Number.NEGATIVE_INFINITY;

  /** `open` begins to join. Its code is loaded while the first session is being opened. */
  constructor(
    readonly serverUrl: string,
    address: string,
    { name, networkHz, role = "player", seat, motions }: JoinOptions,
    open: Promise<OpenSession>,
  ) {
    if (role !== "player" && role !== "program") {
      throw new NowcastError("misuse", `role "${String(role)}" is neither player nor program`);
    }
    this.isProgram = role === "program";
    this.#motions = motions;
    this.name = name === undefined ? undefined : boundedText(name, NAME_CHARACTERS_MAX, "name");
    const claim = seat?.take(address, () => this.#claim(), this.#end.signal);
    this.key = claim?.key ?? randomKey();
    this.#sentName = claim === undefined ? this.name : claim.name;
    this.networkHz = networkHz === undefined ? undefined : boundedHz(networkHz, "networkHz");
    this.ready = this.#when(["define", "joined"], () => this.#isThere || undefined).then(() => {});
    this.joined = this.#when(["spawn", "joined", "avatar"], () => this.avatar);
    // This prevents an unhandled rejection: programs that do not await the promises learn of the end
    // by the event `error`.
    this.ready.catch(() => {});
    this.joined.catch(() => {});
    this.#inputs = new InputSender((input) => this.session?.input(input) ?? false);
    this.#durable = new DurableActions((...action) => this.#act(...action), claim?.lastNumber);
    this.#ownership = new Ownership(this);
    this.emitter.on("owner", ({ entity }) => {
      if (entity.owner !== this.playerId) this.#ownership.lost(entity.id);
    });
    this.emitter.on("despawn", ({ entity }) => this.#ownership.lost(entity.id));
    open.then((loaded) => this.#loaded(loaded)).catch((error) => this.lost(asNowcastError(error), undefined));
  }

  get playerId(): PlayerId | undefined {
    return this.state.playerId;
  }

  get avatarId(): EntityId | undefined {
    return this.state.avatarId;
  }

  get avatar(): Entity | undefined {
    const { avatarId } = this;
    return avatarId === undefined ? undefined : this.entities.get(avatarId);
  }

  get definition(): Definition | undefined {
    return this.state.definition;
  }

  get entities(): ReadonlyMap<EntityId, Entity> {
    return this.state.entities;
  }

  get players(): ReadonlyMap<PlayerId, Player> {
    return this.state.players;
  }

  get screen(): ReadonlyMap<string, unknown> {
    return this.state.screen.shown;
  }

  get connection(): Connection {
    if (this.status === "connecting" || this.status === "closed") return "lost";
    const silentMs = this.#silence.measure(performance.now());
    if (silentMs < UNSTABLE_MS) return "steady";
    return silentMs < LOST_MS ? "unstable" : "lost";
  }

  get stats(): WorldStats {
    return {
      pingMs: this.session?.pingMs,
      ...this.#meter.rates(performance.now()),
      snapshots: this.#clock.snapshots,
      snapshotIntervalMs: this.#clock.intervalMs,
      jitterMs: this.#clock.jitterMs,
      reconnects: Math.max(0, this.#welcomes - 1),
      unknownMessages: this.#unknownMessages,
      unknownEntities: this.state.unknownEntities,
      unsentActions: this.#unsentActions,
      link: this.session?.link,
    };
  }

  get display(): Display {
    return this.#poses ?? NO_DISPLAY;
  }

  frame(nowMs: number): void {
    const poses = this.#poses;
    if (poses === undefined) return void this.#load();
    poses.frame(nowMs);
    this.#sendViewDelay(poses.delayMs);
    if (poses.prediction === undefined && this.#isPredictable) void this.#load();
  }

  pose(id: EntityId, out: Pose): boolean {
    if (this.#poses) return this.#poses.pose(id, out);
    const entity = this.entities.get(id);
    if (entity === undefined) return false;
    const [x, y, z] = entity.position;
    Object.assign(out.position, { x, y, z });
    const [qx, qy, qz, qw] = entity.quaternion;
    Object.assign(out.quaternion, { x: qx, y: qy, z: qz, w: qw });
    return true;
  }

  input(input: Input): void {
    if (!this.#poses?.prediction?.input(input)) this.#inputs.set(input);
  }

  inputAtStep(number: number, changes: readonly InputChange[]): boolean {
    if (!this.session?.inputAtStep(number, changes)) return false;
    // From now on, input is sent by steps.
    this.#inputs.forget();
    return true;
  }

  *entitiesOf(kind: string): Iterable<Entity> {
    for (const entity of this.entities.values()) if (entity.kind.name === kind) yield entity;
  }

  act(action: string, args: WorldRecord = {}): Promise<void> {
    const { definition } = this.state;
    const bounded = boundedArguments(args, action);
    const declared = definition?.actions.find(({ name }) => name === action);
    // Names that begin with @ belong to the server, and need no declaration (`spec/WORLD.md`, section 8).
    if (definition !== undefined && declared === undefined && !action.startsWith("@")) {
      const known = definition.actions.map(({ name }) => name).join(", ");
      throw new NowcastError("misuse", `the world has no action "${action}"`, {
        cure: known === "" ? "it declares none" : `it has ${known}`,
      });
    }
    this.session?.checkAction(action, bounded);
    const done = declared?.durable
      ? this.#actDurably(action, bounded)
      : this.#acts.ask(`"${action}"`, (number) => this.#act(action, bounded, number));
    // This prevents an unhandled rejection: programs that do not await the promise learn of a
    // refusal by the event `refused`.
    done.catch(() => {});
    this.#poses?.prediction?.acted(action, args);
    return done;
  }

  unsent(): void {
    this.#unsentActions++;
  }

  #act(action: string, args: WorldRecord, number: number): boolean {
    const poses = this.#poses;
    const step = poses?.prediction?.actionStep;
    return this.session?.act(action, args, number, step, poses?.shownTick) ?? false;
  }

  #actDurably(action: string, args: WorldRecord): Promise<void> {
    if (this.status !== "closed") return this.#durable.act(action, args);
    this.#unsentActions++;
    return Promise.reject(closedHere());
  }

  own(entity: EntityId, options?: WaitOptions): Promise<void> {
    return this.#ownership.own(entity, options);
  }

  release(entity: EntityId, to?: PlayerId): void {
    this.#ownership.release(entity, to);
  }

  move(entity: EntityId, pose: OwnedPose): void {
    this.#ownership.move(entity, pose);
  }

  set(entity: EntityId, attributes: WorldRecord): void {
    this.#ownership.set(entity, attributes);
  }

  spawn(kind: string, options: SpawnOptions): Promise<EntityId> {
    return this.#ownership.spawn(kind, options);
  }

  despawn(entity: EntityId): void {
    this.#ownership.despawn(entity);
  }

  chat(line: string): void {
    const text = boundedText(line, LINE_CHARACTERS_MAX, "text");
    if (this.session?.chat(text)) return;
    if (this.status === "closed" || this.#waitingChat.length >= WAITING_CHAT_LINES_MAX) this.#unsentActions++;
    else this.#waitingChat.push(text);
  }

  rename(name: string): void {
    this.name = boundedText(name, NAME_CHARACTERS_MAX, "name");
    if (this.session?.rename(this.name)) this.#sentName = this.name;
  }

  setRate(hz: number): void {
    this.networkHz = boundedHz(hz, "rate");
    this.session?.setRate(this.networkHz);
  }

  on<K extends keyof WorldEvents>(
    type: K,
    listener: (event: WorldEvents[K]) => void,
    options?: WaitOptions,
  ): () => void {
    return this.emitter.on(type, listener, options);
  }

  once<K extends keyof WorldEvents>(type: K, { signal }: WaitOptions = {}): Promise<WorldEvents[K]> {
    return this.#waiting.wait(signal, (resolve) => this.emitter.on(type, resolve));
  }

  onEntity(of: string | EntityId, listener: EntityListener, options?: WaitOptions): () => void {
    return watchEntities(this, of, listener, options);
  }

  onAttribute(
    of: string | EntityId,
    attribute: string,
    listener: (value: unknown, entity: Entity) => void,
    options?: WaitOptions,
  ): () => void {
    return watchAttribute(this, of, attribute, listener, options);
  }

  [DISPOSE](): void {
    this.close();
  }

  close(): void {
    if (this.status === "closed") return;
    this.session?.close();
    this.#ended();
    this.emitter.end();
    this.#durable.end(closedHere());
    this.#waiting.end(closedHere());
  }

  received(nowMs: number, bytes: number): void {
    this.#silence.arrived(nowMs);
    this.#meter.record(nowMs, bytes);
  }

  unknownMessage(): void {
    this.#unknownMessages++;
  }

  granted(entity: EntityId, number: number): void {
    this.#ownership.granted(entity, number);
  }

  denied(request: string, entity: number, number: number, reason: string): void {
    const about = entity === 0 ? undefined : (entity as EntityId);
    this.#ownership.denied(request, about, number, reason);
    this.emitter.emit("refused", { action: request, reason, request: { entity: about } });
  }

  welcomed(welcome: WorldEvents["welcome"]): void {
    // A room that moved is continued without the loss of a connection.
    if (this.#welcomes > 0) this.#changeStatus("reconnecting");
    this.#restart("the connection was lost");
    this.state.restart(welcome.playerId);
    this.#welcomes++;
    this.#room = welcome.room;
    this.stepHz = welcome.stepHz;
    this.#clock.restart();
    this.#changeStatus("open");
    this.emitter.emit("welcome", welcome);
    this.#sendName(welcome.isResumed);
    this.#inputs.connected();
    this.#sentViewDelayMs = undefined;
    this.#durable.connected();
    for (const text of this.#waitingChat.splice(0)) this.chat(text);
  }

  moved({ tick, nowMs, moved, isNewest, ackedInputSequence: sequence }: ReceivedMovement): void {
    if (isNewest) this.#clock.record(tick, nowMs, this.stepHz);
    if (!isNewest && moved.length === 0) return;
    this.emitter.emit("snapshot", {
      tick,
      receivedAtMs: nowMs,
      moved,
      ackedInputSequence: isNewest ? sequence : 0,
    });
  }

  done(number: number): void {
    this.#durable.done(number);
    this.#acts.done(number);
  }

  refused(action: string, reason: string, number: number | undefined): void {
    this.emitter.emit("refused", { action, reason });
    if (number === undefined) return;
    this.#durable.refused(number, reason);
    this.#acts.refused(number, reason);
  }

  interrupted(isInterrupted: boolean): void {
    this.#changeStatus(isInterrupted ? "reconnecting" : "open");
  }

  lost(error: NowcastError, retryInMs: number | undefined): void {
    if (this.status === "closed") return;
    this.#durable.disconnected();
    this.#restart(error.message);
    if (retryInMs === undefined) this.#ended();
    else if (this.#welcomes > 0) this.#changeStatus("reconnecting");
    this.#warn(error, retryInMs);
    this.emitter.emit("error", { error, retryInMs });
    if (retryInMs !== undefined) return;
    this.emitter.end();
    this.#durable.end(error);
    this.#waiting.end(error);
  }

  /**
   * Whether the players of the world have arrived. The server sends them after the definition, a new one last. A room's past
   * has no player of this client.
   */
  get #isThere(): boolean {
    const { playerId, definition, players } = this;
    const isInList = playerId !== undefined && (this.#room.includes(".") || players.has(playerId));
    return definition !== undefined && isInList;
  }

  /** Reports once that the world cannot be joined, if no listener and no `await` would learn the reason. */
  #warn(error: NowcastError, retryInMs: number | undefined): void {
    const isFinal = retryInMs === undefined;
    if (this.#welcomes > 0 || this.#hasWarned || this.emitter.hears("error")) return;
    if (isFinal && this.isAwaited) return;
    this.#hasWarned = true;
    const outcome = isFinal ? "was not joined" : "is tried again until it answers";
    console.warn(`nowcast: ${error.message}. The world at ${this.serverUrl} ${outcome}.`);
  }

  /** Waits for a value that these events may change. */
  #when<T>(types: readonly (keyof WorldEvents)[], read: () => T | undefined): Promise<T> {
    return this.#waiting.wait(undefined, (resolve) => {
      const releases = types.map((type) =>
        this.emitter.on(type, () => {
          const value = read();
          if (value !== undefined) resolve(value);
        }),
      );
      return () => {
        for (const release of releases) release();
      };
    });
  }

  #claim(): SeatClaim {
    return { key: this.key, lastNumber: this.#durable.lastNumber, name: this.#sentName };
  }

  /** A resumed player keeps its name, even if the connection requested another name. */
  #sendName(isResumed: boolean): void {
    const { name } = this;
    const isKnown = !isResumed || name === undefined || name === this.#sentName;
    if (isKnown || this.session?.rename(name)) this.#sentName = name;
  }

  /** Reports the view delay when it changes, so that the world's rules can judge by this client's view (`world.rewound`). */
  #sendViewDelay(shownDelayMs: number): void {
    const steps = Math.round(Math.min(VIEW_DELAY_MS_MAX, Math.max(0, shownDelayMs)) / VIEW_DELAY_STEP_MS);
    const delayMs = steps * VIEW_DELAY_STEP_MS;
    if (delayMs === this.#sentViewDelayMs) return;
    const nowMs = performance.now();
    if (nowMs - this.#sentViewAtMs < VIEW_DELAY_INTERVAL_MS) return;
    if (!this.session?.viewDelay(delayMs)) return;
    this.#sentViewDelayMs = delayMs;
    this.#sentViewAtMs = nowMs;
  }

  get #isClosed(): boolean {
    return this.status === "closed";
  }

  /** Whether the local avatar is of a kind whose steps this client can take. */
  get #isPredictable(): boolean {
    const kind = this.avatar?.kind;
    return kind !== undefined && (kind.walker !== undefined || this.#motions?.[kind.name] !== undefined);
  }

  /** Loads the code for poses, or for their prediction. Until then, frames show received poses, or interpolated ones. */
  async #load(): Promise<void> {
    if (this.#isLoading || this.#isClosed) return;
    this.#isLoading = true;
    try {
      if (this.#poses === undefined) {
        const { Poses } = await import("./poses/poses.js");
        this.#poses = new Poses(this);
      } else {
        const { AvatarPrediction } = await import("./prediction/avatar-prediction.js");
        const prediction = new AvatarPrediction(this, this.#motions);
        if (this.#inputs.wanted) prediction.input(this.#inputs.wanted);
        this.#poses.predict(prediction);
      }
      this.#isLoading = false;
      if (this.#isClosed) this.#poses.close();
    } catch (error) {
      console.error("nowcast: the code that shows poses could not be loaded", error);
    }
  }

  #loaded(open: OpenSession): void {
    const session = open(this);
    if (this.status === "closed") session.close();
    else this.session = session;
  }

  /** Rejects waiting calls, because nothing will be sent any more. */
  #ended(): void {
    this.#end.abort();
    clearInterval(this.#runTimer);
    this.#inputs.stop();
    this.#poses?.close();
    this.#restart("the world was closed");
    this.#unsentActions += this.#waitingChat.splice(0).length;
    this.#changeStatus("closed");
  }

  /** Rejects requests and actions that will not be answered. */
  #restart(why: string): void {
    this.#ownership.restart(why);
    this.#acts.restart(why);
  }

  #changeStatus(status: WorldStatus): void {
    // A listener may leave the world during a welcome. Then the world stays closed.
    if (this.status === status || this.status === "closed") return;
    this.status = status;
    this.emitter.emit("status", { status });
  }
}

function closedHere(): NowcastError {
  return new NowcastError("misuse", "the world was closed", { code: "closed_here" });
}
