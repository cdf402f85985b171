//! Tests the program as a person uses it. All scenarios are in one program, because each test program is linked separately.

mod channels;
mod check;
#[cfg(all(feature = "cluster", feature = "lab", target_os = "linux"))]
mod cluster;
#[cfg(all(feature = "lab", target_os = "linux"))]
mod crash;
mod decode;
mod hostile;
mod load;
mod mcp;
mod minimal;
mod mistakes;
mod motion;
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
