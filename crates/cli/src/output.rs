//! The output of the program. Only this module writes to the standard output and the standard error.
//!
//! If the standard output accepts no more bytes, the command ends. If the reader has left (`| head`), it ends silently with the
//! exit code of SIGPIPE. If the output is full, it ends with an error. Lines that the standard error does not accept are dropped,
//! because its reader may have left. Text from a peer or a file first passes through [`printable()`].

use std::fmt::{self, Display};
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

pub(crate) use nowcast_wire_tools::{printable, printable_json};

/// The exit code that a shell reports for a program that ended by SIGPIPE.
const EXIT_BY_SIGPIPE: u8 = 128 + 13;

/// A failure of the standard output, by which requested output is lost.
#[derive(Debug)]
pub(crate) struct OutputLost(io::Error);

impl Display for OutputLost {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "the standard output accepts no more ({}): the output is not complete", self.0)
    }
}

impl std::error::Error for OutputLost {}

impl From<io::Error> for OutputLost {
    fn from(error: io::Error) -> Self {
        Self(error)
    }
}

/// Prints a line and flushes it.
pub(crate) fn line(line: impl Display) -> Result<(), OutputLost> {
    text(&format!("{line}\n"))
}

/// Prints a text unchanged and flushes it.
pub(crate) fn text(text: &str) -> Result<(), OutputLost> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(OutputLost)
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

/// Returns a number with a noun: `1 value`, `2,000 values`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    format!("{} {noun}{}", thousands(number), if number == 1 { "" } else { "s" })
}

/// Returns a number with separators: 1,234,567 for 1234567.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// Prints the cause of a failed command, and returns the exit code.
pub(crate) fn fail(error: &anyhow::Error) -> ExitCode {
    if let Some(OutputLost(cause)) = error.downcast_ref()
        && cause.kind() == ErrorKind::BrokenPipe
    {
        return ExitCode::from(EXIT_BY_SIGPIPE);
    }
    note(format_args!("error: {}", printable(&format!("{error:#}"))));
    ExitCode::FAILURE
}

/// The standard output for text that is too long for memory. It remembers write errors.
#[derive(Default)]
pub(crate) struct Stream {
    lost: Option<io::Error>,
}

impl Stream {
    /// Returns whether everything was written.
    pub(crate) fn end(self) -> Result<(), OutputLost> {
        match self.lost {
            Some(error) => Err(OutputLost(error)),
            None => io::stdout().lock().flush().map_err(OutputLost),
        }
    }

    fn remember<T>(&mut self, written: io::Result<T>) -> io::Result<T> {
        written.map_err(|error| {
            let kind = error.kind();
            self.lost = Some(error);
            kind.into()
        })
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = io::stdout().lock().write(bytes);
        self.remember(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = io::stdout().lock().flush();
        self.remember(flushed)
    }
}
