//! Handles Ctrl-C during a measurement.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// Ends this program with one line of output when it is interrupted. No process and no host remains: the programs on the hosts
/// end with the threads that started them, and a host ends with its programs.
///
/// # Errors
/// If signals cannot be watched.
pub fn end_on_interrupt() -> io::Result<()> {
    let seen = Arc::new(AtomicUsize::new(0));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
        signal_hook::flag::register_usize(signal, Arc::clone(&seen), signal as usize)?;
    }
    std::thread::Builder::new().name("interrupts".into()).spawn(move || {
        loop {
            let signal = seen.load(Ordering::Relaxed);
            if signal != 0 {
                eprintln!("\ninterrupted; no figure was stored");
                // The exit code that shells report for a program that a signal ended.
                std::process::exit(128 + signal as i32);
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    })?;
    Ok(())
}
