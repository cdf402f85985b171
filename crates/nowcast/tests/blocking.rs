//! Threads without a runtime, and the four verbs between them.

use nowcast::blocking::{self, wait, wait_until};
use nowcast::session::{CloseCode, Closed, Refused};
use nowcast::{CarrierKind, Channel, Error, Key, ListenConfig, Listener, Message, MessageKind, Phase};
use std::time::{Duration, Instant};

const SOON: Duration = Duration::from_secs(20);

/// Returns both sides of a channel.
fn channel(of: &str) -> (Channel, Channel) {
    let name = format!("blocking-{}-{of}", std::process::id());
    let mut service = blocking::advertise(&name).expect("the name is fresh");
    let near = wait(nowcast::connect(&name)).expect("the name is advertised");
    (near, soon(service.accept()))
}

/// Returns the result of a call that is soon ready.
fn soon<T, E: std::fmt::Debug>(call: impl Future<Output = Result<T, E>>) -> T {
    wait_until(Some(Instant::now() + SOON), call).expect("it takes no longer").expect("it succeeds")
}

fn received(channel: &Channel) -> Message {
    blocking::receive(channel, Some(Instant::now() + SOON)).expect("open")
}

fn key_of(message: &Message) -> Option<u64> {
    message.key().map(Key::raw)
}

#[test]
fn the_newest_value_of_a_state_is_received_before_a_later_event() {
    let (near, far) = channel("verbs");
    let (numbers, words) = (near.lane(0).typed::<u32>(), near.lane(0).typed::<String>());
    for turn in 0..100 {
        wait(numbers.state(1, &turn)).expect("room");
    }
    wait(words.event(&"clicked".to_owned())).expect("room");
    wait(numbers.state(1, &100)).expect("room");
    let (mut states, mut last) = (0, received(&far));
    while key_of(&last) == Some(1) {
        states += 1;
        let next = received(&far);
        assert!(
            next.kind != MessageKind::Event || last.decode::<u32>() == Ok(99),
            "the newest value put before the event"
        );
        last = next;
    }
    assert_eq!(last.decode::<&str>(), Ok("clicked"));
    let last = received(&far);
    assert!(key_of(&last) == Some(1) && last.decode() == Ok(100_u32), "{last:?}");
    // Over a socket, the first values may be in flight before newer ones replace them.
    let most = if nowcast::local::CARRIER == CarrierKind::SharedMemory { 1 } else { 32 };
    assert!((1..=most).contains(&states), "{states} values were received");
    assert!(near.status().superseded >= 100 - most, "{:?}", near.status());
}

#[test]
fn a_command_gets_its_own_reply_and_earlier_messages_are_received_afterwards() {
    let (near, far) = channel("command");
    let server = std::thread::spawn(move || {
        let (texts, numbers) = (far.lane(0).typed::<String>(), far.lane(0).typed::<u8>());
        while let Ok(message) = blocking::receive(&far, None) {
            if let MessageKind::Command(command) = message.kind {
                let text: String = message.decode().expect("a text");
                numbers.try_state(1, &1).expect("room");
                numbers.try_event(&2).expect("room");
                numbers.try_state(1, &3).expect("room");
                wait(texts.reply(command, &text.to_uppercase())).expect("room");
            }
        }
    });
    let texts = near.lane(0).typed::<String>();
    for _ in 0..3 {
        let reply: String = wait(texts.call(&"hello".to_owned(), SOON)).expect("a reply");
        assert_eq!(reply, "HELLO");
    }
    let kept = std::iter::from_fn(|| near.try_receive().expect("open"));
    let kept = kept.map(|message| message.decode::<u8>().expect("a number"));
    // The state before the first event was replaced by the state of the second command.
    assert_eq!(kept.collect::<Vec<_>>(), [1, 2, 1, 2, 1, 2, 3]);
    drop(near);
    drop(texts);
    server.join().expect("no panic");
}

#[test]
fn a_command_ends_at_its_deadline_and_its_late_reply_is_counted() {
    let (near, far) = channel("deadline");
    let reply = wait(near.command(&[1], Duration::from_millis(10)));
    assert_eq!(reply, Err(Error::TimedOut));
    let asked = received(&far);
    let MessageKind::Command(command) = asked.kind else { panic!("a command was put: {asked:?}") };
    wait(far.reply(command, &[2])).expect("room");
    wait(far.event(&[3])).expect("room");
    let next = received(&near);
    assert_eq!(next.kind, MessageKind::Event, "nobody asks for the reply any more: {next:?}");
    assert_eq!(near.status().stats.dropped.late_replies, 1);
}

#[test]
fn a_thread_that_receives_passes_on_the_reply_that_another_one_awaits() {
    let (near, far) = channel("two-threads");
    let server = std::thread::spawn(move || {
        while let Ok(message) = blocking::receive(&far, None) {
            if let MessageKind::Command(command) = message.kind {
                wait(far.event(&message.bytes)).expect("room");
                wait(far.reply(command, &message.bytes)).expect("room");
            }
        }
    });
    let receiver = std::thread::spawn({
        let near = near.clone();
        move || (0..200_u32).map(|_| received(&near).bytes).collect::<Vec<_>>()
    });
    for number in 0..200_u32 {
        assert_eq!(wait(near.command(&number.to_le_bytes(), SOON)), Ok(number.to_le_bytes().to_vec()));
    }
    let events = receiver.join().expect("no panic");
    assert!(events.into_iter().eq((0..200_u32).map(|number| number.to_le_bytes().to_vec())));
    drop(near);
    server.join().expect("no panic");
}

#[test]
fn a_reply_behind_more_events_than_are_kept_is_an_error_and_no_event_is_lost() {
    let (near, far) = channel("behind");
    const EVENTS: u32 = 20_000;
    let server = std::thread::spawn(move || {
        for event in 0..EVENTS {
            wait(far.event(&event.to_le_bytes())).expect("the other side receives");
        }
        far
    });
    let reply = wait(near.command(&[1], SOON));
    assert_eq!(reply, Err(Error::Behind));
    for event in 0..EVENTS {
        assert_eq!(received(&near).bytes, event.to_le_bytes());
    }
    server.join().expect("no panic");
}

#[test]
fn a_thread_waits_while_the_lane_is_full() {
    const EVENTS: u32 = 20_000;
    let (near, far) = channel("full");
    let sender = std::thread::spawn(move || {
        for event in 0..EVENTS {
            wait(near.event(&event.to_le_bytes())).expect("the put waits for room");
        }
        let refused = (0..EVENTS).find_map(|event| near.try_event(&event.to_le_bytes()).err());
        assert_eq!(refused, Some(Error::Refused(Refused::Full)), "this call never waits");
    });
    for event in 0..EVENTS {
        assert_eq!(received(&far).bytes, event.to_le_bytes());
    }
    sender.join().expect("no panic");
}

#[test]
fn an_error_names_the_bound_that_a_call_exceeds() {
    let (near, _far) = channel("bounds");
    assert_eq!(wait(near.state(0, b"x")), Err(Error::Refused(Refused::KeyZero)));
    assert_eq!(wait(near.lane(8).event(b"x")), Err(Error::Refused(Refused::NoLane { lane: 8, lanes: 8 })));
    let (bytes, bytes_max) = (256 * 1_024 + 1, 256 * 1_024);
    let refused = wait(near.lane(1).state(1, &vec![0; bytes]));
    assert_eq!(refused, Err(Error::Refused(Refused::TooLarge { bytes, bytes_max })));
}

#[test]
fn every_call_on_a_closed_channel_returns_the_same_reason() {
    let (near, far) = channel("over");
    wait(near.event(b"last")).expect("room");
    far.close(70, "enough");
    let Err(Error::Closed(closed)) = blocking::receive(&far, None) else { panic!("the channel is closed") };
    assert_eq!((closed.code.0, closed.reason.as_str()), (70, "enough"));
    let over = Err(Error::Closed(closed.clone()));
    let calls = [wait(far.event(b"x")), wait(far.state(1, b"x")), wait(far.drained())];
    assert_eq!(calls, [over.clone(), over.clone(), over]);
    assert_eq!(wait(far.command(b"x", SOON)), Err(Error::Closed(closed.clone())));
    assert_eq!(far.status().phase, Phase::Closed(closed));
}

fn named<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> std::thread::JoinHandle<T> {
    std::thread::Builder::new().name(name.to_owned()).spawn(run).expect("a thread can be started")
}

/// Waits until a thread of this process sleeps in the kernel. The thread has then begun to wait for a message.
#[cfg(target_os = "linux")]
fn until_asleep(name: &str) {
    let is_asleep = || {
        std::fs::read_dir("/proc/self/task").expect("Linux lists threads").flatten().any(|thread| {
            let stat = std::fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            stat.contains(&format!("({name}) S "))
        })
    };
    let deadline = std::time::Instant::now() + SOON;
    while !is_asleep() {
        assert!(std::time::Instant::now() < deadline, "the thread {name} does not wait");
        std::thread::yield_now();
    }
}

/// Other systems do not report whether a thread sleeps. Most threads sleep after this time.
#[cfg(not(target_os = "linux"))]
fn until_asleep(_name: &str) {
    std::thread::sleep(Duration::from_millis(20));
}

#[test]
fn a_thread_that_sleeps_wakes_when_its_own_side_closes() {
    let (near, _far) = channel("asleep");
    // Two threads wait for messages, and a third closes.
    let sleeper = named("sleeper", {
        let near = near.clone();
        move || blocking::receive(&near, None)
    });
    let other = named("sleeper within", {
        let near = near.clone();
        move || blocking::receive(&near, Some(Instant::now() + SOON))
    });
    until_asleep("sleeper");
    until_asleep("sleeper within");
    near.close(64, "enough");
    for thread in [sleeper, other] {
        let Err(Error::Closed(closed)) = thread.join().expect("no panic") else {
            panic!("the channel is closed")
        };
        assert_eq!(closed.code.0, 64);
    }
}

#[test]
fn threads_exchange_messages_over_a_network() {
    let listener = wait(Listener::bind(ListenConfig::loopback(0))).expect("loopback has free ports");
    let mut service = wait(listener.advertise("threads")).expect("the name is free");
    for carrier in [CarrierKind::WebTransport, CarrierKind::WebSocket] {
        let url = format!("nowcast://127.0.0.1:{}/threads", listener.port());
        let connector = nowcast::Connector::new().carriers([carrier]);
        let near = wait(connector.connect(&url)).expect("the endpoint admits every client");
        let far = soon(service.accept());
        assert_eq!(near.status().carrier, Some(carrier));
        let server = std::thread::spawn(move || {
            while let Ok(message) = blocking::receive(&far, None) {
                if let MessageKind::Command(command) = message.kind {
                    wait(far.reply(command, &message.bytes)).expect("room");
                }
            }
            far.status().phase
        });
        assert_eq!(wait(near.command(b"echo", SOON)), Ok(b"echo".to_vec()));
        drop(near);
        let ended = server.join().expect("no panic");
        assert!(matches!(ended, Phase::Closed(Closed { code: CloseCode::DONE, .. })), "{ended:?}");
    }
}

#[test]
fn a_name_is_free_as_soon_as_its_service_is_dropped() {
    let name = format!("blocking-{}-again", std::process::id());
    for _ in 0..50 {
        drop(blocking::advertise(&name).expect("the name is free"));
    }
}

/// The environment variable of the process that is killed. It holds the name that this process advertises.
const DOOMED: &str = "NOWCAST_LOCAL_DOOMED";

#[test]
fn the_death_of_a_process_is_reported_after_its_messages_and_its_name_is_free() {
    let name = format!("doomed-{}", std::process::id());
    let mut doomed = std::process::Command::new(std::env::current_exe().expect("this program has a path"))
        .args(["--exact", "blocking::the_doomed_process", "--ignored"])
        .env(DOOMED, &name)
        .spawn()
        .expect("this program can be started again");
    let deadline = Instant::now() + SOON;
    let near = loop {
        match wait(nowcast::connect(&name)) {
            Ok(near) => break near,
            Err(error) => assert!(Instant::now() < deadline, "{error}"),
        }
        std::thread::yield_now();
    };
    assert_eq!(near.entry().process, Some(doomed.id()));
    let taken = blocking::advertise(&name).map(drop).expect_err("the other process still has the name");
    assert!(taken.to_string().contains(&format!("taken by process {}", doomed.id())), "{taken}");
    for event in 0..3_u8 {
        assert_eq!(received(&near).bytes, [event], "the other process still runs");
    }
    doomed.kill().expect("the child process runs");
    doomed.wait().expect("the child process can be waited for");
    let missed = blocking::receive(&near, Some(deadline));
    let Err(Error::Closed(closed)) = missed else { panic!("the process is dead: {missed:?}") };
    assert_eq!(closed.code, CloseCode::GAVE_UP);
    assert_eq!(wait(near.event(b"x")), Err(Error::Closed(closed)), "the reason stays the same");
    let listed = nowcast::local::advertised().expect("the directory is ours");
    assert!(listed.iter().all(|entry| entry.name != name || !entry.alive), "{listed:?}");
    blocking::advertise(&name).expect("the name of a dead process is free");
}

#[test]
#[ignore = "another test starts this test in a separate process, and kills it"]
fn the_doomed_process() {
    let Ok(name) = std::env::var(DOOMED) else { return };
    let mut service = blocking::advertise(&name).expect("the name is fresh");
    let channel = soon(service.accept());
    for event in 0..3_u8 {
        wait(channel.event(&[event])).expect("room");
    }
    // This process receives nothing, and is killed while it waits.
    let _ = blocking::receive(&channel, Some(Instant::now() + SOON));
}
