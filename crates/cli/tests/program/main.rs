//! The program as a person meets it. One program holds all scenarios, because each program is linked by itself.

mod channels;
mod decode;
mod minimal;
mod motion;
mod output;
mod save;
mod serve;
mod transcript;
mod watch;
