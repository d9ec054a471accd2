//! Ranks over MPI.

use super::Place;
use crate::failure::{Failure, Outcome};
use crate::signals::{self, Graceful};
use anyhow::anyhow;
use mpi::Threading;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, Destination, Equivalence, Source};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};
use weft_fabric::ranks::Link;
use weft_fabric::run::dismiss;

/// Tag of everything but letters; a letter has the number of its part behind it.
const TALK: i32 = 1;

/// Bytes of a message at most. A shorter one is the last of what is sent.
const PIECE: usize = 1 << 30;

/// Room for letters on their way: those of a window, and far more.
const ROOM: usize = 64 << 20;

/// How long a rank is waited for when a signal has come: launchers send one when a rank has died, and kill all
/// others a second later.
const PATIENCE: Duration = Duration::from_millis(600);

/// The newest snapshot: its cycle and file.
static KEPT: Mutex<Option<(u64, PathBuf)>> = Mutex::new(None);

/// A snapshot was written.
pub fn kept(cycle: u64, path: &Path) {
    *KEPT.lock().unwrap_or_else(PoisonError::into_inner) = Some((cycle, path.into()));
}

/// The way to other ranks. MPI takes calls of all threads.
#[derive(Debug)]
struct Mpi {
    place: Place,
    crowded: bool,
    begun: Instant,
    /// Milliseconds from then to the last time that something came.
    heard: AtomicU64,
}

impl Mpi {
    fn new(place: Place, threads: usize) -> Mpi {
        let here = SimpleCommunicator::world().split_shared(place.rank as i32).size() as usize;
        let crowded =
            available_parallelism().is_ok_and(|processors| here * threads.max(1) > processors.get());
        let heard = AtomicU64::new(0);
        Mpi { place, crowded, begun: Instant::now(), heard }
    }

    /// Something has come.
    fn heard(&self) {
        self.heard.store(self.begun.elapsed().as_millis() as u64, Ordering::Relaxed);
    }

    /// Waits for a message of a rank.
    fn piece(&self, world: &SimpleCommunicator, from: usize) -> Vec<u8> {
        let from = world.process_at_rank(from as i32);
        let mut looks = 0u32;
        loop {
            if let Some((message, status)) = from.immediate_matched_probe_with_tag(TALK) {
                let mut bytes = vec![0; status.count(u8::equivalent_datatype()) as usize];
                message.matched_receive_into(&mut bytes[..]);
                self.heard();
                return bytes;
            }
            self.again(&mut looks);
        }
    }

    /// Hands a message over. A long one is taken only when the other rank asks for it, which one that is no more
    /// does not.
    fn hand(&self, world: &SimpleCommunicator, to: usize, piece: &[u8]) {
        let to = world.process_at_rank(to as i32);
        mpi::request::scope(|scope| {
            let mut sent = to.immediate_send_with_tag(scope, piece, TALK);
            let mut looks = 0u32;
            while let Err(pending) = sent.test() {
                sent = pending;
                self.again(&mut looks);
            }
        });
    }

    /// Between two looks whether something has come or gone.
    fn again(&self, looks: &mut u32) {
        *looks = looks.saturating_add(1);
        if self.place.rank == 0 {
            self.wait();
        }
        match *looks {
            0..1000 if !self.crowded => std::hint::spin_loop(),
            0..20_000 => std::thread::yield_now(),
            // Another rank computes for long, or writes a file.
            _ => std::thread::sleep(Duration::from_micros(50)),
        }
    }
}

impl Link for Mpi {
    fn rank(&self) -> usize {
        self.place.rank
    }

    fn ranks(&self) -> usize {
        self.place.ranks
    }

    fn crowded(&self) -> bool {
        self.crowded
    }

    fn post(&self, to: usize, part: usize, letter: &[u64]) {
        let world = SimpleCommunicator::world();
        world.process_at_rank(to as i32).buffered_send_with_tag(letter, TALK + 1 + part as i32);
    }

    fn collect(&self, part: usize, letter: &mut Vec<u64>) -> bool {
        let world = SimpleCommunicator::world();
        let found = world.any_process().immediate_matched_probe_with_tag(TALK + 1 + part as i32);
        let Some((message, status)) = found else { return false };
        letter.resize(status.count(u64::equivalent_datatype()) as usize, 0);
        message.matched_receive_into(&mut letter[..]);
        self.heard();
        true
    }

    fn send(&self, to: usize, text: &[u8]) {
        let world = SimpleCommunicator::world();
        text.chunks_exact(PIECE).for_each(|piece| self.hand(&world, to, piece));
        self.hand(&world, to, text.chunks_exact(PIECE).remainder());
    }

    fn receive(&self, from: usize) -> Vec<u8> {
        let world = SimpleCommunicator::world();
        let mut text = self.piece(&world, from);
        let mut last = text.len();
        while last == PIECE {
            let mut piece = self.piece(&world, from);
            last = piece.len();
            text.append(&mut piece);
        }
        text
    }

    fn wait(&self) {
        let Some(since) = signals::since() else { return };
        let heard = self.begun + Duration::from_millis(self.heard.load(Ordering::Relaxed));
        if since.max(heard).elapsed() > PATIENCE {
            lost(self.place);
        }
    }
}

/// Another rank is no more: ends the process, with one sentence of rank 0.
fn lost(place: Place) -> ! {
    if place.rank == 0 {
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        let kept = match &*kept {
            Some((cycle, path)) => {
                let file = path.display();
                format!(
                    "the snapshot of cycle {cycle} in {file} is whole, and the same command goes on from it with \
                     --resume {file}"
                )
            }
            None => "no snapshot was written, which --snapshot FILE would do".into(),
        };
        weft_output::abandon();
        eprintln!("weft: one of the {} ranks no longer answers, and the run is lost; {kept}", place.ranks);
    }
    // The others are killed by the launcher.
    std::process::exit(1)
}

/// See [`super::share`].
pub fn among(
    place: Place,
    threads: usize,
    lead: &dyn Fn(Option<Arc<dyn Link>>) -> Outcome,
    serve: &dyn Fn(Arc<dyn Link>, &dyn Fn(Outcome) -> bool),
) -> Outcome {
    let refused = |what: &str| Err(Failure::check(anyhow!("{what}")));
    let Some((mut universe, level)) = mpi::initialize_with_threading(Threading::Multiple) else {
        return refused("MPI cannot be used a second time in a process");
    };
    if level < Threading::Multiple {
        return refused("this MPI takes calls of one thread only; use one with MPI_THREAD_MULTIPLE");
    }
    universe.set_buffer_size(ROOM);
    let world = universe.world();
    let told = Place { rank: world.rank() as usize, ranks: world.size() as usize };
    if told != place {
        return refused(&format!(
            "the launcher says that {} processes were started, and MPI knows {}: start weft with the mpirun of the \
             MPI that it was built with",
            place.ranks, told.ranks
        ));
    }
    let link = Arc::new(Mpi::new(place, threads));
    if place.rank == 0 {
        let ended = lead(Some(link.clone()));
        // A run that has not begun has not heard who else cannot.
        let _ = ready(&*link);
        dismiss(&*link);
        return ended;
    }
    // The launcher hands signals on to all ranks; rank 0 decides what follows. It also sends its own when rank 0
    // has failed, perhaps while this process is ending: so it is never given back.
    std::mem::forget(Graceful::new());
    serve(link.clone(), &|begun: Outcome| {
        let text = begun.as_ref().map_or_else(ToString::to_string, |()| String::new());
        link.send(0, text.as_bytes());
        if begun.is_err() {
            // All that can come is the word that the run is over.
            link.receive(0);
        }
        begun.is_ok()
    });
    Ok(())
}

/// All ranks have begun.
///
/// # Errors
/// What keeps one from it.
pub fn ready(link: &dyn Link) -> Outcome {
    static ASKED: AtomicBool = AtomicBool::new(false);
    let mut all = Ok(());
    if ASKED.swap(true, Ordering::Relaxed) {
        return all;
    }
    for rank in 1..link.ranks() {
        let text = String::from_utf8_lossy(&link.receive(rank)).into_owned();
        if !text.is_empty() && all.is_ok() {
            all = Err(Failure::input(anyhow!("rank {rank}: {text}")));
        }
    }
    all
}
