//! `spec/TRANSCRIPT.md`: a session of a world from its first packet to its last, in virtual time and without chance, so that
//! every run gives the bytes of the page. `NOWCAST_BLESS=1` writes the page and `spec/vectors/transcript.json` anew.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use nowcast_server::playground::{Config as WorldConfig, Layout, Playground};
use nowcast_server::replication::{History, Transform, Viewer};
use nowcast_server::session::{Controls, FromWorld, PROTOCOL, REPLICATION_LANE, Thing, ToWorld};
use nowcast_server::world::{EntityId, Input, Pose};
use nowcast_session::{
    Carrier, CloseCode, Config, Entropy, LaneConfig, Limits, MessageKind, Replication, Session, Time,
};
use nowcast_wire::{decode, encode_to_vec};
use serde_json::{Value, json};

/// A packet needs so many milliseconds.
const DELAY_MS: u64 = 10;
/// A step of the world, and a round of movement, take so many.
const STEP_MS: u64 = 17;
const ROUND_MS: u64 = 200;
/// When the client presses and lets go of the key, when its connection is lost, when another is there, and when it leaves.
const FORWARD_MS: u64 = 250;
const CUT_MS: u64 = 680;
const BACK_MS: u64 = 900;
const LEAVE_MS: u64 = 1_300;
const END_MS: u64 = 1_400;
/// The two clocks differ, as those of two machines do.
const CLOCKS_MS: [u64; 2] = [1_000, 5_000];

struct Client {
    session: Session,
}

struct Server {
    session: Session,
    world: Playground,
    avatar: Option<EntityId>,
    movement: Movement,
}

/// What a server's session is filled with: movement on its own lane.
struct Movement {
    history: History,
    viewer: Viewer,
}

impl Replication for Movement {
    fn has_more(&self, lane: u8) -> bool {
        lane == REPLICATION_LANE && self.viewer.has_more()
    }

    fn fill(&mut self, _lane: u8, number: u64, room: usize, out: &mut Vec<u8>) {
        self.viewer.fill(&self.history, number, room, out);
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
    /// Packets on their way, and when they arrive.
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
        let world = Playground::new(WorldConfig { layout: Layout::Flat, ..WorldConfig::default() });
        let mut client = Session::connect(now(0, 0), config(2), carrier, entropy(0x10));
        let join = ToWorld::Join { protocol: PROTOCOL, name: "Ada".into(), network_hz: 5 };
        client.put_event(now(0, 0), 0, &encode_to_vec(&join), None).unwrap();
        let movement = Movement { history: History::default(), viewer: Viewer::default() };
        Run {
            client: Client { session: client },
            server: Server {
                session: Session::accept(now(1, 0), config(3), carrier, entropy(0x80)),
                world,
                avatar: None,
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

    /// What people and the network do.
    fn happen(&mut self, ms: u64) {
        let controls = |forward| encode_to_vec(&Controls { forward, ..Controls::default() });
        let client = &mut self.client.session;
        match ms {
            FORWARD_MS => client.put_state(now(0, ms), 0, 1, &controls(1.0)).unwrap(),
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
                            &mut nowcast_session::NoReplication,
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
    /// What a server does in a millisecond: listens, steps its world, begins a round.
    fn turn(&mut self, ms: u64) {
        let mut bytes = Vec::new();
        while let Some(message) = self.session.poll_message(now(1, ms), &mut bytes) {
            match message.kind {
                MessageKind::State { .. } => self.steer(&bytes),
                MessageKind::Event => self.welcome(ms, &bytes),
                other => panic!("{other:?}"),
            }
            bytes.clear();
        }
        if ms.is_multiple_of(STEP_MS) {
            self.world.step();
            while self.world.poll_event().is_some() {}
            let transform = |pose: Pose| Transform { position: pose.position, rotation: pose.rotation };
            let tick = self.world.tick() as u32;
            self.movement.history.publish(tick, self.world.poses().map(|(id, pose)| (id.0, transform(pose))));
        }
        while let Some(outcome) = self.session.poll_outcome() {
            self.movement.viewer.settled(outcome.number, outcome.arrived);
        }
        if ms.is_multiple_of(ROUND_MS) && self.avatar.is_some() && self.session.is_open() {
            self.movement.viewer.due(&self.movement.history, self.avatar.map(|id| id.0));
        }
    }

    fn steer(&mut self, bytes: &[u8]) {
        let Controls { forward, right, yaw, run, jump } = decode(bytes).unwrap();
        self.world.set_input(self.avatar.unwrap(), Input::new(forward, right, yaw, run, jump).unwrap());
    }

    fn welcome(&mut self, ms: u64, bytes: &[u8]) {
        let ToWorld::Join { name, network_hz, .. } = decode(bytes).unwrap() else { panic!("no Join") };
        let id = self.world.join(&name).unwrap();
        self.avatar = Some(id);
        let tick = self.world.tick();
        let room = "plaza".into();
        let welcome =
            FromWorld::Welcome { protocol: PROTOCOL, id: id.0, room, step_hz: 60, network_hz, tick };
        self.session.put_event(now(1, ms), 0, &encode_to_vec(&welcome), None).unwrap();
        for entity in self.world.entities() {
            let thing = encode_to_vec(&Thing::of(&entity));
            self.session.put_state(now(1, ms), 0, entity.id.0.into(), &thing).unwrap();
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn explained(packet: &Sent) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_nowcast")).args(["decode", &hex(&packet.bytes)]).output().unwrap();
    assert!(output.status.success(), "{}: {}", hex(&packet.bytes), String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// What a reader should look at in a packet.
fn remark(packet: &Sent, text: &str) -> &'static str {
    let has = |part: &str| text.contains(part);
    match packet.from {
        0 if has("HELLO") && has("a new session") => "The client begins. Nothing may follow before WELCOME.",
        0 if has("HELLO") => {
            "The first connection is gone; this is another one. The client names its session and shows the token."
        }
        1 if has("WELCOME") && packet.carrier == 0 => {
            "The server takes it. The client keeps `session` and `token`."
        }
        1 if has("WELCOME") => {
            "The same session goes on: numbers, lanes and stamps are those of before the cut."
        }
        0 if has("as ToWorld: {\"Join\"") => "The proof of the WELCOME, and the first event: who comes.",
        0 if has("PROOF") => "The proof of the new WELCOME.",
        1 if has("as FromWorld: {\"Welcome\"") => {
            "The answer, and what things there are: the ground, which has a place for good, and the avatar, which has none."
        }
        0 if has("STATES") => "The key is pressed: controls are a state of key 1.",
        1 if has("told against 0 frames") => {
            "The first movement: nothing to tell it against, so the row stands there whole."
        }
        1 if has("told against 1") || has("told against 2") || has("told against 3") => {
            "Movement, as a difference from frames that the client has acknowledged."
        }
        _ if has("CLOSE") => "The client leaves, and waits until the server has ended the connection.",
        1 if has("REPLICATION") => "A round in which nothing moved tells the tick alone.",
        _ => "",
    }
}

fn page(packets: &[Sent]) -> String {
    let mut text = fs::read_to_string(spec("TRANSCRIPT.md")).unwrap();
    text.truncate(text.find(BEGIN).expect("the page has its mark") + BEGIN.len());
    text.push('\n');
    for (index, packet) in packets.iter().enumerate() {
        let from = ["client", "server"][packet.from];
        let lines = explained(packet);
        let _ = writeln!(text, "\n## {}. {from}, {} ms\n", index + 1, packet.at_ms);
        let remark = remark(packet, &lines);
        if !remark.is_empty() {
            let _ = writeln!(text, "{remark}\n");
        }
        text.push_str("```text\n");
        for line in hex(&packet.bytes).as_bytes().chunks(96) {
            let _ = writeln!(text, "{}", String::from_utf8_lossy(line));
        }
        let _ = writeln!(text, "\n{}```", lines);
    }
    text
}

/// What stands behind it is made by this test.
const BEGIN: &str = "<!-- made by crates/cli/tests/program/transcript.rs -->";

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
fn the_transcript_is_what_a_client_and_a_server_say() {
    let packets = Run::new().run();
    let (page, vector) = (page(&packets), vector(&packets));
    if std::env::var_os("NOWCAST_BLESS").is_some() {
        fs::write(spec("TRANSCRIPT.md"), &page).unwrap();
        let lines = serde_json::to_string_pretty(&vector).unwrap() + "\n";
        fs::write(spec("vectors/transcript.json"), lines).unwrap();
    }
    let kept = fs::read_to_string(spec("vectors/transcript.json")).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&kept).unwrap(), vector, "NOWCAST_BLESS=1 writes it anew");
    assert_eq!(fs::read_to_string(spec("TRANSCRIPT.md")).unwrap(), page, "NOWCAST_BLESS=1 writes it anew");
    for part in ["\"Join\"", "\"Welcome\"", "goes on with a session", "told against 1 frames", "CLOSE"] {
        assert!(page.contains(part), "the transcript shows {part}");
    }
}
