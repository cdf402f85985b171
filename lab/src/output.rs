//! The output of the program.

use std::fmt::Display;
use std::io::{self, Write as _};

/// Prints a text unchanged and flushes it.
pub(crate) fn text(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.flush()
}

/// Prints a line and flushes it.
pub(crate) fn line(line: impl Display) -> io::Result<()> {
    text(&format!("{line}\n"))
}

/// Prints a line for people to the standard error.
pub(crate) fn note(line: impl Display) {
    note_part(&format!("{line}\n"));
}

/// Prints a text for people to the standard error, such as a progress bar.
pub(crate) fn note_part(text: &str) {
    let mut out = io::stderr().lock();
    // A failure means that the reader has left.
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}
