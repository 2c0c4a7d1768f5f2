//! How a variant that was compiled apart is reached: a table of C functions.
//!
//! A shared object exports `cclab_variant`, which [`variant!`](crate::variant) writes; it returns
//! the [`Table`] of its variant. Both sides are compiled from this crate; a table whose
//! [`Table::interface`] is another's is refused by that number.

#![allow(
    unsafe_code,
    reason = "tables cross from one shared object to another by pointer"
)]

use std::ffi::c_void;

use crate::{AckSample, CaEvent, CaState, CongestionOps, RateSample, Tcp};

/// Raised whenever [`Table`], [`Tcp`] or a sample changes its layout or meaning.
pub const INTERFACE_VERSION: u32 = 1;

/// UTF-8 text that lives as long as the shared object.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// Its first byte.
    pub start: *const u8,
    /// Its length in bytes.
    pub len: usize,
}

impl Text {
    /// Of a literal.
    pub const fn of(text: &'static str) -> Text {
        Text {
            start: text.as_ptr(),
            len: text.len(),
        }
    }

    /// As a string.
    ///
    /// # Safety
    /// The text comes from a table of a shared object that is still loaded.
    pub unsafe fn read(&self) -> String {
        // SAFETY: the caller's promise.
        let bytes = unsafe { std::slice::from_raw_parts(self.start, self.len) };
        String::from_utf8_lossy(bytes).into_owned()
    }
}

/// A parameter that a variant takes (`cc_params` of a study).
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name.
    pub name: Text,
    /// What it does.
    pub meaning: Text,
    /// Its value where none is given.
    pub default: f64,
    /// The smallest value that it may take.
    pub least: f64,
    /// The largest value that it may take.
    pub most: f64,
}

// SAFETY: the texts are literals.
unsafe impl Sync for Parameter {}

impl Parameter {
    /// A parameter called `name`.
    pub const fn new(
        name: &'static str,
        meaning: &'static str,
        default: f64,
        [least, most]: [f64; 2],
    ) -> Parameter {
        Parameter {
            name: Text::of(name),
            meaning: Text::of(meaning),
            default,
            least,
            most,
        }
    }
}

/// The values of a variant's parameters, in the order in which it declares them.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a>(pub &'a [f64]);

impl Given<'_> {
    /// The value of the parameter at `index` of the declaration.
    ///
    /// # Panics
    /// If so many are not declared.
    pub fn at(&self, index: usize) -> f64 {
        self.0[index]
    }
}

/// How a variant begins.
pub type Start<V> = fn(Given<'_>) -> V;

/// A variant that was compiled apart.
#[repr(C)]
pub struct Table {
    /// [`INTERFACE_VERSION`] of the crate that it was compiled against.
    pub interface: u32,
    /// Its name.
    pub name: Text,
    /// Its parameters, and how many.
    pub params: *const Parameter,
    /// See `params`.
    pub params_len: usize,
    /// Whether the flow always negotiates ECN (`TCP_CONG_NEEDS_ECN`).
    pub needs_ecn: bool,
    /// Makes one for a flow, with a value for each parameter.
    pub start: unsafe extern "C" fn(values: *const f64, len: usize) -> *mut c_void,
    /// Ends it.
    pub end: unsafe extern "C" fn(*mut c_void),
    /// [`CongestionOps::init`].
    pub init: unsafe extern "C" fn(*mut c_void, *mut Tcp),
    /// [`CongestionOps::ssthresh`].
    pub ssthresh: unsafe extern "C" fn(*mut c_void, *mut Tcp) -> u32,
    /// [`CongestionOps::cong_avoid`].
    pub cong_avoid: unsafe extern "C" fn(*mut c_void, *mut Tcp, u32, u32),
    /// [`CongestionOps::set_state`].
    pub set_state: unsafe extern "C" fn(*mut c_void, *mut Tcp, u8),
    /// [`CongestionOps::cwnd_event`].
    pub cwnd_event: unsafe extern "C" fn(*mut c_void, *mut Tcp, u8),
    /// [`CongestionOps::in_ack_event`].
    pub in_ack_event: unsafe extern "C" fn(*mut c_void, *mut Tcp, u32),
    /// [`CongestionOps::pkts_acked`].
    pub pkts_acked: unsafe extern "C" fn(*mut c_void, *mut Tcp, *const AckSample),
    /// [`CongestionOps::has_cong_control`].
    pub has_cong_control: unsafe extern "C" fn(*mut c_void) -> bool,
    /// [`CongestionOps::cong_control`].
    pub cong_control: unsafe extern "C" fn(*mut c_void, *mut Tcp, u32, u32, *const RateSample),
    /// [`CongestionOps::undo_cwnd`].
    pub undo_cwnd: unsafe extern "C" fn(*mut c_void, *mut Tcp) -> u32,
    /// [`CongestionOps::min_tso_segs`]; zero: no say.
    pub min_tso_segs: unsafe extern "C" fn(*mut c_void, *mut Tcp) -> u32,
    /// [`CongestionOps::sndbuf_expand`]; zero: no say.
    pub sndbuf_expand: unsafe extern "C" fn(*mut c_void, *mut Tcp) -> u32,
}

// SAFETY: a table is made of constants.
unsafe impl Sync for Table {}
// SAFETY: see above.
unsafe impl Send for Table {}

/// What a variant says of itself beside its hooks.
#[doc(hidden)]
pub trait Declared: CongestionOps + Sized + 'static {
    const START: Start<Self>;
}

impl Table {
    /// The table of variant `V`.
    #[doc(hidden)]
    pub const fn of<V: Declared>(
        name: &'static str,
        params: &'static [Parameter],
        needs_ecn: bool,
    ) -> Table {
        Table {
            interface: INTERFACE_VERSION,
            name: Text::of(name),
            params: params.as_ptr(),
            params_len: params.len(),
            needs_ecn,
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

unsafe extern "C" fn start<V: Declared>(values: *const f64, len: usize) -> *mut c_void {
    let given = match len {
        0 => &[][..],
        // SAFETY: the host passes as many values as it says.
        _ => unsafe { std::slice::from_raw_parts(values, len) },
    };
    Box::into_raw(Box::new(V::START(Given(given)))).cast()
}

unsafe extern "C" fn end<V: Declared>(variant: *mut c_void) {
    // SAFETY: `start` made it, and the host ends it once.
    drop(unsafe { Box::from_raw(variant.cast::<V>()) });
}

/// Defines the functions of the table that hand on to a hook.
macro_rules! hooks {
    ($($hook:ident($($arg:ident: $given:ty => $told:expr),*) $(-> $result:ty)? $(, $with:expr)?;)*) => {$(
        unsafe extern "C" fn $hook<V: Declared>(
            variant: *mut c_void,
            tcp: *mut Tcp,
            $($arg: $given),*
        ) $(-> $result)? {
            // SAFETY: `start` made the variant, and the host lends it and the connection for the
            // time of the call.
            let (variant, tcp) = unsafe { (&mut *variant.cast::<V>(), &mut *tcp) };
            let said = variant.$hook(tcp, $($told),*);
            $(let said = $with(said);)?
            said
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

unsafe extern "C" fn cwnd_event<V: Declared>(variant: *mut c_void, tcp: *mut Tcp, event: u8) {
    // SAFETY: as the other hooks.
    let (variant, tcp) = unsafe { (&mut *variant.cast::<V>(), &mut *tcp) };
    if let Some(event) = CaEvent::of(event) {
        variant.cwnd_event(tcp, event);
    }
}

unsafe extern "C" fn has_cong_control<V: Declared>(variant: *mut c_void) -> bool {
    // SAFETY: as the other hooks.
    unsafe { &*variant.cast::<V>() }.has_cong_control()
}

/// Declares the variant of a file: its name, how it begins, and its parameters.
///
/// ```text
/// cclab::variant! { name: "mine", start: Mine::new, params: [
///     cclab::Parameter::new("beta", "what remains of the window at a loss", 0.7, [0.1, 0.9]),
/// ] }
/// ```
#[macro_export]
macro_rules! variant {
    (name: $name:literal, start: $variant:ident :: $start:ident
     $(, needs_ecn: $ecn:literal)? $(, params: [$($param:expr),* $(,)?])? $(,)?) => {
        impl $crate::Declared for $variant {
            const START: $crate::Start<$variant> = $variant::$start;
        }

        static PARAMS: &[$crate::Parameter] = &[$($($param),*)?];

        /// What cclab asks a file for.
        #[unsafe(no_mangle)]
        pub extern "C" fn cclab_variant() -> *const $crate::Table {
            static TABLE: $crate::Table = $crate::Table::of::<$variant>(
                $name, PARAMS, false $(|| $ecn)?,
            );
            &TABLE
        }
    };
}
