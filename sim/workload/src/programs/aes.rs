//! AES-256 (Hetero-Mark): encryption of a message in place, block by block (FIPS-197).

use super::common::{LANES, SEED};
use super::machine::{GPUS, Machine};
use super::params::{Params, size};
use super::simt::{Base, Flow, Kernels, Launch, Memory, Round, Simt, Thread};
use super::{WorkloadError, WorkloadInfo};
use crate::data;
use crate::program::VerifyError;

/// Registry entry.
pub const INFO: WorkloadInfo = WorkloadInfo {
    name: "aes",
    about: "AES-256 of a message in place, 16 bytes per thread in work-groups of 64, in words of 8 bytes, with substitutions byte by byte; each GPU has a key schedule and an S-box of its own (Hetero-Mark AES).",
    params: &[
        size("blocks", "1024", 1 << 24, "blocks of 16 bytes", "Length of the message."),
        GPUS,
        LANES,
        SEED,
    ],
    published: &[("blocks", "4194304")],
    takes_graph: false,
    make: |params, _| Simt::from_params(Aes::new, params),
};

const GROUP: u64 = 64;
/// Bytes of a block, words of a round key, rounds.
const BLOCK: usize = 16;
const KEY_WORDS: u64 = 4;
const ROUNDS: usize = 14;
/// First slot of a round key, after the block's bytes.
const S_KEY: u64 = BLOCK as u64;
/// Arrays: the message, then a key schedule and an S-box per GPU.
const MESSAGE: usize = 0;

type State = [u8; BLOCK];

/// Twice an element of GF(2^8) modulo x^8 + x^4 + x^3 + x + 1.
const fn double(v: u8) -> u8 {
    (v << 1) ^ ((v >> 7) * 0x1b)
}

/// The S-box: the inverse in GF(2^8), then an affine map. The generator 3 runs through all elements, its inverse the other way.
const fn substitution() -> [u8; 256] {
    let mut table = [0x63; 256];
    let (mut p, mut q) = (1u8, 1u8);
    loop {
        p ^= double(p);
        // Division by 3 is multiplication by 0xf6.
        q ^= q << 1;
        q ^= q << 2;
        q ^= q << 4;
        if q & 0x80 != 0 {
            q ^= 0x09;
        }
        table[p as usize] =
            0x63 ^ q ^ q.rotate_left(1) ^ q.rotate_left(2) ^ q.rotate_left(3) ^ q.rotate_left(4);
        if p == 1 {
            return table;
        }
    }
}

const S_BOX: [u8; 256] = substitution();

/// Round keys of a 256-bit key, as bytes in order.
fn schedule(key: &[u8; 32]) -> Vec<State> {
    let mut words: Vec<[u8; 4]> = key.as_chunks::<4>().0.to_vec();
    let mut constant = 1;
    for i in 8..4 * (ROUNDS + 1) {
        let mut word = words[i - 1];
        if i % 8 == 0 {
            word.rotate_left(1);
        }
        if i % 4 == 0 {
            word = word.map(|b| S_BOX[usize::from(b)]);
        }
        if i % 8 == 0 {
            word[0] ^= constant;
            constant = double(constant);
        }
        let before = words[i - 8];
        words.push(std::array::from_fn(|b| word[b] ^ before[b]));
    }
    words.chunks_exact(4).map(|four| std::array::from_fn(|i| four[i / 4][i % 4])).collect()
}

fn xor(state: State, key: &State) -> State {
    std::array::from_fn(|i| state[i] ^ key[i])
}

/// What follows the S-box in round `round`, 1..=14: rows are shifted, columns mixed but in the last round, the key is added.
fn after_s_box(substituted: &State, key: &State, round: usize) -> State {
    let shifted: State = std::array::from_fn(|i| substituted[(i + 4 * (i % 4)) % BLOCK]);
    if round == ROUNDS {
        return xor(shifted, key);
    }
    let mixed = std::array::from_fn(|i| {
        let of = |row: usize| shifted[i / 4 * 4 + (i + row) % 4];
        double(of(0)) ^ double(of(1)) ^ of(1) ^ of(2) ^ of(3)
    });
    xor(mixed, key)
}

fn encrypt(block: State, keys: &[State]) -> State {
    (1..=ROUNDS).fold(xor(block, &keys[0]), |state, round| {
        after_s_box(&state.map(|b| S_BOX[usize::from(b)]), &keys[round], round)
    })
}

/// The cipher.
#[derive(Clone, Debug)]
pub struct Aes {
    base: Base,
    machine: Machine,
    blocks: u64,
    keys: Vec<State>,
}

impl Aes {
    /// Builds the program; `params` as in its registry entry.
    pub fn new(params: &Params) -> Result<Self, WorkloadError> {
        let (blocks, seed) = (params.integer("blocks"), params.integer("seed"));
        let machine = Machine::new(params);
        let message: Vec<u8> = (0..16 * blocks).map(|i| data::mix(seed, 0, i) as u8).collect();
        let key = std::array::from_fn(|i| data::mix(seed, 1, i as u64) as u8);
        let keys = schedule(&key);
        let mut base = Base::new(INFO.name, params);
        base.add("message", KEY_WORDS * blocks, false, message);
        for gpu in 0..machine.gpus {
            base.own("keys", gpu, machine.gpus, keys.concat());
            base.own("sbox", gpu, machine.gpus, S_BOX.to_vec());
        }
        base.split();
        Ok(Self { base, machine, blocks, keys })
    }

    fn work_groups(&self) -> u64 {
        self.machine.padded(self.blocks.div_ceil(GROUP))
    }

    /// Asks for what round `round` needs: its key and, of the bytes of `state`, the S-box.
    fn ask(&self, t: &Thread, round: u64, state: Option<&State>, io: &mut Round) {
        let own = 1 + 2 * self.machine.gpu_of(t, self.work_groups()) as usize;
        for word in 0..KEY_WORDS {
            io.read(S_KEY + word, self.base.at(own, KEY_WORDS * round + word));
        }
        for (i, byte) in state.into_iter().flatten().enumerate() {
            io.read_byte(i as u64, self.base.at(own + 1, 0) + u64::from(*byte));
        }
    }
}

impl Kernels for Aes {
    fn base(&self) -> &Base {
        &self.base
    }

    fn launch(&self, index: usize, _: &Memory) -> Option<Launch> {
        (index == 0).then(|| Launch::new("aes", 0, self.work_groups() * GROUP, GROUP as u32))
    }

    fn round(&self, t: &Thread, _: &mut [u64], io: &mut Round) -> Flow {
        if t.id >= self.blocks {
            return Flow::End;
        }
        let halves = (0..2).map(|i| (i, self.base.at(MESSAGE, KEY_WORDS * t.id) + 8 * i));
        if t.round == 0 {
            halves.for_each(|(i, at)| io.load_wide(i, at));
            self.ask(t, 0, None, io);
            return Flow::Next;
        }
        let loaded: State = match t.round {
            1 => std::array::from_fn(|i| t.bits(i as u64 / 8).to_le_bytes()[i % 8]),
            _ => std::array::from_fn(|i| t.bits(i as u64) as u8),
        };
        let key: State = std::array::from_fn(|i| (t.bits(S_KEY + i as u64 / 4) >> (8 * (i % 4))) as u8);
        let round = t.round as usize - 1;
        let state = if round == 0 { xor(loaded, &key) } else { after_s_box(&loaded, &key, round) };
        io.alu(BLOCK as u64);
        if round == ROUNDS {
            let half = |i: u64| state.as_chunks::<8>().0[i as usize];
            halves.for_each(|(i, at)| io.store_wide(i, at, u64::from_le_bytes(half(i))));
            return Flow::End;
        }
        self.ask(t, t.round, Some(&state), io);
        Flow::Next
    }

    fn verify(&self, memory: &Memory) -> Result<(), VerifyError> {
        let message = self.base.first::<u32>(MESSAGE);
        let block =
            |words: &[u32]| -> State { std::array::from_fn(|i| (words[i / 4] >> (8 * (i % 4))) as u8) };
        let expected: Vec<u32> = message
            .chunks_exact(KEY_WORDS as usize)
            .flat_map(|words| encrypt(block(words), &self.keys))
            .collect::<Vec<u8>>()
            .as_chunks::<4>()
            .0
            .iter()
            .map(|b| u32::from_le_bytes(*b))
            .collect();
        self.base.check(MESSAGE, &expected, memory)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_agrees_with_fips_197() {
        // Appendix A.3: the last word of the schedule.
        let key = [
            0x60, 0x3d, 0xeb, 0x10, 0x15, 0xca, 0x71, 0xbe, 0x2b, 0x73, 0xae, 0xf0, 0x85, 0x7d, 0x77, 0x81,
            0x1f, 0x35, 0x2c, 0x07, 0x3b, 0x61, 0x08, 0xd7, 0x2d, 0x98, 0x10, 0xa3, 0x09, 0x14, 0xdf, 0xf4,
        ];
        let keys = schedule(&key);
        assert_eq!((keys.len(), &keys[14][12..]), (15, &[0x70, 0x6c, 0x63, 0x1e][..]));
        // Appendix C.3.
        let keys = schedule(&std::array::from_fn(|i| i as u8));
        let plain = std::array::from_fn(|i| 0x11 * i as u8);
        let cipher =
            [0x8e, 0xa2, 0xb7, 0xca, 0x51, 0x67, 0x45, 0xbf, 0xea, 0xfc, 0x49, 0x90, 0x4b, 0x49, 0x60, 0x89];
        assert_eq!(encrypt(plain, &keys), cipher);
    }
}
