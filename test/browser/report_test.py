#!/usr/bin/env python3
"""Drives pages of `sluice report` in a real browser: every interaction, and how long a plan of 10,000 operators takes.

  report_test.py BIN-FOLDER MODELS-FOLDER

Exits with 77 where there is no chromium.
"""

import json
import os
import platform
import re
import subprocess
import sys
import tempfile
import unittest

import browser

BIN, MODELS = None, None
TINYBERT = ["tinybert/model.onnx", "--dim", "batch=1", "--dim", "sequence=64"]
# One plan on every computer: wider vectors pack weights otherwise.
TARGET = ["--target", "x86-64-v3"] if platform.machine() == "x86_64" else []
EMULATED = ["--machine", "emulated", "--device", "accel0", *TARGET]
LARGE = 10000
# Of the page's main thread: to open a large plan, and for one interaction with it.
OPEN_SECONDS, ACT_SECONDS = 3, 0.5


def tool(name, *arguments):
    result = subprocess.run([os.path.join(BIN, name), *arguments], capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{name} {' '.join(arguments)}: {result.stderr}")


def even_out(trace, late):
    """Gives each command of a trace the same time, so that none is too short to be drawn where a run was held up."""
    with open(trace, encoding="utf-8") as file:
        events = json.load(file)
    for event in events["traceEvents"]:
        if event["ph"] == "X":
            event["ts"], event["dur"] = 6 * event["args"]["command"] + late, 5
    with open(trace, "w", encoding="utf-8") as file:
        json.dump(events, file)


def bring_together(plan, path):
    """Copies a plan file, with figures so alike that their labels have the same height."""
    with open(plan, encoding="utf-8") as file:
        value = json.load(file)
    summary = value["summary"]
    summary["idealNs"], summary["lowerBoundNs"] = summary["makespanNs"] - 2, summary["makespanNs"] - 3
    summary["history"] = [[1, summary["makespanNs"] + 1], *summary["history"][-1:]]
    for name, memory in summary["memories"].items():
        memory["peakBytes"] = value["problem"]["capacities"].get(name, memory["capacityBytes"]) + 1 if name != "host" else 0
    for key in ("certificate", "onceCertificate", "onceBoundNs"):
        summary.pop(key, None)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(value, file)


def make_pages(folder):
    """A plan alone; beside another, with a measured step twice; a training step; one that streams; and a large one."""
    model = [os.path.join(MODELS, TINYBERT[0]), *TINYBERT[1:]]
    path = lambda name: os.path.join(folder, name)
    for name, memory in (("less", "20%"), ("more", "60%")):
        tool("sluice", "plan", *model, *EMULATED, "--memory", f"accel0={memory}", "--search-evals", "200",
             "-o", path(f"{name}.json"))
    tool("sluice", "compile", *model, *TARGET, "--machine", "emulated", "--plan", path("less.json"), "-o", path("compiled"))
    for late, rank in enumerate(("rank0", "rank1")):
        tool("sluice", "run", path("compiled"), "--trace", path(f"{rank}.json"))
        even_out(path(f"{rank}.json"), late)
    tool("sluice", "report", path("less.json"), "-o", path("alone.html"))
    tool("sluice", "plan", os.path.join(MODELS, "mnist_external/model.onnx"), "--train", "loss=softmax-cross-entropy",
         "--optimizer", "adam", "--machine", "emulated", "--memory", "25%", "--search-evals", "100", "-o", path("train.json"))
    tool("sluice", "plan", *model, "--memory", "16.45MiB", "--search-evals", "20", "-o", path("streamed.json"))
    bring_together(path("train.json"), path("near.json"))
    for name in ("train", "streamed", "near"):
        tool("sluice", "report", path(f"{name}.json"), "-o", path(f"{name}.html"))
    tool("sluice", "report", path("less.json"), "--against", path("more.json"), "--measured", path("rank0.json"),
         "--measured", path("rank1.json"), "-o", path("both.html"))
    large = os.path.join(os.path.dirname(os.path.abspath(__file__)), "large_plan.py")
    subprocess.run([sys.executable, large, os.path.join(BIN, "sluice-solve"), str(LARGE), path("large.json")], check=True)
    tool("sluice", "report", path("large.json"), "-o", path("large.html"))


class PageTest(unittest.TestCase):
    page = None

    @classmethod
    def setUpClass(cls):
        cls.tab = browser.Browser(browser.find_chromium()).__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.tab.__exit__()

    def setUp(self):
        self.took = self.tab.open(os.path.join(FOLDER, self.page))

    def tearDown(self):
        failures = [event["params"] for event in self.tab.events if event.get("method") == "Runtime.exceptionThrown"]
        self.assertEqual(failures, [], "the page's script failed")
        asked = [event["params"]["request"]["url"] for event in self.tab.events
                 if event.get("method") == "Network.requestWillBeSent"]
        self.assertTrue(all(url.startswith("file://") for url in asked), asked)

    def run_js(self, expression):
        return self.tab.run(expression)

    def selected(self):
        return self.run_js("report.selection && [report.selection.kind, report.selection.index]")

    def selected_name(self):
        return self.run_js("document.querySelector('#details h3')?.textContent")

    def details(self):
        return self.run_js("document.getElementById('details').textContent")

    def view(self):
        return self.run_js("[report.view.from, report.view.to]")

    def boxes(self, kind, chart=0):
        """The drawn boxes, each with its place in the window, brought into view."""
        self.run_js(f"report.charts.{kind}[{chart}].canvas.scrollIntoView({{block: 'center'}})")
        return self.run_js(f"""(() => {{
            const chart = report.charts.{kind}[{chart}], area = chart.canvas.getBoundingClientRect();
            return chart.boxes.map(box => ({{x: area.left + box.x + box.w / 2, y: area.top + box.y + box.h / 2, w: box.w, h: box.h,
                                            level: box.level, count: box.count, text: box.text()}}));
        }})()""")

    def box(self, kind, text, chart=0):
        found = [box for box in self.boxes(kind, chart) if box["text"].startswith(text)]
        self.assertTrue(found, f"no box of {text} in the {kind}")
        return found[0]

    def levels(self, kind, chart=0):
        """The names of the boxes that are selected, and how many are neither that nor beside it."""
        boxes = self.boxes(kind, chart)
        return ({box["text"].split("\n")[0] for box in boxes if box["level"] == 2},
                sum(box["level"] == 0 for box in boxes))

    def click_box(self, kind, text, chart=0):
        box = self.box(kind, text, chart)
        self.tab.click(box["x"], box["y"])

    def click_element(self, selector):
        self.run_js(f"document.querySelector({selector!r}).scrollIntoView({{block: 'center'}})")
        x, y = self.run_js(f"""(() => {{
            const area = document.querySelector({selector!r}).getBoundingClientRect();
            return [area.left + area.width / 2, area.top + area.height / 2];
        }})()""")
        self.tab.click(x, y)

    def rows(self, table):
        """Per row: its class, the texts of its cells, and the text below it if it has one."""
        return self.run_js(f"[...document.querySelectorAll('#{table} tbody tr:not(.note)')].map(row => "
                           "[row.className, ...[row, row.nextElementSibling].flatMap((part, i) => i === 0 || part?.matches('.note') ? "
                           "[...part.cells].map(cell => cell.textContent) : [])])")

    def all_texts(self):
        """The page's text, and what panel and pointer say of each tensor and box."""
        plan = "report.plans[0]"
        return "\n".join(self.run_js(f"""(() => {{
            const texts = [document.querySelector("main").textContent];
            {plan}.tensors.name.forEach((name, tensor) => {{
                report.select({plan}, 'tensor', tensor);
                texts.push(document.getElementById('details').textContent);
            }});
            Object.values(report.charts).flat().forEach(chart => chart.boxes.forEach(box => texts.push(box.text())));
            return texts;
        }})()"""))

    def assert_no_empty_interval(self, text):
        spans = re.findall(r"from ([0-9.]+ [num]?s) to ([0-9.]+ [num]?s)", text)
        self.assertGreater(len(spans), 100)
        self.assertEqual([span for span in spans if span[0] == span[1]], [])


class OnePlan(PageTest):
    page = "alone.html"
    WEIGHT = "embeddings.word_embeddings.weight"

    # What the search may change: where and until when the weight is in the accelerator, and the only stall.

    def weight_stay(self):
        return self.run_js(f"""(() => {{ const plan = report.plans[0], all = plan.residencies;
            const stay = all.tensor.findIndex((tensor, i) => tensor === plan.tensorOf.get('{self.WEIGHT}') && !all.home[i]);
            return [all.offset[stay], all.bytes[stay], all.endNs[stay]]; }})()""")

    def weight_bytes(self):
        offset, size, _ = self.weight_stay()
        return f"bytes {offset:,} to {offset + size:,}"

    def weight_leaves(self):
        return f"{self.weight_stay()[2] / 1000:.2f} us"

    def stall(self):
        return f"{self.run_js('report.plans[0].stalls.ns[0]') / 1000:.2f} us"

    def test_a_rectangle_of_the_map_selects_its_tensor_everywhere(self):
        self.click_box("map", self.WEIGHT)
        self.assertEqual(self.selected_name(), f"tensor {self.WEIGHT}")
        self.assertEqual(self.levels("map")[0], {self.WEIGHT})
        self.assertGreater(self.levels("map")[1], 0)
        self.assertEqual(self.levels("timeline")[0], {f"copy of {self.WEIGHT} from host to accel0"})
        self.assertIn(self.WEIGHT, {box["text"].split("\n")[0] for box in self.boxes("memory")})
        self.assertEqual([row[1] for row in self.rows("swaps") if row[0] == "main"], [self.WEIGHT])
        self.assertEqual([row[1] for row in self.rows("operators") if row[0] == "near"], ["Gather_15"])
        near = {box["text"].split("\n")[0] for box in self.boxes("graph") if box["level"] == 1}
        self.assertEqual(near, {"Gather_15"})
        text = self.details()
        for part in ("parameter of 323.44 KiB", "read by Gather_15", "copy of " + self.WEIGHT,
                     "it is not kept in 'accel0' between steps. It does not fit with the others as planned: at ",
                     ", and with its 323.44 KiB the limit of ", ". It leaves 'accel0' without a copy, because 'host' has the same bytes",
                     "; meanwhile its addresses are used by ", "Operator 'Gather_15' reads it first and starts ",
                     "the addresses that it left or comes to are used, in the order of time, by ", "its home",
                     "accel0 at " + self.weight_bytes(), "The copy starts when the step starts and waits for nothing."):
            self.assertIn(part, text)
        # A tensor without a maker has no line for one, and no fact comes twice.
        self.assertNotIn("made by", text)
        self.assertEqual(text.count("the step gets longer"), 1)

    def test_links_of_the_panel_lead_to_maker_readers_and_copies(self):
        self.click_box("map", self.WEIGHT)
        self.run_js("[...document.querySelectorAll('#details .link')].find(link => link.textContent === 'Gather_15').click()")
        self.tab.settle()
        self.assertEqual(self.selected_name(), "operator Gather_15")
        self.assertEqual(self.levels("timeline")[0] - {text for text in self.levels("timeline")[0] if "runs nothing" in text},
                         {"Gather_15"})
        self.assertEqual(self.levels("graph")[0], {"Gather_15"})
        self.assertIn(self.WEIGHT, self.levels("map")[0])
        self.assertIn(f"stall 'accel0' runs nothing for {self.stall()} before operator 'Gather_15'. The largest part of that time, 46.40 us, "
                      f"is taken by the copy of '{self.WEIGHT}' from 'host' to 'accel0'. The operator waits for the copy of "
                      "'token_type_ids'",
                      self.details())
        # The stall's chain leads to the copy that takes most of it.
        copies = self.run_js("[...document.querySelectorAll('#details .link')].map(link => link.textContent)")
        self.assertIn(f"copy of {self.WEIGHT} from host to accel0", copies)
        self.run_js(f"[...document.querySelectorAll('#details .link')].find(link => link.textContent.startsWith('copy of {self.WEIGHT}')).click()")
        self.tab.settle()
        self.assertEqual(self.selected()[0], "command")
        self.assertEqual(self.selected_name(), f"tensor {self.WEIGHT}")
        self.click_element("#go-back")
        self.assertEqual(self.selected_name(), "operator Gather_15")
        self.click_element("#go-forward")
        self.assertEqual(self.selected_name(), f"tensor {self.WEIGHT}")

    def test_timeline_memory_graph_and_tables_select_too(self):
        self.click_box("timeline", "MatMul_101")
        self.assertEqual(self.selected_name(), "operator MatMul_101")
        self.tab.click(self.box("timeline", "MatMul_101")["x"], self.box("timeline", "MatMul_101")["y"] + 60)
        self.assertIsNone(self.selected())
        self.click_element("#graph-all")
        self.click_box("graph", "ReduceMean_20")
        self.assertEqual(self.selected_name(), "operator ReduceMean_20")
        row = self.run_js("[...document.querySelectorAll('#swaps tbody tr')].findIndex(row => row.textContent.startsWith('MatMul_111'))")
        self.click_element(f"#swaps tbody tr:nth-child({row + 1})")
        self.assertEqual(self.selected_name(), "tensor MatMul_111")
        self.click_box("memory", "MatMul_111")
        self.assertEqual(self.selected_name(), "tensor MatMul_111")
        self.click_element("#stalls tbody tr")
        self.assertEqual(self.selected_name(), "operator Gather_15")
        # Operators are in the order of time at first, and the head of the table says so.
        self.assertEqual(self.run_js("document.querySelector('#operators th:nth-child(4)').ariaSort"), "ascending")
        starts = self.run_js("report.plans[0].startNs")
        names = self.run_js("report.plans[0].operators.name")
        self.assertEqual([row[1] for row in self.rows("operators")], [names[i] for i in sorted(range(len(starts)), key=lambda i: starts[i])])
        self.click_element("#operators tbody tr")
        self.assertEqual(self.selected_name(), "operator " + self.rows("operators")[0][1])
        self.run_js("document.querySelector('#operators tbody tr:nth-child(3)').focus()")
        self.tab.key("Enter")
        self.assertEqual(self.selected_name(), "operator " + self.rows("operators")[2][1])

    def test_every_stall_has_its_reason(self):
        stalls = self.rows("stalls")
        self.assertEqual(len(stalls), 1)
        self.assertEqual(stalls[0][1:3] + stalls[0][4:5], ["Gather_15", "accel0", self.stall()])
        self.assertIn(" waits for the copy of 'embeddings.word_embeddings.weight' from 'host' to 'accel0' (until 46.40 us), the previous "
                      "command of its stream", stalls[0][5])
        self.assertIn("starts when the step starts", stalls[0][5])
        self.click_box("timeline", "'accel0' runs nothing")
        self.assertEqual(self.selected_name(), "operator Gather_15")

    def test_a_stall_lights_all_that_it_waited_for(self):
        self.click_element("#stalls tbody tr")
        lit = {box["text"].split("\n")[0] for box in self.boxes("timeline") if box["level"] == 1}
        self.assertLessEqual({"copy of token_type_ids from host to accel0", f"copy of {self.WEIGHT} from host to accel0"}, lit)
        self.assertIn(self.WEIGHT, {box["text"].split("\n")[0] for box in self.boxes("map") if box["level"] >= 1})

    def test_who_has_the_bytes_meanwhile_is_lit_and_linked(self):
        self.run_js(f"report.select(report.plans[0], 'tensor', report.plans[0].tensorOf.get('{self.WEIGHT}'))")
        self.tab.settle()
        plan = "report.plans[0]"
        guests = self.run_js(f"{plan}.guests(report.selection.index).map(stay => [{plan}.stayName(stay), {plan}.residencies.startNs[stay]])")
        # Stays of others that overlap in addresses, and in time with what is before and after the tensor's own stay.
        self.assertEqual({name for name, _ in guests}, set(self.run_js(f"""(() => {{
            const {{tensor, memory, home, offset, bytes, startNs, endNs}} = {plan}.residencies, weight = report.selection.index;
            const stays = tensor.map((_, i) => i).filter(i => !home[i]), own = stays.find(i => tensor[i] === weight);
            return stays.filter(i => tensor[i] !== weight && memory[i] === memory[own] && bytes[i] > 0 &&
                offset[i] < offset[own] + bytes[own] && offset[own] < offset[i] + bytes[i] &&
                (endNs[i] > endNs[own] || startNs[i] < startNs[own])).map(i => {plan}.stayName(i));
        }})()""")))
        starts = [start for _, start in guests]
        self.assertEqual(starts, sorted(starts))
        near = {box["text"].split("\n")[0] for box in self.boxes("map") if box["level"] == 1}
        self.assertLessEqual({name for name, _ in guests}, near)
        self.run_js(f"[...document.querySelectorAll('#details .link')].find(link => link.textContent === '{guests[0][0]}').click()")
        self.tab.settle()
        self.assertEqual(self.selected_name(), f"tensor {guests[0][0]}")

    def test_what_an_operator_did_not_wait_for_it_needs(self):
        plan = "report.plans[0]"
        # An operator without a stall that is ordered after a command of another stream.
        found = self.run_js(f"{plan}.commands.waits.findIndex((waits, command) => waits.length && "
                            f"{plan}.isLaunch(command) && !{plan}.stallOf.has(command))")
        self.assertGreaterEqual(found, 0)
        self.run_js(f"report.select({plan}, 'command', {found})")
        self.tab.settle()
        self.assertIn("needs ", self.details())
        self.assertIn(", which ended ", self.details())
        self.assertNotIn("waits for ", self.details())

    def test_a_row_of_a_table_keeps_timeline_and_panel_in_view(self):
        self.run_js("document.querySelector('#operators tbody tr:nth-child(20)').scrollIntoView({block: 'center'})")
        self.click_element("#operators tbody tr:nth-child(20)")
        for selector in ("#timeline canvas", "#details h3", "#operators tr.main"):
            top, bottom = self.run_js(f"(area => [area.top, area.bottom])(document.querySelector('{selector}').getBoundingClientRect())")
            self.assertGreaterEqual(top, 0, selector)
            self.assertLessEqual(bottom, 1000, selector)

    def test_details_are_open_and_cards_count(self):
        self.run_js(f"report.select(report.plans[0], 'tensor', report.plans[0].tensorOf.get('{self.WEIGHT}'))")
        self.assertTrue(self.run_js("document.querySelector('#details details').open"))
        cards = self.run_js("[...document.querySelectorAll('.card')].map(card => card.textContent)")
        self.assertTrue([card for card in cards if card.startswith(f"1stall: devices run nothing for {self.stall()}")], cards)
        limit = self.run_js("report.plans[0].memories[1].limitBytes")
        self.assertTrue([card for card in cards if f"the limit is {limit / 1024:.2f} KiB" in card], cards)
        copied = self.run_js("report.plans[0].why.tensor.length")
        self.assertTrue([card for card in cards if re.fullmatch(f"{copied}tensors, together [0-9.]+ KiB, are copied in each step", card)], cards)

    def test_short_times_have_the_digits_that_tell_them_apart(self):
        self.assertEqual(self.run_js("report.spanText(23509824, 23518136)"), "from 23.5098 ms to 23.5181 ms")
        self.assertEqual(self.run_js("report.spanText(0, 46400)"), "from 0 ns to 46.40 us")
        self.assertEqual(self.run_js("report.spanText(1000, 2500)"), "from 1.00 us to 2.50 us")
        # As C++ rounds them: ties such as 55.125 and 1.375 go to the even digit.
        self.assertEqual(self.run_js("[56448, 14144, 1408, 12641].map(report.bytesText)"), ["55.12 KiB", "13.81 KiB", "1.38 KiB", "12.34 KiB"])
        self.assertEqual(self.run_js("[12345, 1125, 1375].map(report.timeText)"), ["12.35 us", "1.12 us", "1.38 us"])
        self.assertEqual(self.run_js("report.spanText(0, 2500, 2500)"), "during the whole step")
        self.assertEqual(self.run_js("report.spanText(0, 0, 2500)"), "at the start of the step")
        self.assertEqual(self.run_js("report.spanText(2500, 2500, 2500)"), "at the end of the step")
        self.assertEqual(self.run_js("report.spanText(1500, 1500, 2500)"), "at 1.50 us")

    def test_the_whole_step_has_words_of_its_own(self):
        text = self.all_texts()
        self.assert_no_empty_interval(text)
        stays = self.run_js("""(({startNs, endNs, home, memory}) => startNs.map((start, stay) => [start, endNs[stay]]).filter(
            (span, stay) => !home[stay] && memory[stay] === 1))(report.plans[0].residencies)""")
        step = self.run_js("report.plans[0].makespanNs")
        self.assertIn([0, step], stays)
        self.assertIn("during the whole step", text)

    def test_time_zooms_in_all_views(self):
        whole = self.view()
        chart = self.run_js("(() => { const area = report.charts.timeline[0].canvas.getBoundingClientRect();"
                            " return [area.left, area.top, area.width]; })()")
        left, top, width = chart
        inner = width - 140
        self.tab.drag(left + 128 + inner / 4, top + 30, left + 128 + inner / 2, top + 30)
        from_ns, to_ns = self.view()
        self.assertAlmostEqual(from_ns / whole[1], 0.25, places=2)
        self.assertAlmostEqual(to_ns / whole[1], 0.5, places=2)
        # What ended before is drawn in no view.
        for kind in ("timeline", "map"):
            self.assertFalse([box for box in self.boxes(kind) if box["text"].endswith(" from 0 ns to 46.40 us, 46.40 us")])
        self.boxes("timeline")
        chart = self.run_js("(() => { const area = report.charts.timeline[0].canvas.getBoundingClientRect();"
                            " return [area.left, area.top]; })()")
        self.tab.wheel(chart[0] + 128 + inner / 2, chart[1] + 30, -100, ctrl=True)
        self.assertAlmostEqual(self.view()[1] - self.view()[0], 0.8 * (to_ns - from_ns), delta=2)
        before = self.view()
        self.tab.wheel(chart[0] + 128 + inner / 2, chart[1] + 30, 100, shift=True)
        self.assertGreater(self.view()[0], before[0])
        self.tab.click(chart[0] + 128 + inner / 2, chart[1] + 80, count=2)
        self.assertEqual(self.view(), whole)
        self.click_element("#zoom-in")
        self.assertAlmostEqual(self.view()[1] - self.view()[0], whole[1] / 2, delta=2)
        self.click_element("#zoom-out")
        self.assertEqual(self.view(), whole)

    def test_the_map_zooms_in_addresses(self):
        window = "(({from, to}) => [from, to])(report.charts.map[0].bytes)"
        whole = self.run_js(window)
        small = self.box("map", "Div_104")
        self.tab.send("Input.dispatchMouseEvent", type="mouseWheel", x=small["x"], y=small["y"], deltaX=0, deltaY=-100, modifiers=1)
        self.tab.settle()
        after = self.run_js(window)
        self.assertAlmostEqual(after[1] - after[0], 0.8 * whole[1], delta=2)
        self.assertAlmostEqual(self.box("map", "Div_104")["h"], 1.25 * small["h"], delta=1.5)
        self.tab.click(small["x"] - 40, small["y"] - small["h"], count=2)
        self.assertEqual(self.run_js(window), whole)
        # A drag over the box shows its time and its addresses.
        small = self.box("map", "Div_104")
        self.tab.drag(small["x"] - small["w"] / 2, small["y"] - 40, small["x"] + small["w"] / 2, small["y"] + 40)
        low, high = self.run_js(window)
        self.assertLess(high - low, whole[1] / 2)
        self.assertLess(low, 44800)
        self.assertGreater(high, 44800 + 51200)
        self.assertLess(self.view()[1] - self.view()[0], 40000)

    def test_the_pointer_shows_what_lies_there(self):
        box = self.box("map", self.WEIGHT)
        self.tab.mouse("mouseMoved", box["x"], box["y"])
        self.tab.settle()
        tip = self.run_js("[document.getElementById('tip').hidden, document.getElementById('tip').textContent]")
        self.assertFalse(tip[0])
        self.assertIn(f"{self.weight_bytes()}, 323.44 KiB\nfrom 0 ns to {self.weight_leaves()}", tip[1])

    def test_the_keyboard_does_all(self):
        whole = self.view()
        self.tab.key("j")
        first = self.selected()
        self.tab.key("j")
        self.assertEqual(self.selected()[1], first[1] + 1)
        self.tab.key("k")
        self.assertEqual(self.selected(), first)
        self.tab.key("K")
        self.assertTrue(self.run_js("report.plans[0].isLaunch(report.selection.index)"))
        self.tab.key("J")
        self.assertFalse(self.run_js("report.plans[0].isLaunch(report.selection.index)"))
        self.tab.key("s")
        self.assertEqual(self.selected_name(), "operator Gather_15")
        self.tab.key("[")
        self.assertNotEqual(self.selected_name(), "operator Gather_15")
        self.tab.key("]")
        self.assertEqual(self.selected_name(), "operator Gather_15")
        self.tab.key("Escape")
        self.assertIsNone(self.selected())
        self.tab.key("0")
        self.tab.key("+")
        half = self.view()
        self.assertAlmostEqual(half[1] - half[0], whole[1] / 2, delta=2)
        self.tab.key("ArrowRight")
        self.assertGreater(self.view()[0], half[0])
        self.tab.key("ArrowLeft")
        self.assertAlmostEqual(self.view()[0], half[0], delta=2)
        self.tab.key("-")
        self.run_js("report.charts.map[0].showBytes(0, 1000)")
        self.tab.key("0")
        self.assertEqual(self.view(), whole)
        self.assertEqual(self.run_js("report.charts.map[0].bytes.to - report.charts.map[0].bytes.from"),
                         self.run_js("report.charts.map[0].whole"))
        self.tab.key("?")
        self.assertTrue(self.run_js("document.getElementById('keys').open"))
        self.tab.key("Escape")
        self.assertFalse(self.run_js("document.getElementById('keys').open"))
        self.tab.key("/")
        self.tab.type("word_emb")
        self.tab.key("Enter")
        self.assertEqual(self.selected_name(), f"tensor {self.WEIGHT}")
        # Arrows go through what was found, and back to the text.
        self.tab.key("/")
        self.tab.type("matmul")
        focused = "[...document.querySelectorAll('#matches button')].indexOf(document.activeElement)"
        for key, at in (("ArrowDown", 0), ("ArrowDown", 1), ("ArrowUp", 0), ("ArrowUp", -1)):
            self.tab.key(key)
            self.assertEqual(self.run_js(focused), at)

    def test_tables_sort_filter_and_print_their_reasons(self):
        self.click_element("#operators th:nth-child(5) button")
        times = self.run_js("[...document.querySelectorAll('#operators tbody tr')].map(row => report.plans[0].timeNs[row.dataset.index])")
        self.assertEqual(times, sorted(times, reverse=True))
        self.assertEqual(self.run_js("document.querySelector('#operators th:nth-child(5)').ariaSort"), "descending")
        self.run_js("document.querySelector('#operators input').focus()")
        self.tab.type("matmul_1")
        self.assertEqual({row[1] for row in self.rows("operators")}, {"MatMul_101", "MatMul_111"})
        columns = self.run_js("[...document.querySelectorAll('#swaps th')].map(head => head.textContent)")
        self.assertEqual(columns, ["tensor", "copy", "kind", "size", "way", "start", "end", "slack"])
        self.assertEqual(self.run_js("[...document.querySelectorAll('#swaps th button')].map(button => "
                                     "getComputedStyle(button, '::after').content !== 'none')"), [False] * 5 + [True] + [False] * 2)
        why = {row[1]: row[9] for row in self.rows("swaps")}
        times = {row[1]: row[5:9] for row in self.rows("swaps")}
        self.assertEqual(times[self.WEIGHT], ["host to accel0", "0 ns", "46.40 us", "0 ns"])
        self.assertEqual(why["input_ids"], "the caller gives it in the host's memory")
        self.assertIn("operator 'Gather_15' reads it, and it is not kept in 'accel0' between steps. It does not fit", why[self.WEIGHT])
        self.assertIn(f"it is not in 'accel0' from {self.weight_leaves()} of one step to 46.40 us of the next step", why[self.WEIGHT])
        self.click_element("#swaps input[type=checkbox]")
        slack = dict(zip(*self.run_js("[report.tables[0].entries.map(entry => entry.name), report.tables[0].entries.map(entry => entry.slackNs)]")))
        self.assertEqual({row[1] for row in self.rows("swaps")}, {name for name, ns in slack.items() if ns == 0})
        self.assertLess(len(self.rows("swaps")), len(slack))

    def test_the_next_stall_is_in_view_with_what_takes_its_time(self):
        self.run_js("report.show(200000, 210000)")
        self.tab.key("s")
        start, stall, during = self.run_js("(plan => [plan.commands.startNs[report.selection.index], plan.stalls.ns[0], "
                                           "Math.min(...plan.stalls.during[0].map(held => plan.commands.startNs[held]))])(report.plans[0])")
        low, high = self.view()
        self.assertLessEqual(low, min(start - stall, during))
        self.assertGreater(high, start)
        self.assertLess(high - low, 3 * (start - min(start - stall, during)))

    def test_where_the_time_goes_adds_up(self):
        text = self.run_js("document.getElementById('time').textContent")
        found = re.search(r"Of the ([0-9.]+) us of a step, 'accel0' computes for ([0-9.]+) us, waits before operators for ([0-9.]+) us "
                          r"\(([0-9.]+) us of that for copies\) and runs nothing after its last operator for ([0-9.]+) us", text)
        step, compute, stalled, copies, rest = (float(part) for part in found.groups())
        self.assertAlmostEqual(step, compute + stalled + rest, delta=0.03)
        self.assertLessEqual(copies, stalled)
        self.assertIn("The link of 'host' and 'accel0' copies ", text)
        self.assertIn("(the latency)", text)
        self.assertIn(f"critical path, {self.run_js('report.plans[0].criticalPath.length')} commands", text)
        self.click_element("#time .link")
        self.assertEqual(self.selected(), ["command", self.run_js("report.plans[0].criticalPath[0]")])

    def test_what_takes_a_stalls_time_runs_in_it(self):
        self.run_js("report.plans[0].stalls.command.forEach((launch, stall) => { const {startNs, endNs} = report.plans[0].commands; "
                    "if (report.plans[0].stalls.during[stall].some(held => endNs[held] <= startNs[launch] - report.plans[0].stalls.ns[stall])) "
                    "throw new Error('ended before'); })")

    def test_a_name_that_nothing_has_is_told(self):
        self.tab.key("/")
        self.tab.type("zzzz")
        self.assertEqual(self.run_js("document.getElementById('matches').textContent"), "no operator and no tensor has this in its name")

    def test_the_pointer_reads_the_memory_in_use(self):
        self.run_js("report.charts.memory[0].canvas.scrollIntoView({block: 'center'})")
        x, y = self.run_js("(area => [area.left + area.width / 2, area.top + 10])(report.charts.memory[0].canvas.getBoundingClientRect())")
        self.tab.mouse("mouseMoved", x, y)
        self.tab.settle()
        self.assertRegex(self.run_js("document.getElementById('tip').textContent"), r"^[0-9.]+ KiB of accel0 in use at [0-9.]+ us$")

    def test_a_found_tensor_is_in_view_with_all_its_stays(self):
        self.run_js("report.show(0, 1000)")
        self.tab.key("/")
        self.tab.type("MatMul_111")
        self.run_js("[...document.querySelectorAll('#matches button')].find(button => button.textContent.startsWith('tensor')).click()")
        self.tab.settle()
        spans = self.run_js("(plan => plan.stays[report.selection.index].filter(stay => !plan.residencies.home[stay]).map("
                            "stay => [plan.residencies.startNs[stay], plan.residencies.endNs[stay]]))(report.plans[0])")
        low, high = self.view()
        self.assertTrue(all(low <= start and end <= high for start, end in spans), (spans, low, high))

    def test_the_graph_moves_and_zooms(self):
        place = "(({x, y, scale}) => [x, y, scale])(report.charts.graph[0].view)"
        before = self.run_js(place)
        box = self.box("graph", "ReduceMean_20")
        self.tab.drag(box["x"], box["y"], box["x"] - 80, box["y"])
        after = self.run_js(place)
        self.assertAlmostEqual((after[0] - before[0]) * before[2], 80, delta=1)
        self.assertIsNone(self.selected())
        self.tab.wheel(box["x"], box["y"], -100, ctrl=True)
        self.assertAlmostEqual(self.run_js(place)[2] / after[2], 1.25, places=2)
        self.click_element("#graph-out")
        self.click_element("#graph-in")
        self.click_element("#graph-all")
        self.assertEqual(len(self.boxes("graph")), 25)
        # A selection elsewhere comes into view.
        self.tab.key("/")
        self.tab.type("Gemm_127")
        self.tab.key("Enter")
        self.assertEqual(self.levels("graph")[0], {"Gemm_127"})

    def test_the_search_is_drawn(self):
        points = self.run_js("report.plans[0].history")
        self.assertEqual(len(self.boxes("history")), len(points))
        self.assertEqual(points[-1][1], self.run_js("report.plans[0].makespanNs"))
        self.assertEqual(self.boxes("history")[-1]["text"], f"{points[-1][1] / 1000:.2f} us after {points[-1][0]} plans")

    def test_dark_and_paper(self):
        ground = "getComputedStyle(document.body).backgroundColor"
        self.tab.prefer("light")
        light = self.run_js(ground)
        self.tab.prefer("dark")
        self.assertNotEqual(self.run_js(ground), light)
        self.assertLess(sum(int(part) for part in self.run_js(ground)[4:-1].split(",")), 150)
        self.run_js("report.select(report.plans[0], 'operator', 1)")
        self.tab.settle()
        # The outline of what is selected has the colour of ink.
        self.assertEqual(self.run_js("report.charts.graph[0].pen.strokeStyle"), "#e6ebf1")
        self.run_js("""window.printed = null; window.addEventListener('beforeprint', () => {
            window.printed = [getComputedStyle(document.documentElement).getPropertyValue('--ink'),
                              report.charts.graph[0].pen.strokeStyle]; })""")
        paper = self.tab.print()
        self.assertTrue(paper.startswith(b"%PDF"))
        self.assertEqual([text.strip() for text in self.run_js("window.printed")], ["#1c2430", "#1c2430"])
        self.assertFalse(self.run_js("document.documentElement.classList.contains('paper')"))
        self.tab.prefer("light")
        # Pictures keep their shape on a narrower page.
        self.tab.send("Emulation.setEmulatedMedia", media="print")
        self.tab.resize(700, 1000)
        try:
            shape = self.run_js("(canvas => [canvas.width / canvas.height, canvas.clientWidth / canvas.clientHeight])"
                                "(report.charts.map[0].canvas)")
            self.assertAlmostEqual(shape[0], shape[1], delta=0.05 * shape[0])
            self.assertEqual(self.run_js("getComputedStyle(document.querySelector('.find')).display"), "none")
            for hidden in (".mouse", "#operators .tools"):
                self.assertEqual(self.run_js(f"getComputedStyle(document.querySelector('{hidden}')).display"), "none")
            self.assertEqual(self.run_js("getComputedStyle(document.querySelector('#operators thead')).display"), "table-header-group")
            self.assertTrue(self.run_js("[...document.querySelectorAll('.card')].every(card => card.scrollWidth <= card.clientWidth)"))
            self.assertEqual(self.run_js("getComputedStyle(document.querySelector('#operators .scroll')).maxHeight"), "none")
        finally:
            self.tab.send("Emulation.setEmulatedMedia", media="")
            self.tab.resize(1500, 1000)

    def test_a_narrow_window_has_one_column(self):
        self.tab.resize(600, 900)
        try:
            self.tab.settle()
            self.assertLessEqual(self.run_js("document.documentElement.scrollWidth"), 600)
        finally:
            self.tab.resize(1500, 1000)


class CopiedOften(PageTest):
    """A training step, in which tensors are copied out and in again."""
    page = "train.html"

    def test_each_copy_has_its_number_its_reader_and_its_slack(self):
        plan = "report.plans[0]"
        often = self.run_js(f"{plan}.copies.findIndex(copies => copies.length > 1)")
        self.assertGreaterEqual(often, 0)
        self.run_js(f"report.select({plan}, 'tensor', {often})")
        self.tab.settle()
        name, copies = self.run_js(f"[{plan}.tensors.name[{often}], {plan}.copies[{often}]]")
        starts = self.run_js(f"{plan}.copies[{often}].map(copy => {plan}.commands.startNs[copy])")
        self.assertEqual(starts, sorted(starts))
        told = self.run_js("[...document.querySelectorAll('#details details .fact')].map(fact => fact.textContent)")
        self.assertEqual(len(told), len(copies))
        for number, (copy, text) in enumerate(zip(copies, told), 1):
            self.assertTrue(text.startswith(f"copy {number} of {len(copies)} of {name} from "), text)
            # By the plan: the first command that reads what the copy wrote.
            early, slack = self.run_js(f"""(() => {{
                const {{reads, writes, startNs, endNs, slackNs}} = {plan}.commands, written = writes[{copy}][0];
                const starts = startNs.filter((start, command) => reads[command].includes(written) && {plan}.isLaunch(command));
                return [starts.length ? Math.min(...starts) - endNs[{copy}] : null, slackNs[{copy}]];
            }})()""")
            time = lambda ns: self.run_js(f"report.timeText({ns})")
            if early:
                self.assertIn(f" reads it first and starts {time(early)} after this copy ends", text)
            self.assertIn(f"could end up to {time(slack)} later without making the step longer; " if slack else
                          ": if it ends later, the step gets longer, because ", text)
            self.assertIn(f"Copy {number} of {len(copies)} starts ", text)
        # The one that is selected comes first.
        self.run_js(f"report.select({plan}, 'command', {copies[-1]})")
        self.tab.settle()
        told = self.run_js("[...document.querySelectorAll('#details details .fact')].map(fact => fact.textContent)")
        self.assertTrue(told[0].startswith(f"copy {len(copies)} of {len(copies)} of {name} from "), told[0])
        box = self.run_js(f"report.charts.timeline[0].boxes.find(box => box.level === 2).text()")
        self.assertRegex(box, f"^copy [0-9]+ of {len(copies)} of ")

    def test_cards_say_where_bytes_go(self):
        cards = self.run_js("[...document.querySelectorAll('.card')].map(card => card.textContent)")
        for words in ("copied into accel0 in each step", "copied out of accel0 in each step"):
            self.assertEqual(len([card for card in cards if card.endswith(words)]), 1, cards)

    def test_no_text_has_an_empty_interval(self):
        self.assert_no_empty_interval(self.all_texts())


class Streamed(PageTest):
    page = "streamed.html"

    def test_cards_name_the_file(self):
        cards = self.run_js("[...document.querySelectorAll('.card')].map(card => card.textContent)")
        self.assertEqual(len([card for card in cards if card.endswith("read from disk in each step")]), 1, cards)
        self.assertFalse([card for card in cards if "copied into" in card or "written to" in card], cards)
        self.assertEqual(self.run_js("document.getElementById('legend').textContent"), "cpuread from a filestall")


class NearLabels(PageTest):
    """Figures so alike that labels at their heights would print over each other."""
    page = "near.html"

    def test_labels_do_not_print_over_each_other(self):
        for width in (1200, 800):
            self.tab.resize(width, 900)
            self.run_js("window.dispatchEvent(new Event('resize'))")
            self.tab.settle()
            for kind in ("timeline", "memory", "history"):
                charts = self.run_js(f"""report.charts.{kind}.map(({{pen, texts}}) => texts.filter(({{boxed}}) => !boxed).map(({{text, x, y, align}}) => {{
                        const w = pen.measureText(text).width;
                        return {{text, from: x - (align === 'right' ? w : align === 'center' ? w / 2 : 0), w, y}};
                    }}))""")
                self.assertTrue(all(charts), kind)
                for texts in charts:
                    for i, a in enumerate(texts):
                        for b in texts[:i]:
                            apart = a["from"] >= b["from"] + b["w"] or b["from"] >= a["from"] + a["w"] or abs(a["y"] - b["y"]) >= 10
                            self.assertTrue(apart, f"{kind}, {width} wide: '{a['text']}' is over '{b['text']}'")
        self.tab.resize(1500, 1000)
        labels = self.run_js("report.charts.history[0].texts.map(({text}) => text)")
        for start in ("without a memory limit", "lower bound", "first", "this plan"):
            self.assertEqual(len([label for label in labels if label.startswith(start)]), 1, labels)


class TwoPlans(PageTest):
    page = "both.html"

    def test_the_other_plan_is_beside_it_on_one_time_axis(self):
        self.assertEqual(self.run_js("report.charts.timeline.length"), 2)
        self.assertEqual(self.run_js("report.charts.map.length"), 2)
        a, b = (max(box["x"] + box["w"] / 2 for box in self.boxes("timeline", chart) if "planned" in box["text"]) for chart in (0, 1))
        self.assertGreater(a, b)
        self.click_box("timeline", "MatMul_101", 1)
        self.assertEqual(self.selected_name(), "B: operator MatMul_101")
        self.assertIn("MatMul_101", self.levels("timeline", 0)[0])
        self.assertEqual([row[1] for row in self.rows("operators") if row[0] == "main"], ["MatMul_101"])
        self.run_js("[...document.querySelectorAll('#details .link')].find(link => link.textContent === 'A').click()")
        self.tab.settle()
        self.assertEqual(self.selected_name(), "A: operator MatMul_101")
        below = self.run_js("report.charts.timeline.map(chart => chart.canvas.getBoundingClientRect().left)")
        self.assertEqual(below[0], below[1])
        self.click_element("#beside")
        beside = self.run_js("report.charts.timeline.map(chart => chart.canvas.getBoundingClientRect().left)")
        self.assertLess(beside[0] + 200, beside[1])
        less, more = self.run_js("report.plans.map(plan => plan.makespanNs)")
        self.assertIn(f"A step takes {(less - more) / 1000:.2f} us less in B", self.run_js("document.body.textContent"))

    def test_measured_steps_are_lanes_below_the_planned_one(self):
        for lane in (0, 1):
            self.assertGreater(self.run_js(f"Math.min(...report.plans[0].measured[{lane}].startNs)"), -1)
        planned = [box for box in self.boxes("timeline") if box["text"].startswith("MatMul_101\nplanned")]
        measured = [box for box in self.boxes("timeline") if box["text"].startswith("MatMul_101\nmeasured")]
        self.assertEqual([len(planned), len(measured)], [1, 2])
        self.assertLess(planned[0]["y"], measured[0]["y"])
        self.assertLess(measured[0]["y"], measured[1]["y"])
        self.tab.click(measured[1]["x"], measured[1]["y"])
        self.assertIn("operator MatMul_101", self.selected_name())
        command = self.selected()[1]
        self.assertIn(f"measured (rank1) from {6 * command + 1}.00 us to {6 * command + 6}.00 us, 5.00 us", self.details())
        heads = self.run_js("[...document.querySelectorAll('#operators th')].map(head => head.textContent)")
        self.assertEqual(heads[5:7], ["measured 1", "measured 2"])


class LargePlan(PageTest):
    page = "large.html"

    def test_paper_has_the_first_rows_of_each_table(self):
        self.click_element("#operators .tools button:last-of-type")
        self.assertEqual(self.run_js("report.tables[2].page"), 1)
        self.run_js("window.printed = null; window.addEventListener('beforeprint', () => { const table = report.tables[2]; "
                    "window.printed = [table.printed.textContent, Number(table.body.rows[0].dataset.index), table.page]; })")
        self.run_js("window.dispatchEvent(new Event('beforeprint'))")
        text, first, page = self.run_js("window.printed")
        self.assertEqual(text, f"Rows 1 to 25 of {LARGE:,}, sorted by start, the least first.")
        self.assertEqual([first, page], [self.run_js("report.tables[2].hits[0].index"), 0])
        self.run_js("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.run_js("report.tables[2].page"), 1)

    def acting(self, act, what):
        before = self.tab.busy_seconds()
        act()
        took = self.tab.busy_seconds() - before
        print(f"  {what}: {1000 * took:.0f} ms")
        self.assertLess(took, ACT_SECONDS, what)

    def test_ten_thousand_operators_open_and_answer_quickly(self):
        wall, busy = self.took
        print(f"\n  {LARGE} operators open in {wall:.2f} s, {busy:.2f} s of the page's thread")
        self.assertLess(busy, OPEN_SECONDS)
        self.assertEqual(self.run_js("report.plans[0].operators.name.length"), LARGE)
        # Tiny boxes stand for many.
        self.assertLess(len(self.boxes("timeline")), 6000)
        self.assertGreater(max(box["count"] for box in self.boxes("timeline")), 1)
        self.tab.settle()
        self.acting(lambda: self.click_element("#zoom-in"), "zoom in")
        self.acting(lambda: self.click_element("#zoom-all"), "zoom out")
        self.acting(lambda: self.click_element("#graph-all"), "the whole graph")
        self.acting(lambda: self.tab.key("s"), "next stall")
        self.assertIn("runs nothing", self.details())
        self.tab.key("/")
        self.acting(lambda: self.tab.type("op7777"), "find")
        self.acting(lambda: self.tab.key("Enter"), "select")
        self.assertEqual(self.selected_name(), "operator layer77/op7777")
        self.assertEqual([row[1] for row in self.rows("operators") if row[0] == "main"], ["layer77/op7777"])
        self.assertIn("layer77/op7777", self.levels("timeline")[0])
        self.assertIn("layer77/op7777", self.levels("graph")[0])
        # Pale boxes over one another stay pale, but for names over them.
        self.click_element("#zoom-all")
        self.tab.settle()
        paint = self.run_js("""(() => {
            const {pen, sharp, boxes} = report.charts.map.reduce((a, b) => b.boxes.length > a.boxes.length ? b : a);
            const pale = boxes.filter(box => box.level === 0 && Math.min(box.w, box.h) < 1.5).slice(0, 3000);
            const lit = boxes.filter(box => box.level > 0);
            const away = (a, b) => a.x > b.x + b.w + 2 || b.x > a.x + a.w + 2 || a.y > b.y + b.h + 2 || b.y > a.y + a.h + 2;
            return pale.filter(box => lit.every(other => away(box, other))).map(
                box => Math.min(...pen.getImageData(Math.floor((box.x + box.w / 2) * sharp), Math.floor((box.y + box.h / 2) * sharp), 1, 1).data.slice(0, 3)));
        })()""")
        print(f"  {len(paint)} pale boxes, {sum(shade < 150 for shade in paint)} dark")
        self.assertGreater(len(paint), 50)
        self.assertLess(sum(shade < 150 for shade in paint), 0.05 * len(paint))
        self.acting(lambda: self.tab.key("j"), "next command")
        self.acting(lambda: self.click_element("#swaps th:nth-child(1) button"), "sort")
        self.run_js("document.querySelector('#swaps input').focus()")
        self.acting(lambda: self.tab.type("w4321"), "filter")
        self.assertEqual([row[1] for row in self.rows("swaps")], ["layer43/w4321"])


def main():
    global BIN, MODELS, FOLDER
    BIN, MODELS = sys.argv[1:3]
    if not browser.find_chromium():
        print("skipped: no chromium, install Debian's package to test pages in a browser")
        return 77
    with tempfile.TemporaryDirectory(prefix="sluice-report-") as FOLDER:
        make_pages(FOLDER)
        result = unittest.main(argv=[sys.argv[0], *sys.argv[3:]], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
