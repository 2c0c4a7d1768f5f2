"""uPlot, whole: every interactive page holds it, so that it needs no network."""

VERSION = "1.6.32"
