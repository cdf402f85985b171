//! Layers around carriers: emulated links, and records of packets.

use std::time::Duration;

use nowcast::impair::{Impairment, LinkConditions, LinkPreset, PathConditions};
use nowcast::record::{PacketRecorder, Recording};
use nowcast::session::packet::Packet;
use nowcast::{CarrierKind, Connector, ListenConfig, Listener};

#[tokio::test]
async fn newest_states_and_all_events_pass_a_bad_link_on_both_carriers() {
    let listener = Listener::bind(ListenConfig::loopback(0)).await.expect("the port is free");
    let mut service = listener.advertise("layers").await.expect("the name is free");
    let url = format!("nowcast://localhost:{}/layers", listener.port());
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let bad = LinkConditions { loss: 0.2, burst: 2.0, ..LinkPreset::FourG.conditions().up };
        let link = Impairment::new(PathConditions::both(bad), 7);
        let connector = Connector::new().carriers([carrier]).layer(&link);
        let channel = connector.connect(&url).await.expect("the service is there");
        let server = service.accept().await.expect("the channel opens");
        for number in 0..50_u8 {
            channel.event(&[number]).await.expect("the channel is open");
            channel.state(1, &[number]).await.expect("the channel is open");
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        let (mut events, mut newest) = (Vec::new(), None);
        while events.len() < 50 || newest != Some(49) {
            let message = server.receive().await.expect("the channel is open");
            match message.key() {
                Some(_) => newest = message.bytes.first().copied(),
                None => events.extend(message.bytes),
            }
        }
        assert_eq!(events, (0..50).collect::<Vec<u8>>(), "{carrier}");
        assert_eq!(channel.status().carrier, Some(carrier));
        let round_trip = channel.status().rtt.expect("packets were acknowledged");
        assert!(round_trip >= Duration::from_millis(50), "{carrier}: {round_trip:?}");
        let figures = link.figures();
        assert!(figures.up.lost > 0 && figures.down.packets > 0, "{carrier}: {figures:?}");
    }
}

#[tokio::test]
async fn a_record_has_every_packet_of_a_session_in_order() {
    let listener = Listener::bind(ListenConfig::loopback(0)).await.expect("the port is free");
    let mut service = listener.advertise("recorded").await.expect("the name is free");
    let url = format!("nowcast://localhost:{}/recorded", listener.port());
    let path = std::env::temp_dir().join(format!("nowcast-layers-{}.pcapng", std::process::id()));
    let recorder = PacketRecorder::create(&path, 1 << 20).expect("the file is new");
    assert!(PacketRecorder::create(&path, 1 << 20).is_err(), "a record is not overwritten");
    let connector = Connector::new().carriers([CarrierKind::WebSocket]).layer(&recorder);
    let channel = connector.connect(&url).await.expect("the service is there");
    let server = service.accept().await.expect("the channel opens");
    channel.event(b"one").await.expect("the channel is open");
    assert_eq!(server.receive().await.expect("the channel is open").bytes, b"one");
    channel.leave(0, "done").await;
    let stats = channel.status().stats;
    let figures = recorder.finish().expect("the file can be written");
    let packets: Vec<_> = Recording::open(&path)
        .expect("the record can be read")
        .packets()
        .collect::<Result<_, _>>()
        .expect("each packet can be read");
    std::fs::remove_file(&path).expect("the file exists");
    assert_eq!((figures.packets, figures.left_out), (packets.len() as u64, 0));
    let sent = packets.iter().filter(|packet| !packet.is_received).count() as u64;
    assert_eq!(sent, stats.packets_sent);
    assert!(matches!(Packet::read(&packets[0].bytes), Ok(Packet::Hello(_))));
    assert!(packets.iter().all(|packet| packet.carrier == 1 && packet.kind == CarrierKind::WebSocket));
    assert!(packets.is_sorted_by_key(|packet| packet.time));
}
