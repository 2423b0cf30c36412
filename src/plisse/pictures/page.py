"""A run's report as one HTML page that needs nothing else: tables, inline plots, inlined pictures."""

from __future__ import annotations

import base64
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError
from plisse.pictures.motion import draw_motion
from plisse.pictures.plot import COLORS, Series, draw_legend, draw_plot, section, write_number
from plisse.pictures.summary import tell_chosen, verdict
from plisse.progressive.report import LevelMetrics, LevelReport, Report

CURVATURES = {"mean": "mean", "gaussian": "Gaussian", "larger": "larger principal", "smaller": "smaller principal"}
CURVATURE_UNIT = "distance [1; Gaussian 1/m²]"
OF_REST = ("distance to rest [m]", "distance to rest / size", "pushes off a saddle")
HISTORY = (
    ("distance", "distance to rest [m]", True),
    ("residual", "residual ‖d‖/(h√n) [m/s]", True),
    ("energy", "energy [J]", False),
    ("contacts", "contacts", False),
)

STYLE = """
:root { color: #1c2126; background: #fff; font: 15px/1.5 system-ui, sans-serif; }
body { max-width: 1120px; margin: 2rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.7rem; margin: 0; } h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
p.about { color: #55606b; margin: .2rem 0 0; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #55606b; padding-bottom: .4rem; }
th, td { padding: .25rem .9rem; text-align: right; border-bottom: 1px solid #e3e7eb; white-space: nowrap; }
th[scope=row] { text-align: left; font-weight: 400; padding-left: 0; }
thead :is(th, td) { border-bottom: 2px solid #b9c2ca; }
td.bad { color: #a3122a; font-weight: 600; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(310px, 1fr)); gap: 1rem 1.2rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(180px, 1fr)); gap: .8rem; }
.pictures + figure { margin-top: 1rem; } .picture:only-child { max-width: 46rem; }
figure { margin: 0; break-inside: avoid; } figcaption { font-weight: 600; font-size: .87rem; }
figure.picture figcaption { font-weight: 400; color: #55606b; }
figure img { width: 100%; height: auto; border: 1px solid #e3e7eb; } svg { width: 100%; height: auto; display: block; }
svg text { font: 11px system-ui, sans-serif; fill: #3c454d; }
svg .grid { stroke: #e3e7eb; } svg .axis { stroke: #8b959e; }
.legend { font-size: .8rem; color: #3c454d; margin: 0; padding: 0; }
.legend li { display: inline-block; margin-right: .9rem; }
.legend i { display: inline-block; width: .75em; height: .75em; margin-right: .35em; border-radius: 2px; }
.legend i, svg * { print-color-adjust: exact; }
@media print { body { margin: 0; max-width: none; font-size: 10pt; } h2 { break-after: avoid; }
  .plots { grid-template-columns: repeat(3, 1fr); } .scroll { overflow: visible; } th, td { padding: .15rem .5rem; } }
"""


def write_page(report: Report, folder: Path, path: Path) -> None:
    """Writes the page of a report to a file."""
    partial = path.with_name(path.name + ".part")
    try:
        partial.write_text(make_page(report, folder), encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise SceneError(f"Cannot write the page {path} ({error.strerror}): choose a writable folder.") from error


def make_page(report: Report, folder: Path) -> str:
    """The page of a report; pictures are taken from the run's `folder`, if they exist."""
    levels = report.levels
    parts = [
        _head(report),
        _table(levels),
        _pictures(levels, folder),
        _metrics(levels),
        draw_motion(levels),
        _histories(levels),
        _times(levels),
    ]
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(str(report.scene))} – plisse</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(part for part in parts if part)
        + "\n</body>\n</html>\n"
    )


def _head(report: Report) -> str:
    threads = report.threads
    auto = report.auto
    chosen = f"<p class=about>Chosen from the scene: {escape(tell_chosen(auto))}</p>" if auto else ""
    return (
        f"<h1>{escape(str(report.scene))}</h1>\n<p class=about>plisse {escape(str(report.version))}, "
        f"{threads} thread{'s' if threads != 1 else ''}, {write_number(report.wall_s)} s in all</p>"
        f"<p>{escape(verdict(report))}</p>{chosen}"
    )


def _table(levels: Sequence[LevelReport]) -> str:
    """Levels side by side, a quantity a row: it stays readable for any number of quantities."""
    metrics = [level.metrics or LevelMetrics() for level in levels]
    rows: list[tuple[str, list[Any]]] = [
        (name, [getattr(level, key) for level in levels])
        for name, key in (
            ("vertices", "vertices"),
            ("triangles", "triangles"),
            ("steps", "steps"),
            ("Newton iterations", "newton_iterations"),
            ("time [s]", "wall_s"),
            ("converged", "converged"),
            ("distance to rest [m]", "distance_to_rest"),
            ("distance to rest / size", "part_to_rest"),
            ("pushes off a saddle", "pushes"),
            ("residual [m/s]", "residual"),
            ("force balance", "force_balance"),
            ("energy [J]", "energy"),
            ("missed keyframes [m]", "missed_keyframes"),
            ("contacts", "contacts"),
            ("intersections", "intersections"),
            ("states checked", "states_checked"),
            ("least distance / offset", "min_distance_over_offset"),
            ("largest stretch / limit", "max_stretch_over_limit"),
        )
    ]
    rows += [
        (name, [getattr(level.motion, key, None) for level in levels])
        for name, key in (
            ("first contact, step", "first_contact"),
            ("unexplained acceleration [m/s²]", "unexplained"),
            ("the same over the unsolved, squared", "continuity"),
        )
        if any(level.motion is not None for level in levels)
    ]
    for name, key, scale in (
        ("position error to finest [mm]", "position_error_to_finest", 1e3),
        ("position error to next level [mm]", "position_error_to_next", 1e3),
        ("centres of mass to finest [mm]", "centre_error_to_finest", 1e3),
        ("kinetic energy to finest, relative", "kinetic_error_to_finest", 1.0),
        ("geometric consistency [kg m²]", "geometric_consistency", 1.0),
        ("folds", "folds", 1),
    ):
        values = [None if (value := getattr(of, key)) is None else scale * value for of in metrics]
        if any(value is not None for value in values):
            rows.append((name, values))
    for key, name in CURVATURES.items():
        values = [(of.curvature_distance_to_finest or {}).get(key) for of in metrics]
        if any(value is not None for value in values):
            rows.append((f"curvature distance to finest, {name} [{'1/m²' if key == 'gaussian' else '1'}]", values))
    by_tolerance = all(level.rest is None for level in levels)
    rows = [(name, values) for name, values in rows if not (by_tolerance and name in OF_REST)]
    heads = "".join(f"<th scope=col>level {level.level}</th>" for level in levels)
    body = "\n".join(
        f"<tr><th scope=row>{name}</th>{''.join(_cell(name, value) for value in values)}</tr>" for name, values in rows
    )
    return (
        "<h2>Levels</h2>\n<div class=scroll><table>\n<caption>Each level's last state; intersections over all states "
        f"checked.</caption>\n<thead><tr><td></td>{heads}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div>"
    )


def _cell(name: str, value: Any) -> str:
    bad = (name == "converged" and value is False) or (name == "intersections" and bool(value))
    bad = bad or (name.startswith("least") and value is not None and value <= 1.0)
    bad = bad or (name.startswith("largest") and value is not None and value >= 1.0)
    return f"<td{' class=bad' if bad else ''}>{write_number(value)}</td>"


def _pictures(levels: Sequence[LevelReport], folder: Path) -> str:
    figures = []
    for level in levels:
        k = level.level
        caption = f"level {k}, {write_number(level.triangles)} triangles"
        figures.append(_picture(folder / f"level-{k}" / "picture.png", f"The result on {caption}", caption))
    together = _picture(folder / "levels.png", "The results on all levels side by side", "all levels, coarse to fine")
    if not together and not any(figures):
        figures = [_picture(folder / "preview.png", "The last state of the run", "last state")]
    shown = f"<div class=pictures>{''.join(figures)}</div>" if any(figures) else ""
    return f"<h2>Pictures</h2>\n{shown}\n{together}" if shown or together else ""


def _picture(path: Path, alt: str, caption: str) -> str:
    if not path.is_file():
        return ""
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    image = f'<img alt="{escape(alt)}" src="data:image/png;base64,{data}">'
    return f"<figure class=picture>{image}<figcaption>{escape(caption)}</figcaption></figure>\n"


def _metrics(levels: Sequence[LevelReport]) -> str:
    if len(levels) < 2:
        return ""
    metrics = [level.metrics or LevelMetrics() for level in levels]

    def values(key: str, scale: float = 1.0) -> list[float | None]:
        return [None if (value := getattr(of, key)) is None else scale * value for of in metrics]

    def four(key: str) -> Series:
        return {name: [(getattr(of, key) or {}).get(k) for of in metrics] for k, name in CURVATURES.items()}

    errors = {
        "to finest": values("position_error_to_finest", 1e3),
        "to next level": values("position_error_to_next", 1e3),
    }
    x = [float(level.level) for level in levels]
    plots = [
        draw_plot("Position error", x, errors, "error, RMS [mm]", x_label="level"),
        draw_plot(
            "Curvature distance to the finest level", x, four("curvature_distance_to_finest"), CURVATURE_UNIT,
            x_label="level", log=True,
        ),
        draw_plot(
            "Curvature distance to the next level", x, four("curvature_distance_to_next"), CURVATURE_UNIT,
            x_label="level", log=True,
        ),
        draw_plot(
            "Geometric consistency", x, {"": values("geometric_consistency")},
            "‖Π x_fine − x_coarse‖² [kg m²]", x_label="level", log=True,
        ),
        draw_plot("Folds", x, {"": values("folds")}, "folds", x_label="level", bars=True),
    ]  # fmt: skip
    return section("Consistency between levels", plots)


def _histories(levels: Sequence[LevelReport]) -> str:
    plots = []
    for level in levels:
        for key, y_label, log in HISTORY:
            values = level.history.get(key) or []
            if not any(value is not None for value in values):
                continue
            steps = [float(level.begin + k) for k in range(1, len(values) + 1)]
            title = f"Level {level.level}: {key}"
            plots.append(draw_plot(title, steps, {"": values}, y_label, x_label="step", log=log))
    return section("Convergence", plots)


def _times(levels: Sequence[LevelReport]) -> str:
    """One stacked bar a level, all to one scale."""
    splits = [level.time_split for level in levels]
    parts = list(dict.fromkeys(part for split in splits for part in split))
    most = max((sum(split.values()) for split in splits), default=0.0)
    if not most > 0.0:
        return ""
    left, right, row = 62.0, 800.0, 30
    marks, titles = [], []
    for index, (level, split) in enumerate(zip(levels, splits, strict=True)):
        at, top = left, index * row + 4
        marks.append(f'<text x="{left - 8}" y="{top + 15}" text-anchor="end">level {level.level}</text>')
        for part, seconds in split.items():
            wide = (right - left) * seconds / most
            title = f"level {level.level}, {part}: {write_number(seconds)} s"
            color = COLORS[parts.index(part) % len(COLORS)]
            marks.append(
                f'<rect x="{at:.1f}" y="{top}" width="{wide:.1f}" height="22" fill="{color}" stroke="#fff" '
                f'stroke-width=".6"><title>{escape(title)}</title></rect>'
            )
            titles.append(title)
            at += wide
        marks.append(f'<text x="{at + 7:.1f}" y="{top + 15}">{write_number(sum(split.values()))} s</text>')
    return (
        f'<h2>Time [s]</h2>\n<figure><svg viewBox="0 0 880 {len(levels) * row + 6}" role="img" '
        f'aria-label="{escape("; ".join(titles))}">\n' + "\n".join(marks) + f"\n</svg>{draw_legend(parts)}</figure>"
    )
