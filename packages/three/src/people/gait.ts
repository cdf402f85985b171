/** The visible motion of a body. */
export interface Motion {
  /** The phase of the stride, in radians; a stride of two steps is 2π. */
  phase: number;
  /** Speed along the ground, in metres a second. */
  speed: number;
  /** Whether the body walks backward. */
  backward: boolean;
  /**
   * The direction of the legs, in radians to the left of the direction that the body faces; at most a right
   * angle.
   */
  heading: number;
  /** 0 on the ground, 1 in the air; eased by the caller. */
  air: number;
  /** Upward speed, in metres a second. */
  rise: number;
  /** 0 with empty hands, and 1 while an item is carried. The caller eases the value. */
  carry: number;
  /** Decays from 1 to 0 after a throw. */
  fling: number;
  /** Decays from 1 to 0 after landing. */
  landing: number;
  /** Time for breathing and looking about, in seconds, different for each body. */
  seconds: number;
}

/** Angles of all joints in radians and the pelvis' offset in metres. Positive swings a limb forward. */
export interface JointAngles {
  bob: number;
  sway: number;
  lean: number;
  twist: number;
  /** The turn of the hips toward the direction of the legs. */
  turn: number;
  roll: number;
  headPitch: number;
  headYaw: number;
  hipLeft: number;
  hipRight: number;
  kneeLeft: number;
  kneeRight: number;
  ankleLeft: number;
  ankleRight: number;
  shoulderLeft: number;
  shoulderRight: number;
  /** The angle of the arms away from the body. */
  spreadLeft: number;
  spreadRight: number;
  elbowLeft: number;
  elbowRight: number;
}

export function createJointAngles(): JointAngles {
  return {
    bob: 0,
    sway: 0,
    lean: 0,
    twist: 0,
    turn: 0,
    roll: 0,
    headPitch: 0,
    headYaw: 0,
    hipLeft: 0,
    hipRight: 0,
    kneeLeft: 0,
    kneeRight: 0,
    ankleLeft: 0,
    ankleRight: 0,
    shoulderLeft: 0,
    shoulderRight: 0,
    spreadLeft: 0,
    spreadRight: 0,
    elbowLeft: 0,
    elbowRight: 0,
  };
}

/** Length of a stride (two steps) at a speed. Players lengthen their stride about as much as they quicken it. */
export function strideLength(speed: number): number {
  return 0.9 + 0.34 * Math.min(speed, 8);
}

/** Change of the phase while the body moves `metres` at `speed`, so that feet do not slide on the ground. */
export function phaseStep(metres: number, speed: number): number {
  return (metres / strideLength(speed)) * 2 * Math.PI;
}

/**
 * Poses a body. Legs swing as sines half a stride apart; a knee bends while its leg swings forward; arms swing against
 * the legs; the pelvis dips twice in a stride. Running leans, bends elbows and lifts heels. All motions are
 * blended by weights, so that joints never jump when the kind of motion changes.
 */
export function poseBody(motion: Motion, out: JointAngles): void {
  const ground = 1 - motion.air;
  const moving = smooth(0.1, 1.2, motion.speed) * ground;
  const running = smooth(2.8, 5.5, motion.speed) * ground;
  const swing = moving * (0.42 + 0.14 * smooth(0, 2.5, motion.speed) + 0.3 * running);
  const sine = Math.sin(motion.phase);
  const cosine = Math.cos(motion.phase);
  const way = motion.backward ? -1 : 1;
  const breath = Math.sin(motion.seconds * 1.9);
  const still = 1 - moving;

  out.bob =
    moving * (-0.025 - 0.03 * running + (0.022 + 0.03 * running) * Math.cos(2 * motion.phase)) +
    still * ground * 0.006 * breath -
    0.2 * motion.landing * ground;
  out.sway = moving * (1 - running) * 0.025 * sine;
  out.lean =
    moving * 0.05 * way + running * 0.2 + motion.landing * 0.28 - 0.16 * motion.carry + motion.fling * 0.35;
  out.twist = moving * (0.12 + 0.12 * running) * sine * (1 - motion.carry);
  out.turn = moving * motion.heading * 0.85;
  out.roll = moving * 0.03 * cosine;
  out.headPitch = -out.lean * 0.7 + still * 0.03 * Math.sin(motion.seconds * 0.7) - 0.1 * motion.carry;
  out.headYaw = -out.twist * 0.8 + still * ground * 0.22 * Math.sin(motion.seconds * 0.43) ** 3;

  const crouch = motion.landing * ground;
  out.hipLeft = way * swing * sine + crouch * 0.75 + out.lean * 0.4;
  out.hipRight = -way * swing * sine + crouch * 0.75 + out.lean * 0.4;
  // The knee is most bent while the thigh swings from back to front, which is while its angle grows.
  out.kneeLeft = bend(way * cosine, moving, running) + crouch * 1.35;
  out.kneeRight = bend(-way * cosine, moving, running) + crouch * 1.35;
  out.ankleLeft = out.kneeLeft * 0.32 - out.hipLeft * 0.4;
  out.ankleRight = out.kneeRight * 0.32 - out.hipRight * 0.4;

  const arm = swing * (0.8 + 0.5 * running);
  out.shoulderLeft = -way * arm * sine + 0.05;
  out.shoulderRight = way * arm * sine + 0.05;
  out.spreadLeft = out.spreadRight = 0.1 + still * 0.02 * breath + 0.06 * running;
  out.elbowLeft = 0.18 + 0.22 * moving + 1.15 * running - way * 0.25 * moving * sine;
  out.elbowRight = 0.18 + 0.22 * moving + 1.15 * running + way * 0.25 * moving * sine;

  addFlight(motion, out);
  addCarrying(motion, out);
}

function bend(swinging: number, moving: number, running: number): number {
  const lift = Math.max(0, swinging);
  return moving * (0.14 + lift * (0.75 + 0.85 * running));
}

/**
 * In the air, the knees rise while the body ascends and extend while it descends. The arms spread for
 * balance.
 */
function addFlight(motion: Motion, out: JointAngles): void {
  const air = motion.air;
  if (air <= 0) return;
  const up = smooth(-3, 3, motion.rise);
  out.hipLeft += air * (0.35 + 0.65 * up);
  out.kneeLeft += air * (0.45 + 0.9 * up);
  out.hipRight += air * (0.05 - 0.35 * up);
  out.kneeRight += air * (0.3 + 0.4 * up);
  out.ankleLeft += air * 0.4;
  out.ankleRight += air * 0.5;
  out.shoulderLeft += air * (0.2 - 0.5 * up);
  out.shoulderRight += air * (0.4 + 0.4 * up);
  out.spreadLeft += air * (0.75 - 0.3 * up);
  out.spreadRight += air * (0.75 - 0.3 * up);
  out.elbowLeft += air * 0.45;
  out.elbowRight += air * 0.45;
}

/** Both arms up in front, holding on; a throw swings them over and through. */
function addCarrying(motion: Motion, out: JointAngles): void {
  const reach = Math.max(motion.carry, motion.fling);
  if (reach <= 0) return;
  const angle = 1.28 + 0.03 * Math.sin(motion.phase * 2) - motion.fling * 0.2;
  out.shoulderLeft += (angle - out.shoulderLeft) * reach;
  out.shoulderRight += (angle - out.shoulderRight) * reach;
  out.spreadLeft += (0.14 - out.spreadLeft) * reach;
  out.spreadRight += (0.14 - out.spreadRight) * reach;
  out.elbowLeft += (0.3 - out.elbowLeft) * reach;
  out.elbowRight += (0.3 - out.elbowRight) * reach;
}

/**
 * The direction of the legs when a body that faces `yaw` moves along (x, z). Feet step sideways up to a right angle;
 * beyond that they walk backward.
 */
export function legsToward(
  yaw: number,
  x: number,
  z: number,
  out: Pick<Motion, "backward" | "heading">,
): void {
  const ahead = -Math.sin(yaw) * x - Math.cos(yaw) * z;
  const left = -Math.cos(yaw) * x + Math.sin(yaw) * z;
  // Exactly sideways counts as forward. A small margin prevents flickering between forward and backward.
  out.backward = ahead < -0.15 * Math.hypot(ahead, left);
  out.heading = out.backward ? Math.atan2(-left, -ahead) : Math.atan2(left, Math.max(0, ahead));
}

/** 0 below `from`, 1 above `to`, and a smooth curve between. */
export function smooth(from: number, to: number, value: number): number {
  const t = Math.min(1, Math.max(0, (value - from) / (to - from)));
  return t * t * (3 - 2 * t);
}
