"""A headless Chromium, driven over its DevTools protocol through two pipes: nothing but Python's standard library."""

import base64
import fcntl
import json
import os
import select
import shutil
import signal
import tempfile
import time

LIMIT_SECONDS = 60
KEY_CODES = {"Escape": 27, "Enter": 13, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}


def find_chromium():
    """Debian's browser, or None."""
    return shutil.which("chromium")


class BrowserError(Exception):
    pass


class Browser:
    """One page of a browser that ends with the `with` block."""

    def __init__(self, program):
        self.folder = tempfile.TemporaryDirectory(prefix="sluice-browser-")
        # The browser reads commands from descriptor 3 and answers on 4.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for pipe in (os.pipe(), os.pipe()) for end in pipe]
        self.answers, self.commands = ends[2], ends[1]
        flags = ["--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
                 "--disable-dev-shm-usage", "--remote-debugging-pipe", f"--user-data-dir={self.folder.name}"]
        if os.geteuid() == 0:
            flags.append("--no-sandbox")
        with open(os.path.join(self.folder.name, "log"), "wb") as log:
            actions = [(os.POSIX_SPAWN_DUP2, ends[0], 3), (os.POSIX_SPAWN_DUP2, ends[3], 4),
                       (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                       (os.POSIX_SPAWN_DUP2, log.fileno(), 2)]
            environment = dict(os.environ, HOME=self.folder.name)
            self.process = os.posix_spawn(program, [program, *flags, "about:blank"], environment, file_actions=actions, setpgroup=0)
        os.close(ends[0])
        os.close(ends[3])
        self.buffer, self.number, self.session = b"", 0, None
        self.events = []

    def __enter__(self):
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Network"):
            self.send(f"{domain}.enable")
        # Times of the page's main thread, without those in which other processes ran.
        self.send("Performance.enable", timeDomain="threadTicks")
        self.resize(1500, 1000)
        return self

    def __exit__(self, *_):
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.answers)
        os.close(self.commands)
        shutil.rmtree(self.folder.name, ignore_errors=True)
        self.folder.cleanup()

    def _receive(self, deadline):
        while b"\0" not in self.buffer:
            if not select.select([self.answers], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise BrowserError("the browser does not answer")
            data = os.read(self.answers, 1 << 20)
            if not data:
                raise BrowserError("the browser ended")
            self.buffer += data
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def send(self, method, **parameters):
        """The result of a command; events that come before it are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data):]
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise BrowserError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait_for(self, method):
        deadline = time.monotonic() + LIMIT_SECONDS
        while True:
            for i, event in enumerate(self.events):
                if event.get("method") == method:
                    return self.events.pop(i)
            self.events.append(self._receive(deadline))

    def open(self, path):
        """Loads a page, a file or an address, and waits until it is drawn. Returns the seconds that took, and those of the page's own work."""
        self.events.clear()
        begin = time.monotonic()
        self.send("Page.navigate", url=path if "://" in path else "file://" + os.path.abspath(path))
        self.wait_for("Page.loadEventFired")
        self.settle()
        return time.monotonic() - begin, self.busy_seconds()

    def busy_seconds(self):
        """Processor time of the page's main thread since it was loaded."""
        metrics = self.send("Performance.getMetrics")["metrics"]
        return next(metric["value"] for metric in metrics if metric["name"] == "TaskDuration")

    def settle(self):
        """Waits until what was asked for is drawn."""
        self.run("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))")

    def run(self, expression):
        """The value of a JavaScript expression, a promise's once it has one."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise BrowserError(f"{expression}: {answer['exceptionDetails']['exception'].get('description')}")
        return answer["result"].get("value")

    def mouse(self, kind, x, y, **more):
        self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, count=1):
        for i in range(1, count + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=i)
            self.mouse("mouseReleased", x, y, button="left", clickCount=i)
        self.settle()

    def drag(self, x, y, to_x, to_y):
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseMoved", (x + to_x) / 2, (y + to_y) / 2, button="left", buttons=1)
        self.mouse("mouseMoved", to_x, to_y, button="left", buttons=1)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)
        self.settle()

    def wheel(self, x, y, delta, ctrl=False, shift=False):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=delta, modifiers=2 * ctrl + 8 * shift)
        self.settle()

    def key(self, key):
        code = KEY_CODES.get(key, 0)
        text = {} if code and key != "Enter" else {"text": "\r" if key == "Enter" else key}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)
        self.settle()

    def type(self, text):
        self.send("Input.insertText", text=text)
        self.settle()

    def resize(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme):
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()

    def print(self):
        """The page on paper, as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])
