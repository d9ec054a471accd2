//! engine

pub mod wave;
