"""The documentation is true: its code runs, its scenes and commands are valid, its links lead somewhere."""

import re
import runpy
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import plisse
from plisse.cli import build_parser, main
from plisse.core.record import entries
from plisse.loading.scene_file import load_scene
from plisse.runs.checks import check_scene_file
from plisse.scene.scene import Scene
from plisse.scene.sources import MeshSource
from plisse.shapes.catalogue import SHAPES, shape_parameters

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]
CODE = [ROOT / "README.md", *(ROOT / f"docs/{name}.md" for name in ("architecture", "extending", "python"))]
WALK = ROOT / "docs/first-scene.md"
# what pages speak of without writing it out, at a size for a test
AT_HAND = {
    "architecture.md": {
        "tablecloth.toml": 'hierarchy.levels = 2\n[[shell]]\nshape = "grid"\nvertices = 60\n'
        '[[collider]]\nshape = "sphere"\nsubdivisions = 2\n'
    }
}
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block of a page. part: marked as no whole file by `<!-- part -->` above it."""

    page: Path
    line: int
    language: str
    text: str
    part: bool

    @property
    def file(self) -> str | None:
        """The name that its first line gives it, as in `# towel.toml`."""
        named = re.match(r"# (\S+\.(?:toml|py))\n", self.text)
        return named[1] if named else None

    def __str__(self) -> str:
        return f"{self.page.name}:{self.line}"


def read_blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        before = text[: match.start()]
        part = before.rstrip().endswith("<!-- part -->")
        yield Block(page, before.count("\n") + 1, match[1], match[2], part)


BLOCKS = [block for page in PAGES for block in read_blocks(page)]


def of_language(language: str) -> list[Block]:
    return [block for block in BLOCKS if block.language == language]


def read_commands(block: Block) -> Iterator[list[str]]:
    """The commands of a shell block, without comments, redirections and what follows a pipe."""
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        ends = [i for i, word in enumerate(words) if word in (">", ">>", "|", "&&", ";")]
        words = words[: min(ends, default=len(words))]
        if words:
            yield [Path(words[0]).name if words[0].endswith("bin/plisse") else words[0], *words[1:]]


@pytest.mark.parametrize("page", CODE, ids=lambda page: page.name)
def test_python_runs(page: Path, tmp_path: Path) -> None:
    for name, text in AT_HAND.get(page.name, {}).items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    blocks = list(read_blocks(page))
    for block in blocks:
        if block.language == "toml" and block.file:
            (tmp_path / block.file).write_text(block.text, encoding="utf-8")
    code = "\n".join(block.text for block in blocks if block.language == "python")
    if not code:
        return
    # in a process of its own: what it registers must not be seen by other tests
    (tmp_path / "page.py").write_text(code, encoding="utf-8")
    ran = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert ran.returncode == 0, ran.stderr


def test_a_new_energy_takes_forty_lines() -> None:
    block = next(block for block in of_language("python") if block.page.name == "extending.md")
    assert "class Cords(Potential)" in block.text
    assert len(block.text.splitlines()) <= 40


def known_keys() -> set[str]:
    """Every key that a scene file can hold anywhere."""
    keys, left = {parameter for shape in SHAPES for parameter in shape_parameters(shape)}, [Scene, MeshSource]
    while left:
        for entry in entries(left.pop()):
            keys.add(entry.key)
            left += [entry.inner] if entry.inner is not None else []
    return keys | {"preset", "height", "value", "time"}


def used_keys(value: Any) -> Iterator[str]:
    tables = value if isinstance(value, list) else [value]
    for table in tables:
        if isinstance(table, dict):
            for key, inner in table.items():
                yield key
                yield from used_keys(inner)


@pytest.mark.parametrize("block", of_language("toml"), ids=str)
def test_scenes_are_valid(block: Block, tmp_path: Path) -> None:
    table = tomllib.loads(block.text)
    unknown = set(used_keys(table)) - known_keys()
    assert not unknown, f"{block} has the unknown keys {unknown}"
    if block.part or block.page == WALK:  # the walk through that page checks its scenes, with their meshes
        return
    path = tmp_path / "scene.toml"
    path.write_text(block.text, encoding="utf-8")
    load_scene(path)
    assert "can be simulated" in check_scene_file(path)[0]


@pytest.mark.parametrize("block", of_language("sh"), ids=str)
def test_commands_are_understood(block: Block, capsys: pytest.CaptureFixture[str]) -> None:
    for program, *words in read_commands(block):
        if program == "plisse":
            try:
                build_parser().parse_args(words)
            except SystemExit as ended:
                assert ended.code == 0, f"{block}: plisse {' '.join(words)}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_to_files(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        if not re.match(r"[a-z]+:|#", target):
            assert (page.parent / target.partition("#")[0]).exists(), f"{page.name} links to {target}"


def test_citation_and_changelog_know_the_version() -> None:
    assert f"\nversion: {plisse.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {plisse.__version__} – " in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_pictures_are_small() -> None:
    pictures = list((ROOT / "docs/pictures").glob("first-scene*"))
    assert len(pictures) == 2 and all(picture.stat().st_size < 80_000 for picture in pictures)


def assert_told(block: Block, told: str) -> None:
    """Every line of the block is in the output, in this order; `…` stands for anything."""
    left = iter(told.splitlines())
    for line in block.text.splitlines():
        pattern = ".*".join(re.escape(piece) for piece in re.split("…", line.strip()))
        assert any(re.fullmatch(pattern, each.strip()) for each in left), f"{block}: {line!r} is not told:\n{told}"


@pytest.mark.slow
def test_the_first_scene_as_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = list(read_blocks(WALK))
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        if block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")
        if block.language != "sh":
            continue
        answer = after if after is not None and after.language == "text" else None
        refused = answer is not None and answer.text.startswith("plisse: ")
        capsys.readouterr()
        for program, *words in read_commands(block):
            if program == "python":
                runpy.run_path(words[0])
            else:
                code = main(words)
                assert code == (2 if refused else 0), f"{block}: plisse {' '.join(words)}\n{capsys.readouterr().err}"
        told = capsys.readouterr()
        if answer is not None:
            assert_told(answer, told.err + told.out)
    assert Path("towel.usdc").stat().st_size > 0 and Path("towel.glb").stat().st_size > 0
    assert Path("towel.png").stat().st_size > 0 and Path("runs/towel/levels.png").stat().st_size > 0


@pytest.mark.slow
def test_the_site_is_built_without_warnings(tmp_path: Path) -> None:
    pytest.importorskip("sphinx", reason="`make docs` and `make test-slow` install Sphinx")
    build = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", str(ROOT / "docs"), str(tmp_path)]
    ran = subprocess.run(build, capture_output=True, text=True, timeout=600)
    assert ran.returncode == 0, ran.stderr
    reference = (tmp_path / "api.html").read_text(encoding="utf-8")
    for name in plisse.__all__:
        assert name.startswith("__") or f'id="plisse.{name}"' in reference, f"plisse.{name} is not in the reference"
