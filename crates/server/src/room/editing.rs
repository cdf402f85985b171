//! New rules for a room's world, and their outcomes.

use std::collections::VecDeque;

use nowcast_script::{Assets, Report};
use tracing::{info, warn};

use super::context::RoomContext;
use super::members::Members;
use crate::client_handle::ClientHandle;
use crate::client_sink::ClientEvent;
use crate::recorded_world::RecordedWorld;
use crate::rule_report::RuleReport;
use crate::session::Outcome;
use crate::worlds::Change;

/// Reports that are sent to editors who join later.
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
    /// The number of the folder's newest version that the room has seen.
    seen: u64,
    reports: VecDeque<RuleReport>,
    /// The assets that are in force.
    assets: Assets,
    /// The assets before the newest rules. A rollback of the rules restores them.
    assets_before: Option<Assets>,
    /// Whether assets changed since the last definition was sent.
    has_new_assets: bool,
    /// Whether the folder's newest version does not load.
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

    /// Takes the assets of new rules.
    fn take_with_rules(&mut self, assets: Assets) {
        self.assets_before = Some(std::mem::replace(&mut self.assets, assets));
    }

    /// Takes assets that changed while the rules stayed. A rollback does not restore the earlier ones: their author meant the
    /// new assets for both versions.
    fn take_alone(&mut self, assets: Assets) {
        self.has_new_assets |= self.assets != assets;
        self.assets = assets;
        self.assets_before = None;
    }

    /// Restores the assets before the newest rules, which are not in force.
    fn take_back(&mut self) {
        if let Some(before) = self.assets_before.take() {
            self.assets = before;
        }
    }

    /// Sends an editor who has just joined the outcomes of the newest versions.
    pub(super) fn catch_up(&self, client: &ClientHandle) {
        self.reports.iter().for_each(|report| client.sink().send(ClientEvent::Report(report)));
    }

    /// The assets that are in force.
    pub(super) fn assets(&self) -> &Assets {
        &self.assets
    }

    /// Hands new rules of the folder to the world, if there are any that load.
    pub(super) fn reload(&mut self, context: &RoomContext, world: &mut RecordedWorld, members: &Members) {
        match context.offered.change_since(&mut self.seen) {
            None => {}
            // The script keeps its variables when only assets changed.
            Some(Change::Version(sources, assets))
                if !self.is_faulty && world.sources() == Some(&sources) =>
            {
                self.take_alone(assets);
            }
            // The outcome is among the world's reports.
            Some(Change::Version(sources, assets)) => {
                self.is_faulty = false;
                self.take_with_rules(assets);
                world.reload(sources);
            }
            Some(Change::Fault(text)) => {
                self.is_faulty = true;
                let version = world.count_refused();
                self.report(context, members, RuleReport { outcome: Outcome::Refused, version, text });
            }
        }
    }

    /// Passes on the outcomes of new rules, and the lines that rules printed.
    pub(super) fn report_rules(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        members: &Members,
    ) -> Reloaded {
        let mut has_new_rules = false;
        while let Some(report) = world.poll_report() {
            let (outcome, version, text) = match report {
                Report::Runs { version, .. } => (Outcome::Runs, version, String::new()),
                Report::Refused { version, fault } => (Outcome::Refused, version, fault.to_string()),
                Report::RolledBack { version, to, fault } => {
                    (Outcome::RolledBack, version, format!("{fault}; version {} runs again", to.number))
                }
                Report::Failed { version, fault } => (Outcome::Failed, version, fault.to_string()),
            };
            has_new_rules |= matches!(outcome, Outcome::Runs | Outcome::RolledBack);
            if matches!(outcome, Outcome::Refused | Outcome::RolledBack) {
                self.take_back();
            }
            self.report(context, members, RuleReport { outcome, version: version.number, text });
        }
        self.pass_on_printed(context, world, members);
        let is_redefined = has_new_rules | std::mem::take(&mut self.has_new_assets);
        Reloaded { has_new_rules, is_redefined }
    }

    /// Sends lines that the rules printed to editors, and writes them to the log.
    fn pass_on_printed(&mut self, context: &RoomContext, world: &mut RecordedWorld, members: &Members) {
        let send = |version: u64, text: String| {
            let report = RuleReport { outcome: Outcome::Printed, version, text };
            context.rooms.metrics.report_rules(report.outcome);
            info!(room = context.name, text = report.text, "printed");
            members.send_to_editors(ClientEvent::Report(&report));
        };
        let tick = world.world().tick();
        if tick.saturating_sub(self.printed.since) >= PRINTED_STEPS || tick < self.printed.since {
            let dropped = std::mem::take(&mut self.printed).dropped;
            self.printed.since = tick;
            if dropped > 0 {
                context.rooms.metrics.drop_printed(dropped);
                let text = format!(
                    "{dropped} more lines were printed and left out: at most {PRINTED_LINES_MAX} a second are shown"
                );
                send(world.version(), text);
            }
        }
        while let Some(line) = world.poll_line() {
            if self.printed.lines == PRINTED_LINES_MAX {
                self.printed.dropped += 1;
            } else {
                self.printed.lines += 1;
                send(world.version(), line);
            }
        }
    }

    /// Counts a report, and sends it to editors. A script that fails in every step repeats its report sixty times a second:
    /// that is sent once.
    fn report(&mut self, context: &RoomContext, members: &Members, report: RuleReport) {
        let RuleReport { outcome, version, text } = &report;
        context.rooms.metrics.report_rules(*outcome);
        if self.reports.contains(&report) {
            return;
        }
        match outcome {
            Outcome::Runs => info!(room = context.name, version, "rules run"),
            _ => warn!(room = context.name, version, ?outcome, text, "rules"),
        }
        members.send_to_editors(ClientEvent::Report(&report));
        self.reports.push_back(report);
        while self.reports.len() > REPORTS_KEPT {
            self.reports.pop_front();
        }
    }
}

/// The changes that new rules and assets made in a step.
#[derive(Clone, Copy)]
pub(super) struct Reloaded {
    /// Whether other rules are in force than before.
    pub(super) has_new_rules: bool,
    /// Whether other rules or assets are in force than before.
    pub(super) is_redefined: bool,
}
