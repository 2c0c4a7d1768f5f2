//! A flow beside what it has in other company.

use cclab_spec::Baseline::{Own, Solo};
use serde::{Deserialize, Serialize};

use crate::flow::FlowMetrics;
use crate::table::Quantity::{Percentage, Rate, Ratio};
use crate::table::{measured, row};

/// A flow, and itself in other company.
pub(crate) struct Beside<'a> {
    flow: &'a FlowMetrics,
    solo: Option<&'a FlowMetrics>,
    own: Option<&'a FlowMetrics>,
}

/// Who defined harm.
const HARM: &str = "Ware et al., Beyond Jain's Fairness Index (HotNets 2019)";

/// All that a flow had can be taken; that it has more than alone knows no bound.
const NO_LEAST: f64 = f64::NEG_INFINITY;

measured! {
    /// What the company of the others cost a flow. It is of several runs, so that it is no part of the
    /// metrics of one.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct BesideOthers as "flow." of &Beside<'_> {
        solo_goodput_bps: Option<f64> = |of| of.solo?.steady_goodput_bps,
            "x: its steady_goodput_bps in the run in which it is alone (see Baselines); null without baselines, as all that follows.",
            row(Rate, "steady of either run", "receiver").needs(Solo);

        harm_goodput: Option<f64> = harm_goodput,
            "(x - y) / x of steady_goodput_bps, with y its value in this run: 0 no harm, 1 all is taken, below 0 it has more than alone.",
            row(Percentage, "steady of either run", "receiver").within(NO_LEAST, 1.0)
                .lower().needs(Solo).column_if_measured("harm to it", 1).source(HARM);

        harm_delay: Option<f64> = |of| harm(of.solo?.srtt_mean_s, of.flow.srtt_mean_s),
            "(y - x) / y of srtt_mean_s.",
            row(Percentage, "run", "sender").within(NO_LEAST, 1.0).lower().needs(Solo).source(HARM);

        harm_loss: Option<f64> = |of| harm(lost(of.solo?), lost(of.flow)),
            "(y - x) / y of retransmits / segments_sent, over UDP of datagrams.loss; 0 if both are 0, null if y alone is.",
            row(Percentage, "run", "sender").within(NO_LEAST, 1.0).lower().needs(Solo).source(HARM);

        harm_fct: Option<f64> = |of| harm(of.solo?.fct_s, of.flow.fct_s),
            "(y - x) / y of fct_s.",
            row(Percentage, "run", "receiver").within(NO_LEAST, 1.0).lower().needs(Solo).source(HARM);

        self_goodput_bps: Option<f64> = |of| of.own?.steady_goodput_bps,
            "Its steady_goodput_bps in the run in which every flow is of its kind (see Baselines).",
            row(Rate, "steady of either run", "receiver").needs(Own);

        friendliness: Option<f64> = friendliness,
            "steady_goodput_bps / self_goodput_bps: 1 says that the others are to it as its own kind is.",
            row(Ratio, "steady of either run", "receiver").needs(Own).column_if_measured("friendliness", 2)
                .source("draft-irtf-iccrg-tcpeval-01, section 6.1: throughput of a camp in MIX / in BASELINE");
    }
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
    BesideOthers::measure(&Beside { flow, solo, own })
}

fn harm_goodput(of: &Beside<'_>) -> Option<f64> {
    let (x, y) = both(of.solo?.steady_goodput_bps, of.flow.steady_goodput_bps)?;
    part(x - y, x)
}

fn friendliness(of: &Beside<'_>) -> Option<f64> {
    let (mixed, baseline) = both(of.flow.steady_goodput_bps, of.own?.steady_goodput_bps)?;
    part(mixed, baseline)
}

/// Of what is better if it is less: `x` alone and `y` beside the others.
fn harm(x: Option<f64>, y: Option<f64>) -> Option<f64> {
    both(x, y).and_then(|(x, y)| part(y - x, y))
}

/// The share of a flow's segments that were retransmitted, or of its datagrams that were lost.
fn lost(flow: &FlowMetrics) -> Option<f64> {
    if let Some(datagrams) = &flow.datagrams {
        return datagrams.loss;
    }
    let sent = flow.segments_sent? as f64;
    (sent > 0.0).then_some(flow.retransmits? as f64 / sent)
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
            segments_sent: Some(1000),
            retransmits: Some(retransmits),
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
