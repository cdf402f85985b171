//! Servers of a cluster on real nats-servers. The tests are left out where Go is missing.
#![cfg(feature = "cluster")]

#[path = "cluster/commands.rs"]
mod commands;
mod common;
#[path = "cluster/events.rs"]
mod events;
#[path = "cluster/plain_nats.rs"]
mod plain_nats;

use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::time::Duration;

use common::process::{Folder, Process, serve_if_child_with};
use common::session::Guest;
use common::view::View;
use common::{PATIENCE, TestServer, script};
use nowcast::{CarrierKind, Connector};
use nowcast_cluster::{ControlAnswer, ControlRequest, Name};
use nowcast_jetstream::{Directory, Link, LinkOptions, drain, send};
use nowcast_server::cluster::{ClusterConfig, LEASE};
use nowcast_server::world::Value;
use nowcast_server::{BindError, Config, Server};
use nowcast_world_client::{FollowingClient, Join, Update};
use nowcast_world_protocol::session::FromWorld;
use plain_nats::PlainNats;

const RULES: &str = r#"
local world = require("@nowcast/world")
world.state { counts = 0 }
local Person = world.kind("person", { walker = {} })
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player)
    player:spawn_avatar(Person, { at = vector.create(player.id, 0.92, 20) })
    world.show("counts", world.state.counts)
end)
world.action("count", {}, function()
    world.state.counts += 1
    world.show("counts", world.state.counts)
    world.emit("counted", { counts = world.state.counts })
end, { durable = true })
"#;

/// The file with the addresses of the nats-servers, next to the folder of each process.
const ADDRESSES: &str = "addresses";

#[tokio::test(flavor = "multi_thread")]
async fn the_process_that_serves_until_it_is_killed() {
    serve_if_child_with(script("yard", RULES), |config| {
        let folder = config.data.take().expect("the process has a folder");
        let addresses = folder.with_file_name(ADDRESSES);
        let addresses = std::fs::read_to_string(addresses).expect("the test has written the addresses");
        let name = folder.file_name().and_then(|name| name.to_str()).expect("the name is text");
        enter_cluster(config, &addresses, name);
    })
    .await;
}

/// Puts a server into the cluster of a test.
fn enter_cluster(config: &mut Config, addresses: &str, name: &str) {
    let port = TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr());
    config.port = port.expect("a port is free").port();
    config.cluster = Some(ClusterConfig {
        addresses: addresses.to_owned(),
        name: "nowcast".to_owned(),
        replicas: 3,
        server: name.to_owned(),
        client_address: format!("http://127.0.0.1:{}", config.port),
        tags: vec!["region-eu".to_owned()],
        requires: vec![("yard".to_owned(), "region-eu".to_owned()), ("attic".to_owned(), "gpu".to_owned())],
        lease: LEASE,
        publishes: true,
        accepts_commands: false,
    });
    config.timeouts.seat_held = Duration::from_secs(600);
}

/// nats-servers, and the folder of a test.
struct Nats {
    servers: nowcast_dev_nats::Cluster,
    folder: Folder,
}

impl Nats {
    fn start() -> Nats {
        let program = nowcast_dev_nats::for_tests();
        let folder = Folder::new();
        let servers = nowcast_dev_nats::Cluster::start(&program, &folder.0, 3).expect("the servers start");
        std::fs::write(folder.0.join(ADDRESSES), servers.address()).expect("the folder is there");
        Nats { servers, folder }
    }

    /// The folder by whose name a process knows its own.
    fn of_process(&self, name: &str) -> PathBuf {
        Path::new(&self.folder.0).join(name)
    }

    /// Starts a server of the cluster in this process.
    async fn serve(&self, name: &str) -> TestServer {
        self.serve_with(name, |_| {}).await
    }

    /// Starts a server of the cluster with a changed configuration.
    async fn serve_with(&self, name: &str, change: impl FnOnce(&mut Config)) -> TestServer {
        let addresses = self.servers.address();
        TestServer::with(|config| {
            config.worlds = vec![script("yard", RULES)];
            enter_cluster(config, &addresses, name);
            change(config);
        })
        .await
    }

    async fn link(&self) -> Link {
        let link = Link::connect(&self.servers.address(), LinkOptions::default()).await;
        link.expect("the servers answer")
    }
}

/// Joins again and again until a server lets the client in.
async fn join(address: SocketAddr, name: &str, key: [u8; 16]) -> Guest {
    join_room(address, "yard", name, key).await
}

/// Joins a room again and again until a server lets the client in.
async fn join_room(address: SocketAddr, room: &str, name: &str, key: [u8; 16]) -> Guest {
    let url = format!("nowcast://{address}/{room}");
    let joining = async {
        loop {
            let connector = Connector::new().carriers([CarrierKind::WebSocket]);
            if let Ok(channel) = connector.connect(&url).await {
                let mut guest = Guest::introduce(channel, Join::new(name).key(key));
                if enters(&mut guest).await {
                    return guest;
                }
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    tokio::time::timeout(PATIENCE, joining).await.expect("a server lets the client in")
}

/// Whether a client gets its avatar before its session ends.
async fn enters(guest: &mut Guest) -> bool {
    while guest.avatar().is_none_or(|id| guest.place(id).is_none()) {
        let Ok(message) = guest.channel.receive().await else { return false };
        guest.take(&message);
    }
    true
}

fn name(text: &str) -> Name {
    Name::new(text).expect("the name is valid")
}

/// Sends a request to a server of the cluster. Returns its sentence, or the cause of its failure.
async fn ask(link: &Link, request: &ControlRequest, server: &str) -> Result<String, String> {
    send(link, name(server), request).await.expect("the server answers").into_result()
}

fn counts(view: &View) -> u64 {
    view.screen("counts").and_then(serde_json::Value::as_f64).map_or(0, |number| number as u64)
}

async fn count_once(guest: &mut Guest, number: u32) {
    guest.act_once(number, "count", &[]);
    guest.until("the confirmation", |guest| guest.view.done.contains(&number)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_whose_owner_is_killed_goes_on_at_another_server_with_all_confirmed_actions() {
    let nats = Nats::start();
    let north = Process::start(&nats.of_process("north"));
    let mut ada = join(north.address, "Ada", [7; 16]).await;
    for number in 1..=3 {
        count_once(&mut ada, number).await;
    }
    // A client that comes to the other server is sent to the owner.
    let south = nats.serve("south").await;
    let mut bob = join(south.address, "Bob", [8; 16]).await;
    bob.until("the count of the room", |guest| counts(&guest.view) == 3).await;
    assert_eq!(south.metric("nowcast_rooms"), 0.0, "the room is at the owner alone");
    count_once(&mut bob, 1).await;
    let owner = format!("http://{}", north.address);
    let answer = south.get("/ws/yard?name=Cy").await;
    assert!(answer.starts_with("HTTP/1.1 307"), "{answer}");
    assert!(answer.contains(&format!("location: {owner}/ws/yard?name=Cy")), "{answer}");
    // Pages of one server may join at the others.
    let of_page = async {
        loop {
            let answer = south.get_with("/nowcast/yard", &format!("Origin: {owner}\r\n")).await;
            if answer.starts_with("HTTP/1.1 200") {
                return answer;
            }
        }
    };
    let answer = tokio::time::timeout(PATIENCE, of_page).await.expect("the page is admitted");
    assert!(answer.contains(&format!("\"moved\":\"{owner}\"")), "{answer}");
    assert!(answer.contains(&format!("\"others\":[\"{owner}\"]")), "{answer}");
    let foreign = south.get_with("/nowcast/yard", "Origin: http://127.0.0.1:1\r\n").await;
    assert!(foreign.starts_with("HTTP/1.1 403"), "{foreign}");
    let (player, bobs) = (ada.id, bob.id);
    north.kill();
    drop((ada, bob));

    let mut ada = join(south.address, "Ada", [7; 16]).await;
    assert_eq!(ada.id, player, "the player is the same");
    ada.until("the count of the room", |guest| counts(&guest.view) == 4).await;
    // A retry of a confirmed action is confirmed and changes nothing.
    count_once(&mut ada, 3).await;
    count_once(&mut ada, 4).await;
    ada.until("the fifth count", |guest| counts(&guest.view) == 5).await;
    let bob = join(south.address, "Bob", [8; 16]).await;
    assert_eq!(bob.id, bobs);
    south.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;
    drop((ada, bob));
    south.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_room_moves_while_people_are_in_it_and_a_drained_server_gives_its_rooms_away() {
    let nats = Nats::start();
    let north = nats.serve("north").await;
    let mut ada = join(north.address, "Ada", [7; 16]).await;
    count_once(&mut ada, 1).await;
    let south = nats.serve("south").await;
    let link = nats.link().await;
    let to_south = ControlRequest::Move { room: name("yard"), target: name("south") };
    let refused = ask(&link, &to_south, "south").await.expect_err("the server does not own the room");
    assert!(refused.contains("does not own room yard"), "{refused}");
    let nowhere = ControlRequest::Move { room: name("yard"), target: name("west") };
    let refused = ask(&link, &nowhere, "north").await.expect_err("there is no such server");
    assert!(refused.contains("west is not alive"), "{refused}");
    // The first server learns of the second one within its interval.
    let moved = async {
        loop {
            if let Ok(text) = ask(&link, &to_south, "north").await {
                return text;
            }
        }
    };
    let text = tokio::time::timeout(PATIENCE, moved).await.expect("the room moves");
    assert!(text.contains("moved from north to south"), "{text}");
    north.until_metric("nowcast_cluster_moves_total{outcome=\"moved\"}", |value| value == 1.0).await;
    north.until_metric("nowcast_cluster_move_freeze_seconds_count", |value| value == 1.0).await;
    south.until_metric("nowcast_cluster_epochs_total", |value| value == 1.0).await;
    let player = ada.id;
    drop(ada);
    let mut ada = join(north.address, "Ada", [7; 16]).await;
    assert_eq!(ada.id, player, "the player is the same");
    count_once(&mut ada, 1).await;
    count_once(&mut ada, 2).await;
    ada.until("the second count", |guest| counts(&guest.view) == 2).await;
    north.until_metric("nowcast_rooms", |rooms| rooms == 0.0).await;
    south.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;

    let text = ask(&link, &ControlRequest::Drain, "south").await.expect("the other server takes the room");
    assert!(text.contains("room yard moved from south to north"), "{text}");
    assert!(text.contains("south is drained"), "{text}");
    let directory = Directory::read(&link).await.expect("the directory can be read");
    assert_eq!(directory.rooms[0].1.owner.name, name("north"));
    drop(ada);
    // A drained server sends clients to the others.
    let mut ada = join(south.address, "Ada", [7; 16]).await;
    ada.until("the count of the room", |guest| counts(&guest.view) == 2).await;
    south.until_metric("nowcast_rooms", |rooms| rooms == 0.0).await;
    north.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;
    drop(ada);
    south.stop().await;
    north.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_moves_of_a_room_at_once_the_second_is_refused_and_a_drain_reports_each_room() {
    let nats = Nats::start();
    let north = nats.serve("north").await;
    let ada = join(north.address, "Ada", [7; 16]).await;
    let bob = join_room(north.address, "yard-2", "Bob", [8; 16]).await;
    let south = nats.serve("south").await;
    let link = nats.link().await;
    let to = |target: &str| ControlRequest::Move { room: name("yard"), target: name(target) };
    let (to_south, to_north) = (to("south"), to("north"));
    // The first server learns of the second one within its interval.
    let moved = async { while ask(&link, &to_south, "north").await.is_err() {} };
    tokio::time::timeout(PATIENCE, moved).await.expect("the room moves");
    let (one, other) = tokio::join!(ask(&link, &to_north, "south"), ask(&link, &to_north, "south"));
    let (text, refused) = match (one, other) {
        (Ok(text), Err(refused)) | (Err(refused), Ok(text)) => (text, refused),
        both => panic!("one of two moves is carried out: {both:?}"),
    };
    assert!(text.contains("moved from south to north"), "{text}");
    assert!(refused.contains("room yard is moving to north already"), "{refused}");

    let next = send(&link, name("north"), &ControlRequest::Drain).await.expect("the server answers");
    let ControlAnswer::Continues { text } = next else { panic!("a room is left: {next:?}") };
    assert!(text.contains("to south") && text.contains("Rooms that are left: 1"), "{text}");
    let mut reports = Vec::new();
    let answer = drain(&link, name("north"), |text| reports.push(text.to_owned())).await;
    let text = answer.expect("the server answers").into_result().expect("the last room moves");
    assert!(text.contains("to south") && text.contains("north is drained"), "{text}");
    assert_eq!(reports, [] as [String; 0], "the last room is in the answer");
    let directory = Directory::read(&link).await.expect("the directory can be read");
    assert!(
        directory.rooms.iter().all(|(_, entry)| entry.owner.name == name("south")),
        "{:?}",
        directory.rooms
    );
    assert_eq!(directory.rooms.len(), 2);
    drop((ada, bob));
    south.stop().await;
    north.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_takes_the_room_that_it_expects_if_the_owner_is_killed_before_the_room_has_moved() {
    let nats = Nats::start();
    let north = Process::start(&nats.of_process("north"));
    let mut ada = join(north.address, "Ada", [7; 16]).await;
    count_once(&mut ada, 1).await;
    let (south, link) = (nats.serve("south").await, nats.link().await);
    // The first request of a move.
    let expect = ControlRequest::Expect { room: name("yard") };
    ask(&link, &expect, "south").await.expect("the server expects the room");
    let prepare = ControlRequest::Prepare { room: name("yard") };
    ask(&link, &prepare, "south").await.expect("the server restores the room");
    north.kill();
    drop(ada);
    // Each request lets the room wait for its whole time again. So only the death of the owner ends the wait.
    let expecting = tokio::spawn(async move {
        loop {
            let _ = send(&link, name("south"), &expect).await;
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    });
    let mut ada = join(south.address, "Ada", [7; 16]).await;
    expecting.abort();
    ada.until("the count of the room", |guest| counts(&guest.view) == 1).await;
    count_once(&mut ada, 2).await;
    south.until_metric("nowcast_cluster_epochs_total", |value| value == 1.0).await;
    drop(ada);
    south.stop().await;
}

/// Receives until a durable action is confirmed, and until the session begins if it is new.
async fn confirmed(client: &mut FollowingClient, number: u32) {
    let receiving = async {
        let mut is_confirmed = false;
        while !is_confirmed || client.client().view().welcome().is_none() {
            let update = client.receive().await.expect("the client stays in the room");
            is_confirmed |=
                matches!(update, Update::Event(FromWorld::Done { number: done }) if done == number);
        }
    };
    tokio::time::timeout(PATIENCE, receiving).await.expect("the action is confirmed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_in_rust_follows_its_room_to_another_server_and_repeats_its_actions() {
    let nats = Nats::start();
    let north = nats.serve("north").await;
    let connector = Connector::new().carriers([CarrierKind::WebSocket]);
    let url = format!("nowcast://{}/yard", north.address);
    let joined = FollowingClient::join(connector, &url, Join::new("Ada").key([7; 16])).await;
    let mut ada = joined.expect("the server lets the client in");
    ada.act_once(1, "count", Value::Map(Vec::new())).expect("the lane has space");
    confirmed(&mut ada, 1).await;
    let player = ada.client().view().welcome().map(|welcome| welcome.player);

    let (south, link) = (nats.serve("south").await, nats.link().await);
    let to_south = ControlRequest::Move { room: name("yard"), target: name("south") };
    let moving = async {
        while let Err(cause) = ask(&link, &to_south, "north").await {
            // The first server learns of the second one within its interval.
            assert!(cause.contains("south is not alive"), "{cause}");
        }
    };
    tokio::pin!(moving);
    // The answer to this action comes from the one or the other server.
    ada.act_once(2, "count", Value::Map(Vec::new())).expect("the lane has space");
    let (mut has_moved, mut is_confirmed) = (false, false);
    let following = async {
        while !has_moved || !is_confirmed || ada.moves() == 0 {
            tokio::select! {
                () = &mut moving, if !has_moved => has_moved = true,
                update = ada.receive() => {
                    let update = update.expect("the client stays in the room");
                    is_confirmed |= matches!(update, Update::Event(FromWorld::Done { number: 2 }));
                }
            }
        }
    };
    tokio::time::timeout(PATIENCE, following).await.expect("the client follows");
    ada.act_once(3, "count", Value::Map(Vec::new())).expect("the lane has space");
    confirmed(&mut ada, 3).await;
    assert_eq!(ada.moves(), 1);
    assert_eq!(ada.client().view().welcome().map(|welcome| welcome.player), player, "the player is the same");
    let counts = ada.client().view().screens().find(|screen| screen.place == "counts");
    assert_eq!(
        counts.and_then(|screen| screen.value.as_f64()),
        Some(3.0),
        "each action was carried out once"
    );
    south.until_metric("nowcast_rooms", |rooms| rooms == 1.0).await;
    drop(ada);
    south.stop().await;
    north.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn joins_chat_events_and_leaves_of_a_room_are_published_as_subjects() {
    let nats = Nats::start();
    let north = nats.serve("north").await;
    let mut events = PlainNats::subscribe(&nats.servers, "nowcast.rooms.>").await;
    let mut ada = join(north.address, "Ada", [7; 16]).await;
    let (subject, event) = events.next().await;
    assert_eq!(subject, "nowcast.rooms.yard.join");
    assert_eq!((&event["version"], &event["room"], &event["epoch"]), (&1.into(), &"yard".into(), &1.into()));
    assert_eq!(
        (&event["player"], &event["name"], &event["program"]),
        (&ada.id.into(), &"Ada".into(), &false.into())
    );
    let joined = event["step"].as_u64().expect("the step is a number");

    count_once(&mut ada, 1).await;
    let (subject, event) = events.next().await;
    assert_eq!(subject, "nowcast.rooms.yard.event");
    assert_eq!((&event["name"], &event["payload"]["counts"]), (&"counted".into(), &1.into()));
    assert!(event["step"].as_u64() > Some(joined), "{event}");
    ada.say("hello");
    let (subject, event) = events.next().await;
    assert_eq!(subject, "nowcast.rooms.yard.chat");
    assert_eq!((&event["player"], &event["text"]), (&ada.id.into(), &"hello".into()));

    let bob = join(north.address, "Bob", [8; 16]).await;
    let (subject, event) = events.next().await;
    assert_eq!((subject.as_str(), &event["name"]), ("nowcast.rooms.yard.join", &"Bob".into()));
    bob.channel.close(0, "goodbye");
    let (subject, event) = events.next().await;
    assert_eq!((subject.as_str(), &event["player"]), ("nowcast.rooms.yard.leave", &bob.id.into()));
    let published = "nowcast_cluster_events_total{outcome=\"published\"}";
    north.until_metric(published, |value| value == 5.0).await;
    drop((ada, bob));
    north.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_cannot_be_used_is_refused_with_the_cure() {
    let refused = |change: fn(&mut ClusterConfig)| async move {
        let mut config = common::config();
        enter_cluster(&mut config, "nats://nowcast:secret@127.0.0.1:1", "north");
        change(config.cluster.as_mut().expect("the server is in a cluster"));
        match Server::bind(config).await {
            Err(error @ BindError::Cluster(_)) => error.to_string(),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("the server entered a cluster"),
        }
    };
    let text = refused(|_| {}).await;
    assert!(text.contains("127.0.0.1:1") && text.contains("Start it") && !text.contains("secret"), "{text}");
    let text = refused(|cluster| cluster.server = "North Pole".into()).await;
    assert!(text.contains("North Pole") && text.contains("--cluster-server"), "{text}");
    let text = refused(|cluster| cluster.addresses = "10.0.0.1 10.0.0.2".into()).await;
    assert!(text.contains("several separated by commas"), "{text}");
}
