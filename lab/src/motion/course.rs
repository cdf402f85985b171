//! A player rides platforms, walks over hills, leaps and carries a ball, with a flag on its avatar. Measures the errors of all
//! displayed poses.

use serde::Deserialize;

use super::findings::cell;
use super::scene::{Trial, note_lateness};
use super::{MotionError, Plan};
use crate::report::{Cell, Column, Report, Section, Table};

/// The folder of the world, and its room.
pub(super) const WORLD: (&str, &str) = ("lab/javascript/worlds/course", "course");

/// The findings on one part of the course, in metres.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Part {
    name: String,
    own_errors: Vec<f64>,
    others_errors: Vec<f64>,
    /// Errors of the place on the platform; empty without a platform.
    beside_errors: Vec<f64>,
    corrections: usize,
}

impl Part {
    /// Returns the description of a part; an unknown part keeps its name.
    fn label(&self) -> &str {
        match self.name.as_str() {
            "track" => "platform, 5 m/s, straight",
            "shuttle" => "platform, 5 m/s, turns back every 3 s",
            "hills" => "hills of heights",
            "leap" => "leaps by an action",
            "hold" => "grabs and drops a ball",
            other => other,
        }
    }
}

/// The predicted executions of one action: the frame that first showed the effect, and its time after the call.
#[derive(Debug, Deserialize)]
struct Action {
    name: String,
    frames: Vec<f64>,
    ms: Vec<f64>,
}

/// The findings of the script, in metres, frames and milliseconds.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Found {
    parts: Vec<Part>,
    flag_errors: Vec<f64>,
    held_errors: Vec<f64>,
    actions: Vec<Action>,
    carrier: String,
    program: String,
}

type Run = Trial<Found>;

fn label(run: &Run) -> [Cell; 2] {
    [Cell::text(run.link()), Cell::text(run.client.name())]
}

impl Plan {
    /// Lets one player take the course while another one watches, over each link with each client, instead of walking.
    ///
    /// # Errors
    /// [`MotionError`]
    pub fn run_course(&self, progress: &mut dyn FnMut(&str)) -> Result<Report, MotionError> {
        Ok(self.report_course(&self.play_scene("course", WORLD, progress)?))
    }

    fn report_course(&self, runs: &[Run]) -> Report {
        let mut report = Report::new("Platforms, hills and actions", self.command.clone()).seed(self.seed);
        let programs: Vec<String> =
            runs.iter().map(|run| format!("{} over {}", run.found.program, run.found.carrier)).collect();
        report.note(format!(
            "One player rides two platforms, walks over hills, leaps and carries a ball, for {} s in all, with the SDK in {}. Another player watches at 20 snapshots a second.",
            self.seconds,
            programs.join("; "),
        ));
        note_lateness(runs, &mut report);
        report.section(errors(runs));
        report.section(actions(runs));
        report.section(carried(runs));
        report
    }
}

fn errors(runs: &[Run]) -> Section {
    let mut section = Section::new("The own avatar, and that of others");
    section.text(
        "Distance of the shown own avatar from the server's after the same input, and of the avatar that the other player sees from the server's at the shown moment. Beside the platform, both are measured from the platform's shown and received position: a server that waits for late input moves the platform meanwhile. A client cannot know in advance that a platform turns back.",
    );
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::text("on"),
        Column::number("own p50", "cm"),
        Column::number("own p95", "cm"),
        Column::number("own p99", "cm"),
        Column::number("beside the platform p50", "cm"),
        Column::number("beside the platform p99", "cm"),
        Column::number("corrections", ""),
        Column::number("others p50", "cm"),
        Column::number("others p99", "cm"),
        Column::number("frames", ""),
    ]);
    for run in runs {
        for part in &run.found.parts {
            let [link, client] = label(run);
            table.row(vec![
                link,
                client,
                Cell::text(part.label()),
                cell(&part.own_errors, 0.5, 100.0, 2),
                cell(&part.own_errors, 0.95, 100.0, 2),
                cell(&part.own_errors, 0.99, 100.0, 2),
                cell(&part.beside_errors, 0.5, 100.0, 2),
                cell(&part.beside_errors, 0.99, 100.0, 2),
                Cell::count(part.corrections),
                cell(&part.others_errors, 0.5, 100.0, 2),
                cell(&part.others_errors, 0.99, 100.0, 2),
                Cell::count(part.own_errors.len()),
            ]);
        }
    }
    section.table(table);
    section
}

fn actions(runs: &[Run]) -> Section {
    let mut section = Section::new("From a predicted action to the first changed frame");
    section.text("The frame that sent the action has the number 1.");
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::text("action"),
        Column::number("p50", "frames"),
        Column::number("max", "frames"),
        Column::number("max", "ms"),
        Column::number("actions", ""),
    ]);
    for run in runs {
        for Action { name, frames, ms } in &run.found.actions {
            let [link, client] = label(run);
            table.row(vec![
                link,
                client,
                Cell::text(name),
                cell(frames, 0.5, 1.0, 0),
                cell(frames, 1.0, 1.0, 0),
                cell(ms, 1.0, 1.0, 1),
                Cell::count(frames.len()),
            ]);
        }
    }
    section.table(table);
    section
}

fn carried(runs: &[Run]) -> Section {
    let mut section = Section::new("Entities that the own avatar carries");
    section.text(
        "Distance of the shown entity from its place on the shown avatar, in each frame: of a flag on the avatar, and of a ball that the avatar grabbed 1.5 s ago or earlier. The server's positions have a precision of a millimetre.",
    );
    let mut table = Table::new(vec![
        Column::text("link"),
        Column::text("client"),
        Column::text("entity"),
        Column::number("p50", "mm"),
        Column::number("p99", "mm"),
        Column::number("max", "mm"),
        Column::number("frames", ""),
    ]);
    for run in runs {
        for (entity, errors) in [("flag", &run.found.flag_errors), ("held ball", &run.found.held_errors)] {
            let [link, client] = label(run);
            table.row(vec![
                link,
                client,
                Cell::text(entity),
                cell(errors, 0.5, 1_000.0, 2),
                cell(errors, 0.99, 1_000.0, 2),
                cell(errors, 1.0, 1_000.0, 2),
                Cell::count(errors.len()),
            ]);
        }
    }
    section.table(table);
    section
}

#[cfg(test)]
mod tests {
    use super::super::Client;
    use super::*;
    use crate::motion::COURSE;

    #[test]
    fn a_report_has_a_row_for_each_part_of_the_course() {
        let part = |name: &str| Part {
            name: name.into(),
            own_errors: vec![0.001, 0.004],
            others_errors: vec![],
            beside_errors: vec![],
            corrections: 1,
        };
        let found = Found {
            parts: vec![part("track"), part("leap")],
            flag_errors: vec![0.0004],
            held_errors: vec![],
            actions: vec![Action { name: "leap".into(), frames: vec![1.0, 2.0], ms: vec![3.0, 20.0] }],
            carrier: "WebSocket".into(),
            program: "Node v20".into(),
        };
        let plan = Plan {
            conditions: COURSE.to_vec(),
            clients: vec![Client::Node],
            grounds: vec![],
            browser: "/usr/bin/chromium".into(),
            seconds: 16,
            seed: 7,
            command: "nowcast".into(),
        };
        let run = Trial { of: COURSE[0], client: Client::Node, found, is_trustworthy: true };
        let report = plan.report_course(&[run]);
        let rows = &report.sections[0].tables[0].rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0][2].show(), "platform, 5 m/s, straight");
        assert_eq!(rows[0][5].value(), Some(0.4));
        assert_eq!(report.sections[1].tables[0].rows[0][4].value(), Some(2.0));
        assert_eq!(report.sections[2].tables[0].rows[0][3].value(), Some(0.4));
    }
}
