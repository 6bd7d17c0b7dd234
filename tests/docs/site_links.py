#!/usr/bin/env python3
"""Checks that every link within a static site leads somewhere, and that no page loads anything from elsewhere.

usage: site_links.py SITE [--skip FOLDER]     SITE: folder of HTML pages; FOLDER of it is not looked into
       site_links.py --planted SCRATCH        faults that are planted in a small site have to be found
"""
import argparse
import html.parser
import os
import sys
import urllib.parse


class Page(html.parser.HTMLParser):
    """A page's links, what it loads, and its anchors."""

    def __init__(self, file):
        super().__init__()
        self.links, self.loads, self.anchors, self.words = [], [], {"", "top"}, 0
        with open(file, encoding="utf-8") as page:
            self.feed(page.read())

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.update(value for name, value in attrs if value and (name == "id" or (tag == "a" and name == "name")))
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if tag in ("img", "script", "iframe") and given.get("src"):
            self.loads.append(given["src"])
        if tag == "link" and given.get("href") and given.get("rel") != "canonical":
            self.loads.append(given["href"])


def check(site, skip=None):
    """Returns the faults, and how many links and pages were checked."""
    pages, faults, count = {}, [], 0
    for folder, folders, files in os.walk(site):
        folders[:] = sorted(name for name in folders if os.path.relpath(os.path.join(folder, name), site) != skip)
        for name in sorted(files):
            if name.endswith(".html"):
                pages[os.path.join(folder, name)] = Page(os.path.join(folder, name))
    if not pages:
        faults.append(f"{site}: no pages")
    for file, page in pages.items():
        here = os.path.relpath(file, site)
        for address in page.links + page.loads:
            parts = urllib.parse.urlsplit(address)
            if parts.scheme or parts.netloc:
                if address in page.loads:
                    faults.append(f"{here}: is loaded from elsewhere: {address}")
                continue
            count += 1
            path = urllib.parse.unquote(parts.path)
            root = site if path.startswith("/") else os.path.dirname(file)
            target = os.path.normpath(os.path.join(root, path.lstrip("/"))) if path else file
            if os.path.isdir(target):
                target = os.path.join(target, "index.html")
            if not os.path.exists(target):
                faults.append(f"{here}: the link leads nowhere: {address}")
            elif target in pages and urllib.parse.unquote(parts.fragment) not in pages[target].anchors:
                faults.append(f"{here}: no such anchor: {address}")
    return faults, count, len(pages)


def planted(scratch):
    os.makedirs(scratch, exist_ok=True)

    def faults_of(body):
        for name, content in (("index.html", body), ("other.html", '<h2 id="there">x</h2>')):
            with open(os.path.join(scratch, name), "w", encoding="utf-8") as page:
                page.write(content)
        return check(scratch)[0]
    cases = (('<a href="other.html#there">x</a><a href="https://example.org/y">y</a>', None),
             ('<a href="gone.html">x</a>', "leads nowhere"), ('<img src="gone.svg">', "leads nowhere"),
             ('<a href="other.html#gone">x</a>', "no such anchor"), ('<a href="#gone">x</a>', "no such anchor"),
             ('<script src="https://example.org/a.js"></script>', "from elsewhere"))
    for body, fault in cases:
        found = faults_of(body)
        if (found if fault is None else len(found) != 1 or fault not in found[0]):
            sys.exit(f"planted {body}, expected {fault}, found {found}")
    print(f"{len(cases)} planted pages judged as they should be")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?")
    parser.add_argument("--skip")
    parser.add_argument("--planted", metavar="SCRATCH")
    arguments = parser.parse_args()
    if arguments.planted:
        planted(arguments.planted)
        return
    faults, links, pages = check(os.path.abspath(arguments.site), arguments.skip)
    print("\n".join(faults + [f"{links} links of {pages} pages checked"]))
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
