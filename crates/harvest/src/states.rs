//! The inner state that variants of a kernel tell of themselves (`union tcp_cc_info`).

use cclab_interface::state::columns::{
    ALPHA, BASE_RTT, BW, CE_STATE, CWND_GAIN, ENABLED, MIN_RTT, PACING_GAIN, ROUND_MIN_RTT,
    ROUND_SAMPLES,
};
use cclab_interface::state::{StateColumn, counted, flagged};
use cclab_spec::{EventKind, Scenario};
use cclab_testbed::records::TcpInfo;
use cclab_trace::{Recorder, ToldStates};
use cclab_units::Time;

use crate::connection::MICROSECOND;

/// `BBR_UNIT`: a gain of one.
const BBR_UNIT: f64 = 256.0;
/// `DCTCP_MAX_ALPHA`: all data is marked.
const DCTCP_MAX_ALPHA: f64 = 1024.0;
/// A round-trip time of Vegas before there is one.
const VEGAS_UNKNOWN: u32 = 0x7fff_ffff;

/// The columns that a kernel tells of the variant of each flow of `scenario`; none if it does not ask
/// for them.
pub fn state_columns(scenario: &Scenario) -> Vec<&'static [StateColumn]> {
    if !scenario.trace.events.contains(&EventKind::State) {
        return Vec::new();
    }
    let flows = scenario.flows.iter();
    flows
        .map(|flow| match flow.udp {
            Some(_) => &[][..],
            None => columns_of(&flow.cc),
        })
        .collect()
}

/// The columns that a kernel tells of `variant`.
fn columns_of(variant: &str) -> &'static [StateColumn] {
    match variant {
        "bbr" => &[BW, MIN_RTT, PACING_GAIN, CWND_GAIN],
        "dctcp" => &[ENABLED, ALPHA, CE_STATE],
        "vegas" | "yeah" => &[ENABLED, ROUND_SAMPLES, BASE_RTT, ROUND_MIN_RTT],
        _ => &[],
    }
}

/// A number for each column of `variant`, out of what a socket with it told. `None` if it tells
/// nothing, or nothing yet.
pub fn told(variant: &str, info: &TcpInfo) -> Option<Vec<f64>> {
    let words = &info.cc_info;
    if *words == [0; 5] {
        return None;
    }
    let nanos = |micros: u32, unknown: u32| {
        let known = Some(micros).filter(|&micros| micros < unknown);
        counted(known.map(|micros| u64::from(micros) * MICROSECOND))
    };
    match variant {
        "bbr" => {
            let [lo, hi, min_rtt, pacing_gain, cwnd_gain] = *words;
            let bytes_per_second = u64::from(lo) | u64::from(hi) << 32;
            Some(vec![
                bytes_per_second as f64 * 8.0,
                nanos(min_rtt, u32::MAX),
                f64::from(pacing_gain) / BBR_UNIT,
                f64::from(cwnd_gain) / BBR_UNIT,
            ])
        }
        "dctcp" => {
            // Two numbers of 16 bits in the first word, in the host's order of bytes.
            let [a, b, c, d] = words[0].to_ne_bytes();
            Some(vec![
                flagged([a, b] != [0; 2]),
                f64::from(words[1]) / DCTCP_MAX_ALPHA,
                flagged([c, d] != [0; 2]),
            ])
        }
        "vegas" | "yeah" => {
            let [enabled, samples, base, least, _] = *words;
            Some(vec![
                flagged(enabled != 0),
                counted(u64::from(samples)),
                nanos(base, VEGAS_UNKNOWN),
                nanos(least, VEGAS_UNKNOWN),
            ])
        }
        _ => None,
    }
}

/// What a recorder was last told of each flow.
pub struct States<'a> {
    scenario: &'a Scenario,
    told: ToldStates,
}

impl States<'_> {
    /// Of the flows of `scenario`: nothing yet.
    pub fn of(scenario: &Scenario) -> States<'_> {
        States {
            scenario,
            told: ToldStates::default(),
        }
    }

    /// Tells `recorder` the state of the flow at `index`, which its socket told `at` an instant, if it is
    /// another than before.
    pub fn tell(&mut self, index: usize, info: &TcpInfo, at: Time, recorder: &mut Recorder) {
        if let Some(state) = told(&self.scenario.flows[index].cc, info) {
            self.told.tell(index as u32, &state, at, recorder);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variant: &str, cc_info: [u32; 5]) -> Option<Vec<f64>> {
        let info = TcpInfo {
            cc_info,
            ..TcpInfo::default()
        };
        told(variant, &info)
    }

    /// By hand, from `include/uapi/linux/inet_diag.h`: 12.5 MB/s, 40 ms, gains of 1.25 and 2.
    #[test]
    fn what_a_socket_tells_is_read_by_its_variant() {
        let told = of("bbr", [12_500_000, 0, 40_000, 320, 512]);
        assert_eq!(told, Some(vec![100e6, 40e6, 1.25, 2.0]));
        let above_4_gb = of("bbr", [0, 1, 1, 256, 256]).expect("a state");
        assert_eq!(above_4_gb[0], 8.0 * 4_294_967_296.0);
        let marked = u32::from_ne_bytes([1, 0, 1, 0]);
        assert_eq!(
            of("dctcp", [marked, 512, 7, 9, 0]),
            Some(vec![1.0, 0.5, 1.0])
        );
        let vegas = of("vegas", [1, 3, 20_000, VEGAS_UNKNOWN, 0]).expect("a state");
        assert_eq!(vegas[..3], [1.0, 3.0, 20e6]);
        assert!(vegas[3].is_nan());
        assert_eq!(of("bbr", [0; 5]), None);
        assert_eq!(of("cubic", [1, 2, 3, 4, 5]), None);
    }

    #[test]
    fn there_is_a_number_for_each_column() {
        for variant in ["bbr", "dctcp", "vegas", "yeah", "cubic"] {
            let numbers = of(variant, [1, 2, 3, 4, 5]).map_or(0, |numbers| numbers.len());
            assert_eq!(numbers, columns_of(variant).len(), "{variant}");
        }
    }
}
