/** Action bindings, which a world's author declares: "Actions" in `docs/how-to/pages.md`. */
import type { Action } from "../world.js";
import { isFields } from "./shape.js";

/** The parts of an {@link Action} from which a binding is read. */
export type ActionSource = Pick<Action, "name" | "arguments" | "hint">;

/** An argument that is a number in a range. */
export interface Amount {
  readonly argument: string;
  readonly min: number;
  readonly max: number;
}

/** An argument that is an entity. */
export interface TargetRule {
  readonly argument: string;
  /** Whether the action may be sent without a target. */
  readonly isOptional: boolean;
  /** Names of kinds; `undefined` allows all. */
  readonly of: ReadonlySet<string> | undefined;
  readonly reachM: number;
}

/** An argument that is a place. */
export interface PlaceRule {
  readonly argument: string;
  /** Whether the action may be sent without a place. */
  readonly isOptional: boolean;
  readonly reachM: number;
  /** Edge length of the cells on the world's building grid; 0 without cells. */
  readonly gridM: number;
}

/** An action with the input that triggers it. */
export interface Binding {
  readonly action: string;
  /**
   * Lower-case letters or digits, `left` or `right`; each triggers the action. Without keys, the action has only a touch
   * button.
   */
  readonly keys: readonly string[];
  readonly label: string;
  readonly charge: Amount | undefined;
  readonly pitch: Amount | undefined;
  readonly target: TargetRule | undefined;
  /** The argument that receives the place at which the player points. */
  readonly aim: PlaceRule | undefined;
  /** The argument that receives the acting hand, for players with a headset. */
  readonly hand: string | undefined;
  /** An attribute of the local avatar that must be set. */
  readonly needs: string | undefined;
  /** An attribute of the local avatar that must not be set. */
  readonly unless: string | undefined;
  /** The effect that the page shows before the server's answer, on the hands or the local avatar. */
  readonly predict: "grab" | "throw" | "launch" | undefined;
  /** Speed in metres a second: a thrown item's at full charge, or a launched avatar's forward speed. */
  readonly speed: number;
  /** A launched avatar's upward speed, in metres a second. */
  readonly rise: number;
}

/** The name of the argument that receives the entity of a hand: "Headsets" in `docs/how-to/headsets.md`. */
const HAND = "hand";
const REACH_M = 2.5;
const REACH_M_MAX = 1_000;
const LABEL_CHARACTERS_MAX = 32;
const KEYS_MAX = 4;

/** Reads an action that a key or a button triggers. Actions without a binding are only for programs. */
export function readBindings(actions: readonly ActionSource[]): readonly Binding[] {
  return actions.flatMap((action) => bindingOf(action) ?? []);
}

/** Returns an action's binding, which is parsed once; `undefined` for an action without one. */
export function bindingOf(action: ActionSource): Binding | undefined {
  let known = KNOWN.get(action);
  if (known === undefined) {
    known = { binding: readBinding(action) };
    KNOWN.set(action, known);
  }
  return known.binding;
}

const KNOWN = new WeakMap<ActionSource, { readonly binding: Binding | undefined }>();

function readBinding({ name, arguments: fields, hint }: ActionSource): Binding | undefined {
  // Chat commands and panels trigger their actions without a key.
  if (hint === undefined || hint["command"] !== undefined || hint["ui"] !== undefined) return undefined;
  const field = (hinted: unknown) => fields.find((candidate) => candidate.name === hinted);
  const { key, label, reach, of, needs, unless, predict, speed, rise } = hint;
  const [target, aim] = [field(hint["target"]), field(hint["aim"])];
  const reachM = typeof reach === "number" && reach > 0 ? Math.min(reach, REACH_M_MAX) : REACH_M;
  const kinds = (Array.isArray(of) ? of : [of]).filter((kind) => typeof kind === "string");
  return {
    action: name,
    keys: readKeys(key),
    label: [...(typeof label === "string" && label !== "" ? label : name.replaceAll("_", " "))]
      .slice(0, LABEL_CHARACTERS_MAX)
      .join(""),
    charge: amountOf(field(hint["charge"]), 0, 1),
    pitch: amountOf(field(hint["pitch"]), -Math.PI / 2, Math.PI / 2),
    target: target && {
      argument: target.name,
      isOptional: target.type.endsWith("?"),
      of: kinds.length > 0 ? new Set(kinds) : undefined,
      reachM,
    },
    aim: aim && {
      argument: aim.name,
      isOptional: aim.type.endsWith("?"),
      reachM,
      gridM: Math.max(0, finiteOr0(hint["grid"])),
    },
    hand: fields.find((candidate) => candidate.name === HAND && candidate.type.endsWith("?"))?.name,
    needs: typeof needs === "string" ? needs : undefined,
    unless: typeof unless === "string" ? unless : undefined,
    predict: predict === "grab" || predict === "throw" || predict === "launch" ? predict : undefined,
    speed: finiteOr0(speed),
    rise: finiteOr0(rise),
  };
}

/** The keys of a binding, which has one key or a list. Other values are omitted. */
function readKeys(key: unknown): readonly string[] {
  const listed: readonly unknown[] = Array.isArray(key) ? key : [key];
  const valid = listed.filter((one) => typeof one === "string" && /^([a-z0-9]|left|right)$/i.test(one));
  return [...new Set(valid.map((one) => String(one).toLowerCase()))].slice(0, KEYS_MAX);
}

function finiteOr0(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}

/** A world's chat command. The server reads the line `/name …`, and answers the player alone. */
export interface ChatCommand {
  /** The name after the `/`. */
  readonly name: string;
  /** The command with its arguments' names, such as `/give who item [count]`. */
  readonly usage: string;
  /** One sentence; empty if the world has none. */
  readonly help: string;
}

/** A world's chat commands, in the order of their declaration. Some need a role. */
export function readChatCommands(actions: readonly ActionSource[]): readonly ChatCommand[] {
  return actions.flatMap(({ name, hint }) => {
    const command = hint?.["command"];
    if (!isFields(command) || !name.startsWith("/")) return [];
    const { usage, help } = command;
    return [
      {
        name: name.slice(1),
        usage: typeof usage === "string" ? usage : name,
        help: typeof help === "string" ? help : "",
      },
    ];
  });
}

/** The bounds in a field's type, such as `range(0, 1, 0.01)`, or the default bounds. */
function amountOf(
  field: { readonly name: string; readonly type: string } | undefined,
  min: number,
  max: number,
): Amount | undefined {
  if (!field) return undefined;
  const [low, high] = /^range\(([^,]+),([^,]+),/.exec(field.type)?.slice(1).map(Number) ?? [];
  const isSaid = low !== undefined && high !== undefined && low < high;
  return isSaid ? { argument: field.name, min: low, max: high } : { argument: field.name, min, max };
}
