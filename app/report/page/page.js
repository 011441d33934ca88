"use strict";
// Draws the charts (with dygraphs) and the lanes of the document in #data (app/report/page/document.h), and keeps
// the page of a running job up to date. All else on the page is HTML that the program wrote.
const steelyard = (() => {
  const {make, button, styled, number, clock, save, lanesOf} = parts;
  const hues = 10, dashes = [null, [7, 3], [2, 3], [10, 3, 2, 3]];
  const colourOf = colour => styled(typeof colour === "number" ? "--w" + colour % hues : "--" + colour);
  const dashOf = colour => (typeof colour === "number" ? dashes[Math.floor(colour / hues) % dashes.length] : null);
  // Steps of whole minutes and hours, which dygraphs has for dates only.
  const timeTicks = (from, to, pixels, opts, graph, values) => {
    const least = (to - from) / Math.max(2, pixels / 80);
    if (to < 90) return Dygraph.numericTicks(from, to, pixels, opts, graph, values);
    const step = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200].find(it => it >= least) ??
                 86400 * Math.ceil(least / 86400);
    const ticks = [];
    for (let v = Math.max(0, Math.ceil(from / step) * step); v <= to; v += step) ticks.push({v, label: clock(v)});
    return ticks;
  };
  const wholeTicks = (...of) => Dygraph.numericTicks(...of).filter(it => Number.isInteger(it.v));
  const counted = (n, what) => n + " " + what + (n === 1 ? "" : "s");

  // ---- charts

  // One row for each x, as dygraphs wants them: [x, [min, mean, max] or null for each series]. `merge` buckets are
  // drawn as one, where there are more of them than pixels.
  const rowsOf = (block, smooth, merge) => {
    const rows = new Map();
    block.series.forEach((it, k) => {
      const xs = it.x ?? block.x, mean = it.dots || smooth < 2 ? it.mean : smoothed(it.mean, smooth), by = it.dots ? 1 : merge;
      for (let i = 0; i < xs.length; i += by) {
        let low = Infinity, sum = 0, high = -Infinity, count = 0;
        for (let j = i; j < Math.min(i + by, xs.length); ++j) {
          const y = mean[j];
          if (y === null) continue;
          const bare = !it.min || smooth > 1;
          low = Math.min(low, bare ? y : it.min[j]);
          high = Math.max(high, bare ? y : it.max[j]);
          sum += y;
          ++count;
        }
        const x = xs[Math.min(i + (by >> 1), xs.length - 1)];
        let row = rows.get(x);
        if (!row) rows.set(x, row = [x, ...block.series.map(() => null)]);
        row[k + 1] = count ? [low, sum / count, high] : [NaN, NaN, NaN];
      }
    });
    return [...rows.values()].sort((a, b) => a[0] - b[0]);
  };
  const smoothed = (values, width) => {  // mean over `width` points around each
    const sums = [0], counts = [0];
    values.forEach((v, i) => { sums.push(sums[i] + (v ?? 0)); counts.push(counts[i] + (v === null ? 0 : 1)); });
    return values.map((v, i) => {
      const from = Math.max(0, i - (width >> 1)), to = Math.min(values.length, i + (width >> 1) + 1);
      return v === null ? null : (sums[to] - sums[from]) / (counts[to] - counts[from]);
    });
  };
  // The axis shows the values in the window. Few values far above all others are cut off, and told.
  const rangeOf = (block, rows, visible, window, log) => {
    const tops = [];
    let low = Infinity;
    for (const row of rows) {
      if (window && (row[0] < window[0] || row[0] > window[1])) continue;
      row.forEach((it, k) => {
        if (k === 0 || !it || !visible[k - 1] || !Number.isFinite(it[1]) || (log && it[0] <= 0)) return;
        low = Math.min(low, it[0]);
        tops.push(it[2]);
      });
    }
    if (!tops.length) return {range: null, above: 0};
    if (block.target !== undefined) { tops.push(block.target); low = Math.min(low, block.target); }
    tops.sort((a, b) => a - b);
    const usual = tops[Math.floor(0.97 * (tops.length - 1))], most = tops[tops.length - 1];
    const cut = block.zero && !log && most > 2.5 * usual && usual > 0;
    let high = cut ? 1.3 * usual : most;
    if (log) return {range: [low / 1.2, most * 1.2], above: 0};
    const percent = block.unit === " %";
    if (block.zero) low = 0;
    if (high - low < block.span) {
      const middle = (high + low) / 2;
      high = percent ? Math.min(100, middle + block.span / 2) : middle + block.span / 2;
      low = Math.max(0, high - block.span);
    }
    const margin = (high - low || Math.abs(high) || 1) * 0.05;
    const top = percent && high <= 100 ? Math.min(high + margin, 103) : high + margin;
    return {range: [block.zero ? 0 : Math.max(low - margin, low >= 0 ? 0 : -Infinity), top], above: tops.filter(it => it > top).length};
  };

  const charts = [];  // that are drawn: {group, window(), zoom(window), restyle(), smooth(width)}
  const chartOf = (box, block, group) => {
    const frame = make("div", "frame"), plot = make("div", "plot"), legend = make("div", "legend"), tools = make("div", "tools");
    const when = make("span", "when"), clipped = make("span", "clipped");
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", block.title + (block.epochs ? " against epochs" : " against time"));
    legend.setAttribute("aria-live", "polite");
    frame.append(plot, make("p", "axis", block.axis), legend);
    box.append(tools, frame);
    let rows = [], graph = null, log = false, width = 1, at = -1, shownX = null;
    const visible = [];
    const items = () => [...legend.querySelectorAll("button")];
    const read = x => {  // the values at x, or the last ones
      shownX = x;
      block.series.forEach((it, k) => {
        const xs = it.x ?? block.x;
        let best = -1;
        if (x === null) best = it.mean.findLastIndex(v => v !== null);
        else xs.forEach((value, i) => { if (it.mean[i] !== null && (best < 0 || Math.abs(value - x) < Math.abs(xs[best] - x))) best = i; });
        const out = items()[k]?.querySelector("b");
        if (!out) return;
        const apart = it.min && best >= 0 && it.min[best] !== it.max[best];
        out.textContent = best < 0 ? "" : number(it.mean[best], block.unit === " %" ? 3 : 4) + block.unit + (x !== null && apart ? ` (${number(it.min[best], 3)} to ${number(it.max[best], 3)})` : "");
      });
      const mark = x === null ? null : block.marks.find(it => Math.abs(it[0] - x) < 0.006 * (graph.xAxisRange()[1] - graph.xAxisRange()[0]));
      when.textContent = x === null ? "last values" : block.epochs ? "after epoch " + number(x) : "at " + clock(x) + (mark ? ": " + mark[1] : "");
    };
    const window_ = () => (graph?.isZoomed("x") ? graph.xAxisRange() : null);
    const ranged = () => {
      const {range, above} = rangeOf(block, rows, visible, window_(), log);
      clipped.textContent = above ? counted(above, "value") + " above the axis" : "";
      return range;
    };
    const fill = () => {
      const [from, to] = window_() ?? [-Infinity, Infinity];
      rows = rowsOf(block, width, Math.ceil(block.x.filter(x => x >= from && x <= to).length / 800) || 1);
      return rows;
    };
    const looks = () => ({
      colors: block.series.map(it => colourOf(it.colour)), gridLineColor: styled("--line"), axisLineColor: styled("--soft"),
      series: Object.fromEntries(block.series.map((it, k) => [String(k), {strokePattern: dashOf(it.colour), drawPoints: !!it.dots, pointSize: 3.5}])),
    });
    const labels = () => {
      legend.replaceChildren(when, ...block.series.map((it, k) => {
        const item = button("", () => {
          visible[k] = !visible[k];
          item.setAttribute("aria-pressed", visible[k]);
          graph.setVisibility(k, visible[k]);
          graph.updateOptions({valueRange: ranged()});
        });
        const key = make("i", "key line");
        key.style.background = colourOf(it.colour);
        let at = 0;
        const gaps = (dashOf(it.colour) ?? []).map((n, i) => `${i % 2 ? "var(--paper)" : "transparent"} ${at}px ${at += n}px`);
        if (gaps.length) key.style.backgroundImage = `repeating-linear-gradient(90deg, ${gaps.join(", ")})`;
        item.append(key, make("span", "", it.name), make("b"));
        item.setAttribute("aria-pressed", visible[k] ??= true);
        return item;
      }), clipped);
    };
    const draw = () => {
      fill();
      labels();
      const names = block.series.map((it, k) => String(k));
      const options = {file: rows, labels: ["x", ...names], ...looks(), valueRange: null, logscale: log};
      if (graph && graph.getLabels().length === names.length + 1) {
        graph.updateOptions({...options, dateWindow: window_(), valueRange: ranged()});
        return read(shownX);
      }
      graph?.destroy();
      delete options.file;
      graph = new Dygraph(plot, rows, {
        ...options, valueRange: ranged(), customBars: true, connectSeparatedPoints: true, legend: "never", strokeWidth: 1.8, fillAlpha: 0.14,
        highlightCircleSize: 3.5, axisLabelFontSize: 12, rightGap: 10, labelsKMB: false,
        xRangePad: 2, visibility: visible,
        axes: {x: {ticker: block.epochs ? wholeTicks : timeTicks, axisLabelFormatter: x => number(x) + (block.epochs ? "" : " s"), axisLabelWidth: 56, pixelsPerLabel: 70},
               y: {axisLabelFormatter: y => number(y) + block.unit, axisLabelWidth: 58, pixelsPerLabel: 34}},
        interactionModel: matchMedia("(pointer: coarse)").matches ? {} : Dygraph.defaultInteractionModel,
        highlightCallback: (event, x) => read(x), unhighlightCallback: () => read(null),
        zoomCallback: () => zoomAll(group, window_()),
        underlayCallback: (pen, area, g) => {
          pen.save();
          pen.strokeStyle = styled("--soft");
          pen.setLineDash([1, 4]);
          const line = (x1, y1, x2, y2) => { pen.beginPath(); pen.moveTo(x1, y1); pen.lineTo(x2, y2); pen.stroke(); };
          for (const [x] of block.marks) {
            const px = g.toDomXCoord(x);
            if (px >= area.x && px <= area.x + area.w) line(px, area.y, px, area.y + area.h);
          }
          if (block.target !== undefined) {
            pen.setLineDash([6, 4]);
            pen.strokeStyle = styled("--mark");
            const py = g.toDomYCoord(block.target);
            line(area.x, py, area.x + area.w, py);
          }
          pen.restore();
        },
      });
      read(null);
    };
    frame.addEventListener("keydown", event => {
      const step = {ArrowLeft: -1, ArrowRight: 1, PageUp: -20, PageDown: 20}[event.key], [from, to] = graph.xAxisRange();
      if (event.target !== frame) return;
      if (step) {
        at = Math.max(0, Math.min(rows.length - 1, (at < 0 ? rows.findIndex(row => row[0] >= from) - 1 : at) + step));
        graph.setSelection(at);
        read(rows[at][0]);
      } else if (event.key === "+") zoomAll(group, [from + (to - from) / 4, to - (to - from) / 4]);
      else if (event.key === "-") zoomAll(group, [from - (to - from) / 2, to + (to - from) / 2]);
      else if (event.key === "0") zoomAll(group, null);
      else if (event.key === "Escape") { graph.clearSelection(); read(null); }
      else return;
      event.preventDefault();
    });
    const logs = button("log axis", () => {
      log = !log;
      logs.setAttribute("aria-pressed", log);
      graph.updateOptions({logscale: log, valueRange: ranged()});
    });
    logs.setAttribute("aria-pressed", false);
    tools.append(logs, button("save picture", () => save(box.parentElement, block.id)));
    draw();
    const it = {
      group, window: window_, restyle: draw,
      extent: () => [rows[0]?.[0] ?? 0, rows[rows.length - 1]?.[0] ?? 0],
      zoom: to => {
        graph.updateOptions({dateWindow: to}, true);
        graph.updateOptions({file: fill(), valueRange: ranged()});
      },
      smooth: to => { width = to; draw(); },
      update: now => { block = now; draw(); },
    };
    charts.push(it);
    return it;
  };
  const zoomAll = (group, to) => {
    const mine = charts.filter(it => it.group === group);
    const from = Math.min(...mine.map(it => it.extent()[0])), end = Math.max(...mine.map(it => it.extent()[1]));
    if (to) {
      const width = Math.min(to[1] - to[0], end - from), left = Math.max(from, Math.min(end - width, to[0]));
      to = width >= 0.999 * (end - from) ? null : [left, left + width];
    }
    for (const it of mine) it.zoom(to);
  };
  // Buttons that act on all charts of a section, above the first of them.
  const chartTools = (before, group) => {
    const bar = make("div", "tools chart-tools"), mine = () => charts.filter(it => it.group === group);
    const by = change => () => {
      const it = mine()[0], [from, to] = it.window() ?? it.extent();
      zoomAll(group, change(from, to, to - from));
    };
    const label = make("label", "", "smooth over "), choice = make("select");
    for (const n of [1, 5, 20, 100]) choice.append(Object.assign(make("option", "", n < 2 ? "no points" : n + " points"), {value: n}));
    choice.addEventListener("change", () => mine().forEach(it => it.smooth(+choice.value)));
    label.append(choice);
    bar.append(button("zoom in", by((a, b, w) => [a + w / 4, b - w / 4])), button("zoom out", by((a, b, w) => [a - w / 2, b + w / 2])),
               button("earlier", by((a, b, w) => [a - w / 2, b - w / 2])), button("later", by((a, b, w) => [a + w / 2, b + w / 2])),
               button("whole run", () => zoomAll(group, null)), label);
    bar.dataset.keep = "";
    before.before(bar);
  };

  // ---- the page

  const drawn = new Map();  // pictures by the id of their block
  const draw = () => {
    const data = JSON.parse(document.getElementById("data").textContent), live = data.kind === "live";
    data.sections.forEach((section, s) => {
      for (const block of section.blocks) {
        const id = `s${s}-${block.id}`, box = document.getElementById(id)?.querySelector(".picture");
        if (!box || (block.type !== "chart" && block.type !== "lanes")) continue;
        if (drawn.has(id)) { drawn.get(id).update(block); continue; }
        if (block.type === "lanes") { drawn.set(id, lanesOf(box, block, live)); continue; }
        const group = block.epochs ? s + "-epochs" : s;  // charts of a group zoom together
        if (!block.epochs && !charts.some(it => it.group === group)) chartTools(box.parentElement, group);
        drawn.set(id, chartOf(box, block, group));
      }
    });
    return data;
  };
  // Makes `old` equal to `now` in place, so that focus, scrolling, open tables and pictures stay.
  const patch = (old, now) => {
    if (old.isEqualNode(now)) return;
    for (const {name, value} of now.attributes) if (old.getAttribute(name) !== value) old.setAttribute(name, value);
    const keyed = [...now.children].some(it => it.id);
    const wanted = keyed ? [...now.children] : [...now.childNodes], ids = new Set(wanted.map(it => it.id));
    if (keyed) for (const it of [...old.childNodes]) if (it.nodeType === 3 || (it.dataset.keep === undefined && !ids.has(it.id))) it.remove();
    let place = old.firstChild;
    for (const it of wanted) {
      while (place?.dataset?.keep !== undefined && it.dataset?.keep === undefined) place = place.nextSibling;
      const same = place && place.nodeName === it.nodeName && (!keyed || place.id === it.id);
      if (!same) {
        old.insertBefore(it.cloneNode(true), place);
        if (!keyed && place) { const next = place.nextSibling; place.remove(); place = next; }
        continue;
      }
      if (it.id === "data") place.textContent = it.textContent;
      else if (place.nodeType === 3) { if (place.data !== it.data) place.data = it.data; }
      else if (place.dataset.keep === undefined) patch(place, it);
      place = place.nextSibling;
    }
    while (!keyed && place) { const next = place.nextSibling; place.remove(); place = next; }
  };

  const live = () => {
    const main = document.querySelector("main"), every = 2000;
    const bar = make("p", "live"), says = make("span"), pause = button("pause updates", () => {
      paused = !paused;
      pause.textContent = paused ? "resume updates" : "pause updates";
      says.textContent = paused ? "updates are paused; the training continues" : "";
    });
    let tag = "", paused = false, held = false, missed = 0, got = Date.now(), state = {};
    says.setAttribute("role", "status");
    bar.append(says, pause);
    main.before(bar);
    main.addEventListener("pointerdown", () => { held = true; });
    for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, () => { held = false; });
    const busy = () => paused || held || document.hidden || !getSelection().isCollapsed;
    const age = () => {
      const out = main.querySelector(".age"), pill = main.querySelector(".state b");
      if (!out || state.final || state.last === undefined) return;
      const seconds = state.last + (Date.now() - got) / 1000;
      out.textContent = `last round ${seconds < 60 ? Math.round(seconds) + " s" : clock(seconds)} ago`;
      if (seconds > state.pause && pill.textContent === "running") pill.textContent = pill.className = "paused";
    };
    const take = data => {
      state = data.sections[0].state ?? {};
      document.title = state.name + " - " + data.title;
      age();
    };
    const ask = async () => {
      if (!busy()) {
        try {
          const answer = await fetch("part", {headers: tag ? {"If-None-Match": tag} : {}, signal: AbortSignal.timeout(10000)});
          if (!answer.ok && answer.status !== 304) throw new Error(answer.statusText);
          const text = answer.status === 304 ? "" : await answer.text();
          if (text && !busy()) {
            const now = make("main");
            now.innerHTML = text;
            got = Date.now();
            patch(main, now);
            take(draw());
            tag = answer.headers.get("ETag") ?? "";
          }
          missed = 0;
          says.textContent = "";
        } catch {
          if (++missed >= 2) says.textContent = "The job does not answer: it ended, or the network is down. This is the last state that arrived.";
        }
      }
      if (state.final) {
        pause.remove();
        says.textContent = "The job ended; this is its last state.";
        return;
      }
      setTimeout(ask, missed > 5 ? 5 * every : every);
    };
    setInterval(age, 1000);
    return data => { take(data); setTimeout(ask, every); };
  };

  const begin = () => {
    const start = performance.now(), data = draw();
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawn.forEach(it => it.restyle()));
    document.documentElement.dataset.drawn = Math.round(performance.now() - start);  // milliseconds
    if (data.kind === "live") live()(data);
  };
  return {begin};
})();
steelyard.begin();
