"""Configuration of Sphinx: `make docs`.

The source directory is the root of the repository, so that relative links and pictures work both on a code host and in
the site, and the pages of experiments and benchmarks need no copies. The build needs no network: there is no
intersphinx, and formulas are MathML, which browsers draw themselves.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

import kdi

project = "kdi"
version = release = kdi.__version__
html_title = f"kdi {release}"

root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "experiments/RESULTS.md",
    "experiments/results/*.md",
    "benchmarks/results/results.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
exclude_patterns = ["docs/_*", ".*", "build", "out", "src", "tests", "cpp", "fuzz", "**/quick", "**/.cache"]

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "mathml",
    "names",
    "root_redirect",
]
templates_path = [str(Path(__file__).parent / "_templates")]
# Pages of experiments have headings of the third level directly below their title.
suppress_warnings = ["config.cache", "myst.header"]

# Markdown.
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 4  # the same names of headings as on code hosts
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# The reference. Docstrings describe types in words; signatures are more readable without annotations.
autodoc_typehints = "none"
autodoc_class_signature = "mixed"
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False  # the template of a class shows them in full
numpydoc_xref_param_type = False
default_role = "py:obj"  # the extension `names` makes plain code of names without a target, such as parameters

# The gallery of examples, each of which runs when the site is built.
sphinx_gallery_conf = {
    "examples_dirs": "examples/gallery",
    "gallery_dirs": "docs/auto_examples",
    "filename_pattern": r"plot_",
    "within_subsection_order": "FileNameSortKey",
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "plot_gallery": "True",
    "download_all_examples": False,
}
warnings.filterwarnings("error", module="kdi")

# Furo follows the reader's light or dark setting, works by keyboard and in print, and loads no fonts or scripts of
# other sites.
html_theme = "furo"
html_static_path = ["_static"]
html_css_files = ["kdi.css"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#8a1c5b", "color-brand-content": "#8a1c5b"},
    "dark_css_variables": {"color-brand-primary": "#f08ac4", "color-brand-content": "#f08ac4"},
}
