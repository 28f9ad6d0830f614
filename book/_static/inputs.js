// The reader's numbers: kept in the address, carried from page to page, and listed in a banner. On a page with inputs
// this loads the model, the data of the build, and the widgets of the page. Nothing is sent anywhere.
(function () {
  "use strict";

  const here = document.currentScript.src;
  const PATH = /^[a-z_]+\.[a-z_0-9]+(\..{1,80})?$/,
    LONGEST = 4000;

  // ---- the state: the scenario to begin with, and values by path

  const state = { start: null, hold: null, values: {}, more: {}, left: [] };

  function decode(texts) {
    try {
      return texts.map(decodeURIComponent);
    } catch {
      return null; // cut off in the middle of a character
    }
  }

  // The state in an address: parts with "=" are values, a part without is a place on the page.
  function read(hash) {
    const parts = { start: null, hold: null, values: {}, more: {}, left: [], anchor: "" };
    for (const part of hash.replace(/^#/, "").slice(0, LONGEST).split("&").filter(Boolean)) {
      const cut = part.indexOf("=");
      if (cut < 0) {
        parts.anchor = part;
        continue;
      }
      const decoded = decode([part.slice(0, cut), part.slice(cut + 1).replace(/\+/g, " ")]);
      if (!decoded) {
        parts.left.push(part);
        continue;
      }
      const [name, text] = decoded;
      if (name === "start" && /^[\w .-]{1,80}$/.test(text)) {
        parts.start = text;
        continue;
      }
      if (name === "hold" && (text === "job" || text === "node")) {
        parts.hold = text === "job" ? text : null; // what another size keeps: the node failure rate unless "job"
        continue;
      }
      const value = text === "best" ? text : text.trim() !== "" && isFinite(text) ? Number(text) : undefined;
      if (/^(with|price|ask)\.[\w-]{1,64}$/.test(name) && typeof value === "number") {
        parts.more[name] = value;
        continue;
      }
      if (PATH.test(name) && value !== undefined) {
        parts.values[name] = value;
        continue;
      }
      parts.left.push(part);
    }
    return parts;
  }

  const pairs = () =>
    [["start", state.start], ["hold", state.hold], ...Object.entries(state.values), ...Object.entries(state.more)]
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => encodeURIComponent(name) + "=" + encodeURIComponent(value))
      .join("&");

  const isYours = () =>
    Object.keys(state.values).length > 0 ||
    Object.keys(state.more).length > 0 ||
    state.start !== null ||
    state.hold !== null;

  let pending = null;
  function save() {
    clearTimeout(pending);
    pending = setTimeout(function () {
      const anchor = read(location.hash).anchor,
        hash = [anchor, pairs()].filter(Boolean).join("&");
      if ("#" + hash !== location.hash && (hash || location.hash)) {
        history.replaceState(null, "", "#" + hash);
      }
      carry();
      banner();
    }, 250);
  }

  // Links inside the book lead on with the same numbers.
  function carry() {
    document.querySelectorAll("a[href]").forEach(function (link) {
      const original = link.dataset.original === undefined ? link.getAttribute("href") : link.dataset.original;
      if (!/^(?![a-z]+:|\/\/)[^#]*\.html(#|$)/i.test(original)) {
        return;
      }
      link.dataset.original = original;
      const values = pairs(),
        [page, anchor] = original.split("#");
      link.setAttribute("href", values ? page + "#" + [anchor, values].filter(Boolean).join("&") : original);
    });
  }

  // ---- the banner and the notice

  function element(tag, attributes, ...inside) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "on") {
        for (const [event, handler] of Object.entries(value)) {
          made.addEventListener(event, handler);
        }
      } else if (value !== null && value !== undefined && value !== false) {
        made.setAttribute(name, value === true ? "" : value);
      }
    }
    made.append(...inside.flat(9).filter((child) => child !== null && child !== undefined && child !== false));
    return made;
  }

  function banner() {
    const article = document.querySelector("article.bd-article") || document.querySelector("main");
    let box = document.querySelector(".ettr-banner");
    if (!isYours() && !state.left.length) {
      if (box) {
        box.remove();
      }
      return;
    }
    if (!box) {
      box = element("div", { class: "ettr-banner", role: "region", "aria-label": "Your numbers" });
      article.prepend(box);
    }
    const has = document.querySelector("[data-ettr]") !== null,
      n = Object.keys(state.values).length + Object.keys(state.more).length + (state.hold ? 1 : 0);
    const scope = has
      ? "The interactive parts of this page use them; all other text and charts are about the book's run."
      : "This page has no inputs; it is about the book's run.";
    const summary = box.querySelector(".ettr-said") || element("span", { class: "ettr-said" });
    summary.replaceChildren(
      element("strong", {}, "Your numbers"),
      n === 1 ? " (1 value). " : " (" + n + " values). ",
      scope
    );
    box.replaceChildren(
      ...[
        isYours() && summary,
        isYours() &&
          element("button", { type: "button", class: "ettr-button", on: { click: reset } }, "Reset to the book’s run"),
        state.left.length > 0 &&
          element(
            "span",
            { class: "ettr-notice", role: "status" },
            "Ignored, because it is not a valid value of a field: " +
              state.left.map((part) => part.slice(0, 60)).join(", ")
          ),
      ].filter(Boolean)
    );
  }

  function reset() {
    Object.assign(state, { start: null, hold: null, values: {}, more: {}, left: [] });
    save();
    listeners.forEach((listener) => listener("reset"));
    const main = document.querySelector("h1");
    if (main) {
      main.tabIndex = -1;
      main.focus({ preventScroll: true });
    }
  }

  const listeners = new Set();

  // ---- a page with inputs

  function load(name) {
    return new Promise(function (resolve, reject) {
      const script = element("script", { src: new URL(name, here).href });
      script.onload = resolve;
      script.onerror = function () {
        reject(new Error(name + " could not be loaded"));
      };
      document.head.append(script);
    });
  }

  window.ettrState = { state, read, save, listeners, element, isYours };

  async function begin() {
    Object.assign(state, read(location.hash));
    const widgets = document.querySelectorAll("[data-ettr]");
    if (widgets.length) {
      await Promise.all(["model.js", "data.js", "quantities.js"].map(load));
      await Promise.all(["plan.js", "calculators.js"].map(load));
      await load("widgets.js");
      if ([...widgets].some((el) => el.dataset.ettr === "what_if")) {
        await load("what_if.js");
      }
      window.ettrWidgets.begin([...widgets]);
    }
    if (isYours() || state.left.length) {
      carry();
      banner();
    }
    const place = read(location.hash).anchor;
    if (place && location.hash.includes("=")) {
      const target = document.getElementById((decode([place]) || [place])[0]);
      if (target) {
        target.scrollIntoView();
      }
    }
  }

  window.addEventListener("hashchange", function () {
    const parsed = read(location.hash);
    if (!location.hash.includes("=") && isYours()) {
      save();
      return;
    } // a place on this page: the numbers stay
    if (location.hash.includes("=")) {
      const { start, hold, values, more, left } = parsed;
      Object.assign(state, { start, hold, values, more, left });
      listeners.forEach((listener) => listener("address"));
      carry();
      banner();
    }
  });

  if (document.readyState === "loading") {
    document.addEventListener("DOMContentLoaded", begin);
  } else {
    begin();
  }
})();
