//! A page that both processes share. The instruments exchange signals through the page. The carriers that consist only of memory
//! use it for their messages.
#![allow(unsafe_code)]

use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::fs::{MemfdFlags, OFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};

use super::LocalError;
use super::message::now_ns;

/// Number of words of a mapping: one page.
const WORDS: usize = 512;
/// Number of words from one [`Word`] to the next: two cache lines, because processors fetch lines in pairs.
const STRIDE: usize = 16;

/// The words of the page. No two words share a cache line.
#[derive(Clone, Copy, Debug)]
#[repr(usize)]
pub enum Word {
    /// The child is ready.
    Ready,
    /// The parent begins.
    Go,
    /// The number of the newest message that the child has taken.
    Taken,
    /// Asks the child to end.
    Stop,
    /// The current phase of the child. The process that counts the child's system calls reads this word.
    Phase,
    /// A figure that the child reports.
    Figure,
    /// One direction of the cache line that measures the round trip.
    Ping,
    /// The opposite direction of `Ping`.
    Pong,
    /// The word of the bare futex.
    Futex,
    /// The first of the words of the raw mailbox.
    Mailbox,
}

/// The shared page.
#[derive(Debug)]
pub struct Control {
    start: NonNull<AtomicU64>,
    file: OwnedFd,
}

// SAFETY: Only shared references to atomics are given out, and the mapping exists as long as the value.
unsafe impl Send for Control {}
// SAFETY: As for `Send`.
unsafe impl Sync for Control {}

impl Control {
    /// Creates a new page.
    ///
    /// # Errors
    /// Fails if the system refuses the page.
    pub fn create() -> Result<Control, LocalError> {
        let failed = LocalError::system("a shared page could not be made");
        let create = || {
            let file = rustix::fs::memfd_create("nowcast-lab", MemfdFlags::CLOEXEC)?;
            rustix::fs::ftruncate(&file, (WORDS * 8) as u64)?;
            Ok(file)
        };
        create().map_err(|errno: rustix::io::Errno| failed(errno.into())).and_then(Control::map)
    }

    /// Opens the page of another process by its [`Control::path`].
    ///
    /// # Errors
    /// Fails if the page does not exist, or is not a control page.
    pub fn open(path: &str) -> Result<Control, LocalError> {
        let failed = LocalError::system("the shared page could not be opened");
        let file = rustix::fs::open(path, OFlags::RDWR | OFlags::CLOEXEC, rustix::fs::Mode::empty());
        file.map_err(|errno| failed(errno.into())).and_then(Control::map)
    }

    /// Returns the path by which a child finds this page, while this process runs.
    pub fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()))
    }

    fn map(file: OwnedFd) -> Result<Control, LocalError> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: The kernel chooses the address, so nothing of this process is replaced. The file has this length, and no
        // program shortens it: only this program knows the file.
        let start = unsafe { mmap(std::ptr::null_mut(), WORDS * 8, protection, flags, file.as_fd(), 0) };
        let failed = LocalError::system("a shared page could not be mapped");
        let start = start.map_err(|errno| failed(errno.into()))?;
        let start = NonNull::new(start.cast()).expect("the kernel maps nothing at null");
        Ok(Control { start, file })
    }

    fn words(&self) -> &[AtomicU64] {
        // SAFETY: `start` is the page-aligned start of a mapping of this many words, which lives as long as `self`. Every bit
        // pattern is a valid `AtomicU64`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), WORDS) }
    }

    /// Returns one word.
    #[inline]
    pub fn word(&self, word: Word) -> &AtomicU64 {
        &self.words()[word as usize * STRIDE]
    }

    /// The words from [`Word::Mailbox`] to the end of the page.
    #[inline]
    pub fn mailbox(&self) -> &[AtomicU64] {
        &self.words()[Word::Mailbox as usize * STRIDE..]
    }

    /// Returns the half of [`Word::Futex`] that the kernel compares.
    pub fn futex(&self) -> &AtomicU32 {
        let word = std::ptr::from_ref(self.word(Word::Futex)).cast::<AtomicU32>();
        // SAFETY: The first half of an aligned word of the mapping is an aligned `AtomicU32` that lives as long.
        unsafe { &*word }
    }

    /// Spins until a word reaches a value. Each process has its own core, so spinning blocks no other work.
    ///
    /// # Errors
    /// Fails if the other process does not reach the value in time.
    pub fn wait(
        &self,
        word: Word,
        least: u64,
        seconds: u64,
        waiting_for: &'static str,
    ) -> Result<(), LocalError> {
        let until = now_ns() + seconds * 1_000_000_000;
        loop {
            for _ in 0..1000 {
                if self.word(word).load(Ordering::Acquire) >= least {
                    return Ok(());
                }
                std::hint::spin_loop();
            }
            if now_ns() > until {
                return Err(LocalError::Late { waiting_for, seconds });
            }
        }
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        // SAFETY: The mapping was made in `map` with this length, and nothing refers to it any more.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), WORDS * 8) };
    }
}
