"use strict";
// Values under the pointer and by arrow keys, and zoom. The pictures are drawn without it. `begin()` makes them work;
// what it returns tells where the reader is in them, and is taken by the next `begin()` when the page was replaced.
const steelyard = (() => {
  const clock = s => {
    if (s < 59.95) return s.toFixed(s < 10 ? 2 : 1) + " s";
    const t = Math.round(s), two = n => String(n).padStart(2, "0");
    return (t < 3600 ? Math.floor(t / 60) : Math.floor(t / 3600) + ":" + two(Math.floor(t / 60) % 60)) + ":" + two(t % 60);
  };
  const stepOf = (range, most) => {  // as axis_step() in app/report/page/page.cpp
    const power = 10 ** Math.floor(Math.log10(range / most));
    return [1, 2, 5, 10].find(f => range / (f * power) <= most * (1 + 1e-9)) * power;
  };
  const make = (tag, kind, text) => {
    const it = document.createElement(tag);
    if (kind) it.className = kind;
    if (text !== undefined) it.textContent = text;
    return it;
  };
  // Finds the last place in a sorted list that is not above `value`.
  const placeOf = (list, value) => {
    let low = 0, high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle] <= value) low = middle; else high = middle - 1;
    }
    return low;
  };

  // A box beside the pointer, inside its picture; it is also read aloud.
  const tipOf = frame => {
    const tip = make("div", "tip");
    tip.setAttribute("aria-live", "polite");
    tip.hidden = true;
    frame.append(tip);
    return {
      hide: () => { tip.hidden = true; },
      show: (x, width, head, rows) => {  // rows: [colour source or null, name, value]
        tip.replaceChildren(make("b", "", head));
        for (const [from, name, value] of rows) {
          const row = make("div", "row"), dot = make("i", "key");
          if (from) dot.style.background = getComputedStyle(from).stroke;
          row.append(dot, make("span", "", name), make("span", "value", value));
          tip.append(row);
        }
        tip.hidden = false;
        const room = frame.clientWidth - tip.offsetWidth;
        tip.style.left = Math.max(0, Math.min(room, x > width / 2 ? x - tip.offsetWidth - 14 : x + 14)) + "px";
      },
    };
  };

  // Lines against time. All plots of one run show the same time.
  const plotOf = (frame, zoomAll) => {
    const svg = frame.querySelector("svg"), along = frame.querySelector(".along"), tip = tipOf(frame);
    const seconds = +frame.dataset.to, unit = frame.dataset.unit ?? "";
    const lines = [...svg.querySelectorAll("path[data-v]")].map(path => {
      const points = [...path.getAttribute("d").matchAll(/[ML]([-\d.]+) ([-\d.]+)/g)];
      return {path, name: path.dataset.name, x: points.map(m => +m[1]), y: points.map(m => +m[2]),
              values: path.dataset.v.split(" ").map(v => v.split(","))};
    });
    const longest = lines.reduce((a, b) => (b.x.length > a.x.length ? b : a), lines[0]);
    const cursor = document.createElementNS(svg.namespaceURI, "path");
    cursor.setAttribute("class", "cursor");
    svg.append(cursor);
    let from = 0, to = 1000, at = -1, began = null;

    const read = x => {
      const rows = [];
      let nearest = null;
      for (const it of lines) {
        let i = placeOf(it.x, x);
        if (i + 1 < it.x.length && it.x[i + 1] - x < x - it.x[i]) ++i;
        const far = Math.abs(it.x[i] - x);
        if (it.x.length > 40 && far > 0.04 * (to - from)) continue;  // it was not there
        if (nearest === null || far < Math.abs(nearest - x)) nearest = it.x[i];
        const [mean, low, high] = it.values[i];
        rows.push([it.path, it.name, mean + unit + (low !== undefined && low !== high ? ` (${low} to ${high})` : "")]);
      }
      if (nearest === null) return;
      cursor.setAttribute("d", `M${nearest} 0V1000`);
      const box = svg.getBoundingClientRect(), frameBox = frame.getBoundingClientRect();
      const left = box.left - frameBox.left + (nearest - from) / (to - from) * box.width;
      tip.show(left, frame.clientWidth, "at " + clock(nearest / 1000 * seconds), rows);
    };
    const away = () => { tip.hide(); cursor.setAttribute("d", ""); };
    const xOf = event => {
      const box = svg.getBoundingClientRect();
      return from + (event.clientX - box.left) / box.width * (to - from);
    };
    svg.addEventListener("pointermove", event => read(xOf(event)));
    svg.addEventListener("pointerdown", event => { began = event.pointerType === "mouse" ? xOf(event) : null; read(xOf(event)); });
    svg.addEventListener("pointerup", event => {
      const end = xOf(event);
      if (began !== null && Math.abs(end - began) > 0.02 * (to - from)) zoomAll(Math.min(began, end), Math.max(began, end));
      began = null;
    });
    svg.addEventListener("dblclick", () => zoomAll(0, 1000));
    svg.addEventListener("pointerleave", away);
    frame.addEventListener("blur", away);
    frame.addEventListener("keydown", event => {
      const move = {ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10}[event.key];
      const middle = at >= 0 ? longest.x[at] : (from + to) / 2, half = (to - from) / 2;
      if (move) {
        at = Math.max(0, Math.min(longest.x.length - 1, (at < 0 ? placeOf(longest.x, middle) : at) + move));
        if (longest.x[at] < from) zoomAll(longest.x[at], longest.x[at] + 2 * half);
        if (longest.x[at] > to) zoomAll(longest.x[at] - 2 * half, longest.x[at]);
        read(longest.x[at]);
      } else if (event.key === "+") zoomAll(middle - half / 2, middle + half / 2);
      else if (event.key === "-") zoomAll(middle - half * 2, middle + half * 2);
      else if (event.key === "0") zoomAll(0, 1000);
      else if (event.key === "Escape") away();
      else return;
      event.preventDefault();
    });
    return (left, right) => {
      [from, to] = [left, right];
      svg.setAttribute("viewBox", `${from} 0 ${to - from} 1000`);
      frame.classList.toggle("zoomed", to - from < 999);
      const span = (to - from) / 1000 * seconds, step = stepOf(span, 6), start = from / 1000 * seconds;
      const decimals = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
      along.replaceChildren();
      for (let i = Math.ceil(start / step - 1e-9); i * step <= start + span * (1 + 1e-9); ++i) {
        const label = make("span", "", (i * step).toFixed(decimals));
        label.style.left = (i * step - start) / span * 100 + "%";
        along.append(label);
      }
    };
  };

  // The place is in seconds: what is under way becomes longer.
  const plotsOf = (section, place) => {
    const views = [], frames = [...section.querySelectorAll(".plot")];
    const bar = section.querySelector(".zoom"), seconds = +frames[0]?.dataset.to;
    let left = 0, right = 1000;
    const zoomAll = (from, to) => {
      const width = Math.min(1000, Math.max(4, to - from));
      left = Math.max(0, Math.min(1000 - width, (from + to - width) / 2));
      right = left + width;
      for (const view of views) view(left, right);
    };
    for (const frame of frames) views.push(plotOf(frame, zoomAll));
    if (place) zoomAll(place.from / seconds * 1000, place.to / seconds * 1000);
    const tell = () => right - left > 999 ? null : {from: left / 1000 * seconds, to: right / 1000 * seconds};
    if (!bar) return tell;
    bar.hidden = false;
    bar.addEventListener("click", event => {
      const middle = (left + right) / 2, half = (right - left) / 2;
      const by = {in: [middle - half / 2, middle + half / 2], out: [middle - half * 2, middle + half * 2], all: [0, 1000],
                  left: [left - half, right - half], right: [left + half, right + half]}[event.target.dataset.zoom];
      if (by) zoomAll(...by);
    });
    return tell;
  };

  // The rounds one by one. Who is at the last ones stays there.
  const lanesOf = (frame, place) => {
    const data = JSON.parse(frame.querySelector("script").textContent);
    const svg = frame.querySelector("svg"), along = frame.querySelector(".along"), tip = tipOf(frame);
    const controls = frame.nextElementSibling, slider = controls.querySelector("input");
    const count = data.round.length, height = svg.viewBox.baseVal.height;
    let first = +slider.value, shown = Math.min(place?.shown ?? 12, count), at = null, lane = 0;
    if (place) first = place.last ? count : placeOf(data.round, place.round);

    const show = () => {
      first = Math.max(0, Math.min(count - shown, first));
      slider.max = count - shown;
      slider.value = first;
      slider.setAttribute("aria-valuetext", `rounds ${data.round[first]} to ${data.round[first + shown - 1]}`);
      const left = data.x[first], span = Math.max(1, data.x[first + shown] - left);
      svg.setAttribute("viewBox", `${left} 0 ${span} ${height}`);
      svg.classList.toggle("dense", shown > 60);
      along.replaceChildren();
      const step = Math.max(1, Math.ceil(shown / 6));
      for (let i = first; i < first + shown; i += step) {
        const label = make("span", "", data.round[i]);
        label.style.left = (data.x[i] - left) / span * 100 + "%";
        along.append(label);
      }
    };
    const read = (i, row, x) => {
      const ms = data.times[row][i], name = data.names[row];
      const head = `round ${data.round[i]} at ${clock(data.at[i])}: ${data.ms[i]} ms`;
      if (ms === null) return tip.show(x, frame.clientWidth, head, [[null, name, "not there"]]);
      const kind = of => svg.querySelector("path." + of);
      const rows = [[kind("computing"), name + " computed", `${data.shares[row][i]} samples in ${ms} ms`]];
      if (kind("waiting")) rows.push([kind("waiting"), "waited", Math.max(0, data.slowest[i] - ms).toFixed(2) + " ms"]);
      rows.push([kind("exchanging"), "exchange", Math.max(0, data.ms[i] - data.slowest[i]).toFixed(2) + " ms"]);
      tip.show(x, frame.clientWidth, head, rows);
    };
    const under = event => {
      const box = svg.getBoundingClientRect(), left = data.x[first], span = data.x[first + shown] - left;
      const x = (event.clientX - box.left) / box.width;
      const row = Math.floor((event.clientY - box.top) / box.height * data.names.length);
      return [Math.min(count - 1, placeOf(data.x, left + x * span)), Math.max(0, Math.min(data.names.length - 1, row)),
              event.clientX - frame.getBoundingClientRect().left];
    };
    let dragged = null;
    svg.addEventListener("pointerdown", event => { dragged = {x: event.clientX, first}; svg.setPointerCapture(event.pointerId); });
    svg.addEventListener("pointerup", () => { dragged = null; });
    svg.addEventListener("pointercancel", () => { dragged = null; });
    svg.addEventListener("pointermove", event => {
      if (dragged) {
        first = dragged.first + Math.round((dragged.x - event.clientX) / svg.clientWidth * shown);
        show();
      }
      read(...under(event));
    });
    svg.addEventListener("pointerleave", tip.hide);
    frame.addEventListener("blur", tip.hide);
    const zoom = by => {
      const middle = first + shown / 2;
      shown = Math.max(Math.min(3, count), Math.min(count, Math.round(shown * by)));
      first = Math.round(middle - shown / 2);
      show();
    };
    frame.addEventListener("keydown", event => {
      const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageUp: [-shown, 0],
                    PageDown: [shown, 0], Home: [-count, 0], End: [count, 0]}[event.key];
      if (step) {
        at = Math.max(0, Math.min(count - 1, (at ?? first) + (at === null && step[0] ? 0 : step[0])));
        lane = Math.max(0, Math.min(data.names.length - 1, lane + step[1]));
        if (at < first || at >= first + shown) first = at - Math.floor(shown / 2);
        show();
        read(at, lane, frame.clientWidth * (at - first + 0.5) / shown);
      } else if (event.key === "+") zoom(0.5);
      else if (event.key === "-") zoom(2);
      else if (event.key === "Escape") tip.hide();
      else return;
      event.preventDefault();
    });
    slider.addEventListener("input", () => { first = +slider.value; show(); });
    controls.addEventListener("click", event => { if (event.target.dataset.zoom) zoom(+event.target.dataset.zoom); });
    controls.hidden = false;
    show();
    const wanted = () => (shown < count ? shown : Math.max(shown, 12));
    return () => ({round: data.round[first], shown: wanted(), last: first + shown >= count});
  };

  const begin = (places = {}) => {
    const each = (kind, of) =>
      [...document.querySelectorAll(kind)].map((it, i) => of(it, places[kind]?.[i]));
    const plots = each("section", plotsOf), lanes = each(".lanes", lanesOf);
    return () => ({section: plots.map(tell => tell()), ".lanes": lanes.map(tell => tell())});
  };
  return {begin};
})();
