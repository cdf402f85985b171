//! The part of a world that a client knows.

use std::collections::BTreeMap;

use nowcast_replication::{Applied, PayloadError, Quantization, Replica, Transform};
use nowcast_wire::{Shape, Value, decode, decode_value};
use nowcast_world::{Body, EntityId, Layers, PlayerId};
use nowcast_world_protocol::WalkerKind;
use nowcast_world_protocol::session::{
    Definition, Entity, EntityState, FromWorld, Missed, Player, Said, Screen, StateKey,
};

use crate::Incoming;

/// The content of the server's welcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Welcome {
    /// The client's number.
    pub player: PlayerId,
    /// The room.
    pub room: String,
    /// The world that the room shows.
    pub world: String,
    /// Steps of the world a second.
    pub step_hz: u32,
    /// Rounds of movement a second.
    pub network_hz: u32,
    /// Number of steps that the world had taken when the client joined.
    pub tick: u64,
    /// Whether the client continues as the player of an earlier session.
    pub resumed: bool,
}

/// A kind, with the fields that a client reads often.
#[derive(Clone, Debug)]
pub struct KindView {
    /// The name of the kind.
    pub name: String,
    /// The shape of the kind's attributes.
    pub attributes: Shape,
    /// The body for physics, if the kind has one and the definition was not shortened.
    pub body: Option<Body>,
    /// The parameters by which input moves entities of the kind.
    pub walker: Option<WalkerKind>,
    /// The collision layer of the kind's bodies, and the layers that they pass through.
    pub layers: Layers,
}

/// An entity in the client's interest set.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityView {
    /// The description, as the server sent it.
    pub entity: Entity,
    /// The attributes as a map by name; nil if the kind is not defined yet. The server describes such an entity again after the
    /// definition.
    pub attributes: Value,
}

/// The change that a message made. Except for events and lines, the view holds the new values.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// The client has joined: see [`WorldView::welcome`].
    Welcome,
    /// Another definition applies: see [`WorldView::definition`].
    Defined,
    /// An entity entered the interest set, or its whole description was sent again.
    Entity(EntityId),
    /// An entity left the interest set.
    Hidden(EntityId),
    /// An entity was removed from the world.
    Gone(EntityId),
    /// A player joined, or its name or avatar changed.
    Player(PlayerId),
    /// A player left.
    Left(PlayerId),
    /// The value at a place on screens changed: see [`WorldView::screen`].
    Screen(u32),
    /// Entities moved.
    Moved(Applied),
    /// An event that has no update of its own.
    Event(FromWorld),
    /// A line of chat.
    Line(Said),
    /// The number of chat lines that were not sent to the client since it joined.
    Missed(u32),
    /// The message has no meaning in this version of the protocol.
    Unknown,
}

/// An invalid message. The server is at fault.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum MessageError {
    /// An event, a state or a line cannot be decoded.
    #[error("the server sent an invalid message: {0}")]
    Malformed(#[from] nowcast_wire::Error),
    /// A payload of movement cannot be read.
    #[error("the server sent invalid movement: {0}")]
    Movement(#[from] PayloadError),
}

/// The part of a world that a client knows. It depends only on the messages that it handled, in their order.
///
/// ```
/// use nowcast::MessageKind;
/// use nowcast_wire::encode_to_vec;
/// use nowcast_world_client::{Incoming, Update, WorldView};
/// use nowcast_world_protocol::session::{FromWorld, WORLD_LANE};
///
/// let mut view = WorldView::default();
/// let bytes = encode_to_vec(&FromWorld::Notice { text: "Tea is ready.".into() });
/// let update = view.handle(Incoming::new(MessageKind::Event, WORLD_LANE, &bytes))?;
/// assert_eq!(update, Update::Event(FromWorld::Notice { text: "Tea is ready.".into() }));
/// # Ok::<(), nowcast_world_client::MessageError>(())
/// ```
#[derive(Debug, Default)]
pub struct WorldView {
    welcome: Option<Welcome>,
    definition: Option<Definition>,
    kinds: Vec<KindView>,
    entities: BTreeMap<EntityId, EntityView>,
    players: BTreeMap<PlayerId, Player>,
    screens: BTreeMap<u32, Screen>,
    replica: Replica,
}

impl WorldView {
    /// Handles a message, and returns the change that it made.
    ///
    /// # Errors
    /// Fails if the message breaks `spec/WORLD.md`. A client then closes the session with 64.
    pub fn handle(&mut self, incoming: Incoming<'_>) -> Result<Update, MessageError> {
        Ok(match incoming {
            Incoming::Movement(payload) => Update::Moved(self.replica.apply(payload)?),
            Incoming::State { key: StateKey::Entity(id), value } => self.handle_entity(id, value)?,
            Incoming::State { key: StateKey::Player(id), value: [] } => {
                self.players.remove(&id);
                Update::Left(id)
            }
            Incoming::State { key: StateKey::Player(id), value } => {
                self.players.insert(id, decode(value)?);
                Update::Player(id)
            }
            Incoming::State { key: StateKey::Screen(number), value } => {
                self.screens.insert(number, decode(value)?);
                Update::Screen(number)
            }
            Incoming::Event(bytes) => self.handle_event(decode(bytes)?)?,
            Incoming::Line(bytes) => Update::Line(decode(bytes)?),
            Incoming::Missed(bytes) => Update::Missed(decode::<Missed>(bytes)?.lines),
            Incoming::Unknown => Update::Unknown,
        })
    }

    /// Returns the content of the welcome; `None` before the welcome.
    pub fn welcome(&self) -> Option<&Welcome> {
        self.welcome.as_ref()
    }

    /// The definition that applies; `None` before the first.
    pub fn definition(&self) -> Option<&Definition> {
        self.definition.as_ref()
    }

    /// Returns a kind by the number that entities refer to.
    pub fn kind(&self, number: u32) -> Option<&KindView> {
        self.kinds.get(number as usize)
    }

    /// The kinds, in the order of the definition.
    pub fn kinds(&self) -> &[KindView] {
        &self.kinds
    }

    /// Returns an entity in sight.
    pub fn entity(&self, id: EntityId) -> Option<&EntityView> {
        self.entities.get(&id)
    }

    /// The entities in sight, ordered by id.
    pub fn entities(&self) -> impl Iterator<Item = (EntityId, &EntityView)> {
        self.entities.iter().map(|(id, entity)| (*id, entity))
    }

    /// Returns a player in the room.
    pub fn player(&self, id: PlayerId) -> Option<&Player> {
        self.players.get(&id)
    }

    /// The players in the room, ordered by number.
    pub fn players(&self) -> impl Iterator<Item = (PlayerId, &Player)> {
        self.players.iter().map(|(id, player)| (*id, player))
    }

    /// Returns a place on screens, by the number that the server chose.
    pub fn screen(&self, number: u32) -> Option<&Screen> {
        self.screens.get(&number)
    }

    /// Returns all places on screens, in the order of their numbers.
    pub fn screens(&self) -> impl Iterator<Item = &Screen> {
        self.screens.values()
    }

    /// The client's own avatar, if it has one.
    pub fn avatar(&self) -> Option<EntityId> {
        let own = self.player(self.welcome()?.player)?;
        own.avatar.map(EntityId)
    }

    /// Returns the newest pose of an entity that moves.
    pub fn transform(&self, id: EntityId) -> Option<Transform> {
        self.replica.transform(id.0)
    }

    /// The newest poses of all entities that move and are in sight.
    pub fn transforms(&self) -> impl Iterator<Item = (EntityId, Transform)> {
        self.replica.transforms().map(|(id, transform)| (EntityId(id), transform))
    }

    /// Returns the newest position of an entity in sight, in metres.
    pub fn position(&self, id: EntityId) -> Option<[f32; 3]> {
        let placed = self.entity(id)?.entity.place.map(|place| place.position);
        self.transform(id).map(|transform| transform.position).or(placed)
    }

    /// The number of an entity's newest jump (`spec/WORLD.md`, section 4): there is no path to its present position from the one
    /// before. 0 without a jump.
    pub(crate) fn jump(&self, id: EntityId) -> u8 {
        self.replica.quantization(id.0).map_or(0, Quantization::jump)
    }

    fn handle_entity(&mut self, id: EntityId, value: &[u8]) -> Result<Update, MessageError> {
        Ok(match EntityState::read(value)? {
            EntityState::InSight(entity) => {
                let attributes = match self.kind(entity.kind) {
                    Some(kind) => decode_value(&kind.attributes, &entity.attributes)?,
                    None => Value::Nil,
                };
                self.entities.insert(id, EntityView { entity, attributes });
                Update::Entity(id)
            }
            EntityState::OutOfSight(tick) => {
                self.replica.hide(id.0, tick);
                self.entities.remove(&id);
                Update::Hidden(id)
            }
            EntityState::Gone => {
                self.entities.remove(&id);
                Update::Gone(id)
            }
        })
    }

    fn handle_event(&mut self, event: FromWorld) -> Result<Update, MessageError> {
        Ok(match event {
            FromWorld::Welcome { player, room, world, step_hz, network_hz, tick, resumed, .. } => {
                let player = PlayerId(player);
                self.welcome = Some(Welcome { player, room, world, step_hz, network_hz, tick, resumed });
                Update::Welcome
            }
            FromWorld::Define { definition } => {
                let kinds = definition.kinds.iter().map(|kind| {
                    let attributes = Shape::from_bytes(&kind.attributes)?;
                    let (body, walker, layers) = (kind.read_body(), kind.read_walker(), kind.read_layers());
                    Ok(KindView { name: kind.name.clone(), attributes, body, walker, layers })
                });
                self.kinds = kinds.collect::<nowcast_wire::Result<_>>()?;
                self.definition = Some(definition);
                Update::Defined
            }
            FromWorld::Rate { network_hz } => {
                if let Some(welcome) = &mut self.welcome {
                    welcome.network_hz = network_hz;
                }
                Update::Event(event)
            }
            event => Update::Event(event),
        })
    }
}

#[cfg(test)]
mod tests {
    use nowcast_wire::encode_to_vec;
    use nowcast_world_protocol::session::{Kind, PROTOCOL, Place};

    use super::*;

    fn event(view: &mut WorldView, event: &FromWorld) -> Update {
        view.handle(Incoming::Event(&encode_to_vec(event))).unwrap()
    }

    fn state(view: &mut WorldView, key: StateKey, value: &[u8]) -> Update {
        view.handle(Incoming::State { key, value }).unwrap()
    }

    fn box_entity() -> Entity {
        let place = Place { position: [1.0, 2.0, 3.0], rotation: [0.0, 0.0, 0.0, 1.0] };
        Entity { kind: 0, scale: [1.0; 3], parent: None, place: Some(place), attributes: vec![], owner: None }
    }

    fn define(view: &mut WorldView) {
        let kind = Kind::describe(&nowcast_world::Kind::new("box"), 9.81);
        let (actions, events, assets) = Default::default();
        let definition = Definition { version: 1, kinds: vec![kind], actions, events, assets };
        assert_eq!(event(view, &FromWorld::Define { definition }), Update::Defined);
    }

    #[test]
    fn an_entity_is_known_while_it_is_in_sight() {
        let mut view = WorldView::default();
        define(&mut view);
        let (id, key) = (EntityId(7), StateKey::Entity(EntityId(7)));
        let described = encode_to_vec(&box_entity());
        assert_eq!(state(&mut view, key, &described), Update::Entity(id));
        assert_eq!(view.position(id), Some([1.0, 2.0, 3.0]));
        assert_eq!(view.entity(id).map(|seen| &seen.attributes), Some(&Value::Map(vec![])));
        assert_eq!(state(&mut view, key, &9_u32.to_le_bytes()), Update::Hidden(id));
        assert_eq!((view.entity(id), view.position(id)), (None, None));
        state(&mut view, key, &described);
        assert_eq!(state(&mut view, key, &[]), Update::Gone(id));
        assert_eq!(view.entities().count(), 0);
    }

    #[test]
    fn an_entity_of_an_unknown_kind_has_no_attributes_yet() {
        let mut view = WorldView::default();
        let id = EntityId(1);
        state(&mut view, StateKey::Entity(id), &encode_to_vec(&box_entity()));
        assert_eq!(view.entity(id).map(|seen| &seen.attributes), Some(&Value::Nil));
    }

    #[test]
    fn the_own_avatar_is_that_of_the_welcomed_player() {
        let mut view = WorldView::default();
        let welcome = FromWorld::Welcome {
            protocol: PROTOCOL,
            player: 3,
            room: "plaza".into(),
            world: "plaza".into(),
            step_hz: 60,
            network_hz: 30,
            tick: 100,
            resumed: false,
        };
        assert_eq!(event(&mut view, &welcome), Update::Welcome);
        let id = PlayerId(3);
        let ada = encode_to_vec(&Player { name: "Ada".into(), avatar: Some(12), program: false });
        assert_eq!(state(&mut view, StateKey::Player(id), &ada), Update::Player(id));
        assert_eq!(view.avatar(), Some(EntityId(12)));
        assert_eq!(state(&mut view, StateKey::Player(id), &[]), Update::Left(id));
        assert_eq!((view.avatar(), view.players().count()), (None, 0));
        event(&mut view, &FromWorld::Rate { network_hz: 20 });
        assert_eq!(view.welcome().map(|welcome| welcome.network_hz), Some(20));
    }

    #[test]
    fn malformed_messages_are_refused() {
        let mut view = WorldView::default();
        for incoming in [
            Incoming::Event(&[250]),
            Incoming::Line(&[]),
            Incoming::Movement(&[1, 2]),
            Incoming::State { key: StateKey::Screen(1), value: &[] },
        ] {
            assert!(view.handle(incoming).is_err(), "{incoming:?}");
        }
    }
}
