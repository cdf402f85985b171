//! The game save as types, with the attributes that each codec requires. Our codec requires none.

use std::collections::BTreeMap;

use nowcast_wire::Wire;
use serde::{Deserialize, Serialize};
use wincode::{SchemaRead, SchemaWrite};

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Save {
    #[prost(uint32, required, tag = "1")]
    pub(super) version: u32,
    #[prost(double, required, tag = "2")]
    pub(super) time: f64,
    #[prost(message, required, tag = "3")]
    pub(super) player: Player,
    #[prost(message, repeated, tag = "4")]
    #[serde(default)]
    pub(super) scenes: Vec<Scene>,
    #[prost(message, repeated, tag = "5")]
    #[serde(default)]
    pub(super) quests: Vec<Quest>,
    #[prost(btree_map = "string, uint32", tag = "6")]
    pub(super) flags: BTreeMap<String, u32>,
    #[prost(string, repeated, tag = "7")]
    #[serde(default)]
    pub(super) log: Vec<String>,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Player {
    #[prost(string, required, tag = "1")]
    pub(super) name: String,
    #[prost(message, required, tag = "2")]
    pub(super) pos: Vec3,
    #[prost(message, required, tag = "3")]
    pub(super) rot: Quat,
    #[prost(float, required, tag = "4")]
    pub(super) health: f32,
    #[prost(uint32, required, tag = "5")]
    pub(super) gold: u32,
    #[prost(uint32, required, tag = "6")]
    pub(super) level: u32,
    #[prost(message, repeated, tag = "7")]
    #[serde(default)]
    pub(super) inventory: Vec<Item>,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Vec3 {
    #[prost(float, required, tag = "1")]
    pub(super) x: f32,
    #[prost(float, required, tag = "2")]
    pub(super) y: f32,
    #[prost(float, required, tag = "3")]
    pub(super) z: f32,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Quat {
    #[prost(float, required, tag = "1")]
    pub(super) x: f32,
    #[prost(float, required, tag = "2")]
    pub(super) y: f32,
    #[prost(float, required, tag = "3")]
    pub(super) z: f32,
    #[prost(float, required, tag = "4")]
    pub(super) w: f32,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Item {
    #[prost(string, required, tag = "1")]
    pub(super) def: String,
    #[prost(uint32, required, tag = "2")]
    pub(super) count: u32,
    #[prost(string, required, tag = "3")]
    pub(super) rarity: String,
    #[prost(float, optional, tag = "4")]
    #[serde(default)]
    pub(super) durability: Option<f32>,
    #[prost(message, repeated, tag = "5")]
    #[serde(default)]
    pub(super) enchants: Vec<Enchant>,
    #[prost(uint32, optional, tag = "6")]
    #[serde(default)]
    pub(super) owner: Option<u32>,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Enchant {
    #[prost(string, required, tag = "1")]
    pub(super) kind: String,
    #[prost(uint32, required, tag = "2")]
    pub(super) level: u32,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Scene {
    #[prost(uint32, required, tag = "1")]
    pub(super) id: u32,
    #[prost(string, required, tag = "2")]
    pub(super) name: String,
    #[prost(message, required, tag = "3")]
    pub(super) ambient: Color,
    #[prost(message, repeated, tag = "4")]
    #[serde(default)]
    pub(super) entities: Vec<Entity>,
    #[prost(bool, required, tag = "5")]
    pub(super) visited: bool,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Color {
    #[prost(uint32, required, tag = "1")]
    pub(super) r: u32,
    #[prost(uint32, required, tag = "2")]
    pub(super) g: u32,
    #[prost(uint32, required, tag = "3")]
    pub(super) b: u32,
    #[prost(uint32, required, tag = "4")]
    pub(super) a: u32,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Entity {
    #[prost(uint32, required, tag = "1")]
    pub(super) id: u32,
    #[prost(string, required, tag = "2")]
    pub(super) name: String,
    #[prost(string, required, tag = "3")]
    pub(super) kind: String,
    #[prost(message, required, tag = "4")]
    pub(super) pos: Vec3,
    #[prost(message, required, tag = "5")]
    pub(super) rot: Quat,
    #[prost(message, required, tag = "6")]
    pub(super) scale: Vec3,
    #[prost(bool, required, tag = "7")]
    pub(super) visible: bool,
    #[prost(float, optional, tag = "8")]
    #[serde(default)]
    pub(super) health: Option<f32>,
    #[prost(string, required, tag = "9")]
    pub(super) model: String,
    #[prost(string, repeated, tag = "10")]
    #[serde(default)]
    pub(super) tags: Vec<String>,
    #[prost(string, optional, tag = "11")]
    #[serde(default)]
    pub(super) script: Option<String>,
    #[prost(message, optional, tag = "12")]
    #[serde(default)]
    pub(super) npc: Option<Npc>,
    #[prost(message, optional, tag = "13")]
    #[serde(default)]
    pub(super) container: Option<Container>,
    #[prost(message, optional, tag = "14")]
    #[serde(default)]
    pub(super) light: Option<Light>,
    #[prost(message, optional, tag = "15")]
    #[serde(default)]
    pub(super) door: Option<Door>,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Npc {
    #[prost(string, required, tag = "1")]
    pub(super) faction: String,
    #[prost(uint32, optional, tag = "2")]
    #[serde(default)]
    pub(super) dialogue: Option<u32>,
    #[prost(sint32, required, tag = "3")]
    pub(super) mood: i32,
    #[prost(message, repeated, tag = "4")]
    #[serde(default)]
    pub(super) inventory: Vec<Item>,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Container {
    #[prost(bool, required, tag = "1")]
    pub(super) locked: bool,
    #[prost(message, repeated, tag = "2")]
    #[serde(default)]
    pub(super) items: Vec<Item>,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Light {
    #[prost(message, required, tag = "1")]
    pub(super) color: Color,
    #[prost(float, required, tag = "2")]
    pub(super) radius: f32,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Door {
    #[prost(uint32, optional, tag = "1")]
    #[serde(default)]
    pub(super) target: Option<u32>,
    #[prost(bool, required, tag = "2")]
    pub(super) open: bool,
}

#[derive(
    Clone,
    PartialEq,
    Serialize,
    Deserialize,
    Wire,
    bitcode::Encode,
    bitcode::Decode,
    prost::Message,
    SchemaRead,
    SchemaWrite,
)]
pub(super) struct Quest {
    #[prost(string, required, tag = "1")]
    pub(super) id: String,
    #[prost(string, required, tag = "2")]
    pub(super) title: String,
    #[prost(string, required, tag = "3")]
    pub(super) state: String,
    #[prost(uint32, required, tag = "4")]
    pub(super) step: u32,
    #[prost(sint32, required, tag = "5")]
    pub(super) counter: i32,
}
