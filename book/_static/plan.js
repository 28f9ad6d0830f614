// Parts of a plan beyond the hours, with the model of the pages: recommended mitigations, requirements of a target, and
// inputs that could explain a measured ETTR above the model's.
(function (ettr) {
  "use strict";

  const { atBest, apply, inHours, isMissing, refused, usdPerH, withRule, Endless, H_PER_MONTH } = ettr;

  const ROUNDING = 1e-9,
    LEAST_SHARE = 0.001,
    LEAST_OF_STEP = 0.5,
    MONTHS = 12;
  const EFFECTS = ["published", "published in part", "assumed"];

  // Sets of mitigations of one run, with their savings: a second implementation of ettr.recommendation.best_set.
  // `prices` and `strengths` are the reader's, by id. Sets are arrays of ids.
  function setsOf(scenario, catalogue, prices, strengths) {
    const before = atBest(scenario);
    if (!before) {
      throw new Endless("the run would practically never end");
    }
    const run = inHours(withRule(scenario)),
      runH = run.ends ? run.work / before.ettr : MONTHS * H_PER_MONTH,
      months = scenario.cost.payback_months || runH / H_PER_MONTH,
      usd = usdPerH(scenario),
      cost = usd * months * H_PER_MONTH,
      bests = new Map(),
      values = new Map();
    const byId = new Map(catalogue.map((mitigation) => [mitigation.id, mitigation]));
    const text = (mitigation) => JSON.stringify(withRule(mitigation)),
      written = text(scenario);
    const keyOf = (ids) => [...ids].sort().join(" ");

    function atBestWith(ids) {
      const key = keyOf(ids);
      if (!key) {
        return before;
      }
      if (!bests.has(key)) {
        const treated = apply(
          scenario,
          key.split(" ").map((id) => byId.get(id)),
          strengths
        );
        bests.set(key, refused(treated).length ? null : atBest(treated));
      }
      return bests.get(key);
    }
    const priceOf = (id) =>
      prices && Object.hasOwn(prices, id)
        ? prices[id]
        : byId.get(id).usd + byId.get(id).usd_per_gpu * scenario.cluster.n_gpus;
    const priceUsd = (ids) => ids.reduce((total, id) => total + priceOf(id), 0);
    function savedShare(ids, over) {
      const [after, other] = [atBestWith(ids), atBestWith(over || [])];
      return after && other ? (other.cost - after.cost) / before.cost : -Infinity;
    }
    // Net saving as a share of the run's cost over the horizon; without prices, as a share of its hours.
    function value(ids) {
      const key = keyOf(ids);
      if (!values.has(key)) {
        values.set(key, savedShare(ids) - (cost > 0 ? priceUsd(ids) / cost : LEAST_SHARE * ids.length));
      }
      return values.get(key);
    }
    const apart = (id, other) => byId.get(id).conflicts.includes(other);
    const goTogether = (ids) => ids.every((id, i) => ids.slice(i + 1).every((other) => !apart(id, other)));
    const without = (ids, id) => ids.filter((other) => other !== id);
    const perMonth = (share) => share * H_PER_MONTH;

    const candidates = catalogue
      .filter((mitigation) => {
        if (isMissing(scenario, mitigation)) {
          return false;
        }
        const treated = apply(scenario, [mitigation]);
        return text(treated) !== written && !refused(treated).length && atBest(treated) !== null;
      })
      .map((mitigation) => mitigation.id)
      .sort();

    function better(current, other) {
      const gained = value(other) - value(current);
      if (Math.abs(gained) <= ROUNDING) {
        return keyOf(other) < keyOf(current) ? other : current;
      }
      return gained > 0 ? other : current;
    }
    function* neighbours(chosen) {
      for (const id of chosen) {
        yield without(chosen, id);
      }
      for (const id of candidates.filter((other) => !chosen.includes(other))) {
        for (const rest of [chosen, ...chosen.map((other) => without(chosen, other))]) {
          const next = rest.concat([id]);
          if (goTogether(next)) {
            yield next;
          }
        }
      }
    }
    // Repeat the best single change until none improves the set; `held` always stays in it.
    function climbed(start, held) {
      for (let chosen = start; ; ) {
        let best = chosen;
        for (const other of neighbours(chosen)) {
          if (!held || other.includes(held)) {
            best = better(best, other);
          }
        }
        if (value(best) <= value(chosen) + ROUNDING) {
          return chosen;
        }
        chosen = best;
      }
    }
    function best() {
      let chosen = climbed([]);
      for (const tried = new Set(); !tried.has(keyOf(chosen)); ) {
        tried.add(keyOf(chosen));
        for (const id of candidates.filter((other) => !chosen.includes(other))) {
          const rest = chosen.filter((other) => !apart(id, other));
          if (rest.length < chosen.length) {
            chosen = better(chosen, climbed(rest.concat([id]), id));
          }
        }
      }
      return chosen;
    }

    // A set as steps, ordered by the saving that each adds; `h` is its saving with all others in place.
    function stepsOf(chosen) {
      const steps = [],
        above = [];
      while (above.length < chosen.length) {
        const left = chosen.filter((id) => !above.includes(id)).sort();
        const id = left.reduce((a, b) => (value(above.concat([b])) > value(above.concat([a])) ? b : a));
        above.push(id);
        const others = without(chosen, id),
          after = atBestWith(above);
        if (!after || !atBestWith(chosen) || !atBestWith(others)) {
          return null;
        }
        const h = perMonth(savedShare(chosen, others)),
          price = priceOf(id),
          payback = !price ? 0 : h * usd > 0 ? price / (h * usd) : Infinity;
        steps.push({
          id,
          title: byId.get(id).title,
          h,
          usd: h * usd,
          totalH: perMonth(savedShare(above)),
          totalUsd: perMonth(savedShare(above)) * usd,
          ettr: after.ettr,
          tau: after.tau,
          price,
          payback,
          pays: value(chosen) >= value(others) - ROUNDING,
          effect: byId.get(id).effect,
        });
      }
      return steps;
    }

    // Mitigations that would pay instead of steps: cheaper ones, and those with better evidence.
    function alternativesTo(order) {
      const best = new Map();
      for (const id of candidates.filter((other) => !order.includes(other))) {
        const excluded = order.filter((other) => apart(id, other));
        for (const replaces of excluded.length ? [excluded] : order.map((item) => [item])) {
          const others = order.filter((other) => !replaces.includes(other)),
            gained = value(others.concat([id])) - value(others),
            saved = savedShare(others.concat([id]), others),
            of = savedShare(order, others);
          if (!(gained > ROUNDING) || saved < LEAST_OF_STEP * of) {
            continue;
          }
          const rank = (item) => EFFECTS.indexOf(byId.get(item).effect),
            isCheaper = priceOf(id) < priceUsd(replaces),
            isBetterKnown = rank(id) < Math.max(...replaces.map(rank));
          const alternative = {
            id,
            title: byId.get(id).title,
            effect: byId.get(id).effect,
            replaces,
            h: perMonth(saved),
            ofH: perMonth(of),
            price: priceOf(id),
          };
          for (const [kind, applies] of [
            [0, isCheaper],
            [1, isBetterKnown],
          ]) {
            const key = JSON.stringify([replaces, kind]),
              last = best.get(key);
            if (applies && (!last || gained > last.gained)) {
              best.set(key, { gained, alternative, place: order.indexOf(replaces[0]), kind });
            }
          }
        }
      }
      const sorted = [...best.values()].sort((a, b) => a.place - b.place || a.kind - b.kind);
      const byKey = sorted.map(({ alternative }) => [alternative.id + alternative.replaces, alternative]);
      return [...new Map(byKey).values()];
    }

    return { before, months, candidates, best, stepsOf, alternativesTo, value };
  }

  // The mitigations to choose together: { ettr, months, steps, alternatives, quickest }.
  function recommend(scenario, catalogue, prices) {
    const sets = setsOf(scenario, catalogue, prices),
      steps = sets.stepsOf(sets.best()),
      alone = sets.candidates.map((id) => sets.stepsOf([id])[0]).filter((step) => isFinite(step.payback));
    return {
      ettr: sets.before.ettr,
      months: sets.months,
      steps,
      alternatives: sets.alternativesTo(steps.map((step) => step.id)),
      quickest: alone.length ? alone.reduce((a, b) => (b.payback < a.payback ? b : a)) : null,
      hasPrice: usdPerH(scenario) > 0,
    };
  }

  // The largest value of a field that still reaches an ETTR, with the best interval at each value: null if none does,
  // Infinity if every value does.
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

  // Inputs that alone could explain a measured ETTR above the model's, each with the value needed. The path "rate" is a
  // factor on the failure rate.
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
            ? { path: "mttf_h", value: 1 / (run.rate * by), current: 1 / run.rate }
            : { path, value: ettr.at(scenario, path) * by, current: ettr.at(scenario, path) }
        );
        break;
      }
    }
    const of = ettr.best(run);
    if (!rule && of.ettr >= measured) {
      could.push({ path: "interval_h", value: of.tau, current: run.tau });
    }
    return could;
  }

  Object.assign(ettr, { recommend, setsOf, largestReaching, largestSize, couldBe });
})(window.ettr);
