//! The functions of `@nowcast/world`, and the fields of entities and players.

use super::Row;
use super::Row as R;

const BIG: &str = "local big = table.create(2000, 1)";
const CALL: &str = "the call alone";
const VALUES: &str = "1 per 8 values, and 1 per 256 bytes of text";
const A_BODY: &str = "100, 1 per 2 points or triangles that its shape is built from, and 1 per 4 bodies that its bounding box overlaps";
const AN_AVATAR: &str = "100, and 1 per 2 points or triangles that its shape is built from";
const PLACED: &str = "1 per 4 bodies that its bounding box overlaps, when it is set";
const LOOKED_AT: &str = "1 per 4 parts of bodies that it looks at";
const POINTS: &str = "local points = {} for i = 1, 200 do points[i] = vector.create(math.sin(i), math.cos(i), math.sin(i * i)) end";

/// Declarations, which are possible only while modules are loaded. Their work counts toward the 2,000,000 units of a load.
pub(super) const DECLARING: &[Row] = &[
    R::of(
        "world.kind",
        "1 for each field and element of a list",
        POINTS,
        "world.kind('rock', { body = { shape = 'hull', points = points } })",
        200,
    ),
    R::of(
        "world.state",
        "as 1 MiB of values, when the modules are loaded",
        "local big = table.create(100000, 1)",
        "world.state { big = big }",
        0,
    ),
    R::of(
        "world.settings",
        "1 for each field",
        "",
        "world.settings { players_max = 8, entities_max = 20000 }",
        2,
    ),
    R::of("world.on", CALL, "", "world.on('step', print)", 0),
    R::of(
        "world.action",
        "1 for each field, and the values of its binding",
        "",
        "world.action('go', { far = 'f32' }, print, { key = 'g' })",
        1,
    ),
    R::of("world.event", "1 for each field", "", "world.event('goal', { team = 'text' })", 1),
    R::of("world.timer", CALL, "", "world.timer('other', print)", 0),
    R::of("Kind:on", CALL, "", "Crate:on('contact', print)", 0),
];

/// Functions that need a world. There are 2,000 crates in it, 100 players, and 1,000 timers.
pub(super) const RUNNING: &[Row] = &[
    R::of("world.after", VALUES, BIG, "world.after(1, 'bell', big)", 250),
    R::of("world.every", VALUES, BIG, "world.every(1, 'bell', big)", 250),
    R::of("world.cancel", "1 per 32 timers that wait", "", "world.cancel(1)", 31),
    R::of("world.emit", VALUES, BIG, "world.emit('goal', big)", 250),
    R::of("world.show", VALUES, BIG, "world.show('list', big)", 250),
    R::of("world.sound", "as `world.emit`", "", "world.sound('assets/bell.ogg', { at = vector.zero })", 0),
    R::of("world.players", "1 per 8 players", "", "world.players()", 12),
    R::of("world.programs", "1 per 8 players", "", "world.programs()", 12),
    R::of("world.tagged", "1 per 8 entities and tags that it compares", "", "world.tagged('crate')", 500),
    R::of("world.time", CALL, "", "world.time()", 0),
    R::of("world.tick", CALL, "", "world.tick()", 0),
    R::of("world.random", CALL, "", "world.random()", 0),
    R::of("math.random", CALL, "", "math.random(1, 6)", 0),
    R::of(
        "world.raycast",
        LOOKED_AT,
        "",
        "world.raycast(vector.create(-5, 0, 0), vector.create(1, 0, 0), 10000, { tag = 'none' })",
        10,
    ),
    R::of(
        "world.shapecast",
        "1 per 4 parts of bodies that it looks at, and 1 per 2 parts of the shape",
        "",
        "world.shapecast(vector.create(-5, 0, 0), { shape = 'sphere', radius = 0.5 }, vector.create(1, 0, 0), 10000, { tag = 'none' })",
        10,
    ),
    R::of(
        "world.grid",
        "8 for each cell, and 1 per 4 parts of bodies that it looks at",
        "",
        "world.grid { at = vector.zero, size = vector.create(32, 4, 32) }",
        32_768,
    ),
    R::of(
        "world.overlap",
        "1 per 4 parts of bodies that it looks at, 1 for each that it finds, and 1 per 2 parts of the shape",
        "",
        "world.overlap(vector.zero, { shape = 'sphere', radius = 10000 })",
        2_000,
    ),
    R::of(
        "world.rewound",
        "1 for each entity that was elsewhere, and the work of its function",
        "",
        "world.rewound(player, function() return 1 end)",
        1,
    ),
    R::of("world.joint", "50", "", "world.joint(ball, other, {})", 50),
    R::of("world.remove_joint", "50", "", "world.remove_joint(joint)", 50),
    R::of(
        "world.path",
        "1 per 64 cells of the grid, 1 for each blocked cell, 2 for each cell that it visits",
        "local grid = { width = 100, depth = 100, blocked = {} }",
        "world.path(grid, { x = 1, z = 1 }, { x = 100, z = 100 })",
        356,
    ),
    R::of("world.rotation", CALL, "", "world.rotation(1, 2, 3)", 0),
    R::of("Kind:spawn", A_BODY, "", "Rock:spawn {}", 100),
    R::of("Kind:all", "1 per 16 entities of the world", "", "Crate:all()", 125),
    R::of("Kind:count", "1 per 16 entities of the world", "", "Crate:count()", 125),
    R::of("entity.id", CALL, "", "return crate.id", 0),
    R::of("entity.alive", CALL, "", "return crate.alive", 0),
    R::of("entity.kind", CALL, "", "return crate.kind", 0),
    R::of("entity.position", PLACED, "", "crate.position += vector.one", 0),
    R::of("entity.velocity", CALL, "", "ball.velocity += vector.one", 0),
    R::of("entity.spin", CALL, "", "ball.spin += vector.one", 0),
    R::of("entity.yaw", PLACED, "", "crate.yaw += 1", 0),
    R::of("entity.facing", CALL, "", "return crate.facing", 0),
    R::of("entity.rotation", PLACED, "", "crate.rotation = crate.rotation", 0),
    R::of("entity.scale", CALL, "", "return crate.scale", 0),
    R::of("entity.mass", CALL, "", "return ball.mass", 0),
    R::of("entity.asleep", CALL, "", "return ball.asleep", 0),
    R::of("entity.owner", CALL, "", "crate.owner = player", 0),
    R::of(
        "entity.parent",
        "1 for each entity that hangs on another, when it is set",
        "",
        "crate.parent = ball",
        0,
    ),
    R::of(
        "entity.private",
        "1 per 8 values, and 1 per 256 bytes of text, when it is read first and when the hook ends",
        BIG,
        "crate.private = { big = big }",
        250,
    ),
    R::of("entity.player", "1 per 64 players", "", "return crate.player", 1),
    R::of("entity.avatar", CALL, "", "return player.avatar", 0),
    R::of("entity.name", CALL, "", "return player.name", 0),
    R::of("entity.is_program", CALL, "", "return player.is_program", 0),
    R::of("entity.input", CALL, "", "return player.input", 0),
    R::of("entity.tags", CALL, "", "return crate.tags", 0),
    R::of("entity:despawn", "100, and 1 per 64 entities of the world", "", "crate:despawn()", 131),
    R::of("entity:spawn_avatar", AN_AVATAR, "", "player:spawn_avatar(Person)", 100),
    R::of("entity:apply_impulse", CALL, "", "ball:apply_impulse(vector.one, vector.one)", 0),
    R::of("entity:apply_angular_impulse", CALL, "", "ball:apply_angular_impulse(vector.one)", 0),
    R::of("entity:apply_force", CALL, "", "ball:apply_force(vector.one, vector.one)", 0),
    R::of("entity.roles", CALL, "", "return player.roles", 0),
    R::of("entity:has_role", CALL, "", "player:has_role('builder')", 0),
    R::of("entity:launch", CALL, "", "walker:launch(vector.one)", 0),
    R::of("entity:glide_to", CALL, "", "crate:glide_to(crate.position, 1)", 0),
    R::of("entity:kick", CALL, "", "player:kick('bye')", 0),
    R::of("entity:move_to", CALL, "", "crate:move_to(vector.one, { seconds = 1 })", 0),
    R::of("entity:turn_to", CALL, "", "crate:turn_to(1, { seconds = 1 })", 0),
    R::of("entity:walk", CALL, "", "walker:walk(vector.one, true)", 0),
    R::of("entity:touching", "1 for each that it touches", "", "ball:touching()", 0),
    R::of(
        "entity:distance",
        "1 per 16 parts of one, times 1 per 16 parts of the other",
        "",
        "crate:distance(ball)",
        1,
    ),
    R::of("entity:tag", CALL, "", "crate:tag('new')", 0),
    R::of("entity:untag", CALL, "", "crate:untag('crate')", 0),
    R::of("entity:has_tag", CALL, "", "crate:has_tag('crate')", 0),
    R::of("entity:pass_through", CALL, "", "crate:pass_through(ball)", 0),
    R::of("entity:set_gravity", CALL, "", "ball:set_gravity(0)", 0),
    R::of("entity[attribute]", VALUES, BIG, "crate.any = big", 250),
];
