//! A page of a terminal that is redrawn.

use crate::output::{self, OutputLost};

/// Number of columns and rows of a terminal.
#[derive(Clone, Copy)]
pub(crate) struct Size {
    pub(crate) columns: usize,
    pub(crate) rows: usize,
}

impl Size {
    /// Returns the lines that fit on the screen.
    pub(crate) fn page(self, lines: &[String]) -> String {
        let cut = |line: &String| line.chars().take(self.columns).collect::<String>();
        lines.iter().take(self.rows).map(cut).collect::<Vec<_>>().join("\n")
    }
}

/// Switches to the terminal's alternate screen. The earlier content appears again afterwards.
pub(crate) fn enter() -> Result<(), OutputLost> {
    output::text("\x1b[?1049h\x1b[?25l")
}

/// Switches back to the main screen.
pub(crate) fn leave() -> Result<(), OutputLost> {
    output::text("\x1b[?25h\x1b[?1049l")
}

/// Draws a page over the previous one without flicker: each line is overwritten, and the rest of the line is cleared.
pub(crate) fn draw(page: &str) -> Result<(), OutputLost> {
    let lines = page.replace('\n', "\x1b[K\r\n");
    output::text(&format!("\x1b[H{lines}\x1b[K\x1b[J"))
}

/// Returns the size of the terminal, or a default if it is unknown.
pub(crate) fn size() -> Size {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
        && size.ws_row > 0
    {
        return Size { columns: size.ws_col.into(), rows: size.ws_row.into() };
    }
    Size { columns: 80, rows: 24 }
}
