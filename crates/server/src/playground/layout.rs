//! What stands in a new playground: a plan of boxes.

use nowcast_world::math::{Quat, Vec3, yaw_rotation};
use nowcast_world::{Pose, Random};

/// Which world to build.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Layout {
    /// A playground: a platform with ramps and stairs, garden walls, and 300 blocks built into a pyramid, towers, a
    /// brick wall, a stone circle and a row of dominoes.
    #[default]
    Playground,
    /// Ground alone, for tests.
    Flat,
}

/// How many blocks the playground has.
pub const PLAYGROUND_BLOCKS: usize = 300;

/// One box of the plan.
pub(super) struct Planned {
    pub(super) pose: Pose,
    pub(super) size: [f32; 3],
    pub(super) color: u32,
}

/// Everything that stands in a new world.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) statics: Vec<Planned>,
    pub(super) blocks: Vec<Planned>,
}

impl Plan {
    pub(super) fn new(layout: Layout, seed: u64) -> Plan {
        let mut plan = Plan::default();
        plan.solid([0.0, -1.0, 0.0], [60.0, 2.0, 60.0], GRASS);
        if layout == Layout::Playground {
            terrace(&mut plan);
            garden_walls(&mut plan);
            gate(&mut plan);
            pyramid(&mut plan, [0.0, 0.0, -5.0], 5, 0.6);
            brick_wall(&mut plan, [-10.0, 0.0, -3.0], 0.35);
            round_tower(&mut plan, [9.5, 0.0, -3.5]);
            stone_circle(&mut plan, [0.0, 0.0, -17.0]);
            lattice_tower(&mut plan, [-12.0, 0.0, -14.0]);
            totems(&mut plan);
            dominoes(&mut plan);
            toys(&mut plan);
            assert_eq!(plan.blocks.len(), PLAYGROUND_BLOCKS, "the plan of the playground lost count");
        }
        plan.tint(seed);
        plan
    }

    fn solid(&mut self, centre: [f32; 3], size: [f32; 3], color: u32) {
        self.statics.push(Planned { pose: Pose { position: centre, ..Pose::IDENTITY }, size, color });
    }

    /// A block that stands on `foot`, the middle of its lower side.
    fn block(&mut self, foot: Vec3, yaw: f32, size: [f32; 3], color: u32) {
        let pose = pose_of(foot + Vec3::Y * (size[1] / 2.0), yaw_rotation(yaw));
        self.blocks.push(Planned { pose, size, color });
    }

    /// Makes every block a little lighter or darker than its neighbours, as real bricks are.
    fn tint(&mut self, seed: u64) {
        let mut random = Random::new(seed);
        for block in &mut self.blocks {
            let light = 1.0 + 0.07 * random.signed();
            let channel =
                |shift: u32| (((block.color >> shift & 0xff) as f32 * light) as u32).min(255) << shift;
            block.color = channel(16) | channel(8) | channel(0);
        }
    }
}

fn pose_of(position: Vec3, rotation: Quat) -> Pose {
    Pose { position: position.to_array(), rotation: rotation.to_array() }
}

const GRASS: u32 = 0x8fa87a;
const STONE: u32 = 0xb9b4a6;
const STONE_DARK: u32 = 0x8d8a80;
const SAND: u32 = 0xd8c7a0;
const TERRACOTTA: u32 = 0xd97541;
const OCHRE: u32 = 0xe9b44c;
const TEAL: u32 = 0x2a7f86;
const MINT: u32 = 0x8fc7b5;
const NAVY: u32 = 0x34527a;
const CREAM: u32 = 0xf1e9d2;
const BRICK: u32 = 0xb5533c;
const ROSE: u32 = 0xd88c9a;

/// Two storeys, 1.5 and 3 metres high, with a wide ramp, a stair and a steeper ramp between them.
fn terrace(plan: &mut Plan) {
    plan.solid([-19.0, 0.75, 5.0], [9.0, 1.5, 9.0], STONE);
    plan.solid([-21.0, 2.25, 2.5], [5.0, 1.5, 4.0], STONE_DARK);
    ramp(plan, [-14.5, 1.5, 6.5], 0.0, [4.2, 1.5], 3.5);
    ramp(plan, [-20.5, 3.0, 4.5], std::f32::consts::FRAC_PI_2 * 3.0, [2.6, 1.5], 2.4);
    for step in 0..10 {
        let top = 1.5 - 0.15 * step as f32;
        let z = 9.5 + 0.2 + 0.4 * step as f32;
        plan.solid([-19.0, top / 2.0, z], [3.0, top, 0.4], SAND);
    }
}

/// A tilted slab that leads from the middle of an upper edge down in the direction of `yaw` (0: toward +X).
fn ramp(plan: &mut Plan, upper_edge: [f32; 3], yaw: f32, [run, rise]: [f32; 2], width: f32) {
    const THICKNESS: f32 = 0.3;
    let length = (run * run + rise * rise).sqrt();
    let (sin, cos) = libm::sincosf(-libm::atan2f(rise, run) / 2.0);
    let rotation = yaw_rotation(yaw) * Quat::from_xyzw(0.0, 0.0, sin, cos);
    let centre = Vec3::from_array(upper_edge) + rotation * Vec3::new(length / 2.0, -THICKNESS / 2.0, 0.0);
    let size = [length, THICKNESS, width];
    plan.statics.push(Planned { pose: pose_of(centre, rotation), size, color: SAND });
}

/// Low walls around the garden, with gaps through which one may well fall off.
fn garden_walls(plan: &mut Plan) {
    for side in [-1.0, 1.0] {
        for part in [-19.0, 0.0, 19.0] {
            plan.solid([side * 28.6, 0.4, part], [0.6, 0.8, 15.0], STONE_DARK);
            plan.solid([part, 0.4, side * 28.6], [15.0, 0.8, 0.6], STONE_DARK);
        }
        for z in [-1.0, 1.0] {
            plan.solid([side * 28.6, 0.8, z * 28.6], [1.4, 1.6, 1.4], STONE);
        }
    }
}

/// A landmark behind everything, to find one's bearings by.
fn gate(plan: &mut Plan) {
    for side in [-1.0, 1.0] {
        plan.solid([side * 4.0, 3.0, -25.0], [1.4, 6.0, 1.4], STONE);
    }
    plan.solid([0.0, 6.5, -25.0], [11.0, 1.0, 1.8], STONE_DARK);
}

/// Square layers, each one cube narrower: 55 for five layers.
fn pyramid(plan: &mut Plan, foot: [f32; 3], layers: usize, edge: f32) {
    const COLORS: [u32; 5] = [TERRACOTTA, OCHRE, CREAM, MINT, TEAL];
    let pitch = edge + 0.01;
    for layer in 0..layers {
        let across = layers - layer;
        let first = -(across as f32 - 1.0) / 2.0;
        for cell in 0..across * across {
            let x = (first + (cell % across) as f32) * pitch;
            let z = (first + (cell / across) as f32) * pitch;
            let at = Vec3::from_array(foot) + Vec3::new(x, layer as f32 * edge, z);
            plan.block(at, 0.0, [edge; 3], COLORS[layer % COLORS.len()]);
        }
    }
}

/// Six courses in running bond: 45 bricks.
fn brick_wall(plan: &mut Plan, foot: [f32; 3], yaw: f32) {
    let brick = [0.9, 0.42, 0.45];
    for course in 0..6 {
        let bricks = 8 - course % 2;
        for index in 0..bricks {
            let x = (index as f32 - (bricks as f32 - 1.0) / 2.0) * (brick[0] + 0.01);
            let along = yaw_rotation(yaw) * Vec3::new(x, 0.0, 0.0);
            let at = Vec3::from_array(foot) + along + Vec3::Y * (course as f32 * brick[1]);
            plan.block(at, yaw, brick, if (course + index) % 3 == 0 { TERRACOTTA } else { BRICK });
        }
    }
}

/// A round tower, hollow: seven rings of ten bricks, each ring turned by half a brick.
fn round_tower(plan: &mut Plan, foot: [f32; 3]) {
    const BRICKS: usize = 10;
    for ring in 0..7 {
        for index in 0..BRICKS {
            let angle = std::f32::consts::TAU * (index as f32 + 0.5 * (ring % 2) as f32) / BRICKS as f32;
            let (sin, cos) = libm::sincosf(angle);
            let at = Vec3::from_array(foot) + Vec3::new(sin * 1.5, ring as f32 * 0.45, cos * 1.5);
            plan.block(at, angle, [0.82, 0.45, 0.4], [CREAM, SAND][ring % 2]);
        }
    }
}

/// Six gates of two pillars and a lintel: 18 blocks.
fn stone_circle(plan: &mut Plan, centre: [f32; 3]) {
    for gate in 0..6 {
        let angle = std::f32::consts::TAU * gate as f32 / 6.0;
        let turn = yaw_rotation(angle);
        let at = |x: f32, y: f32| Vec3::from_array(centre) + turn * Vec3::new(x, y, 5.2);
        for side in [-0.85, 0.85] {
            plan.block(at(side, 0.0), angle, [0.7, 2.0, 0.7], STONE);
        }
        plan.block(at(0.0, 2.0), angle, [2.6, 0.5, 0.8], STONE_DARK);
    }
}

/// Ten layers of three bars, each across the one below.
fn lattice_tower(plan: &mut Plan, foot: [f32; 3]) {
    for layer in 0..10 {
        let yaw = if layer % 2 == 0 { 0.0 } else { std::f32::consts::FRAC_PI_2 };
        for bar in -1..=1 {
            let aside = yaw_rotation(yaw) * Vec3::new(0.0, 0.0, bar as f32 * 0.42);
            let at = Vec3::from_array(foot) + aside + Vec3::Y * (layer as f32 * 0.4);
            plan.block(at, yaw, [1.26, 0.4, 0.4], [OCHRE, NAVY][layer % 2]);
        }
    }
}

/// Four slender piles of five, made to be run into.
fn totems(plan: &mut Plan) {
    for (corner, [x, z]) in [[-5.5, -9.5], [5.5, -9.5], [-5.5, 3.0], [5.5, 3.0]].into_iter().enumerate() {
        let mut top = 0.0;
        for (index, edge) in [0.75, 0.68, 0.6, 0.5, 0.42].into_iter().enumerate() {
            let color = [NAVY, TEAL, MINT, OCHRE, ROSE][(index + corner) % 5];
            plan.block(Vec3::new(x, top, z), 0.35 * index as f32, [edge, edge, edge], color);
            top += edge;
        }
    }
}

/// A row of 45 in a long wave.
fn dominoes(plan: &mut Plan) {
    let path = |t: f32| Vec3::new(15.5 + 2.4 * libm::sinf(t * 0.14), 0.0, 9.0 - 0.45 * t);
    for index in 0..45 {
        let t = index as f32;
        let along = path(t + 0.5) - path(t - 0.5);
        let yaw = libm::atan2f(along.x, along.z);
        let color = [TERRACOTTA, OCHRE, MINT, TEAL, NAVY, ROSE][index / 3 % 6];
        plan.block(path(t), yaw, [0.62, 1.1, 0.16], color);
    }
}

/// Small things to carry and throw: two little piles, one on the terrace, and a few left lying about.
fn toys(plan: &mut Plan) {
    for [x, y, z] in [[-3.0, 0.0, 7.0], [-21.0, 3.0, 2.0]] {
        for (index, [across, up]) in
            [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0], [-0.5, 1.0], [0.5, 1.0], [0.0, 2.0]].into_iter().enumerate()
        {
            let at = Vec3::new(x + across * 0.45, y + up * 0.42, z);
            plan.block(at, 0.0, [0.42, 0.42, 0.42], [ROSE, OCHRE, MINT][index % 3]);
        }
    }
    for (index, [x, z]) in
        [[2.2, 8.4], [3.1, 7.2], [1.0, 6.6], [-0.6, 9.0], [4.4, 8.8]].into_iter().enumerate()
    {
        let color = [TERRACOTTA, TEAL, CREAM, NAVY, OCHRE][index];
        plan.block(Vec3::new(x, 0.0, z), index as f32, [0.5, 0.5, 0.5], color);
    }
}
