//! The rules of one world: hooks that the engine calls.

use nowcast_wire::Value;

use crate::contact::Contact;
use crate::id::{EntityId, PlayerId};
use crate::scene::Scene;
use crate::timer::Timer;

/// The rules of a world, as hooks. Every hook is given the [`Scene`], through which it reads and changes everything.
///
/// # State of a behaviour
/// Nothing that must last. A behaviour is made anew at a reload, after a restart and on another server, and the same
/// commands must give the same world there. Lasting data belongs to the world: [`Scene::state`], attributes,
/// [`Scene::private`], the data of timers. A behaviour may keep what it can compute again from these, and things that
/// change no rule.
///
/// # Order
/// In one step the engine calls, in this order:
/// 1. for each command in its sequence: [`join`](Self::join), [`leave`](Self::leave), [`action`](Self::action),
///    [`message`](Self::message), [`own`](Self::own) or [`release`](Self::release);
/// 2. [`timer`](Self::timer) for each timer that is due, by time and then by age;
/// 3. [`step`](Self::step) once;
/// 4. after walkers and physics have moved: [`contact`](Self::contact) for each contact that began or ended, ordered
///    by the ids of the two.
///
/// Hooks never call each other: what one changes, the others see at their turn.
///
/// # Failure
/// Hooks return nothing, because a world goes on whatever its rules do. A behaviour that can fail (a script) catches
/// its own errors and reports them in its own way.
///
/// # Determinism
/// A hook uses no clock, no randomness but [`Scene::random`], no order of a hash map, no address.
///
/// ```
/// use nowcast_world::{Behaviour, Body, ColliderShape, Definition, Kind, PlayerId, Scene, Spawn, Timer, To, Value, World};
///
/// /// Drops a ball every second and tells everybody.
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
    /// The world begins. Called once in a world's life, before its first step; not after a restore.
    fn start(&mut self, _scene: &mut Scene) {}

    /// The world continues with this behaviour: after a restore or a reload, before the next step. The entities that
    /// [`start`](Self::start) made are there. Compute here the values that the behaviour keeps beside the world. It
    /// must not change the world, or the restored world differs from the one that was not restored.
    fn resume(&mut self, _scene: &Scene) {}

    /// Other rules than before rule a world that goes on: called once after [`resume`](Self::resume) and before the next
    /// step, and here the world may be changed. `from` is the [`crate::Definition::version`] of the rules before, `None`
    /// where nobody knows them.
    fn upgrade(&mut self, _scene: &mut Scene, _from: Option<u32>) {}

    /// A step of 1/60 s begins: commands and timers have had their turn, walkers and physics move next.
    fn step(&mut self, _scene: &mut Scene) {}

    /// A player came. It has no avatar until one is spawned for it ([`Scene::spawn_avatar`]).
    fn join(&mut self, _scene: &mut Scene, _player: PlayerId) {}

    /// A player is about to go. Its avatar and all else are still there; afterwards what it owns goes as its kind says
    /// ([`crate::OwnerLeaves`]).
    fn leave(&mut self, _scene: &mut Scene, _player: PlayerId) {}

    /// A player does something that the definition declares. `arguments` is a map that fits the declared shape: every
    /// field is there, quantised, and within bounds.
    fn action(&mut self, _scene: &mut Scene, _player: PlayerId, _action: &str, _arguments: &Value) {}

    /// A player asks for an entity that its kind lets it have, or just made one ([`crate::Command::Spawn`]). Returns whether it
    /// gets it; one that was made goes otherwise.
    fn own(&mut self, _scene: &mut Scene, _entity: EntityId, _player: PlayerId) -> bool {
        true
    }

    /// A player gives an entity back to the server, or leaves; it is the owner's a last time. Not called for an entity that
    /// is passed on to another player, which is asked for by [`own`](Self::own).
    fn release(&mut self, _scene: &mut Scene, _entity: EntityId, _player: PlayerId) {}

    /// Two entities began or ceased to touch, and the kind of at least one of them reports contacts. Called once for
    /// the two.
    fn contact(&mut self, _scene: &mut Scene, _contact: &Contact) {}

    /// A timer that [`Scene::after`] set is due. It is gone already; set it again to repeat.
    fn timer(&mut self, _scene: &mut Scene, _timer: &Timer) {}

    /// A player says something. Returns whether everybody is to hear it ([`crate::Event::Said`]).
    fn message(&mut self, _scene: &mut Scene, _player: PlayerId, _text: &str) -> bool {
        true
    }
}

/// No rules at all: physics alone.
impl Behaviour for () {}
