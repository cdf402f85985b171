//! Records the messages of both applications, and checks them against the laws.

use std::collections::HashSet;

use nowcast_queue::Key;
use nowcast_queue::conformance::laws::{self, Ended};
use nowcast_session::{MessageKind, Notice};

use crate::endpoint::PolledMessage;
use crate::script::{COMMAND_LANE, LAWFUL_LANES};

/// One direction: the messages that were put at one end and received at the other.
#[derive(Debug, Default)]
pub(crate) struct Direction {
    lanes: [Lane; LAWFUL_LANES as usize],
    /// The ids that the session assigned, in the order of the puts.
    commands_put: Vec<u64>,
    commands_seen: Vec<u64>,
    commands_ended: HashSet<u64>,
}

#[derive(Debug, Default)]
struct Lane {
    puts: Vec<Key>,
    gets: Vec<(Key, usize)>,
    /// The keys received since the last event, in the current pass of reading (law 7).
    in_this_go: HashSet<u64>,
}

impl Direction {
    /// Returns the payload of the next put on a lane.
    pub(crate) fn payload(&self, lane: u8, bytes: usize) -> Vec<u8> {
        laws::value(self.lanes[usize::from(lane)].puts.len(), bytes)
    }

    pub(crate) fn put(&mut self, lane: u8, key: u64) {
        self.lanes[usize::from(lane)].puts.push(Key::from_raw(key));
    }

    /// Returns the number of the next command.
    pub(crate) fn next_command(&self) -> u64 {
        self.commands_put.len() as u64
    }

    pub(crate) fn put_command(&mut self, id: u64) {
        self.commands_put.push(id);
    }

    /// Begins a pass, in which the application reads all available messages.
    pub(crate) fn begin_go(&mut self) {
        self.lanes.iter_mut().for_each(|lane| lane.in_this_go.clear());
    }

    pub(crate) fn got(&mut self, message: &PolledMessage) -> Result<(), String> {
        let payload = &message.payload;
        match (message.lane, message.kind) {
            (COMMAND_LANE, MessageKind::Command { .. }) => {
                let number = read_number(payload)?;
                if self.commands_seen.last().is_some_and(|&last| last >= number) {
                    return Err(format!("command {number} came twice or out of order"));
                }
                self.commands_seen.push(number);
                Ok(())
            }
            (lane, kind) if lane < LAWFUL_LANES => self.got_lawful(lane, kind, payload),
            (lane, kind) => Err(format!("{kind:?} on lane {lane}, which was never put")),
        }
    }

    fn got_lawful(&mut self, lane: u8, kind: MessageKind, payload: &[u8]) -> Result<(), String> {
        let lane = &mut self.lanes[usize::from(lane)];
        let put = laws::put_of(payload).ok_or("a payload was torn")?;
        match kind {
            MessageKind::State { key } => {
                if !lane.in_this_go.insert(key) {
                    return Err(format!("law 7 broken: key {key} twice between events in one read"));
                }
                lane.gets.push((Key::from_raw(key), put));
            }
            MessageKind::Event => {
                lane.in_this_go.clear();
                lane.gets.push((Key::EVENT, put));
            }
            other => return Err(format!("{other:?} on a lane of states and events")),
        }
        Ok(())
    }

    /// Records that a reply to command `id` arrived, or that the command expired.
    pub(crate) fn ended(&mut self, id: u64) -> Result<(), String> {
        if self.commands_ended.insert(id) { Ok(()) } else { Err(format!("command {id} ended twice")) }
    }

    pub(crate) fn noticed(&mut self, notice: &Notice) -> Result<(), String> {
        match notice {
            Notice::CommandTimedOut { command, .. } => self.ended(*command),
            Notice::Closed(closed) => Err(closed.to_string()),
            Notice::Opened { .. } | Notice::Detached => Ok(()),
        }
    }

    /// Checks the record so far. One end no longer exists, and all messages that had not arrived are lost.
    pub(crate) fn check_cut_off(&self) -> Result<(), String> {
        self.check_lanes(Ended::Early)
    }

    fn check_lanes(&self, ended: Ended) -> Result<(), String> {
        for (number, lane) in self.lanes.iter().enumerate() {
            laws::check(&lane.puts, &lane.gets, ended)
                .map_err(|violation| format!("lane {number}: {violation}"))?;
        }
        Ok(())
    }

    /// Checks the record after everything has arrived.
    pub(crate) fn check(&self) -> Result<(), String> {
        self.check_lanes(Ended::Drained)?;
        let open = self.commands_put.iter().find(|put| !self.commands_ended.contains(put));
        open.map_or(Ok(()), |open| Err(format!("command {open} never ended")))
    }
}

fn read_number(payload: &[u8]) -> Result<u64, String> {
    let bytes: [u8; 8] = payload.try_into().map_err(|_| "a number of another size")?;
    Ok(u64::from_le_bytes(bytes))
}
