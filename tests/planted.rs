//! Planted faults and the commands that see them, as the tables say (`sim/conformance/src/planted`): status 1 with the fault, 0 without.
//! `scripts/litmus --faults` asks all rows; here are those that the tables have in the suite.

use crate::program::weft_in;
use weft_conformance::planted::{FILES, File};

/// Every row of a file that the suite asks of a fault: the program sees it with one of the row's seeds, and nothing up to that
/// seed on sound hardware.
fn is_seen(file: &str, fault: &str) {
    let folder = tempfile::tempdir().expect("a folder");
    let rows = File::named(file).expect("a file").rows().unwrap_or_else(|e| panic!("{e}"));
    for row in rows.iter().filter(|row| row.fault == fault) {
        for protocol in &row.suite {
            let end = |planted, seed| {
                let args = row.args(protocol, planted, seed).expect("a row of the suite has a command");
                let words: Vec<&str> = args.iter().map(String::as_str).collect();
                let out = weft_in(folder.path(), &words);
                (out.status.code(), String::from_utf8_lossy(&out.stderr).into_owned())
            };
            let ended = (1..=row.most).map(|seed| (seed, end(true, seed))).find(|(_, end)| end.0 != Some(0));
            let (seed, (status, said)) =
                ended.unwrap_or_else(|| panic!("{protocol}, {fault}: not seen with {} seeds", row.most));
            assert_eq!(status, Some(1), "{protocol}, {fault}, seed {seed}: {said}");
            for sound in 1..=seed {
                let (status, said) = end(false, sound);
                assert_eq!(status, Some(0), "{protocol} without {fault}, seed {sound}: {said}");
            }
        }
    }
}

macro_rules! planted {
    ($($name:ident: $file:literal, $fault:literal;)*) => {
        $(
            #[test]
            fn $name() {
                is_seen($file, $fault);
            }
        )*

        /// Files and faults that have a test here.
        const ASKED: &[(&str, &str)] = &[$(($file, $fault)),*];
    };
}

planted! {
    directories_fences_that_do_not_wait: "directory", "inject=fence-early-done";
    directories_l1s_that_release_early: "directory", "inject=l1-early-release";
    directories_l1s_that_keep_copies: "directory", "inject=l1-keeps-copies";
    directories_relaxed_atomics_that_overtake: "directory", "inject_cu=relaxed-overtakes";
    timestamps_writes_inside_leases: "tsm", "inject=lit_mwts";
    timestamps_requests_without_a_time: "tsm", "inject=lit_no_ts";
    timestamps_reads_that_leave_the_clock: "tsm", "inject=lit_read_cts";
    timestamps_leases_that_grow: "tsm", "inject=lit_brts";
    timestamps_answers_without_data: "tsm", "inject=lit_ack_nodata";
    timestamps_entries_that_forget: "tsm", "inject=lit_no_floor";
    timestamps_stamps_that_start_again: "tsm", "inject=lit_reinit";
    timestamps_reads_past_a_lease: "tsm", "inject=past_rts";
    timestamps_fences_that_leave_the_clock: "tsm", "inject=keep_clock";
    timestamps_relaxed_atomics_that_overtake: "tsm", "inject_cu=relaxed-overtakes";
    spandex_llc_early_ack: "spandex", "inject=llc-early-ack";
    spandex_llc_no_cross: "spandex", "inject=llc-no-cross";
    spandex_llc_forgotten_sharer: "spandex", "inject=llc-forgotten-sharer";
    spandex_llc_lost_dirty: "spandex", "inject=llc-lost-dirty";
    spandex_tu_mesi_no_r2: "spandex", "inject=tu-mesi-no-r2";
    spandex_tu_gpu_no_escalation: "spandex", "inject=tu-gpu-no-escalation";
    spandex_gpu_l1_keeps_copies: "spandex", "inject=gpu-l1-keeps-copies";
    spandex_gpu_l1_fill_over_store: "spandex", "inject=gpu-l1-fill-over-store";
    spandex_gpu_l1_atomic_no_mark: "spandex", "inject=gpu-l1-atomic-no-mark";
    spandex_gpu_l1_wt_overtakes: "spandex", "inject=gpu-l1-wt-overtakes";
    spandex_gpu_l1_atomic_overtakes: "spandex", "inject=gpu-l1-atomic-overtakes";
    spandex_gpu_l1_buffer_unseen: "spandex", "inject=gpu-l1-buffer-unseen";
    spandex_denovo_l1_no_cross: "spandex", "inject=denovo-l1-no-cross";
    spandex_denovo_l1_no_delay: "spandex", "inject=denovo-l1-no-delay";
    spandex_l3_forgotten_sharer: "spandex", "inject=l3-forgotten-sharer";
    spandex_l3_early_put: "spandex", "inject=l3-early-put";
    spandex_gpu_l2_silent_upgrade: "spandex", "inject=gpu-l2-silent-upgrade";
    spandex_client_no_inv: "spandex", "inject=client-no-inv";
    spandex_flex_l1_no_delay: "spandex", "inject=flex-l1-no-delay";
    spandex_flex_l1_keeps_once: "spandex", "inject=flex-l1-keeps-once";
    spandex_cu_relaxed_overtakes: "spandex", "inject_cu=relaxed-overtakes";
    flat_gpu_l1_fill_over_store: "flat", "inject=gpu-l1-fill-over-store";
    flat_gpu_l1_atomic_overtakes: "flat", "inject=gpu-l1-atomic-overtakes";
    flat_denovo_l1_no_cross: "flat", "inject=denovo-l1-no-cross";
    flat_cu_relaxed_overtakes: "flat", "inject_cu=relaxed-overtakes";
}

#[test]
fn every_row_of_the_suite_has_its_test() {
    let (mut asked, mut rows) = (Vec::new(), Vec::new());
    for file in FILES {
        let of_suite =
            file.rows().unwrap_or_else(|e| panic!("{e}")).into_iter().filter(|r| !r.suite.is_empty());
        rows.extend(of_suite.map(|row| (file.name, row.fault)));
    }
    asked.extend(ASKED.iter().copied());
    for list in [&mut asked, &mut rows] {
        list.sort_unstable();
        list.dedup();
    }
    assert_eq!(asked, rows, "tests here, and rows of the tables with a suite");
}
