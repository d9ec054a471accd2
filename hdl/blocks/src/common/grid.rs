//! Places in a mesh of nodes.

use weft_rtl::prelude::*;

/// Size of a mesh. Node `n` stands in column `n % columns` of row `n / columns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Grid {
    /// Columns, 1..16.
    pub columns: u32,
    /// Rows, 1..16.
    pub rows: u32,
}

impl Grid {
    /// Nodes.
    pub fn nodes(self) -> u32 {
        self.columns * self.rows
    }
    /// Width of a column's number.
    pub fn x_bits(self) -> u32 {
        bits_for(u64::from(self.columns))
    }
    /// Width of a row's number.
    pub fn y_bits(self) -> u32 {
        bits_for(u64::from(self.rows))
    }
    /// Column and row of the node `nodes[index]`.
    #[track_caller]
    pub fn place(self, nodes: &[u32], index: Bits) -> Place {
        let of = |part: &dyn Fn(u32) -> u32, bits: u32| {
            let all: Vec<Bits> = nodes.iter().map(|n| lit(u64::from(part(*n)), bits)).collect();
            select(&all, index)
        };
        let Grid { columns, .. } = self;
        Place { x: of(&|n| n % columns, self.x_bits()), y: of(&|n| n / columns, self.y_bits()) }
    }
    /// Hops between two nodes.
    pub fn hops(self, from: u32, to: u32) -> u32 {
        let Grid { columns, .. } = self;
        (from % columns).abs_diff(to % columns) + (from / columns).abs_diff(to / columns)
    }
}

/// Where a message goes.
#[derive(Clone, Copy)]
pub struct Place {
    /// Column.
    pub x: Bits,
    /// Row.
    pub y: Bits,
}
