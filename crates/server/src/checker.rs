//! The interface to a checker of rules, which the program that embeds the server provides.

use std::fmt;
use std::path::Path;
use std::sync::Arc;

use nowcast_script::Sources;
use serde::Serialize;

/// A mistake in the text of a world.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Diagnostic {
    /// The module, as its path in the world's folder.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, in characters from 1.
    pub column: u32,
    /// `error` or `warning`.
    pub severity: &'static str,
    /// The mistake, and how to correct it.
    pub message: String,
}

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// The mistakes, ordered by place.
    pub diagnostics: Vec<Diagnostic>,
    /// Number of kinds.
    pub kinds: usize,
    /// Number of modules.
    pub modules: usize,
}

/// Finds the mistakes of a world without running it. The program that embeds the server implements it, so that the server
/// links no parser.
pub trait CheckRules: Send + Sync {
    /// Checks the modules of a world. `folder` is the folder of its assets.
    fn check(&self, sources: &Sources, folder: Option<&Path>) -> Checked;
}

/// An implementation of [`CheckRules`] in a configuration.
#[derive(Clone)]
pub struct Checker(pub Arc<dyn CheckRules>);

impl fmt::Debug for Checker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Checker")
    }
}
