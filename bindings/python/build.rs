//! Links `libgcc_s.so.1` into the published wheel.

/// The variable with the path of `libgcc_s.so.1`, or of a library with the same name and symbols.
const LIBRARY: &str = "NOWCAST_LIBGCC_S";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={LIBRARY}");
    if let Ok(path) = std::env::var(LIBRARY) {
        println!("cargo::rustc-cdylib-link-arg={path}");
    }
}
