//! Weights as a file holds them, with their lines.

/// The weights of a file in its order, and the line of each.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entries {
    values: Vec<f64>,
    /// Where a run of weights begins that stand on one line, or on lines that follow each other: number of
    /// the weight, its line, and lines from one weight to the next (0 or 1).
    runs: Vec<(usize, usize, usize)>,
}

impl Entries {
    /// Adds the next weight.
    pub fn push(&mut self, line: usize, value: f64) {
        let number = self.values.len();
        self.values.push(value);
        if let Some((first, begin, step)) = self.runs.last_mut() {
            let second = number == *first + 1;
            if second && (line == *begin || line == *begin + 1) {
                *step = line - *begin;
                return;
            }
            if !second && line == *begin + (number - *first) * *step {
                return;
            }
        }
        self.runs.push((number, line, 0));
    }

    /// The weights.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Line of a weight, counted from 1.
    pub fn line(&self, number: usize) -> usize {
        let run = self.runs.partition_point(|(first, ..)| *first <= number);
        let (first, line, step) = self.runs[run.saturating_sub(1)];
        line + (number - first) * step
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_weight_has_its_line() {
        let lines = [3, 4, 5, 7, 7, 7, 8, 9, 9, 12, 13];
        let mut entries = Entries::default();
        lines.iter().zip(0..).for_each(|(line, value)| entries.push(*line, f64::from(value)));
        let found: Vec<usize> = (0..lines.len()).map(|number| entries.line(number)).collect();
        assert_eq!(found, lines);
        assert_eq!(entries.values()[10], 10.0);
    }
}
