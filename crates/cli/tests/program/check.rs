//! Runs `nowcast check` while its author edits.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use crate::own;

const RULES: &str = "local world = require('@nowcast/world')\nworld.kind('ball')\n";

#[test]
fn a_watching_check_reports_each_change_of_the_folder() {
    let folder = std::env::temp_dir().join(format!("nowcast-check-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    // A new text replaces the file at once, so no check sees half of it.
    let write = |text: &str| {
        fs::write(folder.join(".next"), text).expect("a file can be written");
        fs::rename(folder.join(".next"), folder.join("world.luau")).expect("a file can be renamed");
    };
    write(RULES);
    let mut check = own::program()
        .arg("check")
        .arg("--watch")
        .arg(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut checked = BufReader::new(check.stdout.take().expect("it is piped")).lines();
    let mut faults = BufReader::new(check.stderr.take().expect("it is piped")).lines();
    let first = checked.next().expect("it reports").expect("it is text");
    write(&format!("{RULES}world.on('start', function() wurld.show('a', 1) end)\n"));
    let fault = faults.next().expect("it reports").expect("it is text");
    checked.next();
    write(&format!("{RULES}world.kind('crate')\n"));
    let last = checked.next().expect("it reports").expect("it is text");
    let _ = check.kill();
    let _ = check.wait();
    let _ = fs::remove_dir_all(&folder);
    assert!(first.starts_with("1 kind, "), "{first}");
    assert!(fault.contains("world.luau:3:") && fault.contains("did you mean `world`?"), "{fault}");
    assert!(last.starts_with("2 kinds, "), "{last}");
}
