// How times of a run are distributed: a panel for each kind of time, as its figure draws it.

const SHARES_HEIGHT = 190;

/**
 * @typedef {{ label: string, colour: string, dash: number[], at: number[], up: number[] }} ShownShare
 */

/** @param {string} data */
const floatsOf = (data) => Array.from(new Float32Array(bytesOf(data)));

/**
 * Which share of a line is no longer than a time.
 * @param {ShownShare} line
 * @param {number} time
 */
function shareAt({ at, up }, time) {
  const next = at.findIndex((value) => value > time);
  return next < 0 ? up[up.length - 1] : (up[next - 1] ?? 0);
}

class SharePanel {
  /**
   * @param {Distribution} distribution
   * @param {string} whose
   * @param {HTMLElement} host
   * @param {number} axis
   */
  constructor(distribution, whose, host, axis) {
    const { quantity, share, span, curves } = distribution;
    this.distribution = distribution;
    this.axis = axis;
    /** @type {ShownShare[]} */
    this.lines = curves.map(({ label, colour, dash, values, shares }) => ({
      label,
      colour,
      dash,
      at: floatsOf(values),
      up: floatsOf(shares),
    }));
    const longest = Math.max(...this.lines.flatMap(({ at }) => at));
    for (const line of this.lines) line.at = line.at.map((time) => Math.max(time, span * longest));
    const every = this.lines.flatMap(({ at }) => at);
    this.ends = [Math.min(...every), longest];
    /** @type {number | null} */
    this.time = null;
    this.title = element("h3", {}, `${whose}distribution: ${quantity}`);
    this.box = element("div", { class: "plot" });
    this.figure = element("figure", { class: "chart", tabindex: "0", "data-shares": quantity });
    this.figure.setAttribute(
      "aria-label",
      `${whose}${share} over ${quantity}. Left and right arrow keys move the cursor.`,
    );
    this.entries = this.lines.map(({ label, colour, dash }) => ({
      colour,
      dash,
      sample: element("canvas", { class: "swatch", "aria-hidden": "true" }),
      output: element("output"),
      label,
    }));
    const legend = element("div", { class: "legend" });
    legend.append(
      ...this.entries.map(({ sample, label, output }) =>
        element("span", {}, sample, label, output),
      ),
    );
    this.figure.append(this.title, legend, this.box);
    host.append(this.figure);
    this.isLogarithmic = false;
    /** @type {uPlot | null} */
    this.u = null;
    this.figure.addEventListener("keydown", (event) => this.answer(event));
  }

  /**
   * Draws it between two times: the same in both runs.
   * @param {number} least
   * @param {number} most
   */
  draw(least, most) {
    this.ends = [least, most];
    const { spread, quantity, share } = this.distribution;
    this.isLogarithmic = least > 0 && most > spread * least;
    const room = this.isLogarithmic ? 1.1 : 1;
    const from = this.isLogarithmic ? least / room : 0;
    const to = this.isLogarithmic ? most * room : most * 1.04 || 1;
    const grid = [...new Set([from, ...this.lines.flatMap(({ at }) => at), to])];
    grid.sort((a, b) => a - b);
    this.grid = grid;
    const stepped = uPlot.paths.stepped?.({ align: 1 });
    this.u?.destroy();
    this.u = new uPlot(
      {
        ...this.size(),
        legend: { show: false },
        cursor: {
          y: false,
          drag: { x: false, y: false },
          points: { show: false },
          bind: { mouseleave: () => null, dblclick: () => null },
        },
        scales: {
          x: { time: false, distr: this.isLogarithmic ? 3 : 1, range: () => [from, to] },
          y: { range: () => [0, 1.02] },
        },
        axes: [
          {
            ...plainAxis(),
            label: quantity,
            labelSize: 20,
            size: 30,
            space: 80,
            values: (_u, splits) =>
              splits.map((split) => (split === null ? "" : inWords(UNITS.time, split))),
          },
          {
            ...plainAxis(),
            label: share,
            labelSize: 20,
            size: this.axis - 20,
            space: 24,
            values: (_u, splits) => splits.map((split) => inWords(UNITS.share, split)),
          },
        ],
        series: [
          {},
          ...this.lines.map(({ colour, dash }) => ({
            stroke: inkOf(colour),
            width: 1.6,
            dash: dash.map((length) => length * 1.6 * devicePixelRatio),
            paths: stepped,
            points: { show: false },
          })),
        ],
      },
      [grid, ...this.lines.map((line) => grid.map((time) => shareAt(line, time)))],
      this.box,
    );
    const { u } = this;
    u.over.addEventListener("mousemove", (event) => {
      const { left } = u.over.getBoundingClientRect();
      this.tell(u.posToVal(event.clientX - left, "x"));
    });
    for (const { sample, colour, dash } of this.entries)
      paintStroke(sample, colour, strokeSample(dash));
    if (this.time !== null) this.pointAt(this.time);
  }

  size() {
    return { width: widthIn(this.box), height: SHARES_HEIGHT };
  }

  /**
   * Says which shares are no longer than a time.
   * @param {number} time
   */
  tell(time) {
    this.time = time;
    for (const [nth, { output }] of this.entries.entries()) {
      const share = inWords(UNITS.share, shareAt(this.lines[nth], time));
      output.textContent = `${share} in ${inWords(UNITS.time, time)}`;
    }
  }

  /** @param {number} time */
  pointAt(time) {
    this.u?.setCursor({ left: this.u.valToPos(time, "x"), top: 1 }, false);
    this.tell(time);
  }

  /**
   * Moves the cursor by steps of the lines.
   * @param {number} steps
   */
  moveBy(steps) {
    const grid = this.grid ?? [];
    const at = this.time ?? grid[0];
    const place = grid.findLastIndex((time) => time <= at);
    this.pointAt(grid[Math.max(0, Math.min(grid.length - 1, place + steps))]);
  }

  /** @param {KeyboardEvent} event */
  answer(event) {
    if (isShortcut(event)) return;
    const far = event.shiftKey ? 10 : 1;
    answerKey(event, {
      ArrowLeft: () => this.moveBy(-far),
      ArrowRight: () => this.moveBy(far),
      Home: () => this.pointAt(this.ends[0]),
      End: () => this.pointAt(this.ends[1]),
    });
    const told = this.entries.map(({ label, output }) => `${label} ${output.textContent}`);
    write("told", `${this.title.textContent}: ${told.join("; ")}`);
  }

  remake() {
    this.draw(this.ends[0], this.ends[1]);
  }

  resize() {
    this.u?.setSize(this.size());
  }

  remove() {
    this.u?.destroy();
    this.figure.remove();
  }
}

/** @type {SharePanel[]} */
const sharePanels = [];

/**
 * Lays the distributions of runs: those of one quantity beside each other, over the same times.
 * @param {{ whose: string, own: Distribution[] }[]} runs
 * @param {number} axis
 */
function layShares(runs, axis) {
  for (const chart of sharePanels.splice(0)) chart.remove();
  const host = byId("shares", HTMLElement);
  host.replaceChildren();
  const quantities = runs.flatMap(({ own }) => own.map(({ quantity }) => quantity));
  for (const quantity of new Set(quantities)) {
    /** @type {SharePanel[]} */
    const alike = [];
    for (const { whose, own } of runs) {
      const distribution = own.find((one) => one.quantity === quantity);
      if (distribution) alike.push(new SharePanel(distribution, whose, host, axis));
      else
        host.append(
          element("p", { class: "facts" }, `${whose}distribution of ${quantity}: not recorded`),
        );
    }
    const least = Math.min(...alike.map(({ ends }) => ends[0]));
    const most = Math.max(...alike.map(({ ends }) => ends[1]));
    for (const chart of alike) chart.draw(least, most);
    sharePanels.push(...alike);
  }
}
