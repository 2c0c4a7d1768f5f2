// The runs of a sweep: a scatter over any key and metric, and the course of the runs that are atHand.

const tip = part(figure, ".tip", HTMLElement);

laySelects(remake);
let pointed = -1;
let view = chosenView();
let plot = plotted();

/**
 * What a run came to along an axis.
 * @param {Column} column
 * @param {number} run
 */
const sayValue = (column, run) => `${column.label}: ${column.say(run)}`;

/** @param {number} run */
const describe = (run) =>
  [
    pointOf(run),
    sayValue(view.y, run),
    sayValue(view.x, run),
    `run ${SWEEP.ids[run]}`,
    commandOf(run),
  ].join("\n");

/** @param {number} run */
function placeTip(run) {
  const left = plotBox.offsetLeft + plot.over.offsetLeft + plot.valToPos(view.x.at[run], "x");
  const top = plotBox.offsetTop + plot.over.offsetTop + plot.valToPos(view.y.at[run], "y");
  const { offsetWidth: width, offsetHeight: height } = tip;
  const isTooFar = left + 14 + width > figure.clientWidth;
  const wanted = isTooFar ? left - width - 14 : left + 14;
  tip.style.left = `${Math.max(4, Math.min(figure.clientWidth - width - 4, wanted))}px`;
  tip.style.top = `${Math.max(4, Math.min(figure.clientHeight - height - 4, top + 12))}px`;
}

/**
 * Points at a run, or at none.
 * @param {number} run
 */
function point(run) {
  if (pointed === run) return;
  pointed = run;
  tip.hidden = run < 0;
  if (run >= 0) {
    tip.textContent = describe(run);
    placeTip(run);
  }
  plot.redraw(false);
}

/**
 * Opens runs, at an address of their own.
 * @param {number[]} runs
 */
function show(runs) {
  openRuns(runs);
  plot.setSize(scatterSize());
  history.pushState(null, "", `#${fragment()}`);
}

/**
 * Opens a run that was chosen in the scatter, or lays it beside the one that is atHand.
 * @param {number} run
 * @param {boolean} isBeside
 */
const pick = (run, isBeside) => show(isBeside && atHand.length ? [atHand[0], run] : [run]);

/**
 * Opens the run that is clicked; the end of a drag is no click.
 * @param {uPlot} u
 */
function listenToMouse({ over }) {
  /** @type {[x: number, y: number] | null} */
  let down = null;
  over.addEventListener("mousedown", (event) => {
    down = [event.clientX, event.clientY];
  });
  over.addEventListener("mouseleave", () => point(-1));
  over.addEventListener("click", (event) => {
    if (down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
    const box = over.getBoundingClientRect();
    const run = nearestRun(plot, view, event.clientX - box.left, event.clientY - box.top);
    if (run >= 0) pick(run, event.shiftKey);
  });
}

/** Draws what is chosen. */
function plotted() {
  write("count", `${grouped(view.runs.length)} of ${grouped(RUNS)} runs`);
  paintLegend(view);
  const u = scatterOf(view, {
    draw: [(u) => drawPoints(u, view, atHand, pointed)],
    setCursor: [
      (u) => {
        const { left = -1, top = -1 } = u.cursor;
        if (u.over.matches(":hover") && left >= 0) point(nearestRun(u, view, left, top));
      },
    ],
  });
  listenToMouse(u);
  return u;
}

function remake() {
  pointed = -1;
  tip.hidden = true;
  plot.destroy();
  view = chosenView();
  plot = plotted();
}

/**
 * Points at the run at a place in the order of the axes, and says what it is.
 * @param {number} place
 */
function goTo(place) {
  const run = view.runs[Math.max(0, Math.min(view.runs.length - 1, place))];
  point(run);
  write("pointed", `${pointOf(run)}. ${sayValue(view.y, run)}`);
}

figure.addEventListener("keydown", (event) => {
  if (isShortcut(event) || !view.runs.length) return;
  const place = view.runs.indexOf(pointed >= 0 ? pointed : (atHand[0] ?? -1));
  const last = view.runs.length - 1;
  answerKey(event, {
    ArrowRight: () => goTo(place + 1),
    ArrowLeft: () => goTo(place < 0 ? last : place - 1),
    Home: () => goTo(0),
    End: () => goTo(last),
    Enter: () => {
      if (pointed >= 0) pick(pointed, event.shiftKey);
    },
    Escape: () => point(-1),
    0: remake,
  });
});
function remakeAll() {
  remake();
  for (const chart of [...panels, ...sharePanels]) chart.remake();
}
darkPaper.addEventListener("change", remakeAll);
onPaper(remakeAll);
onOtherWidth(() => {
  plot.setSize(scatterSize());
  for (const chart of [...panels, ...sharePanels]) chart.resize();
});

layChoices();
choices.opened.addEventListener("change", () =>
  show([Number(choices.opened.value), ...atHand.slice(1)]),
);
choices.beside.addEventListener("change", () => {
  const { value } = choices.beside;
  show(value ? [atHand[0], Number(value)] : [atHand[0]]);
});
/** @type {Record<string, () => void>} */
const BUTTONS = {
  in: () => zoom(0.5),
  out: () => zoom(2),
  all: showWhole,
  swap: () => show([...atHand].reverse()),
};
for (const button of document.querySelectorAll("button[data-do]")) {
  button.addEventListener("click", () => BUTTONS[button.getAttribute("data-do") ?? ""]());
}

/** @type {number | undefined} */
let addressing;
// Browsers take only so many addresses a second.
respondToTime.push(() => {
  clearTimeout(addressing);
  addressing = setTimeout(() => history.replaceState(null, "", `#${fragment()}`), 200);
});
addEventListener("hashchange", () => {
  if (location.hash.slice(1) !== fragment() && openAddressed()) plot.setSize(scatterSize());
});
const isAddressed = openAddressed();
if (!isAddressed) {
  const first = SWEEP.ids.findIndex((_id, run) => courseOf(run));
  openRuns([Math.max(0, first)]);
}
plot.setSize(scatterSize());
if (isAddressed) byId("run", HTMLElement).scrollIntoView();
