//! A bar with an estimate of the time that is left.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

const WIDTH: usize = 24;

/// How far a run is; weights are the expected seconds of its parts.
#[derive(Debug)]
pub struct Progress {
    start: Instant,
    expected: Duration,
    total: f64,
    done: f64,
    is_terminal: bool,
    last_shown: String,
}

impl Progress {
    /// Nothing done of parts that weigh `total`, which should take as long as `expected`.
    #[must_use]
    pub fn new(total: f64, expected: Duration) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        Self { start: Instant::now(), expected, total, done: 0.0, is_terminal, last_shown: String::new() }
    }

    /// A part is done.
    pub fn advance(&mut self, weight: f64, what: &str) {
        self.done += weight;
        self.show(what);
    }

    /// Shows the bar, with what is being done.
    pub fn show(&mut self, what: &str) {
        let share = if self.total > 0.0 { (self.done / self.total).min(1.0) } else { 1.0 };
        let filled = (share * WIDTH as f64) as usize;
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled));
        let line = format!("{bar} {:>3.0} %, {} left  {what}", share * 100.0, duration(self.left(share)));
        if line == self.last_shown {
            return;
        }
        if self.is_terminal {
            eprint!("\r\x1b[K{line}");
        } else {
            eprintln!("{line}");
        }
        let _ = std::io::stderr().flush();
        self.last_shown = line;
    }

    /// Ends the line of the bar.
    pub fn finish(&mut self) {
        if self.is_terminal && !self.last_shown.is_empty() {
            eprintln!();
        }
    }

    /// What was seen so far counts the more, the more of it there is.
    fn left(&self, share: f64) -> Duration {
        let elapsed = self.start.elapsed().as_secs_f64();
        let planned = self.expected.as_secs_f64();
        let seen = if share > 0.0 { elapsed / share } else { planned };
        let whole = share * seen + (1.0 - share) * planned.max(elapsed);
        Duration::from_secs_f64(whole * (1.0 - share))
    }
}

fn duration(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 90 { format!("{seconds} s") } else { format!("{} min {:02} s", seconds / 60, seconds % 60) }
}
