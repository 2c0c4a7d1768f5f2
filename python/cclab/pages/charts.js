// What the interactive pages share: elements, numbers in words, marks, axes, keys.

const darkPaper = matchMedia("(prefers-color-scheme: dark)");
const PRINTING = "printing"; // the class of a page that is laid out for white paper

const isDark = () => darkPaper.matches && !document.documentElement.classList.contains(PRINTING);

/**
 * The first element in `root` that `selector` matches. The page is wrong if it has none.
 * @template {Element} Kind
 * @param {ParentNode} root
 * @param {string} selector
 * @param {new () => Kind} kind
 * @returns {Kind}
 */
function part(root, selector, kind) {
  const element = root.querySelector(selector);
  if (!(element instanceof kind)) throw new Error(`the page has no ${kind.name} ${selector}`);
  return element;
}

/**
 * @template {Element} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 */
const byId = (id, kind) => part(document, `#${id}`, kind);

/**
 * @param {string} id
 * @param {string} text
 */
function write(id, text) {
  byId(id, HTMLElement).textContent = text;
}

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

/** @param {HTMLCanvasElement} canvas */
function contextOf(canvas) {
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser does not draw on a canvas");
  return context;
}

/** The document that Python embedded: what its type is, the page's program says. */
const embedded = () => JSON.parse(byId("data", HTMLScriptElement).text);

/**
 * Base64 as bytes.
 * @param {string} text
 */
const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)).buffer;

/**
 * A custom property of the page's style.
 * @param {string} name
 */
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/**
 * Units of one quantity, the largest first.
 * @typedef {[size: number, name: string][]} Units
 */

/** Quantities in the units in which they read best. */
const QUANTITIES = {
  /** @type {Units} */
  bytes: [
    [1e9, "GB"],
    [1e6, "MB"],
    [1e3, "kB"],
    [1, "B"],
  ],
  /** @type {Units} */
  rate: [
    [1e9, "Gbit/s"],
    [1e6, "Mbit/s"],
    [1e3, "kbit/s"],
    [1, "bit/s"],
  ],
  /** @type {Units} */
  time: [
    [1, "s"],
    [1e-3, "ms"],
    [1e-6, "µs"],
    [1e-9, "ns"],
  ],
  /** @type {Units} */
  plain: [[1, ""]],
};

/**
 * @param {Units} units
 * @param {number} value
 */
const unitFor = (units, value) =>
  units.find(([size]) => Math.abs(value) >= size) ?? units[units.length - 1];

/**
 * @param {number} value
 * @param {[size: number, name: string]} unit
 * @param {number} digits
 */
const inUnit = (value, [size, name], digits) =>
  `${Number((value / size).toPrecision(digits))}${name ? ` ${name}` : ""}`;

/**
 * @param {Units} units
 * @param {number} value
 */
const inWords = (units, value) => inUnit(value, unitFor(units, value), 4);

/**
 * All of `values` in the unit of the largest.
 * @param {Units} units
 * @param {number[]} values
 */
function inOneUnit(units, values) {
  const unit = unitFor(units, Math.max(...values.map(Math.abs)));
  return values.map((value) => inUnit(value, unit, 6));
}

/** @param {number} count */
const grouped = (count) => Math.round(count).toLocaleString("en-US");

/**
 * Lays the path of a mark of radius `r`.
 * @typedef {(path: CanvasRenderingContext2D, x: number, y: number, r: number) => void} Mark
 */

/**
 * Lays a path along corners, from each to the next.
 * @param {CanvasRenderingContext2D} path
 * @param {...[x: number, y: number]} corners
 */
function along(path, ...corners) {
  for (const [place, [x, y]] of corners.entries()) {
    if (place) path.lineTo(x, y);
    else path.moveTo(x, y);
  }
}

/**
 * @param {CanvasRenderingContext2D} path
 * @param {...[x: number, y: number]} corners
 */
function around(path, ...corners) {
  along(path, ...corners);
  path.closePath();
}

/** @type {Record<"o" | "s" | "^" | "v", Mark>} */
const FILLED_MARKS = {
  o: (path, x, y, r) => {
    path.moveTo(x + r, y);
    path.arc(x, y, r, 0, 7);
  },
  s: (path, x, y, r) => path.rect(x - r, y - r, 2 * r, 2 * r),
  "^": (path, x, y, r) => around(path, [x - r, y + r], [x, y - r], [x + r, y + r]),
  v: (path, x, y, r) => around(path, [x - r, y - r], [x, y + r], [x + r, y - r]),
};

/**
 * What all axes look like.
 * @returns {uPlot.Axis}
 */
const plainAxis = () => ({
  stroke: css("--muted"),
  grid: { stroke: css("--rule"), width: 1 },
  ticks: { stroke: css("--rule"), width: 1 },
});

/**
 * An axis of seconds.
 * @param {number} decimals
 * @returns {uPlot.Axis}
 */
const timeAxis = (decimals) => ({
  ...plainAxis(),
  values: (_u, splits) => splits.map((value) => `${Number(value.toFixed(decimals))} s`),
  space: 80,
  size: 34,
});

/**
 * The range asked for, and at least `least` of it.
 * @param {number} least
 */
const rangeOf =
  (least) =>
  /** @type {uPlot.Range.Function} */
  (_u, min, max) => [min, max > min ? max : min + least];

/**
 * How wide a plot in `host` is.
 * @param {HTMLElement} host
 */
const widthIn = (host) => Math.max(280, host.clientWidth);

/** @param {uPlot} u */
const unselect = (u) => u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);

/**
 * Does what is asked for with a key; other keys are left to the browser.
 * @param {KeyboardEvent} event
 * @param {Record<string, () => void>} actions
 */
function answerKey(event, actions) {
  const action = actions[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

/** @param {KeyboardEvent} event */
const isShortcut = (event) => event.ctrlKey || event.metaKey || event.altKey;

/**
 * Plots do not follow the width of paper by themselves, which is no other width of the window: they
 * are drawn anew before the page is printed, and afterwards.
 * @param {() => void} draw
 */
function onPaper(draw) {
  /** @param {boolean} isPrinting */
  const lay = (isPrinting) => {
    document.documentElement.classList.toggle(PRINTING, isPrinting);
    draw();
  };
  addEventListener("beforeprint", () => lay(true));
  addEventListener("afterprint", () => lay(false));
}

/**
 * A phone's bars come and go as one scrolls: only another width is another size.
 * @param {() => void} respond
 */
function onOtherWidth(respond) {
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    respond();
  });
}
