#!/usr/bin/env python3
"""Writes a trace of Weft (docs/trace-format.md): a 3-point stencil, back and forth between two arrays.

    scripts/trace_writer.py 2048 3 > stencil.wtrace
    weft run rec-4gpu-small --workload ./stencil.wtrace

The arguments are cells (a multiple of the 256 threads of a block) and rounds. A round is a kernel; block b of it works on
256 cells, and reads the outermost cells of its neighbours, which other GPUs have written in the round before.
"""
import sys

LANES, BLOCK, BYTES = 32, 256, 4
A, B = 0x1000000, 0x2000000


def access(base, first, cells):
    """Addresses and mask of a wave that accesses cell `first` and those behind it: base+stride over the active lanes."""
    lanes = [lane for lane in range(LANES) if 0 <= first + lane < cells]
    mask = sum(1 << lane for lane in lanes)
    where = f"{BYTES} {base + BYTES * (first + lanes[0]):#x}+{BYTES}"
    return where, f" m={mask:x}" if len(lanes) < LANES else ""


def wave(out, source, target, first, cells):
    """Loads the cell before, the cell and the cell behind, waits, adds, and stores a value that no other store has."""
    for token, shift in enumerate((-1, 0, 1), 1):
        out.append(f"L %{token} {''.join(access(source, first + shift, cells))}")
    out += ["W %1,%2,%3", "C 8 alu"]
    where, mask = access(target, first, cells)
    out += [f"S {where} =#{mask}", "E"]


def trace(cells, rounds):
    out = ["weft-trace 1", f"lanes {LANES}", f"copy {A:#x} {BYTES * cells} ; the first contents"]
    for number in range(rounds):
        source, target = (A, B) if number % 2 == 0 else (B, A)
        out.append(f"kernel round{number} grid {cells // BLOCK},1,1 block {BLOCK},1,1 lds 0")
        for block in range(cells // BLOCK):
            out.append(f"block {block},0,0")
            for at in range(BLOCK // LANES):
                out.append(f"wave {at}")
                wave(out, source, target, block * BLOCK + at * LANES, cells)
    return out


def main():
    cells, rounds = (int(word) for word in sys.argv[1:]) if len(sys.argv) == 3 else (2048, 3)
    if cells <= 0 or cells % BLOCK or rounds <= 0:
        sys.exit(f"cells must be a multiple of {BLOCK} and rounds at least 1")
    print("\n".join(trace(cells, rounds)))


if __name__ == "__main__":
    main()
