//! Tests the program as a person uses it. All scenarios are in one program, because each test program is linked separately.

mod channels;
mod check;
mod hostile;
mod mcp;
mod minimal;
mod mistakes;
mod output;
mod own;
mod past;
#[cfg(unix)]
mod record;
mod save;
mod serve;
mod top;
mod transcript;
mod watch;
