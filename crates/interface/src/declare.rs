//! What a file that is compiled apart says of its variant, and the table that is made of it.

#![allow(
    unsafe_code,
    reason = "the functions of a table are handed the variant and the connection by pointer"
)]

use std::ffi::c_void;

use crate::fault::{watch, watched};
use crate::table::{Column, INTERFACE_VERSION, Parameter, States, Table, Text};
use crate::{AckSample, CaEvent, CaState, CongestionOps, RateSample, StateKind, Tcp};

/// The values of a variant's parameters.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a> {
    declared: &'static [Parameter],
    values: &'a [f64],
}

impl Given<'_> {
    /// The value of the parameter `name`: the study's, or its default.
    ///
    /// # Panics
    /// If the variant does not declare it.
    #[track_caller]
    pub fn get(&self, name: &str) -> f64 {
        let mut pairs = self.declared.iter().zip(self.values);
        // SAFETY: the names are literals of this shared object.
        match pairs.find(|(known, _)| unsafe { known.name.bytes() } == name.as_bytes()) {
            Some((_, value)) => *value,
            None => panic!("the variant declares no parameter {name:?}"),
        }
    }
}

/// How a variant begins.
pub type Start<V> = fn(Given<'_>) -> V;

/// What a variant says of itself beside its hooks.
#[doc(hidden)]
pub trait Declared: CongestionOps + Sized + 'static {
    const INTERFACE: u32 = INTERFACE_VERSION;
    const NAME: &'static str;
    const NEEDS_ECN: bool = false;
    const PARAMS: &'static [Parameter] = &[];
    const START: Start<Self>;
}

impl Table {
    /// The table of variant `V`.
    #[doc(hidden)]
    pub const fn of<V: Declared>() -> Table {
        Table {
            interface: V::INTERFACE,
            name: Text::of(V::NAME),
            params: V::PARAMS.as_ptr(),
            params_len: V::PARAMS.len(),
            needs_ecn: V::NEEDS_ECN,
            watch,
            start: start::<V>,
            end: end::<V>,
            init: init::<V>,
            ssthresh: ssthresh::<V>,
            cong_avoid: cong_avoid::<V>,
            set_state: set_state::<V>,
            cwnd_event: cwnd_event::<V>,
            in_ack_event: in_ack_event::<V>,
            pkts_acked: pkts_acked::<V>,
            has_cong_control: has_cong_control::<V>,
            cong_control: cong_control::<V>,
            undo_cwnd: undo_cwnd::<V>,
            min_tso_segs: min_tso_segs::<V>,
            sndbuf_expand: sndbuf_expand::<V>,
        }
    }
}

impl States {
    /// How the inner state of variant `V` is asked for.
    #[doc(hidden)]
    pub const fn of<V: Declared>() -> States {
        States {
            column: column::<V>,
            word: word::<V>,
            tell: tell_state::<V>,
        }
    }
}

unsafe extern "C-unwind" fn start<V: Declared>(values: *const f64, len: usize) -> *mut c_void {
    let values = match len {
        0 => &[][..],
        // SAFETY: the host passes as many values as it says.
        _ => unsafe { std::slice::from_raw_parts(values, len) },
    };
    let declared = V::PARAMS;
    watched("start", || {
        Box::into_raw(Box::new(V::START(Given { declared, values }))).cast()
    })
}

unsafe extern "C-unwind" fn end<V: Declared>(variant: *mut c_void) {
    // SAFETY: `start` made it, and the host ends it once.
    let variant = unsafe { Box::from_raw(variant.cast::<V>()) };
    watched("end", || drop(variant));
}

/// Defines the functions of the table that hand on to a hook.
macro_rules! hooks {
    ($($hook:ident($($arg:ident: $given:ty => $told:expr),*) $(-> $result:ty)? $(, $with:expr)?;)*) => {$(
        unsafe extern "C-unwind" fn $hook<V: Declared>(
            variant: *mut c_void,
            tcp: *mut Tcp,
            $($arg: $given),*
        ) $(-> $result)? {
            // SAFETY: `start` made the variant, and the host lends it and the connection for the
            // time of the call.
            let (variant, tcp) = unsafe { (&mut *variant.cast::<V>(), &mut *tcp) };
            watched(stringify!($hook), || {
                let said = variant.$hook(tcp, $($told),*);
                $(let said = $with(said);)?
                said
            })
        }
    )*};
}

hooks! {
    init();
    ssthresh() -> u32;
    cong_avoid(ack: u32 => ack, acked: u32 => acked);
    set_state(new: u8 => CaState::of(new));
    in_ack_event(flags: u32 => flags);
    undo_cwnd() -> u32;
    // SAFETY: the host lends the sample for the time of the call.
    pkts_acked(sample: *const AckSample => unsafe { &*sample });
    // SAFETY: see above.
    cong_control(ack: u32 => ack, flag: u32 => flag, sample: *const RateSample => unsafe { &*sample });
    min_tso_segs() -> u32, |said: Option<u32>| said.unwrap_or(0);
    sndbuf_expand() -> u32, |said: Option<u32>| said.unwrap_or(0);
}

unsafe extern "C-unwind" fn cwnd_event<V: Declared>(
    variant: *mut c_void,
    tcp: *mut Tcp,
    event: u8,
) {
    // SAFETY: as the other hooks.
    let (variant, tcp) = unsafe { (&mut *variant.cast::<V>(), &mut *tcp) };
    if let Some(event) = CaEvent::of(event) {
        watched("cwnd_event", || variant.cwnd_event(tcp, event));
    }
}

unsafe extern "C-unwind" fn has_cong_control<V: Declared>(variant: *mut c_void) -> bool {
    // SAFETY: as the other hooks.
    let variant = unsafe { &*variant.cast::<V>() };
    watched("has_cong_control", || variant.has_cong_control())
}

unsafe extern "C-unwind" fn column<V: Declared>(
    variant: *mut c_void,
    index: usize,
    told: *mut Column,
) -> bool {
    // SAFETY: as the hooks.
    let variant = unsafe { &*variant.cast::<V>() };
    let columns = watched("state_columns", || variant.state_columns());
    let Some(column) = columns.get(index) else {
        return false;
    };
    let (kind, words) = match column.kind {
        StateKind::Number => (0, 0),
        StateKind::Count => (1, 0),
        StateKind::Flag => (2, 0),
        StateKind::Word(words) => (3, words.len()),
    };
    let column = Column {
        name: Text::of(column.name),
        meaning: Text::of(column.meaning),
        kind,
        words,
    };
    // SAFETY: the host gives the place.
    unsafe { told.write(column) };
    true
}

unsafe extern "C-unwind" fn word<V: Declared>(
    variant: *mut c_void,
    column: usize,
    index: usize,
) -> Text {
    // SAFETY: as the hooks.
    let variant = unsafe { &*variant.cast::<V>() };
    let columns = watched("state_columns", || variant.state_columns());
    match columns.get(column).map(|column| column.kind) {
        Some(StateKind::Word(words)) => Text::of(words.get(index).copied().unwrap_or_default()),
        _ => Text::of(""),
    }
}

unsafe extern "C-unwind" fn tell_state<V: Declared>(
    variant: *mut c_void,
    tcp: *const Tcp,
    values: *mut f64,
    len: usize,
) {
    // SAFETY: `start` made the variant, and the host lends it, the connection and the numbers for the time
    // of the call.
    let (variant, tcp, values) = unsafe {
        let values = std::slice::from_raw_parts_mut(values, len);
        (&*variant.cast::<V>(), &*tcp, values)
    };
    watched("tell_state", || variant.tell_state(tcp, values));
}

/// Declares the variant of a file: the [`INTERFACE_VERSION`] that it is written for, its name, how
/// it begins, whether its flows always negotiate ECN, and its parameters. Only the name and how it
/// begins must be said, in this order.
///
/// ```text
/// cclab::variant! { interface: 1, name: "mine", start: Mine::new, needs_ecn: true, params: [
///     cclab::Parameter::new("beta", "what remains of the window at a loss", 0.7, [0.1, 0.9]),
/// ] }
/// ```
#[macro_export]
macro_rules! variant {
    ($(interface: $interface:literal,)? name: $name:literal, start: $variant:ident :: $start:ident
     $(, needs_ecn: $ecn:literal)? $(, params: [$($param:expr),* $(,)?])? $(,)?) => {
        const _: () = {
            impl $crate::Declared for $variant {
                $(const INTERFACE: u32 = $interface;)?
                const NAME: &'static str = $name;
                $(const NEEDS_ECN: bool = $ecn;)?
                $(const PARAMS: &'static [$crate::Parameter] = &[$($param),*];)?
                const START: $crate::Start<$variant> = $variant::$start;
            }

            /// What cclab asks a file for.
            #[unsafe(no_mangle)]
            pub extern "C" fn cclab_variant() -> *const $crate::Table {
                static TABLE: $crate::Table = $crate::Table::of::<$variant>();
                &TABLE
            }

            /// What cclab asks a file for beside.
            #[unsafe(no_mangle)]
            pub extern "C" fn cclab_states() -> *const $crate::States {
                static STATES: $crate::States = $crate::States::of::<$variant>();
                &STATES
            }
        };
    };
}
