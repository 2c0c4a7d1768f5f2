// The interactive page of a capture. uPlot gives axes, crosshairs and zooming; what is in a panel is
// drawn here, from layers of typed arrays that need no common time axis.

/** @type {CapturePage} */
const CAPTURE = embedded();
const ACROSS = CAPTURE.across.map(unpacked);
const DIRECTIONS = new Map(
  CAPTURE.directions.map((direction) => [
    direction.name,
    { ...direction, panels: direction.panels.map(unpacked) },
  ]),
);

/** @type {PanelChart[]} */
const charts = [];

/** The stretch of time of what was chosen. */
let home = CAPTURE.span;

/**
 * @param {number} min
 * @param {number} max
 */
const show = (min, max) => charts[0].u.setScale("x", { min, max });

/** @param {number} factor */
function zoom(factor) {
  const [min, max] = shownOf(charts[0].u);
  const middle = (min + max) / 2;
  const half = ((max - min) / 2) * factor;
  show(middle - half, middle + half);
}

/** @param {number} share */
function move(share) {
  const [min, max] = shownOf(charts[0].u);
  show(min + (max - min) * share, max + (max - min) * share);
}

/**
 * Lets all panels show the stretch of time that one of them shows.
 * @param {uPlot} leader
 */
function follow(leader) {
  // What a panel had still to do when another direction was chosen is about that one.
  if (!leader.root.isConnected) return;
  const [min, max] = shownOf(leader);
  for (const { u } of charts) {
    const [from, to] = shownOf(u);
    if (from !== min || to !== max) u.setScale("x", { min, max });
  }
  const isWhole = min === home[0] && max === home[1];
  write("span", `${seconds(min)} to ${seconds(max)}${isWhole ? "" : " (zoomed)"}`);
}

/**
 * Moves the crosshair by hundredths of the panel.
 * @param {uPlot} u
 * @param {number} hundredths
 */
function moveCrosshair(u, hundredths) {
  const width = u.over.clientWidth;
  const { left } = u.cursor;
  const from = typeof left === "number" && left >= 0 ? left : width / 2;
  // The types of uPlot leave out the last argument: whether other panels are told.
  /** @type {(at: { left: number, top: number }, tell: boolean, tellOthers: boolean) => void} */
  const setCursor = u.setCursor;
  const to = Math.max(0, Math.min(width, from + (hundredths * width) / 100));
  setCursor({ left: to, top: u.over.clientHeight / 2 }, true, true);
}

/**
 * @param {KeyboardEvent} event
 * @param {uPlot} u
 */
function answerKeyOf(event, u) {
  if (isShortcut(event) || event.target instanceof HTMLInputElement) return;
  const [min, max] = shownOf(u);
  answerKey(event, {
    ArrowLeft: () => (event.shiftKey ? moveCrosshair(u, -1) : move(-0.2)),
    ArrowRight: () => (event.shiftKey ? moveCrosshair(u, 1) : move(0.2)),
    "+": () => zoom(0.5),
    "=": () => zoom(0.5),
    "-": () => zoom(2),
    0: () => show(...home),
    Home: () => show(home[0], home[0] + max - min),
    End: () => show(home[1] - max + min, home[1]),
  });
}

/**
 * Shows the panels of a direction, and those across flows.
 * @param {string} name
 */
function choose(name) {
  const direction = DIRECTIONS.get(name);
  for (const button of document.querySelectorAll("button.choice")) {
    button.setAttribute("aria-pressed", String(button.getAttribute("value") === name));
  }
  for (const chart of charts.splice(0)) chart.remove();
  home = direction ? direction.span : CAPTURE.span;
  if (direction) {
    write("chosen", direction.heading);
    write("limits", direction.limits ? `What limited it: ${direction.limits}` : "");
    const kept = `${grouped(direction.kept)} of ${grouped(direction.all)}`;
    const isThinned = direction.kept < direction.all;
    write("kept", isThinned ? `${kept} points are on this page: ${CAPTURE.rule}` : "");
    const host = byId("panels", HTMLElement);
    for (const panel of direction.panels) charts.push(new PanelChart(panel, host, home, null));
  }
  const host = byId("across", HTMLElement);
  for (const panel of ACROSS) charts.push(new PanelChart(panel, host, home, CAPTURE.congested));
  if (charts.length) show(...home);
}

/** @type {Record<string, () => void>} */
const BUTTONS = {
  in: () => zoom(0.5),
  out: () => zoom(2),
  all: () => show(...home),
  capture: () => show(...CAPTURE.span),
};

document.addEventListener("click", ({ target }) => {
  if (!(target instanceof HTMLButtonElement)) return;
  if (target.matches("button.choice")) choose(target.value);
  else BUTTONS[target.dataset.do ?? ""]?.();
});
function remakeAll() {
  for (const chart of charts) chart.remake();
}
darkPaper.addEventListener("change", remakeAll);
onPaper(remakeAll);
onOtherWidth(() => {
  for (const chart of charts) chart.resize();
});
choose(CAPTURE.directions[0]?.name ?? "");
