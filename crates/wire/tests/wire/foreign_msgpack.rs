//! Values without a shape are plain MessagePack. Another implementation, `rmp-serde`, reads them and writes them back.

use nowcast_wire::{Value, any};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Debug, PartialEq)]
struct Hero {
    name: String,
    gold: u32,
    depth: i64,
    health: Option<f32>,
    position: (f64, f64, f64),
    items: Vec<String>,
    secret: serde_json::Value,
}

fn hero() -> Hero {
    Hero {
        name: "Aveline — the 3rd".into(),
        gold: 70_000,
        depth: i64::MIN,
        health: Some(87.5),
        position: (1.5, 0.0, -94.8307),
        items: (0..40).map(|item| format!("item {item}")).collect(),
        secret: serde_json::json!({ "flags": [true, null, 255, -33], "nested": { "": u64::MAX } }),
    }
}

#[test]
fn values_of_another_implementation_are_written_back_unchanged() {
    let theirs = rmp_serde::to_vec_named(&hero()).unwrap();
    let value = any::from_slice(&theirs).unwrap();
    assert_eq!(value.get("gold"), Some(&Value::from(70_000)));
    let ours = any::to_vec(&value);
    assert_eq!(rmp_serde::from_slice::<Hero>(&ours).unwrap(), hero());
    assert_eq!(any::from_slice(&ours).unwrap(), value);
}
