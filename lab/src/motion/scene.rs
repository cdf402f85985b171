//! A scene that is played instead of walking, over each link with each client.

use crate::report::Report;
use serde::de::DeserializeOwned;

use super::{Client, Conditions, MotionError, Plan};

/// The findings of one client over one link.
pub(super) struct Trial<F> {
    pub(super) of: Conditions,
    pub(super) client: Client,
    pub(super) found: F,
    pub(super) is_trustworthy: bool,
}

impl<F> Trial<F> {
    /// Returns the name of the link, with a mark if the relay was late.
    pub(super) fn link(&self) -> String {
        let doubt = if self.is_trustworthy { "" } else { " †" };
        format!("{}{doubt}", self.of.name())
    }
}

impl Plan {
    /// Plays a scene of the script in a world, which is a folder and its room.
    pub(super) fn play_scene<F: DeserializeOwned>(
        &self,
        scene: &str,
        world: (&str, &str),
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<Trial<F>>, MotionError> {
        self.check()?;
        let mut trials = Vec::new();
        for of in &self.conditions {
            for client in &self.clients {
                progress(&format!("{scene}: {}, {}", of.name(), client.name()));
                let (found, is_trustworthy) = self.play(scene, world, of, *client)?;
                trials.push(Trial { of: *of, client: *client, found, is_trustworthy });
            }
        }
        Ok(trials)
    }
}

/// Notes whether some relay was late.
pub(super) fn note_lateness<F>(trials: &[Trial<F>], report: &mut Report) {
    if trials.iter().any(|trial| !trial.is_trustworthy) {
        report.note("† The relay was late: do not trust these figures.");
    }
}
