//! The file of a system's published results.

use serde::Deserialize;
use std::collections::BTreeMap;

/// All that is published of a system.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Its name on the command line.
    pub system: String,
    /// A sentence.
    pub about: String,
    /// Where the numbers are from.
    pub source: String,
    /// Figures and tables.
    #[serde(rename = "figure", default)]
    pub figures: Vec<Figure>,
    /// Published numbers that are not measured here.
    #[serde(default)]
    pub missing: Vec<Missing>,
}

/// A published number that is not measured here.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Missing {
    /// Of what.
    pub what: String,
    /// The number, as printed.
    pub published: String,
    /// Why.
    pub not_measured: String,
}

/// A figure, a table, or a sweep that is published as a shape.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// Its name on the command line.
    pub name: String,
    /// Headline.
    pub title: String,
    /// The sweep whose runs it needs; none for numbers of hardware alone.
    pub sweep: Option<String>,
    /// Summaries of the sweep that are drawn and tabulated.
    #[serde(default)]
    pub pictures: Vec<String>,
    /// What is published without a number.
    pub says: Option<String>,
    /// Why measured and published differ, in a person's words: a section of RESULTS.md.
    pub see: Option<String>,
    /// Keys that all rows share.
    #[serde(default)]
    pub all: Row,
    /// Numbers.
    #[serde(rename = "row", default)]
    rows: Vec<Row>,
    /// Orders.
    #[serde(rename = "order", default)]
    pub orders: Vec<Order>,
}

/// A value of an axis, or several of which the best counts.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(untagged)]
pub enum Labels {
    /// One.
    One(String),
    /// The best of these.
    Best(Vec<String>),
}

/// Values by axis.
pub type Points = BTreeMap<String, Labels>;

/// A published number.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(untagged)]
pub enum Value {
    /// As printed.
    Number(f64),
    /// Least and most that the words allow.
    Range([f64; 2]),
}

/// How a number is made of two.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Show {
    /// Over by to.
    Ratio,
    /// To by over.
    Speedup,
    /// Over alone.
    Value,
}

/// How the workloads' numbers are made one.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
pub enum Mean {
    /// Arithmetic mean.
    Arithmetic,
    /// Geometric mean.
    Geometric,
    /// The greatest.
    Greatest,
    /// The least.
    Least,
}

/// A published number and how it is measured; keys that are not given are those of the figure's `all`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Of what.
    #[serde(default)]
    pub what: String,
    /// What the table of all verdicts calls it; none of rows that are not in it.
    pub headline: Option<String>,
    /// Column of the results.
    pub metric: Option<String>,
    /// Columns whose sum it is.
    pub parts: Option<Vec<String>>,
    /// Column that it is divided by.
    pub per: Option<String>,
    /// Runs that it is about.
    pub over: Option<Points>,
    /// Runs that they are set against.
    pub to: Option<Points>,
    /// Values of further axes.
    pub at: Option<Points>,
    /// The column whose lowest value chooses the best.
    pub by: Option<String>,
    /// How.
    pub show: Option<Show>,
    /// Workloads.
    pub rows: Option<Vec<String>>,
    /// Mean.
    pub mean: Option<Mean>,
    /// The published number.
    pub published: Option<Value>,
    /// The same as printed.
    pub printed: Option<String>,
    /// What more is to be known of it.
    pub note: Option<String>,
    /// Counters.
    pub explain: Option<Vec<String>>,
    /// A block whose storage it is about.
    pub block: Option<String>,
    /// Its parameters.
    pub params: Option<BTreeMap<String, String>>,
    /// Which number of its storage.
    pub figure: Option<String>,
    /// Another block beside it.
    pub beside: Option<String>,
    /// Factor of the number.
    pub scale: Option<f64>,
    /// A set of options of two abstract protocols.
    pub states: Option<String>,
}

/// A published order of rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// Of what.
    pub what: String,
    /// Rows by name, or the value of `to` (its number is 1), the greatest first; those of a rank are in no order.
    pub ranks: Vec<Vec<String>>,
    /// The least first.
    #[serde(default)]
    pub rising: bool,
}

impl Published {
    /// Reads a file that errors call `file`.
    ///
    /// # Errors
    /// No TOML, an unknown key, a figure or row twice, or a row that says too little or too much.
    pub fn parse(text: &str, file: &str) -> Result<Published, anyhow::Error> {
        let published: Published = toml::from_str(text).map_err(|e| {
            let place = e.span().map_or(1, |span| text[..span.start].lines().count().max(1));
            anyhow::anyhow!(
                "{file}:{place}: {}",
                e.message().split_whitespace().collect::<Vec<_>>().join(" ")
            )
        })?;
        for (at, figure) in published.figures.iter().enumerate() {
            if published.figures[..at].iter().any(|other| other.name == figure.name) {
                anyhow::bail!("{file}: two figures are called {}; give one another name", figure.name);
            }
            figure.check().map_err(|problem| anyhow::anyhow!("{file}: figure {}: {problem}", figure.name))?;
        }
        for text in published.texts() {
            let named = text.split("figure `").skip(1).filter_map(|rest| rest.split('`').next());
            for name in named {
                if !published.figures.iter().any(|figure| figure.name == name) {
                    anyhow::bail!("{file}: {text:?} names figure {name}, which is not there");
                }
            }
        }
        Ok(published)
    }

    /// Sentences of its figures, rows and missing numbers; they name a figure as in "see figure `speedup`".
    pub fn texts(&self) -> Vec<&str> {
        let figures = self.figures.iter().flat_map(|figure| {
            let notes = figure.rows.iter().chain([&figure.all]).map(|row| &row.note);
            notes.chain([&figure.says]).flatten().map(String::as_str)
        });
        figures.chain(self.missing.iter().map(|missing| missing.not_measured.as_str())).collect()
    }
}

impl Figure {
    /// Its rows with the keys that all share.
    pub fn rows(&self) -> Vec<Row> {
        self.rows.iter().map(|row| row.filled(&self.all)).collect()
    }

    fn check(&self) -> Result<(), String> {
        let rows = self.rows();
        for (at, row) in rows.iter().enumerate() {
            let told = |problem: &str| Err(format!("row {:?}: {problem}", row.what));
            if rows[..at].iter().any(|other| other.what == row.what) {
                return told("is there twice; call one of them otherwise");
            }
            let runs = row.metric.is_some() || row.parts.is_some();
            let kinds = [runs, row.block.is_some(), row.states.is_some()];
            if kinds.iter().filter(|kind| **kind).count() != 1 {
                return told("is to have one of metric, parts, block, states");
            }
            if runs && (row.over.is_none() || self.sweep.is_none()) {
                return told("is of runs: give over, and the figure a sweep");
            }
            if runs && row.to.is_none() != (row.show() == Show::Value) {
                return told("show = value goes without to, and ratio and speedup with it");
            }
            if row.block.is_some() != row.figure.is_some() {
                return told("block and figure go together");
            }
        }
        if rows.is_empty() && self.pictures.is_empty() {
            return Err("has neither rows nor pictures".into());
        }
        if !self.pictures.is_empty() && self.sweep.is_none() {
            return Err("has pictures and no sweep to draw them from".into());
        }
        for order in &self.orders {
            for name in order.ranks.iter().flatten() {
                let known =
                    rows.iter().any(|row| row.what == *name) || self.reference().as_ref() == Some(name);
                if !known {
                    return Err(format!(
                        "order {:?} names {name}, which is no row and no value of to",
                        order.what
                    ));
                }
            }
        }
        Ok(())
    }

    /// What the rows are set against, if all are set against the same.
    pub fn reference(&self) -> Option<String> {
        let rows = self.rows();
        let to = rows.first()?.to.clone()?;
        if rows.iter().any(|row| row.to.as_ref() != Some(&to)) {
            return None;
        }
        match to.into_values().next()? {
            Labels::One(label) => Some(label),
            Labels::Best(_) => None,
        }
    }
}

impl Row {
    /// This row, with the keys of another in the place of those that it has not.
    fn filled(&self, all: &Row) -> Row {
        let (row, all) = (self.clone(), all.clone());
        let own = row.block.is_some() || row.states.is_some();
        let runs = |key: bool| !own && key;
        Row {
            metric: row.metric.or(all.metric.filter(|_| runs(self.parts.is_none()))),
            parts: row.parts.or(all.parts.filter(|_| runs(self.metric.is_none()))),
            per: row.per.or(all.per),
            over: row.over.or(all.over),
            to: row.to.or(all.to.filter(|_| row.show != Some(Show::Value))),
            at: row.at.or(all.at),
            by: row.by.or(all.by),
            show: row.show.or(all.show),
            rows: row.rows.or(all.rows),
            mean: row.mean.or(all.mean),
            explain: row.explain.or(all.explain),
            block: row.block.or(all.block),
            params: row.params.or(all.params),
            figure: row.figure.or(all.figure),
            beside: row.beside.or(all.beside),
            scale: row.scale.or(all.scale),
            ..row
        }
    }

    /// How its number is made.
    pub fn show(&self) -> Show {
        self.show.unwrap_or(if self.to.is_some() { Show::Ratio } else { Show::Value })
    }

    /// Whether it is a number of runs.
    pub fn of_runs(&self) -> bool {
        self.metric.is_some() || self.parts.is_some()
    }

    /// What the publication has, as printed.
    pub fn printed(&self) -> String {
        match (&self.printed, self.published) {
            (Some(printed), _) => printed.clone(),
            (None, Some(Value::Number(number))) => format!("{number}"),
            (None, Some(Value::Range([least, most]))) => format!("{least} to {most}"),
            (None, None) => "-".into(),
        }
    }
}

impl Value {
    /// Least and most.
    pub fn ends(self) -> [f64; 2] {
        match self {
            Value::Number(number) => [number; 2],
            Value::Range(ends) => ends,
        }
    }

    /// The number to compare with: itself, or what of the range is nearest.
    pub fn nearest(self, measured: f64) -> f64 {
        match self {
            Value::Number(number) => number,
            Value::Range([least, most]) => measured.clamp(least, most),
        }
    }
}

#[cfg(test)]
mod tests;
