//! Cold start: the cost of decoding in a program that has just been launched. Only the file cache of the system is warm.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::report::Samples;

use super::measure::Subject;
use super::save_subjects::subjects;
use super::save_types::Save;
use super::{CodecError, Result};

/// The hidden argument with which this program starts itself.
const ARGUMENTS: [&str; 2] = ["codec", "--cold-start"];

/// The child process of a cold start. It reads, unpacks and decodes one file with the codec that has this index, and prints the
/// nanoseconds.
///
/// # Errors
/// If the codec with this index did not write the file.
pub fn run(codec: usize, file: &Path) -> std::result::Result<u128, CodecError> {
    let start = Instant::now();
    let failed = |reason: String| CodecError::Data { name: file.display().to_string(), reason };
    let packed = fs::read(file).map_err(|error| failed(error.to_string()))?;
    let bytes =
        lz4_flex::block::decompress_size_prepended(&packed).map_err(|error| failed(error.to_string()))?;
    let all = subjects();
    let subject = all.get(codec).ok_or_else(|| failed("there is no such codec".into()))?;
    let save = (subject.decode)(&bytes).map_err(failed)?;
    let elapsed = start.elapsed().as_nanos();
    std::hint::black_box(&save);
    Ok(elapsed)
}

/// Returns the size of the file of every codec, and the milliseconds of cold starts in new processes. The codecs take turns.
pub(super) fn measure(
    subjects: &[Subject<Save>],
    save: &Save,
    samples: usize,
) -> Result<Vec<(usize, Samples)>> {
    let folder = std::env::temp_dir().join(format!("nowcast-cold-{}", std::process::id()));
    let failed = |reason: String| CodecError::Program { program: "cold start".into(), reason };
    fs::create_dir_all(&folder).map_err(|error| failed(error.to_string()))?;
    let result = measure_in(&folder, subjects, save, samples);
    // If the folder cannot be removed, it stays among the system's temporary files.
    let _ = fs::remove_dir_all(&folder);
    result
}

fn measure_in(
    folder: &Path,
    subjects: &[Subject<Save>],
    save: &Save,
    samples: usize,
) -> Result<Vec<(usize, Samples)>> {
    let failed = |reason: String| CodecError::Program { program: "cold start".into(), reason };
    let program = std::env::current_exe().map_err(|error| failed(error.to_string()))?;
    let mut all = Vec::new();
    let mut bytes = Vec::new();
    for (at, subject) in subjects.iter().enumerate() {
        bytes.clear();
        (subject.encode)(save, &mut bytes);
        let packed = lz4_flex::block::compress_prepend_size(&bytes);
        fs::write(folder.join(at.to_string()), &packed).map_err(|error| failed(error.to_string()))?;
        all.push((packed.len(), Samples::new()));
    }
    for _ in 0..samples {
        for (at, (_, samples)) in all.iter_mut().enumerate() {
            let file = folder.join(at.to_string());
            let output = Command::new(&program).args(ARGUMENTS).arg(at.to_string()).arg(&file).output();
            let output = output.map_err(|error| failed(error.to_string()))?;
            let text = String::from_utf8_lossy(&output.stdout);
            let nanoseconds: f64 = text
                .trim()
                .parse()
                .map_err(|_| failed(String::from_utf8_lossy(&output.stderr).into_owned()))?;
            samples.push(nanoseconds * 1e-6);
        }
    }
    Ok(all)
}
