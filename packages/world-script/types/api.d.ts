// The API of worlds. Made by crates/script/tests/reference: changes of this file are lost.

/** @noResolution */
declare module "@nowcast/world" {

  /** Declares a kind of entities, while modules are loaded. See "Kinds". */
  export function kind<const A extends AttributeTypes = {}>(this: void, name: string, fields?: Omit<KindFields, "attributes"> & { attributes?: A }): Kind<A>;

  /** The saved state of the world. `world.state { score = 0 }` declares first values; afterwards it is an ordinary table. */
  export const state: StateOfWorld;

  /** Declares `player.saved`, while modules are loaded: its fields with their first values, and the `version` of the form (1). `upgrade` turns the data of an older version into the present form and returns it. Data of a newer version is not changed. */
  export function saved<T extends object>(this: void, options: { default: T; version?: number; upgrade?: (this: void, data: any, version: number) => T }): void;

  /** Gravity in metres a second squared (0, -9.81, 0), maximum number of players (256) and of entities (16,384, at most 131,072), the `version` number of your rules (0), for "upgrade", and the `interest` of kinds that declare none: `{ radius = 256 }`. `update_rates` are those of kinds that declare none. `rewind = true` records the last half second, for `world.rewound`. */
  export function settings(this: void, fields: { gravity?: Vector; players_max?: number; entities_max?: number; version?: number; interest?: any; update_rates?: UpdateRate[]; rewind?: boolean }): void;

  /** Describes the world to its visitors: the `goal` in one sentence, `how` to begin in at most six sentences, and the name of a `picture` in `assets/`. Each sentence has at most 200 bytes. The start page and the card behind "?" show them. */
  export function about(this: void, fields: { goal: string; how?: string | string[]; picture?: string }): void;

  /** Calls `fn` at "start" (), "step" (dt: seconds), "join" (player), "arrive" (player, data: a table, empty if the player was sent without data, from: the name of the room from which `send_to` sent the player; called after "join"), "leave" (player), "program_join" and "program_leave" (player: a program, see "Owners"), "message" (player, text) or "upgrade" (from: the number of the version that ran before, nil if unknown). If any `fn` returns false for a message, the message is not sent to anybody. */
  export function on<E extends keyof WorldHooks>(this: void, event: E, fn: WorldHooks[E]): void;

  /** Declares an action of players, with types of its arguments as for attributes. Arguments that do not fit are refused before `fn` is called. `binding` says how players trigger it: a key, a label, a target. */
  export function action<const A extends AttributeTypes>(this: void, name: string, argumentTypes: A, fn: (this: void, player: Player, values: Values<A>) => void, binding?: BindingFields): void;

  /** Declares a chat command, such as `/give`, while modules are loaded: `fn` receives the player and the arguments in their order, and may return an answer for the player. Arguments that do not fit are answered by name before `fn` is called. At most 64 commands. See "Commands". */
  export function command<const C extends readonly CommandArgument[] = []>(this: void, name: string, options: { help?: string; arguments?: C; roles?: readonly string[] }, fn: (this: void, player: Player, ...values: CommandValues<C>) => string | undefined | void): void;

  /** Declares the fields of an event of `world.emit`, with types as for attributes, and returns the name. Undeclared events may be sent too; declared ones are checked and cost fewer bytes. */
  export function event<const A extends AttributeTypes>(this: void, name: string, fields: A): EventName<Values<A>>;

  /** Declares the function of a timer, and returns the name. */
  export function timer<D = undefined>(this: void, name: string, fn: (this: void, data: D) => void): TimerName<D>;

  /** Sets a timer, and returns its number. The timer fires once; set it again to repeat. The data is saved. */
  export function after<N extends string>(this: void, seconds: number, name: N, ...data: TimerData<N>): number;

  /** Sets a timer that fires again and again, the first time after `seconds`, and returns its number. `world.cancel` ends it. The timer and its data are saved. */
  export function every<N extends string>(this: void, seconds: number, name: N, ...data: TimerData<N>): number;

  /** Cancels a timer; returns false if it has already fired. */
  export function cancel(this: void, timer: number): boolean;

  /** Sends an event to every client, to one player, or to players whose avatars are within `radius` metres of `near`. */
  export function emit<N extends string>(this: void, name: N, payload: EventData<N>, options?: { to?: Player; near?: Vector; radius?: number }): void;

  /** Writes a value on every screen, or on one player's, until it is changed; nil clears it. */
  export function show(this: void, place: string, value: any, player?: Player): void;

  /** `world.ui.panel` declares a panel on the screens of players, while modules are loaded. At most 32 panels with 256 parts together. See "Panels". */
  export const ui: { panel: (this: void, name: string, options: PanelFields) => Panel };

  /** Plays a sound of the world's `assets/`: everywhere, or from a place `at`; for all, for one player, or for those within `radius` metres of `near` (of `at` by default). */
  export function sound(this: void, file: string, options?: { at?: Vector; volume?: number; to?: Entity; near?: Vector; radius?: number }): void;

  /** Plays a sound of the world's `assets/` again and again, on every page or on one player's, until it is changed or stopped: music, an engine. Players who join later hear it, too. nil stops it. Pages play at most 8 loops. */
  export function loop(this: void, name: string, fields?: LoopFields, player?: Player): void;

  /** Sets the sky and the light of all pages, or of one player's: `time` is the hour of the day from 0 to 24, and `fog` is 0 (none) to 1 (thick). Pages glide to another hour within two seconds. nil returns to the page's own light. */
  export function sky(this: void, fields?: { time?: number; fog?: number }, player?: Player): void;

  /** Sets the weather on all pages, or on one player's: `rain` and `snow` are 0 (none) to 1 (heavy), and the `wind`, in metres a second (at most 40), carries them. It is drawn only: it moves no body, makes no sound, and falls through roofs. nil ends it. */
  export function weather(this: void, fields?: { rain?: number; snow?: number; wind?: Vector }, player?: Player): void;

  /** Sets a light in the picture of all pages, or of one player's, until it is changed or, with nil, removed. A world has at most 32 lights; pages draw the 8 nearest ones of each type. */
  export function light(this: void, name: string, fields?: LightFields, player?: Player): void;

  /** Sets the camera of all pages, or of one player's, until it is changed. nil returns to the page's own camera. It never enters bodies. */
  export function camera(this: void, fields?: CameraFields, player?: Player): void;

  /** Shakes the picture of all pages, of one player's, or of those within `radius` metres of `near`: with a `strength` from 0 to 1 (0.5), for `seconds` (0.5; at most 10). Pages of people who prefer reduced motion do not shake. */
  export function shake(this: void, fields?: { strength?: number; seconds?: number; near?: Vector; radius?: number }, player?: Player): void;

  /** All players in the order in which they joined, or those with a tag: a team. Programs are not included. */
  export function players(this: void, tag?: string): Player[];

  /** All programs in the order in which they joined. */
  export function programs(this: void): Player[];

  /** All entities with a tag, oldest first. */
  export function tagged(this: void, tag: string): Entity[];

  /** Seconds of the world's own time, which stops while the world does. */
  export function time(this: void): number;

  /** Number of steps so far; 60 a second. */
  export function tick(this: void): number;

  /** A random number from 0 to 1, 1 excluded. `math.random` uses it too. */
  export function random(this: void): number;

  /** The first body that a ray hits within `reach` metres, or nil. Rays pass through sensors. */
  export function raycast(this: void, origin: Vector, direction: Vector, reach: number, options?: Filter): Hit | undefined;

  /** The first body that a shape hits when it moves from `at` in a direction, within `reach` metres, or nil. Distance 0 means that they overlap from the beginning. */
  export function shapecast(this: void, at: Vector, shape: ShapeFields, direction: Vector, reach: number, options?: Filter): Hit | undefined;

  /** All entities that overlap a shape, including sensors; oldest first. */
  export function overlap(this: void, at: Vector, shape: ShapeFields, options?: Filter): Entity[];

  /** Calls `fn`, and returns its results. Meanwhile `world.raycast`, `world.overlap`, `distance`, `position`, `yaw`, `facing` and `rotation` use the positions that this player saw when it triggered its action, at most half a second ago. The player's own avatar and the entities attached to it have their present positions. All other values are the present ones, and changes by `fn` take effect at once. Calls cannot be nested. Needs `world.settings { rewind = true }`. */
  export function rewound<T>(this: void, player: Player, fn: (this: void) => T): T;

  /** Joins two bodies, and returns the joint's number. */
  export function joint(this: void, a: Entity, b: Entity, fields: JointFields): number;

  /** Removes a joint. */
  export function remove_joint(this: void, joint: number): void;

  /** The shortest path over a grid of cells, without the first cell; nil if there is none. The path avoids cells that are true in `blocked`, and cuts no corner. Between two places of a grid that `world.grid` made, the path is a list of corners, and ends at `to`; its other corners have the height of the grid. It begins and ends in the free cells that are nearest to `from` and `to`, within 2 cells. */
  export function path<P extends Cell | Vector>(this: void, grid: Grid, from: P, to: P): P[] | undefined;

  /** Surveys the ground for `world.path`. The fixed bodies of this moment decide which cells are blocked, so survey again when they change. Queries see a new body from the step after its spawn on. A surveyed grid has at most 16,384 cells. */
  export function grid(this: void, fields: GridFields): Grid;

  /** A rotation as a quaternion: turned to the left by `yaw`, then up by `pitch`, then clockwise by `roll`, in radians. */
  export function rotation(this: void, yaw: number, pitch?: number, roll?: number): number[];

  export interface Kind<A extends AttributeTypes = any> {

    /** Its name. */
    name: string;

    /** Makes an entity. It exists at once; queries and contacts see it from the next step on. Any other field is an attribute. */
    spawn(fields?: SpawnFields & Partial<Values<A>>): EntityOf<A>;

    /** Calls `fn` at "step" (entity, dt) for each entity of this kind; at "contact" (entity, other, impulse in newton seconds) and "contact_end" (entity, other), when an entity begins or stops touching another; at "own" (entity, player), when a player asks for an entity or made one (the request is refused if any `fn` returns false); and at "release" (entity, player), before a player gives an entity back or leaves. */
    on<E extends keyof KindHooks<A>>(event: E, fn: KindHooks<A>[E]): void;

    /** All entities of this kind, oldest first. */
    all(): EntityOf<A>[];

    /** Number of its entities. */
    count(): number;

    /** Whether an entity is of this kind; false for nil and for a removed entity. */
    is(entity: Entity | undefined): entity is EntityOf<A>;
  }

  export interface Entity {

    /** Its number, which clients know too. Never used twice. */
    id: number;

    /** Whether it is still in the world. A removed entity may only be kept and compared. */
    alive: boolean;

    /** The kind of an entity, or of a player's avatar. */
    kind: Kind;

    /** In metres; Y is up. Setting it moves the entity at once, and every client sees a jump; to move something smoothly, set `velocity`. */
    position: Vector;

    /** In metres a second. */
    velocity: Vector;

    /** Angular velocity: the axis of rotation, with the length of the radians a second. */
    spin: Vector;

    /** Rotation to the left about the upright axis, in radians; 0 looks along -Z. */
    yaw: number;

    /** The horizontal direction in which it looks, of length 1. Read only. */
    readonly facing: Vector;

    /** As a quaternion: x, y, z, w; see `world.rotation`. Setting it turns the entity at once. */
    rotation: number[];

    /** Multiple of its kind's shape. Read only. */
    readonly scale: Vector;

    /** In kilograms; nil without a dynamic body. Read only. */
    readonly mass?: number;

    /** Whether its body is at rest. Read only. */
    readonly asleep?: boolean;

    /** The player that owns it; nil for the server. Setting it changes the owner. */
    owner?: Player;

    /** The entity whose pose it follows. Dynamic bodies other than walkers cannot have a parent; a walker with a parent sits there, and does not walk. Setting `position` changes the pose relative to the parent. It is removed with its parent; if the parent is the avatar of a player that leaves, it stays, unless its kind has `owner = { leave = "despawn" }`. */
    parent?: Entity;

    /** A saved table of an entity or a player. Clients never receive it. */
    private: any;

    /** The player whose avatar it is. Read only. */
    readonly player?: Player;

    /** The input of a player (read only), or of a walker without a player (set it to make the walker walk). */
    input: { forward: number; right: number; yaw: number; run: boolean; jump: boolean };

    /** Where a player or an entity looks: `yaw` and `pitch` (up) in radians, and the `direction` of length 1. The pitch of a player is known if its kind of walker has `pitch = true`, and is 0 otherwise. Read only. */
    readonly look: { yaw: number; pitch: number; direction: Vector };

    /** Whether a walker stood on ground in its last step; false for other entities. Read only. */
    readonly is_on_ground: boolean;

    /** Read only; see `tag`. */
    readonly tags: readonly string[];

    /** Removes it, its joints, and the entities attached to it. */
    despawn(): void;

    /** Changes its velocity at once, by newton seconds, at a place in the world or at its centre. */
    apply_impulse(impulse: Vector, at?: Vector): void;

    /** Changes its angular velocity at once, by newton metre seconds. */
    apply_angular_impulse(impulse: Vector): void;

    /** Applies a force in newtons, and a torque in newton metres, for one step. */
    apply_force(force: Vector, torque?: Vector): void;

    /** Throws a walker with this velocity, in metres a second: it leaves the ground, as in a jump. Setting `velocity` leaves a walker on the ground. */
    launch(velocity: Vector): void;

    /** Moves a kinematic body so that it arrives after the next step, turned to a yaw or a rotation. It keeps that velocity: call it again, or set `velocity` and `spin`. */
    glide_to(to: Vector, turn?: number | number[]): void;

    /** Moves a kinematic body to a place within some seconds, and stops it there. Another `move_to`, `glide_to`, an owner, or setting its position, rotation, velocity, spin or parent ends the move. The move is saved. */
    move_to(to: Vector, options?: MoveFields): void;

    /** Moves a kinematic body from its place through the 1 to 64 places of a path, in straight lines, and stops it at the last one. This move ends for the same reasons as a `move_to`. The move is saved. At most 1,024 entities follow paths at the same time. */
    follow(path: Vector[], options?: PathFields): void;

    /** Turns a kinematic body at its place, as `move_to` moves it, to a yaw or a rotation, the shorter way round. */
    turn_to(turn: number | number[], options?: MoveFields): void;

    /** Makes a walker walk in a direction, as fast as `direction` is long (at most 1); `vector.zero` stops it. */
    walk(direction: Vector, run?: boolean): void;

    /** The entities that it touches now, oldest first. */
    touching(): Entity[];

    /** Metres between the surfaces of two bodies. */
    distance(other: Entity): number;

    /** Adds a tag, at most 16. */
    tag(tag: string): void;

    /** Removes a tag. */
    untag(tag: string): void;

    /** Whether it has a tag. */
    has_tag(tag: string): boolean;

    /** Ignores contacts with one other entity; nil ends that. */
    pass_through(other?: Entity): void;

    /** Multiple of the world's gravity that acts on it; 0 lets it float. */
    set_gravity(scale: number): void;
  }

  export interface Player extends Entity {

    /** The entity that a player moves. Read only. */
    readonly avatar?: Entity;

    /** The name of a player. Read only. */
    readonly name: string;

    /** Whether a player is a program. Read only. */
    readonly is_program: boolean;

    /** The roles of a player, from its token (docs/how-to/server.md), as it joined; `editor` also without a token on the server's machine. Read only. */
    readonly roles: readonly string[];

    /** The name of the account that a player has on every visit: `key:…` from the identity of its page, `token:…` from the name in its token, nil for a guest. Read only. */
    readonly account?: string;

    /** The saved table of a player's account, declared by `world.saved`. It follows the account through visits, restarts and the rooms of this world. A guest has such a table until it leaves. At most 64 KiB. */
    saved: keyof Saved extends never ? any : Saved;

    /** Whether a player has a role, such as "builder". */
    has_role(role: string): boolean;

    /** Makes the avatar of a player. An earlier avatar is removed. */
    spawn_avatar<A extends AttributeTypes>(kind: Kind<A>, fields?: SpawnFields & Partial<Values<A>>): EntityOf<A>;

    /** Lets the input of a player move another entity, such as a drone or a vehicle, which becomes its avatar. The former avatar stays: a walker stands still, or with `seat` (a place relative to the entity) sits there and moves along. `player:control(person)` returns to it. See "Vehicles and drones". */
    control(entity: Entity, options?: { seat?: Vector }): void;

    /** Writes a line of at most 400 bytes into the chat of one player, without a speaker. */
    tell(text: string): void;

    /** Removes a player from the room. Its page shows the reason (64 bytes at most); "leave" is called as always. The player may join again. */
    kick(reason?: string): void;

    /** Removes a player from the room as `kick` does, and refuses its return for `hours` (24; at most a year): to this room, or with `world = true` to all rooms of this world. The server recognises the player by its token, its key and its address, as for `/ban` (docs/how-to/stored-worlds.md, "Bans"); a player that it cannot recognise is only removed. */
    ban(reason?: string, options?: { hours?: number; world?: boolean }): void;

    /** Sends a player to another room of this server: its page goes there without a reload. The hook "arrive" of that room receives `data`, at most 4 KiB. Any other name than that of a room is refused. See "Portals". */
    send_to(room: string, data?: any): void;
  }

  export interface Panel {

    /** Its name. */
    name: string;

    /** Sets the value of a part on every screen, or on one player's, whose own value has priority; nil returns to the declared one. A text shows a text, a number or a boolean, a bar a number, a list at most 16 texts. A button or an input shows a text, and false turns it off; a picture shows a file. Texts have at most 200 bytes. */
    set(part: string, value: any, player?: Player): void;

    /** Shows the panel to all players, or to one. A panel with `at = "entity"` hangs over an entity. */
    show(player?: Player, entity?: Entity): void;

    /** Hides the panel from all players, or from one. */
    hide(player?: Player): void;
  }

  /** Clients receive `look` unchanged. `walker` (which may be `{}`) makes it a person with a body of its own. With `appearance = true` its players choose clothes and gestures: it gets the attributes `outfit` and `emote`. `owner` declares which players may own its entities. `formerly` is an earlier name of the kind, or a list of them: the kind takes over the entities of that name. `interest` says which players see its entities: with `{ radius = 60 }` players whose avatars are within 60 metres, with "always" all, with "never" none, with "owner" the player that owns it. `update_rates` says how often players receive its movement, by distance. `precision` is the largest error of positions that clients receive, in metres (0.001), and `rotation_precision` that of the three smaller numbers of a rotation's quaternion (0.0002): less precision costs fewer bytes. `layer` names the collision layer of its bodies ("default"; at most 15 others), and `ignores` the layers that they pass through: two bodies collide unless one ignores the layer of the other. A sensor does not report what it ignores. */
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

  /** One of 1 to 4 distance classes: entities `within` this many metres of a player's avatar are sent at most `hz` times a second, from 4 to 60. The nearest class comes first, and the last class has no `within`. A farther class must not have a higher rate. Without `update_rates`, entities are sent in every round of updates, and beyond half of the world's radius of interest in every second round. */
  export interface UpdateRate {
    within?: number;
    hz: number;
  }

  /** `motion` is "dynamic" (moved by forces), "fixed", "kinematic" (moved by its velocity alone) or "sensor" (others pass through it, and it reports overlaps). `mass` in kilograms, or `density` in kilograms a cubic metre. `role` is "ladder" (a "fixed" body that walkers climb) or "water" (a "sensor" in which walkers swim). */
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

  /** Metres, kilograms, seconds. A person is 1.8 m high, walks 3.2 m/s, runs 6.4 m/s and jumps with 4.95 m/s. With `adjustable = true` each walker has the attributes `speed` and `jump` (factors from 0 to 8 in steps of 1/64; 1) and `frozen` (false), which your rules set and pages predict. With `pitch = true` it has the attribute `pitch`, how far up its player looks, for `look`. */
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

  /** `by` is "player", "program" or "anyone"; without it, only your script sets an owner. An owner moves it with at most `speed` metres a second (10), turns it with `turn` radians a second (12), within `reach` metres of its avatar (without an avatar: of the place where it became the owner), inside of the box `area`. A target outside of these is moved to their edge, or with `beyond = "refuse"` refused. An owner may set `attributes`, and make up to `spawns` entities (0). When the owner leaves, `leave` decides: "release" (to the server), "keep" (the player that left still owns it) or "despawn". */
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

  /** `key` is a letter or a digit, "left" or "right" (mouse), or a list of at most 4 of these, of which each triggers the action. `label` is a word or two. `charge`, `pitch`, `target` and `aim` each name an argument of the action. `charge` grows from its minimum to its maximum while the key is held, up to a second. `pitch` receives how far the player looks up. `target` receives the entity that the player looks at, or the nearest in front, within `reach` metres (2.5); `aim` receives the place within `reach` at which the player points: a `"vector"`, or the middle of a free cell if `grid` gives the edge of the cells, which the page then shows. `of` limits targets to a kind, or to a list of kinds or their names. Without a target the action is only sent if that argument may be nil. `needs` and `unless` name an attribute of the player's avatar: the action is offered while it is set, or while it is not (nil, false, 0 and empty text count as not set). `durable = true` makes an action happen exactly once and never be lost; `predict` ("grab", "throw" or "launch", with `speed` ahead and `rise` upward in metres a second) lets pages show its effect on the hands or the avatar at once: see "Actions". */
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
    predict?: "grab" | "throw" | "launch";
    speed?: number;
    rise?: number;
  }

  /** `help` is one sentence. Each of at most 8 `arguments` is a table with a name, a type ("text", "number", "integer", "bool" or "player", each followed by `?` if it may be missing), and `min`, `max`, `one_of` (a list of words) or `default`: `{ "count", "integer", min = 1, max = 9, default = 1 }`. A text at the end takes the rest of the line; other texts with spaces need quotes. The beginning of its name identifies a player. If `roles` is set, only players with one of these roles may use the command. */
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

  /** Begins with its type: "text", "button", "bar", "list", "input" or "picture". `text` is the first value of a text, a button or an input, or the file of a picture, as in "assets/coin.png"; `label` stands before the value, and describes a picture. `max` is the number at which a bar is full (1), the largest number of characters of an input (100; at most 200), or the largest width of a picture in pixels (128; 8 to 512). `press` is called when a player presses a button or the `row` of a list that it sees, or sends the `text` of an input. */
  export interface PartFields {
    type: "text" | "button" | "bar" | "list" | "input" | "picture";
    name: string;
    text?: string;
    label?: string;
    color?: string;
    max?: number;
    press?: (this: void, player: Player, given: any) => void;
  }

  /** `at` is the place of the sound, or `on` the entity to which it is attached; without both it is heard everywhere. `volume` is 0 to 1 (1), `pitch` 0.25 to 4 (1), and `fade` the seconds to fade in and out, 0 to 10 (0). */
  export interface LoopFields {
    file: string;
    at?: Vector;
    on?: Entity;
    volume?: number;
    pitch?: number;
    fade?: number;
  }

  /** `type` is "point" (the default: a lamp), "spot" (a cone) or "sun" (parallel rays from far away). A lamp or a cone is `at` a place, or `on` an entity, with `at` relative to the entity. `direction` is that of the rays of a cone or a sun. `color` is a colour such as "#ffcc88" (white), `brightness` 0 to 100 (1), `range` the metres that the light reaches (12; at most 100), and `angle` half the opening of a cone in radians (0.5; 0.05 to 1.5). */
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

  /** `mode` is "follow" (the default: behind the avatar), "first_person", "fixed": `at` a place, and it looks at the place `look_at` or at the entity `on`, or "rail": on the line through the places of `rail` (2 to 32), as near to the avatar or to `on` as possible, and it looks there or at `look_at`. `on` lets a camera that follows, follow this entity instead of the avatar. `distance` is that from the avatar in metres, and players change it between `min` and `max`; all are at most 60. `fov` is the vertical field of view in degrees, 20 to 110. The camera glides to a fixed place or to its rail within `seconds` (0; at most 60). */
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

  /** "fixed", "ball", "hinge" and "slider" (`axis`, from `min` to `max`, driven by `speed` with `strength`), "rope" (at most `length` apart), "spring" (`length`, `stiffness`, `damping`). Each anchor is relative to its body. */
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

  /** `seconds` for the whole path, or the mean `speed` in metres a second (2). `easing` is "linear" (the default), "in_out", "in" or "out", as in `MoveFields`, over the whole path. With `loop = true` the path leads back to where the body began, and begins again. With `face = true` the body turns so that it faces its way. */
  export interface PathFields {
    seconds?: number;
    speed?: number;
    easing?: "in_out" | "linear" | "in" | "out";
    loop?: boolean;
    face?: boolean;
  }

  /** Leaves one entity out of a query, or finds only entities with a tag, or whose body has this `motion`, such as "fixed". */
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

  /** A cell of a grid; both numbers begin with 1. */
  export interface Cell {
    x: number;
    z: number;
  }

  /** A cell's number is `x + (z - 1) * width`. `world.grid` sets `at`, the corner of cell 1 where x and z are least, and `cell`, its edge in metres. */
  export interface Grid {
    width: number;
    depth: number;
    blocked: { [key: number]: boolean };
    at?: Vector;
    cell?: number;
  }

  /** The ground is the highest fixed surface in the box around `at` of this `size`. `cell` is the edge of a cell in metres (0.5). A cell is blocked if it has no ground or its ground is steeper than 56°, if somebody of this `radius` (0.35) and `height` (1.8) has no room there, or if its ground is more than `climb` metres (0.3) above that of a neighbour. */
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

  /** Declares a case. Each case runs in a world of its own, which begins with the saved moment, if one is given. */
  function case_(this: void, name: string, fn: (this: void) => void, moment?: string): void;
  export { case_ as case };

  /** Lets a bot join, with roles, and with an account. The saved data of an account lasts until the case ends. */
  export function join(this: void, name?: string, roles?: readonly string[], account?: string): TestPlayer;

  /** Lets a bot leave. */
  export function leave(this: void, player: Player): void;

  /** Lets a bot join as a program. */
  export function join_program(this: void, name?: string, roles?: readonly string[], account?: string): TestPlayer;

  /** A bot asks for an entity. */
  export function own(this: void, player: Player, entity: Entity): void;

  /** A bot gives an entity back, or passes it on. */
  export function release(this: void, player: Player, entity: Entity, to?: Entity): void;

  /** A bot sends the target pose of an entity that it owns. */
  export function move(this: void, player: Player, entity: Entity, at: Vector, rotation?: number[]): void;

  /** A bot sets attributes of an entity that it owns. */
  export function set(this: void, player: Player, entity: Entity, attributes: { [key: string]: any }): void;

  /** A bot makes an entity of its own. */
  export function spawn(this: void, player: Player, kind: Kind, at: Vector, attributes?: { [key: string]: any }): void;

  /** A bot triggers an action. */
  export function act(this: void, player: Player, action: string, arguments?: any): void;

  /** A bot that joined comes from the room `from` ("elsewhere") with this data: see "Portals". */
  export function arrive(this: void, player: Player, data?: any, from?: string): void;

  /** Replaces a bot's input from now on. */
  export function input(this: void, player: Player, input: { forward?: number; right?: number; yaw?: number; run?: boolean; jump?: boolean }): void;

  /** Sets how many seconds ago the positions are that a bot sees (0; at most 0.5): see `world.rewound`. */
  export function see(this: void, player: Player, seconds: number): void;

  /** A bot sends a chat message. */
  export function say(this: void, player: Player, text: string): void;

  /** Runs this number of steps (1). */
  export function step(this: void, steps?: number): void;

  /** Runs this number of seconds of the world's time. */
  export function wait(this: void, seconds: number): void;

  /** Runs until `condition` returns a true value, and returns that value. Fails after `seconds` (10). */
  export function wait_until<T>(this: void, condition: (this: void) => T, seconds?: number): NonNullable<T>;

  /** The events of this name that were sent so far. */
  export function events(this: void, name: string): { name: string; to?: Entity; payload: any }[];

  /** A bot presses a button of a panel, or a row of a list, or sends the text of an input. */
  export function press(this: void, player: Player, panel: string, part: string, given?: number | string): void;

  /** The value of a part that a bot sees: nil for the declared one. Without `part`, whether the rules showed (true, or the number of the entity) or hid (false) the panel. */
  export function panel(this: void, player: Player, panel: string, part?: string): any;

  /** The light of this name that all players see, or one alone: its `light` is the type. */
  export function light(this: void, name: string, player?: Player): { [key: string]: any } | undefined;

  /** The loop of this name that plays for all players, or for one alone: its `loop` is the file. */
  export function loop(this: void, name: string, player?: Player): { [key: string]: any } | undefined;

  /** The players that the rules sent to other rooms so far. They stay in the case. */
  export function sent(this: void): { player: Player; room: string; data: any }[];

  /** The value at a place of every screen, or of one player's. */
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

  /** Declares a conversation, while modules are loaded. It begins with the part `start`. `answers` is a list of `{ text, part }`, at most 4; an answer without a part ends the conversation. `enter` (player, speaker) is called when the part begins; it may return the name of another part, which follows at once. `text` and `answers` may be functions of (player, speaker). */
  export function add(this: void, name: string, parts: { [key: string]: { text: any; answers: any; enter: any } }): void;

  /** Begins a conversation. It ends when the player is 5 m away from the speaker. */
  export function open(this: void, player: Player, name: string, speaker?: Entity): void;

  /** Chooses an answer, as the keys do. */
  export function choose(this: void, player: Player, number: number): void;

  /** Ends the conversation of a player. */
  export function close(this: void, player: Player): void;

  /** The conversation of a player. Read only. */
  export function current(this: void, player: Player): { name: string; part: string; speaker?: Entity; avatar: Entity } | undefined;
}

/** @noResolution */
declare module "@nowcast/headset" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** The kind `head`. `require` of this module declares it; docs/how-to/headsets.md describes both kinds. */
  export const Head: Kind;

  /** The kind `hand`. Its entities have the tag "hand". */
  export const Hand: Kind;

  /** Whether it is a hand of this player. */
  export function is_of(this: void, hand: Entity | undefined, player: Player): boolean;

  /** Whether a hand is within 0.4 m of a box of `scale` metres. */
  export function touches(this: void, hand: Entity, box: Entity): boolean;

  /** The pose of a block relative to a hand: keep it in `private` while the hand holds the block. */
  export function hold(this: void, hand: Entity, block: Entity): { hand: Entity; offset: Vector; turn: number[] };

  /** The vector from a block to its place in the hand that holds it. */
  export function away(this: void, grip: { hand: Entity; offset: Vector; turn: number[] }, block: Entity): Vector;

  /** Pulls a block toward its place in the hand for one step, with at most this acceleration in metres a second squared. */
  export function carry(this: void, grip: { hand: Entity; offset: Vector; turn: number[] }, block: Entity, away: Vector, acceleration: number, dt: number): void;

  /** The `spin` that turns a block upright and toward a yaw. */
  export function upright(this: void, block: Entity, yaw: number): Vector;

  /** A vector, limited to this length. */
  export function shortened(this: void, way: Vector, longest: number): Vector;
}

/** @noResolution */
declare module "@nowcast/inventory" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares the actions, while modules are loaded: the number keys choose one of `slots` (4, at most 9), and `key` ("left") uses the item in it, with the `label` ("Use"), on a target or at a place within `reach` metres (4). `grid` gives the edge of the cells that a tool fills: pages show the cell. */
  export function setup(this: void, options?: { slots?: number; key?: string; label?: string; reach?: number; grid?: number }): void;

  /** Declares an item, while modules are loaded: its `label`, how many fit into one slot (`stack`, 99), the `color` of its slot, and for a tool the function `use`. */
  export function item(this: void, name: string, options?: { label?: string; stack?: number; color?: string; use?: (this: void, player: Player, aim: { target?: Entity; at?: Vector }) => void }): void;

  /** Gives a player `count` items (1 by default), and returns how many fit. */
  export function give(this: void, player: Player, name: string, count?: number): number;

  /** Takes items (1) from a player, all or none, and returns whether they were there. */
  export function take(this: void, player: Player, name: string, count?: number): boolean;

  /** How many of an item a player carries. */
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

  /** A number of a player; 0 if it was never set. */
  export function get(this: void, player: Player, name: string): number;

  /** Sets a number of a player. */
  export function set(this: void, player: Player, name: string, value: number): void;

  /** Adds to a number of a player (1), and returns the sum. */
  export function add(this: void, player: Player, name: string, amount?: number): number;

  /** Removes this number of all players. */
  export function clear(this: void, name: string): void;

  /** The players who have this number: the highest first, or the lowest. */
  export function top(this: void, name: string, is_lowest?: boolean): { name: string; value: number; player: Player }[];

  /** Enters a value into the ten best of all time, which stay in `world.state`, once for each player's name. Returns the rank; nil if the value is not among them, or not better than before. */
  export function record(this: void, player: Player, name: string, value: number, is_lowest?: boolean): number | undefined;

  /** The best of all time, the best first. Read only. */
  export function records(this: void, name: string): { name: string; value: number }[];

  /** Shows the first `rows` (5) on every screen, from now on: of the players, or with `records` of all time. `lowest` puts the lowest number first. */
  export function show(this: void, name: string, options?: { rows?: number; lowest?: boolean; records?: boolean }): void;

  /** Removes the board from the screens. */
  export function hide(this: void, name: string): void;
}

/** @noResolution */
declare module "@nowcast/npc" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares the area in which people find their way, while modules are loaded. The fields are those of `world.grid`. */
  export function setup(this: void, fields: any): void;

  /** Surveys the area again at the next use. Call it after fixed bodies have changed; a new body counts from the next step on. */
  export function refresh(this: void): void;

  /** The corners of the shortest way between two places, as `world.path` returns them. */
  export function path(this: void, from: Vector, to: Vector): Vector[] | undefined;

  /** Lets a walker without a player walk to a place, around walls and around others; returns whether there is a way. The timer `done` is called at the end, with `{ npc, arrived }`. The way is saved. */
  export function walk_to(this: void, entity: Entity, to: Vector, options?: { run?: boolean; done?: string }): boolean;

  /** Stops a walker where it is. */
  export function stop(this: void, entity: Entity): void;

  /** Whether a walker is on its way. */
  export function is_walking(this: void, entity: Entity): boolean;
}

/** @noResolution */
declare module "@nowcast/rotation" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** No rotation: { 0, 0, 0, 1 }. */
  export const none: number[];

  /** Turned to the left by `yaw`, then up by `pitch`, then clockwise by `roll`, in radians: `world.rotation`. */
  export function of(this: void, yaw: number, pitch?: number, roll?: number): number[];

  /** The rotation about an axis, counter-clockwise for somebody at whom the axis points, in radians. */
  export function about(this: void, axis: Vector, angle: number): number[];

  /** First `b`, then `a`, about the axes of the world; in other words `b` in the frame of `a`. */
  export function multiply(this: void, a: number[], b: number[]): number[];

  /** The rotation that undoes `a`. */
  export function inverse(this: void, a: number[]): number[];

  /** A vector of the rotated thing, in the world: with `vector.create(0, 0, -1)`, the direction in which an entity looks. */
  export function apply(this: void, a: number[], v: Vector): Vector;

  /** The angle between two rotations, in radians, from 0 to pi. */
  export function angle(this: void, a: number[], b: number[]): number;

  /** The rotation of something at `from` that looks at `to`, upright as far as possible. */
  export function look_at(this: void, from: Vector, to: Vector): number[];

  /** The rotation at a share, from 0 to 1, of the shorter way from `a` to `b`. */
  export function between(this: void, a: number[], b: number[], share: number): number[];
}

/** @noResolution */
declare module "@nowcast/rounds" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares the rounds, while modules are loaded: the `players` that a round needs (1), and the seconds of the `countdown` (3), of the round (`seconds`, 120; 0 for no limit) and of the `pause` after it (5). `ready` decides whether a round can run, instead of `players`. With `shows`, every screen shows "clock", "message" (the countdown) and "prompt" (waiting). */
  export function setup(this: void, options: { players?: number; countdown?: number; seconds?: number; pause?: number; ready?: (this: void) => boolean; shows?: boolean }): void;

  /** Calls `fn` at "wait" (), "countdown" (seconds left), "start" (number of the round), "second" (seconds left) or "stop" (why, result), while modules are loaded. `why` is "time", "players" (too few), or the text given to `stop`. */
  export function on(this: void, event: string, fn: (this: void, ...values: any[]) => void): void;

  /** "waiting", "countdown", "playing" or "pause". */
  export function phase(this: void): string;

  /** Whether a round is played. */
  export function is_playing(this: void): boolean;

  /** Seconds left of this phase. */
  export function seconds_left(this: void): number;

  /** The number of the round, from 1; 0 before the first. */
  export function number(this: void): number;

  /** Begins a round at once. */
  export function start(this: void): void;

  /** Ends the round that is played: its pause begins. */
  export function stop(this: void, why: string | undefined, result: any): void;
}

/** @noResolution */
declare module "@nowcast/teams" {
  import type { Entity, GridFields, Kind, KindFields, Player, SpawnFields, TestPlayer } from "@nowcast/world";

  /** Declares a team, while modules are loaded: its `color`, the places where its players start, and the `yaw` with which they start. */
  export function add(this: void, name: string, options?: { color?: string; starts?: Vector[]; yaw?: number }): void;

  /** The names of all teams, in the order of their declaration. */
  export function list(this: void): string[];

  /** The colour of a team. */
  export function color(this: void, name: string): string;

  /** Moves a player to a team, or to the smallest, and returns its name. The name is a tag of the player. */
  export function join(this: void, player: Player, name?: string): string;

  /** Removes a player from its team. */
  export function leave(this: void, player: Player): void;

  /** The team of a player. */
  export function of(this: void, player: Player): string | undefined;

  /** The players of a team. */
  export function members(this: void, name: string): Player[];

  /** The team with the fewest players; the first of equals. */
  export function smallest(this: void): string;

  /** The fields for `spawn_avatar`: `at`, `yaw` and `color`. The kind needs the attribute `color = "text"`. */
  export function start(this: void, player: Player): SpawnFields;

  /** The points of a team. */
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

  /** Declares a kind of vehicles, with an attribute `driver`, an action `drive_` and its name (key E, argument `vehicle`), and the action `get_out` (key Q). `person` is the kind of people; `speed` in metres a second (9), times `boost` (1.6) while running; `acceleration` (8) and `brake` (12) in metres a second squared; `turn` in radians a second (2.2); `reach` in metres (3); `exit` is where the driver gets out: right, up, ahead. `enter` and `leave` are called before a player enters and after a player left. */
  export function kind(this: void, name: string, fields: KindFields, options: { person: Kind; label?: string; speed?: number; boost?: number; acceleration?: number; brake?: number; turn?: number; reach?: number; exit?: Vector; enter?: (this: void, player: Player, vehicle: Entity) => void; leave?: (this: void, player: Player, person: Entity) => void }): Kind;

  /** Puts a player into a vehicle. The vehicle becomes the avatar: a new entity, which is returned, with the same `private`. */
  export function enter(this: void, player: Player, vehicle: Entity): Entity;

  /** Lets a driver get out, and returns the person. The vehicle stays where it is. */
  export function leave(this: void, player: Player): Entity | undefined;

  /** The vehicle that a player drives. */
  export function driven(this: void, player: Player): Entity | undefined;
}
