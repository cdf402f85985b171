//! Two bots play football over a slow link. Tests whether the server judges a kick by the view of the player who kicked.

use serde::Deserialize;

use super::findings::{cell, percentile};
use super::scene::{Trial, note_lateness};
use super::{MotionError, Plan};
use crate::report::{Axis, Cell, Chart, Column, LineChart, Report, Section, Series, Table};

/// The folder of the world, and its room.
pub(super) const WORLD: (&str, &str) = ("worlds/football", "football");
/// Maximum distance of a kicking player from the ball, in metres, according to the rules of the world.
const REACH_M: f64 = 1.6;
/// A view that is older than this is judged as if it had this age, in milliseconds.
const REWIND_MS: f64 = 500.0;
/// Number of dots on the line of the reach, minus one.
const REACH_DOTS: u32 = 30;
/// If a player is shown farther than this from the server's position, in metres, that is a cause of differences.
const OWN_M: f64 = 0.15;

/// One kick, in the form in which the script writes it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Kick {
    /// The player who kicked.
    by: String,
    /// Time since the beginning, in seconds.
    at_s: f64,
    /// Distance of the ball on the screen of the kicking player, in metres.
    shown_m: f64,
    /// Distance of the ball as the server judged it.
    judged_m: f64,
    /// Whether the kick counted.
    is_counted: bool,
    /// The age of the view on the screen when the server judged the kick.
    behind_ms: f64,
    /// Whether an update of the ball was late, so that the ball's position was extrapolated.
    is_guessed: bool,
    /// Distance between the displayed position of the kicking player and the server's position after the same step; `None` if the
    /// server's position is no longer known.
    own_error_m: Option<f64>,
}

impl Kick {
    /// Whether the server's verdict agrees with the distance that the kicker's screen showed.
    fn agrees(&self) -> bool {
        self.is_counted == (self.shown_m <= REACH_M)
    }

    fn off_m(&self) -> f64 {
        (self.judged_m - self.shown_m).abs()
    }

    /// Returns the cause of a difference between the distance on the screen and the distance on the server.
    fn cause(&self) -> &'static str {
        if self.behind_ms > REWIND_MS {
            "the view was older than half a second"
        } else if self.is_guessed {
            "an update of the ball was late"
        } else if self.own_error_m.is_none_or(|metres| metres > OWN_M) {
            "the own avatar was elsewhere"
        } else {
            "at the edge of the reach"
        }
    }
}

/// The findings of a match.
#[derive(Debug, Deserialize)]
struct Match {
    kicks: Vec<Kick>,
    unanswered: usize,
    carrier: String,
    program: String,
}

type Run = Trial<Match>;

fn name(run: &Run) -> String {
    format!("{}, {}", run.client.name(), run.link())
}

impl Plan {
    /// Lets two bots play football over each link with each client, instead of walking.
    ///
    /// # Errors
    /// [`MotionError`]
    pub fn run_football(&self, progress: &mut dyn FnMut(&str)) -> Result<Report, MotionError> {
        Ok(self.report_football(&self.play_scene("football", WORLD, progress)?))
    }

    fn report_football(&self, runs: &[Run]) -> Report {
        let mut report =
            Report::new("Kicks judged by the screen of the player", self.command.clone()).seed(self.seed);
        let programs: Vec<String> =
            runs.iter().map(|run| format!("{} over {}", run.found.program, run.found.carrier)).collect();
        report.note(format!(
            "Two bots play worlds/football for {} s with the SDK in {} on one emulated host, `nowcast serve` is on the other. A bot kicks when the ball on its own screen has a distance that was drawn at random; a kick counts within {REACH_M} m.",
            self.seconds,
            programs.join("; "),
        ));
        note_lateness(runs, &mut report);
        report.section(agreement(runs));
        for run in runs {
            report.section(record(run));
        }
        report
    }
}

fn share(part: usize, whole: usize) -> Cell {
    if whole == 0 { Cell::Missing } else { Cell::number(100.0 * part as f64 / whole as f64, 1) }
}

fn agreement(runs: &[Run]) -> Section {
    let mut section = Section::new("Agreement");
    section.text(
        "A kick agrees if the server counted it and the kicking player's screen showed the ball within reach, or if neither is true. \
         A kick is prompt if the server judged it within half a second of the moment on the screen, which is how far it rewinds.",
    );
    let mut table = Table::new(vec![
        Column::text("client and link"),
        Column::number("kicks", ""),
        Column::number("counted", ""),
        Column::number("agree", "%"),
        Column::number("prompt", ""),
        Column::number("prompt kicks that agree", "%"),
        Column::number("off p50", "cm"),
        Column::number("off p95", "cm"),
        Column::number("seen before p50", "ms"),
        Column::number("seen before p95", "ms"),
        Column::number("no match on", ""),
    ]);
    for run in runs {
        let kicks = &run.found.kicks;
        let prompt: Vec<&Kick> = kicks.iter().filter(|kick| kick.behind_ms <= REWIND_MS).collect();
        let off: Vec<f64> = prompt.iter().map(|kick| kick.off_m()).collect();
        let behind: Vec<f64> = kicks.iter().map(|kick| kick.behind_ms).collect();
        table.row(vec![
            Cell::text(name(run)),
            Cell::count(kicks.len()),
            Cell::count(kicks.iter().filter(|kick| kick.is_counted).count()),
            share(kicks.iter().filter(|kick| kick.agrees()).count(), kicks.len()),
            Cell::count(prompt.len()),
            share(prompt.iter().filter(|kick| kick.agrees()).count(), prompt.len()),
            cell(&off, 0.5, 100.0, 1),
            cell(&off, 0.95, 100.0, 1),
            cell(&behind, 0.5, 1.0, 0),
            cell(&behind, 0.95, 1.0, 0),
            Cell::count(run.found.unanswered),
        ]);
    }
    section.table(table);
    section
}

/// Returns a section with every kick of a match.
fn record(run: &Run) -> Section {
    let mut section = Section::new(format!("Every kick: {}", name(run)));
    let points = |is_counted: bool| {
        let kicks = run.found.kicks.iter().filter(move |kick| kick.is_counted == is_counted);
        kicks.map(|kick| (kick.shown_m, kick.judged_m)).collect()
    };
    let shown: Vec<f64> = run.found.kicks.iter().map(|kick| kick.shown_m).collect();
    let longest = percentile(&shown, 1.0).unwrap_or(REACH_M);
    let reach = (0..=REACH_DOTS).map(|dot| (REACH_M, longest * f64::from(dot) / f64::from(REACH_DOTS)));
    section.chart(Chart::Points(LineChart {
        title: "Distance of the ball on the screen and on the server".into(),
        x: Axis::linear("on the screen of the kicking player", "m"),
        y: Axis::linear("as the server judged", "m"),
        series: vec![
            Series { name: "counted".into(), values: points(true) },
            Series { name: "did not count".into(), values: points(false) },
            Series { name: "reach".into(), values: reach.collect() },
        ],
    }));
    let mut table = Table::new(vec![
        Column::number("at", "s"),
        Column::text("by"),
        Column::number("shown", "m"),
        Column::number("judged", "m"),
        Column::text("counted"),
        Column::number("seen before", "ms"),
        Column::number("own error", "cm"),
        Column::text("causes of disagreement"),
    ]);
    for kick in &run.found.kicks {
        table.row(vec![
            Cell::number(kick.at_s, 1),
            Cell::text(kick.by.clone()),
            Cell::number(kick.shown_m, 2),
            Cell::number(kick.judged_m, 2),
            Cell::text(if kick.is_counted { "yes" } else { "no" }),
            Cell::number(kick.behind_ms, 0),
            kick.own_error_m.map_or(Cell::Missing, |metres| Cell::number(metres * 100.0, 1)),
            Cell::text(if kick.agrees() { "" } else { kick.cause() }),
        ]);
    }
    section.table(table);
    section
}

#[cfg(test)]
mod tests {
    use super::super::Client;
    use super::*;
    use crate::motion::FOOTBALL;

    fn kick(shown_m: f64, judged_m: f64, behind_ms: f64) -> Kick {
        let (by, is_counted) = ("Ada".into(), judged_m <= REACH_M);
        Kick {
            by,
            at_s: 1.0,
            shown_m,
            judged_m,
            is_counted,
            behind_ms,
            is_guessed: false,
            own_error_m: Some(0.01),
        }
    }

    #[test]
    fn a_report_states_how_many_kicks_agree_and_why_others_differ() {
        let kicks = vec![
            kick(1.2, 1.25, 200.0),
            kick(2.2, 2.1, 300.0),
            kick(1.58, 1.61, 250.0),
            kick(1.0, 3.0, 700.0),
        ];
        let found = Match { kicks, unanswered: 1, carrier: "WebSocket".into(), program: "Node v20".into() };
        let plan = Plan {
            conditions: FOOTBALL.to_vec(),
            clients: vec![Client::Node],
            grounds: vec![],
            browser: "/usr/bin/chromium".into(),
            seconds: 60,
            seed: 7,
            command: "nowcast".into(),
        };
        let run = Trial { of: FOOTBALL[0], client: Client::Node, found, is_trustworthy: true };
        let report = plan.report_football(&[run]);
        let row = &report.sections[0].tables[0].rows[0];
        let values: Vec<f64> = row[1..6].iter().filter_map(Cell::value).collect();
        assert_eq!(values, [4.0, 1.0, 50.0, 3.0, 200.0 / 3.0]);
        let record = &report.sections[1].tables[0].rows;
        let causes: Vec<String> = record.iter().map(|row| row[7].show()).collect();
        assert_eq!(causes, ["", "", "at the edge of the reach", "the view was older than half a second"]);
        assert!(report.to_json().contains("\"kind\": \"points\""));
    }
}
