#!/usr/bin/env python3
"""Checks what keeps the house livable: the directions between rooms, sizes, and how tests are written.

  check_structure.py [ROOT]

Every #include line of C and C++ sources is resolved to a room. A room may
include itself and the rooms ALLOWED names; only rooms that know MLIR, LLVM or
ONNX may include those. Lit tests and CMakeLists.txt keep to LIT_RULES and
CTEST_RULES. Prints one line a violation and exits 1 if there is any.
"""

import os
import re
import subprocess
import sys

PURE = ["Support", "TensorIO", "Graph", "Machine", "Optimize", "Cost", "Plan", "Simulator", "Tiling", "Placement", "Memory",
        "Swap", "Search", "Explain", "Barriers", "Pipeline"]
SOLVERS = ["Tiling", "Placement", "Memory", "Swap"]
_PLANNER = {"Support", "Graph", "Machine", "Optimize", "Cost", "Plan", "Simulator"}
# The dialect, what is done with its operators, each a library, and what registers them all.
_IR = "dialects/Dataflow/IR"
_MODELS = {f"dialects/Dataflow/{part}" for part in ("Elementwise", "Emit", "Evaluate", "Gradient", "Library", "Tiling")}
_DATAFLOW = _MODELS | {_IR, "dialects/Dataflow"}
_DIALECTS = _DATAFLOW | {"dialects/Exec"}
_PASSES = _DIALECTS | {"passes", "passes/Bridge", "Runtime"} | set(PURE)

# Who may include whom, beside itself. Solvers never include each other.
ALLOWED = {
    "Support": set(),
    "TensorIO": {"Support"},
    "Graph": {"Support"},
    "Machine": {"Support"},
    "Optimize": {"Support"},
    "Cost": {"Support", "Graph", "Machine", "Optimize"},
    "Plan": {"Support", "Graph", "Machine", "Optimize"},
    "Barriers": {"Support", "Machine", "Cost"},
    "Pipeline": {"Support"},
    "Simulator": {"Support", "Graph", "Machine", "Optimize", "Cost", "Plan"},
    "Tiling": _PLANNER,
    "Placement": _PLANNER,
    "Memory": _PLANNER,
    "Swap": _PLANNER,
    "Search": _PLANNER | set(SOLVERS),
    "Explain": _PLANNER | {"Search"},
    # A deployed model links the runtime and libc: it depends on nothing.
    "Runtime": set(),
    _IR: {"Support", "Tiling"},
    "dialects/Dataflow/Elementwise": {_IR},
    # What collectives send and need is the runtime's to say.
    "dialects/Dataflow/Emit": {"Support", _IR, "dialects/Dataflow/Elementwise", "dialects/Dataflow/Library", "Runtime"},
    "dialects/Dataflow/Evaluate": {_IR, "dialects/Dataflow/Elementwise", "dialects/Dataflow/Emit"},
    "dialects/Dataflow/Gradient": {_IR, "dialects/Dataflow/Elementwise"},
    "dialects/Dataflow/Library": {_IR, "Runtime"},
    "dialects/Dataflow/Tiling": {_IR},
    "dialects/Dataflow": _MODELS | {_IR},
    "dialects/Exec": {"Support", _IR},
    "Onnx": {"Support", "TensorIO", _IR},
    # The importer and the exporter share what lies in lib/Onnx, and know nothing of each other.
    "Onnx/Import": {"Support", "TensorIO", _IR, "dialects/Dataflow/Evaluate", "Onnx"},
    "Onnx/Export": {"Support", "TensorIO", _IR, "dialects/Dataflow/Evaluate", "Onnx"},
    # The hash of files is the runtime's, which may depend on nothing.
    "Onnx/Compose": {"Support", "Onnx", "Runtime"},
    "passes/Bridge": _DIALECTS | {"Support", "Graph", "Machine", "Cost", "Plan", "Tiling"},
    "passes": _PASSES,
    "Codegen": _PASSES,
    "Compiler": _PASSES | {"Codegen", "Onnx"},
    "tools": _PASSES | {"Codegen", "Onnx", "Compiler"},
}
# Rooms each foreign header belongs in.
_ONNX = {"Onnx", "Onnx/Compose", "Onnx/Import", "Onnx/Export"}
MLIR_ROOMS = _DIALECTS | {"passes", "passes/Bridge", "Codegen", "Compiler", "tools"} | _ONNX
ONNX_ROOMS = {"tools"} | _ONNX
FOREIGN = [
    (re.compile(r"^(mlir|mlir-c|llvm|llvm-c|lld|clang)/"), "MLIR or LLVM", MLIR_ROOMS),
    (re.compile(r"^(onnx|google/protobuf)/"), "ONNX or protobuf", ONNX_ROOMS),
]

SOURCE = (".h", ".hpp", ".c", ".cpp", ".td", ".py")
INCLUDING = (".h", ".hpp", ".c", ".cpp", ".td")
MAX_BYTES = 1_000_000
MAX_LINES = 1200
INCLUDE = re.compile(r'^\s*#?\s*include\s+([<"])([^">]+)[">]', re.MULTILINE)
# A developer's home or scratch directory. Written so that it does not match itself.
DEVELOPER_PATH = re.compile(r"(?<![\w.~/-])/(?:home|Users|root|wor[k]|workspace)/[\w.-]+")

LIT_TEST = (".test", ".mlir", ".onnxtxt")
MAX_INLINE = 160
# What a lit test must not have, and what serves instead.
LIT_RULES = [
    (re.compile(r"\b(?:ba)?sh -c\b"), "a shell of its own, use %fails, %misused or not, or several RUN lines"),
    (re.compile(r"\bALLOW_RETRIES\b"), "it is tried again, make it robust"),
    (re.compile(r"%if\b"), "a part runs only on some machines, put it into a test of its own with REQUIRES"),
    (re.compile(r"python -c\b.*\\$"), "inline Python of several lines, write a script in Inputs"),
    (re.compile(r"^(?=.{%d}).*python -c\b" % (MAX_INLINE + 1)),
     f"inline Python of more than {MAX_INLINE} columns, use %json or write a script in Inputs"),
]
# Names of attributes have one source.
CPP_RULES = [
    (re.compile(r'"(?:dataflow|exec)\.\w'),
     "an attribute's name, declare it in discardableAttrs of the dialect and use DIALECT::NAMEAttrHelper"),
]
# Headers that sources include by one of ours.
WRAPPED_HEADERS = {"CLI/CLI.hpp": "tools/common/CommandLine.h", "CLI/App.hpp": "tools/common/CommandLine.h"}
# A test's outcome is its exit status: never a text that it prints, and never a later try's.
CTEST_RULES = [
    (re.compile(r"\b(?:PASS|FAIL|SKIP)_REGULAR_EXPRESSION\b"), "a text decides, use test/check_exit or SKIP_RETURN_CODE"),
    (re.compile(r"--repeat\b"), "tests are tried again, make them robust"),
]
# The dialect is thin: whoever wants its operators' kernels, gradients or values links those too.
THIN_LIBRARY = "dialects/Dataflow/IR/CMakeLists.txt"
THIN_RULES = [(re.compile(r"^\s*LINKS\b"), "the dialect links a library of ours, move what needs it to a part beside IR")]


def room_of(path):
    """The room a path (from the root) is in, or None for one without rules."""
    parts = path.split("/")
    if parts[:2] == ["include", "sluice"] and len(parts) > 3:
        return parts[2]
    if parts[0] == "lib" and len(parts) > 2:
        inner = "/".join(parts[1:3])
        return inner if inner in ALLOWED else parts[1]
    if parts[0] == "dialects" and len(parts) > 2:
        return "/".join(parts[:3] if parts[1] == "Dataflow" and len(parts) > 3 else parts[:2])
    if parts[0] == "passes":
        return "passes/Bridge" if parts[1] == "Bridge" else "passes"
    return "tools" if parts[0] == "tools" else None


def target_of(name, quoted, path, files):
    """The path (from the root) an include names, or None for a system header."""
    candidates = [os.path.normpath(os.path.join(os.path.dirname(path), name))] if quoted else []
    candidates += [os.path.join("include", name), name]
    for candidate in candidates:
        if candidate in files:
            return candidate
    # Generated headers have no file here; their folder still says whose they are.
    if name.startswith("sluice/"):
        return os.path.join("include", name)
    return name if name.startswith(("dialects/", "passes/", "lib/", "tools/")) else None


def check_includes(path, text, files):
    room = room_of(path)
    if room is None:
        return
    if room not in ALLOWED:
        yield f"{path}: room '{room}' is unknown, add it to ALLOWED with what it may include"
        return
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start(2)) + 1
        name = match.group(2)
        for pattern, what, rooms in FOREIGN:
            if pattern.match(name) and room not in rooms:
                yield f"{path}:{line}: room '{room}' includes '{name}', but must not know {what}"
        if name in WRAPPED_HEADERS and path != WRAPPED_HEADERS[name]:
            yield f"{path}:{line}: includes '{name}', include '{WRAPPED_HEADERS[name]}' instead"
        target = target_of(name, match.group(1) == '"', path, files)
        other = room_of(target) if target else None
        if other is not None and other != room and other not in ALLOWED[room]:
            yield f"{path}:{line}: room '{room}' includes '{name}' of room '{other}', against the directions"


def rules_of(path):
    """Patterns that no line of the file may match, each with what is wrong."""
    name = os.path.basename(path)
    if path.startswith("test/") and name.endswith(LIT_TEST):
        return LIT_RULES
    if not path.startswith("test/") and name.endswith((".h", ".cpp")):
        return CPP_RULES
    if path == THIN_LIBRARY:
        return CTEST_RULES + THIN_RULES
    return CTEST_RULES if name in ("CMakeLists.txt", "check") or name.endswith(".cmake") else []


def check_file(root, path, files):
    full = os.path.join(root, path)
    size = os.path.getsize(full)
    if size > MAX_BYTES:
        yield f"{path}: {size} bytes, at most {MAX_BYTES}"
        return
    with open(full, "rb") as file:
        data = file.read()
    if b"\0" in data or path.endswith((".pb", ".onnx")):
        return
    text = data.decode("utf-8", errors="replace")
    lines = text.count("\n")
    if path.endswith(SOURCE) and lines > MAX_LINES:
        yield f"{path}: {lines} lines, at most {MAX_LINES}, split it"
    for number, line in enumerate(text.splitlines(), 1):
        found = DEVELOPER_PATH.search(line)
        if found:
            yield f"{path}:{number}: path of a developer's machine, '{found.group(0)}'"
        for pattern, what in rules_of(path):
            if pattern.search(line):
                yield f"{path}:{number}: {what}"
    if path.endswith(INCLUDING):
        yield from check_includes(path, text, files)


def list_files(root):
    """Tracked and new files; every file where the tree is not a git checkout."""
    listing = None
    if os.path.exists(os.path.join(root, ".git")):
        command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        result = subprocess.run(command, capture_output=True, check=False)
        if result.returncode == 0:
            listing = os.fsdecode(result.stdout).split("\0")
    if listing is None:
        listing = []
        for folder, folders, names in os.walk(root):
            folders[:] = [name for name in folders if name not in (".git", "build", "__pycache__")]
            listing += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted({name for name in listing if name and os.path.isfile(os.path.join(root, name))})


def check_tree(root):
    files = list_files(root)
    known = set(files)
    return [problem for path in files for problem in check_file(root, path, known)], len(files)


def report(problems, count):
    """Prints one line a violation and their number among `count` files; returns the exit status."""
    for problem in problems:
        print(f"error: {problem}")
    print(f"{count} files, {len(problems)} violations")
    return 1 if problems else 0


def main(argv):
    root = argv[1] if len(argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    problems, count = check_tree(root)
    return report(problems if count else [f"no files under '{root}'"], count)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
