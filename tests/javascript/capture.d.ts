// Written by tests/javascript/shapes.py from cclab.captures.series.page.document.

/**
 * What of a panel is drawn in one way; `x`, `y` and `low` are doubles in base64.
 *
 * Areas, bars and marks have `low`; a colour for dark paper is beside that for light paper.
 */
interface Layer {
  kind: "step" | "line" | "area" | "bars" | "marks" | "dots";
  label: string;
  colour: string;
  dark: string;
  x: string;
  y: string;
  low?: string;
  marker?: string | null;
  hollow?: boolean;
}

/**
 * Layers on one axis of values, `height` pixels high; the axis ends at `top` if that is set.
 */
interface Panel {
  name: string;
  title: string;
  height: number;
  unit: "bytes" | "rate" | "time" | "plain";
  log: boolean;
  top: number | null;
  layers: Array<Layer>;
}

/**
 * A direction: what can be chosen, from `span[0]` to `span[1]` seconds.
 *
 * `kept` of `all` points are in its panels.
 */
interface ShownDirection {
  name: string;
  heading: string;
  limits: string;
  bytes: number;
  span: [number, number];
  kept: number;
  all: number;
  panels: Array<Panel>;
}

/**
 * The whole capture: its stretch of time, how points were thinned, when it was congested.
 */
interface CapturePage {
  span: [number, number];
  rule: string;
  across: Array<Panel>;
  congested: [number, number] | null;
  directions: Array<ShownDirection>;
}
