//! Commands of editors in a room, and the removal of banned clients.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use nowcast::admission::network_of;
use nowcast_world::PlayerId;
use tracing::info;

use super::Room;
use crate::client_handle::Player;
use crate::closing::Closing;
use crate::editor_command::{EditorCommand, is_for_all};
use crate::persistence::{ADDRESS_BAN_MAX, Ban, BanRequest, BanScope, BannedBy, Known, now_ms};

/// The answer to a command of a player without the role `editor`.
const NOT_EDITOR: &str = "This command requires the role 'editor': use a token with that role.";

/// The answer to a client that asks for history in a live room.
const NOT_PAST: &str = "This room is the present. To look back, open its address with ?at=-5m.";

/// The answer to an editor who bans its own name.
const YOURSELF: &str = "you cannot ban yourself";

/// Bans that one notice lists.
const LISTED_MAX: usize = 20;

impl Room {
    /// Does what a line says that is for the server.
    pub(super) fn obey(&mut self, player: &Arc<Player>, line: &str) {
        if !player.may_edit && !is_for_all(line) {
            return player.notice(NOT_EDITOR);
        }
        match EditorCommand::parse(line) {
            Err(expected) => player.notice(&expected),
            Ok(EditorCommand::Ban(request)) => self.ban(player, request),
            Ok(EditorCommand::Unban(who)) => {
                player.notice(&match self.rooms.bans.remove(&self.name, &self.offered.name, &who) {
                    Err(error) => error.to_string(),
                    Ok(gone) if gone.is_empty() => format!("no ban here is called {who}; /bans lists them"),
                    Ok(gone) => format!("taken back: {}", lines(&gone)),
                });
            }
            Ok(EditorCommand::Bans) => {
                let bans = self.rooms.bans.list(&self.name, &self.offered.name);
                player.notice(&if bans.is_empty() { "nobody is banned here".into() } else { lines(&bans) });
            }
            Ok(
                EditorCommand::At(_) | EditorCommand::Play | EditorCommand::Pause | EditorCommand::Copy(_),
            ) => {
                player.notice(NOT_PAST);
            }
        }
    }

    /// Keeps somebody out by all by which the server can tell it from others.
    fn ban(&mut self, editor: &Arc<Player>, request: BanRequest) {
        let BanRequest { lasts, is_of_world, is_token, name, why } = request;
        let (name, marks) = if is_token {
            let mark = BannedBy::token(&name);
            if editor.known().token.map(BannedBy::token).as_ref() == Some(&mark) {
                return editor.notice(YOURSELF);
            }
            (name, vec![mark])
        } else {
            let found = self.players.iter().find_map(|seated| {
                let replicated = self.replicated.player(seated.id)?;
                replicated.name.eq_ignore_ascii_case(&name).then(|| (seated, replicated.name.clone()))
            });
            let Some((seated, name)) = found else {
                let text = format!(
                    "nobody here is called {name}; /ban --token NAME bans who shows that name in a token"
                );
                return editor.notice(&text);
            };
            if Arc::ptr_eq(&seated.player, editor) {
                return editor.notice(YOURSELF);
            }
            (name, marks_of(seated.player.known(), editor.address))
        };
        if marks.is_empty() {
            let text = "cannot be told from others: it shows no token and no key, and comes from this machine or your own address";
            return editor.notice(&format!("{name} {text}"));
        }
        let scope = || match is_of_world {
            true => BanScope::World(self.offered.name.clone()),
            false => BanScope::Room(self.name.clone()),
        };
        let mut bans = Vec::new();
        for by in marks {
            let lasts = match &by {
                BannedBy::Address(_) => lasts.map(|lasts: Duration| lasts.min(ADDRESS_BAN_MAX)),
                _ => lasts,
            };
            let added = Ban::new(scope(), by, lasts, &name, &why, now_ms())
                .and_then(|ban| self.rooms.bans.add(ban.clone(), told_unless_kept(editor)).map(|()| ban));
            match added {
                Ok(ban) => bans.push(ban),
                Err(error) => editor.notice(&error.to_string()),
            }
        }
        if bans.is_empty() {
            return;
        }
        info!(room = self.name, bans = lines(&bans), "banned");
        let until_end = match self.rooms.persistence.store() {
            Some(_) => "",
            None => " (until the server ends, because it keeps nothing)",
        };
        editor.notice(&format!("banned{until_end}: {}", lines(&bans)));
    }

    /// Closes the connections of players that the rules removed, and gives up the seats that are held for them.
    pub(super) fn kick(&mut self, kicked: Vec<(PlayerId, String)>) {
        for (player, reason) in kicked {
            if let Some(seated) = self.players.iter().find(|seated| seated.id == player) {
                info!(room = self.name, player = player.0, reason, "kicked");
                seated.player.close(Closing::Kicked(reason));
            } else if let Some(at) = self.held.iter().position(|held| held.id == player) {
                self.held.swap_remove(at);
                self.dismiss(player);
            }
        }
    }

    /// Sends away who is banned by now, and gives up the seats that are held for them.
    pub(super) fn apply_bans(&mut self) {
        let number = self.rooms.bans.number();
        if number == self.bans_seen {
            return;
        }
        self.bans_seen = number;
        for seated in &self.players {
            if let Some(ban) = self.rooms.ban_of(&self.name, &seated.player) {
                seated.player.close(Closing::Banned(ban.told()));
            }
        }
        let Self { held, rooms, name, offered, .. } = self;
        let is_banned = |key| {
            let known = Known { key: Some(key), ..Known::default() };
            rooms.bans.find(name, &offered.name, known).is_some()
        };
        let given_up: Vec<_> = held.extract_if(.., |seat| is_banned(seat.key)).collect();
        for seat in given_up {
            self.dismiss(seat.id);
        }
    }
}

/// The properties by which a client is banned: its token's name and its key. The address is used only for clients
/// without a token, and neither if it is this machine's nor if it is that of the editor.
fn marks_of(known: Known<'_>, editor: Option<IpAddr>) -> Vec<BannedBy> {
    let mut marks = Vec::new();
    marks.extend(known.token.map(BannedBy::token));
    marks.extend(known.key.map(|key| BannedBy::Client(key.0)));
    let is_far = |address: &IpAddr| {
        !address.to_canonical().is_loopback() && editor.map(network_of) != Some(network_of(*address))
    };
    if known.token.is_none() {
        marks.extend(known.address.filter(is_far).map(BannedBy::address));
    }
    marks
}

/// Tells whoever bans when the ban is lost with the process.
fn told_unless_kept(editor: &Arc<Player>) -> nowcast_store::MarkCompletion {
    let editor = Arc::clone(editor);
    Box::new(move |kept| {
        if kept.is_err() {
            editor.notice("the ban holds, but could not be kept: it ends with the server");
        }
    })
}

fn lines(bans: &[Ban]) -> String {
    let more = bans.len().saturating_sub(LISTED_MAX);
    let mut lines: Vec<String> = bans.iter().take(LISTED_MAX).map(Ban::to_string).collect();
    if more > 0 {
        lines.push(format!("and {more} more: `nowcast world bans` lists all"));
    }
    lines.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client_key::ClientKey;

    #[test]
    fn an_address_is_banned_only_of_who_has_no_token_and_is_far_away() {
        let far: IpAddr = "203.0.113.7".parse().unwrap();
        let key = ClientKey([7; 16]);
        let with_token = Known { token: Some("Ada"), key: Some(key), address: Some(far) };
        assert_eq!(marks_of(with_token, None), [BannedBy::token("Ada"), BannedBy::Client(key.0)]);
        let stranger = Known { token: None, key: Some(key), address: Some(far) };
        assert_eq!(marks_of(stranger, None), [BannedBy::Client(key.0), BannedBy::address(far)]);
        assert_eq!(marks_of(stranger, Some(far)), [BannedBy::Client(key.0)], "it is the editor's own");
        for here in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let local = Known { address: Some(here.parse().unwrap()), ..Known::default() };
            assert_eq!(marks_of(local, None), [], "{here}");
        }
    }
}
