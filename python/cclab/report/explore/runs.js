// The runs of a sweep: what was swept, what was measured, and how each is named and repeated.

/**
 * @typedef {Omit<Key, "places"> & { places: Uint16Array }} SweptKey
 * @typedef {Metric["unit"]} Unit
 * @typedef {Omit<Metric, "values"> & { values: Float32Array }} Measure
 *
 * A key or a metric as an axis: where each run lies, what stands beside it, and a run's value in
 * words. An axis of a metric has units, one of a key has ticks.
 * @typedef {{
 *   label: string, at: Float32Array | Float64Array, say: (run: number) => string,
 *   units: Units, ticks: Map<number, string> | null,
 * }} Column
 */

const SPREAD = 8; // largest over smallest number from which an axis is logarithmic

/** @type {SweepPage} */
const SWEEP = embedded();
const RUNS = SWEEP.ids.length;

/** @type {SweptKey[]} */
const KEYS = SWEEP.keys.map((key) => ({ ...key, places: new Uint16Array(bytesOf(key.places)) }));

/** @type {Measure[]} */
const METRICS = SWEEP.metrics.map((metric) => ({
  ...metric,
  values: new Float32Array(bytesOf(metric.values)),
}));

/** @type {Record<Unit, Units>} */
const UNITS = {
  ...QUANTITIES,
  time: QUANTITIES.time.filter(([size]) => size >= 1e-6),
  share: [[0.01, "%"]],
};

/**
 * @param {Measure} metric
 * @param {number} run
 */
const sayMetric = ({ unit, values }, run) =>
  Number.isFinite(values[run]) ? inWords(UNITS[unit], values[run]) : "not measured";

/**
 * How far to the side of its value a run lies, in gaps between values: up to a fifth.
 * @param {number} run
 */
const aside = (run) => (((run * 2654435761) >>> 0) / 2 ** 32 - 0.5) * 0.4;

/**
 * Where the values of a key lie: its numbers, or their logarithms, or its values in their order.
 * @param {SweptKey} key
 */
function positionsOf({ numbers, values }) {
  if (numbers === null) return values.map((_value, place) => place);
  const [least] = numbers;
  const isWide = least > 0 && numbers[numbers.length - 1] / least >= SPREAD;
  return isWide ? numbers.map(Math.log10) : numbers;
}

/**
 * @param {SweptKey} key
 * @returns {Column}
 */
function columnOfKey(key) {
  const { label, values, places } = key;
  const positions = positionsOf(key);
  const steps = positions.slice(1).map((position, place) => position - positions[place]);
  const gap = Math.min(...steps, (positions[positions.length - 1] - positions[0]) / 12 || 1);
  return {
    label,
    at: Float64Array.from(places, (place, run) => positions[place] + aside(run) * gap),
    say: (run) => values[places[run]],
    units: UNITS.plain,
    ticks: new Map(positions.map((position, place) => [position, values[place]])),
  };
}

/**
 * @param {string} name
 * @returns {Column}
 */
function columnOf(name) {
  const key = KEYS.find((swept) => swept.key === name);
  if (key) return columnOfKey(key);
  const metric = METRICS.find((measured) => measured.name === name) ?? METRICS[0];
  return {
    label: metric.label,
    at: metric.values,
    say: (run) => sayMetric(metric, run),
    units: UNITS[metric.unit],
    ticks: null,
  };
}

/** @param {number} run */
function pointOf(run) {
  const values = KEYS.map((key) => `${key.label} = ${key.values[key.places[run]]}`);
  return [...values, `seed ${SWEEP.seeds[run]}`].join(", ");
}

/** @param {number} run */
const commandOf = (run) => `${SWEEP.command} ${SWEEP.ids[run]}`;

/**
 * What the page has of a run over time.
 * @param {number} run
 * @returns {Course | undefined}
 */
const courseOf = (run) => SWEEP.series[String(run)];

/**
 * A colour on the paper that there is: on dark paper black is white, and every other hue is lighter
 * by a quarter.
 * @param {string} colour
 */
function inkOf(colour) {
  if (!isDark()) return colour;
  if (colour === "#000000") return css("--ink");
  const lighter = [1, 3, 5].map((place) =>
    Math.round(0.75 * parseInt(colour.slice(place, place + 2), 16) + 64)
      .toString(16)
      .padStart(2, "0"),
  );
  return `#${lighter.join("")}`;
}
