"""JSON with checked types: every error says where it is."""

import json
import math
import re

INT_MAX, MOST_DEPTH = (1 << 63) - 1, 100
SIZES = {"": 1, "b": 1} | {f"{p}b": 1000 ** (i + 1) for i, p in enumerate("kmgtp")} | {
    f"{p}ib": 1024 ** (i + 1) for i, p in enumerate("kmgtp")}
TIMES = {"ns": 1, "us": 10 ** 3, "ms": 10 ** 6, "s": 10 ** 9, "min": 60 * 10 ** 9, "h": 3600 * 10 ** 9}
REQUIRED = object()


class Broken(Exception):
    """A rule that leaves nothing to check beyond it."""

    def __init__(self, rule, what, where, advice="correct the file"):
        super().__init__(rule, f"{what}, at '{where}', {advice}")


def quote(value):
    if isinstance(value, (list, dict)):
        return "an array" if isinstance(value, list) else "an object"
    return "'" + str(value)[:80].encode("unicode_escape").decode()[:80] + "'"


def depth_of(text):
    """How deep the arrays and objects of a JSON text are nested."""
    depth = deepest = 0
    for bracket in re.findall(r"[][{}]", re.sub(r'"(?:[^"\\]|\\.)*"', "", text)):
        depth += 1 if bracket in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def parse(data, name):
    def unique(pairs):
        found = dict(pairs)
        if len(found) != len(pairs):
            raise ValueError("a key appears twice in one object")
        return found

    def number(text):
        value = float(text)
        if math.isinf(value):
            raise ValueError("a number is out of range")
        return value

    def constant(text):
        raise ValueError(f"{text} is not a number of JSON")

    try:
        text = data.decode("utf-8")
        if depth_of(text) > MOST_DEPTH:
            raise ValueError(f"nesting is deeper than {MOST_DEPTH}")
        value = json.loads(text, object_pairs_hook=unique, parse_float=number, parse_constant=constant,
                           parse_int=lambda digits: int(digits) if len(digits) < 25 else number(digits))
        if "\\ud" in text or "\\uD" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")  # Halves of characters are no text.
        return value
    except (ValueError, RecursionError) as problem:
        raise Broken("format", f"the file is not valid JSON: {quote(problem)}", name) from None


def integer(value, where, low=-INT_MAX - 1, high=INT_MAX):
    if isinstance(value, float) and abs(value) <= 2.0 ** 53 and value == int(value):
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not -INT_MAX - 1 <= value <= INT_MAX:
        raise Broken("format", f"{quote(value)} is not an integer of 64 bits", where)
    if not low <= value <= high:
        raise Broken("format", f"{value} is not from {low} to {high}", where)
    return value


def real(value, where, low=None, high=None):
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise Broken("format", f"{quote(value)} is not a number", where)
    if low is not None and not low <= value <= high:
        raise Broken("problem", f"{value} is not from {low} to {high}", where)
    return float(value)


def typed(kind, what):
    def read(value, where):
        if not isinstance(value, kind):
            raise Broken("format", f"{quote(value)} is not {what}", where)
        return value
    return read


text, boolean = typed(str, "a text"), typed(bool, "true or false")
array, record = typed(list, "an array"), typed(dict, "an object")


def amount(value, where):
    return integer(value, where, 0)


def integers(low, high):
    return lambda value, where: [integer(e, f"{where}[{i}]", low, high) for i, e in enumerate(array(value, where))]


def pair(value, where):
    if len(array(value, where)) != 2:
        raise Broken("format", "expected two elements", where)
    return value


def quantity(units):
    """An integer, or a number with a unit."""
    def read(value, where):
        if not isinstance(value, str):
            return integer(value, where)
        found = re.fullmatch(r"[ \t]*([0-9.]+)[ \t]*([A-Za-z]*)[ \t]*", value)
        factor = found and units.get(found[2].lower())
        try:
            result = int(found[1]) * factor if "." not in found[1] else math.floor(float(found[1]) * factor + 0.5)
        except (TypeError, ValueError):
            raise Broken("format", f"{quote(value)} is not a number with a unit of {', '.join(units)}", where) from None
        return integer(result, where, 0, 1 << 62)
    return read


def byte_rate(value, where):
    if isinstance(value, str) and value.endswith("/s"):
        return float(quantity(SIZES)(value[:-2], where))
    return real(value, where)


def members(value, where, strict=True, **wanted):
    """Members of an object, in the order of `wanted`: each a reader, or (reader, what it is where absent)."""
    record(value, where)
    if strict and not value.keys() <= wanted.keys():
        raise Broken("format", f"key {quote(min(value.keys() - wanted.keys()))} is unknown", where)
    result = []
    for key, how in wanted.items():
        read, absent = how if isinstance(how, tuple) else (how, REQUIRED)
        if key in value:
            result.append(read(value[key], f"{where}.{key}"))
        elif absent is REQUIRED:
            raise Broken("format", f"key '{key}' is missing", where)
        else:
            result.append(absent)
    return result


def schema(most):
    return lambda value, where: integer(value, where, 1, most)


class Names:
    """A name that is empty, used twice, or begins with '#' is written '#' and its index."""

    def __init__(self, names, what):
        self.names, self.what, self.index = names, what, {}
        for i, name in enumerate(names):
            self.index[name] = None if name in self.index or name == "" else i

    def __call__(self, value, where):
        name = text(value, where)
        found = self.index.get(name)
        if name.startswith("#"):
            digits = re.fullmatch(r"#([0-9]{1,18})", name)
            found = int(digits[1]) if digits and int(digits[1]) < len(self.names) else None
        if found is None:
            raise Broken("name", f"{self.what} {quote(name)} is not in the problem", where)
        return found


class Record:
    def __init__(self, **fields):
        self.__dict__.update(fields)
