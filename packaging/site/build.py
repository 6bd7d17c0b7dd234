#!/usr/bin/env python3
"""Makes a static site of the Markdown pages, with search, and of Doxygen's reference where doxygen is installed.

usage: build.py [--output build/site] [--without-reference]

Needs mkdocs (Debian: apt-get install mkdocs); the pages load nothing from elsewhere. To look at it:
python3 -m http.server --directory build/site, because browsers do not let a page of the file system search.

The pages are written for code hosts. What mkdocs reads otherwise is changed on the way: headings keep the anchors that
code hosts give them, a list may follow its paragraph without an empty line, and pages that mkdocs.yml does not name
are put under "More".
"""
import argparse
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.join(ROOT, "packaging", "site")
TOP_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/experiments.md")
LIST_ITEM = re.compile(r"^([-*+]|\d+\.) ")


def anchor(heading):
    """As code hosts have it: lower case, punctuation away, "-" for each space."""
    heading = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def for_mkdocs(page):
    """The same page as mkdocs has to read it."""
    lines, block, seen, in_list = [], False, {}, False
    for line in page.split("\n"):
        if line.lstrip().startswith("```"):
            if not block and lines and lines[-1].strip():
                lines.append("")
            block = not block
            line = line.lstrip()
        elif not block:
            heading = re.match(r"^(#+) (.*)$", line)
            if line.startswith("<!--"):
                continue
            if heading:
                name = anchor(heading[2])
                seen[name] = seen.get(name, -1) + 1
                line = f"{line} {{: #{name}{'-' + str(seen[name]) if seen[name] else ''} }}"
            if LIST_ITEM.match(line) and lines and lines[-1].strip() and not in_list:
                lines.append("")
            in_list = bool(LIST_ITEM.match(line)) or (in_list and bool(line.strip()))
        lines.append(line)
    return "\n".join(lines)


def stage(folder):
    """Copies all pages and what they show to `folder`, and returns the names of the pages."""
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "docs"))
    pages = [name for name in TOP_PAGES if os.path.exists(os.path.join(ROOT, name))]
    for name in sorted(os.listdir(os.path.join(ROOT, "docs"))):
        if name.endswith(".md"):
            pages.append(f"docs/{name}")
        elif name.endswith((".svg", ".json", ".csv")):
            shutil.copy(os.path.join(ROOT, "docs", name), os.path.join(folder, "docs", name))
    for name in pages:
        with open(os.path.join(ROOT, name), encoding="utf-8") as page:
            content = for_mkdocs(page.read())
        for link in re.findall(r"\]\(([^)#: ]+)", content):  # files that are no pages
            there = os.path.normpath(os.path.join(os.path.dirname(name), link))
            target = os.path.join(folder, there)
            if os.path.isfile(os.path.join(ROOT, there)) and not there.endswith(".md") and not os.path.exists(target):
                os.makedirs(os.path.dirname(target), exist_ok=True)
                shutil.copy(os.path.join(ROOT, there), target)
        os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as page:
            page.write(content)
    return pages


def write_settings(file, pages, staged, output, reference):
    with open(os.path.join(HERE, "mkdocs.yml"), encoding="utf-8") as settings:
        lines = settings.read().rstrip().split("\n")
    named = {match[1] for match in (re.search(r": (\S+\.md)$", line) for line in lines) if match}
    missing = [line for line in sorted(named) if line not in pages]
    if missing:
        sys.exit(f"mkdocs.yml names pages that are not there: {', '.join(missing)}")
    others = [page for page in pages if page not in named]
    if others:
        lines.append("  - More:")
        lines += [f"      - {page}" for page in others]
    if reference:
        lines.append("  - Reference: reference/index.html")
    lines += [f"docs_dir: {staged}", f"site_dir: {output}"]
    with open(file, "w", encoding="utf-8") as settings:
        settings.write("\n".join(lines) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", default=os.path.join(ROOT, "build", "site"))
    parser.add_argument("--without-reference", action="store_true", help="leave Doxygen's pages out")
    arguments = parser.parse_args()
    output = os.path.abspath(arguments.output)
    if not shutil.which("mkdocs"):
        sys.exit("mkdocs is not installed: apt-get install mkdocs")
    staged = output + "-source"
    pages = stage(staged)
    reference = not arguments.without_reference and shutil.which("doxygen") is not None
    settings = output + ".yml"
    write_settings(settings, pages, staged, output, reference)
    made = subprocess.run(["mkdocs", "--quiet", "build", "--clean", "--config-file", settings], check=False)
    if made.returncode != 0:
        sys.exit("mkdocs failed")
    if reference:
        subprocess.run(["doxygen", "docs/Doxyfile"], cwd=ROOT, check=True)
        shutil.copytree(os.path.join(ROOT, "build", "doxygen", "html"), os.path.join(output, "reference"),
                        dirs_exist_ok=True)
    print(f"{len(pages)} pages{' and the reference' if reference else ''}: {output}/index.html")


if __name__ == "__main__":
    main()
