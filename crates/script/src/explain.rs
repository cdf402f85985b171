//! Faults beside the text that they are about: where editors find them, and what the text shows of the cause.

use crate::advice::unrequired;
use crate::fault::Fault;
use crate::sources::Sources;

impl Fault {
    /// The fault as editors and terminals make a link of it: `my-world/world.luau:12:5: …`. The column is that of the first word
    /// of the line, or of a name that the message quotes.
    pub fn in_folder(&self, folder: &str, sources: &Sources) -> String {
        let folder = folder.trim_end_matches('/');
        let (Some(file), Some(line)) = (&self.file, self.line) else { return format!("{folder}/{self}") };
        let text = sources.line(file, line).unwrap_or_default();
        let rest = Fault { file: None, line: None, ..self.clone() };
        format!("{folder}/{file}:{line}:{}: {rest}", column(text, &self.message))
    }

    /// The same with what helps, where the text of the line shows it.
    pub(crate) fn explained(self, sources: &Sources) -> Fault {
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
                message: format!("`{}` is nothing here: {}", found.name, self.message),
                cure: Some(format!("write {} at the top of the file", found.cure())),
                ..self
            },
            None => self,
        }
    }
}

/// Where in its line a fault is, in characters from 1.
fn column(line: &str, message: &str) -> usize {
    let quoted = message.split(['\'', '`', '"']).skip(1).step_by(2).filter(|name| !name.is_empty());
    let begins = || line.len() - line.trim_start().len();
    let at = quoted.filter_map(|name| line.find(name)).next().unwrap_or_else(begins);
    line[..at].chars().count() + 1
}
