//! One bot on a session. It plays as a bot over the plain protocol does, but over the best available carrier.

use std::time::Duration;

use nowcast::{Connector, Message};
use nowcast_wire::Shape;
use nowcast_world::{EntityId, Input as WorldInput};
use nowcast_world_client::{ClientError, EntityView, Join, MessageError, Update, WorldClient};
use nowcast_world_protocol::plain::{ClientMessage, Input};
use nowcast_world_protocol::session::{Action, ToWorld};
use tokio::time::{Instant, MissedTickBehavior};

use super::abilities::{Abilities, ActionOffer, KindOffer};
use super::brain::{Brain, THOUGHTS_HZ};
use super::client::Measurements;
use super::{Address, Plan};

/// Joins, plays until `end`, and leaves.
pub(super) async fn play(plan: &Plan, address: &Address, index: usize, end: Instant) -> Measurements {
    let mut measurements = Measurements::default();
    let room = address.path.rsplit('/').next().unwrap_or("bots");
    let begin = Instant::now();
    let url = format!("nowcast://{}/{room}", address.host);
    let channel = match Connector::new().connect(&url).await {
        Ok(channel) => channel,
        Err(error) => {
            measurements.end(error);
            return measurements;
        }
    };
    let join = Join::new(format!("bot-{index}")).network_hz(plan.hz);
    let client = match WorldClient::join(channel, join) {
        Ok(client) => client,
        Err(error) => {
            measurements.end(error);
            return measurements;
        }
    };
    let mut bot = SessionBot {
        client,
        brain: Brain::new(plan.seed ^ (index as u64 + 1) << 20),
        begin,
        joined: None,
        last_tick: None,
        measurements,
    };
    bot.run(end).await;
    bot.measurements.played = bot.joined.map_or(Duration::ZERO, |joined| joined.elapsed());
    bot.measurements
}

struct SessionBot {
    client: WorldClient,
    brain: Brain,
    begin: Instant,
    joined: Option<Instant>,
    last_tick: Option<(u32, Instant)>,
    measurements: Measurements,
}

impl SessionBot {
    async fn run(&mut self, end: Instant) {
        let mut thoughts = tokio::time::interval(Duration::from_secs(1) / THOUGHTS_HZ);
        thoughts.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let mut count = 0u32;
        loop {
            tokio::select! {
                () = tokio::time::sleep_until(end) => return,
                received = self.client.channel().receive() => {
                    let received = received.map_err(ClientError::from);
                    if let Err(error) = received.and_then(|message| self.receive(&message)) {
                        return self.measurements.end(error);
                    }
                }
                _ = thoughts.tick() => {
                    count += 1;
                    if count.is_multiple_of(THOUGHTS_HZ) && let Some(rtt) = self.client.channel().status().rtt {
                        self.measurements.ping_ms.push(rtt.as_secs_f64() * 1e3);
                    }
                    for said in self.brain.think() {
                        if let Err(error) = self.send(said) {
                            return self.measurements.end(error);
                        }
                    }
                }
            }
        }
    }

    fn send(&mut self, said: ClientMessage) -> Result<(), nowcast::Error> {
        self.measurements.sent += 1;
        match said {
            ClientMessage::Input(input) => self.client.set_input(&world_input(input)),
            ClientMessage::Chat { text } => self.client.say(&text),
            ClientMessage::Act { action, arguments, number: None } => self.client.act(&action, arguments.0),
            ClientMessage::Act { action, arguments, number: Some(number) } => {
                self.client.act_once(number, &action, arguments.0)
            }
            ClientMessage::Name { name } => self.client.send(&ToWorld::Rename { name }),
            ClientMessage::Rate { hz } => self.client.send(&ToWorld::Rate { network_hz: hz }),
            // Other messages are ignored: bots own no entities, and a session itself measures the round trip.
            _ => Ok(()),
        }
    }

    fn receive(&mut self, message: &Message) -> Result<(), ClientError> {
        self.measurements.received += 1;
        self.measurements.received_bytes += message.bytes.len() as u64;
        match self.client.handle(message)? {
            Update::Welcome => self.welcomed(),
            Update::Defined => self.defined()?,
            Update::Entity(id) => self.described(id),
            Update::Hidden(id) | Update::Gone(id) => self.brain.lose(id.0),
            Update::Player(id) => {
                let avatar = self.client.view().player(id).and_then(|player| player.avatar);
                self.brain.moves(id.0, avatar);
            }
            Update::Moved(applied) => self.moved(applied.tick),
            _ => {}
        }
        Ok(())
    }

    fn welcomed(&mut self) {
        let now = Instant::now();
        self.joined = Some(now);
        self.measurements.connect_ms.push((now - self.begin).as_secs_f64() * 1e3);
        if let Some(welcome) = self.client.view().welcome() {
            self.brain.welcomed(welcome.player.0);
        }
    }

    fn defined(&mut self) -> Result<(), MessageError> {
        let view = self.client.view();
        let Some(definition) = view.definition() else { return Ok(()) };
        let fields = |shape: &Shape| shape.fields().unwrap_or_default().to_vec();
        let kinds = definition.kinds.iter().zip(view.kinds()).map(|(kind, seen)| KindOffer {
            name: kind.name.clone(),
            body: kind.body.clone(),
            walker: kind.walker.clone(),
            attributes: fields(&seen.attributes),
        });
        let actions = definition.actions.iter().map(|Action { name, arguments, hint, .. }| {
            let arguments = fields(&Shape::from_bytes(arguments)?);
            Ok(ActionOffer { name: name.clone(), arguments, hint: hint.clone() })
        });
        let actions = actions.collect::<nowcast_wire::Result<Vec<_>>>()?;
        self.brain.offered(Abilities::new(kinds.collect(), &actions));
        Ok(())
    }

    fn described(&mut self, id: EntityId) {
        let view = self.client.view();
        let Some(EntityView { entity, attributes }) = view.entity(id) else { return };
        // If the kind of an entity is not defined yet, the entity is sent again after the definition.
        let Some(kind) = view.kind(entity.kind) else { return };
        let place = entity.place.map(|place| place.position.map(f64::from));
        self.brain.record_entity(id.0, &kind.name, entity.scale.map(f64::from), place, attributes);
    }

    fn moved(&mut self, tick: u32) {
        let now = Instant::now();
        // A round may take several packets, of which only the first one counts.
        if self.last_tick.is_none_or(|(last, _)| last != tick)
            && let Some((_, at)) = self.last_tick.replace((tick, now))
        {
            self.measurements.interval_ms.push((now - at).as_secs_f64() * 1e3);
        }
        for (id, transform) in self.client.view().transforms() {
            self.brain.moved(id.0, transform.position.map(f64::from));
        }
    }
}

fn world_input(input: Input) -> WorldInput {
    WorldInput {
        forward: input.forward as f32,
        right: input.right as f32,
        yaw: input.yaw as f32,
        run: input.run,
        jump: input.jump,
    }
}
