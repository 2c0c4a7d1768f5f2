//! Packets that wait stay where they are: none is lost sight of, whatever a queue does with it.

use cclab_net::{Forwarding, Link, Network, Next, Port};
use cclab_packet::{Ecn, Packet};
use cclab_qdisc::{Config, Limit};
use cclab_trace::schema::LinkSummary;
use cclab_units::parameter::Params;
use cclab_units::{Rate, Stream, Time};

const QUEUE: u64 = 20;
const PACKETS: u32 = 4_000;
/// Twice as many come as leave.
const GAP: Time = Time::from_micros(600);
const DELAY: Time = Time::from_millis(3);

/// What came of `PACKETS` packets of two flows that were sent into a link of 10 Mbit/s, the greatest
/// slot that one of them was in, and what the link counted.
fn flood(kind: &str) -> (Vec<Packet>, u32, LinkSummary) {
    let rate = Rate::from_bps(10_000_000);
    let discipline = cclab_qdisc::find(kind).expect("known");
    let config = Config {
        limit: Limit::Packets(QUEUE),
        limit_is_exclusive: false,
        rate,
        params: Params::defaults(discipline.params),
    };
    let queue = cclab_qdisc::build(kind, &config).expect("simulated");
    let dice = Stream::new(1, kind);
    let mut link = Link::new(rate, DELAY, queue, dice);
    let mut forwarding = Forwarding::new(2);
    for flow in 0..2 {
        forwarding.add_routes(flow, &[0], &[1]);
    }
    link.foresee_departures();
    link.leads_to = forwarding.leads_to(0);
    let mut net = Network::new(vec![link], forwarding, 1, false);
    let (mut came, mut greatest, mut sent) = (Vec::new(), 0_u32, 0_u32);
    net.wake_by(0, GAP);
    loop {
        let (now, next) = net.next();
        if now == Time::NEVER {
            break;
        }
        net.pass_time(now);
        match next {
            Next::Arrival => {
                if let Some(held) = net.arrive(&mut ()) {
                    came.push(*net.packet(&held));
                    net.release(held);
                }
            }
            Next::Act(element) => {
                if net.act(element, &mut ()).is_none() {
                    continue;
                }
                let held = net.reserve();
                greatest = greatest.max(held.slot());
                *net.packet_mut(&held) = Packet {
                    flow: sent % 2,
                    seq: sent,
                    ack: sent.wrapping_mul(3),
                    wire_len: 1_500,
                    ecn: if sent % 3 == 0 {
                        Ecn::NotEct
                    } else {
                        Ecn::Ect0
                    },
                    ..Packet::default()
                };
                net.inject(Port(0), held, &mut ());
                sent += 1;
                if sent < PACKETS {
                    net.wake_by(0, now + GAP);
                }
            }
        }
    }
    let rows = net.finish().expect("packets are conserved");
    (came, greatest, rows.into_iter().next().expect("a link"))
}

#[test]
fn what_a_queue_drops_and_marks_is_what_does_not_come_and_what_comes_marked() {
    let kinds = [
        "droptail",
        "random-drop",
        "red",
        "choke",
        "codel",
        "pie",
        "fq_codel",
        "fq_pie",
        "sfq",
    ];
    for kind in kinds {
        let (came, greatest, row) = flood(kind);
        assert!(row.queue_drops > 500, "{kind}: {}", row.queue_drops);
        assert_eq!(
            came.len() as u64 + row.queue_drops,
            u64::from(PACKETS),
            "{kind}"
        );
        // In the queue, in transmission, on the wire; and the one that is sent.
        let most = QUEUE + 1 + DELAY.as_micros() / 1_200 + 2;
        assert!(u64::from(greatest) <= most, "{kind}: slot {greatest}");
        let mut seen = vec![false; PACKETS as usize];
        for packet in &came {
            let twice = std::mem::replace(&mut seen[packet.seq as usize], true);
            assert!(!twice, "{kind}: {} came twice", packet.seq);
            let is_itself = packet.flow == packet.seq % 2 && packet.ack == packet.seq * 3;
            assert!(is_itself, "{kind}: {packet:?}");
            assert_eq!(packet.ecn == Ecn::NotEct, packet.seq % 3 == 0, "{kind}");
        }
        let marked = came.iter().filter(|packet| packet.ecn == Ecn::Ce).count();
        assert!(marked as u64 <= row.marks, "{kind}: {marked} marked");
        let marks = ["codel", "fq_codel", "pie", "fq_pie", "red"].contains(&kind) && row.marks > 0;
        assert!(!marks || marked > 0, "{kind}: {} marks", row.marks);
    }
    assert!(flood("fq_codel").2.marks > 0, "it marks unless told not to");
}
