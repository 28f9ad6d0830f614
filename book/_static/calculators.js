// Formulas in use for ETTR or goodput, a second implementation: each for a run in hours, null without an answer. Authors
// and limits are in the package (ettr_book.validation.calculators).
(function (global) {
  "use strict";

  const ettr = global.ettr;

  const { growth, restartAfter } = ettr;
  const recovery = (run) => run.detection + run.queue + restartAfter(run);
  // Expected time until a cycle completes, with failures in attempts but not in recoveries.
  const renewed = (run, h) => growth(run.rate, h) * (1 + run.rate * recovery(run));

  const FORMULAS = {
    young: (run) => 1 - run.stall / run.tau - run.rate * (run.tau / 2 + recovery(run)),
    daly: (run) => run.tau / (Math.exp(run.rate * recovery(run)) * growth(run.rate, run.tau + run.stall)),
    rsc: (run) =>
      (1 - run.rate * (run.detection + restartAfter(run) + run.tau / 2)) /
      (1 + run.stall / run.tau) /
      (1 + run.rate * run.queue),
    availability(run) {
      const cycle = run.tau + run.stall;
      return (1 - run.stall / cycle) / (1 + run.rate * (recovery(run) + cycle / 2));
    },
    google(run) {
      const available = 1 - run.rate * (run.detection + run.queue);
      return available > 0 ? 1 - (run.rate * (run.tau / 2 + restartAfter(run))) / available : 0;
    },
    tco_cold: (run) => 1 - run.rate * (recovery(run) + run.tau / 2),
    tco_hot: (run) => 1 - run.rate * (run.detection + run.tau / 2 + restartAfter(run) + run.queue / run.nodes),
    tco_tolerant: (run) => 1 - run.rate * (run.detection + restartAfter(run) + run.queue / run.nodes),
    airesim: (run) => 1 / (1 + run.rate * recovery(run)),
    netcap: (run) => run.tau / renewed(run, run.tau + run.stall),
    mlsysim: (run) => 1 - Math.sqrt((run.stall * run.rate) / 2) - run.rate * recovery(run),
    mlsysim_checkpoint: (run) => 1 - run.stall / run.tau,
    mtbi: (run) =>
      (run.tau / (run.tau + run.stall) - (run.rate * run.tau) / 2) / (1 + run.rate * recovery(run)),
    ubc: (run) => run.tau / (run.stall + renewed(run, run.tau)),
  };

  // The steady state of a scenario without features that no formula covers.
  function steadyOf(scenario) {
    return {
      ...scenario,
      job: { ...scenario.job, include_start: false },
      maintenance: undefined,
      prediction: undefined,
      checkpoint: { ...scenario.checkpoint, tiers: [] },
    };
  }

  // The result of each formula for the steady state, and the exact ETTR: { exact, results: { name: share or null } }.
  ettr.calculators = function (scenario) {
    const run = ettr.inHours(steadyOf(scenario));
    const results = Object.entries(FORMULAS).map(([name, of]) => {
      const share = of(run);
      return [name, share > 0 ? share : null];
    });
    return { exact: ettr.exact(run).ettr, results: Object.fromEntries(results) };
  };
})(typeof window === "undefined" ? globalThis : window);
