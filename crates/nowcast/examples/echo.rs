//! Sends every message back on the lane on which it arrived. With this program, a program in any language can be tested over any
//! carrier; see `nowcast::echo`.
//!
//! ```sh
//! cargo run -p nowcast --example echo -- --port 7777 --allow-origin http://localhost:5173
//! ```
//!
//! Pages of the origin that follows `--allow-origin` may join. Without this option, only programs may join.

use std::env;
use std::error::Error;

use nowcast::{ListenConfig, Listener};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut config = ListenConfig::loopback(number("--port")?.unwrap_or(0));
    config.announced_udp_port = number("--announced-udp-port")?;
    config.entry.origins.extend(value("--allow-origin"));
    let listener = Listener::bind(config).await?;
    let mut service = listener.advertise("echo").await?;
    println!("echo is at nowcast://127.0.0.1:{}/echo", listener.port());
    loop {
        let channel = service.accept().await?;
        tokio::spawn(async move {
            println!("a channel ended: {}", nowcast::echo(&channel).await);
        });
    }
}

/// Returns the argument that follows an option.
fn value(option: &str) -> Option<String> {
    env::args().skip_while(|argument| argument != option).nth(1)
}

fn number(option: &str) -> Result<Option<u16>, Box<dyn Error>> {
    Ok(value(option).map(|value| value.parse()).transpose()?)
}
