"""Machine code of kernels on disk, found again by content.

Numba's own cache is tied to the place of a source file, and does not notice that a kernel of another file,
which was compiled into this one, has changed. Here an entry is named after what it is made of: the text of
the kernel's module and of all kernel modules that it imports, the argument types, the processor, and the
versions of the compilers. Entries live in `<user cache>/plisse/kernels/<module>-<digest>/`; the environment
variable PLISSE_CACHE names another folder in place of `<user cache>/plisse`.
"""

import ast
import hashlib
import os
import pickle
import platform
import shutil
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import llvmlite  # type: ignore[import-untyped]
import numba
from numba.core import caching, config

KEPT_VERSIONS = 3  # of each module: a few branches side by side stay warm, years of edits do not pile up

_ROOT = Path(__file__).resolve().parent
_PACKAGE = __name__.rpartition(".")[0]


def attach_cache(dispatcher: Any) -> Any:
    """Give a compiled function its place on disk; where nothing can be written, every run compiles it."""
    try:
        dispatcher._cache = KernelCache(dispatcher.py_func)
    except OSError:
        pass
    return dispatcher


def find_cache_root() -> Path:
    """Folder of all cached kernels: PLISSE_CACHE, or plisse in the user's cache folder."""
    if chosen := os.environ.get("PLISSE_CACHE"):
        return Path(chosen).expanduser() / "kernels"
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(home).expanduser() / "plisse" / "kernels"


@cache
def digest_module(path: Path) -> str:
    """Digest of a module's text, of the kernel modules it imports (to any depth), and of the compilers."""
    texts: dict[Path, bytes] = {}
    waiting = [path]
    while waiting:
        current = waiting.pop()
        if current not in texts:
            texts[current] = current.read_bytes()
            waiting.extend(_find_imports(current, texts[current]))
    versions = (numba.__version__, llvmlite.__version__, platform.python_version())
    switches = [str(getattr(config, name)) for name in ("OPT", "BOUNDSCHECK", "DEBUGINFO_DEFAULT", "USING_SVML")]
    total = hashlib.sha256(repr((versions, switches)).encode())
    # the names, not the places: a clone elsewhere gives the same digest
    for name, text in sorted((source.name, text) for source, text in texts.items()):
        total.update(name.encode() + b"\0" + hashlib.sha256(text).digest())
    return total.hexdigest()[:20]


@cache
def _find_imports(path: Path, text: bytes) -> list[Path]:
    """Files of this package that a module imports."""
    names: list[str] = []
    for node in ast.walk(ast.parse(text, filename=str(path))):
        if isinstance(node, ast.Import):
            names.extend(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:  # the package is flat: one dot is the package itself
                base = f"{_PACKAGE}.{base}".rstrip(".")
            names.append(base)
            names.extend(f"{base}.{alias.name}" for alias in node.names)
    inside = [name.removeprefix(_PACKAGE + ".") for name in names if name.startswith(_PACKAGE + ".")]
    files = [_ROOT.joinpath(*name.split(".")).with_suffix(".py") for name in inside]
    return [file for file in files if file.is_file()]


@cache
def _open_folder(source: Path) -> Path:
    """The folder of a module's entries, made and marked as in use; old versions of the module are removed."""
    name = f"{source.stem}-{digest_module(source)}"
    # beside the sources is the second choice, where numba itself would write
    for root in (find_cache_root(), source.parent / "__pycache__" / "kernels"):
        folder = root / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
            os.utime(folder)
        except OSError:
            continue
        _prune(root, source.stem)
        return folder
    raise OSError(f"no writable folder for compiled kernels of {source}")


def _prune(root: Path, stem: str) -> None:
    """Remove all but the newest versions of a module; another process may be doing the same."""
    ages: list[tuple[float, Path]] = []
    for folder in root.glob(f"{stem}-{'?' * 20}"):
        try:
            ages.append((folder.stat().st_mtime, folder))
        except OSError:
            continue
    for _, folder in sorted(ages, reverse=True)[KEPT_VERSIONS:]:
        shutil.rmtree(folder, ignore_errors=True)


class _Locator(caching._CacheLocator):
    """Tells numba where the entries of one function live."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        self._py_file = py_file
        self._line = py_func.__code__.co_firstlineno
        self._folder = _open_folder(Path(py_file).resolve())

    def ensure_cache_path(self) -> None:
        with suppress(OSError):
            os.makedirs(self._folder, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return digest_module(Path(self._py_file).resolve())

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> "_Locator":
        return cls(py_func, py_file)


class _Format(caching.CompileResultCacheImpl):
    """Numba's own serialisation of a compiled function."""

    _locator_classes: ClassVar[list[Any]] = [_Locator]


class _Entries(caching.IndexDataCacheFile):
    """One file an entry, named by the digest of its key.

    Differs: numba numbers its entries in an index file, and two processes that add one at the same time can
    exchange them. A name made of the key needs no index.
    """

    def _name(self, key: Any) -> str:
        digest = hashlib.sha256(repr((key, self._source_stamp)).encode()).hexdigest()[:20]
        return f"{self._index_name.removesuffix('.nbi')}.{digest}.nbc"

    def save(self, key: Any, data: Any) -> None:
        # a type that prints an address (a function as argument) has no lasting name
        if " at 0x" in repr(key):
            return
        try:
            self._save_data(self._name(key), data)
        except OSError:
            return  # a full disk or a folder removed meanwhile costs a compilation, not the run

    def load(self, key: Any) -> Any:
        try:
            return self._load_data(self._name(key))
        except (OSError, EOFError, pickle.UnpicklingError):
            return None

    def flush(self) -> None:
        base = self._index_name.removesuffix(".nbi")
        for entry in Path(self._cache_path).glob(f"{base}.*.nbc"):
            entry.unlink(missing_ok=True)


class KernelCache(caching.FunctionCache):
    """Cached overloads of one kernel."""

    _impl_class = _Format

    def __init__(self, py_func: Any) -> None:
        super().__init__(py_func)
        self._cache_file = _Entries(
            cache_path=self._cache_path,
            filename_base=self._impl.filename_base,
            source_stamp=(self._impl.locator.get_source_stamp(), py_func.__module__),
        )
