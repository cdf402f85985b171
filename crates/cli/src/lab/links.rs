//! What the instruments on emulated links have in common.

use std::sync::Mutex;
use std::time::Duration;

use nowcast_lab::link;
use nowcast_lab::peers::Peer;
use nowcast_lab::trial::{Progress, end_on_interrupt};

/// Makes this process able to make hosts, and end in order when it is interrupted. Before any thread starts.
pub(crate) fn begin() -> anyhow::Result<()> {
    link::become_able()?;
    end_on_interrupt()?;
    Ok(())
}

/// The command line that repeats this run.
pub(crate) fn command() -> String {
    format!("nowcast {}", std::env::args().skip(1).collect::<Vec<_>>().join(" "))
}

/// A bar for runs that take so many seconds one after the other.
pub(crate) fn progress(seconds: f64, at_once: usize) -> Mutex<Progress> {
    let mut progress = Progress::new(seconds, Duration::from_secs_f64(seconds / at_once as f64));
    progress.show("beginning");
    Mutex::new(progress)
}

pub(crate) fn finish(progress: &Mutex<Progress>) {
    progress.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).finish();
}

/// A peer's word.
pub(crate) fn peer(word: &str) -> Result<Peer, String> {
    Peer::from_word(word).filter(|peer| peer.is_available()).ok_or_else(|| {
        let words: Vec<_> =
            Peer::ALL.into_iter().filter(|peer| peer.is_available()).map(Peer::word).collect();
        format!("this can be measured: {}", words.join(", "))
    })
}
