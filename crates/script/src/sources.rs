//! The texts of a version, and the lookup of modules for `require`.

use std::collections::BTreeMap;

use nowcast_wire::Wire;

use crate::fault::{Fault, FaultKind};
use crate::limits::Limits;

/// The first module of a world.
pub const MAIN: &str = "world.luau";

/// The modules of one version: path in the world's folder, with `/` and `.luau`, to text. The host reads the folder. A
/// script cannot reach any other file.
#[derive(Clone, PartialEq, Eq, Debug, Default, Wire)]
pub struct Sources(BTreeMap<String, String>);

impl<P: Into<String>, T: Into<String>> FromIterator<(P, T)> for Sources {
    fn from_iter<I: IntoIterator<Item = (P, T)>>(modules: I) -> Sources {
        Sources(modules.into_iter().map(|(path, text)| (path.into(), text.into())).collect())
    }
}

impl Sources {
    /// Makes a world of one module.
    pub fn of_main(text: &str) -> Sources {
        Sources::from_iter([(MAIN, text)])
    }

    /// Returns the text of a module.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path).map(String::as_str)
    }

    /// Returns a line of a module, counted from 1.
    pub(crate) fn line(&self, path: &str, line: u32) -> Option<&str> {
        self.text(path)?.lines().nth(line.checked_sub(1)? as usize)
    }

    /// Returns every module, ordered by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(path, text)| (path.as_str(), text.as_str()))
    }

    /// Adds a module, or replaces its text.
    pub fn insert(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.0.insert(path.into(), text.into());
    }

    /// Returns a hash of exactly this text: FNV-1a over every path and text. It does not resist deliberate collisions.
    pub fn hash(&self) -> u64 {
        let parts: Vec<_> = self.iter().flat_map(|(path, text)| [path, text]).collect();
        let lengths: Vec<_> = parts.iter().map(|part| part.len().to_le_bytes()).collect();
        let parts = lengths.iter().zip(parts);
        nowcast_wire::fnv1a(parts.flat_map(|(length, part)| length.iter().chain(part.as_bytes())))
    }

    pub(crate) fn check(&self, limits: &Limits) -> Result<(), Fault> {
        if self.0.len() > limits.modules_max {
            let message =
                format!("{} modules, but a world may have at most {}", self.0.len(), limits.modules_max);
            return Err(Fault::of_file(FaultKind::Syntax, MAIN, message));
        }
        if let Some((path, text)) = self.iter().find(|(_, text)| text.len() > limits.module_bytes_max) {
            let message =
                format!("{} bytes, but a module may have at most {}", text.len(), limits.module_bytes_max);
            return Err(Fault::of_file(FaultKind::Syntax, path, message));
        }
        if self.text(MAIN).is_none() {
            let fault = Fault::of_file(FaultKind::Syntax, MAIN, "the module does not exist");
            return Err(fault.with_cure("a world begins with world.luau in its folder"));
        }
        Ok(())
    }

    /// Returns the module that `require(name)` in the module `from` refers to. The name is a path relative to the folder of
    /// `from`, without `.luau`.
    ///
    /// # Errors
    /// Fails if the name is no relative path, leaves the world's folder, or names no module.
    pub fn resolve(&self, from: &str, name: &str) -> Result<String, String> {
        if !name.starts_with("./") && !name.starts_with("../") {
            return Err(format!(
                "no module `{name}`: a module is named by its path, as in require(\"./{name}\")"
            ));
        }
        let mut parts: Vec<&str> = from.split('/').collect();
        parts.pop();
        for part in name.split('/') {
            match part {
                "." => {}
                ".." if parts.pop().is_none() => {
                    return Err(format!("`{name}` leaves the world's folder"));
                }
                ".." => {}
                part => parts.push(part),
            }
        }
        let path = parts.join("/");
        let found = [format!("{path}.luau"), format!("{path}/init.luau")];
        let found = found.into_iter().find(|path| self.0.contains_key(path));
        found.ok_or_else(|| {
            let known: Vec<_> = self.0.keys().map(|path| path.trim_end_matches(".luau")).take(8).collect();
            format!("no module `{path}.luau`; there are: {}", known.join(", "))
        })
    }
}
