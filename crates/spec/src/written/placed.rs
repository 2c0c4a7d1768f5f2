//! The keys of what runs between two ends: where these are, and how far apart.

use crate::de::At;
use crate::flow::Direction;
use crate::text::TimeText;

/// Declares a table of what runs between two ends: keys of its own, and those of its place.
macro_rules! placed_table {
    ($(#[$meta:meta])* $name:ident { $($(#[$field_meta:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Clone, Debug, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, expecting = "a table")]
        $(#[$meta])*
        pub(crate) struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
            /// Base RTT: propagation over the whole path and back, without queueing and
            /// transmission. What the path lacks is added on the access link. Default: what the
            /// path has.
            pub rtt: Option<$crate::de::At<$crate::text::TimeText>>,
            /// Which way the data, or the requests of a probe, travel over the bottleneck. Default:
            /// "forward".
            pub direction: Option<$crate::flow::Direction>,
            /// The first and the last bottleneck of a parking lot that it crosses, counted from 1.
            /// Default: all.
            pub crosses: Option<$crate::de::At<[u32; 2]>>,
            /// The node of a graph that the data, or the requests, come from.
            pub from: Option<$crate::de::At<String>>,
            /// The node of a graph that they go to.
            pub to: Option<$crate::de::At<String>>,
        }

        impl $name {
            /// The keys of its place.
            pub fn place(&self) -> $crate::written::PlaceKeys<'_> {
                $crate::written::PlaceKeys {
                    direction: self.direction,
                    crosses: self.crosses.as_ref(),
                    from: self.from.as_ref(),
                    to: self.to.as_ref(),
                    rtt: self.rtt.as_ref(),
                }
            }
        }
    };
}

pub(super) use placed_table;

/// The keys of a place.
#[derive(Clone, Copy)]
pub(crate) struct PlaceKeys<'a> {
    pub direction: Option<Direction>,
    pub crosses: Option<&'a At<[u32; 2]>>,
    pub from: Option<&'a At<String>>,
    pub to: Option<&'a At<String>>,
    pub rtt: Option<&'a At<TimeText>>,
}
