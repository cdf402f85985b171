//! What scripts can call: one table, from which the editors' type definitions and the reference of docs/WORLDS.md are made.

use std::fmt::Write as _;

/// One name of the API.
struct Entry {
    /// As it is written: `world.after`, `entity.position`, `Kind:spawn`.
    name: &'static str,
    /// Its type in Luau. A method's first parameter is itself.
    ty: &'static str,
    /// What it does, with units.
    doc: &'static str,
}

/// Names that belong together.
struct Section {
    /// As a heading.
    title: &'static str,
    /// The type of the editors' file that has them.
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
                "What the world remembers. `world.state { score = 0 }` declares first values; afterwards it is an ordinary table.",
            ),
            entry(
                "settings",
                "(fields: { gravity: vector?, players_max: number?, entities_max: number?, version: number?, interest: any?, rewind: boolean? }) -> ()",
                "Gravity in metres a second squared (0, -9.81, 0), how many may play (256), how many entities there may be (16,384, at most 131,072), the number of this version of your rules (0), for \"upgrade\", and the `interest` of kinds that say none: `{ radius = 256 }`. `rewind = true` records the last half second, for `world.rewound`.",
            ),
            entry(
                "on",
                "(event: string, fn: (...any) -> any) -> ()",
                "Calls `fn` at \"start\" (), \"step\" (dt: seconds), \"join\" (player), \"leave\" (player), \"program_join\" and \"program_leave\" (player: a program, see \"Owners\"), \"message\" (player, text) or \"upgrade\" (from: the number of the version that ran before, nil where nobody knows); a message of which any `fn` returns false is heard by nobody.",
            ),
            entry(
                "action",
                "(name: string, arguments: { [string]: any }, fn: (player: Entity, arguments: any) -> (), binding: BindingFields?) -> ()",
                "Declares what players can do, with the types of its arguments as attributes have them. Arguments that do not fit are refused before `fn` sees them. `binding` says how people give it: a key, a label, a target.",
            ),
            entry(
                "event",
                "(name: string, fields: { [string]: any }) -> ()",
                "Declares what `world.emit` tells under this name, with types as attributes have them. Events may be told without; declared ones are checked and cost fewer bytes.",
            ),
            entry(
                "timer",
                "(name: string, fn: (data: any) -> ()) -> ()",
                "Declares what a timer of this name does.",
            ),
            entry(
                "after",
                "(seconds: number, name: string, data: any?) -> number",
                "Sets a timer, and returns its number. It is called once; set it again to repeat. The data lasts.",
            ),
            entry(
                "cancel",
                "(timer: number) -> boolean",
                "Takes a timer back; false when it was called already.",
            ),
            entry(
                "emit",
                "(name: string, payload: any, options: { to: Entity?, near: vector?, radius: number? }?) -> ()",
                "Tells an event to everybody, to one player, or to those whose avatars are within `radius` metres of `near`.",
            ),
            entry(
                "show",
                "(place: string, value: any, player: Entity?) -> ()",
                "Writes something on everybody's screen, or on one player's, until it is changed; nil clears it.",
            ),
            entry(
                "sound",
                "(file: string, options: { at: vector?, volume: number?, to: Entity?, near: vector?, radius: number? }?) -> ()",
                "Lets a sound of the world's `assets/` be heard: everywhere, or from a place `at`; by all, by one player, or by those within `radius` metres of `near` (of `at` by default).",
            ),
            entry(
                "players",
                "(tag: string?) -> { Entity }",
                "Everybody who is here, in the order in which they came, or those of them with a tag: a team; not programs.",
            ),
            entry(
                "programs",
                "() -> { Entity }",
                "The programs that are here, in the order in which they came.",
            ),
            entry("tagged", "(tag: string) -> { Entity }", "All entities with a tag, oldest first."),
            entry(
                "time",
                "() -> number",
                "Seconds of the world's own time: it stands still when the world does.",
            ),
            entry("tick", "() -> number", "Steps so far; 60 a second."),
            entry(
                "random",
                "() -> number",
                "A random number from 0 to 1, 1 excluded. `math.random` uses it too.",
            ),
            entry(
                "raycast",
                "(origin: vector, direction: vector, reach: number, options: Filter?) -> Hit?",
                "The first body that a ray meets within `reach` metres, or nil. Sensors are passed through.",
            ),
            entry(
                "overlap",
                "(at: vector, shape: ShapeFields, options: Filter?) -> { Entity }",
                "Whatever overlaps a shape, sensors too, oldest first.",
            ),
            entry(
                "rewound",
                "(player: Entity, fn: () -> ...any) -> ...any",
                "Calls `fn` while `world.raycast`, `world.overlap`, `distance`, `position`, `yaw`, `facing` and `rotation` find everything where this player saw it when it gave its action, half a second ago at most, and returns what `fn` does. Its own avatar and what hangs on that are where they are. Nothing else is different, and what `fn` changes is changed now. Not inside of itself. Needs `world.settings { rewind = true }`.",
            ),
            entry(
                "joint",
                "(a: Entity, b: Entity, fields: JointFields) -> number",
                "Holds two bodies together, and returns the joint's number.",
            ),
            entry("remove_joint", "(joint: number) -> ()", "Removes a joint."),
            entry(
                "path",
                "(grid: Grid, from: Cell, to: Cell) -> { Cell }?",
                "The shortest path over a grid of cells, without the first one; nil when there is none. Cells that are true in `blocked` are not walked, and no corner is cut.",
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
            entry("name", "string", "What it is called."),
            entry(
                "spawn",
                "(self: Kind, fields: SpawnFields?) -> Entity",
                "Makes an entity. It is there at once; queries and contacts see it from the next step on. Any other field is an attribute.",
            ),
            entry(
                "on",
                "(self: Kind, event: string, fn: (...any) -> ()) -> ()",
                "Calls `fn` at \"step\" (entity, dt) for each of its entities, at \"contact\" (entity, other, impulse in newton seconds) and at \"contact_end\" (entity, other), when one begins or ceases to touch another; at \"own\" (entity, player), when a player asks for one or made one, which it does not get if any `fn` returns false; and at \"release\" (entity, player), before it gives one back or leaves.",
            ),
            entry("all", "(self: Kind) -> { Entity }", "All entities of this kind, oldest first."),
            entry("count", "(self: Kind) -> number", "How many there are."),
        ],
    },
    Section {
        title: "Entities and players",
        of: "Entity",
        entries: &[
            entry("id", "number", "Its number, as clients know it. Never used twice."),
            entry(
                "alive",
                "boolean",
                "Whether it is still in the world. What is not may be kept, compared and asked for nothing else.",
            ),
            entry("kind", "Kind", "Of an entity, or of a player's avatar."),
            entry(
                "position",
                "vector",
                "In metres; Y is up. Setting it puts it there at once, and everybody sees a jump; to move something, set `velocity`.",
            ),
            entry("velocity", "vector", "In metres a second."),
            entry("spin", "vector", "The axis of its turn, as long as its radians a second."),
            entry(
                "yaw",
                "number",
                "How far it is turned to the left about the upright axis, in radians; 0 looks along -Z.",
            ),
            entry("facing", "vector", "Where it looks, level, of length 1. Read only."),
            entry(
                "rotation",
                "{ number }",
                "As a quaternion: x, y, z, w; see `world.rotation`. Setting it turns it at once.",
            ),
            entry("scale", "vector", "As a multiple of its kind's shape. Read only."),
            entry("mass", "number?", "In kilograms; nil without a dynamic body. Read only."),
            entry("asleep", "boolean?", "Whether it is at rest. Read only."),
            entry(
                "owner",
                "Entity?",
                "The player that owns it; nil for the server. Setting it passes it on.",
            ),
            entry(
                "parent",
                "Entity?",
                "What it hangs on and follows; for what forces do not move. Setting `position` moves it to another place on its parent.",
            ),
            entry(
                "private",
                "any",
                "A table that the world keeps for you, of an entity or a player. Clients are never told.",
            ),
            entry("player", "Entity?", "The player whose avatar it is. Read only."),
            entry("avatar", "Entity?", "Of a player: the entity that it moves. Read only."),
            entry("name", "string", "Of a player. Read only."),
            entry("is_program", "boolean", "Of a player. Read only."),
            entry(
                "input",
                "{ forward: number, right: number, yaw: number, run: boolean, jump: boolean }",
                "What the controls say: of a player to read, of a walker without a player to set.",
            ),
            entry("tags", "{ string }", "Read only; see `tag`."),
            entry("despawn", "(self: Entity) -> ()", "Removes it, its joints, and what hangs on it."),
            entry(
                "spawn_avatar",
                "(self: Entity, kind: Kind, fields: SpawnFields?) -> Entity",
                "Of a player: makes the entity that it moves. One that it had goes.",
            ),
            entry(
                "apply_impulse",
                "(self: Entity, impulse: vector, at: vector?) -> ()",
                "Changes its velocity at once, by newton seconds, at a place in the world or at its centre.",
            ),
            entry(
                "apply_angular_impulse",
                "(self: Entity, impulse: vector) -> ()",
                "Changes its spin at once, by newton metre seconds.",
            ),
            entry(
                "apply_force",
                "(self: Entity, force: vector, torque: vector?) -> ()",
                "Lets a force in newtons act for one step.",
            ),
            entry(
                "glide_to",
                "(self: Entity, to: vector, turn: (number | { number })?) -> ()",
                "Moves a kinematic body so that it is there after the next step, turned to a yaw or a rotation. It goes on as fast: glide again, or set `velocity` and `spin`.",
            ),
            entry(
                "walk",
                "(self: Entity, direction: vector, run: boolean?) -> ()",
                "Lets a walker go that way, as fast as `direction` is long (1 at most); `vector.zero` stops it.",
            ),
            entry("touching", "(self: Entity) -> { Entity }", "Whom it touches now, oldest first."),
            entry(
                "distance",
                "(self: Entity, other: Entity) -> number",
                "Metres between the surfaces of two bodies.",
            ),
            entry("tag", "(self: Entity, tag: string) -> ()", "Gives it a tag, 16 at most."),
            entry("untag", "(self: Entity, tag: string) -> ()", "Takes a tag away."),
            entry("has_tag", "(self: Entity, tag: string) -> boolean", "Whether it has a tag."),
            entry(
                "pass_through",
                "(self: Entity, other: Entity?) -> ()",
                "Lets it touch everything but one other, or (nil) everything again.",
            ),
            entry(
                "set_gravity",
                "(self: Entity, scale: number) -> ()",
                "How much of the world's gravity it feels; 0 lets it float.",
            ),
        ],
    },
    Section {
        title: "Fields of tables",
        of: "",
        entries: &[
            entry(
                "KindFields",
                "{ body: BodyFields?, walker: WalkerFields?, look: any?, attributes: { [string]: any }?, tags: { string }?, owner: OwnerFields?, formerly: any?, interest: any?, precision: number?, rotation_precision: number? }",
                "`look` is told to clients as it is. `walker` (which may be `{}`) makes it a person with a body of its own. `owner` says who may own them. `formerly` is a name that the kind had, or a list of them: it takes over the entities of that name. `interest` says which players see its entities: `{ radius = 60 }` those whose avatars are within so many metres, \"always\" all, \"never\" none, \"owner\" the player that owns it. `precision` is how far off positions may be that players are told (0.001), in metres, and `rotation_precision` how far off the three smaller numbers of a rotation's quaternion (0.0002): what may be less precise costs fewer bytes.",
            ),
            entry(
                "BodyFields",
                "ShapeFields & { motion: string?, mass: number?, density: number?, friction: number?, restitution: number?, gravity_scale: number?, linear_damping: number?, angular_damping: number?, locks_rotation: boolean?, bullet: boolean? }",
                "`motion` is \"dynamic\" (moved by forces), \"fixed\", \"kinematic\" (moved by its velocity alone) or \"sensor\" (others pass through it, and it reports whom it overlaps). `mass` in kilograms, or `density` in kilograms a cubic metre.",
            ),
            entry(
                "ShapeFields",
                "{ shape: string, size: vector?, radius: number?, height: number?, points: { vector }?, vertices: { vector }?, triangles: { number }?, heights: { number }?, columns: number?, parts: { any }?, at: vector? }",
                "\"box\" (`size`), \"sphere\" (`radius`), \"capsule\", \"cylinder\", \"cone\" (`radius`, `height` from end to end), \"hull\" (`points`), \"mesh\" (`vertices`, `triangles`: three numbers of vertices each), \"heights\" (`heights` row by row, `columns`, `size`), \"compound\" (`parts`: shapes, each `at` its place).",
            ),
            entry(
                "WalkerFields",
                "{ height: number?, radius: number?, mass: number?, walk_speed: number?, run_speed: number?, ground_acceleration: number?, air_acceleration: number?, jump_speed: number? }",
                "Metres, kilograms, seconds. A person is 1.8 m high, walks 3.2 m/s, runs 6.4 m/s and jumps with 4.95 m/s.",
            ),
            entry(
                "OwnerFields",
                "{ by: string?, speed: number?, turn: number?, reach: number?, area: { at: vector?, size: vector }?, beyond: string?, attributes: { string }?, spawns: number?, leave: string? }",
                "`by` is \"player\", \"program\" or \"anyone\"; without it only your script gives one away. An owner moves it with at most `speed` metres a second (10), turns it with `turn` radians a second (12), within `reach` metres of its avatar (without one: of where it got it), inside of the box `area`. What is too far is brought nearer, or with `beyond = \"refuse\"` refused. It may set `attributes`, and make up to `spawns` of them (0). When it leaves, it goes by `leave`: \"release\" (to the server), \"keep\" (it remains the one's who left) or \"despawn\".",
            ),
            entry(
                "BindingFields",
                "{ key: string?, label: string?, charge: string?, pitch: string?, target: string?, of: any?, reach: number?, needs: string?, unless: string?, durable: boolean?, predict: string?, speed: number? }",
                "`key` is a letter, \"left\" or \"right\" (mouse), `label` a word or two. These name arguments: `charge` grows from its least to its greatest while the key is held, up to a second; `pitch` gets how far the player looks up; `target` the entity that is looked at, or the nearest in front, within `reach` metres (2.5), of the kind `of`, which is a kind, its name, or a list of these. Without a target the action is only sent if that argument may be nil. `needs` and `unless` name an attribute of the player's avatar: the action is offered while it is set, or while it is not (nil, false, 0 and empty text are not). `durable = true` makes an action happen once and last; `predict` (\"grab\" or \"throw\", with `speed` in metres a second) lets pages show at once what it does with one's hands: see \"Actions\".",
            ),
            entry(
                "SpawnFields",
                "{ at: vector?, yaw: number?, rotation: { number }?, velocity: vector?, spin: vector?, scale: any?, owner: Entity?, private: any?, tags: { string }?, [string]: any }",
                "`scale` is a vector or one number; `yaw` or `rotation` says how it is turned.",
            ),
            entry(
                "JointFields",
                "{ type: string?, axis: vector?, min: number?, max: number?, speed: number?, strength: number?, length: number?, stiffness: number?, damping: number?, anchor_a: vector?, anchor_b: vector?, collides: boolean? }",
                "\"fixed\", \"ball\", \"hinge\" and \"slider\" (`axis`, from `min` to `max`, driven by `speed` with `strength`), \"spring\" (`length`, `stiffness`, `damping`). Anchors are seen from each of the two.",
            ),
            entry("Filter", "{ except: Entity?, tag: string? }", "What a query looks at."),
            entry(
                "Hit",
                "{ entity: Entity, distance: number, point: vector, normal: vector }",
                "What a ray met.",
            ),
            entry("Cell", "{ x: number, z: number }", "From 1 on."),
            entry(
                "Grid",
                "{ width: number, depth: number, blocked: { [number]: boolean } }",
                "A cell's number is `x + (z - 1) * width`.",
            ),
        ],
    },
    Section {
        title: "Tests",
        of: "Test",
        entries: &[
            entry(
                "case",
                "(name: string, fn: () -> ()) -> ()",
                "Declares a case. It is played in a world of its own.",
            ),
            entry("join", "(name: string?) -> Entity", "A bot comes."),
            entry("leave", "(player: Entity) -> ()", "A bot goes."),
            entry("join_program", "(name: string?) -> Entity", "A bot comes as a program."),
            entry("own", "(player: Entity, entity: Entity) -> ()", "A bot asks for an entity."),
            entry(
                "release",
                "(player: Entity, entity: Entity, to: Entity?) -> ()",
                "A bot gives an entity back, or passes it on.",
            ),
            entry(
                "move",
                "(player: Entity, entity: Entity, at: vector, rotation: { number }?) -> ()",
                "A bot says where an entity of its own is to be from now on.",
            ),
            entry(
                "set",
                "(player: Entity, entity: Entity, attributes: { [string]: any }) -> ()",
                "A bot sets attributes of an entity of its own.",
            ),
            entry(
                "spawn",
                "(player: Entity, kind: Kind, at: vector, attributes: { [string]: any }?) -> ()",
                "A bot makes an entity of its own.",
            ),
            entry("act", "(player: Entity, action: string, arguments: any?) -> ()", "A bot acts."),
            entry(
                "input",
                "(player: Entity, input: { forward: number?, right: number?, yaw: number?, run: boolean?, jump: boolean? }) -> ()",
                "What a bot's controls say from now on.",
            ),
            entry(
                "see",
                "(player: Entity, seconds: number) -> ()",
                "What a bot sees is so long ago from now on (0; 0.5 at most): see `world.rewound`.",
            ),
            entry("say", "(player: Entity, text: string) -> ()", "A bot says something."),
            entry("step", "(steps: number?) -> ()", "Lets so many steps pass (1)."),
            entry("wait", "(seconds: number) -> ()", "Lets so many seconds of the world's time pass."),
            entry(
                "wait_until",
                "(condition: () -> any, seconds: number?) -> any",
                "Waits until `condition` is true, and fails after so many seconds (10).",
            ),
            entry(
                "events",
                "(name: string) -> { { name: string, to: Entity?, payload: any } }",
                "The events of this name that were told so far.",
            ),
            entry(
                "screen",
                "(place: string, player: Entity?) -> any",
                "What stands on everybody's screen, or on one player's.",
            ),
            entry("refusals", "() -> { string }", "Why commands were refused so far."),
            entry(
                "equal",
                "(found: any, expected: any, what: string?) -> ()",
                "Fails when the two are not equal, tables by what is in them.",
            ),
            entry(
                "near",
                "(found: any, expected: any, tolerance: number?, what: string?) -> ()",
                "Fails when two numbers or vectors differ by more than `tolerance` (0.01).",
            ),
        ],
    },
];

/// The type definitions of `@nowcast/world` for editors: a module of this text stands where an alias in `.luaurc` says.
pub fn world_types() -> String {
    let mut text = String::from(HEAD);
    for section in &SECTIONS {
        match section.of {
            "Test" => {}
            "" => section.entries.iter().for_each(|entry| write_alias(&mut text, entry)),
            of => write_type(&mut text, of, section.entries),
        }
    }
    text.push_str("\nreturn (nil :: any) :: World\n");
    text
}

/// The type definitions of `@nowcast/test` for editors.
pub fn test_types() -> String {
    let mut text = format!("{HEAD}\nlocal world = require(\"./world\")\ntype Entity = world.Entity\n");
    for section in SECTIONS.iter().filter(|section| section.of == "Test") {
        write_type(&mut text, section.of, section.entries);
    }
    text.push_str("\nreturn (nil :: any) :: Test\n");
    text
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
    // Attributes are whatever a kind declares.
    text.push_str(if name == "Entity" { "\t[string]: any,\n}\n" } else { "}\n" });
}

/// The reference of docs/WORLDS.md.
pub fn reference() -> String {
    let mut text = String::new();
    for section in &SECTIONS {
        let _ =
            write!(text, "### {}\n\n| name | type | what it does |\n| --- | --- | --- |\n", section.title);
        let prefix = match section.of {
            "World" => "world.",
            "Test" => "test.",
            _ => "",
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

/// Every name of the API that belongs to `World`, `Kind`, `Entity` (and players) or `Test`; none for another type.
pub fn names_of(of: &str) -> Vec<&'static str> {
    let entries = SECTIONS.iter().filter(|section| section.of == of).flat_map(|section| section.entries);
    entries.map(|entry| entry.name).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::{Limits, Scenario, Script, Sources};

    use super::*;

    /// What `keys` of a script's table are.
    fn keys(expression: &str) -> BTreeSet<String> {
        let text = format!(
            "local world = require('@nowcast/world')\nlocal Kind = world.kind('k', {{}})\n\
             local names = {{}} for name in {expression} do table.insert(names, name) end\n\
             table.sort(names) print(table.concat(names, ' '))"
        );
        let script = Script::load(&Sources::of_main(&text), Limits::DEFAULT).unwrap();
        script.sandbox().poll_line().unwrap().split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn the_reference_names_exactly_what_there_is() {
        let documented = |of: &str| names_of(of).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
        assert_eq!(keys("world"), documented("World"));
        let mut kind = keys("getmetatable(Kind).__index");
        kind.insert("name".into());
        assert_eq!(kind, documented("Kind"));
    }

    #[test]
    fn the_types_are_luau_that_loads() {
        let sources = Sources::from_iter([
            ("world.luau", "require('./types/world') require('./types/test')".to_owned()),
            ("types/world.luau", world_types()),
            ("types/test.luau", test_types()),
        ]);
        Script::load(&sources, Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    }

    #[test]
    fn the_tests_module_has_what_is_documented() {
        let names = names_of("Test").join(" ");
        let sources = Sources::from_iter([
            ("world.luau", String::new()),
            (
                "tests/names.luau",
                format!(
                    "local test = require('@nowcast/test') for name in string.gmatch('{names}', '%S+') do \
                     assert(type(test[name]) == 'function', name) end"
                ),
            ),
        ]);
        Scenario::new(sources, "tests/names.luau", Limits::DEFAULT).unwrap_or_else(|fault| panic!("{fault}"));
    }
}
