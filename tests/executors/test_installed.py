"""tsbench installed from a wheel: workers import what the command imports, wherever it is started.

Started inside the source checkout they must not import the checkout, where the mapped packages do
not exist, and a file of the user's must not take the place of a module.
"""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import numpy
import pytest
from tsbench_process import outcomes, run_here

from tsbench.runs.store import Store

CHECKOUT = Path(__file__).resolve().parents[2]
RUN = ["--method", "naive", "--dataset", "demo", "--seed", "1234", "--epochs", "1"]
HOSTILE = "raise SystemExit('a file of the user was imported in place of a module')\n"


@pytest.fixture(scope="session")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program of an environment with tsbench from a wheel, and all else from this one."""
    if not (CHECKOUT / "pyproject.toml").is_file():
        pytest.skip("not in a source checkout")
    pytest.importorskip("setuptools")
    folder = tmp_path_factory.mktemp("installed")
    source = folder / "source"
    shutil.copytree(
        CHECKOUT, source, ignore=shutil.ignore_patterns(".*", "build", "*.egg-info", "__pycache__")
    )
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-q"]
    subprocess.run([*build, "-w", folder, source], check=True)
    (wheel,) = folder.glob("*.whl")
    venv.create(folder / "env")
    scheme = {"base": str(folder / "env"), "platbase": str(folder / "env")}
    packages = Path(sysconfig.get_path("purelib", "venv", scheme)) if sys.version_info >= (
        3, 11
    ) else Path(sysconfig.get_path("purelib", vars=scheme))  # fmt: skip
    shutil.unpack_archive(wheel, packages, "zip")
    others = {str(Path(numpy.__file__).parents[1]), str(Path(pytest.__file__).parents[1])}
    (packages / "others.pth").write_text("\n".join(sorted(others)) + "\n")
    program = folder / "env" / "bin" / "tsbench"
    program.write_text(f"#!{folder}/env/bin/python\nfrom tsbench.cli.main import main\nmain()\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with the source of tsbench, as in the checkout, and files named like modules."""
    (tmp_path / "tsbench").symlink_to(CHECKOUT / "tsbench")
    for name in ("numpy", "torch", "json", "socket", "multiprocessing"):
        (tmp_path / f"{name}.py").write_text(HOSTILE)
    return tmp_path


def check(program: Path, place: Path, results: Path, *options: str) -> str:
    """Run with the installed program, and return what it said."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    environment["RAY_worker_niceness"] = "0"  # Ray's 15 takes minutes where other tests run
    ended = subprocess.run(
        [program, "run", *RUN, "--results", results, *options],
        cwd=place, capture_output=True, text=True, env=environment,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    assert "notice" not in ended.stderr
    (record,) = Store(results).records()[0]
    assert record["environment"]["commit"] == "", "the installed package, not the checkout"
    return ended.stderr


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="makes an environment by hand")
def test_local(installed: Path, place: Path, tmp_path: Path) -> None:
    check(installed, place, tmp_path / "r")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="makes an environment by hand")
@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed")
def test_ray(installed: Path, place: Path, tmp_path: Path) -> None:
    """Without an address it starts a cluster, whose records are those of this process."""
    said = check(installed, place, tmp_path / "r", "--executor", "ray", "--jobs", "1")
    assert "Ray: starting a cluster on this machine" in said
    assert run_here(tmp_path / "here", *RUN)[0] == 0
    assert outcomes(tmp_path / "r") == outcomes(tmp_path / "here")
