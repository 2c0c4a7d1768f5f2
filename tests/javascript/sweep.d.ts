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
 * A flow over time, step by step.
 */
interface FlowCourse {
  name: string;
  label: string;
  colour: string;
  throughput: Packed;
  cwnd: Packed;
  srtt: Packed;
}

/**
 * A run over time, in steps of `step` seconds; `queue` is a delay or a backlog.
 */
interface Course {
  step: number;
  flows: Array<FlowCourse>;
  queue: Packed | null;
  delay?: boolean;
}

/**
 * All runs, column by column; `series` by the place of the run, `command` without its id.
 */
interface SweepPage {
  command: string;
  keys: Array<Key>;
  metrics: Array<Metric>;
  ids: Array<string>;
  seeds: Array<string>;
  series: Record<string, Course>;
}
