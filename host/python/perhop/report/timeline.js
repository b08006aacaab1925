// SPDX-License-Identifier: GPL-2.0-or-later
// Draws any stretch of the air's timeline: frames as bars in a lane a node, what their senders waited for, NAVs, and losses.
// Times are microseconds. Of too many frames it shows how busy each node was, interval by interval.
"use strict";
(async () => {
  const about = JSON.parse(document.getElementById("air-about").textContent);
  const root = document.querySelector(".air");
  const stage = root.querySelector(".stage");
  const figure = stage.closest("figure");
  const NAMES = "http://www.w3.org/2000/svg";
  const GUTTER = 34, AXIS = 24, RIGHT = 14;
  const LANE = about.lanes.length > 16 ? 18 : 26;
  const DETAILED_FRAMES = 1500;
  const SHORTEST_US = 200, LONGEST_NAV_US = 40000, LOOK_AHEAD_US = 200000;
  const NO_ACCESS = 2 ** 32 - 1;
  const TABLE_ROWS = 200;
  const COLOURS = {
    data: "#0072b2", rts: "#e69f00", cts: "#009e73", ack: "#56b4e9",
    lost: "#c2330a", nav: "#e6dcf0", ifs: "#ffe39a", backoff: "#c9d3dc", ink: "#1b232c", soft: "#5b6673", line: "#e1e6eb", paper: "#ffffff",
  };
  const colour = (name) => `var(--air-${name}, ${COLOURS[name]})`;
  const BARS = [["data", 1], ["rts", 0.7], ["cts", 0.7], ["ack", 0.55]];

  const unpack = async () => {
    const packed = Uint8Array.from(atob(document.getElementById("air-data").textContent.trim()), (c) => c.charCodeAt(0));
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
    const bytes = await new Response(stream).arrayBuffer();
    const kinds = { u4: Uint32Array, u2: Uint16Array, u1: Uint8Array };
    const columns = {};
    let at = 0;
    for (const [name, kind, count] of about.columns) {
      const size = kinds[kind].BYTES_PER_ELEMENT * count;
      columns[name] = new kinds[kind](bytes.slice(at, at + size));
      at += size;
    }
    return columns;
  };

  const summed = (differences) => {
    const sums = new Float64Array(differences.length);
    let sum = 0;
    for (let i = 0; i < differences.length; i++) sums[i] = sum += differences[i];
    return sums;
  };

  // The first index whose value is not less.
  const lowerBound = (values, wanted) => {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < wanted) low = middle + 1; else high = middle;
    }
    return low;
  };

  const columns = await unpack();
  const starts = summed(columns.start);
  const navStarts = columns.nav_start ? summed(columns.nav_start) : new Float64Array(0);
  const longestAir = columns.air.reduce((a, b) => Math.max(a, b), 0);
  const firstUs = starts[0], lastUs = starts[starts.length - 1] + columns.air[starts.length - 1];
  const laneOf = new Map(about.lanes.map((node, lane) => [node, lane]));
  const kindOf = (i) => columns.kind[i] & 3;
  const fateOf = (i) => columns.kind[i] >> 3;
  const losses = [];
  for (let i = 0; i < starts.length; i++) if (fateOf(i)) losses.push(i);

  let fromUs = about.start_us, spanUs = 24000;

  const element = (name, attributes, parent, text) => {
    const made = document.createElementNS(NAMES, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text !== undefined) made.textContent = text;
    if (parent) parent.append(made);
    return made;
  };

  const seconds = (us, digits = 6) => (us / 1e6).toFixed(digits);
  const receiverOf = (i) => (columns.receiver[i] === about.nobody ? "all" : columns.receiver[i]);
  const tell = (i) => {
    const again = columns.kind[i] & 4 ? ", repeated" : "";
    const fate = fateOf(i) ? `, lost: ${about.fates[fateOf(i)]}` : "";
    return `${about.kinds[kindOf(i)]} ${columns.node[i]}→${receiverOf(i)}, ${columns.bytes[i]} bytes, ${seconds(starts[i])} s for ` +
      `${columns.air[i]} µs, Duration ${columns.duration[i]} µs${again}${fate}`;
  };

  // Indices of the frames that are on the air within the stretch.
  const visible = () => {
    const found = [];
    for (let i = lowerBound(starts, fromUs - longestAir); i < starts.length && starts[i] < fromUs + spanUs; i++) {
      if (starts[i] + columns.air[i] > fromUs) found.push(i);
    }
    return found;
  };

  const niceStep = (wanted) => {
    const power = 10 ** Math.floor(Math.log10(wanted));
    return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= wanted);
  };

  const drawAxis = (svg, width, height, x) => {
    const step = niceStep(spanUs / Math.max(2, Math.floor((width - GUTTER) / 85)));
    const digits = Math.max(0, 6 - Math.floor(Math.log10(step)));
    for (let t = Math.ceil(fromUs / step) * step; t <= fromUs + spanUs; t += step) {
      element("line", { x1: x(t), x2: x(t), y1: 0, y2: height - AXIS, style: `stroke:${colour("line")}` }, svg);
      const label = element("text", { x: x(t), y: height - 7, "text-anchor": "middle", class: "tick", style: `fill:${colour("soft")};font:11px sans-serif` }, svg,
        `${seconds(t, digits)} s`);
      if (x(t) - GUTTER < 24 || width - x(t) < 28) label.remove();
    }
  };

  const drawMarks = (svg, height, x) => {
    about.marks.forEach(([atS, words], index) => {
      const at = atS * 1e6;
      if (at < fromUs || at > fromUs + spanUs) return;
      const line = element("line", { x1: x(at), x2: x(at), y1: 0, y2: height - AXIS, style: `stroke:${colour("soft")};stroke-dasharray:4 3;stroke-width:1.5` }, svg);
      element("title", {}, line, `${atS} s: ${words}`);
      element("text", { x: x(at) + 3, y: 11, style: `fill:${colour("ink")};font:bold 11px sans-serif` }, svg, String(index + 1));
    });
  };

  // A rectangle in a lane, cut to the stretch; null where it is outside.
  const box = (svg, x, lane, start, end, share, name, extra = "") => {
    const low = Math.max(start, fromUs), high = Math.min(end, fromUs + spanUs);
    if (high <= low) return null;
    const height = (LANE - 4) * share;
    return element("rect", {
      x: x(low).toFixed(2), width: Math.max(x(high) - x(low), 0.7).toFixed(2), y: (lane * LANE + LANE - 2 - height).toFixed(2), height: height.toFixed(2),
      style: `fill:${colour(name)};${extra}`,
    }, svg);
  };

  const drawFrames = (svg, shown, x) => {
    for (let i = lowerBound(navStarts, fromUs - LONGEST_NAV_US); i < navStarts.length && navStarts[i] < fromUs + spanUs; i++) {
      const lane = laneOf.get(columns.nav_node[i]);
      const nav = box(svg, x, lane, navStarts[i], navStarts[i] + columns.nav_length[i], 0.35, "nav");
      if (nav) element("title", {}, nav, `NAV of node ${columns.nav_node[i]}, ${columns.nav_length[i]} µs until ${seconds(navStarts[i] + columns.nav_length[i])} s`);
    }
    if (columns.idle) {
      for (let i = lowerBound(starts, fromUs); i < starts.length && starts[i] < fromUs + spanUs + LOOK_AHEAD_US; i++) {
        const lane = laneOf.get(columns.node[i]);
        if (columns.idle[i] === NO_ACCESS || lane === undefined) continue;
        const idle = starts[i] - columns.idle[i], space = Math.min(idle + columns.ifs[i], starts[i]);
        const slots = starts[i] - space;
        const ifs = box(svg, x, lane, idle, space, 0.55, "ifs");
        if (ifs) element("title", {}, ifs, `node ${columns.node[i]}: inter-frame space of ${columns.ifs[i]} µs`);
        const wait = box(svg, x, lane, space, starts[i], 0.28, "backoff");
        if (wait) element("title", {}, wait, `node ${columns.node[i]}: back-off of ${slots} µs`);
      }
    }
    for (const i of shown) {
      const lane = laneOf.get(columns.node[i]);
      if (lane === undefined) continue;
      const [name, share] = BARS[kindOf(i)];
      const lost = fateOf(i) > 0;
      const bar = box(svg, x, lane, starts[i], starts[i] + columns.air[i], share, name, lost ? `stroke:${colour("lost")};stroke-width:2` : "");
      if (!bar) continue;
      element("title", {}, bar, tell(i));
      const left = Number(bar.getAttribute("x")), width = Number(bar.getAttribute("width"));
      const label = `${about.kinds[kindOf(i)]} → ${receiverOf(i)}`;
      if (width > 7 * label.length && LANE > 20) {
        element("text", { x: left + 4, y: lane * LANE + LANE - 8, style: `fill:${colour("paper")};font:11px sans-serif;pointer-events:none` }, svg, label);
      }
      if (lost) {
        const middle = left + width / 2;
        element("text", { x: middle, y: lane * LANE + 11, "text-anchor": "middle", style: `fill:${colour("lost")};font:bold 13px sans-serif;pointer-events:none` }, svg, "✕");
      }
    }
  };

  // How large a share of each interval a node sends, and of that how much is lost.
  const drawShares = (svg, shown, width, x) => {
    const count = Math.max(1, Math.floor((width - GUTTER - RIGHT) / 3));
    const step = spanUs / count;
    const sent = new Float64Array(count * about.lanes.length), lost = new Float64Array(count * about.lanes.length);
    for (const i of shown) {
      const lane = laneOf.get(columns.node[i]);
      if (lane === undefined) continue;
      let at = Math.max(starts[i], fromUs);
      const end = Math.min(starts[i] + columns.air[i], fromUs + spanUs);
      while (at < end) {
        const bin = Math.min(count - 1, Math.floor((at - fromUs) / step));
        const until = Math.max(Math.min(end, fromUs + (bin + 1) * step), at + 1e-3);
        sent[lane * count + bin] += until - at;
        if (fateOf(i)) lost[lane * count + bin] += until - at;
        at = until;
      }
    }
    for (let lane = 0; lane < about.lanes.length; lane++) {
      for (let bin = 0; bin < count; bin++) {
        const start = fromUs + bin * step, share = sent[lane * count + bin] / step;
        if (!share) continue;
        box(svg, x, lane, start, start + step * 0.85, Math.max(share, 0.05), "data");
        const bad = lost[lane * count + bin] / step;
        if (bad) box(svg, x, lane, start, start + step * 0.85, Math.max(bad, 0.08), "lost");
      }
    }
  };

  const cells = (i) => [seconds(starts[i]), columns.air[i], about.kinds[kindOf(i)], columns.node[i], receiverOf(i), columns.bytes[i],
    columns.duration[i], columns.kind[i] & 4 ? "yes" : "no", about.fates[fateOf(i)]];
  const HEAD = ["start in s", "on the air in µs", "kind", "from", "to", "bytes", "Duration in µs", "repeated", "fate"];
  figure.csvText = () => [HEAD, ...visible().map(cells)].map((row) => row.join(",")).join("\n") + "\n";

  const details = root.querySelector("details.frames");
  const fillTable = (shown) => {
    if (!details.open) return;
    const table = document.createElement("table");
    const caption = table.createCaption();
    caption.textContent = "Frames in view";
    const head = table.createTHead().insertRow();
    for (const name of HEAD) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const i of shown.slice(0, TABLE_ROWS)) {
      const row = body.insertRow();
      for (const value of cells(i)) row.insertCell().textContent = value;
    }
    details.querySelector(".scroll").replaceChildren(table);
  };

  const draw = () => {
    const whole = lastUs - firstUs;
    spanUs = Math.min(Math.max(spanUs, SHORTEST_US), whole);
    fromUs = Math.min(Math.max(fromUs, firstUs), lastUs - spanUs);
    const width = Math.max(stage.clientWidth, 200), height = about.lanes.length * LANE + AXIS;
    const x = (us) => GUTTER + (us - fromUs) / spanUs * (width - GUTTER - RIGHT);
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, "aria-hidden": "true" });
    drawAxis(svg, width, height, x);
    about.lanes.forEach((node, lane) => {
      element("line", { x1: GUTTER, x2: width - RIGHT, y1: lane * LANE + LANE - 1.5, y2: lane * LANE + LANE - 1.5, style: `stroke:${colour("line")}` }, svg);
      element("text", { x: GUTTER - 8, y: lane * LANE + LANE - 7, "text-anchor": "end", style: `fill:${colour("ink")};font:11px sans-serif` }, svg, String(node));
    });
    const shown = visible();
    if (shown.length <= DETAILED_FRAMES) drawFrames(svg, shown, x); else drawShares(svg, shown, width, x);
    drawMarks(svg, height, x);
    stage.replaceChildren(svg);
    const lost = shown.filter((i) => fateOf(i)).length;
    const way = shown.length <= DETAILED_FRAMES ? "" : " Bars are shares of time; zoom in to see frames.";
    root.querySelector(".view").textContent =
      `${seconds(fromUs)} s to ${seconds(fromUs + spanUs)} s: ${shown.length.toLocaleString("en")} frames, ${lost.toLocaleString("en")} lost where they were for.${way}`;
    fillTable(shown);
  };

  const zoom = (factor, atShare = 0.5) => {
    const at = fromUs + atShare * spanUs;
    spanUs = Math.min(Math.max(spanUs * factor, SHORTEST_US), lastUs - firstUs);
    fromUs = at - atShare * spanUs;
    draw();
  };
  const centre = (us) => { fromUs = us - spanUs / 2; draw(); };
  const toLoss = (direction) => {
    const middle = fromUs + spanUs / 2;
    const times = losses.map((i) => starts[i] + columns.air[i] / 2);
    const found = direction > 0 ? times.find((t) => t > middle + 1) : times.findLast((t) => t < middle - 1);
    if (found === undefined) return;
    spanUs = Math.min(spanUs, 24000);
    centre(found);
  };
  const actions = {
    earlier: () => { fromUs -= spanUs / 2; draw(); },
    later: () => { fromUs += spanUs / 2; draw(); },
    in: () => zoom(0.5),
    out: () => zoom(2),
    all: () => { fromUs = firstUs; spanUs = lastUs - firstUs; draw(); },
    previous: () => toLoss(-1),
    next: () => toLoss(1),
  };

  root.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.do in actions) actions[button.dataset.do]();
    if (button.dataset.at) { spanUs = Math.min(spanUs, 100000); centre(Number(button.dataset.at) * 1e6); }
  });
  root.querySelector("input").addEventListener("change", (event) => {
    const at = Number(event.target.value);
    if (event.target.value !== "" && Number.isFinite(at)) centre(at * 1e6);
  });
  const keys = {
    ArrowLeft: actions.earlier, ArrowRight: actions.later, "+": actions.in, "=": actions.in, "-": actions.out,
    n: actions.next, p: actions.previous, Home: () => { fromUs = firstUs; draw(); }, End: () => { fromUs = lastUs - spanUs; draw(); },
  };
  stage.addEventListener("keydown", (event) => {
    const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
  const shareAt = (event) => (event.clientX - stage.getBoundingClientRect().left - GUTTER) / (stage.clientWidth - GUTTER - RIGHT);
  // The wheel alone scrolls the page.
  stage.addEventListener("wheel", (event) => {
    if (!event.ctrlKey && !event.shiftKey) return;
    event.preventDefault();
    zoom((event.deltaY || event.deltaX) > 0 ? 1.3 : 1 / 1.3, shareAt(event));
  }, { passive: false });
  stage.addEventListener("dblclick", (event) => zoom(0.4, shareAt(event)));
  let held = null;
  stage.addEventListener("pointerdown", (event) => {
    held = { x: event.clientX, fromUs };
    stage.setPointerCapture(event.pointerId);
  });
  stage.addEventListener("pointermove", (event) => {
    if (!held) return;
    fromUs = held.fromUs - (event.clientX - held.x) / (stage.clientWidth - GUTTER - RIGHT) * spanUs;
    draw();
  });
  for (const end of ["pointerup", "pointercancel"]) stage.addEventListener(end, () => { held = null; });
  details.addEventListener("toggle", () => fillTable(visible()));

  root.hidden = false;
  new ResizeObserver(draw).observe(stage);
  draw();
})();
