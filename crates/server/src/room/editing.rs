//! New rules for a room's world, and who hears what became of them.

use std::collections::VecDeque;

use nowcast_script::Report;
use tracing::{info, warn};

use super::Room;
use crate::dictionary::Dictionary;
use crate::player::Player;
use crate::rule_report::RuleReport;
use crate::session::Outcome;
use crate::worlds::Change;

/// Reports that somebody who comes later still hears.
const REPORTS_KEPT: usize = 16;

/// What became of the versions of a room's rules.
pub(super) struct Editing {
    /// Which of the folder's versions the room has seen.
    seen: u64,
    reports: VecDeque<RuleReport>,
}

impl Editing {
    pub(super) fn new(seen: u64) -> Self {
        Self { seen, reports: VecDeque::new() }
    }

    /// Tells somebody who has just come what became of the newest versions.
    pub(super) fn catch_up(&self, player: &Player) {
        self.reports.iter().for_each(|report| player.report(report));
    }
}

impl Room {
    /// Lets new rules hold, if there are any that load.
    pub(super) fn take_new_rules(&mut self) {
        match self.offered.change_since(&mut self.editing.seen) {
            None => {}
            // What became of it is among the world's reports.
            Some(Change::Version(sources)) => self.world.reload(sources),
            Some(Change::Fault(text)) => {
                let version = self.world.count_refused();
                self.report(RuleReport { outcome: Outcome::Refused, version, text });
            }
        }
    }

    /// Passes on what became of new rules. Returns whether other rules hold now than before.
    pub(super) fn hear_of_rules(&mut self) -> bool {
        let mut is_redefined = false;
        while let Some(report) = self.world.poll_report() {
            let report = match report {
                Report::Runs { version, .. } => {
                    is_redefined = true;
                    RuleReport { outcome: Outcome::Runs, version: version.number, text: String::new() }
                }
                Report::Refused { version, fault } => {
                    RuleReport { outcome: Outcome::Refused, version: version.number, text: fault.to_string() }
                }
                Report::RolledBack { version, to, fault } => {
                    is_redefined = true;
                    let text = format!("{fault}; version {} runs again", to.number);
                    RuleReport { outcome: Outcome::RolledBack, version: version.number, text }
                }
                Report::Failed { version, fault } => {
                    RuleReport { outcome: Outcome::Failed, version: version.number, text: fault.to_string() }
                }
            };
            self.report(report);
        }
        if is_redefined {
            self.dictionary = Dictionary::new(self.world.world().scene().definition(), self.world.version());
            self.told.doubt();
        }
        is_redefined
    }

    /// Counts a report, and tells it to those who may edit. A script that fails in every step says the same sixty times a
    /// second: that is told once.
    fn report(&mut self, report: RuleReport) {
        let RuleReport { outcome, version, text } = &report;
        self.rooms.metrics.report_rules(*outcome);
        if self.editing.reports.contains(&report) {
            return;
        }
        match outcome {
            Outcome::Runs => info!(room = self.name, version, "rules run"),
            _ => warn!(room = self.name, version, ?outcome, text, "rules"),
        }
        for seated in self.players.iter().filter(|seated| seated.player.may_edit) {
            seated.player.report(&report);
        }
        let reports = &mut self.editing.reports;
        reports.push_back(report);
        while reports.len() > REPORTS_KEPT {
            reports.pop_front();
        }
    }
}
