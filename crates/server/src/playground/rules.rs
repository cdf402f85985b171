//! The rules of the playground, as a behaviour of the engine.

use nowcast_world::{
    Action, Attributes, Behaviour, Body, ColliderShape, Definition, DefinitionError, EntityId, Kind, KindId,
    Limits, Mass, OutOfRange, PlayerId, Pose, Scene, SceneError, Spawn, To, Value, Velocity, Walker,
};

use super::layout::{Layout, Plan};
use super::{hold, spawn};

/// Below this height there is nothing left to stand on.
const ABYSS: f32 = -12.0;

/// A block of half a metre weighs 7.5 kg: light enough to throw, heavy enough to knock over its neighbours.
const BLOCK_DENSITY: f32 = 60.0;

/// The places of the kinds in the definition.
pub(super) const STATIC: KindId = KindId(0);
pub(super) const BLOCK: KindId = KindId(1);
pub(super) const AVATAR: KindId = KindId(2);

/// Clothes that stand out against the ground and from each other.
const COLORS: [u32; 12] = [
    0xe4572e, 0x2e86ab, 0xf2b134, 0x43a047, 0x8e5aa8, 0xef6f94, 0x17a398, 0xc0573b, 0x5c6bc0, 0xa3b536,
    0xd4508a, 0x3f7cac,
];

/// What there is in a playground. The attributes that the protocol tells are `color` and `held`.
pub(super) fn definition(players_max: usize) -> Result<Definition, DefinitionError> {
    let unit = ColliderShape::cube(1.0);
    let ground = Body { friction: 1.0, ..Body::fixed(unit.clone()) };
    let block = Body {
        mass: Mass::Density(BLOCK_DENSITY),
        friction: 0.8,
        angular_damping: 0.2,
        ..Body::dynamic(unit)
    };
    let held = Attributes::parse("color: u32, held: u32?")?;
    let throw = Action::new("throw", "power: range(0, 1, 0.0001), pitch: range(-1.5, 1.5, 0.0001)")?;
    let throw = Action { arguments: throw.arguments.with_out_of_range(OutOfRange::Refuse), ..throw };
    Ok(Definition {
        kinds: vec![
            Kind::new("static").with_body(ground).with_attributes(Attributes::parse("color: u32")?),
            Kind::new("block").with_body(block).with_attributes(held.clone()),
            Kind::walker("avatar", Walker::default()).with_attributes(held),
        ],
        actions: vec![Action::new("grab", "block: u32?")?, throw],
        limits: Limits { players_max, ..Limits::DEFAULT },
        ..Definition::default()
    })
}

/// Build, carry, throw. Whatever must last is in the world: who holds what in attributes, how in private values.
pub(super) struct Rules {
    pub(super) layout: Layout,
    pub(super) seed: u64,
}

impl Behaviour for Rules {
    fn start(&mut self, scene: &mut Scene) {
        let plan = Plan::new(self.layout, self.seed);
        let statics = plan.statics.into_iter().map(|planned| (STATIC, planned));
        for (kind, planned) in statics.chain(plan.blocks.into_iter().map(|planned| (BLOCK, planned))) {
            let home = planned.pose.position.into_iter().chain(planned.pose.rotation);
            let private = Value::List(home.map(Value::F32).collect());
            let spawn = Spawn { pose: planned.pose, scale: Some(planned.size), private, ..Spawn::default() };
            scene
                .spawn(kind, spawn.with("color", planned.color))
                .expect("a plan is within the limits of a world");
        }
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        let spot = spawn::free_spot(scene, AVATAR, BLOCK);
        let color = COLORS[scene.next_id().0 as usize % COLORS.len()];
        // A world that is full of entities lets people watch.
        let _ = scene.spawn_avatar(player, AVATAR, Spawn::at(spot).with("color", color));
    }

    fn leave(&mut self, scene: &mut Scene, player: PlayerId) {
        if let Some(avatar) = scene.player(player).and_then(|player| player.avatar) {
            expect(let_go(scene, avatar, 0.0, 0.0));
        }
    }

    fn action(&mut self, scene: &mut Scene, player: PlayerId, action: &str, arguments: &Value) {
        let Some(avatar) = scene.player(player).and_then(|player| player.avatar) else { return };
        let number = |name| arguments.get(name).and_then(Value::as_f64).unwrap_or(0.0) as f32;
        expect(match action {
            "grab" => grab(scene, avatar, arguments.get("block").and_then(hold::entity_of)),
            _ => let_go(scene, avatar, number("power"), number("pitch")),
        });
    }

    fn step(&mut self, scene: &mut Scene) {
        expect(return_strays(scene));
        expect(hold::end_passing(scene, BLOCK));
        let carried: Vec<_> = scene
            .entities()
            .of_kind(AVATAR)
            .filter_map(|avatar| Some((avatar.id, hold::held(scene, avatar.id)?)))
            .collect();
        for (avatar, block) in carried {
            if !hold::carry(scene, avatar, block).unwrap_or(false) {
                expect(let_go(scene, avatar, 0.0, 0.0));
            }
        }
    }
}

/// Everything that these rules touch is in the world, and all values are within bounds.
fn expect(done: Result<(), SceneError>) {
    debug_assert!(done.is_ok(), "{done:?}");
}

fn grab(scene: &mut Scene, avatar: EntityId, asked: Option<EntityId>) -> Result<(), SceneError> {
    if hold::held(scene, avatar).is_some() {
        return Ok(());
    }
    let Some(block) = hold::find(scene, avatar, asked, BLOCK) else { return Ok(()) };
    hold::take(scene, avatar, block)?;
    tell_held(scene, avatar, Some(block))
}

/// Lets an avatar throw or drop what it carries, if it carries anything.
fn let_go(scene: &mut Scene, avatar: EntityId, power: f32, pitch: f32) -> Result<(), SceneError> {
    let Some(block) = hold::held(scene, avatar) else { return Ok(()) };
    hold::release(scene, avatar, block, power, pitch)?;
    tell_held(scene, avatar, None)
}

fn tell_held(scene: &mut Scene, avatar: EntityId, block: Option<EntityId>) -> Result<(), SceneError> {
    let block = block.map_or(Value::Nil, |block| block.0.into());
    scene.emit("held", To::All, Value::List(vec![avatar.0.into(), block]))
}

/// What fell off the edge comes back: avatars to a free spot, blocks from above to where they once stood.
fn return_strays(scene: &mut Scene) -> Result<(), SceneError> {
    let lost: Vec<(EntityId, KindId)> = scene
        .entities()
        .iter()
        .filter(|entity| entity.kind != STATIC && entity.pose.position[1] < ABYSS)
        .map(|entity| (entity.id, entity.kind))
        .collect();
    for (id, kind) in lost {
        let carrier = if kind == AVATAR { Some(id) } else { hold::held(scene, id) };
        if let Some(carrier) = carrier {
            let_go(scene, carrier, 0.0, 0.0)?;
        }
        let pose = if kind == AVATAR {
            let rotation = scene.pose(id).map_or(Pose::IDENTITY.rotation, |pose| pose.rotation);
            Pose { position: spawn::free_spot(scene, AVATAR, BLOCK), rotation }
        } else {
            home(scene, id)
        };
        scene.set_velocity(id, Velocity::default())?;
        scene.set_pose(id, pose)?;
    }
    Ok(())
}

/// Above the place where a block once stood; neighbours fall from different heights.
fn home(scene: &Scene, block: EntityId) -> Pose {
    let parts: Vec<f32> = match scene.private(block) {
        Some(Value::List(parts)) => parts.iter().filter_map(Value::as_f64).map(|part| part as f32).collect(),
        _ => Vec::new(),
    };
    let [x, y, z, rotation @ ..] = parts.as_slice() else { return Pose::IDENTITY };
    let rotation = rotation.try_into().unwrap_or(Pose::IDENTITY.rotation);
    Pose { position: [*x, y + 3.0 + 0.25 * (block.0 % 16) as f32, *z], rotation }
}
