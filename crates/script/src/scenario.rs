//! Scenarios: a script plays a world in virtual time.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mlua::{Function, Table, Value as Luau};
use nowcast_world::{
    Behaviour, Command, Contact, Definition, EntityId, Event, Input, JoinRequest, PlayerId, Pose, SavedData,
    Scene, Timer, To, Value, World, is_account,
};

use crate::console::Console;
use crate::convert::{Purpose, from_luau, to_luau};
use crate::fault::{Fault, FaultKind};
use crate::fields::{Fields, array};
use crate::handle::{Handle, lend, with_scene};
use crate::limits::Limits;
use crate::module::{place_of, rotation};
use crate::namespace::{Namespace, Shared};
use crate::sandbox::Sandbox;
use crate::script::Script;
use crate::sources::{MAIN, Sources};
use crate::suggest::instead;

/// Maximum steps in a case: an hour of world time.
const STEPS_MAX: u64 = 3_600 * 60;
/// Maximum number of recorded events of a case; later ones are not recorded.
const EVENTS_MAX: usize = 65_536;

/// The cases of one module in a world's `tests/`.
///
/// ```
/// use nowcast_script::{Limits, Scenario, Sources};
///
/// let sources = Sources::from_iter([
///     ("world.luau", r#"
///         local world = require("@nowcast/world")
///         world.state { visitors = 0 }
///         world.on("join", function(player) world.state.visitors += 1 end)"#),
///     ("tests/visitors.luau", r#"
///         local test, world = require("@nowcast/test"), require("@nowcast/world")
///         test.case("visitors are counted", function()
///             test.join("Ada")
///             test.join("Bo")
///             test.equal(world.state.visitors, 2)
///         end)"#),
/// ]);
/// let scenario = Scenario::new(sources, "tests/visitors.luau", Limits::DEFAULT)?;
/// assert_eq!(scenario.cases(), ["visitors are counted"]);
/// assert_eq!(scenario.run(0, 1).failure, None);
/// # Ok::<(), nowcast_script::Fault>(())
/// ```
pub struct Scenario {
    sources: Sources,
    module: String,
    limits: Limits,
    cases: Vec<String>,
}

/// The result of a case.
#[derive(Clone, PartialEq, Debug)]
pub struct Outcome {
    /// Number of steps that the case took.
    pub steps: u64,
    /// The failure: the case's own error, or the first fault of the world's script.
    pub failure: Option<Fault>,
    /// The printed lines.
    pub printed: Vec<String>,
}

/// Values that a case and its runner exchange.
#[derive(Default)]
struct Exchange {
    commands: RefCell<VecDeque<Command>>,
    events: RefCell<Vec<(String, To, Value)>>,
    /// Players that the rules sent to other rooms.
    sent: RefCell<Vec<(PlayerId, String, Value)>>,
    refusals: RefCell<Vec<String>>,
    next_player: RefCell<u32>,
    is_done: RefCell<bool>,
    /// The data of accounts, as a server stores it.
    saved: RefCell<BTreeMap<String, SavedData>>,
}

impl Scenario {
    /// Loads the module with its world, and lists its cases.
    ///
    /// # Errors
    /// Fails if the rules or the module do not load.
    pub fn new(sources: Sources, module: &str, limits: Limits) -> Result<Scenario, Fault> {
        if sources.text(module).is_none() {
            return Err(Fault::of_file(FaultKind::Syntax, module, "the module does not exist"));
        }
        let mut scenario = Scenario { sources, module: module.to_owned(), limits, cases: Vec::new() };
        let exchange = Rc::new(Exchange::default());
        let (script, entry) = scenario.load(&exchange)?;
        scenario.cases = script.sandbox().run(|_| entry.get::<Function>("names")?.call(()))?;
        Ok(scenario)
    }

    /// Returns the names of the cases, in the order in which they are written.
    pub fn cases(&self) -> &[String] {
        &self.cases
    }

    /// Plays one case in a new world.
    ///
    /// # Panics
    /// Panics if there is no such case.
    pub fn run(&self, case: usize, seed: u64) -> Outcome {
        assert!(case < self.cases.len(), "there are {} cases", self.cases.len());
        self.play(case, seed).unwrap_or_else(|fault| Outcome {
            steps: 0,
            failure: Some(fault),
            printed: Vec::new(),
        })
    }

    fn play(&self, case: usize, seed: u64) -> Result<Outcome, Fault> {
        let exchange = Rc::new(Exchange::default());
        let (script, entry) = self.load(&exchange)?;
        let (resume, moment): (Function, Option<String>) = script.sandbox().run(|_| {
            entry.get::<Function>("begin")?.call::<()>(case + 1)?;
            Ok((entry.get("resume")?, entry.get::<Function>("moment")?.call(case + 1)?))
        })?;
        let (definition, console) = (script.definition(), script.console());
        let printed = script.sandbox().lines();
        let piloted = Piloted { script, resume, exchange: exchange.clone() };
        let mut world = match moment {
            None => World::new(definition, seed, Box::new(piloted))
                .map_err(|error| Fault::of_file(FaultKind::Runtime, MAIN, error.to_string()))?,
            Some(moment) => self.restore(&moment, definition, piloted)?,
        };
        // Bots get numbers that no player of a restored world has.
        let newest = world.scene().players().map(|player| player.id.0).max();
        *exchange.next_player.borrow_mut() = newest.unwrap_or_default();
        let began = world.tick();
        let mut failure = None;
        while failure.is_none() && !*exchange.is_done.borrow() {
            world.step();
            failure = exchange_with(&mut world, &exchange, &console);
            if world.tick() - began >= STEPS_MAX {
                failure = failure.or_else(|| Some(endless()));
            }
        }
        let printed = printed.take();
        let failure = failure.map(|fault| fault.explained(&self.sources));
        Ok(Outcome { steps: world.tick() - began, failure, printed })
    }

    /// Restores a saved moment with the rules of this version.
    fn restore(&self, moment: &str, definition: Definition, piloted: Piloted) -> Result<World, Fault> {
        let broken = |cause: String| {
            let message = format!("the saved moment cannot be restored: {cause}");
            Fault::of_file(FaultKind::Runtime, &self.module, message).with_cure("save it again in the studio")
        };
        let text: String = moment.split_ascii_whitespace().collect();
        let bytes = STANDARD.decode(text).map_err(|error| broken(error.to_string()))?;
        World::restore(definition, Box::new(piloted), &bytes).map_err(|error| broken(error.to_string()))
    }

    fn load(&self, exchange: &Rc<Exchange>) -> Result<(Script, Table), Fault> {
        let mut entry = None;
        let then = [self.module.as_str()];
        let script = Script::load_with(&self.sources, self.limits, &then, |sandbox, shared| {
            let (module, found) = install(sandbox, shared, exchange)?;
            entry = Some(found);
            Ok(vec![("@nowcast/test", module)])
        });
        let script = script.map_err(|fault| fault.explained(&self.sources))?;
        Ok((script, entry.expect("the entry was installed")))
    }
}

fn endless() -> Fault {
    Fault::new(FaultKind::Work, format!("the case did not end within {STEPS_MAX} steps"))
}

/// Lets a kicked bot leave once, as a server does, even if the world kicked it several times.
fn leave_once(exchange: &Exchange, player: PlayerId) {
    let mut commands = exchange.commands.borrow_mut();
    let leave = Command::Leave { player };
    if !commands.contains(&leave) {
        commands.push_back(leave);
    }
}

/// Passes the events of the world to the case, and the commands of the case to the world.
fn exchange_with(world: &mut World, exchange: &Exchange, console: &Console) -> Option<Fault> {
    while let Some(event) = world.poll_event() {
        match event {
            Event::Emitted { name, to, payload, .. } => {
                let mut events = exchange.events.borrow_mut();
                if events.len() < EVENTS_MAX {
                    events.push((name, to, payload));
                }
            }
            Event::Kicked { player, .. } | Event::Banned { player, .. } => leave_once(exchange, player),
            Event::SentTo { player, room, data } => {
                let mut sent = exchange.sent.borrow_mut();
                if sent.len() < EVENTS_MAX {
                    sent.push((player, room, data));
                }
            }
            Event::Refused { refusal, .. } => exchange.refusals.borrow_mut().push(refusal.to_string()),
            _ => {}
        }
    }
    let mut stored = exchange.saved.borrow_mut();
    stored.extend(world.take_saved());
    for mut command in exchange.commands.borrow_mut().drain(..) {
        if let Command::Join { request: JoinRequest { account: Some(account), saved, .. }, .. } = &mut command
        {
            *saved = stored.get(account).cloned();
        }
        if let Err(error) = world.apply(command) {
            exchange.refusals.borrow_mut().push(error.to_string());
        }
    }
    console.poll_fault()
}

/// The functions behind `@nowcast/test`.
fn install(sandbox: &Sandbox, shared: &Shared, exchange: &Rc<Exchange>) -> mlua::Result<(Luau, Table)> {
    let host = Namespace::new(sandbox.lua())?;
    add_bots(&host, exchange)?;
    let recorded = exchange.clone();
    host.add("events", move |lua, name: String| {
        let list = lua.create_table()?;
        for (event, to, payload) in recorded.events.borrow().iter().filter(|(event, ..)| *event == name) {
            let entry = lua.create_table()?;
            entry.raw_set("name", event.as_str())?;
            if let To::Player(player) = to {
                entry.raw_set("to", Handle::Player(*player))?;
            }
            entry.raw_set("payload", to_luau(lua, payload)?)?;
            list.raw_push(entry)?;
        }
        Ok(list)
    })?;
    let recorded = exchange.clone();
    host.add("sent", move |lua, ()| {
        let list = lua.create_table()?;
        for (player, room, data) in recorded.sent.borrow().iter() {
            let entry = lua.create_table()?;
            entry.raw_set("player", Handle::Player(*player))?;
            entry.raw_set("room", room.as_str())?;
            entry.raw_set("data", to_luau(lua, data)?)?;
            list.raw_push(entry)?;
        }
        Ok(list)
    })?;
    host.add("instead", |_, (name, known): (String, Vec<String>)| Ok(instead(&name, &known)))?;
    let recorded = exchange.clone();
    host.add("refusals", move |_, ()| Ok(recorded.refusals.borrow().clone()))?;
    host.add("screen", |lua, (place, player): (String, Option<Handle>)| {
        let player = player.map(Handle::player).transpose()?;
        let value = with_scene(|scene| {
            let mut screens = scene.screens();
            Ok(screens
                .find(|(whose, at, _)| *whose == player && *at == place)
                .map(|(_, _, value)| value.clone()))
        })?;
        value.map_or(Ok(Luau::Nil), |value| to_luau(lua, &value))
    })?;
    host.add("placeOf", |_, name: String| Ok(place_of(&name)))?;
    host.add("seen", |lua, (player, place): (Handle, String)| {
        let player = player.player()?;
        let value = with_scene(|scene| Ok(scene.screen(player, &place).cloned()))?;
        value.map_or(Ok(Luau::Nil), |value| to_luau(lua, &value))
    })?;
    let (console, meter) = (shared.console.clone(), shared.meter.clone());
    host.add("report", move |lua, error: Luau| {
        let kind = meter.is_exhausted().then_some(FaultKind::Work);
        console.report(Fault::raised(lua, &error, kind));
        Ok(())
    })?;
    sandbox.own(include_str!("scenario.luau")).call(host.table)
}

fn add_bots(host: &Namespace<'_>, exchange: &Rc<Exchange>) -> mlua::Result<()> {
    let to = exchange.clone();
    type Joining = (String, bool, Option<Vec<String>>, Option<String>);
    host.add("join", move |_, (name, is_program, roles, account): Joining| {
        let mut next = to.next_player.borrow_mut();
        *next += 1;
        let player = PlayerId(*next);
        let roles = roles.unwrap_or_default();
        if account.as_ref().is_some_and(|account| !is_account(account)) {
            let text =
                "an account is a text of 1 to 96 bytes without control characters, such as \"key:ada\"";
            return Err(mlua::Error::runtime(text));
        }
        let request = JoinRequest { name, is_program, roles, account, saved: None };
        to.commands.borrow_mut().push_back(Command::Join { player, request });
        Ok(Handle::Player(player))
    })?;
    add_owners(host, exchange)?;
    let to = exchange.clone();
    host.add("leave", move |_, player: Handle| {
        to.commands.borrow_mut().push_back(Command::Leave { player: player.player()? });
        Ok(())
    })?;
    let to = exchange.clone();
    host.add("act", move |_, (player, name, arguments): (Handle, String, Luau)| {
        let arguments = from_luau(&arguments, Purpose::Tell, &name).map_err(mlua::Error::runtime)?;
        to.commands.borrow_mut().push_back(Command::Action { player: player.player()?, name, arguments });
        Ok(())
    })?;
    let to = exchange.clone();
    host.add("see", move |_, (player, seconds): (Handle, f64)| {
        // As in a cast of Rust, a negative or invalid time counts as zero.
        let behind_ms = (seconds * 1_000.0).round() as u16;
        to.commands.borrow_mut().push_back(Command::SetViewDelay { player: player.player()?, behind_ms });
        Ok(())
    })?;
    let to = exchange.clone();
    host.add("say", move |_, (player, text): (Handle, String)| {
        to.commands.borrow_mut().push_back(Command::Message { player: player.player()?, text });
        Ok(())
    })?;
    let to = exchange.clone();
    host.add("input", move |_, (player, input): (Handle, Table)| {
        let input: Input = Fields::of(&input, "input").input().map_err(mlua::Error::runtime)?;
        to.commands.borrow_mut().push_back(Command::Input { player: player.player()?, input });
        Ok(())
    })
}

/// Adds actions of bots on entities that they own.
fn add_owners(host: &Namespace<'_>, exchange: &Rc<Exchange>) -> mlua::Result<()> {
    let to = exchange.clone();
    host.add("own", move |_, (player, entity): (Handle, Handle)| {
        let (player, entity) = (player.player()?, entity.only_entity()?);
        to.commands.borrow_mut().push_back(Command::Own { player, entity, number: entity.0 });
        Ok(())
    })?;
    let to = exchange.clone();
    host.add("release", move |_, (player, entity, next): (Handle, Handle, Option<Handle>)| {
        let (player, entity) = (player.player()?, entity.only_entity()?);
        let next = next.map(Handle::player).transpose()?;
        to.commands.borrow_mut().push_back(Command::Release { player, entity, to: next });
        Ok(())
    })?;
    let to = exchange.clone();
    type Moved = (Handle, Handle, mlua::Vector, Option<Table>);
    host.add("move", move |_, (player, entity, at, parts): Moved| {
        let (player, entity) = (player.player()?, entity.only_entity()?);
        let rotation = parts.as_ref().map(rotation).transpose()?.unwrap_or(Pose::IDENTITY.rotation);
        let pose = Pose { position: array(at), rotation };
        to.commands.borrow_mut().push_back(Command::Move { player, entity, pose, velocity: None });
        Ok(())
    })?;
    let to = exchange.clone();
    host.add("set", move |_, (player, entity, attributes): (Handle, Handle, Luau)| {
        let (player, entity) = (player.player()?, entity.only_entity()?);
        let attributes = from_luau(&attributes, Purpose::Tell, "attributes").map_err(mlua::Error::runtime)?;
        to.commands.borrow_mut().push_back(Command::Set { player, entity, attributes });
        Ok(())
    })?;
    let to = exchange.clone();
    host.add("spawn", move |_, (player, kind, at, attributes): (Handle, Table, mlua::Vector, Luau)| {
        let (player, kind) = (player.player()?, kind.raw_get::<String>("name")?);
        let attributes = from_luau(&attributes, Purpose::Tell, "attributes").map_err(mlua::Error::runtime)?;
        let pose = Pose { position: array(at), ..Pose::IDENTITY };
        to.commands.borrow_mut().push_back(Command::Spawn { player, kind, pose, attributes, number: 0 });
        Ok(())
    })
}

/// A script, and a case that resumes at the beginning of each step.
struct Piloted {
    script: Script,
    resume: Function,
    exchange: Rc<Exchange>,
}

impl Behaviour for Piloted {
    fn start(&mut self, scene: &mut Scene) {
        self.script.start(scene);
    }

    fn resume(&mut self, scene: &Scene) {
        self.script.resume(scene);
    }

    fn step(&mut self, scene: &mut Scene) {
        if !*self.exchange.is_done.borrow() {
            let sandbox = self.script.sandbox();
            sandbox.begin_load();
            let done = lend(scene, || sandbox.run(|_| self.resume.call::<bool>(())));
            sandbox.begin_step();
            match done {
                Ok(is_done) => *self.exchange.is_done.borrow_mut() = is_done,
                Err(fault) => self.script.console().report(fault),
            }
        }
        self.script.step(scene);
    }

    fn join(&mut self, scene: &mut Scene, player: PlayerId) {
        self.script.join(scene, player);
    }

    fn leave(&mut self, scene: &mut Scene, player: PlayerId) {
        self.script.leave(scene, player);
    }

    fn action(&mut self, scene: &mut Scene, player: PlayerId, action: &str, arguments: &Value) -> bool {
        self.script.action(scene, player, action, arguments)
    }

    fn own(&mut self, scene: &mut Scene, entity: EntityId, player: PlayerId) -> bool {
        self.script.own(scene, entity, player)
    }

    fn release(&mut self, scene: &mut Scene, entity: EntityId, player: PlayerId) {
        self.script.release(scene, entity, player);
    }

    fn contact(&mut self, scene: &mut Scene, contact: &Contact) {
        self.script.contact(scene, contact);
    }

    fn timer(&mut self, scene: &mut Scene, timer: &Timer) {
        self.script.timer(scene, timer);
    }

    fn message(&mut self, scene: &mut Scene, player: PlayerId, text: &str) -> bool {
        self.script.message(scene, player, text)
    }
}
