//! Shows that `spec/DELTA.md` suffices to write a reader. A reader in Python, written from that page, reads the vectors.

use std::path::Path;
use std::process::Command;

#[test]
fn a_reader_written_from_the_page_alone_reads_every_delta() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut reader = Command::new("python3");
    reader.arg(here.join("tests/second_reader.py")).arg(here.join("../../spec/vectors/delta"));
    let output = reader.output().expect("this test needs python3: install it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
