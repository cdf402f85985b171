/** Actions of a world and their keys, by the bindings of its author: "Actions" in `docs/how-to/pages.md`. */
import {
  type ActionSource,
  type Binding,
  type ChatCommand,
  type PlaceRule,
  readBindings,
  readChatCommands,
  type TargetRule,
} from "nowcast/internal";

export { readBindings } from "nowcast/internal";

const CHARGE_S = 1;
/** The charge meter is shown only for a press that is longer than this. */
const METER_AFTER_S = 0.12;

/** The arguments to send; undefined if the action requires a target and there is none. */
export function argumentsOf(
  binding: Binding,
  chargedS: number,
  pitch: number,
  target: number | undefined,
  hand?: number | undefined,
  place?: Place | undefined,
): Record<string, Argument> | undefined {
  const sent: Record<string, Argument> = {};
  if (binding.target) {
    if (target !== undefined) sent[binding.target.argument] = target;
    else if (!binding.target.isOptional) return undefined;
  }
  if (binding.aim) {
    if (place !== undefined) sent[binding.aim.argument] = place;
    else if (!binding.aim.isOptional) return undefined;
  }
  if (binding.hand !== undefined && hand !== undefined) sent[binding.hand] = hand;
  if (binding.charge) {
    const { argument, min, max } = binding.charge;
    sent[argument] = min + (max - min) * chargeShare(chargedS);
  }
  if (binding.pitch) {
    const { argument, min, max } = binding.pitch;
    sent[argument] = Math.min(max, Math.max(min, pitch));
  }
  return sent;
}

/** The charge grows from 0 to 1 in one second. */
function chargeShare(seconds: number): number {
  return Math.min(1, seconds / CHARGE_S);
}

/**
 * The upward pitch of a player whose camera looks down by `cameraPitch`. The camera is above the shoulders,
 * so it looks down a little when the player looks straight ahead.
 */
export function lookPitch(cameraPitch: number): number {
  return 0.32 - (cameraPitch - 0.25) * 0.8;
}

/** The downward pitch of the camera for a player's `pitch`: the inverse. */
export function cameraPitch(pitch: number): number {
  return 0.25 + (0.32 - pitch) / 0.8;
}

/** A place in the world. */
export type Place = readonly [number, number, number];

/** The value of an argument that a page sends. */
export type Argument = number | Place;

/** The target of an action. */
export interface Target {
  readonly id: number;
  /** The rank; the lowest one is preferred. Entities in view have negative ranks, near ones positive ranks. */
  readonly rank: number;
}

/** The parts of the page that actions need. */
export interface Surroundings {
  /** The target within reach: the entity that is looked at, the nearest in front, or the nearest character on any side. */
  findTarget(rule: TargetRule): Target | undefined;
  /** The place within reach at which the player points. */
  findPlace(rule: PlaceRule): Place | undefined;
  /** Whether an attribute of the local avatar is set. */
  has(attribute: string): boolean;
  send(action: string, args: Readonly<Record<string, Argument>>): void;
  /** The charge of the action that is being charged, 0 to 1; `undefined` if there is none. */
  showCharge(share: number | undefined): void;
  /** The actions that have a target now. */
  showOffers(offers: readonly Binding[]): void;
  highlight(target: number | undefined): void;
  /** Shows the cell of edge length `gridM` at which the player points; `undefined` for none. */
  showCell(middle: Place | undefined, gridM: number): void;
}

/** The available and running actions. It converts input of keys and buttons to actions of the world. */
export class Actions {
  #list: readonly Binding[] = [];
  #commands: readonly ChatCommand[] = [];
  readonly #targets = new Map<Binding, Target>();
  #charging: { readonly binding: Binding; readonly trigger: string; seconds: number } | undefined;
  /** The action that is carried out for each new target while the pointer moves. */
  #stroke: { readonly binding: Binding; readonly trigger: string; target: number } | undefined;
  #cameraPitch = 0;
  /** The entity of the hand that acts, for players with a headset. */
  hand: number | undefined;
  readonly #around: Surroundings;

  constructor(around: Surroundings) {
    this.#around = around;
  }

  get bindings(): readonly Binding[] {
    return this.#list;
  }

  /** The chat commands of this world. */
  get commands(): readonly ChatCommand[] {
    return this.#commands;
  }

  /** The keys that trigger actions in this world. */
  get keys(): ReadonlySet<string> {
    return new Set(this.#list.flatMap(({ keys }) => keys));
  }

  define(actions: readonly ActionSource[]): void {
    this.reset();
    this.#list = readBindings(actions);
    this.#commands = readChatCommands(actions);
  }

  /** The actions that have a target now, in order of rank. */
  get offered(): readonly Binding[] {
    return this.#offers();
  }

  /** The available actions that need no target. */
  get possible(): readonly Binding[] {
    return this.#list.filter(
      (binding) => this.#isPossible(binding) && (!binding.target || binding.target.isOptional),
    );
  }

  /** Performs an action with a charge (`share`, 0 to 1) and an upward pitch. */
  perform(binding: Binding, share: number, pitch: number): void {
    const target = this.#targets.get(binding)?.id;
    const place = binding.aim && this.#around.findPlace(binding.aim);
    const args = argumentsOf(binding, share * CHARGE_S, pitch, target, this.hand, place);
    if (args) this.#around.send(binding.action, args);
  }

  /** Drops the current action, for example after a reconnect. */
  reset(): void {
    this.cancel();
    this.#targets.clear();
    this.#around.highlight(undefined);
    this.#around.showCell(undefined, 0);
    this.#around.showOffers([]);
  }

  /**
   * Handles a pressed key or a pressed button of an action ({@link buttonOf}). An action that `waits` is
   * carried out when the key or button is released. If it needs a target and has one, it begins a stroke instead: it is
   * carried out at once, and again for each new target until the release. Returns whether a stroke began.
   */
  press(trigger: string, waits = false): boolean {
    if (waits && this.stroke(trigger)) return true;
    const binding = this.#choose(trigger);
    if (!binding) return false;
    if (binding.charge || waits) this.#charging = { binding, trigger, seconds: 0 };
    else this.#send(binding, 0);
    return false;
  }

  /**
   * Begins a stroke as {@link Actions.press} does. Returns false, and does nothing, if the action needs no target, or if the
   * entity in view is none.
   */
  stroke(trigger: string): boolean {
    const binding = this.#choose(trigger);
    const target = binding && this.#viewed(binding);
    if (!binding || target === undefined || binding.charge || binding.target?.isOptional !== false)
      return false;
    this.#stroke = { binding, trigger, target };
    this.#send(binding, 0);
    return true;
  }

  release(trigger: string): void {
    if (this.#stroke?.trigger === trigger) this.#stroke = undefined;
    const charging = this.#charging;
    if (charging?.trigger !== trigger) return;
    this.cancel();
    this.#send(charging.binding, charging.seconds);
  }

  cancel(): void {
    this.#charging = undefined;
    this.#stroke = undefined;
    this.#around.showCharge(undefined);
  }

  /** Advances by one frame. `canAct` is false while there is no avatar that could act. */
  update(seconds: number, cameraPitch: number, canAct: boolean): void {
    this.#cameraPitch = cameraPitch;
    this.#targets.clear();
    if (canAct) this.#findTargets();
    else if (this.#charging || this.#stroke) this.cancel();
    this.#continueStroke();
    const offers = this.#offers();
    this.#around.highlight(offers[0] && this.#targets.get(offers[0])?.id);
    const built = canAct
      ? this.#list.find((binding) => binding.aim?.gridM && this.#isPossible(binding))
      : undefined;
    this.#around.showCell(built?.aim && this.#around.findPlace(built.aim), built?.aim?.gridM ?? 0);
    this.#around.showOffers(offers);
    if (!this.#charging?.binding.charge) return;
    this.#charging.seconds += seconds;
    if (this.#charging.seconds > METER_AFTER_S) this.#around.showCharge(chargeShare(this.#charging.seconds));
  }

  #continueStroke(): void {
    const stroke = this.#stroke;
    const target = stroke && this.#viewed(stroke.binding);
    if (!stroke || target === undefined || target === stroke.target) return;
    stroke.target = target;
    this.#send(stroke.binding, 0);
  }

  /** The target of an action, if it is in view and not only near. */
  #viewed(binding: Binding): number | undefined {
    const target = this.#targets.get(binding);
    return target && target.rank < 0 ? target.id : undefined;
  }

  #findTargets(): void {
    for (const binding of this.#list) {
      const target = binding.target && this.#isPossible(binding) && this.#around.findTarget(binding.target);
      if (target) this.#targets.set(binding, target);
    }
  }

  /**
   * The actions that have a target now, in order of rank. An action is left out if higher-ranked actions use all its
   * keys.
   */
  #offers(): readonly Binding[] {
    const ranked = [...this.#targets].sort(([, a], [, b]) => a.rank - b.rank).map(([binding]) => binding);
    const taken = new Set<string>();
    return ranked.filter(({ keys }) => {
      const isFree = keys.length === 0 || keys.some((key) => !taken.has(key));
      for (const key of keys) taken.add(key);
      return isFree;
    });
  }

  /** If several actions share a key, an action with a target is preferred. */
  #choose(trigger: string): Binding | undefined {
    const fits = (binding: Binding): boolean =>
      binding.keys.includes(trigger) || buttonOf(binding.action) === trigger;
    return (
      this.#offers().find(fits) ??
      this.#list.find(
        (binding) =>
          fits(binding) && this.#isPossible(binding) && (!binding.target || binding.target.isOptional),
      )
    );
  }

  #isPossible({ needs, unless }: Binding): boolean {
    return (
      (needs === undefined || this.#around.has(needs)) && (unless === undefined || !this.#around.has(unless))
    );
  }

  #send(binding: Binding, chargedS: number): void {
    this.perform(binding, chargedS / CHARGE_S, lookPitch(this.#cameraPitch));
  }
}

/** Whether an action with this trigger chooses a slot, as `@nowcast/inventory` names them. */
export function isSlot(trigger: string): boolean {
  return /^button slot_\d$/.test(trigger);
}

/** The trigger of an action's own button, on a screen or a gamepad. */
export function buttonOf(action: string): string {
  return `button ${action}`;
}
