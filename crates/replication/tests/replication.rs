//! Replication over lossy links: after any losses every viewer converges to the exact state of the world.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

use nowcast_replication::{History, Moving, Quantization, Replica, Row, Transform, Viewer};
use nowcast_session::{Carrier, Config, LaneConfig, Limits, MessageKind, PacketOutcome, Source};
use nowcast_sim::link::{Jitter, LinkConfig, Loss};
use nowcast_sim::pair::{End, Pair};
use nowcast_world::{
    Behaviour, Body, ColliderShape, Command, Definition, EntityId, Input, Kind, PlayerId, Pose, Spawn,
    Walker, World,
};
use proptest::prelude::*;

const LANE: u8 = 2;

/// The part of a server that serves one viewer.
#[derive(Clone, Default)]
struct Feed(Rc<RefCell<(History, Viewer)>>);

impl Source for Feed {
    fn has_more(&self, lane: u8) -> bool {
        lane == LANE && self.0.borrow().1.has_more()
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, packet: &mut Vec<u8>) {
        let (history, viewer) = &mut *self.0.borrow_mut();
        viewer.fill(history.frames(), number, room, packet);
    }

    fn on_outcome(&mut self, outcome: PacketOutcome) {
        self.0.borrow_mut().1.on_outcome(outcome.number, outcome.arrived);
    }
}

/// A server and one viewer, on a link.
struct Scene {
    pair: Pair,
    feed: Feed,
    replica: Replica,
    missing: usize,
}

impl Scene {
    fn new(seed: u64, carrier: Carrier, link: LinkConfig) -> Self {
        let mut lanes = vec![LaneConfig::default(); 8];
        lanes[usize::from(LANE)].has_source = true;
        // A burst of losses may swallow each packet of the first ten seconds, and nobody attaches another carrier here.
        let limits = Limits { idle_timeout: Duration::from_secs(600), ..Limits::default() };
        let patient = Config { handshake_timeout: limits.idle_timeout, limits, ..Config::default() };
        let configs = [patient.clone(), Config { lanes, ..patient }];
        let mut pair = Pair::new(seed, configs, carrier, [link.clone(), link]);
        let feed = Feed::default();
        pair.set_source(End::Acceptor, Box::new(feed.clone()));
        let both_open = |pair: &Pair| End::BOTH.into_iter().all(|end| pair.session(end).is_open());
        while !both_open(&pair) {
            assert!(pair.now() < Duration::from_secs(600), "the sessions open");
            pair.run_until(pair.now() + Duration::from_millis(10));
        }
        Self { pair, feed, replica: Replica::default(), missing: 0 }
    }

    /// Advances the world by one step.
    fn step(&mut self, tick: u32, poses: &BTreeMap<u32, Transform>, is_due: bool) {
        {
            let (history, viewer) = &mut *self.feed.0.borrow_mut();
            history.publish(tick, poses.iter().map(|(id, pose)| (*id, *pose)));
            if is_due {
                viewer.begin_round(history.frames(), poses.values().next().map(|pose| pose.position));
            }
        }
        // A source has no timer, so its driver polls at every step.
        self.pair.with(End::Acceptor, |_, _| ());
        self.pair.run_until(self.pair.now() + Duration::from_micros(16_667));
        self.pair.with_quietly(End::Initiator, |session, now| {
            let mut payload = Vec::new();
            while let Some(message) = session.poll_message(now, &mut payload) {
                assert!(matches!(message.kind, MessageKind::Replication { .. }));
                self.missing += self.replica.apply(&payload).expect("a sender of ours wrote it").missing;
            }
        });
    }

    fn known_rows(&self) -> BTreeMap<u32, Row> {
        self.feed.0.borrow().0.rows().map(|(id, row)| (id, *row)).collect()
    }

    fn known(&self) -> BTreeMap<u32, Row> {
        self.replica.rows().collect()
    }
}

fn pose(x: f32, turn: f32) -> Transform {
    Transform { position: [x, 1.0, -x / 2.0], rotation: [0.0, (turn / 2.0).sin(), 0.0, (turn / 2.0).cos()] }
}

/// A pose of the world, as a server publishes it.
fn moving_of((id, pose): (EntityId, Pose)) -> (u32, Transform) {
    (id.0, Transform { position: pose.position, rotation: pose.rotation })
}

/// A change of the world in one step.
#[derive(Clone, Debug)]
enum Change {
    Appear,
    Vanish(prop::sample::Index),
    Move(prop::sample::Index, f32),
    Rest,
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        1 => Just(Change::Appear),
        1 => any::<prop::sample::Index>().prop_map(Change::Vanish),
        6 => (any::<prop::sample::Index>(), -2.0f32..2.0).prop_map(|(which, by)| Change::Move(which, by)),
        1 => Just(Change::Rest),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_viewer_converges_to_the_exact_state_under_any_loss(
        seed: u64,
        hz in prop::sample::select(vec![10u32, 20, 60]),
        loss in 0.0f64..0.4,
        length in 1.0f64..3.0,
        delay_ms in 0u64..150,
        reorder in 0.0f64..0.2,
        is_reliable: bool,
        changes in prop::collection::vec(prop::collection::vec(change(), 0..12), 1..120),
    ) {
        let (carrier, loss, reorder) = match is_reliable {
            true => (Carrier::STREAM, Loss::None, 0.0),
            false => (Carrier::DATAGRAMS, Loss::Bursts { share: loss, length }, reorder),
        };
        let link = LinkConfig {
            delay: Duration::from_millis(delay_ms),
            jitter: Jitter::up_to(Duration::from_millis(delay_ms / 4)),
            loss,
            reorder,
            duplicate: if is_reliable { 0.0 } else { 0.05 },
            ..LinkConfig::default()
        };
        let mut scene = Scene::new(seed, carrier, link);
        let mut poses: BTreeMap<u32, Transform> = (1..30).map(|id| (id, pose(id as f32, 0.0))).collect();
        let mut next_id = 30;
        let mut tick = u32::MAX - 50;
        for changes in changes {
            for change in changes {
                match change {
                    Change::Appear => {
                        poses.insert(next_id, pose(0.0, 0.0));
                        next_id += 1;
                    }
                    Change::Vanish(which) if !poses.is_empty() => {
                        let id = *which.get(&poses.keys().copied().collect::<Vec<_>>());
                        poses.remove(&id);
                    }
                    Change::Move(which, by) if !poses.is_empty() => {
                        let id = *which.get(&poses.keys().copied().collect::<Vec<_>>());
                        let [x, ..] = poses[&id].position;
                        poses.insert(id, pose(x + by, by));
                    }
                    _ => {}
                }
            }
            tick = tick.wrapping_add(1);
            scene.step(tick, &poses, tick.is_multiple_of(60 / hz));
        }
        // From here on nothing moves. Lost values are sent again until the viewer has them.
        for _ in 0..600 {
            tick = tick.wrapping_add(1);
            scene.step(tick, &poses, tick.is_multiple_of(60 / hz));
        }
        prop_assert_eq!(scene.known(), scene.known_rows());
        prop_assert_eq!(scene.replica.tick().wrapping_sub(tick) as i32 > -60, true);
        prop_assert_eq!(scene.missing, 0);
    }
}

/// Ground with 300 blocks in piles, and a body for each player.
struct Yard;

impl Behaviour for Yard {
    fn start(&mut self, scene: &mut nowcast_world::Scene) {
        let [ground, block] =
            ["ground", "block"].map(|name| scene.kind(name).expect("the definition has it"));
        scene.spawn(ground, Spawn::at([0.0, -1.0, 0.0])).expect("the world is empty");
        for index in 0..300 {
            let (pile, storey) = (index / 5, index % 5);
            let [x, z] = [pile % 10, pile / 10].map(|place| (place as f32 - 5.0) * 3.0);
            scene
                .spawn(block, Spawn::at([x, 0.3 + 0.6 * storey as f32, z]))
                .expect("the world has space for the entity");
        }
    }

    fn join(&mut self, scene: &mut nowcast_world::Scene, player: PlayerId) {
        let person = scene.kind("person").expect("the definition has it");
        let at = Spawn::at([player.0 as f32 * 1.3 - 13.0, 0.9, 18.0]);
        scene.spawn_avatar(player, person, at).expect("the world has space for the entity");
    }
}

fn yard() -> World {
    let ground = Body { friction: 1.0, ..Body::fixed(ColliderShape::Box { size: [200.0, 2.0, 200.0] }) };
    let definition = Definition {
        kinds: vec![
            Kind::new("ground").with_body(ground),
            Kind::new("block").with_body(Body::dynamic(ColliderShape::cube(0.6))),
            Kind::walker("person", Walker::default()),
        ],
        ..Definition::default()
    };
    World::new(definition, 0, Box::new(Yard)).expect("the definition is good")
}

/// Players walk among piles of blocks, and a viewer receives their movement.
#[test]
fn walks_among_blocks_are_replicated_exactly_in_few_bytes() {
    let mut world = yard();
    let people: Vec<PlayerId> = (1..=20).map(PlayerId).collect();
    for player in &people {
        world.apply(Command::join(*player, "")).expect("the world accepts the command");
    }
    let link =
        LinkConfig { delay: Duration::from_millis(20), loss: Loss::Random(0.02), ..LinkConfig::default() };
    let mut scene = Scene::new(7, Carrier::DATAGRAMS, link);
    for tick in 0..600u32 {
        for (at, id) in people.iter().enumerate() {
            let yaw = at as f32 + (tick / 45) as f32 * 0.7;
            let input = Input::new(1.0, 0.0, yaw, at % 2 == 0, false).expect("within bounds");
            world.apply(Command::Input { player: *id, input }).expect("the world accepts the command");
        }
        world.step();
        while world.poll_event().is_some() {}
        let poses = world.poses().map(moving_of).collect();
        scene.step(tick, &poses, tick.is_multiple_of(6));
    }
    let stats = scene.feed.0.borrow().1.stats;
    let sent = scene.pair.session(End::Acceptor).stats().bytes_sent;
    println!("{sent} bytes in 10 s for {} things; {stats:?}", scene.known_rows().len());
    assert!(stats.whole <= 2 * scene.known_rows().len().div_ceil(20) as u64, "{stats:?}");
    // The limit comes from the smallest encoding of the plain protocol: it takes 22 bytes for each walking player, ten times
    // a second.
    assert!(sent < 20 * 22 * 100, "{sent}");
    let still = world.poses().map(moving_of).collect();
    for tick in 600..720 {
        scene.step(tick, &still, tick.is_multiple_of(6));
    }
    assert_eq!(scene.known(), scene.known_rows());
}

#[test]
fn viewers_with_different_losses_share_encodings_again_soon() {
    let mut history = History::default();
    let mut viewers = [Viewer::default(), Viewer::default()];
    let mut payloads = [Vec::new(), Vec::new()];
    for tick in 0..20u32 {
        history.publish(tick, (1..=10).map(|id| (id, pose((tick * id) as f32 * 0.01, 0.0))));
        for (at, (viewer, payload)) in viewers.iter_mut().zip(&mut payloads).enumerate() {
            viewer.begin_round(history.frames(), None);
            payload.clear();
            viewer.fill(history.frames(), tick.into(), 1_100, payload);
            let is_lost = (5..8).contains(&tick) && at == 1;
            viewer.on_outcome(tick.into(), !is_lost);
        }
        if tick == 7 {
            assert_ne!(payloads[0], payloads[1]);
        }
    }
    assert_eq!(payloads[0], payloads[1]);
    assert_eq!(viewers[1].stats.whole, 1, "only the first time");
}

#[test]
fn a_tight_budget_prefers_near_groups_and_starves_none() {
    let mut history = History::default();
    let mut viewer = Viewer::with_bytes_per_round_max(200);
    let mut replica = Replica::default();
    // One group next to the viewer, and four far groups. All groups always move.
    let at = |id: u32, tick: u32| pose(if id <= 20 { 0.0 } else { 300.0 } + (tick * id % 101) as f32, 0.0);
    let mut last_heard = BTreeMap::new();
    let (mut near, mut far) = (0, 0);
    for tick in 0..400u32 {
        history.publish(tick, (1..=100).map(|id| (id, at(id, tick))));
        viewer.begin_round(history.frames(), Some(at(1, tick).position));
        let mut payload = Vec::new();
        viewer.fill(history.frames(), tick.into(), 1_100, &mut payload);
        let before: BTreeMap<u32, Row> = replica.rows().collect();
        replica.apply(&payload).unwrap();
        viewer.on_outcome(tick.into(), true);
        for (id, row) in replica.rows() {
            if before.get(&id) != Some(&row) {
                last_heard.insert(id, tick);
                *(if id <= 20 { &mut near } else { &mut far }) += 1;
            }
        }
    }
    assert!(near * 4 > 2 * far, "near {near}, far {far}");
    assert!(last_heard.values().all(|tick| *tick > 300), "nothing starves");
    assert!(viewer.stats.postponed > 0);
}

#[test]
fn a_viewer_that_lost_its_baselines_receives_everything_again() {
    let mut history = History::default();
    let mut viewer = Viewer::default();
    let mut replica = Replica::default();
    let round = |viewer: &mut Viewer, replica: &mut Replica, history: &History, tick: u32| {
        viewer.begin_round(history.frames(), None);
        let mut payload = Vec::new();
        viewer.fill(history.frames(), tick.into(), 1_100, &mut payload);
        viewer.on_outcome(tick.into(), true);
        replica.apply(&payload).unwrap()
    };
    for tick in 0..3 {
        history.publish(tick, [(1, pose(tick as f32, 0.0))].into_iter());
        assert_eq!(round(&mut viewer, &mut replica, &history, tick).missing, 0);
    }
    replica = Replica::default();
    history.publish(3, [(1, pose(3.0, 0.0))].into_iter());
    assert_eq!(round(&mut viewer, &mut replica, &history, 3).missing, 1);
    viewer.reset();
    assert_eq!(round(&mut viewer, &mut replica, &history, 4).missing, 0);
    assert_eq!(replica.rows().next(), Some((1, *history.rows().next().unwrap().1)));
}

/// `spec/vectors/world/replication.json`: payloads, some lost and some late, and the rows that are known in the end.
///
/// `NOWCAST_BLESS=1` writes the file again after a deliberate change of the format.
#[test]
fn replication_vectors_match() {
    let mut history = History::default();
    let mut viewer = Viewer::default();
    let mut replica = Replica::default();
    let mut steps = Vec::new();
    let mut late: Vec<(u64, Vec<u8>)> = Vec::new();
    for step in 0..40u32 {
        let tick = (u32::MAX - 12).wrapping_add(3 * step);
        let leaves = |id: &u32| step > 20 && id.is_multiple_of(9);
        let here = (1..=45u32).filter(|id| !leaves(id)).map(|id| {
            // Some entities rest, some move at constant speed, some accelerate. All move by whole steps, so that every
            // machine rounds in the same way.
            let moved = match id % 3 {
                0 => 0,
                1 => step * id,
                _ => step * step * id / 8,
            };
            let turn = if id % 3 == 2 { step as f32 / 64.0 } else { 0.0 };
            let position = [moved as f32 / 1_024.0, id as f32, -(moved as f32) / 512.0];
            let transform = Transform { position, rotation: [0.0, turn, 0.0, (1.0 - turn * turn).sqrt()] };
            // Some entities have a coarser quantization.
            let quantization =
                if id > 40 { Quantization::within(Some(0.01), Some(0.001)) } else { Quantization::default() };
            Moving { quantization, ..Moving::from((id, transform)) }
        });
        viewer.set_controls(tick, (step / 4) as u16);
        history.publish(tick, here);
        viewer.begin_round(history.frames(), Some([step as f32 / 1_024.0, 1.0, -(step as f32) / 512.0]));
        while viewer.has_more() {
            let mut payload = Vec::new();
            let number = steps.len() as u64;
            viewer.fill(history.frames(), number, 1_100, &mut payload);
            let fate = match number % 11 {
                3 | 4 => "lost",
                7 => "late",
                _ => "arrives",
            };
            match fate {
                "arrives" => {
                    for (number, payload) in [(number, payload.clone())].into_iter().chain(late.drain(..)) {
                        assert_eq!(replica.apply(&payload).unwrap().missing, 0);
                        viewer.on_outcome(number, true);
                    }
                }
                "late" => late.push((number, payload.clone())),
                _ => viewer.on_outcome(number, false),
            }
            let bytes: String = payload.iter().map(|byte| format!("{byte:02x}")).collect();
            let controls = step / 4;
            steps.push(serde_json::json!({ "fate": fate, "controls": controls, "bytes": bytes }));
        }
    }
    let known: BTreeMap<u32, Row> = replica.rows().collect();
    assert_eq!(known, history.rows().map(|(id, row)| (id, *row)).collect());
    let row_of = |id, row| serde_json::json!({ "id": id, "row": row, "grain": replica.quantization(id).map(Quantization::to_number) });
    let vector = serde_json::json!({
        "about": "Payloads in the order sent: lost ones never arrive, late ones after the next that does. Then these rows are known.",
        "steps": steps,
        "rows": known.iter().map(|(id, row)| row_of(*id, row)).collect::<Vec<_>>(),
    });
    let path =
        std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/vectors/world/replication.json");
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, format!("{vector}\n")).unwrap();
    }
    let kept: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    assert_eq!(kept, vector);
}

#[test]
fn payloads_name_the_input_that_was_applied_at_their_step() {
    let (mut history, mut viewer, mut replica) = (History::default(), Viewer::default(), Replica::default());
    let mut told = |history: &History, viewer: &mut Viewer| {
        let mut payload = Vec::new();
        viewer.begin_round(history.frames(), None);
        viewer.fill(history.frames(), 0, 1_100, &mut payload);
        let applied = replica.apply(&payload).unwrap();
        (applied.tick, applied.controls)
    };
    history.publish(7, std::iter::empty::<nowcast_replication::Moving>());
    assert_eq!(told(&history, &mut viewer), (7, 0), "no controls yet");
    viewer.set_controls(8, 3);
    assert_eq!(told(&history, &mut viewer), (7, 0), "the step with them is not in the history yet");
    history.publish(8, std::iter::empty::<nowcast_replication::Moving>());
    assert_eq!(told(&history, &mut viewer), (8, 3));
    viewer.set_controls(9, 3);
    viewer.set_controls(10, 65_535);
    history.publish(9, std::iter::empty::<nowcast_replication::Moving>());
    assert_eq!(told(&history, &mut viewer), (9, 3));
    history.publish(10, std::iter::empty::<nowcast_replication::Moving>());
    assert_eq!(told(&history, &mut viewer), (10, 65_535));
}
