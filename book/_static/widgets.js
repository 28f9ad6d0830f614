// The interactive parts of the pages: the calculator, the what-if page, and charts with inputs. Each is a widget with
// render({ model, el }), as in anywidget: the model gets and sets values by name and reports changes.
(function () {
  "use strict";

  const { state, save, listeners, element, blank, address, UNKNOWN, INVALID } = window.ettrState;
  const data = window.ettrData,
    ettr = window.ettr;

  // ---- numbers in words, formatted as in the package

  const fixed = (value, digits) => {
    const [whole, part] = Math.abs(value).toFixed(digits).split(".");
    return (value < 0 ? "-" : "") + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (part ? "." + part : "");
  };
  const about = (value) => Number(value.toPrecision(2));
  function number(value) {
    if (value === 0) {
      return "0";
    }
    if (value >= 1e15) {
      return "10^" + Math.floor(Math.log10(value));
    }
    const size = Math.abs(value);
    let digits = size < 10 ? Math.max(0, 2 - Math.floor(Math.log10(size) + 1e-12)) : size < 100 ? 1 : 0;
    digits = size >= 0.1 ? Math.min(digits, 2) : Math.min(digits, 20);
    const text = fixed(value, digits);
    return text.includes(".") ? text.replace(/\.?0+$/, "") : text;
  }
  function pct(share, digits) {
    const hides = digits === 0 && share !== 0 && share !== 1 && [0, 100].includes(Math.round(100 * share));
    return fixed(100 * share, hides || digits === undefined ? 1 : digits) + "%"; // not "0%" of some, "100%" of most
  }
  function duration(hours, rounded) {
    const round = rounded || ((value) => value);
    if (!isFinite(hours)) {
      return "never";
    }
    if (hours > 1000 * 8766) {
      return "more than a thousand years";
    }
    const [, scale, unit] = [
      [1 / 60, 3600, "s"],
      [1, 60, "min"],
      [72, 1, "h"],
      [Infinity, 1 / 24, "days"],
    ].find(([limit]) => hours < limit * 0.9995);
    return number(round(hours * scale)) + " " + unit;
  }
  const roughly = (hours) => duration(hours, about);
  // A range from the texts of its ends, with a shared unit once.
  function joinedRange(low, high) {
    const [first, last] = [low, high].map((text) => text.split(" ")),
      isShared = first.length === 2 && last.length === 2 && first[1] === last[1];
    return low === high ? high : isShared ? `${first[0]}-${high}` : `${low} to ${high}`;
  }
  function usd(value) {
    if (!isFinite(value)) {
      return "any budget";
    }
    if (value < 0) {
      return "-" + usd(-value);
    }
    for (const [scale, name] of [
      [1e12, "trillion"],
      [1e9, "billion"],
      [1e6, "million"],
    ]) {
      if (value >= 0.9995 * scale) {
        return number(value / scale) + " " + name + " USD";
      }
    }
    return fixed(value < 1000 ? value : Number(value.toPrecision(3)), 0) + " USD";
  }
  function gpus(n) {
    if (!isFinite(n)) {
      return "any number of GPUs";
    }
    const isExact = Math.abs(n - Math.round(n)) < 1e-9 * n && n < 1e6;
    return fixed(n >= 10000 && !isExact ? Number(n.toPrecision(3)) : n, 0) + (n === 1 ? " GPU" : " GPUs");
  }
  const listed = (names) =>
    names.length < 2 ? names[0] || "none" : names.slice(0, -1).join(", ") + " and " + names[names.length - 1];
  const span = (low, high) => {
    const digits = Math.round(100 * low) !== Math.round(100 * high) && high < 0.985 ? 0 : 1;
    const [a, b] = [pct(low, digits), pct(high, digits)];
    return a === b ? a : a.replace("%", "") + "-" + b;
  };
  const short = (value) => String(Number(Number(value).toPrecision(6)));

  // A template of the package, with its values.
  const filled = (template, values) => template.replace(/{(\w+)}/g, (_, name) => values[name]);

  // ---- the model of a page: values by path, and the scenario that they make

  const RATES = [
    "failures.job_mttf_h",
    "failures.node_mttf_h",
    "failures.gpu_mttf_h",
    "failures.rate_per_1000_node_days",
    "failures.n_events",
  ];
  const N_GPUS = "cluster.n_gpus",
    JOB_MTTF = "failures.job_mttf_h",
    OBSERVED = "failures.observed_nodes";

  class Model {
    // `own` is the reader's start and values; without a `homeId`, the book's run is the start of the page
    constructor(own, homeId) {
      Object.assign(this, { state: own, homeId: homeId || data.book, watching: [], version: 0, results: {} });
    }

    // the start of the page, unless the reader chooses another or changes a value that is fixed in it
    get home() {
      const start = data.starts[this.homeId];
      return start && !start.fixed.some((path) => has(this.state.values, path)) ? this.homeId : data.book;
    }
    get startId() {
      return this.state.start || this.home;
    }
    get start() {
      return data.starts[this.startId];
    }
    get isMine() {
      return this.state.start === data.mine;
    }

    // The reader's values as changes of the start. A node rate needs no size of observation; if the job's MTBF is held,
    // it is that of the start at any size.
    get values() {
      const { values } = this.state;
      if (this.isMine && RATES.some((path) => path !== JOB_MTTF && has(values, path))) {
        return { ...values, [OBSERVED]: null };
      }
      if (this.state.hold !== "job" || !has(values, N_GPUS)) {
        return values;
      }
      const held = { ...values };
      for (const path of [...RATES, "failures.node_days", OBSERVED]) {
        if (path !== JOB_MTTF || !has(values, JOB_MTTF)) {
          delete held[path];
        }
      }
      if (!has(values, JOB_MTTF)) {
        const before = { ...values };
        delete before[N_GPUS];
        const scenario = ettr.complete(ettr.override(this.start.written, before), data.defaults);
        held[JOB_MTTF] = meanTimeOf(scenario, JOB_MTTF);
      }
      return held;
    }

    // The scenario with the reader's values, as written and complete; computed once per change.
    get now() {
      if (!this.cached || this.cached.version !== this.version) {
        const current = { version: this.version, written: null, scenario: null, refused: [], error: "" };
        try {
          current.written = ettr.override(this.start.written, this.values);
          const words = numbersInWords(this);
          if (words.isYours) {
            current.written.title = words.title.slice(0, LONGEST_TITLE);
          }
          current.scenario = Object.assign(ettr.complete(current.written, data.defaults), { hold: this.state.hold });
          current.refused = ettr.refused(current.scenario);
        } catch (error) {
          current.error = error.message;
        }
        this.cached = current;
      }
      return this.cached;
    }

    // the interface of anywidget: get and set a value by its name
    get(name) {
      return name === "scenario"
        ? this.now.scenario
        : has(this.state.values, name)
          ? this.state.values[name]
          : ettr.at(this.now.scenario || this.start.written, name);
    }
    set(name, value) {
      if (name === N_GPUS) {
        this.recordSize(value === undefined ? this.start.written.cluster.n_gpus : value);
      }
      if (value === undefined || value === null) {
        delete this.state.values[name];
      } else {
        this.state.values[name] = value;
      }
      if (RATES.includes(name)) {
        delete this.state.values[OBSERVED];
        for (const other of RATES) {
          if (other !== name) {
            delete this.state.values[other];
          }
        }
        if (name !== "failures.n_events") {
          delete this.state.values["failures.node_days"];
        }
      }
      this.changed(name);
    }
    // An MTBF from the reader refers to the size at which it was entered.
    recordSize(nGpus) {
      const { values } = this.state,
        per = this.get("cluster.gpus_per_node") || 8,
        now = this.get(N_GPUS);
      if (has(values, OBSERVED) && values[OBSERVED] * per === nGpus) {
        delete values[OBSERVED];
      } else if (this.state.hold !== "job" && has(values, JOB_MTTF) && !has(values, OBSERVED) && nGpus !== now) {
        values[OBSERVED] = Math.round(now / per);
      }
    }
    // Hold the MTBF of the "job", or the failure rate of a "node", when the size changes. The current answer is unchanged.
    hold(what) {
      const isJob = has(this.state.values, JOB_MTTF),
        isMoved = isJob ? has(this.state.values, OBSERVED) : this.get(N_GPUS) !== this.start.written.cluster.n_gpus,
        mean = isMoved ? meanTime(this, JOB_MTTF, 6) : undefined,
        { scenario } = this.now;
      this.state.hold = what === "job" ? what : null;
      if (mean) {
        // both then refer to the current size; the restart includes its growth with size
        const beyond = scenario.cluster.n_gpus - ettr.observedGpus(scenario),
          { restart_min, init_s_per_1000_gpus } = scenario.recovery,
          restart = 60 * ettr.restartAt(restart_min / 60, init_s_per_1000_gpus, beyond);
        if (beyond && restart !== restart_min) {
          this.state.values["recovery.restart_min"] = Number(restart.toPrecision(6));
        }
        this.set(JOB_MTTF, mean);
      } else {
        this.changed("hold");
      }
    }
    setMore(name, value) {
      if (value === undefined) {
        delete this.state.more[name];
      } else {
        this.state.more[name] = value;
      }
      this.changed(name);
    }
    begin(id) {
      Object.assign(this.state, { start: id === this.homeId ? null : id, hold: null, values: {}, more: {}, left: [] });
      this.changed("all");
    }
    on(event, handler) {
      this.watching.push(handler);
    }
    // Call now, and again at each change.
    follow(handler) {
      this.on("change", handler);
      handler();
    }
    // Call once the reader pauses.
    later(handler, ms = 60) {
      let pending = null;
      this.on("change", () => {
        clearTimeout(pending);
        pending = setTimeout(handler, ms);
      });
    }
    changed(name) {
      this.version += 1;
      this.watching.forEach((handler) => handler(name));
      save();
    }
  }
  const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);

  // Values in the address without a field, or outside its rule, are dropped with a notice.
  function checkAddress() {
    checkValues(state, "");
    if (state.pinned) {
      checkValues(state.pinned, "a.");
    }
  }
  function checkValues(own, prefix) {
    const model = new Model(own);
    function drop(holder, name, text, reason) {
      delete holder[name];
      model.version += 1;
      state.left.push([reason, prefix + text]);
    }
    if (own.start !== null && !has(data.starts, own.start)) {
      state.left.push([UNKNOWN, prefix + "start=" + own.start]);
      own.start = null;
    }
    for (const [path, value] of Object.entries(own.values)) {
      const isFixed = own.start !== null && model.start.fixed.includes(path),
        broken = fieldOf(path) && (isFixed ? "fixed by the tokens of this scenario" : brokenRule(model, path, value));
      if (!fieldOf(path)) {
        drop(own.values, path, path, UNKNOWN);
      } else if (broken) {
        drop(own.values, path, path + ": " + broken[0].toLowerCase() + broken.slice(1).replace(/\.$/, ""), INVALID);
      }
    }
    for (const name of Object.keys(own.more)) {
      const id = name.split(".").slice(1).join(".");
      if (!name.startsWith("ask.") && !data.catalogue.some((mitigation) => mitigation.id === id)) {
        drop(own.more, name, name, UNKNOWN);
      } else if (own.more[name] < 0) {
        drop(own.more, name, name + "=" + own.more[name], INVALID);
      }
    }
  }

  function fieldOf(path) {
    if (has(data.fields, path)) {
      return data.fields[path];
    }
    const mode = /^failures\.modes\.(.+)\.factor$/.exec(path),
      name = mode && `rate of ${mode[1]}`;
    return mode && { label: mode[1], name, caption: `${name} times {}`, unit: "", slider: [0, 3], least: 0, most: 1e6 };
  }

  // ---- the reader's numbers in words: in captions of charts, in files, and on a page to keep

  const MOST_NAMED = 6,
    LONGEST_TITLE = 200; // of a scenario, as the package reads it
  function exactly(value) {
    const text = String(Number.isInteger(value) ? value : Number(value.toPrecision(6)));
    return text.includes("e") ? text : fixed(value, (text.split(".")[1] || "").length);
  }
  const inCaption = (caption, value) => caption.replace("{}", () => exactly(value));
  const valueInWords = (path, value) =>
    value === "best" ? "best checkpoint interval" : inCaption(fieldOf(path).caption, value);

  // The values that differ from the start, among the fields that are used; for an empty start, its examples as well.
  function changedValues(model, isRead) {
    const start = startScenario(model),
      isGiven = (path) => has(model.state.values, path);
    const differs = (path) => model.isMine || RATES.includes(path) || model.state.values[path] !== ettr.at(start, path),
      needed = model.isMine ? ["cluster.n_gpus", RATES.find(isGiven) || "failures.job_mttf_h"] : [];
    const order = Object.keys(data.fields),
      place = (path) => (order.includes(path) ? order.indexOf(path) : order.length);
    return [...Object.keys(model.state.values).filter(differs), ...needed.filter((path) => !isGiven(path))]
      .filter(isRead)
      .filter((path) => path !== OBSERVED || !isGiven(JOB_MTTF)) // the MTBF states it
      .sort((a, b) => place(a) - place(b))
      .map((path) => ({
        text:
          valueInWords(path, isGiven(path) ? model.state.values[path] : ettr.at(start, path)) +
          (path === JOB_MTTF && observedGpus(model) ? " on " + gpus(observedGpus(model)) : ""),
        isExample: !isGiven(path),
      }))
      .concat(model.state.hold === "job" && isRead(N_GPUS) ? [{ text: "job MTBF held", isExample: false }] : []);
  }
  // Size at which the job MTBF was observed, if it differs from the current size; else 0. [GPUs]
  function observedGpus(model) {
    const { scenario } = model.now;
    return scenario ? observedElsewhere(scenario) : 0;
  }
  function observedElsewhere({ cluster, failures }) {
    const observed = (failures.observed_nodes || 0) * cluster.gpus_per_node;
    return typeof failures.job_mttf_h === "number" && observed !== cluster.n_gpus ? observed : 0;
  }
  function startScenario(model) {
    const start = model.start;
    start.complete = start.complete || orNull(() => ettr.complete(start.written, data.defaults)) || start.written;
    return start.complete;
  }

  // The origin of displayed numbers: a `title`, whether some are the reader's (`isYours`), and whether all are those of
  // the start (`isStart`). `questions` are values outside the scenario.
  function numbersInWords(model, isRead = () => true, questions = []) {
    const values = [...changedValues(model, isRead), ...questions],
      isYours = values.some((value) => !value.isExample);
    const named = values.slice(0, MOST_NAMED).map((value) => value.text + (value.isExample ? " (example)" : "")),
      rest = values.length - named.length;
    const title =
      (isYours || model.isMine ? "Your numbers" : model.start.title) +
      (named.length ? ": " + named.join(", ") : "") +
      (rest ? " and " + rest + (rest > 1 ? " other values" : " other value") : "") +
      (isYours && !model.isMine ? "; otherwise " + model.start.title : "");
    return { title, isYours, isStart: !values.length };
  }

  // The source line below a chart.
  function sourceInWords(model, isYours) {
    if (model.isMine) {
      return "Source: computed in your browser from your numbers; all other values are assumed.";
    }
    const { cited, assumed_fields } = model.start,
      start = startScenario(model),
      n = assumed_fields.filter(
        (path) => !has(model.state.values, path) && ettr.at(model.now.scenario, path) === ettr.at(start, path)
      ).length;
    const source = "Source: computed in your browser from";
    return isYours
      ? `${source} your numbers; other values from ${cited}${n ? `, ${n} of them assumed` : ""}.`
      : `${source} ${cited}${n ? `; ${n} of its values are assumed` : ""}.`;
  }

  // ---- inputs

  // The rule that a value breaks, with the value; empty if it is valid.
  function complaint(field, value) {
    if (typeof value !== "number" || !isFinite(value)) {
      return "Enter a number.";
    }
    const unit = field.unit ? " " + field.unit : "",
      got = ", got " + short(value) + unit + ".";
    if (value < field.least || (field.open && value === field.least)) {
      return "Must be " + (field.open ? "> " : ">= ") + short(field.least) + unit + got;
    }
    if (value > field.most) {
      return "Must be <= " + short(field.most) + unit + got;
    }
    if (field.whole && value !== Math.round(value)) {
      return "Must be a whole number" + got;
    }
    return "";
  }

  // The rule that a value breaks alone or with the other values: whole nodes, and an interval that is not shorter than the
  // training time during the background write.
  function brokenRule(model, path, value) {
    if (path === "checkpoint.interval_min" && value === "best") {
      return "";
    }
    const alone = complaint(fieldOf(path), value),
      { scenario } = model.now;
    if (alone || !scenario) {
      return alone;
    }
    const { n_gpus, gpus_per_node } = scenario.cluster,
      { persist_slowdown, persist_s } = scenario.checkpoint,
      least = ((1 - persist_slowdown) * persist_s) / 60;
    if (path === N_GPUS && value % gpus_per_node !== 0) {
      return `Must be a multiple of ${gpus_per_node} GPUs (one node), got ${short(value)} GPUs.`;
    }
    if (path === "cluster.gpus_per_node" && n_gpus % value !== 0) {
      return `Must divide the ${short(n_gpus)} GPUs of the job, got ${short(value)}.`;
    }
    return path === "checkpoint.interval_min" && value < least * (1 - 1e-12)
      ? `Must be >= ${short(least)} min (training time during the background write), got ${short(value)} min.`
      : "";
  }

  // A text as a number, or an error; spellings such as 4,096, 4k, 90% and 9h are read as in the package.
  function parsed(text, field) {
    if (text.trim() === "") {
      return { error: "Enter a number." };
    }
    const unit = field.quantity || "",
      { value, advice } = window.ettrQuantities.parse(text, unit);
    if (value === undefined || !isFinite(value)) {
      const noun = window.ettrQuantities.nounOf(unit, field.whole),
        got = text.trim().slice(0, 20);
      return { error: `Must be ${noun}, got “${got}”${advice ? ": " + advice : ""}.` };
    }
    const error = complaint(field, value);
    return error ? { error } : { value };
  }

  const toSlider = (field, value) => {
    const [low, high] = field.slider,
      part =
        low > 0 ? Math.log(value / low) / Math.log(high / low) : Math.sqrt(Math.max(value - low, 0) / (high - low));
    return Math.round(1000 * Math.min(Math.max(part, 0), 1));
  };
  const fromSlider = (field, at, step) => {
    const [low, high] = field.slider,
      part = at / 1000,
      value = low > 0 ? low * (high / low) ** part : low + (high - low) * part * part;
    return step ? Math.max(step, Math.round(value / step) * step) : Number(value.toPrecision(value < 10 ? 2 : 3));
  };

  const form = (kind, label) =>
    element("form", {
      class: "ettr-inputs " + kind,
      "aria-label": label,
      on: { submit: (event) => event.preventDefault() },
    });

  const select = (attributes, words) =>
    element("select", attributes, ...Object.entries(words).map(([value, text]) => element("option", { value }, text)));

  let made = 0;

  // A number in few characters, for the ends of a slider.
  function compact(value) {
    const [scale, sign] = [
      [1e12, "T"],
      [1e9, "B"],
      [1e6, "M"],
      [1e4, "k"],
    ].find(([least]) => value >= least) || [1, ""];
    return exactly(value / (sign === "k" ? 1000 : scale)) + sign;
  }

  // A labelled number with its slider and the slider's ends, its unit, and a note for its origin or an error, with a
  // button that takes the reader's value back.
  function controls(label, meaning) {
    const id = "ettr-input-" + (made += 1),
      named = { id, type: "text", inputmode: "decimal", autocomplete: "off", "aria-describedby": id + "-note" };
    const box = element("input", named),
      slider = element("input", { type: "range", min: 0, max: 1000, "aria-label": label + ", slider" }),
      [low, high] = [element("span", {}), element("span", {})],
      ends = element("span", { class: "ettr-ends", "aria-hidden": "true" }, low, high);
    const name = element("label", { for: id, title: meaning }, label),
      unit = element("span", { class: "ettr-unit" }),
      note = element("span", { id: id + "-note", class: "ettr-note" }),
      undo = element("button", { type: "button", class: "ettr-undo", hidden: true });
    const row = element(
      "div",
      { class: "ettr-input" },
      element("span", { class: "ettr-name" }, name),
      element("span", { class: "ettr-entry" }, box, unit),
      element("span", { class: "ettr-under" }, element("span", { class: "ettr-slide" }, slider, ends), note, undo)
    );
    function say(error, otherwise) {
      row.classList.toggle("is-wrong", error !== "");
      box.setAttribute("aria-invalid", error !== "");
      note.setAttribute("role", error ? "alert" : "note");
      note.textContent = error || otherwise;
    }
    function slide(field, value) {
      const isNumber = typeof value === "number",
        ofUnit = field.unit ? " " + field.unit : "",
        [least, most] = field.slider.map(compact);
      if (isNumber) {
        slider.value = toSlider(field, value);
      }
      low.textContent = least + (ofUnit.length > 7 ? "" : ofUnit);
      high.textContent = most + ofUnit;
      slider.setAttribute("aria-valuetext", isNumber ? short(value) + ofUnit : "no value");
    }
    // `before` is the value without the reader's, if it is a number
    function offerUndo(isYours, before) {
      undo.hidden = !isYours;
      undo.textContent = "reset" + (typeof before === "number" ? " to " + exactly(before) : "");
      undo.setAttribute("aria-label", `${name.textContent}: ${undo.textContent}`);
    }
    return { row, name, box, slider, unit, undo, say, slide, offerUndo };
  }

  // A field in another unit, of which `per` make one of the field's own.
  const inUnit = (field, { per, ...unit }) => ({
    ...field,
    ...unit,
    slider: field.slider.map((end) => end * per),
    least: field.least * per,
    most: field.most * per,
  });

  // An input: label, number, unit, slider, and the origin of its value. It belongs to a field of the scenario, or to an
  // `item`: a question of a single chart, such as a service level. `units` are the units to choose from, by name.
  function input(model, path, options) {
    const { label, optional, follows, value: valueOf, path: pathOf, item, units } = options || {};
    const at = pathOf || (() => path),
      own = () => item || fieldOf(at()),
      entered = () => (item ? model.state.more : model.state.values);
    const { row, name, box, slider, unit, undo, say: mark, slide, offerUndo } = controls(label || own().label, own().meaning);
    row.dataset.path = path;
    const choice = units && select({ "aria-label": `Unit of: ${name.textContent}` }, {});
    const per = () => (choice ? units(model)[choice.value].per : 1),
      field = () => (choice ? inUnit(own(), units(model)[choice.value]) : own()),
      step = () => (at() === N_GPUS ? model.get("cluster.gpus_per_node") || 8 : own().whole ? 1 : 0),
      store = (value) => (item ? model.setMore(at(), value) : model.set(at(), value));

    function currentValue() {
      const followed = follows ? valueOf() : undefined; // at the current size of the job
      return followed !== undefined
        ? followed
        : has(entered(), at())
          ? entered()[at()]
          : valueOf
            ? valueOf()
            : model.get(at());
    }
    const shown = (value) => (typeof value === "number" ? Number((value * per()).toPrecision(12)) : undefined);
    function fillUnits() {
      const names = Object.keys(units(model)),
        before = names.includes(choice.value) ? choice.value : names[0];
      choice.replaceChildren(...names.map((text) => element("option", { value: text }, text)));
      choice.value = before;
      name.textContent = units(model)[before].label;
    }
    function fill() {
      // the value in the model, unless the reader is typing
      if (choice) {
        fillUnits();
      } else {
        unit.textContent = own().unit || "";
      }
      const value = shown(currentValue());
      if (document.activeElement !== box || !row.classList.contains("is-wrong")) {
        if (document.activeElement !== box) {
          box.value = value === undefined ? "" : short(value);
        }
        say("");
      }
      slide(field(), value);
      offerUndo(has(entered(), at()), item ? undefined : shown(ettr.at(startScenario(model), at())));
      slider.disabled = box.disabled = model.state.start !== null && model.start.fixed.includes(at());
    }
    const say = (error) => mark(error, item ? item.note || "" : origin(model, at(), currentValue()));
    function take(value) {
      if (value === undefined) {
        store(undefined);
        say("");
        return;
      }
      const stored = value / per(),
        error = item ? "" : brokenRule(model, at(), stored);
      say(error);
      if (!error) {
        store(stored);
      }
    }
    box.addEventListener("input", function () {
      if (optional && box.value.trim() === "") {
        take(undefined);
        return;
      }
      const result = parsed(box.value, field());
      if (result.error) {
        say(result.error);
      } else {
        take(result.value);
      }
    });
    box.addEventListener("change", function () {
      if (!row.classList.contains("is-wrong")) {
        fill();
      }
    });
    slider.addEventListener("input", function () {
      row.classList.remove("is-wrong");
      const value = fromSlider(field(), Number(slider.value), step());
      box.value = short(value);
      take(value);
    });
    undo.addEventListener("click", function () {
      take(undefined);
      fill();
      box.focus();
    });
    if (choice) {
      unit.append(choice);
      choice.addEventListener("change", fill);
    }
    model.follow(fill);
    return row;
  }

  // The work of the job: failure-free training time, or tokens where the scenario says how fast it trains.
  function workUnits(model) {
    const { tokens_per_h } = model.start,
      time = "Failure-free training time";
    return {
      days: { per: 1 / 24, unit: "days", quantity: "days", label: time },
      h: { per: 1, unit: "h", quantity: "h", label: time },
      ...(tokens_per_h && { tokens: { per: tokens_per_h, unit: "tokens", quantity: "tokens", label: "Tokens to train on" } }),
    };
  }

  // The origin of a value, and its plausible range.
  function origin(model, path, value) {
    const field = fieldOf(path),
      unit = field.unit ? " " + field.unit : "";
    const elsewhereGpus = path === JOB_MTTF ? observedGpus(model) : 0,
      onGpus = elsewhereGpus ? short(ettr.at(model.now.scenario, path)) + " h on " + gpus(elsewhereGpus) : "";
    if (has(model.state.values, path)) {
      return onGpus ? "from yours, " + onGpus : "yours";
    }
    const evidence = (model.start.written.evidence || {})[path],
      [low, high] = (field.plausible || []).map(short),
      range = field.plausible ? `; plausible range ${low} to ${high}${unit}` : "";
    if (model.start.fixed.includes(path)) {
      const other = model.state.start === null ? `; another size starts from ${data.starts[data.book].title}` : "";
      return `hours computed from the tokens at this size${other}`;
    }
    if (value === undefined) {
      return path === "measured.ettr" ? "optional, e.g. 0.9 or 90%" : "no value" + range;
    }
    if (evidence) {
      const words = {
        primary: "published",
        secondary: "published (secondary source)",
        derived: "derived",
        assumed: "assumed",
      }[evidence.status];
      return words + (evidence.status === "assumed" && range ? range : evidence.note ? ": " + evidence.note : "");
    }
    if (path === "failures.job_mttf_h" || path === "failures.node_mttf_h" || path === "failures.gpu_mttf_h") {
      return model.isMine
        ? "example" + (onGpus && ", " + onGpus) + ": enter yours"
        : "computed from the failure count";
    }
    if (path === "cluster.n_gpus" && model.isMine) {
      return "example: enter yours";
    }
    return "assumed" + range;
  }

  // "best", or minutes.
  function interval(model) {
    const row = input(model, "checkpoint.interval_min", {
      value: () => {
        const value = model.get("checkpoint.interval_min");
        return typeof value === "number" ? value : undefined;
      },
    });
    const box = element("input", { type: "checkbox" }),
      label = element("label", { class: "ettr-best" }, box, " best");
    const text = row.querySelector("input[type=text]"),
      slider = row.querySelector("input[type=range]");
    let last = 10;
    function fill() {
      const value = model.get("checkpoint.interval_min");
      box.checked = typeof value !== "number";
      if (typeof value === "number") {
        last = value;
      }
      text.disabled = slider.disabled = box.checked;
      if (box.checked) {
        text.value = "";
        text.placeholder = "best";
      }
    }
    box.addEventListener("change", function () {
      model.set("checkpoint.interval_min", box.checked ? "best" : last);
    });
    model.on("change", fill);
    row.querySelector("label").after(label);
    fill();
    return row;
  }

  // MTBF of the job, a node or a GPU: as stated, or else as it would be observed at this size. [h]
  function meanTime(model, path, digits) {
    const { scenario, refused } = model.now;
    return scenario && !refused.length ? meanTimeOf(scenario, path, digits) : undefined;
  }
  function meanTimeOf(scenario, path, digits = 3) {
    const stated = ettr.at(scenario, path),
      nodes = scenario.cluster.n_gpus / scenario.cluster.gpus_per_node;
    if (typeof stated === "number" && !(path === JOB_MTTF && observedElsewhere(scenario))) {
      return stated;
    }
    const by = {
      "failures.job_mttf_h": 1,
      "failures.node_mttf_h": nodes,
      "failures.gpu_mttf_h": scenario.cluster.n_gpus,
    }[path];
    const hours = ettr.observableMttf(scenario);
    return isFinite(hours) ? Number((by * hours).toPrecision(digits)) : undefined;
  }

  function failuresInput(model) {
    const [job, node, gpu] = RATES,
      choice = select({ "aria-label": "MTBF of" }, { [job]: "Job", [node]: "Node", [gpu]: "GPU" });
    function follow() {
      const isGiven = (path) => has(model.state.values, path) || ettr.at(model.start.written, path) !== undefined,
        kinds = [job, node, gpu].sort((a, b) => has(model.state.values, b) - has(model.state.values, a));
      choice.value = kinds.find(isGiven) || choice.value;
    }
    model.follow(follow); // before the input, which shows the value of the choice
    const kind = () => choice.value;
    const row = input(model, "failures.mttf", {
      label: "MTBF",
      path: kind,
      follows: true,
      value: () => meanTime(model, kind()),
    });
    const label = row.querySelector("label");
    label.before(choice);
    row.querySelector("input").setAttribute("aria-label", "MTBF");
    choice.addEventListener("change", function () {
      const value = meanTime(model, choice.value); // the same failure rate
      if (value) {
        model.set(choice.value, value);
      }
    });
    const both = document.createDocumentFragment();
    both.append(row, holdInput(model));
    return both;
  }

  // The quantity that stays constant when the number of GPUs changes, and the resulting MTBF.
  function holdInput(model) {
    const id = "ettr-input-" + (made += 1),
      choice = select({ id, "aria-describedby": id + "-note" }, { node: "node failure rate", job: "job MTBF" }),
      note = element("span", { id: id + "-note", class: "ettr-note" });
    function fill() {
      const mean = meanTime(model, JOB_MTTF);
      choice.value = model.state.hold || "node";
      note.textContent = !mean
        ? ""
        : model.state.hold === "job"
          ? "MTBF " + roughly(mean) + " at every size"
          : "MTBF " + roughly(mean) + " on " + gpus(model.get(N_GPUS));
    }
    choice.addEventListener("change", () => model.hold(choice.value));
    model.follow(fill);
    return element(
      "div",
      { class: "ettr-input ettr-hold" },
      element("label", { for: id }, "When scaling, keep"),
      choice,
      note
    );
  }

  function startInput(model) {
    const id = "ettr-input-" + (made += 1),
      names = Object.entries(data.starts).map(([key, start]) => [key, key === data.mine ? "your own cluster" : start.title]),
      choice = select({ id }, Object.fromEntries(names));
    const fill = () => {
      choice.value = model.startId;
    };
    choice.addEventListener("change", () => model.begin(choice.value));
    model.follow(fill);
    return element("div", { class: "ettr-input ettr-start" }, element("label", { for: id }, "Start from"), choice);
  }

  // The input of a field, in the form that it needs.
  function fieldInput(model, path) {
    const special = {
      "failures.mttf": () => failuresInput(model),
      "checkpoint.interval_min": () => interval(model),
      "job.productive_h": () => input(model, path, { optional: true, units: workUnits }),
      "measured.ettr": () => input(model, path, { optional: true }),
    };
    const absent = path.startsWith("maintenance.") ? 0 : undefined; // a run without the section
    return has(special, path) ? special[path]() : input(model, path, { value: () => model.get(path) ?? absent });
  }

  // ---- answers

  const hasNoAnswer = (problem) => problem instanceof ettr.Endless || problem instanceof ettr.NotHere;
  const orNull = (compute) => {
    try {
      return compute();
    } catch (problem) {
      if (!hasNoAnswer(problem)) {
        throw problem;
      }
      return null;
    }
  };

  // The result for the current scenario, or why there is none: the features `refused`, or an `error`.
  function attempt(model, compute) {
    const { scenario, refused, error } = model.now;
    if (error || refused.length) {
      return error ? { error } : { refused };
    }
    try {
      return compute(scenario);
    } catch (problem) {
      if (!hasNoAnswer(problem)) {
        throw problem;
      }
      return problem instanceof ettr.NotHere ? { refused: [problem.message] } : { error: problem.message };
    }
  }

  // The quick answers to a scenario; the others come from `slow`.
  const answerOf = (model) =>
    attempt(model, (scenario) => {
      const run = ettr.inHours(scenario),
        rule = typeof scenario.checkpoint.interval_min === "string",
        band = ettr.band(run),
        best = ettr.exact(ettr.withTau(run, band.tau)),
        now = rule ? best : ettr.exact(run);
      return { scenario, run, band, best, now, rule, lostAtBest: ettr.losses(scenario, best) };
    });

  // A result of the model, computed once per change.
  function once(model, name, compute) {
    const { results } = model;
    if (!results[name] || results[name].version !== model.version) {
      results[name] = { version: model.version, of: compute() };
    }
    return results[name].of;
  }
  // The recommended set at the reader's prices.
  const recommendationOf = (model) =>
    once(model, "recommendation", () => {
      const { scenario } = model.now;
      return orNull(() => ettr.recommend(scenario, data.catalogue, pricesOf(model, scenario)));
    });
  // The distribution of the finishing date at the best interval.
  const datesOf = (model) =>
    once(model, "dates", () => {
      const { scenario } = model.now;
      return ettr.finishing(scenario, ettr.best(ettr.inHours(scenario)).tau);
    });

  function slow(answer, model) {
    const { scenario } = answer;
    return {
      dates: answer.run.ends ? orNull(() => datesOf(model)) : null,
      recommendation: recommendationOf(model),
      assumed: orNull(() => ettr.overAssumed(scenario, model.start.assumed)),
      clusters: orNull(() => ettr.acrossClusters(scenario, model.start.assumed, data.clusters)),
    };
  }

  // The plausible range, as in a headline.
  function rangeWords(assumed, model) {
    if (!assumed || !assumed.inputs.length) {
      return "no input is assumed";
    }
    if (!assumed.n) {
      return "no plausible range: every draw of the assumed inputs breaks a rule of the faster tiers";
    }
    const condition = assumed.values.length < assumed.n ? conditionWords(model) : "",
      conditional = condition ? ", given " + condition : "";
    const leading = assumed.leading.name;
    if (assumed.low === null) {
      const [half, twice] = [assumed.atHalf, assumed.atTwice].map((ettr) => pct(ettr, 0));
      return assumed.atHalf === undefined
        ? "no plausible range: the assumed inputs contradict " + condition
        : `${half} with half, ${twice} with twice the assumed ${leading}`;
    }
    const redrawn = assumed.nRedrawn / (assumed.nRedrawn + assumed.n);
    const noted = redrawn > 0.05 ? "; " + pct(redrawn, 0) + " of the draws broke a rule and were redrawn" : "";
    const where = ettr.rateIsFromElsewhere(model.now.scenario) ? " with this node failure rate" : "";
    return filled(data.sentences.range, {
      range: span(assumed.low, assumed.high),
      where,
      condition: conditional,
      leading,
      noted,
    });
  }
  // The plausible range, and the range across published clusters if the failure rate is from another cluster.
  function rangesWords(more, model) {
    const { clusters } = more,
      across = clusters && clusters.low !== null ? span(clusters.low, clusters.high) + " across published clusters" : "";
    return [rangeWords(more.assumed, model), across].filter(Boolean).join("; ");
  }
  // A published result of another run of similar size, or nothing.
  function publishedWords(model) {
    const { scenario } = model.now,
      n = scenario.cluster.n_gpus,
      apart = (row) => Math.abs(Math.log(row.n_gpus / n));
    const [row] = [...data.published].sort((a, b) => apart(a) - apart(b));
    const itself = ettr.observedGpus(scenario) === n && (scenario.sources || []).includes(row.source);
    return itself || apart(row) > Math.log(data.similar) ? "" : row.words + ".";
  }
  function conditionWords(model) {
    const measured = model.now.scenario.measured;
    return measured && has(model.state.values, "measured.ettr")
      ? "the measured ETTR of " + pct(measured.ettr, 0)
      : model.start.condition + elsewhere(model.now.scenario);
  }
  // The size at which the ETTR was measured, if it differs from the current size.
  function elsewhere(scenario) {
    const at = scenario.measured && scenario.measured.n_gpus;
    return at && at !== scenario.cluster.n_gpus ? " on " + gpus(at) : "";
  }

  const digitsOf = (useful, assumed) =>
    useful > 0.985 || !assumed || !assumed.inputs.length || (assumed.low !== null && assumed.high - assumed.low < 0.005)
      ? 1
      : 0;

  // A widget's answers after a change: the quick ones at once, the others when the page is idle.
  function answering(model, quick, rest) {
    let pending = null;
    function work() {
      const answer = answerOf(model);
      quick(answer);
      clearTimeout(pending);
      if (answer.best) {
        pending = setTimeout(() => rest(answer, slow(answer, model)), 60);
      }
    }
    model.follow(work);
  }

  const why = (answer) =>
    answer.refused
      ? "This page does not cover " +
        listed(answer.refused) +
        ". The text and chart are from the build of the book; for your numbers run ettr plan on your machine."
      : "With these numbers " + (answer.error || "there is no answer") + ".";

  function bars() {
    const list = element("table", { class: "ettr-bars" }, element("caption", {}, "Time per month"));
    const rows = {};
    for (const { part, words, colour } of data.parts) {
      const bar = element("span", { class: "ettr-bar", style: "background:" + colour });
      rows[part] = {
        row: element(
          "tr",
          {},
          element("th", { scope: "row" }, words),
          element("td", { class: "ettr-number" }),
          element("td", { class: "ettr-number" }),
          element("td", { class: "ettr-track", "aria-hidden": "true" }, bar)
        ),
        bar,
      };
      list.append(rows[part].row);
    }
    function show(budget, losses) {
      const most = Math.max(...data.parts.slice(1).map(({ part }) => budget[part] / budget.total_h), 1e-9);
      for (const [part, { row, bar }] of Object.entries(rows)) {
        const share = budget[part] / budget.total_h,
          useful = part === "productive_h";
        row.hidden = !(share > 0);
        row.children[1].textContent = number(about(share * ettr.H_PER_MONTH)) + " h";
        row.children[2].textContent = useful || !losses.bill ? "" : usd(about(share * losses.bill));
        bar.hidden = useful;
        bar.style.width = useful ? 0 : Math.min(100, (100 * share) / most) + "%";
      }
    }
    return { el: list, show };
  }

  // Saved hours compared with the hours they replace, which may be equal when rounded.
  function instead(savedH, ofH) {
    const [saved, of] = [savedH, ofH].map((hours) => number(about(hours)));
    return saved === of ? "about the same " + of + " h per month" : saved + " h instead of " + of + " h per month";
  }
  function recommended(recommendation, model) {
    const { steps, hasPrice, quickest } = recommendation,
      { months } = recommendation,
      within = months >= 3 ? number(months) + " months" : roughly(months * ettr.H_PER_MONTH),
      small = (tag, ...inside) => element(tag, { class: "ettr-small" }, ...inside),
      payback = (step) => roughly(step.payback * ettr.H_PER_MONTH);
    if (!steps.length) {
      const soonest = quickest && hasPrice ? `; ${quickest.title} would need ${payback(quickest)}` : "";
      return [small("p", `No mitigation pays for itself within ${within}${soonest}.`)];
    }
    const place = new Map(steps.map((step, i) => [step.id, i + 1])),
      item = (...inside) => element("li", {}, ...inside);
    const lines = steps.map((step) => {
      const saved = number(about(step.h)) + " h" + (hasPrice ? ", " + usd(about(step.usd)) : ""),
        whose = isPriceYours(model, step.id) ? "your price" : "price assumed",
        price = step.price ? ` for ${usd(about(step.price))} once (${whose})` : "",
        back = step.price && hasPrice ? ", pays back in " + payback(step) : "";
      return item(
        element("strong", {}, step.title),
        `: saves ${saved} per month${price}${back} (effect ${step.effect})`
      );
    });
    const others = recommendation.alternatives.slice(0, 3).map((alternative) => {
      const { title, price, effect, replaces, h, ofH } = alternative,
        replaced = replaces.map((id) => place.get(id)).join(" and ");
      return item(
        `Instead of ${replaced}: ${title}, ${usd(about(price))}, saves ${instead(h, ofH)} (effect ${effect})`
      );
    });
    const last = steps[steps.length - 1],
      net = last.totalUsd * months - steps.reduce((total, step) => total + step.price, 0),
      all = lines.length > 2 ? "all " + lines.length : lines.length > 1 ? "both" : "it",
      saved = number(about(last.totalH)) + " h per month",
      saving = hasPrice ? `, a net saving of ${usd(about(net))} in ${within}` : "",
      each = lines.length > 1 ? " " + data.sentences.each : "";
    return [
      element("p", { class: "ettr-head" }, "Recommended set"),
      element("ol", { class: "ettr-lines" }, ...lines),
      small("p", `With ${all}: ETTR ${pct(last.ettr, 0)}, saves ${saved}${saving}.${each}`),
      ...(others.length ? [element("ul", { class: "ettr-small ettr-lines" }, ...others)] : []),
    ];
  }

  // The equivalent command in a terminal.
  function command(model) {
    const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'");
    const values = Object.assign({}, model.isMine ? { [N_GPUS]: model.get(N_GPUS) } : {}, model.values);
    if (model.isMine && !RATES.some((path) => has(values, path))) {
      values[JOB_MTTF] = model.get(JOB_MTTF);
    }
    const observed = model.now.scenario ? observedElsewhere(model.now.scenario) : 0;
    delete values[OBSERVED];
    const words = ["ettr", "plan", ...(model.isMine ? [] : [quoted(model.start.command)])];
    for (const [path, value] of Object.entries(values)) {
      if (has(data.flags, path)) {
        words.push(data.flags[path], String(value));
      } else {
        words.push("--set", quoted(path + "=" + value));
      }
      if (path === "failures.n_events" && model.start.written.failures.modes) {
        words.push("--set", "'failures.modes=[]'");
      }
    }
    if (observed && has(values, JOB_MTTF)) {
      words.push("--observed-on-gpus", String(observed));
    }
    return words.join(" ");
  }

  const makeButton = (label, act) =>
    element("button", { type: "button", class: "ettr-button", on: { click: act } }, label);

  // A button that copies a text and then says so in place of its label.
  function copyButton(text, label, report, done = "Copied") {
    async function copied(content) {
      try {
        await navigator.clipboard.writeText(content);
        return true;
      } catch {
        // pages from files have no clipboard access
        const area = element("textarea", { class: "ettr-hidden" });
        area.value = content;
        document.body.append(area);
        area.select();
        const isDone = document.execCommand("copy");
        area.remove();
        return isDone;
      }
    }
    async function copy() {
      const words = (await copied(text())) ? done : "This browser does not allow copying";
      report(words + ".");
      button.textContent = words;
      button.focus();
      setTimeout(() => {
        button.textContent = label;
      }, 2500);
    }
    const button = makeButton(label, copy);
    return button;
  }
  const linkButton = (report) => copyButton(address, "Copy link", report, "Link copied");

  // A button that takes the reader's values back and keeps the start.
  function resetButton(model) {
    const button = makeButton("", () => model.begin(model.startId));
    model.follow(() => {
      const { values, hold, more } = model.state;
      button.textContent = "Reset to the values of " + (model.isMine ? "the example" : model.start.title);
      button.disabled = !Object.keys({ ...values, ...more }).length && !hold;
    });
    return button;
  }

  // Text for screen readers: once, shortly after the last change.
  function speaker(el) {
    const live = element("output", { class: "ettr-live", "aria-live": "polite" });
    el.append(live);
    let pending = null,
      before = "";
    return function (text) {
      clearTimeout(pending);
      pending = setTimeout(function () {
        if (text !== before) {
          live.textContent = before = text;
        }
      }, 600);
    };
  }

  const bandWords = (best, low, high) =>
    `Checkpoint every ${roughly(best)}; ${joinedRange(roughly(low), roughly(high))} costs at most half a point`;

  // The headline answers, for the calculator and the what-if page.
  function answersPanel(model, el) {
    const big = element("p", { class: "ettr-big" }),
      money = element("p", { class: "ettr-money" }),
      range = element("p", { class: "ettr-range" }),
      lines = element("ul", { class: "ettr-lines" });
    const first = element("div", { class: "ettr-first" }),
      problem = element("p", { class: "ettr-problem", role: "alert", hidden: true });
    const time = bars(),
      whole = element(
        "div",
        { class: "ettr-panel" },
        element("div", {}, big, money, range, lines),
        element("div", {}, time.el),
        first
      );
    const speak = speaker(el),
      latest = {};
    el.append(problem, whole);

    function headline(answer, assumed) {
      big.replaceChildren(
        element("strong", {}, pct(answer.best.ettr, digitsOf(answer.best.ettr, assumed))),
        " of the time is useful training (",
        element("abbr", { title: data.terms.ETTR }, "ETTR"),
        ")"
      );
      money.textContent = lostWords(answer);
    }
    function lostWords({ lostAtBest: { total, bill } }) {
      const hours = number(about(total.h)) + " h",
        assumed = has(model.now.written.cost || {}, "usd_per_gpu_h") ? "" : ", at an assumed price";
      return bill > 0
        ? `Lost per month: ${hours} and ${usd(about(total.usd))}${assumed}.`
        : `Lost per month: ${hours}. No money: the price per GPU-hour is 0.`;
    }
    function sentencesOf(answer, more) {
      const { band, run } = answer,
        out = [];
      const now = pct(answer.now.ettr, digitsOf(answer.now.ettr, latest.assumed)),
        current = answer.rule ? "" : `; the current interval of ${roughly(run.tau)} gives ${now}`;
      out.push(bandWords(band.tau, band.low, band.high) + current + ".");
      const every = answer.now.n_failures > 0 ? answer.now.total_h / answer.now.n_failures : Infinity;
      out.push(isFinite(every) ? "MTBF " + roughly(every) + " (wall clock)." : "No failures.");
      out.push(...[publishedWords(model)].filter(Boolean));
      if (more && more.dates) {
        const [p90, p99] = [0.9, 0.99].map((p) => duration(more.dates.quantile(p)));
        out.push(`Done after ${p90} (90% of runs), ${p99} (99%).`);
      } else if (more && run.ends) {
        const mean = duration(answer.best.total_h);
        out.push(`Done after ${mean} on average; for the distribution run ettr plan, which simulates it.`);
      } else if (more) {
        out.push("No finishing date: enter the failure-free training time.");
      }
      const gap = answer.scenario.measured && orNull(() => ettr.unexplained(answer.scenario, answer.now.ettr));
      if (gap) {
        out.push(leftWords(gap, answer.scenario));
      }
      return out;
    }
    function show(answer, more) {
      problem.hidden = Boolean(answer.best);
      whole.hidden = !answer.best;
      if (!answer.best) {
        problem.textContent = why(answer);
        speak(problem.textContent);
        return;
      }
      Object.assign(latest, more);
      headline(answer, latest.assumed);
      const sentences = sentencesOf(answer, more);
      if (more || !latest.sentences || sentences.length >= latest.sentences.length) {
        lines.replaceChildren(...sentences.map((text) => element("li", {}, text)));
      } else {
        sentences.forEach((text, i) => {
          lines.children[i].textContent = text;
        });
      }
      latest.sentences = sentences;
      time.show(answer.best, answer.lostAtBest);
      if (!more) {
        return;
      }
      range.textContent = rangesWords(more, model);
      first.replaceChildren(...(more.recommendation ? recommended(more.recommendation, model) : []));
      speak([big.textContent + ".", money.textContent, range.textContent + ".", ...sentences].join(" "));
    }
    answering(model, (answer) => show(answer, null), show);
    return speak;
  }

  function leftWords(gap, scenario) {
    if (gap.share > 0) {
      return (
        `You measured ${pct(gap.measured, 0)}; failures and checkpoints alone explain ${pct(gap.modelled, 0)}. ` +
        `The gap of ${pct(gap.share, 0)} (${roughly(gap.h)} and ${usd(about(gap.usd))} per month) ` +
        "has other causes, or an input is wrong."
      );
    }
    const words = {
      mttf_h: (input) => `an MTTF of at least ${roughly(input.value)} instead of ${roughly(input.current)}`,
      interval_h: (input) => `a checkpoint every ${roughly(input.value)}`,
    };
    const could = ettr.couldBe(scenario, gap.measured).map((input) => {
      const { name, unit } = fieldOf(input.path) || {};
      return words[input.path]
        ? words[input.path](input)
        : `${name} of at most ${short(about(input.value))} ${unit} instead of ${short(input.current)}`;
    });
    return (
      `The measured ETTR of ${pct(gap.measured)} is above the ${pct(gap.modelled)} that the other inputs allow` +
      `${could.length ? "; it would need " + could.join(", or ") : ""}.`
    );
  }

  // ---- the calculator

  const calculator = {
    render({ model, el }) {
      const field = (path) => fieldInput(model, path),
        inputs = form("", "Your job"),
        answers = element("section", { class: "ettr-answers", "aria-label": "Answers" });
      el.append(element("div", { class: "ettr-calculator" }, inputs, answers));
      inputs.append(
        startInput(model),
        ...[N_GPUS, "failures.mttf", "checkpoint.stall_s", "checkpoint.interval_min"].map(field),
        ...["recovery.detection_min", "recovery.restart_min", "cost.usd_per_gpu_h"].map(field),
        ...["job.productive_h", "measured.ettr"].map(field)
      );
      const say = answersPanel(model, answers),
        line = element("code", {});
      model.follow(() => {
        line.textContent = command(model);
      });
      const prices = element("details", {}, element("summary", {}, "Prices of mitigations"), choices(model, true)),
        more = element("a", { href: el.dataset.more || "your_cluster/what_if.html" }, "All inputs and mitigations");
      el.append(
        prices,
        element(
          "p",
          { class: "ettr-buttons" },
          linkButton(say),
          copyButton(() => command(model), "Copy command", say),
          resetButton(model)
        ),
        element("p", { class: "ettr-small" }, "In a terminal: ", line, ". ", more, ".")
      );
    },
  };

  // ---- charts with inputs

  const geometric = (low, high, n) => Array.from({ length: n }, (_, i) => low * (high / low) ** (i / (n - 1)));

  // A chart that follows inputs: `rows` makes its data from a scenario, and `say` a sentence. Its caption lists the
  // reader's values: fields that pass `isRead`, the questions in `extra`, and the texts of `chosen`.
  function chart({ takes, extra, rows, say, isRead, chosen }) {
    const asking = (model) => (name) => {
      const value = has(model.state.more, "ask." + name)
        ? model.state.more["ask." + name]
        : extra.find((question) => question.name === name).value;
      return typeof value === "function" ? value(model) : value;
    };
    function questions(model) {
      const named = ({ caption, name }, isExample) => ({ text: inCaption(caption, asking(model)(name)), isExample });
      const differs = ({ name, value }) =>
        has(model.state.more, "ask." + name) &&
        model.state.more["ask." + name] !== (typeof value === "function" ? value(model) : value);
      return (extra || [])
        .filter((question) => differs(question) || (question.isExample && question.isExample(model)))
        .map((question) => named(question, !differs(question)))
        .concat(chosen ? chosen(model).map((text) => ({ text, isExample: false })) : []);
    }
    // Subtitle and source of the chart; null if it shows the built numbers.
    function caption(model, built) {
      const numbers = numbersInWords(model, isRead, questions(model));
      return numbers.isStart && model.startId === built
        ? null
        : { subtitle: numbers.title, source: sourceInWords(model, numbers.isYours) };
    }
    return {
      takes,
      rows,
      asking,
      render({ model, el }) {
        const figure = el.querySelector("figure.book-chart"),
          inputs = form("ettr-row", "Your numbers");
        const problem = element("p", { class: "ettr-problem", role: "alert", hidden: true }),
          sentence = element("p", { class: "ettr-sentence" });
        inputs.append(...takes.map((path) => fieldInput(model, path)));
        const ask = asking(model);
        for (const item of extra || []) {
          inputs.append(input(model, "ask." + item.name, { item, value: () => ask(item.name) }));
        }
        el.prepend(inputs, problem);
        el.append(sentence);
        const speak = speaker(el);
        let drawn = 0;
        function work() {
          drawn += 1;
          const turn = drawn,
            rowsOrProblem = attempt(model, (scenario) => rows(scenario, ask, model)),
            hasAnswer = !rowsOrProblem.error && !rowsOrProblem.refused,
            message = hasAnswer ? "" : why(rowsOrProblem);
          problem.hidden = message === "";
          problem.textContent = message;
          sentence.textContent = hasAnswer ? say(rowsOrProblem, model.now.scenario, ask, model) : "";
          speak(message || sentence.textContent);
          if (figure.bookChart) {
            const newCaption = hasAnswer ? caption(model, el.dataset.ettrStart) : null;
            figure.bookChart.follow(hasAnswer ? rowsOrProblem : null, newCaption).then(function () {
              if (turn === drawn) {
                el.dispatchEvent(new CustomEvent("ettr-drawn", { bubbles: true }));
              }
            });
          }
        }
        let took = 0,
          pending = null;
        function timed() {
          const start = performance.now();
          work();
          took = performance.now() - start;
        }
        model.on("change", function () {
          // slow charts wait for the reader to pause
          clearTimeout(pending);
          if (took > 50) {
            pending = setTimeout(timed, 120);
          } else {
            timed();
          }
        });
        timed();
      },
    };
  }

  // A question of a single chart: its value at first may follow from the model, where it may be an example.
  const question = (name, value, isExample) => ({
    ...data.questions[name],
    name,
    value: value || data.questions[name].value,
    isExample,
  });

  // The quantity that is constant in an answer about other sizes.
  const heldWords = ({ hold }) => "at a constant " + (hold === "job" ? "job MTBF" : "node failure rate") + ".";

  const reachWords = (most) =>
    "is reached " + (most >= 1e9 ? "at any size" : most > 0 ? `up to ${gpus(about(most))}` : "at no size");

  const bestAt = (run) => {
    const of = ettr.best(run);
    return isFinite(of.ettr) ? of.ettr : null;
  };

  // ETTR at the best interval, and its plausible range with the draws of the built chart.
  function assumedRange(scenario, model) {
    const useful = bestAt(ettr.inHours(scenario)),
      over = useful === null ? null : orNull(() => ettr.overAssumed(scenario, model.start.assumed, 2048));
    const hasRange = over && over.low !== null;
    return { ettr: useful, low: hasRange ? over.low : useful, high: hasRange ? over.high : useful };
  }

  const scale = chart({
    takes: ["cluster.n_gpus", "failures.mttf", "checkpoint.stall_s", "recovery.detection_min", "recovery.restart_min"],
    extra: [question("target")],
    rows(scenario, ask, model) {
      const interval = scenario.checkpoint.interval_min,
        rule = typeof interval === "string",
        n = scenario.cluster.n_gpus,
        lines = [];
      for (const size of geometric(64, 1048576, 57)) {
        const run = ettr.inHours(scenario, size);
        lines.push({ n_gpus: size, ettr: bestAt(run), interval: "best" });
        if (!rule) {
          const useful = ettr.ettrOf(run);
          lines.push({ n_gpus: size, ettr: isFinite(useful) ? useful : null, interval: "current" });
        }
      }
      return {
        lines: lines.filter((row) => row.ettr !== null),
        here: [{ n_gpus: n, ...assumedRange(scenario, model) }],
        target: [{ ettr: ask("target") }],
      };
    },
    say(drawn, scenario, ask, model) {
      const target = ask("target"),
        most = ettr.largestSize(scenario, target),
        useful = drawn.here[0].ettr;
      const size = gpus(scenario.cluster.n_gpus),
        best = useful === null ? "no answer" : pct(useful, 0);
      return (
        `${size}: ETTR ${best} at the best interval. ${pct(target, 0)} ${reachWords(most)} ${heldWords(scenario)} ` +
        publishedWords(model)
      ).trim();
    },
  });

  const checkpoint_interval = chart({
    takes: ["cluster.n_gpus", "failures.mttf", "checkpoint.stall_s", "checkpoint.persist_s", "checkpoint.interval_min"],
    rows(scenario) {
      const run = ettr.inHours(scenario),
        of = { ...run, starts: false },
        band = ettr.band(run),
        [low, high] = ettr.intervalEnds(of);
      const lines = geometric(Math.max(low, band.tau / 30), Math.min(high, band.tau * 30), 81).map((tau) => ({
        interval_min: 60 * tau,
        ettr: ettr.ettrOf(ettr.withTau(of, tau)),
      }));
      const marks = [{ interval_min: 60 * band.tau, what: "best" }];
      if (typeof scenario.checkpoint.interval_min === "number") {
        marks.push({ interval_min: scenario.checkpoint.interval_min, what: "current" });
      }
      return {
        lines: lines.filter((row) => isFinite(row.ettr)),
        band: [{ low_min: 60 * band.low, high_min: 60 * band.high }],
        marks,
      };
    },
    say(drawn, scenario) {
      const { low_min, high_min } = drawn.band[0],
        run = ettr.inHours(scenario),
        best = ettr.best(run);
      const current = drawn.marks[1],
        points = number(about(100 * Math.max(best.ettr - ettr.ettrOf(run), 0))),
        asItIs = current ? ` The current interval of ${duration(current.interval_min / 60)} costs ${points} points.` : "";
      return `${bandWords(best.tau, low_min / 60, high_min / 60)}.${asItIs}`;
    },
  });

  // Days after which 90% of runs are done.
  function daysOfMost(model) {
    const of = orNull(() => datesOf(model));
    return of && isFinite(of.quantile(0.9)) ? Number((of.quantile(0.9) / 24).toPrecision(3)) : 30;
  }
  const finishing_date = chart({
    takes: ["cluster.n_gpus", "failures.mttf", "checkpoint.stall_s", "recovery.restart_min", "job.productive_h"],
    extra: [question("days", daysOfMost)],
    rows(scenario, ask, model) {
      const of = datesOf(model),
        low = of.quantile(0.001),
        high = of.quantile(0.999),
        edge = 0.1 * (high - low) || 1;
      const lines = Array.from({ length: 101 }, (_, i) => low - edge + ((high - low + 2 * edge) * i) / 100).map(
        (hours) => ({ days: hours / 24, chance: of.doneBy(hours) })
      );
      const points = [0.5, 0.9, 0.99].map((p) => ({ days: of.quantile(p) / 24, chance: p }));
      return {
        lines,
        points: points.filter((row) => isFinite(row.days)),
        by: [{ days: ask("days"), chance: of.doneBy(24 * ask("days")) }],
      };
    },
    say(drawn) {
      const day = (p) => {
        const row = drawn.points.find((point) => point.chance === p);
        return row ? duration(24 * row.days) : "no date";
      };
      const [by] = drawn.by;
      return (
        `Done after ${day(0.5)} in 50% of runs, ${day(0.9)} in 90%, ${day(0.99)} in 99%. ` +
        `Within ${number(by.days)} days: ${pct(by.chance, 0)} of runs.`
      );
    },
  });

  const spares = chart({
    takes: ["cluster.n_gpus", "failures.mttf"],
    extra: [question("repair_h"), question("level")],
    rows(scenario, ask) {
      const out = ettr.inRepair(scenario, ask("repair_h")),
        level = ask("level");
      const enough = (s) => 1 - ettr.waitingShare(s, out),
        need = ettr.leastWhole((s) => enough(s) >= level, ettr.enoughSpares(out, level)),
        most = Math.max(5, Math.ceil(1.3 * ettr.enoughSpares(out, 0.9999)));
      const step = Math.max(1, Math.ceil(most / 80)),
        lines = [];
      for (let s = 0; s <= most; s += step) {
        lines.push({ n_spares: s, chance: enough(s) });
      }
      return {
        lines,
        need: [{ n_spares: need, chance: enough(need) }],
        level: [{ chance: level }],
        out,
      };
    },
    say(drawn, scenario, ask) {
      const share = pct(ask("level"), ask("level") > 0.99 ? 2 : 0),
        [out, need] = [about(drawn.out), drawn.need[0].n_spares].map(number);
      return (
        `${out} nodes are in repair on average. ${need} spares suffice ${share} of the time. ` +
        "With fewer spares the job waits more often."
      );
    },
  });

  const hasNoCount = (model) => ettr.at(model.start.written, "failures.n_events") === undefined,
    countOf = (model) => ettr.at(model.start.written, "failures.n_events") || data.questions.events.value;
  function daysOf({ start: { written } }) {
    const { n_gpus, gpus_per_node } = written.cluster,
      days = ettr.at(written, "failures.node_days");
    return days ? Number((days / (n_gpus / (gpus_per_node || 8))).toPrecision(4)) : data.questions.in_days.value;
  }
  const failure_rates = chart({
    takes: ["cluster.n_gpus"],
    isRead: (path) => path.startsWith("cluster."),
    extra: [question("events", countOf, hasNoCount), question("in_days", daysOf, hasNoCount)],
    rows(scenario, ask) {
      const nodes = scenario.cluster.n_gpus / scenario.cluster.gpus_per_node,
        exposure = (nodes * ask("in_days")) / 1000,
        n = ask("events"),
        [low, high] = ettr.poissonInterval(n);
      return {
        yours: [
          { who: "yours", rate: n / exposure, low: low / exposure, high: high / exposure, n, days: ask("in_days") },
        ],
      };
    },
    say(drawn) {
      const { rate, low, high, n, days } = drawn.yours[0],
        every = (count) => (count > 0 ? roughly((24 * days) / count) : "more than the observation time"),
        [a, b] = ettr.poissonInterval(n);
      const [per1000, lowest, highest] = [rate, low, high].map((value) => number(about(value)));
      return (
        `${per1000} failures per 1,000 node-days (95% CI ${lowest} to ${highest}). ` +
        `MTBF of the job: ${every(n)} (95% CI ${joinedRange(every(b), every(a))}).`
      );
    },
  });

  // ---- mitigations together, each with its effect size and price

  // The chosen mitigations and their effect sizes: the recommended set, until the reader chooses.
  function chosenOf(scenario, model) {
    const explicit = Object.keys(model.state.more).some((name) => name.startsWith("with."));
    if (explicit) {
      return new Map(
        data.catalogue
          .filter((mitigation) => model.state.more["with." + mitigation.id] > 0)
          .map((mitigation) => [mitigation.id, model.state.more["with." + mitigation.id]])
      );
    }
    const recommendation = recommendationOf(model);
    return new Map((recommendation ? recommendation.steps : []).map(({ id }) => [id, 1]));
  }
  function choose(model, scenario, id, strength) {
    // the recommendation becomes the reader's choice
    const before = chosenOf(scenario, model);
    for (const [other, value] of before) {
      model.state.more["with." + other] = value;
    }
    model.setMore("with." + id, strength);
  }
  const assumedPrice = ({ usd: once, usd_per_gpu }, { cluster }) => once + usd_per_gpu * cluster.n_gpus;
  const isPriceYours = (model, id) => has(model.state.more, "price." + id);
  // The price of each mitigation, by id: the reader's, or the assumed one. [USD]
  const pricesOf = (model, scenario) =>
    Object.fromEntries(
      data.catalogue.map((mitigation) => [
        mitigation.id,
        isPriceYours(model, mitigation.id) ? model.state.more["price." + mitigation.id] : assumedPrice(mitigation, scenario),
      ])
    );

  // Hours lost per month without mitigations, and with each of the chosen ones; the order of clicks does not matter.
  function portfolioRows(scenario, model) {
    const chosen = chosenOf(scenario, model),
      sets = ettr.setsOf(scenario, data.catalogue, pricesOf(model, scenario), Object.fromEntries(chosen)),
      // the chosen ones that the model covers here
      ids = [...chosen.keys()].filter((id) => sets.candidates.includes(id)),
      steps = sets.stepsOf(ids);
    if (!steps) {
      throw new ettr.NotHere("these mitigations together");
    }
    const first = { order: 0, what: "current run", ettr: sets.before.ettr, h: 0, usd: 0, totalH: 0, totalUsd: 0, price: 0 };
    return [first, ...steps.map((step, i) => ({ ...step, order: i + 1, what: step.title }))].map((row) => ({
      ...row,
      lost: (1 - row.ettr) * ettr.H_PER_MONTH,
    }));
  }

  // A table that is refilled at each change, with a line below it.
  function table(caption, columns, kind = "") {
    const body = element("tbody", {}),
      note = element("p", { class: "ettr-small" }),
      heads = columns.map((text) => element("th", { scope: "col" }, text)),
      whole = element("table", { class: "ettr-table " + kind }, element("thead", {}, element("tr", {}, ...heads)), body),
      scroll = { class: "ettr-scroll", tabindex: 0, role: "region", "aria-label": caption };
    const row = ([first, ...rest]) =>
      element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((inside) => element("td", {}, inside)));
    return {
      whole: element("div", {}, element("div", scroll, whole), note),
      body,
      note,
      show: (rows) => body.replaceChildren(...rows.map(row)),
    };
  }

  // The price of a mitigation; without a number, the assumed one.
  function priceInput(model, scenario, mitigation, note) {
    const { id, title } = mitigation;
    function take({ target: box }) {
      const isEmpty = box.value.trim() === "",
        { value, error } = isEmpty ? {} : parsed(box.value, { least: 0, most: 1e15, unit: "USD", quantity: "USD" });
      box.setAttribute("aria-invalid", Boolean(error));
      note.textContent = error || "";
      if (!error) {
        model.setMore("price." + id, value);
      }
    }
    return element("input", {
      type: "text",
      inputmode: "decimal",
      value: exactly(pricesOf(model, scenario)[id]),
      placeholder: exactly(assumedPrice(mitigation, scenario)),
      "aria-label": `Price of ${title}, USD`,
      on: { input: take },
    });
  }

  // Mitigations with their prices, and on a page that combines them, a choice and an effect size of each.
  function choices(model, hasOnlyPrices) {
    const columns = ["Mitigation", ...(hasOnlyPrices ? [] : ["Effect size"]), "One-time price [USD]"],
      { whole, body, note, show } = table("Mitigations", columns, "ettr-choices");
    function row(mitigation, scenario, chosen) {
      const { id, title } = mitigation,
        price = priceInput(model, scenario, mitigation, note);
      if (hasOnlyPrices) {
        return [title, price];
      }
      const isChosen = chosen.has(id),
        part = isChosen ? chosen.get(id) : 1,
        conflicts = (other) => chosen.has(other.id) && mitigation.conflicts.includes(other.id),
        other = isChosen ? null : data.catalogue.find(conflicts);
      const box = element("input", {
        type: "checkbox",
        "data-key": id,
        disabled: Boolean(other),
        on: { change: (event) => choose(model, scenario, id, event.target.checked ? 1 : 0) },
      });
      box.checked = isChosen;
      const effect = element("input", {
        type: "range",
        min: 1,
        max: 100,
        value: 100 * part,
        disabled: !isChosen,
        "data-key": "effect-" + id,
        "aria-label": "Effect size of " + title,
        "aria-valuetext": pct(part, 0),
        on: { input: (event) => choose(model, scenario, id, Number(event.target.value) / 100) },
      });
      const conflict = other && element("span", { class: "ettr-note" }, " conflicts with " + other.title);
      return [[element("label", {}, box, " " + title), conflict], [effect, " ", pct(part, 0)], price];
    }
    function fill() {
      const active = body.contains(document.activeElement) ? document.activeElement : null,
        { scenario, refused, error } = model.now;
      if (active && active.type === "text") {
        return;
      }
      if (error || refused.length) {
        show([]);
        return;
      }
      const chosen = chosenOf(scenario, model),
        sets = orNull(() => ettr.setsOf(scenario, data.catalogue)),
        candidates = sets ? sets.candidates : [],
        available = data.catalogue.filter(({ id }) => chosen.has(id) || candidates.includes(id));
      show(available.map((mitigation) => row(mitigation, scenario, chosen)));
      const again = active && body.querySelector(`[data-key="${active.dataset.key}"]`);
      if (again) {
        again.focus();
      }
    }
    model.later(fill);
    fill();
    return whole;
  }
  const portfolioChart = chart({
    takes: ["cluster.n_gpus", "failures.mttf", "checkpoint.stall_s", "recovery.restart_min", "cost.usd_per_gpu_h"],
    rows: (scenario, ask, model) => ({ steps: portfolioRows(scenario, model) }),
    chosen: (model) =>
      [
        ["with.", "your choice of mitigations"],
        ["price.", "your prices of mitigations"],
      ]
        .filter(([prefix]) => Object.keys(model.state.more).some((name) => name.startsWith(prefix)))
        .map(([, text]) => text),
    say(drawn) {
      const steps = drawn.steps.slice(1),
        last = drawn.steps[drawn.steps.length - 1],
        first = drawn.steps[0];
      if (!steps.length) {
        return "The current run loses " + number(about(first.lost)) + " h per month. Choose mitigations.";
      }
      const price = steps.reduce((total, row) => total + row.price, 0),
        useless = steps.filter((row) => !row.pays).map((row) => row.title),
        saved = number(about(last.totalH)) + " h" + (last.totalUsd ? " and " + usd(about(last.totalUsd)) : ""),
        payback = roughly((price / last.totalUsd) * ettr.H_PER_MONTH),
        back = last.totalUsd > 0 && price > 0 ? `, which pays back in ${payback}` : "";
      return (
        `Together they save ${saved} per month for a one-time price of ${usd(about(price))}${back}: ` +
        `ETTR ${pct(first.ettr, 0)} becomes ${pct(last.ettr, 0)}.` +
        (useless.length
          ? ` With the others in place, ${useless.join(" and ")} saves less than its price: leave it out.`
          : "")
      );
    },
  });
  const portfolio = {
    ...portfolioChart,
    render(widget) {
      portfolioChart.render(widget);
      widget.el.querySelector("form").after(choices(widget.model));
    },
  };

  const calculators = chart({
    takes: [
      "cluster.n_gpus",
      "failures.mttf",
      "checkpoint.interval_min",
      "checkpoint.stall_s",
      "checkpoint.persist_s",
      "recovery.detection_min",
      "recovery.queue_min",
      "recovery.restart_min",
    ],
    rows(scenario) {
      const { exact, results } = ettr.calculators(scenario);
      const rows = data.formulas.map(({ name, title }) => ({
        what: title,
        ettr: results[name],
        points: 100 * (results[name] - exact),
      }));
      return {
        results: rows
          .filter((row) => row.ettr !== null)
          .map((row) => ({
            ...row,
            way: row.points <= -1 ? "too low" : row.points <= 1 ? "within a point" : "too high",
          })),
        exact: [{ ettr: exact }],
      };
    },
    say(drawn) {
      const rows = drawn.results.slice().sort((a, b) => Math.abs(a.points) - Math.abs(b.points)),
        near = rows.filter((row) => Math.abs(row.points) <= 1).length,
        silent = data.formulas.length - rows.length;
      const describe = ({ what, ettr: share, points }) =>
        `${what} ${pct(share)} (${points < 0 ? "" : "+"}${fixed(points, 1)} points)`;
      const last = rows[rows.length - 1],
        ends = rows.length ? ` Smallest error: ${describe(rows[0])}; largest: ${describe(last)}.` : "",
        none = silent ? ` ${silent}${silent > 1 ? " have" : " has"} no answer.` : "";
      const n = data.formulas.length;
      return `Exact ETTR ${pct(drawn.exact[0].ettr)}; ${near} of ${n} formulas are within a point.${ends}${none}`;
    },
  });

  window.ettrWidgets = {
    calculator,
    calculators,
    scale,
    checkpoint_interval,
    finishing_date,
    spares,
    failure_rates,
    portfolio,
    begin,
    parts: {
      form,
      input,
      fieldInput,
      answersPanel,
      linkButton,
      resetButton,
      answerOf,
      datesOf,
      numbersInWords,
      Model,
      choices,
      portfolioRows,
      sourceInWords,
      copyButton,
      makeButton,
      command,
      fieldOf,
      parsed,
      table,
      heldWords,
      reachWords,
      orNull,
      short,
    },
    words: { number, about, pct, duration, roughly, usd, gpus, span, listed },
  };

  function begin(places) {
    checkAddress();
    listeners.add(checkAddress);
    const home = places.map((el) => el.dataset.ettrStart).find((id) => id && has(data.starts, id)),
      model = new Model(state, home);
    listeners.add(() => model.changed("all"));
    model.changed("all");
    window.ettrWidgets.model = model;
    for (const el of places) {
      const widget = window.ettrWidgets[el.dataset.ettr];
      if (!widget) {
        continue;
      }
      el.classList.add("ettr-widget");
      el.hidden = false;
      widget.render({ model, el });
    }
  }
})();
