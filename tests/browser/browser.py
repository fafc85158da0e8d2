"""A headless Chromium, driven over a pair of pipes (--remote-debugging-pipe): no port, no package."""

import base64
import fcntl
import json
import os
import shutil
import signal
import tempfile
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
TIMEOUT = 120  # seconds for one answer: only what hangs takes as long


def program():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, PROGRAMS) if path), None)


class Browser:
    """One page of one browser.  `events` has what the page did since it was opened."""

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory(prefix="fre-browser-")
        to_read, self.to = os.pipe()
        self.back, to_write = os.pipe()
        arguments = [program(), "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
                     "--disable-extensions", "--disable-background-networking", "--disable-component-update",
                     "--disable-dev-shm-usage", "--hide-scrollbars", "--user-data-dir=" + self.profile.name]
        if os.getuid() == 0:
            arguments.append("--no-sandbox")  # root has no other way
        # It reads commands from descriptor 3 and answers on 4: high ones, so that neither covers the other.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (to_read, to_write)]
        nothing = [(os.POSIX_SPAWN_OPEN, fd, os.devnull, os.O_RDWR, 0) for fd in range(3)]
        self.process = os.posix_spawn(arguments[0], arguments, os.environ, setpgroup=0, file_actions=[
            *nothing, (os.POSIX_SPAWN_DUP2, ends[0], 3), (os.POSIX_SPAWN_DUP2, ends[1], 4)])
        for end in (to_read, to_write, *ends):
            os.close(end)
        self.got, self.number, self.session, self.events = b"", 0, None, []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Accessibility"):
            self.send(domain + ".enable")

    def read(self):
        """The next message of the browser."""
        while b"\0" not in self.got:
            part = os.read(self.back, 1 << 20)
            if not part:
                raise EOFError("the browser ended")
            self.got += part
        message, _, self.got = self.got.partition(b"\0")
        return json.loads(message)

    def send(self, method, **parameters):
        """A command's result."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        """Load a file and wait until it is there."""
        self.events = []
        self.send("Page.navigate", url="file://" + str(path))
        deadline = time.monotonic() + TIMEOUT
        while not any(e.get("method") == "Page.loadEventFired" for e in self.events):
            if time.monotonic() > deadline:
                raise TimeoutError(path)
            self.events.append(self.read())

    def run(self, expression):
        """The value of a JavaScript expression; a promise is waited for."""
        answer = self.send("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", {}).get("description", expression))
        return answer["result"].get("value")

    def settle(self):
        """Until what was asked of the page has been drawn."""
        self.run("new Promise(done => setTimeout(() => requestAnimationFrame(() => requestAnimationFrame(done)), 200))")

    def size(self, width, height=900, dark=False):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce"}])
        self.settle()

    def press(self, key):
        """One key, by its name: Tab, Enter, ArrowDown, ...; or a letter."""
        code = {"Tab": 9, "Enter": 13, "Escape": 27, " ": 32, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39,
                "ArrowDown": 40, "Home": 36}.get(key, ord(key[0]))
        text = {"Enter": "\r"}.get(key, key if len(key) == 1 else "")
        self.send("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", key=key, windowsVirtualKeyCode=code,
                  **({"text": text} if text else {}))
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text):
        self.send("Input.insertText", text=text)
        self.settle()

    def screenshot(self, whole=False):
        """PNG bytes of what is in sight, or of the whole page."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"])

    def pdf(self):
        return base64.b64decode(self.send("Page.printToPDF", printBackground=True)["data"])

    def complaints(self):
        """What stood on the console, and what was thrown."""
        return [e for e in self.events if e.get("method") in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown",
                                                               "Log.entryAdded")]

    def requests(self):
        """Addresses that the page asked for."""
        return [e["params"]["request"]["url"] for e in self.events if e.get("method") == "Network.requestWillBeSent"]

    def close(self):
        os.killpg(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self.to)
        os.close(self.back)
        try:
            self.profile.cleanup()
        except OSError:  # a child of the browser still writes
            time.sleep(1)
            shutil.rmtree(self.profile.name, ignore_errors=True)
