//! Two programs that were built at different times have different versions of a type. Typed lanes match fields by name, or report
//! which field cannot be read.

use std::time::Duration;

use crate::common::{House, within};
use nowcast::{CarrierKind, Connector, Error, ListenConfig, Listener, MessageKind};
use nowcast_wire::Wire;

const CARRIERS: [CarrierKind; 3] =
    [CarrierKind::WebTransport, CarrierKind::WebSocket, nowcast::local::CARRIER];
/// Prefix of announcements (`spec/WIRE.md`, section 3.2).
const MARK: &[u8] = b"\0NCTYPED";

mod old {
    #[derive(nowcast_wire::Wire, Clone)]
    pub(crate) struct Pose {
        pub(crate) x: f32,
        pub(crate) y: f32,
        pub(crate) battery: u8,
    }
}

/// Compared with the other version, the fields have another order. One field is wider, one is new and one is gone.
#[derive(Wire, Debug, PartialEq)]
struct Pose {
    y: f64,
    x: f32,
    owner: String,
}

#[derive(Wire, Debug, PartialEq)]
struct Renamed {
    x: String,
}

fn sent() -> old::Pose {
    old::Pose { x: 1.5, y: -2.0, battery: 80 }
}

fn read() -> Pose {
    Pose { y: -2.0, x: 1.5, owner: String::new() }
}

#[tokio::test(flavor = "multi_thread")]
async fn fields_are_matched_by_name_over_every_carrier() {
    let mut house = House::build().await;
    for carrier in CARRIERS {
        let (ours, theirs) = house.join(&[carrier]).await;
        within(20, async {
            let poses = ours.lane(1).typed::<old::Pose>();
            poses.state(7, &sent()).await.expect("the channel is open");
            let message = theirs.receive().await.expect("the channel is open");
            assert_eq!(
                message.kind,
                MessageKind::State { key: 7.into() },
                "{carrier}: no announcement is shown"
            );
            assert_eq!(message.decode::<Pose>(), Ok(read()), "{carrier}");

            poses.event(&sent()).await.expect("the channel is open");
            let mut bytes = Vec::new();
            let received = theirs.receive_into(&mut bytes).await.expect("the channel is open");
            assert_eq!(received.kind, MessageKind::Event);
            assert_eq!(theirs.decode::<Pose>(&received, &bytes), Ok(read()), "{carrier}");

            let value = sent();
            let asking = poses.call::<u64>(&value, Duration::from_secs(20));
            let answering = async {
                let asked = theirs.receive().await.expect("the channel is open");
                let MessageKind::Command(id) = asked.kind else { panic!("the message is a command") };
                assert_eq!(asked.decode::<Pose>(), Ok(read()), "{carrier}");
                // The reply has a narrower number, and uses another lane than the command.
                theirs.lane(0).typed::<u8>().reply(id, &3).await.expect("the channel is open");
            };
            assert_eq!(tokio::join!(asking, answering).0, Ok(3), "{carrier}");
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_field_that_cannot_be_read_is_named() {
    let mut house = House::build().await;
    for carrier in CARRIERS {
        let (ours, theirs) = house.join(&[carrier]).await;
        ours.lane(1).typed::<old::Pose>().event(&sent()).await.expect("the channel is open");
        let message = within(20, theirs.receive()).await.expect("the channel is open");
        let Err(Error::Invalid(what)) = message.decode::<Renamed>() else { panic!("a number is not a text") };
        assert!(what.contains('x') && what.contains("f32"), "{carrier}: {what}");
        assert_eq!(message.decode::<Pose>(), Ok(read()), "{carrier}: other messages can still be read");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn several_types_share_a_lane_and_replace_each_other() {
    let mut house = House::build().await;
    let (ours, theirs) = house.join(&[CarrierKind::WebSocket]).await;
    within(20, async {
        let (poses, texts) = (ours.lane(1).typed::<old::Pose>(), ours.lane(1).typed::<String>());
        poses.event(&sent()).await.expect("the channel is open");
        texts.event(&"both are known now".to_owned()).await.expect("the channel is open");
        assert_eq!(theirs.receive().await.expect("the channel is open").decode::<Pose>(), Ok(read()));
        assert_eq!(theirs.receive().await.expect("the channel is open").decode(), Ok("both are known now"));
        let held = ours.batch();
        for round in 0..100 {
            texts.state(1, &format!("round {round}")).await.expect("a newer value needs no room");
            poses.state(2, &sent()).await.expect("a newer value needs no room");
        }
        drop(held);
        assert_eq!(theirs.receive().await.expect("the channel is open").decode(), Ok("round 99"));
        assert_eq!(theirs.receive().await.expect("the channel is open").decode::<Pose>(), Ok(read()));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn bytes_that_look_like_an_announcement_arrive_unchanged() {
    let mut house = House::build().await;
    for carrier in CARRIERS {
        let (ours, theirs) = house.join(&[carrier]).await;
        for rest in [b"".as_slice(), b"\0", b"\x01", b"\x01\0NCTYPED\0", b"\0\x02\x01\x02"] {
            let bytes = [MARK, rest].concat();
            ours.event(&bytes).await.expect("the channel is open");
            ours.batch().try_event(0, &bytes).expect("there is room");
            for _ in 0..2 {
                let message = within(20, theirs.receive()).await.expect("the channel is open");
                assert_eq!((message.kind, message.bytes), (MessageKind::Event, bytes.clone()), "{carrier}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_that_join_late_know_the_types() {
    let listener = Listener::bind(ListenConfig::on([[127, 0, 0, 1].into()], 0)).await.unwrap();
    let name = format!("typed-{}", std::process::id());
    let publisher = listener.publish(&name).await.unwrap();
    let poses = publisher.typed::<old::Pose>();
    poses.state(7, &sent()).unwrap();
    for carrier in CARRIERS {
        let url = match carrier == nowcast::local::CARRIER {
            true => format!("nowcast://localhost/{name}"),
            false => format!("nowcast://127.0.0.1:{}/{name}", listener.port()),
        };
        let renderer = within(20, Connector::new().carriers([carrier]).connect(&url)).await.unwrap();
        let message = within(20, renderer.receive()).await.expect("the channel is open");
        assert_eq!((message.key(), message.decode::<Pose>()), (Some(7.into()), Ok(read())), "{carrier}");
        publisher.event(MARK).unwrap();
        assert_eq!(
            within(20, renderer.receive()).await.expect("the channel is open").bytes,
            MARK,
            "{carrier}"
        );
        poses.event(&sent()).unwrap();
        let message = within(20, renderer.receive()).await.expect("the channel is open");
        assert_eq!(message.decode::<Pose>(), Ok(read()), "{carrier}");
        // Each carrier has a separate type, which is announced while the subscribers listen.
        match carrier {
            CarrierKind::WebTransport => publisher.typed::<u8>().event(&9).unwrap(),
            CarrierKind::WebSocket => publisher.typed::<u16>().event(&9).unwrap(),
            _ => publisher.typed::<u32>().event(&9).unwrap(),
        }
        let message = within(20, renderer.receive()).await.expect("the channel is open");
        assert_eq!(message.decode::<u64>(), Ok(9), "{carrier}");
    }
}
