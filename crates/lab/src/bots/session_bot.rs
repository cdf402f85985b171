//! One bot on a session: the same play as on the plain protocol, over the best carrier there is.

use std::collections::BTreeMap;
use std::time::Duration;

use nowcast::{Channel, Connector, Message, MessageKind};
use nowcast_server::plain::{ClientMessage, Entity, EntityKind, Moved, ServerMessage};
use nowcast_server::replication::{Replica, transform_of};
use nowcast_server::session::{
    CHAT_LANE, CONTROLS_KEY, Controls, FromWorld, Kind, Line, PROTOCOL, Thing, ToWorld, WORLD_LANE,
};
use nowcast_wire::{decode, encode_to_vec};
use tokio::time::{Instant, MissedTickBehavior};

use super::brain::{Brain, THOUGHTS_HZ};
use super::client::Felt;
use super::{Address, Plan};

/// Joins, plays until `end`, and leaves.
pub(super) async fn play(plan: &Plan, address: &Address, index: usize, end: Instant) -> Felt {
    let mut felt = Felt::default();
    let room = address.path.rsplit('/').next().unwrap_or("bots");
    let begin = Instant::now();
    let url = format!("nowcast://{}/{room}", address.host);
    let channel = match Connector::new().connect(&url).await {
        Ok(channel) => channel,
        Err(error) => {
            felt.end(error);
            return felt;
        }
    };
    let mut bot = SessionBot {
        channel,
        brain: Brain::new(plan.seed ^ (index as u64 + 1) << 20),
        replica: Replica::default(),
        held: BTreeMap::new(),
        begin,
        joined: None,
        last_tick: None,
        felt,
    };
    bot.run(plan, index, end).await;
    bot.felt.played = bot.joined.map_or(Duration::ZERO, |joined| joined.elapsed());
    bot.felt
}

struct SessionBot {
    channel: Channel,
    brain: Brain,
    replica: Replica,
    /// What each avatar was last said to carry.
    held: BTreeMap<u32, Option<u32>>,
    begin: Instant,
    joined: Option<Instant>,
    last_tick: Option<(u32, Instant)>,
    felt: Felt,
}

impl SessionBot {
    async fn run(&mut self, plan: &Plan, index: usize, end: Instant) {
        let join = ToWorld::Join { protocol: PROTOCOL, name: format!("bot-{index}"), network_hz: plan.hz };
        if let Err(error) = self.channel.try_event(&encode_to_vec(&join)) {
            return self.felt.end(error);
        }
        let mut thoughts = tokio::time::interval(Duration::from_secs(1) / THOUGHTS_HZ);
        thoughts.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut count = 0u32;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(end) => return,
                received = self.channel.receive() => match received {
                    Ok(message) => if let Err(nonsense) = self.receive(&message) {
                        return self.felt.end(format!("the server sent nonsense: {nonsense}"));
                    },
                    Err(error) => return self.felt.end(error),
                },
                _ = thoughts.tick() => {
                    count += 1;
                    if count.is_multiple_of(THOUGHTS_HZ) && let Some(rtt) = self.channel.status().rtt {
                        self.felt.ping_ms.push(rtt.as_secs_f64() * 1e3);
                    }
                    for said in self.brain.think() {
                        if let Err(error) = self.send(said) {
                            return self.felt.end(error);
                        }
                    }
                }
            }
        }
    }

    fn send(&mut self, said: ClientMessage) -> Result<(), nowcast::Error> {
        self.felt.sent += 1;
        let event = |message: ToWorld| self.channel.try_event(&encode_to_vec(&message));
        match said {
            ClientMessage::Input(input) => {
                let controls = Controls {
                    forward: input.forward as f32,
                    right: input.right as f32,
                    yaw: input.yaw as f32,
                    run: input.run,
                    jump: input.jump,
                };
                self.channel.try_state(CONTROLS_KEY, &encode_to_vec(&controls))
            }
            ClientMessage::Chat { text } => {
                self.channel.lane(CHAT_LANE).try_event(&encode_to_vec(&Line { text }))
            }
            ClientMessage::Grab { block } => event(ToWorld::Grab { block }),
            ClientMessage::Throw { power, pitch } => {
                event(ToWorld::Throw { power: power as f32, pitch: pitch as f32 })
            }
            ClientMessage::Name { name } => event(ToWorld::Rename { name }),
            ClientMessage::Rate { hz } => event(ToWorld::Rate { network_hz: hz }),
            ClientMessage::Ping { .. } => Ok(()),
        }
    }

    fn receive(&mut self, message: &Message) -> Result<(), String> {
        self.felt.received += 1;
        self.felt.received_bytes += message.bytes.len() as u64;
        match (message.kind, message.lane.number()) {
            (MessageKind::Replication { .. }, _) => self.replicated(&message.bytes),
            (MessageKind::State { key }, WORLD_LANE) => self.described(key.raw() as u32, &message.bytes),
            (MessageKind::Event, WORLD_LANE) => {
                let event: FromWorld = decode(&message.bytes).map_err(|error| error.to_string())?;
                if let FromWorld::Welcome { protocol, id, room, step_hz, network_hz, tick } = event {
                    let now = Instant::now();
                    self.joined = Some(now);
                    self.felt.connect_ms.push((now - self.begin).as_secs_f64() * 1e3);
                    self.brain.see(&ServerMessage::Welcome { protocol, id, room, step_hz, network_hz, tick });
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn described(&mut self, id: u32, bytes: &[u8]) -> Result<(), String> {
        if bytes.is_empty() {
            self.brain.see(&ServerMessage::Despawn { ids: vec![id] });
            return Ok(());
        }
        let thing: Thing = decode(bytes).map_err(|error| error.to_string())?;
        let is_new = self.held.insert(id, thing.held).is_none();
        let place = self.replica.row(id).map(|row| transform_of(&row).position);
        let place = place.or(thing.place.map(|place| place.position)).unwrap_or_default();
        if is_new {
            let kind = match thing.kind {
                Kind::Static => EntityKind::Static,
                Kind::Block => EntityKind::Block,
                Kind::Avatar => EntityKind::Avatar,
            };
            let size = (kind != EntityKind::Avatar).then(|| thing.size.map(f64::from));
            let (p, r) = (place.map(f64::from), [0.0; 3]);
            let entity = Entity { id, kind, name: Some(thing.name), size, color: thing.color, p, r };
            self.brain.see(&ServerMessage::Spawn { entities: vec![entity] });
        }
        if thing.kind == Kind::Avatar {
            self.brain.see(&ServerMessage::Hold { avatar: id, block: thing.held });
        }
        Ok(())
    }

    fn replicated(&mut self, bytes: &[u8]) -> Result<(), String> {
        let applied = self.replica.apply(bytes).map_err(|error| error.to_string())?;
        let now = Instant::now();
        // A round may take several packets; the first of them counts.
        if self.last_tick.is_none_or(|(tick, _)| tick != applied.tick)
            && let Some((_, at)) = self.last_tick.replace((applied.tick, now))
        {
            self.felt.interval_ms.push((now - at).as_secs_f64() * 1e3);
        }
        let entities = self.replica.rows().map(|(id, row)| {
            let [position_x, position_y, position_z] = transform_of(&row).position.map(f64::from);
            Moved { id, position_x, position_y, position_z, euler_x: 0.0, euler_y: 0.0, euler_z: 0.0 }
        });
        self.brain.see(&ServerMessage::Move { tick: applied.tick.into(), entities: entities.collect() });
        Ok(())
    }
}
