//! Python's `dict`: order of insertion, keys equal as Python sees it.

use std::hash::{Hash, Hasher};

use indexmap::{Equivalent, IndexMap};

use super::{PyStr, Value};

/// A dictionary. Inserting an equal key keeps the first key and its place, and the last value.
#[derive(Debug, Clone, Default)]
pub struct Dict(IndexMap<Key, Value>);

/// A hashable value as a dictionary key.
#[derive(Debug, Clone)]
pub struct Key(Value);

impl Key {
    /// The value of the key.
    pub fn value(&self) -> &Value {
        &self.0
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.0.same_or_eq(&other.0)
    }
}

impl Eq for Key {}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.py_hash(state);
    }
}

/// Looks up a string key without building a value.
struct Name<'a>(&'a str);

impl Hash for Name<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        PyStr::hash_utf8(self.0, state);
    }
}

impl Equivalent<Key> for Name<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        key.0.as_str() == Some(self.0)
    }
}

/// Looks up any value without cloning it.
struct Probe<'a>(&'a Value);

impl Hash for Probe<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.py_hash(state);
    }
}

impl Equivalent<Key> for Probe<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        self.0.same_or_eq(&key.0)
    }
}

impl Dict {
    /// An empty dictionary.
    pub fn new() -> Dict {
        Dict::default()
    }

    /// Sets `key` to `value`. The caller has made sure that the key is hashable in Python.
    pub fn insert(&mut self, key: Value, value: Value) {
        // IndexMap keeps the old key and its place when the key is there already, as Python does.
        self.0.insert(Key(key), value);
    }

    /// The value of a string key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.0.get(&Name(key))
    }

    /// The value of any key.
    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        self.0.get(&Probe(key))
    }

    /// Whether the string key is present.
    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(&Name(key))
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Keys and values in order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.0.iter().map(|(key, value)| (&key.0, value))
    }

    /// Takes the value of a string key out of the dictionary; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        self.0.shift_remove(&Name(key))
    }
}

impl IntoIterator for Dict {
    type Item = (Value, Value);
    type IntoIter =
        std::iter::Map<indexmap::map::IntoIter<Key, Value>, fn((Key, Value)) -> (Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter().map(|(key, value)| (key.0, value))
    }
}

impl FromIterator<(Value, Value)> for Dict {
    fn from_iter<I: IntoIterator<Item = (Value, Value)>>(entries: I) -> Dict {
        let mut dict = Dict::new();
        for (key, value) in entries {
            dict.insert(key, value);
        }
        dict
    }
}

impl PartialEq for Dict {
    fn eq(&self, other: &Dict) -> bool {
        self.len() == other.len()
            && self.0.iter().all(|(key, value)| {
                other
                    .0
                    .get(key)
                    .is_some_and(|theirs| value.same_or_eq(theirs))
            })
    }
}
