//! Tables and charts of `lab motion` for walks.

use super::{Found, Ground, Plan, Run};
use crate::report::{Axis, Cell, Chart, Column, HistogramChart, Report, Section, Series, Table};

impl Plan {
    pub(super) fn report(&self, runs: &[Run]) -> Report {
        let mut report = Report::new("Motion as players see it", self.command.clone()).seed(self.seed);
        let mut programs: Vec<String> =
            runs.iter().map(|run| format!("{} over {}", run.found.program, run.found.carrier)).collect();
        programs.sort_unstable();
        programs.dedup();
        report.note(format!(
            "The SDK in {} on one emulated host, `nowcast serve` on the other. One player walks, runs, jumps and stands for {} s at each link, drawn at 60 frames a second, and another player watches at 20 snapshots a second. The loss is that of each direction.",
            programs.join("; "),
            self.seconds
        ));
        if runs.iter().any(|run| !run.is_trustworthy) {
            report.note("† The relay was late in all repetitions: do not trust these figures.");
        }
        let on = |ground: Ground| runs.iter().filter(move |run| run.ground == ground).collect::<Vec<_>>();
        for ground in &self.grounds {
            report.section(own(*ground, &on(*ground)));
        }
        // The figures of other players and of keys are the same on every ground.
        let ground = self.grounds.first().copied().unwrap_or(Ground::Free);
        report.section(others(&on(ground)));
        report.section(keys(&on(ground)));
        report
    }
}

/// Returns the value below which this share of all values lies; `None` if there are no values.
pub(super) fn percentile(values: &[f64], share: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some(sorted[((sorted.len() as f64 * share) as usize).min(last)])
}

pub(super) fn cell(values: &[f64], share: f64, scale: f64, decimals: usize) -> Cell {
    percentile(values, share).map_or(Cell::Missing, |value| Cell::number(value * scale, decimals))
}

fn label(run: &Run) -> [Cell; 2] {
    let doubt = if run.is_trustworthy { "" } else { " †" };
    [Cell::text(format!("{}{doubt}", run.of.name())), Cell::text(run.client.name())]
}

fn histogram(title: &str, runs: &[&Run], values: impl Fn(&Found) -> &[f64]) -> Chart {
    let rows = runs.iter().map(|run| Series {
        name: format!("{} · {}", run.of.name(), run.client.name()),
        // A logarithmic axis has no zero, so values below the resolution are drawn at the resolution.
        values: values(&run.found).iter().map(|metres| (metres * 100.0).max(0.01)).collect(),
    });
    Chart::Histograms(HistogramChart {
        title: title.into(),
        x: Axis::log("off", "cm"),
        mark: None,
        rows: rows.collect(),
    })
}

fn own(ground: Ground, runs: &[&Run]) -> Section {
    let mut section = Section::new(match ground {
        Ground::Free => "Oneself",
        Ground::Blocks => "The own avatar, which pushes blocks",
    });
    section.text(
        "Distance of the shown own avatar from the server's after the same input, and jumps from frame to frame beyond the walk. The server's positions have a precision of a millimetre.",
    );
    let title = match ground {
        Ground::Free => "Error of the own avatar",
        Ground::Blocks => "Error of the own avatar among blocks",
    };
    section.chart(histogram(title, runs, |found| &found.own_errors));
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::number("p50", "cm"),
        Column::number("p95", "cm"),
        Column::number("p99", "cm"),
        Column::number("max", "cm"),
        Column::number("jump p99", "cm"),
        Column::number("jump max", "cm"),
        Column::number("corrections", ""),
        Column::number("frames", ""),
    ]);
    for run in runs {
        let Found { own_errors, jumps, corrections, .. } = &run.found;
        let [link, client] = label(run);
        table.row(vec![
            link,
            client,
            cell(own_errors, 0.5, 100.0, 2),
            cell(own_errors, 0.95, 100.0, 2),
            cell(own_errors, 0.99, 100.0, 2),
            cell(own_errors, 1.0, 100.0, 1),
            cell(jumps, 0.99, 100.0, 2),
            cell(jumps, 1.0, 100.0, 1),
            Cell::count(*corrections),
            Cell::count(own_errors.len()),
        ]);
    }
    section.table(table);
    section
}

fn others(runs: &[&Run]) -> Section {
    let mut section = Section::new("Others");
    section.text(
        "Distance of another shown avatar from its position at the shown moment, and the age of that moment.",
    );
    section.chart(histogram("Error of other avatars", runs, |found| &found.others_errors));
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::number("p50", "cm"),
        Column::number("p95", "cm"),
        Column::number("p99", "cm"),
        Column::number("delay p50", "ms"),
        Column::number("delay p99", "ms"),
        Column::number("frames", ""),
    ]);
    for run in runs {
        let Found { others_errors, delays, .. } = &run.found;
        let [link, client] = label(run);
        table.row(vec![
            link,
            client,
            cell(others_errors, 0.5, 100.0, 2),
            cell(others_errors, 0.95, 100.0, 2),
            cell(others_errors, 0.99, 100.0, 2),
            cell(delays, 0.5, 1.0, 0),
            cell(delays, 0.99, 1.0, 0),
            Cell::count(others_errors.len()),
        ]);
    }
    section.table(table);
    section
}

fn keys(runs: &[&Run]) -> Section {
    let mut section = Section::new("From a key to the first changed frame");
    section.text("The frame that read the key has the number 1. Also the cost of prediction for a frame.");
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::number("p50", "frames"),
        Column::number("max", "frames"),
        Column::number("max", "ms"),
        Column::number("keys", ""),
        Column::number("cost p50", "µs"),
        Column::number("cost p99", "µs"),
        Column::number("steps left out", ""),
    ]);
    for run in runs {
        let Found { key_frames, key_ms, cost_us, skipped_steps, .. } = &run.found;
        let [link, client] = label(run);
        table.row(vec![
            link,
            client,
            cell(key_frames, 0.5, 1.0, 0),
            cell(key_frames, 1.0, 1.0, 0),
            cell(key_ms, 1.0, 1.0, 1),
            Cell::count(key_frames.len()),
            cell(cost_us, 0.5, 1.0, 0),
            cell(cost_us, 0.99, 1.0, 0),
            Cell::count(*skipped_steps),
        ]);
    }
    section.table(table);
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::motion::{ALL, Client};

    #[test]
    fn percentiles_are_values_that_were_found() {
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(percentile(&values, 0.5), Some(50.0));
        assert_eq!(percentile(&values, 1.0), Some(99.0));
        assert_eq!(percentile(&[], 0.5), None);
    }

    #[test]
    fn a_report_has_a_row_for_each_link_whatever_was_found() {
        let found = || Found {
            own_errors: vec![0.0, 0.001],
            others_errors: vec![],
            jumps: vec![0.0],
            key_frames: vec![1.0],
            key_ms: vec![0.4],
            delays: vec![60.0],
            cost_us: vec![12.0],
            corrections: 1,
            skipped_steps: 0,
            carrier: "WebSocket".into(),
            program: "Node v20".into(),
        };
        let plan = Plan {
            conditions: ALL.to_vec(),
            clients: vec![Client::Node, Client::WebTransport, Client::WebSocket],
            grounds: vec![Ground::Free, Ground::Blocks],
            browser: "/usr/bin/chromium".into(),
            seconds: 1,
            seed: 7,
            command: "nowcast".into(),
        };
        let mut runs = Vec::new();
        for ground in &plan.grounds {
            for of in &plan.conditions {
                for client in &plan.clients {
                    let (of, client, ground) = (*of, *client, *ground);
                    runs.push(Run { of, client, ground, found: found(), is_trustworthy: false });
                }
            }
        }
        let report = plan.report(&runs);
        assert_eq!(report.notes.len(), 2);
        assert_eq!(report.sections.len(), 4);
        for section in &report.sections {
            assert_eq!(section.tables[0].rows.len(), 3 * ALL.len());
        }
        assert!(report.to_json().contains("100 ms, 5 % lost, 3 in a row"));
    }
}
