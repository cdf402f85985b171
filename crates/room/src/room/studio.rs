//! Requests of the studio, on the room's thread.

use std::time::Instant;

use nowcast_script::Watched;
use nowcast_world::EntityId;
use serde_json::{Value as Json, json};

use super::Room;
use super::world_events::WorldEvent;
use crate::studio::{
    Job, Line, LogKind, PHASES, StepTimes, StudioAnswer, StudioCommand, StudioError, StudioRequest,
    describe_room, describe_writers, read_world,
};

/// Units of work that rules may use in one step.
const WORK_MAX: u64 = nowcast_script::Limits::DEFAULT.work_per_step_max;

/// The length of a step, in microseconds.
const BUDGET_US: u32 = 1_000_000 / nowcast_world::STEP_HZ;

/// The moments at which the phases of a step end.
pub(super) struct PhaseClock {
    last: Instant,
    phases: [u32; PHASES.len()],
}

impl PhaseClock {
    pub(super) fn starting(at: Instant) -> Self {
        Self { last: at, phases: [0; PHASES.len()] }
    }

    /// Ends the phase with this index in [`PHASES`].
    pub(super) fn end(&mut self, phase: usize) {
        let now = Instant::now();
        let us = u32::try_from((now - self.last).as_micros()).unwrap_or(u32::MAX);
        self.phases[phase] = self.phases[phase].saturating_add(us);
        self.last = now;
    }
}

impl Room {
    /// Runs the requests that wait, for a limited time.
    pub(super) fn run_studio(&mut self) {
        let lobby = std::sync::Arc::clone(&self.context.lobby);
        if lobby.studio.has_waiting() {
            lobby.studio.run(|job| self.run_studio_job(job));
        }
    }

    /// Returns the request if it continues after the next step.
    fn run_studio_job(&mut self, mut job: Job) -> Option<Job> {
        let answer = match read_world(self.world.world(), &job.request, &mut job.scan) {
            Some(answer) => answer.map(|answer| self.with_writers(&job.request, answer)),
            None => match std::mem::replace(&mut job.request, StudioRequest::State) {
                unfinished @ StudioRequest::Entities(_) => {
                    return Some(Job { request: unfinished, ..job });
                }
                StudioRequest::Commands(commands) => self.run_studio_commands(commands),
                StudioRequest::Clients => Ok(self.describe_clients()),
                StudioRequest::Client(player) => self.describe_client(player),
                StudioRequest::Disconnect { player, reason, ban } => self.disconnect(player, &reason, ban),
                StudioRequest::Profile { steps } => Ok(self.describe_profile(steps)),
                StudioRequest::Act { player, action, arguments } => {
                    self.act_for_host(player, action, arguments)
                }
                StudioRequest::Say { text } => self.say_to_all(&text),
                StudioRequest::Kept => {
                    self.answer_when_kept(job.answer);
                    return None;
                }
                _ => Ok(self.describe()),
            },
        };
        // The caller may have stopped waiting.
        let _ = job.answer.send(answer);
        None
    }

    /// Adds the newest writers to the description of an entity or the state, and watches its values.
    fn with_writers(&self, request: &StudioRequest, mut answer: Json) -> Json {
        let watched = match request {
            StudioRequest::Entity(id) => Watched::Entity(EntityId(*id)),
            StudioRequest::State => Watched::State,
            _ => return answer,
        };
        answer["writers"] = describe_writers(watched, self.world.writers(watched));
        answer
    }

    fn describe(&self) -> Json {
        let mut room = describe_room(self.world.world());
        room.insert("name".into(), self.context.name.as_str().into());
        room.insert("world".into(), self.context.offered.name.as_str().into());
        room.insert("version".into(), self.world.version().into());
        room.insert("stored".into(), self.world.is_recorded().into());
        Json::Object(room)
    }

    fn run_studio_commands(&mut self, commands: Vec<StudioCommand>) -> StudioAnswer {
        if self.past.is_some() {
            return Err(StudioError::Invalid("this room shows the past: nothing can be changed".into()));
        }
        self.was_used = true;
        let results: Vec<Json> = commands.into_iter().map(|command| command.apply(&mut self.world)).collect();
        Ok(json!({ "tick": self.world.world().tick(), "results": results }))
    }

    fn describe_profile(&self, steps: usize) -> Json {
        let profile = self.context.lobby.studio.profile.lock();
        let (steps, slowest) = profile.to_json(steps);
        let share = self.world.script_work();
        let memory = self.world.script_memory();
        let (hooks, hook_steps) = profile.hooks.to_json(&self.world.world().scene().definition().kinds);
        json!({
            "tick": self.world.world().tick(),
            "budgetUs": BUDGET_US,
            "steps": steps,
            "slowest": slowest,
            "hooks": hooks,
            "hookSteps": hook_steps,
            "work": share.map(|share| (share * WORK_MAX as f64).round()),
            "workMax": share.map(|_| WORK_MAX),
            "memoryBytes": memory.map(|(bytes, _)| bytes),
            "memoryBytesMax": memory.map(|(_, bytes_max)| bytes_max),
        })
    }

    /// Records the times of a step.
    pub(super) fn record_times(&mut self, clock: &PhaseClock) {
        let times = self.world.take_hook_times();
        let rules = times.as_ref().map(|(_, total)| u32::try_from(total.as_micros()).unwrap_or(u32::MAX));
        let step = StepTimes { tick: self.world.world().tick(), phases: clock.phases, rules };
        let mut profile = self.context.lobby.studio.profile.lock();
        profile.record(clock.last, step);
        if let Some((times, _)) = times {
            profile.hooks.add(times);
        }
        self.world.measure_hooks(profile.is_read());
    }

    /// Records chat and events of a step while the log is read.
    pub(super) fn log_events(&self, events: &[WorldEvent]) {
        if events.is_empty() {
            return;
        }
        let mut log = self.context.lobby.studio.log();
        if !log.is_read() {
            return;
        }
        let tick = self.world.world().tick();
        for event in events {
            log.push(match event {
                WorldEvent::Said { name, text, .. } => Line::new(LogKind::Chat, tick, text).of(name),
                WorldEvent::Emitted { name, payload, .. } => {
                    let data = serde_json::to_value(payload).unwrap_or(Json::Null);
                    Line::new(LogKind::Event, tick, name).of(name).with_data(data)
                }
            });
        }
    }
}
