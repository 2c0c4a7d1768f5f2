// The phases of flows: a row for each flow, with a bar for each stay in a phase.

const GAP = 0.15; // of a row, above its bars and below them
const LEAST_ROW = 11; // pixels of a row that has its name beside it

/**
 * What fills the bars of a phase: its colour, hatched where another phase has that colour too.
 * @param {CanvasRenderingContext2D} context
 * @param {number} number
 */
function inkOfPhase(context, number) {
  const [, colour, hatch] = SWEEP.phases[number];
  if (!hatch) return inkOf(colour);
  const side = 8 * devicePixelRatio;
  const tile = element("canvas", { width: String(side), height: String(side) });
  const tiled = contextOf(tile);
  tiled.fillStyle = inkOf(colour);
  tiled.fillRect(0, 0, side, side);
  tiled.strokeStyle = "#ffffff";
  tiled.lineWidth = 1.5 * devicePixelRatio;
  if (hatch !== 2) along(tiled, [0, side], [side, 0]);
  if (hatch !== 1) along(tiled, [0, 0], [side, side]);
  tiled.stroke();
  return context.createPattern(tile, "repeat") ?? inkOf(colour);
}

const ROW_FONT = "12px system-ui, sans-serif";
const BESIDE_ROW = 17; // pixels of an axis of rows without its names: its ticks, and gaps

const measuring = contextOf(element("canvas"));

/** @param {string} label */
function widthOfRow(label) {
  measuring.font = ROW_FONT;
  return measuring.measureText(label).width;
}

/**
 * As much of a name as fits into so many pixels, with an ellipsis for the rest.
 * @param {string} label
 * @param {number} room
 */
function shortened(label, room) {
  if (widthOfRow(label) <= room) return label;
  const letters = [...label];
  while (letters.length && widthOfRow(`${letters.join("")}…`) > room) letters.pop();
  return `${letters.join("")}…`;
}

/**
 * How wide the axes of panels are, so that their times lie below each other: as the names of rows
 * need, up to a quarter of the `width` of a panel.
 * @param {ShownPanel[]} panels
 * @param {number} width
 */
function axisWidth(panels, width) {
  const rows = panels.filter(({ kind }) => kind === "phase").flatMap(({ curves }) => curves);
  const names = rows.map(({ line }) => Math.ceil(widthOfRow(line.label)) + BESIDE_ROW);
  return Math.max(AXIS, Math.min(width / 4, Math.max(0, ...names)));
}

/**
 * Paints a sample of a phase.
 * @param {HTMLCanvasElement} canvas
 * @param {number} number
 */
function paintPhase(canvas, number) {
  canvas.width = 14 * devicePixelRatio;
  canvas.height = 12 * devicePixelRatio;
  const context = contextOf(canvas);
  context.fillStyle = inkOfPhase(context, number);
  context.fillRect(0, 0, canvas.width, canvas.height);
}

/**
 * An axis of the names of rows, if there is room for them. Rows go down from the top of the panel in
 * the order of the legend; there are fewer than its height where another run has more.
 * @param {() => ShownCurve[]} rows
 * @param {() => number} top
 * @param {number} width
 * @returns {uPlot.Axis}
 */
const rowsAxis = (rows, top, width) => ({
  font: ROW_FONT,
  grid: { show: false },
  splits: () => rows().map((_curve, row) => top() - row - 0.5),
  filter: (_u, splits) => (splits.length * LEAST_ROW > PANEL_HEIGHT - TIME_HEIGHT ? [] : splits),
  values: (_u, splits) =>
    splits.map((split) => {
      const label = rows()[Math.floor(top() - split)]?.line.label ?? "";
      return shortened(label, width - BESIDE_ROW);
    }),
});

/**
 * @param {uPlot} u
 * @param {ShownCurve[]} rows
 * @param {number} top
 * @param {number} step
 */
function drawPhases(u, rows, top, step) {
  const { ctx: context, bbox } = u;
  context.save();
  context.beginPath();
  context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  context.clip();
  for (const [row, { values }] of rows.entries()) {
    const head = u.valToPos(top - row - GAP, "y", true);
    const foot = u.valToPos(top - row - 1 + GAP, "y", true);
    for (let first = 0, next = 1; first < values.length; first = next, next++) {
      while (next < values.length && values[next] === values[first]) next++;
      const phase = values[first];
      if (phase === null) continue;
      const left = u.valToPos(first * step, "x", true);
      context.fillStyle = inkOfPhase(context, phase);
      context.fillRect(left, head, u.valToPos(next * step, "x", true) - left, foot - head);
    }
  }
  context.restore();
}
