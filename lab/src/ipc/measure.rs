//! The measurements, from the sender's side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::local::child::{Companion, Drained, Latencies, Orders, Task};
use crate::local::{Carrier, Control, LocalError, Meeting, Message, Outlet, Pinned, Word, now_ns, two_cores};
use crate::report::Samples;

/// Whether a receiver can poll for messages without the kernel.
pub(super) fn can_spin(carrier: Carrier) -> bool {
    matches!(carrier, Carrier::Mailbox | Carrier::Updates | Carrier::Events)
}

/// Whether a receiver can sleep until there is a message.
pub(super) fn can_sleep(carrier: Carrier) -> bool {
    carrier != Carrier::Mailbox
}

/// Whether a rate is meaningful for the carrier.
pub(super) fn has_rate(carrier: Carrier) -> bool {
    carrier != Carrier::Futex
}

/// Returns a name that no other run uses.
pub(crate) fn unique_name() -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    format!("lab-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed))
}

/// The shared page, the receiving process, and our end of the carrier.
type Begun = (Arc<Control>, Companion, Box<dyn Outlet>);

/// Starts the receiver, and opens the carrier to it.
pub(crate) fn begin(carrier: Carrier, task: Task) -> Result<Begun, LocalError> {
    let control = Arc::new(Control::create()?);
    let meeting = Meeting::prepare(carrier, &unique_name(), &control)?;
    let orders = Orders {
        task,
        carrier: carrier.word(),
        address: meeting.address.clone(),
        page: control.path().to_string_lossy().into_owned(),
        core: two_cores()[1],
    };
    let mut companion = Companion::start(&orders, meeting.is_pipe())?;
    let outlet = meeting.connect(companion.input())?;
    control.wait(Word::Ready, 1, 10, "the receiver to be ready")?;
    Ok((control, companion, outlet))
}

/// If a measurement was preempted for this long, it ends with the samples that it has.
const TIME_MAX_NS: u64 = 1_500_000_000;
/// Number of messages that are sent before the measured ones. They are sent at short intervals, because the first passes
/// through the slots touch new pages. A pass through blocks takes more messages.
const WARM_UP: u64 = 2_048;
const WARM_UP_PAUSE_NS: u64 = 1_000;

/// Returns the one-way latency in nanoseconds of `count` messages, or of fewer if the time runs out. Each message leaves
/// `pause_ns` after the previous one was taken, so no messages queue.
pub(super) fn latency(
    carrier: Carrier,
    asleep: bool,
    pause_ns: u64,
    count: u64,
) -> Result<Samples, LocalError> {
    let (control, companion, mut outlet) = begin(carrier, Task::Latency { asleep })?;
    let pinned = Pinned::to(two_cores()[0]);
    let mut end = now_ns() + TIME_MAX_NS;
    for number in 1..=WARM_UP + count {
        let mut message = Message::new(number, 0);
        let pause_ns = if number > WARM_UP { pause_ns } else { pause_ns.min(WARM_UP_PAUSE_NS) };
        let until = now_ns() + pause_ns;
        while now_ns() < until {
            std::hint::spin_loop();
        }
        message.stamp(now_ns());
        outlet.send(&message)?;
        control.wait(Word::Taken, number, 10, "a message to be taken")?;
        if number == WARM_UP {
            end = now_ns() + TIME_MAX_NS;
        }
        if now_ns() > end {
            break;
        }
    }
    control.word(Word::Stop).store(1, Ordering::Release);
    // Dropping the outlet ends the stream. The end wakes a receiver that sleeps on the stream.
    drop(outlet);
    drop(pinned);
    let latencies: Latencies = companion.report()?;
    Ok(latencies.ns.into_iter().skip(WARM_UP as usize).map(|ns| ns as f64).collect())
}

/// Messages a second.
#[derive(Debug, Clone, Copy)]
pub(super) struct Rate {
    pub(super) written: f64,
    /// Number of messages read. It equals the number of messages written, unless only the newest message counts.
    pub(super) read: f64,
}

/// Returns the messages a second while one side writes and the other reads, both at full speed. Returns `None` if the two never
/// ran at the same time.
///
/// The time is cut into slices of a millisecond. The median includes only slices in which the reader read messages and neither
/// side was preempted for another program. Preemption on a shared machine is not a property of the carrier. A process that
/// sleeps in the carrier counts, because the carrier causes the sleep.
pub(super) fn rate(carrier: Carrier, slices: usize) -> Result<Option<Rate>, LocalError> {
    const SLICE_NS: u64 = 1_000_000;
    const READ_LEAST: u64 = 32;
    let asleep = !can_spin(carrier);
    let (control, companion, mut outlet) = begin(carrier, Task::Drain { asleep })?;
    let pinned = Pinned::to(two_cores()[0]);
    let reader = companion.id().to_string();
    let received = || control.word(Word::Figure).load(Ordering::Relaxed);
    let (mut number, mut written, mut read) = (0, Samples::new(), Samples::new());
    let end = now_ns() + TIME_MAX_NS;
    while written.len() < slices && now_ns() < end {
        let preempted = || [preemptions("thread-self"), preemptions(&reader)];
        let preempted_before = preempted();
        let (start, sent_before, received_before) = (now_ns(), number, received());
        let mut took = 0;
        while took < SLICE_NS {
            for _ in 0..64 {
                number += 1;
                outlet.send(&Message::new(number, start))?;
            }
            took = now_ns() - start;
        }
        let taken = received() - received_before;
        if taken >= READ_LEAST && preempted() == preempted_before {
            written.push((number - sent_before) as f64 / (took as f64 / 1e9));
            read.push(taken as f64 / (took as f64 / 1e9));
        }
    }
    // The reader of a stream sleeps in the kernel, and the end of the stream wakes it. Other carriers may lose the remaining
    // messages when the writer ends.
    let outlet = (!asleep).then_some(outlet);
    control.wait(Word::Taken, number, 10, "the rest to be delivered")?;
    control.word(Word::Stop).store(1, Ordering::Release);
    drop((outlet, pinned));
    let drained: Drained = companion.report()?;
    if !carrier.replaces() && drained.received != number {
        let cause = format!("{} of {number} messages arrived", drained.received);
        return Err(LocalError::Carrier { carrier: carrier.name(), cause });
    }
    Ok((!written.is_empty()).then(|| Rate { written: written.quantile(0.5), read: read.quantile(0.5) }))
}

/// Returns how often the kernel preempted a thread that had work to do; 0 if the kernel does not report it.
fn preemptions(thread: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let count = status.lines().find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"));
    count.and_then(|count| count.trim().parse().ok()).unwrap_or_default()
}

/// Returns the round trip of a cache line to the other core, in nanoseconds, as the median of batches.
pub(super) fn round_trip_ns() -> Result<f64, LocalError> {
    const BATCH: u64 = 200;
    let (control, companion, outlet) = begin(Carrier::Mailbox, Task::Echo)?;
    let pinned = Pinned::to(two_cores()[0]);
    let (ping, pong) = (control.word(Word::Ping), control.word(Word::Pong));
    let mut samples = Samples::new();
    let end = now_ns() + TIME_MAX_NS;
    for batch in 0..200 {
        let start = now_ns();
        if start > end && batch > 0 {
            break;
        }
        for number in 1..=BATCH {
            let number = batch * BATCH + number;
            ping.store(number, Ordering::Release);
            while pong.load(Ordering::Acquire) != number {
                std::hint::spin_loop();
            }
        }
        samples.push((now_ns() - start) as f64 / BATCH as f64);
    }
    control.word(Word::Stop).store(1, Ordering::Release);
    drop((pinned, outlet));
    companion.report::<()>()?;
    Ok(samples.quantile(0.5))
}
