"use strict";
// A page of a run under way: asks for its changing part every other second and puts it in the place of the old one.
// The reader's place is kept: scrolling, zoom, rounds in view, what is unfolded and what has the focus. While values
// are shown, text is marked or something is dragged, the page waits.
(() => {
  const every = 2000;
  const main = document.querySelector("main"), bar = document.querySelector(".live");
  const when = bar.querySelector(".when"), said = bar.querySelector("[role=status]"), button = bar.querySelector("button");
  const begin = place => steelyard.begin({...place, ".lanes": place[".lanes"]?.length ? place[".lanes"] : [{last: true}]});
  let places = begin({});
  let tag = "", shown = "", stopped = false, held = false, missed = 0;

  // Things are found again by the heading that they stand under and which of their kind they are there.
  const parts = "h1, h2, h3, summary, button, input, [tabindex]";
  const named = () => {
    const found = new Map();
    let heading = "";
    for (const it of main.querySelectorAll(parts)) {
      if (/^H/.test(it.tagName)) heading = it.textContent;
      for (let i = 0; ; ++i) {
        const name = heading + "/" + it.tagName + "/" + i;
        if (found.has(name)) continue;
        found.set(name, it);
        break;
      }
    }
    return found;
  };
  const isHeading = it => /^H/.test(it.tagName);
  const nameOf = (all, wanted) => [...all].find(([, it]) => wanted(it))?.[0];

  const put = text => {
    const before = named(), place = places();
    const focus = nameOf(before, it => it === document.activeElement);
    const top = nameOf(before, it => isHeading(it) && it.getBoundingClientRect().top >= 0);
    const was = before.get(top)?.getBoundingClientRect().top;
    const open = [...before].filter(([, it]) => it.parentElement.open).map(([name]) => name);
    main.innerHTML = text;
    places = begin(place);
    const after = named();
    for (const name of open) if (after.has(name)) after.get(name).parentElement.open = true;
    if (focus) after.get(focus)?.focus({preventScroll: true});
    if (scrollY > 0 && after.has(top)) scrollBy({top: after.get(top).getBoundingClientRect().top - was, behavior: "instant"});
  };

  const say = text => { if (said.textContent !== text) said.textContent = text; };
  const looking = () => held || main.querySelector(".tip:not([hidden])") || !getSelection().isCollapsed;
  const busy = () => stopped || document.hidden || looking();
  const now = () => "as of " + new Date().toLocaleTimeString();
  const ask = async () => {
    if (!busy()) {
      try {
        const answer = await fetch("part", {headers: tag ? {"If-None-Match": tag} : {}, signal: AbortSignal.timeout(10000)});
        if (!answer.ok && answer.status !== 304) throw new Error(answer.statusText);
        const text = answer.status === 304 ? "" : await answer.text();
        if (text && !busy()) {
          put(text);
          tag = answer.headers.get("ETag") ?? "";
        }
        missed = 0;
        bar.classList.remove("lost");
        shown = now();
        say("");
      } catch {
        if (++missed >= 2) {
          bar.classList.add("lost");
          say("The job does not answer any more: it has ended, or cannot be reached. The page stays as it was; steelyard report makes one of the whole run.");
        }
      }
    }
    when.textContent = shown + (looking() ? ", waits while you look" : "");
    setTimeout(ask, missed > 5 ? 5 * every : every);
  };

  main.addEventListener("pointerdown", () => { held = true; });
  for (const kind of ["pointerup", "pointercancel"]) addEventListener(kind, () => { held = false; });
  button.addEventListener("click", () => {
    stopped = !stopped;
    button.textContent = stopped ? "go on" : "hold the page";
    say(stopped ? "held; the training goes on" : "");
  });
  bar.hidden = false;
  when.textContent = shown = now();
  setTimeout(ask, every);
})();
