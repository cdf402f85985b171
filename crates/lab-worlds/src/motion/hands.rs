//! A player with a headset waves both hands. Measures how exactly another player sees them, and at what cost.

use serde::Deserialize;

use super::findings::cell;
use super::{Client, Conditions, MotionError, Plan, football};
use nowcast_lab_report::{Cell, Column, Report, Section, Table};

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

struct Run {
    of: Conditions,
    client: Client,
    found: Found,
    is_trustworthy: bool,
}

impl Plan {
    /// Lets one player wave both hands while another one watches, over each link with each client, instead of walking.
    ///
    /// # Errors
    /// [`MotionError`]
    pub fn run_hands(&self, progress: &mut dyn FnMut(&str)) -> Result<Report, MotionError> {
        self.check()?;
        let mut runs = Vec::new();
        for of in &self.conditions {
            for client in &self.clients {
                progress(&format!("hands: {}, {}", of.name(), client.name()));
                // This world has heads and hands. No other entity moves in it before a player kicks the ball.
                let (found, is_trustworthy) = self.play("hands", football::WORLD, of, *client)?;
                runs.push(Run { of: *of, client: *client, found, is_trustworthy });
            }
        }
        Ok(self.report_hands(&runs))
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
        if runs.iter().any(|run| !run.is_trustworthy) {
            report.note("† The relay was late: do not trust these figures.");
        }
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
    for Run { of, client, found, is_trustworthy } in runs {
        let doubt = if *is_trustworthy { "" } else { " †" };
        table.row(vec![
            Cell::text(format!("{}{doubt}", of.name())),
            Cell::text(client.name()),
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
