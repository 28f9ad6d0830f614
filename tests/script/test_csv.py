"""What pages save as CSV has the cells that files of the package have."""

from __future__ import annotations

import csv
import io

from ettr.files.spreadsheet import harmless
from files.test_spreadsheet import CELLS
from script.comparing import STATIC


def test_cells_are_those_of_the_package(browser):
    page = browser.new_page()
    page.add_script_tag(content=(STATIC / "csv.js").read_text(encoding="utf-8"))
    texts = [text for text in CELLS if "\ud800" not in text and "\x00" not in text]
    (row, numbers) = csv.reader(
        io.StringIO(page.evaluate("rows => ettrCsv(rows)", [texts, [-1.5, None, 'a"b']]), newline="")
    )
    page.close()
    assert row == [harmless(text) for text in texts]
    assert numbers == ["-1.5", "", 'a"b']
