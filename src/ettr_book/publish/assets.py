"""Scripts and icons of the site, made from the files of installed packages: nothing comes from a network."""

from __future__ import annotations

import importlib.metadata
import re
import shutil
from pathlib import Path
from urllib.parse import quote

from ettr.core import durable, extras
from ettr.core.errors import InputError

BUILT_WITH = ("jupyter-book", "sphinx-book-theme", "sphinx-mathjax-offline", "vl-convert-python")
"""Packages that a build needs in addition to those of the chapters."""
FOLDER = Path("_build/.assets")
MATHJAX = (
    "startup.js",
    "core.js",
    "input/tex.js",
    "output/chtml.js",
    "output/chtml/fonts/tex.js",
    "output/chtml/fonts/woff-v2",
    "a11y/assistive-mml.js",
)
"""Parts of MathJax for formulas in TeX, without its menu and other inputs and outputs, which take 22 MB."""
ICONS = "icons.css"
_ALL_ICONS = "scripts/fontawesome.js"
_UNUSED = re.compile(r'<script[^>]*src="[^"]*/(?:fontawesome|searchtools|language_data|searchindex)\.js[^>]*></script>')
"""Scripts of the theme for all its icons (1.5 MB), and for search as you type, which is off."""
_NAMED_ICON = re.compile(r'class="[^"]*\bfa(?:s|-solid) +fa-([a-z-]+)')
_ICON_STYLE = """.fa-solid, .fas { font-family: inherit; }
.fa-solid::before, .fas::before {
  content: ""; display: inline-block; height: 1em; vertical-align: -0.125em;
  background: currentColor; mask: var(--icon) center / contain no-repeat;
}
@media (forced-colors: active) { .fa-solid::before, .fas::before { background: CanvasText; } }
.fa-lg { line-height: 0.05em; }
.fa-lg::before { vertical-align: -0.075em; }
.bd-header-article .btn .fa-solid::before, .bd-header-article .btn .fas::before { width: 1.3rem; }
form.bd-search .fa-solid.fa-magnifying-glass { position: static; color: inherit; }
#pst-search-dialog[open] form.bd-search .fa-solid { font-size: var(--pst-font-size-icon); }
.search-button-field > .fa-solid { display: inline-block; }
"""
"""Icons as masks of the text's colour, with the sizes that the theme gives to its SVG."""


def versions_of(*names: str) -> list[str]:
    """Return the installed versions of packages that the build needs; raise `MissingExtra` if one is missing."""
    with extras.needed("book"):
        return [importlib.metadata.version(name) for name in names]


def scripts(root: Path) -> Path:
    """Return the folder with Vega and MathJax for the installed versions of their packages, making it if needed."""
    made = root / FOLDER / "-".join(versions_of("vl-convert-python", "sphinx-mathjax-offline"))
    if not made.is_dir():
        made.parent.mkdir(parents=True, exist_ok=True)
        with durable.temporary_folder(made.parent) as folder:
            part = folder / "part"
            part.mkdir()
            (part / "vega-bundle.js").write_text(_vega(), encoding="utf-8")
            _copy_mathjax(part / "mathjax")
            try:
                part.rename(made)
            except OSError:
                if not made.is_dir():  # by another build meanwhile
                    raise
    return made


def _vega() -> str:
    """Return Vega, Vega-Lite and Vega-Embed as a classic script: browsers refuse modules from files."""
    with extras.needed("sweep"):
        import vl_convert
    code = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(function () {{\n{code}\n}})();\n"


def _copy_mathjax(folder: Path) -> None:
    distribution = importlib.metadata.distribution("sphinx-mathjax-offline")
    package = Path(str(distribution.locate_file("sphinx-mathjax-offline/static/mathjax")))
    if not package.is_dir():
        raise InputError(f"MathJax is not at {package}: install sphinx-mathjax-offline again")
    for name in MATHJAX:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        copy = shutil.copytree if (package / name).is_dir() else shutil.copy2
        copy(package / name, folder / name)


def without_unused(html: str) -> str:
    """Return a part of a page without the theme's scripts that the site does not need."""
    return _UNUSED.sub("", html)


def write_icons(site: Path) -> None:
    """Write the style of the icons that the pages use, from the script with all icons, which is removed."""
    script = site / "_static" / _ALL_ICONS
    if not script.is_file():  # no page changed, so Sphinx did not copy its files again
        return
    code = script.read_text(encoding="utf-8")
    names = {name for page in site.rglob("*.html") for name in _NAMED_ICON.findall(page.read_text(encoding="utf-8"))}
    rules = [_ICON_STYLE, *(_rule(name, code) for name in sorted(names))]
    (site / "_static" / ICONS).write_text("".join(rules), encoding="utf-8")
    script.unlink()


def _rule(name: str, code: str) -> str:
    """Return the style of one icon; of icons with one name in several styles the script has the solid one last."""
    *_, (width, height, path) = re.findall(rf'[{{,]"?{name}"?:\[(\d+),(\d+),\[[^]]*\],"[0-9a-f]+","([^"]+)"', code)
    picture = quote(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"><path d="{path}"/></svg>')
    ratio = int(width) / int(height)
    return f'.fa-{name}::before {{ width: {ratio:g}em; --icon: url("data:image/svg+xml,{picture}"); }}\n'
