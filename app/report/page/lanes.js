"use strict";
// Parts that charts and lanes share, and the lanes of a run: its rounds one by one, on a canvas.
const parts = (() => {
  const make = (tag, kind, text) => {
    const it = document.createElement(tag);
    if (kind) it.className = kind;
    if (text !== undefined) it.textContent = text;
    return it;
  };
  const button = (text, press) => {
    const it = make("button", "", text);
    it.type = "button";
    it.addEventListener("click", press);
    return it;
  };
  const styled = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const number = (value, digits = 4) =>
    value.toLocaleString("en", Math.abs(value) < 1 ? {maximumSignificantDigits: digits - 1}
                                                   : {maximumFractionDigits: Math.max(0, digits - 1 - Math.floor(Math.log10(Math.abs(value))))});
  const clock = s => {
    if (s < 59.95) return number(s, 3) + " s";
    const t = Math.round(s), two = n => String(n).padStart(2, "0");
    return (t < 3600 ? Math.floor(t / 60) : Math.floor(t / 3600) + ":" + two(Math.floor(t / 60) % 60)) + ":" + two(t % 60);
  };
  const save = (figure, name) => {  // canvases and texts of the figure, as a PNG
    const box = figure.getBoundingClientRect(), scale = Math.max(2, devicePixelRatio);
    const canvas = make("canvas"), pen = canvas.getContext("2d");
    canvas.width = box.width * scale;
    canvas.height = box.height * scale;
    pen.scale(scale, scale);
    pen.fillStyle = styled("--paper");
    pen.fillRect(0, 0, box.width, box.height);
    for (const it of figure.querySelectorAll("*")) {
      const at = it.getBoundingClientRect(), look = getComputedStyle(it);
      if (it.closest(".tools, .readout, details") || at.width === 0 || look.visibility === "hidden") continue;
      const x = at.left - box.left, y = at.top - box.top;
      if (it.tagName === "CANVAS") pen.drawImage(it, x, y, at.width, at.height);
      if (it.matches(".key")) {
        pen.fillStyle = it.matches(".waiting") ? styled("--stand") : it.matches(".resting") ? styled("--rest") : look.backgroundColor;
        pen.fillRect(x, y, at.width, at.height);
      }
      for (const text of it.childNodes) {
        if (text.nodeType !== 3 || !text.data.trim()) continue;
        const range = document.createRange();
        range.selectNode(text);
        const place = range.getBoundingClientRect();
        pen.font = look.font;
        pen.fillStyle = look.color;
        pen.textBaseline = "middle";
        pen.fillText(text.data.trim(), place.left - box.left, place.top - box.top + place.height / 2);
      }
    }
    const link = make("a");
    link.href = canvas.toDataURL("image/png");
    link.download = name + ".png";
    link.click();
  };

  // ---- lanes

  const lane = 28;  // pixels
  const placeOf = (list, value) => {  // the last place whose value is not above
    let low = 0, high = list.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (list[middle] <= value) low = middle; else high = middle - 1;
    }
    return low;
  };
  const lanesOf = (box, block, follow) => {
    const frame = make("div", "frame lanes"), names = make("div", "names"), view = make("div", "view"), canvas = make("canvas");
    const along = make("div", "along"), readout = make("p", "readout"), tools = make("div", "tools"), says = make("output");
    const slider = Object.assign(make("input"), {type: "range", min: 0});
    const legend = make("ul", "legend");
    frame.tabIndex = 0;
    frame.setAttribute("role", "group");
    frame.setAttribute("aria-label", "rounds one by one");
    readout.setAttribute("aria-live", "polite");
    slider.setAttribute("aria-label", "first round in view");
    view.append(canvas, along);
    frame.append(names, view);
    box.append(legend, frame, readout, tools);
    let first = block.view, shown = block.shown, starts = [], at = null, row = 0;
    const count = () => block.round.length;
    const lastOf = i => block.round[i] + block.count[i] - 1;

    const show = () => {
      shown = Math.max(1, Math.min(count(), shown));
      first = Math.max(0, Math.min(count() - shown, first));
      const pen = canvas.getContext("2d"), scale = devicePixelRatio, w = view.clientWidth, h = block.names.length * lane;
      if (w === 0) return;
      canvas.width = w * scale;
      canvas.height = h * scale;
      canvas.style.height = h + "px";
      pen.scale(scale, scale);
      // A slow round may not squeeze the others: it is drawn as three usual rounds, with a mark.
      const inView = block.ms.slice(first, first + shown), usual = [...inView].sort((a, b) => a - b)[Math.floor(0.5 * (inView.length - 1))];
      const cap = shown > 3 ? Math.max(3 * usual, 1e-9) : Infinity;
      const widths = inView.map((ms, i) => block.count[first + i] * Math.min(ms, cap)), all = widths.reduce((a, b) => a + b, 0) || 1;
      starts = [0];
      for (const it of widths) starts.push(starts[starts.length - 1] + it / all * w);
      const look = Object.fromEntries(["work", "stand", "talk", "rest", "line", "paper", "mark"].map(it => [it, styled("--" + it)]));
      const hatch = hatched(look.stand);
      for (let i = 0; i < shown; ++i) {
        const k = first + i, left = starts[i], right = starts[i + 1], ms = block.ms[k], part = (right - left) / (ms || 1);
        const clipped = ms > cap, unit = clipped ? (right - left) / ms : part;
        block.names.forEach((name, r) => {
          const y = r * lane, time = block.times[r][k];
          const bar = (from, to, height, fill) => { pen.fillStyle = fill; pen.fillRect(left + from * unit, y + (lane - height) / 2, Math.max((to - from) * unit, 0), height); };
          if (time === null) return bar(0, ms, 2, look.rest);
          bar(Math.max(block.slowest[k], time), ms, 10, look.talk);
          bar(time, block.slowest[k], 14, (right - left) > 6 ? hatch : look.stand);
          bar(0, Math.min(time, ms), 20, look.work);
        });
        if (right - left > 7) { pen.fillStyle = look.line; pen.fillRect(left, 0, 1, h); }
        if (clipped) {
          pen.fillStyle = look.paper;
          pen.fillRect((left + right) / 2 - 3, 0, 6, h);
          pen.fillStyle = look.mark;
          pen.fillRect((left + right) / 2 - 4, 0, 1.5, h);
          pen.fillRect((left + right) / 2 + 3, 0, 1.5, h);
        }
      }
      along.replaceChildren();
      let free = -1e9;
      const every = Math.ceil(64 * shown / w);
      for (let i = 0; i < shown; i += every) {
        if (starts[i] < free || starts[i] > w - 40) continue;
        const label = make("span", "", number(block.round[first + i], 12));
        label.style.left = starts[i] + "px";
        along.append(label);
        free = starts[i] + 50;
      }
      slider.max = count() - shown;
      slider.value = first;
      const reason = shown === count() ? "all" : first <= block.view && block.view < first + shown ? block.label : first + shown >= count() ? "the last rounds" : "";
      const means = block.count.slice(first, first + shown).some(it => it > 1) ? ", means of several" : "";
      says.textContent = `rounds ${number(block.round[first], 12)} to ${number(lastOf(first + shown - 1), 12)}` + means + (reason ? ": " + reason : "") +
                         (inView.some(it => it > cap) ? "; red marks: slow rounds, drawn shorter than they were" : "");
      slider.setAttribute("aria-valuetext", says.textContent);
    };
    const tell = (k, r) => {
      const ms = block.times[r][k], several = block.count[k] > 1, rest = v => number(Math.max(0, v), 3) + " ms";
      const head = several ? `rounds ${number(block.round[k], 12)} to ${number(lastOf(k), 12)} (means)` : `round ${number(block.round[k], 12)}`;
      readout.textContent = `${head} at ${clock(block.at[k])}, ${number(block.ms[k])} ms: ` + (ms === null ? `${block.names[r]} rested` :
        `${block.names[r]} computed ${number(block.shares[r][k])} samples in ${number(ms)} ms, waited ${rest(block.slowest[k] - ms)}, exchange ${rest(block.ms[k] - block.slowest[k])}`);
    };
    const hint = () => { readout.textContent = "Point at a round, or use the arrow keys, to read its times."; };
    const zoom = by => { const middle = first + shown / 2; shown = Math.max(Math.min(3, count()), Math.round(shown * by)); first = Math.round(middle - shown / 2); show(); };
    const go = (to, n) => { first = to; if (n) shown = n; show(); };
    canvas.addEventListener("pointermove", event => {
      const place = canvas.getBoundingClientRect();
      tell(first + Math.min(shown - 1, placeOf(starts, event.clientX - place.left)), Math.max(0, Math.min(block.names.length - 1, Math.floor((event.clientY - place.top) / lane))));
    });
    canvas.addEventListener("pointerleave", hint);
    frame.addEventListener("keydown", event => {
      const step = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1], PageUp: [-shown, 0],
                    PageDown: [shown, 0], Home: [-count(), 0], End: [count(), 0]}[event.key];
      if (step) {
        at = Math.max(0, Math.min(count() - 1, (at ?? first - (step[0] > 0 ? 1 : 0)) + step[0]));
        row = Math.max(0, Math.min(block.names.length - 1, row + step[1]));
        if (at < first || at >= first + shown) first = at - Math.floor(shown / 2);
        show();
        tell(at, row);
      } else if (event.key === "+") zoom(0.5);
      else if (event.key === "-") zoom(2);
      else return;
      event.preventDefault();
    });
    slider.addEventListener("input", () => go(+slider.value));
    tools.append(slider, says, button("zoom in", () => zoom(0.5)), button("zoom out", () => zoom(2)), button(block.label, () => go(block.view, 12)),
                 button("all rounds", () => go(0, count())), button("save picture", () => save(box.parentElement, block.id)));
    if (block.label !== "the last rounds") tools.insertBefore(button("the last rounds", () => go(count(), 12)), tools.lastChild.previousSibling);
    const fill = () => {
      names.replaceChildren(...block.names.map(name => {
        const item = Object.assign(make("span"), {title: name});
        item.append(make("bdi", "", name));
        return item;
      }));
      const rests = block.times.some(it => it.includes(null));
      legend.replaceChildren(...["computing", "waiting", "exchange", ...(rests ? ["resting"] : [])].map(kind => {
        const item = make("li", "", kind);
        item.prepend(make("i", "key " + kind));
        return item;
      }));
      show();
    };
    if (follow) first = count();
    hint();
    fill();
    addEventListener("resize", show);
    return {
      restyle: show,
      update: now => {  // a reader at the last rounds stays at the last rounds
        const last = first + shown >= count(), round = block.round[first];
        block = now;
        if (shown < 12) shown = Math.min(12, count());
        first = last ? count() : placeOf(block.round, round);
        fill();
      },
    };
  };
  const hatched = colour => {
    const tile = make("canvas"), pen = tile.getContext("2d");
    tile.width = tile.height = 8;
    pen.strokeStyle = colour;
    pen.lineWidth = 3;
    pen.beginPath();
    for (const x of [-8, 0, 8]) { pen.moveTo(x - 2, 10); pen.lineTo(x + 10, -2); }
    pen.stroke();
    return pen.createPattern(tile, "repeat");
  };
  return {make, button, styled, number, clock, save, lanesOf};
})();
