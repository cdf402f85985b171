/** The form of an entity, from the declaration of its kind: "Looks" in `docs/WORLDS.md`. */
import { bodyOf, type Kind, walkerOf } from "nowcast/world";
import { type Form, isFields, readForm, readVector, type Vector } from "./form.js";

/** The parts of an `Entity` that affect drawing. The id may be any number. */
export interface DrawnEntity {
  readonly id: number;
  readonly kind: DrawnKind;
  readonly scale: Vector;
  readonly parent: number | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
}

/** The parts of a `Kind` that affect drawing. */
export type DrawnKind = Pick<Kind, "name" | "body" | "walker" | "look">;

/** A person is drawn as a figure in coloured clothes, of this height in metres. */
export interface Figure {
  readonly shape: "person";
  readonly height: number;
}

export interface Appearance {
  /** `undefined` for an entity with a label only. */
  readonly form: Form | Figure | undefined;
  /** 0xRRGGBB; `undefined` without a declaration. */
  readonly color: number | undefined;
  /** 0 to 1. */
  readonly opacity: number;
  /** Emitted light: 0 for none. */
  readonly glow: number;
  /** The label above the entity. A person may have typed it, so show it as text, never as markup. */
  readonly label: string;
  /** The model that is drawn instead of the form, as soon as it is loaded. */
  readonly model: ModelLook | undefined;
  /** Name of the image on the surface of the form; undefined for none. */
  readonly texture: string | undefined;
  /** Height of the sea around the world, in metres; `undefined` if the entity declares no sea. */
  readonly sea: number | undefined;
}

/** A model from the world's folder, and how an entity shows it. */
export interface ModelLook {
  /** A path such as `assets/door.glb`. */
  readonly name: string;
  /** Factors on the model's size along its own axes, in addition to the entity's own scale. */
  readonly scale: Vector;
  /** The animation that the model repeats; `undefined` selects one by the entity's motion. */
  readonly animation: string | undefined;
}

/** Walking and running speed of a player, in metres a second. */
export interface Gait {
  readonly walkSpeed: number;
  readonly runSpeed: number;
  readonly acceleration: number;
}

/** The properties of an entity, apart from its pose, that affect drawing. */
export interface Body {
  readonly id: number;
  /** Name of its kind. */
  readonly kind: string;
  readonly scale: Vector;
  /** `undefined` for an entity that is not drawn. */
  readonly appearance: Appearance | undefined;
  /** Whether the entity stops other bodies. */
  readonly isSolid: boolean;
  /** Whether the entity moves only if the rules set its position. */
  readonly isFixed: boolean;
  /** Whether forces move it. */
  readonly isLoose: boolean;
  /** The speeds of an entity that input moves. */
  readonly gait: Gait | undefined;
  /** The held entity, by the attribute `holding`. */
  readonly holding: number | undefined;
}

const LABEL_CHARACTERS_MAX = 48;
const GLOW_MAX = 4;
const NAME_CHARACTERS_MAX = 200;
const MODEL_SCALE_MAX = 10_000;
const SEA_M_MAX = 10_000;
/** The form that is drawn for an entity with a model but without a form, until the model is loaded. */
const STAND_IN: Form = { shape: "sphere", radius: 0.25 };
const FORM_FIELDS = ["shape", "size", "radius", "height"] as const;
/** Fields of a look that replace those of the body's shape. */
const SHAPE_FIELDS = [
  ...FORM_FIELDS,
  "points",
  "vertices",
  "triangles",
  "heights",
  "columns",
  "parts",
] as const;
/** Attributes that affect drawing. */
const SHOWN: ReadonlySet<string> = new Set([
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
  "hidden",
  "holding",
]);

/** Whether a change of these attributes changes the drawing. */
export function isShown(names: readonly string[]): boolean {
  return names.some((name) => SHOWN.has(name));
}

export function describeBody(entity: DrawnEntity): Body {
  const { id, kind, scale, parent, attributes } = entity;
  const motion = kind.walker !== undefined ? "walker" : bodyOf(kind)?.motion;
  const isSensor = kind.body === undefined ? kind.walker === undefined : motion === "sensor";
  const { holding } = attributes;
  return {
    id,
    kind: kind.name,
    scale,
    appearance: appearanceOf(kind, attributes, isSensor),
    isSolid: !isSensor,
    isFixed: parent === undefined && (isSensor || motion === "fixed"),
    isLoose: motion === "dynamic",
    gait: gaitOf(kind),
    holding: typeof holding === "number" ? holding : undefined,
  };
}

/**
 * `isSensor` is true if other bodies pass through the entity, or if it has no body. Such an entity is drawn
 * only if it has a look.
 */
function appearanceOf(
  kind: DrawnKind,
  attributes: DrawnEntity["attributes"],
  isSensor: boolean,
): Appearance | undefined {
  if (isSensor && !isFields(kind.look)) return undefined;
  const look = isFields(kind.look) ? kind.look : {};
  const said = (name: string): unknown => attributes[name] ?? look[name];
  if (said("hidden") === true) return undefined;
  const model = readModel(said("model"), said("scale"), said("animation"));
  const form = formOf(kind, look, attributes) ?? (model && STAND_IN);
  const label = said("label");
  const text = typeof label === "string" ? [...label].slice(0, LABEL_CHARACTERS_MAX).join("") : "";
  if (form === undefined && text === "") return undefined;
  return {
    form,
    color: readColor(attributes["color"]) ?? readColor(look["color"]),
    opacity: clamped(said("opacity"), 0, 1, 1),
    glow: said("glow") === true ? 1 : clamped(said("glow"), 0, GLOW_MAX, 0),
    label: text,
    model,
    texture: readAssetName(said("texture")),
    sea: typeof said("sea") === "number" ? clamped(said("sea"), -SEA_M_MAX, SEA_M_MAX, 0) : undefined,
  };
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

/** Names of files in a world's folder begin with `assets/`; any other name is invalid. */
function readAssetName(value: unknown): string | undefined {
  const name = readName(value);
  return name?.startsWith("assets/") ? name : undefined;
}

/** Reads a name. The name must not be empty, or longer than a world allows. */
function readName(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" && value.length <= NAME_CHARACTERS_MAX ? value : undefined;
}

function formOf(
  kind: DrawnKind,
  look: Readonly<Record<string, unknown>>,
  attributes: DrawnEntity["attributes"],
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
const FORMS = new WeakMap<DrawnKind, { readonly form: Form | Figure | undefined }>();

function readFormOf(kind: DrawnKind, look: Readonly<Record<string, unknown>>): Form | Figure | undefined {
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

function gaitOf(kind: DrawnKind): Gait | undefined {
  const walker = walkerOf(kind);
  return (
    walker && {
      walkSpeed: clamped(walker.walkSpeed, 0, 40, 0),
      runSpeed: clamped(walker.runSpeed, 0, 40, 0),
      acceleration: clamped(walker.groundAcceleration, 0, 1000, 0),
    }
  );
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

function clamped(value: unknown, min: number, max: number, fallback: number): number {
  if (typeof value !== "number" || Number.isNaN(value)) return fallback;
  return Math.min(max, Math.max(min, value));
}
