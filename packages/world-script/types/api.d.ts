// The API of worlds. Made by crates/script/tests/reference: changes of this file are lost.

/** @noResolution */
declare module "@nowcast/world" {

  /** Declares a kind of entities, while modules are loaded. See "Kinds". */
  export function kind<const N extends string, const A extends AttributeTypes = {}, const J extends boolean = false>(this: void, name: N, fields?: Omit<KindFields, "attributes" | "walker"> & { attributes?: A; walker?: WalkerFields & { adjustable?: J } }): Kind<J extends true ? A & Adjusted : A, N>;

  /** The world's saved state. `world.state { score = 0 }` declares first values; afterwards `world.state` is an ordinary table. */
  export const state: StateOfWorld;

  /** Declares `player.saved`, while modules are loaded: the fields with their first values, and the `version` of your fields (1). When you raise `version`, your `upgrade` receives the data of an older version, and returns the new data. Data of a newer version is not changed. */
  export function saved<T extends object>(this: void, options: { default: T; version?: number; upgrade?: (this: void, data: any, version: number) => T }): void;

  /** Sets the world's `gravity` in metres a second squared (0, -9.81, 0), and the maximum number of players (256) and entities (16,384; at most 131,072). `version` numbers your rules for "upgrade" (0). `interest` (`{ radius = 256 }`) and `update_rates` apply to kinds that declare none. With `rewind = true`, the server records the last half second for `world.rewound`. */
  export function settings(this: void, fields: { gravity?: Vector; players_max?: number; entities_max?: number; version?: number; interest?: any; update_rates?: UpdateRate[]; rewind?: boolean }): void;

  /** Describes the world to visitors: the `goal` in one sentence, `how` to play in at most six sentences, and a `picture` from `assets/`. Each sentence has at most 200 bytes. The start page and the card behind "?" show the description. */
  export function about(this: void, fields: { goal: string; how?: string | string[]; picture?: string }): void;

  /** Calls `fn` at "start" (), "step" (dt: seconds), "join" (player), "arrive" (player, data: a table, empty if the player was sent without data, from: the room from which `send_to` sent the player; called after "join"), "leave" (player), "program_join" and "program_leave" (player: a program, see "Owners"), "message" (player, text) or "upgrade" (from: the previous version's number, nil if unknown). If any `fn` returns false for a message, nobody receives the message. */
  export function on<E extends keyof WorldHooks>(this: void, event: E, fn: WorldHooks[E]): void;

  /** Declares an action for players, and returns the name. Argument types are those of attributes. The server refuses arguments that do not fit before calling `fn`. `binding` defines how players trigger the action: a key, a label, a target. */
  export function action<const N extends string, const A extends AttributeTypes>(this: void, name: N, argumentTypes: A, fn: (this: void, player: Player, values: Values<A>) => void, binding?: BindingFields): ActionName<A, N>;

  /** Declares a chat command, such as `/give`, while modules are loaded: `fn` receives the player and the arguments in their order, and may return an answer for the player. If an argument does not fit, the player reads why, and the server does not call `fn`. At most 64 commands. See "Commands". */
  export function command<const C extends readonly CommandArgument[] = []>(this: void, name: string, options: { help?: string; arguments?: C; roles?: readonly string[] }, fn: (this: void, player: Player, ...values: CommandValues<C>) => string | undefined | void): void;

  /** Declares the fields of a `world.emit` event, with types as for attributes, and returns the name. You may also send undeclared events, but the server checks declared ones, and sends fewer bytes for them. */
  export function event<const N extends string, const A extends AttributeTypes>(this: void, name: N, fields: A): EventName<Values<A>> & Declared<"event", A, N>;

  /** Declares a timer's function, and returns the name. */
  export function timer<D = undefined>(this: void, name: string, fn: (this: void, data: D) => void): TimerName<D>;

  /** Sets a timer, and returns the timer's number. The timer fires once: to repeat, call `world.after` again or use `world.every`. The data is saved. */
  export function after<N extends string>(this: void, seconds: number, name: N, ...data: TimerData<N>): number;

  /** Sets a timer that fires every `seconds`, the first time after `seconds`, and returns the timer's number. `world.cancel` ends the timer. Timer and data are saved. */
  export function every<N extends string>(this: void, seconds: number, name: N, ...data: TimerData<N>): number;

  /** Cancels a timer; returns false if the timer has already fired. */
  export function cancel(this: void, timer: number): boolean;

  /** Sends an event to every client, to one player, or to players whose avatars are within `radius` metres of `near`. */
  export function emit<N extends string>(this: void, name: N, payload: EventData<N>, options?: { to?: Player; near?: Vector; radius?: number }): void;

  /** Writes a value on every screen, or on one player's, until you change the value; nil clears the place. */
  export function show(this: void, place: string, value: any, player?: Player): void;

  /** `world.ui.panel` declares a panel on players' screens, while modules are loaded. At most 32 panels with 256 parts together. See "Panels". */
  export const ui: { panel: (this: void, name: string, options: PanelFields) => Panel };

  /** Plays a sound from `assets/`, everywhere or from a place `at`. All players hear the sound, or one player (`to`), or players within `radius` metres of `near` (by default `at`). */
  export function sound(this: void, file: string, options?: { at?: Vector; volume?: number; to?: Entity; near?: Vector; radius?: number }): void;

  /** Repeats a sound from `assets/`, such as music or an engine, on every page or on one player's, until you change or stop the loop. Players who join later hear the loop, too. nil stops the loop. Pages play at most 8 loops. */
  export function loop(this: void, name: string, fields?: LoopFields, player?: Player): void;

  /** Sets the sky and its light for all players, or for one: `time` is the hour from 0 to 24, and `fog` is 0 (none) to 1 (thick). Pages glide to another hour within two seconds. nil returns to the page's default. */
  export function sky(this: void, fields?: { time?: number; fog?: number }, player?: Player): void;

  /** Sets the weather on all pages, or on one player's: `rain` and `snow` are 0 (none) to 1 (heavy), and the `wind`, in metres a second (at most 40), carries them. Weather is only drawn: it moves no body, makes no sound, and falls through roofs. nil ends the weather. */
  export function weather(this: void, fields?: { rain?: number; snow?: number; wind?: Vector }, player?: Player): void;

  /** Sets a light for all players, or for one, until you change the light or remove it with nil. A world has at most 32 lights; pages draw the 8 nearest per type. */
  export function light(this: void, name: string, fields?: LightFields, player?: Player): void;

  /** Sets the camera for all players, or for one, until you change the camera. nil returns to the page's own camera. The camera never enters bodies. */
  export function camera(this: void, fields?: CameraFields, player?: Player): void;

  /** Shakes the picture with a `strength` from 0 to 1 (0.5), for `seconds` (0.5; at most 10): for all players, for one, or for players within `radius` metres of `near`. People who prefer reduced motion see no shake. */
  export function shake(this: void, fields?: { strength?: number; seconds?: number; near?: Vector; radius?: number }, player?: Player): void;

  /** All players in the order in which they joined, or only those with a tag, such as a team. Programs are not included. */
  export function players(this: void, tag?: string): Player[];

  /** All programs in the order in which they joined. */
  export function programs(this: void): Player[];

  /** All entities with a tag, oldest first. */
  export function tagged(this: void, tag: string): Entity[];

  /** The world's time in seconds, which stops while the world stops. */
  export function time(this: void): number;

  /** Number of steps so far; 60 a second. */
  export function tick(this: void): number;

  /** A random number from 0 to 1, 1 excluded. `math.random` draws from the same sequence. */
  export function random(this: void): number;

  /** The first body that a ray hits within `reach` metres, or nil. Rays pass through sensors. */
  export function raycast(this: void, origin: Vector, direction: Vector, reach: number, options?: Filter): Hit | undefined;

  /** The first body that a shape hits on its way from `at` in a direction, within `reach` metres, or nil. Distance 0 means that the two overlap from the beginning. */
  export function shapecast(this: void, at: Vector, shape: ShapeFields, direction: Vector, reach: number, options?: Filter): Hit | undefined;

  /** All entities that overlap a shape, including sensors; oldest first. */
  export function overlap(this: void, at: Vector, shape: ShapeFields, options?: Filter): Entity[];

  /** Calls `fn`, and returns its results. Meanwhile `world.raycast`, `world.overlap`, `distance`, `position`, `yaw`, `facing` and `rotation` use the positions that this player saw when triggering the action, at most half a second ago. The player's own avatar and entities attached to the avatar have their present positions. All other values are the present ones, and changes by `fn` take effect at once. Calls cannot be nested. Needs `world.settings { rewind = true }`. */
  export function rewound<T>(this: void, player: Player, fn: (this: void) => T): T;

  /** Joins two bodies, and returns the joint's number. */
  export function joint(this: void, a: Entity, b: Entity, fields: JointFields): number;

  /** Removes a joint. */
  export function remove_joint(this: void, joint: number): void;

  /** The shortest path over a grid, without the first cell; nil if there is none. The path avoids cells whose value in `blocked` is true, and does not cut corners. Between two places on a grid from `world.grid`, the path is a list of corners, and ends at `to`; the other corners have the grid's height. The path begins and ends in the free cells that are nearest to `from` and `to`, within 2 cells. */
  export function path<P extends Cell | Vector>(this: void, grid: Grid, from: P, to: P): P[] | undefined;

  /** Surveys the ground for `world.path`. The present fixed bodies decide which cells are blocked, so survey again when they change. Queries see a new body from the step after its spawn. A surveyed grid has at most 16,384 cells. */
  export function grid(this: void, fields: GridFields): Grid;

  /** A rotation as a quaternion: turned to the left by `yaw`, then up by `pitch`, then clockwise by `roll`, in radians. */
  export function rotation(this: void, yaw: number, pitch?: number, roll?: number): number[];

  export interface Kind<A extends AttributeTypes = any, N extends string = string> {

    /** Its name. */
    readonly name: N;

    /** Makes an entity. The entity exists at once; queries and contacts see the entity from the next step on. All fields besides those of `SpawnFields` are attributes. */
    spawn(fields?: SpawnFields & Partial<Values<A>>): EntityOf<A>;

    /** Calls `fn` at "step" (entity, dt) for each entity of this kind; at "contact" (entity, other, impulse in newton seconds) and "contact_end" (entity, other), when an entity begins or stops touching another; at "own" (entity, player), when a player requests or spawns an entity (refused if any `fn` returns false); and at "release" (entity, player), before a player gives an entity back or leaves. */
    on<E extends keyof KindHooks<A>>(event: E, fn: KindHooks<A>[E]): void;

    /** All this kind's entities, oldest first. */
    all(): EntityOf<A>[];

    /** How many entities the kind has. */
    count(): number;

    /** Whether an entity has this kind; false for nil and for a removed entity. */
    is(entity: Entity | undefined): entity is EntityOf<A>;
  }

  export interface Entity {

    /** The entity's number, which clients know too. Never used twice. */
    id: number;

    /** Whether the entity is still in the world. You can only store and compare a removed entity. */
    alive: boolean;

    /** The kind of the entity, or of a player's avatar. */
    kind: Kind;

    /** In metres; Y is up. If you set the position, the entity moves at once, and every client sees a jump; for smooth movement, set `velocity`. */
    position: Vector;

    /** In metres a second. */
    velocity: Vector;

    /** Angular velocity: a vector along the rotation axis, as long as the radians a second. */
    spin: Vector;

    /** Rotation to the left about the upright axis, in radians; 0 looks along -Z. */
    yaw: number;

    /** The horizontal direction in which the entity looks, with length 1. Read only. */
    readonly facing: Vector;

    /** A quaternion: x, y, z, w; see `world.rotation`. If you set the rotation, the entity turns at once. */
    rotation: number[];

    /** Multiple of the kind's shape. Read only. */
    readonly scale: Vector;

    /** In kilograms; nil without a dynamic body. Read only. */
    readonly mass?: number;

    /** Whether the body is at rest. Read only. */
    readonly asleep?: boolean;

    /** The player that owns the entity; nil for the server. Set this field to change the owner. */
    owner?: Player;

    /** The entity whose pose this one follows. Dynamic bodies other than walkers cannot have a parent; a walker with a parent sits there, and does not walk. `position` and `rotation` are still those in the world, and setting them changes the place on the parent. A child is removed with its parent; if the parent is the avatar of a player that leaves, the child stays, unless the child's kind has `owner = { leave = "despawn" }`. */
    parent?: Entity;

    /** A saved table that belongs to an entity or a player. Clients never receive the table. */
    private: any;

    /** The player whose avatar the entity is. Read only. */
    readonly player?: Player;

    /** A player's input (read only), or the input of a walker without a player, which you set. */
    input: { forward: number; right: number; yaw: number; run: boolean; jump: boolean };

    /** Where a player or an entity looks: `yaw` and `pitch` (up) in radians, and the `direction` with length 1. A player's pitch is known if the walker's kind has `pitch = true`, and is 0 otherwise. Read only. */
    readonly look: { yaw: number; pitch: number; direction: Vector };

    /** Whether a walker stood on ground in the last step; false for other entities. Read only. */
    readonly is_on_ground: boolean;

    /** Read only; see `tag`. */
    readonly tags: readonly string[];

    /** Removes the entity, its joints, and its children. */
    despawn(): void;

    /** Changes the velocity at once, by newton seconds, at a place in the world or at the body's centre. */
    apply_impulse(impulse: Vector, at?: Vector): void;

    /** Changes the angular velocity at once, by newton metre seconds. */
    apply_angular_impulse(impulse: Vector): void;

    /** Applies a force in newtons, and a torque in newton metres, for one step. */
    apply_force(force: Vector, torque?: Vector): void;

    /** Throws a walker off the ground, as in a jump, with this velocity in metres a second. If you set `velocity` instead, the walker stays on the ground. */
    launch(velocity: Vector): void;

    /** Moves a kinematic body to a place within the next step, turned to a yaw or a rotation. The body keeps that velocity: call `glide_to` in every step, or set `velocity` and `spin`. */
    glide_to(to: Vector, turn?: number | number[]): void;

    /** Moves a kinematic body to a place within some seconds, and stops there. Another `move_to`, `glide_to`, an owner, or a new position, rotation, velocity, spin or parent ends the move. The move is saved. */
    move_to(to: Vector, options?: MoveFields): void;

    /** Moves a kinematic body in straight lines through 1 to 64 places, and stops at the last place. The move ends for the same reasons as a `move_to`, and is saved. At most 1,024 entities follow paths at the same time. */
    follow(path: Vector[], options?: PathFields): void;

    /** Turns a kinematic body in place to a yaw or a rotation, the shorter way round. The options are those of `move_to`. */
    turn_to(turn: number | number[], options?: MoveFields): void;

    /** Makes a walker walk in a direction. The length of `direction` (at most 1) is the share of the full speed; `vector.zero` stops the walker. */
    walk(direction: Vector, run?: boolean): void;

    /** The entities that this one touches now, oldest first. */
    touching(): Entity[];

    /** Distance between two bodies' surfaces, in metres. */
    distance(other: Entity): number;

    /** Adds a tag, at most 16. */
    tag(tag: string): void;

    /** Removes a tag. */
    untag(tag: string): void;

    /** Whether the entity has a tag. */
    has_tag(tag: string): boolean;

    /** Turns off collisions with one other entity; nil turns them on again. */
    pass_through(other?: Entity): void;

    /** Sets the multiple of the world's gravity that acts on the entity; with 0 the entity floats. */
    set_gravity(scale: number): void;
  }

  export interface Player extends Entity {

    /** The entity that a player moves. Read only. */
    readonly avatar?: Entity;

    /** The name of a player. Read only. */
    readonly name: string;

    /** Whether a player is a program. Read only. */
    readonly is_program: boolean;

    /** A player's roles, from the token with which the player joined (docs/how-to/server.md); `editor` also without a token on the server's machine. Read only. */
    readonly roles: readonly string[];

    /** The account that a player has on every visit: `key:…` from the page's identity, `token:…` from the name in the token, nil for a guest. Read only. */
    readonly account?: string;

    /** The saved table of a player's account, declared by `world.saved`. The table follows the account through visits, restarts and this world's rooms. A guest's table ends when the guest leaves. At most 64 KiB. */
    saved: keyof Saved extends never ? any : Saved;

    /** Whether a player has a role, such as "builder". */
    has_role(role: string): boolean;

    /** Makes a player's avatar. An earlier avatar is removed. */
    spawn_avatar<A extends AttributeTypes>(kind: Kind<A>, fields?: SpawnFields & Partial<Values<A>>): EntityOf<A>;

    /** Lets a player's input move another entity, such as a drone or a vehicle, which becomes the avatar. The former avatar stays where it is. If you give a `seat`, which is a place relative to the entity, a walker sits there and moves along. To return to the person, call `player:control(person)`. See "Vehicles and drones". */
    control(entity: Entity, options?: { seat?: Vector }): void;

    /** Writes a line (at most 400 bytes) into one player's chat, without a speaker. */
    tell(text: string): void;

    /** Removes a player from the room. The player's page shows the reason (64 bytes at most); "leave" is called as always. The player may join again. */
    kick(reason?: string): void;

    /** Removes a player from the room as `kick` does, and refuses a return for `hours` (24; at most a year): to this room, or with `world = true` to all this world's rooms. The server recognises the player by token, key and address, as for `/ban` (docs/how-to/stored-worlds.md, "Bans"); a player without these is only removed. */
    ban(reason?: string, options?: { hours?: number; world?: boolean }): void;

    /** Sends a player to another room on this server: the player's page goes there without a reload. That room's hook "arrive" receives `data`, at most 4 KiB. Names that are no room names are refused. See "Portals". */
    send_to(room: string, data?: any): void;
  }

  export interface Panel {

    /** Its name. */
    name: string;

    /** Sets a part's value on every screen, or on one player's screen. A player's own value has priority, and nil returns to the declared value. Values by type: a text, a number or a boolean for "text"; a number for "bar"; at most 16 texts for "list"; a text for "button" and "input", or false to disable the part; a file for "picture". A text has at most 200 bytes. */
    set(part: string, value: any, player?: Player): void;

    /** Shows the panel to all players, or to one. A panel with `at = "entity"` hangs over an entity. */
    show(player?: Player, entity?: Entity): void;

    /** Hides the panel from all players, or from one. */
    hide(player?: Player): void;
  }

  /** Clients receive `look` unchanged. `walker` (which may be `{}`) makes the entities people, whose bodies Nowcast declares. With `appearance = true` players choose clothes and gestures: the kind gets the attributes `outfit` and `emote`. `owner` declares which players may own the entities. `formerly` is the kind's earlier name, or a list of earlier names: the kind takes over the entities with such a name. `interest` decides which players receive the entities: `{ radius = 60 }` for players whose avatars are within 60 metres, "always" for all players, "never" for none, "owner" for the owner. `update_rates` decides how often players receive movement, by distance. `precision` is the largest error in positions that clients receive, in metres (0.001), and `rotation_precision` the largest error in the three smaller numbers of a quaternion (0.0002): less precision costs fewer bytes. `layer` names the bodies' collision layer ("default"; at most 15 others), and `ignores` the layers that they pass through: two bodies collide unless one ignores the other's layer. A sensor does not report ignored bodies. */
  export interface KindFields {
    body?: BodyFields;
    walker?: WalkerFields;
    appearance?: boolean;
    look?: any;
    attributes?: AttributeTypes;
    tags?: string[];
    owner?: OwnerFields;
    formerly?: string | string[];
    interest?: Interest;
    update_rates?: UpdateRate[];
    precision?: number;
    rotation_precision?: number;
    layer?: string;
    ignores?: string[];
  }

  /** One of 1 to 4 distance classes: entities `within` this many metres from a player's avatar are sent at most `hz` times a second (4 to 60). The nearest class comes first, and the last class has no `within`. A farther class must not have a higher rate. Without `update_rates`, entities are sent in every update round, and beyond half the world's interest radius in every second round. */
  export interface UpdateRate {
    within?: number;
    hz: number;
  }

  /** `motion` is "dynamic" (moved by forces), "fixed", "kinematic" (moved by its velocity alone) or "sensor" (others pass through, and the sensor reports overlaps). `mass` in kilograms, or `density` in kilograms a cubic metre. `role` is "ladder" (a "fixed" body that walkers climb) or "water" (a "sensor" in which walkers swim). */
  export type BodyFields = ShapeFields & { motion?: "dynamic" | "fixed" | "kinematic" | "sensor"; mass?: number; density?: number; friction?: number; restitution?: number; gravity_scale?: number; linear_damping?: number; angular_damping?: number; locks_rotation?: boolean; bullet?: boolean; role?: string };

  /** "box" (`size`), "sphere" (`radius`), "capsule", "cylinder", "cone" (`radius`, `height` from end to end), "hull" (`points`), "mesh" (`vertices`, `triangles`: three numbers of vertices each), "heights" (`heights` row by row, `columns`, `size`), "compound" (`parts`: shapes, each `at` its place). */
  export interface ShapeFields {
    shape: "box" | "sphere" | "capsule" | "cylinder" | "cone" | "hull" | "mesh" | "heights" | "compound";
    size?: Vector;
    radius?: number;
    height?: number;
    points?: Vector[];
    vertices?: Vector[];
    triangles?: number[];
    heights?: number[];
    columns?: number;
    parts?: ShapeFields[];
    at?: Vector;
  }

  /** Metres, kilograms, seconds. A person is 1.8 m high, walks 3.2 m/s, runs 6.4 m/s and jumps with 4.95 m/s. With `adjustable = true` each walker has the attributes `speed` and `jump` (factors from 0 to 8 in steps of 1/64; 1) and `frozen` (false), which your rules set and pages predict. With `pitch = true` each walker has the attribute `pitch`: how far up the player looks, for `look`. */
  export interface WalkerFields {
    height?: number;
    radius?: number;
    mass?: number;
    walk_speed?: number;
    run_speed?: number;
    ground_acceleration?: number;
    air_acceleration?: number;
    jump_speed?: number;
    adjustable?: boolean;
    pitch?: boolean;
  }

  /** `by` is "player", "program" or "anyone"; without `by`, only your rules set an owner. An owner moves the entity with at most `speed` metres a second (10) and turns the entity with at most `turn` radians a second (12), within `reach` metres from the owner's avatar (without an avatar, from the place where the ownership began), inside the box `area`. The server moves a target outside these limits to their edge, or with `beyond = "refuse"` refuses the target. An owner may set `attributes`, and spawn up to `spawns` entities (0). When the owner leaves, `leave` decides: "release" (to the server), "keep" (the player that left stays the owner) or "despawn". */
  export interface OwnerFields {
    by?: "player" | "program" | "anyone";
    speed?: number;
    turn?: number;
    reach?: number;
    area?: { at?: Vector; size: Vector };
    beyond?: "refuse";
    attributes?: string[];
    spawns?: number;
    leave?: "release" | "keep" | "despawn";
  }

  /** `key` is a letter or a digit, "left" or "right" (mouse), or a list of at most 4 of these; each triggers the action. `label` is a word or two. `charge`, `pitch`, `target` and `aim` each name an argument of the action. `charge` grows from the argument's minimum to the maximum while the player holds the key, within a second. `pitch` receives how far up the player looks. `target` receives the entity that the player looks at, or the nearest in front, or else the nearest character on any side, within `reach` metres (2.5); `aim` receives the place within `reach` at which the player points: a `"vector"`, or, if `grid` gives the cells' edge length, the middle of a free cell, which the page then shows. `of` limits targets to a kind, or to a list of kinds or their names. Without a target the action is only sent if that argument may be nil. `needs` and `unless` name an attribute of the player's avatar: the page offers the action while the attribute is set, or while the attribute is not set (nil, false, 0 and empty text count as not set). With `durable = true` an action happens exactly once and is never lost; with `back_end = true` clients cannot run the action, but your own back end can (`act` of the studio interface); with `predict` ("grab", "throw" or "launch", with `speed` ahead and `rise` upward in metres a second) pages show the effect on the hands or the avatar at once: see "Actions". */
  export interface BindingFields {
    key?: string | readonly string[];
    label?: string;
    charge?: string;
    pitch?: string;
    target?: string;
    aim?: string;
    grid?: number;
    of?: Kind | string | readonly (Kind | string)[];
    reach?: number;
    needs?: string;
    unless?: string;
    durable?: boolean;
    back_end?: boolean;
    predict?: "grab" | "throw" | "launch";
    speed?: number;
    rise?: number;
  }

  /** `help` is one sentence. Each of at most 8 `arguments` is a table with a name, a type ("text", "number", "integer", "bool" or "player", each followed by `?` if it may be missing), and `min`, `max`, `one_of` (a list of words) or `default`: `{ "count", "integer", min = 1, max = 9, default = 1 }`. A text at the end takes the rest of the line; other texts with spaces need quotes. The beginning of a name identifies a player. If you set `roles`, only players with one of these roles may use the command. */
  export interface CommandFields {
    help?: string;
    arguments?: readonly CommandArgument[];
    roles?: string[];
  }

  /** `at` is "top_left" (the default), "top", "top_right", "left", "center", "right", "bottom_left", "bottom", "bottom_right" or "entity". With `open = false`, players see the panel only after `show`; a panel over an entity is always hidden at first. */
  export interface PanelFields {
    at?: "top_left" | "top" | "top_right" | "left" | "center" | "right" | "bottom_left" | "bottom" | "bottom_right" | "entity";
    title?: string;
    open?: boolean;
    parts: PartFields[];
  }

  /** Begins with the part's type: "text", "button", "bar", "list", "input" or "picture". `text` is the first value of a text, a button or an input, or a picture's file, such as "assets/coin.png"; `label` stands before the value, and describes a picture. `max` is the number at which a bar is full (1), the most characters in an input (100; at most 200), or a picture's largest width in pixels (128; 8 to 512). The server calls `press` when a player who sees the part presses a button or a list's `row`, or sends an input's `text`. */
  export interface PartFields {
    type: "text" | "button" | "bar" | "list" | "input" | "picture";
    name: string;
    text?: string;
    label?: string;
    color?: string;
    max?: number;
    press?: (this: void, player: Player, given: any) => void;
  }

  /** `at` is the sound's place, or `on` the entity that carries the sound; without both, players hear the sound everywhere. `volume` is 0 to 1 (1), `pitch` 0.25 to 4 (1), and `fade` the seconds for fading in and out, 0 to 10 (0). */
  export interface LoopFields {
    file: string;
    at?: Vector;
    on?: Entity;
    volume?: number;
    pitch?: number;
    fade?: number;
  }

  /** `type` is "point" (the default: a lamp), "spot" (a cone) or "sun" (parallel rays from far away). A lamp or a cone is `at` a place, or `on` an entity, with `at` relative to the entity. `direction` is the direction of a cone's or a sun's rays. `color` is a colour such as "#ffcc88" (white), `brightness` 0 to 100 (1), `range` the metres that the light reaches (12; at most 100), and `angle` half a cone's opening in radians (0.5; 0.05 to 1.5). */
  export interface LightFields {
    type?: "point" | "spot" | "sun";
    at?: Vector;
    on?: Entity;
    direction?: Vector;
    color?: string;
    brightness?: number;
    range?: number;
    angle?: number;
  }

  /** `mode` is "follow" (the default: behind the avatar), "first_person", "fixed" (stands `at` a place, and looks at the place `look_at` or at the entity `on`), or "rail" (moves on the line through the 2 to 32 places in `rail`, as near as possible to the avatar or to `on`, and looks there or at `look_at`). With "follow", `on` is the entity to follow instead of the avatar. `distance` is the distance from the avatar in metres, which players change between `min` and `max`; all are at most 60. `fov` is the vertical field of view in degrees, 20 to 110. The camera glides to a fixed place or to the rail within `seconds` (0; at most 60). */
  export interface CameraFields {
    mode?: "follow" | "first_person" | "fixed" | "rail";
    at?: Vector;
    rail?: Vector[];
    look_at?: Vector;
    on?: Entity;
    distance?: number;
    min?: number;
    max?: number;
    fov?: number;
    seconds?: number;
  }

  /** `scale` is a vector or one number; `yaw` or `rotation` is the orientation. */
  export interface SpawnFields {
    at?: Vector;
    yaw?: number;
    rotation?: number[];
    velocity?: Vector;
    spin?: Vector;
    scale?: Vector | number;
    owner?: Entity;
    private?: any;
    tags?: string[];
  }

  /** "fixed", "ball", "hinge" and "slider" (`axis`, from `min` to `max`, driven by `speed` with `strength`), "rope" (at most `length` apart), "spring" (`length`, `stiffness`, `damping`). Each anchor is relative to the anchor's body. */
  export interface JointFields {
    type?: "fixed" | "ball" | "hinge" | "slider" | "spring";
    axis?: Vector;
    min?: number;
    max?: number;
    speed?: number;
    strength?: number;
    length?: number;
    stiffness?: number;
    damping?: number;
    anchor_a?: Vector;
    anchor_b?: Vector;
    collides?: boolean;
  }

  /** The duration (1 second); `easing` is "in_out" (the default: starts and stops gently), "linear", "in" (starts gently) or "out" (stops gently); `turn` is the yaw or the rotation at the end. */
  export interface MoveFields {
    seconds?: number;
    easing?: "in_out" | "linear" | "in" | "out";
    turn?: number | number[];
  }

  /** `seconds` for the whole path, or the mean `speed` in metres a second (2). `easing` is "linear" (the default), "in_out", "in" or "out", as in `MoveFields`, over the whole path. With `loop = true` the path leads back to where the body began, and begins again. With `face = true` the body faces its direction of movement. */
  export interface PathFields {
    seconds?: number;
    speed?: number;
    easing?: "in_out" | "linear" | "in" | "out";
    loop?: boolean;
    face?: boolean;
  }

  /** Restricts a query: ignores the entity `except`, finds only entities with a `tag`, or finds only bodies with this `motion`, such as "fixed". */
  export interface Filter {
    except?: Entity;
    tag?: string;
    motion?: "dynamic" | "fixed" | "kinematic" | "sensor";
  }

  /** The result of a ray. */
  export interface Hit {
    entity: Entity;
    distance: number;
    point: Vector;
    normal: Vector;
  }

  /** A grid cell; both numbers begin with 1. */
  export interface Cell {
    x: number;
    z: number;
  }

  /** A cell's number is `x + (z - 1) * width`. `world.grid` sets `at`, the corner of cell 1 where x and z are least, and `cell`, a cell's edge in metres. */
  export interface Grid {
    width: number;
    depth: number;
    blocked: { [key: number]: boolean };
    at?: Vector;
    cell?: number;
  }

  /** The ground is the highest fixed surface in the box of this `size` around `at`. `cell` is a cell's edge in metres (0.5). A cell is blocked if there is no ground or the ground is steeper than 56°, if somebody with this `radius` (0.35) and `height` (1.8) has no room there, or if the ground is more than `climb` metres (0.3) above a neighbour's. */
  export interface GridFields {
    at: Vector;
    size: Vector;
    cell?: number;
    radius?: number;
    height?: number;
    climb?: number;
  }
}

/** @noResolution */
declare module "@nowcast/test" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares a case. Each case runs in a new world, which begins with the saved `moment`, if you pass one. */
  function case_(this: void, name: string, fn: (this: void) => void, moment?: string): void;
  export { case_ as case };

  /** Lets a bot join, with roles, and with an account. An account's saved data lasts until the case ends. */
  export function join(this: void, name?: string, roles?: readonly string[], account?: string): TestPlayer;

  /** Lets a bot leave. */
  export function leave(this: void, player: Player): void;

  /** Lets a bot join as a program. */
  export function join_program(this: void, name?: string, roles?: readonly string[], account?: string): TestPlayer;

  /** A bot asks for an entity. */
  export function own(this: void, player: Player, entity: Entity): void;

  /** A bot gives an entity back, or passes it on. */
  export function release(this: void, player: Player, entity: Entity, to?: Entity): void;

  /** A bot sends the target pose for an entity that the bot owns. */
  export function move(this: void, player: Player, entity: Entity, at: Vector, rotation?: number[]): void;

  /** A bot sets attributes of an entity that the bot owns. */
  export function set(this: void, player: Player, entity: Entity, attributes: { [key: string]: any }): void;

  /** A bot spawns an entity, and owns the entity. */
  export function spawn(this: void, player: Player, kind: Kind, at: Vector, attributes?: { [key: string]: any }): void;

  /** A bot triggers an action. */
  export function act(this: void, player: Player, action: string, arguments?: any): void;

  /** A bot that joined comes from the room `from` ("elsewhere") with this data: see "Portals". */
  export function arrive(this: void, player: Player, data?: any, from?: string): void;

  /** Replaces a bot's input from now on. */
  export function input(this: void, player: Player, input: { forward?: number; right?: number; yaw?: number; run?: boolean; jump?: boolean }): void;

  /** Sets how old the positions are that a bot sees, in seconds (0; at most 0.5): see `world.rewound`. */
  export function see(this: void, player: Player, seconds: number): void;

  /** A bot sends a chat message. */
  export function say(this: void, player: Player, text: string): void;

  /** Runs this number of steps (1). */
  export function step(this: void, steps?: number): void;

  /** Runs the world for this many seconds of its own time. */
  export function wait(this: void, seconds: number): void;

  /** Runs until `condition` returns a true value, and returns that value. Fails after `seconds` (10). */
  export function wait_until<T>(this: void, condition: (this: void) => T, seconds?: number): NonNullable<T>;

  /** The events with this name that were sent so far. */
  export function events(this: void, name: string): { name: string; to?: Entity; payload: any }[];

  /** A bot presses a panel's button or a list's row, or sends an input's text. */
  export function press(this: void, player: Player, panel: string, part: string, given?: number | string): void;

  /** The value that a bot sees in a part: nil for the declared value. Without `part`, whether the rules showed (true, or the entity's number) or hid (false) the panel. */
  export function panel(this: void, player: Player, panel: string, part?: string): any;

  /** The light with this name for all players, or for one: the field `light` is the type. */
  export function light(this: void, name: string, player?: Player): { [key: string]: any } | undefined;

  /** The loop with this name for all players, or for one: the field `loop` is the file. */
  export function loop(this: void, name: string, player?: Player): { [key: string]: any } | undefined;

  /** The players that the rules sent to other rooms so far. They stay in the case. */
  export function sent(this: void): { player: Player; room: string; data: any }[];

  /** The value at a place on every screen, or on one player's. */
  export function screen(this: void, place: string, player?: Player): any;

  /** The reasons of all refused commands so far. */
  export function refusals(this: void): string[];

  /** Fails if the two values differ; tables are compared by their contents. */
  export function equal<T>(this: void, found: T, expected: T, label?: string): void;

  /** Fails if two numbers or vectors differ by more than `tolerance` (0.01). */
  export function near(this: void, found: any, expected: any, tolerance?: number, label?: string): void;
}

/** @noResolution */
declare module "@nowcast/dialogue" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares the actions that choose an answer, while modules are loaded: `keys` are "1" to "4". Pages offer them while the avatar's attribute `talking` ("bool") is true. */
  export function setup(this: void, options?: { keys?: string[] }): void;

  /** Declares a conversation, while modules are loaded. The conversation begins with the part `start`. `answers` is a list with at most 4 entries `{ text, part }`; an answer without a part ends the conversation. `enter` (player, speaker) is called when the part begins, and may return another part's name, which follows at once. `text` and `answers` may be functions with the arguments (player, speaker). */
  export function add(this: void, name: string, parts: { [key: string]: { text: any; answers?: any; enter?: any } }): void;

  /** Begins a conversation, which ends when the player is 5 m away from the speaker. */
  export function open(this: void, player: Player, name: string, speaker?: Entity): void;

  /** Chooses an answer, as the keys do. */
  export function choose(this: void, player: Player, number: number): void;

  /** Ends a player's conversation. */
  export function close(this: void, player: Player): void;

  /** A player's conversation. Read only. */
  export function current(this: void, player: Player): { name: string; part: string; speaker?: Entity; avatar: Entity } | undefined;
}

/** @noResolution */
declare module "@nowcast/headset" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** The kind `head`. `require` of this module declares it; docs/how-to/headsets.md describes both kinds. */
  export const Head: Kind;

  /** The kind `hand`, with the tag "hand". */
  export const Hand: Kind;

  /** Whether a hand belongs to this player. */
  export function is_of(this: void, hand: Entity | undefined, player: Player): boolean;

  /** Whether a hand is within 0.4 m from a box whose size is `scale`. */
  export function touches(this: void, hand: Entity, box: Entity): boolean;

  /** A block's pose relative to a hand. Store the pose in `private` while the hand holds the block. */
  export function hold(this: void, hand: Entity, block: Entity): { hand: Entity; offset: Vector; turn: number[] };

  /** The vector from a held block to the block's place in the hand. */
  export function away(this: void, grip: { hand: Entity; offset: Vector; turn: number[] }, block: Entity): Vector;

  /** Pulls a held block toward the block's place in the hand for one step, with at most this acceleration in metres a second squared. */
  export function carry(this: void, grip: { hand: Entity; offset: Vector; turn: number[] }, block: Entity, away: Vector, acceleration: number, dt: number): void;

  /** The `spin` that turns a block upright and toward a yaw. */
  export function upright(this: void, block: Entity, yaw: number): Vector;

  /** A vector, limited to this length. */
  export function shortened(this: void, way: Vector, longest: number): Vector;
}

/** @noResolution */
declare module "@nowcast/inventory" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares the actions, while modules are loaded: the number keys choose one of `slots` (4, at most 9), and `key` ("left") uses the chosen slot's item, with the `label` ("Use"), on a target or at a place within `reach` metres (4). `grid` gives the edge length of cells that a tool fills: pages show the cell. With `needs`, pages offer the use only while the avatar has this attribute. */
  export function setup(this: void, options?: { slots?: number; key?: string; label?: string; reach?: number; grid?: number; needs?: string }): void;

  /** Declares an item, while modules are loaded: the `label`, how many fit into one slot (`stack`, 99), the slot's `color`, and for a tool the function `use`. */
  export function item(this: void, name: string, options?: { label?: string; stack?: number; color?: string; use?: (this: void, player: Player, aim: { target?: Entity; at?: Vector }) => void }): void;

  /** Gives a player `count` items (1 by default), and returns how many fit. */
  export function give(this: void, player: Player, name: string, count?: number): number;

  /** Takes items (1) from a player, all or none, and returns whether they were there. */
  export function take(this: void, player: Player, name: string, count?: number): boolean;

  /** How many pieces of an item a player carries. */
  export function count(this: void, player: Player, name: string): number;

  /** The slots that are not empty. */
  export function list(this: void, player: Player): { slot: number; item: string; count: number }[];

  /** Chooses a slot, as the keys do. */
  export function select(this: void, player: Player, slot: number): void;

  /** The item in the chosen slot. */
  export function selected(this: void, player: Player): string | undefined;

  /** Empties all slots. */
  export function clear(this: void, player: Player): void;
}

/** @noResolution */
declare module "@nowcast/leaderboard" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** A player's number; 0 if never set. */
  export function get(this: void, player: Player, name: string): number;

  /** Sets a player's number. */
  export function set(this: void, player: Player, name: string, value: number): void;

  /** Adds `amount` (1) to a player's number, and returns the sum. */
  export function add(this: void, player: Player, name: string, amount?: number): number;

  /** Removes this number from all players. */
  export function clear(this: void, name: string): void;

  /** The players who have this number: the highest first, or the lowest. */
  export function top(this: void, name: string, is_lowest?: boolean): { name: string; value: number; player: Player }[];

  /** Enters a value into the ten best of all time, which stay in `world.state`, with one value for each player's name. Returns the rank; nil if the value is not among the ten best, or not better than the player's earlier value. */
  export function record(this: void, player: Player, name: string, value: number, is_lowest?: boolean): number | undefined;

  /** The best of all time, the best first. Read only. */
  export function records(this: void, name: string): { name: string; value: number }[];

  /** Shows the first `rows` (5) on every screen, from now on: of the present players, or with `records` of all time. `lowest` puts the lowest number first. */
  export function show(this: void, name: string, options?: { rows?: number; lowest?: boolean; records?: boolean }): void;

  /** Removes the leaderboard from the screens. */
  export function hide(this: void, name: string): void;
}

/** @noResolution */
declare module "@nowcast/notices" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Shows a player a text for some seconds (2), at a place of the screen ("message"). A newer text at this place replaces it; nil removes it. */
  export function tell(this: void, player: Player, text?: string, seconds?: number, place?: string): void;
}

/** @noResolution */
declare module "@nowcast/npc" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares the area in which people find their way, while modules are loaded. The fields are those of `world.grid`. */
  export function setup(this: void, fields: any): void;

  /** Surveys the area again at the next use. Call this function after fixed bodies have changed; a new body counts from the next step on. */
  export function refresh(this: void): void;

  /** The corners of the shortest path between two places, as `world.path` returns them. */
  export function path(this: void, from: Vector, to: Vector): Vector[] | undefined;

  /** Lets a walker without a player walk to a place, around walls and others; returns whether there is a path. At the end, the timer `done` fires with `{ npc, arrived }`. The path is saved. */
  export function walk_to(this: void, entity: Entity, to: Vector, options?: { run?: boolean; done?: string }): boolean;

  /** Stops a walker where it is. */
  export function stop(this: void, entity: Entity): void;

  /** Whether a walker still walks to its place. */
  export function is_walking(this: void, entity: Entity): boolean;
}

/** @noResolution */
declare module "@nowcast/rotation" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** No rotation: { 0, 0, 0, 1 }. */
  export const none: number[];

  /** Turned to the left by `yaw`, then up by `pitch`, then clockwise by `roll`, in radians: `world.rotation`. */
  export function of(this: void, yaw: number, pitch?: number, roll?: number): number[];

  /** The rotation about an axis by an angle in radians, counter-clockwise if the axis points at you. */
  export function about(this: void, axis: Vector, angle: number): number[];

  /** First `b`, then `a`, about the world's axes; in other words, `b` in the frame of `a`. */
  export function multiply(this: void, a: number[], b: number[]): number[];

  /** The rotation that undoes `a`. */
  export function inverse(this: void, a: number[]): number[];

  /** Rotates a vector: `vector.create(0, 0, -1)` becomes the direction in which an entity with this rotation looks. */
  export function apply(this: void, a: number[], v: Vector): Vector;

  /** The angle between two rotations, in radians, from 0 to pi. */
  export function angle(this: void, a: number[], b: number[]): number;

  /** The rotation with which something at `from` looks at `to`, upright as far as possible. */
  export function look_at(this: void, from: Vector, to: Vector): number[];

  /** The rotation at a share (0 to 1) of the shorter way from `a` to `b`. */
  export function between(this: void, a: number[], b: number[], share: number): number[];
}

/** @noResolution */
declare module "@nowcast/rounds" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares the rounds, while modules are loaded: the `players` that a round needs (1), and the duration in seconds of the `countdown` (3), the round (`seconds`, 120; 0 for no limit) and the following `pause` (5). `ready` decides whether a round can run, instead of `players`. With `shows`, every screen shows "clock", "message" (the countdown) and "prompt" (waiting). */
  export function setup(this: void, options: { players?: number; countdown?: number; seconds?: number; pause?: number; ready?: (this: void) => boolean; shows?: boolean }): void;

  /** Calls `fn` at "wait" (), "countdown" (seconds left), "start" (number of the round), "second" (seconds left) or "stop" (why, result), while modules are loaded. `why` is "time", "players" (too few), or the text given to `stop`. */
  export function on(this: void, event: string, fn: (this: void, ...values: any[]) => void): void;

  /** "waiting", "countdown", "playing" or "pause". */
  export function phase(this: void): string;

  /** Whether a round is played. */
  export function is_playing(this: void): boolean;

  /** Seconds left in this phase. */
  export function seconds_left(this: void): number;

  /** The round's number, from 1; 0 before the first. */
  export function number(this: void): number;

  /** Begins a round at once. */
  export function start(this: void): void;

  /** Ends the present round: the pause begins. */
  export function stop(this: void, why: string | undefined, result: any): void;
}

/** @noResolution */
declare module "@nowcast/teams" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares a team, while modules are loaded: the `color`, the places where players start (`starts`), and the `yaw` with which they start. */
  export function add(this: void, name: string, options?: { color?: string; starts?: Vector[]; yaw?: number }): void;

  /** All teams' names, in the order of their declaration. */
  export function list(this: void): string[];

  /** A team's colour. */
  export function color(this: void, name: string): string;

  /** Moves a player to a team, or to the smallest one, and returns the team's name. The player gets the name as a tag. */
  export function join(this: void, player: Player, name?: string): string;

  /** Removes a player from the team. */
  export function leave(this: void, player: Player): void;

  /** A player's team. */
  export function of(this: void, player: Player): string | undefined;

  /** A team's players. */
  export function members(this: void, name: string): Player[];

  /** The team with the fewest players; the first of equals. */
  export function smallest(this: void): string;

  /** The fields for `spawn_avatar`: `at`, `yaw` and `color`. The kind needs the attribute `color = "text"`. */
  export function start(this: void, player: Player): SpawnFields;

  /** A team's points. */
  export function score(this: void, name: string): number;

  /** Adds points (1), shows the scores, and returns the sum. */
  export function add_score(this: void, name: string, points?: number): number;

  /** Sets all scores to 0, and shows them. */
  export function reset(this: void): void;

  /** Writes the scores at the top of every screen. */
  export function show(this: void): void;

  /** The team with the highest score; nil if two have it. */
  export function leader(this: void): string | undefined;
}

/** @noResolution */
declare module "@nowcast/vehicles" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares a kind of vehicle, with an attribute `driver`, an action `drive_NAME` (key E, argument `vehicle`), and the action `get_out` (key Q). `person` is the drivers' kind; `speed` in metres a second (9), times `boost` (1.6) while running; `acceleration` (8) and `brake` (12) in metres a second squared; `turn` in radians a second (2.2); `reach` in metres (3); `exit` is where the driver gets out: right, up, ahead. `enter` and `leave` are called before a player enters and after a player left. */
  export function kind(this: void, name: string, fields: KindFields, options: { person: Kind; label?: string; speed?: number; boost?: number; acceleration?: number; brake?: number; turn?: number; reach?: number; exit?: Vector; enter?: (this: void, player: Player, vehicle: Entity) => void; leave?: (this: void, player: Player, person: Entity) => void }): Kind;

  /** Puts a player into a vehicle. Returns the new avatar: a new entity in the vehicle's place, with the same `private`. */
  export function enter(this: void, player: Player, vehicle: Entity): Entity;

  /** Lets a driver get out, and returns the person. The vehicle stays in place. */
  export function leave(this: void, player: Player): Entity | undefined;

  /** The vehicle that a player drives. */
  export function driven(this: void, player: Player): Entity | undefined;
}
