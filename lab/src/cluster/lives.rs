//! Runs many lives of the core of `crates/cluster`, which servers run, in virtual time, and checks each against the promises of
//! `docs/reference/cluster.md`.

use std::time::{Duration, Instant};

use crate::report::{Cell, Column, Report, Section, Table};
use nowcast_sim::cluster::{Lived, Setup, check};

use super::Outcome;

/// The extent of the lives.
#[derive(Debug)]
pub struct Lives {
    /// The first seed.
    pub first: u64,
    /// Number of lives.
    pub lives: u64,
    /// Maximum time, after which no further life begins.
    pub time_max: Option<Duration>,
}

impl Lives {
    /// Runs the lives of the seeds one after the other, and passes the number of finished lives to `progress`. Stops at the
    /// first failure.
    pub fn run(&self, command: String, mut progress: impl FnMut(u64)) -> Outcome {
        let start = Instant::now();
        // A single life is somebody's search for a cause.
        let setup = Setup { is_verbose: self.lives == 1, ..Setup::default() };
        let mut total = Lived::default();
        let mut failure = None;
        for seed in self.first..self.first.saturating_add(self.lives) {
            if self.time_max.is_some_and(|max| start.elapsed() >= max) {
                break;
            }
            match check(seed, &setup) {
                Ok(lived) => total.add(lived),
                Err(found) => {
                    failure = Some(found.to_string());
                    break;
                }
            }
            progress(seed - self.first + 1);
        }
        let report = self.report(command, &total, start.elapsed(), failure.as_deref());
        Outcome { report, failure }
    }

    fn report(&self, command: String, total: &Lived, time: Duration, failure: Option<&str>) -> Report {
        let mut report = Report::new("Lives of a cluster in virtual time", command).seed(self.first);
        report.note(match failure {
            Some(failure) => format!("A promise was broken: {failure}"),
            None => "No promise was broken.".to_owned(),
        });
        let mut section = Section::new("Lives");
        section.text(
            "Each life has two to four servers, one or two rooms, clients with durable actions, and up to eight faults, all from \
             one seed. The servers run the core of crates/cluster, as `nowcast serve --cluster` does. NATS, the clocks, the rooms and \
             their stores are models.",
        );
        section.text(
            "Checks at each event: one owner at a time confirms and shows states; confirmed actions happen exactly once; states \
             never go backwards. After the faults, each room must be found again.",
        );
        let mut table = Table::new(vec![Column::text("figure"), Column::number("value", "")]);
        let hours = total.virtual_time.as_secs_f64() / 3_600.0;
        for (name, value, decimals) in [
            ("lives", total.lives as f64, 0),
            ("hours of virtual time", hours, 1),
            ("seconds of real time", time.as_secs_f64(), 1),
            ("events", total.events as f64, 0),
            ("faults and orders of the operator", total.faults as f64, 0),
            ("rooms that were taken from the journal", total.takeovers as f64, 0),
            ("rooms that were handed over", total.hand_overs as f64, 0),
            ("states shown to clients", total.shown as f64, 0),
            ("actions confirmed, with repetitions", total.confirmed as f64, 0),
            ("promises broken", f64::from(u8::from(failure.is_some())), 0),
        ] {
            table.row(vec![Cell::text(name), Cell::number(value, decimals)]);
        }
        let digest = format!("{:016x}", total.digest);
        table.row(vec![
            Cell::text("digest, which is equal in two runs of the same seeds"),
            Cell::text(digest),
        ]);
        section.table(table);
        report.section(section);
        report
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_runs_of_the_same_seeds_have_the_same_digest() {
        let run = || {
            let mut done = 0;
            let outcome =
                Lives { first: 7, lives: 5, time_max: None }.run(String::new(), |count| done = count);
            assert_eq!((done, outcome.failure), (5, None));
            let rows = &outcome.report.sections[0].tables[0].rows;
            (rows[0][1].value(), rows.last().expect("the table has rows")[1].show())
        };
        assert_eq!(run(), run());
        assert_eq!(run().0, Some(5.0));
    }
}
