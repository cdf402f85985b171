//! Checks `spec/TRANSCRIPT.md`: a session of a world from its first packet to its last. The session runs in virtual time and
//! without randomness, so every run gives the bytes of the page. `NOWCAST_BLESS=1` writes `spec/vectors/transcript.json` again;
//! the page is written by hand.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use nowcast::Connector;
use nowcast_script::{Limits as ScriptLimits, Live, Sources};
use nowcast_server::replication::{History, Transform, Viewer};
use nowcast_server::world::{
    Command as WorldCommand, EntityRef, Event, Input, Motion, PlayerId, Pose, Scene,
};
use nowcast_server::{Config as ServerConfig, Rules, Server as WorldServer, WorldConfig};
use nowcast_session::{
    Carrier, CloseCode, Config, Entropy, LaneConfig, Limits, MessageKind, PacketOutcome, Session, Source,
    Time,
};
use nowcast_wire::{Effort, Value as WireValue, decode, encode_to_vec, encode_value};
use nowcast_world_protocol::session::{
    Controls, Entity, FromWorld, PROTOCOL, Place, Player, REPLICATION_LANE, Screen, StateKey, ToWorld,
};
use serde_json::{Value, json};

/// The rules of the world.
const RULES: &str = include_str!("transcript.luau");
const SEED: u64 = 1;
/// The number of the only player.
const ADA: PlayerId = PlayerId(1);
/// One-way delay of a packet, in milliseconds.
const DELAY_MS: u64 = 10;
/// Duration of a step of the world, and of a round of movement, in milliseconds.
const STEP_MS: u64 = 17;
const ROUND_MS: u64 = 200;
/// The times at which the client presses a key and holds it, waves, loses its connection, gets another one, and leaves.
const FORWARD_MS: u64 = 250;
const WAVE_MS: u64 = 500;
const CUT_MS: u64 = 680;
const BACK_MS: u64 = 900;
const LEAVE_MS: u64 = 1_300;
const END_MS: u64 = 1_400;
/// The clocks of the two ends differ, as those of two machines do.
const CLOCKS_MS: [u64; 2] = [1_000, 5_000];

struct Client {
    session: Session,
}

struct Server {
    session: Session,
    world: Live,
    /// The event with the definition of the world.
    define: Vec<u8>,
    /// The name and rate of the client that is about to join.
    join: Option<(String, u32)>,
    has_joined: bool,
    /// The states that the client has, by key.
    told: BTreeMap<u64, Vec<u8>>,
    movement: Movement,
}

/// The source of a server's session. It sends movement on a lane of its own.
struct Movement {
    history: History,
    viewer: Viewer,
}

impl Source for Movement {
    fn has_more(&self, lane: u8) -> bool {
        lane == REPLICATION_LANE && self.viewer.has_more()
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, packet: &mut Vec<u8>) {
        self.viewer.fill(self.history.frames(), number, room, packet);
    }

    fn on_outcome(&mut self, outcome: PacketOutcome) {
        self.viewer.on_outcome(outcome.number, outcome.arrived);
    }
}

#[derive(Clone)]
struct Sent {
    at_ms: u64,
    from: usize,
    carrier: usize,
    bytes: Vec<u8>,
}

struct Run {
    client: Client,
    server: Server,
    sent: Vec<Sent>,
    /// The packets under way, and the times at which they arrive.
    flying: Vec<(u64, usize, Vec<u8>)>,
    carrier: usize,
}

fn entropy(of: u8) -> Entropy {
    Entropy(std::array::from_fn(|at| of + at as u8))
}

fn config(lanes: usize) -> Config {
    let lane = |at: usize| LaneConfig {
        class: at as u8,
        has_source: at == usize::from(REPLICATION_LANE),
        ..LaneConfig::default()
    };
    Config {
        limits: Limits { lanes_max: 3, packet_bytes_max: 16_384, ..Limits::default() },
        lanes: (0..lanes).map(lane).collect(),
        ..Config::default()
    }
}

fn now(end: usize, ms: u64) -> Time {
    Time::from_millis(CLOCKS_MS[end] + ms)
}

impl Run {
    fn new() -> Run {
        let carrier = Carrier::STREAM;
        let sources = Sources::of_main(RULES);
        let define = definition(&sources);
        let world = Live::new(sources, SEED, ScriptLimits::DEFAULT).unwrap();
        let mut client = Session::connect(now(0, 0), config(2), carrier, entropy(0x10));
        let join = ToWorld::Join { protocol: PROTOCOL, name: "Ada".into(), network_hz: 5, key: Vec::new() };
        client.put_event(now(0, 0), 0, &encode_to_vec(&join)).unwrap();
        let movement = Movement { history: History::default(), viewer: Viewer::default() };
        Run {
            client: Client { session: client },
            server: Server {
                session: Session::accept(now(1, 0), config(3), carrier, entropy(0x80)),
                world,
                define,
                join: None,
                has_joined: false,
                told: BTreeMap::new(),
                movement,
            },
            sent: Vec::new(),
            flying: Vec::new(),
            carrier: 0,
        }
    }

    fn run(mut self) -> Vec<Sent> {
        for ms in 0..END_MS {
            self.happen(ms);
            let (arrived, flying) =
                std::mem::take(&mut self.flying).into_iter().partition(|(at, ..)| *at <= ms);
            self.flying = flying;
            let arrived: Vec<(u64, usize, Vec<u8>)> = arrived;
            for (_, to, bytes) in arrived {
                match to {
                    0 => self.client.session.handle_packet(now(0, ms), &bytes),
                    _ => self.server.session.handle_packet(now(1, ms), &bytes),
                }
            }
            self.client.take(ms);
            self.server.turn(ms);
            self.send(ms);
        }
        self.sent
    }

    /// Performs the actions of people and of the network.
    fn happen(&mut self, ms: u64) {
        let ahead = Controls { number: 1, forward: 1.0, ..Controls::default() };
        let client = &mut self.client.session;
        match ms {
            FORWARD_MS => client.put_state(now(0, ms), 0, 1, &encode_to_vec(&ahead)).unwrap(),
            WAVE_MS => {
                let arguments = WireValue::Map(vec![("times".into(), 2.into())]);
                let act =
                    ToWorld::Act { action: "wave".into(), arguments, number: None, step: None, shown: None };
                client.put_event(now(0, ms), 0, &encode_to_vec(&act)).unwrap();
            }
            CUT_MS => {
                self.flying.clear();
                client.detach(now(0, ms));
                self.server.session.detach(now(1, ms));
            }
            BACK_MS => {
                self.carrier = 1;
                client.attach(now(0, ms), Carrier::STREAM, entropy(0x30));
                self.server.session.attach(now(1, ms), Carrier::STREAM, entropy(0xa0));
            }
            LEAVE_MS => client.close(now(0, ms), CloseCode::DONE, "bye"),
            _ => {}
        }
    }

    fn send(&mut self, ms: u64) {
        let is_cut = (CUT_MS..BACK_MS).contains(&ms);
        for end in [0, 1] {
            let mut bytes = Vec::new();
            loop {
                bytes.clear();
                let has_packet = match end {
                    0 => {
                        self.client.session.handle_timeout(now(0, ms));
                        self.client.session.poll_packet(
                            now(0, ms),
                            &mut nowcast_session::NoSource,
                            &mut bytes,
                        )
                    }
                    _ => {
                        let Server { session, movement, .. } = &mut self.server;
                        session.handle_timeout(now(1, ms));
                        session.poll_packet(now(1, ms), movement, &mut bytes)
                    }
                };
                if !has_packet || is_cut {
                    break;
                }
                self.sent.push(Sent { at_ms: ms, from: end, carrier: self.carrier, bytes: bytes.clone() });
                self.flying.push((ms + DELAY_MS, 1 - end, bytes.clone()));
            }
        }
    }
}

impl Client {
    fn take(&mut self, ms: u64) {
        let mut bytes = Vec::new();
        while self.session.poll_message(now(0, ms), &mut bytes).is_some() {
            bytes.clear();
        }
    }
}

impl Server {
    /// Runs one millisecond of a server: receives, steps its world, and begins a round.
    fn turn(&mut self, ms: u64) {
        let mut bytes = Vec::new();
        while let Some(message) = self.session.poll_message(now(1, ms), &mut bytes) {
            match message.kind {
                MessageKind::State { .. } => self.steer(&bytes),
                MessageKind::Event => self.hear(&bytes),
                other => panic!("{other:?}"),
            }
            bytes.clear();
        }
        if ms.is_multiple_of(STEP_MS) {
            self.step(ms);
        }
        if ms.is_multiple_of(ROUND_MS) && self.has_joined && self.session.is_open() {
            let avatar = self.world.world().scene().player(ADA).and_then(|player| player.avatar);
            let eye = avatar.and_then(|id| self.world.world().entity(id)).map(|avatar| avatar.pose.position);
            self.movement.viewer.begin_round(self.movement.history.frames(), eye);
        }
    }

    fn steer(&mut self, bytes: &[u8]) {
        let Controls { number, forward, right, yaw, run, jump } = decode(bytes).unwrap();
        let input = Input::new(forward, right, yaw, run, jump).unwrap();
        self.world.apply(WorldCommand::Input { player: ADA, input }).unwrap();
        self.movement.viewer.set_controls(self.world.world().tick() as u32 + 1, number);
    }

    fn hear(&mut self, bytes: &[u8]) {
        match decode(bytes).unwrap() {
            ToWorld::Join { name, network_hz, .. } => self.join = Some((name, network_hz)),
            ToWorld::Act { action, arguments, .. } => {
                self.world.apply(WorldCommand::Action { player: ADA, name: action, arguments }).unwrap();
            }
            other => panic!("{other:?}"),
        }
    }

    /// Runs a step of the world and sends its messages: first the states, then the events.
    fn step(&mut self, ms: u64) {
        let newcomer = self.join.take();
        if let Some((name, _)) = &newcomer {
            self.world.apply(WorldCommand::join(ADA, name.clone())).unwrap();
        }
        self.world.step();
        let mut events = Vec::new();
        if let Some((_, network_hz)) = newcomer {
            self.has_joined = true;
            self.put_event(ms, &encode_to_vec(&self.welcome(network_hz)));
            let define = self.define.clone();
            self.put_event(ms, &define);
        }
        while let Some(event) = self.world.poll_event() {
            if let Event::Emitted { name: event, payload, .. } = event {
                events.push(encode_to_vec(&FromWorld::Happened { event, payload }));
            }
        }
        if self.has_joined {
            self.put_states(ms);
            events.iter().for_each(|event| self.put_event(ms, event));
        }
        let world = self.world.world();
        let transform = |pose: Pose| Transform { position: pose.position, rotation: pose.rotation };
        let transforms = world.poses().map(|(id, pose)| (id.0, transform(pose)));
        self.movement.history.publish(world.tick() as u32, transforms);
    }

    fn welcome(&self, network_hz: u32) -> FromWorld {
        FromWorld::Welcome {
            protocol: PROTOCOL,
            player: ADA.0,
            room: "plaza".into(),
            world: "plaza".into(),
            step_hz: 60,
            network_hz,
            tick: self.world.world().tick(),
            resumed: false,
        }
    }

    fn put_event(&mut self, ms: u64, event: &[u8]) {
        self.session.put_event(now(1, ms), 0, event).unwrap();
    }

    /// Puts the values that differ from those that the client has. No entity moves in this world.
    fn put_states(&mut self, ms: u64) {
        for (key, value) in states(self.world.world().scene()) {
            if self.told.get(&key) != Some(&value) {
                self.session.put_state(now(1, ms), 0, key, &value).unwrap();
                self.told.insert(key, value);
            }
        }
    }
}

/// Returns the states of players, entities and screens, by key.
fn states(scene: &Scene) -> Vec<(u64, Vec<u8>)> {
    let mut states = Vec::new();
    for player in scene.players() {
        let state = encode_to_vec(&Player::from(player));
        states.push((StateKey::Player(player.id).number(), state));
    }
    for entity in scene.entities().iter() {
        states.push((StateKey::Entity(entity.id).number(), encode_to_vec(&describe(scene, &entity))));
    }
    for (number, (player, place, value)) in (0..).zip(scene.screens()) {
        let state = Screen { place: place.into(), personal: player.is_some(), value: value.clone() };
        states.push((StateKey::Screen(number).number(), encode_to_vec(&state)));
    }
    states
}

fn describe(scene: &Scene, entity: &EntityRef<'_>) -> Entity {
    let kind = scene.kind_of(entity.kind);
    let names = kind.attributes.fields().iter().map(|field| WireValue::Text(field.name.clone()));
    let map = WireValue::Map(names.zip(entity.attributes.iter().cloned()).collect());
    let mut attributes = Vec::new();
    encode_value(kind.attributes.shape(), &map, Effort::default(), &mut attributes).unwrap();
    let is_fixed = kind.body.as_ref().is_some_and(|body| body.motion == Motion::Fixed);
    let Pose { position, rotation, .. } = entity.pose;
    Entity {
        kind: entity.kind.0.into(),
        scale: entity.scale,
        parent: entity.parent.map(|id| id.0),
        place: is_fixed.then_some(Place { position, rotation }),
        attributes,
        owner: entity.owner.map(|player| player.0),
    }
}

/// Returns the definition that a real server sends for these rules.
fn definition(sources: &Sources) -> Vec<u8> {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let rules = Rules::Script(sources.clone());
        let server = WorldServer::bind(ServerConfig {
            worlds: vec![WorldConfig { name: "plaza".into(), rules }],
            hosts: vec![[127, 0, 0, 1].into()],
            port: 0,
            ..ServerConfig::default()
        });
        let server = server.await.unwrap();
        let handle = server.handle();
        let running = tokio::spawn(server.run(std::future::pending()));
        let channel = Connector::new().connect(&format!("nowcast://{}/plaza", handle.addresses()[0])).await;
        let channel = channel.unwrap();
        let join = ToWorld::Join { protocol: PROTOCOL, name: "Ada".into(), network_hz: 5, key: Vec::new() };
        channel.try_event(&encode_to_vec(&join)).unwrap();
        let defined = async {
            loop {
                let message = channel.receive().await.unwrap();
                let is_event = message.kind == nowcast::MessageKind::Event && message.lane.number() == 0;
                if is_event && matches!(decode(&message.bytes), Ok(FromWorld::Define { .. })) {
                    return message.bytes;
                }
            }
        };
        let define = tokio::time::timeout(Duration::from_secs(60), defined)
            .await
            .expect("the definition arrives in time");
        channel.leave(0, "").await;
        handle.shutdown();
        running.await.unwrap();
        define
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Compares the page with the packets: their order, their bytes, and the bytes beside each field.
fn compare(page: &str, packets: &[Sent]) {
    let sections: Vec<&str> = page.split("\n## ").skip(1).collect();
    assert_eq!(sections.len(), packets.len(), "packets");
    for (index, (section, packet)) in sections.into_iter().zip(packets).enumerate() {
        let from = ["client", "server"][packet.from];
        let title = format!("{}. {from}, {} ms\n", index + 1, packet.at_ms);
        assert!(section.starts_with(&title), "{section} is not {title}");
        let (_, block) = section.split_once("```text\n").expect("a block");
        let (bytes, fields) = block.split_once("\n\n").expect("the bytes, and then their fields");
        assert_eq!(bytes.replace('\n', ""), hex(&packet.bytes), "the bytes of {title}");
        let fields: Vec<&str> = fields.lines().take_while(|line| *line != "```").collect();
        assert!(!fields.is_empty(), "the fields of {title}");
        for field in fields {
            let mut words = field.split_whitespace();
            let offset: usize = words.next().and_then(|word| word.parse().ok()).expect("an offset");
            // A headline stands for no bytes.
            let shown = if field.chars().nth(8) == Some(' ') { "" } else { words.next().unwrap() };
            let rest = hex(&packet.bytes[offset..]);
            assert!(rest.starts_with(shown.trim_end_matches('…')), "{title}: {field}");
        }
    }
}

fn spec(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../spec").join(name)
}

fn vector(packets: &[Sent]) -> Value {
    let packet = |packet: &Sent| {
        let from = ["client", "server"][packet.from];
        json!({ "at_ms": packet.at_ms, "from": from, "carrier": packet.carrier, "bytes": hex(&packet.bytes) })
    };
    json!({
        "about": "The packets of spec/TRANSCRIPT.md in the order sent; those of carrier 1 after the cut.",
        "packets": packets.iter().map(packet).collect::<Vec<_>>(),
    })
}

#[test]
fn the_page_and_vectors_of_the_transcript_match_a_recorded_session() {
    let packets = Run::new().run();
    let vector = vector(&packets);
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        let lines = serde_json::to_string_pretty(&vector).unwrap() + "\n";
        fs::write(spec("vectors/transcript.json"), lines).unwrap();
    }
    let kept = fs::read_to_string(spec("vectors/transcript.json")).unwrap();
    assert_eq!(
        serde_json::from_str::<Value>(&kept).unwrap(),
        vector,
        "NOWCAST_BLESS=1 writes the vectors again"
    );
    compare(&fs::read_to_string(spec("TRANSCRIPT.md")).unwrap(), &packets);
}
