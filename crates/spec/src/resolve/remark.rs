//! Changes of the codepoint of ECN.

use crate::link::{Codepoint, Place, Remark};
use crate::text::BriefOrFull;
use crate::written::{self, Bleach};

/// A change as written; `None` for one that never happens.
pub(super) fn remark(written: &BriefOrFull<Bleach, written::Remark>) -> Option<Remark> {
    use Codepoint::{Ce, Ect0, Ect1, NotEct};
    let table = match written {
        BriefOrFull::Brief(Bleach::Bleach) => {
            return Some(Remark {
                at: Place::Router,
                to: [Ect1, Ect0, Ce].map(|from| (from, NotEct)).into(),
                probability: 1.0,
            });
        }
        BriefOrFull::Full(table) => table,
    };
    let changes = [
        (NotEct, table.not_ect),
        (Ect1, table.ect1),
        (Ect0, table.ect0),
        (Ce, table.ce),
    ];
    let to = changes.into_iter();
    let to = to.filter_map(|(from, to)| Some((from, to.filter(|&to| to != from)?)));
    let remark = Remark {
        at: table.at.unwrap_or(Place::Router),
        to: to.collect(),
        probability: table.probability.map_or(1.0, |share| share.0),
    };
    Some(remark).filter(|it| it.probability > 0.0 && !it.to.is_empty())
}
