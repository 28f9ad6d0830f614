"""A cluster of many jobs: where its GPU-hours go, how often jobs of each size fail, and what to do about it."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from ettr.cluster.accounting import Accounting
from ettr.cluster.classes import JobClass, run_of
from ettr.cluster.policy import Rule, policy_words
from ettr.core.report import Answer, Headline, Note, Report, Table, plain_values, table_of
from ettr.core.sentences import (
    about,
    count,
    duration,
    gpus,
    joined_range,
    listed,
    number,
    pct,
    roughly,
    span,
    usd,
)
from ettr.core.units import H_PER_MONTH, MIN_PER_H
from ettr.failures.groups import CohortTest
from ettr.failures.rates import FailureRate, job_mttf_h
from ettr.recommendation import Recommendation, recommend
from ettr.recommendation.answer import JobsOfASize
from ettr.scenario import Scenario
from ettr.scenario.fields import is_written
from ettr.scenario.paths import GPU_PRICE

PART_WORDS = {
    "productive": "productive",
    "lost_work": "lost work",
    "restart": "restarts",
    "checkpoint": "checkpoints",
    "preemption": "pre-emption",
    "waiting": "waiting (extra)",
}
"""The parts of the GPU-hours, and the waits beside them, as tables name them."""
DIFFERENT = 0.05
"""Below this p-value, jobs of each size are planned at their own failure rate."""


@dataclass(frozen=True, repr=False, eq=False)
class ClusterPlan(Answer):
    """A cluster of many jobs.

    Attributes
    ----------
    name : str
        File or mix that it was made from.
    common : Scenario
        What all jobs have in common, on all GPUs of the cluster.
    classes : tuple of JobClass
        Classes of jobs by size, smallest first.
    by_size : DataFrame
        A row per class: ``size``, ``n_gpus``, ``share`` and ``job_share`` (of GPU-hours and jobs), ``productive`` and
        ``lost_work``, ``restart``, ``checkpoint``, ``preemption`` and ``waiting`` relative to its GPU-hours,
        ``mttf_h`` of a job and ``interval_min`` [min], ``best_min``, ``low_min`` and ``high_min`` [min], ``ettr`` and
        ``ettr_at_best`` expected in the long run; from accounting also all that :class:`HoursBySize` has.
    rate : FailureRate
        Failure rate of the nodes, over all sizes.
    comparison : CohortTest or None
        Test of equal failure rates of all sizes; None for a mix, or without failures.
    second_order : float
        Share of pre-emption for failed jobs in all GPU-hours lost to failures; NaN if nothing is known.
    policy : tuple of Rule
        Checkpoint intervals by size.
    accounting : Accounting or None
        The accounting behind it.

    Examples
    --------
    >>> from ettr import cluster
    >>> answer = cluster.make("rsc-1")
    >>> answer.by_size["size"].tolist()[-2:], f"{answer.by_size['mttf_h'].iloc[-1]:.1f}"
    (['2,048', '4,096'], '7.2')
    """

    name: str
    common: Scenario
    classes: tuple[JobClass, ...]
    by_size: pd.DataFrame
    rate: FailureRate
    comparison: CohortTest | None
    second_order: float
    policy: tuple[Rule, ...]
    accounting: Accounting | None = None

    @property
    def n_gpus(self) -> int:
        """GPUs of the cluster."""
        return self.common.cluster.n_gpus

    @property
    def totals(self) -> dict[str, float]:
        """Productive share, each loss, and waiting, relative to all GPU-hours."""
        shares = self.by_size["share"].to_numpy()
        return {part: float(shares @ self.by_size[part]) for part in PART_WORDS}

    @property
    def productive_ends(self) -> tuple[float, float] | None:
        """95% CI of the productive share of all GPU-hours, with independent classes; None for a mix."""
        if self.accounting is None:
            return None
        table, total = self.by_size, self.totals["productive"]
        low, high = (table["share"] * (table[f"productive_{end}"] - table["productive"]) for end in ("low", "high"))
        return max(total - float(np.sqrt((low**2).sum())), 0.0), min(total + float(np.sqrt((high**2).sum())), 1.0)

    @property
    def lost_to_failures(self) -> float:
        """Share of all GPU-hours in lost work, restarts and pre-emption."""
        return self.totals["lost_work"] + self.totals["restart"] + self.totals["preemption"]

    @property
    def gpus_in_use(self) -> float:
        """GPUs in use on average; for a mix all. [GPUs]"""
        return self.accounting.gpu_h / self.accounting.window_h if self.accounting else float(self.n_gpus)

    @property
    def lost_shares(self) -> pd.Series:
        """Share of each class in all GPU-hours lost to its failures, recomputed or for restarts; 0 without losses."""
        lost = (self.by_size["lost_work"] + self.by_size["restart"]) * self.by_size["share"]
        return lost / lost.sum() if lost.sum() > 0 else lost

    @property
    def most_costly(self) -> pd.DataFrame:
        """At most two classes with the largest losses, by size: rows of :attr:`by_size` with ``lost``, their share."""
        lost = self.lost_shares.nlargest(2)
        top = lost[lost >= 0.05].index.sort_values()  # others hardly matter
        return self.by_size.loc[top].assign(lost=self.lost_shares[top])

    @functools.cached_property
    def jobs(self) -> tuple[JobsOfASize, ...]:
        """The run of each class that makes progress, with its share of the GPU-hours."""
        rated = zip(self.classes, self.by_size["planned_rate"], self.by_size["ettr_at_best"], strict=True)
        return tuple(
            JobsOfASize(run_of(of_size, self.common, rate), of_size.share) for of_size, rate, ettr in rated if ettr > 0
        )

    @property
    def _fails(self) -> bool:
        return bool(self.jobs) and self.rate.per_1000_node_days > 0

    @functools.cached_property
    def recommendation(self) -> Recommendation | None:
        """The mitigations to choose for the whole cluster; None without failures."""
        paid_usd = self.common.prices.usd_per_gpu_h * self.gpus_in_use / self.n_gpus  # only GPU-hours in use are saved
        return recommend(self.common.override({GPU_PRICE: paid_usd}), jobs=self.jobs) if self._fails else None

    @functools.cached_property
    def of_largest(self) -> Recommendation | None:
        """The mitigations to choose for a job of the largest class alone; None without failures."""
        return recommend(self.jobs[-1].scenario) if self._fails else None

    @property
    def projected(self) -> pd.DataFrame:
        """MTTF of larger jobs: ``n_gpus``, ``mttf_h``, ``low_h`` and ``high_h`` [h].

        At the overall failure rate, or at that of the largest class if the rates differ.
        """
        sizes = np.array([self.classes[-1].largest * factor for factor in (4, 16)])
        rate, low, high = self.rate.per_1000_node_days, self.rate.low, self.rate.high
        if self.comparison and self.comparison.p < DIFFERENT:
            rate, low, high = self.by_size[["planned_rate", "rate_low", "rate_high"]].iloc[-1]
        mttf_h = job_mttf_h(rate, sizes, self.common.cluster.gpus_per_node)
        ends = {"low_h": mttf_h * rate / high, "high_h": mttf_h * rate / low if low else math.inf}
        return pd.DataFrame({"n_gpus": sizes, "mttf_h": mttf_h, **ends})

    @property
    def headline(self) -> str:
        """Size of the cluster, and its productive share."""
        return f"{self.name}: {gpus(self.n_gpus)}, {pct(self.totals['productive'], 0)} of the GPU-hours productive"

    def to_dict(self) -> dict[str, Any]:
        """Return all results for JSON."""
        record = {
            "source": self.name,
            "n_gpus": self.n_gpus,
            "n_jobs": self.accounting.n_jobs if self.accounting else None,
            "gpu_h": self.accounting.gpu_h if self.accounting else None,
            "window_h": self.accounting.window_h if self.accounting else None,
            "totals": self.totals,
            "productive_95": self.productive_ends,
            "by_size": self.by_size,
            "rate": self.rate,
            "rates_differ": self.comparison,
            "second_order_share": self.second_order,
            "policy": [vars(rule) | {"words": rule.words} for rule in self.policy],
            "projected": self.projected,
            "recommendation": self.recommendation.to_dict() if self.recommendation else None,
            "recommendation_of_largest": self.of_largest.to_dict() if self.of_largest else None,
            "notes": self.accounting.notes if self.accounting else (),
            "doubts": self.accounting.doubts if self.accounting else (),
            "left_out": self.accounting.ledger if self.accounting else None,
        }
        return dict(plain_values(record))

    def report(self) -> Report:
        """Return the policy, where the GPU-hours go, the failure rates by size, and the mitigations."""
        sections: Report = [Headline(self._title)]
        sections += [Note(text) for text in (*self._caveats(), policy_words(self.policy), *self._costs()) if text]
        sections += [Headline("Where the GPU-hours go, by GPUs of a job", apart=True), self._parts(), self._rates()]
        sections += [Note(text) for text in (self._constancy, self._projection) if text]
        if self.recommendation:
            sections.append(Headline("Mitigations for the whole cluster", apart=True))
            sections += [*self.recommendation.report(names_others=False), Note(self._largest)]
        return [*sections, *(Note(text, dim=True) for text in self._assumptions())]

    @property
    def _title(self) -> str:
        per_h = self.rate.per_1000_node_days
        mtbf_h = job_mttf_h(per_h, self.n_gpus, self.common.cluster.gpus_per_node)
        often = f"MTBF of all GPUs together {roughly(mtbf_h)}" if math.isfinite(mtbf_h) else "no failures"
        if self.accounting is None:
            return f"{self.name}: {len(self.classes)} classes of jobs on {gpus(self.n_gpus)}, {often}"
        jobs, lasted = count(self.accounting.n_jobs), duration(self.accounting.window_h)
        return f"{self.name}: {jobs} jobs on {gpus(self.n_gpus)} in {lasted}, {often}"

    def _caveats(self) -> Iterator[str]:
        """Yield what the policy does not hold for."""
        if self.rate.per_1000_node_days == 0:
            yield "No failures: the policy is for the one-sided 95% upper limit of the failure rate."
        endless = self.by_size[self.by_size["ettr_at_best"] == 0]["size"].tolist()
        if endless:
            yield f"Jobs of {listed(endless)} GPUs practically never end at this failure rate, whatever their interval."

    def _costs(self) -> Iterator[str]:
        """Yield the productive share, the cost of failures, and the sizes that they cost most."""
        totals, ends, lost = self.totals, self.productive_ends, self.lost_to_failures
        within = f" (95% CI {joined_range(*map(pct, ends))})" if ends else ""
        gpu_h = self.gpus_in_use * H_PER_MONTH
        price = self.common.prices.usd_per_gpu_h
        cost = f", {usd(about(lost * gpu_h * price))} per month at {price:g} USD per GPU-hour" if price else ""
        assumed = "" if not price or is_written(self.common, GPU_PRICE) else " (assumed price)"
        yield (
            f"{pct(totals['productive'])} of the GPU-hours are productive{within}. Lost work, restarts and "
            f"pre-emption take {pct(lost)}{cost}{assumed}."
        )
        top = self.most_costly
        if len(top) and len(self.by_size) > len(top):
            jobs = f"{pct(top['job_share'].sum())} of the jobs and " if top["job_share"].notna().all() else ""
            yield (
                f"Jobs of {listed(top['size'].tolist())} GPUs, {jobs}{pct(top['share'].sum(), 0)} of the GPU-hours, "
                f"account for {pct(top['lost'].sum(), 0)} of the lost work and restarts."
            )
        if self.second_order > 0:
            how = "" if self.accounting else ", estimated from the published pre-emptions of one job"
            yield f"Pre-emption for failed jobs is {pct(self.second_order, 0)} of what failures cost{how}."

    def _parts(self) -> Table:
        cells = {"GPUs": "{size}", "jobs": "{job_share:.1%}", "GPU-hours": "{share:.1%}"}
        cells |= {words: f"{{{part}:.1%}}" for part, words in PART_WORDS.items() if self.totals[part] > 0}
        total = {"size": "all", "job_share": 1.0, "share": 1.0, **self.totals}
        if self.productive_ends:
            total |= dict(zip(("productive_low", "productive_high"), self.productive_ends, strict=True))
            cells["productive"] += " ({productive_low:.1%}-{productive_high:.1%})"
        if self.by_size["job_share"].isna().any():
            del cells["jobs"]
        return replace(table_of(pd.concat([self.by_size, pd.DataFrame([total])]), cells), total=True)

    def _rates(self) -> Table:
        frame = self.by_size.assign(
            mttf=[roughly(hours) if math.isfinite(hours) else "" for hours in self.by_size["mttf_h"]],
            interval=[duration(minutes / MIN_PER_H) for minutes in self.by_size["interval_min"]],
            best=[roughly(m / MIN_PER_H) if math.isfinite(m) else "never ends" for m in self.by_size["best_min"]],
        )
        cells = {"GPUs": "{size}", "MTTF of a job": "{mttf}", "interval": "{interval}", "ETTR": "{ettr:.1%}"}
        if self.accounting:
            ends = zip(frame["rate_low"], frame["rate_high"], strict=True)
            frame["rates"] = [joined_range(number(low), number(high)) for low, high in ends]
            counted = {"failures": "{n_failures:,}", "per 1,000 node-days, 95% CI": "{rates}"}
            cells = {"GPUs": "{size}", **counted, **cells}
        cells |= {"best interval": "{best}", "ETTR at best": "{ettr_at_best:.1%}"}
        return replace(table_of(frame, cells), title="Failures and checkpoints, expected in the long run")

    @property
    def _constancy(self) -> str:
        """Whether the failure rate is the same for all sizes, as a sentence; empty for a mix."""
        if self.comparison is None:
            return ""
        test, rate = self.comparison, self.rate
        ends = joined_range(number(rate.low), number(rate.high))
        overall = f"{number(rate.per_1000_node_days)} per 1,000 node-days (95% CI {ends})"
        if test.p >= DIFFERENT:
            return f"No difference between the failure rates of the sizes (p = {test.p:.2g}); overall {overall}."
        return (
            f"The failure rate per node differs between sizes (p = {test.p:.2g}), from {test.lowest} GPUs (lowest) "
            f"to {test.highest} GPUs (highest). Each size is planned at its own rate; overall {overall}."
        )

    @property
    def _projection(self) -> str:
        """The MTTF of larger jobs, as a sentence; empty without failures."""
        if self.rate.per_1000_node_days == 0:
            return ""
        texts = [
            f"{gpus(row.n_gpus)} every {roughly(row.mttf_h)}"
            + (f" (95% CI {span((row.low_h, row.high_h))})" if row.high_h > row.low_h else "")
            for row in self.projected.itertuples()
        ]
        return f"At the same rate, a larger job would fail on {' and on '.join(texts)}."

    @property
    def _largest(self) -> str:
        """The difference from the set of the largest job, as a sentence."""
        ours, largest = self.recommendation, self.of_largest
        assert ours is not None
        assert largest is not None
        size = gpus(self.jobs[-1].scenario.cluster.n_gpus)
        if set(ours.ids) == set(largest.ids):
            return f"A job of {size} alone would need the same set."
        only = {name: step.title for step in largest.steps if (name := step.id) not in ours.ids}
        more = {name: step.title for step in ours.steps if (name := step.id) not in largest.ids}
        parts = [f"would leave out {listed(list(more.values()))}"] if more else []
        parts += [f"would add {listed(list(only.values()))}"] if only else []
        return f"The set for one job of {size} alone {' and '.join(parts)}."

    def _assumptions(self) -> Iterator[str]:
        """Yield the values that all jobs share, and the limits of the accounting."""
        recovery, stall_s, rate = self.common.recovery, self.common.checkpoint.stall_s, self.rate.per_1000_node_days
        yield (
            f"All jobs have, assumed unless you set it: a checkpoint every {duration(self.common.interval_h)} with a "
            f"stall of {stall_s:g} s, detection {recovery.detection_min:g} min, restart {recovery.restart_min:g} min"
            f"{'' if self.accounting else f', {number(rate)} failures per 1,000 node-days'}."
        )
        if self.accounting:
            yield (
                "Each failure or pre-emption loses half an interval of work, or the whole run if that is shorter; all "
                "other time counts as productive, including that of jobs that ended by an error of their own."
            )
            yield from (f"Caution: {text}." for text in self.accounting.doubts)
            reasons = [
                f"{row.n:,} {row.action}: {row.reason} ({row.example})" for row in self.accounting.ledger.itertuples()
            ]
            if reasons:
                yield f"Left out {count(self.accounting.ledger['n'].sum())} rows: {'; '.join(reasons[:3])}."
