//! Clusters that cannot be used are refused by name, and nothing that exists is changed.

use std::time::Duration;

use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::Config;
use nowcast_jetstream::{Bucket, ChangeError, ClusterError, JetStreamStore, Link, LinkOptions, StoreOptions};

use super::{Servers, block_on, own_name, shared};

#[test]
fn wrong_credentials_and_servers_that_do_not_answer_are_named_without_a_password() {
    let address = shared();
    let wrong = address.replace(nowcast_dev_nats::PASSWORD, "secret-guess");
    let refused = block_on(Link::connect(&wrong, LinkOptions::default())).err().expect("it is refused");
    assert!(matches!(refused, ClusterError::Credentials { .. }), "{refused}");
    assert!(!refused.to_string().contains("secret-guess"), "{refused}");
    // Nothing listens on the port of discard.
    let away = block_on(Link::connect("nats://a:secret-guess@127.0.0.1:9", LinkOptions::default()));
    let away = away.err().expect("nothing answers");
    assert!(matches!(away, ClusterError::Unreachable { .. }), "{away}");
    assert!(away.to_string().contains("127.0.0.1:9") && !away.to_string().contains("secret"), "{away}");
}

#[test]
fn a_bucket_of_another_program_is_named_and_not_touched() {
    let address = shared();
    let options = own_name();
    let name = format!("KV_{}-accounts", options.name);
    let client = block_on(super::plain_client(&address)).unwrap();
    let context = block_on(async { async_nats::jetstream::new(client) });
    let theirs = Config {
        name: name.clone(),
        subjects: vec![format!("theirs.{}", options.name)],
        description: Some("invoices".to_owned()),
        ..Config::default()
    };
    block_on(context.create_stream(theirs)).unwrap();
    // A new stream may have no leader yet. A stream keeps one message of those with the same id.
    let is_kept = (0..50).any(|attempt| {
        std::thread::sleep(Duration::from_millis(10 * attempt));
        let invoice = PublishMessage::build().payload("invoice".into()).message_id("invoice");
        block_on(async { context.send_publish(format!("theirs.{}", options.name), invoice).await?.await })
            .is_ok()
    });
    assert!(is_kept, "the stream of the other program takes a message");
    let link = block_on(Link::connect(&address, options)).unwrap();
    let refused = block_on(JetStreamStore::open(link, StoreOptions::default())).err().expect("it is refused");
    let ClusterError::Foreign { name: named, why } = &refused else { panic!("{refused}") };
    assert!(*named == name && why.contains("invoices"), "{refused}");
    let stream = block_on(context.get_stream(name)).unwrap();
    let info = stream.cached_info();
    assert_eq!((info.state.messages, info.config.description.as_deref()), (1, Some("invoices")));
}

#[test]
fn one_server_is_refused_because_it_cannot_keep_three_replicas() {
    let servers = Servers::start(1);
    let link = block_on(Link::connect(&servers.address(), own_name())).unwrap();
    let refused = block_on(JetStreamStore::open(link, StoreOptions::default())).err().expect("it is refused");
    assert!(matches!(refused, ClusterError::Replicas { replicas: 3, .. }), "{refused}");
}

#[test]
fn an_entry_changes_only_from_the_revision_that_the_change_names() {
    let address = shared();
    block_on(async {
        let link = Link::connect(&address, own_name()).await.unwrap();
        let bucket = Bucket::open(&link, "rooms").await.unwrap();
        assert_eq!(bucket.get("plaza").await.unwrap(), None);
        let first = bucket.set("plaza", "a", 0).await.unwrap();
        assert!(matches!(bucket.set("plaza", "b", 0).await, Err(ChangeError::Conflict)));
        let second = bucket.set("plaza", "b", first).await.unwrap();
        assert!(matches!(bucket.set("plaza", "c", first).await, Err(ChangeError::Conflict)));
        assert!(matches!(bucket.delete("plaza", first).await, Err(ChangeError::Conflict)));
        let entry = bucket.get("plaza").await.unwrap().expect("it was set");
        assert_eq!((entry.value.as_deref(), entry.revision), (Some(&b"b"[..]), second));
        let deleted = bucket.delete("plaza", second).await.unwrap();
        let entry = bucket.get("plaza").await.unwrap().expect("a deletion can be seen");
        assert_eq!((entry.value, entry.revision), (None, deleted));
        bucket.set("plaza", "d", deleted).await.unwrap();
        let listed = bucket.list().await.unwrap();
        assert_eq!(listed.iter().map(|(key, ..)| key.as_str()).collect::<Vec<_>>(), ["plaza"]);
    });
}
