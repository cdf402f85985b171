//! A bridge. It reads the tracker's newest pose from shared memory and sends it to a world, where the pose moves an arm.
//!
//! Run `cargo run --release -p nowcast-examples --bin bridge` while the tracker and `cargo xtask serve` run. Then open
//! `/r/robots`.

use std::time::{Duration, Instant};

use nowcast::MessageKind;
use nowcast::blocking::wait;
use nowcast_examples::Pose;
use nowcast_wire::Value;
use nowcast_world::EntityId;
use nowcast_world_client::{EntityView, Join, Update, WorldClient};
use nowcast_world_protocol::session::{FromWorld, Owned};

/// Rate at which states are sent to the world. Owners need no higher rate.
const STATES_HZ: u32 = 30;

/// Metres in the world for each metre of the tracker.
const SCALE: f32 = 2.0;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let address = std::env::args().nth(1).unwrap_or_else(|| "nowcast://127.0.0.1:7777/robots".into());
    let tracker = wait(nowcast::connect("tracker"))?;
    let world = wait(nowcast::connect(&address))?;
    let world = WorldClient::join(world, Join::new("tracker").program().network_hz(5))?;
    let mut bridge = Bridge { world, free: Vec::new(), owns: None };
    println!("The bridge is in {address}.");
    let begin = Instant::now();
    let mut newest = None;
    for turn in 1_u32.. {
        while let Some(message) = tracker.try_receive()? {
            if let MessageKind::State { .. } = message.kind {
                newest = Some(message.decode::<Pose>()?);
            }
        }
        while let Some(update) = bridge.world.try_receive()? {
            bridge.handle(update)?;
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
    world: WorldClient,
    /// Targets that had no owner when they were announced.
    free: Vec<EntityId>,
    /// The target that this program owns, and the position of its arm.
    owns: Option<(EntityId, [f32; 3])>,
}

impl Bridge {
    fn handle(&mut self, update: Update) -> Result<(), Failure> {
        match update {
            Update::Entity(id) => {
                self.free.retain(|free| *free != id);
                if self.target(id).is_some_and(|target| target.entity.owner.is_none()) {
                    self.free.push(id);
                }
                self.ask_for_one()?;
            }
            Update::Hidden(id) | Update::Gone(id) => self.free.retain(|free| *free != id),
            Update::Event(FromWorld::Granted { entity, .. }) => {
                println!("The bridge moves target {entity}.");
                let target = self.target(EntityId(entity)).ok_or("the world grants an unknown target")?;
                let base = base(&target.attributes)
                    .ok_or("a target without the attribute for the place of its arm")?;
                self.owns = Some((EntityId(entity), base));
            }
            Update::Event(FromWorld::Denied { request, reason, .. }) => println!("{request}: {reason}"),
            Update::Event(FromWorld::Notice { text }) => println!("{text}"),
            _ => {}
        }
        Ok(())
    }

    /// Returns an entity if it is a target.
    fn target(&self, id: EntityId) -> Option<&EntityView> {
        let seen = self.world.view().entity(id)?;
        let kind = self.world.view().kind(seen.entity.kind)?;
        (kind.name == "target").then_some(seen)
    }

    fn ask_for_one(&mut self) -> Result<(), Failure> {
        if self.owns.is_none()
            && let Some(entity) = self.free.pop()
        {
            self.world.own(entity, entity.0)?;
        }
        Ok(())
    }

    /// Sends a state. The newest state arrives in spite of losses on the link.
    fn aim(&self, pose: &Pose) -> Result<(), Failure> {
        let Some((id, base)) = self.owns else { return Ok(()) };
        let [x, y, z] = pose.position.map(|part| part as f32);
        let position = [base[0] + SCALE * x, y, base[2] + SCALE * z];
        let owned = Owned { position, rotation: [0.0, 0.0, 0.0, 1.0], velocity: None };
        self.world.move_owned(id, &owned)?;
        Ok(())
    }
}

fn base(attributes: &Value) -> Option<[f32; 3]> {
    let Some(Value::List(parts)) = attributes.get("base") else { return None };
    let parts: Option<Vec<f32>> = parts.iter().map(|part| part.as_f64().map(|part| part as f32)).collect();
    parts?.try_into().ok()
}
