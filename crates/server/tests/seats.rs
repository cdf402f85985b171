//! The time for which the seats of lost clients are reserved.

use std::time::Duration;

use crate::common::TestServer;
use crate::common::session::Guest;
use nowcast_server::world::STEP_HZ;

/// The time for which sessions and seats are reserved in these tests.
const HELD: Duration = Duration::from_secs(4);

#[test]
fn seat_of_a_lost_session_is_released_30_seconds_after_its_last_packet() {
    let here = tokio::runtime::Runtime::new().expect("threads can be started");
    let server = here.block_on(TestServer::with(|config| {
        // The seat must be free when this time has passed since the last packet. The test shortens both times. By default a
        // seat is held for 30 s.
        (config.timeouts.session_resumed, config.timeouts.seat_held) = (HELD, HELD);
    }));
    // A separate runtime can be ended without a last message, like a killed program.
    let elsewhere = tokio::runtime::Runtime::new().expect("threads can be started");
    let address = server.address;
    let ada = elsewhere.block_on(Guest::join_with(address, "plaza", "Ada", [7; 16]));
    elsewhere.shutdown_background();
    here.block_on(async {
        let mut witness = server.join("plaza", "name=Witness&hz=60").await;
        let mut lost_at = None;
        while witness.view.players.contains_key(&ada.id) {
            let is_lost = server.metric(r#"nowcast_client_closed_total{code="0",reason="vanished"}"#) > 0.0;
            lost_at = lost_at.or(is_lost.then_some(witness.view.tick));
            witness.next().await;
        }
        let held = lost_at.map_or(0, |lost_at| witness.view.tick - lost_at);
        assert!(
            held < u64::from(STEP_HZ) * HELD.as_secs() / 2,
            "released {held} steps after the session was given up"
        );
        server.stop().await;
    });
}
