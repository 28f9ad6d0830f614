"""The built book in a real browser, opened as files, without a network."""

from __future__ import annotations

import functools
import http.server
import json
import re
import threading
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import numpy as np
import pytest
from sphinx.search.en import SearchEnglish

from ettr import Scenario
from ettr.mitigation import catalogue
from ettr.scenario.field_list import fields_of
from ettr_book.publish import chapters

pytestmark = pytest.mark.browser

ROOT = Path(__file__).parents[2]
PAGES = chapters.docnames(ROOT)


class Links(HTMLParser):
    """The addresses and the anchors of one page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path, self.links, self.loads, self.anchors = path, [], [], set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attributes = dict(attrs)
        self.anchors |= {attributes[name] for name in ("id", "name") if attributes.get(name)}
        if tag == "a" and attributes.get("href"):
            self.links.append(attributes["href"])
        elif tag == "link" and attributes.get("href") and attributes.get("rel") not in ("canonical",):
            self.loads.append(attributes["href"])
        elif attributes.get("src"):
            self.loads.append(attributes["src"])


@pytest.fixture(scope="session")
def links(site):
    paths = [path for path in site.rglob("*.html") if not path.name.endswith("webpack-macros.html")]
    return {path: Links(path) for path in paths}


def is_outside(address: str) -> bool:
    return bool(urlsplit(address).scheme or urlsplit(address).netloc)


def test_every_page_is_there_and_some_have_charts(site):
    assert [name for name in PAGES if not (site / f"{name}.html").is_file()] == []
    assert len(pages_with_charts(site)) > 10


def test_no_page_names_a_folder_of_this_machine(site):
    assert [page for page in site.rglob("*.html") if str(ROOT) in page.read_text(encoding="utf-8")] == []


def test_links_inside_the_book_lead_somewhere(links):
    broken = []
    for path, page in links.items():
        for address in [*page.links, *page.loads]:
            parts = urlsplit(address)
            if is_outside(address):
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if not target.exists():
                broken.append(f"{path.name}: {address}")
            elif (
                parts.fragment
                and "=" not in parts.fragment
                and target in links
                and unquote(parts.fragment) not in links[target].anchors
            ):
                broken.append(f"{path.name}: {address} (no such anchor)")
    assert broken == []


def test_no_page_loads_anything_from_elsewhere(links):
    outside = {a for page in links.values() for a in page.loads if is_outside(a) and not a.startswith("data:")}
    assert outside == set()


VISITS = [(name, "light") for name in PAGES] + [(name, "dark-phone") for name in PAGES[::4]]


@pytest.mark.parametrize(("docname", "view"), VISITS)
def test_a_page_is_whole_accessible_and_fits(visit, docname, view):
    seen_page = visit(docname, view)
    assert (seen_page.outside, seen_page.said) == ([], [])
    facts = seen_page.facts
    assert facts["heading"] and facts["sideways"] <= 0 and seen_page.sideways_on_phone <= 0
    assert (facts["unnamed"], facts["rawFormulas"], facts["brokenFormulas"]) == ([], 0, 0)
    assert not seen_page.violations
    for chart in seen_page.charts:
        assert chart["marks"] > 0, chart
        assert len(chart["name"] or "") > 20, chart
        assert 0.5 * chart["room"] < chart["width"] <= chart["room"] + 1, chart
        assert not chart["stillShown"], chart
        assert not chart["cut"], chart
        assert chart["source"].startswith("Source: "), chart
    assert seen_page.silent == []
    assert seen_page.crowded == []  # no text of a chart covers another or leaves the frame


def pages_with_charts(site: Path) -> list[str]:
    return [name for name in PAGES if 'class="book-chart"' in (site / f"{name}.html").read_text(encoding="utf-8")]


def test_the_reader_can_switch_to_dark_and_back(site, drawn):
    page = drawn(pages_with_charts(site)[0])
    colours = []
    while len(colours) < 2:
        page.click("button.theme-switch-button >> visible=true")
        theme = page.evaluate("document.documentElement.dataset.theme")
        figures = "[...document.querySelectorAll('figure.book-chart')]"
        page.wait_for_function(f"() => {figures}.every(f => f.dataset.theme === '{theme}')", polling=50)
        label = ".role-axis-label text, .role-axis-title text"
        colour = page.evaluate(f"document.querySelector('{label}').getAttribute('fill')")
        if colour not in colours:
            colours.append(colour)
    assert page.said == []


def test_a_page_is_described_and_loads_no_more_than_it_needs(site):
    for name in PAGES:
        head = (site / f"{name}.html").read_text(encoding="utf-8").partition("<body")[0]
        (described,) = re.findall(r'<meta name="description" content="([^"]+)"', head)
        assert 20 < len(described) <= 200, (name, described)  # up to 160 characters and their escapes
        for card in ("og:title", "og:description", "og:type"):
            assert f'property="{card}"' in head, (name, card)
        for script in ("fontawesome", "searchindex", "searchtools"):
            assert f"/{script}.js" not in head, (name, script)
        has_formula = 'class="math' in (site / f"{name}.html").read_text(encoding="utf-8")
        assert ("mathjax/" in head) == has_formula, name
    assert not (site / "_static/scripts/fontawesome.js").exists()


def test_every_icon_is_drawn_without_a_font(site, open_page):
    fonts = "() => performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes('fontawesome'))"
    page = open_page(site / f"{PAGES[0]}.html")
    masks = page.eval_on_selector_all(
        ".fa-solid, .fas", "all => all.map(icon => getComputedStyle(icon, '::before').maskImage)"
    )
    assert masks and all(mask.startswith("url(") for mask in masks)
    assert page.evaluate(fonts) == []
    page.keyboard.press("Control+k")
    icon, field = (page.locator(f"#pst-search-dialog {name}").bounding_box() for name in ("i", "input"))
    assert icon["x"] + icon["width"] <= field["x"]


@pytest.mark.parametrize("scripts", [True, False])
def test_the_root_opens_the_first_page(site, open_page, scripts):
    page = open_page(site / "index.html", "#part", java_script_enabled=scripts)
    page.wait_for_url(f"**/{PAGES[0]}.html*")


@pytest.mark.parametrize("address", ["none.html", "book/none.html", "a/b/c/none.html"])
def test_a_wrong_address_leads_back_at_any_depth(site, browser, address):
    """As a server shows it, below a folder, at an address that does not exist."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def translate_path(self, path):
            return super().translate_path(path.removeprefix("/folder")) if path.startswith("/folder/") else "/none"

        def send_error(self, code, message=None, explain=None):
            body = (site / "404.html").read_bytes()
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=site)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{server.server_port}/folder/"
        page = browser.new_page()
        page.goto(root + address)
        page.wait_for_function("root => document.links[0].href.startsWith(root + 'book/')", arg=root, polling=50)
        page.fill("input", "interval")
        page.press("input", "Enter")
        page.wait_for_selector("#search-results li a", timeout=20_000)
        assert page.url == f"{root}search.html?q=interval"
        page.close()
        server.shutdown()


def test_search_finds_a_word(site, open_page):
    page = open_page(site / "search.html", "?q=interval")
    page.wait_for_selector("#search-results li a", timeout=20_000)
    targets = page.eval_on_selector_all("#search-results li a", "all => all.map(a => a.getAttribute('href'))")
    assert all((site / urlsplit(address).path).exists() for address in targets)
    assert (page.outside, page.said) == ([], [])


def test_every_other_name_of_a_field_or_mitigation_is_in_the_index_of_the_search(site):
    text = (site / "searchindex.js").read_text(encoding="utf-8")
    index = json.loads(text[text.index("(") + 1 : text.rindex(")")])
    pages = {
        "book/reference/catalogue": [name for entry in catalogue() for name in (entry.title, *entry.aliases)],
        "book/reference/data": [alias for field in fields_of(Scenario) for alias in field.meta.aliases],
    }
    english = SearchEnglish({})
    for page, names in pages.items():
        number = index["docnames"].index(page)
        for word in {word.lower() for name in names for word in english.split(name)}:
            stem = english.stem(word)
            if english.word_filter(stem):
                hits = [index[kind].get(term, []) for kind in ("terms", "titleterms") for term in (stem, word)]
                assert number in np.hstack(hits), (page, word)


def test_without_scripts_every_chart_is_a_picture(site, open_page):
    for docname in pages_with_charts(site)[::8]:
        page = open_page(site / f"{docname}.html", java_script_enabled=False)
        for still in page.locator("img.book-chart-still").all():
            still.scroll_into_view_if_needed()
            assert still.is_visible()
            assert still.bounding_box()["height"] > 100
        page.context.close()


def test_charts_can_be_saved_by_keyboard(site, drawn):
    page = drawn(pages_with_charts(site)[0], accept_downloads=True)
    page.locator(".book-chart-menu summary").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    with page.expect_download() as download:
        page.keyboard.press("Enter")
    assert download.value.suggested_filename.endswith(".svg")
    assert "<svg" in Path(download.value.path()).read_text(encoding="utf-8")


def test_notebooks_to_download_hold_the_outputs_and_no_paths_of_this_machine(executed):
    notebooks = {name for name in PAGES if (ROOT / f"{name}.ipynb").exists()}
    assert set(executed) == notebooks
    for name, document in executed.items():
        code = [cell for cell in document["cells"] if cell["cell_type"] == "code"]
        assert any(cell["outputs"] for cell in code), name
        assert not any("injected-parameters" in cell["metadata"].get("tags", []) for cell in code), name
        assert not re.search(rf'"[^"]*{re.escape(str(ROOT))}/', str(code)), name


def test_no_chapter_warned(executed):
    for name, document in executed.items():
        for cell in document["cells"]:
            streams = [o for o in cell.get("outputs", []) if o.get("name") == "stderr"]
            assert streams == [], name
