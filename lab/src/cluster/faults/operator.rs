//! The orders of an operator during a life. Each may fail: the servers or NATS may not answer.

use std::time::Duration;

use nowcast_cluster::{ControlRequest, Name};
use nowcast_jetstream::{ClusterError, Directory, Link, LinkOptions, send_within};
use tokio::time::timeout;

/// The name of the cluster.
pub(super) const CLUSTER: &str = "lab";

/// Time for the answer to an order.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The name of a room.
pub(super) fn room_name(room: u8) -> String {
    format!("r{room}")
}

/// Connects to the nats-servers.
pub(super) async fn connect(address: &str) -> Result<Link, ClusterError> {
    Link::connect(address, LinkOptions { name: CLUSTER.to_owned(), ..LinkOptions::default() }).await
}

/// Orders the owner of a room to move it to a server.
pub(super) async fn move_room(address: String, room: u8, server: u8) {
    let Ok(link) = connect(&address).await else { return };
    let Ok(directory) = Directory::read(&link).await else { return };
    let room = room_name(room);
    let Some((room, entry)) = directory.rooms.iter().find(|(name, _)| name.as_str() == room) else { return };
    let order = ControlRequest::Move { room: *room, target: server_name(server) };
    let _ = send_within(&link, entry.owner.name, &order, ANSWER_WITHIN).await;
}

/// Orders a server to give its rooms away.
pub(super) async fn drain(address: String, server: u8) {
    let Ok(link) = connect(&address).await else { return };
    let _ = timeout(ANSWER_WITHIN, nowcast_jetstream::drain(&link, server_name(server), |_| ())).await;
}

fn server_name(server: u8) -> Name {
    Name::new(&format!("s{server}")).expect("the name is valid")
}
