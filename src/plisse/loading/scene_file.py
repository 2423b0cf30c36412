"""Scenes from TOML files, with values overridden from the command line."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from plisse.core.errors import SceneError, inside
from plisse.core.files import TEXT, check_file
from plisse.loading.scene_table import as_plain, scene_from_dict, scene_to_dict
from plisse.scene.presets import DEFAULT_MATERIAL
from plisse.scene.scene import Scene

__all__ = ["load_scene", "scene_from_dict", "scene_to_dict"]


def load_scene(
    source: str | Path | Mapping[str, Any], overrides: Iterable[str] = (), *, base: str | Path = "."
) -> Scene:
    """Reads a scene from a file, or from a dict of the same tables whose files are looked up from the folder `base`.

    overrides: values like `shell.0.material.E=1e6`, which are set before the scene is checked.
    """
    if isinstance(source, Mapping):
        data = as_plain(source)
        for override in overrides:
            apply_override(data, override)
        return scene_from_dict(data, base)
    path = Path(source)
    data = read_table(path)
    for override in overrides:
        apply_override(data, override)
    with inside(str(path)):
        return scene_from_dict({"name": path.stem} | data, path.parent)


def read_table(path: Path) -> dict[str, Any]:
    """The tables of a scene file as they are written there."""
    try:
        check_file(path, most=TEXT)
        # editors on Windows put a mark in front, which is no part of the text
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise SceneError(f"The scene {path} does not exist: correct its name.") from None
    except OSError as error:
        raise SceneError(f"The scene {path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise SceneError(
            f"The scene {path} is not text: byte {error.start} is not UTF-8; save it as plain text in UTF-8."
        ) from None
    except (ValueError, RecursionError) as error:
        known = isinstance(error, tomllib.TOMLDecodeError)
        reason = error if known else "it is nested too deeply, or has a number with thousands of digits"
        raise SceneError(f"The scene {path} is not valid TOML: {reason}; correct it there.") from None


def apply_override(data: dict[str, Any], override: str) -> None:
    """Set one value in nested tables: keys are joined by dots, a list's entries are numbered from 0.

    A list with one entry needs no number; the number after its last entry adds one. The value is read as TOML, else
    taken as a word; an empty one removes what is there.
    """
    dotted, equals, text = override.partition("=")
    keys = dotted.strip().split(".")
    if not equals or not all(keys):
        raise SceneError(f'The override "{override}" is not of the form key.key=value.')
    place: Any = data
    for key in keys[:-1]:
        place, slot = _locate(place, key, override)
        if isinstance(place, dict):
            place.setdefault(slot, {"preset": DEFAULT_MATERIAL} if key == "material" else {})
        if key == "material" and isinstance(place[slot], str):
            place[slot] = {"preset": place[slot]}
        place = place[slot]
    if isinstance(place, list) and keys[-1] == str(len(place)) and text.strip():
        place.append(_read_value(text.strip()))
        return
    place, slot = _locate(place, keys[-1], override)
    if text.strip():
        place[slot] = _read_value(text.strip())
    elif isinstance(place, list) or slot in place:
        del place[slot]
    else:
        raise SceneError(f'The override "{override}" removes what is not there: correct its key.')


def _locate(place: Any, key: str, override: str) -> tuple[Any, Any]:
    """The table or list that the key speaks of, and the key or number to use there."""
    if isinstance(place, list) and len(place) == 1 and not key.isdecimal():
        place = place[0]
    if isinstance(place, dict):
        return place, key
    if isinstance(place, list) and key.isdecimal() and int(key) < len(place):
        return place, int(key)
    if isinstance(place, list):
        if not place:
            raise SceneError(f'The override "{override}" has nothing to set before "{key}": there is no such table.')
        which = "there is only entry 0" if len(place) == 1 else f"there are entries 0 to {len(place) - 1}"
        dotted, _, value = override.partition("=")
        example = dotted.replace(f".{key}", ".0" if key.isdecimal() else f".0.{key}", 1)
        asks = f"names entry {key}" if key.isdecimal() else "does not say which entry it means"
        raise SceneError(f'The override "{override}" {asks}, but {which}: write e.g. {example}={value}.')
    raise SceneError(f'The override "{override}" has no "{key}" to set: it would be part of a plain value.')


def _read_value(text: str) -> Any:
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except (ValueError, RecursionError):
        return text
