//! The log of a room: printed lines, errors of rules, chat and events, in a ring.

use std::collections::VecDeque;
use std::time::Instant;

use serde::Serialize;
use serde_json::Value as Json;

use super::RECORDED_AFTER_READ;

/// Maximum lines in a log.
const LINES_MAX: usize = 1_000;

/// Maximum bytes in a log's lines, unless the rooms' configuration states less.
pub(crate) const LOG_BYTES_MAX: usize = 512 << 10;

/// Maximum bytes of the text or the data of one line. Longer texts are cut.
const LINE_BYTES_MAX: usize = 1_024;

/// The kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum LogKind {
    /// A line that the rules printed.
    Print,
    /// An error of the rules.
    Error,
    /// New rules run.
    Rules,
    /// A line of chat.
    Chat,
    /// An event that the rules emitted.
    Event,
}

/// One line of a log.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Line {
    n: u64,
    tick: u64,
    #[serde(rename = "type")]
    kind: LogKind,
    text: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Json>,
}

impl Line {
    pub(crate) fn new(kind: LogKind, tick: u64, text: &str) -> Line {
        let (file, line) = match kind {
            LogKind::Error => place_of(text).map_or((None, None), |(file, line)| (Some(file), Some(line))),
            _ => (None, None),
        };
        Line { n: 0, tick, kind, text: cut(text), file, line, name: None, data: None }
    }

    pub(crate) fn of(self, name: &str) -> Line {
        Line { name: Some(cut(name)), ..self }
    }

    /// Adds data, unless its text is too long.
    pub(crate) fn with_data(self, data: Json) -> Line {
        let data = (data.to_string().len() <= LINE_BYTES_MAX).then_some(data);
        Line { data, ..self }
    }

    fn bytes(&self) -> usize {
        let data = self.data.as_ref().map_or(0, |_| LINE_BYTES_MAX);
        size_of::<Line>() + self.text.len() + self.name.as_ref().map_or(0, String::len) + data
    }
}

/// The newest lines of a room.
pub(crate) struct Log {
    lines: VecDeque<Line>,
    bytes: usize,
    bytes_max: usize,
    /// The number of the newest line.
    newest: u64,
    read_at: Option<Instant>,
}

impl Default for Log {
    fn default() -> Self {
        Self { lines: VecDeque::new(), bytes: 0, bytes_max: LOG_BYTES_MAX, newest: 0, read_at: None }
    }
}

impl Log {
    /// Limits the bytes of all lines.
    pub(crate) fn set_bytes_max(&mut self, bytes_max: usize) {
        self.bytes_max = bytes_max.min(LOG_BYTES_MAX);
    }

    pub(crate) fn push(&mut self, line: Line) {
        self.newest += 1;
        self.bytes += line.bytes();
        self.lines.push_back(Line { n: self.newest, ..line });
        while self.lines.len() > LINES_MAX || self.bytes > self.bytes_max {
            let Some(oldest) = self.lines.pop_front() else { break };
            self.bytes -= oldest.bytes();
        }
    }

    /// Records that a reader asked for lines.
    pub(crate) fn note_read(&mut self) {
        self.read_at = Some(Instant::now());
    }

    /// Whether lines of chat and events are recorded.
    pub(crate) fn is_read(&self) -> bool {
        self.read_at.is_some_and(|at| at.elapsed() < RECORDED_AFTER_READ)
    }

    /// The number of the newest line.
    pub(crate) fn newest(&self) -> u64 {
        self.newest
    }

    /// Returns the lines after a number, and the count of those that are no longer kept.
    pub(crate) fn after(&self, number: u64) -> (Vec<&Line>, u64) {
        let lines: Vec<_> = self.lines.iter().filter(|line| line.n > number).collect();
        let wanted = self.newest.saturating_sub(number);
        let dropped = wanted - lines.len() as u64;
        (lines, dropped)
    }
}

/// Reads the place at the beginning of an error's text: `FILE:LINE: `.
fn place_of(text: &str) -> Option<(String, u32)> {
    let (place, _) = text.split_once(": ")?;
    let mut parts = place.split(':');
    let (file, line) = (parts.next()?, parts.next()?);
    Some((file.to_owned(), line.parse().ok()?))
}

fn cut(text: &str) -> String {
    text[..text.floor_char_boundary(LINE_BYTES_MAX)].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_log_drops_its_oldest_lines_and_counts_them() {
        let mut log = Log::default();
        for number in 0..LINES_MAX + 5 {
            log.push(Line::new(LogKind::Print, 0, &number.to_string()));
        }
        let (lines, dropped) = log.after(0);
        assert_eq!((lines.len(), dropped), (LINES_MAX, 5));
        assert_eq!(lines[0].text, "5");
        assert!(log.after(log.newest()).0.is_empty());
        log.set_bytes_max(4 * LINE_BYTES_MAX);
        log.push(Line::new(LogKind::Print, 0, &"x".repeat(LINE_BYTES_MAX)));
        assert!(log.bytes <= 4 * LINE_BYTES_MAX && log.lines.len() > 1, "{} bytes", log.bytes);
    }

    #[test]
    fn an_error_has_the_place_at_which_its_text_begins() {
        let line = Line::new(LogKind::Error, 7, "world.luau:12: attempt to index nil");
        assert_eq!((line.file.as_deref(), line.line), (Some("world.luau"), Some(12)));
        let printed = Line::new(LogKind::Print, 7, "world.luau:12: x");
        assert_eq!(printed.file, None);
        assert_eq!(Line::new(LogKind::Error, 7, "no place: here").line, None);
    }

    #[test]
    fn long_texts_are_cut_at_a_character() {
        let line = Line::new(LogKind::Print, 0, &"ä".repeat(LINE_BYTES_MAX));
        assert!(line.text.len() <= LINE_BYTES_MAX && line.text.ends_with('ä'));
    }
}
