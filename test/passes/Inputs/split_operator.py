"""Writes a plan in which an operator runs as two: split_operator.py PLAN OPERATOR RULE RESULT"""
import json
import sys

source, operator, rule, result = sys.argv[1:]
with open(source, encoding="utf-8") as file:
    plan = json.load(file)
plan["summary"]["splits"] = [{"operator": operator, "rule": rule, "parts": 2}]
with open(result, "w", encoding="utf-8") as file:
    json.dump(plan, file)
