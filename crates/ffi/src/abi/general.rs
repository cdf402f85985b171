//! Versions, errors and handles.

use std::ffi::c_char;

use super::{guard, pointers};
use crate::channel::BEGIN;
use crate::failure::{Status, with_newest};
use crate::handles;

/// The version of this interface. It changes whenever a program must be compiled again.
pub const NOWCAST_ABI_VERSION: u32 = 1;

/// Returns the version of the interface of the library that is loaded. A program compares it with `NOWCAST_ABI_VERSION` of the
/// header with which it was compiled, and does not continue if they differ.
#[unsafe(no_mangle)]
pub extern "C" fn nowcast_abi_version() -> u32 {
    NOWCAST_ABI_VERSION
}

/// Returns the version of the library, for example `0.1.0`. The text lives as long as the library.
#[unsafe(no_mangle)]
pub extern "C" fn nowcast_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}

/// Copies the text of the newest error of this thread into `text`, cut to `capacity` with its NUL byte. Returns the whole length
/// without the NUL byte. A success does not change the text.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn nowcast_last_error(text: *mut c_char, capacity: usize) -> usize {
    with_newest(|newest| {
        // SAFETY: rule "Pointers" of the header.
        unsafe { pointers::truncated(newest, text, capacity) };
        newest.len()
    })
}

/// Returns the time in nanoseconds since the first use of the library, on the clock of `produced_ns`.
#[unsafe(no_mangle)]
pub extern "C" fn nowcast_now_ns() -> i64 {
    i64::try_from(BEGIN.elapsed().as_nanos()).unwrap_or(i64::MAX)
}

/// Frees any handle. The handle is invalid from then on, also in other threads. Freeing it again is the error
/// `NOWCAST_STATUS_INVALID_HANDLE`.
///
/// A channel closes when its handle and all worlds that use it are freed, after its messages have arrived or after 5 s. A call of
/// another thread that waits on the channel keeps it open until the call returns: end that call with `nowcast_channel_close`.
#[unsafe(no_mangle)]
pub extern "C" fn nowcast_free(handle: u64) -> Status {
    guard(|| handles::free(handle))
}
