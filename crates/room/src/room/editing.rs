//! New rules for a room's world, and their outcomes.

use std::collections::VecDeque;

use nowcast_script::{Assets, Report};
use nowcast_world::STEP_HZ;
use nowcast_world_protocol::session::Outcome;
use tracing::{info, warn};

use super::context::RoomContext;
use super::members::Members;
use crate::client_handle::ClientHandle;
use crate::client_sink::ClientEvent;
use crate::recorded_world::RecordedWorld;
use crate::rule_report::RuleReport;
use crate::studio::{Line, LogKind};
use crate::worlds::Change;

/// Maximum reports that are kept for editors who join later.
const REPORTS_KEPT: usize = 16;

/// Maximum printed lines of rules that are sent to editors in a second. Further lines are dropped, and editors receive their
/// number.
const PRINTED_LINES_MAX: u64 = 60;

/// Maximum errors of rules that are reported in a second. Further errors are dropped, and editors receive their number.
/// Rules that fail in every step may produce a new text each time.
const FAILURES_MAX: u64 = 10;

/// Limits the reports in each second of a world. Reports over the limit are dropped and counted.
struct Budget {
    max: u64,
    /// The step in which the current second began.
    since: u64,
    used: u64,
    dropped: u64,
}

impl Budget {
    fn new(max: u64) -> Self {
        Self { max, since: 0, used: 0, dropped: 0 }
    }

    /// Begins a new second when the last one is over, or when the world was restored to an earlier step. Returns the number of reports
    /// that were dropped in the last second.
    fn begin_second(&mut self, tick: u64) -> u64 {
        if (self.since..self.since + u64::from(STEP_HZ)).contains(&tick) {
            return 0;
        }
        let dropped = self.dropped;
        *self = Self { since: tick, ..Self::new(self.max) };
        dropped
    }

    /// Takes one report from the budget. Returns `false`, and counts the report as dropped, if nothing is left.
    fn take(&mut self) -> bool {
        let is_left = self.used < self.max;
        if is_left {
            self.used += 1;
        } else {
            self.dropped += 1;
        }
        is_left
    }
}

/// The versions of a room's rules, and their outcomes.
pub(super) struct Editing {
    printed: Budget,
    failures: Budget,
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
            printed: Budget::new(PRINTED_LINES_MAX),
            failures: Budget::new(FAILURES_MAX),
            reports: VecDeque::new(),
            assets,
            assets_before: None,
            has_new_assets: false,
            is_faulty: false,
        }
    }

    /// Uses the assets of new rules.
    fn take_with_rules(&mut self, assets: Assets) {
        self.assets_before = Some(std::mem::replace(&mut self.assets, assets));
    }

    /// Uses assets that changed while the rules stayed the same. A rollback of the rules does not restore the earlier
    /// assets, because the author made the new assets for these rules, too.
    fn take_alone(&mut self, assets: Assets) {
        self.has_new_assets |= self.assets != assets;
        self.assets = assets;
        self.assets_before = None;
    }

    /// Restores the assets before the newest rules, because those rules were rejected.
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

    /// Gives the world the new rules of the folder, if they load.
    pub(super) fn reload(&mut self, context: &RoomContext, world: &mut RecordedWorld, members: &Members) {
        match context.offered.change_since(&mut self.seen) {
            None => {}
            // If only assets changed, the rules are not reloaded, so the script keeps its variables.
            Some(Change::Version(sources, assets))
                if !self.is_faulty && world.sources() == Some(&sources) =>
            {
                self.take_alone(assets);
            }
            // The world's reports contain the outcome.
            Some(Change::Version(sources, assets)) => {
                self.is_faulty = false;
                self.take_with_rules(assets);
                world.reload(sources);
            }
            Some(Change::Fault(text)) => {
                self.is_faulty = true;
                let version = world.count_refused();
                self.report(context, world, members, RuleReport { outcome: Outcome::Refused, version, text });
            }
        }
    }

    /// Reports the outcomes of new rules, and the lines that rules printed.
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
                Report::Failed { version, fault } => (Outcome::Failed, version, fault.with_calls()),
            };
            has_new_rules |= matches!(outcome, Outcome::Runs | Outcome::RolledBack);
            if matches!(outcome, Outcome::Refused | Outcome::RolledBack) {
                self.take_back();
            }
            let report = RuleReport { outcome, version: version.number, text };
            self.report(context, world, members, report);
        }
        self.report_dropped_failures(context, world, members);
        self.pass_on_printed(context, world, members);
        let is_redefined = has_new_rules | std::mem::take(&mut self.has_new_assets);
        Reloaded { has_new_rules, is_redefined }
    }

    /// Sends lines that the rules printed to editors, and writes them to the log.
    fn pass_on_printed(&mut self, context: &RoomContext, world: &mut RecordedWorld, members: &Members) {
        let tick = world.world().tick();
        let send = |version: u64, text: String| {
            let report = RuleReport { outcome: Outcome::Printed, version, text };
            context.rooms.metrics.report_rules(report.outcome);
            info!(room = context.name, text = report.text, "printed");
            context.lobby.studio.log().push(Line::new(LogKind::Print, tick, &report.text));
            members.send_to_editors(ClientEvent::Report(&report));
        };
        let dropped = self.printed.begin_second(world.world().tick());
        if dropped > 0 {
            context.rooms.metrics.drop_printed(dropped);
            let text = format!(
                "{dropped} more lines were printed and left out: at most {PRINTED_LINES_MAX} a second are shown"
            );
            send(world.version(), text);
        }
        while let Some(line) = world.poll_line() {
            if self.printed.take() {
                send(world.version(), line);
            }
        }
    }

    /// Reports once a second how many errors of the rules were not reported.
    fn report_dropped_failures(&mut self, context: &RoomContext, world: &RecordedWorld, members: &Members) {
        let dropped = self.failures.begin_second(world.world().tick());
        if dropped == 0 {
            return;
        }
        context.rooms.metrics.drop_failures(dropped);
        let text = format!(
            "{dropped} more errors were raised and left out: at most {FAILURES_MAX} a second are reported"
        );
        let report = RuleReport { outcome: Outcome::Failed, version: world.version(), text };
        self.publish_report(context, world, members, report);
    }

    /// Counts a report, and sends it to editors. A script that fails in every step may report the same error sixty times a
    /// second. Therefore a report that editors already have is not sent again, and the number of new reports is limited.
    fn report(
        &mut self,
        context: &RoomContext,
        world: &RecordedWorld,
        members: &Members,
        report: RuleReport,
    ) {
        context.rooms.metrics.report_rules(report.outcome);
        if self.reports.iter().any(|known| known.is_like(&report)) {
            return;
        }
        if report.outcome != Outcome::Failed || self.failures.take() {
            self.publish_report(context, world, members, report);
        }
    }

    /// Logs a report. Sends it to editors now, and to editors who join later.
    fn publish_report(
        &mut self,
        context: &RoomContext,
        world: &RecordedWorld,
        members: &Members,
        report: RuleReport,
    ) {
        let RuleReport { outcome, version, text } = &report;
        let tick = world.world().tick();
        let line = match outcome {
            Outcome::Runs => {
                info!(room = context.name, version, "rules run");
                Line::new(LogKind::Rules, tick, &format!("version {version} runs"))
            }
            _ => {
                warn!(room = context.name, version, ?outcome, text, "rules");
                Line::new(LogKind::Error, tick, text)
            }
        };
        context.lobby.studio.log().push(line);
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
    /// Whether the rules in force changed.
    pub(super) has_new_rules: bool,
    /// Whether the rules or assets in force changed.
    pub(super) is_redefined: bool,
}
