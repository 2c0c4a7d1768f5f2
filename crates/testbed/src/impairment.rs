//! Losses and outages at a place as steps in time.

use cclab_spec::{GilbertElliott, Link, Loss, LossModel, Place};
use cclab_units::Time;

/// What happens at a place: a probability of loss at the start, and its changes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Impairment {
    /// Probability at time zero.
    pub initial: f64,
    /// When it changes, and to what; in the order of time.
    pub steps: Vec<(Time, f64)>,
}

impl Impairment {
    /// Losses and outages of `link` at `place`. A schedule sets the router's loss.
    pub fn of(link: &Link, place: Place) -> Impairment {
        let outages = outages(link, place);
        let mut instants: Vec<Time> = outages.iter().flat_map(|&(on, off)| [on, off]).collect();
        if place == Place::Router {
            let losses = link.schedule.iter().filter(|change| change.loss.is_some());
            instants.extend(losses.map(|change| change.at));
        }
        instants.push(Time::ZERO);
        instants.sort();
        instants.dedup();
        let mut all = instants.into_iter().map(|at| {
            let out = outages.iter().any(|&(on, off)| on <= at && at < off);
            (at, if out { 1.0 } else { steady(link, place, at) })
        });
        let initial = all.next().map_or(0.0, |(_, probability)| probability);
        let mut steps: Vec<(Time, f64)> = Vec::new();
        for (at, probability) in all {
            let before = steps.last().map_or(initial, |&(_, before)| before);
            if probability != before {
                steps.push((at, probability));
            }
        }
        Impairment { initial, steps }
    }

    /// Whether nothing ever happens.
    pub fn is_none(&self) -> bool {
        self.initial == 0.0 && self.steps.is_empty()
    }
}

/// The probability of random loss at `place` at the time `at`.
pub(crate) fn steady(link: &Link, place: Place, at: Time) -> f64 {
    let scheduled = link
        .schedule
        .iter()
        .filter(|change| place == Place::Router && change.at <= at)
        .filter_map(|change| change.loss)
        .next_back();
    scheduled.unwrap_or_else(|| {
        let here = link.loss.iter().filter(|loss| loss.at == place);
        // Independent losses in a row are one loss of the joint probability.
        here.filter_map(Loss::probability)
            .fold(0.0, |joint, loss| 1.0 - (1.0 - joint) * (1.0 - loss))
    })
}

/// The losses in bursts at `place`, if there are some.
pub(crate) fn bursts(link: &Link, place: Place) -> Option<GilbertElliott> {
    let here = link.loss.iter().filter(|loss| loss.at == place);
    here.filter_map(|loss| match loss.model {
        LossModel::GilbertElliott(model) => Some(model),
        LossModel::Random(_) | LossModel::Packets(_) => None,
    })
    .next()
}

/// Beginning and end of each outage at `place`; those that overlap are one.
pub(crate) fn outages(link: &Link, place: Place) -> Vec<(Time, Time)> {
    let here = link.outage.iter().filter(|outage| outage.at == place);
    let mut all: Vec<(Time, Time)> = here
        .map(|outage| (outage.start, outage.start + outage.duration))
        .collect();
    all.sort();
    let mut joined: Vec<(Time, Time)> = Vec::new();
    for (on, off) in all {
        match joined.last_mut() {
            Some((_, last)) if on <= *last => *last = (*last).max(off),
            _ => joined.push((on, off)),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use cclab_spec::{Change, Limit, Outage, Queue};

    use super::*;

    fn link(loss: &[f64], outages: &[(u64, u64)], schedule: &[(u64, f64)]) -> Link {
        let queue = Queue {
            kind: "droptail".to_owned(),
            limit: Limit::Packets(10),
            params: Default::default(),
        };
        Link {
            loss: loss
                .iter()
                .map(|&probability| Loss::random(Place::Router, probability))
                .collect(),
            outage: outages
                .iter()
                .map(|&(start, duration)| Outage {
                    at: Place::Router,
                    start: Time::from_secs(start),
                    duration: Time::from_secs(duration),
                })
                .collect(),
            schedule: schedule
                .iter()
                .map(|&(at, loss)| Change {
                    at: Time::from_secs(at),
                    loss: Some(loss),
                    ..Change::default()
                })
                .collect(),
            ..Link::new(None, Time::ZERO, queue)
        }
    }

    fn steps(link: &Link) -> (f64, Vec<(u64, f64)>) {
        let impairment = Impairment::of(link, Place::Router);
        let whole = |&(at, p): &(Time, f64)| (at.as_nanos() / 1_000_000_000, p);
        (
            impairment.initial,
            impairment.steps.iter().map(whole).collect(),
        )
    }

    #[test]
    fn after_an_outage_the_loss_is_the_steady_one() {
        let link = link(&[0.25], &[(4, 1), (5, 2), (20, 1)], &[]);
        let expected = vec![(4, 1.0), (7, 0.25), (20, 1.0), (21, 0.25)];
        assert_eq!(steps(&link), (0.25, expected));
    }

    #[test]
    fn a_schedule_replaces_the_loss_also_under_an_outage() {
        let link = link(&[0.5, 0.5], &[(0, 2), (8, 4)], &[(5, 0.0), (10, 0.125)]);
        let expected = vec![(2, 0.75), (5, 0.0), (8, 1.0), (12, 0.125)];
        assert_eq!(steps(&link), (1.0, expected));
    }

    #[test]
    fn other_places_have_none_of_it() {
        let link = link(&[0.5], &[(0, 2)], &[(5, 0.25)]);
        assert!(Impairment::of(&link, Place::Receiver).is_none());
        assert_eq!(outages(&link, Place::Sender), []);
    }
}
