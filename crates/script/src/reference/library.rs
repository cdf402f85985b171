//! The reference of the standard library. Each section has the names of one module.

use super::{Section, entry};

pub(super) const LIBRARY: [Section; 9] = [
    Section {
        title: "Dialogue: `@nowcast/dialogue`",
        of: "dialogue",
        entries: &[
            entry(
                "setup",
                "(options: { keys: { string }? }?) -> ()",
                "Declares the actions that choose an answer, while modules are loaded: `keys` are \"1\" to \"4\". Pages offer them while the avatar's attribute `talking` (\"bool\") is true.",
            ),
            entry(
                "add",
                "(name: string, parts: { [string]: { text: any, answers: any, enter: any } }) -> ()",
                "Declares a conversation, while modules are loaded. It begins with the part `start`. `answers` is a list of `{ text, part }`, at most 4; an answer without a part ends the conversation. `enter` (player, speaker) is called when the part begins; it may return the name of another part, which follows at once. `text` and `answers` may be functions of (player, speaker).",
            ),
            entry(
                "open",
                "(player: Entity, name: string, speaker: Entity?) -> ()",
                "Begins a conversation. It ends when the player is 5 m away from the speaker.",
            ),
            entry("choose", "(player: Entity, number: number) -> ()", "Chooses an answer, as the keys do."),
            entry("close", "(player: Entity) -> ()", "Ends the conversation of a player."),
            entry(
                "current",
                "(player: Entity) -> { name: string, part: string, speaker: Entity?, avatar: Entity }?",
                "The conversation of a player. Read only.",
            ),
        ],
    },
    Section {
        title: "Headsets: `@nowcast/headset`",
        of: "headset",
        entries: &[
            entry(
                "Head",
                "Kind",
                "The kind `head`. `require` of this module declares it; docs/HEADSETS.md describes both kinds.",
            ),
            entry("Hand", "Kind", "The kind `hand`. Its entities have the tag \"hand\"."),
            entry(
                "is_of",
                "(hand: Entity?, player: Entity) -> boolean",
                "Whether it is a hand of this player.",
            ),
            entry(
                "touches",
                "(hand: Entity, box: Entity) -> boolean",
                "Whether a hand is within 0.4 m of a box of `scale` metres.",
            ),
            entry(
                "hold",
                "(hand: Entity, block: Entity) -> { hand: Entity, offset: vector, turn: { number } }",
                "The pose of a block relative to a hand: keep it in `private` while the hand holds the block.",
            ),
            entry(
                "away",
                "(grip: { hand: Entity, offset: vector, turn: { number } }, block: Entity) -> vector",
                "The vector from a block to its place in the hand that holds it.",
            ),
            entry(
                "carry",
                "(grip: { hand: Entity, offset: vector, turn: { number } }, block: Entity, away: vector, acceleration: number, dt: number) -> ()",
                "Pulls a block toward its place in the hand for one step, with at most this acceleration in metres a second squared.",
            ),
            entry(
                "upright",
                "(block: Entity, yaw: number) -> vector",
                "The `spin` that turns a block upright and toward a yaw.",
            ),
            entry(
                "shortened",
                "(way: vector, longest: number) -> vector",
                "A vector, limited to this length.",
            ),
        ],
    },
    Section {
        title: "Inventory: `@nowcast/inventory`",
        of: "inventory",
        entries: &[
            entry(
                "setup",
                "(options: { slots: number?, key: string?, label: string?, reach: number? }?) -> ()",
                "Declares the actions, while modules are loaded: the number keys choose one of `slots` (4, at most 9), and `key` (\"left\") uses the item in it, with the `label` (\"Use\") and a target within `reach` metres (4).",
            ),
            entry(
                "item",
                "(name: string, options: { label: string?, stack: number?, use: ((player: Entity, aim: { target: Entity?, pitch: number }) -> ())? }?) -> ()",
                "Declares an item, while modules are loaded: its `label`, how many fit into one slot (`stack`, 99), and for a tool the function `use`.",
            ),
            entry(
                "give",
                "(player: Entity, name: string, count: number?) -> number",
                "Gives a player `count` items (1 by default), and returns how many fit.",
            ),
            entry(
                "take",
                "(player: Entity, name: string, count: number?) -> boolean",
                "Takes items (1) from a player, all or none, and returns whether they were there.",
            ),
            entry(
                "count",
                "(player: Entity, name: string) -> number",
                "How many of an item a player carries.",
            ),
            entry(
                "list",
                "(player: Entity) -> { { slot: number, item: string, count: number } }",
                "The slots that are not empty.",
            ),
            entry("select", "(player: Entity, slot: number) -> ()", "Chooses a slot, as the keys do."),
            entry("selected", "(player: Entity) -> string?", "The item in the chosen slot."),
            entry("clear", "(player: Entity) -> ()", "Empties all slots."),
        ],
    },
    Section {
        title: "Leaderboard: `@nowcast/leaderboard`",
        of: "leaderboard",
        entries: &[
            entry(
                "get",
                "(player: Entity, name: string) -> number",
                "A number of a player; 0 if it was never set.",
            ),
            entry("set", "(player: Entity, name: string, value: number) -> ()", "Sets a number of a player."),
            entry(
                "add",
                "(player: Entity, name: string, amount: number?) -> number",
                "Adds to a number of a player (1), and returns the sum.",
            ),
            entry("clear", "(name: string) -> ()", "Removes this number of all players."),
            entry(
                "top",
                "(name: string, is_lowest: boolean?) -> { { name: string, value: number, player: Entity } }",
                "The players who have this number: the highest first, or the lowest.",
            ),
            entry(
                "record",
                "(player: Entity, name: string, value: number, is_lowest: boolean?) -> number?",
                "Enters a value into the ten best of all time, which stay in `world.state`, once for each player's name. Returns the rank; nil if the value is not among them, or not better than before.",
            ),
            entry(
                "records",
                "(name: string) -> { { name: string, value: number } }",
                "The best of all time, the best first. Read only.",
            ),
            entry(
                "show",
                "(name: string, options: { rows: number?, lowest: boolean?, records: boolean? }?) -> ()",
                "Shows the first `rows` (5) on every screen, from now on: of the players, or with `records` of all time. `lowest` puts the lowest number first.",
            ),
            entry("hide", "(name: string) -> ()", "Removes the board from the screens."),
        ],
    },
    Section {
        title: "People of the world: `@nowcast/npc`",
        of: "npc",
        entries: &[
            entry(
                "setup",
                "(fields: any) -> ()",
                "Declares the area in which people find their way, while modules are loaded. The fields are those of `world.grid`.",
            ),
            entry(
                "refresh",
                "() -> ()",
                "Surveys the area again at the next use. Call it after fixed bodies have changed; a new body counts from the next step on.",
            ),
            entry(
                "path",
                "(from: vector, to: vector) -> { vector }?",
                "The corners of the shortest way between two places, as `world.path` returns them.",
            ),
            entry(
                "walk_to",
                "(entity: Entity, to: vector, options: { run: boolean?, done: string? }?) -> boolean",
                "Lets a walker without a player walk to a place, around walls and around others; returns whether there is a way. The timer `done` is called at the end, with `{ npc, arrived }`. The way is saved.",
            ),
            entry("stop", "(entity: Entity) -> ()", "Stops a walker where it is."),
            entry("is_walking", "(entity: Entity) -> boolean", "Whether a walker is on its way."),
        ],
    },
    Section {
        title: "Rotations: `@nowcast/rotation`",
        of: "rotation",
        entries: &[
            entry("none", "{ number }", "No rotation: { 0, 0, 0, 1 }."),
            entry(
                "of",
                "(yaw: number, pitch: number?, roll: number?) -> { number }",
                "Turned to the left by `yaw`, then up by `pitch`, then clockwise by `roll`, in radians: `world.rotation`.",
            ),
            entry(
                "about",
                "(axis: vector, angle: number) -> { number }",
                "The rotation about an axis, counter-clockwise for somebody at whom the axis points, in radians.",
            ),
            entry(
                "multiply",
                "(a: { number }, b: { number }) -> { number }",
                "First `b`, then `a`, about the axes of the world; in other words `b` in the frame of `a`.",
            ),
            entry("inverse", "(a: { number }) -> { number }", "The rotation that undoes `a`."),
            entry(
                "apply",
                "(a: { number }, v: vector) -> vector",
                "A vector of the rotated thing, in the world: with `vector.create(0, 0, -1)`, the direction in which an entity looks.",
            ),
            entry(
                "angle",
                "(a: { number }, b: { number }) -> number",
                "The angle between two rotations, in radians, from 0 to pi.",
            ),
            entry(
                "look_at",
                "(from: vector, to: vector) -> { number }",
                "The rotation of something at `from` that looks at `to`, upright as far as possible.",
            ),
            entry(
                "between",
                "(a: { number }, b: { number }, share: number) -> { number }",
                "The rotation at a share, from 0 to 1, of the shorter way from `a` to `b`.",
            ),
        ],
    },
    Section {
        title: "Rounds: `@nowcast/rounds`",
        of: "rounds",
        entries: &[
            entry(
                "setup",
                "(options: { players: number?, countdown: number?, seconds: number?, pause: number?, ready: (() -> boolean)? }) -> ()",
                "Declares the rounds, while modules are loaded: the `players` that a round needs (1), and the seconds of the `countdown` (3), of the round (`seconds`, 120; 0 for no limit) and of the `pause` after it (5). `ready` decides whether a round can run, instead of `players`.",
            ),
            entry(
                "on",
                "(event: string, fn: (...any) -> ()) -> ()",
                "Calls `fn` at \"wait\" (), \"countdown\" (seconds left), \"start\" (number of the round), \"second\" (seconds left) or \"stop\" (why, result), while modules are loaded. `why` is \"time\", \"players\" (too few), or the text given to `stop`.",
            ),
            entry("phase", "() -> string", "\"waiting\", \"countdown\", \"playing\" or \"pause\"."),
            entry("is_playing", "() -> boolean", "Whether a round is played."),
            entry("seconds_left", "() -> number", "Seconds left of this phase."),
            entry("number", "() -> number", "The number of the round, from 1; 0 before the first."),
            entry("start", "() -> ()", "Begins a round at once."),
            entry(
                "stop",
                "(why: string?, result: any) -> ()",
                "Ends the round that is played: its pause begins.",
            ),
        ],
    },
    Section {
        title: "Teams: `@nowcast/teams`",
        of: "teams",
        entries: &[
            entry(
                "add",
                "(name: string, options: { color: string?, starts: { vector }?, yaw: number? }?) -> ()",
                "Declares a team, while modules are loaded: its `color`, the places where its players start, and the `yaw` with which they start.",
            ),
            entry("list", "() -> { string }", "The names of all teams, in the order of their declaration."),
            entry("color", "(name: string) -> string", "The colour of a team."),
            entry(
                "join",
                "(player: Entity, name: string?) -> string",
                "Moves a player to a team, or to the smallest, and returns its name. The name is a tag of the player.",
            ),
            entry("leave", "(player: Entity) -> ()", "Removes a player from its team."),
            entry("of", "(player: Entity) -> string?", "The team of a player."),
            entry("members", "(name: string) -> { Entity }", "The players of a team."),
            entry("smallest", "() -> string", "The team with the fewest players; the first of equals."),
            entry(
                "start",
                "(player: Entity) -> SpawnFields",
                "The fields for `spawn_avatar`: `at`, `yaw` and `color`. The kind needs the attribute `color = \"text\"`.",
            ),
            entry("score", "(name: string) -> number", "The points of a team."),
            entry(
                "add_score",
                "(name: string, points: number?) -> number",
                "Adds points (1), shows the scores, and returns the sum.",
            ),
            entry("reset", "() -> ()", "Sets all scores to 0, and shows them."),
            entry("show", "() -> ()", "Writes the scores at the top of every screen."),
            entry("leader", "() -> string?", "The team with the highest score; nil if two have it."),
        ],
    },
    Section {
        title: "Vehicles: `@nowcast/vehicles`",
        of: "vehicles",
        entries: &[
            entry(
                "kind",
                "(name: string, fields: KindFields, options: { person: Kind, label: string?, speed: number?, boost: number?, acceleration: number?, brake: number?, turn: number?, reach: number?, exit: vector?, enter: ((player: Entity, vehicle: Entity) -> ())?, leave: ((player: Entity, person: Entity) -> ())? }) -> Kind",
                "Declares a kind of vehicles, with an attribute `driver`, an action `drive_` and its name (key E, argument `vehicle`), and the action `get_out` (key Q). `person` is the kind of people; `speed` in metres a second (9), times `boost` (1.6) while running; `acceleration` (8) and `brake` (12) in metres a second squared; `turn` in radians a second (2.2); `reach` in metres (3); `exit` is where the driver gets out: right, up, ahead. `enter` and `leave` are called before a player enters and after a player left.",
            ),
            entry(
                "enter",
                "(player: Entity, vehicle: Entity) -> Entity",
                "Puts a player into a vehicle. The vehicle becomes the avatar: a new entity, which is returned, with the same `private`.",
            ),
            entry(
                "leave",
                "(player: Entity) -> Entity?",
                "Lets a driver get out, and returns the person. The vehicle stays where it is.",
            ),
            entry("driven", "(player: Entity) -> Entity?", "The vehicle that a player drives."),
        ],
    },
];
