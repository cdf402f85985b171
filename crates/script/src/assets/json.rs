//! The checked part of a glTF file's JSON. The length of lists is limited while they are read, so a small file cannot take
//! much memory.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The error of [`Closed`] for a reference to another file.
pub(super) const EXTERNAL: &str = "it names another file by `uri`";

/// A type of list item whose number is limited.
pub(super) trait Counted {
    const WHAT: &'static str;
    const MAX: usize;
}

macro_rules! counted {
    ($($type:ty: $what:literal, $max:literal;)+) => {
        $(impl Counted for $type {
            const WHAT: &'static str = $what;
            const MAX: usize = $max;
        })+
    };
}

counted! {
    Scene: "scenes", 16;
    Node: "nodes", 2_000;
    Mesh: "meshes", 1_024;
    Primitive: "primitives of one mesh", 256;
    Accessor: "accessors", 16_384;
    View: "buffer views", 16_384;
    Buffer: "buffers", 1;
    Image: "images", 32;
    Texture: "textures", 128;
    Material: "materials", 256;
    Skin: "skins", 64;
    Animation: "animations", 128;
    Channel: "channels of one animation", 4_096;
    Sampler: "samplers of one animation", 4_096;
    String: "extensions", 64;
    u32: "nodes in one list", 4_096;
    Attributes: "morph targets of one primitive", 64;
}

/// A list with at most the maximum number of items of its type.
pub(super) struct List<T>(pub(super) Vec<T>);

impl<T> Default for List<T> {
    fn default() -> List<T> {
        List(Vec::new())
    }
}

impl<'de, T: Counted + Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<List<T>, D::Error> {
        struct Items<T>(PhantomData<T>);
        impl<'de, T: Counted + Deserialize<'de>> Visitor<'de> for Items<T> {
            type Value = List<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of {}", T::WHAT)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<List<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    if list.len() == T::MAX {
                        return Err(A::Error::custom(format_args!("more than {} {}", T::MAX, T::WHAT)));
                    }
                    list.push(item);
                }
                Ok(List(list))
            }
        }
        deserializer.deserialize_seq(Items(PhantomData))
    }
}

/// The root of the file.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Root {
    pub(super) asset: Meta,
    #[serde(default)]
    pub(super) scenes: List<Scene>,
    #[serde(default)]
    pub(super) nodes: List<Node>,
    #[serde(default)]
    pub(super) meshes: List<Mesh>,
    #[serde(default)]
    pub(super) accessors: List<Accessor>,
    #[serde(default)]
    pub(super) buffer_views: List<View>,
    #[serde(default)]
    pub(super) buffers: List<Buffer>,
    #[serde(default)]
    pub(super) images: List<Image>,
    #[serde(default)]
    pub(super) textures: List<Texture>,
    #[serde(default)]
    pub(super) materials: List<Material>,
    #[serde(default)]
    pub(super) skins: List<Skin>,
    #[serde(default)]
    pub(super) animations: List<Animation>,
    #[serde(default)]
    pub(super) extensions_used: List<String>,
    #[serde(default)]
    pub(super) extensions_required: List<String>,
}

#[derive(Deserialize)]
pub(super) struct Meta {
    pub(super) version: String,
}

#[derive(Deserialize)]
pub(super) struct Scene {
    #[serde(default)]
    pub(super) nodes: List<u32>,
}

#[derive(Deserialize)]
pub(super) struct Node {
    #[serde(default)]
    pub(super) children: List<u32>,
    pub(super) mesh: Option<u32>,
    pub(super) skin: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct Mesh {
    pub(super) primitives: List<Primitive>,
}

/// Accessors, by the names of the attributes that they contain.
pub(super) type Attributes = BTreeMap<String, u32>;

#[derive(Deserialize)]
pub(super) struct Primitive {
    pub(super) attributes: Attributes,
    pub(super) indices: Option<u32>,
    pub(super) material: Option<u32>,
    pub(super) mode: Option<u32>,
    #[serde(default)]
    pub(super) targets: List<Attributes>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Accessor {
    pub(super) buffer_view: Option<u32>,
    #[serde(default)]
    pub(super) byte_offset: u32,
    pub(super) component_type: u32,
    pub(super) count: u32,
    #[serde(rename = "type")]
    pub(super) shape: String,
    pub(super) sparse: Option<Sparse>,
}

/// Values that replace some of an accessor's values.
#[derive(Deserialize)]
pub(super) struct Sparse {
    pub(super) count: u32,
    pub(super) indices: SparseIndices,
    pub(super) values: SparseValues,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseIndices {
    pub(super) buffer_view: u32,
    #[serde(default)]
    pub(super) byte_offset: u32,
    pub(super) component_type: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct SparseValues {
    pub(super) buffer_view: u32,
    #[serde(default)]
    pub(super) byte_offset: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View {
    pub(super) buffer: u32,
    #[serde(default)]
    pub(super) byte_offset: u32,
    pub(super) byte_length: u32,
    pub(super) byte_stride: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Buffer {
    pub(super) byte_length: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Image {
    pub(super) buffer_view: Option<u32>,
    pub(super) mime_type: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Texture {
    pub(super) source: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Material {
    pub(super) pbr_metallic_roughness: Option<Surface>,
    pub(super) normal_texture: Option<TextureUse>,
    pub(super) occlusion_texture: Option<TextureUse>,
    pub(super) emissive_texture: Option<TextureUse>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Surface {
    pub(super) base_color_texture: Option<TextureUse>,
    pub(super) metallic_roughness_texture: Option<TextureUse>,
}

#[derive(Deserialize)]
pub(super) struct TextureUse {
    pub(super) index: u32,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Skin {
    pub(super) joints: List<u32>,
    pub(super) inverse_bind_matrices: Option<u32>,
    pub(super) skeleton: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct Animation {
    pub(super) channels: List<Channel>,
    pub(super) samplers: List<Sampler>,
}

#[derive(Deserialize)]
pub(super) struct Channel {
    pub(super) sampler: u32,
    pub(super) target: Target,
}

#[derive(Deserialize)]
pub(super) struct Target {
    pub(super) node: Option<u32>,
}

#[derive(Deserialize)]
pub(super) struct Sampler {
    pub(super) input: u32,
    pub(super) output: u32,
}

/// Any value of any extension, if it has no reference to another file. `extras` belong to the author and are not read.
pub(super) struct Closed;

impl<'de> Deserialize<'de> for Closed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Closed, D::Error> {
        deserializer.deserialize_any(ClosedVisitor)
    }
}

struct ClosedVisitor;

impl<'de> Visitor<'de> for ClosedVisitor {
    type Value = Closed;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<Closed, E> {
        Ok(Closed)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Closed, E> {
        Ok(Closed)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Closed, E> {
        Ok(Closed)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Closed, E> {
        Ok(Closed)
    }

    fn visit_str<E>(self, _: &str) -> Result<Closed, E> {
        Ok(Closed)
    }

    fn visit_unit<E>(self) -> Result<Closed, E> {
        Ok(Closed)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Closed, A::Error> {
        while items.next_element::<Closed>()?.is_some() {}
        Ok(Closed)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Closed, A::Error> {
        while let Some(name) = fields.next_key::<Cow<'_, str>>()? {
            match &*name {
                "uri" => return Err(A::Error::custom(EXTERNAL)),
                "extras" => drop(fields.next_value::<IgnoredAny>()?),
                _ => {
                    fields.next_value::<Closed>()?;
                }
            }
        }
        Ok(Closed)
    }
}
