/** Looks, from the fields of "Looks" in `docs/how-to/pages.md`. They are validated, because a server may send anything. */
import type { Entity, Kind, WorldRecord } from "../world.js";
import { bodyOf } from "./body.js";
import { clamped, type Form, readForm, readVector, type Vector } from "./shape.js";
import { walkerOf } from "./walker.js";

/** The parts of an {@link Entity} from which a look is read. */
export interface LookSource {
  readonly kind: Pick<Kind, "body" | "walker" | "look">;
  readonly attributes: Entity["attributes"];
}

/** A person, drawn as a figure in coloured clothes with this height in metres. */
export interface Figure {
  readonly shape: "person";
  readonly height: number;
}

/** A model from the world's folder, and how an entity shows it. */
export interface ModelLook {
  /** A path such as `assets/door.glb`: the name of an `Asset` in the definition, or a model of the kit: `@nowcast/kit/tree`. */
  readonly name: string;
  /** Factors on the model's size along its own axes, in addition to the entity's own scale. */
  readonly scale: Vector;
  /** The animation that the model repeats; `undefined` selects one by the entity's motion. */
  readonly animation: string | undefined;
}

/** How an entity is drawn. */
export interface Look {
  /** In metres, before the entity's scale is applied; `undefined` for an entity with a label only. */
  readonly form: Form | Figure | undefined;
  /** 0xRRGGBB; `undefined` without a declaration. */
  readonly color: number | undefined;
  /** 0 to 1. */
  readonly opacity: number;
  /** Emitted light, 0 to 4: 0 for none. */
  readonly glow: number;
  /** The label above the entity. A person may have typed it, so show it as text, never as markup. */
  readonly label: string;
  /** The text on the form's front: plain text, never markup; empty for none. */
  readonly sign: string;
  /** How long the trail behind a moving entity lasts, in seconds; 0 for none. */
  readonly trail: number;
  /** The model that replaces the form as soon as the model is loaded. */
  readonly model: ModelLook | undefined;
  /** Name of the image on the form's surface; `undefined` for none. */
  readonly texture: string | undefined;
  /** Height of the surrounding sea, in metres; `undefined` if the entity declares no sea. */
  readonly sea: number | undefined;
}

const LABEL_CHARACTERS_MAX = 48;
const SIGN_CHARACTERS_MAX = 200;
const TRAIL_S_MAX = 5;
const GLOW_MAX = 4;
const NAME_CHARACTERS_MAX = 200;
const MODEL_SCALE_MAX = 10_000;
const SEA_M_MAX = 10_000;
/** The form that is drawn for an entity with a model but without a form, until the model is loaded. */
const STAND_IN: Form = { shape: "sphere", radius: 0.25 };
const FORM_FIELDS = ["shape", "size", "radius", "height"] as const;
/** Fields of a look that replace fields of the body's shape. */
const SHAPE_FIELDS = [
  ...FORM_FIELDS,
  "points",
  "vertices",
  "triangles",
  "heights",
  "columns",
  "parts",
] as const;
const FIELDS: ReadonlySet<string> = new Set([
  ...FORM_FIELDS,
  "color",
  "opacity",
  "glow",
  "model",
  "animation",
  "scale",
  "texture",
  "sea",
  "label",
  "sign",
  "trail",
  "hidden",
]);

/** Whether an attribute with this name replaces a field of the look. If it changes, read the look again. */
export function isLookField(attribute: string): boolean {
  return FIELDS.has(attribute);
}

/**
 * Returns how an entity is drawn: the look of its kind, with attributes that replace fields of the look. `undefined` for
 * an entity that is not drawn.
 *
 * ```ts
 * world.onEntity("crate", (crate) => paint(crate.id, lookOf(crate)?.color ?? 0x888888));
 * ```
 */
export function lookOf({ kind, attributes }: LookSource): Look | undefined {
  // Other bodies pass through such an entity. It is drawn only if it has a look.
  const isSensor = kind.body === undefined ? kind.walker === undefined : bodyOf(kind)?.motion === "sensor";
  if (kind.look === undefined && isSensor && kind.walker === undefined) return undefined;
  const look = kind.look ?? {};
  const said = (name: string): unknown => attributes[name] ?? look[name];
  if (said("hidden") === true) return undefined;
  const model = readModel(said("model"), said("scale"), said("animation"));
  const form = formOf(kind, look, attributes) ?? (model && STAND_IN);
  const text = textOf(said("label"), LABEL_CHARACTERS_MAX);
  if (form === undefined && text === "") return undefined;
  return {
    form,
    color: readColor(attributes["color"]) ?? readColor(look["color"]),
    opacity: clamped(said("opacity"), 0, 1, 1),
    glow: said("glow") === true ? 1 : clamped(said("glow"), 0, GLOW_MAX, 0),
    label: text,
    sign: textOf(said("sign"), SIGN_CHARACTERS_MAX),
    trail: clamped(said("trail"), 0, TRAIL_S_MAX, 0),
    model,
    texture: readAssetName(said("texture")),
    sea: typeof said("sea") === "number" ? clamped(said("sea"), -SEA_M_MAX, SEA_M_MAX, 0) : undefined,
  };
}

function textOf(value: unknown, charactersMax: number): string {
  return typeof value === "string" ? [...value].slice(0, charactersMax).join("") : "";
}

function readModel(name: unknown, scale: unknown, animation: unknown): ModelLook | undefined {
  const model = readAssetName(name);
  if (model === undefined) return undefined;
  const factor = clamped(scale, -MODEL_SCALE_MAX, MODEL_SCALE_MAX, 1);
  return {
    name: model,
    scale: readVector(scale, isModelScale) ?? [factor, factor, factor],
    animation: readName(animation),
  };
}

function isModelScale(value: unknown): value is number {
  return typeof value === "number" && Math.abs(value) <= MODEL_SCALE_MAX;
}

/** Names of files in a world's folder begin with `assets/`, and models of the kit with `@nowcast/kit/`; other names are invalid. */
function readAssetName(value: unknown): string | undefined {
  const name = readName(value);
  return name !== undefined && /^(assets|@nowcast\/kit)\//.test(name) ? name : undefined;
}

/** Reads a name. The name must not be empty, or longer than a world allows. */
function readName(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= NAME_CHARACTERS_MAX ? value : undefined;
}

function formOf(
  kind: LookSource["kind"],
  look: WorldRecord,
  attributes: WorldRecord,
): Form | Figure | undefined {
  const isOwn = FORM_FIELDS.some((name) => attributes[name] !== undefined && attributes[name] !== null);
  if (!isOwn) {
    const known = FORMS.get(kind);
    if (known) return known.form;
    const form = readFormOf(kind, look);
    FORMS.set(kind, { form });
    return form;
  }
  const own: Record<string, unknown> = { ...look };
  for (const name of FORM_FIELDS) own[name] = attributes[name] ?? look[name];
  return readFormOf(kind, own);
}

/** Forms of kinds. Entities of one kind share their form and therefore their geometry. */
const FORMS = new WeakMap<LookSource["kind"], { readonly form: Form | Figure | undefined }>();

function readFormOf(kind: LookSource["kind"], look: WorldRecord): Form | Figure | undefined {
  const walker = walkerOf(kind);
  const said = Object.fromEntries(
    Object.entries(look).filter(([, value]) => value !== undefined && value !== null),
  );
  if (walker !== undefined) {
    const height = clamped(walker.height, 0.1, 100, 0);
    if (said["shape"] === undefined) return { shape: "person", height };
    const radius = clamped(walker.radius, 0.05, 50, 0);
    const capsule = { shape: "capsule", radius, height, size: [2 * radius, height, 2 * radius] };
    return readForm({ ...capsule, ...said }) ?? readForm(capsule);
  }
  const { body } = kind;
  if (body === undefined) return readForm(said);
  const own = bodyOf(kind)?.form;
  return SHAPE_FIELDS.some((name) => said[name] !== undefined)
    ? (readForm({ ...body, ...said }) ?? own)
    : own;
}

/** Reads a colour: `#rgb`, `#rrggbb`, or a number. */
export function readColor(value: unknown): number | undefined {
  if (typeof value === "number")
    return Number.isInteger(value) && value >= 0 && value <= 0xffffff ? value : undefined;
  if (typeof value !== "string") return undefined;
  const digits = /^#([0-9a-f]{3}|[0-9a-f]{6})$/i.exec(value)?.[1];
  if (digits === undefined) return undefined;
  return Number.parseInt(digits.length === 3 ? digits.replace(/./g, "$&$&") : digits, 16);
}
