/** The contents of a world: its definition, its entities and its players. */

declare const entityIdBrand: unique symbol;
declare const playerIdBrand: unique symbol;

/** An entity's number in its world. After a restart of the server, entities have new numbers. */
export type EntityId = number & { readonly [entityIdBrand]: true };

/**
 * A player's number in a world. A client stays the same player if its connection or its server is lost for less than
 * half a minute. A client that returns later is a new player.
 */
export type PlayerId = number & { readonly [playerIdBrand]: true };

/** x, y and z, in metres with Y up. */
export type Vec3 = readonly [number, number, number];

/** A rotation: x, y, z, w. */
export type Quaternion = readonly [number, number, number, number];

/** A map that the world's author wrote: names with any MessagePack values. */
export type WorldRecord = Readonly<Record<string, unknown>>;

/**
 * A named value with a type, such as `f32`, `range(0, 1, 0.01)` or `u32?` (the notation in `spec/WORLD.md`, section 3).
 */
export interface Field {
  readonly name: string;
  readonly type: string;
}

/**
 * The common properties of a kind's entities. The author's values arrive unchanged, so ignore values that you do not
 * know.
 */
export interface Kind {
  readonly name: string;
  /**
   * The physics of the kind's entities, with the fields of `BodyFields` in `docs/reference/world-luau.md`; `undefined` if they have
   * no body.
   */
  readonly body: WorldRecord | undefined;
  /**
   * The parameters of the kind's walkers, with the fields of `WalkerFields`, if input moves entities of this kind.
   */
  readonly walker: WorldRecord | undefined;
  /**
   * The appearance of the kind's entities, with the fields of "Looks" in `docs/how-to/pages.md`; `undefined` if the kind has
   * none.
   */
  readonly look: WorldRecord | undefined;
  readonly attributes: readonly Field[];
  /**
   * Possible owners and their rights, with the fields of `OwnerFields`; `undefined` if players
   * cannot request entities of this kind.
   */
  readonly owner: WorldRecord | undefined;
}

/** An action that a player can trigger with `World.act`. */
export interface Action {
  readonly name: string;
  readonly arguments: readonly Field[];
  /** Whether the action is durable: carried out exactly once and never lost. See {@link World.act}. */
  readonly durable: boolean;
  /**
   * The action's binding, with the fields of `BindingFields` in `docs/reference/world-luau.md`; `undefined` if the action has none.
   */
  readonly hint: WorldRecord | undefined;
}

/** An event that the world declares. Worlds may also send events that they did not declare. */
export interface EventDeclaration {
  readonly name: string;
  readonly payload: readonly Field[];
}

/**
 * A world's file: the `model` or `texture` of a {@link Kind.look}, or the `file` of an event `sound`. The world's server serves
 * it at `/assets/` and its hash. The content never changes, so it may be cached for ever. Validate fetched files before use,
 * because anyone may be their author.
 */
export interface Asset {
  /** The path in the world's folder, such as `assets/door.glb`. */
  readonly name: string;
  /** SHA-256 of the file's content: 64 hexadecimal digits in lower case. A changed file has another hash. */
  readonly hash: string;
  /** Its length. */
  readonly bytes: number;
  /** The file's media type, such as `model/gltf-binary`. */
  readonly type: string;
}

/**
 * A world's kinds, actions, events and files. When the world's rules or files are replaced, another definition applies.
 */
export interface Definition {
  /** The version of the world's rules. */
  readonly version: number;
  readonly kinds: readonly Kind[];
  readonly actions: readonly Action[];
  readonly events: readonly EventDeclaration[];
  /** Files for looks and sounds, ordered by name; empty if a world has none. */
  readonly assets: readonly Asset[];
}

/**
 * One entity in the world, with its newest known values. The object exists as long as the entity and is updated in
 * place, so copy the values that you keep.
 */
export interface Entity {
  readonly id: EntityId;
  /**
   * Its kind. A `define` event may replace the kind by another object, possibly with another name.
   */
  readonly kind: Kind;
  /** Factors that scale the kind's shape along the entity's own axes. */
  readonly scale: Vec3;
  /** The entity to which this one is attached. `position` and `quaternion` are still in world coordinates. */
  readonly parent: EntityId | undefined;
  /** The player that owns the entity and may move it; `undefined` if the server owns it. */
  readonly owner: PlayerId | undefined;
  /**
   * The attributes by name. A change creates a new record, so a record that you keep does not
   * change. Texts may come from other people, so never use them as markup.
   */
  readonly attributes: WorldRecord;
  /** The centre, in metres. */
  readonly position: Vec3;
  /** x, y, z, w, with length 1. */
  readonly quaternion: Quaternion;
  /** World step at which the last received pose change happened. */
  readonly tick: number;
  /** World step up to which the entity kept its earlier pose, if known (only sessions report this step). */
  readonly stillTick?: number | undefined;
  /** Whether the last received pose change is a jump: the rules put the entity elsewhere: there is no path between. */
  readonly hasJumped?: boolean;
  /** The path since a motion change that arrived late; otherwise `undefined`. */
  readonly path?: EntityPath | undefined;
}

/** The path on which an entity moves by itself. */
export interface EntityPath {
  /** World step at which the path begins. */
  readonly startTick: number;
  /** Returns the pose this many steps later. */
  after(steps: number): { readonly position: Vec3; readonly quaternion: Quaternion };
}

/**
 * The parts of an entity that may change, besides its attributes. `place` is a jump to another pose; the `snapshot`
 * event reports movement.
 */
export type EntityPart = "kind" | "scale" | "parent" | "owner" | "place";

/** A player. The object exists as long as the player stays and is updated in place. */
export interface Player {
  readonly id: PlayerId;
  /** The name. It may come from another person, so show it as text, never as markup. */
  readonly name: string;
  /** The entity that the player's input moves. It may be known before it is in {@link World.entities}. */
  readonly avatarId: EntityId | undefined;
  /** Whether the player joined with the role `program`. Programs are not people. */
  readonly isProgram: boolean;
}
