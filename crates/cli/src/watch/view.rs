//! A page of a terminal.

use std::time::Instant;

use super::tally::Tally;
use crate::output::{self, OutputLost};
use crate::reach::milliseconds;

/// Columns and rows of a terminal.
#[derive(Clone, Copy)]
pub(super) struct Size {
    pub(super) columns: usize,
    pub(super) rows: usize,
}

/// Shows an empty page on the terminal's second screen, so that what was there comes back.
pub(super) fn enter() -> Result<(), OutputLost> {
    output::text("\x1b[?1049h\x1b[?25l")
}

/// Goes back to the first screen.
pub(super) fn leave() -> Result<(), OutputLost> {
    output::text("\x1b[?25h\x1b[?1049l")
}

/// Draws a page over the one before, without flicker: lines are overwritten, and their rests cleared.
pub(super) fn draw(page: &str) -> Result<(), OutputLost> {
    let lines = page.replace('\n', "\x1b[K\r\n");
    output::text(&format!("\x1b[H{lines}\x1b[K\x1b[J"))
}

/// The size of the terminal, or the usual one if it does not tell.
pub(super) fn size() -> Size {
    #[cfg(unix)]
    if let Ok(size) = rustix::termios::tcgetwinsize(std::io::stdout())
        && size.ws_col > 0
        && size.ws_row > 0
    {
        return Size { columns: size.ws_col.into(), rows: size.ws_row.into() };
    }
    Size { columns: 80, rows: 24 }
}

/// The page: what the channel is like, keys, and the latest events in what is left.
pub(super) fn page(head: &[String], tally: &Tally, size: Size) -> String {
    let mut lines = head.to_vec();
    lines.push(format!(
        "{:.0} messages/s   {:.1} kB/s   {} keys   {} events{}",
        tally.messages.per_second,
        tally.bytes.per_second / 1_000.0,
        tally.keys.len(),
        tally.event_count,
        if tally.replicated > 0 { format!("   {} replicated", tally.replicated) } else { String::new() },
    ));
    lines.push(String::new());
    let events = tally.events.len().min((size.rows / 3).max(1));
    let rest = size.rows.saturating_sub(lines.len() + events + 4);
    if tally.keys.is_empty() && tally.event_count == 0 {
        lines.push("Nothing has come yet. Some services wait to be spoken to first; a world is joined with --join NAME.".into());
    }
    if !tally.keys.is_empty() {
        lines.push(format!("{:>20} {:>8} {:>10} {:>8}  VALUE", "KEY", "RATE", "AGE", "BYTES"));
    }
    for ((lane, key), row) in tally.keys.iter().take(rest) {
        let key = if *lane == 0 { key.to_string() } else { format!("{lane}:{key}") };
        let age = row.produced_at.map_or_else(|| "–".to_owned(), |at| milliseconds(at.elapsed()));
        let rate = format!("{:.0}/s", row.rate.per_second);
        lines.push(format!("{key:>20} {rate:>8} {age:>10} {:>8}  {}", row.length, row.shown));
    }
    let hidden = tally.keys.len().saturating_sub(rest);
    if hidden > 0 || tally.has_more_keys {
        let more = if tally.has_more_keys { " and others" } else { "" };
        lines.push(format!("{:>20}", format!("and {hidden} more{more}")));
    }
    if events > 0 {
        lines.push(String::new());
        lines.push("EVENTS".into());
        let now = Instant::now();
        for (at, lane, shown) in tally.events.iter().rev().take(events).rev() {
            let ago = format!("{} s ago", now.saturating_duration_since(*at).as_secs());
            let lane = if *lane == 0 { String::new() } else { format!("lane {lane} ") };
            lines.push(format!("{ago:>20} {lane} {shown}"));
        }
    }
    let cut = |line: &String| line.chars().take(size.columns).collect::<String>();
    lines.iter().take(size.rows).map(cut).collect::<Vec<_>>().join("\n")
}
