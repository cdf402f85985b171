//! Layers around carriers: records of packets.

use nowcast::record::{PacketRecorder, Recording};
use nowcast::session::packet::Packet;
use nowcast::{CarrierKind, Connector, ListenConfig, Listener};

#[tokio::test]
async fn a_record_has_every_packet_of_a_session_in_order() {
    let listener = Listener::bind(ListenConfig::loopback(0)).await.expect("the port is free");
    let mut service = listener.advertise("recorded").await.expect("the name is free");
    let url = format!("nowcast://localhost:{}/recorded", listener.port());
    let path = std::env::temp_dir().join(format!("nowcast-layers-{}.pcapng", std::process::id()));
    let secret = |event: &[u8]| event.windows(6).position(|part| part == b"secret").map(|at| at..at + 6);
    let recorder = PacketRecorder::create_without(&path, 1 << 20, secret).expect("the file is new");
    assert!(PacketRecorder::create(&path, 1 << 20).is_err(), "a record is not overwritten");
    let connector = Connector::new().carriers([CarrierKind::WebSocket]).layer(&recorder);
    let channel = connector.connect(&url).await.expect("the service is there");
    let server = service.accept().await.expect("the channel opens");
    channel.event(b"one").await.expect("the channel is open");
    assert_eq!(server.receive().await.expect("the channel is open").bytes, b"one");
    channel.event(b"my secret key").await.expect("the channel is open");
    assert_eq!(server.receive().await.expect("the channel is open").bytes, b"my secret key");
    channel.leave(0, "done").await;
    let stats = channel.status().stats;
    let figures = recorder.finish().expect("the file can be written");
    let packets: Vec<_> = Recording::open(&path)
        .expect("the record can be read")
        .packets()
        .collect::<Result<_, _>>()
        .expect("each packet can be read");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = std::fs::metadata(&path).expect("the file exists").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "only the owner reads a record");
    }
    std::fs::remove_file(&path).expect("the file exists");
    assert_eq!((figures.packets, figures.left_out), (packets.len() as u64, 0));
    let sent = packets.iter().filter(|packet| !packet.is_received).count() as u64;
    assert_eq!(sent, stats.packets_sent);
    assert!(matches!(Packet::read(&packets[0].bytes), Ok(Packet::Hello(_))));
    let mut welcomes = 0;
    for packet in &packets {
        match Packet::read(&packet.bytes).expect("a record has whole packets") {
            Packet::Welcome(welcome) => {
                assert_eq!(welcome.resume.token, [0; 16], "a record resumes no session");
                welcomes += 1;
            }
            Packet::Data(_) => assert!(!packet.bytes.windows(6).any(|part| part == b"secret")),
            _ => {}
        }
    }
    assert!(
        welcomes > 0 && packets.iter().any(|packet| packet.bytes.windows(6).any(|part| part == b"\0\0 key"))
    );
    assert!(packets.iter().all(|packet| packet.carrier == 1 && packet.kind == CarrierKind::WebSocket));
    assert!(packets.is_sorted_by_key(|packet| packet.time));
}
