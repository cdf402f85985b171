//! The view: a few lines about the server, and a row for each room.

use super::overview::{Overview, Room};
use crate::output::printable;

/// Returns a live page: the metrics, and the error of the newest sample, if there is one.
pub(super) fn page(host: &str, overview: &Overview, trouble: Option<&str>) -> Vec<String> {
    let mut lines = lines(host, overview);
    if let Some(trouble) = trouble {
        lines.insert(1, format!("NOT NEW: {}", printable(trouble)));
    }
    lines.push(String::new());
    lines.push("q ends it".into());
    lines
}

/// Returns one sample as lines of text.
pub(super) fn lines(host: &str, overview: &Overview) -> Vec<String> {
    let Overview { clients, connections, resident_bytes, cores, bytes_in, bytes_out, dropped, rooms } =
        overview;
    let mut lines = vec![
        format!(
            "{}   rooms {}   clients {clients:.0}   TCP connections {connections:.0}   cores {cores:.2}   resident {}",
            printable(host),
            rooms.len(),
            bytes(*resident_bytes)
        ),
        format!(
            "TCP in {}/s   out {}/s   messages without effect {dropped:.0}/s",
            bytes(*bytes_in),
            bytes(*bytes_out)
        ),
        String::new(),
    ];
    if rooms.is_empty() {
        lines.push("No room is open.".into());
        return lines;
    }
    let heads = [
        "CLIENTS",
        "TICK p50/p99",
        "STEP p99",
        "SCRIPT",
        "MOVEMENT/s",
        "EVENTS/s",
        "OTHER/s",
        "PUT OFF/s",
        "AGE near/middle/far",
        "SEEN",
        "ENTITIES",
        "AWAKE",
        "SKIPPED/s",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    rows.extend(rooms.iter().map(cells));
    let names: Vec<String> = ["ROOM".to_owned()].into_iter().chain(rooms.iter().map(name)).collect();
    let name_width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heads.len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    for (name, row) in names.iter().zip(&rows) {
        let mut line = format!("{name:<name_width$}");
        for (cell, width) in row.iter().zip(&widths) {
            line += &format!("  {cell:>width$}");
        }
        lines.push(line);
    }
    lines
}

/// Returns the name of a room, followed by its world if the world has another name.
fn name(room: &Room) -> String {
    let name = printable(&room.name);
    if room.world == room.name { name } else { format!("{name} ({})", printable(&room.world)) }
}

fn cells(room: &Room) -> [String; 13] {
    let ms = |seconds: Option<f64>| {
        seconds.map_or_else(|| "–".to_owned(), |seconds| format!("{:.1}", seconds * 1e3))
    };
    let [description, event, movement] = room.bytes.map(bytes);
    let [near, middle, far] =
        room.ages.map(|age| if age > 0.0 { format!("{:.0}", age * 1e3) } else { "–".to_owned() });
    [
        format!("{:.0}", room.clients),
        format!("{}/{} ms", ms(room.tick_p50), ms(room.tick_p99)),
        format!("{} ms", ms(room.step_p99)),
        format!("{:.1} %", room.script * 100.0),
        movement,
        event,
        description,
        format!("{:.0}", room.postponed),
        format!("{near}/{middle}/{far} ms"),
        format!("{:.0}", room.interest_entities),
        format!("{:.0}", room.entities),
        format!("{:.0}", room.bodies_awake),
        format!("{:.0}", room.steps_skipped),
    ]
}

/// Formats a number of bytes for people.
fn bytes(bytes: f64) -> String {
    if bytes >= 1e6 {
        format!("{:.1} MB", bytes / 1e6)
    } else if bytes >= 1e3 {
        format!("{:.1} kB", bytes / 1e3)
    } else {
        format!("{bytes:.0} B")
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use nowcast_server::figures::Figures;

    use super::*;

    fn overview(page: &str) -> Overview {
        let look = (Instant::now(), Figures::parse(page));
        Overview::between(&look, &look)
    }

    #[test]
    fn rooms_are_listed_below_each_other_in_columns() {
        let page = "nowcast_room_clients{room=\"park\",world=\"park\"} 3\n\
                    nowcast_room_clients{room=\"yard-2\",world=\"yard\"} 1200\n";
        let lines = lines("box:7777", &overview(page));
        let rows = &lines[3..];
        assert_eq!(rows.len(), 3);
        assert!(
            rows[0].starts_with("ROOM")
                && rows[1].starts_with("park ")
                && rows[2].starts_with("yard-2 (yard) ")
        );
        let width = rows[0].chars().count();
        assert!(rows.iter().all(|row| row.chars().count() == width), "{rows:?}");
    }

    #[test]
    fn a_hostile_metrics_page_cannot_control_the_terminal() {
        let page = "nowcast_room_clients{room=\"\u{1b}[2J\\nevil\",world=\"\u{202e}x\"} 1\n";
        let shown = super::page("box\u{7}", &overview(page), Some("it answers \u{1b}]0;x\u{7}")).join("\n");
        assert!(shown.chars().all(|sign| sign == '\n' || !sign.is_control()), "{shown:?}");
        assert!(shown.contains("\\u{1b}[2J\\u{a}evil (\\u{202e}x)"), "{shown}");
        assert_eq!(shown.lines().filter(|line| line.contains("evil")).count(), 1);
    }

    #[test]
    fn a_server_without_rooms_is_reported() {
        assert!(lines("box:7777", &overview("")).contains(&"No room is open.".to_owned()));
    }
}
