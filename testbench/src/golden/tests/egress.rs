//! `inv_egress` and `inv_ingress`: conservation, order, fairness, held inputs.

use crate::golden::egress::{Delivery, EgressCheck, FIFO_DEPTH, InvEgress, InvIngress, InvMsg};
use crate::golden::{GpuMask, Inv, InvCause, only};
use proptest::prelude::*;

fn inv(line: u64, dest: GpuMask) -> Inv {
    Inv { line, dest, cause: InvCause::Evict, grp: false }
}

fn link_of(line: u64, links: usize) -> usize {
    (line % links as u64) as usize
}

#[test]
fn a_full_fifo_holds_only_its_slice_and_repeats_nothing() {
    let mut egress = InvEgress::new(4, 0, 2, 1, link_of);
    for line in 0..FIFO_DEPTH as u64 {
        assert!(egress.offer(0, inv(line, only(1))));
        assert_eq!(egress.step(), [0]);
    }
    assert!(egress.offer(0, inv(100, only(1) | only(2))));
    assert!(egress.step().is_empty(), "GPU 1's FIFO is full");
    assert_eq!(egress.remaining(0), only(1), "GPU 2 is served already");
    assert!(!egress.offer(0, inv(101, only(3))), "the slice is held");
    assert!(egress.offer(1, inv(200, only(2) | only(3))));
    assert_eq!(egress.step(), [1], "the other slice passes");
    assert!(egress.pop(1, 0).is_some());
    assert_eq!(egress.step(), [0]);
    let to2: Vec<_> = std::iter::from_fn(|| egress.pop(2, 0)).collect();
    let lines = to2.iter().map(|m| if let InvMsg::Inv { inv, .. } = m { inv.line } else { 0 });
    assert_eq!(lines.collect::<Vec<_>>(), [100, 200], "once each");
    assert!(egress.push_fence(3, 2, 0) && !egress.push_fence(3, 0, 0), "never to the home itself");
}

#[test]
fn slices_take_turns_on_a_fifo() {
    let mut egress = InvEgress::new(2, 0, 3, 1, link_of);
    let mut order = Vec::new();
    for round in 0..9 {
        (0..3).for_each(|s| {
            egress.offer(s, inv(10 * s as u64 + round, only(1)));
        });
        order.extend(egress.step());
    }
    assert_eq!(order, [0, 1, 2, 0, 1, 2, 0, 1, 2]);
}

proptest! {
    /// The model passes its own checker: nothing lost, repeated or overtaken, whatever the links do.
    #[test]
    fn everything_arrives_once_in_order(links in 1usize..=3, steps in proptest::collection::vec((0usize..3, 0usize..4, 1u32..8), 1..400)) {
        let mut egress = InvEgress::new(4, 0, 4, links, link_of);
        let mut check = EgressCheck::new();
        let mut line = 0;
        let drain = std::iter::repeat_n((1usize, 0usize, 1u32), 200);
        for (action, slice, pick) in steps.into_iter().chain(drain.flat_map(|d| [d, (2, 0, 0)])) {
            match action {
                0 => {
                    let message = inv(line * 4 + slice as u64, u128::from(pick) << 1);
                    if egress.offer(slice, message) {
                        check.offered(slice, message);
                        line += 1;
                    }
                }
                1 => drop(egress.step()),
                _ => {
                    for (gpu, link) in (1..4).flat_map(|g| (0..links).map(move |l| (g, l))) {
                        if let Some(InvMsg::Inv { inv, .. }) = egress.pop(gpu, link) {
                            check.left(gpu, link, inv, |l| link_of(l, links)).map_err(TestCaseError::fail)?;
                        }
                    }
                }
            }
        }
        prop_assert_eq!(check.outstanding(), 0);
    }
}

#[test]
fn the_checker_sees_loss_repetition_and_overtaking() {
    let one = |_| 0;
    let mut check = EgressCheck::new();
    check.offered(0, inv(4, only(1)));
    check.offered(0, inv(8, only(1)));
    assert!(check.clone().left(1, 0, inv(8, only(1)), one).unwrap_err().contains("overtook line 0x4"));
    assert!(check.clone().left(2, 0, inv(4, only(2)), one).unwrap_err().contains("was not due"));
    assert!(check.clone().left(1, 1, inv(4, only(1)), one).unwrap_err().contains("left on link 1"));
    check.left(1, 0, inv(4, only(1)), one).unwrap();
    assert!(check.left(1, 0, inv(4, only(1)), one).unwrap_err().contains("was not due"), "twice");
    assert_eq!(check.outstanding(), 1);
}

#[test]
fn inv_fence_holds_its_input_and_waits_for_all_links() {
    let mut ingress = InvIngress::new(3, 2);
    ingress.push(1, 0, InvMsg::Inv { inv: inv(5, only(0)), slice: 0 });
    ingress.push(1, 0, InvMsg::Fence { requester: 2 });
    ingress.push(1, 1, InvMsg::Fence { requester: 2 });
    ingress.push(2, 0, InvMsg::Inv { inv: inv(6, only(0)), slice: 0 });
    assert_eq!(ingress.take(1, 0), Some(Delivery::Inv(inv(5, only(0)))));
    assert!(ingress.held(1, 0));
    assert_eq!(ingress.take(1, 0), None);
    assert_eq!(ingress.take(2, 0), Some(Delivery::Inv(inv(6, only(0)))), "another input goes on");
    assert_eq!(ingress.take(1, 1), Some(Delivery::Absorbed), "link 0 is missing");
    assert!(ingress.applied(1, 0) && !ingress.applied(1, 0));
    assert_eq!(ingress.take(1, 0), Some(Delivery::Ack { requester: 2, source: 1 }));
}
