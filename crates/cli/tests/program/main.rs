//! The program as a person meets it. One program holds all scenarios, because each program is linked by itself.

mod channels;
#[cfg(all(feature = "lab", target_os = "linux"))]
mod crash;
mod decode;
mod hostile;
mod load;
mod minimal;
mod motion;
mod output;
mod own;
mod past;
mod save;
mod serve;
mod top;
mod transcript;
mod watch;
