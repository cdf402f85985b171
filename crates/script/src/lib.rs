//! Behaviour of worlds in Luau: rules that people write as text, and that change while people are in the world.
//!
//! One rule drives this crate: **a script is a function of its text and of the calls made on it.** It reads no clock and no file,
//! draws no randomness of its own, and is stopped by counted work, never by time; what lasts, the world keeps. So the same commands
//! give the same world again, after a restart, a new version, on another machine. The crate never touches a file either:
//! [`Sources`] are texts by path. `docs/WORLDS.md` is the guide for those who write worlds.
//!
//! ```
//! use nowcast_script::{Limits, Live, Report, Sources};
//! use nowcast_world::{Command, PlayerId};
//!
//! let rules = |word: &str| Sources::of_main(&format!(r#"
//!     local world = require("@nowcast/world")
//!     world.state {{ visitors = 0 }}
//!     world.on("join", function(player)
//!         world.state.visitors += 1
//!         world.show("greeting", "{word}, visitor " .. world.state.visitors)
//!     end)"#));
//! let mut live = Live::new(rules("hello"), 7, Limits::DEFAULT)?;
//! live.apply(Command::Join { player: PlayerId(1), name: "Ada".into() }).expect("there is room");
//! live.step();
//! live.reload(rules("welcome"))?; // between two steps, all modules at once, with the state kept
//! live.apply(Command::Join { player: PlayerId(2), name: "Bo".into() }).expect("there is room");
//! live.step();
//! while let Some(event) = live.poll_event() {
//!     println!("{event:?}");
//! }
//! while let Some(report) = live.poll_report() {
//!     assert!(matches!(report, Report::Runs { .. }));
//! }
//! let (_, _, greeting) = live.world().scene().screens().next().expect("it is shown");
//! assert_eq!(greeting.as_text(), Some("welcome, visitor 2"));
//! # Ok::<(), nowcast_script::Fault>(())
//! ```
//!
//! | what a script may try | what holds it |
//! | --- | --- |
//! | an endless loop, also inside `pcall` | each call and turn costs a unit of [`Limits::work_per_step_max`]; once it is spent, every further one fails |
//! | text or tables without end | [`Limits::memory_bytes_max`]; what a step throws away counts until the step ends |
//! | library functions that run long in one call | they are charged by the size of what they touch |
//! | patterns that try everything | each step of the matcher costs more on a longer text |
//! | deep calls, coroutines in coroutines | the interpreter's own limits, told as an error with its line |
//! | files, clocks, bytecode, the interpreter | they are not there, and the error says what is there instead |
//! | changing the library for others | everything that scripts share is frozen |
//! | addresses, the moment of a collection | no weak tables; a table as text is `table` |

mod absent;
mod advice;
mod assets;
mod binding;
mod console;
mod convert;
mod define;
mod explain;
mod fault;
mod fields;
mod forgotten;
mod garbage;
mod handle;
mod limits;
mod live;
mod maths;
mod meter;
mod module;
mod namespace;
mod path;
mod printing;
mod reference;
mod sandbox;
mod scenario;
mod script;
mod sources;
mod stop;
mod suggest;

pub use absent::{absence, renamed};
pub use advice::{Advice, advice};
pub use assets::{
    ASSET_BYTES_MAX, ASSET_NAME_BYTES_MAX, ASSETS_BYTES_MAX, ASSETS_FOLDER, ASSETS_MAX, Asset, AssetKind,
    Assets, asset_kind, missing_assets, unknown_names,
};
pub use console::{Console, ConsoleStats};
pub use fault::{Fault, FaultKind};
pub use forgotten::{Forgotten, forgotten};
pub use limits::{LINE_BYTES_MAX, Limits};
pub use live::{Live, PROBATION_STEPS, Report, ResumeError, Version};
pub use reference::{names_of, reference, test_types, world_types};
pub use sandbox::{Sandbox, global_names};
pub use scenario::{Outcome, Scenario};
pub use script::Script;
pub use sources::{MAIN, Sources};
pub use stop::Stop;
pub use suggest::{closest, instead};
