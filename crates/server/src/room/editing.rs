//! New rules for a room's world, and who hears what became of them.

use std::collections::VecDeque;

use nowcast_script::{Assets, Report};
use tracing::{info, warn};

use super::Room;
use crate::client_handle::Player;
use crate::dictionary::Dictionary;
use crate::rule_report::RuleReport;
use crate::session::Outcome;
use crate::worlds::Change;

/// Reports that somebody who comes later still hears.
const REPORTS_KEPT: usize = 16;

/// Lines that rules print in [`PRINTED_STEPS`] steps and that are sent on; more are dropped, counted, and their number is sent.
const PRINTED_LINES_MAX: u64 = 60;
/// A second.
const PRINTED_STEPS: u64 = 60;

/// The lines that rules printed since a step.
#[derive(Default)]
struct Printed {
    since: u64,
    lines: u64,
    dropped: u64,
}

/// The versions of a room's rules, and their outcomes.
pub(super) struct Editing {
    printed: Printed,
    /// Which of the folder's versions the room has seen.
    seen: u64,
    reports: VecDeque<RuleReport>,
    /// The files that looks and sounds name now.
    assets: Assets,
    /// Those before the newest rules, which come back when the rules are taken back.
    assets_before: Option<Assets>,
    /// Whether files changed that clients have not been told of.
    has_new_assets: bool,
    /// Whether the newest that is in the folder does not load.
    is_faulty: bool,
}

impl Editing {
    pub(super) fn new(seen: u64, assets: Assets) -> Self {
        Self {
            seen,
            printed: Printed::default(),
            reports: VecDeque::new(),
            assets,
            assets_before: None,
            has_new_assets: false,
            is_faulty: false,
        }
    }

    /// Files that come with new rules.
    fn take_with_rules(&mut self, assets: Assets) {
        self.assets_before = Some(std::mem::replace(&mut self.assets, assets));
    }

    /// Files that change while the rules stay. They stay when rules are taken back: their author meant them for both.
    fn take_alone(&mut self, assets: Assets) {
        self.has_new_assets |= self.assets != assets;
        self.assets = assets;
        self.assets_before = None;
    }

    /// The newest rules do not hold, so their files do not either.
    fn take_back(&mut self) {
        if let Some(before) = self.assets_before.take() {
            self.assets = before;
        }
    }

    /// Tells somebody who has just come what became of the newest versions.
    pub(super) fn catch_up(&self, player: &Player) {
        self.reports.iter().for_each(|report| player.report(report));
    }
}

impl Room {
    /// Lets new rules hold, if there are any that load.
    pub(super) fn reload_rules(&mut self) {
        match self.offered.change_since(&mut self.editing.seen) {
            None => {}
            // The script keeps its variables when only files beside it changed.
            Some(Change::Version(sources, assets))
                if !self.editing.is_faulty && self.world.sources() == Some(&sources) =>
            {
                self.editing.take_alone(assets);
            }
            // The outcome is among the world's reports.
            Some(Change::Version(sources, assets)) => {
                self.editing.is_faulty = false;
                self.editing.take_with_rules(assets);
                self.world.reload(sources);
            }
            Some(Change::Fault(text)) => {
                self.editing.is_faulty = true;
                let version = self.world.count_refused();
                self.report(RuleReport { outcome: Outcome::Refused, version, text });
            }
        }
    }

    /// Passes on what became of new rules. Returns whether other rules or files hold now than before.
    pub(super) fn report_rules(&mut self) -> bool {
        let mut has_new_rules = false;
        while let Some(report) = self.world.poll_report() {
            let report = match report {
                Report::Runs { version, .. } => {
                    has_new_rules = true;
                    RuleReport { outcome: Outcome::Runs, version: version.number, text: String::new() }
                }
                Report::Refused { version, fault } => {
                    self.editing.take_back();
                    RuleReport { outcome: Outcome::Refused, version: version.number, text: fault.to_string() }
                }
                Report::RolledBack { version, to, fault } => {
                    has_new_rules = true;
                    self.editing.take_back();
                    let text = format!("{fault}; version {} runs again", to.number);
                    RuleReport { outcome: Outcome::RolledBack, version: version.number, text }
                }
                Report::Failed { version, fault } => {
                    RuleReport { outcome: Outcome::Failed, version: version.number, text: fault.to_string() }
                }
            };
            self.report(report);
        }
        self.pass_on_printed();
        let is_redefined = has_new_rules | std::mem::take(&mut self.editing.has_new_assets);
        if is_redefined {
            let definition = self.world.world().scene().definition();
            self.dictionary = Dictionary::new(definition, &self.editing.assets, self.world.version());
        }
        if has_new_rules {
            self.replicated.invalidate();
        }
        is_redefined
    }

    /// Sends lines that the rules printed to those who may edit, and writes them to the log.
    fn pass_on_printed(&mut self) {
        let tick = self.world.world().tick();
        if tick.saturating_sub(self.editing.printed.since) >= PRINTED_STEPS
            || tick < self.editing.printed.since
        {
            let dropped = std::mem::take(&mut self.editing.printed).dropped;
            self.editing.printed.since = tick;
            if dropped > 0 {
                self.rooms.metrics.drop_printed(dropped);
                self.send_printed(format!(
                    "{dropped} more lines were printed and left out: at most {PRINTED_LINES_MAX} a second are shown"
                ));
            }
        }
        while let Some(line) = self.world.poll_line() {
            if self.editing.printed.lines == PRINTED_LINES_MAX {
                self.editing.printed.dropped += 1;
            } else {
                self.editing.printed.lines += 1;
                self.send_printed(line);
            }
        }
    }

    fn send_printed(&self, text: String) {
        let report = RuleReport { outcome: Outcome::Printed, version: self.world.version(), text };
        self.rooms.metrics.report_rules(report.outcome);
        info!(room = self.name, text = report.text, "printed");
        for seated in self.players.iter().filter(|seated| seated.player.may_edit) {
            seated.player.report(&report);
        }
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
