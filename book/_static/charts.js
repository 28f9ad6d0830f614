// Draws the charts of a page. Each figure has a Vega-Lite specification and a still picture, which stays until the chart
// is drawn and returns if drawing fails. The only file loaded is vega-bundle.js in the same folder.
(function () {
  "use strict";

  const SPEC_TYPE = "application/vnd.vegalite.v6+json";
  const NARROWEST_PANEL = 210; // px
  const LABEL_CHARACTER_PX = 6.7, LINE_PX = 12, LABEL_LIMIT_PX = 180; // of Vega
  const SAVED_PX = 700, SAVED_TITLE_PX = 15; // of a picture that is saved, and of its title's font
  const MOST_LABELS = 40; // on a phone, where names do not fit in a line
  const bundleAddress = new URL("vega-bundle.js", document.currentScript.src).href;
  let bundle = null;

  function loadBundle() {
    bundle = bundle || new Promise(function (resolve, reject) {
      const script = document.createElement("script");
      script.src = bundleAddress;
      script.onload = function () { resolve(window.vegaEmbed); };
      script.onerror = function () { reject(new Error("vega-bundle.js could not be loaded")); };
      document.head.appendChild(script);
    });
    return bundle;
  }

  function isDark() {
    return document.documentElement.dataset.theme === "dark";
  }

  const DARK = {
    axis: { labelColor: "#b7bdc2", titleColor: "#dfe3e6", gridColor: "#34393d", domainColor: "#8b9297", tickColor: "#8b9297" },
    header: { labelColor: "#dfe3e6", titleColor: "#dfe3e6" },
    legend: { labelColor: "#b7bdc2", titleColor: "#dfe3e6" },
    title: { color: "#f1f3f4", subtitleColor: "#b7bdc2" },
    rule: { color: "#9aa1a6" },
    text: { color: "#dfe3e6" },
  };

  // Colours of the theme that are too dark for a dark page, and their replacements.
  const BRIGHTER = {
    "#a8480a": "#d97a3a", "#ad470c": "#de7f3f", "#e46d09": "#f58a2e", "#8449bc": "#b184e0", "#8d48b3": "#ba82dc",
    "#825bd7": "#a78bea", "#a27505": "#c99a2c", "#297064": "#4fa899", "#2a7057": "#4ea787", "#2f6d8f": "#5d9fc4",
    "#636562": "#9a9d99", "#289561": "#3fb57d",
  };

  function themed(light) {
    if (!isDark()) { return light; }
    const spec = JSON.parse(JSON.stringify(light, function (key, value) { return Object.hasOwn(BRIGHTER, value) ? BRIGHTER[value] : value; }));
    const config = Object.assign({}, spec.config);
    Object.keys(DARK).forEach(function (key) { config[key] = Object.assign({}, config[key], DARK[key]); });
    return Object.assign({}, spec, { config: config });
  }

  // Panels: Vega-Lite cannot fit facets and concatenations to a width, so their columns and widths are chosen here.

  function panels(spec) {
    const children = spec.concat || spec.hconcat || spec.vconcat;
    if (children) {
      const columns = spec.vconcat ? 1 : spec.hconcat ? children.length : spec.columns || children.length;
      return { items: children, columns: Math.min(columns, children.length) };
    }
    if ((spec.facet || spec.repeat) && spec.spec) { return { items: [spec.spec], columns: spec.columns || 1 }; }
    return null;
  }

  function fitted(source, width, correction) {
    const spec = JSON.parse(JSON.stringify(source));
    const grid = panels(spec);
    if (width < 560) { // a legend does not wrap by itself
      spec.config = Object.assign({}, spec.config);
      spec.config.legend = Object.assign({}, spec.config.legend, { columns: width < 420 ? 1 : 2 });
      spec.config.axisX = Object.assign({}, spec.config.axisX, { titleAnchor: "end" }); // a long title then grows to the left
      spec.layer = spec.layer && spec.layer.filter(function (layer) { return layer.name !== "names"; }); // the tooltip has them
      if (!spec.layer) { delete spec.layer; }
    }
    const tall = brokenLabels(spec, width < 560 ? Math.round(width * 0.36) : Infinity, allRows(spec));
    if (typeof spec.height === "number") { spec.height = Math.max(spec.height, tall); }
    if (!grid) {
      if (spec.width === "container") { // a number: otherwise Vega-Lite would follow the window as well
        spec.width = width;
        spec.autosize = Object.assign({ type: "fit-x", contains: "padding" }, spec.autosize);
      }
      return spec;
    }
    const columns = Math.max(1, Math.min(grid.columns, Math.floor(width / NARROWEST_PANEL)));
    const declared = grid.items.map(function (item) { return typeof item.width === "number" ? item.width : 240; });
    const widestRow = columns === 1 ? 0 : declared.slice(0, columns).reduce(function (a, b) { return a + b; }, 0);
    const room = width - 20 * (columns - 1) + correction;
    grid.items.forEach(function (item, index) {
      const share = columns === 1 ? 1 : grid.items.length === 1 ? 1 / columns : declared[index] / widestRow;
      item.width = Math.max(80, Math.floor(room * share));
    });
    if (spec.hconcat) { spec.concat = spec.hconcat; delete spec.hconcat; }
    if (!spec.vconcat) { spec.columns = columns; }
    return spec;
  }

  function allRows(part) {
    const rows = [].concat.apply([], Object.values(part.datasets || {})).concat((part.data && part.data.values) || []);
    return rows.concat(inside(part).flatMap(allRows));
  }

  function inside(part) { // the charts inside a composed chart
    return ["layer", "concat", "hconcat", "vconcat"].flatMap(function (key) { return part[key] || []; }).concat(part.spec || []);
  }

  // Break long names into several lines, to leave room for the marks. Returns the height that the lines need.
  function brokenLabels(part, limit, rows) {
    const y = part.encoding && part.encoding.y, axis = y && y.axis;
    const room = Math.min(limit, (axis && axis.labelLimit) || LABEL_LIMIT_PX);
    let height = 0;
    if (y && y.field && y.type === "nominal" && axis !== null && (!axis || !axis.labelExpr || axis.labelExpr.startsWith("split("))) {
      const names = new Set(rows.map(function (row) { return row[y.field]; })), lines = {};
      names.forEach(function (name) {
        if (typeof name === "string" && name.length * LABEL_CHARACTER_PX > room) { lines[name] = inLines(name, room); }
      });
      const most = Math.max.apply(null, [0].concat(Object.values(lines).map(function (parts) { return parts.length; })));
      if (most && names.size > MOST_LABELS && limit < Infinity) {
        y.axis = Object.assign({}, axis, { labels: false });
      } else if (most) {
        const broken = JSON.stringify(lines) + "[datum.label] || datum.label";
        y.axis = Object.assign({}, axis, { labelExpr: broken, labelLimit: room, labelLineHeight: LINE_PX, labelOverlap: false });
        height = names.size * (most * LINE_PX + 10) + 20;
      }
    }
    if (part.config && part.config.axis && limit < LABEL_LIMIT_PX) { part.config.axis = Object.assign({}, part.config.axis, { labelLimit: limit }); }
    inside(part).forEach(function (child) { height = Math.max(height, brokenLabels(child, limit, rows)); });
    return height;
  }

  function inLines(name, limit) {
    return name.split(" ").reduce(function (lines, word) {
      const last = lines[lines.length - 1];
      if (last && (last.length + 1 + word.length) * LABEL_CHARACTER_PX <= limit) { lines[lines.length - 1] = last + " " + word; }
      else { lines.push(word); }
      return lines;
    }, []);
  }

  function Chart(figure) {
    this.figure = figure;
    this.target = figure.querySelector(".book-chart-target");
    this.source = JSON.parse(figure.querySelector('script[type="' + SPEC_TYPE + '"]').textContent);
    this.isPanels = panels(this.source) !== null;
    this.correction = this.isPanels ? -60 : 0;
    this.built = { subtitle: textOf(figure, ".book-chart-subtitle"), below: textOf(figure, ".book-chart-source"), rows: {} };
    this.built.description = this.source.description;
    this.below = this.built.below;
    this.isBehind = false; // the rows or the caption are newer than the drawing
    this.result = null;
    this.work = Promise.resolve();
    this.width = 0;
    this.addMenu();
    figure.bookChart = this;
  }

  // Replace the rows of named datasets, with their subtitle and source, in the specification, in saved files and on the
  // page. Without a caption or rows those of the built chart are used.
  Chart.prototype.follow = function (rows, caption) {
    const chart = this, source = this.source, built = this.built;
    const subtitle = caption ? caption.subtitle : built.subtitle, beside = (source.usermeta || {}).beside;
    namedData(source).forEach(function (dataset) {
      if (rows && Array.isArray(rows[dataset.name])) { built.rows[dataset.name] = built.rows[dataset.name] || dataset.values; }
      const now = (rows || built.rows)[dataset.name];
      if (Array.isArray(now)) { dataset.values = now.map(function (row) { return Object.assign({}, row, { scenario: subtitle }); }); }
    });
    source.title.subtitle = subtitle;
    source.description = (caption ? caption.subtitle + ". " : "") + built.description;
    this.below = caption ? [caption.source, beside].filter(Boolean).join(" ") : built.below;
    this.isBehind = true;
    return this.next(function () { return chart.catchUp(); });
  };

  // Update the drawing to the newest rows and their caption.
  Chart.prototype.catchUp = function () {
    const view = this.result && this.result.view;
    if (!view || !this.isBehind) { return; }
    this.isBehind = false;
    const followed = this.built.rows;
    namedData(this.source).forEach(function (dataset) { if (dataset.name in followed) { view.data(dataset.name, dataset.values); } });
    this.say(this.source.title.subtitle, this.below, this.source.description);
    return view.runAsync();
  };

  Chart.prototype.say = function (subtitle, below, description) {
    const figure = this.figure, drawing = this.target.querySelector("svg");
    [[".book-chart-subtitle", subtitle], [".book-chart-source", below]].forEach(function (pair) {
      const place = figure.querySelector(pair[0]);
      if (place) { place.textContent = pair[1]; }
    });
    if (drawing) { drawing.setAttribute("aria-label", description); }
  };

  function textOf(figure, selector) {
    const place = figure.querySelector(selector);
    return place ? place.textContent : "";
  }

  function namedData(part) {
    const named = part.data && part.data.name && part.data.values ? [part.data] : [];
    return named.concat(inside(part).flatMap(namedData));
  }

  Chart.prototype.draw = function () {
    const chart = this;
    return chart.next(function () { return chart.drawNow(); });
  };

  // One step at a time: the theme may change, or the reader may move a value, while the chart is drawn. After a failure
  // the still picture returns with its caption.
  Chart.prototype.next = function (step) {
    const chart = this, built = this.built;
    chart.work = chart.work.then(step).catch(function (error) {
      chart.figure.classList.remove("is-drawn");
      chart.result = null;
      chart.isBehind = true;
      chart.say(built.subtitle, built.below, built.description);
      console.error("chart:", error);
    });
    return chart.work;
  };

  Chart.prototype.drawNow = async function () {
    const embed = await loadBundle();
    this.width = this.figure.clientWidth;
    this.figure.classList.add("is-drawn");
    await this.embedOnce(embed);
    for (let round = 0; this.isPanels && round < 3; round += 1) { // the room for labels is known only after drawing
      const over = Number(this.target.querySelector("svg").getAttribute("width")) - this.target.clientWidth;
      if (over <= 0 && over > -12) { break; }
      this.correction -= over + 2;
      await this.embedOnce(embed);
    }
    await this.catchUp();
    this.figure.dataset.theme = isDark() ? "dark" : "light";
    if (this.isStale()) { this.draw(); } // the window moved on while this was drawn
  };

  Chart.prototype.isStale = function () {
    const width = this.figure.clientWidth;
    return Boolean(width) && Math.abs(width - this.width) > 4;
  };

  Chart.prototype.embedOnce = async function (embed) {
    if (this.result) { this.result.finalize(); }
    const spec = themed(fitted(this.source, this.target.clientWidth, this.correction));
    delete spec.title; // the caption says it
    this.result = await embed(this.target, spec, {
      mode: "vega-lite",
      renderer: "svg",
      actions: false,
      tooltip: { theme: isDark() ? "dark" : "light" },
    });
    const drawing = this.target.querySelector("svg");
    ["role", "aria-label", "aria-roledescription"].forEach((name) => this.target.removeAttribute(name));
    if (drawing) {
      drawing.setAttribute("role", "img"); // one picture with one description, not hundreds of marks
      drawing.setAttribute("aria-label", this.source.description);
      drawing.querySelectorAll("[aria-roledescription]").forEach(function (part) {
        ["role", "aria-label", "aria-roledescription"].forEach(function (name) { part.removeAttribute(name); });
        part.setAttribute("aria-hidden", "true");
      });
    }
  };

  Chart.prototype.addMenu = function () {
    const chart = this;
    const menu = document.createElement("details");
    menu.className = "book-chart-menu";
    const summary = document.createElement("summary");
    summary.textContent = "Save";
    menu.appendChild(summary);
    const list = document.createElement("div");
    menu.appendChild(list);
    const name = (chart.figure.querySelector(".book-chart-title").textContent || "chart")
      .toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "").slice(0, 60);
    summary.setAttribute("aria-label", "Save this chart");
    [["SVG picture", "svg"], ["PNG picture", "png"], ["Data as CSV", "csv"]].forEach(function (pair) {
      if (pair[1] === "csv" && !tables(chart.source).length) { return; }
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = pair[0];
      button.addEventListener("click", function () {
        menu.open = false;
        summary.focus();
        chart.save(pair[1], name);
      });
      list.appendChild(button);
    });
    menu.addEventListener("keydown", function (event) {
      if (event.key === "Escape" && menu.open) { menu.open = false; summary.focus(); }
    });
    document.addEventListener("click", function (event) { if (!menu.contains(event.target)) { menu.open = false; } });
    chart.figure.querySelector("figcaption").insertAdjacentElement("beforebegin", menu);
  };

  Chart.prototype.save = async function (kind, name) {
    if (kind === "csv") {
      tables(this.source).forEach(function (rows, index, all) {
        const blob = new Blob([csv(rows)], { type: "text/csv" });
        ettrOffer(URL.createObjectURL(blob), name + (all.length > 1 ? "-" + (index + 1) : "") + ".csv");
      });
      return;
    }
    const embed = await loadBundle();
    const box = document.createElement("div"); // drawn again, with its title, on the light theme
    box.style.cssText = "position:absolute;left:-9999px;width:720px";
    document.body.appendChild(box);
    const spec = fitted(this.source, SAVED_PX, this.isPanels ? -60 : 0);
    spec.config = Object.assign({}, spec.config, { background: "white" });
    spec.padding = 20; // the label at the end of an axis stands half beyond it
    if (spec.title) { // Vega does not break lines of titles
      const room = SAVED_PX - 2 * spec.padding;
      spec.title = Object.assign({}, spec.title, { frame: "bounds", text: inLines(spec.title.text, room * LINE_PX / SAVED_TITLE_PX) });
      if (spec.title.subtitle) { spec.title.subtitle = inLines(spec.title.subtitle, room); }
    }
    const result = await embed(box, spec, { mode: "vega-lite", renderer: "svg", actions: false });
    await result.view.runAsync();
    ettrOffer(await result.view.toImageURL(kind, 2), name + "." + kind);
    result.finalize();
    box.remove();
  };

  function tables(spec) {
    const unnamed = spec.data && !spec.data.name && Array.isArray(spec.data.values) ? [spec.data.values] : [];
    const named = {}; // layers may share one
    namedData(spec).forEach(function (dataset) { named[dataset.name] = dataset.values; });
    return unnamed.concat(Object.values(named), Object.values(spec.datasets || {})).filter(function (rows) {
      return rows.length && typeof rows[0] === "object";
    });
  }

  function csv(rows) {
    const names = Object.keys(rows[0]);
    return ettrCsv([names].concat(rows.map(function (row) { return names.map(function (name) { return row[name]; }); })));
  }

  function start() {
    const charts = new Map();
    document.querySelectorAll("figure.book-chart").forEach(function (figure) { charts.set(figure, new Chart(figure)); });
    if (!charts.size) { return; }

    const observer = new IntersectionObserver(function (entries) {
      entries.forEach(function (entry) {
        if (entry.isIntersecting && entry.target.clientWidth) {
          observer.unobserve(entry.target);
          charts.get(entry.target).draw();
        }
      });
    }, { rootMargin: "400px" });
    charts.forEach(function (_, figure) { observer.observe(figure); });

    new MutationObserver(function () {
      const theme = isDark() ? "dark" : "light";
      charts.forEach(function (chart) { if (chart.result && chart.figure.dataset.theme !== theme) { chart.draw(); } });
    }).observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });

    let pending = null;
    const resized = new ResizeObserver(function () {
      clearTimeout(pending);
      pending = setTimeout(function () {
        charts.forEach(function (chart) { if (chart.result && chart.isStale()) { chart.draw(); } });
      }, 150);
    });
    charts.forEach(function (_, figure) { resized.observe(figure); });

    window.addEventListener("beforeprint", function () {
      charts.forEach(function (chart) { if (!chart.result) { chart.draw(); } });
    });
  }

  function nameFolds() { // of the sidebar, whose marks have no text
    document.querySelectorAll("nav details > summary").forEach(function (summary) {
      const link = summary.closest("li").querySelector("a");
      if (!summary.textContent.trim() && link) { summary.setAttribute("aria-label", "Pages of " + link.textContent.trim()); }
    });
  }

  function makeScrollable() { // what scrolls sideways must be reachable by keyboard
    document.querySelectorAll("div.cell_output .output, div.math, pre, .pst-scrollable-table-container").forEach(function (box) {
      if (box.scrollWidth > box.clientWidth + 1 && !box.hasAttribute("tabindex")) { box.tabIndex = 0; }
    });
  }

  // Search shows an excerpt of each page it found, for which it fetches the page: browsers refuse that for files.
  if (window.location.protocol === "file:" && typeof DOCUMENTATION_OPTIONS !== "undefined") {
    DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;
  }

  function ready() {
    start();
    nameFolds();
    makeScrollable();
    window.addEventListener("resize", makeScrollable);
  }
  if (document.readyState === "loading") { document.addEventListener("DOMContentLoaded", ready); } else { ready(); }
})();
