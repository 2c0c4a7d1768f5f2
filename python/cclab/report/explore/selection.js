// What is chosen: the two axes, the colours, and which values of the swept keys.

const FEW = 4; // values of a key from which runs along it are more than columns of points

const selects = {
  x: byId("x", HTMLSelectElement),
  y: byId("y", HTMLSelectElement),
  colour: byId("colour", HTMLSelectElement),
};

/**
 * @param {string} value
 * @param {string} label
 */
const option = (value, label) => element("option", { value }, label);

const keyOptions = () => KEYS.map(({ key, label }) => option(key, label));

function groups() {
  const metrics = METRICS.map(({ name, label }) => option(name, label));
  return [
    KEYS.length ? element("optgroup", { label: "swept keys" }, ...keyOptions()) : "",
    element("optgroup", { label: "metrics" }, ...metrics),
  ];
}

/** @param {Measure} metric */
const varies = ({ values }) => new Set(values).size > 1;

/**
 * The first metric that ends so and is not the same for all runs.
 * @param {string} end
 */
const varying = (end) =>
  METRICS.find((metric) => metric.name.endsWith(end) && varies(metric))?.name;

/**
 * After a warm-up, what happened after it.
 * @param {string} stem
 * @param {string} name
 */
const afterWarmup = (stem, name) => varying(`${stem}window_${name}`) ?? varying(`${stem}${name}`);

/**
 * Makes the first choice: along the number that was swept over most values; where those are few, and
 * would only be columns of points, delay against throughput.
 */
function chooseFirst() {
  const variants = KEYS.find((key) => key.variants);
  const counted = KEYS.filter((key) => key.numbers);
  counted.sort((a, b) => b.values.length - a.values.length);
  const first = counted[0] ?? KEYS.find((key) => key !== variants) ?? KEYS[0];
  const delay = afterWarmup("bottleneck.", "queue_delay_mean_s");
  const goodput = afterWarmup(".", "goodput_bps");
  const isAgainst = delay && goodput && !(counted[0]?.values.length >= FEW);
  const fairness = ["window_jain", "jain", "bottleneck.utilization"].find((name) =>
    METRICS.some((metric) => metric.name === name && varies(metric)),
  );
  const fallback = METRICS.find(({ name }) => name.endsWith(".goodput_bps")) ?? METRICS[0];
  selects.x.value = isAgainst ? delay : (first?.key ?? METRICS[0].name);
  selects.y.value = (isAgainst ? goodput : fairness) ?? fallback.name;
  const coloured = variants ?? KEYS.find((key) => isAgainst || key !== first);
  selects.colour.value = coloured?.key ?? "";
}

/**
 * The values to keep of each key, by their places; all if none is chosen.
 * @type {Map<SweptKey, HTMLSelectElement>}
 */
const filters = new Map();

/** @param {() => void} respond */
function layFilters(respond) {
  for (const key of KEYS) {
    const size = String(Math.min(5, key.values.length));
    const select = element("select", { multiple: "", size, "data-key": key.key });
    select.append(...key.values.map((value, place) => option(String(place), value)));
    byId("filters", HTMLElement).append(element("label", {}, key.label, select));
    filters.set(key, select);
    select.addEventListener("change", respond);
  }
  if (!KEYS.length) byId("filtering", HTMLElement).remove();
}

/** @param {() => void} respond */
function laySelects(respond) {
  selects.x.append(...groups());
  selects.y.append(...groups());
  selects.colour.append(option("", "–"), ...keyOptions());
  chooseFirst();
  layFilters(respond);
  for (const select of Object.values(selects)) select.addEventListener("change", respond);
  byId("all", HTMLElement).addEventListener("click", () => {
    for (const select of filters.values()) select.selectedIndex = -1;
    respond();
  });
}

/**
 * What is shown of the runs, in the order in which the keys go through them.
 * @typedef {{ x: Column, y: Column, colours: SweptKey | null, runs: number[] }} View
 */

/** @returns {View} */
function chosenView() {
  const x = columnOf(selects.x.value);
  const y = columnOf(selects.y.value);
  const wanted = [...filters].flatMap(([key, select]) => {
    const places = new Set([...select.selectedOptions].map(({ value }) => Number(value)));
    return places.size ? [{ key, places }] : [];
  });
  /** @type {number[]} */
  const runs = [];
  for (let run = 0; run < RUNS; run++) {
    if (!Number.isFinite(x.at[run]) || !Number.isFinite(y.at[run])) continue;
    if (wanted.every(({ key, places }) => places.has(key.places[run]))) runs.push(run);
  }
  runs.sort((a, b) => x.at[a] - x.at[b] || y.at[a] - y.at[b] || a - b);
  return { x, y, colours: KEYS.find(({ key }) => key === selects.colour.value) ?? null, runs };
}
