//! The global names that every module can use.

use std::collections::BTreeMap;

/// Global names. Each library name has its fields.
pub(crate) struct Globals(BTreeMap<String, Vec<String>>);

impl Globals {
    /// Reads the names from a sandbox like the one in which rules run, so the checker and the rules always have the same
    /// names.
    pub(crate) fn of_a_sandbox() -> Globals {
        Globals(nowcast_script::global_names())
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// The fields of a library; `None` for `_G`, which contains everything.
    pub(crate) fn fields(&self, library: &str) -> Option<&[String]> {
        if library == "_G" {
            None
        } else {
            self.0.get(library).map(Vec::as_slice).filter(|fields| !fields.is_empty())
        }
    }
}
