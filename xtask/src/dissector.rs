//! The dissector for Wireshark (`spec/wireshark/nowcast.lua`), which tshark runs on the vectors of the session.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

/// The link type of captures that hold packets of users' own protocols (LINKTYPE_USER0).
const LINK_TYPE: u32 = 147;
/// Tells Wireshark that this link type carries bare packets of sessions.
const LINK_OPTION: &str = r#"uat:user_dlts:"User 0 (DLT=147)","nowcast","0","","0","""#;
/// Maximum length of a captured packet in the header of a capture file.
const SNAP_BYTES: u32 = 65_535;

/// Checks that tshark shows each valid vector without an error, and names the field of each malformed one. Returns the number
/// of vectors.
pub(crate) fn check(spec_dir: &Path, scratch: &Path) -> anyhow::Result<usize> {
    let path = spec_dir.join("vectors/session/packets.json");
    let text = std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let vectors: Value = serde_json::from_str(&text)?;
    let cases = || {
        let lists = ["valid", "malformed"].into_iter().filter_map(|list| vectors[list].as_array());
        // A packet without bytes is not a packet in a capture.
        lists.flatten().filter(|case| case["hex"] != "")
    };
    let capture = scratch.join("session-vectors.pcap");
    std::fs::create_dir_all(scratch)?;
    std::fs::write(&capture, pcap(cases())?)?;
    let output = Command::new("tshark")
        .arg("-r")
        .arg(&capture)
        .arg("-X")
        .arg(format!("lua_script:{}", spec_dir.join("wireshark/nowcast.lua").display()))
        .args(["-o", LINK_OPTION, "-T", "fields", "-e", "_ws.col.Info", "-e", "nowcast.malformed"])
        .output()
        .context("tshark does not run: `cargo xtask install-tools` installs it")?;
    let shown = String::from_utf8(output.stdout)?;
    ensure!(output.status.success(), "tshark failed: {}", String::from_utf8_lossy(&output.stderr));
    let mut lines = shown.lines();
    let mut count = 0;
    for case in cases() {
        let Some((summary, field)) = lines.next().and_then(|line| line.split_once('\t')) else {
            bail!("tshark shows no packet for {}", case["name"]);
        };
        ensure!(!summary.is_empty(), "{}: the dissector failed", case["name"]);
        let expected = case["field"].as_str().unwrap_or_default();
        ensure!(field == expected, "{}: shown with the malformed field {field:?}", case["name"]);
        count += 1;
    }
    Ok(count)
}

/// Makes a capture file with these packets.
fn pcap<'a>(cases: impl Iterator<Item = &'a Value>) -> anyhow::Result<Vec<u8>> {
    let mut file = Vec::new();
    let words = |file: &mut Vec<u8>, words: &[u32]| {
        words.iter().for_each(|word| file.extend(word.to_le_bytes()));
    };
    words(&mut file, &[0xA1B2_C3D4, 0x0004_0002, 0, 0, SNAP_BYTES, LINK_TYPE]);
    for (case, second) in cases.zip(0..) {
        let packet = unhex(&case["hex"])?;
        let length = u32::try_from(packet.len())?;
        words(&mut file, &[second, 0, length, length]);
        file.extend(packet);
    }
    Ok(file)
}

fn unhex(value: &Value) -> anyhow::Result<Vec<u8>> {
    let text = value.as_str().context("hexadecimal text is missing")?;
    ensure!(text.len() % 2 == 0 && text.is_ascii(), "not hexadecimal");
    (0..text.len()).step_by(2).map(|at| Ok(u8::from_str_radix(&text[at..at + 2], 16)?)).collect()
}
