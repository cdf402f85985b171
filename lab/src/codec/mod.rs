//! The codec benchmark: sizes and speeds of our codec and of common alternatives.
//!
//! The benchmark repeats the measurements of three sources: the movement packets of "A wire protocol", the save file of the
//! MessagePack article, and the three messages of the WebSocket formats article. It adds replication deltas. Every codec's output
//! is decoded and compared with its input before a figure is printed. The codecs of a table take turns, so that noise of the
//! machine affects all codecs alike.

mod cold;
mod data;
mod deltas;
mod measure;
mod messages;
mod movement;
mod save;
mod save_subjects;
mod save_types;
mod scripts;

use std::path::PathBuf;

use thiserror::Error;

use crate::report::Report;

pub use cold::run as cold_start;

type Result<T> = std::result::Result<T, CodecError>;

/// The reason why the benchmark could not run.
#[derive(Debug, Error)]
pub enum CodecError {
    /// Some input cannot be used.
    #[error("{name}: {reason}")]
    Data {
        /// The name of the input.
        name: String,
        /// The fault.
        reason: String,
    },
    /// A codec returned a value that differs from its input.
    #[error("{codec} does not return {what} unchanged, so its figures are invalid ({reason})")]
    Differs {
        /// The codec.
        codec: String,
        /// The input.
        what: String,
        /// The system's error.
        reason: String,
    },
    /// A program that the bench needs does not run.
    #[error("{program}: {reason}")]
    Program {
        /// The name of the program.
        program: String,
        /// The system's error.
        reason: String,
    },
}

/// The options of a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Runs only tests whose names contain one of these texts. If the list is empty, all tests run.
    pub only: Vec<String>,
    /// Number of samples of each figure.
    pub samples: usize,
    /// The user's own moves or cubes. The extension of the file selects the kind.
    pub input: Option<PathBuf>,
    /// Also measures JavaScript codecs in Node.
    pub node: bool,
    /// Also measures JavaScript codecs in a browser.
    pub browser: bool,
    /// The browser's program.
    pub browser_path: Option<PathBuf>,
    /// The command line that repeats the run.
    pub command: String,
}

impl Options {
    fn wants(&self, test: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| test.contains(only.as_str()))
    }
}

/// The tests, in the order in which they run.
pub const TESTS: [&str; 4] = ["messages", "movement", "save", "deltas"];

/// Runs the benchmark.
///
/// # Errors
/// If some input cannot be used, if a codec does not return its input, or if Node or the browser does not run.
pub fn run(options: &Options) -> Result<Report> {
    let mut report = Report::new("Codecs: bytes and time", options.command.clone());
    report
        .note("Every codec's output was decoded and compared with the input before its figure was printed.");
    report.note("The codecs of a table took turns. Compare figures within a table, not across machines.");
    if !report.machine.release_build {
        report.note("This is a DEBUG build: sizes are valid, times are not.");
    }
    if options.wants("messages") {
        report.section(messages::run(options)?);
    }
    if options.wants("movement") {
        report.section(movement::run(options)?);
    }
    if options.wants("save") {
        report.section(save::run(options)?);
    }
    if options.wants("deltas") {
        report.section(deltas::run(options)?);
    }
    for section in scripts::run(options)? {
        report.section(section);
    }
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Cell;

    fn run_only(test: &str) -> Report {
        let options = Options { only: vec![test.into()], samples: 1, ..Options::default() };
        run(&options).expect("every codec returns its input")
    }

    fn figure(report: &Report, codec: &str, column: usize) -> Vec<f64> {
        let tables = report.sections.iter().flat_map(|section| &section.tables);
        let rows = tables.flat_map(|table| &table.rows).filter(|row| row[0] == Cell::text(codec));
        rows.map(|row| row[column].value().expect("a figure")).collect()
    }

    #[test]
    fn messages_are_as_small_as_hand_written_ones() {
        let report = run_only("messages");
        assert_eq!(figure(&report, "nowcast", 1), [13.0, 70.0, 220.0]);
        assert_eq!(figure(&report, "JSON (serde_json)", 1)[2], 329.0);
    }

    #[test]
    fn movement_is_smaller_than_hand_written_packets() {
        let report = run_only("movement");
        assert_eq!(figure(&report, "custom, one buffer", 1), [31_004.0]);
        assert!(figure(&report, "nowcast", 1)[0] <= 28_100.0);
    }

    #[test]
    fn sizes_of_deltas_do_not_grow() {
        let report = run_only("deltas");
        assert!(figure(&report, "moves", 2)[0] < 30.5);
        assert!(figure(&report, "cubes", 1)[0] < 1_200.0);
    }
}
