import type { Binding } from "nowcast/internal";
import { type Actions, buttonOf } from "../actions.js";
import type { Side } from "./tracked-input.js";

/**
 * If a hand opens below this speed, in metres a second, it puts its item down. A faster hand throws the item.
 */
const THROW_MPS = 1.1;
/** Speed of the hand at which a throw has its maximum strength. */
const FULL_THROW_MPS = 6;
/** Time for which a hand that opened is remembered until the world reports the item that it holds. */
const WAIT_MS = 700;
/** The trigger of actions on the left mouse button. */
const LEFT_BUTTON = "left";

/** The velocity of a hand when it opens, in metres a second. */
export interface HandMotion {
  readonly x: number;
  readonly y: number;
  readonly z: number;
}

/** The parts of the page that grasping needs. */
export interface GraspSurroundings {
  readonly actions: Pick<Actions, "offered" | "possible" | "press" | "release" | "perform">;
  /** Called when another hand begins to point and act. */
  use(side: Side): void;
}

/** The action that a hand began by closing. */
type Begun =
  | { readonly what: "taken"; readonly trigger: string }
  | { readonly what: "pressed"; readonly trigger: string };

/**
 * The actions of closing and opening a hand, among those that a world declares. A hand that closes performs the offered
 * action, such as grabbing the touched entity. When the hand opens, it throws or puts down the item that the player has
 * held since, by the world's actions that require a held item. If no action is offered, a trigger acts as the left
 * mouse button.
 */
export class Grasp {
  readonly #begun: Record<Side, Begun | undefined> = { left: undefined, right: undefined };
  #opened: { readonly side: Side; readonly motion: HandMotion; readonly untilMs: number } | undefined;
  readonly #around: GraspSurroundings;

  constructor(around: GraspSurroundings) {
    this.#around = around;
  }

  /** Handles a hand that closes: the whole hand, or (`isTrigger`) a finger on a trigger. */
  close(side: Side, isTrigger: boolean): void {
    if (this.#begun[side]) return;
    this.#around.use(side);
    const { actions } = this.#around;
    const [offer] = actions.offered;
    if (offer) {
      const trigger = buttonOf(offer.action);
      this.#begun[side] = { what: offer.charge ? "pressed" : "taken", trigger };
      actions.press(trigger);
    } else if (isTrigger && actions.possible.some(({ keys }) => keys.includes(LEFT_BUTTON))) {
      this.#begun[side] = { what: "pressed", trigger: LEFT_BUTTON };
      actions.press(LEFT_BUTTON);
    }
  }

  /** Handles a hand that opens while it moves with this velocity. */
  open(side: Side, motion: HandMotion, nowMs: number): void {
    const begun = this.#begun[side];
    this.#begun[side] = undefined;
    if (begun?.what === "pressed") {
      this.#around.use(side);
      this.#around.actions.release(begun.trigger);
    } else if (begun?.what === "taken" && !this.#letGo(side, motion)) {
      this.#opened = { side, motion, untilMs: nowMs + WAIT_MS };
    }
  }

  /** Releases an item that the world reports as held only after the hand opened. Call it once a frame. */
  update(nowMs: number): void {
    const opened = this.#opened;
    if (!opened) return;
    if (nowMs > opened.untilMs || this.#letGo(opened.side, opened.motion)) this.#opened = undefined;
  }

  /** Returns false if no item can be released now. */
  #letGo(side: Side, { x, y, z }: HandMotion): boolean {
    const { actions } = this.#around;
    const ways = actions.possible.filter(({ needs, target }) => needs !== undefined && !target);
    const speed = Math.hypot(x, y, z);
    const isThrown = (binding: Binding): boolean => binding.charge !== undefined;
    // If the world receives the entity of the hand, it can compute the speed of the hand itself.
    const preferred = speed > THROW_MPS || ways.some((way) => isThrown(way) && way.hand !== undefined);
    const way = ways.find((binding) => isThrown(binding) === preferred) ?? ways[0];
    if (!way) return false;
    this.#around.use(side);
    actions.perform(way, Math.min(1, speed / FULL_THROW_MPS), Math.atan2(y, Math.hypot(x, z)));
    return true;
  }
}
