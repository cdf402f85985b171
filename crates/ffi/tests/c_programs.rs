//! The header is that of the Rust code, and programs in C and C++ work: examples against a server, and bad input, with the
//! address, undefined-behaviour and thread sanitizers.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

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

/// The checks that are compiled into a program.
#[derive(Clone, Copy)]
enum Sanitizer {
    AddressAndUndefined,
    /// Sees the C and C++ code and the system calls of the library. The library's own atomics are not instrumented.
    Thread,
}

/// Compiles a program with the address and undefined-behaviour sanitizers, and returns its path.
fn compile(source: &str, name: &str, more: &[&str]) -> PathBuf {
    compile_with(Sanitizer::AddressAndUndefined, source, name, more)
}

fn compile_with(sanitizer: Sanitizer, source: &str, name: &str, more: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs");
    std::fs::create_dir_all(&folder).expect("the folder of the test can be made");
    let (program, source, library) = (folder.join(name), root().join(source), library());
    let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
    let (compiler, standard) = if is_cpp { ("c++", "-std=c++20") } else { ("cc", "-std=gnu11") };
    let output = Command::new(compiler)
        .args([standard, "-Wall", "-Wextra", "-Werror", "-g", "-O1"])
        .arg(match sanitizer {
            Sanitizer::AddressAndUndefined => "-fsanitize=address,undefined",
            Sanitizer::Thread => "-fsanitize=thread",
        })
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

/// The thread sanitizer does not report memory that only the library uses, because it does not see the library's atomics.
const THREAD_SANITIZER: (&str, &str) = ("TSAN_OPTIONS", "ignore_noninstrumented_modules=1:halt_on_error=1");

fn start(program: &Path, arguments: &[&str]) -> Child {
    Command::new(program)
        .args(arguments)
        .env(THREAD_SANITIZER.0, THREAD_SANITIZER.1)
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
    ping_pong(&compile("bindings/c/examples/ping_pong.c", "ping_pong", &[]));
}

fn ping_pong(program: &Path) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("ffi-ping-{}-{number}", std::process::id());
    let server = start(program, &["serve", &name]);
    let asked = finish(start(program, &["ask", &name]));
    finish(server);
    assert_eq!(asked.lines().take(5).collect::<Vec<_>>(), ["ping 0", "ping 1", "ping 2", "ping 3", "ping 4"]);
    assert!(asked.lines().nth(5).is_some_and(|line| line.starts_with("state 7: ping 4,")), "{asked}");
}

#[test]
fn a_c_program_walks_in_the_playground() {
    walk(&compile("bindings/c/examples/walk.c", "walk", &[]));
}

fn walk(program: &Path) {
    let walked = in_the_playground(|url| finish(start(program, &[url])));
    assert!(walked.contains(" walked ") && walked.contains(" is a person at "), "{walked}");
}

#[derive(nowcast_wire::Wire)]
struct Score {
    name: String,
    points: u32,
}

#[test]
fn a_cpp_program_uses_channels_publishers_and_save_files() {
    tour(&compile("bindings/cpp/examples/tour.cpp", "tour", &[]));
}

fn tour(program: &Path) {
    let save = program.with_extension("save");
    let scores = [("Ada", 3), ("Bo", 5)].map(|(name, points)| Score { name: name.into(), points });
    let mut writer = FileWriter::new(Vec::new(), Options::default()).expect("memory can be written");
    writer.write(&scores).expect("memory can be written");
    std::fs::write(&save, writer.finish().expect("memory can be written")).expect("the folder exists");
    let toured = finish(start(program, &[&save.to_string_lossy()]));
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

/// Whether a tool is there. If not, prints that a test did not run.
fn has(tool: &str, arguments: &[&str]) -> bool {
    let found = Command::new(tool).args(arguments).output().is_ok_and(|output| output.status.success());
    if !found {
        println!("not run: `{tool} {}` does not work here", arguments.join(" "));
    }
    found
}

/// Runs a tool, and returns what it printed.
fn tool(line: &[&str], env: &[(&str, &str)]) -> String {
    let output = Command::new(line[0]).args(&line[1..]).envs(env.iter().copied()).output();
    let Output { status, stdout, stderr } = output.expect("the tool is installed");
    assert!(status.success(), "{line:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8_lossy(&stdout).trim().to_owned()
}

/// Installs the library into a folder of the test, as docs/how-to/c-and-cpp.md describes it.
fn installed(name: &str) -> PathBuf {
    let prefix = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let packaging = root().join("bindings/c/packaging");
    for (file, folder) in [
        (root().join("crates/ffi/include/nowcast.h"), "include"),
        (root().join("bindings/cpp/include/nowcast.hpp"), "include"),
        (library().join("libnowcast_ffi.so"), "lib"),
        (packaging.join("nowcast.pc"), "lib/pkgconfig"),
        (packaging.join("NowcastConfig.cmake"), "lib/cmake/Nowcast"),
        (packaging.join("NowcastConfigVersion.cmake"), "lib/cmake/Nowcast"),
    ] {
        let folder = prefix.join(folder);
        std::fs::create_dir_all(&folder).expect("the folder of the test can be made");
        let name = file.file_name().expect("the file has a name");
        std::fs::copy(&file, folder.join(name)).expect("the file can be copied");
    }
    prefix
}

#[test]
fn pkg_config_builds_a_program_with_the_installed_library() {
    if !has("pkg-config", &["--version"]) {
        return;
    }
    let prefix = installed("installed-for-pkg-config");
    let path = prefix.join("lib/pkgconfig").to_string_lossy().into_owned();
    let found = |question: &str| tool(&["pkg-config", question, "nowcast"], &[("PKG_CONFIG_PATH", &path)]);
    assert_eq!(found("--modversion"), env!("CARGO_PKG_VERSION"));
    let (program, source) = (prefix.join("ping_pong"), root().join("bindings/c/examples/ping_pong.c"));
    let (program, source) = (program.to_string_lossy(), source.to_string_lossy());
    let (flags, libraries) = (found("--cflags"), found("--libs"));
    let rpath = format!("-Wl,-rpath,{}", prefix.join("lib").display());
    let line =
        [&["cc", "-std=gnu11", &source, &rpath, "-o", &program], &*flags.split(' ').collect::<Vec<_>>()];
    tool(&[&line.concat()[..], &libraries.split(' ').collect::<Vec<_>>()].concat(), &[]);
    ping_pong(Path::new(&*program));
}

const CMAKE_PROJECT: &str = "cmake_minimum_required(VERSION 3.16)
project(tour CXX)
set(CMAKE_CXX_STANDARD 20)
find_package(Threads REQUIRED)
find_package(Nowcast 0.1 REQUIRED)
add_executable(tour ${TOUR})
target_link_libraries(tour Nowcast::nowcast Threads::Threads)
";

#[test]
fn cmake_builds_a_program_with_the_installed_library_and_refuses_a_newer_version() {
    if !has("cmake", &["--version"]) {
        return;
    }
    let prefix = installed("installed-for-cmake");
    let configure = |name: &str, project: &str| {
        let folder = prefix.join(name);
        std::fs::create_dir_all(&folder).expect("the folder of the test can be made");
        std::fs::write(folder.join("CMakeLists.txt"), project).expect("the folder can be written");
        let output = Command::new("cmake")
            .arg("-S")
            .arg(&folder)
            .arg("-B")
            .arg(folder.join("build"))
            .arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()))
            .arg(format!("-DTOUR={}", root().join("bindings/cpp/examples/tour.cpp").display()))
            .output()
            .expect("cmake starts");
        (folder.join("build"), output)
    };
    let (build, configured) = configure("project", CMAKE_PROJECT);
    assert!(configured.status.success(), "{}", String::from_utf8_lossy(&configured.stderr));
    tool(&["cmake", "--build", &build.to_string_lossy()], &[]);
    tour(&build.join("tour"));

    let (_, refused) = configure("newer", &CMAKE_PROJECT.replace("Nowcast 0.1", "Nowcast 99"));
    let reason = String::from_utf8_lossy(&refused.stderr);
    assert!(!refused.status.success() && reason.contains("version \"99\""), "{reason}");
}

/// A display without a screen, which ends with this value.
struct Display {
    server: Child,
    name: String,
}

impl Display {
    fn open() -> Self {
        let arguments = ["-displayfd", "1", "-screen", "0", "1024x768x24", "-nolisten", "tcp"];
        let server =
            Command::new("Xvfb").args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let mut server = server.expect("Xvfb starts");
        let mut number = String::new();
        let output = server.stdout.take().expect("the output is a pipe");
        BufReader::new(output).read_line(&mut number).expect("Xvfb prints the number of its display");
        Self { server, name: format!(":{}", number.trim()) }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn a_program_with_sdl_walks_in_the_playground_and_draws_it() {
    if !has("pkg-config", &["--exists", "sdl2"]) || !has("Xvfb", &["-help"]) {
        return;
    }
    let flags = tool(&["pkg-config", "--cflags", "--libs", "sdl2"], &[]);
    let flags: Vec<&str> = flags.split(' ').collect();
    let program = compile("bindings/c/examples/sdl_walk.c", "sdl_walk", &flags);
    let display = Display::open();
    let screenshots = Path::new(env!("CARGO_TARGET_TMPDIR")).join("../screenshots");
    std::fs::create_dir_all(&screenshots).expect("the folder of pictures can be made");
    let picture = screenshots.join("sdl-playground.bmp");
    let path = picture.to_string_lossy().into_owned();
    let env = [
        ("DISPLAY", &*display.name),
        ("SDL_VIDEODRIVER", "x11"),
        ("SDL_RENDER_DRIVER", "software"),
        // Libraries of X keep memory until the program ends.
        ("ASAN_OPTIONS", "detect_leaks=0"),
    ];
    let walked = in_the_playground(|url| tool(&[&program.to_string_lossy(), url, &path], &env));
    let distance =
        walked.strip_prefix("walked ").and_then(|rest| rest.split(' ').next()?.parse::<f32>().ok());
    assert!(distance.is_some_and(|distance| distance > 1.0), "{walked}");

    let bytes = std::fs::read(&picture).expect("the program wrote its picture");
    let start = u32::from_le_bytes(bytes[10..14].try_into().expect("a BMP states where its pixels begin"));
    let pixels: Vec<&[u8]> = bytes[start as usize..].chunks_exact(4).map(|pixel| &pixel[..3]).collect();
    let sky = pixels.iter().filter(|pixel| pixel[..] == [0xed, 0xdc, 0xc4]).count();
    assert!((pixels.len() / 20..pixels.len() / 2).contains(&sky), "{sky} of {} pixels are sky", pixels.len());
    let colors: BTreeSet<&[u8]> = pixels.into_iter().collect();
    assert!(colors.len() > 20, "{} colours", colors.len());
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

const RACE: &str = "#include <pthread.h>
static int shared;
static void *write_shared(void *unused) { shared++; return unused; }
int main(void) {
    pthread_t thread;
    if (pthread_create(&thread, 0, write_shared, 0) != 0) return 2;
    shared++;
    pthread_join(thread, 0);
    return 0;
}
";

#[test]
fn the_thread_sanitizer_finds_no_race_in_the_examples_and_finds_one_that_is_there() {
    let compile = |source, name| compile_with(Sanitizer::Thread, source, name, &[]);
    ping_pong(&compile("bindings/c/examples/ping_pong.c", "ping_pong-threads"));
    walk(&compile("bindings/c/examples/walk.c", "walk-threads"));
    tour(&compile("bindings/cpp/examples/tour.cpp", "tour-threads"));
    let race = Path::new(env!("CARGO_TARGET_TMPDIR")).join("c-programs/race.c");
    std::fs::write(&race, RACE).expect("the folder exists");
    let found = start(&compile(&race.to_string_lossy(), "race-threads"), &[]).wait_with_output();
    let found = found.expect("the program ends");
    assert!(!found.status.success() && String::from_utf8_lossy(&found.stderr).contains("data race"));
}
