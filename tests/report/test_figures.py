"""What is drawn is what the records say; files are whole, the same every time, and readable."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from handmade_records import fail, make
from matplotlib.colors import to_rgb
from matplotlib.text import Text
from typer.testing import CliRunner

from tsbench.cli.main import app
from tsbench.protocol.rules import PAPER_METHODS
from tsbench.report import canvas, figures, palette, rank_figure, run_figures
from tsbench.report.records import collect

SEEDS = range(1234, 1239)
FIGURES = {
    "curves": figures.curves,
    "time": figures.time,
    "pareto": figures.pareto,
    "ranks": rank_figure.rank_diagram,
}
BEGINNINGS = {"svg": b"<?xml", "pdf": b"%PDF", "png": b"\x89PNG"}


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """Three methods on two data sets, one of them partial; a failure; another machine."""
    root = tmp_path / "results"
    for i, seed in enumerate(SEEDS):
        make(root, "offline", seed, 96.0)
        make(root, "er", seed, 80.0 + i, 20.0, seconds=100.0 + i, statistics=1_000_000)
        make(root, "ts-acl", seed, 90.0 + i, 3.0, seconds=2.0, statistics=50_000_000)
    make(root, "lwf", 1234, 50.0, 40.0, seconds=400.0, statistics=60_000_000)
    make(root, "er", 1234, 70.0, 20.0, dataset="wisdm", complete=False)
    make(root, "er", 1, 82.0, 20.0, seconds=9999.0, statistics=1_000_000, cpu="B")
    fail(root, "mas", 1234)
    return root


def lines(panel) -> dict[str, np.ndarray]:
    return {line.get_label(): line.get_xydata() for line in panel.get_lines()}


def words(drawing) -> str:
    return " ".join(text.get_text() for text in drawing.findobj(Text)).replace("\n", " ")


def test_curves_draw_the_means(results: Path) -> None:
    with canvas.style():
        drawing = figures.curves(collect(results))
    uwave, wisdm = drawing.axes
    drawn = lines(uwave)
    assert drawn.keys() == {"offline", "er", "ts-acl", "lwf"}
    assert drawn["er"].tolist() == [[1, 100], [2, 82]]
    bands = {tuple(band.get_facecolor()[0][:3]): band for band in uwave.collections}
    looks = palette.looks_of(collect(results), ["er"])
    edges = bands[to_rgb(looks["er"].colour)].get_paths()[0].vertices[:, 1]
    spread = np.std([80, 81, 82, 83, 84, 82], ddof=1)
    assert [edges.min(), edges.max()] == pytest.approx([82 - spread, 100])
    assert drawn["offline"].tolist() == [[2, 96]]
    (star,) = [line for line in uwave.get_lines() if line.get_label() == "offline"]
    assert star.get_marker() == "*"
    assert lines(wisdm)["er"].tolist() == [[1, 90], [2, 70]]
    assert [p.get_title() for p in drawing.axes] == ["UWave", "WISDM†"]
    assert "† partial data: WISDM 22 of 51 subjects" in words(drawing)
    assert "mean over 1 to 6 seeds" in words(drawing)


def test_times_are_means_on_one_machine(results: Path) -> None:
    with canvas.style():
        drawing = figures.time(collect(results))
    panel = drawing.axes[0]
    assert panel.get_xscale() == "log"
    names = [label.get_text() for label in panel.get_yticklabels()]
    assert names == ["Offline", "LwF", "ER", "TS-ACL"]
    drawn = lines(panel)
    assert drawn["er"].tolist() == [[102, names.index("ER")]]
    assert drawn["ts-acl"].tolist() == [[2, names.index("TS-ACL")]]
    ranges = [line.get_xdata() for line in panel.get_lines() if len(line.get_xdata()) == 2]
    assert [100, 104] in [list(r) for r in ranges]
    assert "left out: 1 run(s) on other machines" in words(drawing)
    assert "cpu: A; threads per run: 1" in words(drawing)


def test_the_front_of_a_figure(results: Path) -> None:
    runs = collect(results)
    with canvas.style():
        drawing = figures.pareto(runs)
    time, kept = drawing.axes[:2]
    assert lines(time)["ts-acl"].tolist() == [[2, 92]]
    assert lines(kept)["er"].tolist() == [[1_000_500, 82]]
    assert lines(time)["offline"].tolist() == [[10, 96]], "shown, but not ranked"
    assert "offline" not in lines(kept), "joint training keeps nothing between tasks"
    front = lines(time)["front"]
    assert front[:, 1].tolist() == [front[0, 1], 92, 92], "TS-ACL alone"
    front = lines(kept)["front"][1:-1]
    assert front.tolist() == [[1_000_500, 82], [50_000_500, 92]]
    labels = [text.get_text() for text in time.texts]
    assert labels == ["TS-ACL"], "every method on the front has its name there"
    assert [text.get_text() for text in kept.texts] == ["ER", "TS-ACL"]
    (legend,) = drawing.legends
    assert {line.get_linestyle() for line in legend.get_lines()} == {"None"}
    with canvas.style():
        assert len(figures.pareto(runs, ["bytes"]).axes) == 2


def test_pareto_front_against_brute_force() -> None:
    random = np.random.default_rng(0)
    for _ in range(50):
        points = [(float(a), float(b)) for a, b in random.integers(0, 8, (12, 2))]

        def beaten(p: tuple[float, float], points=points) -> bool:
            return any(q != p and q[0] <= p[0] and q[1] >= p[1] for q in points)

        assert figures.pareto_front(points) == sorted({p for p in points if not beaten(p)})


def test_ranks_are_drawn_where_they_are(tmp_path: Path) -> None:
    for dataset, order in (("uwave", "abc"), ("dsa", "acb"), ("wisdm", "abc")):
        for place, name in enumerate(order):
            make(tmp_path, f"{name}.py:M", 1, 90.0 - place, 1.0, dataset)
    make(tmp_path, "offline", 1, 99.0, None, "uwave")
    with canvas.style():
        drawing = rank_figure.rank_diagram(collect(tmp_path))
    drawn = lines(drawing.axes[0])
    tops = {name[0]: xy[0, 0] for name, xy in drawn.items() if name.endswith("-M")}
    assert tops == pytest.approx({"a": 1, "b": 7 / 3, "c": 8 / 3})
    ruler = drawn["critical difference"][:, 0]
    assert ruler.max() - ruler.min() == pytest.approx(2.343 * (3 * 4 / 18) ** 0.5, abs=1e-3)
    bar = drawn["tied"][:, 0]
    assert bar == pytest.approx([1 - 0.05, 8 / 3 + 0.05])
    assert len(words(drawing).split()) < 20, "names, ranks and a ruler, but no prose"


def test_matrices_draw_the_record(results: Path) -> None:
    record = run_figures.choose_run(collect(results, methods=["er"], datasets=["uwave"]), 1236)
    with canvas.style():
        matrix = run_figures.accuracy_matrix(record)
        confusion = run_figures.confusion_matrix(record)
    shown = matrix.axes[0].get_images()[0].get_array()
    assert shown.filled(-1).tolist() == [[100, -1], [80, 84]]
    assert "ER on UWave, seed 1236" in words(matrix)
    assert "84.0" in words(matrix)
    assert "1: gesture 3, gesture 2" in words(matrix)
    shown = confusion.axes[0].get_images()[0].get_array()
    assert shown.filled(-1).tolist() == [[90, 0, 10, 0], [0, 100, 0, 0], [50, 50, 0, 0], [-1] * 4]
    panel = confusion.axes[0]
    for labels in (panel.get_xticklabels(), panel.get_yticklabels()):
        names = [label.get_text() for label in labels]
        assert names == ["gesture 3", "gesture 2", "gesture 7", "gesture 1"]


@pytest.mark.parametrize("kind", ["matrix", "confusion"])
def test_no_blank_margin(results: Path, tmp_path: Path, kind: str) -> None:
    out = tmp_path / "x.png"
    chosen = ["--dataset", "uwave", "--method", "er", "--results", str(results)]
    assert invoke(kind, *chosen, "--out", str(out)).exit_code == 0
    image = mpl.image.imread(out)[..., :3]
    inked = np.argwhere(image.min(axis=2) < 0.9)
    (top, left), (bottom, right) = inked.min(axis=0), inked.max(axis=0)
    height, width = image.shape[:2]
    assert max(top, left, height - 1 - bottom, width - 1 - right) < 0.1 * 300, "inches at 300 dpi"


def test_offline_has_one_row(results: Path) -> None:
    record = run_figures.choose_run(collect(results, methods=["offline"]), None)
    with canvas.style():
        shown = run_figures.accuracy_matrix(record).axes[0].get_images()[0].get_array()
    assert shown.filled(-1).tolist() == [[-1, -1], [96, 96]]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every method and a variant on every data set."""
    root = tmp_path_factory.mktemp("crowded")
    for d, dataset in enumerate(("uwave", "dsa", "wisdm")):
        own = "some/where/my_own_method.py:WithALongName"
        for m, method in enumerate([*PAPER_METHODS, "ts-acl-r", "ts-acl-deep", "ewc", own]):
            forgetting = None if method == "offline" else 9.0
            costs = {"seconds": 3.0 + m**3, "statistics": 10 ** (m % 9)}
            cpu = "Some Processor of a Maker with a Long Name @ 2.10GHz"
            make(root, method, 1234, 20 + 4 * m - d, forgetting, dataset, d != 2, **costs, cpu=cpu)
    return root


@pytest.mark.parametrize("several", [True, False], ids=["several", "few"])
@pytest.mark.parametrize("kind", FIGURES)
def test_nothing_is_cut_and_no_names_overlap(crowded: Path, kind: str, several: bool) -> None:
    datasets = [] if several else ["uwave", "dsa"] if kind == "ranks" else ["uwave"]
    with canvas.style():
        drawing = FIGURES[kind](collect(crowded, datasets=datasets))
        drawing.draw_without_rendering()
        ticks = {id(t) for a in drawing.axes for t in a.xaxis.findobj(Text) + a.yaxis.findobj(Text)}
        labels = {id(a.xaxis.label) for a in drawing.axes} | {
            id(a.yaxis.label) for a in drawing.axes
        }
        texts = [t for t in drawing.findobj(Text) if t.get_text() and t.get_visible()]
        runs = collect(crowded)
        methods = [m for m in runs.methods if kind != "ranks" or not runs.is_bound(m)]
        names = {runs.title(m) for m in methods}
        bare = [(t, re.sub(r"^[\d. ]+  |  [\d. ]+$", "", t.get_text())) for t in texts]
        named = [t for t, name in bare if name.strip() in names]
        free = [t for t in texts if id(t) not in ticks or id(t) in labels]
        frame = drawing.bbox.padded(1)
        assert {name.strip() for t, name in bare if t in named} == names
        assert not [t.get_text() for t in named + free if not _inside(t, frame)]
        boxes = [(text, box(text)) for text in named]
        for (one, first), (other, second) in combinations(boxes, 2):
            assert not first.overlaps(second), (one, other)


def box(text: Text):
    """Of the words alone, without a line that leads to them."""
    return Text.get_window_extent(text)


def _inside(text: Text, frame) -> bool:
    at = box(text)
    return frame.x0 <= at.x0 and at.x1 <= frame.x1 and frame.y0 <= at.y0 and at.y1 <= frame.y1


def invoke(*arguments: str):
    return CliRunner().invoke(app, ["figure", *arguments])


@pytest.mark.parametrize(
    ("kind", "ending"), [("curves", "svg"), ("confusion", "pdf"), ("confusion", "png")]
)
def test_the_same_bytes_every_time(results: Path, tmp_path: Path, kind: str, ending: str) -> None:
    files = []
    for name in ("one", "two"):
        out = tmp_path / f"{name}.{ending}"
        chosen = ["--dataset", "uwave", "--method", "er"] if kind == "confusion" else []
        done = invoke(kind, *chosen, "--results", str(results), "--out", str(out))
        assert done.exit_code == 0, done.output
        assert "written to" in done.stderr
        assert not done.stdout
        files.append(out.read_bytes())
    assert files[0].startswith(BEGINNINGS[ending])
    assert files[0] == files[1]
    assert b"Date" not in files[0]


def test_the_look_does_not_depend_on_the_users_settings(results: Path, tmp_path: Path) -> None:
    out = [tmp_path / "one.svg", tmp_path / "two.svg"]
    invoke("curves", "--results", str(results), "--out", str(out[0]))
    with mpl.rc_context({"font.size": 30, "svg.fonttype": "none", "lines.linewidth": 9}):
        invoke("curves", "--results", str(results), "--out", str(out[1]))
        assert mpl.rcParams["font.size"] == 30
    assert out[0].read_bytes() == out[1].read_bytes()


def test_a_colour_that_is_none_does_not_matter(results: Path) -> None:
    path = make(results, "odd", 1234, 80.0, 9.0, title="Odd")
    record = json.loads(path.read_text())
    record["method"] |= {"colour": "</style>", "marker": "nothing"}
    path.write_text(json.dumps(record))
    with canvas.style():
        assert "Odd" in words(figures.curves(collect(results)))


def test_what_cannot_be_drawn_is_said(results: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "x.svg")
    here = ["--results", str(results)]
    (tmp_path / "file").write_text("")
    for arguments, word in (
        (["curves", "--results", str(tmp_path / "none"), "--out", out], "no records"),
        (["curves", *here, "--out", str(tmp_path / "x.jpg")], "must end in .svg, .pdf or .png"),
        (["time", *here, "--method", "mas", "--out", out], "no finished runs"),
        (["matrix", *here, "--method", "mas", "--out", out], "no finished run"),
        (["matrix", *here, "--out", out], "Choose one with --dataset: uwave, wisdm"),
        (["matrix", *here, "--dataset", "uwave", "--out", out], "Choose one with --method"),
        (
            ["matrix", *here, "--dataset", "wisdm", "--seed", "7", "--out", out],
            "no finished run of seed 7; there are: 1234",
        ),
        (["ranks", *here, "--out", out], "ranks need two methods"),
        (["curves", *here, "--out", str(tmp_path / "file" / "x.svg")], "cannot write"),
    ):
        told = invoke(*arguments)
        assert told.exit_code == 2, arguments
        assert word in told.stderr
        assert len(told.stderr.splitlines()) <= 2
    assert not Path(out).exists()


def test_figures_from_records_never_import_torch(results: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from tsbench.cli.main import main\n"
        "try: main()\n"
        "except SystemExit as stop: assert not stop.code\n"
        "assert 'torch' not in sys.modules and 'matplotlib.pyplot' not in sys.modules"
    )
    out = tmp_path / "x.pdf"
    arguments = ["figure", "pareto", "--results", str(results), "--out", str(out)]
    subprocess.run([sys.executable, "-c", code, *arguments], check=True, capture_output=True)
    assert out.exists()
