#!/usr/bin/env python3
"""The pages that the program writes, in a real browser: light and dark, at 1280 and 400 pixels. No page complains or asks a
network for anything, nothing is wider than the window, no column is cut off at 1280 pixels, a table that scrolls says so,
every chart is drawn, text has contrast, and headings sort.

    pages_test.py PROGRAM SOURCE [--planted]
"""

import json
import os
import subprocess
import sys
import tempfile

from devtools import Browser, browser_path

PROGRAM, SOURCE, *MODE = sys.argv[1:]

CUT_OFF = """[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth + 1)
  .map(one => [one.getAttribute('aria-label'), getComputedStyle(one.querySelector('.cue')).display !== 'none'])"""
UNDRAWN = """[...document.querySelectorAll('canvas')].filter(one => {
  const { width, height } = one;
  if (!width || !height) return true;
  const pixels = new Uint32Array(one.getContext('2d').getImageData(0, 0, width, height).data.buffer);
  return new Set(pixels).size < 3;
}).map(one => one.getAttribute('aria-label'))"""
CONTRAST = """(() => {
  const light = colour => {
    const part = colour.match(/[0-9.]+/g).slice(0, 3).map(Number).map(c => (c /= 255) <= .03928 ? c / 12.92 : ((c + .055) / 1.055) ** 2.4);
    return .2126 * part[0] + .7152 * part[1] + .0722 * part[2];
  };
  const paper = light(getComputedStyle(document.body).backgroundColor);
  return [...document.querySelectorAll('p, th, td, caption, figcaption, button, a, li')].filter(one => one.offsetParent && one.textContent.trim())
    .map(one => {
      const style = getComputedStyle(one), own = style.backgroundColor;
      const below = /, 0\\)$/.test(own) || own === 'transparent' ? paper : light(own), ink = light(style.color);
      return [(Math.max(below, ink) + .05) / (Math.min(below, ink) + .05), one.textContent.trim().slice(0, 40), one.disabled === true];
    }).filter(([contrast, , off]) => contrast < 4.5 && !off).slice(0, 5);
})()"""
# Sorts the first table by its second column, twice, and returns both orders of the numbers.
SORTED = """(() => {
  const table = document.querySelector('.wide table'), button = table.tHead.rows[0].cells[1].querySelector('button');
  const numbers = () => [...table.tBodies[0].rows].map(row => parseFloat(row.cells[1].textContent));
  button.click();
  const down = numbers();
  button.click();
  return [down, numbers(), table.tHead.rows[0].cells[1].getAttribute('aria-sort')];
})()"""
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


def pages(folder):
    """Writes the pages: a replay under several policies, one with jobs that never run, and a sweep."""
    report = os.path.join(folder, "report.html")
    subprocess.run([PROGRAM, "replay", "--policy", "sia,goodput,goodput-declared,pollux,fifo", "--report", report], check=True,
                   stdout=subprocess.DEVNULL)
    yield "replay", report
    one = os.path.join(folder, "one.html")
    subprocess.run([PROGRAM, "replay", "--policy", "goodput", "--cluster", "T4:1x1", "--report", one], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield "replay of one policy", one
    spec, sweep = os.path.join(folder, "spec.json"), os.path.join(folder, "sweep")
    with open(spec, "w", encoding="utf-8") as file:
        json.dump({"policies": ["fifo", "goodput"], "loads": [0.5, 1], "options": {"--cluster": "T4:2x4,A100:1x8"}}, file)
    tool = [sys.executable, os.path.join(SOURCE, "examples", "sweep", "sweep.py")]
    for words in (["run", spec, "--out", sweep, "--program", PROGRAM], ["merge", sweep]):
        subprocess.run(tool + words, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield "sweep", os.path.join(sweep, "report.html")


def faults_of(page, name, address, looks=(False, True)):
    """Yields a sentence for each fault of a page. `looks`: whether the page is dark."""
    for width in (1280, 400):
        for dark in looks:
            where = f"{name}, {width} pixels, {'dark' if dark else 'light'}"
            page.look(width, dark)
            complaints, asked = page.go(address)
            yield from (f"{where}: the page complains: {text}" for text in complaints)
            yield from (f"{where}: the page asks for {url}" for url in asked
                        if url != address and not url.startswith(("data:", "blob:")))
            if (wider := page.ask(WIDER)) > 0:
                yield f"{where}: the page is {wider} pixels wider than the window"
            for label, cue in page.ask(CUT_OFF):
                if width == 1280:
                    yield f"{where}: the table '{label}' is cut off"
                elif not cue:
                    yield f"{where}: the table '{label}' scrolls and does not say so"
            yield from (f"{where}: the chart '{label}' is not drawn" for label in page.ask(UNDRAWN))
            yield from (f"{where}: '{text}' has a contrast of {contrast:.1f}" for contrast, text, _ in page.ask(CONTRAST))
            down, up, said = page.ask(SORTED)
            if down != sorted(down, reverse=True) or up != sorted(up) or said != "ascending":
                yield f"{where}: the first table is not sorted by its second column: {down}, {up}, {said}"
            yield from (f"{where}: the page complains: {text}" for text in page.complaints()[0])


PLANTED = {
    "complains": "<script>console.error('planted')</script>",
    "asks for": "<script>const planted = document.createElement('img'); planted.src = 'file:///nowhere.png'; "
                "document.body.append(planted)</script>",
    "wider than": "<div style='width: 3000px'>planted</div>",
    "is cut off": "<script>document.querySelector('.wide').style.width = '300px'</script>",
    "does not say so": "<style>.cue { display: none !important }</style>",
    "is not drawn": "<canvas aria-label='planted' width='10' height='10'></canvas>",
    "has a contrast": "<p style='color: #808890'>planted</p>",
    "is not sorted": "<script>document.querySelectorAll('thead button').forEach(one => { one.onclick = null })</script>",
}


def main():
    path = browser_path()
    if not path:
        sys.exit("there is no browser")
    with tempfile.TemporaryDirectory() as folder, Browser(path) as browser:
        page = browser.open()
        looked, faults = 0, []
        if MODE == ["--planted"]:
            report = next(address for _, address in pages(folder))
            with open(report, encoding="utf-8") as file:
                text = file.read()
            for words, fault in PLANTED.items():
                with open(report, "w", encoding="utf-8") as file:
                    file.write(text.replace("</body>", fault + "</body>"))
                found = list(faults_of(page, "planted", "file://" + report, looks=[False]))
                assert any(words in one for one in found), f"not found: {words}\n" + "\n".join(found)
                looked += 1
            print(f"{looked} planted faults are found")
            return
        for name, address in pages(folder):
            faults += faults_of(page, name, "file://" + address)
            looked += 1
        assert looked >= 3, looked
        if faults:
            sys.exit("\n".join(faults))
        print(f"{looked} pages, light and dark, at 1280 and 400 pixels")


if __name__ == "__main__":
    main()
