//! Checks models: a binary glTF 2.0 file must be consistent, and no larger than a page should draw.
//!
//! Checks everything that a loader follows: indices, byte ranges, the node tree. Section numbers refer to the glTF 2.0
//! specification.

use super::json::{Accessor, Attributes, Closed, EXTERNAL, Primitive, Root, TextureUse, View};
use super::picture::{self, Format};
use super::{Checked, Problem};

/// Maximum bytes of the JSON in a file.
const JSON_BYTES_MAX: usize = 2 << 20;

/// Maximum number of nodes from a root to the deepest leaf.
const DEPTH_MAX: usize = 64;

/// Maximum number of triangles of one model, counted for each node that shows them.
const TRIANGLES_MAX: u64 = 500_000;

/// Maximum number of joints of one skin: three.js can pass this number to a graphics card.
const JOINTS_MAX: usize = 256;

/// Maximum bytes of all accessors after unpacking.
const UNPACKED_BYTES_MAX: u64 = 64 << 20;

/// Extensions that pages can read without a separate decoder, so a file may require them.
const KNOWN: [&str; 20] = [
    "EXT_texture_webp",
    "KHR_animation_pointer",
    "KHR_lights_punctual",
    "KHR_materials_anisotropy",
    "KHR_materials_clearcoat",
    "KHR_materials_dispersion",
    "KHR_materials_emissive_strength",
    "KHR_materials_ior",
    "KHR_materials_iridescence",
    "KHR_materials_pbrSpecularGlossiness",
    "KHR_materials_sheen",
    "KHR_materials_specular",
    "KHR_materials_transmission",
    "KHR_materials_unlit",
    "KHR_materials_variants",
    "KHR_materials_volume",
    "KHR_mesh_quantization",
    "KHR_texture_transform",
    "KHR_xmp_json_ld",
    "KHR_node_visibility",
];

/// Extensions that change the meaning of a file, so that these checks would be wrong. A file must not use them, even if it
/// does not require them.
const REFUSED: [&str; 5] = [
    "EXT_mesh_gpu_instancing",
    "EXT_meshopt_compression",
    "EXT_texture_avif",
    "KHR_draco_mesh_compression",
    "KHR_texture_basisu",
];

const EXPORT: &str = "export it again as glTF binary (.glb), version 2.0";
const BROKEN: &str = "the file is inconsistent: export it again, or check it with a glTF validator";
const SIMPLER: &str = "make the model simpler, or split it";

/// Checks a whole file.
pub(super) fn check(bytes: &[u8]) -> Checked {
    let (json, binary) = chunks(bytes)?;
    let _: Closed = parse(json)?;
    let root: Root = parse(json)?;
    check_head(&root)?;
    let model = Model { root: &root, binary };
    model.check_buffers()?;
    model.check_accessors()?;
    model.check_pictures()?;
    model.check_nodes()?;
    model.check_meshes()?;
    model.check_skins()?;
    model.check_animations()
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// Returns the JSON chunk and the binary chunk of a file (section 4.4).
fn chunks(bytes: &[u8]) -> Checked<(&[u8], &[u8])> {
    if !bytes.starts_with(b"glTF") || word(bytes, 4) != Some(2) {
        return Err(Problem::new("it does not begin as a binary glTF file of version 2", EXPORT));
    }
    let cut_off = || Problem::new("it is cut off, or has bytes after its end", EXPORT);
    if word(bytes, 8).map(u64::from) != Some(bytes.len() as u64) {
        return Err(cut_off());
    }
    let (mut json, mut binary) = (None, None);
    let mut at = 12;
    while at < bytes.len() {
        let length = word(bytes, at).ok_or_else(cut_off)? as usize;
        let kind = word(bytes, at + 4).ok_or_else(cut_off)?;
        let begin = at + 8;
        let end = begin.checked_add(length).filter(|end| *end <= bytes.len()).ok_or_else(cut_off)?;
        let chunk = &bytes[begin..end];
        match (kind, json, binary) {
            (0x4e4f_534a, None, None) => json = Some(chunk),
            (0x004e_4942, Some(_), None) => binary = Some(chunk),
            (_, None, _) => return Err(Problem::new("its first chunk is not JSON", EXPORT)),
            // A reader ignores unknown chunks.
            _ => {}
        }
        at = end;
    }
    let json = json.ok_or_else(|| Problem::new("it has no JSON", EXPORT))?;
    if json.len() > JSON_BYTES_MAX {
        let message = format!("{} bytes of JSON, but a model may have at most {JSON_BYTES_MAX}", json.len());
        return Err(Problem::new(message, SIMPLER));
    }
    Ok((json, binary.unwrap_or_default()))
}

fn parse<'j, T: serde::Deserialize<'j>>(json: &'j [u8]) -> Checked<T> {
    serde_json::from_slice(json).map_err(|error| {
        let message = error.to_string();
        if message.starts_with(EXTERNAL) {
            Problem::new(EXTERNAL, "put textures and buffers into the file: export as glTF binary (.glb)")
        } else if message.starts_with("more than ") {
            Problem::new(message, SIMPLER)
        } else {
            Problem::new(format!("its JSON is not valid glTF: {message}"), BROKEN)
        }
    })
}

fn check_head(root: &Root) -> Checked {
    if !root.asset.version.starts_with("2.") {
        return Err(Problem::new("its version is not 2", EXPORT));
    }
    let refused = root.extensions_used.0.iter().chain(&root.extensions_required.0);
    let refused = refused.map(String::as_str).find(|name| REFUSED.contains(name));
    let required = root.extensions_required.0.iter().map(String::as_str);
    let unknown = required.into_iter().find(|name| !KNOWN.contains(name));
    match refused.or(unknown) {
        Some(name) => Err(Problem::new(
            format!("it needs {}, which pages do not read", name.escape_debug()),
            "export it without compression and without special extensions",
        )),
        None => Ok(()),
    }
}

fn broken(message: String) -> Problem {
    Problem::new(message, BROKEN)
}

/// A range of bytes that holds a list of values.
struct Span {
    offset: u32,
    stride: u64,
    size: u64,
    count: u32,
}

impl Span {
    /// Bytes from the beginning to the end of the last value.
    fn end(&self) -> u64 {
        match self.count {
            0 => u64::from(self.offset),
            count => u64::from(self.offset) + self.stride * u64::from(count - 1) + self.size,
        }
    }
}

/// Bytes of a component (section 3.6.2.2).
fn component_bytes(component: u32) -> Option<u64> {
    match component {
        5_120 | 5_121 => Some(1),
        5_122 | 5_123 => Some(2),
        5_125 | 5_126 => Some(4),
        _ => None,
    }
}

/// Bytes of one value. Columns of matrices begin at multiples of four bytes (section 3.6.2.4).
fn value_bytes(accessor: &Accessor) -> Option<u64> {
    let component = component_bytes(accessor.component_type)?;
    let matrix = |side: u64| side * (side * component).next_multiple_of(4);
    Some(match accessor.shape.as_str() {
        "SCALAR" => component,
        "VEC2" => 2 * component,
        "VEC3" => 3 * component,
        "VEC4" => 4 * component,
        "MAT2" => matrix(2),
        "MAT3" => matrix(3),
        "MAT4" => matrix(4),
        _ => return None,
    })
}

struct Model<'a> {
    root: &'a Root,
    binary: &'a [u8],
}

fn of<'l, T>(list: &'l [T], index: u32, path: &dyn Fn() -> String) -> Checked<&'l T> {
    list.get(index as usize)
        .ok_or_else(|| broken(format!("{} is {index}, but there are only {}", path(), list.len())))
}

impl Model<'_> {
    fn check_buffers(&self) -> Checked {
        let bytes = self.root.buffers.0.first().map_or(0, |buffer| buffer.byte_length);
        if u64::from(bytes) > self.binary.len() as u64 {
            return Err(broken(format!(
                "a buffer of {bytes} bytes, where the file has {}",
                self.binary.len()
            )));
        }
        for (index, view) in self.root.buffer_views.0.iter().enumerate() {
            of(&self.root.buffers.0, view.buffer, &|| format!("bufferViews[{index}].buffer"))?;
            let end = u64::from(view.byte_offset) + u64::from(view.byte_length);
            if end > u64::from(bytes) || view.byte_stride.is_some_and(|stride| !(4..=252).contains(&stride)) {
                return Err(broken(format!("bufferViews[{index}] reaches beyond its buffer")));
            }
        }
        Ok(())
    }

    fn view(&self, index: u32, path: &dyn Fn() -> String) -> Checked<&View> {
        of(&self.root.buffer_views.0, index, path)
    }

    fn check_accessors(&self) -> Checked {
        let mut unpacked = 0_u64;
        for (index, accessor) in self.root.accessors.0.iter().enumerate() {
            let path = || format!("accessors[{index}]");
            let size = value_bytes(accessor)
                .ok_or_else(|| broken(format!("{} has a type that glTF does not know", path())))?;
            unpacked = unpacked.saturating_add(size * u64::from(accessor.count));
            if let Some(view) = accessor.buffer_view {
                let stride = self.view(view, &path)?.byte_stride.map_or(size, u64::from);
                let span = Span { offset: accessor.byte_offset, stride, size, count: accessor.count };
                self.check_span(view, &span, &path)?;
            }
            if let Some(sparse) = &accessor.sparse {
                let indices =
                    component_bytes(sparse.indices.component_type).filter(|_| sparse.count <= accessor.count);
                let indices = indices.ok_or_else(|| broken(format!("{}.sparse is invalid", path())))?;
                let count = sparse.count;
                let offset = sparse.indices.byte_offset;
                let span = Span { offset, stride: indices, size: indices, count };
                self.check_span(sparse.indices.buffer_view, &span, &path)?;
                let span = Span { offset: sparse.values.byte_offset, stride: size, size, count };
                self.check_span(sparse.values.buffer_view, &span, &path)?;
            }
        }
        if unpacked > UNPACKED_BYTES_MAX {
            let message = format!(
                "{unpacked} bytes of geometry and animation, but a model may have at most {UNPACKED_BYTES_MAX}"
            );
            return Err(Problem::new(message, SIMPLER));
        }
        Ok(())
    }

    fn check_span(&self, view: u32, span: &Span, path: &dyn Fn() -> String) -> Checked {
        let bytes = self.view(view, path)?.byte_length;
        if span.end() > u64::from(bytes) {
            return Err(broken(format!("{} reaches beyond its buffer view", path())));
        }
        Ok(())
    }

    fn accessor(&self, index: u32, path: &dyn Fn() -> String) -> Checked<&Accessor> {
        of(&self.root.accessors.0, index, path)
    }

    fn check_pictures(&self) -> Checked {
        for (index, image) in self.root.images.0.iter().enumerate() {
            let path = || format!("images[{index}]");
            let format = image.mime_type.as_deref().and_then(Format::of_media_type);
            let (Some(view), Some(format)) = (image.buffer_view, format) else {
                let message = format!("{} is not a PNG, JPEG or WebP inside of the file", path());
                return Err(Problem::new(
                    message,
                    "let the exporter put textures into the file as PNG or JPEG",
                ));
            };
            let View { byte_offset, byte_length, .. } = self.view(view, &path)?;
            let bytes = self.binary.get(*byte_offset as usize..).unwrap_or_default();
            let bytes = bytes.get(..*byte_length as usize).unwrap_or_default();
            picture::check(bytes, format)
                .map_err(|problem| Problem::new(format!("{}: {}", path(), problem.message), problem.cure))?;
        }
        for (index, texture) in self.root.textures.0.iter().enumerate() {
            if let Some(source) = texture.source {
                of(&self.root.images.0, source, &|| format!("textures[{index}].source"))?;
            }
        }
        for (index, material) in self.root.materials.0.iter().enumerate() {
            let surface = material.pbr_metallic_roughness.as_ref();
            let uses: [Option<&TextureUse>; 5] = [
                surface.and_then(|surface| surface.base_color_texture.as_ref()),
                surface.and_then(|surface| surface.metallic_roughness_texture.as_ref()),
                material.normal_texture.as_ref(),
                material.occlusion_texture.as_ref(),
                material.emissive_texture.as_ref(),
            ];
            for texture in uses.into_iter().flatten() {
                of(&self.root.textures.0, texture.index, &|| format!("materials[{index}] texture"))?;
            }
        }
        Ok(())
    }

    /// Checks that nodes are trees (section 3.5.1), and that none is too deep.
    fn check_nodes(&self) -> Checked {
        let nodes = &self.root.nodes.0;
        let mut parents: Vec<Option<usize>> = vec![None; nodes.len()];
        for (index, node) in nodes.iter().enumerate() {
            let path = || format!("a child of nodes[{index}]");
            for child in &node.children.0 {
                of(nodes, *child, &path)?;
                if parents[*child as usize].replace(index).is_some() {
                    return Err(broken(format!("nodes[{child}] has two parents")));
                }
            }
            if let Some(mesh) = node.mesh {
                of(&self.root.meshes.0, mesh, &|| format!("nodes[{index}].mesh"))?;
            }
            if let Some(skin) = node.skin {
                of(&self.root.skins.0, skin, &|| format!("nodes[{index}].skin"))?;
            }
        }
        for scene in &self.root.scenes.0 {
            for node in &scene.nodes.0 {
                of(nodes, *node, &|| "a node of a scene".to_owned())?;
            }
        }
        for node in 0..nodes.len() {
            // A cycle has no end, so it is reported as too deep.
            let depth = std::iter::successors(Some(node), |node| parents[*node]).take(DEPTH_MAX + 1).count();
            if depth > DEPTH_MAX {
                let message = format!("nodes[{node}] is {DEPTH_MAX} or more levels deep, or part of a cycle");
                return Err(Problem::new(message, "flatten the tree of nodes"));
            }
        }
        Ok(())
    }

    fn check_meshes(&self) -> Checked {
        let mut triangles = Vec::new();
        for (index, mesh) in self.root.meshes.0.iter().enumerate() {
            let mut of_mesh = 0_u64;
            for (number, primitive) in mesh.primitives.0.iter().enumerate() {
                of_mesh +=
                    self.check_primitive(primitive, &|| format!("meshes[{index}].primitives[{number}]"))?;
            }
            triangles.push(of_mesh);
        }
        let shown =
            self.root.nodes.0.iter().filter_map(|node| triangles.get(node.mesh? as usize)).sum::<u64>();
        if shown > TRIANGLES_MAX {
            let message = format!("{shown} triangles, but a model may have at most {TRIANGLES_MAX}");
            return Err(Problem::new(message, SIMPLER));
        }
        Ok(())
    }

    /// Returns the number of triangles.
    fn check_primitive(&self, primitive: &Primitive, path: &dyn Fn() -> String) -> Checked<u64> {
        let position = primitive.attributes.get("POSITION");
        let position = position.ok_or_else(|| broken(format!("{} has no positions", path())))?;
        let vertices = self.accessor(*position, path)?.count;
        let same_count = |attributes: &Attributes| {
            for accessor in attributes.values() {
                if self.accessor(*accessor, path)?.count != vertices {
                    return Err(broken(format!("{} has attributes of different lengths", path())));
                }
            }
            Ok(())
        };
        same_count(&primitive.attributes)?;
        primitive.targets.0.iter().try_for_each(same_count)?;
        if let Some(material) = primitive.material {
            of(&self.root.materials.0, material, &|| format!("{}.material", path()))?;
        }
        let corners = match primitive.indices {
            Some(indices) => self.check_indices(self.accessor(indices, path)?, vertices, path)?,
            None => vertices,
        };
        Ok(match primitive.mode.unwrap_or(4) {
            0..=3 => 0,
            4 => u64::from(corners) / 3,
            5 | 6 => u64::from(corners.saturating_sub(2)),
            mode => return Err(broken(format!("{} has the mode {mode}, which glTF does not know", path()))),
        })
    }

    /// Checks that every index names an existing vertex, because a graphics card must not read beyond the vertices. Returns
    /// the number of indices.
    fn check_indices(&self, accessor: &Accessor, vertices: u32, path: &dyn Fn() -> String) -> Checked<u32> {
        let size = component_bytes(accessor.component_type).filter(|_| {
            accessor.shape == "SCALAR" && matches!(accessor.component_type, 5_121 | 5_123 | 5_125)
        });
        let (Some(size), Some(view), None) = (size, accessor.buffer_view, &accessor.sparse) else {
            return Err(broken(format!("{}.indices are invalid", path())));
        };
        let view = self.view(view, path)?;
        let begin = u64::from(view.byte_offset) + u64::from(accessor.byte_offset);
        // The accessor's range is already checked. A view with a stride cannot hold indices.
        let end = begin + size * u64::from(accessor.count);
        let bytes = self.binary.get(begin as usize..end as usize).filter(|_| view.byte_stride.is_none());
        let bytes = bytes.ok_or_else(|| broken(format!("{}.indices are invalid", path())))?;
        let index =
            |bytes: &[u8]| bytes.iter().rev().fold(0_u32, |index, byte| index << 8 | u32::from(*byte));
        if bytes.chunks_exact(size as usize).any(|bytes| index(bytes) >= vertices) {
            return Err(broken(format!("{}.indices name vertices that do not exist", path())));
        }
        Ok(accessor.count)
    }

    fn check_skins(&self) -> Checked {
        for (index, skin) in self.root.skins.0.iter().enumerate() {
            let path = || format!("skins[{index}]");
            if skin.joints.0.len() > JOINTS_MAX {
                let message =
                    format!("{} has {} joints, but the limit is {JOINTS_MAX}", path(), skin.joints.0.len());
                return Err(Problem::new(message, SIMPLER));
            }
            for node in skin.joints.0.iter().chain(&skin.skeleton) {
                of(&self.root.nodes.0, *node, &path)?;
            }
            if let Some(matrices) = skin.inverse_bind_matrices {
                let accessor = self.accessor(matrices, &path)?;
                if accessor.shape != "MAT4" || (accessor.count as usize) < skin.joints.0.len() {
                    return Err(broken(format!("{} has fewer matrices than joints", path())));
                }
            }
        }
        Ok(())
    }

    fn check_animations(&self) -> Checked {
        for (index, animation) in self.root.animations.0.iter().enumerate() {
            let path = || format!("animations[{index}]");
            for channel in &animation.channels.0 {
                of(&animation.samplers.0, channel.sampler, &path)?;
                if let Some(node) = channel.target.node {
                    of(&self.root.nodes.0, node, &path)?;
                }
            }
            for sampler in &animation.samplers.0 {
                let (input, output) =
                    (self.accessor(sampler.input, &path)?, self.accessor(sampler.output, &path)?);
                if input.shape != "SCALAR" || input.component_type != 5_126 || output.count < input.count {
                    return Err(broken(format!("{} has a sampler with invalid times", path())));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
