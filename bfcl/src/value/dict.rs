//! Python's `dict`: order of insertion, keys equal as Python sees it.

use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use super::Value;

/// Above this many entries keys are found by hash. Nearly all dictionaries are smaller, and there
/// looking at each key is faster than hashing one.
const MAX_UNINDEXED: usize = 16;

/// A dictionary. Inserting an equal key keeps the first key and its place, and the last value.
#[derive(Debug, Clone, Default)]
pub struct Dict {
    entries: Vec<(Value, Value)>,
    /// The place of every key, once there are many.
    index: Option<Box<Index>>,
}

/// Places by key. Boxed, so that values stay small.
#[derive(Debug, Clone)]
struct Index(HashMap<Key, usize>);

/// A hashable value as a key.
#[derive(Debug, Clone)]
struct Key(Value);

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

impl Dict {
    /// An empty dictionary.
    pub fn new() -> Dict {
        Dict::default()
    }

    /// Sets `key` to `value`. The caller has made sure that the key is hashable in Python.
    pub fn insert(&mut self, key: Value, value: Value) {
        if let Some(place) = self.place(&key) {
            self.entries[place].1 = value;
            return;
        }
        if let Some(index) = &mut self.index {
            index.0.insert(Key(key.clone()), self.entries.len());
        }
        self.entries.push((key, value));
        if self.index.is_none() && self.entries.len() > MAX_UNINDEXED {
            self.build_index();
        }
    }

    /// The value of a string key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.place_of_str(key).map(|place| &self.entries[place].1)
    }

    /// The value of any key.
    pub fn get_value(&self, key: &Value) -> Option<&Value> {
        self.place(key).map(|place| &self.entries[place].1)
    }

    /// Whether the string key is present.
    pub fn contains_key(&self, key: &str) -> bool {
        self.place_of_str(key).is_some()
    }

    /// The number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Keys and values in order of insertion.
    pub fn iter(&self) -> impl Iterator<Item = (&Value, &Value)> {
        self.entries.iter().map(|(key, value)| (key, value))
    }

    /// Takes the value of a string key out of the dictionary; the others keep their order.
    pub fn remove(&mut self, key: &str) -> Option<Value> {
        let (_, value) = self.entries.remove(self.place_of_str(key)?);
        if self.index.is_some() {
            self.build_index();
        }
        Some(value)
    }

    fn place(&self, key: &Value) -> Option<usize> {
        match &self.index {
            Some(index) => index.0.get(&Key(key.clone())).copied(),
            None => self
                .entries
                .iter()
                .position(|(other, _)| key.same_or_eq(other)),
        }
    }

    fn place_of_str(&self, key: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.0.get(&Key(Value::str(key))).copied(),
            None => self
                .entries
                .iter()
                .position(|(other, _)| other.as_str() == Some(key)),
        }
    }

    fn build_index(&mut self) {
        let keys = self.entries.iter().map(|(key, _)| Key(key.clone()));
        self.index = Some(Box::new(Index(keys.zip(0..).collect())));
    }
}

impl IntoIterator for Dict {
    type Item = (Value, Value);
    type IntoIter = std::vec::IntoIter<(Value, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
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
        let equal = |(key, value)| {
            other
                .get_value(key)
                .is_some_and(|theirs| theirs.same_or_eq(value))
        };
        self.len() == other.len() && self.iter().all(equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Int;

    #[test]
    fn large_dictionaries_behave_like_small_ones() {
        let int = |i: i64| Value::Int(Int::from(i));
        let mut dict = Dict::new();
        for i in 0..100 {
            dict.insert(Value::str(format!("k{i}")), int(i));
            dict.insert(int(i), int(-i));
        }
        dict.insert(Value::Float(7.0), Value::None);
        assert_eq!(dict.len(), 200);
        assert_eq!(dict.get("k42"), Some(&int(42)));
        assert_eq!(dict.get_value(&int(7)), Some(&Value::None));
        assert_eq!(dict.remove("k0"), Some(int(0)));
        assert_eq!(dict.get("k99"), Some(&int(99)));
        assert!(!dict.contains_key("k0"));
        assert_eq!(dict.clone().into_iter().collect::<Dict>(), dict);
    }
}
