// The what-if page: all inputs of the scenario by section, its answers, published runs for comparison, requirements of a
// target, mitigations together, and the scenario as a file or a command.
(function () {
  "use strict";

  const { state, blank, element } = window.ettrState,
    data = window.ettrData,
    ettr = window.ettr;
  const { parts } = window.ettrWidgets;
  const { number, about, pct, duration, roughly, usd, gpus } = window.ettrWidgets.words;

  // ---- a scenario as text

  const plainText = /^[A-Za-z][A-Za-z0-9 _/+-]*$/,
    looksLikeMore = /^(y|n|yes|no|on|off|true|false|null|nan|inf)$/i;
  function flow(value) {
    if (Array.isArray(value)) {
      return "[" + value.map(flow).join(", ") + "]";
    }
    if (value !== null && typeof value === "object") {
      return (
        "{" +
        Object.entries(value)
          .map(([key, inner]) => flow(key) + ": " + flow(inner))
          .join(", ") +
        "}"
      );
    }
    if (
      typeof value === "string" &&
      plainText.test(value) &&
      !looksLikeMore.test(value.trim()) &&
      value === value.trim()
    ) {
      return value;
    }
    return JSON.stringify(value);
  }

  // A scenario file: a line a section, a line a mode, a tier or an origin.
  function toYaml(written) {
    const lines = [];
    for (const [name, value] of Object.entries(written)) {
      const listed =
        value !== null && typeof value === "object"
          ? Object.keys(value).filter((key) => (key === "modes" || key === "tiers") && value[key].length)
          : [];
      if (name === "evidence") {
        if (Object.keys(value).length) {
          lines.push(
            "evidence:",
            ...Object.entries(value).map(([path, from]) => "  " + flow(path) + ": " + flow(from))
          );
        }
      } else if (listed.length) {
        lines.push(name + ":");
        for (const [key, inner] of Object.entries(value)) {
          if (!listed.includes(key)) {
            lines.push("  " + key + ": " + flow(inner));
          }
        }
        for (const key of listed) {
          lines.push("  " + key + ":", ...value[key].map((item) => "    - " + flow(item)));
        }
      } else {
        lines.push(name + ": " + flow(value));
      }
    }
    return lines.join("\n") + "\n";
  }

  const SECTIONS = [
    ["Size and failures", ["cluster.n_gpus", "cluster.gpus_per_node", "failures.mttf"]],
    [
      "Checkpoints",
      [
        "checkpoint.interval_min",
        "checkpoint.stall_s",
        "checkpoint.persist_s",
        "checkpoint.persist_slowdown",
        "checkpoint.load_s",
      ],
    ],
    [
      "Recovery",
      [
        "recovery.detection_min",
        "recovery.queue_min",
        "recovery.restart_min",
        "recovery.init_s_per_1000_gpus",
        "recovery.person_share",
        "recovery.person_min",
      ],
    ],
    ["Planned maintenance", ["maintenance.per_day", "maintenance.duration_min"]],
    ["Work", ["job.productive_h", "job.throughput_factor"]],
    ["Prices and measured ETTR", ["cost.usd_per_gpu_h", "cost.usd_per_day", "measured.ettr"]],
  ];

  const section = (title, ...inside) => element("section", {}, element("h2", {}, title), ...inside);

  function modes(model) {
    const list = element("div", { class: "ettr-inputs ettr-row" }),
      whole = element("details", {}, element("summary", {}, "Kinds of failure: factor on the rate of each"), list);
    let filledKey = "";
    function fill() {
      const all = (model.now.scenario && model.now.scenario.failures.modes) || [],
        key = (state.start || "") + all.map((mode) => mode.name).join("|");
      whole.hidden = !all.length;
      if (key === filledKey) {
        return;
      }
      filledKey = key;
      list.replaceChildren(
        ...all.map((mode) =>
          parts.input(model, "failures.modes." + mode.name + ".factor", {
            value: () => {
              const value = model.get("failures.modes." + mode.name + ".factor");
              return value === undefined ? 1 : value;
            },
          })
        )
      );
    }
    model.follow(fill);
    return whole;
  }

  // Faster tiers of the scenario.
  function tiers(model) {
    const list = element("ul", {}),
      whole = element("div", {}, element("h3", {}, "Faster tiers of this scenario"), list);
    function fill() {
      const all = (model.now.scenario && model.now.scenario.checkpoint.tiers) || [];
      whole.hidden = !all.length;
      list.replaceChildren(
        ...all.map((tier) =>
          element(
            "li",
            {},
            `${tier.name}: every ${duration(tier.interval_s / 3600)}, stall ${short(tier.stall_s || 0)} s, ` +
              `write ${short(tier.write_s || 0)} s, load ${short(tier.load_s || 0)} s` +
              (tier.copies ? `, ${tier.copies} copies` : "")
          )
        )
      );
    }
    model.follow(fill);
    return whole;
  }

  // Published runs to start from, as cards.
  function cards(model) {
    const group = { class: "ettr-cards", role: "group", "aria-label": "Start from" },
      lineOf = (text) => element("span", {}, text);
    const all = Object.entries(data.starts).map(([id, start]) => {
      const answer = parts.orNull(() => parts.answerOf(new parts.Model(blank(), id))) || {},
        { n_gpus } = start.written.cluster,
        { best } = answer,
        mtbf = best && (best.n_failures > 0 ? "MTBF " + roughly(best.total_h / best.n_failures) : "no failures"),
        lines = [gpus(n_gpus), ...(best ? [mtbf, "ETTR " + pct(best.ettr, 0)] : ["not covered on this page"])];
      const title = id === data.mine ? "Your own cluster (example)" : start.title;
      const choose = { click: () => model.begin(id) };
      return element(
        "button",
        { type: "button", class: "ettr-card", "data-start": id, on: choose },
        element("strong", {}, title),
        ...lines.map(lineOf)
      );
    });
    model.follow(() => all.forEach((card) => card.setAttribute("aria-pressed", card.dataset.start === model.startId)));
    return element("div", {}, element("h2", {}, "Start from"), element("div", group, ...all));
  }

  // ---- two scenarios side by side

  const signed = (difference, words) =>
    difference === 0 ? "same" : (difference > 0 ? "+" : "-") + words(Math.abs(difference));
  const hours = (value) => number(about(value)) + " h";

  // Rows of the comparison: name, value of an answer (null without one), its words, and those of a difference.
  const FIGURES = [
    ["ETTR at the best interval", ({ best }) => best.ettr, pct, (share) => pct(share).replace("%", " points")],
    ["Lost per month, hours", ({ lostAtBest }) => lostAtBest.total.h, hours, hours],
    [
      "Lost per month, money",
      ({ lostAtBest: { total, bill } }) => (bill > 0 ? total.usd : null),
      (value) => usd(about(value)),
      (value) => usd(about(value)),
      "no price",
    ],
    [
      "Done after (90% of runs)",
      ({ run }, model) => (run.ends ? parts.orNull(() => parts.datesOf(model).quantile(0.9)) : null),
      duration,
      roughly,
      "no date",
    ],
    ["Best checkpoint interval", ({ band }) => band.tau, roughly, roughly],
    [
      "MTBF (wall clock)",
      ({ now }) => (now.n_failures > 0 ? now.total_h / now.n_failures : null),
      roughly,
      roughly,
      "no failures",
    ],
  ];

  // The pinned scenario A beside the current one, B.
  function comparison(model) {
    const of = parts.table("A and B side by side", ["Answer", "A", "B", "Difference"], "ettr-compared"),
      names = element("p", { class: "ettr-small" }),
      whole = section("A and B side by side", names, of.whole);
    let [pinnedModel, pinned] = [null, null];
    function cells([name, valueOf, words, apart, none = "no answer"], answers, models) {
      const values = answers.map((answer, i) => (answer.best ? valueOf(answer, models[i]) : null)),
        isKnown = (value) => value !== null && isFinite(value),
        [a, b] = values;
      return [
        name,
        ...values.map((value) => (isKnown(value) ? words(value) : none)),
        values.every(isKnown) ? signed(b - a, apart) : "",
      ];
    }
    function work() {
      whole.hidden = !state.pinned;
      if (!state.pinned) {
        return;
      }
      if (pinned !== state.pinned) {
        pinned = state.pinned;
        pinnedModel = new parts.Model(pinned);
      }
      const models = [pinnedModel, model],
        answers = models.map(parts.answerOf);
      names.textContent = ["A: ", " B: "].map((letter, i) => letter + parts.numbersInWords(models[i]).title + ".").join("");
      of.show(FIGURES.map((figure) => cells(figure, answers, models)));
    }
    model.later(work);
    work();
    return whole;
  }
  // Pins the current values as A, or ends the comparison.
  function compareButton(model, say) {
    const words = () => (state.pinned ? "Stop comparing" : "Compare with…"),
      button = parts.makeButton(words(), toggle);
    function toggle() {
      const { hold, values } = state;
      state.pinned = state.pinned ? null : { ...blank(), start: model.startId, hold, values: { ...values } };
      model.changed("pinned");
      say(state.pinned ? "These values are A. Change any value, or choose another run: that is B." : "");
    }
    model.follow(() => {
      button.textContent = words();
    });
    return button;
  }

  const NEEDED = [
    "failures.rate_per_1000_node_days",
    "checkpoint.stall_s",
    "recovery.detection_min",
    "recovery.queue_min",
    "recovery.restart_min",
  ];

  function target(model) {
    const id = "ettr-target",
      box = element("input", {
        id,
        type: "text",
        inputmode: "decimal",
        value: "0.95",
        "aria-describedby": "ettr-target-note",
      }),
      note = element("span", { id: "ettr-target-note", class: "ettr-note" });
    const of = parts.table("Requirements of a target", ["Single input to change", "now", "must be at most"]);
    function work() {
      const result = parts.parsed(box.value, { least: 0.01, most: 0.9999 }),
        { scenario, refused, error } = model.now;
      box.setAttribute("aria-invalid", Boolean(result.error));
      note.textContent = result.error || "";
      if (result.error || error || refused.length) {
        of.show([]);
        return;
      }
      const at = parts.orNull(() => ettr.atBest(scenario));
      of.show(
        NEEDED.map((path) => {
          const field = parts.fieldOf(path),
            now = path === NEEDED[0] ? ettr.failureRate(scenario) : ettr.at(scenario, path),
            need = parts.orNull(() => ettr.largestReaching(scenario, path, result.value));
          const name = path === NEEDED[0] ? "failures per 1,000 node-days" : field.name + " [" + field.unit + "]";
          return [
            name,
            parts.short(Number(now.toPrecision(3))),
            !need || !isFinite(need.best)
              ? "no answer"
              : need.value === null
                ? "not enough: ETTR " + pct(Math.max(need.best, 0), 1) + " even at 0"
                : isFinite(need.value)
                  ? parts.short(Number(need.value.toPrecision(3)))
                  : "any",
          ];
        })
      );
      const size = parts.orNull(() => ettr.largestSize(scenario, result.value));
      of.note.textContent =
        (at ? `The current ETTR is ${pct(at.ettr, 1)} at the best interval. ` : "") +
        `${pct(result.value, 1)} ${parts.reachWords(size)} ${parts.heldWords(scenario)}`;
    }
    box.addEventListener("input", work);
    model.later(work);
    work();
    return section(
      "What does a target ETTR need?",
      element(
        "div",
        { class: "ettr-input" },
        element("label", { for: id }, "ETTR to reach"),
        element("span", { class: "ettr-entry" }, box),
        note
      ),
      of.whole
    );
  }

  function together(model) {
    const of = parts.table("Mitigations together", [
      "Mitigation",
      "Hours saved per month, with the others",
      "Money saved per month",
      "Cumulative",
      "Price",
      "ETTR",
    ]);
    function work() {
      const { scenario, refused, error } = model.now,
        rows = error || refused.length ? null : parts.orNull(() => parts.portfolioRows(scenario, model));
      of.show(
        (rows || []).map((row) => [
          row.order ? row.order + ". " + row.what : "Current run",
          row.order ? number(about(row.h)) + " h" : "",
          row.order ? usd(about(row.usd)) : "",
          row.order ? number(about(row.totalH)) + " h" : "",
          row.order ? usd(about(row.price)) : "",
          pct(row.ettr, 1),
        ])
      );
    }
    model.later(work);
    work();
    return section("Several mitigations together", parts.choices(model), of.whole);
  }

  window.ettrWidgets.toYaml = toYaml;
  window.ettrWidgets.what_if = {
    render({ model, el }) {
      const inputs = parts.form("ettr-sections", "The scenario"),
        answers = element("section", { class: "ettr-answers", "aria-label": "Answers" });
      for (const [title, paths] of SECTIONS) {
        const inside = paths.map((path) => parts.fieldInput(model, path));
        if (title === SECTIONS[0][0]) {
          inside.push(modes(model));
        }
        if (title === "Checkpoints") {
          inside.push(tiers(model));
        }
        inputs.append(element("fieldset", {}, element("legend", {}, title), ...inside));
      }
      const say = parts.answersPanel(model, answers),
        line = element("code", {});
      model.follow(() => {
        line.textContent = parts.command(model);
      });
      const buttons = element(
        "p",
        { class: "ettr-buttons" },
        parts.linkButton(say),
        compareButton(model, say),
        parts.resetButton(model),
        parts.copyButton(() => toYaml(model.now.written || {}), "Copy as YAML", say),
        parts.copyButton(() => parts.command(model), "Copy as command", say)
      );
      el.append(
        element("div", { class: "ettr-whole" }, answers, buttons, comparison(model), cards(model), inputs),
        element("p", { class: "ettr-small" }, "In a terminal: ", line),
        target(model),
        together(model)
      );
    },
  };
})();
