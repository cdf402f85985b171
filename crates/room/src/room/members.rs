//! The players of a room: their seats, the answers to their clients, and the admission of newcomers to the world.

mod accounts;
mod held;
mod naming;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Instant;

use nowcast_limits::Verdict;
use nowcast_world::{
    Command, EntityId, Input, JoinRequest, OwnerError, OwnerRequest, PlayerId, Refusal as WorldRefusal,
};
use parking_lot::Mutex;
use tracing::debug;

pub(super) use self::held::{HeldSeat, standing};
use super::chat::{RefusedLine, RoomChat};
use super::context::RoomContext;
use super::replicated_state::ReplicatedState;
use crate::accounts::HeldAccount;
use crate::client_handle::{ClientHandle, JoiningAccount};
use crate::client_sink::ClientEvent;
use crate::closing::{Closing, REFUSED_ACTIONS};
use crate::command_queue::CommandReceiver;
use crate::names::{Name, Names};
use crate::player_command::PlayerCommand;
use crate::rate::Refusals;
use crate::recorded_world::RecordedWorld;
use crate::refusal::Refusal;

/// The players of a room.
pub(super) struct Members {
    pub(super) seated: Vec<Member>,
    /// Seats of disconnected clients whose players are still in the world.
    pub(super) held: Vec<HeldSeat>,
    /// The names that tokens assigned.
    pub(super) names: Names,
    /// The number of the newest player.
    last_player: u32,
    /// The ownership that was granted in this step, with the numbers of the requests.
    granted: Vec<(PlayerId, EntityId, u32)>,
    /// The accounts of the players in the world.
    pub(super) accounts: BTreeMap<PlayerId, HeldAccount>,
}

/// A player with a client.
pub(super) struct Member {
    pub(super) client: Arc<ClientHandle>,
    /// The client's messages that wait for the room.
    pub(super) commands: CommandReceiver,
    pub(super) id: PlayerId,
    /// The client's allowances for answers, which it keeps when it reconnects.
    refusals: Arc<Mutex<Refusals>>,
    /// The input in force in the world, and its number.
    pub(super) input: Input,
    pub(super) input_number: u16,
    /// The last age of the player's view that was applied to the world, in milliseconds.
    pub(super) behind_ms: u16,
}

impl Member {
    /// Takes the client's commands for this step, and counts faults in its input.
    pub(super) fn take_commands(&mut self, context: &RoomContext) -> VecDeque<PlayerCommand> {
        let metrics = &context.rooms.metrics;
        self.commands.take(|heard| {
            if heard.is_late {
                metrics.drop_message("late_steps");
            }
            if heard.is_elsewhere {
                metrics.drop_message("steps_elsewhere");
            }
        })
    }
}

/// A player that joins in this step.
pub(super) struct Newcomer {
    pub(super) client: Arc<ClientHandle>,
    pub(super) id: PlayerId,
    /// Whether the client resumed its former player.
    pub(super) is_resumed: bool,
    pub(super) notice: Option<&'static str>,
}

impl Members {
    /// Creates the members of a room that opens: the players whose seats are held.
    pub(super) fn new(held: Vec<HeldSeat>, last_player: u32) -> Self {
        Self {
            seated: Vec::new(),
            held,
            names: Names::default(),
            last_player,
            granted: Vec::new(),
            accounts: BTreeMap::new(),
        }
    }

    /// Whether no player is in the room, and no seat is held.
    pub(super) fn is_empty(&self) -> bool {
        self.seated.is_empty() && self.held.is_empty()
    }

    pub(super) fn find(&self, id: PlayerId) -> Option<&Member> {
        self.seated.iter().find(|member| member.id == id)
    }

    /// The players and the numbers of their inputs in force, ordered by player.
    pub(super) fn inputs(&self) -> Vec<(PlayerId, u16)> {
        let mut inputs: Vec<_> = self.seated.iter().map(|member| (member.id, member.input_number)).collect();
        inputs.sort_unstable();
        inputs
    }

    /// Sends an event to all members with the role `editor`.
    pub(super) fn send_to_editors(&self, event: ClientEvent<'_>) {
        for member in self.seated.iter().filter(|member| member.client.may_edit) {
            member.client.sink().send(event);
        }
    }

    /// Joins clients that wait in the lobby to the world.
    pub(super) fn admit(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        chat: &mut RoomChat,
        replicated: &ReplicatedState,
    ) -> Vec<Newcomer> {
        let mut newcomers = Vec::new();
        let mut waiting = context.lobby.take_waiting(|client| self.has_seat(client));
        // Clients with a name in their token are handled first, so that no other client gets such a name in the same tick.
        waiting.sort_by_key(|client| matches!(client.name, Name::Asked(_)));
        for client in waiting {
            let seat = client.key.and_then(|key| self.take_seat_of(context, world, key, &mut newcomers));
            newcomers.push(match seat {
                Some(id) => self.resume(context, world, replicated, client, id),
                None => {
                    let is_program = client.is_program;
                    let joining = newcomers.iter().filter(|other| other.client.is_program == is_program);
                    self.make_room(world, chat, is_program, joining.count());
                    self.join(context, world, replicated, client)
                }
            });
        }
        newcomers
    }

    /// Joins a client as a new player.
    fn join(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        replicated: &ReplicatedState,
        client: Arc<ClientHandle>,
    ) -> Newcomer {
        let (name, notice) = self.name_of(&client);
        self.last_player += 1;
        let id = PlayerId(self.last_player);
        self.bind_name(world, replicated, &client, id, &name);
        let (account, saved) = match client.take_account() {
            Some(JoiningAccount { account, held, saved }) => {
                self.accounts.extend(held.map(|held| (id, held)));
                (Some(account), saved)
            }
            None => (None, None),
        };
        let (is_program, roles) = (client.is_program, client.roles.clone());
        let request = JoinRequest { name, is_program, roles, account, saved };
        context.count(world.apply(Command::Join { player: id, request }));
        if let Some(key) = client.key {
            world.seat(id, key);
        }
        Newcomer { client, id, is_resumed: false, notice }
    }

    /// Gives a returning client its former player.
    fn resume(
        &mut self,
        context: &RoomContext,
        world: &mut RecordedWorld,
        replicated: &ReplicatedState,
        client: Arc<ClientHandle>,
        id: PlayerId,
    ) -> Newcomer {
        let name = world.world().scene().player(id).map(|known| known.name.clone());
        self.bind_name(world, replicated, &client, id, &name.unwrap_or_default());
        context.rooms.metrics.players_resumed.inc();
        Newcomer { client, id, is_resumed: true, notice: None }
    }

    /// Closes the connections of new clients that the world refused. Returns the others.
    pub(super) fn remove_refused(
        &mut self,
        context: &RoomContext,
        world: &RecordedWorld,
        mut newcomers: Vec<Newcomer>,
    ) -> Vec<Newcomer> {
        let scene = world.world().scene();
        newcomers.retain(|newcomer| {
            let is_in = scene.player(newcomer.id).is_some();
            if !is_in {
                debug!(room = context.name, "the world refused a player");
                self.names.forget(newcomer.id);
                let players_max = scene.definition().limits.players_max;
                let refusal = Refusal::Full { room: context.name.clone(), players_max };
                newcomer.client.close(Closing::Refused(refusal));
            }
            is_in
        });
        newcomers
    }

    /// Seats a newcomer, which must have been greeted.
    pub(super) fn seat(&mut self, context: &RoomContext, newcomer: Newcomer, behind_ms: u16) {
        context.rooms.metrics.clients.inc();
        let refusals = Arc::clone(&newcomer.client.rates.lock().refusals);
        self.seated.push(Member {
            commands: newcomer.client.take_receiver(),
            refusals,
            client: newcomer.client,
            id: newcomer.id,
            input: Input::default(),
            input_number: 0,
            behind_ms,
        });
    }

    /// Answers that an action of a player was rejected. A client with too many refused actions is removed. An action without a
    /// number is not always answered.
    pub(super) fn refuse(
        &mut self,
        context: &RoomContext,
        player: PlayerId,
        refusal: &WorldRefusal,
        number: Option<u32>,
    ) {
        let action = match refusal {
            WorldRefusal::Owner { request, entity, number, why } => {
                return self.deny(context, player, (*request, *entity, *number), why);
            }
            WorldRefusal::NoWorkLeft { action } => {
                context.rooms.metrics.drop_message("no_work_left");
                if let Some(member) = self.find(player) {
                    member.client.refuse(action, &refusal.to_string(), number);
                }
                return;
            }
            WorldRefusal::UnknownAction(action) | WorldRefusal::Arguments { action, .. } => action,
            _ => return,
        };
        context.rooms.metrics.drop_message("action_refused");
        let Some(member) = self.find(player) else { return };
        let verdict = member.refusals.lock().actions.judge(Instant::now());
        match verdict {
            Verdict::Close => member.client.close(Closing::TooMany(REFUSED_ACTIONS.into())),
            Verdict::Drop if number.is_none() => {}
            Verdict::Drop | Verdict::Pass => member.client.refuse(action, &refusal.to_string(), number),
        }
    }

    /// Answers that an ownership request was rejected. A client is not removed for refused poses, because owners send poses
    /// many times a second.
    fn deny(
        &mut self,
        context: &RoomContext,
        player: PlayerId,
        (request, entity, number): (OwnerRequest, Option<EntityId>, u32),
        why: &OwnerError,
    ) {
        context.rooms.metrics.drop_message("owner_refused");
        let Some(member) = self.find(player) else { return };
        let is_state = request == OwnerRequest::Move;
        let mut refusals = member.refusals.lock();
        let allowance = if is_state { &mut refusals.moves } else { &mut refusals.actions };
        let verdict = allowance.judge(Instant::now());
        drop(refusals);
        match verdict {
            Verdict::Pass => member.client.deny(request, entity, number, &why.to_string()),
            Verdict::Close if !is_state => member.client.close(Closing::TooMany(REFUSED_ACTIONS.into())),
            Verdict::Drop | Verdict::Close => {}
        }
    }

    /// Answers lines of chat that were dropped.
    pub(super) fn refuse_lines(&self, lines: Vec<RefusedLine>) {
        for RefusedLine { speaker, text, reason } in lines {
            if let Some(member) = self.find(speaker) {
                member.client.refuse_line(&text, reason);
            }
        }
    }

    /// Records the owners that entities got in this step.
    pub(super) fn note_granted(&mut self, granted: Vec<(PlayerId, EntityId, u32)>) {
        self.granted = granted;
    }

    /// Answers the new owners. Call it after the entities were sent.
    pub(super) fn send_granted(&mut self) {
        for (player, entity, number) in std::mem::take(&mut self.granted) {
            if let Some(member) = self.find(player) {
                member.client.sink().send(ClientEvent::Granted { entity, number });
            }
        }
    }
}
