//! Adds information from the source text to faults: the column for editors, and a hint if the text shows the cause.

use crate::fault::{Fault, FaultKind};
use crate::lexer::{Token, tokens};
use crate::library::module_called;
use crate::source_map::Origin;
use crate::sources::Sources;

impl Fault {
    /// Formats the fault as a link that editors and terminals recognise: `my-world/world.luau:12:5: …`. The column is the
    /// beginning of the first word in the line, or of a name that the message quotes.
    pub fn in_folder(&self, folder: &str, sources: &Sources) -> String {
        let folder = folder.trim_end_matches(std::path::is_separator);
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
        let mut explained = self.with_hint(sources);
        for (file, line) in &mut explained.callers {
            if let Some(origin) = sources.origin(file, *line) {
                (*file, *line) = (origin.file, origin.line);
            }
        }
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
        match place.and_then(|(file, line)| unrequired(sources, file, line)) {
            Some((name, module)) => Fault {
                message: format!("`{name}` is not defined here: {}", self.message),
                cure: Some(format!("write `local {name} = require(\"{module}\")` at the top of the file")),
                ..self
            },
            None => self,
        }
    }
}

/// Finds a name that a line indexes but its module does not define, if another module can be required under that name. Returns
/// the name, and the name for `require`.
fn unrequired(sources: &Sources, path: &str, line: u32) -> Option<(String, String)> {
    let tokens = tokens(sources.text(path)?);
    let is_after_dot = |at: usize| at > 0 && [".", ":"].iter().any(|sign| tokens[at - 1].is(sign));
    let is_made = |name: &str| {
        let makers = ["local", ",", "(", "for", "function"];
        tokens.windows(2).any(|pair| pair[1].is(name) && makers.iter().any(|maker| pair[0].is(maker)))
    };
    let indexed = (0..tokens.len() - 1).filter(|at| {
        let (name, next) = (&tokens[*at], &tokens[at + 1]);
        name.line == line && name.is_name() && (next.is(".") || next.is(":")) && !is_after_dot(*at)
    });
    let mut names = indexed.map(|at| tokens[at].text.as_str()).filter(|name| !is_made(name));
    names.find_map(|name| Some((name.to_owned(), module_called(sources, path, name)?)))
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
        let places = (0..tokens.len()).filter(|at| tokens[*at].is(names[0]));
        let rated =
            places.filter_map(|at| rate(&tokens[at..], &names).map(|rating| (rating, tokens[at].line)));
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
fn rate(tokens: &[Token], names: &[&str]) -> Option<(usize, bool)> {
    let mut at = 1;
    let mut fitting = 1;
    while let (Some(name), Some([dot, word])) = (names.get(fitting), tokens.get(at..at + 2)) {
        if !dot.is(".") || !word.is(name) {
            break;
        }
        fitting += 1;
        at += 2;
    }
    if fitting == 1 {
        // `world.state { score = … }`, `private = { … }`
        let first = names.get(1)?;
        let end = tokens.iter().position(|token| token.is("}"))?;
        let declares = tokens[..end].windows(2).any(|words| words[0].is(first) && words[1].is("="));
        return declares.then_some((1, false));
    }
    let is_set = tokens.get(at).is_some_and(|sign| sign.is_assignment() || sign.is("["));
    Some((fitting, is_set))
}

/// Returns the column of a fault in its line, in characters from 1.
fn column(line: &str, message: &str) -> usize {
    let quoted = message.split(['\'', '`', '"']).skip(1).step_by(2).filter(|name| !name.is_empty());
    let begins = || line.len() - line.trim_start().len();
    let at = quoted.filter_map(|name| line.find(name)).next().unwrap_or_else(begins);
    line[..at].chars().count() + 1
}
