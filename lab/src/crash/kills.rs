//! Kills a real server that has real clients: at random moments, and at each named step of its store's writing.

use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use nowcast::CarrierKind;
use nowcast_server::restore_kept;
use nowcast_store::FailPoint;
use nowcast_store::{SqliteReader, WorldName};
use nowcast_world::Random;
use nowcast_world_client::Identity;
use tokio::sync::watch;
use tokio::time::sleep;

use super::ledger::{Carried, SavedTally, Tally, read_saved};
use super::process::{Aim, Process};
use super::witness::{Notes, Seen, Witness};
use super::{CrashError, Plan, TrialFolder};
use crate::report::Samples;

/// The name of the room and of its world.
const WORLD: &str = "crash";

/// Maximum time, on a busy machine, until all clients have joined, moved, and have a confirmed action.
const PATIENCE: Duration = Duration::from_secs(120);

/// Maximum time until a server reaches its fail point. After this time, the server is killed in any case.
const STEP_PATIENCE: Duration = Duration::from_secs(20);

/// Interval of the checks of the clients and of the server's process.
const LOOK: Duration = Duration::from_millis(5);

/// Interval between changes of the rules. Each change makes the server take a snapshot.
const RULES_INTERVAL: Duration = Duration::from_millis(700);

/// If a carrier ended at most this long before a kill, the kill counts as the cause.
const OF_THE_KILL: Duration = Duration::from_millis(250);

/// Range of the random moments, counted from the time at which all clients move.
const MOMENT_MIN_MS: u64 = 300;
const MOMENT_SPREAD_MS: u64 = 1_200;

/// The measured effects of the kills.
#[derive(Debug, Default)]
pub(super) struct Kills {
    pub(super) kills: usize,
    /// Movement that clients saw and that the store does not have, in milliseconds of the world's time.
    pub(super) movement_lost_ms: Samples,
    /// Times from the start of a process until it listened, in milliseconds.
    pub(super) listening_ms: Samples,
    /// Times from the start of a process until its world continued, in milliseconds. The world continues one step before its
    /// first tick.
    pub(super) going_on_ms: Samples,
    /// Times from the start of a process until a first client received movement, in milliseconds.
    pub(super) first_update_ms: Samples,
    /// Times from a kill until a client's avatar moved again, in milliseconds, by carrier.
    pub(super) moving_ms: Vec<(CarrierKind, Samples)>,
    /// The outcomes of the durable actions.
    pub(super) acts: Tally,
    /// The comparisons of the accounts' data after each kill.
    pub(super) saved: SavedTally,
    /// The kills by their places.
    pub(super) places: Vec<Place>,
    /// Steps at which a kill was planned but which the server did not reach.
    pub(super) missed: Vec<FailPoint>,
    /// Damage that the final check of the store found.
    pub(super) damage: Vec<String>,
    /// Number of steps that this check replayed.
    pub(super) steps_checked: u64,
    /// The reasons of errors at clients, each with its count.
    pub(super) troubles: Vec<(String, u32)>,
}

/// The kills at one step, or at random moments.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) point: Option<FailPoint>,
    pub(super) kills: usize,
    pub(super) movement_lost_ms: Samples,
    pub(super) acts: Tally,
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
    let folder = TrialFolder::new("kills").map_err(CrashError::Io)?;
    let mut trial = Trial::new(plan, folder)?;
    let mut process = trial.start(0, None)?;
    let port = process.port;
    trial.witnesses = witnesses(plan, port)?;
    let (life, lives) = watch::channel(0);
    let tasks: Vec<_> =
        trial.witnesses.iter().map(|one| tokio::spawn(one.clone().play(lives.clone()))).collect();
    let mut aim = None;
    for kill in 0..=plan.kills {
        trial.live(process, aim).await?;
        life.send_modify(|life| *life += 1);
        if kill.is_multiple_of(10) && kill > 0 {
            let Tally { confirmed, lost, doubled, .. } = trial.kills.acts;
            let saved = trial.kills.saved;
            progress(&format!(
                "{kill} of {} kills: {confirmed} actions confirmed, {lost} lost, {doubled} doubled; of the data of accounts {} lost, {} doubled",
                plan.kills, saved.lost, saved.doubled
            ));
        }
        if kill == plan.kills {
            break;
        }
        aim = trial.next_aim(kill + 1);
        process = trial.start(port, aim)?;
    }
    drop(life);
    for task in tasks {
        // A panic of a witness is a bug in this instrument, so the figures would not be valid.
        task.await.map_err(|error| CrashError::Server(format!("a client: {error}")))?;
    }
    trial.check()?;
    Ok(trial.kills)
}

/// Makes the witnesses. Half of them use WebTransport, and half use WebSocket.
fn witnesses(plan: &Plan, port: u16) -> Result<Vec<Witness>, CrashError> {
    let url = format!("nowcast://127.0.0.1:{port}/{WORLD}");
    let carriers = [CarrierKind::WebTransport, CarrierKind::WebSocket].into_iter().cycle();
    let numbered = (0..plan.clients).zip(carriers);
    numbered
        .map(|(index, carrier)| {
            let mut key = [index; 16];
            key[..8].copy_from_slice(&plan.seed.to_le_bytes());
            let identity = Identity::generate()
                .map_err(|error| CrashError::Server(format!("the key of client {index}: {error}")))?;
            Ok(Witness { index, carrier, url: url.clone(), key, identity, notes: Notes::default() })
        })
        .collect()
}

/// Returns the steps of the store's writing that a server with an existing store passes.
pub fn steps() -> impl Iterator<Item = FailPoint> + Clone {
    FailPoint::ALL.into_iter().filter(|point| *point != FailPoint::DatabaseMade)
}

/// Whether a server usually passes this step only when it takes a snapshot. Other consecutive changes of one world become a
/// single row.
fn needs_snapshot(point: FailPoint) -> bool {
    use FailPoint::{BetweenRows, SnapshotAnnounced, SnapshotGiven, SnapshotHalfWritten, SnapshotTaken};
    matches!(point, BetweenRows | SnapshotTaken | SnapshotAnnounced | SnapshotGiven | SnapshotHalfWritten)
}

/// Returns how often a server passes a step within about two seconds, at most.
fn passages_max(point: FailPoint) -> u64 {
    match point {
        FailPoint::BeforeAppend | FailPoint::AfterAppend => 150,
        FailPoint::BetweenConfirmations => 20,
        FailPoint::GroupTaken
        | FailPoint::BeforeCommit
        | FailPoint::AfterCommit
        | FailPoint::AfterConfirmations => 40,
        FailPoint::BetweenRows
        | FailPoint::SnapshotTaken
        | FailPoint::SnapshotAnnounced
        | FailPoint::SnapshotGiven
        | FailPoint::SnapshotHalfWritten => 3,
        FailPoint::BeforePrune | FailPoint::HalfPruned | FailPoint::AfterPrune | FailPoint::DatabaseMade => 1,
    }
}

struct Trial<'p> {
    plan: &'p Plan,
    random: Random,
    folder: TrialFolder,
    witnesses: Vec<Witness>,
    rules_written: u32,
    /// The previous kill, whose effects are being examined.
    before: Option<(Option<FailPoint>, Instant)>,
    /// The newest step that a client saw before that kill.
    newest_tick: Option<u64>,
    kills: Kills,
}

impl<'p> Trial<'p> {
    fn new(plan: &'p Plan, folder: TrialFolder) -> Result<Trial<'p>, CrashError> {
        let mut trial = Trial {
            plan,
            random: Random::new(plan.seed),
            folder,
            witnesses: Vec::new(),
            rules_written: 0,
            before: None,
            newest_tick: None,
            kills: Kills::default(),
        };
        std::fs::create_dir(trial.world()).map_err(CrashError::Io)?;
        trial.write_rules()?;
        Ok(trial)
    }

    fn world(&self) -> PathBuf {
        self.folder.path.join(WORLD)
    }

    fn data(&self) -> PathBuf {
        self.folder.path.join("data")
    }

    /// Writes rules that differ only in a comment.
    fn write_rules(&mut self) -> Result<(), CrashError> {
        self.rules_written += 1;
        let text = format!("{}\n-- {}\n", include_str!("rules.luau"), self.rules_written);
        let unfinished = self.folder.path.join("world.luau");
        std::fs::write(&unfinished, text)
            .and_then(|()| std::fs::rename(&unfinished, self.world().join("world.luau")))
            .map_err(CrashError::Io)
    }

    /// Starts a server that keeps little history, so that it deletes old rows at its start.
    fn start(&self, port: u16, aim: Option<Aim>) -> Result<Process, CrashError> {
        let mut command = Command::new(&self.plan.program);
        command.arg("serve").arg(self.world()).arg("--data").arg(self.data());
        command.args(["--keep-mb", "1", "--network-hz", "60"]);
        Process::start(command, port, aim)
    }

    /// Returns the fail point of the next server, after this many kills; `None` stands for a random moment. The last server ends
    /// at a random moment, because no later server could check its state.
    fn next_aim(&mut self, kill: usize) -> Option<Aim> {
        if kill == self.plan.kills {
            return None;
        }
        let point = if self.plan.steps.is_empty() {
            if kill.is_multiple_of(2) {
                return None;
            }
            let first = self.plan.seed as usize % steps().count();
            steps().cycle().nth(first + kill / 2 % steps().count())?
        } else {
            self.plan.steps[kill % self.plan.steps.len()]
        };
        let passage = 1 + self.random.bits() % passages_max(point);
        Some(Aim { point, passage: u32::try_from(passage).expect("passages are few") })
    }

    /// Runs one server to its end. Also collects the effects of the previous kill from the clients.
    async fn live(&mut self, mut process: Process, aim: Option<Aim>) -> Result<(), CrashError> {
        let is_settled = self.settle(&mut process, aim).await?;
        let (killed, point) = match aim {
            None => {
                sleep(Duration::from_millis(MOMENT_MIN_MS + self.random.bits() % MOMENT_SPREAD_MS)).await;
                (process.kill()?, None)
            }
            Some(aim) if !is_settled => (Instant::now(), Some(aim.point)),
            Some(aim) => self.wait_for_end(&mut process, aim).await?,
        };
        let seen: Vec<Seen> = self.witnesses.iter().map(|one| one.notes.take()).collect();
        let resumed_at = process.resumed_at(PATIENCE);
        if is_settled && resumed_at.is_none() && self.before.is_some() {
            return Err(CrashError::Server(format!("after kill {} no world resumed", self.kills.kills)));
        }
        self.note(&seen, &process, resumed_at, killed);
        let compared_from = Instant::now();
        self.compare_saved()?;
        // The next server starts only after the comparison, so the comparison does not count as time of the clients.
        self.before = Some((point, killed + compared_from.elapsed()));
        Ok(())
    }

    /// Compares the data of all accounts in the store with the confirmed actions. No server writes the store meanwhile.
    fn compare_saved(&mut self) -> Result<(), CrashError> {
        let reader = SqliteReader::open(&self.data())?;
        let mut stored = vec![Carried::default(); self.witnesses.len()];
        for summary in reader.accounts(Some(WORLD))? {
            let saved = reader.account(WORLD, &summary.account)?;
            let text = saved.as_ref().and_then(|saved| saved.value.get("count")?.as_text());
            let found = text.and_then(read_saved);
            let Some((place, carried)) =
                found.and_then(|(client, carried)| Some((stored.get_mut(usize::from(client))?, carried)))
            else {
                let account = summary.account;
                return Err(CrashError::Server(format!("the data of account {account} is {saved:?}")));
            };
            *place = carried;
        }
        self.kills.saved = SavedTally::default();
        for (witness, carried) in self.witnesses.iter().zip(&stored) {
            witness.notes.compare_saved(carried);
            self.kills.saved += witness.notes.saved();
        }
        Ok(())
    }

    /// Waits until every witness moves and has a confirmed action. Returns false if the server has already killed itself, as
    /// planned.
    async fn settle(&mut self, process: &mut Process, aim: Option<Aim>) -> Result<bool, CrashError> {
        let deadline = Instant::now() + PATIENCE;
        let mut rules_due = Instant::now() + RULES_INTERVAL;
        while let Some(witness) = self.witnesses.iter().find(|one| !one.notes.is_settled()) {
            if Instant::now() > deadline {
                let Seen { last_try, troubles, .. } = witness.notes.take();
                let Witness { index, carrier, .. } = witness;
                return Err(CrashError::Server(format!(
                    "client {index} does not move over {carrier:?}, or has nothing confirmed: {last_try:?}, {troubles:?}"
                )));
            }
            self.provoke(aim, &mut rules_due)?;
            if process.has_ended()? {
                return Ok(false);
            }
            sleep(LOOK).await;
        }
        Ok(true)
    }

    /// Waits until the server has killed itself. If the server does not reach the step, it is killed from outside, and the kill
    /// counts without a step.
    async fn wait_for_end(
        &mut self,
        process: &mut Process,
        aim: Aim,
    ) -> Result<(Instant, Option<FailPoint>), CrashError> {
        let deadline = Instant::now() + STEP_PATIENCE;
        let mut rules_due = Instant::now() + RULES_INTERVAL;
        while Instant::now() < deadline {
            if process.has_ended()? {
                return Ok((Instant::now(), Some(aim.point)));
            }
            self.provoke(Some(aim), &mut rules_due)?;
            sleep(LOOK).await;
        }
        self.kills.missed.push(aim.point);
        Ok((process.kill()?, None))
    }

    /// New rules make the server take a snapshot.
    fn provoke(&mut self, aim: Option<Aim>, due: &mut Instant) -> Result<(), CrashError> {
        if aim.is_some_and(|aim| needs_snapshot(aim.point)) && Instant::now() >= *due {
            *due = Instant::now() + RULES_INTERVAL;
            self.write_rules()?;
        }
        Ok(())
    }

    /// Adds the observations of clients during one run of the server. The run ended with a kill. Losses that the clients found
    /// during the run were caused by the previous kill.
    fn note(
        &mut self,
        seen: &[Seen],
        process: &Process,
        resumed_at: Option<(u64, Instant)>,
        killed: Instant,
    ) {
        let mut acts = Tally::default();
        self.witnesses.iter().for_each(|witness| acts += witness.notes.tally());
        let acts_of_life = acts - self.kills.acts;
        self.kills.acts = acts;
        if let Some((point, killed_before)) = self.before {
            self.kills.note_start(process, resumed_at, seen);
            for (witness, seen) in self.witnesses.iter().zip(seen) {
                if let Some(moved) = seen.moved {
                    let time = moved.saturating_duration_since(killed_before);
                    self.kills.of_carrier(witness.carrier).push(milliseconds(time));
                }
            }
            let lost_ms = resumed_at.zip(self.newest_tick.take()).map(|((tick, _), newest)| {
                newest.saturating_sub(tick) as f64 * 1e3 / f64::from(nowcast_world::STEP_HZ)
            });
            self.kills.note_kill(point, lost_ms, acts_of_life);
        }
        // If a run has no observations, the earlier value is kept.
        self.newest_tick =
            seen.iter().map(|one| u64::from(one.tick)).max().filter(|tick| *tick > 0).or(self.newest_tick);
        for (at, trouble) in seen.iter().flat_map(|one| &one.troubles) {
            if killed.saturating_duration_since(*at) > OF_THE_KILL {
                self.kills.note_trouble(trouble);
            }
        }
    }

    /// Reads and replays all stored data.
    fn check(&mut self) -> Result<(), CrashError> {
        let reader = SqliteReader::open(&self.data())?;
        self.kills.damage = reader.check_database()?;
        let name = WorldName::new(WORLD).expect("the name is valid");
        let report = reader.check(&name, restore_kept)?;
        self.kills.damage.extend(report.damage);
        self.kills.steps_checked = report.ticks;
        Ok(())
    }
}

impl Kills {
    /// Adds the times of the start of a process with an existing world.
    fn note_start(&mut self, process: &Process, resumed_at: Option<(u64, Instant)>, seen: &[Seen]) {
        let since = |at: Instant| milliseconds(at.saturating_duration_since(process.begun));
        if let Some(listening) = process.listening {
            self.listening_ms.push(milliseconds(listening));
        }
        if let Some((_, at)) = resumed_at {
            self.going_on_ms.push(since(at));
        }
        if let Some(first) = seen.iter().filter_map(|one| one.first_update).min() {
            self.first_update_ms.push(since(first));
        }
    }

    /// Adds a kill and its effects.
    fn note_kill(&mut self, point: Option<FailPoint>, lost_ms: Option<f64>, acts: Tally) {
        self.kills += 1;
        let at = self.places.iter().position(|place| place.point == point).unwrap_or_else(|| {
            let movement_lost_ms = Samples::new();
            self.places.push(Place { point, kills: 0, movement_lost_ms, acts: Tally::default() });
            self.places.len() - 1
        });
        let place = &mut self.places[at];
        place.kills += 1;
        place.acts += acts;
        if let Some(lost_ms) = lost_ms {
            self.movement_lost_ms.push(lost_ms);
            place.movement_lost_ms.push(lost_ms);
        }
    }

    fn note_trouble(&mut self, trouble: &str) {
        match self.troubles.iter_mut().find(|(known, _)| known == trouble) {
            Some((_, count)) => *count += 1,
            None => self.troubles.push((trouble.to_owned(), 1)),
        }
    }

    fn of_carrier(&mut self, carrier: CarrierKind) -> &mut Samples {
        let at = self.moving_ms.iter().position(|(known, _)| *known == carrier).unwrap_or_else(|| {
            self.moving_ms.push((carrier, Samples::new()));
            self.moving_ms.len() - 1
        });
        &mut self.moving_ms[at].1
    }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(kills: usize, steps: Vec<FailPoint>) -> Plan {
        Plan { program: PathBuf::new(), kills, cuts: 0, clients: 1, steps, seed: 1 }
    }

    fn aims(plan: &Plan) -> Vec<Option<FailPoint>> {
        let mut trial = Trial::new(plan, TrialFolder::new("aims").unwrap()).unwrap();
        (1..=plan.kills).map(|kill| trial.next_aim(kill).map(|aim| aim.point)).collect()
    }

    #[test]
    fn every_second_kill_is_at_a_step_and_all_steps_take_turns() {
        let aims = aims(&plan(60, Vec::new()));
        assert!(aims.iter().skip(1).step_by(2).all(Option::is_none), "{aims:?}");
        for point in steps() {
            assert!(aims.contains(&Some(point)), "{point:?}");
        }
        assert_eq!(aims.last(), Some(&None), "the last server checks the effects of the kill before it");
    }

    #[test]
    fn a_trial_with_chosen_steps_kills_at_no_others() {
        let chosen = vec![FailPoint::AfterCommit, FailPoint::BeforePrune];
        let aims = aims(&plan(7, chosen.clone()));
        assert!(aims[..6].iter().flatten().all(|point| chosen.contains(point)), "{aims:?}");
        assert_eq!(aims.iter().flatten().count(), 6);
    }

    #[test]
    fn losses_count_for_the_kill_that_caused_them() {
        let mut kills = Kills::default();
        let acts = Tally { undone: 2, ..Tally::default() };
        kills.note_kill(Some(FailPoint::BeforeCommit), Some(50.0), acts);
        kills.note_kill(None, None, Tally::default());
        kills.note_kill(Some(FailPoint::BeforeCommit), Some(20.0), acts);
        assert_eq!((kills.kills, kills.places.len(), kills.movement_lost_ms.len()), (3, 2, 2));
        assert_eq!((kills.places[0].kills, kills.places[0].acts.undone), (2, 4));
    }
}
