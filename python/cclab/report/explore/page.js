// The runs of a sweep: a scatter over any key and metric, and the time series of the run that is chosen.
"use strict";

(() => {
  const DATA = JSON.parse(document.getElementById("data").textContent);
  const NEAR = 16; // pixels within which a point answers to the pointer
  const SPREAD = 8; // largest over smallest number from which an axis is logarithmic
  const FEW = 4; // values of a key from which runs along it are more than columns of points
  const NONE = 65535;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const byId = (id) => document.getElementById(id);
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  // On dark paper black is white, and every other hue is lighter by a quarter.
  const lighter = (colour) => "#" + [1, 3, 5].map((n) => Math.round(0.75 * parseInt(colour.slice(n, n + 2), 16) + 64).toString(16).padStart(2, "0")).join("");
  const ink = (colour) => (!dark.matches ? colour : colour === "#000000" ? css("--ink") : lighter(colour));
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer;
  const element = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };

  for (const key of DATA.keys) key.places = new Uint16Array(bytes(key.places));
  for (const metric of DATA.metrics) metric.values = new Float32Array(bytes(metric.values));
  const RUNS = DATA.ids.length;

  // Quantities in the unit in which they read best.
  const SCALES = {
    bytes: [[1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
    rate: [[1e9, "Gbit/s"], [1e6, "Mbit/s"], [1e3, "kbit/s"], [1, "bit/s"]],
    time: [[1, "s"], [1e-3, "ms"], [1e-6, "µs"]],
    share: [[0.01, "%"]],
    plain: [[1, ""]],
  };
  const scaleOf = (unit, value) => SCALES[unit].find(([size]) => Math.abs(value) >= size) || SCALES[unit].at(-1);
  const say = (unit, value) => {
    if (!Number.isFinite(value)) return "not measured";
    const [size, name] = scaleOf(unit, value);
    return `${Number((value / size).toPrecision(4))}${name ? " " + name : ""}`;
  };
  const told = (unit, splits) => {
    const [size, name] = scaleOf(unit, Math.max(...splits.map(Math.abs)));
    return splits.map((v) => `${Number((v / size).toPrecision(6))}${name ? " " + name : ""}`);
  };

  // A key or a metric as an axis: where each run lies, and what stands beside it. Runs of one value lie
  // up to a fifth of the least gap to its sides.
  const spread = (i) => (((i * 2654435761) >>> 0) / 2 ** 32 - 0.5) * 0.4;
  function column(name) {
    const metric = DATA.metrics.find((m) => m.name === name);
    if (metric) return { label: metric.label, unit: metric.unit, at: metric.values, ticks: null, say: (i) => say(metric.unit, metric.values[i]) };
    const key = DATA.keys.find((k) => k.key === name);
    const { numbers, values, places } = key;
    const log = numbers && numbers[0] > 0 && numbers.at(-1) / numbers[0] >= SPREAD;
    const where = numbers ? numbers.map((n) => (log ? Math.log10(n) : n)) : values.map((_, n) => n);
    const gap = Math.min(...where.slice(1).map((v, n) => v - where[n]), (where.at(-1) - where[0]) / 12 || 1);
    const at = Float64Array.from(places, (p, i) => where[p] + spread(i) * gap);
    return { label: key.label, at, ticks: where.map((v, n) => [v, values[n]]), say: (i) => values[places[i]] };
  }

  const option = (value, label) => element("option", { value }, label);
  const groups = () => [
    DATA.keys.length ? element("optgroup", { label: "swept keys" }, ...DATA.keys.map((k) => option(k.key, k.label))) : "",
    element("optgroup", { label: "metrics" }, ...DATA.metrics.map((m) => option(m.name, m.label))),
  ];
  const selects = { x: byId("x"), y: byId("y"), colour: byId("colour") };
  selects.x.append(...groups());
  selects.y.append(...groups());
  selects.colour.append(option("", "–"), ...DATA.keys.map((k) => option(k.key, k.label)));
  const has = (name) => DATA.metrics.some((m) => m.name === name && new Set(m.values).size > 1);
  const variants = DATA.keys.find((k) => k.variants);
  // The page opens along the number that was swept over most values; where those are few, and would only
  // be columns of points, with delay against throughput.
  const metric = (end) => DATA.metrics.find((m) => m.name.endsWith(end) && has(m.name))?.name;
  const counted = DATA.keys.filter((k) => k.numbers).sort((a, b) => b.values.length - a.values.length);
  const first = counted[0] || DATA.keys.find((k) => k !== variants) || DATA.keys[0];
  // After a warm-up, what happened after it.
  const either = (stem, name) => metric(`${stem}window_${name}`) || metric(`${stem}${name}`);
  const delay = either("bottleneck.", "queue_delay_mean_s"), goodput = either(".", "goodput_bps");
  const against = delay && goodput && !(counted[0]?.values.length >= FEW);
  selects.x.value = against ? delay : first ? first.key : DATA.metrics[0].name;
  selects.y.value = (against ? goodput : ["window_jain", "jain", "bottleneck.utilization"].find(has)) || DATA.metrics.find((m) => m.name.endsWith(".goodput_bps"))?.name || DATA.metrics[0].name;
  selects.colour.value = (variants || DATA.keys.find((k) => against || k !== first) || { key: "" }).key;

  const filters = new Map();
  for (const key of DATA.keys) {
    const select = element("select", { multiple: "", size: String(Math.min(5, key.values.length)), "data-key": key.key });
    select.append(...key.values.map((value, n) => option(String(n), value)));
    byId("filters").append(element("label", {}, key.label, select));
    filters.set(key, select);
    select.addEventListener("change", () => remake());
  }
  if (!DATA.keys.length) byId("filtering").remove();

  const MARKS = {
    o: (c, x, y, r) => { c.moveTo(x + r, y); c.arc(x, y, r, 0, 7); },
    s: (c, x, y, r) => c.rect(x - r, y - r, 2 * r, 2 * r),
    D: (c, x, y, r) => { c.moveTo(x - 1.2 * r, y); c.lineTo(x, y - 1.2 * r); c.lineTo(x + 1.2 * r, y); c.lineTo(x, y + 1.2 * r); c.closePath(); },
    "^": (c, x, y, r) => { c.moveTo(x - r, y + r); c.lineTo(x, y - r); c.lineTo(x + r, y + r); c.closePath(); },
    v: (c, x, y, r) => { c.moveTo(x - r, y - r); c.lineTo(x, y + r); c.lineTo(x + r, y - r); c.closePath(); },
    P: (c, x, y, r) => { const t = r / 2.5; c.rect(x - r, y - t, 2 * r, 2 * t); c.rect(x - t, y - r, 2 * t, 2 * r); },
    X: (c, x, y, r) => { c.moveTo(x - r, y - r / 2); c.lineTo(x - r / 2, y - r); c.lineTo(x + r, y + r / 2); c.lineTo(x + r / 2, y + r); c.closePath(); c.moveTo(x + r / 2, y - r); c.lineTo(x + r, y - r / 2); c.lineTo(x - r / 2, y + r); c.lineTo(x - r, y + r / 2); c.closePath(); },
  };
  const PLAIN = ["#0072B2", "o"];
  let colourKey = null;
  const lookOf = (i) => (colourKey ? colourKey.looks[colourKey.places[i]] : PLAIN);

  let X, Y, visible = [], plot = null, pointed = -1, opened = -1;
  const seriesOf = (i) => DATA.series[String(i)];

  function choose() {
    X = column(selects.x.value);
    Y = column(selects.y.value);
    colourKey = DATA.keys.find((k) => k.key === selects.colour.value) || null;
    const wanted = [...filters].map(([key, select]) => [key, new Set([...select.selectedOptions].map((o) => Number(o.value)))]).filter(([, set]) => set.size);
    visible = [];
    for (let i = 0; i < RUNS; i++)
      if (Number.isFinite(X.at[i]) && Number.isFinite(Y.at[i]) && wanted.every(([key, set]) => set.has(key.places[i]))) visible.push(i);
    visible.sort((a, b) => X.at[a] - X.at[b] || Y.at[a] - Y.at[b] || a - b);
    byId("count").textContent = `${visible.length.toLocaleString("en-US")} of ${RUNS.toLocaleString("en-US")} runs`;
    paintLegend();
  }

  function paintLegend() {
    const legend = byId("legend");
    legend.replaceChildren();
    if (!colourKey) return;
    const used = new Set(visible.map((i) => colourKey.places[i]));
    legend.append(`${colourKey.label}:`);
    for (const [place, value] of colourKey.values.entries()) {
      if (!used.has(place) || place >= 40) continue;
      const canvas = element("canvas", { width: "28", height: "28", "aria-hidden": "true" });
      const ctx = canvas.getContext("2d"), [colour, marker] = colourKey.looks[place];
      ctx.fillStyle = ink(colour);
      ctx.beginPath();
      MARKS[marker](ctx, 14, 14, 8);
      ctx.fill();
      legend.append(element("span", {}, canvas, value));
    }
  }

  const figure = byId("scatter"), box = figure.querySelector(".plot"), tip = figure.querySelector(".tip");
  const range = (column) => {
    let least = Infinity, most = -Infinity;
    for (const i of visible) { const v = column.at[i]; if (v < least) least = v; if (v > most) most = v; }
    if (least > most) return [0, 1];
    const room = (most - least || Math.abs(most) || 1) * 0.06;
    return [least - room, most + room];
  };
  const axis = () => ({ stroke: css("--muted"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule"), width: 1 } });
  // The values of a key that stay apart by so many pixels.
  const apart = (column, pixels) => (u, side, min, max) => {
    const length = (side === 0 ? u.bbox.width : u.bbox.height) / devicePixelRatio;
    const kept = [];
    for (const [at] of column.ticks)
      if (at >= min && at <= max && (!kept.length || ((at - kept.at(-1)) / (max - min)) * length >= pixels)) kept.push(at);
    return kept;
  };
  const axisOf = (column, side) => {
    const more = side === 0 ? { size: 30, space: 80 } : { size: 84, space: 32 };
    if (!column.ticks) return { ...axis(), ...more, label: column.label, labelSize: 20, values: (u, splits) => told(column.unit, splits) };
    const names = new Map(column.ticks);
    return { ...axis(), ...more, label: column.label, labelSize: 20, splits: apart(column, side === 0 ? 64 : 18), filter: (u, splits) => splits, values: (u, splits) => splits.map((v) => names.get(v) ?? "") };
  };
  const height = () => Math.round(Math.max(260, Math.min(460, innerHeight * 0.6)));

  function drawPoints(u) {
    const { ctx } = u, ratio = devicePixelRatio, r = (visible.length > 3000 ? 2 : 3.6) * ratio;
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.globalAlpha = 0.75;
    ctx.lineWidth = 1.2 * ratio;
    const order = [...visible].sort((a, b) => a - b);
    for (const i of order) {
      const [colour, marker] = lookOf(i);
      ctx.beginPath();
      MARKS[marker](ctx, u.valToPos(X.at[i], "x", true), u.valToPos(Y.at[i], "y", true), r);
      if (seriesOf(i)) { ctx.fillStyle = ink(colour); ctx.fill(); } else { ctx.strokeStyle = ink(colour); ctx.stroke(); }
    }
    ctx.globalAlpha = 1;
    for (const [i, dash] of [[opened, []], [pointed, [3, 2]]]) {
      if (i < 0 || !visible.includes(i)) continue;
      ctx.strokeStyle = css("--ink");
      ctx.setLineDash(dash.map((d) => d * ratio));
      ctx.lineWidth = 1.8 * ratio;
      ctx.beginPath();
      ctx.arc(u.valToPos(X.at[i], "x", true), u.valToPos(Y.at[i], "y", true), 8 * ratio, 0, 7);
      ctx.stroke();
    }
    ctx.restore();
  }

  function nearest(u, left, top) {
    let best = -1, least = NEAR ** 2;
    for (const i of visible) {
      const dx = u.valToPos(X.at[i], "x") - left, dy = u.valToPos(Y.at[i], "y") - top;
      const distance = dx * dx + dy * dy;
      if (distance <= least) { least = distance; best = i; }
    }
    return best;
  }

  const params = (i) => DATA.keys.map((k) => `${k.label} = ${k.values[k.places[i]]}`).join(", ") || "all runs";
  const command = (i) => `${DATA.command} ${DATA.ids[i]}`;
  const inWords = (i) => `${params(i)}, seed ${DATA.seeds[i]}\n${Y.label}: ${Y.say(i)}\n${X.label}: ${X.say(i)}\nrun ${DATA.ids[i]}\n${command(i)}`;

  function point(i) {
    if (pointed === i) return;
    pointed = i;
    tip.hidden = i < 0;
    if (i >= 0) {
      tip.textContent = inWords(i);
      const left = box.offsetLeft + plot.over.offsetLeft + plot.valToPos(X.at[i], "x"), top = box.offsetTop + plot.over.offsetTop + plot.valToPos(Y.at[i], "y");
      tip.style.left = `${Math.max(4, Math.min(figure.clientWidth - tip.offsetWidth - 4, left + 14 + tip.offsetWidth > figure.clientWidth ? left - tip.offsetWidth - 14 : left + 14))}px`;
      tip.style.top = `${Math.max(4, Math.min(figure.clientHeight - tip.offsetHeight - 4, top + 12))}px`;
    }
    plot.redraw(false);
  }

  function remake() {
    choose();
    if (pointed >= 0) { pointed = -1; tip.hidden = true; }
    plot?.destroy();
    const x = range(X), y = range(Y);
    plot = new uPlot({
      width: Math.max(280, box.clientWidth),
      height: height(),
      legend: { show: false },
      cursor: { drag: { x: true, y: true, uni: 24 }, points: { show: false } },
      scales: { x: { time: false, range: (u, min, max) => [min, max > min ? max : min + 1e-9] }, y: { range: (u, min, max) => [min, max > min ? max : min + 1e-9] } },
      axes: [axisOf(X, 0), axisOf(Y, 1)],
      series: [{}, { paths: () => null, points: { show: false } }],
      hooks: {
        draw: [drawPoints],
        setCursor: [(u) => { const { left, top } = u.cursor; if (u.over.matches(":hover") && left >= 0) point(nearest(u, left, top)); }],
      },
    }, [x, y], box);
    let down = null;
    plot.over.addEventListener("mousedown", (event) => { down = [event.clientX, event.clientY]; });
    plot.over.addEventListener("mouseleave", () => point(-1));
    plot.over.addEventListener("click", (event) => {
      if (down && Math.hypot(event.clientX - down[0], event.clientY - down[1]) > 4) return;
      const at = plot.over.getBoundingClientRect();
      const found = nearest(plot, event.clientX - at.left, event.clientY - at.top);
      if (found >= 0) open(found);
    });
  }

  // The run that is chosen: what it was, and its flows over time.
  const charts = [];
  const PANELS = [["throughput", "Throughput", "rate"], ["cwnd", "Congestion window (segments)", "plain"], ["srtt", "Smoothed RTT", "time"]];
  const unpacked = ({ unit, data }) => Array.from(new Uint16Array(bytes(data)), (v) => (v === NONE ? null : v * unit));

  function chart(title, name, unit, times, lines) {
    const host = element("figure", { class: "chart", "data-panel": name });
    const inside = element("div", { class: "plot" });
    host.append(element("h3", {}, title), inside);
    byId("series").append(host);
    const make = () => new uPlot({
      width: Math.max(280, inside.clientWidth),
      height: 170,
      cursor: { sync: { key: "run", scales: ["x", null] }, drag: { x: true, y: false, setScale: false }, y: false },
      scales: { x: { time: false }, y: { range: (u, min, max) => [0, max > 0 ? max * 1.06 : 1] } },
      axes: [
        { ...axis(), values: (u, splits) => splits.map((v) => `${Number(v.toFixed(6))} s`), size: 34, space: 80 },
        { ...axis(), values: (u, splits) => told(unit, splits), size: 84, space: 30 },
      ],
      series: [
        { label: "time", value: (u, v) => (v === null ? "" : `${v.toFixed(3)} s`) },
        ...lines.map((line) => ({ label: line.label, stroke: ink(line.colour), width: 1.5, dash: line.dash, fill: line.fill, points: { show: false }, value: (u, v) => (v === null ? "" : say(unit, v)) })),
      ],
      hooks: {
        setSelect: [(u) => {
          const { left, width } = u.select;
          if (width > 4) { const [a, b] = [u.posToVal(left, "x"), u.posToVal(left + width, "x")]; for (const entry of charts) entry.u.setScale("x", { min: a, max: b }); }
          u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        }],
      },
    }, [times, ...lines.map((line) => line.values)], inside);
    const entry = { u: make(), remake() { entry.u.destroy(); entry.u = make(); listen(); }, resize() { entry.u.setSize({ width: Math.max(280, inside.clientWidth), height: 170 }); } };
    const listen = () => entry.u.over.addEventListener("dblclick", () => { for (const { u } of charts) u.setScale("x", { min: times[0], max: times.at(-1) }); });
    listen();
    charts.push(entry);
  }

  function open(i) {
    opened = i;
    for (const entry of charts.splice(0)) entry.u.destroy();
    byId("series").replaceChildren();
    byId("run").textContent = `${params(i)}, seed ${DATA.seeds[i]}`;
    byId("pointed").textContent = `Below: ${params(i)}, seed ${DATA.seeds[i]}`;
    const copy = element("button", { type: "button" }, "Copy");
    copy.addEventListener("click", () => navigator.clipboard?.writeText(command(i)).then(() => { copy.textContent = "Copied"; }, () => {}));
    const rows = DATA.metrics.map((m) => element("tr", {}, element("td", {}, m.label), element("td", { class: "number" }, say(m.unit, m.values[i]))));
    const numbers = element("details", {}, element("summary", {}, "Its metrics"), element("table", {}, element("tbody", {}, ...rows)));
    const own = seriesOf(i);
    byId("about").replaceChildren(
      element("p", { class: "facts" }, `Run ${DATA.ids[i]}. This repeats it; give the path of the study's file, and the --set of the sweep if it had any:`),
      element("div", { class: "command" }, element("code", {}, command(i)), copy),
      numbers,
      ...(own ? [] : [element("p", {}, "This page does not have its time series: none were recorded, or they would make it too large. This puts them in: "), element("div", { class: "command" }, element("code", {}, `cclab report DIR --series ${DATA.ids[i]}`))]),
    );
    byId("how").hidden = !own;
    location.hash = DATA.ids[i];
    if (own) {
      const count = unpacked(own.flows[0]?.throughput ?? own.queue).length;
      const times = Array.from({ length: count }, (_, n) => (n + 1) * own.step);
      const DASHES = [[], [6, 3], [2, 3], [8, 3, 2, 3]];
      for (const [name, title, unit] of own.flows.length ? PANELS : [])
        chart(title, name, unit, times, own.flows.map((flow, n) => ({ label: flow.label, colour: flow.colour, dash: DASHES[n % DASHES.length], values: unpacked(flow[name]) })));
      if (own.queue) chart(own.delay ? "Queue delay at the bottleneck" : "Backlog of the bottleneck", "queue", own.delay ? "time" : "bytes", times, [{ label: "queue", colour: "#6f8fb3", fill: "rgb(111 143 179 / .3)", values: unpacked(own.queue) }]);
    }
    plot.redraw(false);
  }

  figure.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || !visible.length) return;
    const at = visible.indexOf(pointed >= 0 ? pointed : opened), last = visible.length - 1;
    const go = (place) => { point(visible[Math.max(0, Math.min(last, place))]); byId("pointed").textContent = `${params(pointed)}, seed ${DATA.seeds[pointed]}. ${Y.label}: ${Y.say(pointed)}`; };
    const done = {
      ArrowRight: () => go(at + 1), ArrowLeft: () => go(at < 0 ? last : at - 1),
      Home: () => go(0), End: () => go(last), Enter: () => { if (pointed >= 0) open(pointed); },
      Escape: () => point(-1), 0: () => remake(),
    }[event.key];
    if (!done) return;
    event.preventDefault();
    done();
  });
  for (const select of Object.values(selects)) select.addEventListener("change", remake);
  byId("all").addEventListener("click", () => {
    for (const select of filters.values()) for (const o of select.options) o.selected = false;
    remake();
  });
  dark.addEventListener("change", () => { remake(); charts.forEach((entry) => entry.remake()); });
  let width = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === width) return;
    width = innerWidth;
    plot.setSize({ width: Math.max(280, box.clientWidth), height: height() });
    charts.forEach((entry) => entry.resize());
  });
  remake();
  const asked = DATA.ids.indexOf(location.hash.slice(1));
  if (asked >= 0) open(asked);
})();
