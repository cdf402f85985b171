//! The types of tables that functions of the API take and return.

use super::{Section, entry};

pub(super) const PANEL: Section = Section {
    title: "Panels",
    of: "Panel",
    entries: &[
        entry("name", "string", "Its name."),
        entry(
            "set",
            "(self: Panel, part: string, value: any, player: Entity?) -> ()",
            "Sets the value of a part on every screen, or on one player's, whose own value has priority; nil returns to the declared one. A text shows a text, a number or a boolean, a bar a number, a list at most 16 texts. A button or an input shows a text, and false turns it off; a picture shows a file. Texts have at most 200 bytes.",
        ),
        entry(
            "show",
            "(self: Panel, player: Entity?, entity: Entity?) -> ()",
            "Shows the panel to all players, or to one. A panel with `at = \"entity\"` hangs over an entity.",
        ),
        entry(
            "hide",
            "(self: Panel, player: Entity?) -> ()",
            "Hides the panel from all players, or from one.",
        ),
    ],
};

pub(super) const FIELDS: Section = Section {
    title: "Fields of tables",
    of: "",
    entries: &[
        entry(
            "KindFields",
            "{ body: BodyFields?, walker: WalkerFields?, appearance: boolean?, look: any?, attributes: { [string]: any }?, tags: { string }?, owner: OwnerFields?, formerly: any?, interest: any?, update_rates: { UpdateRate }?, precision: number?, rotation_precision: number?, layer: string?, ignores: { string }? }",
            "Clients receive `look` unchanged. `walker` (which may be `{}`) makes it a person with a body of its own. With `appearance = true` its players choose clothes and gestures: it gets the attributes `outfit` and `emote`. `owner` declares which players may own its entities. `formerly` is an earlier name of the kind, or a list of them: the kind takes over the entities of that name. `interest` says which players see its entities: with `{ radius = 60 }` players whose avatars are within 60 metres, with \"always\" all, with \"never\" none, with \"owner\" the player that owns it. `update_rates` says how often players receive its movement, by distance. `precision` is the largest error of positions that clients receive, in metres (0.001), and `rotation_precision` that of the three smaller numbers of a rotation's quaternion (0.0002): less precision costs fewer bytes. `layer` names the collision layer of its bodies (\"default\"; at most 15 others), and `ignores` the layers that they pass through: two bodies collide unless one ignores the layer of the other. A sensor does not report what it ignores.",
        ),
        entry(
            "UpdateRate",
            "{ within: number?, hz: number }",
            "One of 1 to 4 distance classes: entities `within` this many metres of a player's avatar are sent at most `hz` times a second, from 4 to 60. The nearest class comes first, and the last class has no `within`. A farther class must not have a higher rate. Without `update_rates`, entities are sent in every round of updates, and beyond half of the world's radius of interest in every second round.",
        ),
        entry(
            "BodyFields",
            "ShapeFields & { motion: string?, mass: number?, density: number?, friction: number?, restitution: number?, gravity_scale: number?, linear_damping: number?, angular_damping: number?, locks_rotation: boolean?, bullet: boolean?, role: string? }",
            "`motion` is \"dynamic\" (moved by forces), \"fixed\", \"kinematic\" (moved by its velocity alone) or \"sensor\" (others pass through it, and it reports overlaps). `mass` in kilograms, or `density` in kilograms a cubic metre. `role` is \"ladder\" (a \"fixed\" body that walkers climb) or \"water\" (a \"sensor\" in which walkers swim).",
        ),
        entry(
            "ShapeFields",
            "{ shape: string, size: vector?, radius: number?, height: number?, points: { vector }?, vertices: { vector }?, triangles: { number }?, heights: { number }?, columns: number?, parts: { any }?, at: vector? }",
            "\"box\" (`size`), \"sphere\" (`radius`), \"capsule\", \"cylinder\", \"cone\" (`radius`, `height` from end to end), \"hull\" (`points`), \"mesh\" (`vertices`, `triangles`: three numbers of vertices each), \"heights\" (`heights` row by row, `columns`, `size`), \"compound\" (`parts`: shapes, each `at` its place).",
        ),
        entry(
            "WalkerFields",
            "{ height: number?, radius: number?, mass: number?, walk_speed: number?, run_speed: number?, ground_acceleration: number?, air_acceleration: number?, jump_speed: number?, adjustable: boolean?, pitch: boolean? }",
            "Metres, kilograms, seconds. A person is 1.8 m high, walks 3.2 m/s, runs 6.4 m/s and jumps with 4.95 m/s. With `adjustable = true` each walker has the attributes `speed` and `jump` (factors from 0 to 8 in steps of 1/64; 1) and `frozen` (false), which your rules set and pages predict. With `pitch = true` it has the attribute `pitch`, how far up its player looks, for `look`.",
        ),
        entry(
            "OwnerFields",
            "{ by: string?, speed: number?, turn: number?, reach: number?, area: { at: vector?, size: vector }?, beyond: string?, attributes: { string }?, spawns: number?, leave: string? }",
            "`by` is \"player\", \"program\" or \"anyone\"; without it, only your script sets an owner. An owner moves it with at most `speed` metres a second (10), turns it with `turn` radians a second (12), within `reach` metres of its avatar (without an avatar: of the place where it became the owner), inside of the box `area`. A target outside of these is moved to their edge, or with `beyond = \"refuse\"` refused. An owner may set `attributes`, and make up to `spawns` entities (0). When the owner leaves, `leave` decides: \"release\" (to the server), \"keep\" (the player that left still owns it) or \"despawn\".",
        ),
        entry(
            "BindingFields",
            "{ key: (string | { string })?, label: string?, charge: string?, pitch: string?, target: string?, of: any?, reach: number?, needs: string?, unless: string?, durable: boolean?, predict: string?, speed: number?, rise: number? }",
            "`key` is a letter or a digit, \"left\" or \"right\" (mouse), or a list of at most 4 of these, of which each triggers the action. `label` is a word or two. `charge`, `pitch` and `target` each name an argument of the action. `charge` grows from its minimum to its maximum while the key is held, up to a second. `pitch` receives how far the player looks up. `target` receives the entity that the player looks at, or the nearest in front, within `reach` metres (2.5); `of` limits targets to a kind, or to a list of kinds or their names. Without a target the action is only sent if that argument may be nil. `needs` and `unless` name an attribute of the player's avatar: the action is offered while it is set, or while it is not (nil, false, 0 and empty text count as not set). `durable = true` makes an action happen exactly once and never be lost; `predict` (\"grab\", \"throw\" or \"launch\", with `speed` ahead and `rise` upward in metres a second) lets pages show its effect on the hands or the avatar at once: see \"Actions\".",
        ),
        entry(
            "CommandFields",
            "{ help: string?, arguments: { any }?, roles: { string }? }",
            "`help` is one sentence. Each of at most 8 `arguments` is a table with a name, a type (\"text\", \"number\", \"integer\", \"bool\" or \"player\", each followed by `?` if it may be missing), and `min`, `max`, `one_of` (a list of words) or `default`: `{ \"count\", \"integer\", min = 1, max = 9, default = 1 }`. A text at the end takes the rest of the line; other texts with spaces need quotes. The beginning of its name identifies a player. If `roles` is set, only players with one of these roles may use the command.",
        ),
        entry(
            "PanelFields",
            "{ at: string?, title: string?, open: boolean?, parts: { PartFields } }",
            "`at` is \"top_left\" (the default), \"top\", \"top_right\", \"left\", \"center\", \"right\", \"bottom_left\", \"bottom\", \"bottom_right\" or \"entity\". With `open = false`, players see the panel only after `show`; a panel over an entity is always hidden at first.",
        ),
        entry(
            "PartFields",
            "{ [number]: string, name: string, text: string?, label: string?, color: string?, max: number?, press: ((player: Entity, given: any) -> ())? }",
            "Begins with its type: \"text\", \"button\", \"bar\", \"list\", \"input\" or \"picture\". `text` is the first value of a text, a button or an input, or the file of a picture, as in \"assets/coin.png\"; `label` stands before the value, and describes a picture. `max` is the number at which a bar is full (1), the largest number of characters of an input (100; at most 200), or the largest width of a picture in pixels (128; 8 to 512). `press` is called when a player presses a button or the `row` of a list that it sees, or sends the `text` of an input.",
        ),
        entry(
            "LoopFields",
            "{ file: string, at: vector?, on: Entity?, volume: number?, pitch: number?, fade: number? }",
            "`at` is the place of the sound, or `on` the entity to which it is attached; without both it is heard everywhere. `volume` is 0 to 1 (1), `pitch` 0.25 to 4 (1), and `fade` the seconds to fade in and out, 0 to 10 (0).",
        ),
        entry(
            "LightFields",
            "{ type: string?, at: vector?, on: Entity?, direction: vector?, color: string?, brightness: number?, range: number?, angle: number? }",
            "`type` is \"point\" (the default: a lamp), \"spot\" (a cone) or \"sun\" (parallel rays from far away). A lamp or a cone is `at` a place, or `on` an entity, with `at` relative to the entity. `direction` is that of the rays of a cone or a sun. `color` is a colour such as \"#ffcc88\" (white), `brightness` 0 to 100 (1), `range` the metres that the light reaches (12; at most 100), and `angle` half the opening of a cone in radians (0.5; 0.05 to 1.5).",
        ),
        entry(
            "CameraFields",
            "{ mode: string?, at: vector?, rail: { vector }?, look_at: vector?, on: Entity?, distance: number?, min: number?, max: number?, fov: number?, seconds: number? }",
            "`mode` is \"follow\" (the default: behind the avatar), \"first_person\", \"fixed\": `at` a place, and it looks at the place `look_at` or at the entity `on`, or \"rail\": on the line through the places of `rail` (2 to 32), as near to the avatar or to `on` as possible, and it looks there or at `look_at`. `on` lets a camera that follows, follow this entity instead of the avatar. `distance` is that from the avatar in metres, and players change it between `min` and `max`; all are at most 60. `fov` is the vertical field of view in degrees, 20 to 110. The camera glides to a fixed place or to its rail within `seconds` (0; at most 60).",
        ),
        entry(
            "SpawnFields",
            "{ at: vector?, yaw: number?, rotation: { number }?, velocity: vector?, spin: vector?, scale: any?, owner: Entity?, private: any?, tags: { string }?, [string]: any }",
            "`scale` is a vector or one number; `yaw` or `rotation` is the orientation.",
        ),
        entry(
            "JointFields",
            "{ type: string?, axis: vector?, min: number?, max: number?, speed: number?, strength: number?, length: number?, stiffness: number?, damping: number?, anchor_a: vector?, anchor_b: vector?, collides: boolean? }",
            "\"fixed\", \"ball\", \"hinge\" and \"slider\" (`axis`, from `min` to `max`, driven by `speed` with `strength`), \"rope\" (at most `length` apart), \"spring\" (`length`, `stiffness`, `damping`). Each anchor is relative to its body.",
        ),
        entry(
            "MoveFields",
            "{ seconds: number?, easing: string?, turn: (number | { number })? }",
            "The duration (1 second); `easing` is \"in_out\" (the default: starts and stops gently), \"linear\", \"in\" (starts gently) or \"out\" (stops gently); `turn` is the yaw or the rotation at the end.",
        ),
        entry(
            "PathFields",
            "{ seconds: number?, speed: number?, easing: string?, loop: boolean?, face: boolean? }",
            "`seconds` for the whole path, or the mean `speed` in metres a second (2). `easing` is \"linear\" (the default), \"in_out\", \"in\" or \"out\", as in `MoveFields`, over the whole path. With `loop = true` the path leads back to where the body began, and begins again. With `face = true` the body turns so that it faces its way.",
        ),
        entry(
            "Filter",
            "{ except: Entity?, tag: string?, motion: string? }",
            "Leaves one entity out of a query, or finds only entities with a tag, or whose body has this `motion`, such as \"fixed\".",
        ),
        entry(
            "Hit",
            "{ entity: Entity, distance: number, point: vector, normal: vector }",
            "The result of a ray.",
        ),
        entry("Cell", "{ x: number, z: number }", "A cell of a grid; both numbers begin with 1."),
        entry(
            "Grid",
            "{ width: number, depth: number, blocked: { [number]: boolean }, at: vector?, cell: number? }",
            "A cell's number is `x + (z - 1) * width`. `world.grid` sets `at`, the corner of cell 1 where x and z are least, and `cell`, its edge in metres.",
        ),
        entry(
            "GridFields",
            "{ at: vector, size: vector, cell: number?, radius: number?, height: number?, climb: number? }",
            "The ground is the highest fixed surface in the box around `at` of this `size`. `cell` is the edge of a cell in metres (0.5). A cell is blocked if it has no ground or its ground is steeper than 56°, if somebody of this `radius` (0.35) and `height` (1.8) has no room there, or if its ground is more than `climb` metres (0.3) above that of a neighbour.",
        ),
    ],
};
