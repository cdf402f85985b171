//! The behaviour of worlds in Luau: rules that authors write as text, and that can be replaced while people play.
//!
//! One rule drives this crate: **a script is a function of its text and of the calls made on it.** It reads no clock and no
//! file, has no randomness of its own, and is stopped by counted work, never by time. The world owns all lasting data. The
//! same commands therefore give the same world again: after a restart, after a new version, and on another machine. This
//! crate does not read files: [`Sources`] are texts by path. `docs/how-to/rules.md` is the guide for authors of worlds.
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
//! live.apply(Command::join(PlayerId(1), "Ada")).expect("the world accepts the command");
//! live.step();
//! live.reload(rules("welcome"))?; // between two steps, all modules at once, with the state kept
//! live.apply(Command::join(PlayerId(2), "Bo")).expect("the world accepts the command");
//! live.step();
//! while let Some(event) = live.poll_event() {
//!     println!("{event:?}");
//! }
//! while let Some(report) = live.poll_report() {
//!     assert!(matches!(report, Report::Runs { .. }));
//! }
//! let (_, _, greeting) = live.world().scene().screens().next().expect("the greeting is shown");
//! assert_eq!(greeting.as_text(), Some("welcome, visitor 2"));
//! # Ok::<(), nowcast_script::Fault>(())
//! ```
//!
//! | attempt of a script | defence |
//! | --- | --- |
//! | an endless loop, also inside `pcall` | each call and each loop iteration costs a unit; beyond [`Limits::work_per_step_max`], every call and iteration fails |
//! | endless text or tables | [`Limits::memory_bytes_max`]; garbage of a step counts until the step ends |
//! | library functions that run long in one call | they are charged by the size of their data |
//! | patterns with exponential backtracking | each step of the matcher costs more on a longer text |
//! | deep calls, coroutines in coroutines | the interpreter's own limits, reported as an error with its line |
//! | files, clocks, bytecode, the interpreter | they do not exist, and the error names a replacement |
//! | changing the library for other modules | all shared tables are frozen |
//! | observing addresses or the time of a collection | there are no weak tables; a table converts to the text `table` |

mod about;
mod absent;
mod api;
mod assets;
mod binding;
mod console;
mod convert;
mod define;
mod explain;
mod fault;
mod fields;
mod garbage;
mod grid;
mod handle;
mod hook_times;
mod lexer;
mod library;
mod limits;
mod live;
mod maths;
mod meter;
mod module;
mod namespace;
mod path;
mod printing;
mod sandbox;
mod scenario;
mod script;
mod source_map;
mod sources;
mod stop;
mod suggest;
mod writers;

pub use about::About;
pub use absent::{absence, renamed};
pub use api::{ApiEntry, Arity, TYPES, api_entries, arguments_of, names_of, parameter_types};
pub use assets::{
    ASSET_BYTES_MAX, ASSET_NAME_BYTES_MAX, ASSETS_BYTES_MAX, ASSETS_FOLDER, ASSETS_MAX, Asset, AssetKind,
    Assets, asset_kind, missing_assets, unknown_names,
};
pub use binding::BACK_END;
pub use console::{Console, ConsoleStats};
pub use define::ARRIVE;
pub use fault::{Fault, FaultKind};
pub use hook_times::{Clock, HookTime};
pub use lexer::{Token, TokenKind, tokens};
pub use library::{LIBRARY, module_called};
pub use limits::{LINE_BYTES_MAX, Limits};
pub use live::{Live, PROBATION_STEPS, Report, ResumeError, Version};
pub use sandbox::{Sandbox, global_names};
pub use scenario::{Outcome, Scenario};
pub use script::Script;
pub use source_map::{Origin, text_hash};
pub use sources::{MAIN, Sources};
pub use stop::Stop;
pub use suggest::{closest, instead};
pub use writers::{ValueName, WATCHED_STEPS, Watched, Writer};
