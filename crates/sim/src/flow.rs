//! A flow: its sender, its receiver, its application, and how they were set up.

use cclab_cc::EcnFeedback;
use cclab_packet::Ecn;
use cclab_spec::{Flow as Spec, Scenario};
use cclab_tcp::profile::{AckPolicy, InitialSsthresh, Profile};
use cclab_tcp::{Receiver, ReceiverConfig, Sender};
use cclab_units::parameter::Params;
use cclab_units::{Stream, Time};

use crate::application::Application;
use crate::stack::{self, Profiles};
use crate::topology::Path;

/// Both ends of a flow.
pub struct Flow {
    /// The sending side.
    pub sender: Sender,
    /// The receiving side.
    pub receiver: Receiver,
    /// What writes to the sender.
    pub application: Application,
    /// Its routes.
    pub path: Path,
    /// When it starts; later than the run's end for a flow that never does.
    pub start: Time,
    /// When the first SYN left.
    pub started: Option<Time>,
    /// When everything was acknowledged.
    pub ended: Option<Time>,
    /// Whether it is over, finished or given up.
    pub over: bool,
    /// Sum and count of srtt over acknowledgements, once there is one.
    pub srtt_sum: u128,
    /// See `srtt_sum`.
    pub srtt_count: u64,
    /// RTT samples.
    pub rtt: cclab_trace::Histogram,
    /// Payload bytes of a full segment.
    pub mss: u32,
}

/// Payload bytes of a full segment: options come out of the MSS or on top of it.
pub fn payload_of(mss: u32, profile: &Profile) -> u32 {
    let wire = &profile.wire;
    let options = if wire.timestamps && wire.mss_includes_options {
        12
    } else {
        0
    };
    mss.saturating_sub(options).max(1)
}

impl Flow {
    /// The flow at `index` of `scenario`, not yet started.
    pub fn new(
        scenario: &Scenario,
        index: usize,
        path: Path,
        seed: u64,
        profiles: &mut Profiles,
    ) -> Flow {
        let spec = &scenario.flows[index];
        let (start, mut dice) = spec.start_and_dice(seed);
        let isn = dice.bits();
        let isns = (isn as u32, (isn >> 32) as u32);
        let (sender, receiver, mss) = ends(scenario, spec, index as u32, isns, dice, profiles);
        let dice = Stream::new(seed, &format!("application {}", spec.name));
        Flow {
            sender,
            receiver,
            application: Application::new(spec, start, u64::from(mss), dice),
            path,
            start,
            started: None,
            ended: None,
            over: false,
            srtt_sum: 0,
            srtt_count: 0,
            rtt: cclab_trace::Histogram::default(),
            mss,
        }
    }

    /// Has the memory fetched that an acknowledgement will touch beyond the flow itself.
    #[inline]
    pub fn fetch_parts(&self) {
        self.sender.fetch_parts();
        self.rtt.fetch(self.sender.rtt().srtt().as_nanos());
    }

    /// When the sender's host acts next on its own.
    #[inline]
    pub fn sender_deadline(&self) -> Time {
        if self.over {
            Time::NEVER
        } else {
            self.sender.deadline().min(self.application.deadline())
        }
    }
}

/// Both ends of a connection as `spec` describes it, and its payload bytes of a full segment.
/// `isns` are the first sequence numbers of the sender and of the receiver.
pub fn ends(
    scenario: &Scenario,
    spec: &Spec,
    flow: u32,
    (sender_isn, receiver_isn): (u32, u32),
    dice: Stream,
    profiles: &mut Profiles,
) -> (Sender, Receiver, u32) {
    let profile = stack::profile_of(scenario, spec);
    let variant =
        cclab_cc::find_simulated(&spec.cc).expect("unknown variants are refused before a run");
    let recovery = stack::recovery_of(variant, &profile);
    let mss = payload_of(spec.mss.unwrap_or(profile.wire.mss), &profile);
    let rwnd = rwnd_of(spec, &profile, mss);

    let mut wire = profile.wire;
    wire.sack = recovery.uses_sack() && wire.sack;
    let params = Params::new(variant.params, &spec.cc_params)
        .expect("bad parameters are refused before a run");
    let codepoint = match variant.sends_ect1(&params) {
        true => Ecn::Ect1,
        false => Ecn::Ect0,
    };
    let ecn = spec.ecn || variant.ecn == EcnFeedback::PerPacket;
    let answers = ReceiverConfig {
        wire,
        ack: ack_policy_of(spec, &profile),
        rwnd_max: rwnd,
        buffer: profile
            .default_rwnd
            .buffer()
            .filter(|_| spec.rwnd.is_none()),
        ecn,
        feedback: variant.ecn,
        codepoint,
        mss_payload: mss,
    };
    let receiver = Receiver::new(flow, receiver_isn, profiles.share_answers(answers));
    let cc = cclab_cc::Config {
        mss: u64::from(mss),
        initial_window: profile.initial_window_segments * u64::from(mss),
        initial_ssthresh: match profile.initial_ssthresh {
            InitialSsthresh::Unlimited => u64::MAX,
            InitialSsthresh::Bytes(bytes) => bytes,
            InitialSsthresh::Rwnd => rwnd,
        },
        slow_start: profile.cubic_slow_start,
        arithmetic: profile.arithmetic,
        params,
    };
    let mut sender = Sender::new(cclab_tcp::Config {
        flow,
        profile: profiles.share(Profile { wire, ..profile }),
        recovery,
        mss,
        isn: sender_isn,
        ecn,
        cc,
        build_cc: variant.build.expect("it is one of the simulator"),
        window: variant.window,
        feedback: variant.ecn,
        codepoint,
        rng: dice,
    });
    let at_once = matches!(
        spec.application,
        Some(
            cclab_spec::Application::Telnet { nagle: false, .. }
                | cclab_spec::Application::RequestResponse { .. }
        )
    );
    sender.set_nodelay(spec.nodelay || at_once);
    (sender, receiver, mss)
}

/// The largest window that the receiver of `spec` advertises, in bytes.
pub(crate) fn rwnd_of(spec: &Spec, profile: &Profile, mss: u32) -> u64 {
    let default = profile.default_rwnd.most(u64::from(mss));
    let largest = if profile.wire.window_scaling {
        65_535 << 14
    } else {
        65_535
    };
    spec.rwnd.unwrap_or(default).min(largest)
}

fn ack_policy_of(spec: &Spec, profile: &Profile) -> AckPolicy {
    let every = spec.delayed_ack.unwrap_or(profile.ack.every);
    AckPolicy {
        every,
        ..profile.ack
    }
}
