#!/usr/bin/env python3
"""check_functions.py finds functions and their sizes, whatever the layout."""

import os
import tempfile
import unittest
from unittest import mock

import check_functions


def sizes(text):
    """The functions of a text: name to (lines, parameters)."""
    return {function.name: (function.lines, function.parameters) for function in check_functions.functions_of(text)}


class FunctionsTest(unittest.TestCase):
    def test_free_function(self):
        self.assertEqual(sizes("int add(int a,\n        int b) {\n  return a + b;\n}\n"), {"add": (4, 2)})

    def test_declaration_has_no_lines(self):
        self.assertEqual(sizes("void run(int a, char b = ',');\nint none(void);\n"), {"run": (0, 2), "none": (0, 0)})

    def test_members_and_nested_scopes(self):
        text = """
namespace a::b {
class [[nodiscard]] Box final : public Base<int, int> {
public:
  explicit Box(int size) : Base{1, 2}, size(size) {}
  ~Box() = default;
  bool operator()(int a, int b) const { return a < b; }
  Box &operator=(const Box &other) = delete;

private:
  int size = 3;
};
} // namespace a::b
"""
        self.assertEqual(sizes(text), {"Box": (1, 1), "~Box": (0, 0), "operator": (0, 1)})
        operators = [f.parameters for f in check_functions.functions_of(text) if f.name == "operator"]
        self.assertEqual(operators, [2, 1])

    def test_out_of_line_member_with_template(self):
        text = "template <typename T, int N = (1 << 3)>\nauto Box<T, N>::at(size_t i) const -> T & {\n  return data[i];\n}\n"
        self.assertEqual(sizes(text), {"Box::at": (4, 1)})

    def test_commas_that_separate_no_parameters(self):
        text = "void f(std::map<int, std::pair<int, int>> m, std::function<void(int, int)> g, int (*h)(int, int), int x = g(1, 2));"
        self.assertEqual(sizes(text), {"f": (0, 4)})

    def test_braces_in_text_and_comments(self):
        text = "\n".join(["void f() {", "  // {", "  /* { */", "  s = \"{\\\"{\";", "  c = '{';", "  r = R\"x({ )\" })x\";",
                          "  n = 1'000'000;", "}", "void g() {}"])
        self.assertEqual(sizes(text), {"f": (8, 0), "g": (1, 0)})

    def test_constructor_initializers_are_no_bodies(self):
        text = "Box::Box(int a)\n    : Base<int>{a}, list{{1, 2}, {3}}, size(a) {\n  run();\n}\n"
        self.assertEqual(sizes(text), {"Box::Box": (4, 1)})

    def test_control_flow_and_initializers_are_no_functions(self):
        text = "static const Table kTable[] = {{\"a\", 1}, {\"b\", 2}};\nint x = call(1, 2);\nenum class E { A = 1 << 2, B };\n" \
               "void f() { if (a) { for (;;) { call(1, 2); } } switch (x) { default: break; } }\n"
        self.assertEqual(sizes(text), {"f": (1, 0)})

    def test_lambdas(self):
        text = "void f() {\n  auto g = [&, this](int a, int b) mutable { return a[b]; };\n  h([](auto x) { return x; });\n}\n"
        lambdas = [f.parameters for f in check_functions.functions_of(text) if f.name == "lambda"]
        self.assertEqual(lambdas, [2, 1])

    def test_branches_of_the_preprocessor(self):
        text = "#if A\nvoid f(int a) {\n#else\nvoid f(int a, int b) {\n#endif\n  run();\n}\n#define M(x) {\\\n  {\nvoid g() {}\n"
        self.assertEqual(sizes(text), {"f": (6, 1), "g": (1, 0)})


class LimitsTest(unittest.TestCase):
    LONG = "void f() {\n" + "  run();\n" * check_functions.MAX_LINES + "}\n"
    WIDE = f"void f({', '.join(f'int a{i}' for i in range(check_functions.MAX_PARAMETERS + 1))});\n"

    def problems(self, text, excused=None):
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(check_functions, "EXCUSED", excused or {}):
            os.makedirs(os.path.join(folder, "lib"))
            with open(os.path.join(folder, "lib", "a.cpp"), "w", encoding="utf-8") as file:
                file.write(text)
            problems, unused, count = check_functions.check_tree(folder, ["lib"])
            self.assertEqual(count, 1)
            return problems, unused

    def test_within_limits(self):
        fits = "void f() {\n" + "  run();\n" * (check_functions.MAX_LINES - 2) + "}\n"
        seven = f"void f({', '.join(f'int a{i}' for i in range(check_functions.MAX_PARAMETERS))});\n"
        self.assertEqual(self.problems(fits + seven), ([], set()))

    def test_long_function(self):
        (problem,), _ = self.problems(self.LONG)
        self.assertIn("lib/a.cpp:1: function 'f' has 102 lines", problem)

    def test_wide_function(self):
        (problem,), _ = self.problems(self.WIDE)
        self.assertIn("8 parameters, at most 7", problem)

    def test_excused(self):
        self.assertEqual(self.problems(self.LONG, {"lib/a.cpp:f": "a table"}), ([], set()))

    def test_excuse_without_use(self):
        self.assertEqual(self.problems("void f();", {"lib/a.cpp:f": "a table"}), ([], {"lib/a.cpp:f"}))

    def test_too_many_excuses(self):
        excuses = {f"lib/a.cpp:f{i}": "" for i in range(check_functions.MAX_EXCUSED + 1)}
        problems, _ = self.problems("void f();", excuses)
        self.assertIn("at most 5", problems[0])


if __name__ == "__main__":
    unittest.main()
