"""A chart's three forms: HTML with a still in it, PNG, text."""

from __future__ import annotations

import base64
import json
import re

import altair as alt
import pandas as pd
import pytest

from ettr.core.errors import InputError
from ettr.notebook import rendering
from ettr.plots import theme

TITLE = 'GPUs </script><b>lead</b> & "win"'


def spec() -> dict:
    frame = pd.DataFrame({"category": ["GPU", "Host"], "n": [2, 1]})
    chart = alt.Chart(frame).mark_bar().encode(x="n:Q", y="category:N")
    return theme.finish(chart, title=TITLE, subtitle="a <i>b</i>", description='Bars "of" <two>').to_dict()


def test_the_bundle_has_html_with_a_picture_and_text():
    bundle = rendering.mime_bundle(spec())
    assert list(bundle) == ["text/html", "text/plain"]
    picture = re.search(r"data:image/svg\+xml;base64,([^\"]*)", bundle["text/html"])[1]
    assert base64.b64decode(picture).startswith(b"<svg")
    assert bundle["text/plain"] == 'Bars "of" <two>'


def test_the_html_holds_the_whole_chart_and_nothing_from_elsewhere():
    html = rendering.figure(spec())
    text = re.search(r"<script[^>]*>(.*)</script>", html)[1]
    assert json.loads(text) == spec()
    assert not re.search(r"(src|href)=\"(?!data:)", html)


def test_names_of_users_cannot_become_markup():
    html = rendering.figure(spec())
    outside = re.sub(r"<script[^>]*>.*</script>|data:[^\"]*", "", html)
    assert "<b>" not in outside
    assert "<i>" not in outside
    assert html.count("</script>") == 1
    assert 'alt="Bars &quot;of&quot; &lt;two&gt;"' in html


def test_the_still_has_no_title_and_the_picture_has():
    assert "lead" not in rendering.svg(spec(), titled=False)
    assert "lead" in rendering.svg(spec())


def test_a_chart_without_a_description_is_refused():
    with pytest.raises(InputError, match="needs a description"):
        rendering.mime_bundle({"mark": "bar"})


def test_enable_registers_theme_and_renderer():
    before = alt.renderers.active, alt.theme.active
    try:
        rendering.enable(theme.config)
        assert (alt.renderers.active, alt.theme.active) == ("book", "ettr")
        with alt.renderers.enable("book"):
            bundle = alt.Chart.from_dict(spec())._repr_mimebundle_()
        assert "text/html" in (bundle[0] if isinstance(bundle, tuple) else bundle)
    finally:
        alt.renderers.enable(before[0])
        alt.theme.enable(before[1])


def test_a_picture_does_not_depend_on_those_before_it():
    frame = pd.DataFrame({"x": [1, 2], "y": [1, 2]})
    clipped = alt.Chart(frame).mark_line(clip=True).encode(x="x:Q", y="y:Q")
    chart = theme.finish(clipped, title=TITLE, description="A line.").to_dict()
    first = rendering.svg(chart)
    assert "clip1" in first
    assert first == rendering.svg(chart)
