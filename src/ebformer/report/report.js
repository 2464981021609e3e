
"use strict";
// A table of many rows of which only those in view are in the page, and pictures in which one unit is marked at a time.
(async () => {
  const SVG = "http://www.w3.org/2000/svg", AHEAD = 12, LEAST = 40, NEAR = 24;
  const section = document.getElementById("units"), scroller = section.querySelector(".scroll");
  const table = section.querySelector("table"), body = table.tBodies[0], bar = document.getElementById("here");
  const mean = Number(section.dataset.mean), middle = Number(section.dataset.middle);

  const element = (name, attributes = {}, text = null, space = null) => {
    const made = space ? document.createElementNS(space, name) : document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== null) made.textContent = text;
    return made;
  };
  const drawn = (name, attributes, text = null) => element(name, attributes, text, SVG);

  // The rows: lines of text per column; among numbers an empty line repeats the one above, and a point is missing.
  const unpacked = async text => {
    const bytes = Uint8Array.from(atob(text), letter => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return JSON.parse(await new Response(stream).text());
  };
  const columns = (await unpacked(document.getElementById("rows").textContent)).map(({ name, numeric, text }) => {
    const texts = text.split("\n");
    if (numeric) {
      for (let i = 0, last = ""; i < texts.length; i++) {
        last = texts[i] === "" ? last : texts[i] === "." ? "" : texts[i];
        texts[i] = last;
      }
    }
    const numbers = numeric ? Float64Array.from(texts, entry => entry === "" ? NaN : Number(entry)) : null;
    return { name, numeric, texts, numbers };
  });
  const named = name => columns.find((column, i) => i > 0 && column.name === name && column.numeric) ?? null;
  const names = columns[0].texts, n = names.length;
  const roles = Object.fromEntries(["raw", "estimate", "lower", "upper"].map(name => [name, named(name)?.numbers ?? null]));

  const heads = Array.from(table.tHead.rows[0].cells);
  let at = 0;
  const headings = heads.map(head => {
    const own = columns.slice(at, at += Number(head.dataset.span));
    return { head, own, title: head.textContent.trim(), style: head.className, text: i => own.map(column => column.texts[i]).filter(Boolean).join(" – ") };
  });

  // Scales, as the pictures were drawn with.
  const bent = (scale, value) => scale.kind === "log" ? Math.log(Math.max(value, 1e-300))
    : scale.kind === "asinh" ? Math.asinh(value / scale.knee) : value;
  const place = (scale, value) => {
    const low = bent(scale, scale.low), high = bent(scale, scale.high);
    return scale.start + (bent(scale, value) - low) / (high - low) * (scale.end - scale.start);
  };

  // A strip per row: interval, raw, estimate.
  const across = roles.lower ? { ...JSON.parse(section.dataset.strip), start: 5, end: 125 } : null;
  const strip = i => {
    const cell = element("td", { class: "strip" });
    const [raw, estimate, low, high] = ["raw", "estimate", "lower", "upper"].map(role =>
      Math.min(Math.max(place(across, roles[role][i]), 3), 127));
    if (Number.isNaN(estimate)) return cell;
    const svg = drawn("svg", { viewBox: "0 0 130 20", "aria-hidden": "true" });
    const mark = place(across, mean);
    svg.append(drawn("line", { x1: mark, x2: mark, y1: 0, y2: 20, class: "dashed" }));
    svg.append(drawn("line", { x1: low, x2: high, y1: 10, y2: 10, class: "interval" }));
    if (!Number.isNaN(raw)) svg.append(drawn("circle", { cx: raw, cy: 10, r: 3.5, class: "raw" }));
    svg.append(drawn("circle", { cx: estimate, cy: 10, r: 3.8, class: "estimate" }));
    cell.append(svg);
    return cell;
  };
  const after = across ? headings.findIndex(heading => heading.own[0].name === "lower") : -1;
  if (after >= 0) heads[after].after(element("th", { scope: "col", class: "strip" }, "○ raw  ● estimate"));
  for (const heading of headings) { // columns keep their width while rows come and go
    let most = heading.title.length + 1;
    for (const column of heading.own) for (const text of column.texts) if (text.length > most) most = text.length;
    if (heading.own.length > 1) most = Math.max(most, 2 * Math.max(...heading.own.map(column => column.texts.reduce((a, b) => Math.max(a, b.length), 0))) + 3);
    heading.head.style.minWidth = `${Math.min(most, 26) + 3}ch`;
  }

  // Which rows, in which order.
  let order = Int32Array.from({ length: n }, (_, i) => i), position = order.slice(), sorted = null, down = true, here = -1;
  const words = [];
  const lowered = i => words[i] ??= columns.filter(column => !column.numeric).map(column => column.texts[i]).join("\n").toLowerCase();
  const standing = i => roles.lower[i] > middle ? "above" : roles.upper[i] < middle ? "below" : Number.isNaN(roles.lower[i]) ? "" : "neither";
  const search = section.querySelector("input[type=search]"), selects = Array.from(section.querySelectorAll("select"));
  const shown = section.querySelector(".shown");

  const arrange = () => {
    const wanted = search.value.trim().toLowerCase();
    const tests = selects.filter(select => select.value !== "").map(select => {
      if (select.dataset.filter === "standing") return i => standing(i) === select.value;
      const texts = columns[Number(select.dataset.column)].texts, value = select.value.slice(1);
      return i => texts[i] === value;
    });
    if (wanted) tests.push(i => lowered(i).includes(wanted));
    const kept = [];
    for (let i = 0; i < n; i++) if (tests.every(test => test(i))) kept.push(i);
    if (sorted) {
      const { numbers, texts } = sorted.own[0], sign = down ? -1 : 1;
      const collator = new Intl.Collator(undefined, { numeric: true });
      kept.sort((i, j) => {
        if (!numbers) return sign * collator.compare(texts[i], texts[j]) || i - j;
        const a = numbers[i], b = numbers[j];
        if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b) || i - j;
        return sign * (a - b) || i - j;
      });
    }
    order = Int32Array.from(kept);
    position = new Int32Array(n).fill(-1);
    order.forEach((unit, where) => { position[unit] = where; });
    const all = `${n.toLocaleString("en")} ${n === 1 ? "unit" : "units"}`;
    shown.textContent = order.length === n ? all : `${order.length.toLocaleString("en")} of ${all}`;
    scroller.scrollTop = 0;
    render(true);
  };

  // The rows in view, between two spaces as high as those that are not.
  let height = body.rows[0]?.getBoundingClientRect().height || 34, drawnFrom = -1, drawnTo = -1;
  const space = tall => {
    const row = element("tr", { class: "space", "aria-hidden": "true" }), cell = element("td", { colspan: heads.length + 1 });
    cell.style.height = `${tall}px`;
    row.append(cell);
    return row;
  };
  const row = i => {
    const made = element("tr", { "data-unit": i, "aria-rowindex": position[i] + 2 });
    headings.forEach((heading, k) => {
      const text = heading.text(i);
      made.append(k === 0 ? element("th", { scope: "row", class: "label", title: text }, text)
        : element("td", { class: heading.style, ...(text.length > 24 ? { title: text } : {}) }, text));
      if (k === after) made.append(strip(i));
    });
    made.classList.toggle("here", i === here);
    return made;
  };
  const render = (anew = false) => {
    const first = Math.max(0, Math.floor(scroller.scrollTop / height) - AHEAD);
    const from = Math.min(first, Math.max(0, order.length - LEAST));
    const to = Math.min(order.length, from + Math.max(LEAST, Math.ceil(scroller.clientHeight / height) + 2 * AHEAD));
    if (!anew && from === drawnFrom && to === drawnTo) return;
    [drawnFrom, drawnTo] = [from, to];
    body.replaceChildren(space(from * height), ...Array.from(order.subarray(from, to), row), space((order.length - to) * height));
    const real = body.rows[1]?.classList.contains("space") ? 0 : body.rows[1]?.getBoundingClientRect().height;
    if (real && Math.abs(real - height) > 0.1 && !matchMedia("print").matches) { height = real; render(true); }
  };
  const reveal = unit => {
    const top = position[unit] * height, head = table.tHead.offsetHeight;
    if (position[unit] < 0) return;
    if (top < scroller.scrollTop) scroller.scrollTop = Math.max(0, top - height);
    else if (top + height + head > scroller.scrollTop + scroller.clientHeight) scroller.scrollTop = top + 2 * height + head - scroller.clientHeight;
    render();
  };

  // One unit, in the table and in all pictures.
  const pictures = Array.from(document.querySelectorAll(".picture svg[data-kind]"), svg => ({
    svg, kind: svg.dataset.kind, x: svg.dataset.x ? JSON.parse(svg.dataset.x) : null, y: svg.dataset.y ? JSON.parse(svg.dataset.y) : null,
    size: svg.viewBox.baseVal,
  }));
  const mark = ({ svg, kind, x, y, size }, unit) => {
    svg.querySelectorAll(".marker, .marker-name").forEach(old => old.remove());
    svg.querySelectorAll("g.here").forEach(old => old.classList.remove("here"));
    if (unit < 0) return;
    const letters = Array.from(names[unit]), name = letters.length > 30 ? `${letters.slice(0, 29).join("")}…` : names[unit];
    if (kind === "points" && !Number.isNaN(roles.raw[unit] + roles.estimate[unit])) {
      const cx = place(x, roles.raw[unit]), cy = place(y, roles.estimate[unit]), left = cx > size.width / 2;
      svg.append(drawn("circle", { cx, cy, r: 7, class: "marker" }),
        drawn("text", { x: cx + (left ? -11 : 11), y: cy + (cy < 60 ? 18 : -8), "text-anchor": left ? "end" : "start", class: "marker-name" }, name));
    } else if (kind === "line" && !Number.isNaN(roles.estimate[unit])) {
      const cx = Math.min(place(x, roles.estimate[unit]), x.end), left = cx > size.width / 2;
      svg.append(drawn("line", { x1: cx, x2: cx, y1: 44, y2: 254, class: "marker" }),
        drawn("text", { x: cx + (left ? -6 : 6), y: 58, "text-anchor": left ? "end" : "start", class: "marker-name" }, name));
    } else if (kind === "lines") {
      svg.querySelector(`g[data-unit="${unit}"]`)?.classList.add("here");
    } else if (kind === "map") {
      const area = svg.querySelector(`use[data-unit="${unit}"]`);
      if (area) svg.append(drawn("use", { href: area.getAttribute("href"), class: "marker" }));
    }
  };
  const show = (unit, from) => {
    if (unit === here) return;
    here = unit;
    pictures.forEach(picture => mark(picture, unit));
    if (unit >= 0 && from !== "table") reveal(unit);
    for (const each of body.rows) each.classList.toggle("here", each.dataset.unit === String(unit));
    bar.hidden = unit < 0;
    if (unit >= 0) {
      const told = headings.slice(1).filter(heading => heading.own[0].numeric).slice(0, 7);
      bar.replaceChildren(element("bdi", {}, names[unit]), ...told.map(heading => ` · ${heading.title} ${heading.text(unit) || "missing"}`));
    }
  };

  // Pointers and keys.
  const nearest = ({ svg, x, y }, event) => {
    const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
    let best = -1, least = NEAR * NEAR;
    for (let i = 0; i < n; i++) {
      const dx = place(x, roles.raw[i]) - point.x, dy = place(y, roles.estimate[i]) - point.y, distance = dx * dx + dy * dy;
      if (distance < least) [best, least] = [i, distance];
    }
    return best;
  };
  const walk = (event, from) => {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1, Home: -n, End: n }[event.key];
    if (event.key === "Escape") show(-1, from);
    if (step === undefined || order.length === 0) return;
    event.preventDefault();
    const now = here < 0 || position[here] < 0 ? (step > 0 ? -1 : order.length) : position[here];
    show(order[Math.min(Math.max(now + step, 0), order.length - 1)], from);
  };
  for (const picture of pictures) {
    const { svg, kind } = picture, holder = svg.parentElement;
    const of = event => kind === "points" ? nearest(picture, event) : Number(event.target.closest("[data-unit]")?.dataset.unit ?? -1);
    if (kind !== "line") {
      svg.addEventListener("pointermove", event => show(of(event), "picture"));
      svg.addEventListener("pointerdown", event => show(of(event), "picture"));
      svg.addEventListener("pointerleave", event => { if (event.pointerType === "mouse") show(-1, "picture"); });
    }
    if (!svg.querySelector("[data-group]")) {
      holder.tabIndex = 0;
      holder.setAttribute("role", "application");
      holder.setAttribute("aria-label", `${svg.getAttribute("aria-label")}. Arrow keys walk through the units.`);
      holder.addEventListener("keydown", event => walk(event, "picture"));
    }
    for (const group of svg.querySelectorAll("[data-group]")) {
      group.addEventListener("click", () => {
        const select = selects.find(each => each.dataset.group !== undefined);
        if (!select) return;
        select.value = `=${group.dataset.group}`;
        arrange();
        section.scrollIntoView({ block: "start" });
      });
    }
  }
  scroller.addEventListener("keydown", event => {
    if (event.target !== scroller) return;
    walk(event, "table");
    if (here >= 0) reveal(here);
  });
  scroller.addEventListener("scroll", () => render(), { passive: true });
  body.addEventListener("pointerover", event => show(Number(event.target.closest("[data-unit]")?.dataset.unit ?? -1), "table"));
  body.addEventListener("pointerleave", () => show(-1, "table"));

  headings.forEach(heading => heading.head.querySelector("button").addEventListener("click", () => {
    down = sorted === heading ? !down : heading.own[0].numeric;
    sorted = heading;
    heads.forEach(head => head.removeAttribute("aria-sort"));
    heading.head.setAttribute("aria-sort", down ? "descending" : "ascending");
    arrange();
  }));
  search.addEventListener("input", arrange);
  selects.forEach(select => select.addEventListener("change", arrange));

  section.querySelector(".download").addEventListener("click", () => {
    const quoted = text => /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    const line = of => columns.map(of).map(quoted).join(",");
    const text = [line(column => column.name), ...Array.from(order, i => line(column => column.texts[i]))].join("\r\n");
    const link = element("a", { href: URL.createObjectURL(new Blob([`${text}\r\n`], { type: "text/csv" })), download: `${section.dataset.file}-shown.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  });
  addEventListener("beforeprint", () => { show(-1, "paper"); scroller.scrollTop = 0; render(true); });

  section.querySelector(".tools").hidden = false;
  table.setAttribute("aria-rowcount", n + 1);
  [sorted, down] = [headings.find(heading => heading.own[0].name === section.dataset.by), section.dataset.down === "true"];
  sorted.head.setAttribute("aria-sort", down ? "descending" : "ascending");
  arrange();
  document.documentElement.dataset.ready = "true";
})();
