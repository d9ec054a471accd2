//! Names of the protocols (rec.md section 8): those of the hardware, and of those that others add.

use crate::config::{Field, Legal};
use serde_json::{Value, json};
use std::sync::OnceLock;
use weft_blocks::directory::protocols::{Protocol, all};

/// The legal values of key `protocol`.
pub(crate) fn names() -> &'static [&'static str] {
    static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
    NAMES.get_or_init(|| all().map(Protocol::name).collect())
}

impl Field for Protocol {
    fn parse(text: &str, _: &Legal) -> Result<Protocol, String> {
        Protocol::from_name(text).ok_or_else(|| match weft_names::nearest(text, names().iter().copied()) {
            Some(nearest) => format!("there is no such choice, the nearest is {nearest}"),
            None => "there is no such choice".into(),
        })
    }

    fn value(&self) -> Value {
        json!(self.name())
    }
}
