// The run that is open: what it was, and its flows over time.

const NONE = 65535; // in place of a number that there is not

/**
 * A curve of a chart of the course of a run.
 * @typedef {{
 *   label: string, colour: string, values: (number | null)[], dash?: number[], fill?: string,
 * }} Curve
 *
 * @typedef {{ title: string, name: string, unit: Unit }} CourseChart
 */

/** @type {(CourseChart & { name: "throughput" | "cwnd" | "srtt" })[]} */
const CHARTS_OF_FLOWS = [
  { name: "throughput", title: "Throughput", unit: "rate" },
  { name: "cwnd", title: "Congestion window (segments)", unit: "plain" },
  { name: "srtt", title: "Smoothed RTT", unit: "time" },
];
const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
const CHART_HEIGHT = 170;

/** @type {{ remake: () => void, resize: () => void, show: (min: number, max: number) => void, remove: () => void }[]} */
const courseCharts = [];

/**
 * Shows a stretch of time in all charts.
 * @param {number} from
 * @param {number} to
 */
function showTimes(from, to) {
  for (const chart of courseCharts) chart.show(from, to);
}

/**
 * @param {Packed} packed
 * @returns {(number | null)[]}
 */
const unpacked = ({ unit, data }) =>
  Array.from(new Uint16Array(bytesOf(data)), (whole) => (whole === NONE ? null : whole * unit));

/**
 * A value beside the crosshair; uPlot gives null where there is none.
 * @param {(value: number) => string} say
 * @returns {uPlot.Series.Value}
 */
const valueOrNothing = (say) => (_u, value) => (value === null ? "" : say(value));

/**
 * @param {Curve} curve
 * @param {Unit} unit
 * @returns {uPlot.Series}
 */
const seriesOf = ({ label, colour, dash, fill }, unit) => ({
  label,
  stroke: inkOf(colour),
  width: 1.5,
  dash,
  fill,
  points: { show: false },
  value: valueOrNothing((value) => inWords(UNITS[unit], value)),
});

/** @param {uPlot} u */
function selectTimes(u) {
  const { left, width } = u.select;
  if (width > 4) showTimes(u.posToVal(left, "x"), u.posToVal(left + width, "x"));
  unselect(u);
}

/**
 * @param {CourseChart} chart
 * @param {number[]} times
 * @param {Curve[]} curves
 */
function addCourseChart({ title, name, unit }, times, curves) {
  const host = element("figure", { class: "chart", "data-panel": name });
  const box = element("div", { class: "plot" });
  host.append(element("h3", {}, title), box);
  byId("series", HTMLElement).append(host);
  const size = () => ({ width: widthIn(box), height: CHART_HEIGHT });
  const plotted = () => {
    /** @type {uPlot.Options} */
    const options = {
      ...size(),
      cursor: {
        sync: { key: "run", scales: ["x", null] },
        drag: { x: true, y: false, setScale: false },
        y: false,
      },
      scales: {
        x: { time: false },
        y: { range: (_u, _min, max) => [0, max > 0 ? max * 1.06 : 1] },
      },
      axes: [
        timeAxis(6),
        {
          ...plainAxis(),
          values: (_u, splits) => inOneUnit(UNITS[unit], splits),
          size: 84,
          space: 30,
        },
      ],
      series: [
        { label: "time", value: valueOrNothing((time) => `${time.toFixed(3)} s`) },
        ...curves.map((curve) => seriesOf(curve, unit)),
      ],
      hooks: { setSelect: [selectTimes] },
    };
    const u = new uPlot(options, [times, ...curves.map(({ values }) => values)], box);
    u.over.addEventListener("dblclick", () => showTimes(times[0], times[times.length - 1]));
    return u;
  };
  let u = plotted();
  courseCharts.push({
    remake: () => {
      u.destroy();
      u = plotted();
    },
    resize: () => u.setSize(size()),
    show: (min, max) => u.setScale("x", { min, max }),
    remove: () => u.destroy(),
  });
}

/** @param {Course} course */
function addCourse({ step, flows, queue, delay }) {
  const longest = flows[0]?.throughput ?? queue;
  if (!longest) return;
  const times = unpacked(longest).map((_value, place) => (place + 1) * step);
  for (const chart of flows.length ? CHARTS_OF_FLOWS : []) {
    const curves = flows.map((flow, place) => ({
      label: flow.label,
      colour: flow.colour,
      dash: DASHES[place % DASHES.length],
      values: unpacked(flow[chart.name]),
    }));
    addCourseChart(chart, times, curves);
  }
  if (!queue) return;
  const fill = "rgb(111 143 179 / .3)";
  /** @type {CourseChart} */
  const chart = delay
    ? { title: "Queue delay at the bottleneck", name: "queue", unit: "time" }
    : { title: "Backlog of the bottleneck", name: "queue", unit: "bytes" };
  const values = unpacked(queue);
  addCourseChart(chart, times, [{ label: "queue", colour: "#6f8fb3", fill, values }]);
}

/** @param {number} run */
function commandWithCopy(run) {
  const copy = element("button", { type: "button" }, "Copy");
  copy.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(commandOf(run));
      copy.textContent = "Copied";
    } catch {
      // Without leave to write to the clipboard, or without one, the command can be selected.
    }
  });
  return element("div", { class: "command" }, element("code", {}, commandOf(run)), copy);
}

/** @param {number} run */
function metricsOf(run) {
  const rows = METRICS.map((metric) => {
    const value = element("td", { class: "number" }, sayMetric(metric, run));
    return element("tr", {}, element("td", {}, metric.label), value);
  });
  const table = element("table", {}, element("tbody", {}, ...rows));
  return element("details", {}, element("summary", {}, "Its metrics"), table);
}

/**
 * Shows what a run was, and its flows over time if the page has them.
 * @param {number} run
 */
function showRun(run) {
  for (const chart of courseCharts.splice(0)) chart.remove();
  byId("series", HTMLElement).replaceChildren();
  const id = SWEEP.ids[run];
  write("run", pointOf(run));
  write("pointed", `Below: ${pointOf(run)}`);
  const course = courseOf(run);
  const intro = `Run ${id}. This repeats it; give the path of the study's file, and the --set of the sweep if it had any:`;
  const missing =
    "This page does not have its time series: none were recorded, or they would make it too large. This puts them in: ";
  const remedy = element("code", {}, `cclab report DIR --series ${id}`);
  byId("about", HTMLElement).replaceChildren(
    element("p", { class: "facts" }, intro),
    commandWithCopy(run),
    metricsOf(run),
    ...(course ? [] : [element("p", {}, missing), element("div", { class: "command" }, remedy)]),
  );
  byId("how", HTMLElement).hidden = !course;
  location.hash = id;
  if (course) addCourse(course);
}
