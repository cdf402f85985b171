//! A real server that is killed at random moments, with real clients in it.

use std::path::Path;
use std::time::{Duration, Instant};

use nowcast::CarrierKind;
use nowcast_server::restore_kept;
use nowcast_server::store::{SqliteReader, WorldName};
use nowcast_world::Random;
use tokio::sync::watch;
use tokio::time::sleep;

use super::process::Process;
use super::witness::{Notes, Seen, Witness};
use super::{CrashError, Plan, TrialFolder};
use crate::report::Samples;

/// The room and its world.
const WORLD: &str = "crash";

/// What a client saw so long before a kill has to be there after it: the interval between two commits (50 ms), a step, the way to the
/// client, and the time of a commit on a slow disk.
const SEEN_BEFORE: Duration = Duration::from_millis(200);

/// How long all clients may take to come in and move, on a machine that does a lot besides.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between two looks at what the clients have seen.
const LOOK: Duration = Duration::from_millis(10);

/// What the kills did.
#[derive(Debug, Default)]
pub(super) struct Kills {
    pub(super) kills: usize,
    /// Movement that was seen and is not kept, in milliseconds of the world's time.
    pub(super) movement_lost_ms: Samples,
    /// From the start of a process until it listened, in milliseconds.
    pub(super) listening_ms: Samples,
    /// From the start of a process until a first client heard of movement, in milliseconds.
    pub(super) first_update_ms: Samples,
    /// From a kill until a client's avatar moved again, in milliseconds, by carrier.
    pub(super) moving_ms: Vec<(CarrierKind, Samples)>,
    /// Acts that were carried out and seen.
    pub(super) acts_seen: u64,
    /// Acts that somebody saw long enough before a kill, and that were not there after it.
    pub(super) acts_lost: u64,
    /// Acts beyond those that were sent.
    pub(super) acts_doubled: u64,
    /// What the check of the store found in the end.
    pub(super) damage: Vec<String>,
    /// Steps that this check replayed.
    pub(super) steps_checked: u64,
    /// What clients were told, and how often.
    pub(super) troubles: Vec<(String, u32)>,
}

/// What is known of a witness's count.
#[derive(Clone, Copy, Default)]
struct Count {
    /// The least that has to be there.
    least: u64,
    /// The most that can be there.
    most: u64,
}

pub(super) fn run(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Kills, CrashError> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(CrashError::Io)?;
    runtime.block_on(kill_often(plan, progress))
}

async fn kill_often(plan: &Plan, progress: &mut dyn FnMut(&str)) -> Result<Kills, CrashError> {
    let mut random = Random::new(plan.seed);
    let folder = TrialFolder::new("kills").map_err(CrashError::Io)?;
    let (world, data) = (folder.path.join(WORLD), folder.path.join("data"));
    std::fs::create_dir(&world).map_err(CrashError::Io)?;
    std::fs::write(world.join("world.luau"), include_str!("rules.luau")).map_err(CrashError::Io)?;
    let start = |port| Process::start(&plan.program, &world, &data, port);

    let mut process = start(0)?;
    let witnesses = witnesses(plan, process.port);
    let (life, lives) = watch::channel(0);
    let tasks: Vec<_> = witnesses.iter().map(|one| tokio::spawn(one.clone().play(lives.clone()))).collect();
    let mut kills = Kills::default();
    let mut counts = vec![Count::default(); witnesses.len()];
    let mut killed: Option<(Instant, u64)> = None;
    for kill in 0..=plan.kills {
        settle(&witnesses).await?;
        if let Some((_, tick)) = killed {
            let went_on = process
                .went_on_at(PATIENCE)
                .ok_or_else(|| CrashError::Server(format!("after kill {kill} no world went on")))?;
            kills.movement_lost_ms.push(tick.saturating_sub(went_on) as f64 * 1e3 / 60.0);
        }
        sleep(Duration::from_millis(300 + random.bits() % 1_200)).await;
        let is_last = kill == plan.kills;
        let (begun, listening, port) = (process.begun, process.listening, process.port);
        let end = process.kill()?;
        let seen: Vec<Seen> = witnesses.iter().map(|one| one.notes.take()).collect();
        kills.note(&witnesses, &seen, &mut counts, end, killed.map(|(at, _)| at));
        kills.note_start(&seen, begun, listening, killed.is_some());
        if is_last {
            break;
        }
        kills.kills += 1;
        killed = Some((end, seen.iter().map(|one| u64::from(one.tick)).max().unwrap_or(0)));
        life.send_modify(|life| *life += 1);
        process = start(port)?;
        if (kill + 1).is_multiple_of(10) {
            progress(&format!("{} of {} kills", kill + 1, plan.kills));
        }
    }
    drop(life);
    for task in tasks {
        // A witness that panicked has a bug, and the figures are no good.
        task.await.map_err(|error| CrashError::Server(format!("a client: {error}")))?;
    }
    kills.check(&data)?;
    Ok(kills)
}

/// Half of them come over WebTransport, half over WebSocket.
fn witnesses(plan: &Plan, port: u16) -> Vec<Witness> {
    let url = format!("nowcast://127.0.0.1:{port}/{WORLD}");
    let carriers = [CarrierKind::WebTransport, CarrierKind::WebSocket].into_iter().cycle();
    let numbered = (0..plan.clients).zip(carriers);
    numbered
        .map(|(index, carrier)| Witness { index, carrier, url: url.clone(), notes: Notes::default() })
        .collect()
}

/// Waits until every witness moves and has seen a count.
async fn settle(witnesses: &[Witness]) -> Result<(), CrashError> {
    let deadline = Instant::now() + PATIENCE;
    while let Some(witness) = witnesses.iter().find(|one| !one.notes.is_settled()) {
        if Instant::now() > deadline {
            let Seen { last_try, troubles, .. } = witness.notes.take();
            let Witness { index, carrier, .. } = witness;
            return Err(CrashError::Server(format!(
                "client {index} does not move over {carrier:?}: {last_try:?}, {troubles:?}"
            )));
        }
        sleep(LOOK).await;
    }
    Ok(())
}

impl Kills {
    /// Adds what the clients saw in one life of the server, which ended with a kill.
    fn note(
        &mut self,
        witnesses: &[Witness],
        seen: &[Seen],
        counts: &mut [Count],
        end: Instant,
        killed_before: Option<Instant>,
    ) {
        for ((witness, seen), count) in witnesses.iter().zip(seen).zip(counts) {
            let found = seen.found.unwrap_or(0);
            self.acts_lost += count.least.saturating_sub(found);
            let newest = seen.counts.last().map_or(found, |(_, count)| *count);
            self.acts_seen += newest.saturating_sub(found);
            let most = count.most + seen.sent;
            self.acts_doubled += found.saturating_sub(count.most).max(newest.saturating_sub(most));
            let early =
                seen.counts.iter().rev().find(|(at, _)| end.saturating_duration_since(*at) >= SEEN_BEFORE);
            // What is on its way at the kill may be carried out or not.
            *count = Count { least: early.map_or(found, |(_, count)| *count), most: found + seen.sent };
            if let Some((moved, killed)) = seen.moved.zip(killed_before) {
                self.of_carrier(witness.carrier).push((moved - killed).as_secs_f64() * 1e3);
            }
            for (trouble, times) in &seen.troubles {
                match self.troubles.iter_mut().find(|(known, _)| known == trouble) {
                    Some((_, count)) => *count += times,
                    None => self.troubles.push((trouble.clone(), *times)),
                }
            }
        }
    }

    /// Adds how a process began; only one that goes on with a world counts.
    fn note_start(&mut self, seen: &[Seen], begun: Instant, listening: Duration, goes_on: bool) {
        if !goes_on {
            return;
        }
        self.listening_ms.push(listening.as_secs_f64() * 1e3);
        if let Some(first) = seen.iter().filter_map(|one| one.first_update).min() {
            self.first_update_ms.push(first.saturating_duration_since(begun).as_secs_f64() * 1e3);
        }
    }

    fn of_carrier(&mut self, carrier: CarrierKind) -> &mut Samples {
        let at = self.moving_ms.iter().position(|(known, _)| *known == carrier).unwrap_or_else(|| {
            self.moving_ms.push((carrier, Samples::new()));
            self.moving_ms.len() - 1
        });
        &mut self.moving_ms[at].1
    }

    /// Reads and replays all that is kept.
    fn check(&mut self, data: &Path) -> Result<(), CrashError> {
        let reader = SqliteReader::open(data)?;
        self.damage = reader.check_database()?;
        let name = WorldName::new(WORLD).expect("it is a name");
        let report = reader.check(&name, restore_kept)?;
        self.damage.extend(report.damage);
        self.steps_checked = report.ticks;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_that_were_seen_early_count_as_lost_and_those_nobody_sent_as_doubled() {
        let witness = Witness {
            index: 0,
            carrier: CarrierKind::WebSocket,
            url: String::new(),
            notes: Notes::default(),
        };
        let begin = Instant::now();
        let at = |ms: u64| begin + Duration::from_millis(ms);
        let mut kills = Kills::default();
        let mut counts = [Count::default()];
        let first = Seen {
            found: Some(0),
            sent: 4,
            counts: vec![(at(100), 1), (at(300), 2), (at(900), 3)],
            ..Seen::default()
        };
        kills.note(std::slice::from_ref(&witness), &[first], &mut counts, at(1_000), None);
        assert_eq!((counts[0].least, counts[0].most), (2, 4));
        assert_eq!((kills.acts_seen, kills.acts_lost, kills.acts_doubled), (3, 0, 0));

        let lost = Seen { found: Some(1), ..Seen::default() };
        kills.note(std::slice::from_ref(&witness), &[lost], &mut counts.clone(), at(2_000), None);
        assert_eq!((kills.acts_lost, kills.acts_doubled), (1, 0));

        let doubled = Seen { found: Some(5), ..Seen::default() };
        kills.note(std::slice::from_ref(&witness), &[doubled], &mut counts, at(2_000), None);
        assert_eq!((kills.acts_lost, kills.acts_doubled), (1, 1));
    }
}
