//! A progress bar with an estimate of the remaining time.

use std::io::{IsTerminal as _, Write as _};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

const WIDTH: usize = 24;
/// Interval at which the estimate in the terminal is updated.
const INTERVAL: Duration = Duration::from_secs(1);
/// Maximum number of characters that describe the current work.
const WHAT_CHARS_MAX: usize = 90;

/// The progress of a run.
///
/// The weight of a part is its expected share of the duration of the whole, in seconds. If several parts run at once, a part
/// weighs less than its duration.
#[derive(Debug)]
pub struct Progress {
    start: Instant,
    total: f64,
    done: f64,
    /// The parts that run. An ended part becomes `None`, so that the indices of the others stay valid.
    running: Vec<Option<Running>>,
    what: String,
    is_terminal: bool,
    last_shown: String,
}

/// A part that has begun.
#[derive(Debug, Clone, Copy)]
struct Running {
    since: Instant,
    seconds: f64,
    weight: f64,
}

impl Running {
    /// Returns the number of seconds until the part ends. A part is repeated if the machine was busy. So a part that exceeds its
    /// time is expected to take the same time once more.
    fn left(&self, now: Instant) -> f64 {
        let elapsed = (now - self.since).as_secs_f64();
        if self.seconds > 0.0 { self.seconds - elapsed % self.seconds } else { 0.0 }
    }

    /// Returns the finished share of the part's weight.
    fn done(&self, now: Instant) -> f64 {
        let elapsed = (now - self.since).as_secs_f64();
        if self.seconds > 0.0 { self.weight * (elapsed / self.seconds).min(1.0) } else { 0.0 }
    }
}

impl Progress {
    /// Makes the progress of a run of about `total` seconds, of which no work is done yet.
    #[must_use]
    pub fn new(total: f64) -> Self {
        Self {
            start: Instant::now(),
            total,
            done: 0.0,
            running: Vec::new(),
            what: "beginning".into(),
            is_terminal: std::io::stderr().is_terminal(),
            last_shown: String::new(),
        }
    }

    /// Like [`Progress::new`], but also shows the progress in the terminal every second.
    #[must_use]
    pub fn shown(total: f64) -> Arc<Mutex<Self>> {
        let progress = Arc::new(Mutex::new(Self::new(total)));
        if locked(&progress).is_terminal {
            let shown = Arc::downgrade(&progress);
            // The thread ends when the progress is dropped.
            thread::spawn(move || show_while_it_lasts(&shown));
        }
        progress
    }

    /// Begins a part that lasts this number of seconds and has this weight. Returns the argument for [`Progress::end`].
    pub fn begin(&mut self, what: &str, seconds: f64, weight: f64) -> usize {
        self.running.push(Some(Running { since: Instant::now(), seconds, weight }));
        self.what = what.chars().take(WHAT_CHARS_MAX).collect();
        self.show();
        self.running.len() - 1
    }

    /// Records that a part has ended.
    pub fn end(&mut self, part: usize) {
        if let Some(running) = self.running.get_mut(part).and_then(Option::take) {
            self.done += running.weight;
        }
        self.show();
    }

    /// Prints a line above the bar.
    pub fn say(&mut self, line: &str) {
        if self.is_terminal {
            eprintln!("\r\x1b[K{line}");
            self.last_shown.clear();
            self.show();
        } else {
            eprintln!("{line}");
        }
    }

    fn show(&mut self) {
        let now = Instant::now();
        let share = self.share(now);
        let filled = (share * WIDTH as f64) as usize;
        let bar = format!("{}{}", "█".repeat(filled), "░".repeat(WIDTH - filled));
        let left = duration(self.left(now));
        let line = format!("{bar} {:>3.0} %, {left} left  {}", share * 100.0, self.what);
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
        self.is_terminal = false;
    }

    fn done(&self, now: Instant) -> f64 {
        self.done + self.running.iter().flatten().map(|running| running.done(now)).sum::<f64>()
    }

    fn share(&self, now: Instant) -> f64 {
        if self.total > 0.0 { (self.done(now) / self.total).clamp(0.0, 1.0) } else { 1.0 }
    }

    /// Returns the remaining time at the pace so far. The result is at least the time until the last running part ends, because
    /// towards the end only this part may run.
    fn left(&self, now: Instant) -> Duration {
        let done = self.done(now);
        let elapsed = (now - self.start).as_secs_f64();
        // In the first seconds, the estimate of the pace is poor.
        let pace = (elapsed + INTERVAL.as_secs_f64()) / (done + INTERVAL.as_secs_f64());
        let longest = self.running.iter().flatten().map(|running| running.left(now)).fold(0.0, f64::max);
        let at_this_pace = (self.total - done) * pace.max(1.0);
        Duration::try_from_secs_f64(at_this_pace.max(longest)).unwrap_or_default()
    }
}

fn show_while_it_lasts(progress: &Weak<Mutex<Progress>>) {
    loop {
        thread::sleep(INTERVAL);
        let Some(progress) = progress.upgrade() else { return };
        let mut progress = locked(&progress);
        if !progress.is_terminal {
            return;
        }
        progress.show();
    }
}

/// Locks the progress, even if a former holder of the lock panicked.
pub fn locked(progress: &Mutex<Progress>) -> std::sync::MutexGuard<'_, Progress> {
    progress.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn duration(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    if seconds < 90 { format!("{seconds} s") } else { format!("{} min {:02} s", seconds / 60, seconds % 60) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(progress: &Progress, seconds: u64) -> Instant {
        progress.start + Duration::from_secs(seconds)
    }

    #[test]
    fn the_remaining_time_covers_the_last_part() {
        let mut progress = Progress::new(100.0);
        progress.done = 90.0;
        let since = after(&progress, 90);
        progress.running.push(Some(Running { since, seconds: 60.0, weight: 10.0 }));
        assert_eq!(progress.left(after(&progress, 95)).as_secs(), 55);
        // The part is late, so it is repeated.
        assert_eq!(progress.left(after(&progress, 160)).as_secs(), 50);
    }

    #[test]
    fn on_a_slow_machine_the_remaining_time_is_longer() {
        let mut progress = Progress::new(100.0);
        progress.done = 50.0;
        let left = progress.left(after(&progress, 100)).as_secs();
        assert!((95..=100).contains(&left), "{left}");
        assert!((progress.share(after(&progress, 100)) - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_part_counts_while_it_runs_and_once_when_it_has_ended() {
        let mut progress = Progress::new(10.0);
        let part = progress.begin("a part", 10.0, 10.0);
        let half = after(&progress, 5);
        assert!((0.4..=0.5).contains(&progress.share(half)));
        progress.end(part);
        progress.end(part);
        assert!((progress.share(half) - 1.0).abs() < 1e-9);
    }
}
