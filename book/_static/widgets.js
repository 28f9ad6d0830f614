// What answers on the pages: the calculator, the what-if page, and charts with inputs. Each is a widget with
// render({ model, el }), as anywidget has it: the model gives and takes values by name and says when they change.
(function () {
  "use strict";

  const { state, save, listeners, element } = window.ettrState;
  const data = window.ettrData,
    ettr = window.ettr;

  // ---- numbers as people read them, as the package writes them

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
  const pct = (share, digits) => fixed(100 * share, digits === undefined ? 1 : digits) + "%";
  function duration(hours, rounded) {
    const of = rounded || ((value) => value);
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
    return number(of(hours * scale)) + " " + unit;
  }
  const roughly = (hours) => duration(hours, about);
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
    const known = Math.abs(n - Math.round(n)) < 1e-9 * n && n < 1e6;
    return fixed(n >= 10000 && !known ? Number(n.toPrecision(3)) : n, 0) + (n === 1 ? " GPU" : " GPUs");
  }
  const listed = (names) =>
    names.length < 2 ? names[0] || "none" : names.slice(0, -1).join(", ") + " and " + names[names.length - 1];
  const span = (low, high) => {
    const digits = Math.round(100 * low) !== Math.round(100 * high) && high < 0.985 ? 0 : 1;
    const [a, b] = [pct(low, digits), pct(high, digits)];
    return a === b ? a : a.replace("%", "") + " to " + b;
  };
  const short = (value) => String(Number(Number(value).toPrecision(6)));

  // ---- the model of a page: values by path, and what follows from them

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
    constructor() {
      this.watching = [];
      this.version = 0;
      listeners.add(() => this.changed("all"));
    }

    // what the page begins with, until the reader begins with something else or changes what is fixed there
    get home() {
      const mine = data.starts[this.homeId];
      return mine && !mine.fixed.some((path) => own(state.values, path)) ? this.homeId : data.book;
    }
    get startId() {
      return state.start || this.home;
    }
    get start() {
      return data.starts[this.startId];
    }
    get isMine() {
      return state.start === data.own;
    }

    // The reader's values, as they change what the page begins with. A rate of a node needs no size at which it was
    // observed; where the job's MTBF is held, it is that of the start at any size.
    get values() {
      const { values } = state;
      if (this.isMine && RATES.some((path) => path !== JOB_MTTF && own(values, path))) {
        return { ...values, [OBSERVED]: null };
      }
      if (state.hold !== "job" || !own(values, N_GPUS)) {
        return values;
      }
      const held = { ...values };
      for (const path of [...RATES, "failures.node_days", OBSERVED]) {
        if (path !== JOB_MTTF || !own(values, JOB_MTTF)) {
          delete held[path];
        }
      }
      if (!own(values, JOB_MTTF)) {
        const before = { ...values };
        delete before[N_GPUS];
        const scenario = ettr.complete(ettr.override(this.start.written, before), data.defaults);
        held[JOB_MTTF] = meanTimeOf(scenario, JOB_MTTF);
      }
      return held;
    }

    // The scenario as written with the reader's values, and complete; worked out once for each change.
    get now() {
      if (!this.known || this.known.version !== this.version) {
        const known = { version: this.version, written: null, scenario: null, refused: [], error: "" };
        try {
          known.written = ettr.override(this.start.written, this.values);
          const numbers = numbersInWords(this);
          if (numbers.given) {
            known.written.title = numbers.title.slice(0, LONGEST_TITLE);
          }
          known.scenario = Object.assign(ettr.complete(known.written, data.defaults), { hold: state.hold });
          known.refused = ettr.refused(known.scenario);
        } catch (error) {
          known.error = error.message;
        }
        this.known = known;
      }
      return this.known;
    }

    // anywidget's: a value by its name, and a change of one
    get(name) {
      return name === "scenario"
        ? this.now.scenario
        : own(state.values, name)
          ? state.values[name]
          : ettr.at(this.now.scenario || this.start.written, name);
    }
    set(name, value) {
      if (name === N_GPUS) {
        this.recordSize(value);
      }
      if (value === undefined || value === null) {
        delete state.values[name];
      } else {
        state.values[name] = value;
      }
      if (RATES.includes(name)) {
        delete state.values[OBSERVED];
        for (const other of RATES) {
          if (other !== name) {
            delete state.values[other];
          }
        }
        if (name !== "failures.n_events") {
          delete state.values["failures.node_days"];
        }
      }
      this.changed(name);
    }
    // An MTBF that the reader gave is that of the size it was given at.
    recordSize(nGpus) {
      const { values } = state,
        per = this.get("cluster.gpus_per_node") || 8,
        now = this.get(N_GPUS);
      if (own(values, OBSERVED) && values[OBSERVED] * per === nGpus) {
        delete values[OBSERVED];
      } else if (state.hold !== "job" && own(values, JOB_MTTF) && !own(values, OBSERVED) && nGpus !== now) {
        values[OBSERVED] = Math.round(now / per);
      }
    }
    // Hold the "job"'s MTBF when its size changes, or the failure rate of a "node". The answer of now stays as it is.
    hold(what) {
      const mine = own(state.values, JOB_MTTF),
        isMoved = mine ? own(state.values, OBSERVED) : this.get(N_GPUS) !== this.start.written.cluster.n_gpus,
        mean = isMoved ? meanTime(this, JOB_MTTF, 6) : undefined,
        { scenario } = this.now;
      state.hold = what === "job" ? what : null;
      if (mean) {
        // both are then those of the size of now, the restart with what it takes longer there
        const beyond = scenario.cluster.n_gpus - ettr.observedGpus(scenario),
          { restart_min, init_s_per_1000_gpus } = scenario.recovery,
          restart = 60 * ettr.restartAt(restart_min / 60, init_s_per_1000_gpus, beyond);
        if (beyond && restart !== restart_min) {
          state.values["recovery.restart_min"] = Number(restart.toPrecision(6));
        }
        this.set(JOB_MTTF, mean);
      } else {
        this.changed("hold");
      }
    }
    setMore(name, value) {
      if (value === undefined) {
        delete state.more[name];
      } else {
        state.more[name] = value;
      }
      this.changed(name);
    }
    begin(id) {
      Object.assign(state, { start: id === this.homeId ? null : id, hold: null, values: {}, more: {}, left: [] });
      this.changed("all");
    }
    on(event, handler) {
      this.watching.push(handler);
    }
    // Do something now, and again at each change.
    follow(handler) {
      this.on("change", handler);
      handler();
    }
    // Do something once the reader pauses.
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
  const own = (object, key) => Object.prototype.hasOwnProperty.call(object, key);

  // Values of the address that no field has, or that break its rule, are left out, with a notice.
  function checkAddress() {
    for (const [path, value] of Object.entries(state.values)) {
      const field = fieldOf(path),
        minutes = path === "checkpoint.interval_min" && value === "best";
      if (!field || (!minutes && complaint(field, value))) {
        delete state.values[path];
        state.left.push(path + "=" + value);
      }
    }
    for (const name of Object.keys(state.more)) {
      const id = name.split(".").slice(1).join(".");
      if (!name.startsWith("ask.") && !data.catalogue.some((one) => one.id === id)) {
        delete state.more[name];
        state.left.push(name);
      }
    }
    if (state.start !== null && !own(data.starts, state.start)) {
      state.left.push("start=" + state.start);
      state.start = null;
    }
  }

  function fieldOf(path) {
    if (own(data.fields, path)) {
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

  // The values that differ from those of the start, of the fields that are read; of an empty start its examples as well.
  function changedValues(model, isRead) {
    const start = startScenario(model),
      isGiven = (path) => own(state.values, path);
    const differs = (path) => model.isMine || RATES.includes(path) || state.values[path] !== ettr.at(start, path),
      needed = model.isMine ? ["cluster.n_gpus", RATES.find(isGiven) || "failures.job_mttf_h"] : [];
    const order = Object.keys(data.fields),
      place = (path) => (order.includes(path) ? order.indexOf(path) : order.length);
    return [...Object.keys(state.values).filter(differs), ...needed.filter((path) => !isGiven(path))]
      .filter(isRead)
      .filter((path) => path !== OBSERVED || !isGiven(JOB_MTTF)) // which says it itself
      .sort((a, b) => place(a) - place(b))
      .map((path) => ({
        text:
          valueInWords(path, isGiven(path) ? state.values[path] : ettr.at(start, path)) +
          (path === JOB_MTTF && observedGpus(model) ? " on " + gpus(observedGpus(model)) : ""),
        isExample: !isGiven(path),
      }))
      .concat(state.hold === "job" && isRead(N_GPUS) ? [{ text: "job MTBF held", isExample: false }] : []);
  }
  // GPUs of the job whose MTBF is given, if it has another size; else 0.
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

  // Whose numbers something shows: its `title`, whether some are the reader's (`given`), and whether all are those of the
  // scenario that it begins with (`isStart`). `questions` are values beside the scenario.
  function numbersInWords(model, isRead = () => true, questions = []) {
    const values = [...changedValues(model, isRead), ...questions],
      given = values.some((one) => !one.isExample);
    const named = values.slice(0, MOST_NAMED).map((one) => one.text + (one.isExample ? " (example)" : "")),
      rest = values.length - named.length;
    const title =
      (given || model.isMine ? "Your numbers" : model.start.title) +
      (named.length ? ": " + named.join(", ") : "") +
      (rest ? " and " + rest + (rest > 1 ? " other values" : " other value") : "") +
      (given && !model.isMine ? "; otherwise " + model.start.title : "");
    return { title, given, isStart: !values.length };
  }

  // The line below a chart: where its numbers come from.
  function sourceInWords(model, given) {
    if (model.isMine) {
      return "Source: computed in your browser from your numbers; all other values are assumed.";
    }
    const { cited, assumed_fields } = model.start,
      start = startScenario(model),
      n = assumed_fields.filter(
        (path) => !own(state.values, path) && ettr.at(model.now.scenario, path) === ettr.at(start, path)
      ).length;
    const source = "Source: computed in your browser from";
    return given
      ? `${source} your numbers; other values from ${cited}${n ? `, ${n} of them assumed` : ""}.`
      : `${source} ${cited}${n ? `; ${n} of its values are assumed` : ""}.`;
  }

  // ---- inputs

  // What is wrong with a value; empty if nothing is.
  function complaint(field, value) {
    const unit = field.unit ? " " + field.unit : "";
    if (typeof value !== "number" || !isFinite(value)) {
      return "Give a number.";
    }
    if (value < field.least || (field.open && value === field.least)) {
      return "Must be " + (field.open ? "more than " : "at least ") + short(field.least) + unit + ".";
    }
    if (value > field.most) {
      return "Must be at most " + short(field.most) + unit + ".";
    }
    if (field.whole && value !== Math.round(value)) {
      return "Must be a whole number.";
    }
    return "";
  }

  // A text as a number, or what is wrong with it: 4,096 and 4k, and 90% of what has no unit, as the package reads them.
  function parsed(text, field) {
    const plain = text.trim().replace(/[\u00a0\u202f ]/g, "");
    if (plain === "") {
      return { error: "Give a number." };
    }
    const written = /^([-+]?(?:[1-9]\d{0,2}(?:,\d{3})+|\d+)(?:\.\d*)?|[-+]?\.\d+)([kKMBT%])?$/.exec(plain);
    if (!written && /^-?\d*,\d+$/.test(plain)) {
      return { error: "Write " + plain.replace(",", ".") + ", with a point." };
    }
    const power = { "%": -2, k: 3, K: 3, M: 6, B: 9, T: 12 },
      value = Number(written ? written[1].replace(/,/g, "") + "e" + (power[written[2]] || 0) : plain);
    const isNumber = written
      ? !(written[2] === "%" && field.unit)
      : /^[-+]?(\d+\.?\d*|\.\d+)e[-+]?\d+$/i.test(plain);
    if (!isNumber || !isFinite(value)) {
      return { error: "“" + plain.slice(0, 20) + "” is no number." };
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

  // A labelled number with its slider, its unit, and a place for where it comes from or what is wrong with it.
  function controls(label) {
    const id = "ettr-input-" + (made += 1),
      named = { id, type: "text", inputmode: "decimal", autocomplete: "off", "aria-describedby": id + "-note" };
    const box = element("input", named),
      slider = element("input", { type: "range", min: 0, max: 1000, "aria-label": label + ", slider" });
    const unit = element("span", { class: "ettr-unit" }),
      note = element("span", { id: id + "-note", class: "ettr-note" });
    const row = element(
      "div",
      { class: "ettr-input" },
      element("span", { class: "ettr-name" }, element("label", { for: id }, label)),
      element("span", { class: "ettr-entry" }, box, unit),
      element("span", { class: "ettr-under" }, slider, note)
    );
    function say(error, otherwise) {
      row.classList.toggle("is-wrong", error !== "");
      box.setAttribute("aria-invalid", error !== "");
      note.setAttribute("role", error ? "alert" : "note");
      note.textContent = error || otherwise;
    }
    function slide(field, value) {
      const known = typeof value === "number";
      if (known) {
        slider.value = toSlider(field, value);
      }
      slider.setAttribute("aria-valuetext", known ? short(value) + " " + field.unit : "not given");
    }
    return { row, box, slider, unit, say, slide };
  }

  // An input: label, number, unit, slider, and where its value comes from.
  function input(model, path, options) {
    const { label, optional, follows, value: valueOf, path: pathOf } = options || {};
    const at = () => (pathOf ? pathOf() : path),
      field = () => fieldOf(at());
    const { row, box, slider, unit, say: mark, slide } = controls(label || field().label);
    row.dataset.path = path;
    const step = () => (at() === "cluster.n_gpus" ? model.get("cluster.gpus_per_node") || 8 : field().whole ? 1 : 0);

    function shown() {
      const mine = state.values[at()],
        found = follows ? valueOf() : undefined; // of the size that the job has now
      return found !== undefined ? found : mine !== undefined ? mine : valueOf ? valueOf() : model.get(at());
    }
    function fill() {
      // what the model holds, unless the reader is writing it
      const value = shown(),
        known = field();
      unit.textContent = known.unit || (at() === "measured.ettr" || known.slider[1] <= 1 ? "(share)" : "");
      if (document.activeElement !== box || !row.classList.contains("is-wrong")) {
        if (document.activeElement !== box) {
          box.value = typeof value === "number" ? short(value) : "";
        }
        say("");
      }
      slide(known, value);
      slider.disabled = box.disabled = state.start !== null && model.start.fixed.includes(at());
    }
    const say = (error) => mark(error, origin(model, at(), shown()));
    function take(value) {
      if (optional && value === undefined) {
        model.set(at(), undefined);
        say("");
        return;
      }
      const error =
        complaint(field(), value) ||
        tooShort(model, at(), value) ||
        (step() > 1 && value % step() !== 0 ? "Must be a multiple of " + step() + ", the GPUs of a node." : "");
      say(error);
      if (!error) {
        model.set(at(), value);
      }
    }
    box.addEventListener("input", function () {
      if (optional && box.value.trim() === "") {
        take(undefined);
        return;
      }
      const found = parsed(box.value, field());
      if (found.error) {
        say(found.error);
      } else {
        take(found.value);
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
    model.follow(fill);
    return row;
  }

  // An interval cannot be shorter than the training during the background write.
  function tooShort(model, path, value) {
    const scenario = model.now.scenario;
    if (!scenario || path !== "checkpoint.interval_min") {
      return "";
    }
    const c = scenario.checkpoint,
      least = ((1 - c.persist_slowdown) * c.persist_s) / 60;
    return value < least * (1 - 1e-12)
      ? "Must be at least " + short(least) + " min, the training during the background write."
      : "";
  }

  // Where a value comes from, and what is plausible.
  function origin(model, path, value) {
    const field = fieldOf(path),
      unit = field.unit ? " " + field.unit : "";
    const elsewhereGpus = path === JOB_MTTF ? observedGpus(model) : 0,
      onGpus = elsewhereGpus ? short(ettr.at(model.now.scenario, path)) + " h on " + gpus(elsewhereGpus) : "";
    if (own(state.values, path)) {
      return onGpus ? "from yours, " + onGpus : "yours";
    }
    const known = (model.start.written.evidence || {})[path],
      [low, high] = (field.plausible || []).map(short),
      range = field.plausible ? `; ${low} to ${high}${unit} is plausible` : "";
    if (model.start.fixed.includes(path)) {
      const other = state.start === null ? `; another begins with ${data.starts[data.book].title}` : "";
      return `the hours follow from the tokens at this size${other}`;
    }
    if (value === undefined) {
      return path === "measured.ettr" ? "if known" : "not given" + range;
    }
    if (known) {
      const words = {
        primary: "published",
        secondary: "published, at second hand",
        derived: "derived",
        assumed: "assumed",
      }[known.status];
      return words + (known.status === "assumed" && range ? range : known.note ? ": " + known.note : "");
    }
    if (path === "failures.job_mttf_h" || path === "failures.node_mttf_h" || path === "failures.gpu_mttf_h") {
      return model.isMine
        ? "an example" + (onGpus && ", " + onGpus) + ": give yours"
        : "follows from the failures counted";
    }
    if (path === "cluster.n_gpus" && model.isMine) {
      return "an example: give yours";
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

  // Hours between failures of the job, a node or a GPU, as given, or else as they would be observed at this size.
  function meanTime(model, path, digits) {
    const { scenario, refused } = model.now;
    return scenario && !refused.length ? meanTimeOf(scenario, path, digits) : undefined;
  }
  function meanTimeOf(scenario, path, digits = 3) {
    const mine = ettr.at(scenario, path),
      nodes = scenario.cluster.n_gpus / scenario.cluster.gpus_per_node;
    if (typeof mine === "number" && !(path === JOB_MTTF && observedElsewhere(scenario))) {
      return mine;
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
      choice = select({ "aria-label": "What fails" }, { [job]: "The job", [node]: "A node", [gpu]: "A GPU" });
    function follow() {
      const isGiven = (path) => own(state.values, path) || ettr.at(model.start.written, path) !== undefined,
        kinds = [job, node, gpu].sort((a, b) => own(state.values, b) - own(state.values, a));
      choice.value = kinds.find(isGiven) || choice.value;
    }
    model.follow(follow); // before the input, which shows the value of what was chosen
    const kind = () => choice.value;
    const row = input(model, "failures.mttf", {
      label: "Time between failures",
      path: kind,
      follows: true,
      value: () => meanTime(model, kind()),
    });
    const label = row.querySelector("label"); // read as a sentence, and called by its name
    label.textContent = "fails every";
    label.before(choice);
    row.querySelector("input").setAttribute("aria-label", "Time between failures");
    choice.addEventListener("change", function () {
      const value = meanTime(model, choice.value); // the same failures, said of something else
      if (value) {
        model.set(choice.value, value);
      }
    });
    const both = document.createDocumentFragment();
    both.append(row, holdInput(model));
    return both;
  }

  // What a change of the number of GPUs leaves as it is, and the MTBF that results.
  function holdInput(model) {
    const id = "ettr-input-" + (made += 1),
      choice = select({ id, "aria-describedby": id + "-note" }, { node: "node failure rate", job: "job MTBF" }),
      note = element("span", { id: id + "-note", class: "ettr-note" });
    function fill() {
      const mean = meanTime(model, JOB_MTTF);
      choice.value = state.hold || "node";
      note.textContent = !mean
        ? ""
        : state.hold === "job"
          ? "MTBF " + roughly(mean) + " at every size"
          : "MTBF " + roughly(mean) + " on " + gpus(model.get(N_GPUS));
    }
    choice.addEventListener("change", () => model.hold(choice.value));
    model.follow(fill);
    return element(
      "div",
      { class: "ettr-input ettr-hold" },
      element("label", { for: id }, "Hold across sizes"),
      choice,
      note
    );
  }

  function startInput(model, all) {
    const id = "ettr-input-" + (made += 1),
      choice = element("select", { id });
    for (const [key, one] of Object.entries(data.starts)) {
      if (all || key === data.book || key === data.own || key === model.startId) {
        choice.append(element("option", { value: key }, key === data.own ? "your own cluster" : one.title));
      }
    }
    const fill = () => {
      choice.value = model.startId;
    };
    choice.addEventListener("change", () => model.begin(choice.value));
    model.follow(fill);
    return element("div", { class: "ettr-input ettr-start" }, element("label", { for: id }, "Begin with"), choice);
  }

  // ---- answers

  const hasNoAnswer = (problem) => problem instanceof ettr.Endless || problem instanceof ettr.NotHere;
  const orNull = (of) => {
    try {
      return of();
    } catch (problem) {
      if (!hasNoAnswer(problem)) {
        throw problem;
      }
      return null;
    }
  };

  // What follows from the scenario of now, or else why nothing does: what it has `refused`, or an `error`.
  function attempt(model, of) {
    const { scenario, refused, error } = model.now;
    if (error || refused.length) {
      return error ? { error } : { refused };
    }
    try {
      return of(scenario);
    } catch (problem) {
      if (!hasNoAnswer(problem)) {
        throw problem;
      }
      return problem instanceof ettr.NotHere ? { refused: [problem.message] } : { error: problem.message };
    }
  }

  // Everything that is said of a scenario; what takes longer comes from `slow`.
  const answerOf = (model) =>
    attempt(model, (scenario) => {
      const run = ettr.inHours(scenario),
        rule = typeof scenario.checkpoint.interval_min === "string",
        band = ettr.band(run),
        best = ettr.exact(ettr.withTau(run, band.tau)),
        now = rule ? best : ettr.exact(run);
      return { scenario, run, band, best, now, rule, lostAtBest: ettr.losses(scenario, best) };
    });

  function slow(answer, model) {
    const { scenario } = answer;
    return {
      dates: answer.run.ends ? orNull(() => datesOf(model)) : null,
      recommendation: orNull(() => ettr.recommend(scenario, data.catalogue)),
      assumed: orNull(() => ettr.overAssumed(scenario, model.start.assumed)),
      clusters: orNull(() => ettr.acrossClusters(scenario, model.start.assumed, data.clusters)),
    };
  }

  // The range over what is assumed, as a headline carries it.
  function rangeWords(assumed, model) {
    if (!assumed || !assumed.inputs.length) {
      return "nothing is assumed";
    }
    if (!assumed.n) {
      return "no plausible range: every draw of the assumed inputs breaks a rule of the faster tiers";
    }
    const known = assumed.values.length < assumed.n ? knownWords(model) : "",
      given = known ? ", given " + known : "";
    const mostly = "the " + assumed.leading.name;
    if (assumed.low === null) {
      const [half, twice] = [assumed.atHalf, assumed.atTwice].map((ettr) => pct(ettr, 0));
      return assumed.atHalf === undefined
        ? "no range: what is assumed contradicts " + known
        : `${half} or ${twice} with half or twice ${mostly}, which is assumed`;
    }
    const redrawn = assumed.nRedrawn / (assumed.nRedrawn + assumed.n);
    const noted = redrawn > 0.05 ? "; " + pct(redrawn, 0) + " of the draws broke a rule and were redrawn" : "";
    const where = ettr.rateIsFromElsewhere(model.now.scenario) ? " with this node failure rate" : "";
    return `plausible range ${span(assumed.low, assumed.high)}${where}${given}; mostly ${mostly}${noted}`;
  }
  // The same, with the range across published clusters where the failure rate is that of another.
  function rangesWords(more, model) {
    const { clusters } = more,
      across = clusters && clusters.low !== null ? span(clusters.low, clusters.high) + " across published clusters" : "";
    return [rangeWords(more.assumed, model), across].filter(Boolean).join("; ");
  }
  // What was published for another run of similar size; empty where there is none.
  function publishedWords(model) {
    const { scenario } = model.now,
      n = scenario.cluster.n_gpus,
      apart = (row) => Math.abs(Math.log(row.n_gpus / n));
    const [row] = [...data.published].sort((a, b) => apart(a) - apart(b));
    const itself = ettr.observedGpus(scenario) === n && (scenario.sources || []).includes(row.source);
    return itself || apart(row) > Math.log(data.similar) ? "" : row.words + ".";
  }
  function knownWords(model) {
    const measured = model.now.scenario.measured;
    return measured && own(state.values, "measured.ettr")
      ? "the " + pct(measured.ettr, 0) + " measured"
      : model.start.known + elsewhere(model.now.scenario);
  }
  // Where the ETTR was measured, if that is another size than the one asked about.
  function elsewhere(scenario) {
    const at = scenario.measured && scenario.measured.n_gpus;
    return at && at !== scenario.cluster.n_gpus ? " on " + gpus(at) : "";
  }

  const digitsOf = (useful, assumed) =>
    useful > 0.985 || !assumed || !assumed.inputs.length || (assumed.low !== null && assumed.high - assumed.low < 0.005)
      ? 1
      : 0;

  // A widget's answers, worked out when something changes: at once what is quick, the rest when the page is idle.
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
      ? "This page has no formula for " +
        listed(answer.refused) +
        ". What you read here is what the book was built with; on your machine: ettr plan."
      : "With these numbers " + (answer.error || "there is no answer") + ".";

  function bars() {
    const list = element("table", { class: "ettr-bars" }, element("caption", {}, "Where the time goes, a month"));
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
        row.children[2].textContent = useful ? "" : usd(about(share * losses.bill));
        bar.hidden = useful;
        bar.style.width = useful ? 0 : Math.min(100, (100 * share) / most) + "%";
      }
    }
    return { el: list, show };
  }

  // Saved hours beside those that they take the place of, which may read alike.
  function instead(savedH, ofH) {
    const [saved, of] = [savedH, ofH].map((hours) => number(about(hours)));
    return saved === of ? "about the same " + of + " h per month" : saved + " h instead of " + of + " h per month";
  }
  function recommended(found) {
    const { steps, hasPrice, quickest } = found,
      within = found.months >= 3 ? number(found.months) + " months" : roughly(found.months * ettr.H_PER_MONTH),
      small = (tag, ...inside) => element(tag, { class: "ettr-small" }, ...inside),
      payback = (one) => roughly(one.payback * ettr.H_PER_MONTH);
    if (!steps.length) {
      const soonest = quickest && hasPrice ? `; ${quickest.title} would need ${payback(quickest)}` : "";
      return [small("p", `No mitigation pays for itself within ${within}${soonest}.`)];
    }
    const place = new Map(steps.map((one, i) => [one.id, i + 1])),
      item = (...inside) => element("li", {}, ...inside);
    const lines = steps.map((one) => {
      const saved = number(about(one.h)) + " h" + (hasPrice ? ", " + usd(about(one.usd)) : ""),
        price = one.price ? ` for ${usd(about(one.price))} once (price assumed)` : "",
        back = one.price && hasPrice ? ", pays back in " + payback(one) : "";
      return item(
        element("strong", {}, one.title),
        `: saves ${saved} per month${price}${back} (effect ${one.effect})`
      );
    });
    const others = found.alternatives.slice(0, 3).map((one) => {
      const replaced = one.replaces.map((id) => place.get(id)).join(" and "),
        saved = instead(one.h, one.ofH);
      return item(
        `Instead of ${replaced}: ${one.title}, ${usd(about(one.price))}, saves ${saved} (effect ${one.effect})`
      );
    });
    const last = steps[steps.length - 1],
      net = last.totalUsd * found.months - steps.reduce((total, one) => total + one.price, 0),
      all = lines.length > 2 ? "all " + lines.length : lines.length > 1 ? "both" : "it",
      saved = number(about(last.totalH)) + " h per month",
      saving = hasPrice ? `, a net saving of ${usd(about(net))} in ${within}` : "",
      each = lines.length > 1 ? " Each saves what is shown with all the others in place." : "";
    return [
      element("p", { class: "ettr-head" }, "Recommended together"),
      element("ol", { class: "ettr-lines" }, ...lines),
      small("p", `With ${all}: ETTR ${pct(last.ettr, 0)}, saves ${saved}${saving}.${each}`),
      ...(others.length ? [element("ul", { class: "ettr-small ettr-lines" }, ...others)] : []),
    ];
  }

  // The same in a terminal.
  function command(model) {
    const quoted = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : "'" + text.replace(/'/g, "'\\''") + "'");
    const flags = {
      "cluster.n_gpus": "--gpus",
      "cluster.gpus_per_node": "--gpus-per-node",
      "failures.job_mttf_h": "--mtbf-h",
      "failures.node_mttf_h": "--node-mtbf-h",
      "failures.gpu_mttf_h": "--gpu-mtbf-h",
      "checkpoint.stall_s": "--stall-s",
      "checkpoint.persist_s": "--persist-s",
      "checkpoint.interval_min": "--interval-min",
      "recovery.detection_min": "--detection-min",
      "recovery.restart_min": "--restart-min",
      "job.productive_h": "--productive-h",
      "cost.usd_per_gpu_h": "--usd-per-gpu-h",
      "measured.ettr": "--measured-ettr",
    };
    const values = Object.assign({}, model.isMine ? { [N_GPUS]: model.get(N_GPUS) } : {}, model.values);
    if (model.isMine && !RATES.some((path) => own(values, path))) {
      values[JOB_MTTF] = model.get(JOB_MTTF);
    }
    const observed = model.now.scenario ? observedElsewhere(model.now.scenario) : 0;
    delete values[OBSERVED];
    const words = ["ettr", "plan", ...(model.isMine ? [] : [quoted(model.start.command)])];
    for (const [path, value] of Object.entries(values)) {
      if (own(flags, path)) {
        words.push(flags[path], String(value));
      } else {
        words.push("--set", quoted(path + "=" + value));
      }
      if (path === "failures.n_events" && model.start.written.failures.modes) {
        words.push("--set", "'failures.modes=[]'");
      }
    }
    if (observed && own(values, JOB_MTTF)) {
      words.push("--observed-on-gpus", String(observed));
    }
    return words.join(" ");
  }

  function copyButton(text, label, said) {
    async function copy({ currentTarget: button }) {
      try {
        await navigator.clipboard.writeText(text());
        said("Copied.");
      } catch {
        // as of pages from files
        const area = element("textarea", { class: "ettr-hidden" });
        area.value = text();
        document.body.append(area);
        area.select();
        const done = document.execCommand("copy");
        area.remove();
        said(done ? "Copied." : "This browser does not let a page copy.");
      }
      button.focus();
    }
    return element("button", { type: "button", class: "ettr-button", on: { click: copy } }, label);
  }

  // What is said to a reader who does not see the page: once, a moment after the last change.
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
    `Checkpoint every ${roughly(best)}; ${roughly(low)} to ${roughly(high)} costs at most half a point`;

  // The headline answers, for the calculator and the what-if page.
  function answersPanel(model, el) {
    const big = element("p", { class: "ettr-big" }),
      range = element("p", { class: "ettr-range" }),
      lines = element("ul", { class: "ettr-lines" });
    const first = element("div", { class: "ettr-first" }),
      problem = element("p", { class: "ettr-problem", role: "alert", hidden: true });
    const time = bars(),
      whole = element(
        "div",
        { class: "ettr-panel" },
        element("div", {}, big, range, lines),
        element("div", {}, time.el),
        first
      );
    const speak = speaker(el),
      known = {};
    el.append(problem, whole);

    function headline(answer, assumed) {
      big.replaceChildren(
        element("strong", {}, pct(answer.best.ettr, digitsOf(answer.best.ettr, assumed))),
        " of the time is useful training (ETTR)"
      );
    }
    function said(answer, more) {
      const { band, lostAtBest: lost, run } = answer,
        out = [];
      const now = pct(answer.now.ettr, digitsOf(answer.now.ettr, known.assumed)),
        asItIs = answer.rule ? "" : `; every ${roughly(run.tau)}, as it is, leaves ${now}`,
        assumed = own(model.now.written.cost || {}, "usd_per_gpu_h") ? "" : ", at an assumed price";
      out.push(bandWords(band.tau, band.low, band.high) + asItIs + ".");
      out.push(`Lost a month: ${number(about(lost.total.h))} h and ${usd(about(lost.total.usd))}${assumed}.`);
      const every = answer.now.n_failures > 0 ? answer.now.total_h / answer.now.n_failures : Infinity;
      out.push(isFinite(every) ? "A failure every " + roughly(every) + "." : "No failures.");
      out.push(...[publishedWords(model)].filter(Boolean));
      if (more && more.dates) {
        const [nine, most] = [0.9, 0.99].map((p) => duration(more.dates.quantile(p)));
        out.push(`Done after ${nine} (9 in 10), ${most} (99 in 100).`);
      } else if (more && run.ends) {
        const mean = duration(answer.best.total_h);
        out.push(`Done after ${mean} on average; other dates are simulated, on your machine: ettr plan.`);
      } else if (more) {
        out.push("No date: the job has no end (give the training that it needs).");
      }
      const left = answer.scenario.measured && orNull(() => ettr.unexplained(answer.scenario, answer.now.ettr));
      if (left) {
        out.push(leftWords(left, answer.scenario));
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
      Object.assign(known, more);
      headline(answer, known.assumed);
      const sentences = said(answer, more);
      if (more || !known.sentences || sentences.length >= known.sentences.length) {
        lines.replaceChildren(...sentences.map((text) => element("li", {}, text)));
      } else {
        sentences.forEach((text, i) => {
          lines.children[i].textContent = text;
        });
      }
      known.sentences = sentences;
      time.show(answer.best, answer.lostAtBest);
      if (!more) {
        return;
      }
      range.textContent = rangesWords(more, model);
      first.replaceChildren(...(more.recommendation ? recommended(more.recommendation) : []));
      speak(big.textContent + ". " + range.textContent + ". " + sentences.join(" "));
    }
    answering(model, (answer) => show(answer, null), show);
    return speak;
  }

  function leftWords(left, scenario) {
    if (left.share > 0) {
      return (
        `You measured ${pct(left.measured, 0)}; failures and checkpoints alone would leave ${pct(left.modelled, 0)}. ` +
        `The other ${pct(left.share, 0)} of the time, ${roughly(left.h)} and ${usd(about(left.usd))} a month, ` +
        "have other causes, or a number is wrong."
      );
    }
    const words = {
      mttf_h: (one) => `a time to failure of at least ${roughly(one.value)}, not ${roughly(one.given)}`,
      interval_h: (one) => `a checkpoint every ${roughly(one.value)}`,
    };
    const could = ettr.couldBe(scenario, left.measured).map((one) => {
      const { name, unit } = fieldOf(one.path) || {};
      return words[one.path]
        ? words[one.path](one)
        : `${name} of at most ${short(about(one.value))} ${unit}, not ${short(one.given)}`;
    });
    return (
      `A measured ETTR of ${pct(left.measured)} is more than the ${pct(left.modelled)} that the other numbers allow` +
      `${could.length ? ": it takes " + could.join(", or ") : ""}.`
    );
  }

  // ---- the calculator

  const calculator = {
    render({ model, el }) {
      const inputs = form("", "Your job"),
        answers = element("section", { class: "ettr-answers", "aria-label": "Answers" });
      el.append(element("div", { class: "ettr-calculator" }, inputs, answers));
      inputs.append(
        startInput(model),
        input(model, "cluster.n_gpus", { label: "GPUs" }),
        failuresInput(model),
        input(model, "checkpoint.stall_s"),
        interval(model),
        input(model, "recovery.detection_min"),
        input(model, "recovery.restart_min"),
        input(model, "cost.usd_per_gpu_h"),
        input(model, "job.productive_h", { optional: true }),
        input(model, "measured.ettr", { optional: true })
      );
      const say = answersPanel(model, answers),
        line = element("code", {});
      model.follow(() => {
        line.textContent = command(model);
      });
      el.append(
        element(
          "p",
          { class: "ettr-small" },
          "The same in a terminal: ",
          line,
          " ",
          copyButton(() => command(model), "Copy", say),
          " ",
          element("a", { href: el.dataset.more || "your_cluster/what_if.html" }, "All values, and what would help"),
          "."
        )
      );
    },
  };

  // ---- charts with inputs

  // The distribution of the end at the best interval, worked out once for each change.
  function datesOf(model) {
    if (!model.dates || model.dates.version !== model.version) {
      const { scenario } = model.now;
      model.dates = {
        version: model.version,
        of: ettr.finishing(scenario, ettr.best(ettr.inHours(scenario)).tau),
      };
    }
    return model.dates.of;
  }

  const geometric = (low, high, n) => Array.from({ length: n }, (_, i) => low * (high / low) ** (i / (n - 1)));

  // A chart that follows inputs: `rows` makes its data of a scenario, and `say` a sentence. Its caption names the reader's
  // values: those of the fields that `isRead` admits, the questions of `extra`, and what `chosen` adds.
  function chart({ takes, extra, rows, say, isRead, chosen }) {
    const asking = (model) => (name) => {
      const value = own(state.more, "ask." + name)
        ? state.more["ask." + name]
        : extra.find((one) => one.name === name).value;
      return typeof value === "function" ? value(model) : value;
    };
    function questions(model) {
      const named = (one, isExample) => ({ text: inCaption(one.caption, asking(model)(one.name)), isExample });
      const differs = ({ name, value }) =>
        own(state.more, "ask." + name) &&
        state.more["ask." + name] !== (typeof value === "function" ? value(model) : value);
      return (extra || [])
        .filter((one) => differs(one) || (one.isExample && one.isExample(model)))
        .map((one) => named(one, !differs(one)))
        .concat(chosen ? chosen().map((text) => ({ text, isExample: false })) : []);
    }
    // What stands over and below the chart; null where it shows what it was built with.
    function caption(model, built) {
      const numbers = numbersInWords(model, isRead, questions(model));
      return numbers.isStart && model.startId === built
        ? null
        : { subtitle: numbers.title, source: sourceInWords(model, numbers.given) };
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
        for (const path of takes) {
          inputs.append(
            path === "failures.mttf"
              ? failuresInput(model)
              : path === "checkpoint.interval_min"
                ? interval(model)
                : input(model, path)
          );
        }
        const ask = asking(model);
        for (const one of extra || []) {
          inputs.append(question(model, one, ask));
        }
        el.prepend(inputs, problem);
        el.append(sentence);
        const speak = speaker(el);
        let drawn = 0;
        function work() {
          drawn += 1;
          const turn = drawn,
            found = attempt(model, (scenario) => rows(scenario, ask, model)),
            isKnown = !found.error && !found.refused,
            message = isKnown ? "" : why(found);
          problem.hidden = message === "";
          problem.textContent = message;
          sentence.textContent = isKnown ? say(found, model.now.scenario, ask, model) : "";
          speak(message || sentence.textContent);
          if (figure.bookChart) {
            const said = isKnown ? caption(model, el.dataset.ettrStart) : null;
            figure.bookChart.follow(isKnown ? found : null, said).then(function () {
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
          // what is slow waits for the reader to pause
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

  // An input of one chart alone, such as a date or a service level.
  function question(model, one, ask) {
    const parts = controls(one.label);
    parts.unit.textContent = one.unit;
    const say = (error) => parts.say(error, one.note || "");
    function fill() {
      if (document.activeElement !== parts.box) {
        parts.box.value = short(ask(one.name));
        say("");
      }
      parts.slide(one, ask(one.name));
    }
    parts.box.addEventListener("input", function () {
      const found = parsed(parts.box.value, one);
      say(found.error || "");
      if (!found.error) {
        model.setMore("ask." + one.name, found.value);
      }
    });
    parts.slider.addEventListener("input", function () {
      parts.box.value = short(fromSlider(one, Number(parts.slider.value), one.whole ? 1 : 0));
      say("");
      model.setMore("ask." + one.name, Number(parts.box.value));
    });
    model.follow(fill);
    return parts.row;
  }

  // What an answer about other sizes takes as the same on all of them.
  const heldWords = ({ hold }) => "with the " + (hold === "job" ? "job MTBF" : "node failure rate") + " held.";

  const reachWords = (most) =>
    most >= 1e9 ? "holds at any size" : most > 0 ? `holds up to ${gpus(about(most))}` : "holds at no size";

  const bestAt = (run) => {
    const of = ettr.best(run);
    return isFinite(of.ettr) ? of.ettr : null;
  };

  // ETTR at the best interval, and between which ends it lies over what is assumed: the draws of the built chart.
  function assumedRange(scenario, model) {
    const useful = bestAt(ettr.inHours(scenario)),
      over = useful === null ? null : orNull(() => ettr.overAssumed(scenario, model.start.assumed, 2048));
    const known = over && over.low !== null;
    return { ettr: useful, low: known ? over.low : useful, high: known ? over.high : useful };
  }

  const scale = chart({
    takes: ["cluster.n_gpus", "failures.mttf", "checkpoint.stall_s", "recovery.detection_min", "recovery.restart_min"],
    extra: [
      {
        name: "target",
        label: "ETTR to reach",
        caption: "target ETTR {}",
        unit: "(share)",
        slider: [0.5, 0.99],
        value: data.asked.target,
        least: 0.01,
        most: 0.999,
      },
    ],
    rows(scenario, ask, model) {
      const mine = scenario.checkpoint.interval_min,
        rule = typeof mine === "string",
        n = scenario.cluster.n_gpus,
        lines = [];
      for (const size of geometric(64, 1048576, 57)) {
        const run = ettr.inHours(scenario, size);
        lines.push({ n_gpus: size, ettr: bestAt(run), interval: "best" });
        if (!rule) {
          const useful = ettr.ettrOf(run);
          lines.push({ n_gpus: size, ettr: isFinite(useful) ? useful : null, interval: "own" });
        }
      }
      return {
        lines: lines.filter((row) => row.ettr !== null),
        here: [{ n_gpus: n, ...assumedRange(scenario, model) }],
        target: [{ ettr: ask("target") }],
      };
    },
    say(found, scenario, ask, model) {
      const target = ask("target"),
        most = ettr.largestSize(scenario, target),
        useful = found.here[0].ettr;
      const size = gpus(scenario.cluster.n_gpus),
        best = useful === null ? "no answer" : pct(useful, 0);
      return (
        `${size}: ${best} with the best interval. ${pct(target, 0)} ${reachWords(most)} ${heldWords(scenario)} ` +
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
        marks.push({ interval_min: scenario.checkpoint.interval_min, what: "own" });
      }
      return {
        lines: lines.filter((row) => isFinite(row.ettr)),
        band: [{ low_min: 60 * band.low, high_min: 60 * band.high }],
        marks,
      };
    },
    say(found, scenario) {
      const { low_min, high_min } = found.band[0],
        run = ettr.inHours(scenario),
        best = ettr.best(run);
      const mine = found.marks[1],
        points = number(about(100 * Math.max(best.ettr - ettr.ettrOf(run), 0))),
        asItIs = mine ? ` Every ${duration(mine.interval_min / 60)}, as it is, costs ${points} points.` : "";
      return `${bandWords(best.tau, low_min / 60, high_min / 60)}.${asItIs}`;
    },
  });

  const finishing_date = chart({
    takes: ["cluster.n_gpus", "failures.mttf", "checkpoint.stall_s", "recovery.restart_min", "job.productive_h"],
    extra: [
      {
        name: "days",
        label: "Done within",
        caption: "done within {} days",
        unit: "days",
        slider: [1, 400],
        least: 0,
        open: true,
        most: 1e6,
        value: (model) => {
          const of = orNull(() => datesOf(model));
          return of && isFinite(of.quantile(0.9)) ? Number((of.quantile(0.9) / 24).toPrecision(3)) : 30;
        },
      },
    ],
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
    say(found) {
      const day = (p) => {
        const row = found.points.find((point) => point.chance === p);
        return row ? duration(24 * row.days) : "no date";
      };
      const [by] = found.by;
      return (
        `Done after ${day(0.5)} in half of all runs, ${day(0.9)} in 9 of 10, ${day(0.99)} in 99 of 100. ` +
        `Within ${number(by.days)} days: ${pct(by.chance, 0)}.`
      );
    },
  });

  const spares = chart({
    takes: ["cluster.n_gpus", "failures.mttf"],
    extra: [
      {
        name: "repair_h",
        label: "Until a node is back",
        caption: "repair {} h",
        unit: "h",
        slider: [0.5, 336],
        value: data.asked.repair_h,
        least: 0,
        open: true,
        most: 1e5,
        note: "assumed",
      },
      {
        name: "level",
        label: "Enough for this share of the time",
        caption: "service level {}",
        unit: "(share)",
        slider: [0.5, 0.9999],
        value: data.asked.level,
        least: 0.01,
        most: 0.999999,
      },
    ],
    rows(scenario, ask) {
      const out = ettr.inRepair(scenario, ask("repair_h")),
        level = ask("level");
      const need = ettr.enoughSpares(out, level),
        most = Math.max(5, Math.ceil(1.3 * ettr.enoughSpares(out, 0.9999)));
      const step = Math.max(1, Math.ceil(most / 80)),
        lines = [];
      for (let s = 0; s <= most; s += step) {
        lines.push({ n_spares: s, chance: ettr.poissonUpTo(s, out) });
      }
      return {
        lines,
        need: [{ n_spares: need, chance: ettr.poissonUpTo(need, out) }],
        level: [{ chance: level }],
        out,
      };
    },
    say(found, scenario, ask) {
      const share = pct(ask("level"), ask("level") > 0.99 ? 2 : 0),
        [out, need] = [about(found.out), found.need[0].n_spares].map(number);
      return (
        `${out} nodes are in repair on average. ${need} spares are enough ${share} of the time. ` +
        "With fewer it waits more often."
      );
    },
  });

  const hasNoCount = (model) => ettr.at(model.start.written, "failures.n_events") === undefined;
  const failure_rates = chart({
    takes: ["cluster.n_gpus"],
    isRead: (path) => path.startsWith("cluster."),
    extra: [
      {
        name: "events",
        label: "Failures that you counted",
        caption: "failure count {}",
        isExample: hasNoCount,
        unit: "",
        slider: [0, 1000],
        value: (model) => ettr.at(model.start.written, "failures.n_events") || data.asked.events,
        least: 0,
        most: 1e7,
        whole: true,
      },
      {
        name: "in_days",
        label: "in so many days",
        caption: "observed for {} days",
        isExample: hasNoCount,
        unit: "days",
        slider: [1, 365],
        least: 0,
        open: true,
        most: 1e5,
        value: (model) => {
          const w = model.start.written,
            days = ettr.at(w, "failures.node_days");
          return days
            ? Number((days / (w.cluster.n_gpus / (w.cluster.gpus_per_node || 8))).toPrecision(4))
            : data.asked.in_days;
        },
      },
    ],
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
    say(found) {
      const { rate, low, high, n, days } = found.yours[0],
        every = (count) => (count > 0 ? roughly((24 * days) / count) : "longer than was watched"),
        [a, b] = ettr.poissonInterval(n);
      const [per1000, least, most] = [rate, low, high].map((value) => number(about(value)));
      return (
        `${per1000} failures in 1,000 node-days; the count alone leaves ${least} to ${most} open (95%). ` +
        `The job fails every ${every(n)}, from ${every(b)} to ${every(a)}.`
      );
    },
  });

  // ---- several mitigations, each with its effect and price

  // What is chosen, and how much of its effect: the recommended set, until the reader chooses.
  function chosenOf(scenario, model) {
    const explicit = Object.keys(state.more).some((name) => name.startsWith("with."));
    if (explicit) {
      return new Map(
        data.catalogue
          .filter((one) => state.more["with." + one.id] > 0)
          .map((one) => [one.id, state.more["with." + one.id]])
      );
    }
    if (!model.recommended || model.recommended.version !== model.version) {
      const found = orNull(() => ettr.recommend(scenario, data.catalogue));
      model.recommended = { version: model.version, ids: found ? found.steps.map((one) => one.id) : [] };
    }
    return new Map(model.recommended.ids.map((id) => [id, 1]));
  }
  function choose(model, scenario, id, strength) {
    // what was a proposal becomes the reader's own choice
    const before = chosenOf(scenario, model);
    for (const [other, value] of before) {
      state.more["with." + other] = value;
    }
    model.setMore("with." + id, strength);
  }
  const priceFor = (one, scenario) =>
    own(state.more, "price." + one.id)
      ? state.more["price." + one.id]
      : one.usd + one.usd_per_gpu * scenario.cluster.n_gpus;

  // Hours lost per month without mitigations, and with each of the chosen ones, in an order that is no one's clicks'.
  function portfolioRows(scenario, model) {
    const chosen = chosenOf(scenario, model),
      prices = Object.fromEntries(data.catalogue.map((one) => [one.id, priceFor(one, scenario)])),
      sets = ettr.setsOf(scenario, data.catalogue, prices, Object.fromEntries(chosen)),
      // those that the model follows here, together
      ids = [...chosen.keys()].filter((id) => sets.candidates.includes(id)),
      steps = sets.stepsOf(ids);
    if (!steps) {
      throw new ettr.NotHere("these mitigations together");
    }
    const first = { order: 0, what: "as it is", ettr: sets.before.ettr, h: 0, usd: 0, totalH: 0, totalUsd: 0, price: 0 };
    return [first, ...steps.map((one, i) => ({ ...one, order: i + 1, what: one.title }))].map((row) => ({
      ...row,
      lost: (1 - row.ettr) * ettr.H_PER_MONTH,
    }));
  }

  // A table that is filled again at each change, and a line below it.
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

  function choices(model) {
    const { whole, body, note, show } = table("Mitigations", ["Mitigation", "Effect", "Price, USD"], "ettr-choices");
    function fill() {
      const active = body.contains(document.activeElement) ? document.activeElement : null;
      if (active && active.type === "text") {
        return;
      }
      const { scenario, refused, error } = model.now;
      if (error || refused.length) {
        show([]);
        return;
      }
      const chosen = chosenOf(scenario, model),
        sets = orNull(() => ettr.setsOf(scenario, data.catalogue)),
        candidates = sets ? sets.candidates : [],
        able = data.catalogue.filter((one) => chosen.has(one.id) || candidates.includes(one.id));
      show(
        able.map((one) => {
          const key = one.id,
            is = chosen.has(key),
            part = is ? chosen.get(key) : 1,
            other = is ? null : data.catalogue.find((two) => chosen.has(two.id) && one.conflicts.includes(two.id));
          const box = element("input", {
            type: "checkbox",
            "data-key": key,
            disabled: Boolean(other),
            on: { change: (event) => choose(model, scenario, key, event.target.checked ? 1 : 0) },
          });
          box.checked = is;
          const effect = element("input", {
            type: "range",
            min: 1,
            max: 100,
            value: 100 * part,
            disabled: !is,
            "data-key": "effect-" + key,
            "aria-label": "Effect of " + one.title,
            "aria-valuetext": pct(part, 0),
            on: { input: (event) => choose(model, scenario, key, Number(event.target.value) / 100) },
          });
          const cost = element("input", {
            type: "text",
            inputmode: "decimal",
            value: short(priceFor(one, scenario)),
            disabled: !is,
            "aria-label": "Price of " + one.title + ", USD",
            on: {
              input: function (event) {
                const found = parsed(event.target.value, { least: 0, most: 1e15, unit: "USD" });
                event.target.setAttribute("aria-invalid", Boolean(found.error));
                note.textContent = found.error || "";
                if (!found.error) {
                  model.setMore("price." + key, found.value);
                }
              },
            },
          });
          return [
            [
              element("label", {}, box, " " + one.title),
              other && element("span", { class: "ettr-note" }, " does not go with " + other.title),
            ],
            [effect, " ", pct(part, 0)],
            cost,
          ];
        })
      );
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
    chosen: () =>
      [
        ["with.", "your choice of mitigations"],
        ["price.", "your prices of mitigations"],
      ]
        .filter(([prefix]) => Object.keys(state.more).some((name) => name.startsWith(prefix)))
        .map(([, text]) => text),
    say(found) {
      const steps = found.steps.slice(1),
        last = found.steps[found.steps.length - 1],
        first = found.steps[0];
      if (!steps.length) {
        return "As it is, " + number(about(first.lost)) + " h per month are lost. Choose what to do.";
      }
      const price = steps.reduce((total, row) => total + row.price, 0),
        useless = steps.filter((row) => !row.pays).map((row) => row.title),
        saved = number(about(last.totalH)) + " h" + (last.totalUsd ? " and " + usd(about(last.totalUsd)) : ""),
        payback = roughly((price / last.totalUsd) * ettr.H_PER_MONTH),
        back = last.totalUsd > 0 && price > 0 ? `, which pays back in ${payback}` : "";
      return (
        `Together they save ${saved} per month for ${usd(about(price))} once${back}: ` +
        `ETTR ${pct(first.ettr, 0)} becomes ${pct(last.ettr, 0)}.` +
        (useless.length
          ? ` With the others in place, ${useless.join(" and ")} saves less than it costs: leave it out.`
          : "")
      );
    },
  });
  const portfolio = {
    ...portfolioChart,
    render(given) {
      portfolioChart.render(given);
      given.el.querySelector("form").after(choices(given.model));
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
      const { exact, said } = ettr.calculators(scenario);
      const rows = data.formulas.map(({ name, title }) => ({
        what: title,
        ettr: said[name],
        points: 100 * (said[name] - exact),
      }));
      return {
        said: rows
          .filter((row) => row.ettr !== null)
          .map((row) => ({
            ...row,
            way: row.points <= -1 ? "too little" : row.points <= 1 ? "within a point" : "too much",
          })),
        exact: [{ ettr: exact }],
      };
    },
    say(found) {
      const rows = found.said.slice().sort((a, b) => Math.abs(a.points) - Math.abs(b.points)),
        near = rows.filter((row) => Math.abs(row.points) <= 1).length,
        silent = data.formulas.length - rows.length;
      const told = ({ what, ettr: share, points }) =>
        `${what} ${pct(share)} (${points < 0 ? "" : "+"}${fixed(points, 1)} points)`;
      const ends = rows.length ? ` Nearest ${told(rows[0])}, farthest ${told(rows[rows.length - 1])}.` : "",
        none = silent ? ` ${silent}${silent > 1 ? " have" : " has"} no answer.` : "";
      const n = data.formulas.length;
      return `Exact ${pct(found.exact[0].ettr)}; ${near} of ${n} formulas are within a point.${ends}${none}`;
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
      interval,
      failuresInput,
      startInput,
      answersPanel,
      choices,
      portfolioRows,
      sourceInWords,
      copyButton,
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
    const model = new Model(),
      home = places.map((el) => el.dataset.ettrStart).find((id) => id && own(data.starts, id));
    model.homeId = home || data.book;
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
