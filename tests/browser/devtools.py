"""Drives a headless browser over its own protocol by a pipe: Debian's chromium, or another browser of that family."""

import json
import os
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def browser_path():
    """Returns the path of the browser, or None if there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """A browser. open() returns a new page; several may be open."""

    def __init__(self, path, patience_s=60):
        self._patience, self._next, self._events = patience_s, 0, []
        self._folder = tempfile.TemporaryDirectory()
        to_browser, ours = os.pipe()
        theirs, from_browser = os.pipe()

        def as_three_and_four():  # the browser expects its pipe at these descriptors
            os.dup2(os.dup(to_browser), 13), os.dup2(os.dup(from_browser), 14)
            os.dup2(13, 3), os.dup2(14, 4)
            os.set_inheritable(3, True), os.set_inheritable(4, True)

        self._process = subprocess.Popen(
            [path, "--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--disable-extensions", "--no-first-run", f"--user-data-dir={self._folder.name}", "about:blank"],
            close_fds=False, preexec_fn=as_three_and_four, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser), os.close(from_browser)
        self._out, self._in, self._read = ours, theirs, b""
        os.set_blocking(self._in, False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.kill()
        self._process.wait()
        os.close(self._out), os.close(self._in)
        self._folder.cleanup()

    def open(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        return Page(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])

    def call(self, method, session=None, **parameters):
        """Returns the result of a command. What the browser reports meanwhile is kept for events()."""
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters, **({"sessionId": session} if session else {})}
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            said = self._message()
            if said.get("id") == self._next:
                if "error" in said:
                    raise RuntimeError(f"{method}: {said['error']}")
                return said["result"]
            self._events.append(said)

    def events(self, session):
        """Returns what the browser has reported about a page since the last call."""
        ours = [event for event in self._events if event.get("sessionId") == session]
        self._events = [event for event in self._events if event.get("sessionId") != session]
        return ours

    def _message(self):
        end = time.monotonic() + self._patience
        while b"\0" not in self._read:
            try:
                piece = os.read(self._in, 1 << 20)
            except BlockingIOError:
                piece = None
            if piece == b"" or time.monotonic() > end:
                raise RuntimeError("the browser does not answer")
            if piece:
                self._read += piece
            else:
                time.sleep(0.005)
        text, self._read = self._read.split(b"\0", 1)
        return json.loads(text)


class Page:
    """A page: sets its address, width and colour scheme, and runs scripts in it."""

    def __init__(self, browser, session):
        self._browser, self._session = browser, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self._browser.call(method, self._session, **parameters)

    def look(self, width, dark):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=width < 600)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def go(self, address):
        """Loads a page. Returns its complaints, and the addresses that it requested."""
        self._browser.events(self._session)
        self.call("Page.navigate", url=address)
        self.ask("new Promise(done => { const look = () => document.readyState === 'complete' ? setTimeout(done, 300) : "
                 "setTimeout(look, 50); look(); })")
        return self.complaints()

    def complaints(self):
        events = self._browser.events(self._session)
        said = [event["params"]["exceptionDetails"].get("exception", {}).get("description", "an exception")
                for event in events if event["method"] == "Runtime.exceptionThrown"]
        said += [json.dumps(event["params"]["args"]) for event in events
                 if event["method"] == "Runtime.consoleAPICalled" and event["params"]["type"] in ("error", "warning", "assert")]
        said += [event["params"]["entry"]["text"] for event in events
                 if event["method"] == "Log.entryAdded" and event["params"]["entry"]["level"] in ("error", "warning")]
        asked = [event["params"]["request"]["url"] for event in events if event["method"] == "Network.requestWillBeSent"]
        return said, asked

    def ask(self, script):
        """Returns the value of an expression in the page."""
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(str(answer["exceptionDetails"]))
        return answer["result"].get("value")
