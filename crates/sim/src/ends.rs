//! From a flow of a study to the two ends of a connection.

use cclab_cc::{EcnFeedback, Maker, Variant, WindowInRecovery};
use cclab_packet::Ecn;
use cclab_spec::{Flow as Spec, Scenario};
use cclab_tcp::profile::{AckPolicy, InitialSsthresh, Profile};
use cclab_tcp::{EcnMode, Misbehaviour, Receiver, ReceiverConfig, Remembered, Sender};
use cclab_units::Stream;
use cclab_units::parameter::Params;

use crate::own::OwnVariants;
use crate::stack::{self, Profiles};

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
    let variant = cclab_cc::find_simulated(&spec.cc);
    let recovery = stack::recovery_of(variant, &profile);
    let mss = profile.payload_of(spec.mss.unwrap_or(profile.wire.mss));
    let rwnd = profile.rwnd_of(spec.rwnd, mss);

    let mut wire = profile.wire;
    wire.sack = recovery.uses_sack() && wire.sack;
    let Chosen {
        maker,
        params,
        window,
        feedback,
        codepoint,
    } = chosen(spec, variant, &profile, &profiles.own);
    let asks = mode_of(spec.ecn).max(match feedback {
        EcnFeedback::Classic => EcnMode::Off,
        EcnFeedback::PerPacket => EcnMode::Classic,
        EcnFeedback::Accurate => EcnMode::Accurate,
    });
    let answers = ReceiverConfig {
        wire,
        ack: ack_policy_of(spec, &profile),
        rwnd_max: rwnd,
        buffer: profile
            .default_rwnd
            .buffer()
            .filter(|_| spec.rwnd.is_none()),
        ecn: spec.receiver_ecn.map_or(asks, mode_of),
        feedback,
        codepoint,
        mss_payload: mss,
        misbehaviour: spec.receiver.map(misbehaviour_of),
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
        ecn: asks,
        cc,
        maker,
        window,
        feedback,
        codepoint,
        rng: dice,
        remembered: spec.remembered.map(|spec| Remembered {
            window: spec.window,
            rtt: spec.rtt,
        }),
    });
    let at_once = matches!(
        spec.application,
        Some(
            cclab_spec::Application::Telnet { nagle: false, .. }
                | cclab_spec::Application::RequestResponse { .. }
                | cclab_spec::Application::Frames(_)
        )
    );
    sender.set_nodelay(spec.nodelay || at_once);
    (sender, receiver, mss)
}

/// What the variant of a flow makes of its stack.
struct Chosen {
    maker: Maker,
    params: Params,
    window: WindowInRecovery,
    feedback: EcnFeedback,
    codepoint: Ecn,
}

/// Chooses the variant of `spec`: the simulator's own, or one of a file.
fn chosen(
    spec: &Spec,
    variant: Option<&'static Variant>,
    profile: &Profile,
    own: &OwnVariants,
) -> Chosen {
    let Some(variant) = variant else {
        let own = own
            .of(spec)
            .expect("unknown variants are refused before a run");
        return Chosen {
            maker: own.maker(),
            params: Params::defaults(&[]),
            window: WindowInRecovery::Stack,
            feedback: own.ecn,
            codepoint: Ecn::Ect0,
        };
    };
    let params = Params::new(variant.params, &spec.cc_params)
        .expect("bad parameters are refused before a run");
    Chosen {
        maker: variant
            .maker(profile.arithmetic)
            .expect("it is one of the simulator"),
        window: variant.window,
        feedback: variant.ecn,
        codepoint: match variant.sends_ect1(&params) {
            true => Ecn::Ect1,
            false => Ecn::Ect0,
        },
        params,
    }
}

fn mode_of(ecn: cclab_spec::Ecn) -> EcnMode {
    match ecn {
        cclab_spec::Ecn::Off => EcnMode::Off,
        cclab_spec::Ecn::Classic => EcnMode::Classic,
        cclab_spec::Ecn::Accurate => EcnMode::Accurate,
    }
}

fn misbehaviour_of(spec: cclab_spec::Misbehaviour) -> Misbehaviour {
    use cclab_spec::Misbehaviour as Spec;
    match spec {
        Spec::AckDivision { pieces } => Misbehaviour::AckDivision { pieces },
        Spec::DuplicateAcks { copies } => Misbehaviour::DuplicateAcks { copies },
        Spec::OptimisticAcks { ahead } => Misbehaviour::OptimisticAcks { ahead },
        Spec::LossConcealment => Misbehaviour::LossConcealment,
        Spec::MarkConcealment => Misbehaviour::MarkConcealment,
        Spec::MarkExaggeration => Misbehaviour::MarkExaggeration,
    }
}

fn ack_policy_of(spec: &Spec, profile: &Profile) -> AckPolicy {
    let every = spec.delayed_ack.unwrap_or(profile.ack.every);
    AckPolicy {
        every,
        ..profile.ack
    }
}
