//! What is seen of packets, at its time.

use cclab_packet::Packet;
use cclab_trace::schema::DropReason;
use cclab_units::Time;

use crate::calendar::Key;
use crate::foreseen::Sight as Foresight;
use crate::link::Offered;
use crate::network::{Network, OBSERVER};
use crate::watch::{Sight, Watch};

impl Network {
    /// A packet comes off one link at a time, and leaves the next, which takes it ahead of that, at
    /// another.
    pub(crate) fn see_ahead<W: Watch>(
        &mut self,
        [feeder, fed]: [usize; 2],
        packet: &Packet,
        [arrives, departs]: [Time; 2],
        watch: &W,
    ) {
        let packet = *packet;
        if watch.wants_arrivals(feeder) {
            let link = feeder as u32;
            self.foresee(arrives, Foresight::Arrival { link, packet });
        }
        if watch.wants_queue(fed) {
            let foresight = Foresight::Departure {
                link: fed as u32,
                waited: departs - arrives,
                packet,
            };
            self.foresee(departs, foresight);
        }
    }

    /// Something is to be seen at `time`.
    fn foresee(&mut self, time: Time, foresight: Foresight) {
        self.foreseen.push(time, foresight);
        let next = Key::first_of(self.foreseen.next());
        self.calendar.set(OBSERVER, next);
    }

    /// Lets `watch` see what happens now.
    pub(crate) fn observe<W: Watch>(&mut self, watch: &mut W) {
        while let Some(foresight) = self.foreseen.pop(self.now) {
            match foresight {
                Foresight::Departure {
                    link,
                    waited,
                    packet,
                } => self.see_departure(link as usize, &packet, waited, watch),
                Foresight::Arrival { link, packet } => watch.see(Sight::Arrived { link, packet }),
            }
        }
        let key = match self.foreseen.next() {
            Time::NEVER => Key::NEVER,
            next => Key::first_of(next),
        };
        self.calendar.set(OBSERVER, key);
    }

    /// What became of `packet`, which was offered to a link whose queue is looked at. A loss is seen by
    /// itself, whatever is looked at.
    pub(crate) fn see_offer<W: Watch>(
        &mut self,
        index: usize,
        packet: &Packet,
        offered: &Offered,
        watch: &mut W,
    ) {
        if !matches!(offered, Offered::Lost(_)) {
            watch.see(Sight::Enqueued {
                link: index as u32,
                backlog: self.links[index].backlog(self.now).bytes,
                packet: *packet,
            });
        }
        match offered {
            Offered::Sent { .. } => self.see_departure(index, packet, Time::ZERO, watch),
            Offered::Foreseen { departs, .. } => {
                let foresight = Foresight::Departure {
                    link: index as u32,
                    waited: *departs - self.now,
                    packet: *packet,
                };
                self.foresee(*departs, foresight);
            }
            Offered::Passed { ecn, .. } => {
                let packet = Packet {
                    ecn: *ecn,
                    ..*packet
                };
                self.see_departure(index, &packet, Time::ZERO, watch);
            }
            Offered::Queued | Offered::Lost(_) => {}
        }
    }

    /// A packet leaves the queue of a link now.
    pub(crate) fn see_departure<W: Watch>(
        &self,
        index: usize,
        packet: &Packet,
        waited: Time,
        watch: &mut W,
    ) {
        if watch.wants_queue(index) {
            watch.see(Sight::Departed {
                link: index as u32,
                waited,
                backlog: self.links[index].backlog(self.now).bytes,
                packet: *packet,
            });
        }
    }

    /// What the queue of a link has thrown out is lost.
    pub(crate) fn see_thrown_out<W: Watch>(&self, index: usize, watch: &mut W) {
        for dropped in self.links[index].thrown_out() {
            let packet = self.wires.waiting(&dropped.0);
            see_loss(index, &packet, DropReason::Queue, watch);
        }
    }
}

/// Lets `watch` see that a packet was lost on the link `index`.
pub(crate) fn see_loss<W: Watch>(index: usize, packet: &Packet, reason: DropReason, watch: &mut W) {
    if W::ON {
        watch.see(Sight::Lost {
            link: index as u32,
            reason,
            packet: *packet,
        });
    }
}
