/** A player with a headset: the assembly of the parts in this folder. */

import { LabelSprites } from "@nowcast/three";
import {
  createPose,
  curlHand,
  ease,
  HAND_JOINTS,
  Hands,
  type Member,
  PALM,
  type Pose,
  type WorldScene,
  yawOf,
} from "@nowcast/three/internal";
import type { TargetRule } from "nowcast/internal";
import type { World } from "nowcast/world";
import { Matrix4, type Object3D, type PerspectiveCamera, Vector3, type WebGLRenderer } from "three";
import { type Actions, buttonOf, cameraPitch, type Target } from "../actions.js";
import type { OrbitCamera } from "../camera.js";
import type { Input, InputCollector } from "../input/input-collector.js";
import type { Actor, Aim } from "../targets.js";
import { Grasp } from "./grasp.js";
import { type PartState, Presence } from "./presence.js";
import { findHandTarget } from "./reach.js";
import { RoomScale } from "./room-scale.js";
import { Dash, type Landing, TeleportArc } from "./teleport.js";
import { type HandInput, type Side, TrackedInput } from "./tracked-input.js";
import { Vignette } from "./vignette.js";
import { type PanelContents, WristPanel } from "./wrist-panel.js";

/** The comfort settings of a player with a headset. */
export interface HeadsetComfort {
  /** Whether the left stick walks; otherwise it does nothing. */
  readonly walks: boolean;
  /** Whether the right stick turns smoothly; otherwise it turns by 30 degrees. */
  readonly turnsSmoothly: boolean;
  /** Whether the view narrows while a stick moves the player. */
  readonly narrows: boolean;
}

/** The page in which a headset shows a world. */
export interface HeadsetStage {
  readonly renderer: WebGLRenderer;
  /** The root of the picture, to which hands and texts are added. */
  readonly root: Object3D;
  /** The parent of the camera, which becomes the floor of the user's room. */
  readonly rig: Object3D;
  readonly comfort: HeadsetComfort;
  /** Called when the headset has stopped. */
  ended?(): void;
}

/** The page of a headset: its stage, and the parts of its controls. */
export interface HeadsetPage extends HeadsetStage {
  readonly camera: PerspectiveCamera;
  /** The drawn entities of the world. */
  readonly scene: WorldScene;
  /** The texts of the panel above the left wrist, besides the world's screen. */
  readonly texts: Pick<PanelContents, "chat" | "notice">;
  /** The current world. A page that joins again has another world afterwards. */
  readonly world: World | undefined;
  readonly actions: Actions;
  readonly inputs: InputCollector;
  /** Its `yaw` follows the head. */
  readonly orbit: OrbitCamera;
  /** Called for the button of the right stick. */
  flipMicrophone(): void;
  ended(): void;
}

const SNAP_TURN = Math.PI / 6;
const SMOOTH_TURN_PER_S = 1.9;
/** A stick that is pushed farther than the first value turns or aims. Below the second value it counts as released. */
const STICK_OUT = 0.7;
const STICK_BACK = 0.4;
/** Maximum height of a shown driver's head above the seat, in metres. */
const SEATED_EYES_M = 0.35;
const WATCHED_EYES_M = 1.6;
/** Interval of checks for a headset that gives no frames. */
const WATCH_MS = 250;
/** Rate at which the measured velocity of a hand adapts, as a share a second. */
const VELOCITY_EASE = 30;
/**
 * Maximum speed of a hand, in metres a second. A higher speed means that tracking lost the hand
 * and found it elsewhere.
 */
const HAND_MPS_MAX = 15;
/** The action with which a world's rules teleport players to the end of an arc, with the names of its arguments. */
const TELEPORT = { action: "teleport", place: "to", hand: "hand" } as const;
const TELEPORT_DARK_MS = 180;
/** The position of the panel relative to the wrist, in metres: beyond the hand, above its back. */
const PANEL_M: readonly [number, number, number] = [0, 0.16, 0.02];

/** One hand in the world. */
interface WorldHand {
  readonly input: HandInput;
  readonly wrist: Pose;
  readonly ray: Pose;
  readonly palm: Vector3;
  readonly velocity: [number, number, number];
  readonly rotations: Float32Array;
  readonly before: Vector3;
  wasTracked: boolean;
  isClosed: boolean;
  wasSecond: boolean;
  spoke: boolean;
}

/**
 * A player with a headset in the world, from the start of a session to its end. `WorldPage.enterHeadset` makes one. Your
 * own page calls these methods in each frame: `read`, `updateInput`, `move`, `act`, `write`.
 */
export class Headset {
  readonly #room = new RoomScale();
  readonly #input: TrackedInput;
  readonly #grasp: Grasp;
  readonly #hands = new Hands();
  readonly #labels = new LabelSprites();
  readonly #panel = new WristPanel();
  readonly #vignette = new Vignette();
  readonly #arc = new TeleportArc();
  readonly #dash = new Dash();
  readonly #head = createPose();
  readonly #headVelocity: [number, number, number] = [0, 0, 0];
  readonly #headBefore = new Vector3();
  readonly #left: WorldHand;
  readonly #right: WorldHand;
  readonly #watchdog: ReturnType<typeof setInterval>;
  #presence: Presence | undefined;
  #presenceWorld: unknown;
  #activeSide: Side = "right";
  #hasTurned = false;
  #isSteered = false;
  #darkUntilMs = 0;
  #nowMs = 0;
  /** A headset may end its session before the page has begun to use it. */
  isOver = false;

  /** Shows the world in a headset. If that fails, the session is ended. */
  static async begin(page: HeadsetPage, session: XRSession): Promise<Headset> {
    const { xr } = page.renderer;
    xr.enabled = true;
    xr.setReferenceSpaceType("local-floor");
    try {
      await xr.setSession(session);
    } catch (error) {
      xr.enabled = false;
      await session.end().catch(() => undefined);
      throw error;
    }
    return new Headset(page, session);
  }
  readonly #page: HeadsetPage;

  private constructor(
    page: HeadsetPage,
    readonly session: XRSession,
  ) {
    this.#page = page;
    const { renderer, actions, root, camera } = page;
    this.#input = new TrackedInput(session, () => renderer.xr.getReferenceSpace());
    this.#left = createWorldHand(this.#input.left);
    this.#right = createWorldHand(this.#input.right);
    this.#grasp = new Grasp({ actions, use: (side) => this.#use(side) });
    root.add(this.#hands.group, this.#labels.group, this.#arc.group, this.#panel.mesh);
    camera.add(this.#vignette.mesh);
    this.#watchdog = setInterval(() => this.#presence?.idle(), WATCH_MS);
    session.addEventListener("end", () => this.#close());
  }

  /** Asks the headset to stop. {@link HeadsetPage.ended} is called when the headset has stopped. */
  async end(): Promise<void> {
    await this.session.end().catch(() => undefined);
  }

  /** Reads the poses of head and hands, and handles turning. */
  read(frame: XRFrame | undefined, nowMs: number, seconds: number): void {
    this.#nowMs = nowMs;
    if (!frame) return;
    const input = this.#input;
    const room = this.#room;
    input.read(frame);
    if (input.isTracked) {
      const { position, quaternion } = input.head;
      const { x, y, z } = position;
      room.look({ x, y, z, yaw: yawOf(quaternion) });
    }
    this.#turn(seconds);
    this.#aimTeleport();
    const { orbit, inputs, comfort } = this.#page;
    orbit.yaw = room.headYaw;
    const { left, right } = input;
    inputs.headset.forward = comfort.walks ? -left.stickY : 0;
    inputs.headset.right = comfort.walks ? left.stickX : 0;
    inputs.headset.run = left.stickPressed;
    inputs.headset.jump = left.first || right.first;
  }

  /**
   * Adds the input that moves the body to the end of a teleport arc, or to the point below the
   * head. Input from devices has priority.
   */
  updateInput(input: Input): void {
    const room = this.#room;
    const dash = this.#dash;
    const own = this.#own;
    input.yaw = room.headYaw;
    const walks = input.forward !== 0 || input.right !== 0;
    if (walks) dash.end();
    const way = own && dash.steer(own.position.x, own.position.z, room.headYaw, this.#nowMs);
    this.#isSteered = walks || way !== undefined;
    if (way) Object.assign(input, way, { run: true });
    if (this.#isSteered) room.steer();
    else if (this.#member) Object.assign(input, room.follow() ?? {});
  }

  /** Moves the room so that the head is above this body and faces its direction. */
  faceWith(yaw: number): void {
    this.#room.recentre(yaw);
    this.#dash.end();
  }

  /** A driver is turned together with the vehicle. */
  turnWith(radians: number): void {
    this.#room.turn(radians);
  }

  /**
   * Moves the room to the body, with the camera and the hands. `place` is the position of the body, or the camera's
   * target without one.
   */
  move(seconds: number, place: Readonly<Vector3>): void {
    const room = this.#room;
    const input = this.#input;
    const [own, member] = [this.#own, this.#member];
    if (!member) room.sit();
    const eyes = own ? own.halfHeight + SEATED_EYES_M : WATCHED_EYES_M;
    room.stand(
      place.x,
      member ? place.y - member.halfHeight : place.y + eyes - input.head.position.y,
      place.z,
    );
    const { rig, comfort } = this.#page;
    rig.position.set(room.position.x, room.position.y, room.position.z);
    rig.rotation.set(0, room.yaw, 0);
    rig.updateMatrix();
    toWorld(input.head, rig.matrix, this.#head);
    measure(this.#head, this.#headBefore, this.#headVelocity, seconds, true);
    for (const hand of [this.#left, this.#right]) this.#moveHand(hand, seconds);
    this.#show();
    this.#drawHands();
    this.#vignette.update(
      seconds,
      this.#isSteered && comfort.narrows ? 1 : 0,
      this.#darkness(member !== undefined),
    );
  }

  /** Handles hands that close and open. */
  act(): void {
    for (const hand of [this.#left, this.#right]) {
      const { input } = hand;
      const isClosed = input.trigger || input.squeeze;
      if (isClosed && !hand.isClosed) this.#grasp.close(input.side, input.trigger);
      else if (!isClosed && hand.isClosed) {
        const [x, y, z] = hand.velocity;
        this.#grasp.open(input.side, { x, y, z }, this.#nowMs);
      }
      hand.isClosed = isClosed;
      if (input.second !== hand.wasSecond) this.#doOther(input.side, input.second);
      hand.wasSecond = input.second;
      // The button of the left stick means running.
      const speaks = input.side === "right" && input.stickPressed;
      if (speaks && !hand.spoke) this.#page.flipMicrophone();
      hand.spoke = speaks;
    }
    this.#grasp.update(this.#nowMs);
  }

  /** The downward pitch of an equivalent camera, so that actions are aimed in the direction of the head. */
  get pitch(): number {
    const { y } = AHEAD.set(0, 0, -1).applyQuaternion(this.#head.quaternion);
    return cameraPitch(Math.asin(Math.min(1, Math.max(-1, y))));
  }

  /** The target of the hand that acts. */
  findTarget(own: Actor, rule: TargetRule): Target | undefined {
    const hand = this.#active;
    if (!hand.input.isTracked) return undefined;
    const { scene } = this.#page;
    return findHandTarget(own, hand, rule, scene.all, scene.crowd.members);
  }

  /** Reads the ray of the hand that acts; `undefined` while the hand is not tracked. */
  readAim(out: Aim): Aim | undefined {
    const { input, ray } = this.#active;
    if (!input.isTracked) return undefined;
    out.origin.copy(ray.position);
    out.direction.set(0, 0, -1).applyQuaternion(ray.quaternion);
    return out;
  }

  /** Draws names and chat in the world, and all other texts on the panel above the left wrist. */
  write(own: number | undefined): void {
    const { scene, camera, world, texts } = this.#page;
    const panel = this.#panel;
    const left = this.#left;
    this.#labels.update(scene.labels, camera, own);
    const { chat, notice } = texts;
    const contents = { screen: world?.screen ?? new Map(), chat, notice };
    panel.mesh.visible = panel.write(contents) && left.input.isTracked;
    if (!panel.mesh.visible) return;
    const { position, quaternion } = left.wrist;
    panel.mesh.position
      .set(...PANEL_M)
      .applyQuaternion(quaternion)
      .add(position);
    panel.mesh.lookAt(this.#head.position);
  }

  /** The pose of a wrist in the world; `undefined` while it is unknown. */
  wristOf(side: Side): Pose | undefined {
    const hand = side === "left" ? this.#left : this.#right;
    return hand.input.isTracked ? hand.wrist : undefined;
  }

  /** The end of the arc from the right hand; `undefined` while none is aimed, or if there is no room to stand. */
  get landing(): Landing | undefined {
    return this.#arc.landing;
  }

  /** The local player's body, if it is a walking player. */
  get #member(): Member | undefined {
    const id = this.#page.world?.avatarId;
    return id === undefined ? undefined : this.#page.scene.crowd.get(id);
  }

  /** The shown entity that the local player's input moves: a walking player or another entity. */
  get #own(): Actor | undefined {
    const id = this.#page.world?.avatarId;
    return this.#member ?? (id === undefined ? undefined : this.#page.scene.get(id));
  }

  get #active(): WorldHand {
    return this.#activeSide === "left" ? this.#left : this.#right;
  }

  #use(side: Side): void {
    const { actions, world } = this.#page;
    this.#activeSide = side;
    actions.hand = this.#presence?.handId(side);
    actions.update(0, this.pitch, world?.status === "open");
  }

  /** The second button of a controller triggers the first action that closing a hand cannot trigger. */
  #doOther(side: Side, isDown: boolean): void {
    this.#use(side);
    const { actions } = this.#page;
    const other = actions.possible.find(
      ({ keys, needs, target }) => !keys.includes("left") && !needs && !target,
    );
    if (!other) return;
    if (isDown) actions.press(buttonOf(other.action));
    else actions.release(buttonOf(other.action));
  }

  #turn(seconds: number): void {
    const { stickX } = this.#input.right;
    if (this.#page.comfort.turnsSmoothly) {
      if (stickX !== 0) this.#room.turn(-stickX * SMOOTH_TURN_PER_S * seconds);
      return;
    }
    if (Math.abs(stickX) < STICK_BACK) this.#hasTurned = false;
    else if (!this.#hasTurned && Math.abs(stickX) > STICK_OUT) {
      this.#hasTurned = true;
      this.#room.turn(-Math.sign(stickX) * SNAP_TURN);
    }
  }

  /** Pushing the right stick ahead aims an arc, and releasing it starts the way to the end of the arc. */
  #aimTeleport(): void {
    const arc = this.#arc;
    const input = this.#input;
    const member = this.#member;
    const { stickX, stickY, isTracked } = input.right;
    const isAiming = arc.group.visible
      ? stickY < -STICK_BACK
      : stickY < -STICK_OUT && Math.abs(stickX) < STICK_OUT;
    if (isAiming && isTracked && member) {
      arc.aim(this.#right.ray, this.#page.scene.obstacles, member.body.holding);
    } else if (arc.group.visible) {
      if (arc.landing) this.#teleport(arc.landing);
      arc.hide();
    }
  }

  /** If the world has the action `teleport`, the action moves the body; otherwise the body walks. */
  #teleport({ x, y, z }: Landing): void {
    const page = this.#page;
    const action = page.world?.definition?.actions.find(({ name }) => name === TELEPORT.action);
    const has = (argument: string): boolean =>
      action?.arguments.some(({ name }) => name === argument) ?? false;
    const hand = this.#presence?.handId("right");
    const isPossible = has(TELEPORT.place) && (!has(TELEPORT.hand) || hand !== undefined);
    if (!isPossible) return this.#dash.begin({ x, y, z }, this.#nowMs);
    this.#darkUntilMs = this.#nowMs + TELEPORT_DARK_MS;
    const place = { [TELEPORT.place]: [x, y, z] };
    void page.world?.act(TELEPORT.action, has(TELEPORT.hand) ? { ...place, [TELEPORT.hand]: hand } : place);
  }

  #darkness(isWalker: boolean): number {
    if (this.#dash.isOn || this.#nowMs < this.#darkUntilMs) return 1;
    return isWalker ? this.#room.leaning : 0;
  }

  #moveHand(hand: WorldHand, seconds: number): void {
    const { input, wrist, ray, palm } = hand;
    if (input.isTracked) {
      const { matrix } = this.#page.rig;
      toWorld(input.wrist, matrix, wrist);
      toWorld(input.ray, matrix, ray);
      palm
        .set(...PALM)
        .applyQuaternion(wrist.quaternion)
        .add(wrist.position);
      measure(wrist, hand.before, hand.velocity, seconds, hand.wasTracked);
    }
    hand.wasTracked = input.isTracked;
    if (input.hasJoints) hand.rotations.set(input.rotations);
    else curlHand(input.grip, input.side === "left", hand.rotations);
  }

  /** Shows head and hands to other players. */
  #show(): void {
    const input = this.#input;
    const { world } = this.#page;
    if (world !== this.#presenceWorld) {
      this.#presence?.forget();
      this.#presence = world && new Presence(world);
      this.#presenceWorld = world;
    }
    const head: PartState = {
      pose: this.#head,
      velocity: this.#headVelocity,
      grip: 0,
      rotations: undefined,
      size: 1,
    };
    this.#presence?.update(
      performance.now(),
      input.isTracked ? head : undefined,
      stateOf(this.#left),
      stateOf(this.#right),
    );
  }

  #drawHands(): void {
    const hands = this.#hands;
    const { world, scene } = this.#page;
    const skin = scene.crowd.skinOf(world?.playerId ?? 0, world?.avatarId);
    hands.begin();
    for (const { input, wrist, rotations } of [this.#left, this.#right]) {
      if (!input.isTracked) continue;
      const isLeft = input.side === "left";
      hands.draw({ ...wrist, isLeft, rotations, size: input.hasJoints ? input.size : 1 }, skin);
    }
    hands.end();
  }

  #close(): void {
    this.isOver = true;
    clearInterval(this.#watchdog);
    this.#presence?.close();
    this.#presence = undefined;
    for (const part of [this.#hands, this.#labels, this.#panel, this.#vignette, this.#arc]) part.dispose();
    const { renderer, rig, actions, inputs } = this.#page;
    actions.hand = undefined;
    actions.cancel();
    Object.assign(inputs.headset, { forward: 0, right: 0, run: false, jump: false });
    renderer.xr.enabled = false;
    rig.position.set(0, 0, 0);
    rig.rotation.set(0, 0, 0);
    this.#page.ended();
  }
}

function createWorldHand(input: HandInput): WorldHand {
  return {
    input,
    wrist: createPose(),
    ray: createPose(),
    palm: new Vector3(),
    velocity: [0, 0, 0],
    rotations: new Float32Array(HAND_JOINTS * 4),
    before: new Vector3(),
    wasTracked: false,
    isClosed: false,
    wasSecond: false,
    spoke: false,
  };
}

function stateOf({ input, wrist, velocity }: WorldHand): PartState | undefined {
  if (!input.isTracked) return undefined;
  const rotations = input.hasJoints ? input.rotations : undefined;
  return { pose: wrist, velocity, grip: input.grip, rotations, size: input.size };
}

/** Converts a pose from the room to the world. */
function toWorld({ position, quaternion }: Pose, rig: Matrix4, out: Pose): void {
  MATRIX.compose(position, quaternion, ONE).premultiply(rig).decompose(out.position, out.quaternion, SCALE);
}

/** Measures a velocity, in metres a second. A hand that reappears elsewhere counts as not moved. */
function measure(
  { position }: Pose,
  before: Vector3,
  velocity: [number, number, number],
  seconds: number,
  wasTracked: boolean,
): void {
  const time = Math.max(seconds, 1e-3);
  const speed = POINT.subVectors(position, before).divideScalar(time).toArray();
  const isMoving = wasTracked && Math.hypot(...speed) < HAND_MPS_MAX;
  const share = ease(VELOCITY_EASE, seconds);
  for (let axis = 0; axis < 3; axis++) {
    velocity[axis] = isMoving ? velocity[axis]! + (speed[axis]! - velocity[axis]!) * share : 0;
  }
  before.copy(position);
}

const ONE = new Vector3(1, 1, 1);
const POINT = new Vector3();
const AHEAD = new Vector3();
const SCALE = new Vector3();
const MATRIX = new Matrix4();
