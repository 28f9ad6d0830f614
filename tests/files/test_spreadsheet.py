"""What begins like a formula is a text in a spreadsheet; numbers stay numbers."""

import csv
import io

import pandas as pd
import pytest

from ettr.files.spreadsheet import csv_text, harmless

CELLS = {
    "=1+1": "'=1+1",
    "+cmd": "'+cmd",
    "-2+3": "'-2+3",
    "@SUM(A1)": "'@SUM(A1)",
    "\tx": "'\tx",
    "\r=x": "'\n=x",
    "a\r=x\r\nb": "a\n=x\nb",
    "-.5": "-.5",
    "-": "'-",
    "=": "'=",
    "-3.5e-7": "-3.5e-7",
    "+12 %": "+12 %",
    "-1,200.5": "-1,200.5",
    "-inf": "'-inf",
    "": "",
    "a=b": "a=b",
    "a\ud800": "a\\ud800",
    "x\x00y\u2028z": "x\x00y\u2028z",
}


@pytest.mark.parametrize(("text", "cell"), CELLS.items(), ids=ascii)
def test_a_cell_is_no_formula(text, cell):
    assert harmless(text) == cell


def test_a_lone_carriage_return_begins_no_row():
    assert list(csv.reader(io.StringIO(csv_text(pd.DataFrame({"x": ["ok\r=1+1"]}))))) == [["x"], ["ok\n=1+1"]]


def test_texts_and_titles_of_a_table_are_and_numbers_stay():
    frame = pd.DataFrame({"=n": [-1, 2], "x": [-0.5, float("-inf")], "word": ["@a,\nb", None], "listed": [[-1], ["="]]})
    rows = list(csv.reader(io.StringIO(csv_text(frame))))
    assert rows == [["'=n", "x", "word", "listed"], ["-1", "-0.5", "'@a,\nb", "[-1]"], ["2", "-inf", "", "['=']"]]
    assert list(frame.columns) == ["=n", "x", "word", "listed"] and frame["word"][0] == "@a,\nb"
