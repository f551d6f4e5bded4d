#!/usr/bin/env python3
"""Finds calls whose arguments create operators in an order that C++ leaves open.

  check_order.py [--root ROOT]

C++ does not order the evaluation of a call's arguments: GCC goes from right to
left, Clang from left to right. Where two arguments of one call each create an
operator, the order of the operators depends on the compiler. That order breaks
ties between plans, so plans would depend on the compiler that built Sluice. Each
argument that creates an operator therefore becomes a variable of its own. Braced
lists are evaluated from left to right by the standard and are allowed.

The script reads the sources under FOLDERS, which hold the code that builds the IR
of graphs. A call creates an operator if

  - its receiver is a builder and the method is not one of MLIR's that only read,
  - one of its arguments is a builder, or
  - it calls a lambda that creates operators.

Where the script has read the definition of a function, the body decides instead.
The bodies of lambdas among the arguments run later and are not counted. Kernel
emission is not read: the order of instructions in a kernel changes no plan. Prints
one line a violation and exits 1 if there is any.
"""

import argparse
import os
import re
import sys
from typing import NamedTuple

from check_functions import NO_FUNCTION, Scanner, is_name
from check_structure import list_files, report

FOLDERS = ["lib/Onnx/", "passes/", "dialects/Dataflow/"]
# Kernels, and what comes after planning.
KERNEL_FOLDERS = ["dialects/Dataflow/Emit/", "passes/Bridge/", "passes/ExecToLLVM/", "passes/LowerKernels/"]
SOURCES = (".h", ".cpp")
BUILDER_TYPES = {
    "Algebra", "TensorBuilder", "NodeContext", "Builder", "OpBuilder", "IRRewriter", "PatternRewriter", "RewriterBase"
}
# Builders of kernels, by their customary names.
KERNEL_BUILDERS = {"dialects/Dataflow/Elementwise/": {"b"}}
# Methods of MLIR's builders that create no operator.
READING = re.compile(r"get\w*|set\w*|save\w*|restore\w*|notify\w*|erase\w*|is\w*|modify\w*")
# Classes of libraries that take a builder and create nothing.
LIBRARY = {"InsertionGuard"}
# The definitions of the builders' own methods.
BUILDER_FILES = ("dialects/Dataflow/IR/TensorBuilder.", "lib/Onnx/Import/NodeContext.")


class Definition(NamedTuple):
    name: str
    takes_builder: bool
    begin: int
    end: int


class Source:
    """The tokens of one file, its builders and the functions and lambdas that it defines."""

    def __init__(self, path, text):
        scanner = Scanner(text)
        self.path = path
        self.tokens, self.texts, self.match = scanner.tokens, scanner.texts, scanner.match
        self.closing_angle = scanner.closing_angle
        self.kernel_builders = set().union(*(names for folder, names in KERNEL_BUILDERS.items() if path.startswith(folder)))
        self.builders, self.builder_fields = self.find_builders()
        self.definitions = self.find_definitions()
        self.free_functions = {definition.name for definition in self.definitions if definition.takes_builder}
        self.calls = [call for call in map(self.call_at, range(len(self.texts))) if call]

    def find_builders(self):
        names, fields = set(), set()
        for i, text in enumerate(self.texts[:-2]):
            if text in BUILDER_TYPES:
                at = i + 2 if self.texts[i + 1] in ("&", "*") else i + 1
                if is_name(self.texts[at]):
                    (fields if self.texts[at + 1] == ";" else names).add(self.texts[at])
        return (names | fields) - self.kernel_builders, fields

    def body_after(self, i):
        """The range of the body in braces that follows the parameters that end at i; None if none does."""
        i += 1
        result = False
        while i < len(self.texts) and (is_name(self.texts[i]) or self.texts[i] == "->" or
                                       result and self.texts[i] in ("::", "<", ">", "&", "*", ",")):
            result |= self.texts[i] == "->"
            i += 1
        if i < len(self.texts) and self.texts[i] == "{":
            return i, self.match[i]
        return None

    def find_definitions(self):
        found = []
        for i, text in enumerate(self.texts[:-1]):
            body, takes_builder = None, False
            if is_name(text) and text not in NO_FUNCTION and self.texts[i + 1] == "(":
                body = self.body_after(self.match[i + 1])
                takes_builder = not BUILDER_TYPES.isdisjoint(self.texts[i + 2:self.match[i + 1]])
            elif is_name(text) and self.texts[i + 1:i + 3] == ["=", "["]:
                body = self.lambda_body(i + 2)
            if body:
                found.append(Definition(text, takes_builder, *body))
        return found

    def lambda_body(self, i):
        """The range of the body of the lambda whose captures open at i; None if it is an index."""
        if self.texts[i] != "[" or self.texts[i - 1] not in ("(", ",", "=", "{", "return", "?", ":", "||", "&"):
            return None
        after = self.match[i]
        if after + 1 < len(self.texts) and self.texts[after + 1] == "(":
            after = self.match[after + 1]
        return self.body_after(after)

    def call_at(self, i):
        """(index of the name, index of the opening parenthesis) of a call by the name at i."""
        if not is_name(self.texts[i]) or self.texts[i] in NO_FUNCTION or i + 1 >= len(self.texts):
            return None
        opening = i + 1
        if self.texts[opening] == "<":
            closed = self.closing_angle(opening, min(len(self.texts), opening + 40))
            opening = closed + 1 if closed else opening
        if opening < len(self.texts) and self.texts[opening] == "(":
            return i, opening
        return None

    def arguments(self, opening):
        """The ranges of the arguments in the parentheses that open at this index."""
        end, i = self.match[opening], opening + 1
        ranges, start = [], i
        while i < end:
            if self.texts[i] in "([{":
                i = self.match[i]
            elif self.texts[i] == "<" and is_name(self.texts[i - 1]):
                i = self.closing_angle(i, end) or i
            elif self.texts[i] == ",":
                ranges.append((start, i))
                start = i + 1
            i += 1
        return ranges + [(start, end)] if end > start else ranges


class Checker:
    """Finds which of the functions and lambdas defined create operators, and where two arguments of a call do."""

    def __init__(self, sources):
        self.sources = sources
        self.builder_files = [source.path for source in sources if source.path.startswith(BUILDER_FILES)]
        self.fields = {name for source in sources if source.path.endswith(".h") for name in source.builder_fields}
        # Names of the functions and lambdas that each file defines, and those of them that create operators.
        self.known = {source.path: {definition.name for definition in source.definitions} for source in sources}
        self.creating = {source.path: set() for source in sources}
        while self.grow():
            pass

    def grow(self):
        """Adds the functions that create operators through those known to; false when there are none left."""
        grown = False
        for source in self.sources:
            names = self.creating[source.path]
            for definition in source.definitions:
                if definition.name not in names and self.creates(source, definition.begin, definition.end):
                    names.add(definition.name)
                    grown = True
        return grown

    def is_builder(self, source, begin, end):
        texts = source.texts[begin:end]
        if texts == ["mlir", "(", ")"]:
            return True
        if texts[1:] == [".", "mlir", "(", ")"]:
            texts = texts[:1]
        elif texts[:1] in (["*"], ["&"]):
            texts = texts[1:]
        return len(texts) == 1 and texts[0] in source.builders | self.fields - source.kernel_builders

    def defined_in(self, called, paths):
        """Whether a function of this name creates operators by its definition in these files; None without one."""
        files = [path for path in paths if called in self.known[path]]
        return any(called in self.creating[path] for path in files) if files else None

    def creates_by_call(self, source, name, opening):
        called, before = source.texts[name], source.texts[name - 1] if name else ""
        if before in (".", "->") and self.is_builder(source, name - 2, name - 1):
            known = self.defined_in(called, self.builder_files)
            return not READING.fullmatch(called) if known is None else known
        if any(self.is_builder(source, *argument) for argument in source.arguments(opening)):
            if before == "::" and called == "create":
                return True
            if is_name(before) and before != "return" or before in (">", "&") or called in BUILDER_TYPES | LIBRARY:
                return False  # A declaration.
            known = self.defined_in(called, [source.path])
            known = self.defined_in(called, self.known) if known is None else known
            return True if known is None else known
        # A lambda, or a member of a class that holds a builder.
        paths = self.builder_files if source.path in self.builder_files else [source.path]
        return called not in source.free_functions and bool(self.defined_in(called, paths))

    def creates(self, source, begin, end):
        """Whether what lies between the indices, without lambdas, calls what creates an operator."""
        i = begin
        while i < end:
            body = source.lambda_body(i)
            if body:
                i = body[1]
            else:
                call = source.call_at(i)
                if call and self.creates_by_call(source, *call):
                    return True
            i += 1
        return False

    def problems(self):
        for source in self.sources:
            for name, opening in source.calls:
                creating = [a for a in source.arguments(opening) if self.creates(source, *a)]
                if len(creating) > 1:
                    yield (f"{source.path}:{source.tokens[name].line}: {len(creating)} arguments of "
                           f"'{source.texts[name]}' create operators, name each in a variable before the call")


def read_sources(root):
    sources = []
    for path in list_files(root):
        if path.endswith(SOURCES) and path.startswith(tuple(FOLDERS)) and not path.startswith(tuple(KERNEL_FOLDERS)):
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                sources.append(Source(path, file.read()))
    return sources


def main():
    parser = argparse.ArgumentParser(description="Finds arguments that create operators in an order that C++ leaves open.")
    parser.add_argument("--root", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    sources = read_sources(parser.parse_args().root)
    problems = list(Checker(sources).problems())
    if not sources:
        problems.append(f"no sources in {', '.join(FOLDERS)}")
    return report(problems, len(sources))


if __name__ == "__main__":
    sys.exit(main())
