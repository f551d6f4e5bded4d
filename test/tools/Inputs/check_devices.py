"""check_devices.py PROFILE DEVICE...: the same operators are measured on these devices and on no others."""

import json
import sys

operators = {}
for entry in json.load(open(sys.argv[1]))["operators"]:
    operators.setdefault(entry["device"], set()).add(entry["signature"])
    assert entry["kind"] and entry["bytesMoved"] > 0, entry
assert sorted(operators) == sorted(sys.argv[2:]), sorted(operators)
assert len({frozenset(signatures) for signatures in operators.values()}) == 1
