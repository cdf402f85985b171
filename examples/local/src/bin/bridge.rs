//! A bridge: the tracker's newest pose, from shared memory into a world, where it moves an arm.
//!
//! `cargo run --release -p nowcast-examples --bin bridge` while the tracker and `cargo xtask serve` run; open `/r/robots`.

use std::time::{Duration, Instant};

use nowcast::blocking::{self, Channel};
use nowcast::{MessageKind, decode};
use nowcast_examples::Pose;
use nowcast_wire::{Shape, Value, decode_value, encode_to_vec};
use nowcast_world_protocol::session::{
    Definition, Entity, FromWorld, OWNED_KEYS, Owned, PROTOCOL, StateKey, ToWorld, WORLD_LANE,
};

/// Rate of states to the world: as often as its owners need to send them.
const STATES_HZ: u32 = 30;

/// Scale from the tracker's metre to metres in the world.
const SCALE: f32 = 2.0;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "nowcast://127.0.0.1:7777/robots".into());
    let tracker = blocking::connect("tracker")?;
    let mut bridge = Bridge { world: blocking::connect(&address)?, targets: Targets::default(), owns: None };
    let join =
        ToWorld::JoinProgram { protocol: PROTOCOL, name: "tracker".into(), network_hz: 5, key: Vec::new() };
    bridge.world.event(&encode_to_vec(&join))?;
    println!("The bridge is in {address}.");
    let begin = Instant::now();
    let mut newest = None;
    for turn in 1_u32.. {
        while let Some(message) = tracker.try_receive()? {
            if let MessageKind::State { .. } = message.kind {
                newest = Some(message.decode::<Pose>()?);
            }
        }
        while let Some(message) = bridge.world.try_receive()? {
            if message.lane.number() == WORLD_LANE {
                bridge.hear(message.kind, &message.bytes)?;
            }
        }
        if let Some(pose) = &newest {
            bridge.aim(pose)?;
        }
        let next = begin + Duration::from_secs(1) * turn / STATES_HZ;
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(())
}

/// Moves an arm of the world.
struct Bridge {
    world: Channel,
    targets: Targets,
    /// The target that this program owns, and the place of its arm.
    owns: Option<(u32, [f32; 3])>,
}

impl Bridge {
    fn hear(&mut self, kind: MessageKind, bytes: &[u8]) -> Result<(), Failure> {
        match kind {
            MessageKind::State { key } => {
                if let Some(StateKey::Entity(id)) = StateKey::of(key.raw()) {
                    self.targets.describe(id.0, bytes)?;
                    self.ask_for_one()?;
                }
            }
            MessageKind::Event => match decode::<FromWorld>(bytes)? {
                FromWorld::Define { definition } => self.targets.kind = target_kind(&definition)?,
                FromWorld::Granted { entity, .. } => {
                    println!("The bridge moves target {entity}.");
                    self.owns = self.targets.known.iter().copied().find(|(id, _)| *id == entity);
                }
                FromWorld::Denied { request, reason, .. } => println!("{request}: {reason}"),
                FromWorld::Notice { text } => println!("{text}"),
                _ => {}
            },
            _ => {}
        }
        Ok(())
    }

    fn ask_for_one(&mut self) -> Result<(), Failure> {
        if self.owns.is_none()
            && let Some(entity) = self.targets.free.pop()
        {
            self.world.event(&encode_to_vec(&ToWorld::Own { entity, number: entity }))?;
        }
        Ok(())
    }

    /// Sends a state: whatever the link does in the meantime, the newest one arrives.
    fn aim(&self, pose: &Pose) -> Result<(), Failure> {
        let Some((id, base)) = self.owns else { return Ok(()) };
        let [x, y, z] = pose.position.map(|part| part as f32);
        let position = [base[0] + SCALE * x, y, base[2] + SCALE * z];
        let owned = Owned { position, rotation: [0.0, 0.0, 0.0, 1.0], velocity: None };
        self.world.lane(WORLD_LANE).state(OWNED_KEYS + u64::from(id), &encode_to_vec(&owned))?;
        Ok(())
    }
}

/// The targets that the world has.
#[derive(Default)]
struct Targets {
    /// The number of their kind, and the shape of their attributes.
    kind: Option<(u32, Shape)>,
    /// Their ids, and the places of their arms.
    known: Vec<(u32, [f32; 3])>,
    /// Targets that had no owner when they were described.
    free: Vec<u32>,
}

impl Targets {
    fn describe(&mut self, id: u32, bytes: &[u8]) -> Result<(), Failure> {
        self.known.retain(|(known, _)| *known != id);
        self.free.retain(|known| *known != id);
        if bytes.is_empty() {
            return Ok(());
        }
        let entity: Entity = decode(bytes)?;
        let Some((_, shape)) = self.kind.as_ref().filter(|(kind, _)| *kind == entity.kind) else {
            return Ok(());
        };
        let attributes = decode_value(shape, &entity.attributes)?;
        self.known
            .push((id, base(&attributes).ok_or("a target without the attribute for the place of its arm")?));
        if entity.owner.is_none() {
            self.free.push(id);
        }
        Ok(())
    }
}

fn target_kind(definition: &Definition) -> Result<Option<(u32, Shape)>, Failure> {
    let found = definition.kinds.iter().zip(0..).find(|(kind, _)| kind.name == "target");
    found.map(|(kind, number)| Ok((number, Shape::from_bytes(&kind.attributes)?))).transpose()
}

fn base(attributes: &Value) -> Option<[f32; 3]> {
    let Some(Value::List(parts)) = attributes.get("base") else { return None };
    let parts: Option<Vec<f32>> = parts.iter().map(|part| part.as_f64().map(|part| part as f32)).collect();
    parts?.try_into().ok()
}
