//! Reads the rules of a world without running them. It finds mistakes that would otherwise appear only when their line runs:
//! undefined names, unknown fields, actions that no page can offer, locals that a reload resets, and suspicious declarations.
//!
//! A parser reads the text with the grammar of Luau. A resolver tracks scopes and, if the text shows them, the types of
//! values: `world`, kinds, entities, players, lists of these, arguments of actions. A value of unknown type is never
//! reported. The type of a local variable that is assigned again is unknown.
//!
//! A finding is an error if its line cannot work: the line raises an error whenever it runs, or names an undefined global. A
//! field that only reads as nil and an ignored argument are warnings. In a module that begins with `--!strict` they are
//! errors. `--!nocheck` turns the checks of a module off.
//!
//! ```
//! use nowcast_script::{Limits, Script, Sources};
//! use nowcast_script_check::check;
//!
//! let sources = Sources::of_main("local world = require('@nowcast/world')\nworld.on('start', function() wurld.show('a', 1) end)");
//! let script = Script::load(&sources, Limits::DEFAULT)?;
//! let findings = check(&sources, &script.definition());
//! assert_eq!(findings[0].line, 2);
//! assert_eq!(findings[0].message, "`wurld` is not defined; did you mean `world`?");
//! # Ok::<(), nowcast_script::Fault>(())
//! ```

mod advice;
mod calls;
mod parser;
mod resolver;
mod types;

use nowcast_script::Sources;
use nowcast_world::Definition;

use resolver::{Resolver, Use, Version, states};

/// A mistake in the text of a module.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Finding {
    /// The module, as its path in the world's folder.
    pub file: String,
    /// The line in the module, from 1.
    pub line: u32,
    /// The column in the line, in characters from 1.
    pub column: u32,
    /// Whether the line cannot work. Otherwise it is allowed, and most likely a mistake.
    pub is_error: bool,
    /// The mistake, and how to correct it.
    pub message: String,
}

/// Bytes of stack for the parser, which recurses for each level of nesting.
const STACK_BYTES: usize = 64 << 20;

/// Returns every mistake that is visible in the text of a version, ordered by place. The version must load; `definition` has
/// its declarations.
///
/// # Panics
/// Panics if the system cannot create a thread for the parser.
pub fn check(sources: &Sources, definition: &Definition) -> Vec<Finding> {
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("check".to_owned()).stack_size(STACK_BYTES);
        let checking = builder.spawn_scoped(scope, || check_here(sources, definition));
        checking.expect("the system has a thread").join().expect("a checker does not panic")
    })
}

fn check_here(sources: &Sources, definition: &Definition) -> Vec<Finding> {
    // The names come from a sandbox like the one in which rules run, so the checker and the rules always have the same names.
    let (globals, states) = (nowcast_script::global_names(), states(sources, definition));
    let version = Version { sources, definition, globals: &globals, states: &states };
    let (mut findings, mut uses) = (Vec::new(), Vec::new());
    for (path, text) in sources.iter() {
        check_module(path, text, &version, &mut findings, &mut uses);
    }
    advice::advise(sources, definition, &uses, &mut findings);
    findings.sort();
    findings.dedup();
    findings
}

fn check_module(
    path: &str,
    text: &str,
    version: &Version<'_>,
    findings: &mut Vec<Finding>,
    uses: &mut Vec<Use>,
) {
    let mode = Mode::of(text);
    let tokens = nowcast_script::tokens(text);
    // The first pass finds the local variables that are assigned after their declaration.
    let mut first = Resolver::new(path, version, false, Default::default());
    // An error is ignored here, because the second pass finds the same error.
    let _ = parser::read(&tokens, &mut first);
    let mut second = Resolver::new(path, version, mode == Mode::Strict, first.assigned);
    if let Err(parser::Unreadable(token)) = parser::read(&tokens, &mut second) {
        let message =
            "names from here on are not checked: the checker cannot read this line, although Luau does";
        second.find(&token, false, message.to_owned());
        // The rest may require any module, and declare any timer.
        ["require", "timer"].iter().for_each(|function| second.use_name(function, &token, None));
    }
    if mode != Mode::Unchecked {
        findings.append(&mut second.findings);
    }
    findings.append(&mut second.resets);
    uses.append(&mut second.uses);
}

/// The strictness that the first comments of a module state.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    Unchecked,
    Nonstrict,
    Strict,
}

impl Mode {
    fn of(text: &str) -> Mode {
        let head = text.lines().map(str::trim).take_while(|line| line.is_empty() || line.starts_with("--"));
        let mut mode = Mode::Nonstrict;
        for line in head {
            mode = match line {
                "--!nocheck" => Mode::Unchecked,
                "--!strict" => Mode::Strict,
                _ => mode,
            };
        }
        mode
    }
}
