//! What a misspelt name probably means: the one place that all sentences about unknown names take their remedy from.
//!
//! ```
//! let fabrics = ["rec-4gpu", "rec-4gpu-small", "tsm-4gpu"];
//! let remedy = weft_names::remedy("rec-9gpu", fabrics, "`weft list fabrics` shows all");
//! assert_eq!(remedy, "the nearest is rec-4gpu; `weft list fabrics` shows all");
//! ```

/// Most names that a sentence gives as near.
const NEAR: usize = 3;

/// Most names that a sentence lists where no command does.
const LISTED: usize = 12;

/// Shortest word that may be looked for inside of names.
const PART: usize = 3;

/// The known names that a word probably means, the nearest first, at most three: those with the fewest letters to insert, delete, exchange or swap
/// (at most half of them), and, if there are none, those that the word is a part of.
pub fn near<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    let known: Vec<(usize, &str)> = known
        .into_iter()
        .map(|name| {
            let (shorter, longer) = (letters.min(name.chars().count()), letters.max(name.chars().count()));
            // Lengths that differ by more than half say enough, and a word may be as long as a file.
            let least = longer - shorter;
            let edits =
                if 2 * least > longer { least } else { strsim::osa_distance(&word, &name.to_lowercase()) };
            (edits, name)
        })
        .collect();
    let alike = |(edits, name): &&(usize, &str)| 2 * edits <= letters.max(name.chars().count());
    let mut found: Vec<(usize, &str)> = known.iter().filter(alike).copied().collect();
    if found.is_empty() && word.len() >= PART {
        found = known.into_iter().filter(|(_, name)| name.to_lowercase().contains(&word)).collect();
    }
    found.sort_unstable();
    found.dedup();
    let best = found.first().map_or(0, |(edits, _)| *edits);
    // A name with a letter more to change is hardly meant when another fits as well as it can.
    found.into_iter().take_while(|(edits, _)| *edits == best).take(NEAR).map(|(_, name)| name).collect()
}

/// The known name that a word probably means, if one is near.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    near(word, known).first().copied()
}

/// The remedy for a name that nothing has, where a command lists all of them: `all` says which, as in "`weft list fabrics` shows all".
pub fn remedy<'a>(word: &str, known: impl IntoIterator<Item = &'a str>, all: &str) -> String {
    match nearest_words(&near(word, known)) {
        Some(nearest) => format!("{nearest}; {all}"),
        None => all.to_string(),
    }
}

/// The remedy for a name that nothing has, where no command lists them: the nearest, and all if they are few.
pub fn choice<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    let nearest = nearest_words(&near(word, known.iter().copied()));
    match (nearest, known.len()) {
        (_, 0) => "there is none".into(),
        (None, _) => format!("there {}", listed(&known)),
        (Some(nearest), 1..=LISTED) => format!("{nearest}; there {}", listed(&known)),
        (Some(nearest), count) => format!("{nearest} of {count}"),
    }
}

fn nearest_words(near: &[&str]) -> Option<String> {
    match near {
        [] => None,
        [one] => Some(format!("the nearest is {one}")),
        [rest @ .., last] => Some(format!("the nearest are {} and {last}", rest.join(", "))),
    }
}

/// Names after "there", as many as a sentence holds.
fn listed(known: &[&str]) -> String {
    match known {
        [one] => format!("is {one}"),
        all if all.len() <= LISTED => format!("are {}", all.join(", ")),
        all => format!("are {} and {} more", all[..LISTED].join(", "), all.len() - LISTED),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: [&str; 6] = ["range", "entries", "ways", "link_bytes", "link_latency", "gpus"];

    #[test]
    fn the_nearest_needs_the_fewest_changes() {
        assert_eq!(near("rnage", KEYS), ["range"]);
        assert_eq!(near("ENTRY", KEYS), ["entries"]);
        assert_eq!(near("gups", KEYS), ["gpus"]);
        assert_eq!(near("colour_of_the_bus", KEYS), [""; 0]);
        assert_eq!(near("rec-9gpu", ["rec-8gpu", "rec-4gpu", "hmg-4gpu"]), ["rec-4gpu", "rec-8gpu"]);
    }

    #[test]
    fn a_part_of_a_name_is_near_when_nothing_else_is() {
        assert_eq!(near("latency", ["l2_pool", "link_latency_of_far_gpus"]), ["link_latency_of_far_gpus"]);
        assert_eq!(near("by", KEYS), [""; 0], "two letters are part of much");
        let parts = ["link_latency_of_far_gpus", "a_latency_of_far_gpus"];
        assert_eq!(near("latency", parts), ["a_latency_of_far_gpus"], "the shortest is meant");
    }

    #[test]
    fn a_word_as_long_as_a_file_is_near_to_nothing_at_once() {
        let begun = std::time::Instant::now();
        let names: Vec<String> = (0..1000).map(|n| format!("name_of_a_key_{n}")).collect();
        let word = "n".repeat(1 << 20);
        assert_eq!(near(&word, names.iter().map(String::as_str)), [""; 0]);
        assert!(begun.elapsed().as_secs() < 5, "no distance of all letters is reckoned");
    }

    #[test]
    fn a_remedy_names_the_nearest_and_where_all_are() {
        assert_eq!(remedy("rnage", KEYS, "X shows all"), "the nearest is range; X shows all");
        assert_eq!(remedy("colour_of_the_bus", KEYS, "X shows all"), "X shows all");
        assert_eq!(choice("red", ["rec", "rel"]), "the nearest are rec and rel; there are rec, rel");
        assert_eq!(choice("blue", ["rec"]), "there is rec");
        let many: Vec<String> = (0..90).map(|n| format!("name{n}")).collect();
        let many = || many.iter().map(String::as_str);
        assert_eq!(choice("nam7", many()), "the nearest is name7 of 90");
        assert!(choice("?", many()).ends_with("name11 and 78 more"));
    }
}
