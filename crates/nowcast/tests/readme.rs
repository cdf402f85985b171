//! The Rust code on the front page (README.md) compiles and runs as printed, over every carrier.
//!
//! The functions below contain this code word for word, as a test verifies. The module `nowcast` around it stands for the crate.
//! This module changes only the things that keep tests apart: a free port, the process in the name, and the carrier of the
//! test.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use nowcast::CarrierKind;
use nowcast_wire::Wire;
use tokio::sync::watch;

#[derive(Clone, Debug, PartialEq, Wire)]
struct Pose {
    position: [f32; 3],
    yaw: f32,
}

const POSE: Pose = Pose { position: [0.1, 1.7, -0.3], yaw: 0.5 };

/// The input of one run of the code, and its results.
struct Run {
    carrier: CarrierKind,
    /// The port of the listener, once it is known, and whether the name is advertised.
    place: watch::Sender<(u16, bool)>,
    shown: Mutex<Vec<(u64, Pose)>>,
}

tokio::task_local! {
    static RUN: Arc<Run>;
}

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

mod printed {
    use super::{Duration, Outcome, Pose, stage as nowcast};
    use nowcast::{MessageKind, show};

    #[rustfmt::skip]
    pub(super) async fn serve(pose: Pose) -> Outcome<Vec<u8>> {
        // README, first block
        let listener = nowcast::Listener::bind(nowcast::ListenConfig::loopback(7777)).await?;
        let mut service = listener.advertise("tracker").await?;
        let channel = service.accept().await?;
        let poses = channel.lane(0).typed::<Pose>();         // owned: moves into a task or a thread
        poses.state(7, &pose).await?;                        // newest wins: replaces an unsent value
        channel.event(b"button pressed").await?;             // delivered once, in order, after the states before it
        let answer = channel.command(b"calibrate?", Duration::from_secs(1)).await?;
        // README, end
        Ok(answer)
    }

    #[rustfmt::skip]
    pub(super) async fn connect() -> Outcome<()> {
        // README, second block
        let channel = nowcast::connect("nowcast://localhost:7777/tracker").await?;
        loop {
            let message = channel.receive().await?;
            match message.kind {
                MessageKind::State { key } => show(key, message.decode::<Pose>()?, message.age()),
                MessageKind::Command(id) => channel.reply(id, b"done").await?,
                _ => println!("{}", String::from_utf8_lossy(&message.bytes)),
            }
        }
        // README, end
    }
}

/// The parts of the crate that the code on the front page needs.
mod stage {
    use super::{Duration, Outcome, Pose, RUN};
    pub(super) use nowcast::{ListenConfig as Config, MessageKind};

    pub(super) struct ListenConfig;

    impl ListenConfig {
        pub(super) fn loopback(_port: u16) -> Config {
            Config::loopback(0)
        }
    }

    pub(super) struct Listener(nowcast::Listener);

    impl Listener {
        pub(super) async fn bind(config: Config) -> Result<Self, nowcast::BindError> {
            nowcast::Listener::bind(config).await.map(Self)
        }

        pub(super) async fn advertise(
            &self,
            name: &str,
        ) -> Result<nowcast::Service, nowcast::AdvertiseError> {
            let service = self.0.advertise(&own(name)).await?;
            RUN.with(|run| run.place.send_replace((self.0.port(), true)));
            Ok(service)
        }
    }

    pub(super) async fn connect(url: &str) -> Outcome<nowcast::Channel> {
        let run = RUN.get();
        let (port, _) = *run.place.subscribe().wait_for(|place| place.1).await?;
        let name = own(url.rsplit('/').next().unwrap_or_default());
        let url = match run.carrier.is_local() {
            true => format!("nowcast://localhost/{name}"),
            false => format!("nowcast://127.0.0.1:{port}/{name}"),
        };
        let channel = nowcast::Connector::new().carriers([run.carrier]).connect(&url).await?;
        assert_eq!(channel.status().carrier, Some(run.carrier));
        Ok(channel)
    }

    fn own(name: &str) -> String {
        format!("{name}-{}-{}", std::process::id(), RUN.with(|run| run.carrier.to_string().replace(' ', "-")))
    }

    pub(super) fn show(key: nowcast::Key, pose: Pose, age: Duration) {
        assert!(age < Duration::from_secs(20));
        RUN.with(|run| run.shown.lock().unwrap().push((key.raw(), pose)));
    }
}

async fn runs_over(carrier: CarrierKind) {
    let run = Arc::new(Run { carrier, place: watch::Sender::default(), shown: Mutex::default() });
    let both = async {
        tokio::select! {
            answer = printed::serve(POSE) => answer,
            ended = printed::connect() => panic!("the client ended: {ended:?}"),
        }
    };
    let answer = tokio::time::timeout(Duration::from_secs(20), RUN.scope(Arc::clone(&run), both)).await;
    assert_eq!(answer.expect("the reply arrives in time").expect("nothing fails"), b"done", "{carrier}");
    assert_eq!(*run.shown.lock().unwrap(), [(7, POSE)], "{carrier}");
}

#[tokio::test]
async fn the_front_page_runs_on_one_machine() {
    runs_over(nowcast::local::CARRIER).await;
}

#[tokio::test]
async fn the_front_page_runs_over_webtransport() {
    runs_over(CarrierKind::WebTransport).await;
}

#[tokio::test]
async fn the_front_page_runs_over_websocket() {
    runs_over(CarrierKind::WebSocket).await;
}

#[test]
fn the_front_page_shows_the_tested_code() {
    let readme = include_str!("../../../README.md");
    let printed: Vec<String> = readme
        .split("```rust\n")
        .skip(1)
        .map(|rest| rest.split("```").next().unwrap_or_default().to_owned())
        .collect();
    let tested: Vec<String> = include_str!("readme.rs")
        .split("        // README, ")
        .filter(|part| part.starts_with("first block") || part.starts_with("second block"))
        .map(|part| {
            part.lines().skip(1).map(|line| format!("{}\n", line.get(8..).unwrap_or_default())).collect()
        })
        .collect();
    assert_eq!(printed, tested);
}
