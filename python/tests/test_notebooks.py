"""The notebooks hold no outputs, and their code runs from top to bottom."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import matplotlib
import pytest

matplotlib.use("Agg")
from matplotlib import pyplot  # noqa: E402 - after the choice of how figures are drawn

NOTEBOOKS = sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))


@pytest.fixture(params=NOTEBOOKS, ids=lambda path: path.stem)
def code(request):
    """Returns the code cells of a notebook."""
    return [cell for cell in json.loads(request.param.read_text())["cells"] if cell["cell_type"] == "code"]


def test_there_are_notebooks():
    assert [path.name for path in NOTEBOOKS] == ["first_schedule.ipynb"]


def test_no_outputs(code):
    assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code)


def test_code_runs(code, monkeypatch, tmp_path):
    """Runs the cells in one namespace, as a kernel does, and looks whether every figure shows something."""
    figures = []
    monkeypatch.setattr(pyplot, "show", lambda: figures.append(pyplot.gcf()))
    names = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for i, cell in enumerate(code):
            exec(compile("".join(cell["source"]), f"code cell {i}", "exec"), names)
    assert len(figures) == sum("plt.show()" in "".join(cell["source"]) for cell in code) > 0
    for i, figure in enumerate(figures):
        path = tmp_path / f"{i}.png"
        figure.savefig(path)
        assert len({tuple(colour) for row in pyplot.imread(path)[::5, ::5] for colour in row}) > 5
    pyplot.close("all")
