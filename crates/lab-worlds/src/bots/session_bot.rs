//! One bot on a session: the same play as over the plain protocol, over the best available carrier.

use std::time::Duration;

use nowcast::{Channel, Connector, Message, MessageKind};
use nowcast_server::replication::Replica;
use nowcast_wire::{Shape, decode, decode_value, encode_to_vec};
use nowcast_world_protocol::plain::{ClientMessage, Input};
use nowcast_world_protocol::session::{
    Action, CHAT_LANE, CONTROLS_KEY, Controls, Definition, EntityState, FromWorld, Kind, Line, PROTOCOL,
    Player, StateKey, ToWorld, WORLD_LANE,
};
use tokio::time::{Instant, MissedTickBehavior};

use super::abilities::{Abilities, ActionOffer, KindOffer};
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
        kinds: Vec::new(),
        controls: Controls::default(),
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
    /// The kinds of the definition, with the shapes of their attributes.
    kinds: Vec<(String, Shape)>,
    /// The newest input.
    controls: Controls,
    begin: Instant,
    joined: Option<Instant>,
    last_tick: Option<(u32, Instant)>,
    felt: Felt,
}

impl SessionBot {
    async fn run(&mut self, plan: &Plan, index: usize, end: Instant) {
        let join = ToWorld::Join {
            protocol: PROTOCOL,
            name: format!("bot-{index}"),
            network_hz: plan.hz,
            key: Vec::new(),
        };
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
                self.controls = follow(self.controls, input);
                self.channel.try_state(CONTROLS_KEY, &encode_to_vec(&self.controls))
            }
            ClientMessage::Chat { text } => {
                self.channel.lane(CHAT_LANE).try_event(&encode_to_vec(&Line { text }))
            }
            ClientMessage::Act { action, arguments, number } => {
                event(ToWorld::Act { action, arguments: arguments.0, number, step: None, shown: None })
            }
            ClientMessage::Name { name } => event(ToWorld::Rename { name }),
            ClientMessage::Rate { hz } => event(ToWorld::Rate { network_hz: hz }),
            // A session measures its own round trip, and bots own no entities.
            _ => Ok(()),
        }
    }

    fn receive(&mut self, message: &Message) -> Result<(), String> {
        self.felt.received += 1;
        self.felt.received_bytes += message.bytes.len() as u64;
        let received = match (message.kind, message.lane.number()) {
            (MessageKind::Replication { .. }, _) => return self.replicated(&message.bytes),
            (MessageKind::State { key }, WORLD_LANE) => self.described(key.raw(), &message.bytes),
            (MessageKind::Event, WORLD_LANE) => decode(&message.bytes).and_then(|event| self.told(event)),
            _ => Ok(()),
        };
        received.map_err(|error| error.to_string())
    }

    fn told(&mut self, event: FromWorld) -> nowcast_wire::Result<()> {
        match event {
            FromWorld::Welcome { player, .. } => {
                let now = Instant::now();
                self.joined = Some(now);
                self.felt.connect_ms.push((now - self.begin).as_secs_f64() * 1e3);
                self.brain.welcomed(player);
            }
            FromWorld::Define { definition } => self.defined(definition)?,
            _ => {}
        }
        Ok(())
    }

    fn defined(&mut self, definition: Definition) -> nowcast_wire::Result<()> {
        let Definition { kinds, actions, .. } = definition;
        let mut offers = Vec::with_capacity(kinds.len());
        self.kinds.clear();
        for Kind { name, body, walker, attributes, .. } in kinds {
            let shape = Shape::from_bytes(&attributes)?;
            let attributes = shape.fields().unwrap_or_default().to_vec();
            self.kinds.push((name.clone(), shape));
            offers.push(KindOffer { name, body, walker, attributes });
        }
        let actions = actions.into_iter().map(|Action { name, arguments, hint, .. }| {
            let arguments = Shape::from_bytes(&arguments)?.fields().unwrap_or_default().to_vec();
            Ok(ActionOffer { name, arguments, hint })
        });
        let actions = actions.collect::<nowcast_wire::Result<Vec<_>>>()?;
        self.brain.offered(Abilities::new(offers, &actions));
        Ok(())
    }

    fn described(&mut self, key: u64, bytes: &[u8]) -> nowcast_wire::Result<()> {
        match StateKey::of(key) {
            Some(StateKey::Entity(id)) => {
                let entity = match EntityState::read(bytes)? {
                    EntityState::InSight(entity) => entity,
                    EntityState::OutOfSight(tick) => {
                        self.replica.hide(id.0, tick);
                        self.brain.lose(id.0);
                        return Ok(());
                    }
                    EntityState::Gone => {
                        self.brain.lose(id.0);
                        return Ok(());
                    }
                };
                // An entity whose kind is not defined yet is sent again after the definition.
                let Some((kind, shape)) = self.kinds.get(entity.kind as usize) else { return Ok(()) };
                let attributes = decode_value(shape, &entity.attributes)?;
                let place = entity.place.map(|place| place.position.map(f64::from));
                self.brain.meet(id.0, kind, entity.scale.map(f64::from), place, &attributes);
            }
            Some(StateKey::Player(id)) if !bytes.is_empty() => {
                let player: Player = decode(bytes)?;
                self.brain.moves(id.0, player.avatar);
            }
            _ => {}
        }
        Ok(())
    }

    fn replicated(&mut self, bytes: &[u8]) -> Result<(), String> {
        let applied = self.replica.apply(bytes).map_err(|error| error.to_string())?;
        let now = Instant::now();
        // A round may take several packets; only the first counts.
        if self.last_tick.is_none_or(|(tick, _)| tick != applied.tick)
            && let Some((_, at)) = self.last_tick.replace((applied.tick, now))
        {
            self.felt.interval_ms.push((now - at).as_secs_f64() * 1e3);
        }
        for (id, transform) in self.replica.transforms() {
            self.brain.moved(id, transform.position.map(f64::from));
        }
        Ok(())
    }
}

/// Returns the next controls: with the next number, if they differ from `before`.
fn follow(before: Controls, input: Input) -> Controls {
    let same_number = Controls {
        number: before.number,
        forward: input.forward as f32,
        right: input.right as f32,
        yaw: input.yaw as f32,
        run: input.run,
        jump: input.jump,
    };
    let step = u16::from(same_number != before);
    Controls { number: before.number.wrapping_add(step), ..same_number }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_controls_grows_when_they_change_and_only_then() {
        let ahead = Input { forward: 1.0, ..Input::default() };
        let one = follow(Controls::default(), ahead);
        assert_eq!((one.number, one.forward), (1, 1.0));
        assert_eq!(follow(one, ahead), one);
        let last = Controls { number: u16::MAX, ..one };
        assert_eq!(follow(last, Input::default()).number, 0);
    }
}
