// The page: reads texts, draws, listens to the mouse and the keyboard. All estimates come from `ebformer`.
"use strict";
(() => {
  const by = id => document.getElementById(id), all = query => [...document.querySelectorAll(query)];
  const KINDS = {
    poisson: { x: "count", known: "exposure", knowns: "Exposure", thetas: "rates", methods: ["priorformer", "gamma", "npmle", "robbins"], seen: (x, k) => k === 1 ? `${x}` : `${x} in ${k}` },
    binomial: { x: "count", known: "trials", knowns: "Trials", thetas: "probabilities", methods: ["priorformer", "beta", "npmle"], seen: (x, k) => `${x} of ${k}` },
    normal: { x: "effect", known: "se", knowns: "Standard error", thetas: "true effects", methods: ["priorformer", "normal", "npmle"], seen: (x, k) => `${x} ± ${k}` },
  };
  const EXAMPLES = {
    poisson: "team,goals,games\nAnn,14,20\nBen,0,4\nCem,3,19\nDoa,9,21\nEli,1,2\nFay,6,20\nGus,2,18\nHal,11,20\nIda,4,7\nJon,0,1\nKim,5,20\nLea,8,19\nMax,1,12\nNia,7,16\nOli,3,5\nPia,2,20\n",
    binomial: "batter,hits,at_bats\nClemente,18,45\nRobinson,17,45\nHoward,16,45\nJohnstone,15,45\nBerry,14,45\nSpencer,14,45\nKessinger,13,45\nAlvarado,12,45\nSanto,11,45\nSwoboda,11,45\nUnser,10,45\nWilliams,10,45\nScott,10,45\nPetrocelli,10,45\nRodriguez,10,45\nCampaneris,9,45\nMunson,8,45\nAlvis,7,45\n",
    normal: "school,effect,error\nA,28,15\nB,8,10\nC,-3,16\nD,7,11\nE,-1,9\nF,1,11\nG,18,10\nH,12,18\n",
  };
  const BARS = 48;
  const state = { kind: "poisson", method: "priorformer", level: 0.9, from: "draw", bars: null, at: 8, seed: 1, opened: null, name: "the table", shown: null };
  const show = (element, visible) => { element.hidden = !visible; };
  const number = x => !Number.isFinite(x) ? "" : Math.abs(x) >= 1e5 || (x !== 0 && Math.abs(x) < 1e-4) ? x.toExponential(2) : String(Number(x.toPrecision(x >= 100 ? 4 : 3)));
  const whole = n => n.toLocaleString("en");

  // A prior that is drawn, and units drawn from it: always the same uniform numbers, so that a drag moves units steadily.
  const domain = () => state.kind === "poisson" ? [0, 12] : state.kind === "binomial" ? [0, 1] : [-5, 5];
  const usual = kind => Array.from({ length: BARS }, (_, i) => {
    const t = (i + 0.5) / BARS, hump = (c, w, h) => h * Math.exp(-0.5 * ((t - c) / w) ** 2);
    return kind === "poisson" ? hump(0.12, 0.07, 1) + hump(0.55, 0.06, 0.45) : kind === "binomial" ? hump(0.25, 0.06, 1) + hump(0.6, 0.05, 0.3) : hump(0.5, 0.02, 1) + hump(0.68, 0.06, 0.3);
  });
  const uniform = seed => () => { seed = seed + 0x6d2b79f5 | 0; let t = Math.imul(seed ^ seed >>> 15, 1 | seed); t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t; return ((t ^ t >>> 14) >>> 0) / 4294967296; };
  const drawn_known = () => { const value = Number(by("known").value); return state.kind === "poisson" ? Number((2 ** value).toPrecision(2)) : state.kind === "binomial" ? Math.round(10 * 2 ** (value * 1.5)) : Number((2 ** (1 - value)).toPrecision(2)); };
  function sampled() {
    const [low, high] = domain(), n = Math.round(10 ** Number(by("units").value)), known = drawn_known(), random = uniform(state.seed);
    const total = state.bars.reduce((a, b) => a + b, 0), below = [];
    state.bars.reduce((sum, bar, i) => below[i] = sum + bar / total, 0);
    const x = [], about = [];
    for (let i = 0; i < n; i++) {
      const [u, v, w, z] = [random(), random(), random(), random()], bar = Math.max(0, below.findIndex(each => u < each)), theta = low + (high - low) * ((bar < 0 ? BARS - 1 : bar) + v) / BARS;
      x.push(state.kind === "normal" ? (theta + known * Math.sqrt(-2 * Math.log(1 - w)) * Math.cos(2 * Math.PI * z)).toFixed(4) : String(state.kind === "poisson" ? events(theta * known, w) : successes(known, theta, w)));
      about.push(String(known));
    }
    return { header: ["x", "known"], entries: [x, about] };
  }
  const events = (mean, u) => { let p = Math.exp(-mean), sum = p, k = 0; while (u > sum && k < 1e4) { k++; p *= mean / k; sum += p; } return k; };
  const successes = (m, p, u) => { if (p <= 0) return 0; if (p >= 1) return m; let q = (1 - p) ** m, sum = q, k = 0; while (u > sum && k < m) { q *= (m - k) / (k + 1) * p / (1 - p); sum += q; k++; } return k; };

  // Pictures.
  const colour = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  function canvas(id) {
    const made = by(id), box = made.getBoundingClientRect(), scale = window.devicePixelRatio || 1;
    made.width = Math.round(box.width * scale); made.height = Math.round(box.height * scale);
    const pen = made.getContext("2d");
    pen.scale(scale, scale);
    pen.font = "12px system-ui, sans-serif";
    return [pen, box.width, box.height];
  }
  function draw_bars() {
    const [pen, width, height] = canvas("drawing"), step = width / BARS, top = Math.max(...state.bars, 1), [low, high] = domain(), base = height - 20;
    pen.fillStyle = colour("soft");
    state.bars.forEach((bar, i) => { const h = bar / top * (base - 8); pen.fillRect(i * step + 1, base - h, step - 2, h); });
    if (document.activeElement === by("drawing")) { pen.strokeStyle = colour("here"); pen.lineWidth = 2; pen.strokeRect(state.at * step, 2, step, base - 2); }
    pen.fillStyle = colour("muted");
    for (let i = 0; i <= 4; i++) { pen.textAlign = i === 0 ? "left" : i === 4 ? "right" : "center"; pen.fillText(number(low + (high - low) * i / 4), i === 0 ? 3 : i === 4 ? width - 3 : width * i / 4, height - 6); }
  }
  function set_bar(at, height) {
    state.bars[at] = Math.max(0, Math.min(1, height));
    if (!state.bars.some(bar => bar > 0)) state.bars[at] = 0.02;
  }
  const masses = (prior, low, high, bins) => {
    const found = new Float64Array(bins), put = (theta, mass) => { const i = Math.floor((theta - low) / (high - low) * bins); if (i >= 0 && i < bins) found[i] += mass; else if (i === bins) found[bins - 1] += mass; };
    if (prior && prior.kind === "atoms") prior.theta.forEach((theta, i) => put(theta, prior.weight[i]));
    const spread = (from, to, mass) => { // evenly over the bins between
      const a = (from - low) / (high - low) * bins, b = (to - low) / (high - low) * bins;
      if (!(b > a)) return put(from, mass);
      for (let i = Math.max(0, Math.floor(a)); i < Math.min(bins, b); i++) found[i] += mass * Math.max(0, Math.min(b, i + 1) - Math.max(a, i)) / (b - a);
    };
    if (prior && prior.kind === "cells") prior.weight.forEach((mass, i) => spread(prior.edges[i], prior.edges[i + 1], mass));
    if (prior && prior.kind === "curve") for (let i = 1; i < prior.theta.length; i++) spread(prior.theta[i - 1], prior.theta[i], prior.above[i - 1] - prior.above[i]);
    return found;
  };
  function draw_shrinkage() {
    const { answers, prior } = state.shown, [pen, width, height] = canvas("shrinkage"), { raw, estimate } = answers, n = raw.length;
    const sorted = Float64Array.from(raw).sort();
    let low = sorted[Math.floor(0.004 * (n - 1))], high = sorted[Math.ceil(0.996 * (n - 1))];
    for (const each of estimate) { if (each < low) low = each; if (each > high) high = each; }
    if (state.from === "draw") { low = Math.min(low, domain()[0]); high = Math.max(high, domain()[1]); }
    if (!(high > low)) { low -= 1; high += 1; }
    const edge = 12, at = theta => edge + (Math.max(low, Math.min(high, theta)) - low) / (high - low) * (width - 2 * edge);
    const rows = { raw: 26, estimate: height * 0.56, base: height - 24 };
    pen.strokeStyle = colour("line"); pen.fillStyle = colour("muted");
    for (let i = 0; i <= 5; i++) { const theta = low + (high - low) * i / 5; pen.beginPath(); pen.moveTo(at(theta), rows.raw); pen.lineTo(at(theta), rows.base); pen.stroke(); pen.textAlign = i === 0 ? "left" : i === 5 ? "right" : "center"; pen.fillText(number(theta), at(theta), height - 6); }
    // The prior, as the share of units in each of many bins; the one that was drawn as an outline.
    const bins = Math.min(120, Math.round(width / 6)), found = masses(prior, low, high, bins);
    let truth = null;
    if (state.from === "draw") {
      const [a, b] = domain(), total = state.bars.reduce((x, y) => x + y, 0);
      truth = masses({ kind: "cells", edges: Array.from({ length: BARS + 1 }, (_, i) => a + (b - a) * i / BARS), weight: state.bars.map(bar => bar / total) }, low, high, bins);
    }
    const room = rows.base - rows.estimate - 22, tall = Math.max(...found, ...(truth || [0])), top = truth ? Math.min(tall, 2.2 * Math.max(...truth)) : tall, step = (width - 2 * edge) / bins;
    pen.fillStyle = colour("soft");
    found.forEach((mass, i) => { const h = Math.min(1, mass / top) * room; pen.fillRect(edge + i * step, rows.base - h, Math.max(1, step - 1), h); });
    if (truth) {
      pen.strokeStyle = colour("here"); pen.lineWidth = 1.6; pen.setLineDash([4, 3]); pen.beginPath();
      truth.forEach((mass, i) => { const y = rows.base - Math.min(1, mass / top) * room; pen.lineTo(edge + i * step, y); pen.lineTo(edge + (i + 1) * step, y); });
      pen.stroke(); pen.setLineDash([]);
    }
    // Units: from what was seen, above, to the estimate, below.
    const stride = Math.max(1, Math.floor(n / 500));
    pen.strokeStyle = colour("grey"); pen.globalAlpha = Math.max(0.12, Math.min(0.6, 60 / (n / stride))); pen.lineWidth = 1; pen.beginPath();
    for (let i = 0; i < n; i += stride) { pen.moveTo(at(raw[i]), rows.raw); pen.lineTo(at(estimate[i]), rows.estimate); }
    pen.stroke(); pen.globalAlpha = 1;
    pen.lineWidth = 1.4; pen.strokeStyle = colour("raw"); pen.fillStyle = colour("accent");
    for (let i = 0; i < n; i += stride) { pen.beginPath(); pen.arc(at(raw[i]), rows.raw, 3, 0, 7); pen.stroke(); }
    pen.globalAlpha = 0.7;
    for (let i = 0; i < n; i += stride) { pen.beginPath(); pen.arc(at(estimate[i]), rows.estimate, 3.2, 0, 7); pen.fill(); }
    pen.globalAlpha = 1;
  }

  // Answers.
  function named() {
    const words = KINDS[state.kind];
    if (state.from === "draw") return { [words.x]: "x", [words.known]: "known" };
    const about = by("about").value, given = { [words.x]: by("x").value };
    if (about === "") { const value = Number(by("constant").value.trim()); if (!(state.kind === "poisson" && value === 1)) given[words.known] = by("constant").value.trim() === "" ? NaN : value; } else given[words.known] = about;
    return given;
  }
  function refuse(error) {
    show(by("refused"), true);
    by("refused").textContent = error.refused ? error.message : `This should not have happened: ${error.message}`;
    show(by("answers"), false);
    if (!error.refused) console.error(error);
  }
  let waiting = false;
  function soon() { if (!waiting) { waiting = true; setTimeout(() => requestAnimationFrame(() => { waiting = false; answer(); })); } }
  function answer() {
    if (!state.ready) return;
    if (state.from === "table" && !state.opened) { show(by("answers"), false); return; }
    try {
      const begun = performance.now();
      let from = state.opened;
      if (state.from === "draw") { from = sampled(); from.table = ebformer.table(from.header, from.entries); }
      const found = ebformer.answered(from.table, named(), state.method, state.level);
      state.shown = { ...found, from, method: state.method, took: performance.now() - begun };
      show(by("refused"), false);
      show(by("answers"), true);
      tell();
    } catch (error) { refuse(error); }
  }
  function tell() {
    const { answers, remarks, pooled } = state.shown, n = answers.raw.length, words = KINDS[state.kind];
    const range = values => { let low = Infinity, high = -Infinity; for (const each of values) { if (each < low) low = each; if (each > high) high = each; } return `${number(low)} to ${number(high)}`; };
    by("said").textContent = `${whole(n)} ${n === 1 ? "unit" : "units"} around ${number(pooled)}: what was seen goes from ${range(answers.raw)}, the estimated ${words.thetas} of ${state.method} from ${range(answers.estimate)}.`;
    by("remarks").replaceChildren(...remarks.map(text => Object.assign(document.createElement("li"), { textContent: text })));
    show(by("remarks"), remarks.length > 0 && state.from === "table");
    show(by("true-key"), state.from === "draw");
    by("shrinkage").setAttribute("aria-label", by("said").textContent + " Each line leads from what a unit showed to its estimate; below is the prior.");
    draw_shrinkage();
    leaders();
  }
  const SVG = "http://www.w3.org/2000/svg", drawn = (name, attributes) => { const made = document.createElementNS(SVG, name); for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value); return made; };
  function leaders() {
    const { answers, from } = state.shown, { raw, estimate, lower, upper, x, known } = answers, n = raw.length, side = Number(by("end").value), label = by("label").value;
    const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => side * (estimate[b] - estimate[a]) || a - b).slice(0, 20);
    const names = state.from === "table" && label !== "" ? from.entries[Number(label)] : null;
    let low = Infinity, high = -Infinity;
    for (const i of order) for (const each of [raw[i], estimate[i], lower && lower[i], upper && upper[i]]) if (each !== undefined) { low = Math.min(low, each); high = Math.max(high, each); }
    const at = theta => 6 + (high > low ? (theta - low) / (high - low) : 0.5) * 132;
    by("leaders").replaceChildren(...order.map(i => {
      const row = document.createElement("tr"), cell = (text, kind, tag = "td") => { const made = document.createElement(tag); made.textContent = text; made.className = kind; row.append(made); return made; };
      cell(names ? names[i] : `Unit ${i + 1}`, "", "th").setAttribute("scope", "row");
      cell(KINDS[state.kind].seen(number(x[i]), number(known[i]) === "1" ? 1 : number(known[i])), "number");
      cell(number(raw[i]), "number");
      cell(number(estimate[i]), "number strong");
      cell(lower ? `${number(lower[i])} to ${number(upper[i])}` : "none", "number");
      const picture = drawn("svg", { viewBox: "0 0 144 18", "aria-hidden": "true" });
      if (lower) picture.append(drawn("line", { class: "interval", x1: at(lower[i]), x2: at(upper[i]), y1: 9, y2: 9 }));
      picture.append(drawn("circle", { class: "raw", cx: at(raw[i]), cy: 9, r: 3.4 }), drawn("circle", { class: "estimate", cx: at(estimate[i]), cy: 9, r: 3.6 }));
      cell("", "").append(picture);
      return row;
    }));
  }
  const quoted = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  function answers_as_text() {
    const { answers, from } = state.shown, new_ = ["estimate", "lower", "upper"].filter(name => answers[name]);
    const lines = [[...from.header, ...new_].map(quoted).join(",")];
    for (let i = 0; i < answers.raw.length; i++) lines.push([...from.entries.map(column => quoted(column[i])), ...new_.map(name => String(answers[name][i]))].join(","));
    return lines.join("\n") + "\n";
  }

  // Controls.
  function set_methods() {
    const methods = KINDS[state.kind].methods;
    if (!methods.includes(state.method)) state.method = ["gamma", "beta", "normal"].includes(state.method) ? methods[1] : "priorformer";
    by("methods").replaceChildren(...methods.map(name => {
      const made = document.createElement("label"), input = Object.assign(document.createElement("input"), { type: "radio", name: "method", value: name, checked: name === state.method });
      input.addEventListener("change", () => { state.method = name; soon(); });
      made.append(input, Object.assign(document.createElement("span"), { textContent: name === "robbins" ? "Robbins" : name === "npmle" ? "NPMLE" : name }));
      return made;
    }));
  }
  function set_kind(kind) {
    state.kind = kind;
    state.bars = usual(kind);
    for (const each of all("input[name=kind]")) each.checked = each.value === kind;
    for (const each of all(".thetas")) each.textContent = KINDS[kind].thetas;
    by("known-word").textContent = by("about-word").textContent = KINDS[kind].knowns;
    by("x-word").textContent = kind === "poisson" ? "Count" : kind === "binomial" ? "Successes" : "Effect";
    set_methods(); set_ranges(); guess();
    if (!by("draw").hidden) draw_bars();
    soon();
  }
  function set_ranges() {
    by("units").nextElementSibling.textContent = whole(Math.round(10 ** Number(by("units").value)));
    by("known").nextElementSibling.textContent = number(drawn_known());
  }
  const options = (select, entries, chosen) => { select.replaceChildren(...entries.map(([value, text]) => Object.assign(document.createElement("option"), { value, textContent: text, selected: value === chosen }))); };
  // Which columns are which, by their entries and by what they are called; the reader may say otherwise.
  function guess() {
    show(by("columns"), !!state.opened);
    if (!state.opened) return;
    const { table, entries } = state.opened, names = table.names, numeric = names.filter((_, i) => entries[i].slice(0, 200).filter(text => text.trim() !== "" && !Number.isNaN(Number(text.replace(",", ".")))).length > 0.5 * Math.min(200, entries[i].length));
    const words = state.kind === "poisson" ? /expos|games|years|minutes|time|popul|expected|births|hours/i : state.kind === "binomial" ? /trial|tries|at.?bats|attempt|shots|visits|impress|^n$|total|^m$/i : /^se$|error|std|sd|sigma/i;
    const about = numeric.find(name => words.test(name)) || (state.kind === "poisson" && numeric.length < 2 ? "" : state.kind === "poisson" ? "" : numeric[1] || "");
    const x = numeric.find(name => name !== about && !/(^|_)(id|year|code)$/i.test(name)) || numeric[0] || names[0];
    options(by("x"), names.map(name => [name, name]), x);
    options(by("about"), [["", "one number for all"], ...names.map(name => [name, name])], about);
    const text = names.findIndex(name => !numeric.includes(name));
    options(by("label"), [["", "row number"], ...names.map((name, i) => [String(i), name])], text < 0 ? "" : String(text));
    show(by("constant-label"), by("about").value === "");
  }
  function open(bytes, name) {
    try {
      const from = ebformer.opened(bytes, name);
      state.opened = from; state.name = name;
      by("called").textContent = `${name}: ${whole(from.entries[0].length)} rows, ${from.header.length} columns`;
      guess();
      soon();
    } catch (error) { state.opened = null; by("called").textContent = ""; guess(); refuse(error); }
  }
  async function open_file(file) {
    let bytes = new Uint8Array(await file.arrayBuffer());
    if (bytes[0] === 0x1f && bytes[1] === 0x8b) bytes = new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer());
    by("text").value = "";
    open(bytes, file.name);
  }
  function choose(tab) {
    state.from = tab;
    for (const each of ["draw", "table"]) { const on = each === tab; by(`tab-${each}`).setAttribute("aria-selected", on); by(`tab-${each}`).tabIndex = on ? 0 : -1; show(by(each), on); }
    show(by("refused"), false);
    if (tab === "draw") draw_bars();
    soon();
  }
  for (const each of ["draw", "table"]) {
    by(`tab-${each}`).addEventListener("click", () => choose(each));
    by(`tab-${each}`).addEventListener("keydown", event => { if (event.key === "ArrowRight" || event.key === "ArrowLeft") { const other = each === "draw" ? "table" : "draw"; choose(other); by(`tab-${other}`).focus(); } });
  }
  for (const each of all("input[name=kind]")) each.addEventListener("change", () => set_kind(each.value));
  for (const id of ["units", "known"]) by(id).addEventListener("input", () => { set_ranges(); soon(); });
  by("again").addEventListener("click", () => { state.seed++; soon(); });
  by("level").addEventListener("change", () => { state.level = Number(by("level").value); soon(); });
  by("end").addEventListener("change", leaders);
  by("label").addEventListener("change", leaders);
  for (const id of ["x", "about"]) by(id).addEventListener("change", () => { show(by("constant-label"), by("about").value === ""); soon(); });
  by("constant").addEventListener("input", soon);
  by("text").addEventListener("input", () => { const text = by("text").value; if (text === "") { state.opened = null; by("called").textContent = ""; guess(); answer(); } else open(new TextEncoder().encode(text), "the table"); });
  by("file").addEventListener("change", () => { if (by("file").files[0]) open_file(by("file").files[0]); });
  by("example").addEventListener("click", () => { by("text").value = EXAMPLES[state.kind]; by("text").dispatchEvent(new Event("input")); });
  for (const kind of ["dragover", "dragenter"]) document.addEventListener(kind, event => { event.preventDefault(); by("drop").classList.add("over"); });
  document.addEventListener("dragleave", event => { if (!event.relatedTarget) by("drop").classList.remove("over"); });
  document.addEventListener("drop", event => { event.preventDefault(); by("drop").classList.remove("over"); const file = event.dataTransfer.files[0]; if (file) { choose("table"); open_file(file); } });
  by("download").addEventListener("click", () => {
    const link = Object.assign(document.createElement("a"), { href: URL.createObjectURL(new Blob([answers_as_text()], { type: "text/csv" })), download: "shrunken.csv" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  });
  const drawing = by("drawing");
  let last = null;
  const drag = event => {
    const box = drawing.getBoundingClientRect(), at = Math.max(0, Math.min(BARS - 1, Math.floor((event.clientX - box.left) / box.width * BARS))), height = 1 - (event.clientY - box.top - 8) / (box.height - 28);
    for (let i = Math.min(at, last === null ? at : last); i <= Math.max(at, last === null ? at : last); i++) set_bar(i, height);
    last = state.at = at;
    draw_bars(); soon();
  };
  drawing.addEventListener("pointerdown", event => { drawing.setPointerCapture(event.pointerId); last = null; drag(event); drawing.addEventListener("pointermove", drag); });
  for (const kind of ["pointerup", "pointercancel"]) drawing.addEventListener(kind, () => drawing.removeEventListener("pointermove", drag));
  drawing.addEventListener("keydown", event => {
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 0.05], ArrowDown: [0, -0.05] }[event.key];
    if (!move) return;
    event.preventDefault();
    state.at = Math.max(0, Math.min(BARS - 1, state.at + move[0]));
    if (move[1]) { set_bar(state.at, state.bars[state.at] + move[1]); soon(); }
    const [low, high] = domain();
    by("bar").textContent = `Bar at ${number(low + (high - low) * (state.at + 0.5) / BARS)}: height ${Math.round(100 * state.bars[state.at])} of 100`;
    draw_bars();
  });
  for (const kind of ["focus", "blur"]) drawing.addEventListener(kind, draw_bars);
  const redraw = () => { if (state.from === "draw") draw_bars(); if (state.shown && !by("answers").hidden) draw_shrinkage(); };
  window.addEventListener("resize", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);

  const bytes = id => Uint8Array.from(atob(by(id).textContent), letter => letter.charCodeAt(0));
  set_kind("poisson");
  ebformer.start(bytes("native"), bytes("weights")).then(() => { state.ready = true; answer(); document.documentElement.dataset.ready = "yes"; }, refuse);
  window.playground = { state, open, answers_as_text, answer };
})();
