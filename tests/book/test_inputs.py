"""Pages that take the reader's numbers: what they answer, keep, refuse and say, in a real browser and from files."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest

from ettr import Scenario, evidence, plan
from ettr.core import sentences
from ettr.plan import assumed_fields
from ettr.plots import theme
from ettr.scenario import Scenario as ScenarioModel
from ettr_book.chapters.what_if import tables
from ettr_book.publish import page_data

pytestmark = pytest.mark.browser

INDEX, WHAT_IF = "book/index", "book/your_cluster/what_if"
CHARTS = {
    "scale": "book/ettr/scale",
    "checkpoint_interval": "book/ettr/checkpoint_interval",
    "finishing_date": "book/ettr/finishing_date",
    "spares": "book/mitigations/spares",
    "portfolio": "book/mitigations/portfolio",
    "failure_rates": "book/failures/failure_rates",
    "calculators": "book/reference/calculators",
}
LOOSE = {"portfolio": (1e-6, 1e-9), "finishing_date": (1e-4, 1e-3)}
"""Relative and absolute distance of rows, where it is not 1e-9: the pages have dates from their moments."""
STORY = {
    "GPUs": "4096",
    "MTBF": "9",
    "Checkpoint stall": "90",
    "Restart": "12",
    "Price per GPU-hour": "2.5",
}
ADDRESS = (
    f"#start={page_data.MINE}&cluster.n_gpus=4096&failures.job_mttf_h=9&checkpoint.stall_s=90&recovery.restart_min=12"
    "&cost.usd_per_gpu_h=2.5"
)
READY = "() => window.ettrWidgets && window.ettrWidgets.model"


@pytest.fixture
def opened(site, open_page):
    pages = []

    def open_one(docname, fragment="", **options):
        page = open_page(site / f"{docname}.html", fragment, **options)
        pages.append(page)
        if options.get("java_script_enabled", True):
            page.wait_for_function(READY, polling=50)
        return page

    yield open_one
    for page in pages:
        assert page.outside == []
        assert page.said == [], page.url
        page.context.close()


def entry(page, label):
    return page.get_by_role("textbox", name=label, exact=True).first


def settle(page):
    """Wait until the slower answers are there, and the address: those timers of the page are shorter than this one."""
    page.evaluate("() => new Promise(done => setTimeout(() => requestAnimationFrame(done), 500))")


def answers(page):
    settle(page)
    return " ".join(page.query_selector(".ettr-panel").inner_text().split())


def test_a_first_question_is_answered_from_the_first_page_as_by_the_command(opened):
    page = opened(INDEX)
    page.get_by_label("Start from").select_option(page_data.MINE)
    for label, value in STORY.items():
        entry(page, label).fill(value)
    said = answers(page)
    run = Scenario.of(
        {
            "cluster": {"n_gpus": 4096},
            "failures": {"job_mttf_h": 9},
            "checkpoint": {"stall_s": 90},
            "recovery": {"restart_min": 12},
            "cost": {"usd_per_gpu_h": 2.5},
        }
    )
    answer = plan.make(run)
    assert f"{100 * answer.budget.ettr:.0f}% of the time is useful training" in said
    assert answer.assumptions.words in said
    band = answer.band
    every, low, high = (sentences.roughly(x / 60) for x in (band.interval_min, band.low_min, band.high_min))
    assert f"Checkpoint every {every}; {sentences.joined_range(low, high)} costs" in said
    lost = answer.losses_at_best.total
    hours, dollars = (
        sentences.number(sentences.about(lost.h_per_month)),
        sentences.usd(sentences.about(lost.usd_per_month)),
    )
    assert f"Lost per month: {hours} h and {dollars}" in said
    for step in answer.recommendation.steps:
        saved = sentences.usd(sentences.about(step.saved_usd))
        assert f"{step.title}: saves {sentences.number(sentences.about(step.saved_h))} h, {saved} per month" in said
    line = "ettr plan --gpus 4096 --mtbf-h 9 --stall-s 90 --restart-min 12 --usd-per-gpu-h 2.5"
    command = page.query_selector("[data-ettr=calculator] code").text_content().split()
    assert sorted(command) == sorted(line.split())


def test_the_first_page_opens_with_the_books_run(opened):
    page, answer = opened(INDEX), plan.make("llama3-405b")
    said = answers(page)
    assert answer.assumptions.words in said
    assert f"Done after {sentences.duration(answer.dates.finishing.quantile(0.9))} (90% of runs)" in said
    assert page.query_selector(".ettr-banner") is None and "#" not in page.url
    for label in ("GPUs", "Checkpoint stall", "Failure detection", "Restart"):
        note = page.locator(f"#{entry(page, label).get_attribute('aria-describedby')}").text_content()
        assert re.match("published|derived|assumed", note), label


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_with_inputs_begins_with_the_rows_that_were_computed(opened, name):
    page = opened(CHARTS[name])
    run = Scenario.load("llama3-405b")
    ours = tables.ALL[name](run)
    of_page = page.evaluate(
        """name => { const W = window.ettrWidgets, widget = W[name];
        return widget.rows(W.model.now.scenario, widget.asking(W.model), W.model); }""",
        name,
    )
    for dataset, frame in ours.items():
        if dataset == "published":
            continue
        assert len(of_page[dataset]) == len(frame)
        for column in frame.columns:
            theirs = [row[column] for row in of_page[dataset]]
            if column == "what" and name == "portfolio":
                assert theirs[1:] == list(frame[column])[1:]
            elif frame[column].dtype.kind in "if":
                rel, chance = LOOSE.get(name, (1e-9, 1e-9))
                assert np.array(theirs, dtype=float) == pytest.approx(frame[column].to_numpy(), rel=rel, abs=chance)
            else:
                assert theirs == list(frame[column])


@pytest.mark.parametrize("name", CHARTS)
def test_a_chart_follows_its_inputs(opened, name):
    page = opened(CHARTS[name])
    place = page.query_selector("[data-ettr]")
    place.scroll_into_view_if_needed()
    drawn = "p => p.querySelector('.book-chart-target svg .mark-group, .book-chart-target svg .role-mark')"
    page.wait_for_function(drawn, arg=place, polling=50)
    settle(page)
    picture = "p => [...p.querySelectorAll('.book-chart-target .role-mark')].map(m => m.innerHTML).join()"
    before, sentence = page.evaluate(picture, place), place.query_selector(".ettr-sentence").text_content()
    slider = place.query_selector(".ettr-input input[type=range]")
    slider.focus()
    for _ in range(60):
        page.keyboard.press("ArrowLeft")
    settle(page)
    assert page.evaluate(picture, place) != before
    after = place.query_selector(".ettr-sentence").text_content()
    assert after != sentence and "NaN" not in after and "undefined" not in after
    assert "NaN" not in page.evaluate(picture, place)
    live = place.query_selector("output")
    page.wait_for_timeout(700)
    assert live.text_content() == after and live.get_attribute("aria-live") == "polite"


OWN_START = f"#start={page_data.MINE}&cluster.n_gpus=4096&failures.job_mttf_h=9&job.productive_h=1000"
CAPTION = """p => {
  const figure = p.querySelector("figure.book-chart"), text = name => figure.querySelector(name).textContent;
  return {
    subtitle: text(".book-chart-subtitle"),
    source: text(".book-chart-source"),
    description: figure.querySelector(".book-chart-target svg").getAttribute("aria-label"),
  };
}"""


def chart_place(page):
    """The place of the chart with inputs, once the chart is drawn."""
    place = page.query_selector("[data-ettr]:has(figure)")
    place.query_selector("figure").scroll_into_view_if_needed()
    page.wait_for_function("p => p.querySelector('.book-chart-target svg .role-mark')", arg=place, polling=50)
    settle(page)
    return place


def saved(page, place, label):
    """The texts of the files that an entry of the chart's Save menu gives."""
    downloads = []

    def keep(download):
        downloads.append(download)

    page.on("download", keep)
    place.query_selector(".book-chart-menu summary").click()
    page.get_by_role("button", name=label).first.click()
    settle(page)
    page.remove_listener("download", keep)
    assert downloads
    return [download.path().read_text(encoding="utf-8") for download in downloads]


def tables_of_scenarios(page, place):
    """The saved tables that the page computes: published values beside them have no scenario."""
    return [text for text in saved(page, place, "Data as CSV") if "scenario" in text.splitlines()[0]]


@pytest.mark.parametrize("name", ["scale", "failure_rates", "portfolio"])
def test_a_chart_of_the_readers_numbers_and_its_files_state_them(opened, name):
    page = opened(CHARTS[name], OWN_START, accept_downloads=True)
    place, preset = chart_place(page), Scenario.load("llama3-405b").title
    caption = page.evaluate(CAPTION, place)
    assert caption["subtitle"].startswith("Your numbers: 4,096 GPUs")
    assert caption["description"].startswith(caption["subtitle"])
    assert "computed in your browser from your numbers; all other values are assumed." in caption["source"]
    if name != "failure_rates":  # which knows a count in place of a mean time
        assert "MTBF 9 h" in caption["subtitle"]
    (drawing,) = saved(page, place, "SVG picture")
    tables = tables_of_scenarios(page, place)
    assert tables
    for text in (*caption.values(), drawing, *tables):
        assert preset not in text
    for text in (drawing, *tables):
        assert "Your numbers: 4,096 GPUs" in text
    assert all(row.count("Your numbers") == 1 for table in tables for row in table.splitlines()[1:])


def test_a_moved_value_is_in_the_caption_until_the_reader_goes_back(opened):
    page = opened(CHARTS["scale"], accept_downloads=True)
    place, run = chart_place(page), Scenario.load("llama3-405b")
    built = page.evaluate(CAPTION, place)
    assert built["subtitle"] == run.title and theme.provenance(run) in built["source"]
    box = entry(page, "GPUs")
    box.fill("8192")
    settle(page)
    moved = page.evaluate(CAPTION, place)
    assert moved["subtitle"] == f"Your numbers: 8,192 GPUs; otherwise {run.title}"
    assert moved["description"] == f"{moved['subtitle']}. {built['description']}"
    assert f"from your numbers; other values from {theme.cited(run)}, 8 of them assumed." in moved["source"]
    (drawing,) = saved(page, place, "SVG picture")
    for text in (drawing, *tables_of_scenarios(page, place)):
        assert "8,192 GPUs" in text
    page.get_by_role("button", name="Reset everything").click()
    settle(page)
    assert page.evaluate(CAPTION, place) == built
    (drawing,) = saved(page, place, "SVG picture")
    for text in (drawing, *tables_of_scenarios(page, place)):
        assert run.title in text and "Your numbers" not in text


QUESTIONS = {
    "finishing_date": ("ask.days=60", "done within 60 days"),
    "failure_rates": ("ask.events=12", "failure count 12"),
    "portfolio": ("with.peer-checkpoint=1", "your choice of mitigations"),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_what_a_chart_alone_is_asked_is_in_its_caption(opened, name):
    question, words = QUESTIONS[name]
    title = Scenario.load("llama3-405b").title
    page = opened(CHARTS[name], f"#{question}")
    assert page.evaluate(CAPTION, chart_place(page))["subtitle"] == f"Your numbers: {words}; otherwise {title}"


def test_values_that_nobody_gave_are_called_examples(opened):
    for name, words in (
        ("scale", "4,096 GPUs (example), MTBF 20 h (example)"),
        ("failure_rates", "4,096 GPUs (example), failure count 10 (example), observed for 30 days (example)"),
    ):
        page = opened(CHARTS[name], f"#start={page_data.MINE}")
        assert page.evaluate(CAPTION, chart_place(page))["subtitle"] == f"Your numbers: {words}"


def test_the_source_of_a_chart_counts_the_assumed_values_as_the_package_does(opened):
    page = opened(CHARTS["scale"])
    changes = {"checkpoint.stall_s": 7.5, "failures.node_mttf_h": 20_000}
    sources = """([name, values]) => { const W = window.ettrWidgets, { state } = window.ettrState;
      Object.assign(state, { start: name, values });
      W.model.changed("all");
      return W.parts.sourceInWords(W.model, Object.keys(values).length > 0); }"""
    for name in evidence.scenario_names():
        run = Scenario.of(page_data.start(page_data.preset(name))["written"])
        here = theme.provenance(run).replace("computed here", "computed in your browser")
        assert page.evaluate(sources, [name, {}]) == here
        n_assumed = len(assumed_fields(run.override(changes)))
        changed = page.evaluate(sources, [name, changes])
        assert changed.endswith(f"other values from {theme.cited(run)}, {n_assumed} of them assumed."), name


def test_a_chart_shows_what_was_built_where_the_readers_numbers_have_no_answer(opened):
    page = opened(CHARTS["scale"])
    place = chart_place(page)
    drawn_gpus = "p => p.querySelector('figure').bookChart.result.view.data('here')[0].n_gpus"
    caption = page.evaluate(CAPTION, place)
    entry(page, "GPUs").fill("4096")
    settle(page)
    assert page.evaluate(CAPTION, place) != caption and page.evaluate(drawn_gpus, place) == 4096
    page.evaluate(
        """() => { const data = window.ettrData; // of a book whose run has no form here
        data.starts.other = JSON.parse(JSON.stringify(data.starts["rsc-1"]));
        data.starts.other.written.failures.lifetime = { shape: 0.7 };
        window.ettrWidgets.model.begin("other"); }"""
    )
    settle(page)
    assert "does not cover failures.lifetime" in place.query_selector(".ettr-problem").inner_text()
    assert (page.evaluate(CAPTION, place), page.evaluate(drawn_gpus, place)) == (caption, 16384)
    page.evaluate("() => window.ettrWidgets.model.begin('llama3-405b')")


def test_the_legend_lists_the_intervals_that_are_drawn(opened):
    name = "checkpoint_interval"
    legend = "p => [...p.querySelectorAll('.role-legend-label text')].map(label => label.textContent)"
    page = opened(CHARTS[name], OWN_START)
    place = chart_place(page)
    assert "best" in page.evaluate(legend, place) and "current" not in page.evaluate(legend, place)
    page = opened(CHARTS[name], f"{OWN_START}&checkpoint.interval_min=20")
    assert {"best", "current"} <= set(page.evaluate(legend, chart_place(page)))


def test_numbers_go_from_page_to_page_and_back(opened):
    page = opened(INDEX)
    entry(page, "GPUs").fill("8192")
    settle(page)
    assert page.url.endswith("#cluster.n_gpus=8192")
    page.get_by_role("link", name="All inputs and mitigations").click()
    page.wait_for_function(READY, polling=50)
    assert "what_if.html#cluster.n_gpus=8192" in page.url and entry(page, "GPUs").input_value() == "8192"
    assert "Your numbers" in page.query_selector(".ettr-banner").text_content()
    page.query_selector('a[href*="reference/glossary.html"]').click()
    page.wait_for_url("**/glossary.html*")
    assert "cluster.n_gpus=8192" in page.url
    page.wait_for_selector(".ettr-banner")
    page.query_selector('a[href*="ettr/scale.html"]').click()
    page.wait_for_function(READY, polling=50)
    assert entry(page, "GPUs").input_value() == "8192"
    page.get_by_role("button", name="Reset everything").click()
    settle(page)
    assert entry(page, "GPUs").input_value() == "16384" and page.query_selector(".ettr-banner") is None
    assert "cluster" not in page.url


def test_a_place_on_the_page_and_numbers_share_the_address(opened, site):
    page = opened("book/ettr/scale", "#limits&cluster.n_gpus=4096")
    assert entry(page, "GPUs").input_value() == "4096"
    page.wait_for_function(
        "() => document.getElementById('limits').getBoundingClientRect().top < innerHeight", polling=50
    )
    page.evaluate("() => { location.hash = 'sources' }")
    settle(page)
    assert page.url.endswith("#sources&cluster.n_gpus=4096") and entry(page, "GPUs").input_value() == "4096"


BAD = {
    "": "Enter a number.",
    "-4": "Must be >= 0 s, got -4 s",
    "2,5": "write 2.5",
    "9%": "Must be a number of seconds, got “9%”",
    "<b>1</b>": "got “<b>1</b>”",
    "Infinity": "got “Infinity”",
}


def test_a_bad_value_gets_a_sentence_at_its_input_and_changes_nothing(opened):
    page = opened(INDEX)
    before = answers(page)
    box = entry(page, "Checkpoint stall")
    note = page.locator(f"#{box.get_attribute('aria-describedby')}")
    for text, words in BAD.items():
        box.fill(text)
        assert words in note.text_content()
        assert (box.get_attribute("aria-invalid"), note.get_attribute("role")) == ("true", "alert")
        assert answers(page) == before and "stall" not in page.url
    box.fill("20")
    assert box.get_attribute("aria-invalid") == "false" and answers(page) != before
    for label, value, words in (
        ("GPUs", "4097", "Must be a multiple of 8"),
        ("Checkpoint interval", "0.5", "Must be >= 1 min"),
        ("Measured ETTR", "1.2", "Must be <= 1, got 1.2"),
    ):
        box = entry(page, label)
        box.fill(value)
        assert words in page.locator(f"#{box.get_attribute('aria-describedby')}").text_content(), label


def test_numbers_are_read_as_people_write_them(opened):
    page = opened(INDEX)
    for label, text, value in (
        ("GPUs", "4000000", "cluster.n_gpus=4000000"),  # past the end of its slider
        ("GPUs", "8,192", "cluster.n_gpus=8192"),
        ("GPUs", "4k", "cluster.n_gpus=4000"),
        ("MTBF", "540min", "failures.job_mttf_h=9"),
        ("Price per GPU-hour", "$2.5", "cost.usd_per_gpu_h=2.5"),
        ("Measured ETTR", "90%", "measured.ettr=0.9"),
    ):
        entry(page, label).fill(text)
        settle(page)
        assert value in page.url, text


def test_a_run_that_would_never_end_is_a_sentence(opened):
    page = opened(INDEX, "#cluster.n_gpus=100000000&failures.node_mttf_h=100")
    problem = page.query_selector(".ettr-problem")
    assert problem.is_visible() and "With these numbers" in problem.text_content()
    assert "NaN" not in page.query_selector("[data-ettr]").inner_text()


@pytest.mark.parametrize(
    ("fragment", "words"),
    [
        ("#cluster.n_gpus=<script>alert(1)</script>", "cluster.n_gpus=<script>"),
        ("#cluster.n_gpus=-5", "cluster.n_gpus: must be >= 1 GPUs, got -5 GPUs"),
        ("#cluster.n_gpus=4097", "must be a multiple of 8 GPUs"),
        ("#__proto__.x=1", "__proto__.x"),
        ("#start=nowhere", "start=nowhere"),
        ("#start=llama3-405b-tokens&cluster.n_gpus=8192", "fixed by the tokens"),
        ("#cluster.n_gpus=%E0%A4%A", "cluster.n_gpus=%E0%A4%A"),
        ("#with.nothing=1&price.peer-checkpoint=-1", "with.nothing"),
        ("#a.start=nowhere&a.recovery.restart_min=-1", "a.recovery.restart_min: must be >= 0 min"),
        ("#cluster.n_gpus=4096&x.y=" + "9" * 100_000, "is longer than 8000 characters"),
    ],
)
def test_an_address_that_was_edited_is_left_out_with_a_notice_and_never_run(opened, fragment, words):
    page = opened(INDEX, fragment)
    page.wait_for_selector(".ettr-notice")
    notices = " ".join(page.locator(".ettr-notice").all_inner_texts())
    assert "ignored" in notices and words in notices and len(notices) < 400
    assert entry(page, "GPUs").input_value() == "16384"
    assert page.query_selector(".ettr-notice script") is None
    assert "91%" in answers(page)


@pytest.mark.parametrize(
    ("fragment", "words"),
    [
        ("#cost.usd_per_gpu_h=0", "the price per GPU-hour is 0"),
        (f"#start={page_data.MINE}", "No finishing date"),
        ("#failures.rate_per_1000_node_days=0", "No failures."),
        ("#cluster.n_gpus=100000000&failures.node_mttf_h=100", "the run would practically never end"),
        ("#a.start=llama3-405b&a.cluster.n_gpus=100000000&a.failures.node_mttf_h=100", "no answer"),
        ("#maintenance.per_day=1000&maintenance.duration_min=240", "With these numbers"),
    ],
)
def test_a_scenario_that_lacks_something_gets_a_sentence_and_no_broken_number(opened, fragment, words):
    page = opened(WHAT_IF, fragment)
    page.wait_for_function("words => document.body.innerText.includes(words)", arg=words, polling=50)
    settle(page)
    text = page.query_selector("article").inner_text()
    assert not re.search("NaN|Infinity|undefined", text)


def test_two_scenarios_are_compared_and_travel_in_one_link(opened):
    page = opened(WHAT_IF, "#checkpoint.stall_s=20")
    page.get_by_role("button", name="Compare with…").click()
    entry(page, "GPUs").fill("32,768")
    settle(page)
    first = Scenario.load("llama3-405b").override({"checkpoint.stall_s": 20})
    a, b = (plan.make(run) for run in (first, first.override({"cluster.n_gpus": 32768})))
    rows = [row.inner_text().split("\t") for row in page.locator(".ettr-compared tbody tr").all()]
    assert rows[0][1:3] == [sentences.pct(answer.budget.ettr) for answer in (a, b)]
    assert rows[0][3] == f"{100 * (b.budget.ettr - a.budget.ettr):.1f} points"
    lost = [answer.losses_at_best.total.usd_per_month for answer in (a, b)]
    money = [sentences.usd(sentences.about(usd)) for usd in (*lost, lost[1] - lost[0])]
    assert rows[2][1:] == [*money[:2], "+" + money[2]]
    dates = [sentences.duration(answer.dates.finishing.quantile(0.9)) for answer in (a, b)]
    assert rows[3][1:3] == dates and len(rows) == 6
    page.evaluate(
        """() => Object.defineProperty(navigator, "clipboard",
        { value: { writeText: async (text) => { window.copied = text; } } })"""
    )
    page.get_by_role("button", name="Copy link").click()
    page.get_by_role("button", name="Link copied").wait_for()
    link = page.evaluate("() => window.copied")
    again = opened(WHAT_IF, link[link.index("#") :])
    settle(again)
    assert [row.inner_text().split("\t") for row in again.locator(".ettr-compared tbody tr").all()] == rows
    page.get_by_role("button", name="Stop comparing").click()
    settle(page)
    assert not page.locator(".ettr-compared").is_visible() and "a.start" not in page.url


def test_each_slider_shows_its_ends(opened):
    page = opened(WHAT_IF)
    for row in page.locator(".ettr-sections .ettr-input:has(input[type=range])").all():
        assert all(text.strip() for text in row.locator(".ettr-ends > span").all_text_contents())
    ends = page.locator("[data-path='checkpoint.stall_s'] .ettr-ends")
    low, high = page_data.INPUTS["checkpoint.stall_s"][:2]
    assert ends.inner_text().split() == [f"{low}", "s", f"{high}", "s"]


def test_the_work_can_be_given_in_days_or_tokens(opened):
    page = opened(INDEX)
    entry(page, "Failure-free training time").fill("100")
    settle(page)
    assert page.url.endswith("#job.productive_h=2400")
    run = Scenario.load("llama3-405b-tokens")
    page = opened(WHAT_IF, f"#start={run.name}")
    page.get_by_label("Unit of: Failure-free training time").select_option("tokens")
    box = entry(page, "Tokens to train on")
    assert float(box.input_value()) == run.job.tokens
    box.fill("7.8T")
    settle(page)
    assert float(page.url.rpartition("=")[2]) == pytest.approx(run.productive_h * 7.8e12 / run.job.tokens)


def test_one_value_or_all_are_reset_to_those_of_the_start(opened):
    page = opened(WHAT_IF, "#start=opt-175b&cluster.n_gpus=2048&checkpoint.stall_s=40&recovery.restart_min=9")
    run = Scenario.load("opt-175b")
    page.get_by_role("button", name="GPUs: reset to").click()
    assert entry(page, "GPUs").input_value() == str(run.cluster.n_gpus)
    assert entry(page, "Checkpoint stall").input_value() == "40"
    reset = page.get_by_role("button", name=f"Reset to the values of {run.title}")
    reset.click()
    settle(page)
    assert entry(page, "Checkpoint stall").input_value() == f"{run.checkpoint.stall_s:g}"
    assert page.url.endswith("#start=opt-175b") and reset.is_disabled()


def test_a_price_on_the_first_page_changes_what_is_recommended(opened):
    page = opened(INDEX)
    title = plan.make("llama3-405b").recommendation.steps[0].title
    assert f"{title}: saves" in answers(page)
    page.get_by_text("Prices of mitigations").click()
    box = page.get_by_role("textbox", name=f"Price of {title}, USD")
    box.fill("1B")
    assert f"{title}: saves" not in answers(page) and "=1000000000" in page.url
    box.fill("")
    assert f"{title}: saves" in answers(page) and "price" not in page.url


@pytest.mark.parametrize("view", ["light", "dark-phone"])
def test_published_runs_are_cards_that_a_keyboard_chooses(opened, view):
    page, run = opened(WHAT_IF, view=view), Scenario.load("opt-175b")
    cards = page.get_by_role("group", name="Start from").get_by_role("button")
    assert cards.count() == len(evidence.scenario_names()) + 1
    card = cards.filter(has_text=run.title)
    shown = f"{run.cluster.n_gpus:,} GPUs", f"ETTR {100 * plan.make(run).budget.ettr:.0f}%"
    assert all(text in card.inner_text() for text in shown) and "MTBF" in card.inner_text()
    card.press("Enter")
    assert card.get_attribute("aria-pressed") == "true"
    assert entry(page, "GPUs").input_value() == str(run.cluster.n_gpus)
    for box in (card.bounding_box() for card in cards.all()):
        assert box["x"] >= 0 and box["x"] + box["width"] <= page.viewport_size["width"]


@pytest.mark.parametrize("docname", [INDEX, WHAT_IF])
def test_the_answer_and_its_money_are_seen_without_scrolling(opened, docname):
    page = opened(docname)
    page.set_viewport_size({"width": 1280, "height": 800})
    for part in (".ettr-big", ".ettr-money"):
        box = page.locator(part).bounding_box()
        assert box["y"] > 0 and box["y"] + box["height"] < 800


def test_without_javascript_the_pages_have_their_built_answers(opened):
    for docname in (INDEX, WHAT_IF):
        page = opened(docname, java_script_enabled=False)
        text = page.query_selector("article").inner_text()
        assert "a failure every" in text and "of the time is training" in text
        assert not any(place.is_visible() for place in page.query_selector_all("[data-ettr]"))
    page = opened(CHARTS["scale"], java_script_enabled=False)
    assert page.query_selector("[data-ettr] img.book-chart-still").is_visible()


def test_a_title_with_markup_is_text(opened):
    page = opened(WHAT_IF)
    page.evaluate(
        """() => { const data = window.ettrData;
        data.starts.evil = JSON.parse(JSON.stringify(data.starts["rsc-1"]));
        data.starts.evil.title = data.starts.evil.written.title = "<img src=x onerror=window.bad=1>";
        data.starts.evil.written.name = "<b>x</b>";
        window.ettrWidgets.model.begin("evil"); }"""
    )
    settle(page)
    assert page.evaluate("() => window.bad") is None
    assert page.query_selector("[data-ettr] img") is None


def test_a_copied_scenario_says_the_numbers(opened):
    page = opened(WHAT_IF, ADDRESS)
    run = ScenarioModel.parse(page.evaluate("() => window.ettrWidgets.toYaml(window.ettrWidgets.model.now.written)"))
    assert f"{100 * plan.make(run).budget.ettr:.0f}% of the time" in answers(page)
    assert run.title.startswith("Your numbers: 4,096 GPUs, MTBF 9 h")


def test_every_start_can_be_copied_and_read_again(opened):
    page = opened(WHAT_IF)
    for name, start in page_data.page_data(Scenario.load("llama3-405b"))["starts"].items():
        text = page.evaluate(
            """name => { const { model, toYaml } = window.ettrWidgets;
            model.begin(name); return toYaml(model.now.written); }""",
            name,
        )
        assert ScenarioModel.parse(text) == ScenarioModel.of(start["written"]), name


def test_what_could_be_mistaken_is_quoted_when_copied(opened):
    page = opened(WHAT_IF)
    for name in ('a "b": #1', "yes", "1e3", "null", "- x", "{a}", "é: ü", " led by a space", "line\nbreak"):
        scenario = {"name": "mine", "title": name, "cluster": {"n_gpus": 8}, "failures": {"job_mttf_h": 9.5}}
        try:
            expected = ScenarioModel.of(scenario)
        except ValueError:
            continue
        assert ScenarioModel.parse(page.evaluate("run => window.ettrWidgets.toYaml(run)", scenario)) == expected


def test_numbers_read_as_the_package_writes_them(opened):
    page = opened(INDEX)
    random = np.random.default_rng(4)
    values = [float(value) for value in 10 ** random.uniform(-4, 9, 400)]
    for name in ("number", "duration", "roughly", "usd"):
        ours = [getattr(sentences, name)(value) for value in values]
        assert page.evaluate("([name, xs]) => xs.map(x => window.ettrWidgets.words[name](x))", [name, values]) == ours
    shares = [0.0, 0.003, 0.997, 1.0, *random.random(200).tolist()]
    for digits in (0, 1):
        ours = [sentences.pct(x, digits) for x in shares]
        assert page.evaluate("([xs, n]) => xs.map(x => window.ettrWidgets.words.pct(x, n))", [shares, digits]) == ours
    sizes = [float(math.floor(value)) for value in values if value > 1]
    assert page.evaluate("xs => xs.map(x => window.ettrWidgets.words.gpus(x))", sizes) == [
        sentences.gpus(x) for x in sizes
    ]


def test_the_time_to_failure_is_that_of_what_the_address_says_fails(opened):
    page = opened(INDEX, "#failures.node_mttf_h=20000")
    assert page.get_by_label("MTBF of").first.input_value() == "failures.node_mttf_h"
    assert entry(page, "MTBF").input_value() == "20000"


def test_it_works_by_keyboard_alone(opened):
    page = opened(INDEX)
    box = entry(page, "GPUs")
    box.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("8192")
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.type") == "range"
    page.keyboard.press("ArrowRight")
    settle(page)
    assert int(box.input_value()) > 8192 and int(box.input_value()) % 8 == 0
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(
            page.evaluate("() => (document.activeElement.closest('[data-path]') || {dataset: {}}).dataset.path")
        )
    assert {"failures.mttf", "checkpoint.stall_s", "recovery.restart_min", "cost.usd_per_gpu_h"} <= reached


@pytest.mark.parametrize(
    ("docname", "view"),
    [(INDEX, "light"), (INDEX, "dark-phone"), (WHAT_IF, "dark-phone"), (CHARTS["portfolio"], "light")],
)
def test_with_numbers_set_and_a_mistake_it_is_still_accessible_and_fits(opened, docname, view):
    from axe_playwright_python.sync_playwright import Axe

    page = opened(docname, ADDRESS, view=view)
    entry(page, "GPUs").fill("many")
    settle(page)
    report = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa"], "preload": False})
    assert [
        f"{rule['id']}: {node['html'][:160]}" for rule in report.response["violations"] for node in rule["nodes"]
    ] == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    names = page.evaluate(
        """() => [...document.querySelectorAll("[data-ettr] :is(input, select, button)")].filter(box =>
        !(box.labels && box.labels.length) && !box.getAttribute("aria-label") && !box.textContent.trim())
        .map(box => box.outerHTML)"""
    )
    assert names == []
