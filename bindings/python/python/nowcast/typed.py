"""Messages from dataclasses, in the format of spec/WIRE.md."""

import dataclasses
import struct
import types
import typing
from typing import Annotated, Any, Generic, TypeVar

from ._nowcast import Codec

u8 = Annotated[int, "u8"]
u16 = Annotated[int, "u16"]
u32 = Annotated[int, "u32"]
u64 = Annotated[int, "u64"]
i8 = Annotated[int, "i8"]
i16 = Annotated[int, "i16"]
i32 = Annotated[int, "i32"]
i64 = Annotated[int, "i64"]
f32 = Annotated[float, "f32"]

_PLAIN: dict[Any, str] = {bool: "bool", int: "i64", float: "f64", str: "text", bytes: "bytes", Any: "any"}

T = TypeVar("T")


class Type(Generic[T]):
    """Converts a dataclass to bytes and back.

    >>> @dataclasses.dataclass
    ... class Pose:
    ...     position: tuple[f32, f32, f32]
    ...     label: str | None = None
    >>> pose = Type(Pose)
    >>> pose.shape
    'Pose { position: [f32; 3], label: text? }'
    >>> pose.decode(pose.encode(Pose((1.0, 2.0, 0.5))))
    Pose(position=(1.0, 2.0, 0.5), label=None)

    A Rust program reads such a message as bytes, by `nowcast::decode::<Pose>(&message.bytes)`.
    """

    def __init__(self, cls: type[T]) -> None:
        if not dataclasses.is_dataclass(cls):
            raise TypeError(f"{cls!r} is not a dataclass")
        self._cls = cls
        definitions: dict[type, str] = {}
        _define(cls, definitions)
        self._codec = Codec("\n".join(definitions.values()))

    @property
    def shape(self) -> str:
        """The shape in schema notation."""
        return self._codec.shape

    def encode(self, value: T) -> bytes:
        """Returns the bytes of a value. Raises ValueError if a field does not fit its type."""
        return self._codec.encode(_lower(self._cls, value))

    def decode(self, body: bytes) -> T:
        """Reads bytes that exactly this type wrote. Raises ValueError that names the field."""
        return _build(self._cls, self._codec.decode(body))


def _define(cls: type, definitions: dict[type, str]) -> None:
    if any(known is not cls and known.__name__ == cls.__name__ for known in definitions):
        raise TypeError(f"two dataclasses have the name {cls.__name__}")
    definitions[cls] = ""
    hints = typing.get_type_hints(cls, include_extras=True)
    fields = (f"{field.name}: {_notation(hints[field.name], definitions)}" for field in dataclasses.fields(cls))
    definitions[cls] = f"struct {cls.__name__} {{ {', '.join(fields)} }}"


def _notation(hint: Any, definitions: dict[type, str]) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return str(arguments[1])
    if origin in (typing.Union, types.UnionType):
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return f"{_notation(inner, definitions)}?"
    if origin is list:
        return f"[{_notation(arguments[0], definitions)}]"
    if origin is tuple and len(set(arguments)) == 1:
        return f"[{_notation(arguments[0], definitions)}; {len(arguments)}]"
    if origin is dict:
        key, value = (_notation(argument, definitions) for argument in arguments)
        return f"{{{key}: {value}}}"
    if dataclasses.is_dataclass(hint):
        if hint not in definitions:
            _define(typing.cast(type, hint), definitions)
        return typing.cast(type, hint).__name__
    raise TypeError(f"{hint!r} has no type in spec/WIRE.md: use Annotated[{hint!r}, 'TYPE']")


def _lower(hint: Any, value: Any) -> Any:
    """Returns the value as dictionaries and lists, with numbers rounded to the precision of `f32` fields."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return struct.unpack("f", struct.pack("f", value))[0] if arguments[1] == "f32" else value
    if value is None:
        return None
    if origin in (typing.Union, types.UnionType):
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return _lower(inner, value)
    if origin in (list, tuple):
        return [_lower(arguments[0], item) for item in value]
    if origin is dict:
        return {_lower(arguments[0], key): _lower(arguments[1], item) for key, item in value.items()}
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        return {field.name: _lower(hints[field.name], getattr(value, field.name)) for field in dataclasses.fields(hint)}
    return value


def _build(hint: Any, value: Any) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        return _build(arguments[0], value)
    if value is None:
        return None
    if origin in (typing.Union, types.UnionType):
        (inner,) = (argument for argument in arguments if argument is not type(None))
        return _build(inner, value)
    if origin is list:
        return [_build(arguments[0], item) for item in value]
    if origin is tuple:
        return tuple(_build(arguments[0], item) for item in value)
    if origin is dict:
        return {_build(arguments[0], key): _build(arguments[1], item) for key, item in value.items()}
    if dataclasses.is_dataclass(hint):
        hints = typing.get_type_hints(hint, include_extras=True)
        return typing.cast(type, hint)(**{name: _build(hints[name], item) for name, item in value.items()})
    return value
