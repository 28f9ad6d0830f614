// What a target takes, by the model of the pages: the largest value of a field, the largest job, and what would have to be
// different for a run that does better than the model allows.
(function (ettr) {
  "use strict";

  // The largest value of a field that is better small, with the best interval at each, that reaches an ETTR: null where
  // none does, Infinity where every one does. The field "rate" is the failure rate of the job over what it is.
  function largestReaching(scenario, path, target) {
    const run = ettr.inHours(ettr.withRule(scenario)), mttf = path === "failures.rate_per_1000_node_days";
    const of = (value) => {
      const changed_ = mttf ? { ...run, rate: run.rate * value / ettr.failureRate(scenario) } : ettr.patched(run, scenario, { [path]: value });
      return ettr.best(changed_).ettr;
    };
    let good = 0, bad = 1e12;
    if (!(of(good) >= target)) { return { value: null, best: of(good) }; }
    if (of(bad) >= target) { return { value: Infinity, best: of(good) }; }
    for (let i = 0; i < 200 && bad - good > 1e-13 * bad; i += 1) {
      const middle = good > 0 ? Math.sqrt(good * bad) : bad > 1e-9 ? bad * 1e-3 : 0;
      if (middle === 0 || middle === good) { break; }
      if (of(middle) >= target) { good = middle; } else { bad = middle; }
    }
    return { value: good, best: of(0) };
  }

  // The largest job that reaches an ETTR, with the best interval; 0 where none does. [GPUs]
  function largestSize(scenario, target) {
    const of = (n) => ettr.best(ettr.inHours(ettr.withRule(scenario), n)).ettr, per = scenario.cluster.gpus_per_node;
    return (ettr.leastWhole((nodes) => !(of((nodes + 1) * per) >= target) || nodes > 1e9, 1)) * per;
  }

  // Each input that alone would allow a measured ETTR that is more than the model's, with the value that would.
  function couldBe(scenario, measured) {
    const run = ettr.inHours(scenario), rule = typeof scenario.checkpoint.interval_min === "string", could = [];
    const reaches = (changed) => ettr.ettrOf(ettr.withTau(changed, rule ? ettr.best(changed).tau : Math.max(changed.tau, ettr.head(changed)))) >= measured;
    const scaled = (path, by) => path === "rate" ? { ...run, rate: run.rate * by } : ettr.patched(run, scenario, { [path]: ettr.at(scenario, path) * by });
    for (const path of ["rate", "checkpoint.stall_s", "recovery.restart_min", "recovery.detection_min"]) {
      if (path !== "rate" && !(ettr.at(scenario, path) > 0)) { continue; }
      for (let i = 0; i < 400; i += 1) {
        const by = 1e-3 ** (i / 399);
        if (!reaches(scaled(path, by))) { continue; }
        could.push(path === "rate" ? { path: "mttf_h", value: 1 / (run.rate * by), given: 1 / run.rate } : { path, value: ettr.at(scenario, path) * by, given: ettr.at(scenario, path) });
        break;
      }
    }
    const of = ettr.best(run);
    if (!rule && of.ettr >= measured) { could.push({ path: "interval_h", value: of.tau, given: run.tau }); }
    return could;
  }

  Object.assign(ettr, { largestReaching, largestSize, couldBe });
})(window.ettr);
