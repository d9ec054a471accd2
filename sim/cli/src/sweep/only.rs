//! A part of a sweep: `--only AXIS=VALUE,VALUE...` keeps these values of an axis.

use super::file::{Point, SweepFile};
use anyhow::{Error, anyhow};

impl SweepFile {
    /// Leaves of one axis only the values named, in the sweep's order: `AXIS=VALUE,VALUE...`, where a value is what tables call it or, of the axis
    /// `workload`, a program's name; upper and lower case are the same.
    ///
    /// # Errors
    /// Words of another form, an axis or value that the sweep does not have.
    pub fn keep_only(&mut self, words: &str) -> Result<(), Error> {
        let Some((name, values)) = words.split_once('=') else {
            return Err(anyhow!(
                "--only {words} is no AXIS=VALUE; write for example --only workload=bfs,mst"
            ));
        };
        let names: Vec<String> = self.axes.iter().map(|axis| axis.name.clone()).collect();
        let Some(axis) = self.axes.iter_mut().find(|axis| axis.name == name.trim()) else {
            return Err(anyhow!(
                "--only {words}: {} has no axis {}; its axes are {}",
                self.name,
                name.trim(),
                names.join(", ")
            ));
        };
        let wanted: Vec<&str> = values.split(',').map(str::trim).collect();
        if let Some(unknown) = wanted.iter().find(|value| !axis.points.iter().any(|point| is(point, value))) {
            let labels: Vec<&str> = axis.points.iter().map(|point| point.label.as_str()).collect();
            return Err(anyhow!(
                "--only {words}: axis {} has no value {unknown:?}; its values are {}",
                axis.name,
                labels.join(", ")
            ));
        }
        axis.points.retain(|point| wanted.iter().any(|value| is(point, value)));
        Ok(())
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
    fn what_is_not_there_is_refused_with_what_is() {
        let mut sweep = SweepFile::load("rec-protocols").expect("built in");
        let all = kept(&sweep, 0).len();
        for (words, said) in [
            ("protocol", "no AXIS=VALUE"),
            ("range=1K", "its axes are workload, protocol"),
            ("protocol=mesi", "no value \"mesi\""),
            ("protocol=", "its values are no-remote-caching"),
        ] {
            let text = sweep.keep_only(words).expect_err("refused").to_string();
            assert!(text.contains(said) && text.contains(words), "{text}");
        }
        assert_eq!(kept(&sweep, 0).len(), all, "nothing is lost");
    }
}
