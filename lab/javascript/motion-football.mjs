// Two bots play `worlds/football` and use the SDK as pages do. At each kick they record two distances of the ball: on
// the kicker's screen, and as the server computed it. The script is the same in Node and in a page: `motion.mjs` runs
// it in either.
import { joinWorld } from "nowcast/world";
import { mulberry32, within } from "./motion-walk.mjs";

/** @typedef {import("nowcast/world").EntityId} EntityId */
/** @typedef {import("./motion-walk.mjs").Place} Place */
/** @typedef {{ readonly player: string, readonly distance: number }} Answer */
/**
 * One kick: the distances in metres on the kicker's screen and on the server.
 *
 * @typedef {object} Kick
 * @property {string} by
 * @property {number} atS
 * @property {number} shownM
 * @property {number} judgedM
 * @property {boolean} isCounted
 * @property {number} behindMs
 * @property {boolean} isGuessed
 * @property {number | null} ownErrorM
 */
/**
 * A kick without an answer.
 *
 * @typedef {Pick<Kick, "by" | "atS" | "shownM" | "isGuessed"> &
 *   { readonly delayMs: number, readonly own: Place, readonly step: number, readonly nowMs: number }} Given
 */

/** The maximum distance of a kick in `worlds/football`, in metres. */
export const REACH_M = 1.6;

const JOIN_MS = 20_000;
const SETTLE_MS = 3_000;
/** If a kick has no answer for this time, no match was in progress. */
const ANSWER_MS = 3_000;
/** Time to wait after an answer for the kicker's position from the server. */
const CHECK_MS = 500;
/** A shorter silence is caused by the delay of the link alone. */
const FRESH_MS = 1;

/**
 * Returns the outcome of each kick. It ends after `seconds`, or as soon as the outcomes satisfy `isEnough`.
 *
 * @param {import("./motion-walk.mjs").Plan & { readonly isEnough?: (kicks: readonly Kick[]) => boolean }} plan
 */
export async function football({ address, seconds, seed, carriers, nextFrame, isEnough = () => false }) {
  const options = carriers === undefined ? {} : { carriers };
  const bots = ["Ada", "Ben"].map((name, at) => new Bot(address, name, mulberry32(seed * 2 + at), options));
  const kicksOf = () => bots.flatMap((bot) => bot.kicks);
  try {
    await within(JOIN_MS, () => bots.every(({ world }) => world.screen.get("phase") === "playing"));
    const startMs = performance.now();
    const endMs = startMs + SETTLE_MS + seconds * 1000;
    for (;;) {
      await nextFrame();
      const nowMs = performance.now();
      if (nowMs > endMs || isEnough(kicksOf())) break;
      for (const bot of bots) bot.frame(nowMs, nowMs - startMs - SETTLE_MS);
    }
    return {
      kicks: kicksOf().sort((a, b) => a.atS - b.atS),
      unanswered: bots.reduce((sum, bot) => sum + bot.unanswered, 0),
      carrier: bots[0]?.world.stats.link?.carrier ?? "none",
    };
  } finally {
    for (const bot of bots) bot.close();
  }
}

/** Runs after the ball, and kicks at a random displayed distance, which may be within reach or not. */
class Bot {
  /** @type {Kick[]} */
  kicks = [];
  unanswered = 0;
  #random;
  #input = { forward: 0, right: 0, yaw: 0, run: true, jump: false };
  #pose = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
  #ball = { position: { x: 0, y: 0, z: 0 }, quaternion: { x: 0, y: 0, z: 0, w: 1 } };
  /** The distance of the next kick, and the distance of the ball in the previous frame. */
  #wantedM = 1;
  #beforeM = 0;
  #isBackingOff = false;
  /**
   * The unanswered kick.
   *
   * @type {Given | undefined}
   */
  #given;
  /**
   * The kick whose answer is being checked.
   *
   * @type {(Omit<Kick, "ownErrorM"> & Given) | undefined}
   */
  #answered;

  /**
   * @param {string} address
   * @param {string} name
   * @param {() => number} random
   * @param {import("nowcast/world").JoinOptions} options
   */
  constructor(address, name, random, options) {
    this.name = name;
    this.#random = random;
    this.world = joinWorld(address, { name, networkHz: 60, ...options });
    this.world.on("error", ({ error }) => console.error(`${name}: ${error.message}`));
    this.world.on("event:kicked", ({ payload }) => {
      const answer = /** @type {Answer} */ (payload);
      const own = [...this.world.players.values()].find(({ id }) => id === this.world.playerId);
      if (answer.player === own?.name) this.#answer(true, answer);
    });
    this.world.on("event:missed", ({ payload }) => this.#answer(false, /** @type {Answer} */ (payload)));
  }

  /**
   * Draws a frame and evaluates it. Only kicks after the start, at 0 ms, count.
   *
   * @param {number} nowMs
   * @param {number} sinceMs
   */
  frame(nowMs, sinceMs) {
    const { world } = this;
    world.input(this.#input);
    world.frame(nowMs);
    this.#check(nowMs);
    const [ball] = world.entitiesOf("ball");
    const { avatarId, display } = world;
    if (ball === undefined || avatarId === undefined || !display.isPredicted) return;
    if (!world.pose(avatarId, this.#pose) || !world.pose(ball.id, this.#ball)) return;
    const dx = this.#ball.position.x - this.#pose.position.x;
    const dz = this.#ball.position.z - this.#pose.position.z;
    const shownM = Math.hypot(dx, dz);
    const isNear = shownM <= this.#wantedM;
    const isDue = isNear && this.#beforeM > this.#wantedM;
    this.#beforeM = shownM;
    if (this.#isBackingOff) this.#isBackingOff = shownM < this.#wantedM + 0.3;
    this.#input = { ...this.#input, forward: this.#isBackingOff ? -1 : 1, yaw: Math.atan2(-dx, -dz) };
    const mayKick = sinceMs >= 0 && this.#given === undefined && world.screen.get("phase") === "playing";
    if (isDue && mayKick) this.#kick(nowMs, sinceMs, shownM, ball.id);
    // Two bots that push the ball from opposite sides would otherwise hold it within the distance of the next kick.
    else if (isNear) this.#isBackingOff = true;
  }

  close() {
    this.world.close();
  }

  /**
   * @param {number} nowMs
   * @param {number} sinceMs
   * @param {number} shownM
   * @param {EntityId} ball
   */
  #kick(nowMs, sinceMs, shownM, ball) {
    const { display } = this.world;
    const step = Math.round(display.prediction?.moment ?? 0);
    const isGuessed = display.ageMs(ball) > display.delayMs + FRESH_MS;
    /** @type {Place} */
    const own = [this.#pose.position.x, this.#pose.position.y, this.#pose.position.z];
    this.#given = {
      by: this.name,
      atS: sinceMs / 1000,
      shownM,
      delayMs: display.delayMs,
      isGuessed,
      own,
      step,
      nowMs,
    };
    void this.world.act("kick", { power: 0.3 + 0.7 * this.#random() });
    // Half of the kicks are out of reach on the local player's screen, some of them only just.
    this.#wantedM = this.#random() < 0.5 ? 0.8 + 0.8 * this.#random() : REACH_M + 1.6 * this.#random() ** 2;
    this.#isBackingOff = shownM < this.#wantedM + 0.1;
  }

  /**
   * @param {boolean} isCounted
   * @param {Answer} answer
   */
  #answer(isCounted, { distance }) {
    if (this.#given === undefined) return;
    const nowMs = performance.now();
    // The displayed pose was older than the newest one by the view delay, and the answer took a round trip.
    const behindMs = this.#given.delayMs + nowMs - this.#given.nowMs;
    this.#answered = { ...this.#given, isCounted, judgedM: distance, behindMs, nowMs };
    this.#given = undefined;
  }

  /**
   * The error of the kicker's shown position is known when the server has sent its own.
   *
   * @param {number} nowMs
   */
  #check(nowMs) {
    if (this.#given !== undefined && nowMs - this.#given.nowMs > ANSWER_MS) {
      this.unanswered++;
      this.#given = undefined;
    }
    if (this.#answered === undefined || nowMs - this.#answered.nowMs < CHECK_MS) return;
    const { own, step, nowMs: _, delayMs: __, ...kick } = this.#answered;
    this.#answered = undefined;
    /** @type {Place} */
    const was = [0, 0, 0];
    const isKnown = this.world.display.prediction?.predicted(step, was);
    const ownErrorM = isKnown ? Math.hypot(was[0] - own[0], was[2] - own[2]) : null;
    this.kicks.push({ ...kick, ownErrorM });
  }
}
