// The layers of a panel: what they span, and what of them lies near the pointer.

/**
 * A layer with its numbers unpacked.
 * @typedef {Omit<Layer, "x" | "y" | "low"> & {
 *   x: Float64Array, y: Float64Array, low: Float64Array | null, shown: boolean,
 * }} ShownLayer
 *
 * @typedef {Omit<Panel, "layers"> & { layers: ShownLayer[] }} ShownPanel
 *
 * A point of a layer of marks.
 * @typedef {{ layer: ShownLayer, place: number }} MarkedPoint
 */

const NEAR = 14; // pixels within which a mark answers to the pointer

/** @param {string} text */
const doubles = (text) => new Float64Array(bytesOf(text));

/**
 * @param {Panel} panel
 * @returns {ShownPanel}
 */
const unpacked = (panel) => ({
  ...panel,
  layers: panel.layers.map((layer) => ({
    ...layer,
    x: doubles(layer.x),
    y: doubles(layer.y),
    low: layer.low === undefined ? null : doubles(layer.low),
    shown: true,
  })),
});

/**
 * Whether a layer has a value at every time, not marks at some.
 * @param {ShownLayer} layer
 */
const isCurve = ({ kind }) => kind === "step" || kind === "line" || kind === "area";

/**
 * Where bars and areas begin.
 * @param {ShownLayer} layer
 * @param {number} place
 */
const bottom = (layer, place) => (layer.low ?? layer.y)[place];

/**
 * The first index whose x is not below `time`.
 * @param {Float64Array} x
 * @param {number} time
 */
function search(x, time) {
  let low = 0;
  let high = x.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (x[middle] < time) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * The first index that matters from a time on: a curve comes from the point before.
 * @param {ShownLayer} layer
 * @param {number} from
 */
const firstFrom = (layer, from) => Math.max(0, search(layer.x, from) - (isCurve(layer) ? 1 : 0));

/**
 * The stretch of time that a plot shows.
 * @param {uPlot} u
 * @returns {[from: number, to: number]}
 */
function shownOf(u) {
  const { min = 0, max = 0 } = u.scales.x;
  return [min, max];
}

/**
 * The least and greatest value that a panel shows between two times.
 * @param {ShownPanel} panel
 * @param {number} from
 * @param {number} to
 * @returns {[least: number, most: number]}
 */
function extent(panel, from, to) {
  let least = Infinity;
  let most = -Infinity;
  /** @param {number} value */
  const take = (value) => {
    if (panel.log && value <= 0) return;
    if (value < least) least = value;
    if (value > most) most = value;
  };
  for (const layer of panel.layers) {
    if (!layer.shown) continue;
    const end = search(layer.x, to);
    for (let place = firstFrom(layer, from); place < end; place++) {
      take(layer.y[place]);
      if (layer.kind === "bars") take(bottom(layer, place));
    }
  }
  if (least > most) return panel.log ? [1e-6, 1] : [0, 1];
  if (panel.log) return [least / 1.5, most * 1.5];
  if (panel.top !== null) return [0, panel.top * 1.05];
  if (panel.name !== "time-sequence") return [0, most > 0 ? most * 1.06 : 1];
  const room = (most - least || 1) * 0.04;
  return [least - room, most + room];
}

/**
 * The mark nearest to the pointer, if one is near.
 * @param {uPlot} u
 * @param {ShownPanel} panel
 * @param {number} left
 * @param {number} top
 * @returns {MarkedPoint | null}
 */
function nearest(u, panel, left, top) {
  /** @type {MarkedPoint | null} */
  let best = null;
  let least = NEAR;
  for (const layer of panel.layers) {
    if (!layer.shown || isCurve(layer)) continue;
    const middle = search(layer.x, u.posToVal(left, "x"));
    for (const step of [-1, 1]) {
      const start = step < 0 ? middle - 1 : middle;
      for (let place = start; place >= 0 && place < layer.x.length; place += step) {
        const away = Math.abs(u.valToPos(layer.x[place], "x") - left);
        if (away > NEAR) break;
        const high = u.valToPos(layer.y[place], "y");
        const low = layer.kind === "bars" ? u.valToPos(bottom(layer, place), "y") : high;
        const over = Math.max(high - top, top - low, 0);
        const distance = Math.hypot(away, over);
        if (best ? distance < least : distance <= least) {
          best = { layer, place };
          least = distance;
        }
      }
    }
  }
  return best;
}

/** @param {number} time */
const seconds = (time) => `${time.toFixed(6)} s`;

/**
 * @param {ShownPanel} panel
 * @param {MarkedPoint} point
 */
function describe(panel, { layer, place }) {
  const time = seconds(layer.x[place]);
  const value = layer.y[place];
  if (layer.low === null) {
    return `${layer.label}: ${inWords(QUANTITIES[panel.unit], value)}\n${time}`;
  }
  if (layer.kind !== "bars") return `${layer.label}: ${grouped(value)}\n${time}`;
  const low = layer.low[place];
  return `${layer.label}: ${grouped(low)} to ${grouped(value)}\n${grouped(value - low)} bytes, ${time}`;
}

/**
 * The value of a curve at a time; null before it begins.
 * @param {ShownLayer} layer
 * @param {number} time
 */
function valueAt(layer, time) {
  const next = search(layer.x, time);
  const place = layer.x[next] === time ? next : next - 1;
  if (place < 0) return null;
  return layer.kind === "area" ? layer.y[place] - bottom(layer, place) : layer.y[place];
}
