//! The peer of a channel.

use std::net::SocketAddr;

use crate::entry::Ticket;

/// What the endpoint knows of the peer of a channel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// The player's or device's name, if a token says one.
    pub name: Option<String>,
    /// The name of the service that was entered.
    pub room: String,
    /// What the token says about the role.
    pub role: Option<String>,
    /// Where the first carrier came from.
    pub address: Option<SocketAddr>,
    /// The number of the peer's process, if it runs on this machine and no network is between.
    pub process: Option<u32>,
    /// What a [`Admission`](crate::entry::Admission) wants to be told when the session begins.
    pub ticket: Option<Ticket>,
}

impl Entry {
    /// Whether no session may begin by it: it was opened for one that is there already.
    #[must_use]
    pub fn only_resumes(&self) -> bool {
        self.ticket.as_ref().is_some_and(Ticket::only_resumes)
    }
}
