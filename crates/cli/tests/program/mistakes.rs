//! Mistakes of beginners at the command line. Each message names the cause, and then the cure.

use std::fs;
use std::path::Path;

use crate::own;

/// Runs the program in a folder. Returns the error that it prints.
fn error_of(folder: &Path, arguments: &[&str]) -> String {
    let output = own::program().current_dir(folder).args(arguments).output().expect("the program starts");
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{arguments:?} fails: {error}");
    error
}

#[test]
fn mistakes_at_the_command_line_name_the_cause_and_then_the_cure() {
    let folder = std::env::temp_dir().join(format!("nowcast-mistakes-{}", std::process::id()));
    fs::create_dir_all(folder.join("full")).expect("the temporary folder can be written");
    let cases: [(&[&str], &str, &str); 6] = [
        (&["ping", "no-such-service"], "nothing is known as 'no-such-service'", "`nowcast names` lists"),
        (&["top", "127.0.0.1:1", "--once"], "no metrics from 127.0.0.1:1", "`nowcast serve`"),
        (&["new", "full"], "full exists already", "Choose the name of a new folder"),
        (
            &["token", "--key-file", "absent.pem", "--room", "x"],
            "absent.pem cannot be read",
            "`nowcast token --make-key FILE`",
        ),
        (&["serve", "absent"], "there is no folder absent", "`nowcast new absent`"),
        (&["check", "full"], "full is not a world", "`nowcast new DIR`"),
    ];
    for (arguments, cause, cure) in cases {
        let error = error_of(&folder, arguments);
        let place = |text: &str| error.find(text).unwrap_or_else(|| panic!("{text:?} is not in {error}"));
        assert!(place(cause) < place(cure), "{error}");
    }
    let record = error_of(&folder, &["play", "absent.pcapng"]);
    assert_eq!(record.matches("(os error 2)").count(), 1, "{record}");
    let _ = fs::remove_dir_all(&folder);
}

#[test]
fn a_world_without_tests_is_reported_as_such() {
    let folder = std::env::temp_dir().join(format!("nowcast-untested-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("the temporary folder can be written");
    fs::write(folder.join("world.luau"), "local world = require('@nowcast/world')\nworld.kind('ball')\n")
        .expect("a file can be written");
    let world = folder.display().to_string();
    let untested = error_of(&folder, &["test", &world]);
    assert!(untested.contains("no case was played") && untested.contains("tests/NAME.luau"), "{untested}");
    let only = error_of(&folder, &["test", &world, "--only", "goal"]);
    assert!(only.contains("no case has \"goal\" in its name"), "{only}");
    let _ = fs::remove_dir_all(&folder);
}
