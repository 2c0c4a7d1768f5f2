// A panel: its plot, the legend that hides and shows its layers, and what its crosshair says.

const AXIS = 78; // the same in all panels, so that their times lie below each other

/**
 * The powers of ten on an axis.
 * @type {uPlot.Axis.Splits}
 */
const decades = (_u, _axis, min, max) => {
  const powers = [];
  for (let power = Math.ceil(Math.log10(min)); power <= Math.log10(max); power++) {
    powers.push(10 ** power);
  }
  return powers;
};

/**
 * @param {ShownPanel} panel
 * @returns {uPlot.Axis}
 */
function valueAxis(panel) {
  const units = QUANTITIES[panel.unit];
  const axis = { ...plainAxis(), size: AXIS };
  if (!panel.log) return { ...axis, space: 32, values: (_u, splits) => inOneUnit(units, splits) };
  return {
    ...axis,
    splits: decades,
    filter: (_u, splits) => splits,
    values: (_u, splits) => splits.map((value) => inWords(units, value)),
  };
}

/**
 * Shades the time of congestion; the function that it returns draws the ends of it.
 * @param {uPlot} u
 * @param {[from: number, to: number]} congested
 */
function shade(u, congested) {
  const { ctx: context, bbox } = u;
  const [left, right] = congested.map((time) => u.valToPos(time, "x", true));
  context.fillStyle = css("--doubt-paper");
  context.fillRect(left, bbox.top, right - left, bbox.height);
  return () => {
    context.strokeStyle = css("--doubt");
    context.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
    context.beginPath();
    for (const x of [left, right]) along(context, [x, bbox.top], [x, bbox.top + bbox.height]);
    context.stroke();
  };
}

class PanelChart {
  /**
   * @param {ShownPanel} panel
   * @param {HTMLElement} host
   * @param {[from: number, to: number]} span
   * @param {[from: number, to: number] | null} congested
   */
  constructor(panel, host, span, congested) {
    this.panel = panel;
    this.span = span;
    this.congested = congested;
    /**
     * What was asked for of y, and the stretch of time that it was asked for.
     * @type {{ x: [number, number], y: [number, number] } | null}
     */
    this.boxed = null;
    this.figure = element("figure", { class: "chart", tabindex: "0", "data-panel": panel.name });
    this.figure.setAttribute(
      "aria-label",
      `${panel.title}, over time. Arrow keys move, plus and minus zoom, 0 shows all.`,
    );
    this.box = element("div", { class: "plot" });
    this.tip = element("div", { class: "tip", hidden: "" });
    const legend = element("div", { class: "legend" });
    this.figure.append(element("h3", {}, panel.title), legend, this.box);
    host.append(this.figure);
    this.entries = panel.layers.map((layer) => this.entryOf(layer));
    legend.append(...this.entries.map(({ label }) => label));
    this.u = this.plotted();
    this.u.over.append(this.tip);
    this.paintSamples();
    this.figure.addEventListener("keydown", (event) => answerKeyOf(event, this.u));
  }

  /**
   * A layer's entry of the legend.
   * @param {ShownLayer} layer
   */
  entryOf(layer) {
    const input = element("input", { type: "checkbox" });
    input.checked = layer.shown;
    const sample = element("canvas", { class: "swatch", "aria-hidden": "true" });
    const output = element("output");
    input.addEventListener("change", () => {
      layer.shown = input.checked;
      this.fit();
      this.u.redraw(false);
    });
    return {
      layer,
      sample,
      output,
      label: element("label", {}, input, sample, layer.label, output),
    };
  }

  paintSamples() {
    for (const { layer, sample } of this.entries) drawSample(sample, layer);
  }

  plotted() {
    return new uPlot(this.options(), [this.span, extent(this.panel, ...this.span)], this.box);
  }

  /** @returns {{ width: number, height: number }} */
  size() {
    return { width: widthIn(this.box), height: this.panel.height };
  }

  /** @returns {uPlot.Options} */
  options() {
    const { panel } = this;
    return {
      ...this.size(),
      legend: { show: false },
      cursor: {
        drag: { x: true, y: panel.name === "time-sequence", uni: 30, setScale: false },
        sync: { key: "time", scales: ["x", null] },
        points: { show: false },
        y: true,
      },
      scales: {
        x: { time: false, auto: true, range: rangeOf(1e-6) },
        y: { auto: false, distr: panel.log ? 3 : 1, range: (_u, min, max) => [min, max] },
      },
      axes: [timeAxis(9), valueAxis(panel)],
      series: [{}, { scale: "y", paths: () => null, points: { show: false } }],
      hooks: {
        setScale: [
          (u, key) => {
            if (key !== "x") return;
            // uPlot takes no change of one scale while it carries out that of another.
            queueMicrotask(() => {
              if (u.root.isConnected) this.fit();
            });
            follow(u);
          },
        ],
        draw: [(u) => this.draw(u)],
        setCursor: [(u) => this.answer(u)],
        setSelect: [(u) => this.select(u)],
      },
    };
  }

  /** Lets y span what is shown, or what was asked for. */
  fit() {
    const [from, to] = shownOf(this.u);
    if (this.boxed && (this.boxed.x[0] !== from || this.boxed.x[1] !== to)) this.boxed = null;
    const [min, max] = this.boxed ? this.boxed.y : extent(this.panel, from, to);
    this.u.setScale("y", { min, max });
  }

  /**
   * Shows the stretch of time, or the box, that was dragged over.
   * @param {uPlot} u
   */
  select(u) {
    const { left, top, width, height } = u.select;
    if (width < 4) return;
    /** @type {[number, number]} */
    const x = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
    if (height < u.over.clientHeight) {
      this.boxed = { x, y: [u.posToVal(top + height, "y"), u.posToVal(top, "y")] };
    }
    unselect(u);
    show(...x);
  }

  /** @param {uPlot} u */
  draw(u) {
    const { ctx: context, bbox } = u;
    context.save();
    context.beginPath();
    context.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    context.clip();
    const drawEnds = this.congested && shade(u, this.congested);
    for (const layer of this.panel.layers) {
      if (layer.shown && layer.x.length) drawLayer(u, layer);
    }
    // Areas hide the shade, so its ends are drawn over them.
    drawEnds?.();
    context.restore();
  }

  /**
   * Says what is at the crosshair: of curves the value at its time, of marks the nearest one.
   * @param {uPlot} u
   */
  answer(u) {
    const { left, top } = u.cursor;
    const isOn = typeof left === "number" && typeof top === "number" && left >= 0;
    for (const { layer, output } of this.entries) {
      const value = isOn && isCurve(layer) ? valueAt(layer, u.posToVal(left, "x")) : null;
      output.textContent = value === null ? "" : inWords(QUANTITIES[this.panel.unit], value);
    }
    const { tip } = this;
    tip.hidden = !(isOn && u.over.matches(":hover"));
    if (!isOn || tip.hidden) return;
    const mark = nearest(u, this.panel, left, top);
    tip.textContent = mark ? describe(this.panel, mark) : seconds(u.posToVal(left, "x"));
    const width = tip.offsetWidth;
    const isTooFar = left + 14 + width > u.over.clientWidth;
    tip.style.left = `${isTooFar ? Math.max(0, left - width - 14) : left + 14}px`;
    tip.style.top = `${Math.max(0, Math.min(u.over.clientHeight - tip.offsetHeight, top + 12))}px`;
  }

  /** Draws it anew, in other colours. */
  remake() {
    const [min, max] = shownOf(this.u);
    this.u.destroy();
    this.u = this.plotted();
    this.u.over.append(this.tip);
    this.u.setScale("x", { min, max });
    this.paintSamples();
  }

  resize() {
    this.u.setSize(this.size());
  }

  remove() {
    this.u.destroy();
    this.figure.remove();
  }
}
