//! Runs a plan on real links.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::findings;
use super::plan::{Measured, Plan, Run};
use super::stream::RATE_HZ;
use crate::report::Report;
use crate::trial::{self, Job, Progress, Task, TrialError};

impl Plan {
    /// Runs the whole plan.
    ///
    /// # Errors
    /// If there are no hosts, or a report cannot be read.
    pub fn run(&self, progress: &Mutex<Progress>) -> Result<Report, TrialError> {
        let jobs = self.jobs();
        let plain: Vec<Job> = jobs.iter().map(|(_, _, job)| job.clone()).collect();
        let outcomes = trial::run_all(&plain, self.at_once, progress);
        let cases = self.cases();
        let peers = self.peers();
        let mut measured: Vec<BTreeMap<usize, Measured>> = cases.iter().map(|_| BTreeMap::new()).collect();
        for ((case, peer, job), outcome) in jobs.iter().zip(outcomes) {
            let place = peers.iter().position(|other| other == peer).unwrap_or_default();
            let measured = measured[*case].entry(place).or_default();
            let Task::Stream(stream) = &job.task else { continue };
            match outcome {
                Ok(outcome) => {
                    measured.late += usize::from(!outcome.is_trustworthy());
                    measured.repeats += outcome.repeats;
                    measured.runs.push(Run::of(&outcome, stream)?);
                }
                Err(error @ TrialError::Host(_)) => return Err(error),
                Err(error) => measured.error = Some(error.to_string()),
            }
        }
        let mut report = Report::new("Freshness on real links", self.command.clone()).seed(self.seed);
        findings::notes(self, RATE_HZ, &mut report);
        for (case, measured) in cases.iter().zip(&measured) {
            report.section(findings::section(case, &peers, measured));
        }
        Ok(report)
    }
}
