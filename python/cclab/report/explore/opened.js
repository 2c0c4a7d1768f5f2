// The runs that are open: one, or two side by side, with what they were and their panels.

const MOST_OPTIONS = 2000; // more runs would make the lists slow: those with time series are there

/** @type {{ opened: HTMLSelectElement, beside: HTMLSelectElement }} */
const choices = {
  opened: byId("opened", HTMLSelectElement),
  beside: byId("beside", HTMLSelectElement),
};

/**
 * The runs that are open, the first on the left.
 * @type {number[]}
 */
let atHand = [];

/** @param {number} run */
const runOption = (run) => element("option", { value: String(run) }, pointOf(run));

function layChoices() {
  const every = SWEEP.ids.map((_id, run) => run);
  const listed = RUNS > MOST_OPTIONS ? every.filter(courseOf) : every;
  choices.opened.append(...listed.map(runOption));
  choices.beside.append(element("option", { value: "" }, "–"), ...listed.map(runOption));
}

/**
 * @param {HTMLSelectElement} select
 * @param {number | undefined} run
 */
function choose(select, run) {
  const value = run === undefined ? "" : String(run);
  select.value = value;
  if (select.value === value || run === undefined) return;
  select.append(runOption(run));
  select.value = value;
}

const NAMES = ["A", "B"]; // of the runs that are open, where there are two

/** @param {number} place */
const nameOf = (place) => (atHand.length > 1 ? `${NAMES[place]}: ` : "");

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

/**
 * A table with a column for each run that is atHand.
 * @param {{ label: string, values: string[] }[]} rows
 * @param {string} kind
 */
function tableOf(rows, kind) {
  const head = element("tr", {}, element("th"), ...NAMES.map((name) => element("th", {}, name)));
  const body = rows.map(({ label, values }) => {
    const cells = values.map((value) => element("td", { class: kind }, value));
    return element("tr", {}, element("td", {}, label), ...cells);
  });
  return element(
    "table",
    {},
    ...(atHand.length > 1 ? [element("thead", {}, head)] : []),
    element("tbody", {}, ...body),
  );
}

function metricsTable() {
  const rows = METRICS.map((metric) => ({
    label: metric.label,
    values: atHand.map((run) => sayMetric(metric, run)),
  }));
  const title = atHand.length > 1 ? "Their metrics" : "Its metrics";
  const scroll = element("div", { class: "scroll" }, tableOf(rows, "number"));
  return element("details", {}, element("summary", {}, title), scroll);
}

/** In which swept keys two runs differ, and whether in their seeds. */
function differences() {
  const rows = [
    ...KEYS.map(({ label, values, places }) => ({
      label,
      values: atHand.map((run) => values[places[run]]),
    })),
    { label: "seed", values: atHand.map((run) => SWEEP.seeds[run]) },
  ].filter(({ values }) => new Set(values).size > 1);
  if (!rows.length) return element("p", { class: "facts" }, "The two are the same run.");
  const table = tableOf(rows, "");
  table.id = "differences";
  return element("div", { class: "scroll" }, table);
}

/**
 * What a run was, and how it is repeated.
 * @param {number} run
 * @param {number} place
 */
function aboutRun(run, place) {
  const id = SWEEP.ids[run];
  const intro = `Run ${id}. This repeats it, in the results folder:`;
  const missing =
    "This page does not have its time series: none were recorded, or they would make it too large. This puts them in: ";
  const remedy = element("code", {}, `cclab report DIR --series ${id}`);
  return element(
    "div",
    { class: "about" },
    ...(atHand.length > 1 ? [element("h3", {}, `${nameOf(place)}${pointOf(run)}`)] : []),
    element("p", { class: "facts" }, intro),
    commandWithCopy(run),
    ...(courseOf(run)
      ? []
      : [element("p", {}, missing), element("div", { class: "command" }, remedy)]),
  );
}

/** Lays the panels of the runs: those of one quantity beside each other. */
function layPanels() {
  for (const chart of panels.splice(0)) chart.remove();
  const host = byId("series", HTMLElement);
  host.replaceChildren();
  const courses = atHand.map(courseOf);
  const shown = courses.map((course) => (course ? panelsOf(course) : []));
  const order = Object.keys(SWEEP.quantities);
  const place = (/** @type {ShownPanel} */ { quantity }) => order.indexOf(quantity);
  const every = shown.flat().sort((a, b) => place(a) - place(b));
  const axis = axisWidth(every, host.clientWidth / Math.max(1, atHand.length));
  for (const key of new Set(every.map((panel) => panel.key))) {
    for (const [nth, own] of shown.entries()) {
      const panel = own.find((panel) => panel.key === key);
      if (panel) panels.push(new RunPanel(panel, nameOf(nth), host, timeline, axis));
      else host.append(element("p", { class: "facts" }, `${nameOf(nth)}${key}: not recorded`));
    }
  }
  layShares(
    courses.map((course, nth) => ({ whose: nameOf(nth), own: course?.distributions ?? [] })),
    axis,
  );
  for (const chart of panels) chart.hide(hidden);
  const known = courses.flatMap((course) => course ?? []);
  time.end = Math.max(0, ...known.map(({ step, steps }) => step * steps)) || 1;
  time.step = Math.min(time.end, ...known.map(({ step }) => step));
  byId("how", HTMLElement).hidden = !panels.length;
}

/**
 * Opens a run, or two.
 * @param {number[]} runs
 * @param {{ from?: number, to?: number, at?: number }} [shown] all of the time if not given
 */
function openRuns(runs, { from = 0, to = Infinity, at } = {}) {
  atHand = runs;
  choose(choices.opened, runs[0]);
  choose(choices.beside, runs[1]);
  document.body.classList.toggle("comparing", runs.length > 1);
  write("run", runs.map((run, place) => `${nameOf(place)}${pointOf(run)}`).join(" – "));
  byId("about", HTMLElement).replaceChildren(...runs.map(aboutRun));
  byId("apart", HTMLElement).replaceChildren(
    ...(runs.length > 1 ? [differences()] : []),
    metricsTable(),
  );
  layPanels();
  time.at = null;
  showOnly(from, Math.min(to, time.end));
  if (at !== undefined) moveTo(at);
}

/** The address of what is shown. */
function fragment() {
  const { at, end, times } = time;
  const [from, to] = times.map((seconds) => String(Number(seconds.toPrecision(9))));
  const isWhole = times[0] === 0 && times[1] === end;
  return new URLSearchParams({
    run: SWEEP.ids[atHand[0]],
    ...(atHand.length > 1 ? { with: SWEEP.ids[atHand[1]] } : {}),
    ...(isWhole ? {} : { from, to }),
    ...(at === null ? {} : { at: String(Number(at.toPrecision(9))) }),
  }).toString();
}

/** Opens what the address asks for; whether it asks for a run that the page has. */
function openAddressed() {
  const hash = location.hash.slice(1);
  // Addresses of a run alone were its id.
  const asked = new URLSearchParams(hash.includes("=") ? hash : { run: hash });
  const runs = ["run", "with"].flatMap((name) => {
    const run = SWEEP.ids.indexOf(asked.get(name) ?? "");
    return run < 0 ? [] : [run];
  });
  /** @param {string} name */
  const number = (name) => {
    const value = Number.parseFloat(asked.get(name) ?? "");
    return Number.isFinite(value) ? value : undefined;
  };
  if (runs.length) openRuns(runs, { from: number("from"), to: number("to"), at: number("at") });
  return runs.length > 0;
}
