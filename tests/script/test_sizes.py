"""What the pages do where the number of GPUs changes, as the commands do."""

from __future__ import annotations

import json

import pytest

from ettr import Scenario, plan
from ettr_book.publish import page_data
from script.comparing import STATIC

pytestmark = pytest.mark.browser

SIZES = (4096, 65_536)
HOLD = "When scaling, keep"
PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>t</title></head><body>
<main><article class="bd-article"><h1>t</h1><div data-ettr="calculator" hidden></div>
<div data-ettr="scale" hidden><figure class="book-chart"></figure></div></article></main>
<script src="_static/inputs.js"></script></body></html>"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A page with a calculator and a chart that answers for other sizes."""
    folder = tmp_path_factory.mktemp("pages")
    (folder / "_static").mkdir()
    for script in STATIC.glob("*.js"):
        (folder / "_static" / script.name).write_bytes(script.read_bytes())
    page_data.write(folder / "_static", Scenario.load("llama3-405b"))
    (folder / "page.html").write_text(PAGE, encoding="utf-8")
    return folder / "page.html"


@pytest.fixture
def opened(site, browser):
    pages = []

    def open_one(fragment=""):
        page = browser.new_context(offline=True).new_page()
        pages.append(page)
        page.said = []
        page.on("pageerror", lambda error: page.said.append(str(error)))
        page.goto(site.as_uri() + fragment)
        page.wait_for_function("() => window.ettrWidgets && window.ettrWidgets.model", polling=50)
        return page

    yield open_one
    for page in pages:
        assert page.said == []
        page.context.close()


def entry(page, label):
    return page.get_by_role("textbox", name=label, exact=True).first


def settle(page):
    page.evaluate("() => new Promise(done => setTimeout(done, 400))")


def useful(page):
    """The ETTR of the page, with all digits."""
    return page.evaluate("() => window.ettr.atBest(window.ettrWidgets.model.now.scenario).ettr")


def shown_mtbf_h(page):
    return float(entry(page, "MTBF").input_value())


def command(page):
    return page.query_selector("[data-ettr=calculator] code").text_content().split()


@pytest.mark.parametrize("start", [page_data.MINE, "llama3-405b"])
def test_more_gpus_have_a_lower_ettr_as_the_command_says(opened, ettr, start):
    page = opened(f"#start={start}")
    box, shown_ettr = entry(page, "GPUs"), {}
    for n_gpus in SIZES:
        box.fill(str(n_gpus))
        settle(page)
        shown_ettr[n_gpus] = useful(page)
        status, out, _ = ettr(*command(page)[1:], "--quick", "--json")
        assert status == 0
        assert shown_ettr[n_gpus] == pytest.approx(json.loads(out)["ettr"], rel=1e-9)
        if start != page_data.MINE:
            run = Scenario.load(start).override({"cluster.n_gpus": n_gpus})
            assert shown_ettr[n_gpus] == pytest.approx(float(plan.make(run, simulate=False).budget.ettr), rel=1e-9)
        again = opened(f"#start={start}&cluster.n_gpus={n_gpus}")
        assert useful(again) == shown_ettr[n_gpus]
    assert shown_ettr[SIZES[0]] > shown_ettr[SIZES[1]]


def test_an_mtbf_is_that_of_the_size_it_was_given_at(opened, ettr):
    page = opened(f"#start={page_data.MINE}")
    entry(page, "GPUs").fill("2048")
    entry(page, "MTBF").fill("22")
    settle(page)
    assert command(page) == ["ettr", "plan", "--gpus", "2048", "--mtbf-h", "22"]
    entry(page, "GPUs").fill("65536")
    settle(page)
    assert command(page) == ["ettr", "plan", "--gpus", "65536", "--mtbf-h", "22", "--observed-on-gpus", "2048"]
    _, out, _ = ettr(*command(page)[1:], "--quick", "--json")
    record = json.loads(out)
    assert useful(page) == pytest.approx(record["ettr"], rel=1e-9)
    assert shown_mtbf_h(page) == pytest.approx(record["wall_mttf_h"], rel=5e-3)  # three digits
    again = opened("#" + page.url.partition("#")[2])
    assert useful(again) == useful(page)
    assert "MTBF 22 h on 2,048 GPUs" in again.evaluate("() => window.ettrWidgets.model.now.written.title")
    entry(page, "GPUs").fill("2048")
    settle(page)
    assert "observed" not in page.url and entry(page, "MTBF").input_value() == "22"
    entry(page, "GPUs").fill("65536")
    entry(page, "MTBF").fill("3")  # of the size that the job has now
    settle(page)
    assert command(page) == ["ettr", "plan", "--gpus", "65536", "--mtbf-h", "3"]


@pytest.mark.parametrize("start", [page_data.MINE, "llama3-405b"])
def test_the_job_mtbf_can_be_held_instead(opened, ettr, start):
    page = opened(f"#start={start}")
    before, mtbf_h = useful(page), shown_mtbf_h(page)
    choice = page.get_by_label(HOLD).first
    assert choice.input_value() == "node"
    choice.select_option("job")
    settle(page)
    assert "hold=job" in page.url and useful(page) == before  # a choice for other sizes
    sentence = page.query_selector("[data-ettr=scale] .ettr-sentence").text_content()
    assert "constant job MTBF" in sentence
    entry(page, "GPUs").fill("65536")
    settle(page)
    assert shown_mtbf_h(page) == mtbf_h and useful(page) > 0.9 * before
    _, out, _ = ettr(*command(page)[1:], "--quick", "--json")
    assert useful(page) == pytest.approx(json.loads(out)["ettr"], rel=1e-9)
    held = useful(page)
    again = opened("#" + page.url.partition("#")[2])
    assert useful(again) == held and again.get_by_label(HOLD).first.input_value() == "job"
    note = again.locator(f"#{again.get_by_label(HOLD).first.get_attribute('aria-describedby')}")
    assert "at every size" in note.text_content()
    page.get_by_label(HOLD).first.select_option("node")
    settle(page)  # the answer of this size stays, where a start takes longer than at the size before
    assert "hold" not in page.url and useful(page) == pytest.approx(held, rel=1e-4)
    entry(page, "GPUs").fill("131072")
    settle(page)
    assert 0.45 < shown_mtbf_h(page) / mtbf_h < 0.6 and useful(page) < held


def test_the_size_that_a_target_allows_follows_what_is_held(opened):
    page = opened(f"#start={page_data.MINE}")
    reach = """() => { const { model } = window.ettrWidgets, run = model.now.scenario;
      return window.ettr.largestSize(run, 0.9); }"""
    by_node = page.evaluate(reach)
    assert 4096 < by_node < 65_536
    entry(page, "GPUs").fill("65536")
    settle(page)
    assert page.evaluate(reach) == by_node  # whatever size is asked about
    page.get_by_label(HOLD).first.select_option("job")
    entry(page, "GPUs").fill("4096")
    settle(page)
    assert page.evaluate("() => window.ettr.ettrOf(window.ettr.inHours(window.ettrWidgets.model.now.scenario))") < 0.9
    assert page.evaluate(reach) == 0  # an MTBF that is too short at this size is so at each


def test_an_address_with_another_hold_is_left_out(opened):
    page = opened("#hold=nothing")
    assert "hold=nothing" in page.query_selector(".ettr-notice").text_content()
    assert page.get_by_label(HOLD).first.input_value() == "node"
