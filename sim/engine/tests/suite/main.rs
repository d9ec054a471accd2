//! The engine: native code, sharing, threads, rewinding, waveforms.

mod native;
mod reset;
mod rewind;
mod share;
mod threads;
mod wave;
