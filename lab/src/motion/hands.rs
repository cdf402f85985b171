//! A player with a headset waves both hands. Measures how exactly another player sees them, and at what cost.

use serde::Deserialize;

use super::findings::cell;
use super::scene::{Trial, note_lateness};
use super::{MotionError, Plan, football};
use crate::report::{Cell, Column, Report, Section, Table};

/// The findings of the script, in metres, milliseconds and bytes.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    head_errors: Vec<f64>,
    hand_errors: Vec<f64>,
    delays: Vec<f64>,
    bytes_per_second: Vec<f64>,
    carrier: String,
    program: String,
}

type Run = Trial<Found>;

impl Plan {
    /// Lets one player wave both hands while another one watches, over each link with each client, instead of walking.
    ///
    /// # Errors
    /// [`MotionError`]
    pub fn run_hands(&self, progress: &mut dyn FnMut(&str)) -> Result<Report, MotionError> {
        // This world has heads and hands. No other entity moves in it before a player kicks the ball.
        Ok(self.report_hands(&self.play_scene("hands", football::WORLD, progress)?))
    }

    fn report_hands(&self, runs: &[Run]) -> Report {
        let mut report = Report::new("Heads and hands of others", self.command.clone()).seed(self.seed);
        let programs: Vec<String> =
            runs.iter().map(|run| format!("{} over {}", run.found.program, run.found.carrier)).collect();
        report.note(format!(
            "One player nods and waves with both hands for {} s, up to 2.4 m/s and 1.5 times a second, with the SDK in {}. Poses are sent 30 times a second, and 63 bytes of joints of each hand 12 times. Another player watches at 20 snapshots a second.",
            self.seconds,
            programs.join("; "),
        ));
        note_lateness(runs, &mut report);
        report.section(section(runs));
        report
    }
}

fn section(runs: &[Run]) -> Section {
    let mut section = Section::new("Beyond the stated delay");
    section.text(
        "Distance of the shown pose from the server's at the shown moment, the age of that moment, and the bytes of all messages to the watching player, who receives no other movement.",
    );
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::number("head p99", "cm"),
        Column::number("hands p50", "cm"),
        Column::number("hands p99", "cm"),
        Column::number("delay p50", "ms"),
        Column::number("delay p99", "ms"),
        Column::number("received p50", "kB/s"),
        Column::number("received max", "kB/s"),
        Column::number("frames", ""),
    ]);
    for run in runs {
        let found = &run.found;
        table.row(vec![
            Cell::text(run.link()),
            Cell::text(run.client.name()),
            cell(&found.head_errors, 0.99, 100.0, 2),
            cell(&found.hand_errors, 0.5, 100.0, 2),
            cell(&found.hand_errors, 0.99, 100.0, 2),
            cell(&found.delays, 0.5, 1.0, 0),
            cell(&found.delays, 0.99, 1.0, 0),
            cell(&found.bytes_per_second, 0.5, 1e-3, 2),
            cell(&found.bytes_per_second, 1.0, 1e-3, 2),
            Cell::count(found.head_errors.len()),
        ]);
    }
    section.table(table);
    section
}
