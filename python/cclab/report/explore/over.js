// What is drawn in a panel beside its curves: ticks, crosses, and levels, with their samples.

const LEVEL_WIDTH = 1.1;
const TICK_HEIGHT = 7;
const TICK_ROW = 9; // with the gap below it
const TICK_SHARE = TICK_ROW / 84; // about, of the plot of a panel
const CROSS = 2.4; // from the middle of a cross to its ends, across and up

/**
 * Lays the path of a sample in the legend, 20 pixels wide and 14 high.
 * @typedef {(context: CanvasRenderingContext2D) => void} Sample
 */

/**
 * @param {number[]} dash
 * @returns {Sample}
 */
const strokeSample = (dash) => (context) => {
  context.setLineDash(dash.map((length) => length * context.lineWidth));
  along(context, [0, 7], [20, 7]);
};

/**
 * Paints a sample of the legend.
 * @param {HTMLCanvasElement} sample
 * @param {string} colour
 * @param {Sample} lay
 */
function paintStroke(sample, colour, lay) {
  sample.width = 20 * devicePixelRatio;
  sample.height = 14 * devicePixelRatio;
  const context = contextOf(sample);
  context.scale(devicePixelRatio, devicePixelRatio);
  context.strokeStyle = inkOf(colour);
  context.lineWidth = 1.8;
  lay(context);
  context.stroke();
}

/** @type {Sample} */
const tickSample = (context) => along(context, [10, 2], [10, 12]);

/** @type {Sample} */
const crossSample = (context) => layCross(context, 10, 7, 1.4 * CROSS);

/** @type {Mark} */
function layCross(path, x, y, r) {
  along(path, [x - r, y - r], [x + r, y + r]);
  along(path, [x - r, y + r], [x + r, y - r]);
}

/**
 * Draws in the plot alone.
 * @param {uPlot} u
 * @param {(context: CanvasRenderingContext2D) => void} draw
 */
function drawWithin({ ctx: context, bbox }, draw) {
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  draw(context);
  context.restore();
}

/**
 * Marks at the top the steps in which something occurred.
 * @param {uPlot} u
 * @param {ShownPanel} panel
 * @param {[from: number, to: number]} times
 * @param {Set<string>} hidden
 */
function drawTicks(u, { step, ticks }, [from, to], hidden) {
  const { ctx: context, bbox } = u;
  context.save();
  context.lineWidth = devicePixelRatio;
  for (const [nth, { label, colour, counts }] of ticks.entries()) {
    if (hidden.has(ticksName(label))) continue;
    const top = bbox.top + nth * TICK_ROW * devicePixelRatio;
    context.strokeStyle = inkOf(colour);
    context.beginPath();
    for (const place of counts.keys()) {
      const time = (place + 1) * step;
      if (time < from || time > to) continue;
      const x = Math.round(u.valToPos(time, "x", true));
      along(context, [x, top], [x, top + TICK_HEIGHT * devicePixelRatio]);
    }
    context.stroke();
  }
  context.restore();
}

/**
 * @param {uPlot} u
 * @param {ShownCrosses[]} crosses
 */
const drawCrosses = (u, crosses) =>
  drawWithin(u, (context) => {
    context.lineWidth = devicePixelRatio;
    for (const { colour, places } of crosses) {
      context.strokeStyle = inkOf(colour);
      context.beginPath();
      for (const [time, value] of places) {
        const [x, y] = [u.valToPos(time, "x", true), u.valToPos(value, "y", true)];
        layCross(context, x, y, CROSS * devicePixelRatio);
      }
      context.stroke();
    }
  });

/**
 * Draws each level where the axis goes up to it; an arrow at the top where it is to be known above.
 * @param {uPlot} u
 * @param {Level[]} levels
 * @param {number} top
 */
const drawLevels = (u, levels, top) =>
  drawWithin(u, (context) => {
    const { left, top: head, width: across } = u.bbox;
    const width = LEVEL_WIDTH * devicePixelRatio;
    const r = 4 * devicePixelRatio;
    context.lineWidth = width;
    for (const { colour, dash, values, above } of levels) {
      context.strokeStyle = inkOf(colour);
      context.fillStyle = inkOf(colour);
      context.setLineDash(dash.map((length) => length * width));
      context.beginPath();
      for (const value of values.filter((value) => value <= top)) {
        const y = u.valToPos(value, "y", true);
        along(context, [left, y], [left + across, y]);
      }
      context.stroke();
      if (!above || values.every((value) => value <= top)) continue;
      context.beginPath();
      FILLED_MARKS["^"](context, left + 0.98 * across, head + r, r);
      context.fill();
    }
  });
