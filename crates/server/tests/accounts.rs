//! Accounts of players and their saved data: visits, restarts, SIGKILL, several rooms, forged proofs, tokens.

mod common;

use common::process::{Folder, Process, serve_if_child_with};
use common::session::Guest;
use common::{TestServer, script};
use nowcast::admission::{Claims, TokenKey, unix_time};
use nowcast::{CarrierKind, Connector};
use nowcast_server::Config;
use nowcast_server::store::SqliteReader;
use nowcast_world_client::{Identity, Join};
use nowcast_world_protocol::session::ToWorld;
use std::time::Duration;

const RULES: &str = r#"
local world = require("@nowcast/world")
world.saved { default = { coins = 0, visits = 0 } }
local Floor = world.kind("floor", { body = { motion = "fixed", shape = "box", size = vector.create(400, 1, 400) } })
local Person = world.kind("person", { walker = {} })
local function show(player)
    world.show("coins", player.saved.coins, player)
    world.show("visits", player.saved.visits, player)
    world.show("account", player.account or "guest", player)
end
world.on("start", function() Floor:spawn { at = vector.create(0, -0.5, 0) } end)
world.on("join", function(player)
    player.saved.visits += 1
    player:spawn_avatar(Person, { at = vector.create(player.id % 40, 0.92, 20) })
    show(player)
end)
world.action("earn", {}, function(player)
    player.saved.coins += 1
    show(player)
end, { durable = true, label = "Earn" })
"#;

#[tokio::test]
async fn the_process_that_serves_until_it_is_killed() {
    serve_if_child_with(script("shop", RULES), two_worlds).await;
}

fn two_worlds(config: &mut Config) {
    config.worlds.push(script("arcade", RULES));
}

async fn serve(folder: Option<&Folder>) -> TestServer {
    TestServer::with(|config| {
        config.worlds = vec![script("shop", RULES)];
        two_worlds(config);
        config.data = folder.map(|folder| folder.0.clone());
    })
    .await
}

fn shown(guest: &Guest, place: &str) -> f64 {
    guest.view.screen(place).and_then(serde_json::Value::as_f64).unwrap_or(-1.0)
}

fn account(guest: &Guest) -> String {
    guest.view.screen("account").and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
}

async fn enter(server: &TestServer, room: &str, identity: &Identity) -> Guest {
    let mut guest = Guest::join_with_identity(server.address, room, "Ada", identity).await;
    guest.until("its data", |guest| shown(guest, "visits") >= 1.0).await;
    guest
}

async fn earn(guest: &mut Guest, coins: f64) {
    guest.act("earn", &[]);
    guest.until("the coin", |guest| shown(guest, "coins") == coins).await;
}

#[tokio::test]
async fn data_follows_an_account_through_visits_restarts_and_rooms() {
    let folder = Folder::new();
    let (ada, bo) = (Identity::generate().unwrap(), Identity::generate().unwrap());
    let server = serve(Some(&folder)).await;
    let mut guest = enter(&server, "shop", &ada).await;
    let name = account(&guest);
    assert!(name.starts_with("key:"), "{name}");
    earn(&mut guest, 1.0).await;
    drop(guest);
    let guest = enter(&server, "shop", &ada).await;
    assert_eq!((shown(&guest, "coins"), shown(&guest, "visits")), (1.0, 2.0));
    let other = enter(&server, "shop", &bo).await;
    assert_eq!((shown(&other, "coins"), shown(&other, "visits")), (0.0, 1.0));
    assert_ne!(account(&other), name);
    server.stop().await;

    let server = serve(Some(&folder)).await;
    let mut guest = enter(&server, "shop", &ada).await;
    assert_eq!((account(&guest), shown(&guest, "coins"), shown(&guest, "visits")), (name.clone(), 1.0, 3.0));
    earn(&mut guest, 2.0).await;

    // Another room of the same world takes the account, and the first room closes its client.
    let mut second = enter(&server, "shop-2", &ada).await;
    assert_eq!((shown(&second, "coins"), shown(&second, "visits")), (2.0, 4.0));
    let closed = guest.end().await;
    assert!(closed.reason.contains("joined another room"), "{closed:?}");
    earn(&mut second, 3.0).await;
    // Another world has data of its own, and leaves the client in its room.
    let arcade = enter(&server, "arcade", &ada).await;
    assert_eq!((account(&arcade), shown(&arcade, "coins")), (name.clone(), 0.0));
    earn(&mut second, 4.0).await;
    server.stop().await;

    let reader = SqliteReader::open(&folder.0).unwrap();
    let listed: Vec<_> =
        reader.accounts(None).unwrap().into_iter().map(|it| (it.world, it.account)).collect();
    assert_eq!(listed.iter().filter(|(_, account)| *account == name).count(), 2, "{listed:?}");
    let saved = reader.account("shop", &name).unwrap().expect("it is stored");
    assert_eq!(saved.value.get("coins").and_then(|coins| coins.as_f64()), Some(4.0));
}

#[tokio::test]
async fn data_stays_while_a_server_without_a_store_runs() {
    let server = serve(None).await;
    let ada = Identity::generate().unwrap();
    let mut guest = enter(&server, "shop", &ada).await;
    earn(&mut guest, 1.0).await;
    drop(guest);
    let guest = enter(&server, "shop-2", &ada).await;
    assert_eq!((shown(&guest, "coins"), shown(&guest, "visits")), (1.0, 2.0));
}

#[tokio::test]
async fn two_clients_of_one_account_share_its_data_in_one_room() {
    let server = serve(None).await;
    let ada = Identity::generate().unwrap();
    let mut one = enter(&server, "shop", &ada).await;
    let mut two = enter(&server, "shop", &ada).await;
    assert_eq!(shown(&two, "visits"), 2.0);
    earn(&mut one, 1.0).await;
    earn(&mut two, 2.0).await;
    drop(one);
    earn(&mut two, 3.0).await;
}

#[tokio::test]
async fn a_forged_or_repeated_proof_is_refused_by_name() {
    let server = serve(None).await;
    let url = format!("nowcast://{}/shop", server.address);
    let connect = || async {
        Connector::new().carriers([CarrierKind::WebSocket]).connect(&url).await.expect("the room has space")
    };
    let refused = |channel: nowcast::Channel| async move {
        let mut guest = Guest::introduce(channel, Join::new("Eve"));
        guest.end().await.reason
    };
    let channel = connect().await;
    channel
        .try_event(&nowcast_wire::encode_to_vec(&ToWorld::Identify {
            key: vec![4; 65],
            signature: vec![7; 64],
        }))
        .unwrap();
    let reason = refused(channel).await;
    assert!(reason.contains("proof of the identity"), "{reason}");
    // A proof that was made for another session.
    let (first, second) = (connect().await, connect().await);
    let ada = Identity::generate().unwrap();
    second.try_event(&nowcast_wire::encode_to_vec(&ada.prove(&first).unwrap())).unwrap();
    let reason = refused(second).await;
    assert!(reason.contains("proof of the identity"), "{reason}");
    // A second proof after the join is malformed.
    let guest = enter(&server, "shop", &ada).await;
    guest.tell(&ada.prove(&guest.channel).unwrap());
    let mut guest = guest;
    assert_eq!(guest.end().await.code.0, 64);
}

#[tokio::test]
async fn the_bearer_of_a_token_has_the_account_of_its_name() {
    let key = TokenKey::secret(b"32 bytes that nobody else knows.").unwrap();
    let server = TestServer::with(|config| {
        config.worlds = vec![script("shop", RULES)];
        config.entry.key = Some(key.clone());
    })
    .await;
    let expiry = unix_time() + Duration::from_secs(60);
    let enter = |token: String, identity: Option<Identity>| {
        let url = format!("nowcast://{}/shop", server.address);
        async move {
            let connector = Connector::new().carriers([CarrierKind::WebSocket]).token(token);
            let channel = connector.connect(&url).await.expect("the token is valid");
            if let Some(identity) = identity {
                identity.present(&channel).unwrap();
            }
            let mut guest = Guest::join_by(channel, "").await;
            guest.until("its data", |guest| shown(guest, "visits") >= 1.0).await;
            guest
        }
    };
    let named = Claims::new(expiry).name("Ada L.").sign(&key).unwrap();
    let guest = enter(named.clone(), Some(Identity::generate().unwrap())).await;
    assert_eq!(account(&guest), "token:Ada L.", "a token has precedence over an identity");
    drop(guest);
    let guest = enter(named, None).await;
    assert_eq!((account(&guest), shown(&guest, "visits")), ("token:Ada L.".to_owned(), 2.0));
    let nameless = Claims::new(expiry).sign(&key).unwrap();
    let guest = enter(nameless.clone(), Some(Identity::generate().unwrap())).await;
    assert!(account(&guest).starts_with("key:"));
    assert_eq!(account(&enter(nameless, None).await), "guest");
}

/// Number of kills; `NOWCAST_KILLS` sets another one.
fn kills() -> usize {
    let kills =
        std::env::var("NOWCAST_KILLS").map_or(8, |kills| kills.parse().expect("NOWCAST_KILLS is a number"));
    assert!(kills > 0, "NOWCAST_KILLS=0: the test would check nothing");
    kills
}

#[tokio::test]
async fn confirmed_changes_of_saved_data_survive_kills_and_happen_once() {
    let folder = Folder::new();
    let ada = Identity::generate().unwrap();
    let (mut number, mut confirmed) = (0, 0.0);
    let key = [7; 16];
    for kill in 0..kills() {
        let process = Process::start(&folder.0);
        // Every other life is spent in another room of the same world.
        let room = if kill % 2 == 0 { "shop" } else { "shop-2" };
        let url = format!("nowcast://{}/{room}", process.address);
        let channel =
            Connector::new().carriers([CarrierKind::WebSocket]).connect(&url).await.expect("it is free");
        ada.present(&channel).unwrap();
        let mut guest = Guest::introduce(channel, Join::new("Ada").key(key));
        guest.until("its data", |guest| shown(guest, "coins") >= 0.0).await;
        let found = shown(&guest, "coins");
        assert!(
            found == confirmed || found == confirmed + 1.0,
            "kill {kill}: {found} of {confirmed} confirmed"
        );
        confirmed = found;
        for _ in 0..5 {
            number += 1;
            guest.act_once(number, "earn", &[]);
            guest.until("the confirmation", |guest| guest.view.done.contains(&number)).await;
            confirmed += 1.0;
        }
        // This one may be confirmed or not.
        number += 1;
        guest.act_once(number, "earn", &[]);
        process.kill();
    }
    let reader = SqliteReader::open(&folder.0).unwrap();
    let listed = reader.accounts(Some("shop")).unwrap();
    assert_eq!(listed.len(), 1);
    let saved = reader.account("shop", &listed[0].account).unwrap().expect("it is stored");
    let coins = saved.value.get("coins").and_then(|coins| coins.as_f64()).expect("it is a number");
    assert!(coins == confirmed || coins == confirmed + 1.0, "{coins} of {confirmed}");
}
