//! The net of a configuration.

use super::Config;
use crate::explore::BuildError;
use crate::explore::rules;
use crate::explore::world::{Cus, Protocol};
use std::rc::Rc;
use weft_blocks::msg::{CuReq, CuRsp};
use weft_explore::form::{Form, Ignore};
use weft_explore::net::{Drain, Feed, Net, Order};
use weft_explore::parts::{Channels, Joins, Parts};
use weft_mgcc::choice::{GtscFault, Inject};
use weft_mgcc::epoch_ctl::{epoch_ctl, relay};
use weft_mgcc::gtsc::{GtscReq, GtscRsp, gtsc_l1, gtsc_l2};
use weft_mgcc::l1::L1Params;
use weft_mgcc::l2::L2Params;
use weft_mgcc::msg::{Roll, RollAck, UmcReq, UmcRsp};
use weft_mgcc::params::Tsm;
use weft_rtl::prelude::Data;

/// The net of a system.
pub type System = Net<Cus>;

/// Room of a way on which whatever comes has a place.
const ROOM: usize = 64;

/// Forms of all messages.
struct Forms {
    cu_req: Rc<Form>,
    cu_rsp: Rc<Form>,
    req: Rc<Form>,
    rsp: Rc<Form>,
    mem_req: Rc<Form>,
    mem_rsp: Rc<Form>,
    roll: Rc<Form>,
    ack: Rc<Form>,
}

fn form<T: Data>(shape: &T::Shape, rules: &[Ignore]) -> Rc<Form> {
    Rc::new(Form::new::<T>(shape, &[], rules))
}

impl Forms {
    fn new(t: &Tsm) -> Forms {
        let untold = Ignore { leaves: &["src", "merged"], unless: "kind", is: &[] };
        let to_cu = [rules::TO_CU, &[untold]].concat();
        // Who has served a read is for reports; memory has no stamps.
        let unasked = Ignore { leaves: &["from_memory"], unless: "op", is: &[] };
        let untimed = Ignore { leaves: &["tag", "ts"], unless: "op", is: &[] };
        Forms {
            cu_req: form::<CuReq>(&t.cu(), &[]),
            cu_rsp: Rc::new(Form::new::<CuRsp>(&t.cu(), &[("cu_time", 64)], &to_cu)),
            req: form::<GtscReq>(t, rules::BY_OP),
            rsp: form::<GtscRsp>(t, &[rules::ANSWER, &[unasked]].concat()),
            mem_req: form::<UmcReq>(t, &[rules::BY_OP, &[untimed]].concat()),
            mem_rsp: form::<UmcRsp>(t, rules::ANSWER),
            roll: form::<Roll>(t, &[]),
            ack: form::<RollAck>(t, &[]),
        }
    }
}

fn tsm(c: &Config) -> Tsm {
    Tsm {
        gpus: 1,
        cus: c.cus,
        banks: c.banks,
        lanes: 1,
        // Above the bit that chooses the L1s' set.
        il: 7,
        addr_bits: 32,
        ts: c.ts,
        eb: 3,
        cts: c.ts + 4,
        l1_mshrs: c.l1_mshrs.0,
        l2_mshrs: c.l2_mshrs.0,
    }
}

fn l1_params(c: &Config, t: &Tsm) -> L1Params {
    // A bank's fault is none of the L1.
    let inject = match c.inject {
        Inject::Gtsc(GtscFault::Unlocked) => c.inject,
        _ => Inject::None,
    };
    L1Params {
        size: 256,
        ways: 2,
        latency: 3,
        pool: c.l1_mshrs.1,
        self_inc: c.self_inc,
        observe: true,
        inject,
        ..L1Params::gtsc_published(t.clone())
    }
}

fn l2_params(c: &Config, t: &Tsm) -> L2Params {
    let inject = match c.inject {
        Inject::Gtsc(GtscFault::Unlocked) => Inject::None,
        fault => fault,
    };
    L2Params { size: 128, ways: 2, pool: c.l2_mshrs.1, inject, ..L2Params::gtsc_published(t.clone()) }
}

/// Blocks by their place in the net.
struct Places {
    l1s: Vec<usize>,
    banks: Vec<usize>,
    relay: usize,
    epochs: usize,
}

impl Places {
    fn add(parts: &mut Parts, c: &Config, t: &Tsm, f: &Forms) -> Result<Places, BuildError> {
        let l1 = gtsc_l1(&l1_params(c, t))?;
        let channels = || -> (Channels<'_>, Channels<'_>) {
            let inputs = vec![("cu_req", &f.cu_req), ("dn_rsp", &f.rsp), ("roll", &f.roll)];
            (inputs, vec![("cu_rsp", &f.cu_rsp), ("up_req", &f.req), ("roll_ack", &f.ack)])
        };
        let each = |cu: u32| parts.add(&format!("l1_{cu}"), &l1, &[("own", cu.into())], channels());
        let l1s = (0..c.cus).map(each).collect::<Result<Vec<_>, _>>()?;
        l1s.iter().for_each(|place| parts.block(*place).rises("the clock", &["cts"]));
        let bank = gtsc_l2(&l2_params(c, t))?;
        let channels = || -> (Channels<'_>, Channels<'_>) {
            let inputs = vec![("l1_req", &f.req), ("mem_rsp", &f.mem_rsp), ("roll", &f.roll)];
            let outputs =
                vec![("l1_rsp", &f.rsp), ("mem_req", &f.mem_req), ("roll_ack", &f.ack), ("roll_ask", &f.ack)];
            (inputs, outputs)
        };
        let ties = [("own_gpu", 0), ("lease", c.lease)];
        let each = |number: u32| parts.add(&format!("bank{number}"), &bank, &ties, channels());
        let banks = (0..c.banks).map(each).collect::<Result<Vec<_>, _>>()?;
        for place in &banks {
            parts.begin_with(*place, &[("mem_ts", c.start), ("high_rts", c.start)]);
            parts.block(*place).rises("mem_ts", &["epoch", "mem_ts"]);
        }
        let relay = Places::relay(parts, c, t, f)?;
        Ok(Places { l1s, banks, relay, epochs: Places::epochs(parts, c, t, f)? })
    }

    fn relay(parts: &mut Parts, c: &Config, t: &Tsm, f: &Forms) -> Result<usize, BuildError> {
        let leaves = c.cus + c.banks;
        let (acks, rolls) = (named("ack", leaves), named("roll", leaves));
        let mut inputs: Channels<'_> = vec![("roll", &f.roll)];
        inputs.extend(acks.iter().map(|name| (name.as_str(), &f.ack)));
        let mut outputs: Channels<'_> = vec![("ack", &f.ack)];
        outputs.extend(rolls.iter().map(|name| (name.as_str(), &f.roll)));
        Ok(parts.add("relay", &relay(t, leaves)?, &[], (inputs, outputs))?)
    }

    fn epochs(parts: &mut Parts, c: &Config, t: &Tsm, f: &Forms) -> Result<usize, BuildError> {
        let (asks, acks, rolls) = (named("ask", c.banks), named("acku", c.banks), named("rollu", c.banks));
        let mut inputs: Channels<'_> = vec![("ack0", &f.ack)];
        inputs.extend(asks.iter().chain(&acks).map(|name| (name.as_str(), &f.ack)));
        let mut outputs: Channels<'_> = vec![("roll0", &f.roll)];
        outputs.extend(rolls.iter().map(|name| (name.as_str(), &f.roll)));
        let place = parts.add("epochs", &epoch_ctl(t)?, &[], (inputs, outputs))?;
        parts.block(place).rises("the epoch", &["epoch"]);
        Ok(place)
    }
}

fn named(what: &str, number: u32) -> Vec<String> {
    (0..number).map(|i| format!("{what}{i}")).collect()
}

fn first(_: &Form, _: &[u64]) -> usize {
    0
}
fn by_dst(form: &Form, message: &[u64]) -> usize {
    form.get(message, "dst") as usize
}
/// The one of two banks that has a line.
fn by_bank(form: &Form, message: &[u64]) -> usize {
    (form.get(message, "line") >> 1 & 1) as usize
}

/// Builds the net of a configuration.
///
/// # Errors
/// A parameter that a block refuses.
pub fn build(c: &Config) -> Result<System, BuildError> {
    let t = tsm(c);
    let f = Forms::new(&t);
    let mut parts = Parts::default();
    let places = Places::add(&mut parts, c, &t, &f)?;
    let mut joins = parts.joins(c.timing, Cus::new(c.asks(), Protocol::Gtsc, &f.cu_req, &f.mem_rsp));
    connect(&mut joins, c, &places);
    connect_epochs(&mut joins, &places);
    Ok(joins.done())
}

/// Requests keep their order and are held back; answers may pass each other and always have a place.
fn connect(joins: &mut Joins<Cus>, c: &Config, places: &Places) {
    let cus = places.l1s.len();
    // The world's links come first.
    for (number, bank) in places.banks.iter().enumerate() {
        let memory = joins.net.link(&format!("memory{number}"), Order::Any, ROOM);
        joins.feed((*bank, "mem_rsp"), Feed::Link(memory));
        joins.drain((*bank, "mem_req"), Drain::World(2 * cus + number));
    }
    for (cu, l1) in places.l1s.iter().enumerate() {
        joins.feed((*l1, "cu_req"), Feed::World(cu));
        joins.drain((*l1, "cu_rsp"), Drain::World(cus + cu));
        let up = |bank: usize| joins.net.link(&format!("up{cu}.{bank}"), Order::Fifo, c.link);
        let ups: Vec<usize> = (0..places.banks.len()).map(up).collect();
        for (bank, link) in places.banks.iter().zip(&ups) {
            joins.feed((*bank, "l1_req"), Feed::Link(*link));
        }
        joins.drain((*l1, "up_req"), Drain::Links(ups, if places.banks.len() > 1 { by_bank } else { first }));
    }
    for (number, bank) in places.banks.iter().enumerate() {
        let down = |cu: usize| joins.net.link(&format!("down{number}.{cu}"), Order::Any, ROOM);
        let downs: Vec<usize> = (0..cus).map(down).collect();
        for (l1, link) in places.l1s.iter().zip(&downs) {
            joins.feed((*l1, "dn_rsp"), Feed::Link(*link));
        }
        joins.drain((*bank, "l1_rsp"), Drain::Links(downs, by_dst));
    }
}

/// Rolls and their acknowledgements. Memory has no stamps to sweep: a Roll for it is its acknowledgement.
fn connect_epochs(joins: &mut Joins<Cus>, places: &Places) {
    let one = (Order::Fifo, 1);
    let (relay, epochs) = (places.relay, places.epochs);
    for (leaf, block) in places.l1s.iter().chain(&places.banks).enumerate() {
        joins.join((relay, &format!("roll{leaf}")), (*block, "roll"), one);
        joins.join((*block, "roll_ack"), (relay, &format!("ack{leaf}")), one);
    }
    for (number, bank) in places.banks.iter().enumerate() {
        joins.join((*bank, "roll_ask"), (epochs, &format!("ask{number}")), one);
        let wire = (Order::Wire, 1);
        joins.join((epochs, &format!("rollu{number}")), (epochs, &format!("acku{number}")), wire);
    }
    joins.join((epochs, "roll0"), (relay, "roll"), one);
    joins.join((relay, "ack"), (epochs, "ack0"), one);
}
