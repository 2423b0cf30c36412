"""What a window may say: messages of known kinds and sizes, at a bounded pace, and uploads within limits.

The server under the studio takes everything that its client can send, shared addresses and files of any size among
them. All of it passes here first. What a browser would not send is dropped; whoever goes on sending it is cut off.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

MOST_MESSAGE = 1_000_000  # bytes; parts of an upload have half of that
MOST_TEXT = 20_000  # characters of a control
MOST_UPLOAD = 20_000_000  # bytes of a file
MOST_UPLOADS = 100  # files of one window
PACE = 200.0  # messages a second in the long run
BURST = 400.0  # that come at once
MOST_AHEAD = 1000  # beyond that: who is so far ahead is no hand at a mouse, and is cut off
MOST_WAITING = 200  # events that the studio has not come to yet: windows wait for it
MOST_WRONG = 100  # messages that are dropped before a window is cut off
LARGEST = 1e6  # of a place in the view [m], either way

Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= MOST_TEXT


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def _numbers(count: int) -> Check:
    def check(value: Any) -> bool:
        return (
            isinstance(value, list) and len(value) == count and all(is_number(v) and abs(v) <= LARGEST for v in value)
        )

    return check


def _is_turn(value: Any) -> bool:
    return _numbers(4)(value) and 0.1 < sum(part * part for part in value) < 10.0


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and 0 <= value <= 2**31


def _is_pixels(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= 2 and all(map(_numbers(2), value))


def _is_one_value(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {"value"}


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


_POINT = _numbers(3)
_GIZMO: dict[str, Check] = {"name": _is_text, "owner": _is_text}
# what windows send, and what has to be in it
KINDS: dict[str, dict[str, Check]] = {
    "ViewerCameraMessage": {
        "wxyz": _is_turn, "position": _POINT, "fov": is_number, "near": is_number, "far": is_number,
        "image_height": is_number, "image_width": is_number, "look_at": _POINT, "up_direction": _POINT,
    },
    "ScenePointerMessage": {
        "event_type": _is_text, "ray_origin": _optional(_POINT), "ray_direction": _optional(_POINT),
        "screen_pos": _is_pixels, "modifier": _optional(_is_text),
    },
    "TransformControlsUpdateMessage": {**_GIZMO, "wxyz": _is_turn, "position": _POINT},
    "TransformControlsDragStartMessage": _GIZMO,
    "TransformControlsDragEndMessage": _GIZMO,
    "GuiUpdateMessage": {"uuid": _is_text, "updates": _is_one_value},
    "CommandTriggerMessage": {"uuid": _is_text},
    "FileTransferStartUpload": {
        "source_component_uuid": _is_text, "transfer_uuid": _is_text, "filename": _is_text, "mime_type": _is_text,
        "part_count": _is_count, "size_bytes": _is_count,
    },
    "FileTransferPart": {
        "source_component_uuid": _is_text, "transfer_uuid": _is_text, "part_index": _is_count,
        "content": lambda value: isinstance(value, bytes),
    },
}  # fmt: skip


@dataclass
class Rules:
    """What the page knows: accepts: whether a control, by its uuid, can have that value; takes_files: whether it takes
    files; waiting: how many events the studio has not come to; tell: says something to the user.
    """

    accepts: Callable[[str, Any], bool]
    takes_files: Callable[[str], bool]
    waiting: Callable[[], int]
    tell: Callable[[str], None]


@dataclass
class Intake:
    """What one window has said so far."""

    rules: Rules
    wrong: int = 0
    files: int = 0
    left: dict[str, int] = field(default_factory=dict)  # bytes that each upload still may have
    _tokens: float = BURST
    _last: float = field(default_factory=time.monotonic)

    def passes(self, raw: Any) -> bool:
        """Whether a message may go on to the server."""
        message = _read(raw)
        self.wrong += message is None
        return message is not None and self._is_right(message)

    def _is_right(self, message: Mapping[str, Any]) -> bool:
        kind = message["type"]
        if kind == "GuiUpdateMessage":
            return self.rules.accepts(message["uuid"], message["updates"]["value"])
        if kind == "FileTransferStartUpload":
            return self._begins(message)
        if kind == "FileTransferPart":
            left = self.left.get(message["transfer_uuid"], -1) - len(message["content"])
            self.left[message["transfer_uuid"]] = left
            if left <= 0:
                self.left.pop(message["transfer_uuid"])
            return left >= 0
        return True

    def _begins(self, message: Mapping[str, Any]) -> bool:
        size, parts = message["size_bytes"], message["part_count"]
        if not self.rules.takes_files(message["source_component_uuid"]) or parts > size:
            return False
        if size > MOST_UPLOAD:
            self.rules.tell(
                f"A file of {size / 1e6:.0f} MB is too large: at most {MOST_UPLOAD / 1e6:.0f} MB are taken."
            )
            return False
        if self.files >= MOST_UPLOADS:
            self.rules.tell(f"{MOST_UPLOADS} files were uploaded from this window: copy others into the folder.")
            return False
        if self.left:
            self.rules.tell("One file at a time, please: another one is under way.")
            return False
        self.files += 1
        if parts:
            self.left[message["transfer_uuid"]] = size
        return True

    def count(self) -> float:
        """How many messages there are to spare, after one more; less than none where too many have come."""
        now = time.monotonic()
        self._tokens = min(self._tokens + PACE * (now - self._last), BURST) - 1.0
        self._last = now
        return self._tokens


class Checked:
    """A window's connection, of which only what may pass is received."""

    def __init__(self, connection: Any, rules: Rules) -> None:
        self._connection, self._intake = connection, Intake(rules)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    async def recv(self) -> Any:
        while True:
            raw = await self._connection.recv()
            passes, left = self._intake.passes(raw), self._intake.count()
            if left < -MOST_AHEAD:
                self._connection.transport.abort()  # who does not stop talking does not hear a goodbye
            elif self._intake.wrong > MOST_WRONG:
                await self._connection.close(1008, "What comes is not what a window of the studio sends.")
            elif passes:
                while self._intake.rules.waiting() > MOST_WAITING:
                    await asyncio.sleep(0.02)
                return raw


def _read(raw: Any) -> Mapping[str, Any] | None:
    """A message of a known kind with all that has to be in it and nothing else, or None."""
    if not isinstance(raw, bytes) or len(raw) > MOST_MESSAGE:
        return None
    try:
        message = msgspec.msgpack.decode(raw)
    except (msgspec.DecodeError, RecursionError, TypeError, ValueError):
        return None
    kind = message.get("type") if isinstance(message, dict) else None
    wanted = KINDS.get(kind) if isinstance(kind, str) else None
    if wanted is None or set(message) != {"type", *wanted}:
        return None
    return message if all(check(message[key]) for key, check in wanted.items()) else None
