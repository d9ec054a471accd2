//! A part of a sweep: `--only AXIS=VALUE,VALUE...` keeps these values of an axis.

use super::file::{ContestText, Point, SummaryText, SweepFile};
use anyhow::{Error, anyhow};

impl SweepFile {
    /// Leaves of one axis only the values named, in the sweep's order: `AXIS=VALUE,VALUE...`, where a value is what tables call it or, of the axis
    /// `workload`, a program's name; upper and lower case are the same. A summary relative to a value that goes is left out; a sentence for each.
    ///
    /// # Errors
    /// Words of another form, an axis or value that the sweep does not have.
    pub fn keep_only(&mut self, words: &str) -> Result<Vec<String>, Error> {
        let (place, wanted) = self.named(words)?;
        let points = std::mem::take(&mut self.axes[place].points);
        let (kept, gone) = points.into_iter().partition(|point| wanted.contains(&point.label));
        self.axes[place].points = kept;
        Ok(self.leave_out(place, gone))
    }

    /// The axis that `AXIS=VALUE,VALUE...` names, by its place, and the labels of these values.
    ///
    /// # Errors
    /// As [`SweepFile::keep_only`].
    pub fn named(&self, words: &str) -> Result<(usize, Vec<String>), Error> {
        let Some((name, values)) = words.split_once('=') else {
            return Err(anyhow!(
                "--only {words} is no AXIS=VALUE; write for example --only workload=bfs,mst"
            ));
        };
        let Some(place) = self.axes.iter().position(|axis| axis.name == name.trim()) else {
            let names = self.axes.iter().map(|axis| axis.name.as_str());
            let remedy = weft_names::choice(name.trim(), names);
            return Err(anyhow!("--only {words}: {} has no axis {}; {remedy}", self.name, name.trim()));
        };
        let axis = &self.axes[place];
        let wanted: Vec<&str> = values.split(',').map(str::trim).collect();
        if let Some(unknown) = wanted.iter().find(|value| !axis.points.iter().any(|point| is(point, value))) {
            let labels = axis.points.iter().map(|point| point.label.as_str());
            let remedy = weft_names::choice(unknown, labels);
            return Err(anyhow!("--only {words}: axis {} has no value {unknown:?}; {remedy}", axis.name));
        }
        let named = axis.points.iter().filter(|point| wanted.iter().any(|value| is(point, value)));
        Ok((place, named.map(|point| point.label.clone()).collect()))
    }

    /// Takes out the summaries whose reference, and the contests of which a value, is one of the points that an axis has lost.
    fn leave_out(&mut self, axis: usize, gone: Vec<Point>) -> Vec<String> {
        let rows = self.rows();
        let default = (0..self.axes.len()).find(|other| *other != rows);
        let names: Vec<String> = self.axes.iter().map(|axis| axis.name.clone()).collect();
        let lost = |text: &SummaryText| {
            let columns = text.keys.get("columns").map(|at| &at.value).or(default.map(|axis| &names[axis]));
            let mut fixed = text.relative_to.iter().map(|(name, value)| (name.as_ref().or(columns), value));
            fixed
                .find(|(name, value)| {
                    *name == Some(&names[axis]) && gone.iter().any(|p| p.label == value.value)
                })
                .map(|(_, value)| {
                    format!(
                        "{}: summary left out, {} = {} is not in this part",
                        text.place, names[axis], value.value
                    )
                })
        };
        let mut notes: Vec<String> = self.summaries.iter().filter_map(lost).collect();
        self.summaries.retain(|text| lost(text).is_none());
        let gone: Vec<&str> = gone.iter().map(|point| point.label.as_str()).collect();
        if axis == rows {
            notes.extend(self.drop_rows(&gone));
        }
        let default = default.map(|axis| names[axis].as_str());
        let lost = |text: &ContestText| text.lost(&names[axis], default, &gone);
        notes.extend(self.contests.iter().filter_map(lost));
        self.contests.retain(|text| lost(text).is_none());
        notes
    }
}

impl SweepFile {
    /// Takes workloads that have gone out of the rows of summaries, and the summaries that have lost all of theirs.
    fn drop_rows(&mut self, gone: &[&str]) -> Vec<String> {
        let here = |label: &str| !gone.contains(&label);
        let lost =
            |text: &SummaryText| !text.rows.is_empty() && !text.rows.iter().any(|row| here(&row.value));
        let note = |text: &SummaryText| {
            format!("{}: summary left out, none of its workloads is in this part", text.place)
        };
        let notes = self.summaries.iter().filter(|text| lost(text)).map(note).collect();
        self.summaries.retain(|text| !lost(text));
        self.summaries.iter_mut().for_each(|text| text.rows.retain(|row| here(&row.value)));
        notes
    }
}

/// Whether a value of an axis is called so.
fn is(point: &Point, value: &str) -> bool {
    let program = point.settings.iter().filter(|s| s.key == "workload").map(|s| s.value.value.as_str());
    program.chain([point.label.as_str()]).any(|name| name.eq_ignore_ascii_case(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(sweep: &SweepFile, axis: usize) -> Vec<&str> {
        sweep.axes[axis].points.iter().map(|point| point.label.as_str()).collect()
    }

    #[test]
    fn values_stay_in_the_sweeps_order() {
        let mut sweep = SweepFile::load("rec-protocols").expect("built in");
        sweep.keep_only("workload=stencil, ATAX").expect("both are there");
        sweep.keep_only("protocol=Rec").expect("there");
        assert_eq!((kept(&sweep, 0), kept(&sweep, 1)), (vec!["ATAX", "ST"], vec!["rec"]));
    }

    #[test]
    fn summaries_without_their_reference_are_left_out() {
        let mut sweep = SweepFile::load("hmg-gpus").expect("built in");
        assert_eq!(sweep.keep_only("workload=Nekbone").expect("there"), [""; 0], "no reference goes");
        let notes = sweep.keep_only("gpus=1,2").expect("both are there");
        assert!(notes.len() == 1 && notes[0].contains("gpus = 4 is not in this part"), "{notes:?}");
        assert_eq!(sweep.summaries.len(), 1, "the one relative to a protocol stays");
        assert_eq!(sweep.keep_only("protocol=hmg,nhcc").expect("both are there").len(), 1);
        assert!(sweep.summaries.is_empty());
    }

    #[test]
    fn workloads_that_go_leave_the_rows_of_summaries() {
        let mut sweep = SweepFile::load("flat-configs").expect("built in");
        let summaries = sweep.summaries.len();
        let notes = sweep.keep_only("workload=spm-g,fam-g").expect("both are there");
        assert!(notes.iter().all(|note| note.contains("none of its workloads")), "{notes:?}");
        assert!(!notes.is_empty() && sweep.summaries.len() == summaries - notes.len());
        let rows = sweep.summaries.iter().filter(|text| !text.rows.is_empty());
        let left: Vec<usize> = rows.map(|text| text.rows.len()).collect();
        assert!(!left.is_empty() && left.iter().all(|rows| *rows == 2), "{left:?}");
    }

    #[test]
    fn what_is_not_there_is_refused_with_what_is() {
        let mut sweep = SweepFile::load("rec-protocols").expect("built in");
        let all = kept(&sweep, 0).len();
        for (words, said) in [
            ("protocol", "no AXIS=VALUE"),
            ("range=1K", "there are workload, protocol"),
            ("protocol=mesi", "no value \"mesi\""),
            ("protocol=", "there are no-remote-caching"),
        ] {
            let text = sweep.keep_only(words).expect_err("refused").to_string();
            assert!(text.contains(said) && text.contains(words), "{text}");
        }
        assert_eq!(kept(&sweep, 0).len(), all, "nothing is lost");
    }
}
