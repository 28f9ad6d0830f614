// The reader's numbers: kept in the address, carried from page to page, and listed in a banner. On a page with inputs
// this loads the model, the data of the build, and the widgets of the page. Nothing is sent anywhere.
(function () {
  "use strict";

  const here = document.currentScript.src;
  const PATH = /^[a-z_]+\.[a-z_0-9]+(\..{1,80})?$/,
    LONGEST = 8000;
  const UNKNOWN = "Unknown in this link, and ignored",
    INVALID = "Not valid in this link, and ignored",
    TOO_LONG = "This link was ignored: it is longer than " + LONGEST + " characters";

  // ---- the state: the scenario to begin with, values by path, and a pinned scenario to compare with

  const blank = () => ({ start: null, hold: null, values: {}, more: {}, left: [], pinned: null });
  const state = blank();

  function decode(texts) {
    try {
      return texts.map(decodeURIComponent);
    } catch {
      return null; // cut off in the middle of a character
    }
  }

  // The state in an address: parts with "=" are values, a part without is a place on the page. Names that begin with
  // "a." belong to the pinned scenario. `left` has what was ignored, each with its reason.
  function read(hash) {
    const parts = { ...blank(), anchor: "" };
    if (hash.length > LONGEST) {
      parts.left.push([TOO_LONG]);
      return parts;
    }
    for (const part of hash.replace(/^#/, "").split("&").filter(Boolean)) {
      const cut = part.indexOf("=");
      if (cut < 0) {
        parts.anchor = part;
        continue;
      }
      const decoded = decode([part.slice(0, cut), part.slice(cut + 1).replace(/\+/g, " ")]);
      if (!decoded) {
        parts.left.push([INVALID, part]);
        continue;
      }
      const [written, text] = decoded,
        isPinned = written.startsWith("a."),
        name = isPinned ? written.slice(2) : written,
        value = text === "best" ? text : text.trim() !== "" && isFinite(text) ? Number(text) : undefined;
      if (isPinned && !parts.pinned) {
        parts.pinned = blank();
      }
      const owner = isPinned ? parts.pinned : parts;
      if (name === "start" && /^[\w .-]{1,80}$/.test(text)) {
        owner.start = text;
      } else if (name === "hold" && (text === "job" || text === "node")) {
        owner.hold = text === "job" ? text : null; // what another size keeps: the node failure rate unless "job"
      } else if (/^(with|price|ask)\.[\w-]{1,64}$/.test(name) && typeof value === "number") {
        owner.more[name] = value;
      } else if (PATH.test(name) && value !== undefined) {
        owner.values[name] = value;
      } else {
        parts.left.push([PATH.test(name) ? INVALID : UNKNOWN, written + "=" + text]);
      }
    }
    return parts;
  }

  const entries = ({ start, hold, values, more }) => [
    ["start", start],
    ["hold", hold],
    ...Object.entries(values),
    ...Object.entries(more),
  ];
  const pairs = () =>
    [...entries(state), ...entries(state.pinned || blank()).map(([name, value]) => ["a." + name, value])]
      .filter(([, value]) => value !== null && value !== undefined)
      .map(([name, value]) => encodeURIComponent(name) + "=" + encodeURIComponent(value))
      .join("&");
  // This page with all values of the reader.
  const address = () => location.href.replace(/#.*/, "") + (pairs() && "#" + pairs());

  const nValues = () => entries(state).filter(([, value]) => value !== null && value !== undefined).length;
  const isYours = () => nValues() > 0;

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
    const hasInputs = document.querySelector("[data-ettr]") !== null,
      n = nValues() - (state.start === null ? 0 : 1),
      { starts, book } = window.ettrData || {},
      run = starts ? starts[book].title : "the book’s run",
      from = state.start !== null && "from " + ((starts && starts[state.start]) || { title: state.start }).title,
      yours = [n > 0 && `${n} value${n === 1 ? "" : "s"}`, from].filter(Boolean).join(", "),
      button = { type: "button", class: "ettr-button", on: { click: reset } };
    const scope = hasInputs
      ? "The interactive parts of this page use them; all other text and charts are about the book's run."
      : "This page has no inputs; it is about the book's run.";
    box.replaceChildren(
      ...(isYours()
        ? [
            element("span", {}, element("strong", {}, "Your numbers"), ` (${yours}). `, scope),
            element("button", button, "Reset everything to " + run),
          ]
        : []),
      ...notices().map((text) => element("span", { class: "ettr-notice", role: "status" }, text))
    );
  }

  // A sentence for each reason why parts of the address were ignored.
  function notices() {
    const MOST = 5,
      reasons = [...new Set(state.left.map(([reason]) => reason))];
    return reasons.map(function (reason) {
      const parts = state.left.filter(([other, part]) => other === reason && part).map(([, part]) => part.slice(0, 160)),
        rest = parts.length > MOST ? ` and ${parts.length - MOST} more` : "";
      return reason + (parts.length ? ": " + parts.slice(0, MOST).join(", ") + rest : "") + ".";
    });
  }

  function reset() {
    Object.assign(state, blank());
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

  window.ettrState = { state, blank, UNKNOWN, INVALID, read, save, address, listeners, element, isYours };

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
    carry();
    banner();
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
    if (!location.hash.includes("=") && pairs()) {
      save();
      return;
    } // a place on this page: the numbers stay
    if (location.hash.includes("=")) {
      const { anchor: _, ...rest } = parsed;
      Object.assign(state, rest);
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
