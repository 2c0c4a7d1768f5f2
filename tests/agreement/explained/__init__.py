"""Where cclab and a judge differ, on which kinds, why, and which of them is right."""

from __future__ import annotations

from agreement.explained import tcptrace, tshark

EXPLAINED = tcptrace.EXPLAINED + tshark.EXPLAINED
