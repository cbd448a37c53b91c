"""Writes `clearpipe/scenario.py` from the JSON Schema of scenario files.

    make_models.py SCHEMA OUT      writes the module
    make_models.py SCHEMA          prints it

A class stands for each table, an alias for each kind of text and for each choice between tables.
Names come from the schema: `LinkFile` gives `Link`, the variant `red` of `QueueTable` gives
`RedQueue`, a table that is written out in place is called after its owner and its key.
"""

from __future__ import annotations

import json
import keyword
import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Schema = dict[str, Any]

ROOT = "Scenario"
RENAMED = {"FlowFile": "Flows"}
# What `clearpipe` and the module itself call something else.
TAKEN = {
    *("Any", "Literal", "Mapping", "Model", "PathLike", "Sequence", "TypeAlias"),
    *("ClearpipeError", "ConfigError", "RunError", "ToleranceError", "UnsupportedError"),
    *("GroupSummary", "LinkSummary", "Meta", "Spread", "Summary", "Result", "Table", "Plot"),
    *("Param", "Progress", "Protocol", "Queue", "Resolved", "Source"),
}
WIDTH = 100
MOST_WORDS = 12

HEAD = '''\
"""Scenarios in Python: a frozen class for each table of a scenario file.

They render to TOML, which the same reader parses and checks that reads scenario files. A key that
is left out has the reader's default.

Generated from python/clearpipe/scenario.schema.json by `make models`; do not edit.
"""

'''
# What may be needed, by module; what is not used is left out.
IMPORTS = {
    "collections.abc": ("Mapping", "Sequence"),
    "dataclasses": ("dataclass", "field"),
    "typing": ("Any", "Literal", "TypeAlias"),
}


@dataclass
class Module:
    """The module as far as it is written."""

    definitions: dict[str, Schema]
    names: dict[str, str] = field(default_factory=dict)
    """What the definitions are called in Python."""
    bodies: dict[str, str] = field(default_factory=dict)
    """The classes by name."""
    aliases: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Type and meaning of what is not a class."""

    def render(self, root: Schema) -> str:
        """The module's text."""
        self.names = {name: self.free(_called(name)) for name in sorted(self.definitions)}
        self.write_class(self.free(ROOT), root)
        for name in sorted(self.definitions):
            if not _is_part(self.definitions[name]):
                self.define(name)
        public = sorted([*self.bodies, *self.aliases])
        listed = "".join(f'    "{name}",\n' for name in public)
        classes = "\n\n".join(self.bodies[name] for name in sorted(self.bodies))
        # After the classes, which name aliases in annotations only.
        aliases = "\n".join(map(self.alias_text, self.ordered_aliases()))
        text = f"{classes}\n\n{aliases}"
        return f"{HEAD}{_imports(text)}\n__all__ = [\n{listed}]\n\n\n{text}"

    def free(self, wanted: str) -> str:
        """`wanted`, or something near it that nothing else is called."""
        used = TAKEN | set(self.names.values()) | self.bodies.keys() | self.aliases.keys()
        used |= {ROOT} if self.bodies else set()
        candidates = [wanted, f"{wanted}Table", *(f"{wanted}{number}" for number in range(2, 1000))]
        return next(name for name in candidates if name not in used)

    def define(self, name: str) -> None:
        schema, called = self.definitions[name], self.names[name]
        if _is_table(schema):
            self.write_class(called, schema)
            return
        self.aliases[called] = ("", "")  # the name is used from here on
        note = schema.get("description", "")
        examples = ", ".join(f'"{example}"' for example in schema.get("examples", ()))
        note += f", such as {examples}" if note and examples else ""
        self.aliases[called] = (self.type_of(schema, called, _family(name)), note)

    def ordered_aliases(self) -> list[str]:
        """The aliases, those that others are made of first."""
        out: list[str] = []
        left = {name: self.aliases[name][0] for name in sorted(self.aliases)}
        while left:
            free = [
                name
                for name, text in left.items()
                if not left.keys() & (set(re.findall(r"\w+", text)) - {name})
            ]
            if not free:
                sys.exit(f"the schema's definitions {', '.join(left)} go in a circle")
            out += [name for name in free if left.pop(name)]
        return out

    def alias_text(self, name: str) -> str:
        text, note = self.aliases[name]
        told = f"{_doc(note)}\n" if note else ""
        return f"{name}: TypeAlias = {_union(text, len(name) + 13)}\n{told}"

    def type_of(self, schema: Schema | bool, owner: str, family: str = "") -> str:
        """The annotation for `schema`; what it writes out in place is called after `owner`."""
        if isinstance(schema, bool):
            return "Any"
        if "$ref" in schema:
            return self.names[schema["$ref"].removeprefix("#/$defs/")]
        choices = [schema["const"]] if "const" in schema else schema.get("enum")
        if choices is not None:
            return f"Literal[{', '.join(map(_literal, choices))}]"
        if _is_table(schema):
            return self.variant(schema, owner, family)
        every: list[Schema] = next(
            (schema[key] for key in ("oneOf", "anyOf", "allOf") if key in schema), []
        )
        if any(map(_says_a_type, every)) and not _is_open(schema):
            return self.either(every, owner, family)
        kinds = schema.get("type", ())
        parts = [self.simple(kind, schema, owner) for kind in _listed(kinds)]
        return " | ".join(dict.fromkeys(part for part in parts if part != "None")) or "Any"

    def either(self, parts: list[Schema], owner: str, family: str) -> str:
        # Where any text is allowed, many words are no help in an annotation.
        if any(part.get("type") == "string" for part in parts):
            parts = [part for part in parts if len(part.get("enum", ())) <= MOST_WORDS]
        types = [self.type_of(part, owner, family or owner) for part in parts]
        return " | ".join(dict.fromkeys(name for text in types for name in _split(text)))

    def variant(self, schema: Schema, owner: str, family: str) -> str:
        """A table written out in place."""
        properties = schema["properties"]
        told = schema.get("title") or properties.get("kind", {}).get("const")
        wanted = f"{_camel(told)}{family or owner}" if told else owner
        existing = self.bodies.get(wanted)
        name = self.free(wanted)
        text = self.class_text(name, schema)
        if existing is not None and text.replace(name, wanted) == existing:
            return wanted
        self.bodies[name] = text
        return name

    def simple(self, kind: str, schema: Schema, owner: str) -> str:
        if kind == "array":
            return f"Sequence[{self.type_of(schema.get('items', True), owner)}]"
        if kind == "object":
            return f"Mapping[str, {self.type_of(schema.get('additionalProperties', True), owner)}]"
        names = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
        return {**names, "null": "None"}[kind]

    def write_class(self, name: str, schema: Schema) -> None:
        self.bodies[name] = ""  # the name is used from here on
        self.bodies[name] = self.class_text(name, schema)

    def class_text(self, name: str, schema: Schema) -> str:
        required = schema.get("required", [])
        properties = schema["properties"]
        order = sorted(properties, key=lambda key: (_rank(properties[key], key in required), key))
        lines = [
            "@dataclass(frozen=True, kw_only=True, repr=False)",
            f"class {name}(Model):",
            _doc(str(schema.get("description") or schema.get("title") or name), "    "),
            "",
        ]
        for key in order:
            lines.append(self.key_text(name, key, properties[key], key in required))
        return "\n".join(lines).rstrip() + "\n"

    def key_text(self, owner: str, key: str, schema: Schema | bool, required: bool) -> str:
        name = re.sub(r"\W", "_", key)
        name += "_" if keyword.iskeyword(name) or name in ("to_dict", "to_toml") else ""
        text = self.type_of(schema, owner + _camel(key))
        table = schema if isinstance(schema, dict) else {}
        value = ""
        if "const" in table and required:
            value = _literal(table["const"])
        elif not required:
            text, value = f"{text} | None", "None"
        if name != key:
            default = f"default={value}, " if value else ""
            value = f'field({default}metadata={{"key": {_literal(key)}}})'
        line = f"    {name}: {_union(text, len(name) + 6, '    ')}{' = ' if value else ''}{value}"
        told = _about(table)
        return f"{line}\n{_doc(told, '    ')}" if told else line


def _imports(text: str) -> str:
    lines = ["from __future__ import annotations\n"]
    for module, names in IMPORTS.items():
        used = [name for name in names if re.search(rf"\b{name}\b", text)]
        lines += [f"from {module} import {', '.join(used)}"] if used else []
    return "\n".join([*lines, "\nfrom clearpipe.values import Model\n"])


def _called(definition: str) -> str:
    return RENAMED.get(definition, definition.removesuffix("File"))


def _family(definition: str) -> str:
    """What the variants of a choice are called after."""
    return _called(definition).removesuffix("Table")


def _is_table(schema: Schema) -> bool:
    """Has it these keys and no others?"""
    return bool(schema.get("properties")) and not _is_open(schema)


def _is_open(schema: Schema) -> bool:
    """May it have keys of any name?"""
    return isinstance(schema.get("additionalProperties"), dict)


def _is_part(schema: Schema) -> bool:
    """Does it say more of some keys of tables that have any, and is none by itself?"""
    return "patternProperties" in schema


def _says_a_type(part: Schema | bool) -> bool:
    """Is it more than a condition such as `required` on the table around it?"""
    keys = {"$ref", "type", "const", "enum", "oneOf", "anyOf", "allOf", "properties"}
    return isinstance(part, dict) and bool(keys & part.keys())


def _listed(kinds: str | list[str]) -> list[str]:
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _rank(schema: Schema | bool, required: bool) -> int:
    if isinstance(schema, dict) and "const" in schema:
        return 0
    return 1 if required else 2


def _literal(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def _camel(text: str) -> str:
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", text))


def _split(union: str) -> list[str]:
    """The members of a union that stand at its top level."""
    depth, start, parts = 0, 0, []
    for place, sign in enumerate(union):
        depth += (sign == "[") - (sign == "]")
        if sign == "|" and depth == 0:
            parts.append(union[start:place].strip())
            start = place + 1
    return [*parts, union[start:].strip()]


def _union(text: str, before: int, indent: str = "") -> str:
    """A union, on several lines if it is long."""
    if before + len(indent) + len(text) + 8 <= WIDTH:
        return text
    first, *rest = _split(text)
    parts = [first, *(f"| {part}" for part in rest)]
    return "(\n" + "".join(f"{indent}    {part}\n" for part in parts) + f"{indent})"


def _sentence(text: str) -> str:
    return text if not text or text[-1] in ".?!" else text + "."


def _about(schema: Schema) -> str:
    """What a key means, its bounds, and what holds when it is left out."""
    parts = [_sentence(schema.get("description", ""))]
    low, high = (schema.get(key) for key in ("minimum", "maximum"))
    if low is not None or high is not None:
        bounds = f"from {low}" if high is None else f"up to {high}"
        parts.append(_sentence(f"{low} to {high}" if None not in (low, high) else bounds))
    if "const" not in schema and (examples := schema.get("examples")):
        parts.append(f"Examples: {', '.join(map(_literal, examples))}.")
    if "default" in schema:
        parts.append(f"Left out: {_literal(schema['default'])}.")
    return " ".join(part for part in parts if part)


def _doc(text: str, indent: str = "") -> str:
    """A docstring, with a blank line between its parts if it has several."""
    text = _sentence(text).replace("\\", "\\\\").replace('"""', "'''")
    text += " " if text.endswith('"') else ""
    if len(indent) + len(text) + 6 <= WIDTH:
        return f'{indent}"""{text}"""'
    lines = textwrap.wrap(f'"""{text}', WIDTH, initial_indent=indent, subsequent_indent=indent)
    return "\n".join([*lines, f'{indent}"""'])


def models(schema: Schema) -> str:
    """The text of the module for `schema`."""
    return Module(schema.get("$defs", {})).render(schema)


def main(arguments: list[str]) -> None:
    """Print the module, or write it if a second argument says where."""
    text = models(json.loads(Path(arguments[0]).read_text(encoding="utf-8")))
    if len(arguments) > 1:
        Path(arguments[1]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
