"""Builds wheel and sdist, checks what they hold, and uses the wheel in a new environment outside of the checkout.

    python tools/package.py dist

Exits with 1 and a sentence when something is missing, superfluous or broken.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

from packaging.metadata import Metadata

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ("pyproject.toml", "MANIFEST.in", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "src", "tests")
SCENE = """
[[shell]]
shape = "grid"
vertices = 60
[[collider]]
shape = "sphere"
subdivisions = 2
[hierarchy]
levels = 2
"""
# a bench takes its scenes from the package; this is one of them, at a size that takes a second
CLIMB = (
    "from plisse.bench.climb import climb, gallery_scene;"
    "small = gallery_scene('05-sphere', sets=('shell.vertices=60', 'collider.0.subdivisions=2'), levels=2);"
    "assert climb(small, threads=1).converged"
)


class PackageError(Exception):
    """One sentence on what is wrong."""


def main(out: Path) -> None:
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        wheel, sdist = build(work)
        check_wheel(wheel)
        check_sdist(sdist)
        use(wheel, work)
        out.mkdir(parents=True, exist_ok=True)
        for archive in (wheel, sdist):
            shutil.copy(archive, out)
            print(f"{out / archive.name}: {archive.stat().st_size / 1e6:.2f} MB")


def build(work: Path) -> tuple[Path, Path]:
    """Both archives, from a copy of the source, so that nothing of an earlier build gets in."""
    source, dist = work / "source", work / "dist"
    source.mkdir()
    for item in (ROOT / name for name in SOURCE):
        if item.is_dir():
            shutil.copytree(item, source / item.name, ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
        else:
            shutil.copy(item, source)
    run([sys.executable, "-m", "build", "--outdir", str(dist), str(source)], work)
    return next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))


def check_wheel(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        held = {name: archive.read(name) for name in archive.namelist()}
    package = {name for name in held if ".dist-info/" not in name}
    check_names(path, package, {f"plisse/{name}" for name in source_files()})
    check_paths(path, held)
    info = next(name for name in held if name.endswith(".dist-info/METADATA"))
    Metadata.from_email(held[info], validate=True)


def check_sdist(path: Path) -> None:
    with tarfile.open(path) as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        held = {m.name.partition("/")[2]: archive.extractfile(m).read() for m in members}  # type: ignore[union-attr]
    root = {name for name in SOURCE if (ROOT / name).is_file()}
    made = {name for name in held if name in ("PKG-INFO", "setup.cfg") or ".egg-info/" in name}
    check_names(path, held.keys() - made, root | {f"src/plisse/{name}" for name in source_files()})
    check_paths(path, held)


def source_files() -> set[str]:
    """Names of everything that belongs into the package."""
    folder = ROOT / "src/plisse"
    paths = [path for path in folder.rglob("*") if path.is_file() and path.suffix in (".py", ".typed", ".toml", ".bib")]
    return {path.relative_to(folder).as_posix() for path in paths}


def check_names(path: Path, held: set[str], wanted: set[str]) -> None:
    for what, names in (("lacks", wanted - held), ("must not hold", held - wanted)):
        if names:
            raise PackageError(f"{path.name} {what} {', '.join(sorted(names))}.")


def check_paths(path: Path, held: dict[str, bytes]) -> None:
    """No file names a folder of this machine."""
    for name, content in held.items():
        for folder in (ROOT, Path.home()):
            if os.fsencode(folder) + b"/" in content:
                raise PackageError(f"{path.name} holds the path {folder} in {name}.")


def use(wheel: Path, work: Path) -> None:
    """Installs the wheel from wheels alone, and runs the commands that a new user types."""
    environment, folder = work / "environment", work / "elsewhere"
    folder.mkdir()
    run([sys.executable, "-m", "venv", str(environment)], folder)
    scripts = environment / ("Scripts" if os.name == "nt" else "bin")
    python, plisse = str(scripts / "python"), str(scripts / "plisse")
    install = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary", ":all:"]
    run([*install, str(wheel)], folder)
    version = wheel.name.split("-")[1]
    if (said := run([plisse, "--version"], folder)) != f"plisse {version}\n":
        raise PackageError(f"`plisse --version` says {said!r} instead of plisse {version}.")
    (folder / "small.toml").write_text(SCENE, encoding="utf-8")
    for words in (
        ["examples"],
        ["examples", "walk"],
        ["check", "walk.toml"],
        ["schema"],
        ["run", "small.toml", "--out", "run", "--threads", "1"],
        ["report", "run"],
        ["export", "run", "--out", "small.glb"],
        ["render", "run", "--size", "320x240"],
        ["bench", "--help"],
    ):
        run([plisse, *words], folder)
    run([python, "-c", CLIMB], folder)


def run(command: list[str], folder: Path) -> str:
    """The command's output; it sees nothing of the checkout."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise PackageError(f"{' '.join(command)} failed with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist"))
    except PackageError as error:
        sys.exit(f"package: {error}")
