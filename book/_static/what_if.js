// The what-if page: the whole scenario by section, its answers, presets beside it, what a target takes, several mitigations
// together, and the scenario as a file, a command or a page to keep.
(function () {
  "use strict";

  const { state, element } = window.ettrState,
    data = window.ettrData,
    ettr = window.ettr;
  const {
    input,
    interval,
    failuresInput,
    startInput,
    answersPanel,
    choices,
    portfolioRows,
    numbersInWords,
    sourceInWords,
    copyButton,
    command,
    heldWords,
    orNull,
    short,
    fieldOf,
  } = window.ettrWidgets.parts;
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
    ["Prices, and what you measured", ["cost.usd_per_gpu_h", "cost.usd_per_day", "measured.ettr"]],
  ];
  const OPTIONAL = ["job.productive_h", "measured.ettr"];

  function field(model, path) {
    if (path === "failures.mttf") {
      return failuresInput(model);
    }
    if (path === "checkpoint.interval_min") {
      return interval(model);
    }
    const absent = path.startsWith("maintenance.") ? 0 : undefined; // a run without the section
    return input(model, path, {
      optional: OPTIONAL.includes(path),
      value: () => {
        const value = model.get(path);
        return value === undefined || value === null ? absent : value;
      },
    });
  }

  // A table that is filled again at each change.
  function table(caption, columns) {
    const body = element("tbody", {}),
      note = element("p", { class: "ettr-small" });
    const whole = element(
      "div",
      {},
      element(
        "div",
        { class: "ettr-scroll", tabindex: 0, role: "region", "aria-label": caption },
        element(
          "table",
          { class: "ettr-table" },
          element("thead", {}, element("tr", {}, ...columns.map((text) => element("th", { scope: "col" }, text)))),
          body
        )
      ),
      note
    );
    return {
      whole,
      note,
      show: (rows) =>
        body.replaceChildren(
          ...rows.map(([first, ...rest]) =>
            element("tr", {}, element("th", { scope: "row" }, first), ...rest.map((text) => element("td", {}, text)))
          )
        ),
    };
  }

  const part = (title, ...inside) => element("section", { "aria-label": title }, element("h3", {}, title), ...inside);

  function modes(model) {
    const list = element("div", { class: "ettr-inputs ettr-row" }),
      whole = element("details", {}, element("summary", {}, "Kinds of failure: their rate, over what it is"), list);
    let shown = "";
    function fill() {
      const all = (model.now.scenario && model.now.scenario.failures.modes) || [],
        key = (state.start || "") + all.map((mode) => mode.name).join("|");
      whole.hidden = !all.length;
      if (key === shown) {
        return;
      }
      shown = key;
      list.replaceChildren(
        ...all.map((mode) =>
          input(model, "failures.modes." + mode.name + ".factor", {
            value: () => {
              const value = model.get("failures.modes." + mode.name + ".factor");
              return value === undefined ? 1 : value;
            },
          })
        )
      );
    }
    model.on("change", fill);
    fill();
    return whole;
  }

  // Faster tiers as the scenario has them.
  function tiers(model) {
    const list = element("ul", {}),
      whole = element("div", {}, element("h4", {}, "Faster tiers, as built"), list);
    function fill() {
      const all = (model.now.scenario && model.now.scenario.checkpoint.tiers) || [];
      whole.hidden = !all.length;
      list.replaceChildren(
        ...all.map((tier) =>
          element(
            "li",
            {},
            tier.name +
              ": every " +
              duration(tier.interval_s / 3600) +
              ", stall " +
              short(tier.stall_s || 0) +
              " s, write " +
              short(tier.write_s || 0) +
              " s, load " +
              short(tier.load_s || 0) +
              " s" +
              (tier.copies ? ", " + tier.copies + " copies" : "")
          )
        )
      );
    }
    model.on("change", fill);
    fill();
    return whole;
  }

  function presets(model) {
    const of = table("Beside published runs", [
      "Run",
      "GPUs",
      "A failure every",
      "Checkpoint every",
      "ETTR, as it is",
      "at the best interval",
    ]);
    const known = Object.entries(data.starts)
      .filter(([id]) => id !== data.own)
      .map(([, start]) => row(start.title, () => ettr.complete(start.written, data.defaults)));
    function row(title, scenarioOf) {
      const found = orNull(() => {
        const scenario = scenarioOf(),
          run = ettr.inHours(scenario),
          best = ettr.best(run),
          mine = ettr.ettrOf(run),
          hours = ettr.exact(ettr.withTau(run, best.tau));
        return [
          title,
          gpus(scenario.cluster.n_gpus),
          hours.n_failures > 0 ? roughly(hours.total_h / hours.n_failures) : "never",
          typeof scenario.checkpoint.interval_min === "string" ? "best" : roughly(run.tau),
          isFinite(mine) ? pct(mine, 0) : "no answer",
          pct(best.ettr, 0) + ", every " + roughly(best.tau),
        ];
      });
      return found || [title, "", "", "", "no formula here", ""];
    }
    const fill = () =>
      of.show([...(model.now.scenario ? [row("These numbers", () => model.now.scenario)] : []), ...known]);
    model.on("change", fill);
    fill();
    return part("Beside published runs", of.whole);
  }

  const ASKED = [
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
    const of = table("What a target takes", ["Alone, all else as it is", "now", "at most"]);
    let pending = null;
    function work() {
      const found = window.ettrWidgets.parts.parsed(box.value, { least: 0.01, open: false, most: 0.9999, unit: "" }),
        { scenario, refused, error } = model.now;
      box.setAttribute("aria-invalid", Boolean(found.error));
      note.textContent = found.error || "";
      if (found.error || error || refused.length) {
        of.show([]);
        return;
      }
      const at = orNull(() => ettr.atBest(scenario));
      of.show(
        ASKED.map((path) => {
          const known = fieldOf(path),
            now = path === ASKED[0] ? ettr.failureRate(scenario) : ettr.at(scenario, path),
            need = orNull(() => ettr.largestReaching(scenario, path, found.value));
          const name = path === ASKED[0] ? "failure rate, per 1,000 node-days" : known.name + ", " + known.unit;
          return [
            name,
            short(Number(now.toPrecision(3))),
            !need
              ? "no answer"
              : need.value === null
                ? "not enough alone: " + pct(Math.max(need.best, 0), 1) + " at zero"
                : isFinite(need.value)
                  ? short(Number(need.value.toPrecision(3)))
                  : "any",
          ];
        })
      );
      const size = orNull(() => ettr.largestSize(scenario, found.value));
      of.note.textContent =
        (at ? "Now it is " + pct(at.ettr, 1) + " at the best interval. " : "") +
        (size >= 1e9
          ? "A job of any size reaches it "
          : size
            ? "The largest job that reaches it has " + gpus(Number(size.toPrecision(2))) + ", "
            : "No size of job reaches it ") +
        heldWords(scenario);
    }
    const later = () => {
      clearTimeout(pending);
      pending = setTimeout(work, 80);
    };
    box.addEventListener("input", work);
    model.on("change", later);
    work();
    return part(
      "What would a target take?",
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
    const of = table("Mitigations together", ["Mitigation", "saves per month, with the others", "", "cumulative", "price", "ETTR"]);
    let pending = null;
    function work() {
      const { scenario, refused, error } = model.now,
        rows = error || refused.length ? null : orNull(() => portfolioRows(scenario, model));
      of.show(
        (rows || []).map((row) => [
          row.order ? row.order + ". " + row.what : "As it is",
          row.order ? number(about(row.h)) + " h" : "",
          row.order ? usd(about(row.usd)) : "",
          row.order ? number(about(row.totalH)) + " h" : "",
          row.order ? usd(about(row.price)) : "",
          pct(row.ettr, 1),
        ])
      );
    }
    model.on("change", () => {
      clearTimeout(pending);
      pending = setTimeout(work, 60);
    });
    work();
    return part("Several mitigations together", choices(model), of.whole);
  }

  // The answer as a page of its own, to keep or to send.
  function page(model, answers) {
    const copy = answers.cloneNode(true);
    copy.querySelectorAll("input, .ettr-live, button, label").forEach((one) => one.remove());
    const values = Object.entries(state.values).map(([path, value]) => [
      fieldOf(path).label,
      value === "best" ? value : value + " " + fieldOf(path).unit,
    ]);
    const rows = values.map((row) => element("tr", {}, ...row.map((text) => element("td", {}, text)))),
      numbers = numbersInWords(model);
    const style =
      "body{font:16px/1.5 system-ui,sans-serif;max-width:46rem;margin:2rem auto;padding:0 1rem;color:#222}table{border-collapse:collapse;margin:1rem 0}td,th{padding:.2rem .8rem .2rem 0;text-align:left}.ettr-bar{display:inline-block;height:.8rem}.ettr-track{width:12rem}.ettr-big{font-size:1.3rem}pre{overflow:auto;background:#f4f5f6;padding:1rem}[hidden]{display:none}";
    const body = element(
      "body",
      {},
      element("h1", {}, "What failures cost"),
      element("p", {}, numbers.title),
      ...copy.childNodes,
      element("h2", {}, "Your numbers"),
      rows.length ? element("table", {}, ...rows) : element("p", {}, "As the book has them."),
      element("h2", {}, "The same on your machine"),
      element("pre", {}, command(model)),
      element("h2", {}, "The scenario"),
      element("pre", {}, toYaml(model.now.written)),
      element(
        "p",
        {},
        "Made with Every Three Hours, by the exact closed form. " + sourceInWords(model, numbers.given)
      )
    );
    return (
      '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>What failures cost</title><style>' +
      style +
      "</style></head>" +
      body.outerHTML +
      "</html>\n"
    );
  }

  function offer(name, type, text) {
    const link = element("a", { href: URL.createObjectURL(new Blob([text], { type })), download: name });
    document.body.append(link);
    link.click();
    link.remove();
  }

  window.ettrWidgets.toYaml = toYaml;
  window.ettrWidgets.what_if = {
    render({ model, el }) {
      const form = element("form", {
          class: "ettr-inputs ettr-sections",
          "aria-label": "The scenario",
          on: { submit: (event) => event.preventDefault() },
        }),
        answers = element("section", { class: "ettr-answers", "aria-label": "Answers" });
      form.append(startInput(model, true));
      for (const [title, paths] of SECTIONS) {
        const inside = paths.map((path) => field(model, path));
        if (title === SECTIONS[0][0]) {
          inside.push(modes(model));
        }
        if (title === "Checkpoints") {
          inside.push(tiers(model));
        }
        form.append(element("fieldset", {}, element("legend", {}, title), ...inside));
      }
      const panel = answersPanel(model, answers),
        line = element("code", {}),
        follow = () => {
          line.textContent = command(model);
        };
      model.on("change", follow);
      follow();
      const buttons = element(
        "p",
        { class: "ettr-buttons" },
        copyButton(() => toYaml(model.now.written || {}), "Copy as YAML", panel.said),
        copyButton(() => command(model), "Copy as command", panel.said),
        element(
          "button",
          {
            type: "button",
            class: "ettr-button",
            on: { click: () => offer("ettr-answer.html", "text/html", page(model, answers)) },
          },
          "Download the answer as a page"
        )
      );
      el.append(
        element("div", { class: "ettr-whole" }, answers, form),
        buttons,
        element("p", { class: "ettr-small" }, "In a terminal: ", line),
        presets(model),
        target(model),
        together(model)
      );
    },
  };
})();
