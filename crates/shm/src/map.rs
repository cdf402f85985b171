//! A memory-mapped file. Only this module of the project needs unsafe code.
#![allow(unsafe_code)]

use crate::memory::Memory;
use rustix::fd::AsFd;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::futex;
use std::io;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

/// A mapped segment. All access uses atomic words. So a peer that writes into it at any moment can change the values that are
/// read, but cannot cause undefined behaviour.
#[derive(Debug)]
pub(crate) struct Map {
    start: NonNull<AtomicU64>,
    words: usize,
}

// SAFETY: `Map` gives out only shared references to atomics, which any thread may use. It unmaps only when it is dropped, and
// then no such reference is left.
unsafe impl Send for Map {}
// SAFETY: As for `Send`.
unsafe impl Sync for Map {}

impl Map {
    /// Maps `words` words of a file. The caller must have checked that the file has at least `words` words and is sealed against
    /// shrinking. A read beyond the end of the file would end the process.
    pub(crate) fn new(file: impl AsFd, words: usize) -> io::Result<Map> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: The kernel chooses the address (the hint is null), so no memory of this process is replaced.
        let start = unsafe { mmap(std::ptr::null_mut(), words * 8, protection, flags, file, 0)? };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::AddrNotAvailable)?;
        Ok(Map { start, words })
    }

    #[inline]
    fn all(&self) -> &[AtomicU64] {
        // SAFETY: `start` is the page-aligned start of a mapping of `words` words that lives until `self` is dropped. The
        // file cannot shrink. Every bit pattern is an `AtomicU64`, and atomics may change while shared references exist.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }

    /// Sleeps while the word at `index` holds `number`, until it is woken or `time` has passed. It may return early.
    pub(crate) fn sleep(&self, index: usize, number: u64, time: Duration) {
        let timeout =
            futex::Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        // Every outcome requires the same of the caller: to check again. The flags leave out PRIVATE, because another process
        // wakes this one.
        let _ = futex::wait(self.low_half(index), futex::Flags::empty(), number as u32, Some(&timeout));
    }

    /// Wakes the sleepers on the word at `index`.
    pub(crate) fn wake(&self, index: usize) {
        // The call fails only for addresses that are not mapped.
        let _ = futex::wake(self.low_half(index), futex::Flags::empty(), 1);
    }

    /// Returns the half of a word that the kernel compares when it puts a thread to sleep. The program itself never reads through
    /// it.
    fn low_half(&self, index: usize) -> &AtomicU32 {
        let word = std::ptr::from_ref(&self.all()[index]).cast::<AtomicU32>();
        let half = if cfg!(target_endian = "little") { 0 } else { 1 };
        // SAFETY: Both halves of the word are aligned for an `AtomicU32`. Both lie in the mapping, and the mapping lives as long
        // as `self`.
        unsafe { &*word.add(half) }
    }
}

impl Memory for Arc<Map> {
    #[inline]
    fn words(&self) -> &[AtomicU64] {
        self.all()
    }

    #[inline]
    fn will_read(&self, index: usize, lines: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in 0..lines {
            let address = self.start.as_ptr().wrapping_add(index + line * 8).cast::<i8>();
            // SAFETY: A prefetch is a hint: it reads nothing into the program and does not fault for any address.
            unsafe { std::arch::x86_64::_mm_prefetch::<{ std::arch::x86_64::_MM_HINT_T0 }>(address) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (index, lines);
    }

    #[inline]
    fn will_write(&self, index: usize, lines: usize) {
        #[cfg(target_arch = "x86_64")]
        for line in 0..lines {
            let address = self.start.as_ptr().wrapping_add(index + line * 8);
            // The intrinsic emits this instruction only in builds for newer processors. Older processors execute it as a no-op.
            // SAFETY: As in `will_read`.
            unsafe {
                std::arch::asm!("prefetchw [{}]", in(reg) address, options(nostack, preserves_flags, readonly));
            }
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = (index, lines);
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: The mapping was made in `new` with this address and length, and no reference into it outlives `self`.
        // Unmapping a whole mapping does not fail.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.words * 8) };
    }
}
