//! Numbers that no run can have measured: a file with one was changed or is damaged.

use serde_json::Value;

/// Parts of a run's record that hold measured numbers.
const MEASURED: [&str; 8] =
    ["cycles", "wall_seconds", "cycles_per_second", "kernels", "metrics", "stalls", "counters", "covers"];

/// Parts of which every entry is a count: the number itself, or the one it calls `value`.
const COUNTS: [&str; 2] = ["counters", "covers"];

/// Refuses a run's record with a number that cannot be; the error names its place.
///
/// # Errors
/// A negative number; a count that is none; a kernel that ends before it begins, or after the run.
pub fn run(record: &Value) -> Result<(), String> {
    MEASURED.iter().try_for_each(|part| numbers(&record[*part], part))?;
    for part in COUNTS {
        for (name, entry) in record[part].as_object().into_iter().flatten() {
            let value = entry.get("value").unwrap_or(entry);
            if !value.is_u64() {
                return Err(format!("{part}.{name} is {value}, which is no count"));
            }
        }
    }
    let cycles = record["cycles"].as_u64().unwrap_or(u64::MAX);
    for (number, kernel) in record["kernels"].as_array().into_iter().flatten().enumerate() {
        let (Some(start), Some(end)) = (kernel["start"].as_u64(), kernel["end"].as_u64()) else {
            return Err(format!("kernels[{number}] has no start and end in cycles"));
        };
        if start > end || end > cycles {
            return Err(format!("kernels[{number}] goes from cycle {start} to {end} of {cycles}"));
        }
    }
    Ok(())
}

/// Refuses negative numbers anywhere below a place.
fn numbers(value: &Value, place: &str) -> Result<(), String> {
    match value {
        Value::Number(number) if number.as_f64().is_none_or(|n| !n.is_finite() || n < 0.0) => {
            Err(format!("{place} is {number}, and nothing that is measured is below zero"))
        }
        Value::Array(all) => {
            all.iter().enumerate().try_for_each(|(at, value)| numbers(value, &format!("{place}[{at}]")))
        }
        Value::Object(all) => {
            all.iter().try_for_each(|(name, value)| numbers(value, &format!("{place}.{name}")))
        }
        _ => Ok(()),
    }
}

/// Columns of a sweep's table that are texts, or numbers that nobody has measured.
const TEXTS: [&str; 12] = [
    "status", "fabric", "workload", "params", "graph", "seed", "protocol", "set", "verified", "error",
    "identity", "check",
];

/// Refuses a row of a sweep's table with a number that cannot be; the error continues a sentence that begins with the line.
///
/// # Errors
/// A number that is negative or none; a count that is none.
pub fn row(columns: &[String], row: &[String]) -> Result<(), String> {
    let cell =
        |name: &str| columns.iter().position(|column| column == name).map_or("", |at| row[at].as_str());
    let ended = ["ok", "stale", "wrong"].contains(&cell("status"));
    for name in ["cycles", "kernels"] {
        if ended && columns.iter().any(|column| column == name) && cell(name).parse::<u64>().is_err() {
            return Err(told(name, cell(name), "a count"));
        }
    }
    let measured = |name: &String| !TEXTS.contains(&name.as_str()) && !name.starts_with("axis.");
    for (name, cell) in columns.iter().zip(row).filter(|(name, _)| measured(name)) {
        if cell.parse::<f64>().is_ok_and(|number| !number.is_finite() || number < 0.0) {
            return Err(told(name, cell, "a number from 0 on"));
        }
    }
    Ok(())
}

fn told(name: &str, cell: &str, expected: &str) -> String {
    let cell = if cell.is_empty() { "empty" } else { cell };
    format!(
        "was changed or damaged: {name} is {cell} where {expected} is expected; delete the line and make its run again by weft sweep"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_with_an_impossible_number_is_refused_with_its_place() {
        let good = json!({
            "cycles": 90, "kernels": [{"start": 0, "end": 90, "bytes": {"near": 4}}], "metrics": {"x": [0.5]},
            "counters": {"bank.hits": {"value": 3}}, "covers": {"row": 1},
        });
        assert_eq!(run(&good), Ok(()));
        let with = |pointer: &str, value: Value| {
            let mut bad = good.clone();
            *bad.pointer_mut(pointer).expect("there") = value;
            run(&bad).expect_err("refused")
        };
        assert_eq!(
            with("/kernels/0/bytes/near", json!(-4)),
            "kernels[0].bytes.near is -4, and nothing that is measured is below zero"
        );
        assert_eq!(
            with("/metrics/x/0", json!(-0.5)),
            "metrics.x[0] is -0.5, and nothing that is measured is below zero"
        );
        assert_eq!(
            with("/counters/bank.hits/value", json!(0.5)),
            "counters.bank.hits is 0.5, which is no count"
        );
        assert_eq!(with("/covers/row", json!("many")), "covers.row is \"many\", which is no count");
        assert_eq!(with("/kernels/0/end", json!(91)), "kernels[0] goes from cycle 0 to 91 of 90");
        assert_eq!(with("/kernels/0/start", json!(null)), "kernels[0] has no start and end in cycles");
    }

    #[test]
    fn a_row_with_an_impossible_number_is_refused_with_its_column() {
        let columns = ["run", "status", "workload", "params", "cycles", "bytes"].map(String::from);
        let with = |cells: [&str; 6]| row(&columns, &cells.map(String::from));
        assert_eq!(with(["1", "ok", "bfs", "a=-1", "90", "0.5"]), Ok(()));
        assert_eq!(with(["1", "failed", "bfs", "", "", ""]), Ok(()));
        for (cells, part) in [
            (["1", "ok", "bfs", "", "-5", "1"], "cycles is -5 where a count"),
            (["1", "ok", "bfs", "", "nan", "1"], "cycles is nan where a count"),
            (["1", "ok", "bfs", "", "", "1"], "cycles is empty where a count"),
            (["1", "ok", "bfs", "", "9", "inf"], "bytes is inf where a number from 0 on"),
            (["1", "ok", "bfs", "", "9", "-1"], "bytes is -1 where a number from 0 on"),
        ] {
            assert!(with(cells).expect_err("refused").contains(part), "{cells:?}");
        }
    }
}
