#!/usr/bin/env python3
"""Checks files and pages of docs/formats against their JSON Schemas.

  check_formats.py FORMATS examples           each page's example conforms, and does not without a required member, with an
                                              unknown one at the top or with a version that does not exist
  check_formats.py FORMATS NAME=FILE...       each file conforms to NAME.schema.json
  check_formats.py FORMATS extract PAGE FILE [VERSION]
                                              writes a page's example, with another version
"""

import json
import os
import pathlib
import re
import sys

# Pages whose example is of a schema of another name.
SCHEMA_OF = {"plan": "plan-file"}


def example_of(page):
    with open(page, encoding="utf-8") as file:
        found = re.findall(r"^```json\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        sys.exit(f"error: {len(found)} examples in '{page}', give one")
    return found[0]


def validator_of(formats, name):
    import jsonschema  # Not needed for examples alone.
    schemas = {path.name: json.loads(path.read_text(encoding="utf-8"))
               for path in pathlib.Path(formats).glob("*.schema.json")}
    schema = schemas[f"{name}.schema.json"]
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema, resolver=jsonschema.RefResolver("", schema, store=schemas))


def first_error(validator, document):
    error = next(validator.iter_errors(document), None)
    return error and f"{error.message[:200]}, at {'.'.join(map(str, error.absolute_path))}"


def check_examples(formats):
    named = {path.name.removesuffix(".schema.json") for path in pathlib.Path(formats).glob("*.schema.json")} - {"plan-file"}
    for name in sorted(named):
        validator = validator_of(formats, SCHEMA_OF.get(name, name))
        document = json.loads(example_of(os.path.join(formats, f"{name}.md")))
        if error := first_error(validator, document):
            yield f"{name}.md: {error}"
        spoilt = [(f"without {key}", {k: v for k, v in document.items() if k != key})
                  for key in validator.schema["required"]]
        if "schema" in document:
            spoilt += [(f"with version {version}", {**document, "schema": version})
                       for version in (0, document["schema"] + 1, "1")]
        if not validator.schema.get("additionalProperties", True):
            spoilt.append(("with an unknown member", {**document, "unheard": 1}))
        for what, other in spoilt:
            if first_error(validator, other) is None:
                yield f"{name}.md conforms {what}"


def check_files(formats, files):
    for given in files:
        name, _, path = given.partition("=")
        with open(path, encoding="utf-8") as file:
            if error := first_error(validator_of(formats, name), json.load(file)):
                yield f"{path}: {error}"


def main(formats, *arguments):
    if arguments[0] == "extract":
        page, target, *version = arguments[1:]
        document = json.loads(example_of(os.path.join(formats, page)))
        document.update({"schema": int(version[0])} if version else {})
        pathlib.Path(target).write_text(json.dumps(document), encoding="utf-8")
        return 0
    failures = list(check_examples(formats) if arguments == ("examples",) else check_files(formats, arguments))
    for failure in failures:
        print(f"error: {failure}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
