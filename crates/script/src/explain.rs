//! Adds information from the source text to faults: the column for editors, and a hint if the text shows the cause.

use crate::advice::unrequired;
use crate::fault::{Fault, FaultKind};
use crate::source_map::Origin;
use crate::sources::Sources;
use crate::tokens::tokens;

impl Fault {
    /// Formats the fault as a link that editors and terminals recognise: `my-world/world.luau:12:5: …`. The column is the
    /// beginning of the first word in the line, or of a name that the message quotes.
    pub fn in_folder(&self, folder: &str, sources: &Sources) -> String {
        let folder = folder.trim_end_matches('/');
        let (Some(file), Some(line)) = (&self.file, self.line) else {
            let between = if self.file.is_some() { "/" } else { ": " };
            return format!("{folder}{between}{self}");
        };
        let text = sources.line(file, line).unwrap_or_default();
        let rest = Fault { file: None, line: None, ..self.clone() };
        match sources.origin(file, line) {
            Some(Origin { file, line, column }) => format!("{folder}/{file}:{line}:{column}: {rest}"),
            None => format!("{folder}/{file}:{line}:{}: {rest}", column(text, &self.message)),
        }
    }

    /// Adds a hint how to correct the fault, if the text of the line shows the cause. The place of the fault becomes a place
    /// in the text that the author wrote, if a compiler made the module.
    pub(crate) fn explained(self, sources: &Sources) -> Fault {
        let explained = self.with_hint(sources);
        let place = explained.file.as_deref().zip(explained.line);
        match place.and_then(|(file, line)| sources.origin(file, line)) {
            Some(origin) => Fault { file: Some(origin.file), line: Some(origin.line), ..explained },
            None => explained,
        }
    }

    fn with_hint(self, sources: &Sources) -> Fault {
        if self.kind == FaultKind::State && self.line.is_none() {
            return match assigned_at(sources, &self.message) {
                Some((file, line)) => Fault { file: Some(file), line: Some(line), ..self },
                None => self,
            };
        }
        if !self.message.starts_with("attempt to index nil")
            && !self.message.starts_with("attempt to call a nil")
        {
            return self;
        }
        let place = self.file.as_deref().zip(self.line);
        let missing = place.and_then(|(file, line)| {
            let unrequired = unrequired(sources, file);
            unrequired.into_iter().find(|found| found.line == line)
        });
        match missing {
            Some(found) => Fault {
                message: format!("`{}` is not defined here: {}", found.name, self.message),
                cure: Some(format!("write {} at the top of the file", found.cure())),
                ..self
            },
            None => self,
        }
    }
}

/// Finds the line in which the rules set a value that cannot be saved. The message names the value:
/// `world.state.score.red[2] is a function`.
fn assigned_at(sources: &Sources, message: &str) -> Option<(String, u32)> {
    let words: Vec<&str> = message.split_whitespace().collect();
    let path = words.iter().find(|word| word.starts_with("world.state.") || word.starts_with("private."))?;
    let names: Vec<&str> = path.split(['.', '[']).filter(|name| *name != "world").collect();
    let modules = sources.iter().filter(|(file, _)| !file.starts_with("tests/"));
    let found = modules.flat_map(|(file, text)| {
        let tokens = tokens(text);
        let places = (0..tokens.len()).filter(|at| tokens[*at].0 == names[0]);
        let rated = places.filter_map(|at| rate(&tokens[at..], &names).map(|rating| (rating, tokens[at].1)));
        rated.map(|(rating, line)| (rating, file.to_owned(), line)).collect::<Vec<_>>()
    });
    let best = found.max_by(|(a, file_a, line_a), (b, file_b, line_b)| {
        // Of places with equal ratings, the first one is returned.
        a.cmp(b).then_with(|| (file_b, line_b).cmp(&(file_a, line_a)))
    });
    best.map(|(_, file, line)| (file, line))
}

/// Rates how well a place in the text fits the names of a value: `state.score.red = …` fits all names of the path. An
/// assignment fits better than another mention. Returns `None` if the second name is missing.
fn rate(tokens: &[(&str, u32)], names: &[&str]) -> Option<(usize, bool)> {
    let mut at = 1;
    let mut fitting = 1;
    while let (Some(name), Some([(".", _), (word, _)])) = (names.get(fitting), tokens.get(at..at + 2)) {
        if word != name {
            break;
        }
        fitting += 1;
        at += 2;
    }
    if fitting == 1 {
        // `world.state { score = … }`, `private = { … }`
        let first = names.get(1)?;
        let end = tokens.iter().position(|(token, _)| *token == "}")?;
        let declares = tokens[..end].windows(2).any(|words| words[0].0 == *first && words[1].0 == "=");
        return declares.then_some((1, false));
    }
    let is_set = match tokens.get(at) {
        Some((sign, _)) => sign.ends_with('=') && !matches!(*sign, "==" | "~=" | "<=" | ">=") || *sign == "[",
        None => false,
    };
    Some((fitting, is_set))
}

/// Returns the column of a fault in its line, in characters from 1.
fn column(line: &str, message: &str) -> usize {
    let quoted = message.split(['\'', '`', '"']).skip(1).step_by(2).filter(|name| !name.is_empty());
    let begins = || line.len() - line.trim_start().len();
    let at = quoted.filter_map(|name| line.find(name)).next().unwrap_or_else(begins);
    line[..at].chars().count() + 1
}
