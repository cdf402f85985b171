//! The terminal's view of a channel.

use std::time::Instant;

use super::tally::Tally;
use crate::reach::milliseconds;
use crate::screen::Size;

/// Returns the page: the state of the channel, the keys, and the latest events in the remaining lines.
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
        lines.push("No message has arrived yet. Some services wait for a first message; join a world with --join NAME.".into());
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
    size.page(&lines)
}
