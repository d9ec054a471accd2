//! Counts of the states that an abstract coherence protocol can reach (spandex.md section 11).
