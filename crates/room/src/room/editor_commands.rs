//! Commands for the server, which editors enter as lines of chat.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use nowcast_limits::network_of;
use tracing::info;

use super::Room;
use crate::client_handle::ClientHandle;
use crate::editor_command::{EditorCommand, is_for_all};
use crate::persistence::{ADDRESS_BAN_MAX, Ban, BanRequest, BanScope, BannedBy, Known, now_ms};

/// The answer to a command of a player without the role `editor`.
const NOT_EDITOR: &str = "This command requires the role 'editor': use a token with that role.";

/// The answer to a command for viewing history in a room that shows the present.
const NOT_PAST: &str = "This room is the present. To look back, open its address with ?at=-5m.";

/// The answer to an editor who bans its own name.
const YOURSELF: &str = "you cannot ban yourself";

/// Maximum bans in one notice.
const LISTED_MAX: usize = 20;

impl Room {
    /// Runs a line of chat that is a command for the server.
    pub(super) fn run_editor_command(&self, client: &Arc<ClientHandle>, line: &str) {
        let context = &self.context;
        if !client.may_edit && !is_for_all(line) {
            return client.notice(NOT_EDITOR);
        }
        match EditorCommand::parse(line) {
            Err(expected) => client.notice(&expected),
            Ok(EditorCommand::Ban(request)) => self.ban(client, request),
            Ok(EditorCommand::Unban(who)) => {
                client.notice(&match context.rooms.bans.remove(&context.name, &context.offered.name, &who) {
                    Err(error) => error.to_string(),
                    Ok(gone) if gone.is_empty() => format!("no ban has the name {who}; /bans lists them"),
                    Ok(gone) => format!("taken back: {}", lines(&gone)),
                });
            }
            Ok(EditorCommand::Bans) => {
                let bans = context.rooms.bans.list(&context.name, &context.offered.name);
                client.notice(&if bans.is_empty() {
                    "no player is banned here".into()
                } else {
                    lines(&bans)
                });
            }
            Ok(
                EditorCommand::At(_) | EditorCommand::Play | EditorCommand::Pause | EditorCommand::Copy(_),
            ) => {
                client.notice(NOT_PAST);
            }
        }
    }

    /// Bans a client by the name in its token, its key and its address.
    fn ban(&self, editor: &Arc<ClientHandle>, request: BanRequest) {
        let Self { context, members, publishing, .. } = self;
        let BanRequest { lasts, is_of_world, is_token, name, why } = request;
        let (name, marks) = if is_token {
            let mark = BannedBy::token(&name);
            if editor.known().token.map(BannedBy::token).as_ref() == Some(&mark) {
                return editor.notice(YOURSELF);
            }
            (name, vec![mark])
        } else {
            let found = members.seated.iter().find_map(|member| {
                let known = publishing.replicated.player(member.id)?;
                known.name.eq_ignore_ascii_case(&name).then(|| (member, known.name.clone()))
            });
            let Some((member, name)) = found else {
                let text = format!(
                    "no player here is called {name}; /ban --token NAME bans the clients with that name in a token"
                );
                return editor.notice(&text);
            };
            if Arc::ptr_eq(&member.client, editor) {
                return editor.notice(YOURSELF);
            }
            (name, marks_of(member.client.known(), editor.address))
        };
        if marks.is_empty() {
            let text = "cannot be identified: it has no token and no key, and comes from this machine or your own address";
            return editor.notice(&format!("{name} {text}"));
        }
        let scope = || match is_of_world {
            true => BanScope::World(context.offered.name.clone()),
            false => BanScope::Room(context.name.clone()),
        };
        let mut bans = Vec::new();
        for by in marks {
            let lasts = match &by {
                BannedBy::Address(_) => lasts.map(|lasts: Duration| lasts.min(ADDRESS_BAN_MAX)),
                _ => lasts,
            };
            let added = Ban::new(scope(), by, lasts, &name, &why, now_ms())
                .and_then(|ban| context.rooms.bans.add(ban.clone(), warn_unless_kept(editor)).map(|()| ban));
            match added {
                Ok(ban) => bans.push(ban),
                Err(error) => editor.notice(&error.to_string()),
            }
        }
        if bans.is_empty() {
            return;
        }
        info!(room = context.name, bans = lines(&bans), "banned");
        let until_end = match context.rooms.persistence.store() {
            Some(_) => "",
            None => " (until the server ends, because it keeps nothing)",
        };
        editor.notice(&format!("banned{until_end}: {}", lines(&bans)));
    }
}

/// Returns the marks by which a client is banned: the name in its token, and its key. For a client without a token, its
/// address is added, unless the address belongs to this machine or to the editor.
pub(super) fn marks_of(known: Known<'_>, editor: Option<IpAddr>) -> Vec<BannedBy> {
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

/// Returns the callback that warns the editor if the ban cannot be stored and therefore ends with the process.
fn warn_unless_kept(editor: &Arc<ClientHandle>) -> nowcast_store::MarkCompletion {
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
    fn only_a_remote_client_without_a_token_is_banned_by_address() {
        let far: IpAddr = "203.0.113.7".parse().unwrap();
        let key = ClientKey([7; 16]);
        let with_token = Known { token: Some("Ada"), key: Some(key), address: Some(far) };
        assert_eq!(marks_of(with_token, None), [BannedBy::token("Ada"), BannedBy::Client(key.0)]);
        let stranger = Known { token: None, key: Some(key), address: Some(far) };
        assert_eq!(marks_of(stranger, None), [BannedBy::Client(key.0), BannedBy::address(far)]);
        assert_eq!(
            marks_of(stranger, Some(far)),
            [BannedBy::Client(key.0)],
            "the address is the editor's own"
        );
        for here in ["127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            let local = Known { address: Some(here.parse().unwrap()), ..Known::default() };
            assert_eq!(marks_of(local, None), [], "{here}");
        }
    }
}
