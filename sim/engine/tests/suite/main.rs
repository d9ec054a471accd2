//! The engine: native code, fingerprints, taps, sharing, threads, rewinding, waveforms.

mod digest;
mod native;
mod reset;
mod rewind;
mod share;
mod tap;
mod threads;
mod wave;
