//! Admission of clients: the same checks in the same order for WebTransport, WebSocket and the plain protocol.

use nowcast::admission::{AdmissionRequest, Entry, Now, Policy};
use nowcast::{Acceptor, admission::Claims};
use nowcast_engine::endpoint::ConnectRequest;
use nowcast_room::{Opener, Refusal};
use nowcast_world_protocol::room_of;

use crate::refusal::{of_acceptor, of_admission};
use crate::shared::Shared;

/// The role in a token that allows its bearer to view the outcomes of new rules, view history and ban.
const EDITOR: &str = "editor";

/// The role in a token that allows its bearer to join as a program.
const PROGRAM: &str = "program";

/// The role in a token that allows its bearer to open the operator's pages: `/metrics` and `/lab`.
const OPERATOR: &str = "operator";

/// The protocol that a client uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entrance {
    /// A session, over WebTransport or WebSocket.
    Session,
    /// The plain protocol.
    Plain,
}

/// Admits a client to a room or a service. Refuses the client by the first check that fails:
///
/// 1. the rate of joins of the address, page, encryption and token
///    ([`Admission::check`](nowcast::admission::Admission::check));
/// 2. the role for viewing history;
/// 3. a free seat in the room;
/// 4. whether a service admits the client;
/// 5. the number of sessions of the address.
///
/// A carrier that resumes a session already has a seat, so checks 2, 3 and 5 do not apply to it. These checks reserve nothing.
pub(crate) fn admit(
    shared: &Shared,
    request: ConnectRequest<'_>,
    entrance: Entrance,
) -> Result<(Acceptor, Entry), Refusal> {
    let ConnectRequest { name, peer, query, .. } = request;
    let is_session = entrance == Entrance::Session;
    let service = shared.services.iter().find(|service| is_session && service.name() == name);
    // A token for a room is also valid for its history.
    let room = if service.is_some() { name } else { room_of(name) };
    let asked = AdmissionRequest::from(&ConnectRequest { name: room, ..request });
    let admission = &shared.sessions.admission;
    let asked = match entrance {
        Entrance::Session => asked,
        // The plain protocol has no resumption. It needs encryption only to protect a token.
        Entrance::Plain if admission.policy().key.is_none() => asked.resuming(false).encrypted(),
        Entrance::Plain => asked.resuming(false),
    };
    let mut entry = admission.check(Now::read(), &asked).map_err(of_admission)?;
    name.clone_into(&mut entry.room);
    let is_resuming = entry.only_resumes();
    if !is_resuming && room != name && !may_edit(&entry, &shared.config.entry) {
        return Err(Refusal::NotEditor);
    }
    if !is_resuming && service.is_none() {
        // The `Join` of a session states whether the client is a program, and arrives later.
        let may_enter = |is_program| shared.rooms.may_enter(name, opener_of(&entry, is_program));
        may_enter(false).or_else(|refusal| match may_be_program(&entry, &shared.config.entry) {
            true => may_enter(true),
            false => Err(refusal),
        })?;
    }
    if service.is_some_and(|service| !service.admits(peer.is_local, has_token(shared, query))) {
        return Err(Refusal::LocalService);
    }
    let acceptor = service.map_or(&shared.sessions.acceptor, |service| &service.acceptor);
    if is_session && !is_resuming {
        acceptor.check(Some(peer.address)).map_err(of_acceptor)?;
    }
    Ok((acceptor.clone(), entry))
}

/// Returns the properties of a client by which rooms limit it.
pub(crate) fn opener_of(entry: &Entry, is_program: bool) -> Opener {
    Opener { address: entry.address.map(|address| address.ip()), is_local: entry.is_local, is_program }
}

/// Whether an admitted client presented a token.
fn has_token(shared: &Shared, query: Option<&str>) -> bool {
    shared.config.entry.key.is_some()
        && query.is_some_and(|query| query.split('&').any(|parameter| parameter.starts_with("token=")))
}

/// Whether a client may edit the world, because its token has the role, or because it is on this machine and no tokens are
/// required.
pub(crate) fn may_edit(entry: &Entry, policy: &Policy) -> bool {
    has_role(entry, policy, EDITOR)
}

/// Whether a client may join as a program. The rule is the same as for editors.
pub(crate) fn may_be_program(entry: &Entry, policy: &Policy) -> bool {
    has_role(entry, policy, PROGRAM)
}

/// The roles of a client that rules can ask for: those of its token, and `editor` if it may edit.
pub(crate) fn roles_of(entry: &Entry, policy: &Policy) -> Vec<String> {
    let named = entry.role.as_deref().unwrap_or_default().split(' ').filter(|role| !role.is_empty());
    let mut roles: Vec<String> = named.map(str::to_owned).collect();
    if may_edit(entry, policy) {
        roles.push(EDITOR.to_owned());
    }
    roles.sort();
    roles.dedup();
    roles
}

/// Whether a verified token allows its bearer to open the operator's pages.
pub(crate) fn is_operator(claims: &Claims) -> bool {
    names_role(claims.role.as_deref(), OPERATOR)
}

fn has_role(entry: &Entry, policy: &Policy, role: &str) -> bool {
    names_role(entry.role.as_deref(), role) || policy.key.is_none() && entry.is_local
}

/// Whether the roles of a token (separated by spaces) contain a role.
fn names_role(roles: Option<&str>, role: &str) -> bool {
    roles.unwrap_or_default().split(' ').any(|known| known == role)
}
