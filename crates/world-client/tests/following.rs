//! Tests clients that follow their room, against a listener that stands in for a server.

use nowcast::{Connector, ListenConfig, Listener};
use nowcast_world_client::{FollowingClient, Join};

#[tokio::test]
async fn a_client_whose_room_closed_joins_again_by_the_same_address() -> Result<(), Box<dyn std::error::Error>>
{
    let listener = Listener::bind(ListenConfig::loopback(0)).await?;
    let mut yard = listener.advertise("yard").await?;
    let url = format!("nowcast://localhost:{}/yard", listener.port());
    let (first, client) =
        tokio::join!(yard.accept(), FollowingClient::join(Connector::new(), &url, Join::new("Ada")));
    let (first, mut client) = (first?, client?);
    first.close(69, "the room has just closed");
    tokio::select! {
        second = yard.accept() => second?.receive().await?,
        outcome = client.receive() => panic!("the client ended: {outcome:?}"),
    };
    Ok(())
}
