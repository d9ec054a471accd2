use std::time::Instant;
use weft_explore::net::Event;
use weft_explore::search::{Limits, explore};
use weft_mgcc_bench::explore::{Config, Op, build};

#[test]
fn probe() {
    let env = |k: &str, d: u64| std::env::var(k).ok().and_then(|v| v.parse().ok()).unwrap_or(d);
    let mut c = Config::default();
    c.budget = env("BUDGET", 2) as usize;
    c.gpus = env("GPUS", 1) as u32;
    c.cus = env("CUS", 2) as u32;
    c.start = env("START", 0);
    if env("LINES", 2) == 1 {
        c.alphabet = vec![Op::Load(0), Op::Store(0, 0)];
        c.lines = vec![0];
    }
    if env("NOTES", 1) == 0 {
        c.notes = false;
    }
    c.link = env("LINK", 1) as usize;
    if let Ok(word) = std::env::var("INJECT") {
        use weft_mgcc::choice::{Choice, Inject};
        c.inject = Inject::WORDS.iter().find(|w| w.1 == word).unwrap().0;
    }
    let t = Instant::now();
    let mut net = build(&c).unwrap();
    println!("built in {:?}", t.elapsed());
    if env("NOISE", 1) == 0 {
        net.blocks.iter_mut().for_each(|b| b.noise = false);
    }
    let t = Instant::now();
    let limits =
        Limits { states: env("STATES", 3_000_000) as usize, live: env("LIVE", 0) == 1, ..Limits::default() };
    let found = explore(&mut net, limits, &mut |p| {
        if p.depth % 10 == 0 {
            println!("{p:?} {:?}", t.elapsed())
        }
    });
    println!(
        "{:?} in {:?}",
        (found.states, found.transitions, found.depth, found.finished, found.complete),
        t.elapsed()
    );
    for b in &net.blocks {
        println!("{} states {} steps {} clocked {}", b.name, b.states(), b.steps(), b.clocked);
    }
    println!("worlds {}", net.worlds());
    if let Some(v) = found.violation {
        println!("VIOLATION {}", v.text);
        use weft_explore::search::Space;
        let mut s = net.start().unwrap();
        for a in v.path {
            let mut e = Event::default();
            let n = net.act(&s, a, &mut e);
            for l in net.tell(&e) {
                println!("  {l}");
            }
            match n {
                Ok(n) => s = n,
                Err(t) => println!("  !! {t}"),
            }
        }
        for l in net.world().story(net.world_of(&s)) {
            println!("{l}");
        }
    }
}
