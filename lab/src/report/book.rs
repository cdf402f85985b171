//! Several reports on one page. Facts that they have in common are printed once.

use std::fmt::Write as _;

use serde::Serialize;

use super::escape::escape;
use super::{Machine, Report, html};

/// Reports of one run on one machine.
#[derive(Debug, Serialize)]
pub struct Book {
    /// The title.
    pub title: String,
    /// The command that repeats all measurements.
    pub command: String,
    /// The machine of the run.
    pub machine: Machine,
    /// The measured programs, by version.
    pub versions: Vec<(String, String)>,
    /// Notes that help to compare figures.
    pub notes: Vec<String>,
    /// The instruments' reports.
    pub chapters: Vec<Report>,
}

impl Book {
    /// Makes an empty book of reports for measurements on this machine. The book lists the version of Nowcast, and those of the packages in `measured`
    /// according to Cargo.lock.
    pub fn new(title: impl Into<String>, command: impl Into<String>, measured: &[&str]) -> Self {
        Self {
            title: title.into(),
            command: command.into(),
            machine: Machine::here(),
            versions: versions(measured),
            notes: Vec::new(),
            chapters: Vec::new(),
        }
    }

    /// Returns all tables as text.
    #[must_use]
    pub fn to_terminal(&self) -> String {
        self.chapters.iter().map(Report::to_terminal).collect::<Vec<_>>().join("\n\n")
    }

    /// Returns all figures as indented JSON, with their full precision.
    ///
    /// # Panics
    /// Never: the types of a report always have a JSON form.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a report is plain data")
    }

    /// Returns one HTML page that needs no other file, for light and dark mode.
    #[must_use]
    pub fn to_html(&self) -> String {
        let mut out = html::head(&self.title);
        let _ = write!(out, "<h1>{}</h1><dl>", escape(&self.title));
        let _ = write!(out, "<dt>Machine</dt><dd>{}</dd>", escape(&self.machine.describe()));
        let versions: Vec<String> =
            self.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
        let _ = write!(out, "<dt>Versions</dt><dd>{}</dd>", escape(&versions.join(", ")));
        let _ = write!(out, "<dt>Repeat</dt><dd><code>{}</code></dd></dl>", escape(&self.command));
        for note in &self.notes {
            let _ = write!(out, "<p>{}</p>", escape(note));
        }
        out.push_str("<nav><ol>");
        for (number, chapter) in self.chapters.iter().enumerate() {
            let _ = write!(out, "<li><a href=\"#c{number}\">{}</a></li>", escape(&chapter.title));
        }
        out.push_str("</ol></nav>");
        for (number, chapter) in self.chapters.iter().enumerate() {
            let _ = write!(out, "\n<section id=\"c{number}\"><h1>{}</h1>", escape(&chapter.title));
            html::body(&mut out, chapter, None);
            out.push_str("</section>");
        }
        out.push_str("</body></html>\n");
        out
    }
}

/// Returns the versions of Nowcast and of these packages with which this program was built.
fn versions(measured: &[&str]) -> Vec<(String, String)> {
    const LOCK: &str = include_str!("../../Cargo.lock");
    let mut versions = vec![("nowcast".to_owned(), env!("CARGO_PKG_VERSION").to_owned())];
    let value = |line: &str, name: &str| {
        line.strip_prefix(name)?.strip_prefix(" = \"")?.strip_suffix('"').map(str::to_owned)
    };
    let mut package = None;
    for line in LOCK.lines() {
        if let Some(name) = value(line, "name") {
            package = measured.contains(&name.as_str()).then_some(name);
        } else if let (Some(version), Some(_)) = (value(line, "version"), &package) {
            versions.extend(package.take().map(|name| (name, version)));
        }
    }
    versions
}
