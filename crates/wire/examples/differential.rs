//! Reads lines that consist of a shape and a body, both in hexadecimal. Answers each line with the body that this crate writes
//! for the decoded value. This program is used in differential tests of other implementations.

use std::io::{BufRead, Write};

use nowcast_wire::{Effort, Shape, decode_value, encode_value};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    for (number, line) in std::io::stdin().lock().lines().enumerate() {
        let line = line?;
        // The two efforts alternate, so that every coding of columns occurs.
        let effort = if number % 2 == 0 { Effort::Fast } else { Effort::Small };
        let (shape, body) = line.split_once(' ').ok_or("a line is a shape, a space and a body")?;
        let answer =
            echo(&bytes(shape)?, &bytes(body)?, effort).unwrap_or_else(|error| format!("error: {error}"));
        writeln!(out, "{answer}")?;
    }
    Ok(out.flush()?)
}

fn echo(shape: &[u8], body: &[u8], effort: Effort) -> nowcast_wire::Result<String> {
    let shape = Shape::from_bytes(shape)?;
    let value = decode_value(&shape, body)?;
    let mut written = Vec::new();
    encode_value(&shape, &value, effort, &mut written)?;
    Ok(written.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn bytes(hex: &str) -> Result<Vec<u8>, std::num::ParseIntError> {
    (0..hex.len() / 2).map(|i| u8::from_str_radix(&hex[2 * i..2 * i + 2], 16)).collect()
}
