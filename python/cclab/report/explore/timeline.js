// The time that all panels share: the stretch that they show, and the cursor.

const LEAST_STEPS = 4; // that a panel shows, however far one zooms

/** @type {RunPanel[]} */
const panels = [];

/** The names of the lines, parts and ticks that are hidden, whichever run is open. */
/** @type {Set<string>} */
const hidden = new Set();

/**
 * The whole time of what is open, what is shown of it, and where the cursor is.
 * @type {{ end: number, step: number, times: [from: number, to: number], at: number | null }}
 */
const time = { end: 1, step: 1, times: [0, 1], at: null };

/**
 * What else is to happen as the time that is shown, or the cursor, is another.
 * @type {(() => void)[]}
 */
const respondToTime = [];

/** Every panel with the same quantities has the same scale, in both runs. */
function showTimes() {
  for (const key of new Set(panels.map(({ panel }) => panel.key))) {
    const alike = panels.filter(({ panel }) => panel.key === key);
    const extents = alike.map((chart) =>
      extentOf(chart.panel, chart.shown(), chart.crosses(), time.times),
    );
    const least = Math.min(...extents.map(([low]) => low));
    const drawn = Math.max(...extents.map(([, high]) => high));
    const most = Math.max(drawn, ...alike.map((chart) => reachOf(chart.levels(), drawn)));
    const rows = Math.max(...alike.map(({ panel }) => panel.ticks.length));
    for (const chart of alike) chart.show(time.times, scaleOf(chart.panel, least, most, rows));
  }
  writeTime();
}

/**
 * From 0 up, but for sequence numbers, which are nowhere near it where they are looked at closely;
 * with room at the top for `rows` of ticks.
 * @param {ShownPanel} panel
 * @param {number} least
 * @param {number} most
 * @param {number} rows
 * @returns {[least: number, most: number]}
 */
function scaleOf({ isOffset, kind }, least, most, rows) {
  if (kind === "phase") return [0, most || 1];
  if (most <= 0) return [0, 1];
  const room = (most - least || most) * 0.04;
  if (isOffset) return [Math.max(0, least - room), most + room];
  return [0, (most * 1.08) / (1 - rows * TICK_SHARE)];
}

function writeTime() {
  const { at, end, times } = time;
  const [from, to] = times;
  const span = from === 0 && to === end ? "" : ` (${sayTime(from)} to ${sayTime(to)})`;
  write("at", `${at === null ? "" : `at ${sayTime(at)}`}${span}`);
  for (const respond of respondToTime) respond();
}

/** @param {number} seconds */
const sayTime = (seconds) => `${Number(seconds.toPrecision(9))} s`;

/**
 * Stands the cursor at the end of the step in which a time lies.
 * @param {number} seconds
 */
function moveTo(seconds) {
  const [from, to] = time.times;
  const last = Math.round(time.end / time.step);
  const step = Math.max(1, Math.min(last, Math.ceil(seconds / time.step - 1e-6)));
  const at = step * time.step;
  if (time.at === at) return;
  time.at = at;
  // Keys may move it out of what is shown, which follows.
  const room = time.step * 1e-6;
  if (at < from - room) showOnly(at - time.step, at - time.step + to - from);
  else if (at > to + room) showOnly(at - (to - from), at);
  for (const chart of panels) chart.pointAt(at);
  writeTime();
}

/**
 * Shows a stretch of time, as much of it as there is.
 * @param {number} from
 * @param {number} to
 */
function showOnly(from, to) {
  const span = Math.min(time.end, Math.max(to - from, Math.min(time.end, LEAST_STEPS * time.step)));
  const start = Math.max(0, Math.min(time.end - span, from));
  time.times = [start, Math.min(time.end, start + span)];
  showTimes();
}

/**
 * Zooms about a time, which stays where it is on the screen.
 * @param {number} about
 * @param {number} factor
 */
function zoomAt(about, factor) {
  const [from, to] = time.times;
  const span = Math.max((to - from) * factor, Math.min(time.end, LEAST_STEPS * time.step));
  const start = about - ((about - from) / (to - from)) * span;
  showOnly(start, start + span);
}

const showWhole = () => showOnly(0, time.end);

/**
 * Zooms about the cursor, or the middle if that is elsewhere.
 * @param {number} factor
 */
function zoom(factor) {
  const [from, to] = time.times;
  const isSeen = time.at !== null && time.at >= from && time.at <= to;
  zoomAt(isSeen ? Number(time.at) : (from + to) / 2, factor);
}

/** The last time that is shown at which the cursor can stand. */
const lastSeen = () => Math.floor(time.times[1] / time.step + 1e-6) * time.step;

/**
 * Moves the cursor by so many steps, from the middle if there is none.
 * @param {number} steps
 */
function moveBy(steps) {
  const [from, to] = time.times;
  moveTo(time.at === null ? (from + to) / 2 : time.at + steps * time.step);
}

/** @type {Timeline} */
const timeline = {
  moveTo: (seconds) => moveTo(Math.min(seconds, lastSeen())),
  zoomTo: showOnly,
  zoomAt,
  reset: showWhole,
  toggle: (name, isShown) => {
    if (isShown) hidden.delete(name);
    else hidden.add(name);
    for (const chart of panels) chart.hide(hidden);
    showTimes();
  },
  answer: (event, chart) => {
    if (isShortcut(event) || event.target instanceof HTMLInputElement) return;
    const far = event.shiftKey ? 10 : 1;
    answerKey(event, {
      ArrowLeft: () => moveBy(-far),
      ArrowRight: () => moveBy(far),
      Home: () => moveTo(time.times[0]),
      End: () => moveTo(lastSeen()),
      "+": () => zoom(0.5),
      "=": () => zoom(0.5),
      "-": () => zoom(2),
      0: showWhole,
    });
    write("told", chart.told());
  },
};
