// Written by tests/javascript/shapes.py from cclab.report.explore.document.

/**
 * A swept key: its values in order, as numbers if all are, and their colours and markers.
 *
 * `places` has of each run the place of its value, 16 bits each, in base64.
 */
interface Key {
  key: string;
  label: string;
  values: Array<string>;
  numbers: Array<number> | null;
  looks: Array<[string, string]>;
  variants: boolean;
  places: string;
}

/**
 * A number of every run: 32 bits each, in base64, NaN where it was not measured.
 */
interface Metric {
  name: string;
  label: string;
  unit: "bytes" | "rate" | "time" | "share" | "plain";
  values: string;
}

/**
 * Numbers from 0 up, as multiples of `unit`: 16 bits each, in base64.
 */
interface Packed {
  unit: number;
  data: string;
}

/**
 * What curves are of, a flow, a group of flows, a link or a probe, in the figures' look.
 *
 * `dash` is in widths of the line.
 */
interface Line {
  name: string;
  label: string;
  colour: string;
  dash: Array<number>;
}

/**
 * Of the line number `line`, a number for each step of the run.
 *
 * `part` says what they are where the line has several curves in a panel. `bands` has those of the
 * flows of a group, below and above their median: of nine in ten, then of half of them.
 */
interface Curve {
  line: number;
  values: Packed;
  part?: string;
  bands?: Array<[Packed, Packed]>;
}

/**
 * The steps of a run in which something occurred, and how often: 16 bits each, in base64.
 */
interface Ticks {
  label: string;
  colour: string;
  steps: string;
  counts: string;
}

/**
 * What `values` are at all times, in one look.
 *
 * The axis goes up to those within `reach` times all that curves come to. One that is higher has
 * an arrow at the top and is said to be `above`, unless that is empty.
 */
interface Level {
  label: string;
  colour: string;
  dash: Array<number>;
  values: Array<number>;
  reach: number;
  above: string;
}

/**
 * What occurred to the line number `line`: when, in seconds, and at which value.
 */
interface Crosses {
  line: number;
  label: string;
  colour: string;
  times: Packed;
  values: Packed;
}

/**
 * Curves of one quantity, a key of `quantities`; `link` is whose queue it is, and `notes` are
 * words about it.
 */
interface CoursePanel {
  quantity: string;
  link?: string;
  curves: Array<Curve>;
  ticks: Array<Ticks>;
  levels?: Array<Level>;
  crosses?: Array<Crosses>;
  notes?: Array<string>;
}

/**
 * Which share is no longer than each of the times `values`, from the least up: 32 bits each, in
 * base64. The look is that of the figures.
 */
interface Share {
  label: string;
  colour: string;
  dash: Array<number>;
  values: string;
  shares: string;
}

/**
 * How times are distributed in a run: `quantity` across and `share` up, as in its figure.
 *
 * The axis is logarithmic where the longest is more than `spread` times the shortest. What is
 * shorter than `span` times the longest stands there.
 */
interface Distribution {
  quantity: string;
  share: string;
  spread: number;
  span: number;
  curves: Array<Share>;
}

/**
 * A run over time, in `steps` steps of `step` seconds.
 */
interface Course {
  step: number;
  steps: number;
  lines: Array<Line>;
  panels: Array<CoursePanel>;
  distributions?: Array<Distribution>;
}

/**
 * What a panel shows: how its figure calls it.
 *
 * A `mean` is that of a step, and so of several. What is `sparse` is known at some steps alone: a
 * line leads from each to the next. A `phase` is one of the page's by its number.
 */
interface Quantity {
  title: string;
  unit: "bytes" | "rate" | "time" | "share" | "plain";
  kind: "mean" | "state" | "sparse" | "phase";
}

/**
 * All runs, column by column; `series` by the place of the run, `command` without its id.
 *
 * `bins` of a mean are as many as a figure shows; `phases` have each its name, its colour, and its
 * hatch among those of that colour.
 */
interface SweepPage {
  command: string;
  keys: Array<Key>;
  metrics: Array<Metric>;
  ids: Array<string>;
  seeds: Array<string>;
  quantities: Record<string, Quantity>;
  bins: number;
  phases: Array<[string, string, number]>;
  series: Record<string, Course>;
}
