//! The API of scripts as one table: the source of the editors' type definitions and of the reference in docs/WORLDS.md.

mod fields;
mod library;
mod notation;
mod testing;
mod typescript;

use std::fmt::Write as _;

use fields::{FIELDS, PANEL};
use library::LIBRARY;
use testing::TESTING;
pub use typescript::{typescript_reference, typescript_types};

/// One name of the API.
struct Entry {
    /// The name in the notation of scripts: `world.after`, `entity.position`, `Kind:spawn`.
    name: &'static str,
    /// The type of the named value in Luau. The first parameter of a method is `self`.
    ty: &'static str,
    /// The description, with units.
    doc: &'static str,
}

/// A group of names.
struct Section {
    /// The heading in the reference.
    title: &'static str,
    /// The type in the editors' file that has these names; empty for aliases; the name of a module of the library.
    of: &'static str,
    entries: &'static [Entry],
}

const fn entry(name: &'static str, ty: &'static str, doc: &'static str) -> Entry {
    Entry { name, ty, doc }
}

const SECTIONS: [Section; 5] = [
    Section {
        title: "The world",
        of: "World",
        entries: &[
            entry(
                "kind",
                "(name: string, fields: KindFields?) -> Kind",
                "Declares a kind of entities, while modules are loaded. See \"Kinds\".",
            ),
            entry(
                "state",
                "any",
                "The saved state of the world. `world.state { score = 0 }` declares first values; afterwards it is an ordinary table.",
            ),
            entry(
                "saved",
                "(options: { default: { [string]: any }, version: number?, upgrade: ((data: any, version: number) -> any)? }) -> ()",
                "Declares `player.saved`, while modules are loaded: its fields with their first values, and the `version` of the form (1). `upgrade` turns the data of an older version into the present form and returns it. Data of a newer version is not changed.",
            ),
            entry(
                "settings",
                "(fields: { gravity: vector?, players_max: number?, entities_max: number?, version: number?, interest: any?, update_rates: { UpdateRate }?, rewind: boolean? }) -> ()",
                "Gravity in metres a second squared (0, -9.81, 0), maximum number of players (256) and of entities (16,384, at most 131,072), the `version` number of your rules (0), for \"upgrade\", and the `interest` of kinds that declare none: `{ radius = 256 }`. `update_rates` are those of kinds that declare none. `rewind = true` records the last half second, for `world.rewound`.",
            ),
            entry(
                "about",
                "(fields: { goal: string, how: (string | { string })?, picture: string? }) -> ()",
                "Describes the world to its visitors: the `goal` in one sentence, `how` to begin in at most six sentences, and the name of a `picture` in `assets/`. Each sentence has at most 200 bytes. The start page and the card behind \"?\" show them.",
            ),
            entry(
                "on",
                "(event: string, fn: (...any) -> any) -> ()",
                "Calls `fn` at \"start\" (), \"step\" (dt: seconds), \"join\" (player), \"arrive\" (player, data: a table, empty if the player was sent without data, from: the name of the room from which `send_to` sent the player; called after \"join\"), \"leave\" (player), \"program_join\" and \"program_leave\" (player: a program, see \"Owners\"), \"message\" (player, text) or \"upgrade\" (from: the number of the version that ran before, nil if unknown). If any `fn` returns false for a message, the message is not sent to anybody.",
            ),
            entry(
                "action",
                "(name: string, arguments: { [string]: any }, fn: (player: Entity, arguments: any) -> (), binding: BindingFields?) -> ()",
                "Declares an action of players, with types of its arguments as for attributes. Arguments that do not fit are refused before `fn` is called. `binding` says how players trigger it: a key, a label, a target.",
            ),
            entry(
                "command",
                "(name: string, options: CommandFields, fn: (player: Entity, ...any) -> string?) -> ()",
                "Declares a chat command, such as `/give`, while modules are loaded: `fn` receives the player and the arguments in their order, and may return an answer for the player. Arguments that do not fit are answered by name before `fn` is called. At most 64 commands. See \"Commands\".",
            ),
            entry(
                "event",
                "(name: string, fields: { [string]: any }) -> string",
                "Declares the fields of an event of `world.emit`, with types as for attributes, and returns the name. Undeclared events may be sent too; declared ones are checked and cost fewer bytes.",
            ),
            entry(
                "timer",
                "(name: string, fn: (data: any) -> ()) -> string",
                "Declares the function of a timer, and returns the name.",
            ),
            entry(
                "after",
                "(seconds: number, name: string, data: any?) -> number",
                "Sets a timer, and returns its number. The timer fires once; set it again to repeat. The data is saved.",
            ),
            entry(
                "every",
                "(seconds: number, name: string, data: any?) -> number",
                "Sets a timer that fires again and again, the first time after `seconds`, and returns its number. `world.cancel` ends it. The timer and its data are saved.",
            ),
            entry(
                "cancel",
                "(timer: number) -> boolean",
                "Cancels a timer; returns false if it has already fired.",
            ),
            entry(
                "emit",
                "(name: string, payload: any, options: { to: Entity?, near: vector?, radius: number? }?) -> ()",
                "Sends an event to every client, to one player, or to players whose avatars are within `radius` metres of `near`.",
            ),
            entry(
                "show",
                "(place: string, value: any, player: Entity?) -> ()",
                "Writes a value on every screen, or on one player's, until it is changed; nil clears it.",
            ),
            entry(
                "ui",
                "{ panel: (name: string, options: PanelFields) -> Panel }",
                "`world.ui.panel` declares a panel on the screens of players, while modules are loaded. At most 32 panels with 256 parts together. See \"Panels\".",
            ),
            entry(
                "sound",
                "(file: string, options: { at: vector?, volume: number?, to: Entity?, near: vector?, radius: number? }?) -> ()",
                "Plays a sound of the world's `assets/`: everywhere, or from a place `at`; for all, for one player, or for those within `radius` metres of `near` (of `at` by default).",
            ),
            entry(
                "loop",
                "(name: string, fields: LoopFields?, player: Entity?) -> ()",
                "Plays a sound of the world's `assets/` again and again, on every page or on one player's, until it is changed or stopped: music, an engine. Players who join later hear it, too. nil stops it. Pages play at most 8 loops.",
            ),
            entry(
                "sky",
                "(fields: { time: number?, fog: number? }?, player: Entity?) -> ()",
                "Sets the sky and the light of all pages, or of one player's: `time` is the hour of the day from 0 to 24, and `fog` is 0 (none) to 1 (thick). Pages glide to another hour within two seconds. nil returns to the page's own light.",
            ),
            entry(
                "weather",
                "(fields: { rain: number?, snow: number?, wind: vector? }?, player: Entity?) -> ()",
                "Sets the weather on all pages, or on one player's: `rain` and `snow` are 0 (none) to 1 (heavy), and the `wind`, in metres a second (at most 40), carries them. It is drawn only: it moves no body, makes no sound, and falls through roofs. nil ends it.",
            ),
            entry(
                "light",
                "(name: string, fields: LightFields?, player: Entity?) -> ()",
                "Sets a light in the picture of all pages, or of one player's, until it is changed or, with nil, removed. A world has at most 32 lights; pages draw the 8 nearest ones of each type.",
            ),
            entry(
                "camera",
                "(fields: CameraFields?, player: Entity?) -> ()",
                "Sets the camera of all pages, or of one player's, until it is changed. nil returns to the page's own camera. It never enters bodies.",
            ),
            entry(
                "shake",
                "(fields: { strength: number?, seconds: number?, near: vector?, radius: number? }?, player: Entity?) -> ()",
                "Shakes the picture of all pages, of one player's, or of those within `radius` metres of `near`: with a `strength` from 0 to 1 (0.5), for `seconds` (0.5; at most 10). Pages of people who prefer reduced motion do not shake.",
            ),
            entry(
                "players",
                "(tag: string?) -> { Entity }",
                "All players in the order in which they joined, or those with a tag: a team. Programs are not included.",
            ),
            entry("programs", "() -> { Entity }", "All programs in the order in which they joined."),
            entry("tagged", "(tag: string) -> { Entity }", "All entities with a tag, oldest first."),
            entry(
                "time",
                "() -> number",
                "Seconds of the world's own time, which stops while the world does.",
            ),
            entry("tick", "() -> number", "Number of steps so far; 60 a second."),
            entry(
                "random",
                "() -> number",
                "A random number from 0 to 1, 1 excluded. `math.random` uses it too.",
            ),
            entry(
                "raycast",
                "(origin: vector, direction: vector, reach: number, options: Filter?) -> Hit?",
                "The first body that a ray hits within `reach` metres, or nil. Rays pass through sensors.",
            ),
            entry(
                "shapecast",
                "(at: vector, shape: ShapeFields, direction: vector, reach: number, options: Filter?) -> Hit?",
                "The first body that a shape hits when it moves from `at` in a direction, within `reach` metres, or nil. Distance 0 means that they overlap from the beginning.",
            ),
            entry(
                "overlap",
                "(at: vector, shape: ShapeFields, options: Filter?) -> { Entity }",
                "All entities that overlap a shape, including sensors; oldest first.",
            ),
            entry(
                "rewound",
                "(player: Entity, fn: () -> ...any) -> ...any",
                "Calls `fn`, and returns its results. Meanwhile `world.raycast`, `world.overlap`, `distance`, `position`, `yaw`, `facing` and `rotation` use the positions that this player saw when it triggered its action, at most half a second ago. The player's own avatar and the entities attached to it have their present positions. All other values are the present ones, and changes by `fn` take effect at once. Calls cannot be nested. Needs `world.settings { rewind = true }`.",
            ),
            entry(
                "joint",
                "(a: Entity, b: Entity, fields: JointFields) -> number",
                "Joins two bodies, and returns the joint's number.",
            ),
            entry("remove_joint", "(joint: number) -> ()", "Removes a joint."),
            entry(
                "path",
                "(grid: Grid, from: Cell | vector, to: Cell | vector) -> { any }?",
                "The shortest path over a grid of cells, without the first cell; nil if there is none. The path avoids cells that are true in `blocked`, and cuts no corner. Between two places of a grid that `world.grid` made, the path is a list of corners, and ends at `to`; its other corners have the height of the grid. It begins and ends in the free cells that are nearest to `from` and `to`, within 2 cells.",
            ),
            entry(
                "grid",
                "(fields: GridFields) -> Grid",
                "Surveys the ground for `world.path`. The fixed bodies of this moment decide which cells are blocked, so survey again when they change. Queries see a new body from the step after its spawn on. A surveyed grid has at most 16,384 cells.",
            ),
            entry(
                "rotation",
                "(yaw: number, pitch: number?, roll: number?) -> { number }",
                "A rotation as a quaternion: turned to the left by `yaw`, then up by `pitch`, then clockwise by `roll`, in radians.",
            ),
        ],
    },
    Section {
        title: "Kinds",
        of: "Kind",
        entries: &[
            entry("name", "string", "Its name."),
            entry(
                "spawn",
                "(self: Kind, fields: SpawnFields?) -> Entity",
                "Makes an entity. It exists at once; queries and contacts see it from the next step on. Any other field is an attribute.",
            ),
            entry(
                "on",
                "(self: Kind, event: string, fn: (...any) -> ()) -> ()",
                "Calls `fn` at \"step\" (entity, dt) for each entity of this kind; at \"contact\" (entity, other, impulse in newton seconds) and \"contact_end\" (entity, other), when an entity begins or stops touching another; at \"own\" (entity, player), when a player asks for an entity or made one (the request is refused if any `fn` returns false); and at \"release\" (entity, player), before a player gives an entity back or leaves.",
            ),
            entry("all", "(self: Kind) -> { Entity }", "All entities of this kind, oldest first."),
            entry("count", "(self: Kind) -> number", "Number of its entities."),
            entry(
                "is",
                "(self: Kind, entity: Entity?) -> boolean",
                "Whether an entity is of this kind; false for nil and for a removed entity.",
            ),
        ],
    },
    Section {
        title: "Entities and players",
        of: "Entity",
        entries: &[
            entry("id", "number", "Its number, which clients know too. Never used twice."),
            entry(
                "alive",
                "boolean",
                "Whether it is still in the world. A removed entity may only be kept and compared.",
            ),
            entry("kind", "Kind", "The kind of an entity, or of a player's avatar."),
            entry(
                "position",
                "vector",
                "In metres; Y is up. Setting it moves the entity at once, and every client sees a jump; to move something smoothly, set `velocity`.",
            ),
            entry("velocity", "vector", "In metres a second."),
            entry(
                "spin",
                "vector",
                "Angular velocity: the axis of rotation, with the length of the radians a second.",
            ),
            entry(
                "yaw",
                "number",
                "Rotation to the left about the upright axis, in radians; 0 looks along -Z.",
            ),
            entry("facing", "vector", "The horizontal direction in which it looks, of length 1. Read only."),
            entry(
                "rotation",
                "{ number }",
                "As a quaternion: x, y, z, w; see `world.rotation`. Setting it turns the entity at once.",
            ),
            entry("scale", "vector", "Multiple of its kind's shape. Read only."),
            entry("mass", "number?", "In kilograms; nil without a dynamic body. Read only."),
            entry("asleep", "boolean?", "Whether its body is at rest. Read only."),
            entry(
                "owner",
                "Entity?",
                "The player that owns it; nil for the server. Setting it changes the owner.",
            ),
            entry(
                "parent",
                "Entity?",
                "The entity whose pose it follows. Dynamic bodies other than walkers cannot have a parent; a walker with a parent sits there, and does not walk. Setting `position` changes the pose relative to the parent.",
            ),
            entry("private", "any", "A saved table of an entity or a player. Clients never receive it."),
            entry("player", "Entity?", "The player whose avatar it is. Read only."),
            entry("avatar", "Entity?", "The entity that a player moves. Read only."),
            entry("name", "string", "The name of a player. Read only."),
            entry("is_program", "boolean", "Whether a player is a program. Read only."),
            entry(
                "input",
                "{ forward: number, right: number, yaw: number, run: boolean, jump: boolean }",
                "The input of a player (read only), or of a walker without a player (set it to make the walker walk).",
            ),
            entry(
                "look",
                "{ yaw: number, pitch: number, direction: vector }",
                "Where a player or an entity looks: `yaw` and `pitch` (up) in radians, and the `direction` of length 1. The pitch of a player is known if its kind of walker has `pitch = true`, and is 0 otherwise. Read only.",
            ),
            entry(
                "is_on_ground",
                "boolean",
                "Whether a walker stood on ground in its last step; false for other entities. Read only.",
            ),
            entry("tags", "{ string }", "Read only; see `tag`."),
            entry(
                "roles",
                "{ string }",
                "The roles of a player, from its token (docs/SERVER.md), as it joined; `editor` also without a token on the server's machine. Read only.",
            ),
            entry(
                "account",
                "string?",
                "The name of the account that a player has on every visit: `key:…` from the identity of its page, `token:…` from the name in its token, nil for a guest. Read only.",
            ),
            entry(
                "saved",
                "any",
                "The saved table of a player's account, declared by `world.saved`. It follows the account through visits, restarts and the rooms of this world. A guest has such a table until it leaves. At most 64 KiB.",
            ),
            entry(
                "has_role",
                "(self: Entity, role: string) -> boolean",
                "Whether a player has a role, such as \"builder\".",
            ),
            entry(
                "despawn",
                "(self: Entity) -> ()",
                "Removes it, its joints, and the entities attached to it.",
            ),
            entry(
                "spawn_avatar",
                "(self: Entity, kind: Kind, fields: SpawnFields?) -> Entity",
                "Makes the avatar of a player. An earlier avatar is removed.",
            ),
            entry(
                "control",
                "(self: Entity, entity: Entity, options: { seat: vector? }?) -> ()",
                "Lets the input of a player move another entity, such as a drone or a vehicle, which becomes its avatar. The former avatar stays: a walker stands still, or with `seat` (a place relative to the entity) sits there and moves along. `player:control(person)` returns to it. See \"Vehicles and drones\".",
            ),
            entry(
                "tell",
                "(self: Entity, text: string) -> ()",
                "Writes a line of at most 400 bytes into the chat of one player, without a speaker.",
            ),
            entry(
                "kick",
                "(self: Entity, reason: string?) -> ()",
                "Removes a player from the room. Its page shows the reason (64 bytes at most); \"leave\" is called as always. The player may join again.",
            ),
            entry(
                "ban",
                "(self: Entity, reason: string?, options: { hours: number?, world: boolean? }?) -> ()",
                "Removes a player from the room as `kick` does, and refuses its return for `hours` (24; at most a year): to this room, or with `world = true` to all rooms of this world. The server recognises the player by its token, its key and its address, as for `/ban` (docs/SERVER.md, \"Bans\"); a player that it cannot recognise is only removed.",
            ),
            entry(
                "send_to",
                "(self: Entity, room: string, data: any?) -> ()",
                "Sends a player to another room of this server: its page goes there without a reload. The hook \"arrive\" of that room receives `data`, at most 4 KiB. Any other name than that of a room is refused. See \"Portals\".",
            ),
            entry(
                "apply_impulse",
                "(self: Entity, impulse: vector, at: vector?) -> ()",
                "Changes its velocity at once, by newton seconds, at a place in the world or at its centre.",
            ),
            entry(
                "apply_angular_impulse",
                "(self: Entity, impulse: vector) -> ()",
                "Changes its angular velocity at once, by newton metre seconds.",
            ),
            entry(
                "apply_force",
                "(self: Entity, force: vector, torque: vector?) -> ()",
                "Applies a force in newtons, and a torque in newton metres, for one step.",
            ),
            entry(
                "launch",
                "(self: Entity, velocity: vector) -> ()",
                "Throws a walker with this velocity, in metres a second: it leaves the ground, as in a jump. Setting `velocity` leaves a walker on the ground.",
            ),
            entry(
                "glide_to",
                "(self: Entity, to: vector, turn: (number | { number })?) -> ()",
                "Moves a kinematic body so that it arrives after the next step, turned to a yaw or a rotation. It keeps that velocity: call it again, or set `velocity` and `spin`.",
            ),
            entry(
                "move_to",
                "(self: Entity, to: vector, options: MoveFields?) -> ()",
                "Moves a kinematic body to a place within some seconds, and stops it there. Another `move_to`, `glide_to`, an owner, or setting its position, rotation, velocity, spin or parent ends the move. The move is saved.",
            ),
            entry(
                "follow",
                "(self: Entity, path: { vector }, options: PathFields?) -> ()",
                "Moves a kinematic body from its place through the 1 to 64 places of a path, in straight lines, and stops it at the last one. This move ends for the same reasons as a `move_to`. The move is saved. At most 1,024 entities follow paths at the same time.",
            ),
            entry(
                "turn_to",
                "(self: Entity, turn: number | { number }, options: MoveFields?) -> ()",
                "Turns a kinematic body at its place, as `move_to` moves it, to a yaw or a rotation, the shorter way round.",
            ),
            entry(
                "walk",
                "(self: Entity, direction: vector, run: boolean?) -> ()",
                "Makes a walker walk in a direction, as fast as `direction` is long (at most 1); `vector.zero` stops it.",
            ),
            entry(
                "touching",
                "(self: Entity) -> { Entity }",
                "The entities that it touches now, oldest first.",
            ),
            entry(
                "distance",
                "(self: Entity, other: Entity) -> number",
                "Metres between the surfaces of two bodies.",
            ),
            entry("tag", "(self: Entity, tag: string) -> ()", "Adds a tag, at most 16."),
            entry("untag", "(self: Entity, tag: string) -> ()", "Removes a tag."),
            entry("has_tag", "(self: Entity, tag: string) -> boolean", "Whether it has a tag."),
            entry(
                "pass_through",
                "(self: Entity, other: Entity?) -> ()",
                "Ignores contacts with one other entity; nil ends that.",
            ),
            entry(
                "set_gravity",
                "(self: Entity, scale: number) -> ()",
                "Multiple of the world's gravity that acts on it; 0 lets it float.",
            ),
        ],
    },
    PANEL,
    FIELDS,
];

/// Returns the type definitions of `@nowcast/world` for editors. An alias in `.luaurc` names the file of this text.
pub fn world_types() -> String {
    let mut text = String::from(HEAD);
    for section in &SECTIONS {
        match section.of {
            "" => section.entries.iter().for_each(|entry| write_alias(&mut text, entry)),
            of => write_type(&mut text, of, section.entries),
        }
    }
    text.push_str("\nreturn (nil :: any) :: World\n");
    text
}

/// Returns the type definitions of `@nowcast/test` for editors.
pub fn test_types() -> String {
    let mut text = format!("{HEAD}\nlocal world = require(\"./world\")\ntype Entity = world.Entity\n");
    write_type(&mut text, TESTING.of, TESTING.entries);
    text.push_str("\nreturn (nil :: any) :: Test\n");
    text
}

/// Returns the type definitions of the library for editors: the name of each module after `@nowcast/`, and the text.
pub fn library_types() -> Vec<(&'static str, String)> {
    let types = |section: &Section| {
        let mut text = format!(
            "{HEAD}\nlocal world = require(\"./world\")\ntype Entity = world.Entity\ntype Kind = world.Kind\n\
             type KindFields = world.KindFields\ntype SpawnFields = world.SpawnFields\n"
        );
        write_type(&mut text, "Module", section.entries);
        text.push_str("\nreturn (nil :: any) :: Module\n");
        (section.of, text)
    };
    LIBRARY.iter().map(types).collect()
}

/// Returns the name of each module of the library after `@nowcast/`. [`names_of`] and [`arguments_of`] know them.
pub fn library_modules() -> Vec<&'static str> {
    LIBRARY.iter().map(|section| section.of).collect()
}

/// All sections, in the order of the reference.
fn sections() -> impl Iterator<Item = &'static Section> {
    SECTIONS.iter().chain([&TESTING]).chain(&LIBRARY)
}

fn entries_of(of: &str) -> impl Iterator<Item = &'static Entry> {
    sections().filter(move |section| section.of == of).flat_map(|section| section.entries)
}

const HEAD: &str = "--!strict\n-- Types for editors. Made by Nowcast; your world runs without this file.\n";

fn write_alias(text: &mut String, entry: &Entry) {
    let _ = write!(text, "\n-- {}\nexport type {} = {}\n", entry.doc, entry.name, entry.ty);
}

fn write_type(text: &mut String, name: &str, entries: &[Entry]) {
    let _ = write!(text, "\nexport type {name} = {{\n");
    for entry in entries {
        let _ = write!(text, "\t-- {}\n\t{}: {},\n", entry.doc, entry.name, entry.ty);
    }
    // A kind may declare any attributes.
    text.push_str(if name == "Entity" { "\t[string]: any,\n}\n" } else { "}\n" });
}

/// Returns the reference of docs/WORLDS.md.
pub fn reference() -> String {
    let mut text = String::new();
    for section in sections() {
        let _ = write!(text, "### {}\n\n| name | type | description |\n| --- | --- | --- |\n", section.title);
        let prefix = match section.of {
            "World" => "world.".to_owned(),
            "Test" => "test.".to_owned(),
            "" | "Kind" | "Entity" | "Panel" => String::new(),
            module => format!("{module}."),
        };
        for Entry { name, ty, doc } in section.entries {
            let ty = ty.replace('|', "\\|");
            let _ = writeln!(text, "| `{prefix}{name}` | `{ty}` | {doc} |");
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}

/// Returns the names of the API that belong to `World`, `Kind`, `Entity` (and players), `Test` or a module of the
/// library; none for another type.
pub fn names_of(of: &str) -> Vec<&'static str> {
    entries_of(of).map(|entry| entry.name).collect()
}

/// Returns the minimum and the maximum number of arguments of a function of the API, and whether the function is a method
/// (`subject:name(…)`). The subject is not counted. `None` for names that are not functions.
pub fn arguments_of(of: &str, name: &str) -> Option<Arity> {
    let ty = entries_of(of).find(|entry| entry.name == name)?.ty;
    let rest = ty.strip_prefix('(')?;
    let mut parameters = parameters(rest);
    let is_method = parameters.first().is_some_and(|first| first.starts_with("self:"));
    if is_method {
        parameters.remove(0);
    }
    let is_open = parameters.iter().any(|parameter| parameter.starts_with("..."));
    // A parameter of the type `any` may be nil, so the argument may be missing.
    let needed = parameters.iter().rposition(|ty| {
        let may_be_nil = ty.ends_with('?') || ty.ends_with(": any") || ty.starts_with("...");
        !may_be_nil
    });
    Some(Arity {
        least: needed.map_or(0, |last| last + 1),
        greatest: if is_open { usize::MAX } else { parameters.len() },
        is_method,
    })
}

/// The number of arguments of a function of the API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arity {
    /// Fewer arguments raise an error.
    pub least: usize,
    /// Further arguments are ignored.
    pub greatest: usize,
    /// Whether the function is called with a colon. The subject is not counted.
    pub is_method: bool,
}

/// Splits the parameters of a type of a function, whose text begins after the first parenthesis.
fn parameters(text: &str) -> Vec<&str> {
    let (mut depth, mut begin, mut found) = (0, 0, Vec::new());
    for (at, letter) in text.char_indices() {
        match letter {
            '(' | '{' | '[' => depth += 1,
            ',' if depth == 0 => {
                found.push(text[begin..at].trim());
                begin = at + 1;
            }
            ')' if depth == 0 => {
                found.push(text[begin..at].trim());
                break;
            }
            ')' | '}' | ']' => depth -= 1,
            _ => {}
        }
    }
    found.retain(|parameter| !parameter.is_empty());
    found
}

#[cfg(test)]
mod tests;
