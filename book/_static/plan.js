// What a plan says beyond the hours, by the model of the pages: what to do first, what a target takes, and what would have to
// be different for a run that does better than the model allows.
(function (ettr) {
  "use strict";

  const { atBest, apply, changed, inHours, isMissing, refused, usdPerH, withRule, Endless, H_PER_MONTH } = ettr;

  // What to do first about the hours that are lost: the mitigation that returns most for its price, effects that nobody
  // published after those known, each over those before it. { ettr, months, steps, atALoss, notHere }.
  function remedies(scenario, catalogue, n) {
    const first = atBest(scenario),
      gpus = scenario.cluster.n_gpus,
      dollars = usdPerH(scenario);
    if (!first) {
      throw new Endless("the run would practically never end");
    }
    const run = inHours(withRule(scenario)),
      jobH = run.ends ? run.work / first.ettr : 12 * H_PER_MONTH;
    const months = scenario.cost.payback_months || jobH / H_PER_MONTH,
      known = new Map(),
      notHere = [],
      atALoss = [];
    const of = (list) => {
      const key = list.map((one) => one.id).join(" ");
      if (!known.has(key)) {
        known.set(key, atBest(apply(scenario, list)));
      }
      return known.get(key);
    };
    const text = (one) => JSON.stringify(withRule(one)),
      mine = text(scenario);
    const left = catalogue.filter((one) => {
      if (isMissing(scenario, one)) {
        return false;
      }
      const treated = apply(scenario, [one]);
      if (text(treated) === mine) {
        return false;
      }
      if (refused(treated).length) {
        notHere.push(one.id);
        return false;
      }
      return of([one]) !== null;
    });
    const basis = new Map(
      left.map((one) => {
        const assumed = one.changes
          .filter((change) => JSON.stringify(changed(scenario, [[change, 1]])) !== JSON.stringify(scenario))
          .map((change) => change.status === "assumed");
        const known = assumed.some((none) => !none);
        return [one.id, !known ? "assumed" : assumed.includes(true) ? "published in part" : "published"];
      })
    );
    const chosen = [],
      steps = [];
    while (steps.length < (n || 3)) {
      const now = of(chosen) || first,
        paying = [];
      for (const one of left) {
        if (chosen.includes(one) || chosen.some((other) => one.conflicts.includes(other.id))) {
          continue;
        }
        const after = of(chosen.concat([one]));
        if (!after) {
          continue;
        }
        const gained = 1 - after.cost / now.cost,
          usd = gained * H_PER_MONTH * dollars,
          price = one.usd + one.usd_per_gpu * gpus;
        const payback = usd > 0 ? price / usd : price ? Infinity : 0;
        if (gained < 0.001) {
          continue;
        }
        const step = {
          id: one.id,
          title: one.title,
          h: gained * H_PER_MONTH,
          usd,
          gained,
          ettr: after.ettr,
          tau: after.tau,
          price,
          payback,
          share: payback / months,
          basis: basis.get(one.id),
          of: one,
        };
        if (step.share < 1) {
          paying.push(step);
        } else if (!atALoss.includes(one.id)) {
          atALoss.push(one.id);
        }
      }
      if (!paying.length) {
        break;
      }
      const next = paying.reduce((a, b) => {
        const [x, y] = [a.basis === "assumed", b.basis === "assumed"];
        return x !== y ? (x ? b : a) : b.payback < a.payback ? b : a;
      });
      steps.push(next);
      chosen.push(next.of);
    }
    return {
      ettr: first.ettr,
      months,
      steps,
      notHere,
      atALoss: atALoss.filter((id) => !steps.some((step) => step.id === id)),
    };
  }

  // The largest value of a field that is better small, with the best interval at each, that reaches an ETTR: null where
  // none does, Infinity where every one does. The field "rate" is the failure rate of the job over what it is.
  function largestReaching(scenario, path, target) {
    const run = ettr.inHours(ettr.withRule(scenario)),
      mttf = path === "failures.rate_per_1000_node_days";
    const of = (value) => {
      const moved = mttf
        ? { ...run, rate: (run.rate * value) / ettr.failureRate(scenario) }
        : ettr.patched(run, scenario, { [path]: value });
      return ettr.best(moved).ettr;
    };
    let good = 0,
      bad = 1e12;
    if (!(of(good) >= target)) {
      return { value: null, best: of(good) };
    }
    if (of(bad) >= target) {
      return { value: Infinity, best: of(good) };
    }
    for (let i = 0; i < 200 && bad - good > 1e-13 * bad; i += 1) {
      const middle = good > 0 ? Math.sqrt(good * bad) : bad > 1e-9 ? bad * 1e-3 : 0;
      if (middle === 0 || middle === good) {
        break;
      }
      if (of(middle) >= target) {
        good = middle;
      } else {
        bad = middle;
      }
    }
    return { value: good, best: of(0) };
  }

  // The largest job that reaches an ETTR, with the best interval; 0 where none does. [GPUs]
  function largestSize(scenario, target) {
    const of = (n) => ettr.best(ettr.inHours(ettr.withRule(scenario), n)).ettr,
      per = scenario.cluster.gpus_per_node;
    return ettr.leastWhole((nodes) => !(of((nodes + 1) * per) >= target) || nodes > 1e9, 1) * per;
  }

  // Each input that alone would allow a measured ETTR that is more than the model's, with the value that would.
  function couldBe(scenario, measured) {
    const run = ettr.inHours(scenario),
      rule = typeof scenario.checkpoint.interval_min === "string",
      could = [];
    const reaches = (changed) =>
      ettr.ettrOf(ettr.withTau(changed, rule ? ettr.best(changed).tau : Math.max(changed.tau, ettr.head(changed)))) >=
      measured;
    const scaled = (path, by) =>
      path === "rate"
        ? { ...run, rate: run.rate * by }
        : ettr.patched(run, scenario, { [path]: ettr.at(scenario, path) * by });
    for (const path of ["rate", "checkpoint.stall_s", "recovery.restart_min", "recovery.detection_min"]) {
      if (path !== "rate" && !(ettr.at(scenario, path) > 0)) {
        continue;
      }
      for (let i = 0; i < 400; i += 1) {
        const by = 1e-3 ** (i / 399);
        if (!reaches(scaled(path, by))) {
          continue;
        }
        could.push(
          path === "rate"
            ? { path: "mttf_h", value: 1 / (run.rate * by), given: 1 / run.rate }
            : { path, value: ettr.at(scenario, path) * by, given: ettr.at(scenario, path) }
        );
        break;
      }
    }
    const of = ettr.best(run);
    if (!rule && of.ettr >= measured) {
      could.push({ path: "interval_h", value: of.tau, given: run.tau });
    }
    return could;
  }

  Object.assign(ettr, { remedies, largestReaching, largestSize, couldBe });
})(window.ettr);
