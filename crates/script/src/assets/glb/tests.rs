use super::*;

/// Makes a file of these two parts.
fn glb(json: &str, binary: &[u8]) -> Vec<u8> {
    let mut json = json.as_bytes().to_vec();
    json.resize(json.len().next_multiple_of(4), b' ');
    let mut binary = binary.to_vec();
    binary.resize(binary.len().next_multiple_of(4), 0);
    let mut file = b"glTF\x02\0\0\0".to_vec();
    let length = 12 + 8 + json.len() + 8 + binary.len();
    file.extend((length as u32).to_le_bytes());
    for (kind, chunk) in [(b"JSON", &json), (b"BIN\0", &binary)] {
        file.extend((chunk.len() as u32).to_le_bytes());
        file.extend(kind);
        file.extend(chunk);
    }
    file
}

const TRIANGLE: &str = r#"{
    "asset": { "version": "2.0" },
    "scenes": [{ "nodes": [0] }],
    "nodes": [{ "mesh": 0, "children": [1] }, {}],
    "meshes": [{ "primitives": [{ "attributes": { "POSITION": 0 }, "indices": 1 }] }],
    "accessors": [
        { "bufferView": 0, "componentType": 5126, "count": 3, "type": "VEC3" },
        { "bufferView": 1, "componentType": 5123, "count": 3, "type": "SCALAR" }
    ],
    "bufferViews": [
        { "buffer": 0, "byteLength": 36 },
        { "buffer": 0, "byteOffset": 36, "byteLength": 6 }
    ],
    "buffers": [{ "byteLength": 42 }],
    "animations": [{ "name": "open", "channels": [], "samplers": [] }]
}"#;

fn binary() -> Vec<u8> {
    let mut bytes = vec![0; 36];
    bytes.extend([0, 0, 1, 0, 2, 0]);
    bytes
}

fn problem(from: &str, to: &str) -> String {
    assert!(TRIANGLE.contains(from), "{from}");
    match check(&glb(&TRIANGLE.replace(from, to), &binary())) {
        Ok(()) => panic!("{to} is taken"),
        Err(problem) => problem.message,
    }
}

#[test]
fn a_triangle_is_a_model() {
    assert!(check(&glb(TRIANGLE, &binary())).is_ok());
}

#[test]
fn references_outside_of_the_file_are_refused() {
    let uri = r#""buffers": [{ "byteLength": 42, "uri": "https://example.org/a.bin" }]"#;
    assert_eq!(problem(r#""buffers": [{ "byteLength": 42 }]"#, uri), EXTERNAL);
    let hidden = r#"{ "name": "open", "extensions": { "X": [{ "uri": "data:,1" }] }, "channels""#;
    assert_eq!(problem(r#"{ "name": "open", "channels""#, hidden), EXTERNAL);
    let escaped = r#""buffers": [{ "byteLength": 42, "\u0075ri": "a.bin" }]"#;
    assert_eq!(problem(r#""buffers": [{ "byteLength": 42 }]"#, escaped), EXTERNAL);
    let extras = TRIANGLE.replace(r#""asset": {"#, r#""extras": { "uri": "mine" }, "asset": {"#);
    assert!(check(&glb(&extras, &binary())).is_ok(), "extras are its author's own");
}

#[test]
fn contradictions_are_reported_with_their_place() {
    for (from, to, told) in [
        (r#""mesh": 0"#, r#""mesh": 7"#, "nodes[0].mesh is 7, but there are only 1"),
        (r#""children": [1]"#, r#""children": [0]"#, "part of a cycle"),
        (r#""children": [1]"#, r#""children": [1, 1]"#, "nodes[1] has two parents"),
        (r#""byteLength": 36"#, r#""byteLength": 35"#, "accessors[0] reaches beyond its buffer view"),
        (r#""byteLength": 42"#, r#""byteLength": 4200"#, "a buffer of 4200 bytes"),
        (r#""byteOffset": 36"#, r#""byteOffset": 4294967295"#, "bufferViews[1] reaches beyond its buffer"),
        (r#""VEC3""#, r#""VEC9""#, "accessors[0] has a type that glTF does not know"),
        (r#""indices": 1"#, r#""indices": 0"#, "indices are invalid"),
        (r#""count": 3, "type": "VEC3""#, r#""count": 2, "type": "VEC3""#, "name vertices that do not exist"),
        (r#""version": "2.0""#, r#""version": "1.0""#, "its version is not 2"),
        (r#""scenes""#, r#""extensionsUsed": ["KHR_draco_mesh_compression"], "scenes""#, "KHR_draco"),
        (r#""scenes""#, r#""extensionsRequired": ["ACME_magic"], "scenes""#, "ACME_magic"),
        (
            r#""scenes""#,
            r#""images": [{ "bufferView": 0, "mimeType": "image/png" }], "scenes""#,
            "images[0]: it does not begin",
        ),
        (r#""channels": []"#, r#""channels": [{ "sampler": 3, "target": {} }]"#, "animations[0] is 3"),
    ] {
        let found = problem(from, to);
        assert!(found.contains(told), "{to}: {found}");
    }
}

#[test]
fn models_that_are_too_much_for_a_page_are_refused() {
    let nodes = |count: usize, node: &str| format!("\"nodes\": [{}]", vec![node; count].join(","));
    let ours = r#""nodes": [{ "mesh": 0, "children": [1] }, {}]"#;
    assert_eq!(&problem(ours, &nodes(2_001, "{}"))[..20], "more than 2000 nodes");
    let chain = |length: usize| {
        let node = |at: usize| {
            if at + 1 < length { format!("{{\"children\":[{}]}}", at + 1) } else { "{}".to_owned() }
        };
        format!("\"nodes\": [{}]", (0..length).map(node).collect::<Vec<_>>().join(","))
    };
    assert!(problem(ours, &chain(65)).contains("deep"));
    assert!(check(&glb(&TRIANGLE.replace(ours, &chain(64)), &binary())).is_ok());
    let zeros = r#"{ "componentType": 5126, "count": 4000000000, "type": "MAT4" }, { "bufferView": 0"#;
    assert!(problem(r#"{ "bufferView": 0"#, zeros).contains("bytes of geometry"));
    // A mesh counts for every node that shows it.
    let many = TRIANGLE.replace(r#""POSITION": 0 }, "indices": 1"#, r#""POSITION": 0 }"#).replace(
        r#""bufferView": 0, "componentType": 5126, "count": 3"#,
        r#""componentType": 5126, "count": 3000"#,
    );
    let shown = many.replace(ours, &nodes(2_000, r#"{ "mesh": 0 }"#));
    let told = check(&glb(&shown, &binary())).expect_err("two million triangles").message;
    assert_eq!(told, "2000000 triangles, but a model may have at most 500000");
    assert!(check(&glb(&many, &binary())).is_ok());
}

/// The generator of random numbers by Vigna, for tests that print their seed.
struct SplitMix(u64);

impl SplitMix {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % end as u64) as usize
    }
}

#[test]
fn no_bytes_make_a_check_panic() {
    let models =
        [glb(TRIANGLE, &binary()), include_bytes!("../../../../../worlds/gallery/assets/door.glb").to_vec()];
    let digits = b"0123456789-\"[]{},:eE. ";
    for seed in 0..4_000 {
        let mut random = SplitMix(seed);
        let mut bytes = models[random.below(models.len())].clone();
        for _ in 0..=random.below(8) {
            let at = random.below(bytes.len());
            match random.below(5) {
                0 => bytes[at] = random.below(256) as u8,
                // Numbers and brackets reach more of the checks than other bytes.
                1 | 2 => bytes[at] = digits[random.below(digits.len())],
                3 => bytes.truncate(at.max(1)),
                _ => bytes.insert(at, digits[random.below(digits.len())]),
            }
            // Sets the length field of the file, so that the checks read more of the file.
            if random.below(2) == 0 && bytes.len() >= 12 {
                let length = (bytes.len() as u32).to_le_bytes();
                bytes[8..12].copy_from_slice(&length);
            }
        }
        let outcome = std::panic::catch_unwind(|| super::super::check("assets/a.glb", &bytes).is_ok());
        assert!(outcome.is_ok(), "seed {seed}: {bytes:?}");
        for name in ["a.png", "a.jpg", "a.webp", "a.ogg", "a.mp3", "a.wav"] {
            let mut head: Vec<u8> = bytes.iter().copied().take(64).collect();
            let beginnings: [&[u8]; 4] = [
                b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR",
                b"\xff\xd8\xff\xe0\0",
                b"RIFF\0\0\0\0WEBPVP8X",
                b"RIFF\0\0\0\0WEBPVP8 ",
            ];
            let beginning = beginnings[random.below(4)];
            head.splice(..beginning.len().min(head.len()), beginning.iter().copied());
            let outcome = std::panic::catch_unwind(|| super::super::check(name, &head).is_ok());
            assert!(outcome.is_ok(), "seed {seed}: {name} {head:?}");
        }
    }
}
