//! The updatable queue in shared memory, between two processes on one machine, found by name.
//!
//! ```
//! use nowcast_shm::{advertise, connect};
//! use nowcast_queue::{Bounds, Key, Receiver, Sender};
//!
//! let name = format!("doc-tracker-{}", std::process::id());
//! let mut service = advertise(&name, &[Bounds::default()])?;
//! let renderer = std::thread::spawn(move || { // usually another process
//!     let mut channel = connect(&name, &[Bounds::default()])?;
//!     let mut value = Vec::new();
//!     let key = channel.receiver.get(&mut value, None).expect("the tracker is alive");
//!     Ok::<_, nowcast_shm::OpenError>((key, value))
//! });
//! let mut channel = service.accept(None)?;
//! channel.sender.put(Key::state(1), b"a pose", None).expect("the renderer is alive");
//! assert_eq!(renderer.join().unwrap()?, (Key::state(1), b"a pose".to_vec()));
//! # Ok::<_, nowcast_shm::OpenError>(())
//! ```
//!
//! **The one invariant**: a block of memory with a value belongs to exactly one side at any time, and changes sides by one atomic
//! step. So neither side ever reads a block that is being written, and both sides are wait-free. A process may die between any
//! two instructions without harm to the other.
//!
//! - An update of up to 104 bytes costs two cache lines and one atomic exchange. It makes no system call unless the reader
//!   sleeps. A put that replaces a value makes none at all.
//! - The kernel reports a peer's death at once ([`Refusal::PeerDied`]). If wake-ups are lost because a program wrote garbage into
//!   the segment, the death is known within [`DETECTION_MAX`].
//! - Everything read from shared memory is checked like hostile input, and each value has a checksum. An invalid value ends the
//!   channel with [`Refusal::Corrupt`], which describes the damage.
//! - A segment is an anonymous, sealed file. The program that puts messages into the segment creates it. This program also
//!   chooses the size, like `outSize` in the paper. Only pages that were ever used take memory. If either process dies, nothing
//!   is left on disk.
//!
//! **How it is tested**, and how to run the long forms:
//!
//! | what | how |
//! | --- | --- |
//! | the laws, on random operations in one and two threads | `cargo xtask conformance` |
//! | every interleaving and weak-memory outcome of the protocol, complete for short scripts | `RUSTFLAGS="--cfg loom" cargo test -p nowcast-shm --release --lib models` |
//! | processes killed at random moments and at every named step | `NOWCAST_KILLS=10000 cargo test -p nowcast-shm --release --test death` |
//! | segments damaged in every byte, garbage written in the meantime, wrong owners, lengths, versions, greetings | `cargo test -p nowcast-shm --lib` |
//! | no system call while both sides are awake: the kernel forbids them | `cargo test -p nowcast-shm --test channel` |
//! | data races, with a nightly toolchain that has the sources of the standard library | `RUSTFLAGS=-Zsanitizer=thread cargo +nightly test -Zbuild-std --target x86_64-unknown-linux-gnu -p nowcast-shm --test conformance` |
//! | undefined behaviour of the queue in process, where Miri is installed (it knows no shared mappings) | `cargo +nightly miri test -p nowcast-queue --lib --test queue -- --skip million` |
//!
//! **Systems.** This crate works only on Linux: it uses memfd with seals, futex, pidfd and epoll. On other systems it is empty,
//! and `crates/nowcast` provides local names over a local socket instead. On macOS the same protocol could use an unlinked
//! `shm_open` object, `__ulock` and kqueue. On Windows it could use a file mapping, `WaitOnAddress` (with an event across
//! processes) and job handles. Only the modules `map`, `segment`, `link` and `watcher` depend on the system.
//!
//! [`Refusal::PeerDied`]: nowcast_queue::Refusal::PeerDied
//! [`Refusal::Corrupt`]: nowcast_queue::Refusal::Corrupt

#![cfg(any(target_os = "linux", loom))]

#[cfg_attr(loom, allow(dead_code))]
mod gate;
#[cfg_attr(loom, allow(dead_code))]
mod lane;
#[cfg_attr(loom, allow(dead_code))]
mod layout;
mod memory;
mod pool;
mod sync;

#[cfg(all(loom, test))]
mod models;

#[cfg(not(loom))]
mod channel;
#[cfg(not(loom))]
mod ends;
#[cfg(not(loom))]
mod error;
#[cfg(all(test, not(loom)))]
mod hostile;
#[cfg(not(loom))]
mod link;
#[cfg(not(loom))]
mod map;
#[cfg(not(loom))]
mod names;
#[cfg(not(loom))]
mod segment;
#[cfg(feature = "kill-steps")]
pub mod steps;
#[cfg(not(loom))]
mod watcher;

#[cfg(not(loom))]
pub use channel::{ShmChannel, pair};
#[cfg(not(loom))]
pub use ends::{ShmReceiver, ShmSender};
#[cfg(not(loom))]
pub use error::OpenError;
pub use layout::{ENTRIES_MAX, LANES_MAX, SEGMENT_BYTES_MAX};
#[cfg(not(loom))]
pub use names::{Listener, advertise, advertised, connect, connect_until};
#[cfg(not(loom))]
pub use nowcast_names::{Advertised, NameError};
#[cfg(not(loom))]
pub use watcher::DETECTION_MAX;
