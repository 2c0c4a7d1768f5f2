// How layers are drawn: on the panel, and as a sample beside their names.

/** @type {Mark} */
const cross = (path, x, y, r) => {
  along(path, [x - r, y - r], [x + r, y + r]);
  along(path, [x + r, y - r], [x - r, y + r]);
};

/** @type {Record<string, Mark>} */
const MARKS = {
  ...FILLED_MARKS,
  x: cross,
  X: cross,
  P: (path, x, y, r) => {
    along(path, [x - r, y], [x + r, y]);
    along(path, [x, y - r], [x, y + r]);
  },
  "|": (path, x, y, r) => along(path, [x, y - r], [x, y + r]),
  D: (path, x, y, r) => around(path, [x - r, y], [x, y - r], [x + r, y], [x, y + r]),
  d: (path, x, y, r) => around(path, [x - r / 2, y], [x, y - r], [x + r / 2, y], [x, y + r]),
};
const OPEN = "xXP|"; // marks without an inside

/** @param {ShownLayer} layer */
const isDashed = (layer) => layer.label.includes("window") || layer.label.includes("mean");

/**
 * Bars of what a receiver holds, not of segments.
 * @param {ShownLayer} layer
 */
const isSack = (layer) => layer.label.includes("SACK");

/**
 * @param {CanvasRenderingContext2D} context
 * @param {ShownLayer} layer
 */
function paintIn(context, layer) {
  const colour = isDark() ? layer.dark : layer.colour;
  context.strokeStyle = colour;
  context.fillStyle = colour;
}

/**
 * Strokes or fills the marks whose path was laid.
 * @param {CanvasRenderingContext2D} context
 * @param {ShownLayer} layer
 * @param {string} marker
 */
function finishMarks(context, layer, marker) {
  if (layer.hollow || OPEN.includes(marker)) context.stroke();
  else context.fill();
}

/**
 * Draws a layer's entry of the legend: its mark by colour and shape.
 * @param {HTMLCanvasElement} canvas
 * @param {ShownLayer} layer
 */
function drawSample(canvas, layer) {
  const context = contextOf(canvas);
  canvas.width = 20 * devicePixelRatio;
  canvas.height = 14 * devicePixelRatio;
  context.scale(devicePixelRatio, devicePixelRatio);
  paintIn(context, layer);
  context.lineWidth = 1.6;
  if (layer.kind === "area") {
    context.fillRect(3, 1, 14, 12);
    return;
  }
  if (layer.kind === "dots") {
    context.fillRect(8, 5, 4, 4);
    return;
  }
  context.beginPath();
  if (isDashed(layer)) context.setLineDash([5, 2]);
  if (isCurve(layer)) along(context, [1, 7], [19, 7]);
  if (layer.kind === "bars") {
    along(context, [10, 1], [10, 13]);
    if (isSack(layer)) for (const y of [1, 13]) along(context, [7, y], [13, y]);
  }
  context.stroke();
  const { marker } = layer;
  if (!marker) return;
  context.beginPath();
  MARKS[marker](context, 10, layer.kind === "bars" ? 5 : 7, 3.6);
  finishMarks(context, layer, marker);
}

/**
 * What of a layer lies in a panel's stretch of time, in pixels of its canvas.
 * @typedef {{
 *   layer: ShownLayer, context: CanvasRenderingContext2D, first: number, end: number,
 *   xOf: (place: number) => number, yOf: (value: number) => number,
 * }} Stretch
 */

/** @param {Stretch} stretch */
function drawArea({ layer, context, first, end, xOf, yOf }) {
  /** @param {number} place */
  const nextX = (place) => xOf(place + 1 < layer.x.length ? place + 1 : place);
  context.moveTo(xOf(first), yOf(bottom(layer, first) || 0));
  for (let place = first; place < end; place++) {
    context.lineTo(xOf(place), yOf(layer.y[place]));
    context.lineTo(nextX(place), yOf(layer.y[place]));
  }
  for (let place = end - 1; place >= first; place--) {
    context.lineTo(nextX(place), yOf(bottom(layer, place)));
    context.lineTo(xOf(place), yOf(bottom(layer, place)));
  }
  context.globalAlpha = 0.85;
  context.fill();
  context.globalAlpha = 1;
}

/** @param {Stretch} stretch */
function drawCurve({ layer, context, first, end, xOf, yOf }) {
  if (isDashed(layer)) context.setLineDash([5 * devicePixelRatio, 2 * devicePixelRatio]);
  for (let place = first; place < end; place++) {
    const x = xOf(place);
    const y = yOf(layer.y[place]);
    if (place === first) {
      context.moveTo(x, y);
      continue;
    }
    if (layer.kind === "step") context.lineTo(x, yOf(layer.y[place - 1]));
    context.lineTo(x, y);
  }
  context.stroke();
  context.setLineDash([]);
}

/** @param {Stretch} stretch */
function drawDots({ layer, context, first, end, xOf, yOf }) {
  const r = 1.4 * devicePixelRatio;
  for (let place = first; place < end; place++) {
    context.rect(xOf(place) - r, yOf(layer.y[place]) - r, 2 * r, 2 * r);
  }
  context.globalAlpha = 0.75;
  context.fill();
  context.globalAlpha = 1;
}

/** @param {Stretch} stretch */
function drawBars({ layer, context, first, end, xOf, yOf }) {
  const sack = isSack(layer);
  const tick = 2 * devicePixelRatio;
  for (let place = first; place < end; place++) {
    const x = Math.round(xOf(place)) + 0.5;
    const low = yOf(bottom(layer, place));
    const high = yOf(layer.y[place]);
    along(context, [x, low], [x, Math.min(high, low - devicePixelRatio)]);
    // Where segments have room, arrows at their ends tell one from the next, as xplot's do.
    if (low - high <= (sack ? 4 : 6) * tick) continue;
    const inward = sack ? 0 : tick;
    along(context, [x - tick, low - inward], [x, low], [x + tick, low - inward]);
    along(context, [x - tick, high + inward], [x, high], [x + tick, high + inward]);
  }
  context.stroke();
}

/**
 * @param {Stretch} stretch
 * @param {string} marker
 */
function drawMarks({ layer, context, first, end, xOf, yOf }, marker) {
  const r = (marker === "|" ? 2.5 : 3.6) * devicePixelRatio;
  context.beginPath();
  for (let place = first; place < end; place++) {
    MARKS[marker](context, xOf(place), yOf(layer.y[place]), r);
  }
  finishMarks(context, layer, marker);
}

/**
 * Draws what of a layer lies in the panel's stretch of time.
 * @param {uPlot} u
 * @param {ShownLayer} layer
 */
function drawLayer(u, layer) {
  const context = u.ctx;
  const [from, to] = shownOf(u);
  /** @type {Stretch} */
  const stretch = {
    layer,
    context,
    first: firstFrom(layer, from),
    end: Math.min(layer.x.length, search(layer.x, to) + 1),
    xOf: (place) => u.valToPos(layer.x[place], "x", true),
    yOf: (value) => u.valToPos(value, "y", true),
  };
  paintIn(context, layer);
  context.lineWidth = 1.3 * devicePixelRatio;
  context.setLineDash([]);
  context.beginPath();
  if (layer.kind === "area") drawArea(stretch);
  else if (isCurve(layer)) drawCurve(stretch);
  else if (layer.kind === "dots") drawDots(stretch);
  else {
    if (layer.kind === "bars") drawBars(stretch);
    if (layer.marker) drawMarks(stretch, layer.marker);
  }
}
