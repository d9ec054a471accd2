//! The net of a configuration.

use super::Config;
use super::rules;
use super::world::{Cus, Protocol};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;
use weft_blocks::msg::{CuReq, CuRsp};
use weft_blocks::registry::BlockError;
use weft_engine::{Design, EngineError, Sim};
use weft_explore::block::Block;
use weft_explore::form::{Form, Ignore};
use weft_explore::hash::Numbered;
use weft_explore::net::{Drain, Feed, Net, Order};
use weft_mgcc::choice::{Coherence, Consistency, Inject, ReadTs};
use weft_mgcc::epoch_ctl::{epoch_ctl, relay};
use weft_mgcc::l1::{L1Params, mgcc_l1};
use weft_mgcc::l2::{L2Params, mgcc_l2};
use weft_mgcc::msg::{DramReq, DramRsp, Roll, RollAck, UmcReq, UmcRsp, UpReq, UpRsp};
use weft_mgcc::params::Tsm;
use weft_mgcc::reqtracker::TrackerParams;
use weft_mgcc::tsu::TsuParams;
use weft_mgcc::umc::{LaneParams, umc_lane};
use weft_rtl::bv::Bv;
use weft_rtl::prelude::{Data, Module};

/// The net of a system.
pub type System = Net<Cus>;

/// Why a system cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// A parameter of a block.
    #[error(transparent)]
    Block(#[from] BlockError),
    /// The engine.
    #[error(transparent)]
    Engine(#[from] EngineError),
}

/// Forms of all messages.
struct Forms {
    cu_req: Rc<Form>,
    cu_rsp: Rc<Form>,
    up_req: Rc<Form>,
    up_rsp: Rc<Form>,
    umc_req: Rc<Form>,
    umc_rsp: Rc<Form>,
    dram_req: Rc<Form>,
    dram_rsp: Rc<Form>,
    roll: Rc<Form>,
    ack: Rc<Form>,
}

fn form<T: Data>(shape: &T::Shape, rules: &[Ignore]) -> Rc<Form> {
    Rc::new(Form::new::<T>(shape, &[], rules))
}

impl Forms {
    fn new(t: &Tsm) -> Forms {
        Forms {
            cu_req: form::<CuReq>(&t.cu(), &[]),
            cu_rsp: Rc::new(Form::new::<CuRsp>(&t.cu(), &[("cu_time", 64)], rules::TO_CU)),
            up_req: form::<UpReq>(t, rules::UP),
            up_rsp: form::<UpRsp>(t, rules::ANSWER),
            umc_req: form::<UmcReq>(t, rules::TO_UMC),
            umc_rsp: form::<UmcRsp>(t, rules::ANSWER),
            dram_req: form::<DramReq>(t, rules::BY_OP),
            dram_rsp: form::<DramRsp>(t, &[]),
            roll: form::<Roll>(t, &[]),
            ack: form::<RollAck>(t, &[]),
        }
    }
}

/// Blocks by their place in the net.
struct Places {
    l1: Vec<usize>,
    bank: Vec<usize>,
    lane: Vec<usize>,
    relay: Vec<usize>,
    epochs: usize,
}

fn tsm(c: &Config) -> Tsm {
    Tsm {
        gpus: c.gpus,
        cus: c.cus,
        banks: c.banks,
        lanes: 1,
        il: 6,
        addr_bits: 32,
        ts: c.ts,
        eb: 3,
        cts: c.ts + 4,
        l1_mshrs: c.l1_mshrs.0,
        l2_mshrs: c.l2_mshrs.0,
    }
}

/// Blocks, before they are connected.
struct Parts<'a> {
    c: &'a Config,
    t: Tsm,
    f: Forms,
    blocks: Vec<Block>,
    messages: Numbered,
    designs: HashMap<String, Arc<Design>>,
}

impl Parts<'_> {
    fn add(&mut self, mut block: Block, poke: impl Fn(&mut Sim)) -> usize {
        block.begin(&mut self.messages, poke);
        self.blocks.push(block);
        self.blocks.len() - 1
    }

    /// The compiled form of a module, once for all blocks of it.
    fn design(&mut self, module: &Arc<Module>) -> Result<Arc<Design>, BuildError> {
        if let Some(known) = self.designs.get(&module.name) {
            return Ok(known.clone());
        }
        let design = Block::compile(module)?;
        self.designs.insert(module.name.clone(), design.clone());
        Ok(design)
    }

    fn l1(&mut self, gpu: u32, cu: u32) -> Result<usize, BuildError> {
        let c = self.c;
        let p = L1Params {
            size: 256,
            ways: 2,
            latency: 3,
            pool: c.l1_mshrs.1,
            self_inc: c.self_inc,
            observe: true,
            inject: c.inject,
            ..L1Params::published(self.t.clone(), c.consistency, Coherence::Mgcc)
        };
        let mut block =
            Block::new(&format!("gpu{gpu}.l1_{cu}"), &self.design(&mgcc_l1(&p)?)?, &rules::l1(&p));
        block.tie("own", cu.into());
        block.input("cu_req", &self.f.cu_req);
        block.input("dn_rsp", &self.f.up_rsp);
        block.input("roll", &self.f.roll);
        block.output("cu_rsp", &self.f.cu_rsp);
        block.output("up_req", &self.f.up_req);
        block.output("roll_ack", &self.f.ack);
        block.rises("the clock", &["cts"]);
        Ok(self.add(block, |_| {}))
    }

    fn bank(&mut self, gpu: u32, bank: u32) -> Result<usize, BuildError> {
        let c = self.c;
        let eager = c.consistency == Consistency::Sc;
        let p = L2Params {
            size: 128,
            ways: 2,
            pool: c.l2_mshrs.1,
            read_ts: if eager { ReadTs::Eager } else { ReadTs::Deferred },
            evict_notes: c.notes,
            inject: c.inject,
            ..L2Params::published(self.t.clone())
        };
        let mut block =
            Block::new(&format!("gpu{gpu}.bank{bank}"), &self.design(&mgcc_l2(&p)?)?, &rules::l2(&p));
        block.tie("own_gpu", gpu.into());
        block.input("l1_req", &self.f.up_req);
        block.input("mem_rsp", &self.f.umc_rsp);
        block.input("roll", &self.f.roll);
        block.output("l1_rsp", &self.f.up_rsp);
        block.output("mem_req", &self.f.umc_req);
        block.output("roll_ack", &self.f.ack);
        block.rises("the clock", &["epoch", "cts"]);
        Ok(self.add(block, |_| {}))
    }

    fn lane(&mut self, number: u32) -> Result<usize, BuildError> {
        let c = self.c;
        // Slips of the caches are none of the TSU.
        let inject = match c.inject {
            Inject::LitMwts | Inject::LitNoTs | Inject::LitNoFloor | Inject::LitReinit => c.inject,
            _ => Inject::None,
        };
        let tracker = TrackerParams {
            entries: 4,
            age_max: 2,
            ..TrackerParams::published(self.t.clone(), c.consistency)
        };
        let (sets, ways) = c.tsu;
        let tsu = TsuParams { sets, ways, latency: 2, inject, ..TsuParams::published(self.t.clone()) };
        let p = LaneParams { tracker, tsu };
        let mut block = Block::new(&format!("umc{number}"), &self.design(&umc_lane(&p)?)?, &rules::lane(&p));
        block.tie("rd_lease", c.leases.0);
        block.tie("wr_lease", c.leases.1);
        block.input("req", &self.f.umc_req);
        block.input("dram_rsp", &self.f.dram_rsp);
        block.input("roll", &self.f.roll);
        block.output("rsp", &self.f.umc_rsp);
        block.output("dram_req", &self.f.dram_req);
        block.output("roll_ack", &self.f.ack);
        block.output("roll_ask", &self.f.ack);
        block.rises("the epoch", &["tsu.epoch"]);
        let floor = Bv::from_u64(c.start, c.ts);
        Ok(self.add(block, |sim| {
            (0..sets).for_each(|set| assert!(sim.poke_mem("tsu.floors", set, 0, &floor)));
        }))
    }

    fn relay(&mut self, gpu: u32) -> Result<usize, BuildError> {
        let leaves = self.c.cus + self.c.banks;
        let named = |what: &str| -> Vec<String> { (0..leaves).map(|i| format!("{what}{i}")).collect() };
        let (acks, rolls) = (named("ack"), named("roll"));
        let mut inputs = vec!["roll".to_string()];
        inputs.extend(acks.iter().cloned());
        let mut outputs = vec!["ack".to_string()];
        outputs.extend(rolls.iter().cloned());
        let mut dead = rules::spread(&inputs, &outputs);
        dead.push(rules::relay_epoch());
        let mut block =
            Block::new(&format!("gpu{gpu}.relay"), &self.design(&relay(&self.t, leaves)?)?, &dead);
        block.input("roll", &self.f.roll);
        for name in &acks {
            block.input(name, &self.f.ack);
        }
        block.output("ack", &self.f.ack);
        for name in &rolls {
            block.output(name, &self.f.roll);
        }
        Ok(self.add(block, |_| {}))
    }

    fn epochs(&mut self) -> Result<usize, BuildError> {
        let (gpus, umcs) = (0..self.c.gpus, 0..self.c.banks);
        let mut inputs: Vec<String> = umcs.clone().map(|u| format!("ask{u}")).collect();
        inputs.extend(gpus.clone().map(|g| format!("ack{g}")));
        inputs.extend(umcs.clone().map(|u| format!("acku{u}")));
        let mut outputs: Vec<String> = gpus.map(|g| format!("roll{g}")).collect();
        outputs.extend(umcs.map(|u| format!("rollu{u}")));
        let mut block =
            Block::new("epochs", &self.design(&epoch_ctl(&self.t)?)?, &rules::spread(&inputs, &outputs));
        for name in &inputs {
            block.input(name, &self.f.ack);
        }
        for name in &outputs {
            block.output(name, &self.f.roll);
        }
        block.rises("the epoch", &["epoch"]);
        Ok(self.add(block, |_| {}))
    }
}

fn first(_: &Form, _: &[u64]) -> usize {
    0
}
fn by_dst(form: &Form, message: &[u64]) -> usize {
    form.get(message, "dst") as usize
}
fn by_line(form: &Form, message: &[u64]) -> usize {
    form.get(message, "line") as usize
}

/// Builds the net of a configuration.
///
/// # Errors
/// A parameter that a block refuses.
pub fn build(c: &Config) -> Result<System, BuildError> {
    let t = tsm(c);
    let f = Forms::new(&t);
    let mut parts =
        Parts { c, t, f, blocks: Vec::new(), messages: Numbered::default(), designs: HashMap::new() };
    let pairs = |a: u32, b: u32| (0..a).flat_map(move |i| (0..b).map(move |j| (i, j)));
    let places = Places {
        l1: pairs(c.gpus, c.cus).map(|(g, i)| parts.l1(g, i)).collect::<Result<_, _>>()?,
        bank: pairs(c.gpus, c.banks).map(|(g, b)| parts.bank(g, b)).collect::<Result<_, _>>()?,
        lane: (0..c.banks).map(|u| parts.lane(u)).collect::<Result<_, _>>()?,
        relay: (0..c.gpus).map(|g| parts.relay(g)).collect::<Result<_, _>>()?,
        epochs: parts.epochs()?,
    };
    let Parts { f, blocks, messages, .. } = parts;
    // The world's links come first.
    let world = Cus::new(c.asks(), Protocol::Mgcc, &f.cu_req, &f.dram_rsp);
    let mut net = Net::new(blocks, messages, c.timing, world);
    for (u, lane) in places.lane.iter().enumerate() {
        let link = net.link(&format!("dram{u}"), Order::Any, 64);
        net.feed(*lane, 1, Feed::Link(link));
    }
    connect_caches(c, &mut net, &places);
    connect_epochs(c, &mut net, &places);
    Ok(net)
}

/// A link from somewhere to a receiving channel.
fn joined(net: &mut System, name: &str, order: Order, capacity: usize, to: (usize, usize)) -> usize {
    let link = net.link(name, order, capacity);
    net.feed(to.0, to.1, Feed::Link(link));
    link
}

/// Requests keep their order and are held back; answers may pass each other and always have a place.
fn connect_caches(c: &Config, net: &mut System, places: &Places) {
    let (cus, banks, gpus) = (c.cus as usize, c.banks as usize, c.gpus as usize);
    let all = c.cus_in_all();
    for (i, l1) in places.l1.iter().enumerate() {
        let gpu = i / cus;
        let own = |bank: usize| places.bank[gpu * banks + bank];
        net.feed(*l1, 0, Feed::World(i));
        let ups = (0..banks).map(|b| joined(net, &format!("up{i}.{b}"), Order::Fifo, c.link, (own(b), 0)));
        let ups = ups.collect();
        net.drain(*l1, Drain::World(all + i));
        net.drain(*l1, Drain::Links(ups, if banks == 1 { first } else { by_bank }));
    }
    for (i, bank) in places.bank.iter().enumerate() {
        let (gpu, number) = (i / banks, i % banks);
        let l1 = |cu: usize| (places.l1[gpu * cus + cu], 1);
        let downs =
            (0..cus).map(|cu| joined(net, &format!("down{i}.{cu}"), Order::Any, 64, l1(cu))).collect();
        net.drain(*bank, Drain::Links(downs, by_dst));
        let up = joined(net, &format!("mem{i}"), Order::Fifo, c.link, (places.lane[number], 0));
        net.drain(*bank, Drain::Links(vec![up], first));
    }
    for (u, lane) in places.lane.iter().enumerate() {
        let bank = |gpu: usize| (places.bank[gpu * banks + u], 1);
        let backs =
            (0..gpus).map(|gpu| joined(net, &format!("back{u}.{gpu}"), Order::Any, 64, bank(gpu))).collect();
        net.drain(*lane, Drain::Links(backs, by_dst));
        net.drain(*lane, Drain::World(2 * all + u));
    }
}

/// Banks are chosen by the lowest bits of a line.
fn by_bank(form: &Form, message: &[u64]) -> usize {
    by_line(form, message) & 1
}

/// Rolls and their acknowledgements.
fn connect_epochs(c: &Config, net: &mut System, places: &Places) {
    let (cus, banks, gpus) = (c.cus as usize, c.banks as usize, c.gpus as usize);
    let one = |net: &mut System, name: &str, from: usize, to: (usize, usize)| {
        let link = joined(net, name, Order::Fifo, 1, to);
        net.drain(from, Drain::Links(vec![link], first));
    };
    for (i, l1) in places.l1.iter().enumerate() {
        one(net, &format!("l1_ack{i}"), *l1, (places.relay[i / cus], 1 + i % cus));
    }
    for (i, bank) in places.bank.iter().enumerate() {
        one(net, &format!("bank_ack{i}"), *bank, (places.relay[i / banks], 1 + cus + i % banks));
    }
    for (u, lane) in places.lane.iter().enumerate() {
        one(net, &format!("umc_ack{u}"), *lane, (places.epochs, banks + gpus + u));
        one(net, &format!("ask{u}"), *lane, (places.epochs, u));
    }
    for (g, relay) in places.relay.iter().enumerate() {
        one(net, &format!("gpu_ack{g}"), *relay, (places.epochs, banks + g));
        for cu in 0..cus {
            one(net, &format!("roll_l1_{g}.{cu}"), *relay, (places.l1[g * cus + cu], 2));
        }
        for bank in 0..banks {
            one(net, &format!("roll_bank{g}.{bank}"), *relay, (places.bank[g * banks + bank], 2));
        }
    }
    for (g, relay) in places.relay.iter().enumerate() {
        one(net, &format!("roll_gpu{g}"), places.epochs, (*relay, 0));
    }
    for (u, lane) in places.lane.iter().enumerate() {
        one(net, &format!("roll_umc{u}"), places.epochs, (*lane, 2));
    }
}
