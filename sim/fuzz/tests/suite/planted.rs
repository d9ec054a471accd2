//! Readers with a fault of each kind: the driver finds it, tells it and makes the input small; a sound one
//! shows nothing.

use std::time::Duration;
use weft_fuzz::drive::{Found, Plan, What, campaign};
use weft_fuzz::{Form, Part, Target};

fn target(name: &'static str, read: fn(&[u8]) -> Result<(), String>) -> Target {
    let seeds = || vec![b"size 10\nkind plain\nsize 20\n".to_vec()];
    Target { name, about: "planted", seeds, words: "deep  kind", form: Form::Text, constant: 1 << 16, read }
}

/// Numbers behind `size`, as a reader takes them.
fn sizes(input: &[u8]) -> Result<Vec<u64>, String> {
    let text = std::str::from_utf8(input).map_err(|e| e.to_string())?;
    let size = |line: &str| line.strip_prefix("size ")?.parse().ok();
    Ok(text.lines().filter_map(size).collect())
}

fn run(target: &Target, inputs: u64) -> Found {
    campaign(target, &Plan { limit: Duration::from_millis(300), ..Plan::new(inputs, 1) })
}

fn whats(found: &Found) -> Vec<What> {
    found.faults.iter().map(|fault| fault.what).collect()
}

#[test]
fn a_panic_is_found_with_its_place_and_a_small_input() {
    let found = run(
        &target("panics", |input| {
            let sum = sizes(input)?.into_iter().try_fold(0_u64, u64::checked_add);
            sum.map(|_| ()).ok_or(()).expect("planted");
            Ok(())
        }),
        20_000,
    );
    assert_eq!(whats(&found), [What::Panic]);
    let fault = &found.faults[0];
    assert!(fault.text.starts_with("planted") && fault.place.contains("planted.rs:"), "{fault}");
    assert!(fault.input.len() < 45 && sizes(&fault.input).expect("a text").len() == 2, "{:?}", fault.input);
}

#[test]
fn a_hang_is_found_and_ends_the_campaign() {
    let found = run(
        &target("hangs", |input| {
            while std::hint::black_box(sizes(input)?.iter().any(|size| *size > 1 << 40)) {}
            Ok(())
        }),
        20_000,
    );
    assert_eq!(whats(&found), [What::Hang]);
    assert!(sizes(&found.faults[0].input).expect("a text").iter().any(|size| *size > 1 << 40));
    assert!(found.inputs < 20_000);
}

#[test]
fn memory_beyond_the_input_is_found() {
    let found = run(
        &target("allocates", |input| {
            let most = sizes(input)?.into_iter().filter(|size| *size < 1 << 24).max();
            drop(std::hint::black_box(vec![0_u8; most.unwrap_or(0) as usize]));
            Ok(())
        }),
        20_000,
    );
    assert_eq!(whats(&found), [What::Memory]);
    let input = &found.faults[0].input;
    assert!(input.len() < 20, "{:?}", String::from_utf8_lossy(input));
    assert!(found.ratio.expect("counted") > 10.0 && found.peak.expect("counted") > 1 << 16);
}

#[test]
fn a_refusal_without_a_sentence_is_found() {
    let read = |input: &[u8]| if sizes(input)?.len() > 2 { Err(" ".to_string()) } else { Ok(()) };
    assert_eq!(whats(&run(&target("silent", read), 5_000)), [What::Sentence]);
    let read = |input: &[u8]| if sizes(input)?.len() > 2 { Err("a\nb".to_string()) } else { Ok(()) };
    assert_eq!(whats(&run(&target("lines", read), 5_000)), [What::Sentence]);
}

#[test]
fn a_fault_behind_a_checksum_is_found() {
    fn sum(bytes: &[u8]) -> u8 {
        bytes.iter().fold(0, |sum, byte| sum.wrapping_mul(31).wrapping_add(*byte))
    }
    let close = |parts: &[Part]| [&parts[0].bytes[..], &[sum(&parts[0].bytes)]].concat();
    let open = |input: &[u8]| input.split_last().map(|(_, body)| vec![Part::fields(body)]);
    let read = |input: &[u8]| {
        let (told, body) = input.split_last().ok_or("it is empty")?;
        let [a, b, ..] = body else { return Err("it is short".into()) };
        if *told != sum(body) {
            return Err("its checksum does not fit".to_string());
        }
        assert!(*a != 0xff || *b > 3, "planted");
        Ok(())
    };
    let planted = Target {
        seeds: || vec![[&[9, 9, 9][..], &[sum(&[9, 9, 9])]].concat()],
        form: Form::Parts { open, close },
        ..target("sums", read)
    };
    assert_eq!(whats(&run(&planted, 50_000)), [What::Panic]);
    // The same reader behind a checksum that is not made fit.
    assert_eq!(whats(&run(&Target { form: Form::Text, ..planted }, 2_000)), []);
}

#[test]
fn a_sound_reader_shows_nothing_and_the_same_seed_the_same() {
    let sound = target("sound", |input| {
        sizes(input).and_then(|all| if all.len() == 2 { Ok(()) } else { Err("not two".into()) })
    });
    let (one, two) = (run(&sound, 3_000), run(&sound, 3_000));
    assert_eq!(whats(&one), []);
    assert!(one.accepted > 300 && one.refused > 300 && one.accepted + one.refused == 3_000, "{one:?}");
    assert_eq!((one.accepted, one.kinds, one.peak), (two.accepted, two.kinds, two.peak));
    let other = campaign(&sound, &Plan::new(3_000, 2));
    assert_ne!(other.accepted, one.accepted);
}

#[test]
fn the_present_input_is_in_its_file_until_the_end() {
    let folder = tempfile::tempdir().expect("a folder");
    let current = folder.path().join("current");
    let sound = target("kept", |_| Ok(()));
    let plan = Plan { current: Some(current.clone()), ..Plan::new(100, 1) };
    assert_eq!(campaign(&sound, &plan).inputs, 100);
    assert!(!current.exists(), "a campaign that ends leaves none");
    let hanging = target("kept-hang", |_| {
        loop {
            std::hint::black_box(0);
        }
    });
    let plan = Plan { limit: Duration::from_millis(100), ..plan };
    assert_eq!(whats(&campaign(&hanging, &plan)), [What::Hang]);
    assert_eq!(std::fs::read(current).expect("still there"), (hanging.seeds)()[0]);
}
