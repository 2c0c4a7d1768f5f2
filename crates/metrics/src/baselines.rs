//! A flow beside what it has in other company.

use serde::{Deserialize, Serialize};

use crate::run_metrics::FlowMetrics;

/// What the company of the others cost a flow. It is of several runs, so that it is no part of the
/// metrics of one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BesideOthers {
    /// Its steady goodput alone.
    pub solo_goodput_bps: Option<f64>,
    /// What the others cost it of that.
    pub harm_goodput: Option<f64>,
    /// The same of its mean srtt.
    pub harm_delay: Option<f64>,
    /// The same of the share of its segments that were retransmitted.
    pub harm_loss: Option<f64>,
    /// The same of its completion time.
    pub harm_fct: Option<f64>,
    /// Its steady goodput among its own kind.
    pub self_goodput_bps: Option<f64>,
    /// Its steady goodput over that.
    pub friendliness: Option<f64>,
}

/// What the company of the others cost `flow`, from its numbers in the run in which it was alone and
/// in that in which all were of its own kind; what is absent stays not measured.
///
/// Harm (Ware, Mukerjee, Seshan and Sherry, Beyond Jain's Fairness Index, HotNets 2019): with x the
/// value alone and y the one beside the others, (x - y) / x where more is better and (y - x) / y
/// where less is.
pub fn beside_others(
    flow: &FlowMetrics,
    solo: Option<&FlowMetrics>,
    own: Option<&FlowMetrics>,
) -> BesideOthers {
    let mut cost = BesideOthers::default();
    if let Some(solo) = solo {
        cost.solo_goodput_bps = solo.steady_goodput_bps;
        cost.harm_goodput = both(solo.steady_goodput_bps, flow.steady_goodput_bps)
            .and_then(|(x, y)| part(x - y, x));
        cost.harm_delay = harm(solo.srtt_mean_s, flow.srtt_mean_s);
        cost.harm_loss = harm(lost(solo), lost(flow));
        cost.harm_fct = harm(solo.fct_s, flow.fct_s);
    }
    if let Some(own) = own {
        cost.self_goodput_bps = own.steady_goodput_bps;
        cost.friendliness = both(flow.steady_goodput_bps, own.steady_goodput_bps)
            .and_then(|(mixed, baseline)| part(mixed, baseline));
    }
    cost
}

/// Of what is better if it is less: `x` alone and `y` beside the others.
fn harm(x: Option<f64>, y: Option<f64>) -> Option<f64> {
    both(x, y).and_then(|(x, y)| part(y - x, y))
}

/// The share of a flow's segments that were retransmitted.
fn lost(flow: &FlowMetrics) -> Option<f64> {
    let sent = flow.segments_sent as f64;
    (sent > 0.0).then(|| flow.retransmits as f64 / sent)
}

fn both(a: Option<f64>, b: Option<f64>) -> Option<(f64, f64)> {
    a.zip(b)
}

/// `value / whole`; nothing of nothing is no harm, something of nothing is no number.
fn part(value: f64, whole: f64) -> Option<f64> {
    match whole > 0.0 {
        true => Some(value / whole),
        false => (value == 0.0).then_some(0.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flow(goodput: f64, srtt: f64, retransmits: u64, fct: Option<f64>) -> FlowMetrics {
        FlowMetrics {
            steady_goodput_bps: Some(goodput),
            srtt_mean_s: Some(srtt),
            segments_sent: 1000,
            retransmits,
            fct_s: fct,
            ..FlowMetrics::default()
        }
    }

    #[test]
    fn worked_examples() {
        // Alone 10 Mbit/s, 20 ms, no loss; beside another 2.5 Mbit/s, 80 ms, 1%.
        let solo = flow(10e6, 0.02, 0, Some(2.0));
        let harmed = flow(2.5e6, 0.08, 10, Some(8.0));
        let among = flow(5e6, 0.06, 5, None);
        let expected = BesideOthers {
            solo_goodput_bps: Some(10e6),
            harm_goodput: Some(0.75),
            harm_delay: Some(0.75),
            harm_loss: Some(1.0),
            harm_fct: Some(0.75),
            self_goodput_bps: Some(5e6),
            friendliness: Some(0.5),
        };
        assert_eq!(beside_others(&harmed, Some(&solo), Some(&among)), expected);
        assert_eq!(beside_others(&harmed, None, None), BesideOthers::default());
    }

    #[test]
    fn losses_alone_and_none_beside_another_are_no_harm_that_a_number_could_tell() {
        let lossless = flow(10e6, 0.02, 0, None);
        let loss = |solo: &FlowMetrics| beside_others(&lossless, Some(solo), None).harm_loss;
        assert_eq!(loss(&flow(10e6, 0.02, 3, None)), None);
        assert_eq!(loss(&lossless), Some(0.0));
    }

    proptest! {
        #[test]
        fn harm_is_at_most_all_and_knows_no_unit(
            x in 1.0..1e9_f64, y in 0.0..1e9_f64, delays in (1e-3..1.0_f64, 1e-3..1.0_f64), unit in 1e-3..1e3_f64,
        ) {
            let harms = |unit: f64| {
                let beside = flow(y * unit, delays.1 * unit, 0, None);
                let cost = beside_others(&beside, Some(&flow(x * unit, delays.0 * unit, 0, None)), None);
                (cost.harm_goodput.expect("known"), cost.harm_delay.expect("known"))
            };
            let (goodput, delay) = harms(1.0);
            prop_assert!(goodput <= 1.0 && delay < 1.0);
            prop_assert_eq!(goodput < 0.0, y > x);
            prop_assert_eq!(delay < 0.0, delays.1 < delays.0);
            let (again, delay_again) = harms(unit);
            prop_assert!((again - goodput).abs() <= 1e-9 * goodput.abs().max(1.0));
            prop_assert!((delay_again - delay).abs() <= 1e-9 * delay.abs().max(1.0));
        }
    }
}
