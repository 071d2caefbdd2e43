//! Results by key.

use std::borrow::Borrow;
use std::fmt::Debug;

use ottla_core::error::Error;

/// The results of a call by key (topic, partition, group, user ...), in the order of the call.
///
/// Every key of the call has a result. Brokers decide about keys separately, so some may fail beside others that succeed:
/// [`all`](Self::all) is for callers to which that makes no difference.
#[derive(Debug, Clone)]
pub struct Results<K, V>(Vec<(K, Result<V, Error>)>);

impl<K, V> Results<K, V> {
    /// Returns the number of keys.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns true without any key.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an iterator over keys and results, in the order of the call.
    pub fn iter(&self) -> std::slice::Iter<'_, (K, Result<V, Error>)> {
        self.0.iter()
    }

    /// Returns the result of a key, `None` for a key that the call did not have. Searches from the beginning: collect many
    /// results into a map.
    pub fn get<Q>(&self, key: &Q) -> Option<&Result<V, Error>>
    where
        K: Borrow<Q>,
        Q: Eq + ?Sized,
    {
        let found = self.0.iter().find(|(candidate, _)| candidate.borrow() == key);
        found.map(|(_, result)| result)
    }

    /// Returns an iterator over the keys that failed, with their errors.
    pub fn errors(&self) -> impl Iterator<Item = (&K, &Error)> {
        self.0
            .iter()
            .filter_map(|(key, result)| Some((key, result.as_ref().err()?)))
    }
}

impl<K: Debug, V> Results<K, V> {
    /// Returns the values of all keys.
    ///
    /// # Errors
    /// The first error of a key, with the key before its text.
    pub fn all(self) -> Result<Vec<(K, V)>, Error> {
        let value = |(key, result): (K, Result<V, Error>)| match result {
            Ok(value) => Ok((key, value)),
            Err(mut error) => {
                error.message = format!("{key:?}: {}", error.message);
                Err(error)
            }
        };
        self.0.into_iter().map(value).collect()
    }
}

impl<K, V> FromIterator<(K, Result<V, Error>)> for Results<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, Result<V, Error>)>>(results: I) -> Self {
        Results(results.into_iter().collect())
    }
}

impl<K, V> IntoIterator for Results<K, V> {
    type Item = (K, Result<V, Error>);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a Results<K, V> {
    type Item = &'a (K, Result<V, Error>);
    type IntoIter = std::slice::Iter<'a, (K, Result<V, Error>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

#[cfg(test)]
mod tests {
    use ottla_core::error::ErrorCode;

    use super::*;

    fn results() -> Results<String, i32> {
        let failed = || Error::new(ErrorCode::TOPIC_ALREADY_EXISTS, "it exists");
        [("b", Ok(1)), ("a", Err(failed())), ("c", Err(failed()))]
            .map(|(key, result)| (key.to_owned(), result))
            .into_iter()
            .collect()
    }

    #[test]
    fn keys_keep_the_order_of_the_call_and_are_found() {
        let keys: Vec<_> = results().into_iter().map(|(key, _)| key).collect();
        assert_eq!(keys, ["b", "a", "c"]);
        assert_eq!(results().get("b"), Some(&Ok(1)));
        assert!(results().get("d").is_none());
        assert_eq!(results().errors().count(), 2);
    }

    #[test]
    fn all_returns_the_first_error_with_its_key() {
        let error = results().all().unwrap_err();
        assert_eq!(error.message, "\"a\": it exists");
        assert_eq!(error.code, ErrorCode::TOPIC_ALREADY_EXISTS);
        let one: Results<_, _> = [("k", Ok(7))].into_iter().collect();
        assert_eq!(one.all(), Ok(vec![("k", 7)]));
    }
}
