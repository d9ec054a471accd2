//! Blocks that every system shares: queues, arbiters, arrays, crossbars, links.
