//! The header is that of the Rust code, and programs in C and C++ work: examples against a server, and bad input, with the
//! address and undefined-behaviour sanitizers.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use nowcast_server::script::Assets;
use nowcast_server::{Config, Rules, Server, WorldConfig, read_assets, read_world};
use nowcast_wire::save::{FileWriter, Options};

/// Set it to write the header instead of comparing it.
const WRITE: &str = "NOWCAST_WRITE_HEADER";
/// Maximum number of functions.
const FUNCTIONS_MAX: usize = 60;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn the_header_matches_the_code_and_has_at_most_60_functions() {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(home.join("cbindgen.toml")).expect("the configuration is valid");
    let mut builder = cbindgen::Builder::new().with_config(config);
    for file in
        ["failure.rs", "world.rs", "abi/general.rs", "abi/channels.rs", "abi/worlds.rs", "abi/saves.rs"]
    {
        builder = builder.with_src(home.join("src").join(file));
    }
    let mut generated = Vec::new();
    builder.generate().expect("the code can be read").write(&mut generated);
    let generated = String::from_utf8(generated).expect("a header is text");
    let path = home.join("include/nowcast.h");
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &generated).expect("the header can be written");
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        generated == written,
        "include/nowcast.h is old: run this test with {WRITE}=1, and commit the file"
    );
    let functions = generated.lines().filter(|line| line.contains(" nowcast_") || line.contains("*nowcast_"));
    let functions = functions.filter(|line| !line.starts_with("//") && line.contains('(')).count();
    assert!((40..=FUNCTIONS_MAX).contains(&functions), "{functions} functions");
}

/// The folder of the library that was built for this test.
fn library() -> PathBuf {
    let program = std::env::current_exe().expect("the test has a path");
    let deps = program.parent().expect("the test is in a folder").to_path_buf();
    let places = [deps.clone(), deps.join("..")];
    let found = places.into_iter().find(|place| place.join("libnowcast_ffi.so").exists());
    found.expect("cargo has built libnowcast_ffi.so for this test")
}

/// Compiles a program, and returns its path.
fn compile(source: &str, name: &str, more: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs");
    std::fs::create_dir_all(&folder).expect("the folder of the test can be made");
    let (program, source, library) = (folder.join(name), root().join(source), library());
    let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let (compiler, standard) = if is_cpp { ("c++", "-std=c++20") } else { ("cc", "-std=gnu11") };
    let output = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-g", "-O1", "-fsanitize=address,undefined"])
        .args(["-fno-sanitize-recover=all", "-fno-omit-frame-pointer"])
        .arg(source)
        .arg("-I")
        .arg(root().join("crates/ffi/include"))
        .arg("-I")
        .arg(root().join("bindings/cpp/include"))
        .arg("-L")
        .arg(&library)
        .args(["-lnowcast_ffi", "-lm", "-pthread"])
        .arg(format!("-Wl,-rpath,{}", library.display()))
        .args(more)
        .arg("-o")
        .arg(&program)
        .output()
        .expect("a C compiler is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    program
}

fn start(program: &Path, arguments: &[&str]) -> Child {
    Command::new(program)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts")
}

/// Waits for a program, and returns what it printed.
fn finish(child: Child) -> String {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
    let (stdout, stderr) = (String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
    assert!(status.success(), "{status}\n{stdout}\n{stderr}");
    stdout.into_owned()
}

/// Runs `client` against the playground.
fn in_the_playground(client: impl FnOnce(&str) -> String) -> String {
    let runtime = tokio::runtime::Runtime::new().expect("threads can be started");
    let address = runtime.block_on(async {
        let folder = root().join("worlds/playground");
        let sources = read_world(&folder).expect("the sample worlds can be read");
        let (assets, _) = read_assets(&folder, &Assets::default()).expect("their assets can be read");
        let worlds = vec![WorldConfig { name: "playground".into(), rules: Rules::Packed(sources, assets) }];
        let config = Config { worlds, hosts: vec![[127, 0, 0, 1].into()], port: 0, ..Config::default() };
        let server = Server::bind(config).await.expect("a port is free");
        let address = server.handle().addresses()[0];
        tokio::spawn(server.run(std::future::pending()));
        address
    });
    client(&format!("nowcast://{address}/playground"))
}

#[test]
fn two_c_programs_exchange_commands_and_states() {
    let program = compile("bindings/c/examples/ping_pong.c", "ping_pong", &[]);
    let name = format!("ffi-ping-{}", std::process::id());
    let server = start(&program, &["serve", &name]);
    let asked = finish(start(&program, &["ask", &name]));
    finish(server);
    assert_eq!(asked.lines().take(5).collect::<Vec<_>>(), ["ping 0", "ping 1", "ping 2", "ping 3", "ping 4"]);
    assert!(asked.lines().nth(5).is_some_and(|line| line.starts_with("state 7: ping 4,")), "{asked}");
}

#[test]
fn a_c_program_walks_in_the_playground() {
    let program = compile("bindings/c/examples/walk.c", "walk", &[]);
    let walked = in_the_playground(|url| finish(start(&program, &[url])));
    assert!(walked.contains(" walked ") && walked.contains(" is a person at "), "{walked}");
}

#[derive(nowcast_wire::Wire)]
struct Score {
    name: String,
    points: u32,
}

#[test]
fn a_cpp_program_uses_channels_publishers_and_save_files() {
    let program = compile("bindings/cpp/examples/tour.cpp", "tour", &[]);
    let save = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs/scores.save");
    let scores = [("Ada", 3), ("Bo", 5)].map(|(name, points)| Score { name: name.into(), points });
    let mut writer = FileWriter::new(Vec::new(), Options::default()).expect("memory can be written");
    writer.write(&scores).expect("memory can be written");
    std::fs::write(&save, writer.finish().expect("memory can be written")).expect("the folder exists");
    let toured = finish(start(&program, &[&save.to_string_lossy()]));
    let expected = ["reply: haha", "published: looks up", "2 rows of Score { name: text, points: u32 }"];
    let rows = [r#"{"name":"Ada","points":3}"#, r#"{"name":"Bo","points":5}"#];
    let lines: Vec<&str> = toured.lines().collect();
    assert_eq!(lines[..5], [&expected[..], &rows[..]].concat());
    assert!(lines[5].starts_with("an error: nothing is known as"), "{toured}");
}

#[test]
fn the_programs_of_the_page_print_their_results() {
    let page = std::fs::read_to_string(root().join("docs/how-to/c-and-cpp.md")).expect("the page exists");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs");
    std::fs::create_dir_all(&folder).expect("the folder of the test can be made");
    for (language, printed) in [("c", "key 1: 0.1 1.7 -0.3\n"), ("cpp", "looks up\n")] {
        let block = page.split(&format!("```{language}\n")).nth(1).and_then(|rest| rest.split("```").next());
        let source = folder.join(format!("page.{language}"));
        std::fs::write(&source, block.expect("the page has a block")).expect("the folder can be written");
        let program = compile(&source.to_string_lossy(), &format!("page-{language}"), &[]);
        assert_eq!(finish(start(&program, &[])), printed);
    }
}

#[test]
fn package_files_name_the_version_of_the_library() {
    let folder = root().join("bindings/c/packaging");
    let version = env!("CARGO_PKG_VERSION");
    for (file, line) in [
        ("nowcast.pc", format!("Version: {version}")),
        ("NowcastConfigVersion.cmake", format!("set(PACKAGE_VERSION \"{version}\")")),
    ] {
        let text = std::fs::read_to_string(folder.join(file)).expect("the file exists");
        assert!(text.lines().any(|found| found == line), "{file} has another version than {version}");
    }
}

#[test]
fn bad_input_is_an_error_and_never_undefined_behaviour() {
    let program = compile("bindings/c/tests/bad_input.c", "bad_input", &[]);
    assert_eq!(finish(start(&program, &[])), "bad input: every call was an error\n");
}
