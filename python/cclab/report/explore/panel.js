// A panel of a run: its plot, and the legend that hides lines and has their values at the cursor.

const AXIS = 84; // at least; the same in all panels, so that their times lie below each other
const PANEL_HEIGHT = 150;
const TIME_HEIGHT = 34; // of it, for the axis of time
const PART_DASH = [1.2, 2]; // of the other curves of a line, such as its threshold

// What is hidden by its name is hidden in all panels.
/** @param {Line} line */
const lineName = ({ name }) => `line ${name}`;
/** @param {string} part */
const partName = (part) => `part ${part}`;
/** @param {string} label */
const ticksName = (label) => `ticks ${label}`;
/** @param {string} label */
const crossesName = (label) => `crosses ${label}`;
/** @param {string} label */
const levelName = (label) => `level ${label}`;

/**
 * What the panels are told of the pointer and of keys.
 * @typedef {{
 *   moveTo: (time: number) => void, zoomTo: (from: number, to: number) => void,
 *   zoomAt: (time: number, factor: number) => void, reset: () => void,
 *   toggle: (name: string, isShown: boolean) => void,
 *   answer: (event: KeyboardEvent, panel: RunPanel) => void,
 * }} Timeline
 */

/**
 * A colour that can be seen through.
 * @param {string} colour
 * @param {number} opacity
 */
const faint = (colour, opacity) =>
  `${colour}${Math.round(opacity * 255)
    .toString(16)
    .padStart(2, "0")}`;

class RunPanel {
  /**
   * @param {ShownPanel} panel
   * @param {string} whose
   * @param {HTMLElement} host
   * @param {Timeline} timeline
   * @param {number} axis
   */
  constructor(panel, whose, host, timeline, axis) {
    this.panel = panel;
    this.axis = axis;
    this.timeline = timeline;
    this.width = 1;
    /** @type {Set<string>} */
    this.hidden = new Set();
    /** @type {[from: number, to: number]} */
    this.times = [0, panel.step * panel.steps];
    /** @type {[least: number, most: number]} */
    this.values = [0, 1];
    /** @type {number | null} */
    this.time = null;
    this.whose = whose;
    this.title = element("h3");
    this.box = element("div", { class: "plot" });
    this.figure = element("figure", { class: "chart", tabindex: "0", "data-panel": panel.key });
    this.figure.setAttribute(
      "aria-label",
      `${whose}${panel.title}, over time. Left and right arrow keys move the cursor, plus and minus zoom, 0 shows all.`,
    );
    const legend = element("div", { class: "legend" });
    this.figure.append(this.title, legend, this.box);
    host.append(this.figure);
    this.entries = this.entriesOf();
    this.phases = this.phasesOf();
    legend.append(
      ...this.entries.map(({ label }) => label),
      ...this.phases.map(({ label }) => label),
      ...panel.notes.map((note) => element("span", { class: "note" }, note)),
    );
    this.u = this.plotted();
    this.figure.addEventListener("keydown", (event) => timeline.answer(event, this));
  }

  /** Every entry of the legend: lines, their other parts, levels, ticks and crosses. */
  entriesOf() {
    const { curves, ticks, levels, crosses } = this.panel;
    const crossed = new Map(crosses.map(({ label, colour }) => [label, colour]));
    const parts = [...new Set(curves.flatMap(({ part }) => part || []))];
    const lines = curves
      .filter(({ part }) => !part)
      .map(({ line }) =>
        this.entryOf(lineName(line), line.label, line.colour, strokeSample(line.dash)),
      );
    return [
      ...lines,
      ...parts.map((part) =>
        this.entryOf(partName(part), part, "#777777", strokeSample(PART_DASH)),
      ),
      ...levels.map(({ label, colour, dash }) =>
        this.entryOf(levelName(label), label, colour, strokeSample(dash)),
      ),
      ...ticks.map(({ label, colour }) =>
        this.entryOf(ticksName(label), label, colour, tickSample),
      ),
      ...[...crossed].map(([label, colour]) =>
        this.entryOf(crossesName(label), label, colour, crossSample),
      ),
    ];
  }

  /**
   * @param {string} name
   * @param {string} text
   * @param {string} colour
   * @param {Sample} lay
   */
  entryOf(name, text, colour, lay) {
    const input = element("input", { type: "checkbox", checked: "" });
    const sample = element("canvas", { class: "swatch", "aria-hidden": "true" });
    const output = element("output");
    input.addEventListener("change", () => this.timeline.toggle(name, input.checked));
    const label = element("label", {}, input, sample, text, output);
    return { name, colour, lay, input, sample, output, label };
  }

  /** The entries of the phases that are in the panel. */
  phasesOf() {
    if (this.panel.kind !== "phase") return [];
    const met = new Set(this.panel.curves.flatMap(({ values }) => values));
    return [...SWEEP.phases.entries()].flatMap(([number, [name]]) => {
      if (!met.has(number)) return [];
      const sample = element("canvas", { class: "phase", "aria-hidden": "true" });
      return [{ number, sample, label: element("span", {}, sample, name) }];
    });
  }

  paintSamples() {
    for (const { number, sample } of this.phases) paintPhase(sample, number);
    for (const { colour, lay, sample } of this.entries) paintStroke(sample, colour, lay);
  }

  /** The curves that are not hidden. */
  shown() {
    return this.panel.curves.filter((curve) => this.isShown(curve));
  }

  /** The crosses that are not hidden: each goes with its line. */
  crosses() {
    return this.panel.crosses.filter(
      ({ line, label }) => !this.hidden.has(lineName(line)) && !this.hidden.has(crossesName(label)),
    );
  }

  /** The levels that are not hidden. */
  levels() {
    return this.panel.levels.filter(({ label }) => !this.hidden.has(levelName(label)));
  }

  /** @param {ShownCurve} curve */
  isShown({ line, part }) {
    return !this.hidden.has(lineName(line)) && !this.hidden.has(partName(part));
  }

  /**
   * What uPlot draws: means from the beginning of each bin to its end, all else at the end of each
   * step, with the ends of a band behind each line that has some.
   * @returns {uPlot.AlignedData}
   */
  data() {
    const { panel, width } = this;
    const { step, steps, kind } = panel;
    const isMean = kind === "mean";
    const ends = Array.from({ length: Math.ceil(steps / width) }, (_none, nth) =>
      Math.min(steps, (nth + 1) * width),
    );
    const first = isMean ? [0] : [];
    /** @param {(number | null)[]} values */
    const row = (values) => {
      const bins = binned(values, width);
      return isMean ? [bins[0], ...bins] : bins;
    };
    return [
      [...first, ...ends.map((nth) => nth * step)],
      ...panel.curves.flatMap(({ values, bands }) => [row(values), ...bands.flat().map(row)]),
    ];
  }

  /**
   * A curve, and the ends of its bands, which have no line.
   * @param {ShownCurve} curve
   * @returns {uPlot.Series[]}
   */
  seriesOf(curve) {
    const { line, part, bands } = curve;
    const width = part ? 1.1 : 1.6;
    const show = this.isShown(curve);
    const { kind } = this.panel;
    const stepped = kind === "mean" ? uPlot.paths.stepped?.({ align: -1 }) : undefined;
    const paths = kind === "phase" ? () => null : stepped;
    const points = { show: false };
    const colour = inkOf(line.colour);
    /** @type {uPlot.Series} */
    const own = {
      show,
      stroke: colour,
      width,
      dash: (part ? PART_DASH : line.dash).map((length) => length * width * devicePixelRatio),
      fill: this.panel.isFilled ? faint(colour, 0.3) : undefined,
      paths,
      points,
      spanGaps: kind === "sparse",
    };
    return [own, ...bands.flat().map(() => ({ show, width: 0, paths, points }))];
  }

  /** The bands of quantiles, from the widest, between the ends that follow their curve. */
  bandsOf() {
    /** @type {uPlot.Band[]} */
    const made = [];
    let place = 1;
    for (const { line, bands } of this.panel.curves) {
      for (const nth of bands.keys()) {
        const low = place + 1 + 2 * nth;
        made.push({ series: [low + 1, low], fill: faint(inkOf(line.colour), 0.15) });
      }
      place += 1 + 2 * bands.length;
    }
    return made;
  }

  size() {
    return { width: widthIn(this.box), height: PANEL_HEIGHT };
  }

  plotted() {
    const { panel, timeline } = this;
    /** @type {uPlot.Options} */
    const options = {
      ...this.size(),
      legend: { show: false },
      cursor: {
        y: false,
        drag: { x: true, y: false, setScale: false },
        points: { show: false },
        // The cursor stands on what is drawn, and stays where it was as the pointer leaves.
        move: (_u, left, top) => [this.time === null ? left : this.leftOf(this.time), top],
        bind: { mouseleave: () => null, dblclick: () => null },
      },
      scales: {
        x: { time: false, auto: false, range: rangeOf(1e-9) },
        y: { auto: false, range: (_u, min, max) => [min, max] },
      },
      axes: [
        timeAxis(9),
        {
          ...plainAxis(),
          values: (_u, splits) => inOneUnit(UNITS[panel.unit], splits),
          size: this.axis,
          space: 24,
          ...(panel.kind === "phase"
            ? rowsAxis(
                () => this.shown(),
                () => this.values[1],
                this.axis,
              )
            : {}),
        },
      ],
      series: [{}, ...panel.curves.flatMap((curve) => this.seriesOf(curve))],
      bands: this.bandsOf(),
      hooks: {
        setSelect: [(u) => this.select(u)],
        drawAxes: [(u) => drawLevels(u, this.levels(), this.values[1])],
        draw: [(u) => this.drawOver(u)],
      },
    };
    const u = new uPlot(options, this.data(), this.box);
    u.over.addEventListener("mousemove", (event) => {
      const { left } = u.over.getBoundingClientRect();
      timeline.moveTo(u.posToVal(event.clientX - left, "x"));
    });
    u.over.addEventListener("mousedown", () => this.figure.focus({ preventScroll: true }));
    u.over.addEventListener("dblclick", () => timeline.reset());
    u.over.addEventListener("wheel", (event) => this.turn(u, event), { passive: false });
    this.paintSamples();
    return u;
  }

  /**
   * Zooms by the wheel, where the page is not meant to scroll.
   * @param {uPlot} u
   * @param {WheelEvent} event
   */
  turn(u, event) {
    if (!(event.ctrlKey || event.metaKey || this.figure.contains(document.activeElement))) return;
    event.preventDefault();
    const { left } = u.over.getBoundingClientRect();
    const turned = Math.max(-1, Math.min(1, event.deltaY / 100));
    this.timeline.zoomAt(u.posToVal(event.clientX - left, "x"), 1.4 ** turned);
  }

  /** @param {uPlot} u */
  select(u) {
    const { left, width } = u.select;
    if (width <= 4) return;
    const [from, to] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    unselect(u);
    this.timeline.zoomTo(from, to);
  }

  /** @param {uPlot} u */
  drawOver(u) {
    if (this.panel.kind === "phase") drawPhases(u, this.shown(), this.values[1], this.panel.step);
    else {
      drawTicks(u, this.panel, this.times, this.hidden);
      drawCrosses(u, this.crosses());
    }
  }

  /** @param {number} time */
  leftOf(time) {
    const [from, to] = this.times;
    const room = (to - from) * 1e-6;
    return time < from - room || time > to + room ? -10 : this.u.valToPos(time, "x");
  }

  /**
   * Shows values of a stretch of time.
   * @param {[from: number, to: number]} times
   * @param {[least: number, most: number]} values
   */
  show(times, values) {
    const { panel, u } = this;
    const width = widthOf(panel, times[1] - times[0]);
    this.times = times;
    this.values = values;
    const isOther = width !== this.width;
    this.width = width;
    const bin =
      panel.kind === "mean" ? `, means of ${inWords(UNITS.time, width * panel.step)}` : "";
    this.title.textContent = `${this.whose}${panel.title}${bin}`;
    u.batch(() => {
      if (isOther) u.setData(this.data(), false);
      u.setScale("x", { min: times[0], max: times[1] });
      u.setScale("y", { min: values[0], max: values[1] });
    });
    this.pointAt(this.time);
  }

  /**
   * Stands the cursor at a time, and says what was drawn then.
   * @param {number | null} time
   */
  pointAt(time) {
    this.time = time;
    const left = time === null ? -10 : this.leftOf(time);
    this.u.setCursor({ left, top: left < 0 ? -10 : 1 }, false);
    for (const entry of this.entries) {
      const level = this.levelOf(entry.name);
      entry.output.textContent = level ?? (time === null ? "" : this.valueOf(entry.name, time));
    }
  }

  /**
   * The values of a level, the same at all times; null if the name is none.
   * @param {string} name
   */
  levelOf(name) {
    const level = this.panel.levels.find(({ label }) => levelName(label) === name);
    if (!level) return null;
    const { values, above } = level;
    return values
      .map((value) => {
        const words = inWords(UNITS[this.panel.unit], value);
        return above && value > this.values[1] ? `${words}, ${above}` : words;
      })
      .join("; ");
  }

  /**
   * What a line came to at a time, in words, with its other parts; how often ticks were in its step.
   * @param {string} name
   * @param {number} time
   */
  valueOf(name, time) {
    const { panel, width } = this;
    const ticks = panel.ticks.find(({ label }) => ticksName(label) === name);
    if (ticks) return String(ticks.counts.get(stepAt(panel, time)) ?? 0);
    return panel.curves
      .filter(({ line }) => lineName(line) === name)
      .flatMap(({ part, values }) => {
        const value = valueAt(panel, values, time, width);
        if (value === null || this.hidden.has(partName(part))) return [];
        const isPhase = panel.kind === "phase";
        const words = isPhase ? SWEEP.phases[value][0] : inWords(UNITS[panel.unit], value);
        return `${part ? `${part} ` : ""}${words}`;
      })
      .join(", ");
  }

  /** All values at the cursor, for those who hear the page. */
  told() {
    const told = [...this.entries.map(({ label }) => label.textContent), ...this.panel.notes];
    return `${this.title.textContent}: ${told.join("; ")}`;
  }

  /** @param {Set<string>} hidden */
  hide(hidden) {
    this.hidden = hidden;
    let place = 1;
    for (const curve of this.panel.curves) {
      const rows = 1 + 2 * curve.bands.length;
      for (let nth = 0; nth < rows; nth++) {
        this.u.setSeries(place + nth, { show: this.isShown(curve) });
      }
      place += rows;
    }
    for (const { name, input } of this.entries) input.checked = !hidden.has(name);
  }

  /** Draws it anew, in other colours. */
  remake() {
    this.u.destroy();
    this.u = this.plotted();
    this.show(this.times, this.values);
  }

  resize() {
    this.u.setSize(this.size());
    this.pointAt(this.time);
  }

  remove() {
    this.u.destroy();
    this.figure.remove();
  }
}
