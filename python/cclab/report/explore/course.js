// A run over time: its panels with their numbers unpacked, and what they were at a time.

const NONE = 65535; // in place of a number that there is not

/**
 * A curve with its numbers. `part` is empty but where its line has several curves in a panel.
 * @typedef {{
 *   line: Line, part: string, values: (number | null)[], bands: (number | null)[][][],
 * }} ShownCurve
 *
 * What occurred in some steps, and how often.
 * @typedef {{ label: string, colour: string, counts: Map<number, number> }} ShownTicks
 *
 * Where something occurred to a line.
 * @typedef {{
 *   line: Line, label: string, colour: string, places: [time: number, value: number][],
 * }} ShownCrosses
 *
 * A panel with its numbers; the `key` is the same in all runs that have such a panel.
 * @typedef {{
 *   key: string, quantity: string, title: string, unit: Unit, kind: Quantity["kind"],
 *   isFilled: boolean, isOffset: boolean, step: number, steps: number,
 *   curves: ShownCurve[], ticks: ShownTicks[], crosses: ShownCrosses[], levels: Level[],
 *   notes: string[],
 * }} ShownPanel
 */

/**
 * @param {Packed} packed
 * @returns {(number | null)[]}
 */
const unpacked = ({ unit, data }) =>
  Array.from(new Uint16Array(bytesOf(data)), (whole) => (whole === NONE ? null : whole * unit));

/**
 * @param {Ticks} ticks
 * @returns {ShownTicks}
 */
function unpackedTicks({ label, colour, steps, counts }) {
  const times = new Uint16Array(bytesOf(counts));
  const places = new Uint16Array(bytesOf(steps));
  return { label, colour, counts: new Map(Array.from(places, (step, nth) => [step, times[nth]])) };
}

/**
 * @param {Crosses} crosses
 * @param {Line[]} lines
 * @returns {ShownCrosses}
 */
function unpackedCrosses({ line, label, colour, times, values }, lines) {
  const heights = unpacked(values);
  return {
    line: lines[line],
    label,
    colour,
    places: unpacked(times).map((time, nth) => [Number(time), Number(heights[nth])]),
  };
}

/**
 * The panels of a run, unpacked as it is opened.
 * @param {Course} course
 * @returns {ShownPanel[]}
 */
const panelsOf = ({ step, steps, lines, panels }) =>
  panels.map(({ quantity, link, curves, ticks, crosses = [], levels = [], notes = [] }) => {
    const { title, unit, kind } = SWEEP.quantities[quantity];
    return {
      key: link ? `${quantity} ${link}` : quantity,
      quantity,
      title: link ? `${title}, ${link}` : title,
      unit,
      kind,
      isFilled: link !== undefined,
      isOffset: quantity === "sequence",
      step,
      steps,
      curves: curves.map(({ line, part = "", values, bands = [] }) => ({
        line: lines[line],
        part,
        values: unpacked(values),
        bands: bands.map((ends) => ends.map(unpacked)),
      })),
      ticks: ticks.map(unpackedTicks),
      crosses: crosses.map((own) => unpackedCrosses(own, lines)),
      levels,
      notes,
    };
  });

/**
 * The step that ends at a time or in which it lies; -1 if the run was over, or had not begun.
 * @param {{ step: number, steps: number }} course
 * @param {number} time
 */
function stepAt({ step, steps }, time) {
  const nth = Math.ceil(time / step - 1e-6) - 1;
  return nth < steps ? nth : -1;
}

/**
 * Steps of a panel that are drawn as one, where it shows so many seconds: of means, such that as
 * many bins fill it as fill that of a figure.
 * @param {ShownPanel} panel
 * @param {number} seconds
 */
const widthOf = ({ kind, step }, seconds) =>
  kind === "mean" ? Math.max(1, Math.round(seconds / step / SWEEP.bins)) : 1;

/**
 * The mean of the bin number `nth`, of `width` steps; null if nothing is known of them.
 * @param {(number | null)[]} values
 * @param {number} nth
 * @param {number} width
 */
function meanOf(values, nth, width) {
  let sum = 0;
  let count = 0;
  for (const value of values.slice(nth * width, (nth + 1) * width)) {
    if (value === null) continue;
    sum += value;
    count++;
  }
  return count ? sum / count : null;
}

/**
 * @param {(number | null)[]} values
 * @param {number} width
 */
const binned = (values, width) =>
  width === 1
    ? values
    : Array.from({ length: Math.ceil(values.length / width) }, (_none, nth) =>
        meanOf(values, nth, width),
      );

/**
 * What is drawn of a curve at a time.
 * @param {ShownPanel} panel
 * @param {(number | null)[]} values
 * @param {number} time
 * @param {number} width
 */
function valueAt(panel, values, time, width) {
  let nth = stepAt(panel, time);
  if (panel.kind === "sparse") while (nth > 0 && values[nth] === null) nth--;
  return nth < 0 ? null : meanOf(values, Math.floor(nth / width), width);
}

/**
 * The least and greatest that curves and crosses which are shown come to between two times; greatest
 * first below least if they come to nothing.
 * @param {ShownPanel} panel
 * @param {ShownCurve[]} curves
 * @param {ShownCrosses[]} crosses
 * @param {[from: number, to: number]} times
 * @returns {[least: number, most: number]}
 */
function extentOf(panel, curves, crosses, [from, to]) {
  // Rows, one for each.
  if (panel.kind === "phase") return [0, curves.length];
  const width = widthOf(panel, to - from);
  const first = Math.max(0, Math.floor(from / panel.step / width) - 1);
  const last = Math.ceil(to / panel.step / width);
  let least = Infinity;
  let most = -Infinity;
  for (const { values, bands } of curves) {
    for (const row of [values, ...bands.flat()]) {
      for (const value of binned(row, width).slice(first, last + 1)) {
        if (value === null) continue;
        least = Math.min(least, value);
        most = Math.max(most, value);
      }
    }
  }
  for (const [time, value] of crosses.flatMap(({ places }) => places)) {
    if (time < from || time > to) continue;
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  return [least, most];
}

/**
 * The highest of the levels to which the axis goes where all that is shown comes to `most`.
 * @param {Level[]} levels
 * @param {number} most
 */
const reachOf = (levels, most) =>
  Math.max(
    -Infinity,
    ...levels.flatMap(({ values, reach }) =>
      values.filter((value) => reach > 0 && (most <= 0 || value <= reach * most)),
    ),
  );
