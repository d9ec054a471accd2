//! Reading TOML with the line of everything, so that each mistake can be told with its place.

use anyhow::{Error, anyhow};
use toml::Spanned;
use toml::de::{DeString, DeTable, DeValue};
use weft_fabric::config::{Place, text_of};

/// The text of a file and what errors call it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Path, or the name of a built-in file.
    pub file: &'a str,
    /// All of it.
    pub text: &'a str,
}

/// Something with the place where it was written.
#[derive(Clone, Debug)]
pub struct At<T> {
    /// The thing.
    pub value: T,
    /// Its line.
    pub place: Place,
}

impl<T> At<T> {
    /// The error of this thing.
    pub fn error(&self, problem: impl std::fmt::Display) -> Error {
        anyhow!("{}: {problem}", self.place)
    }

    /// Another thing at the same place.
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> At<U> {
        At { value: f(self.value), place: self.place }
    }
}

/// A table of the file; what it may hold is known.
pub struct Section<'a> {
    source: Source<'a>,
    table: &'a DeTable<'a>,
    /// Where it begins.
    pub place: Place,
}

impl<'a> Section<'a> {
    /// A table that may hold the `known` keys only.
    ///
    /// # Errors
    /// An unknown key.
    pub fn new(
        source: Source<'a>,
        place: Place,
        table: &'a DeTable<'a>,
        known: &[&str],
    ) -> Result<Section<'a>, Error> {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let place = source.place(key.span().start);
                let remedy = weft_names::choice(name, known.iter().copied());
                return Err(anyhow!("{place}: there is no key {name}; {remedy}"));
            }
        }
        Ok(Section { source, table, place })
    }

    fn get(&self, key: &str) -> Option<At<&'a DeValue<'a>>> {
        let (_, value) = self.table.iter().find(|(name, _)| *name.get_ref() == key)?;
        Some(self.source.at(value))
    }

    /// A number, string or switch as text.
    ///
    /// # Errors
    /// A list, table or date.
    pub fn text(&self, key: &str) -> Result<Option<At<String>>, Error> {
        let Some(found) = self.get(key) else { return Ok(None) };
        match text_of(found.value) {
            Some(text) if !text.trim().is_empty() => Ok(Some(At { value: text, place: found.place })),
            Some(_) => Err(found.error(format!("{key} is empty; give it a value or leave it out"))),
            None => Err(found.error(format!("{key} is no number, string or switch; give one value"))),
        }
    }

    /// As [`Section::text`], for a key that must be there.
    ///
    /// # Errors
    /// No such key.
    pub fn need(&self, key: &str, remedy: &str) -> Result<At<String>, Error> {
        self.text(key)?.ok_or_else(|| anyhow!("{}: there is no key {key}; {remedy}", self.place))
    }

    /// A list; its items may be anything.
    ///
    /// # Errors
    /// Something else than a list, or an empty one.
    pub fn list(&self, key: &str) -> Result<Option<At<Vec<At<&'a DeValue<'a>>>>>, Error> {
        let Some(found) = self.get(key) else { return Ok(None) };
        match found.value {
            DeValue::Array(items) if !items.is_empty() => {
                let items = items.iter().map(|item| self.source.at(item)).collect();
                Ok(Some(At { value: items, place: found.place }))
            }
            DeValue::Array(_) => Err(found.error(format!("{key} is an empty list; give at least one item"))),
            _ => Err(found.error(format!("{key} is no list; write {key} = [...]"))),
        }
    }

    /// A list of texts.
    ///
    /// # Errors
    /// Something else.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<At<String>>>, Error> {
        let Some(list) = self.list(key)? else { return Ok(None) };
        let text = |item: At<&DeValue>| match text_of(item.value) {
            Some(text) => Ok(item.map(|_| text)),
            None => Err(item.error(format!("an item of {key} is no number, string or switch"))),
        };
        list.value.into_iter().map(text).collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// The tables under a key: `[key]` once or `[[key]]` many times.
    ///
    /// # Errors
    /// Something else than tables.
    pub fn tables(&self, key: &str) -> Result<Vec<At<&'a DeTable<'a>>>, Error> {
        let Some(found) = self.get(key) else { return Ok(Vec::new()) };
        let items: Vec<At<&'a DeValue<'a>>> = match found.value {
            DeValue::Array(items) => items.iter().map(|item| self.source.at(item)).collect(),
            _ => vec![found],
        };
        items.into_iter().map(|item| table(key, item)).collect()
    }
}

/// A value that is to be a table.
fn table<'a>(key: &str, item: At<&'a DeValue<'a>>) -> Result<At<&'a DeTable<'a>>, Error> {
    match item.value {
        DeValue::Table(table) => Ok(At { value: table, place: item.place }),
        _ => Err(item.error(format!("{key} is no table; write [{key}] or [[{key}]] with keys below it"))),
    }
}

impl<'a> Source<'a> {
    /// The file's table.
    ///
    /// # Errors
    /// No TOML, with its line.
    pub fn parse(&self) -> Result<Spanned<DeTable<'a>>, Error> {
        DeTable::parse(self.text).map_err(|e| {
            let place = self.place(e.span().map_or(0, |s| s.start));
            anyhow!("{place}: {}", e.message().split_whitespace().collect::<Vec<_>>().join(" "))
        })
    }

    /// The line of a byte.
    pub fn place(&self, at: usize) -> Place {
        Place::line(self.file, self.text, at)
    }

    /// The table below a key of a table, if it has that.
    ///
    /// # Errors
    /// Something else than a table.
    pub fn below(&self, of: &'a DeTable<'a>, key: &str) -> Result<Option<At<&'a DeTable<'a>>>, Error> {
        let found = of.iter().find(|(name, _)| name.get_ref() == key);
        found.map(|(_, value)| table(key, self.at(value))).transpose()
    }

    fn at(&self, value: &'a Spanned<DeValue<'a>>) -> At<&'a DeValue<'a>> {
        At { value: value.get_ref(), place: self.place(value.span().start) }
    }

    /// All pairs of a table, or some of them, as texts.
    ///
    /// # Errors
    /// A value that is no number, string or switch.
    pub fn pairs<'t>(
        &self,
        table: impl IntoIterator<Item = (&'t Spanned<DeString<'t>>, &'t Spanned<DeValue<'t>>)>,
    ) -> Result<Vec<(String, At<String>)>, Error> {
        let pair = |(key, value): (&Spanned<DeString>, &Spanned<DeValue>)| {
            let (key, place) = (key.get_ref(), self.place(value.span().start));
            match text_of(value.get_ref()) {
                Some(text) => Ok((key.to_string(), At { value: text, place })),
                None => Err(anyhow!("{place}: {key} is no number, string or switch; give one value")),
            }
        };
        table.into_iter().map(pair).collect()
    }
}
