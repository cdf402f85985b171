//! Runs `examples/minimal/client.py` against the real program. The client is written from `spec/MINIMAL.md`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::own;

#[test]
fn a_minimal_client_that_acts_during_a_cut_is_answered_after_the_resumption() {
    let mut server = own::program()
        .args(["serve", "--no-data", "--port", "0"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    BufReader::new(server.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim().rsplit_once(':').unwrap().1.to_owned();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/minimal/client.py");
    let client = Command::new("python3")
        .arg("-B")
        .arg(script)
        .args([&format!("127.0.0.1:{port}"), "playground", "wave"])
        .output();
    let _ = server.kill();
    let _ = server.wait();
    let client = client.expect("this test needs python3: install it");
    let said = String::from_utf8_lossy(&client.stdout);
    assert!(client.status.success(), "{said}{}", String::from_utf8_lossy(&client.stderr));
    let walked =
        said.lines().filter_map(|line| line.strip_prefix("walked ")?.strip_suffix(" m")?.parse::<f64>().ok());
    let walked: Vec<f64> = walked.collect();
    // On an idle machine, the client walks 3.2 m. On a busy one, less arrives within its second, but never nothing.
    assert!(walked.len() == 2 && walked.iter().all(|metres| *metres > 0.1), "{said}");
    assert!(said.contains("joined as player 1, entity ") && said.contains("refused: wave "), "{said}");
    assert!(said.contains("newest controls in force: 1\n"), "{said}");
    assert!(said.contains("cut, and resumed") && said.trim_end().ends_with("left"), "{said}");
}
