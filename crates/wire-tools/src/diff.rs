//! Differences between two values.

use std::collections::HashMap;

use nowcast_wire::Value;

/// One difference.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The place of the difference: names and indices from the root.
    pub path: String,
    /// The old value; `None` if the value was added.
    pub before: Option<Value>,
    /// The new value; `None` if the value was removed.
    pub after: Option<Value>,
}

/// Returns all differences between two values. Maps are compared by key. For lists, equal items at both ends are removed, and the
/// remaining items are compared one by one.
pub fn diff(before: &Value, after: &Value) -> Vec<Difference> {
    let mut found = Vec::new();
    walk(String::new(), before, after, &mut found);
    found
}

fn walk(path: String, before: &Value, after: &Value, found: &mut Vec<Difference>) {
    match (before, after) {
        _ if same(before, after) => {}
        (Value::Map(old), Value::Map(new)) => {
            let (in_old, in_new) = (Pairs::new(old), Pairs::new(new));
            for (key, value) in old {
                let path = join(&path, key);
                match in_new.get(key) {
                    Some(now) => walk(path, value, now, found),
                    None => found.push(Difference { path, before: Some(value.clone()), after: None }),
                }
            }
            for (key, value) in new.iter().filter(|(key, _)| in_old.get(key).is_none()) {
                found.push(Difference { path: join(&path, key), before: None, after: Some(value.clone()) });
            }
        }
        (Value::List(old), Value::List(new)) => lists(&path, old, new, found),
        _ => found.push(Difference { path, before: Some(before.clone()), after: Some(after.clone()) }),
    }
}

fn lists(path: &str, old: &[Value], new: &[Value], found: &mut Vec<Difference>) {
    let start = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    let (old_rest, new_rest) = (&old[start..], &new[start..]);
    let end = match old.len() == new.len() {
        true => 0,
        false => old_rest.iter().rev().zip(new_rest.iter().rev()).take_while(|(a, b)| same(a, b)).count(),
    };
    let (old_rest, new_rest) = (&old_rest[..old_rest.len() - end], &new_rest[..new_rest.len() - end]);
    for index in 0..old_rest.len().max(new_rest.len()) {
        let path = format!("{path}[{}]", start + index);
        match (old_rest.get(index), new_rest.get(index)) {
            (Some(before), Some(after)) => walk(path, before, after, found),
            (before, after) => {
                found.push(Difference { path, before: before.cloned(), after: after.cloned() });
            }
        }
    }
}

/// Whether two values are equal. A whole float is equal to the integer of the same value.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Int(_) | Value::Uint(_), Value::F32(_) | Value::F64(_))
        | (Value::F32(_) | Value::F64(_), Value::Int(_) | Value::Uint(_)) => a.as_f64() == b.as_f64(),
        (Value::F32(_), Value::F64(_)) | (Value::F64(_), Value::F32(_)) => a.as_f64() == b.as_f64(),
        (Value::List(a), Value::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Map(a), Value::Map(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(&a.0, &b.0) && same(&a.1, &b.1))
        }
        _ => a == b,
    }
}

/// The pairs of a map, by key.
struct Pairs<'v> {
    texts: HashMap<&'v str, &'v Value>,
    all: &'v [(Value, Value)],
}

impl<'v> Pairs<'v> {
    fn new(all: &'v [(Value, Value)]) -> Self {
        Pairs { texts: all.iter().filter_map(|(key, value)| Some((key.as_text()?, value))).collect(), all }
    }

    fn get(&self, key: &Value) -> Option<&'v Value> {
        match key {
            Value::Text(key) => self.texts.get(key.as_str()).copied(),
            _ => self.all.iter().find(|(known, _)| known == key).map(|(_, value)| value),
        }
    }
}

fn join(path: &str, key: &Value) -> String {
    let key = match key {
        Value::Text(key) => key.clone(),
        other => format!("{other:?}"),
    };
    if path.is_empty() { key } else { format!("{path}.{key}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hero(gold: i64, items: &[&str]) -> Value {
        let items = items.iter().map(|item| Value::from(*item)).collect::<Vec<_>>();
        Value::Map(vec![("gold".into(), gold.into()), ("items".into(), items.into())])
    }

    #[test]
    fn changed_added_and_removed_items_are_named() {
        let found = diff(&hero(5, &["sword", "rope", "lamp"]), &hero(7, &["sword", "lamp"]));
        let told: Vec<_> =
            found.iter().map(|one| (one.path.as_str(), one.before.clone(), one.after.clone())).collect();
        assert_eq!(
            told,
            [("gold", Some(5.into()), Some(7.into())), ("items[1]", Some("rope".into()), None),]
        );
    }

    #[test]
    fn a_number_is_the_same_as_integer_and_as_float() {
        assert_eq!(diff(&1.into(), &1.0.into()), []);
        assert_eq!(diff(&1.into(), &1.5.into()).len(), 1);
    }
}
