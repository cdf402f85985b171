//! The rules of one world: hooks that the engine calls.

use nowcast_wire::Value;

use crate::command::Edit;
use crate::contact::Contact;
use crate::id::{EntityId, PlayerId};
use crate::scene::Scene;
use crate::timer::Timer;

/// The rules of a world, as hooks. Every hook receives the [`Scene`], through which it reads and changes the world.
///
/// # State of a behaviour
/// A behaviour must not keep lasting data. The engine creates a behaviour again at a reload, after a restart and on another
/// server. The same commands must then give the same world. Lasting data belongs to the world: [`Scene::state`], attributes,
/// [`Scene::private`], the data of timers. A behaviour may keep values that it can compute again from this data.
///
/// # Order
/// In one step the engine calls, in this order:
/// 1. for each command in its sequence: [`join`](Self::join), [`leave`](Self::leave), [`action`](Self::action),
///    [`message`](Self::message), [`own`](Self::own) or [`release`](Self::release);
/// 2. [`timer`](Self::timer) for each timer that is due, by time and then by age;
/// 3. [`step`](Self::step) once;
/// 4. after walkers and physics have moved: [`contact`](Self::contact) for each contact that began or ended, ordered by the
///    ids of the two entities.
///
/// Hooks never call each other. A later hook sees the changes of an earlier one.
///
/// # Failure
/// Hooks return no errors, because a world continues even if its rules fail. A behaviour that can fail (a script)
/// catches its errors and reports them itself.
///
/// # Determinism
/// A hook uses no clock, no hash-map order and no addresses. [`Scene::random`] is its only source of randomness.
///
/// ```
/// use nowcast_world::{Behaviour, Body, ColliderShape, Definition, Kind, PlayerId, Scene, Spawn, Timer, To, Value, World};
///
/// /// Drops a ball every second and emits an event.
/// struct Rain;
///
/// impl Behaviour for Rain {
///     fn start(&mut self, scene: &mut Scene) {
///         scene.after(1.0, "drop", Value::Nil).expect("there is room for a timer");
///     }
///
///     fn timer(&mut self, scene: &mut Scene, timer: &Timer) {
///         let ball = scene.kind("ball").expect("the definition has it");
///         let x = scene.random() as f32;
///         if scene.spawn(ball, Spawn::at([x, 10.0, 0.0])).is_ok() {
///             let _ = scene.emit("drop", To::All, Value::F32(x));
///         }
///         let _ = scene.after(1.0, &timer.name, Value::Nil);
///     }
/// }
///
/// let ball = Kind::new("ball").with_body(Body::dynamic(ColliderShape::Sphere { radius: 0.3 }));
/// let definition = Definition { kinds: vec![ball], ..Definition::default() };
/// let mut world = World::new(definition, 1, Box::new(Rain))?;
/// (0..180).for_each(|_| world.step());
/// assert_eq!(world.scene().entities().len(), 2);
/// # Ok::<(), nowcast_world::DefinitionError>(())
/// ```
pub trait Behaviour {
    /// The world begins. Called once, before the first step of the world, but not after a restore.
    fn start(&mut self, _scene: &mut Scene) {}

    /// The world continues with this behaviour: called after a restore or a reload, before the next step. The entities that
    /// [`start`](Self::start) made exist. Compute here the values that the behaviour stores outside of the world. This hook
    /// must not change the world. If the hook changed the world, a restored world would differ from one that continued
    /// without a restore.
    fn resume(&mut self, _scene: &Scene) {}

    /// The world continues with other rules than before. Called once after [`resume`](Self::resume) and before the next
    /// step; this hook may change the world. `from` is the [`crate::Definition::version`] of the earlier rules, or
    /// `None` if it is unknown.
    fn upgrade(&mut self, _scene: &mut Scene, _from: Option<u32>) {}

    /// An editor changed the world directly ([`crate::Command::Edit`]). Values that the behaviour stores outside of the world
    /// may be out of date; like [`resume`](Self::resume), this hook must not change the world.
    fn edited(&mut self, _scene: &Scene, _edit: &Edit) {}

    /// The owner of an entity, or the player of an avatar, set attributes ([`crate::Command::Set`]). `attributes` is the map of the
    /// command. Like [`edited`](Self::edited), this hook must not change the world.
    fn set_by_owner(&mut self, _scene: &Scene, _entity: EntityId, _player: PlayerId, _attributes: &Value) {}

    /// A step of 1/60 s begins. Commands and timers are done; walkers and physics move next.
    fn step(&mut self, _scene: &mut Scene) {}

    /// A player joined. It has no avatar until the rules spawn one ([`Scene::spawn_avatar`]).
    fn join(&mut self, _scene: &mut Scene, _player: PlayerId) {}

    /// A player is about to leave. Its avatar and entities still exist. After this hook, the kinds of its entities decide
    /// what happens to these entities ([`crate::OwnerLeaves`]).
    fn leave(&mut self, _scene: &mut Scene, _player: PlayerId) {}

    /// A player triggers a declared action. `arguments` is a map that fits the declared shape: all fields are present,
    /// quantised and within bounds. Returns false if the behaviour cannot run the action in this step and changed nothing; the
    /// world then refuses the action ([`crate::Refusal::NoWorkLeft`]).
    fn action(&mut self, _scene: &mut Scene, _player: PlayerId, _action: &str, _arguments: &Value) -> bool {
        true
    }

    /// A player asks for an entity that the kind allows it to own, or has just spawned such an entity
    /// ([`crate::Command::Spawn`]). Returns whether the player gets it. A refused spawn is removed.
    fn own(&mut self, _scene: &mut Scene, _entity: EntityId, _player: PlayerId) -> bool {
        true
    }

    /// A player gives an entity back to the server, or leaves. The player still owns the entity during this hook. Not called
    /// if the entity is passed to another player: then [`own`](Self::own) is called for the new owner.
    fn release(&mut self, _scene: &mut Scene, _entity: EntityId, _player: PlayerId) {}

    /// Two entities began to touch or stopped touching, and the kind of at least one of them reports contacts. Called once
    /// for each pair.
    fn contact(&mut self, _scene: &mut Scene, _contact: &Contact) {}

    /// A timer set by [`Scene::after`] is due. The timer is already removed; set it again to repeat it.
    fn timer(&mut self, _scene: &mut Scene, _timer: &Timer) {}

    /// Handles a line of chat that a player sends. Returns whether all players receive the line ([`crate::Event::Said`]).
    fn message(&mut self, _scene: &mut Scene, _player: PlayerId, _text: &str) -> bool {
        true
    }
}

/// No rules, only physics.
impl Behaviour for () {}
