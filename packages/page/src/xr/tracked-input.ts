import { createPose, HAND_JOINTS, handSizeOf, PALM, type Pose } from "@nowcast/three/internal";
import { Matrix4, Quaternion, Vector3 } from "three";

export type Side = "left" | "right";

const DEAD = 0.2;
/** A trigger or a grip counts as pressed if it is pulled farther than this. */
const PRESSED = 0.55;
/** The joints of the middle finger up to its tip. The size of a hand is measured by them. */
const MIDDLE = [10, 11, 12, 13, 14] as const;

/** The input of one hand in this frame. */
export interface HandInput {
  readonly side: Side;
  /** Whether the hand is tracked. */
  isTracked: boolean;
  /** The pose of the wrist in the room: fingers point to -Z, the back of the hand faces Y. */
  readonly wrist: Pose;
  /** The origin of pointing, toward -Z, in the room. */
  readonly ray: Pose;
  hasJoints: boolean;
  /** Rotations of all joints relative to the wrist. */
  readonly rotations: Float32Array;
  readonly size: number;
  /** The grip: 0 for an open hand, 1 for a fist. */
  grip: number;
  /** The index finger's trigger, or a pinch. */
  trigger: boolean;
  squeeze: boolean;
  /** The button A or X. */
  first: boolean;
  /** The button B or Y. */
  second: boolean;
  stickPressed: boolean;
  stickX: number;
  stickY: number;
}

/** A declaration from WebXR's hand input module, which the types do not include. */
interface HandFrame {
  fillPoses?(spaces: Iterable<XRSpace>, base: XRSpace, transforms: Float32Array): boolean;
}

interface OwnHand extends HandInput {
  size: number;
}

/** Reads a headset: the poses of head and hands in the room, and pressed buttons. */
export class TrackedInput {
  readonly head = createPose();
  readonly left: HandInput;
  readonly right: HandInput;
  /** Whether the newest frame had the pose of the head. */
  isTracked = false;
  readonly #hands: Readonly<Record<Side, OwnHand>>;
  readonly #matrices = new Float32Array(HAND_JOINTS * 16);
  /** The sources of which the session has reported the begin of a pinch or a grip, but not the end. */
  readonly #selecting = new Set<XRInputSource>();
  readonly #squeezing = new Set<XRInputSource>();
  readonly #session: XRSession;
  readonly #space: () => XRReferenceSpace | null;

  constructor(session: XRSession, space: () => XRReferenceSpace | null) {
    this.#session = session;
    this.#space = space;
    this.#hands = { left: createHand("left"), right: createHand("right") };
    this.left = this.#hands.left;
    this.right = this.#hands.right;
    session.addEventListener("selectstart", ({ inputSource }) => this.#selecting.add(inputSource));
    session.addEventListener("selectend", ({ inputSource }) => this.#selecting.delete(inputSource));
    session.addEventListener("squeezestart", ({ inputSource }) => this.#squeezing.add(inputSource));
    session.addEventListener("squeezeend", ({ inputSource }) => this.#squeezing.delete(inputSource));
  }

  read(frame: XRFrame): void {
    const space = this.#space();
    const viewer = space ? frame.getViewerPose(space) : undefined;
    this.isTracked = viewer !== undefined;
    if (viewer) takeTransform(viewer.transform, this.head);
    letGo(this.#hands.left);
    letGo(this.#hands.right);
    const sources = [...this.#session.inputSources];
    // A source that is gone, because a controller was laid down or changed, may never end its pinch.
    for (const held of [this.#selecting, this.#squeezing]) {
      for (const source of held) if (!sources.includes(source)) held.delete(source);
    }
    if (!space) return;
    for (const source of sources) {
      // A single controller, and a pinch that no hand is known for, act as the right hand.
      this.#readHand(frame, space, source, this.#hands[source.handedness === "left" ? "left" : "right"]);
    }
  }

  /** Adds a source to a hand. A pinch may be a separate source beside the tracked hand, and has the better ray. */
  #readHand(frame: XRFrame, space: XRReferenceSpace, source: XRInputSource, hand: OwnHand): void {
    const isFirst = !hand.isTracked;
    if (isFirst) {
      hand.hasJoints = source.hand !== undefined && this.#readJoints(frame, space, source.hand, hand);
      hand.isTracked = hand.hasJoints || readGrip(frame, space, source, hand);
    }
    const ray = frame.getPose(source.targetRaySpace, space);
    if (ray && (isFirst || source.targetRayMode === "transient-pointer"))
      takeTransform(ray.transform, hand.ray);
    readButtons(source.gamepad, hand, this.#selecting.has(source), this.#squeezing.has(source));
  }

  /** Reads the joints relative to the wrist. Returns false if a joint is unknown. */
  #readJoints(frame: XRFrame, space: XRReferenceSpace, joints: XRHand, hand: OwnHand): boolean {
    const matrices = this.#matrices;
    if (joints.size !== HAND_JOINTS) return false;
    if (!(frame as HandFrame).fillPoses?.(joints.values(), space, matrices)) return false;
    const { position, quaternion } = hand.wrist;
    MATRIX.fromArray(matrices).decompose(position, quaternion, SCALE);
    WRIST.copy(quaternion).invert();
    const bones: number[] = [];
    LAST.copy(position);
    for (let joint = 0; joint < HAND_JOINTS; joint++) {
      MATRIX.fromArray(matrices, joint * 16).decompose(POINT, TURN, SCALE);
      TURN.premultiply(WRIST)
        .normalize()
        .toArray(hand.rotations, joint * 4);
      if (!MIDDLE.some((middle) => middle === joint)) continue;
      bones.push(POINT.distanceTo(LAST));
      LAST.copy(POINT);
    }
    hand.size = handSizeOf(bones);
    return hand.rotations.every(Number.isFinite);
  }
}

/** A controller is held in the fist and points forward; the palm faces the other hand. */
function readGrip(frame: XRFrame, space: XRReferenceSpace, source: XRInputSource, hand: OwnHand): boolean {
  const grip = source.gripSpace && frame.getPose(source.gripSpace, space);
  if (!grip) return false;
  takeTransform(grip.transform, hand.wrist);
  const { position, quaternion } = hand.wrist;
  quaternion.multiply(ROLL.setFromAxisAngle(AXIS_Z, hand.side === "left" ? Math.PI / 2 : -Math.PI / 2));
  position.sub(POINT.set(...PALM).applyQuaternion(quaternion));
  return true;
}

/** Forgets the input of the last frame. */
function letGo(hand: OwnHand): void {
  hand.isTracked = hand.trigger = hand.squeeze = hand.stickPressed = hand.first = hand.second = false;
  hand.grip = hand.stickX = hand.stickY = 0;
}

/** Adds buttons and axes as the standard mapping of WebXR has them (`xr-standard`), and the session's events. */
function readButtons(gamepad: Gamepad | undefined, hand: OwnHand, selects: boolean, squeezes: boolean): void {
  const value = (button: number): number => gamepad?.buttons[button]?.value ?? 0;
  const axis = (number: number): number => {
    const at = gamepad?.axes[number] ?? 0;
    return Math.abs(at) < DEAD ? 0 : at;
  };
  hand.trigger ||= value(0) > PRESSED || selects;
  hand.squeeze ||= value(1) > PRESSED || squeezes;
  hand.grip = Math.min(1, Math.max(hand.grip, value(0) * 0.6, value(1), squeezes ? 1 : 0));
  hand.stickPressed ||= gamepad?.buttons[3]?.pressed ?? false;
  hand.first ||= gamepad?.buttons[4]?.pressed ?? false;
  hand.second ||= gamepad?.buttons[5]?.pressed ?? false;
  hand.stickX ||= axis(2);
  hand.stickY ||= axis(3);
}

function createHand(side: Side): OwnHand {
  return {
    side,
    isTracked: false,
    wrist: createPose(),
    ray: createPose(),
    hasJoints: false,
    rotations: new Float32Array(HAND_JOINTS * 4),
    size: 1,
    grip: 0,
    trigger: false,
    squeeze: false,
    first: false,
    second: false,
    stickPressed: false,
    stickX: 0,
    stickY: 0,
  };
}

function takeTransform({ position, orientation }: XRRigidTransform, out: Pose): void {
  out.position.copy(position);
  out.quaternion.copy(orientation);
}

const AXIS_Z = new Vector3(0, 0, 1);
const MATRIX = new Matrix4();
const POINT = new Vector3();
const LAST = new Vector3();
const SCALE = new Vector3();
const WRIST = new Quaternion();
const TURN = new Quaternion();
const ROLL = new Quaternion();
