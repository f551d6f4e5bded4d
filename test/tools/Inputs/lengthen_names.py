"""lengthen_names.py FROM NAME LENGTH TO: copies a text in which each NAME becomes LENGTH letters."""

import sys

source, name, length, target = sys.argv[1:]
text = open(source, encoding="utf-8").read()
assert name in text
open(target, "w", encoding="utf-8").write(text.replace(name, "a" * int(length)))
