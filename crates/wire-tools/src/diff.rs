//! Differences between two values.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{ErrorKind, Read, Seek};
use std::sync::mpsc::sync_channel;
use std::thread;

use nowcast_wire::Value;

use crate::ToolError;
use crate::convert::{Format, Part, each_value, read_value};

/// Number of items that are read ahead of the comparison.
const ITEMS_AHEAD: usize = 256;

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

/// A file that [`diff()`] compares. A long list is never in memory as a whole: the file is read twice, and the first time keeps a
/// hash of each item.
pub struct Compared<R> {
    input: R,
    format: Format,
    outline: Outline,
}

enum Outline {
    Whole(Value),
    List(Vec<u64>),
}

impl<R: Read + Seek + Send> Compared<R> {
    /// Reads a file for the first time.
    ///
    /// # Errors
    /// Fails if the file cannot be read, or is malformed.
    pub fn read(mut input: R, format: Format) -> Result<Self, ToolError> {
        let mut outline = Outline::List(Vec::new());
        each_value(&mut input, format, true, &mut |_| {}, &mut |part| {
            match (part, &mut outline) {
                (Part::Item(value), Outline::List(hashes)) => hashes.push(hash(&value)),
                (Part::Whole(value), outline) => *outline = Outline::Whole(value),
                _ => {}
            }
            Ok(())
        })?;
        input.rewind()?;
        Ok(Self { input, format, outline })
    }

    fn into_value(self) -> Result<Value, ToolError> {
        match self.outline {
            Outline::Whole(value) => Ok(value),
            Outline::List(_) => read_value(self.input, self.format),
        }
    }
}

/// Calls `found` with each difference between two files. Maps are compared by key. For lists, equal items at both ends are
/// skipped, and the remaining items are compared one by one.
///
/// # Errors
/// Fails if a file cannot be read again.
pub fn diff<R: Read + Seek + Send>(
    before: Compared<R>,
    after: Compared<R>,
    found: &mut dyn FnMut(Difference),
) -> Result<(), ToolError> {
    let (Outline::List(old), Outline::List(new)) = (&before.outline, &after.outline) else {
        walk(String::new(), &before.into_value()?, &after.into_value()?, found);
        return Ok(());
    };
    let [start, end] = common_ends(old, new, PartialEq::eq);
    let counts = [old.len(), new.len()].map(|count| count - start - end);
    thread::scope(|scope| {
        let readers = [before, after].map(|file| {
            let (sender, items) = sync_channel(ITEMS_AHEAD);
            let reader = scope.spawn(move || {
                each_value(file.input, file.format, true, &mut |_| {}, &mut |part| match part {
                    // The receiver leaves when it has compared enough.
                    Part::Item(value) => {
                        sender.send(value).map_err(|_| ToolError::Io(ErrorKind::BrokenPipe.into()))
                    }
                    _ => Ok(()),
                })
            });
            (items, reader)
        });
        let [(old, _), (new, _)] = &readers;
        let [old, new] =
            [(old, counts[0]), (new, counts[1])].map(|(items, count)| items.iter().skip(start).take(count));
        pairwise("", start, old, new, found);
        for (items, reader) in readers {
            drop(items);
            match reader.join() {
                Ok(Err(ToolError::Io(error))) if error.kind() == ErrorKind::BrokenPipe => {}
                Ok(result) => result?,
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(())
    })
}

fn walk(path: String, before: &Value, after: &Value, found: &mut dyn FnMut(Difference)) {
    match (before, after) {
        _ if same(before, after) => {}
        (Value::Map(old), Value::Map(new)) => {
            let (in_old, in_new) = (Pairs::new(old), Pairs::new(new));
            for (key, value) in old {
                let path = join(&path, key);
                match in_new.get(key) {
                    Some(now) => walk(path, value, now, found),
                    None => found(Difference { path, before: Some(value.clone()), after: None }),
                }
            }
            for (key, value) in new.iter().filter(|(key, _)| in_old.get(key).is_none()) {
                found(Difference { path: join(&path, key), before: None, after: Some(value.clone()) });
            }
        }
        (Value::List(old), Value::List(new)) => {
            let [start, end] = common_ends(old, new, same);
            pairwise(&path, start, &old[start..old.len() - end], &new[start..new.len() - end], found);
        }
        _ => found(Difference { path, before: Some(before.clone()), after: Some(after.clone()) }),
    }
}

/// Returns how many items two lists share at the start, and how many at the end. Lists of one length are compared in place.
fn common_ends<T>(old: &[T], new: &[T], same: impl Fn(&T, &T) -> bool) -> [usize; 2] {
    let start = old.iter().zip(new).take_while(|(a, b)| same(a, b)).count();
    if old.len() == new.len() {
        return [start, 0];
    }
    let ends = old[start..].iter().rev().zip(new[start..].iter().rev());
    [start, ends.take_while(|(a, b)| same(a, b)).count()]
}

/// Compares two lists item by item, from the item number `start`.
fn pairwise<V: Borrow<Value>>(
    path: &str,
    start: usize,
    old: impl IntoIterator<Item = V>,
    new: impl IntoIterator<Item = V>,
    found: &mut dyn FnMut(Difference),
) {
    let (mut old, mut new) = (old.into_iter(), new.into_iter());
    for index in start.. {
        let path = format!("{path}[{index}]");
        match (old.next(), new.next()) {
            (None, None) => return,
            (Some(before), Some(after)) => walk(path, before.borrow(), after.borrow(), found),
            (before, after) => {
                let [before, after] = [before, after].map(|item| item.map(|item| item.borrow().clone()));
                found(Difference { path, before, after });
            }
        }
    }
}

/// Hashes a value. Values that are the same have the same hash, apart from integers that a float rounds.
fn hash(value: &Value) -> u64 {
    let mut state = DefaultHasher::new();
    note(value, &mut state);
    state.finish()
}

fn note(value: &Value, state: &mut DefaultHasher) {
    match value {
        Value::Nil => 0u8.hash(state),
        Value::Bool(flag) => (1u8, flag).hash(state),
        Value::Int(number) => (2u8, i128::from(*number)).hash(state),
        Value::Uint(number) => (2u8, i128::from(*number)).hash(state),
        Value::F32(number) => note(&Value::F64(f64::from(*number)), state),
        Value::F64(number) if number.fract() == 0.0 => (2u8, *number as i128).hash(state),
        Value::F64(number) => (3u8, number.to_bits()).hash(state),
        Value::Text(text) => (4u8, text).hash(state),
        Value::Bytes(bytes) => (5u8, bytes).hash(state),
        Value::List(items) => {
            (6u8, items.len()).hash(state);
            items.iter().for_each(|item| note(item, state));
        }
        Value::Map(pairs) => {
            (7u8, pairs.len()).hash(state);
            pairs.iter().for_each(|(key, value)| {
                note(key, state);
                note(value, state);
            });
        }
        Value::Time(seconds, nanoseconds) => (8u8, seconds, nanoseconds).hash(state),
        Value::Ext(kind, bytes) => (9u8, kind, bytes).hash(state),
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
    use std::io::Cursor;

    use super::*;

    fn hero(gold: i64, items: &[&str]) -> Value {
        let items = items.iter().map(|item| Value::from(*item)).collect::<Vec<_>>();
        Value::Map(vec![("gold".into(), gold.into()), ("items".into(), items.into())])
    }

    fn differences(before: &Value, after: &Value) -> Vec<(String, Option<Value>, Option<Value>)> {
        let mut found = Vec::new();
        walk(String::new(), before, after, &mut |one| found.push((one.path, one.before, one.after)));
        found
    }

    #[test]
    fn changed_added_and_removed_items_are_named() {
        let found = differences(&hero(5, &["sword", "rope", "lamp"]), &hero(7, &["sword", "lamp"]));
        let expected =
            [("gold".into(), Some(5.into()), Some(7.into())), ("items[1]".into(), Some("rope".into()), None)];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_number_is_the_same_as_integer_and_as_float() {
        assert_eq!(differences(&1.into(), &1.0.into()), []);
        assert_eq!(differences(&1.into(), &1.5.into()).len(), 1);
        assert_eq!(hash(&1.into()), hash(&1.0.into()));
        assert_ne!(hash(&1.into()), hash(&1.5.into()));
    }

    #[test]
    fn lists_in_files_are_compared_item_by_item_like_lists_in_memory() {
        let items = |numbers: &[i64]| numbers.iter().map(|number| Value::from(*number)).collect::<Vec<_>>();
        let lists = [vec![], vec![1], vec![1, 2, 3], vec![1, 3], vec![0, 1, 2, 3], vec![1, 9, 3], vec![4, 5]];
        for (old, new) in lists.iter().flat_map(|old| lists.iter().map(move |new| (old, new))) {
            let expected = differences(&Value::List(items(old)), &Value::List(items(new)));
            let [before, after] = [old, new].map(|numbers| {
                let json = format!("{numbers:?}");
                Compared::read(Cursor::new(json), Format::Json).expect("the list is JSON")
            });
            let mut found = Vec::new();
            diff(before, after, &mut |one| found.push((one.path, one.before, one.after)))
                .expect("both files are read again");
            assert_eq!(found, expected, "{old:?} and {new:?}");
        }
    }
}
