// The interactive page of a capture. uPlot gives axes, crosshairs and zooming; what is in a panel is
// drawn here, from layers of typed arrays that need no common time axis.
"use strict";

(() => {
  const DATA = JSON.parse(document.getElementById("data").textContent);
  const NEAR = 14; // pixels within which a mark answers to the pointer
  const AXIS = 78; // the same in all panels, so that their times lie below each other
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const charts = [];

  const doubles = (text) => {
    const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
    return new Float64Array(bytes.buffer);
  };
  for (const panel of [...DATA.across, ...DATA.directions.flatMap((d) => d.panels)])
    for (const layer of panel.layers) {
      layer.shown = true;
      for (const key of ["x", "y", "low"]) if (layer[key] !== undefined) layer[key] = doubles(layer[key]);
    }

  // Quantities in the unit in which they read best.
  const SCALES = {
    bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
    rate: [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
    time: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]],
    plain: [[1, ""]],
  };
  const scaleOf = (unit, value) => SCALES[unit].find(([size]) => Math.abs(value) >= size) || SCALES[unit].at(-1);
  const say = (unit, value) => {
    const [size, name] = scaleOf(unit, value);
    return `${Number((value / size).toPrecision(4))}${name ? " " + name : ""}`;
  };
  const grouped = (value) => Math.round(value).toLocaleString("en-US");
  const seconds = (value) => `${value.toFixed(6)} s`;

  // The first index whose x is not below `at`.
  const search = (x, at) => {
    let low = 0, high = x.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (x[middle] < at) low = middle + 1; else high = middle;
    }
    return low;
  };
  const continuous = (layer) => ["step", "line", "area"].includes(layer.kind);
  const colour = (layer) => (dark.matches ? layer.dark : layer.colour);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // The least and greatest value that a panel shows between two times.
  const extent = (panel, from, to) => {
    let least = Infinity, most = -Infinity;
    const take = (value) => {
      if (panel.log && value <= 0) return;
      if (value < least) least = value;
      if (value > most) most = value;
    };
    for (const layer of panel.layers) {
      if (!layer.shown) continue;
      const first = search(layer.x, from), end = search(layer.x, to);
      for (let i = Math.max(0, first - (continuous(layer) ? 1 : 0)); i < end; i++) {
        take(layer.y[i]);
        if (layer.kind === "bars") take(layer.low[i]);
      }
    }
    if (least > most) return panel.log ? [1e-6, 1] : [0, 1];
    if (panel.log) return [least / 1.5, most * 1.5];
    if (panel.top !== null) return [0, panel.top * 1.05];
    if (panel.name !== "time-sequence") return [0, most > 0 ? most * 1.06 : 1];
    const room = (most - least || 1) * 0.04;
    return [least - room, most + room];
  };

  const decades = (u, axis, min, max) => {
    const powers = [];
    for (let power = Math.ceil(Math.log10(min)); power <= Math.log10(max); power++) powers.push(10 ** power);
    return powers;
  };

  const MARKS = {
    x: (c, x, y, r) => { c.moveTo(x - r, y - r); c.lineTo(x + r, y + r); c.moveTo(x + r, y - r); c.lineTo(x - r, y + r); },
    P: (c, x, y, r) => { c.moveTo(x - r, y); c.lineTo(x + r, y); c.moveTo(x, y - r); c.lineTo(x, y + r); },
    "|": (c, x, y, r) => { c.moveTo(x, y - r); c.lineTo(x, y + r); },
    "^": (c, x, y, r) => { c.moveTo(x - r, y + r); c.lineTo(x, y - r); c.lineTo(x + r, y + r); c.closePath(); },
    v: (c, x, y, r) => { c.moveTo(x - r, y - r); c.lineTo(x, y + r); c.lineTo(x + r, y - r); c.closePath(); },
    s: (c, x, y, r) => c.rect(x - r, y - r, 2 * r, 2 * r),
    o: (c, x, y, r) => { c.moveTo(x + r, y); c.arc(x, y, r, 0, 7); },
    D: (c, x, y, r) => { c.moveTo(x - r, y); c.lineTo(x, y - r); c.lineTo(x + r, y); c.lineTo(x, y + r); c.closePath(); },
    d: (c, x, y, r) => { c.moveTo(x - r / 2, y); c.lineTo(x, y - r); c.lineTo(x + r / 2, y); c.lineTo(x, y + r); c.closePath(); },
  };
  MARKS.X = MARKS.x;
  const OPEN = "xXP|";

  const dashed = (layer) => layer.label.includes("window") || layer.label.includes("mean");

  // A layer's entry of the legend: its mark by colour and shape.
  const sample = (canvas, layer) => {
    const ratio = devicePixelRatio, width = 20, height = 14, ctx = canvas.getContext("2d");
    canvas.width = width * ratio;
    canvas.height = height * ratio;
    ctx.scale(ratio, ratio);
    ctx.strokeStyle = ctx.fillStyle = colour(layer);
    ctx.lineWidth = 1.6;
    if (layer.kind === "area") return ctx.fillRect(3, 1, 14, 12);
    if (layer.kind === "dots") return ctx.fillRect(8, 5, 4, 4);
    ctx.beginPath();
    if (dashed(layer)) ctx.setLineDash([5, 2]);
    if (continuous(layer)) { ctx.moveTo(1, 7); ctx.lineTo(19, 7); }
    if (layer.kind === "bars") {
      ctx.moveTo(10, 1); ctx.lineTo(10, 13);
      if (layer.label.includes("SACK")) for (const y of [1, 13]) { ctx.moveTo(7, y); ctx.lineTo(13, y); }
    }
    ctx.stroke();
    const shape = MARKS[layer.marker];
    if (!shape) return;
    ctx.beginPath();
    shape(ctx, 10, layer.kind === "bars" ? 5 : 7, 3.6);
    if (layer.hollow || OPEN.includes(layer.marker)) ctx.stroke(); else ctx.fill();
  };

  // Draws what of a layer lies in the panel's stretch of time.
  const draw = (u, layer) => {
    const { ctx } = u, ratio = devicePixelRatio;
    const { min: from, max: to } = u.scales.x;
    const continued = continuous(layer);
    const first = Math.max(0, search(layer.x, from) - (continued ? 1 : 0));
    const end = Math.min(layer.x.length, search(layer.x, to) + 1);
    const X = (i) => u.valToPos(layer.x[i], "x", true);
    const Y = (value) => u.valToPos(value, "y", true);
    ctx.strokeStyle = ctx.fillStyle = colour(layer);
    ctx.lineWidth = 1.3 * ratio;
    ctx.setLineDash([]);
    ctx.beginPath();
    if (layer.kind === "area") {
      ctx.moveTo(X(first), Y(layer.low[first] || 0));
      for (let i = first; i < end; i++) {
        const next = i + 1 < layer.x.length ? X(i + 1) : X(i);
        ctx.lineTo(X(i), Y(layer.y[i]));
        ctx.lineTo(next, Y(layer.y[i]));
      }
      for (let i = end - 1; i >= first; i--) {
        const next = i + 1 < layer.x.length ? X(i + 1) : X(i);
        ctx.lineTo(next, Y(layer.low[i]));
        ctx.lineTo(X(i), Y(layer.low[i]));
      }
      ctx.globalAlpha = 0.85;
      ctx.fill();
      ctx.globalAlpha = 1;
      return;
    }
    if (continued) {
      if (dashed(layer)) ctx.setLineDash([5 * ratio, 2 * ratio]);
      for (let i = first; i < end; i++) {
        const x = X(i), y = Y(layer.y[i]);
        if (i === first) ctx.moveTo(x, y);
        else {
          if (layer.kind === "step") ctx.lineTo(x, Y(layer.y[i - 1]));
          ctx.lineTo(x, y);
        }
      }
      ctx.stroke();
      ctx.setLineDash([]);
      return;
    }
    if (layer.kind === "dots") {
      const r = 1.4 * ratio;
      for (let i = first; i < end; i++) ctx.rect(X(i) - r, Y(layer.y[i]) - r, 2 * r, 2 * r);
      ctx.globalAlpha = 0.75;
      ctx.fill();
      ctx.globalAlpha = 1;
      return;
    }
    if (layer.kind === "bars") {
      const sack = layer.label.includes("SACK");
      const tick = 2 * ratio;
      for (let i = first; i < end; i++) {
        const x = Math.round(X(i)) + 0.5, low = Y(layer.low[i]), high = Y(layer.y[i]);
        ctx.moveTo(x, low);
        ctx.lineTo(x, Math.min(high, low - ratio));
        // Where segments have room, arrows at their ends tell one from the next, as xplot's do.
        if (sack && low - high > 4 * tick) for (const y of [low, high]) { ctx.moveTo(x - tick, y); ctx.lineTo(x + tick, y); }
        else if (!sack && low - high > 6 * tick)
          for (const [y, inward] of [[low, -1], [high, 1]]) {
            ctx.moveTo(x - tick, y + inward * tick); ctx.lineTo(x, y); ctx.lineTo(x + tick, y + inward * tick);
          }
      }
      ctx.stroke();
    }
    const shape = MARKS[layer.marker];
    if (!shape) return;
    ctx.beginPath();
    const r = (layer.marker === "|" ? 2.5 : 3.6) * ratio;
    for (let i = first; i < end; i++) shape(ctx, X(i), Y(layer.y[i]), r);
    if (layer.hollow || OPEN.includes(layer.marker)) ctx.stroke(); else ctx.fill();
  };

  // What the crosshair says: of curves the value at its time, of marks the nearest one.
  const nearest = (u, panel, left, top) => {
    let best = null;
    for (const layer of panel.layers) {
      if (!layer.shown || continuous(layer)) continue;
      const middle = search(layer.x, u.posToVal(left, "x"));
      for (const step of [-1, 1])
        for (let i = middle - (step < 0); i >= 0 && i < layer.x.length; i += step) {
          const away = Math.abs(u.valToPos(layer.x[i], "x") - left);
          if (away > NEAR) break;
          const high = u.valToPos(layer.y[i], "y"), low = layer.kind === "bars" ? u.valToPos(layer.low[i], "y") : high;
          const over = top < high ? high - top : top > low ? top - low : 0;
          const distance = Math.hypot(away, over);
          if (distance <= NEAR && (!best || distance < best.distance)) best = { layer, i, distance };
        }
    }
    return best;
  };
  const describe = (panel, { layer, i }) => {
    const at = seconds(layer.x[i]);
    if (layer.low === undefined) return `${layer.label}: ${say(panel.unit, layer.y[i])}\n${at}`;
    const bytes = layer.y[i] - layer.low[i];
    if (layer.kind !== "bars") return `${layer.label}: ${grouped(layer.y[i])}\n${at}`;
    return `${layer.label}: ${grouped(layer.low[i])} to ${grouped(layer.y[i])}\n${grouped(bytes)} bytes, ${at}`;
  };
  const valueAt = (layer, at) => {
    const i = search(layer.x, at);
    const place = layer.x[i] === at ? i : i - 1;
    if (place < 0) return null;
    return layer.kind === "area" ? layer.y[place] - layer.low[place] : layer.y[place];
  };

  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  function chart(panel, host, span) {
    const figure = element("figure", { class: "chart", tabindex: "0", "data-panel": panel.name });
    const legend = element("div", { class: "legend" });
    const box = element("div", { class: "plot" });
    const tip = element("div", { class: "tip", hidden: "" });
    figure.setAttribute("aria-label", `${panel.title}, over time. Arrow keys move, plus and minus zoom, 0 shows all.`);
    figure.append(element("h3", {}, panel.title), legend, box);
    host.append(figure);
    const outputs = new Map();
    for (const layer of panel.layers) {
      const input = element("input", { type: "checkbox" });
      input.checked = layer.shown;
      const swatch = element("canvas", { class: "swatch", "aria-hidden": "true" });
      const output = element("output");
      outputs.set(layer, [output, swatch]);
      legend.append(element("label", {}, input, swatch, layer.label, output));
      input.addEventListener("change", () => { layer.shown = input.checked; fit(u); u.redraw(false); });
    }
    const paint = () => { for (const [layer, [, swatch]] of outputs) sample(swatch, layer); };
    let boxed = null; // what was asked for of y, and the stretch of time that it was asked for
    const fit = (u) => {
      const { min: from, max: to } = u.scales.x;
      if (boxed && (boxed.x[0] !== from || boxed.x[1] !== to)) boxed = null;
      const [min, max] = boxed ? boxed.y : extent(panel, from, to);
      u.setScale("y", { min, max });
    };
    const select = (u) => {
      const { left, top, width, height } = u.select;
      if (width < 4) return;
      const x = [u.posToVal(left, "x"), u.posToVal(left + width, "x")];
      if (height < u.over.clientHeight) boxed = { x, y: [u.posToVal(top + height, "y"), u.posToVal(top, "y")] };
      u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      show(...x);
    };
    // uPlot takes no change of one scale while it carries out that of another.
    const fitSoon = (u) => queueMicrotask(() => { if (u.root.isConnected) fit(u); });
    const axis = () => ({ stroke: css("--muted"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule"), width: 1 } });
    const options = () => ({
      width: Math.max(280, box.clientWidth),
      height: panel.height,
      legend: { show: false },
      cursor: {
        drag: { x: true, y: panel.name === "time-sequence", uni: 30, setScale: false },
        sync: { key: "time", scales: ["x", null] },
        points: { show: false },
        y: true,
      },
      scales: {
        x: { time: false, auto: true, range: (u, min, max) => [min, max > min ? max : min + 1e-6] },
        y: { auto: false, distr: panel.log ? 3 : 1, range: (u, min, max) => [min, max] },
      },
      axes: [
        { ...axis(), values: (u, splits) => splits.map((v) => `${Number(v.toFixed(9))} s`), space: 80, size: 34 },
        panel.log ? { ...axis(), size: AXIS, splits: decades, filter: (u, splits) => splits, values: (u, splits) => splits.map((v) => say(panel.unit, v)) } : {
          ...axis(), size: AXIS, space: 32,
          values: (u, splits) => {
            const [size, name] = scaleOf(panel.unit, Math.max(...splits.map(Math.abs)));
            return splits.map((v) => `${Number((v / size).toPrecision(6))}${name ? " " + name : ""}`);
          },
        },
      ],
      series: [{}, { scale: "y", paths: () => null, points: { show: false } }],
      hooks: {
        setScale: [(u, key) => { if (key === "x") { fitSoon(u); follow(u); } }],
        draw: [(u) => {
          u.ctx.save();
          u.ctx.beginPath();
          u.ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
          u.ctx.clip();
          const congested = DATA.across.includes(panel) && DATA.congested?.map((at) => u.valToPos(at, "x", true));
          if (congested) {
            const [left, right] = congested;
            u.ctx.fillStyle = css("--doubt-paper");
            u.ctx.fillRect(left, u.bbox.top, right - left, u.bbox.height);
          }
          for (const layer of panel.layers) if (layer.shown && layer.x.length) draw(u, layer);
          if (congested) {
            // Areas hide the shade, so its ends are drawn over them.
            u.ctx.strokeStyle = css("--doubt");
            u.ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
            u.ctx.beginPath();
            for (const x of congested) { u.ctx.moveTo(x, u.bbox.top); u.ctx.lineTo(x, u.bbox.top + u.bbox.height); }
            u.ctx.stroke();
          }
          u.ctx.restore();
        }],
        setCursor: [(u) => answer(u)],
        setSelect: [(u) => select(u)],
      },
    });
    const answer = (u) => {
      const { left, top } = u.cursor;
      const on = left !== null && left >= 0;
      const at = on ? u.posToVal(left, "x") : null;
      for (const [layer, [output]] of outputs) {
        const value = on && continuous(layer) ? valueAt(layer, at) : null;
        output.textContent = value === null ? "" : say(panel.unit, value);
      }
      const own = on && u.over.matches(":hover");
      const found = own ? nearest(u, panel, left, top) : null;
      tip.hidden = !own;
      if (!own) return;
      tip.textContent = found ? describe(panel, found) : seconds(at);
      const width = tip.offsetWidth, room = u.over.clientWidth;
      tip.style.left = `${left + 14 + width > room ? Math.max(0, left - width - 14) : left + 14}px`;
      tip.style.top = `${Math.max(0, Math.min(u.over.clientHeight - tip.offsetHeight, top + 12))}px`;
    };
    const start = extent(panel, ...span);
    const make = () => new uPlot(options(), [span, start], box);
    let u = make();
    const entry = {
      get u() { return u; },
      panel,
      remake() {
        const { min, max } = u.scales.x;
        u.destroy();
        u = make();
        u.over.append(tip);
        u.setScale("x", { min, max });
        paint();
      },
      resize() { u.setSize({ width: Math.max(280, box.clientWidth), height: panel.height }); },
      remove() { u.destroy(); figure.remove(); },
    };
    u.over.append(tip);
    paint();
    figure.addEventListener("keydown", (event) => keys(event, u));
    charts.push(entry);
    return entry;
  }

  // All panels show the same stretch of time.
  function follow(from) {
    // What a panel had still to do when another direction was chosen is about that one.
    if (!from.root.isConnected) return;
    const { min, max } = from.scales.x;
    for (const { u } of charts) {
      const { x } = u.scales;
      if (x.min !== min || x.max !== max) u.setScale("x", { min, max });
    }
    const whole = min === home[0] && max === home[1];
    document.getElementById("span").textContent = `${seconds(min)} to ${seconds(max)}${whole ? "" : " (zoomed)"}`;
  }
  const show = (min, max) => charts[0].u.setScale("x", { min, max });
  const zoom = (factor) => {
    const { min, max } = charts[0].u.scales.x;
    const middle = (min + max) / 2, half = ((max - min) / 2) * factor;
    show(middle - half, middle + half);
  };
  const move = (part) => {
    const { min, max } = charts[0].u.scales.x;
    show(min + (max - min) * part, max + (max - min) * part);
  };
  function keys(event, u) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "INPUT") return;
    const { min, max } = u.scales.x;
    const done = {
      ArrowLeft: () => (event.shiftKey ? point(u, -1) : move(-0.2)),
      ArrowRight: () => (event.shiftKey ? point(u, 1) : move(0.2)),
      "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2),
      0: () => show(...home), Home: () => show(home[0], home[0] + max - min), End: () => show(home[1] - max + min, home[1]),
    }[event.key];
    if (!done) return;
    event.preventDefault();
    done();
  }
  // The crosshair by keyboard, a hundredth of the panel at a time.
  const point = (u, way) => {
    const width = u.over.clientWidth, { left } = u.cursor;
    const from = left === null || left < 0 ? width / 2 : left;
    u.setCursor({ left: Math.max(0, Math.min(width, from + (way * width) / 100)), top: u.over.clientHeight / 2 }, true, true);
  };

  let home = DATA.span;
  const across = document.getElementById("across"), panels = document.getElementById("panels");
  function choose(name) {
    const direction = DATA.directions.find((d) => d.name === name);
    for (const button of document.querySelectorAll("button.choice")) button.setAttribute("aria-pressed", String(button.value === name));
    for (const entry of charts.splice(0)) entry.remove();
    home = direction ? direction.span : DATA.span;
    if (direction) {
      document.getElementById("chosen").textContent = direction.heading;
      document.getElementById("limits").textContent = direction.limits ? `What limited it: ${direction.limits}` : "";
      document.getElementById("kept").textContent = direction.kept < direction.all
        ? `${grouped(direction.kept)} of ${grouped(direction.all)} points are on this page: ${DATA.rule}`
        : "";
      for (const panel of direction.panels) chart(panel, panels, home);
    }
    for (const panel of DATA.across) chart(panel, across, home);
    if (charts.length) show(...home);
  }
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (target.matches("button.choice")) choose(target.value);
    else if (target.dataset.do === "in") zoom(0.5);
    else if (target.dataset.do === "out") zoom(2);
    else if (target.dataset.do === "all") show(...home);
    else if (target.dataset.do === "capture") show(...DATA.span);
  });
  dark.addEventListener("change", () => charts.forEach((entry) => entry.remake()));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth !== width) charts.forEach((entry) => entry.resize());
    width = innerWidth;
  });
  choose(DATA.directions[0]?.name);
})();
