//! Two tasks of one machine and the four verbs between them.

use futures_util::StreamExt;
use nowcast::local::{self, Channel, Error, Message};
use nowcast::pack::{Pack, Packer, UnpackError, Unpacker};
use nowcast::{Bounds, CarrierKind, Refusal};
use proptest::prelude::*;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::{Duration, Instant};

fn soon() -> Instant {
    Instant::now() + Duration::from_secs(20)
}

/// Both sides of a channel, each with this room for what it puts.
fn channel(of: &str, bounds: Bounds) -> (Channel, Channel) {
    let name = format!("local-{}-{of}", std::process::id());
    let mut service = local::advertise_with(&name, bounds).expect("the name is fresh");
    std::thread::scope(|scope| {
        let near = scope.spawn(|| local::connect_with(&name, bounds, soon()).expect("it is advertised"));
        let far = service.accept(Some(soon())).expect("somebody connects");
        (near.join().expect("no panic"), far)
    })
}

#[test]
fn a_state_is_received_as_its_newest_value_and_an_event_behind_it() {
    let (mut near, mut far) = channel("verbs", Bounds::default());
    for turn in 0..100_u32 {
        near.state(1, &turn).expect("room");
    }
    near.event(&"clicked".to_owned()).expect("room");
    near.state(1, &100_u32).expect("room");
    let mut receive = || far.receive_wait(Some(soon())).expect("open");
    let (mut states, mut last) = (0, receive());
    while let Message::State { key: 1, .. } = last {
        states += 1;
        let next = receive();
        assert!(
            !matches!(next, Message::Event { .. }) || last.unpack::<u32>() == Ok(99),
            "the newest of before"
        );
        last = next;
    }
    assert_eq!(last.unpack::<String>().as_deref(), Ok("clicked"));
    let last = receive();
    assert!(matches!(last, Message::State { key: 1, .. }) && last.unpack() == Ok(100_u32), "{last:?}");
    // Over a socket the first values may be on their way before they are replaced.
    let most = if local::CARRIER == CarrierKind::SharedMemory { 1 } else { 32 };
    assert!((1..=most).contains(&states), "{states} values were received");
    let sent = near.counted().sent;
    assert_eq!(sent.replaced + sent.queued, 102, "{sent:?}");
}

#[test]
fn a_command_gets_its_own_reply_and_what_came_before_it_is_received_afterwards() {
    let (mut near, mut far) = channel("command", Bounds::default());
    let server = std::thread::spawn(move || {
        while let Ok(message) = far.receive_wait(None) {
            if let Message::Command(command) = message {
                let text: String = command.unpack().expect("a text");
                far.state(1, &1_u8).expect("room");
                far.event(&2_u8).expect("room");
                far.state(1, &3_u8).expect("room");
                far.reply(command, &text.to_uppercase()).expect("room");
            }
        }
    });
    for _ in 0..3 {
        let reply: String = near.command(&"hello".to_owned(), soon()).expect("a reply");
        assert_eq!(reply, "HELLO");
    }
    let mut kept = std::iter::from_fn(|| near.receive().expect("open")).map(|message| message.unpack::<u8>());
    assert_eq!(kept.next(), Some(Ok(1)));
    assert_eq!(kept.next(), Some(Ok(2)));
    // The state behind the first event was replaced by that of the second command.
    assert_eq!(kept.by_ref().map_while(Result::ok).collect::<Vec<_>>(), [1, 2, 1, 2, 3]);
    drop(near);
    server.join().expect("no panic");
}

#[test]
fn a_command_ends_at_its_deadline_and_its_late_reply_is_counted() {
    let (mut near, mut far) = channel("deadline", Bounds::default());
    let deadline = Instant::now() + Duration::from_millis(10);
    let reply = near.command::<u8>(&1_u8, deadline);
    assert!(matches!(reply, Err(Error::Queue(Refusal::TimedOut))), "{reply:?}");
    let asked = far.receive_wait(Some(soon())).expect("open");
    let Message::Command(command) = asked else { panic!("a command was put: {asked:?}") };
    far.reply(command, &2_u8).expect("room");
    far.event(&3_u8).expect("room");
    let next = near.receive_wait(Some(soon())).expect("open");
    assert!(matches!(next, Message::Event { .. }), "nobody asks for the reply any more: {next:?}");
    assert_eq!(near.counted().late_replies, 1);
}

#[test]
fn a_reply_behind_more_events_than_fit_is_an_error_and_no_event_is_lost() {
    let bounds = Bounds { entries_max: 4, bytes_max: 1000 };
    let (mut near, mut far) = channel("behind", bounds);
    let server = std::thread::spawn(move || {
        for event in 0..10_u8 {
            far.event(&event).expect("the other side receives");
        }
        far
    });
    let reply = near.command::<u8>(&1_u8, soon());
    assert!(matches!(reply, Err(Error::Behind)), "{reply:?}");
    for event in 0..10_u8 {
        assert_eq!(near.receive_wait(Some(soon())).expect("open").unpack(), Ok(event));
    }
    server.join().expect("no panic");
}

#[test]
fn messages_are_a_stream_that_ends_when_the_peer_closes() {
    let (mut near, mut far) = channel("stream", Bounds::default());
    let sender = std::thread::spawn(move || {
        for event in 0..50_u32 {
            near.event(&event).expect("room");
        }
        let doubled: u32 = block_on(near.command_async(&21_u32)).expect("a reply");
        assert_eq!(doubled, 42);
    });
    let events = block_on(async {
        let mut events = Vec::new();
        while let Some(message) = far.messages().next().await {
            match message.expect("in order") {
                Message::Event { bytes } => events.push(Unpacker::message::<u32>(&bytes).expect("a number")),
                Message::Command(command) => {
                    let number: u32 = command.unpack().expect("a number");
                    far.reply(command, &(2 * number)).expect("room");
                }
                Message::State { .. } => panic!("nobody puts states"),
            }
        }
        events
    });
    sender.join().expect("no panic");
    assert_eq!(events, (0..50).collect::<Vec<_>>());
}

#[test]
fn a_text_or_list_beyond_its_bound_is_refused_by_name() {
    let bytes = Packer::message(&"longer than four".to_owned());
    #[derive(Debug)]
    struct Short;
    impl Pack for Short {
        fn pack(&self, _: &mut Packer) {}
        fn unpack(from: &mut Unpacker<'_>) -> Result<Self, UnpackError> {
            from.take_text("nickname", 4).map(|_| Short)
        }
    }
    let refused = Unpacker::message::<Short>(&bytes).unwrap_err();
    assert_eq!(refused.to_string(), "nickname: 16 where at most 4 are taken");
    let endless = Unpacker::message::<Vec<()>>(&u32::MAX.to_le_bytes());
    assert!(matches!(endless, Err(UnpackError::TooMany { .. })), "{endless:?}");
}

/// Set for the process that is killed: the name it advertises.
const DOOMED: &str = "NOWCAST_LOCAL_DOOMED";

#[test]
fn a_process_that_is_killed_is_missed_after_what_it_put_and_its_name_is_free() {
    let name = format!("doomed-{}", std::process::id());
    let mut doomed = std::process::Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", "the_doomed_process", "--ignored"])
        .env(DOOMED, &name)
        .spawn()
        .expect("this program starts once more");
    let mut near = local::connect_with(&name, Bounds::default(), soon()).expect("it is advertised");
    let taken = local::advertise(&name).map(drop).expect_err("it lives");
    assert!(taken.to_string().contains(&format!("taken by process {}", doomed.id())), "{taken}");
    for event in 0..3_u8 {
        assert_eq!(near.receive_wait(Some(soon())).expect("it lives").unpack(), Ok(event));
    }
    doomed.kill().expect("it is ours");
    doomed.wait().expect("it ends");
    let missed = near.receive_wait(Some(soon()));
    assert!(matches!(missed, Err(Error::Queue(Refusal::PeerDied))), "{missed:?}");
    let listed = local::advertised().expect("the directory is ours");
    assert!(listed.iter().all(|entry| entry.name != name || !entry.alive), "{listed:?}");
    local::advertise(&name).expect("a dead one's name is free");
}

#[test]
#[ignore = "another test starts it as a process of its own, and kills it"]
fn the_doomed_process() {
    let Ok(name) = std::env::var(DOOMED) else { return };
    let mut service = local::advertise(&name).expect("the name is fresh");
    let mut channel = service.accept(Some(soon())).expect("somebody connects");
    for event in 0..3_u8 {
        channel.event(&event).expect("room");
    }
    // It hears nothing and is killed meanwhile.
    let _ = channel.receive_wait(Some(soon()));
}

type Everything = (u8, i64, f32, bool, [u16; 3], (String, Vec<(u32, String)>));

proptest! {
    #[test]
    fn what_is_packed_is_unpacked(
        numbers in any::<(u8, i64, bool, [u16; 3])>(), real in -1e30..1e30_f32,
        text in ".{0,20}", list in prop::collection::vec(any::<(u32, String)>(), 0..5),
    ) {
        let value: Everything = (numbers.0, numbers.1, real, numbers.2, numbers.3, (text, list));
        let bytes = Packer::message(&value);
        prop_assert_eq!(Unpacker::message::<Everything>(&bytes)?, value);
    }

    #[test]
    fn no_bytes_make_unpacking_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Unpacker::message::<Everything>(&bytes);
        let _ = Unpacker::message::<Vec<Vec<String>>>(&bytes);
    }
}

/// The smallest executor: parks the thread between polls.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(std::thread::Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
