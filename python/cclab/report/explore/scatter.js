// The scatter of the runs: how it is drawn, and which run is near the pointer.

const NEAR = 16; // pixels within which a point answers to the pointer
const MOST_COLOURS = 40; // values in the legend

/** @type {Record<string, Mark>} */
const MARKS = {
  ...FILLED_MARKS,
  D: (path, x, y, r) => {
    const wide = 1.2 * r;
    around(path, [x - wide, y], [x, y - wide], [x + wide, y], [x, y + wide]);
  },
  P: (path, x, y, r) => {
    const thin = r / 2.5;
    path.rect(x - r, y - thin, 2 * r, 2 * thin);
    path.rect(x - thin, y - r, 2 * thin, 2 * r);
  },
  X: (path, x, y, r) => {
    const half = r / 2;
    around(path, [x - r, y - half], [x - half, y - r], [x + r, y + half], [x + half, y + r]);
    around(path, [x + half, y - r], [x + r, y - half], [x - half, y + r], [x - r, y + half]);
  },
};

/** @type {[colour: string, marker: string]} */
const PLAIN = ["#0072B2", "o"];

const figure = byId("scatter", HTMLElement);
const plotBox = part(figure, ".plot", HTMLElement);

/** @param {View} view */
function paintLegend({ colours, runs }) {
  const legend = byId("legend", HTMLElement);
  legend.replaceChildren();
  if (!colours) return;
  const used = new Set(runs.map((run) => colours.places[run]));
  legend.append(`${colours.label}:`);
  for (const [place, value] of colours.values.slice(0, MOST_COLOURS).entries()) {
    if (!used.has(place)) continue;
    const canvas = element("canvas", { width: "28", height: "28", "aria-hidden": "true" });
    const context = contextOf(canvas);
    const [colour, marker] = colours.looks[place];
    context.fillStyle = inkOf(colour);
    context.beginPath();
    MARKS[marker](context, 14, 14, 8);
    context.fill();
    legend.append(element("span", {}, canvas, value));
  }
}

/**
 * What an axis spans, with some room.
 * @param {Column} column
 * @param {number[]} runs
 * @returns {[from: number, to: number]}
 */
function spanOf(column, runs) {
  let least = Infinity;
  let most = -Infinity;
  for (const run of runs) {
    least = Math.min(least, column.at[run]);
    most = Math.max(most, column.at[run]);
  }
  if (least > most) return [0, 1];
  const room = (most - least || Math.abs(most) || 1) * 0.06;
  return [least - room, most + room];
}

/**
 * The ticks that stay so many pixels apart.
 * @param {Map<number, string>} ticks
 * @param {number} pixels
 * @returns {uPlot.Axis.Splits}
 */
const apart = (ticks, pixels) => (u, side, min, max) => {
  const length = (side === 0 ? u.bbox.width : u.bbox.height) / devicePixelRatio;
  let last = -Infinity;
  return [...ticks.keys()].filter((tick) => {
    if (tick < min || tick > max || ((tick - last) / (max - min)) * length < pixels) return false;
    last = tick;
    return true;
  });
};

/**
 * @param {Column} column
 * @param {{ size: number, space: number, ticksApart: number }} layout
 * @returns {uPlot.Axis}
 */
function axisOf({ label, units, ticks }, { size, space, ticksApart }) {
  const axis = { ...plainAxis(), size, space, label, labelSize: 20 };
  if (!ticks) return { ...axis, values: (_u, splits) => inOneUnit(units, splits) };
  return {
    ...axis,
    splits: apart(ticks, ticksApart),
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map((split) => ticks.get(split) ?? ""),
  };
}

/**
 * @param {uPlot} u
 * @param {View} view
 * @param {number} run
 * @param {number} r
 */
function layRing(u, { x, y }, run, r) {
  const { ctx: context } = u;
  context.beginPath();
  context.arc(u.valToPos(x.at[run], "x", true), u.valToPos(y.at[run], "y", true), r, 0, 7);
}

/**
 * Draws the points of a view, and rings around the runs that are open and the one that is pointed
 * at.
 * @param {uPlot} u
 * @param {View} view
 * @param {number[]} opened
 * @param {number} pointed
 */
function drawPoints(u, view, opened, pointed) {
  const { ctx: context } = u;
  const { x, y, colours, runs } = view;
  const r = (runs.length > 3000 ? 2 : 3.6) * devicePixelRatio;
  context.save();
  context.beginPath();
  context.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
  context.clip();
  context.globalAlpha = 0.75;
  context.lineWidth = 1.2 * devicePixelRatio;
  for (const run of [...runs].sort((a, b) => a - b)) {
    const [colour, marker] = colours ? colours.looks[colours.places[run]] : PLAIN;
    context.beginPath();
    const [left, top] = [u.valToPos(x.at[run], "x", true), u.valToPos(y.at[run], "y", true)];
    MARKS[marker](context, left, top, r);
    if (courseOf(run)) {
      context.fillStyle = inkOf(colour);
      context.fill();
    } else {
      context.strokeStyle = inkOf(colour);
      context.stroke();
    }
  }
  context.globalAlpha = 1;
  context.strokeStyle = css("--ink");
  context.lineWidth = 1.8 * devicePixelRatio;
  for (const { run, dash } of [
    ...opened.map((run) => ({ run, dash: [] })),
    { run: pointed, dash: [3, 2] },
  ]) {
    if (!runs.includes(run)) continue;
    context.setLineDash(dash.map((length) => length * devicePixelRatio));
    layRing(u, view, run, 8 * devicePixelRatio);
    context.stroke();
  }
  context.restore();
}

/**
 * The run nearest to a place in the plot; -1 if none is near.
 * @param {uPlot} u
 * @param {View} view
 * @param {number} left
 * @param {number} top
 */
function nearestRun(u, { x, y, runs }, left, top) {
  let nearest = -1;
  let least = NEAR ** 2;
  for (const run of runs) {
    const dx = u.valToPos(x.at[run], "x") - left;
    const dy = u.valToPos(y.at[run], "y") - top;
    const distance = dx * dx + dy * dy;
    if (distance > least) continue;
    least = distance;
    nearest = run;
  }
  return nearest;
}

const scatterSize = () => ({
  width: widthIn(plotBox),
  height: Math.round(Math.max(260, Math.min(460, innerHeight * 0.6))),
});

/**
 * @param {View} view
 * @param {uPlot.Hooks.Arrays} hooks
 */
function scatterOf({ x, y, runs }, hooks) {
  return new uPlot(
    {
      ...scatterSize(),
      legend: { show: false },
      cursor: { drag: { x: true, y: true, uni: 24 }, points: { show: false } },
      scales: { x: { time: false, range: rangeOf(1e-9) }, y: { range: rangeOf(1e-9) } },
      axes: [
        axisOf(x, { size: 30, space: 80, ticksApart: 64 }),
        axisOf(y, { size: 84, space: 32, ticksApart: 18 }),
      ],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks,
    },
    [spanOf(x, runs), spanOf(y, runs)],
    plotBox,
  );
}
