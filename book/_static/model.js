// The exact model in the reader's browser: a second implementation of the methods page.
//
// Everything is a function of a scenario, an object of sections and fields as in a scenario file with every default
// filled in (`complete`). `inHours` converts it to a run, with all times in hours. Features that the script does not
// cover raise `NotHere`, and a run that would practically never end raises `Endless`. Tests compare every answer with
// the package `ettr`. It has no modules and no dependencies, so that it works from a file.
(function (global) {
  "use strict";

  const S_PER_H = 3600,
    MIN_PER_H = 60,
    H_PER_DAY = 24,
    H_PER_MONTH = 730.5,
    H_PER_YEAR = 8766;
  const ROUNDING = 1e-9,
    LAST_DIGITS = 1e-12,
    LEAST_ETTR = 1e-6,
    LONGEST_MIN = 1e11,
    HALF_A_POINT = 0.005;
  const PARTS = "productive checkpoint slowdown degraded rework detection queue restart maintenance"
    .split(" ")
    .map((part) => part + "_h");

  class NotHere extends Error {}
  class Endless extends Error {}
  const ENDS = "the run would practically never end";

  // ---- scenarios

  const RATES = ["n_events", "rate_per_1000_node_days", "job_mttf_h", "node_mttf_h", "gpu_mttf_h"]; // ways to give it
  const GPUS_PER_NODE = 8; // of a node where nobody says, and of those that published rates refer to
  const MEANS = RATES.slice(2);
  const OF_TIME = ["failures", "checkpoint", "recovery", "maintenance", "prediction"]; // what a measured ETTR goes with

  const copy = (value) => JSON.parse(JSON.stringify(value));
  const isObject = (value) => value !== null && typeof value === "object" && !Array.isArray(value);
  const has = (object, key) => Object.prototype.hasOwnProperty.call(object, key);
  const isSet = (value) => value !== undefined && value !== null && !(Array.isArray(value) && !value.length);

  const LISTS = ["failures.modes", "checkpoint.tiers"];
  const leadsIntoList = (path) => LISTS.find((list) => path.startsWith(list + "."));

  // The item of a list that a path such as "failures.modes.NIC.factor" leads to, and the field.
  function place(scenario, path) {
    const listed = leadsIntoList(path);
    const [section, field] = path.split(".");
    if (!listed) {
      return [scenario[section], field];
    }
    const last = path.lastIndexOf(".");
    const name = path.slice(listed.length + 1, last);
    return [((scenario[section] || {})[field] || []).find((item) => item.name === name), path.slice(last + 1)];
  }

  // The value at a path; undefined where there is none.
  function at(scenario, path) {
    if (!path.includes(".")) {
      return scenario[path];
    }
    const [holder, field] = place(scenario, path);
    return holder && has(holder, field) ? holder[field] : undefined;
  }

  // Nodes of the original job, to which its failures and recovery refer; undefined if the scenario states that size, or
  // if the reader enters the failures for the new size.
  function observedBefore(written, values) {
    const { n_gpus, gpus_per_node } = written.cluster,
      size = values["cluster.n_gpus"],
      per = values["cluster.gpus_per_node"] || gpus_per_node || 8;
    const isKnown =
      isSet(written.failures.observed_nodes) ||
      has(values, "failures.observed_nodes") ||
      isSet(values["failures.job_mttf_h"]);
    return isSet(size) && size !== n_gpus && !isKnown ? Math.max(1, Math.round(n_gpus / per)) : undefined;
  }

  // A scenario as written, with other values: a new form of the failure rate replaces the others, another size keeps the
  // rate per node, and a measured ETTR refers to the size at which it was measured.
  function override(written, values) {
    const changed = copy(written),
      observed = observedBefore(written, values),
      rates = Object.keys(values).filter((path) => RATES.includes(path.slice(9)));
    if (rates.length) {
      const f = changed.failures,
        by = rates[0].slice(9);
      if (by === "n_events") {
        delete f.modes;
      } // which are shares of another count
      for (const mode of f.modes || []) {
        mode.share = mode.share === undefined ? mode.n_events / f.n_events : mode.share;
        delete mode.n_events;
      }
      for (const way of RATES) {
        delete f[way];
      }
      for (const field of [
        "rate_gamma",
        by === "n_events" ? "" : "node_days",
        by === RATES[1] ? "" : "exposed_share",
        by === "job_mttf_h" ? "observed_nodes" : "",
      ]) {
        delete f[field];
      }
    }
    if (rates.length || has(values, "failures.node_days")) {
      delete changed.failures.exposed_share;
    }
    const sections = Object.keys(values).map((path) => path.split(".")[0]);
    if (!sections.includes("measured") && sections.some((name) => OF_TIME.includes(name))) {
      delete changed.measured;
    }
    if (has(values, "measured.ettr")) {
      delete changed.measured;
    }
    for (const [path, value] of Object.entries(values)) {
      if (!path.includes(".")) {
        if (value === null) {
          delete changed[path];
        } else {
          changed[path] = copy(value);
        }
        continue;
      }
      const section = path.split(".")[0];
      changed[section] = changed[section] || {};
      const [holder, field] = place(changed, path);
      if (!holder) {
        throw new NotHere("there is no " + path);
      }
      if (value === null) {
        delete holder[field];
      } else {
        holder[field] = copy(value);
      }
      for (const origin of Object.keys(changed.evidence || {})) {
        if (origin === path || origin.startsWith(path + ".")) {
          delete changed.evidence[origin];
        }
      }
    }
    if (observed !== undefined) {
      changed.failures.observed_nodes = observed;
    }
    return changed;
  }

  // Fill in every default, and the derived values: the share of wall-clock time in which failures could be counted, and
  // the nodes on which they were counted.
  function complete(written, defaults) {
    const scenario = copy(written);
    for (const [section, fields] of Object.entries(defaults)) {
      if (scenario[section] || !["maintenance", "prediction"].includes(section)) {
        scenario[section] = { ...copy(fields), ...scenario[section] };
      }
    }
    const f = scenario.failures,
      nodes = scenario.cluster.n_gpus / scenario.cluster.gpus_per_node;
    if (MEANS.some((way) => isSet(f[way])) && !has(written.failures || {}, "rate_clock")) {
      f.rate_clock = "wall";
    }
    const wall = f.rate_clock === "wall" && !isSet(f.exposed_share);
    if (!isSet(f.observed_nodes) && (wall || isSet(f.job_mttf_h))) {
      f.observed_nodes = nodes;
    }
    if (wall) {
      const dead = deadShare(scenario);
      if (dead >= 1) {
        throw new Endless("detection, queue and maintenance leave no time in which failures can strike");
      }
      f.exposed_share = 1 - dead;
    }
    if (scenario.measured && !isSet(scenario.measured.n_gpus)) {
      scenario.measured.n_gpus = scenario.cluster.n_gpus;
    }
    return scenario;
  }

  // Share of the observed wall-clock time in which no failure could strike.
  function deadShare(scenario) {
    const exposed = { ...scenario, failures: { ...scenario.failures, exposed_share: 1 } };
    const run = inHours(exposed),
      observed = scenario.failures.observed_nodes || run.nodes;
    return nodeRate(exposed) * observed * downAfterFailure(scenario, run) + run.stopsPerH * run.stop;
  }

  // Hours after a failure in which no other can strike, as the failures were observed.
  function downAfterFailure(scenario, run) {
    const shares = modeShares(scenario.failures);
    return run.modes.reduce((down, mode, i) => down + shares[i] * mode.detection, run.queue);
  }

  // MTBF of the job at its own size, by the clock of its rate, as it would be observed. [h]
  function observableMttf(scenario) {
    const run = inHours(scenario),
      exposed = 1 / run.rate;
    return scenario.failures.rate_clock === "wall"
      ? (exposed + downAfterFailure(scenario, run)) / (1 - run.stopsPerH * run.stop)
      : exposed;
  }

  const NO_FORM = [
    ...["spares", "repair", "elastic", "slow_nodes", "heat", "job.tokens", "checkpoint.store", "maintenance.rolling_nodes"],
    ...["failures.burn_in", "failures.lifetime", "failures.lemons"],
  ];

  // Paths of the features that the script does not cover.
  function refused(scenario) {
    const f = scenario.failures,
      r = scenario.recovery,
      c = scenario.checkpoint,
      paths = [];
    const refuse = (path, isPresent) => {
      if (isPresent) {
        paths.push(path);
      }
    };
    for (const path of NO_FORM) {
      refuse(path, isSet(at(scenario, path)));
    }
    refuse("recovery.false_alarms_per_day", r.false_alarms_per_day > 0);
    refuse("recovery.exposed", r.exposed === false);
    for (const mode of f.modes || []) {
      for (const name of ["latency_h", "heat_share"]) {
        refuse(
          "failures.modes." + mode.name + "." + name,
          mode[name] > 0 || (mode[name] === 0 && name === "latency_h")
        );
      }
    }
    for (const tier of c.tiers || []) {
      refuse("checkpoint.tiers." + tier.name + ".corrupt", tier.corrupt > 0);
      for (const mode of isSet(tier.copies) ? f.modes || [] : []) {
        refuse("failures.modes." + mode.name + ".n_lost_nodes", mode.n_lost_nodes >= tier.copies);
      }
    }
    refuse("checkpoint.persist_slowdown", isSet(c.tiers) && c.persist_slowdown * c.persist_s > 0);
    refuse("prediction", scenario.prediction && isSet(c.tiers));
    return paths;
  }

  // ---- a run in hours

  function modeShares(f) {
    const shares = (f.modes || []).map((mode) =>
      isSet(mode.share) ? mode.share : mode.n_events / Math.max(f.n_events, 1e-300)
    );
    return shares.concat(Math.max(0, 1 - shares.reduce((a, b) => a + b, 0)));
  }

  // Failures per 1,000 node-days of the clock in rate_clock.
  function failureRate(scenario) {
    const f = scenario.failures,
      per = scenario.cluster.gpus_per_node;
    if (isSet(f.rate_per_1000_node_days)) {
      return f.rate_per_1000_node_days;
    }
    if (isSet(f.n_events)) {
      return (1000 * f.n_events) / f.node_days;
    }
    let perNodeH = 0;
    if (isSet(f.job_mttf_h)) {
      perNodeH += 1 / (f.observed_nodes || scenario.cluster.n_gpus / per) / f.job_mttf_h;
    }
    if (isSet(f.node_mttf_h)) {
      perNodeH += 1 / f.node_mttf_h;
    }
    if (isSet(f.gpu_mttf_h)) {
      perNodeH += per / f.gpu_mttf_h;
    }
    return 1000 * H_PER_DAY * perNodeH;
  }

  // Failures per node and exposed hour.
  const nodeRate = (scenario) => failureRate(scenario) / (1000 * H_PER_DAY) / (scenario.failures.exposed_share || 1);

  // The scenario with all times in hours; `nGpus` replaces its size, which need not be whole nodes then. The rate of a
  // node is that of the scenario, or with `scenario.hold` "job" the rate of the whole job.
  function inHours(scenario, nGpus) {
    const paths = refused(scenario);
    if (paths.length) {
      throw new NotHere(paths.join(", "));
    }
    const { cluster, job, failures: f, checkpoint: c, recovery: r } = scenario;
    const gpus = nGpus === undefined ? cluster.n_gpus : nGpus,
      nodes = gpus / cluster.gpus_per_node,
      atRisk = scenario.hold === "job" ? cluster.n_gpus / cluster.gpus_per_node : nodes;
    const general = { factor: 1, n_lost_nodes: 1 };
    const listed = (f.modes || []).concat([general]),
      shares = modeShares(f);
    const exposure = listed.map((mode, i) => shares[i] * (isSet(mode.factor) ? mode.factor : 1) * atRisk);
    const exposed = exposure.reduce((a, b) => a + b, 0);
    const hours = (mode, field) => (isSet(mode[field]) ? mode[field] : r[field]) / MIN_PER_H;
    const beyond = gpus - observedGpus(scenario);
    const atSize = (restart) => restartAt(restart, r.init_s_per_1000_gpus, beyond);
    const modes = listed.map((mode, i) => ({
      weight: exposed > 0 ? exposure[i] / exposed : i === listed.length - 1 ? 1 : 0,
      detection: hours(mode, "detection_min"),
      observed: hours(mode, "restart_min"),
      restart: atSize(hours(mode, "restart_min")),
      hasRestart: isSet(mode.restart_min),
      survives: (c.tiers || []).map((tier) => survives(tier, mode)),
    }));
    const restarts = restartsOf(modes, r.restart_min / MIN_PER_H, atSize);
    const ends = isSet(job.productive_h),
      stops = scenario.maintenance || { per_day: 0, duration_min: 0 };
    const prediction = scenario.prediction;
    const run = {
      nodes,
      gpus,
      modes,
      restarts,
      ends,
      work: (ends ? job.productive_h : H_PER_YEAR) / job.throughput_factor,
      tau: Infinity,
      stall: c.stall_s / S_PER_H,
      persist: c.persist_s / S_PER_H,
      slowdown: c.persist_slowdown,
      load: c.load_s / S_PER_H,
      beyond,
      rate: nodeRate(scenario) * exposed,
      detection: modes.reduce((sum, mode) => sum + mode.weight * mode.detection, 0),
      queue: (r.queue_min + r.person_share * r.person_min) / MIN_PER_H,
      personShare: r.person_share,
      person: r.person_min / MIN_PER_H,
      firstQueue: r.queue_min / MIN_PER_H,
      restart: atSize(r.restart_min / MIN_PER_H),
      stopsPerH: stops.per_day / H_PER_DAY,
      stop: stops.duration_min / MIN_PER_H,
      starts: job.include_start && ends,
      tiers: (c.tiers || []).map((tier, i) => ({
        tau: tier.interval_s / S_PER_H,
        stall: (tier.stall_s || 0) / S_PER_H,
        persist: (tier.write_s || 0) / S_PER_H,
        load: (tier.load_s || 0) / S_PER_H,
        kept: restarts.map((restart) => restart.of.reduce((sum, mode) => sum + mode.weight * mode.survives[i], 0)),
      })),
      prediction: prediction
        ? {
            recall: prediction.lead_s >= prediction.action_s ? prediction.recall : 0,
            precision: prediction.precision,
            action: prediction.action_s / S_PER_H,
          }
        : null,
    };
    run.tau =
      typeof c.interval_min === "number"
        ? c.interval_min / MIN_PER_H
        : !hasRule(run)
          ? best(run).tau
          : Math.min(Math.max(rules(run)[c.interval_min], intervalEnds(run)[0]), intervalEnds(run)[1]);
    return run;
  }

  // GPUs of the run whose failures and recovery the values describe.
  const observedGpus = ({ cluster, failures }) =>
    isSet(failures.observed_nodes) ? failures.observed_nodes * cluster.gpus_per_node : cluster.n_gpus;

  // The restart time at the size of the job: it grows with the GPUs beyond the observed size. [h]
  const restartAt = (observed, sPer1000, beyond) => Math.max(observed + (sPer1000 * beyond) / (1000 * S_PER_H), 0);

  // The distinct restart times, the general one first, with the modes of each.
  function restartsOf(modes, general, atSize) {
    const times = [...new Set(modes.filter((mode) => mode.hasRestart).map((mode) => mode.observed))].sort(
      (a, b) => a - b
    );
    const groups = [{ observed: general, of: modes.filter((mode) => !mode.hasRestart) }].concat(
      times.map((observed) => ({ observed, of: modes.filter((m) => m.hasRestart && m.observed === observed) }))
    );
    for (const group of groups) {
      group.restart = atSize(group.observed);
      group.share = group.of.reduce((sum, mode) => sum + mode.weight, 0);
    }
    return groups;
  }

  // Share of a mode's failures that a tier survives: a copy remains if fewer nodes are lost than there are copies.
  function survives(tier, mode) {
    if (!isSet(tier.survives)) {
      return 1;
    }
    const of = isObject(tier.survives) ? tier.survives : { "*": tier.survives };
    const all = has(of, "*") ? of["*"] : has(of, "all") ? of.all : 0;
    const names = mode.name === undefined ? ["other"] : [mode.name, mode.category || "other"];
    const named = names.find((name) => has(of, name));
    return named === undefined ? all : of[named];
  }

  // ---- building blocks

  const growth = (rate, h) => (rate > 0 ? Math.expm1(rate * h) / rate : h); // (e^λx - 1)/λ
  const meanUntil = (rate, h) => (rate > 0 ? -Math.expm1(-rate * h) / rate : h); // (1 - e^-λx)/λ
  const cycle = (run) => run.tau + run.stall + run.slowdown * run.persist;
  const head = (run) => (1 - run.slowdown) * run.persist;
  const startOf = (run) => run.restart + run.load;
  const overRestarts = (run, of) =>
    run.restarts.reduce((sum, group) => sum + group.share * of(group.restart + run.load), 0);
  const surviveRestart = (run) => overRestarts(run, (h) => Math.exp(-run.rate * h));
  const cutRestart = (run) => overRestarts(run, (h) => -Math.expm1(-run.rate * h));
  const restartAfter = (run) => overRestarts(run, (h) => h);
  const taus = (run) => run.tiers.map((tier) => tier.tau).concat(run.tau);
  const stalls = (run) => run.tiers.map((tier) => tier.stall).concat(run.stall);
  const writes = (run) => run.tiers.map((tier) => tier.persist).concat(run.persist);
  const loads = (run) => run.tiers.map((tier) => tier.load).concat(run.load);
  const sum = (values) => values.reduce((a, b) => a + b, 0);
  const withTau = (run, tau) => ({ ...run, tau });
  const steady = (run) => ({ ...run, starts: false, stopsPerH: 0 });

  function severity(run) {
    const kept = [0].concat(
      run.tiers.map((tier) => sum(tier.kept)),
      sum(run.restarts.map((group) => group.share))
    );
    return kept.slice(1).map((more, i) => more - kept[i]);
  }

  // e^x - 1 - x, by its series where the difference would lose digits.
  function curve(x) {
    if (Math.abs(x) >= 0.2) {
      return Math.expm1(x) - x;
    }
    let term = (x * x) / 2,
      total = term;
    for (let n = 3; n < 14; n += 1) {
      term *= x / n;
      total += term;
    }
    return total;
  }

  const excess = (rate, h) => (rate > 0 ? curve(rate * h) / rate : 0); // (e^λx - 1)/λ - x

  // Exposed hours of a stage that takes `first` at its first attempt and `again` after a recovery, and their excess.
  function stage(rate, first, again) {
    const repeat = Math.expm1(rate * (again - first));
    const more = excess(rate, first) * (1 + repeat) + first * repeat;
    return [first + more, more];
  }

  // ---- training beside recoveries: expected hours

  function trained(run) {
    return run.tiers.length ? ofTiers(run) : run.prediction ? predicted(run) : run.starts ? finite(run) : ofCycles(run);
  }

  function ofCycles(run) {
    const n = run.work / run.tau,
      again = run.tau + run.stall + run.persist;
    const [exposed, more] = stage(run.rate, cycle(run), again);
    const write = run.slowdown * run.persist,
      kept = Math.exp(-run.rate * cycle(run));
    return {
      exposed: n * exposed,
      risk: n * exposed,
      last: 0,
      rework: n * (more + write * (1 - kept)),
      slowdown: n * write * kept,
      checkpoint: n * run.stall,
      durable: n,
      exponent: run.rate * again,
      redo: 1,
    };
  }

  // The stages of a run from its start to its end; the last segment takes no checkpoint.
  function stagesOf(run) {
    const n = Math.max(Math.ceil(run.work / run.tau - ROUNDING) - 1, 0);
    const rest = Math.min(Math.max(run.work - n * run.tau, 0), run.tau);
    const inWrite = n > 0 && rest < head(run),
      end = rest / (1 - run.slowdown);
    const again = run.tau + run.stall + run.persist,
      toEnd = run.tau + run.stall + end;
    const only = n === 0 || (inWrite && n === 1);
    return {
      n,
      rest,
      inWrite,
      end,
      again,
      only,
      first: n === 0 ? run.work : only ? toEnd : again,
      middle: only ? 0 : inWrite ? n - 2 : n - 1,
      lastFirst: inWrite ? toEnd - head(run) : rest - head(run),
      lastAgain: inWrite ? toEnd : rest,
      durable: n - (inWrite ? 1 : 0),
    };
  }

  function finite(run) {
    const rate = run.rate,
      write = run.slowdown * run.persist,
      of = stagesOf(run),
      length = cycle(run);
    const [firstH, firstMore] = stage(rate, of.first, of.first);
    const [middleH, middleMore] = of.middle > 0 ? stage(rate, length, of.again) : [0, 0];
    const [lastH, lastMore] = of.only ? [0, 0] : stage(rate, of.lastFirst, of.lastAgain);
    const keptLast = of.only ? 0 : Math.exp(-rate * of.lastFirst),
      lostLast = of.only ? 0 : -Math.expm1(-rate * of.lastFirst);
    const exposed = firstH + of.middle * middleH + lastH;
    return {
      exposed,
      risk: exposed,
      last: of.only ? firstH : lastH,
      rework: firstMore + of.middle * (middleMore - write * Math.expm1(-rate * length)) + lastMore + write * lostLast,
      slowdown: write * (of.middle * Math.exp(-rate * length) + keptLast) + (of.inWrite ? of.end - of.rest : 0),
      checkpoint: of.n * run.stall,
      durable: of.durable,
      exponent: rate * Math.max(of.first, of.only ? 0 : of.again),
      redo: 1,
    };
  }

  // Several tiers, in whole intervals of the store: the flux across each place of a block is a geometric series.
  function ofTiers(run) {
    const lost = writes(run).map((write) => -Math.expm1(-run.rate * write)),
      all = taus(run);
    const kept = sum(severity(run).map((share, i) => share * Math.exp(-run.rate * writes(run)[i])));
    const risk = blockHours(run, recoveries(run), lost) / kept;
    const stallH = sum(all.map((tau, i) => (run.tau / tau) * stalls(run)[i])),
      n = run.work / run.tau;
    return {
      exposed: n * risk,
      risk: n * risk,
      last: 0,
      rework: n * Math.max(risk - run.tau - stallH, 0),
      slowdown: 0,
      checkpoint: n * stallH,
      durable: n,
      exponent: Math.log1p(run.rate * risk),
      redo: severity(run).slice(-1)[0],
    };
  }

  // The tiers to which failures return: one row per tier that was being loaded, the first row while training.
  function recoveries(run) {
    const hours = run.restarts.map((group) => loads(run).map((load) => group.restart + load));
    const kept = run.restarts.map((group, i) =>
      [0].concat(
        run.tiers.map((tier) => tier.kept[i]),
        group.share
      )
    );
    const answered = (group, floor, tier) =>
      tier + 1 < floor ? 0 : kept[group][tier + 1] - (tier + 1 > floor ? kept[group][tier] : 0);
    const table = (of) =>
      [...loads(run), 0].map((_, floor) =>
        loads(run).map((__, tier) =>
          sum(run.restarts.map((___, group) => answered(group, floor, tier) * of(hours[group][tier])))
        )
      );
    return {
      lands: table(() => 1),
      survived: table((h) => Math.exp(-run.rate * h)),
      cut: table((h) => meanUntil(run.rate, h)),
    };
  }

  // Hours of restart and load at each tier, from those of the first attempts.
  function loading(first, rate, back) {
    const hours = [];
    first.forEach((firstH, tier) => {
      const again = sum(hours.map((h, lower) => rate * h * back.cut[lower + 1][tier]));
      hours.push((firstH + again) / (sum(back.lands[tier + 1].slice(tier + 1)) + back.survived[tier + 1][tier]));
    });
    return hours;
  }

  function blockHours(run, back, lost) {
    const rate = run.rate,
      all = taus(run),
      n = all.length,
      tiers = all.map((_, i) => i),
      of = severity(run);
    const ends = tiers.map((hit) => {
      // probability that a failure is of one severity and its recovery ends at one tier
      const hours = loading(
        tiers.map((tier) => (tier === hit ? back.cut[0][tier] : 0)),
        rate,
        back
      );
      return tiers.map(
        (tier) =>
          (tier === hit ? back.survived[0][tier] : 0) +
          sum(hours.slice(0, tier + 1).map((h, from) => rate * h * back.survived[from + 1][tier]))
      );
    });
    let hours = tiers.map((due) => growth(rate, all[0] + sum(stalls(run).slice(0, due + 1))));
    for (let level = 0; level < n - 1; level += 1) {
      const upTo = tiers.slice(0, level + 1);
      const held = sum(upTo.map((k) => lost[k] * sum(upTo.map((t) => ends[k][t]))));
      const beyond = sum(tiers.slice(level + 1).map((t) => of[t] + sum(upTo.map((k) => ends[k][t]))));
      const step = hours.map((h) => (rate * beyond * h) / (1 - held));
      const others = hours[level] * series(step[level], all[level + 1] / all[level] - 1);
      hours = hours.map((h, due) => h + (1 + step[due]) * others);
    }
    return hours[n - 1];
  }

  // 1 + x + ... + x^(n-1) for x = 1 + step.
  const series = (step, n) => (step > 0 ? Math.expm1(n * Math.log1p(step)) / step : n);

  // Announced failures: a job is fresh, writing, or written.
  function predicted(run) {
    const { recall: all, precision, action } = run.prediction,
      rate = run.rate,
      heedFrom = action / precision;
    const recall = heedFrom <= run.tau ? all : 0,
      alarms = (rate * recall) / precision,
      alone = rate * (1 - recall);
    const ends = alarms + alone,
      answered = Math.exp(-rate * action),
      stallKept = Math.exp(-rate * run.stall);
    const stretch = (atRisk) => {
      const from = Math.max(atRisk, Math.min(heedFrom, run.tau)),
        early = from - atRisk,
        heeded = run.tau - from;
      const into = Math.exp(-rate * early),
        heededH = meanUntil(ends, heeded),
        toStall = Math.exp(-ends * heeded);
      return {
        early: meanUntil(rate, early),
        heeded: into * heededH,
        secured: into * (from * heededH + firstMoment(ends, heeded, heededH, toStall)),
        stall: into * toStall,
        write: into * toStall * stallKept,
      };
    };
    const fresh = stretch(0),
      written = stretch(head(run));
    const writeH = meanUntil(ends, run.persist),
      writeEnds = Math.exp(-ends * run.persist);
    const inWrite = firstMoment(ends, run.persist, writeH, writeEnds),
      answeredInWrite = alarms * answered * writeH;
    const nFresh = (1 - writeEnds * written.write) / fresh.write;
    const heeded = nFresh * fresh.heeded + writeEnds * written.heeded + writeH;
    const early = nFresh * fresh.early + writeEnds * written.early;
    const stallsH = (nFresh * fresh.stall + writeEnds * written.stall) * meanUntil(rate, run.stall);
    const answers = alarms * heeded * meanUntil(rate, action);
    const secured =
      alarms * answered * (nFresh * fresh.secured + writeEnds * written.secured) +
      writeEnds * run.tau +
      answeredInWrite * run.tau +
      alarms * answered * (1 - run.slowdown) * inWrite;
    const kept = writeEnds + answeredInWrite;
    const afterWrite = alarms * answered * written.heeded + written.write * kept;
    const slow = run.slowdown * (run.persist * writeEnds * afterWrite + alarms * answered * inWrite);
    const checkpoint = kept * run.stall + alarms * answered * heeded * action;
    const exposed = early + heeded + stallsH + answers;
    const risk = early + stallsH + answers + (1 - recall) * heeded + recall * answered * heeded,
      n = run.work / secured;
    return {
      exposed: n * exposed,
      risk: n * risk,
      last: 0,
      rework: n * Math.max(exposed - secured - checkpoint - slow, 0),
      slowdown: n * slow,
      checkpoint: n * checkpoint,
      durable: n * kept,
      exponent: -Math.log(fresh.write * writeEnds),
      redo: 1,
    };
  }

  function firstMoment(rate, length, mean, kept) {
    const x = rate * length;
    return x < 1e-3 ? length * length * (1 / 2 - x * (1 / 3 - x * (1 / 8 - x / 30))) : (mean - length * kept) / rate;
  }

  // ---- the whole budget

  // Failures and restart hours in a number of hours at risk that includes planned restarts.
  function recover(run, risk, planned) {
    const plannedH = planned * meanUntil(run.rate, startOf(run)),
      atRisk = risk + plannedH;
    if (run.tiers.length) {
      const back = recoveries(run),
        restart = sum(
          loading(
            back.cut[0].map((cut) => run.rate * atRisk * cut),
            run.rate,
            back
          )
        );
      return [run.rate * (atRisk + restart), plannedH + restart];
    }
    return [(run.rate * atRisk) / surviveRestart(run), plannedH + (atRisk * cutRestart(run)) / surviveRestart(run)];
  }

  // Expected hours by part, their sum `total_h`, `n_failures` and `ettr`.
  function exact(run) {
    const of = trained(run),
      starts = run.starts ? 1 : 0;
    if (head(run) * (1 - LAST_DIGITS) > run.tau) {
      throw new Endless("the interval is shorter than the training during the background write");
    }
    if (run.tiers.length && outOfOrder(run)) {
      throw new Endless("the tiers' intervals or writes fall");
    }
    if (!(of.exponent - Math.log(surviveRestart(run)) <= 690)) {
      throw new Endless(ENDS);
    }
    let [failures, restart] = recover(run, of.risk, starts),
      stopped = 0,
      { rework, slowdown } = of;
    if (run.stopsPerH > 0) {
      const down = run.detection + run.queue,
        redo = growth(run.rate * of.redo, head(run));
      const [stopFailures, stopRestart] = recover(run, redo, 1),
        [lastFailures, lastRestart] = recover(run, of.last, 0);
      const stop = run.stop + redo + stopRestart + stopFailures * down;
      const servable =
        of.durable > 0
          ? of.exposed +
            restart +
            failures * down -
            of.last -
            lastRestart -
            lastFailures * down +
            starts * run.firstQueue
          : 0;
      const n = (run.stopsPerH * servable) / (1 - run.stopsPerH * stop * (1 - starts / Math.max(of.durable, 1)));
      const total = servable + n * stop,
        error = (sharedStops(run, of, failures, total) * stop) / Math.max(total, run.work);
      if (run.stopsPerH * stop >= 1 || n > of.durable || error > 0.005) {
        throw new Endless("maintenance is asked for more often than checkpoints are taken");
      }
      const unkept = n * run.slowdown * run.persist * Math.exp(-run.rate * cycle(run));
      stopped = n * run.stop;
      restart += n * stopRestart;
      failures += n * stopFailures;
      rework += n * redo + unkept;
      slowdown -= unkept;
    }
    const hours = {
      productive_h: run.work,
      checkpoint_h: of.checkpoint,
      slowdown_h: slowdown,
      degraded_h: 0,
      rework_h: rework,
      detection_h: failures * run.detection,
      queue_h: failures * run.queue + starts * run.firstQueue,
      restart_h: restart,
      maintenance_h: stopped,
    };
    const total = sum(PARTS.map((part) => hours[part]));
    if (!(run.work >= LEAST_ETTR * total)) {
      throw new Endless(ENDS);
    }
    return Object.assign(hours, { total_h: total, n_failures: failures, ettr: run.work / total });
  }

  // Share of maintenance requests that arrive while another is waiting.
  function sharedStops(run, of, nFailures, total) {
    const n = Math.max(of.durable, 1),
      queue = run.starts ? run.stopsPerH * run.firstQueue : 0;
    const mean = (run.stopsPerH * total - queue) / n,
      failures = nFailures / n;
    const spread = failures * (1 + failures) * (run.stopsPerH * (run.detection + run.queue + restartAfter(run))) ** 2;
    return (n * (mean ** 2 + spread) + 2 * mean * queue + queue ** 2) / 2;
  }

  function outOfOrder(run) {
    const all = taus(run),
      write = writes(run);
    return all.some((tau, i) =>
      i === 0
        ? tau < write[0] * (1 - LAST_DIGITS)
        : [
            [tau, all[i - 1]],
            [write[i], write[i - 1]],
            [tau, write[i]],
          ].some(([less, more]) => less < more * (1 - LAST_DIGITS))
    );
  }

  // ETTR, NaN where there is no answer.
  function ettrOf(run) {
    try {
      return exact(run).ettr;
    } catch (error) {
      if (error instanceof Endless) {
        return NaN;
      }
      throw error;
    }
  }

  // ---- the interval

  const hasRule = (run) => !run.tiers.length && !run.prediction;

  function intervalEnds(run) {
    let low = Math.max(head(run) * (1 + LAST_DIGITS), 1 / S_PER_H);
    if (run.tiers.length) {
      low = Math.max(low, run.tiers[run.tiers.length - 1].tau * (1 + LAST_DIGITS));
    }
    low = Math.min(low, LONGEST_MIN / MIN_PER_H);
    const most = Math.min(run.work, run.stopsPerH > 0 ? 0.5 / run.stopsPerH : Infinity);
    return [low, Math.min(Math.max(most, low), LONGEST_MIN / MIN_PER_H)];
  }

  // Best, Young's and Daly's interval.
  function rules(run) {
    const mttf = 1 / run.rate,
      w = run.stall,
      cost = w + run.slowdown * run.persist,
      share = cost / mttf;
    let u = Math.sqrt(2 * share) + share / 3 + (share > 1 ? share : 0);
    for (let i = 0; i < 7 && share > 0; i += 1) {
      u -= (curve(-u) - share) / -Math.expm1(-u);
    }
    const shortest = run.rate > 0 ? (share > 0 ? -Math.expm1(-u) * mttf : 0) : cost > 0 ? Infinity : 0;
    const young = w > 0 ? Math.sqrt(2 * w) * Math.sqrt(mttf) : 0,
      half = w / (2 * mttf);
    return {
      best: Math.max(shortest, head(run)),
      young,
      daly: w < 2 * mttf ? young * (1 + Math.sqrt(half) / 3 + half / 9) - w : mttf,
    };
  }

  // The best interval, and the ETTR of the whole run there (NaN where there is none).
  function best(run) {
    const [low, high] = intervalEnds(run);
    const wanted = hasRule(run) ? Math.min(Math.max(rules(run).best, low), high) : searched(run, low, high);
    return answered(run, low, wanted);
  }

  // The lowest steady-state cost: nine points, then the golden section around the best of them.
  function searched(run, low, high) {
    const of = steady(run),
      heed = run.prediction ? run.prediction.action / run.prediction.precision : 0,
      golden = (Math.sqrt(5) - 1) / 2;
    const cost = (tau) => {
      const ettr = ettrOf(withTau(of, tau));
      return ettr > 0 ? 1 / ettr : Infinity;
    };
    const lowest = (from, to) => {
      const at = (log) => cost(Math.min(Math.max(Math.exp(log), from), to)),
        width = Math.log(to / from) / 8;
      const costs = [0, 1, 2, 3, 4, 5, 6, 7, 8].map((i) => at(Math.log(from) + i * width)),
        best = costs.indexOf(Math.min(...costs));
      let left = Math.log(from) + Math.max(best - 1, 0) * width,
        right = Math.log(from) + Math.min(best + 1, 8) * width;
      let inner = right - golden * (right - left),
        outer = left + golden * (right - left),
        costInner = at(inner),
        costOuter = at(outer);
      while (right - left > 1e-6) {
        if (costInner <= costOuter) {
          [right, outer, costOuter] = [outer, inner, costInner];
          inner = right - golden * (right - left);
          costInner = at(inner);
        } else {
          [left, inner, costInner] = [inner, outer, costOuter];
          outer = left + golden * (right - left);
          costOuter = at(outer);
        }
      }
      const nearest = Math.exp((left + right) / 2);
      return [from, Math.min(Math.max(nearest, from), to), to].reduce((a, b) => (cost(b) < cost(a) ? b : a));
    };
    if (!(heed > low && heed < high)) {
      return lowest(low, high);
    }
    const two = [lowest(low, heed), lowest(heed, high)]; // shorter intervals than this use no alarm
    return cost(two[0]) < cost(two[1]) ? two[0] : two[1];
  }

  // An interval with its ETTR; with maintenance, the longest shorter one that has an answer.
  function answered(run, low, wanted) {
    const ettr = ettrOf(withTau(run, wanted));
    if (isFinite(ettr) || !(run.stopsPerH > 0)) {
      return { tau: wanted, ettr };
    }
    const without = { ...run, stopsPerH: 0 };
    if (![low, wanted].some((tau) => isFinite(ettrOf(withTau(without, tau))))) {
      return { tau: wanted, ettr };
    }
    let left = Math.log(low),
      right = Math.log(wanted);
    for (let round = 0; round < 3; round += 1) {
      const grid = Array.from({ length: 33 }, (_, i) => left + ((right - left) * i) / 32);
      const good = grid.map((point) => isFinite(ettrOf(withTau(run, Math.exp(point))))),
        last = good.lastIndexOf(true);
      if (last < 0) {
        return { tau: wanted, ettr };
      }
      [left, right] = [grid[last], grid[Math.min(last + 1, 32)]];
    }
    const tau = Math.max(Math.exp(left) / (1 + LAST_DIGITS), low);
    return { tau, ettr: ettrOf(withTau(run, tau)) };
  }

  // The best interval, and the ends of the range that costs at most half a point of the steady state. [h]
  function band(run) {
    const of = steady(run),
      tau = best(run).tau,
      highest = ettrOf(withTau(of, tau));
    if (!isFinite(highest)) {
      throw new Endless(ENDS);
    }
    const loss = (point) => {
      const ettr = ettrOf(withTau(of, point));
      return highest - (isFinite(ettr) ? ettr : -1);
    };
    const low = Math.min(intervalEnds(of)[0], tau),
      longest = answered(run, intervalEnds(run)[0], intervalEnds(run)[1]).tau;
    return { tau, low: firstAbove(loss, tau, low), high: firstAbove(loss, tau, Math.max(longest, tau)) };
  }

  // The first point at which a loss exceeds half a point, by linear interpolation on a grid of 2000 points.
  function firstAbove(loss, from, to) {
    if (from === to) {
      return to;
    }
    const last = 1999,
      point = (i) => (i === last ? to : from * Math.exp((Math.log(to / from) * i) / last));
    let below = 0,
      above = last;
    if (!(loss(to) > HALF_A_POINT)) {
      return to;
    }
    while (above - below > 1) {
      const middle = (below + above) >> 1;
      if (loss(point(middle)) > HALF_A_POINT) {
        above = middle;
      } else {
        below = middle;
      }
    }
    const [left, right] = [point(below), point(above)],
      [less, more] = [loss(left), loss(right)];
    return ((right - left) / (more - less)) * (HALF_A_POINT - less) + left;
  }

  // ---- probabilities

  // ln Γ(x), by Stirling's series from where that has all digits.
  function logGamma(x) {
    let less = 0;
    for (; x < 16; x += 1) {
      less += Math.log(x);
    }
    const y = 1 / (x * x);
    return (x - 0.5) * Math.log(x) - x + Math.log(2 * Math.PI) / 2 + (1 / 12 - y * (1 / 360 - y / 1260)) / x - less;
  }

  // Poisson probability of k, which need not be whole, at a mean.
  const poisson = (k, mean) =>
    mean > 0 ? Math.exp(k * Math.log(mean) - mean - logGamma(k + 1)) : k === 0 ? 1 : 0;

  // Incomplete gamma functions P and Q, of which the smaller one keeps its digits.
  function gammaTails(a, x) {
    if (x <= 0) {
      return [0, 1];
    }
    if (x < a + 1) {
      let term = 1,
        total = 1;
      for (let n = 1; term > total * 1e-17 && n < 1e5; n += 1) {
        term *= x / (a + n);
        total += term;
      }
      const low = poisson(a, x) * total;
      return [low, 1 - low];
    }
    let b = x + 1 - a,
      c = 1e300,
      d = 1 / b,
      h = d; // Lentz
    for (let i = 1; i < 1e5; i += 1) {
      const an = -i * (i - a);
      b += 2;
      d = 1 / (an * d + b);
      c = b + an / c;
      h *= c * d;
      if (Math.abs(c * d - 1) < 1e-16) {
        break;
      }
    }
    const high = poisson(a, x) * a * h;
    return [1 - high, high];
  }

  // Where P, or with `upper` Q, is a probability.
  function gammaQuantile(a, p, upper) {
    const isBelow = (x) => (upper ? gammaTails(a, x)[1] > p : gammaTails(a, x)[0] < p);
    let low = -800,
      high = Math.log(a + 50 * Math.sqrt(a) + 800);
    for (let i = 0; i < 64; i += 1) {
      const middle = (low + high) / 2;
      [low, high] = isBelow(Math.exp(middle)) ? [middle, high] : [low, middle];
    }
    return Math.exp(high);
  }

  // Exact 95% interval of the mean of a Poisson count (Garwood 1936).
  const poissonInterval = (n) => [n > 0 ? gammaQuantile(n, 0.025) : 0, gammaQuantile(n + 1, 0.025, true)];

  // The gamma distribution of the failure rate, from a count by Jeffreys' prior; null without one.
  function posterior(scenario) {
    const f = scenario.failures;
    return isSet(f.n_events) ? { shape: f.n_events + 0.5, node_days: f.node_days } : f.rate_gamma || null;
  }

  // ---- spares

  const poissonUpTo = (k, mean) => gammaTails(k + 1, mean)[1];

  // The smallest whole number >= 0 that is enough, for a monotone condition.
  function leastWhole(isEnough, guess) {
    let low = -1,
      high = Math.max(0, Math.round(guess)),
      step = 1;
    while (!isEnough(high)) {
      low = high;
      high += step;
      step *= 2;
    }
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (isEnough(middle)) {
        high = middle;
      } else {
        low = middle;
      }
    }
    return high;
  }

  // The fewest spares that suffice for a share of the time, for a Poisson number of nodes in repair.
  const enoughSpares = (inRepair, level) =>
    inRepair > 0 ? leastWhole((s) => poissonUpTo(s, inRepair) >= level, inRepair) : 0;

  // The share of the time that a job waits for a node: Erlang's loss formula for s + 1 places. A waiting job has no
  // failures, so the number in repair is a Poisson number up to s + 1.
  function waitingShare(nSpares, inRepair) {
    if (!(inRepair > 0)) {
      return 0;
    }
    const n = nSpares + 1,
      upTo = poissonUpTo(n, inRepair);
    if (upTo > 1e-12) {
      return 1 - poissonUpTo(n - 1, inRepair) / upTo;
    }
    let total = 1,
      term = 1; // far below the mean: the sum of n! / ((n - j)! a^j)
    for (let j = 0; term > 1e-18 * total; j++) {
      term *= (n - j) / inRepair;
      total += term;
    }
    return 1 / total;
  }

  // Mean number of nodes in repair, for a repair time in hours.
  function inRepair(scenario, repairH) {
    const run = inHours(scenario),
      of = exact(run),
      perH = of.n_failures / of.total_h;
    const out = sum(
      run.modes.map((mode, i) => {
        const named = (scenario.failures.modes || [])[i];
        return mode.weight * (named && isSet(named.n_out_nodes) ? named.n_out_nodes : 1);
      })
    );
    return perH * out * repairH;
  }

  // ---- the finishing date: the gamma distribution with the mean, standard deviation and skewness of a run's hours
  // (Pearson's type III), which follow from their transform; ettr.budget.finishing inverts the transform instead.

  const MOST_SKEW = 0.6, // with few failures, or rare long ones, no such distribution has the shape of the hours
    MOST_IN_ONE_GO = 300, // failures, beyond which a run practically never ends
    RATES_MIXED = 100,
    BEYOND = 1e-7; // probability of the failure rates left out on each side

  // Logarithms of the parts of a run's transform E[e^(-sT)] at a real s: of a `stage` that takes `first` hours without
  // a failure and `again` after one, of the `begin` of the run, and of a `stop` for maintenance.
  function partsAt(run, rate, s) {
    const ends = rate + s,
      struck = rate / ends;
    let recovered = 0,
      cut = 0;
    for (const { weight, detection, restart } of run.modes) {
      const person = 1 - run.personShare + run.personShare / (1 + s * run.person),
        down = weight * person * Math.exp(-s * (detection + run.firstQueue)),
        survived = Math.exp(-ends * (restart + run.load));
      recovered += down * survived;
      cut += down * struck * (1 - survived);
    }
    const exists = cut < 1 && s * run.person > -1,
      loss = exists ? 1 - (struck * recovered) / (1 - cut) : NaN,
      restart = Math.log1p(loss * Math.expm1(-ends * startOf(run)));
    return {
      stage: ([first, again]) =>
        Math.log1p(loss * Math.expm1(ends * (again - first))) - Math.log1p(loss * Math.expm1(ends * again)),
      begin: restart - s * run.firstQueue,
      stop: restart - s * run.stop,
    };
  }

  // The stages of a finite run, or of complete intervals scaled to the work: [first, again] of each. [h]
  function datedStages(run) {
    const of = stagesOf(run),
      step = [cycle(run), of.again];
    if (run.starts) {
      const last = of.only ? null : [of.lastFirst, of.lastAgain];
      return { scale: 1, first: [of.first, of.first], step, middle: of.middle, last };
    }
    const n = Math.ceil(run.work / run.tau - ROUNDING),
      segment = run.tau + run.stall;
    return {
      scale: run.work / run.tau / n,
      first: [run.persist, of.again],
      step,
      middle: n - 1,
      last: [segment - head(run), segment],
    };
  }

  function logTransform(run, stages, rate, s) {
    const { scale, first, step, middle, last } = stages,
      on = partsAt(run, rate, scale * s),
      begun = (parts) => parts.stage(first) + (run.starts ? parts.begin : 0);
    if (!last) {
      return begun(on);
    }
    if (!run.stopsPerH) {
      return begun(on) + middle * on.stage(step) + on.stage(last);
    }
    // from checkpoint to checkpoint, by whether a request for maintenance waits; `quiet` while none comes
    const quiet = partsAt(run, rate, scale * s + run.stopsPerH),
      afterStop = ([, again]) => [again, again];
    const [all, quietFirst, goesOn, unasked, stopped, quietStop, end, endStop] = [
      begun(on),
      begun(quiet),
      on.stage(step),
      quiet.stage(step),
      on.stop + on.stage(afterStop(step)),
      quiet.stop + quiet.stage(afterStop(step)),
      on.stage(last),
      on.stop + on.stage(afterStop(last)),
    ].map(Math.exp);
    const matrix = [unasked, goesOn - unasked, quietStop, stopped - quietStop],
      [calm, waiting] = timesPower(matrix, middle, [end, endStop]);
    return Math.log(quietFirst * calm + (all - quietFirst) * waiting);
  }

  // The nth power of a matrix [a, b, c, d] times a vector.
  function timesPower([a, b, c, d], n, [x, y]) {
    for (let left = n; left > 0; left = Math.floor(left / 2)) {
      if (left % 2) {
        [x, y] = [a * x + b * y, c * x + d * y];
      }
      [a, b, c, d] = [a * a + b * c, b * (a + d), c * (a + d), d * d + b * c];
    }
    return [x, y];
  }

  // Mean, standard deviation and skewness of the hours at a failure rate, from finite differences of the logarithm; null
  // if the run would practically never end.
  function momentsAt(run, stages, rate) {
    const once = Math.min(run.tau, run.work) + run.stall + run.persist + restartAfter(run);
    if (!(rate * once <= MOST_IN_ONE_GO)) {
      return null;
    }
    const recovery = Math.max(...run.modes.map((mode) => mode.detection + mode.restart)),
      longest = once + run.person + run.stop + recovery;
    let h = 1e-3 / run.work,
      most = 0.05 / longest; // so that what is rarely lost at once counts as well
    for (let i = 0; i < 100; i += 1) {
      const [less2, less, more, more2] = [2, 1, -1, -2].map((by) => logTransform(run, stages, rate, by * h)),
        mean = (8 * (more - less) - (more2 - less2)) / (12 * h),
        sd = Math.sqrt(Math.max(16 * (more + less) - (more2 + less2), 0) / 12) / h,
        third = (more2 - 2 * more + 2 * less - less2) / (2 * h ** 3);
      if (!isFinite(mean + sd + third)) {
        most = h /= 4; // the transform has no value so far from 0
        continue;
      }
      const next = Math.min(0.005 / sd, 100 / mean, most);
      if (Math.abs(next / h - 1) < 0.1) {
        return sd > 1e-7 * mean ? { mean, sd, skew: third / sd ** 3 } : { mean, sd: 0, skew: 0 };
      }
      h = next;
    }
    return null;
  }

  // Probability of being done by some hours: by the cube root of Wilson and Hilferty (1931), which is nearly normal.
  function chanceBy({ mean, sd, skew }, hours) {
    if (sd === 0) {
      return hours >= mean ? 1 : 0;
    }
    const z = (hours - mean) / sd,
      base = 1 + (skew * z) / 2,
      normal = Math.abs(skew) < 1e-3 ? z : (6 / skew) * (Math.cbrt(base) - 1) + skew / 6,
      tail = gammaTails(0.5, (normal * normal) / 2)[1] / 2;
    if (base <= 0) {
      return skew > 0 ? 0 : 1; // beyond the end of the distribution
    }
    return normal < 0 ? tail : 1 - tail;
  }

  // Failure rates over the stated one, with their posterior probabilities after a count.
  function possibleRates(scenario, { shape, node_days }) {
    const low = Math.log(gammaQuantile(shape, BEYOND)),
      high = Math.log(gammaQuantile(shape, BEYOND, true)),
      statedRate = (failureRate(scenario) * node_days) / 1000;
    const rates = Array.from({ length: RATES_MIXED }, (_, i) => {
      const counted = Math.exp(low + ((high - low) * (i + 0.5)) / RATES_MIXED);
      return { over: counted / statedRate, weight: poisson(shape, counted) };
    });
    const all = sum(rates.map((rate) => rate.weight));
    return rates.map(({ over, weight }) => ({ over, weight: weight / all }));
  }

  // The finishing date: { quantile(p), doneBy(hours) }, averaged over the posterior of the failure rate. `tau` replaces
  // the interval.
  function finishing(scenario, tau) {
    const run = Object.assign(inHours(scenario), tau === undefined ? {} : { tau });
    if (run.tiers.length || run.prediction) {
      throw new NotHere(run.prediction ? "prediction" : "checkpoint.tiers");
    }
    if (!run.ends) {
      throw new NotHere("job.productive_h");
    }
    const stages = datedStages(run),
      moments = momentsAt(run, stages, run.rate);
    if (!moments) {
      throw new Endless(ENDS);
    }
    if (moments.skew > MOST_SKEW) {
      throw new NotHere("the dates of a run with few failures");
    }
    const rateDistribution = posterior(scenario),
      isMixed = rateDistribution && rateDistribution.shape >= 1 && scenario.failures.n_events !== 0,
      parts = isMixed
        ? possibleRates(scenario, rateDistribution)
            .map(({ over, weight }) => ({ weight, ...momentsAt(run, stages, run.rate * over) }))
            .filter((part) => part.mean)
        : [{ weight: 1, ...moments }];
    const meanOf = (i) => parts[Math.min(Math.max(i, 0), parts.length - 1)].mean,
      // each point represents the rates around it as well
      spread = parts.map((part, i) => ({ ...part, sd: Math.hypot(part.sd, (meanOf(i + 1) - meanOf(i - 1)) / 4) }));
    const doneBy = (hours) => sum(spread.map((part) => part.weight * chanceBy(part, hours)));
    function quantile(p) {
      if (p >= sum(parts.map((part) => part.weight))) {
        return Infinity;
      }
      let low = 0,
        high = run.work;
      while (doneBy(high) < p) {
        [low, high] = [high, 2 * high];
      }
      for (let i = 0; i < 50; i += 1) {
        const middle = (low + high) / 2;
        [low, high] = doneBy(middle) < p ? [middle, high] : [low, middle];
      }
      return high;
    }
    return { quantile, doneBy };
  }

  // ---- money

  const usdPerH = (scenario) =>
    scenario.cluster.n_gpus * scenario.cost.usd_per_gpu_h + scenario.cost.usd_per_day / H_PER_DAY;

  // Losses per month, by part: { part, share, h, usd }, and in total; and the bill of a month.
  function losses(scenario, hours) {
    const bill = usdPerH(scenario) * H_PER_MONTH,
      of = (part, share) => ({ part, share, h: share * H_PER_MONTH, usd: share * bill });
    const parts = PARTS.slice(1)
      .filter((part) => hours[part] > 0)
      .map((part) => of(part, hours[part] / hours.total_h));
    return { parts, total: of("total", 1 - hours.ettr), bill };
  }

  // The gap between a measured ETTR and the model: null without a measurement at this size, or within half a point;
  // negative if the run does better than the model.
  function unexplained(scenario, modelled) {
    const measured = scenario.measured;
    if (!measured || !isSet(measured.ettr) || measured.n_gpus !== scenario.cluster.n_gpus) {
      return null;
    }
    const share = modelled - measured.ettr;
    if (Math.abs(share) < HALF_A_POINT) {
      return null;
    }
    return {
      measured: measured.ettr,
      modelled,
      share,
      h: share * H_PER_MONTH,
      usd: share * H_PER_MONTH * usdPerH(scenario),
    };
  }

  // ---- the plausible range

  // A run with other values of some fields; everything else, and observed values, are unchanged.
  function patched(run, scenario, values) {
    const changed = { ...run },
      r = scenario.recovery;
    const general = sum(
      run.modes.map((mode, i) =>
        // share of the failures without a detection time of their own
        isSet(((scenario.failures.modes || [])[i] || {}).detection_min) ? 0 : mode.weight
      )
    );
    const set = {
      "failures.rate_per_1000_node_days": (v) => ({ rate: (run.rate * v) / failureRate(scenario) }),
      "checkpoint.stall_s": (v) => ({ stall: v / S_PER_H }),
      "checkpoint.persist_s": (v) => ({ persist: v / S_PER_H }),
      "checkpoint.persist_slowdown": (v) => ({ slowdown: v }),
      "checkpoint.load_s": (v) => ({ load: v / S_PER_H }),
      "checkpoint.interval_min": (v) => ({ tau: v / MIN_PER_H }),
      "recovery.init_s_per_1000_gpus": () => ({}), // with the restart, below
      "recovery.restart_min": () => ({}),
      "recovery.detection_min": (v) => ({ detection: run.detection + (general * (v - r.detection_min)) / MIN_PER_H }),
      "recovery.queue_min": (v) => ({
        queue: run.queue + (v - r.queue_min) / MIN_PER_H,
        firstQueue: v / MIN_PER_H,
      }),
      "recovery.person_share": (v) => ({ personShare: v }),
      "recovery.person_min": (v) => ({ person: v / MIN_PER_H }),
      "maintenance.per_day": (v) => ({ stopsPerH: v / H_PER_DAY }),
      "maintenance.duration_min": (v) => ({ stop: v / MIN_PER_H }),
    };
    for (const [path, value] of Object.entries(values)) {
      if (!has(set, path)) {
        throw new NotHere(path);
      }
      Object.assign(changed, set[path](value));
    }
    const [restart, growth] = ["recovery.restart_min", "recovery.init_s_per_1000_gpus"].map((path) =>
      has(values, path) ? values[path] : at(scenario, path)
    );
    changed.restart = restartAt(restart / MIN_PER_H, growth, run.beyond);
    changed.restarts = run.restarts.map((of, i) => ({
      ...of,
      restart: restartAt(i === 0 ? restart / MIN_PER_H : of.observed, growth, run.beyond),
    }));
    changed.queue += changed.personShare * changed.person - run.personShare * run.person;
    return changed;
  }

  // Points of the unit cube that fill it evenly: multiples of the square roots of primes, modulo 1 (Richtmyer).
  function evenPoints(n, d, after = 0) {
    const primes = [];
    for (let p = 2; primes.length < d; p += 1) {
      if (primes.every((q) => p % q)) {
        primes.push(p);
      }
    }
    return Array.from({ length: n }, (_, i) => primes.map((p) => (0.5 + (after + i + 1) * Math.sqrt(p)) % 1));
  }

  // The assumed inputs { field, value, low, high, unit, ... } that the reader has not replaced.
  function assumedIn(scenario, inputs) {
    return inputs.filter(
      (input) =>
        at(scenario, input.field) === input.value &&
        !(
          input.field === "checkpoint.persist_slowdown" &&
          (scenario.checkpoint.persist_s === 0 || isSet(scenario.checkpoint.tiers))
        ) &&
        !(input.field === "recovery.init_s_per_1000_gpus" && observedGpus(scenario) === scenario.cluster.n_gpus)
    );
  }

  function valueAt(input, u) {
    if (input.quantiles) {
      const last = input.quantiles.length - 1,
        k = Math.min(Math.floor(u * last), last - 1),
        [low, high] = input.quantiles.slice(k, k + 2);
      return low * (high / low) ** (u * last - k);
    }
    return input.low > 0 && input.unit
      ? input.low * (input.high / input.low) ** u
      : input.low + (input.high - input.low) * u;
  }

  // True if the failure rate is assumed, or comes from another cluster at another size.
  function rateIsFromElsewhere(scenario) {
    const way = RATES.find((name) => isSet(scenario.failures[name])),
      origin = (scenario.evidence || {})["failures." + way],
      isOfAnotherSize = observedGpus(scenario) !== scenario.cluster.n_gpus;
    return isSet(origin) && (origin.status === "assumed" || (isSet(origin.source) && isOfAnotherSize));
  }

  // The plausible range that includes the failure rates of published clusters, with the same draws; null for a run with
  // its own rate.
  function acrossClusters(scenario, inputs, rate, n) {
    if (!rateIsFromElsewhere(scenario) || !(nodeRate(scenario) > 0)) {
      return null;
    }
    const per = scenario.cluster.gpus_per_node / GPUS_PER_NODE;
    return overAssumed(scenario, inputs, n, { ...rate, quantiles: rate.quantiles.map((value) => value * per) });
  }

  // ETTR with an interval, or the run's own; 0 if it never ends, and first order if maintenance is too frequent.
  function ettrAt(run, tau) {
    const atInterval = withTau(run, Math.max(tau === undefined ? run.tau : tau, head(run)));
    if (atInterval.tiers.length && outOfOrder(atInterval)) {
      return NaN; // the values together break a rule of the faster tiers
    }
    let ettr = ettrOf(atInterval);
    if (!isFinite(ettr) && run.stopsPerH > 0) {
      ettr = ettrOf({ ...atInterval, stopsPerH: 0 }) * (1 - run.stopsPerH * run.stop);
    }
    return isFinite(ettr) ? Math.max(ettr, 0) : 0;
  }

  const MOST_TRIES = 8; // points tried for each draw

  // The plausible range of the ETTR at the best interval over the assumed inputs, without draws that contradict the
  // measured ETTR: { inputs, ettr, low, high, values, n, nRedrawn, leading, atHalf, atTwice }.
  function overAssumed(scenario, inputs, n, rate) {
    const run = inHours(scenario),
      tau = best(run).tau,
      ettr = ettrAt(run, tau),
      draws = n || 4096;
    const ofTheRun = assumedIn(scenario, inputs),
      assumed = rate ? ofTheRun.concat([{ ...rate, value: failureRate(scenario) }]) : ofTheRun,
      result = { inputs: assumed, ettr, low: null, high: null, n: 0, values: [] };
    if (!assumed.length) {
      return result;
    }
    const measured = scenario.measured,
      measuredOn = measured ? inHours(scenario, measured.n_gpus) : null;
    const rule = typeof scenario.checkpoint.interval_min === "string";
    const agrees = (values) => {
      if (!measured) {
        return true;
      }
      const changed = patched(measuredOn, scenario, values),
        ettrThere = ettrAt(changed, rule ? best(changed).tau : changed.tau);
      return ettrThere >= (measured.ettr || measured.ettr_above || 0) && ettrThere <= (measured.ettr_below || 1);
    };
    const points = [],
      all = [],
      kept = [];
    let tried = 0;
    const draw = (u) => {
      const values = Object.fromEntries(assumed.map((input, j) => [input.field, valueAt(input, u[j])]));
      const value = ettrAt(patched(run, scenario, values), tau);
      tried += 1;
      if (isNaN(value)) {
        return; // rejected: a later point is drawn in its place
      }
      points.push(u);
      all.push(value);
      if (agrees(Object.fromEntries(ofTheRun.map((input) => [input.field, values[input.field]])))) {
        kept.push(value);
      }
    };
    while (all.length < draws && tried < MOST_TRIES * draws) {
      for (const u of evenPoints(draws, assumed.length, tried)) {
        if (all.length < draws) {
          draw(u);
        }
      }
    }
    if (!all.length) {
      return result;
    }
    const shares = assumed.map(
      (_, j) =>
        correlation(
          points.map((u) => u[j]),
          all
        ) ** 2
    );
    const drawn = assumed.filter((input) => input.field !== "checkpoint.interval_min"); // the plan chooses the interval
    const order = assumed.map((_, j) => j).sort((a, b) => shares[b] - shares[a] || a - b),
      leading = assumed[order[0]];
    const isSourced = 2 * drawn.filter((input) => input.source).length >= drawn.length;
    Object.assign(result, {
      inputs: order.map((j) => assumed[j]),
      n: all.length,
      nRedrawn: tried - all.length,
      values: kept,
      leading,
    });
    if (leading.field !== "checkpoint.interval_min" && leading.value > 0) {
      [result.atHalf, result.atTwice] = [leading.half, leading.twice].map((value) =>
        ettrAt(patched(run, scenario, { [leading.field]: value }), tau)
      );
    }
    if (isSourced && kept.length >= 100) {
      kept.sort((a, b) => a - b);
      const part = (p) => {
        const i = p * (kept.length - 1),
          k = Math.floor(i);
        return kept[k] + (i - k) * ((kept[k + 1] || 0) - kept[k]);
      };
      [result.low, result.high] = [part(0.05), part(0.95)];
      if (agrees(Object.fromEntries(ofTheRun.map((input) => [input.field, input.value])))) {
        result.low = Math.min(result.low, ettr);
        result.high = Math.max(result.high, ettr);
      }
    }
    return result;
  }

  function correlation(xs, ys) {
    const n = xs.length,
      mx = sum(xs) / n,
      my = sum(ys) / n;
    let xy = 0,
      xx = 0,
      yy = 0;
    for (let i = 0; i < n; i += 1) {
      const a = xs[i] - mx,
        b = ys[i] - my;
      xy += a * b;
      xx += a * a;
      yy += b * b;
    }
    return xx > 0 && yy > 0 ? xy / Math.sqrt(xx * yy) : 0;
  }

  // ---- mitigations

  const ORDER = [["set"], ["scale", "add", "cap", "floor"]];
  const OPERATIONS = {
    set: (_, value) => value,
    scale: (current, value) => current * value,
    add: (current, value) => current + value,
    cap: Math.min,
    floor: Math.max,
  };

  // The fields of a change: of every mode, of the modes of a name, or else of a category.
  function targets(scenario, path, op) {
    const list = leadsIntoList(path);
    if (!list) {
      return [path];
    }
    const last = path.lastIndexOf("."),
      name = path.slice(list.length + 1, last),
      field = path.slice(last + 1);
    const items = at(scenario, list) || [],
      named = items.filter((item) => name === "*" || item.name === name);
    const chosen = named.length ? named : items.filter((item) => item.category === name);
    return chosen
      .filter((item) => op === "set" || isSet(item[field]) || field === "factor")
      .map((item) => list + "." + item.name + "." + field);
  }

  const holds = (scenario, change) =>
    !(change.when && !at(scenario, change.when)) &&
    !(change.unless || []).some((path) => {
      const value = at(scenario, path);
      return isSet(value) && value !== 0;
    });

  // A scenario with changes, each with its strength, in the order of operations.
  function changed(scenario, changes) {
    let result = scenario;
    for (const stageOf of ORDER) {
      const next = copy(result),
        holding = changes.filter(([change]) => holds(result, change));
      for (const op of stageOf) {
        for (const [change, strength] of holding.filter(([change]) => change.op === op)) {
          for (const path of targets(result, change.path, op)) {
            const current = path.endsWith(".factor") && !isSet(at(next, path)) ? 1 : at(next, path);
            const value = change.of === "stall_s" ? change.value * result.checkpoint.stall_s : change.value;
            const [holder, field] = path.includes(".") ? place(next, path) : [next, path];
            if (isObject(value) && op === "add") {
              holder[field] = (current || []).concat([copy(value)]).sort((a, b) => a.interval_s - b.interval_s);
              continue;
            }
            const number = typeof current === "number";
            const amount = number ? OPERATIONS[op](current, value) : value;
            holder[field] =
              strength !== 1 && number && typeof amount === "number"
                ? current + strength * (amount - current)
                : copy(amount);
          }
        }
      }
      result = next;
    }
    return result;
  }

  // True if a mitigation acts on something that the scenario lacks and that it does not add itself.
  function isMissing(scenario, mitigation) {
    const made = mitigation.changes.filter((change) => change.op === "set").map((change) => change.path);
    return mitigation.changes.some(({ path, op, ...more }) => {
      if (!holds(scenario, more)) {
        return false;
      }
      if (leadsIntoList(path)) {
        return !path.includes("*") && !targets(scenario, path, op).length;
      }
      const section = path.split(".")[0];
      return path !== section && !scenario[section] && !made.includes(section);
    });
  }

  // The path of a rule that a changed scenario breaks; empty if it breaks none.
  function broken(scenario) {
    const c = scenario.checkpoint,
      tiers = c.tiers || [],
      last = tiers[tiers.length - 1],
      minutes = c.interval_min;
    const intervalMin = typeof minutes === "number" ? minutes : Infinity;
    if (intervalMin < (((1 - c.persist_slowdown) * c.persist_s) / 60) * (1 - LAST_DIGITS)) {
      return "checkpoint.interval_min";
    }
    if (
      last &&
      (intervalMin * 60 < last.interval_s * (1 - LAST_DIGITS) || c.persist_s < (last.write_s || 0) * (1 - LAST_DIGITS))
    ) {
      return "checkpoint.tiers";
    }
    const nodes = scenario.cluster.n_gpus / scenario.cluster.gpus_per_node,
      modes = (scenario.failures.modes || []).concat([{}]);
    const names = tiers.map((tier) => tier.name);
    return new Set(names).size < names.length ||
      tiers.some((tier) => tier.copies > nodes || tier.interval_s < (tier.write_s || 0)) ||
      tiers.some((tier, i) => i && (tier.write_s || 0) < (tiers[i - 1].write_s || 0)) ||
      tiers.some((tier, i) => i && modes.some((mode) => survives(tier, mode) + ROUNDING < survives(tiers[i - 1], mode)))
      ? "checkpoint.tiers"
      : "";
  }

  const apply = (scenario, mitigations, strengths) =>
    changed(
      scenario,
      mitigations.flatMap(({ id, changes }) =>
        changes.map((change) => [change, strengths && has(strengths, id) ? strengths[id] : 1])
      )
    );

  // ETTR at the best interval, and the relative cost of the work; null without an answer.
  function atBest(scenario) {
    if (broken(scenario)) {
      return null;
    }
    try {
      const run = inHours(withRule(scenario)),
        of = best(run);
      return of.ettr > 0 ? { ettr: of.ettr, tau: of.tau, cost: 1 / (scenario.job.throughput_factor * of.ettr) } : null;
    } catch (error) {
      if (error instanceof NotHere || error instanceof Endless) {
        return null;
      }
      throw error;
    }
  }
  // The interval does not matter here: a number avoids the search for the best one.
  const withRule = (scenario) => ({ ...scenario, checkpoint: { ...scenario.checkpoint, interval_min: 1 } });

  global.ettr = {
    NotHere,
    Endless,
    leastWhole,
    withRule,
    head,
    H_PER_MONTH,
    at,
    override,
    complete,
    refused,
    inHours,
    growth,
    restartAfter,
    failureRate,
    observableMttf,
    exact,
    ettrOf,
    withTau,
    patched,
    best,
    band,
    intervalEnds,
    poissonInterval,
    finishing,
    losses,
    usdPerH,
    unexplained,
    overAssumed,
    acrossClusters,
    rateIsFromElsewhere,
    observedGpus,
    restartAt,
    apply,
    isMissing,
    atBest,
    enoughSpares,
    leastWhole,
    waitingShare,
    inRepair,
  };
})(typeof window === "undefined" ? globalThis : window);
