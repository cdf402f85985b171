//! Parses hosts on the command line.

use std::net::{IpAddr, ToSocketAddrs};

use anyhow::bail;

/// Returns the addresses of a host. `localhost` may have an address in each family. `flag` is the command-line option that
/// names the host.
pub(crate) fn resolve(flag: &str, host: &str) -> anyhow::Result<Vec<IpAddr>> {
    if let Ok(address) = host.trim_matches(['[', ']']).parse() {
        return Ok(vec![address]);
    }
    let Ok(addresses) = (host, 0).to_socket_addrs() else {
        bail!("{flag}'{host}' is neither an address nor a name that this machine knows: try {flag}127.0.0.1");
    };
    let mut addresses: Vec<IpAddr> = addresses.map(|address| address.ip()).collect();
    addresses.dedup();
    Ok(addresses)
}
