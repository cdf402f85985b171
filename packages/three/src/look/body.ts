/** The form of an entity, from the declaration of its kind: "Looks" in `docs/how-to/pages.md`. */

import type { Vector } from "nowcast/internal";
import { bodyOf, clamped, isLookField, type Look, lookOf, walkerOf } from "nowcast/internal";
import type { Kind } from "nowcast/world";

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
  readonly appearance: Look | undefined;
  /** Whether the entity stops other bodies. */
  readonly isSolid: boolean;
  /** Whether the entity moves only if the rules set its position. */
  readonly isFixed: boolean;
  /** Whether it has no body and is attached to nothing. */
  readonly isScenery: boolean;
  /** Whether forces move it. */
  readonly isLoose: boolean;
  /** The speeds of an entity that input moves. */
  readonly gait: Gait | undefined;
  /** The held entity, by the attribute `holding`. */
  readonly holding: number | undefined;
  /** The player whose avatar it is. */
  readonly player: number | undefined;
  /** The player that drives the entity, by the attribute `driver` of vehicles. */
  readonly driver: number | undefined;
  /** Whether it is a person who sits on its parent. */
  readonly isSeated: boolean;
  /** The clothes that the player of a person chose, by the attribute `outfit`; 0 for none. */
  readonly outfit: number;
  /** The newest gesture of a person, by the attribute `emote`; 0 for none. */
  readonly emote: number;
}

/** Attributes that affect the drawing of people, besides the fields of a look. */
const OWN_FIELDS: ReadonlySet<string> = new Set(["holding", "driver", "outfit", "emote"]);

/** Whether a change of these attributes changes the drawing. */
export function isShown(names: readonly string[]): boolean {
  return names.some((name) => OWN_FIELDS.has(name) || isLookField(name));
}

/** `player` is the number of the player who has this entity as avatar. */
export function describeBody(entity: DrawnEntity, player?: number): Body {
  const { id, kind, scale, parent, attributes } = entity;
  const motion = kind.walker !== undefined ? "walker" : bodyOf(kind)?.motion;
  const isSensor = kind.body === undefined ? kind.walker === undefined : motion === "sensor";
  const { holding } = attributes;
  return {
    id,
    kind: kind.name,
    scale,
    appearance: lookOf(entity),
    isSolid: !isSensor,
    isFixed: parent === undefined && (motion === "sensor" || motion === "fixed"),
    isScenery: parent === undefined && kind.body === undefined && kind.walker === undefined,
    isLoose: motion === "dynamic",
    gait: gaitOf(kind),
    holding: typeof holding === "number" ? holding : undefined,
    player,
    driver: wholeOf(attributes["driver"]) || undefined,
    isSeated: parent !== undefined && motion === "walker",
    outfit: wholeOf(attributes["outfit"]),
    emote: wholeOf(attributes["emote"]),
  };
}

/** A whole number from 0, or 0 for any other value: a world may have an attribute of the same name and another type. */
function wholeOf(value: unknown): number {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 ? value : 0;
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
