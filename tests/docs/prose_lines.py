#!/usr/bin/env python3
"""Checks that prose in Markdown has at most 120 characters per line. Tables, code and headings may be longer, and so
may a line without a place to break, such as a long link.

usage: prose_lines.py FILE...           prints each line that is too long; the exit status is 1 if there is one
       prose_lines.py --wrap FILE...    breaks them, with the rest of their paragraph, and nothing else
       prose_lines.py --planted         lines that are too long have to be found and broken as they should be
"""
import argparse
import re
import sys

WIDTH = 120
ITEM = re.compile(r"^( *)([-*+]|\d+\.) +")
# A line must not begin with what Markdown takes for a list, a heading, a table, a quotation or a rule.
FORBIDDEN = re.compile(r"^([-*+]|\d+[.)]|#+|>.*|\|.*|=+|-+|```.*|~~~.*)$")


def kinds(lines):
    """Returns for each line whether it is prose."""
    block, prose, in_item = False, [], False
    for line in lines:
        fence = line.lstrip().startswith("```")
        text = line.strip()
        indented = line.startswith("    ") and not in_item
        prose.append(bool(text) and not (block or fence or indented) and not text.startswith(("|", "#", "<!--")))
        block = block != fence
        in_item = bool(ITEM.match(line)) or (in_item and (not text or line.startswith(" ")))
    return prose


def words(text):
    """Returns the words of a text. Links and code in back quotes stay whole."""
    found, word, code, depth = [], "", False, 0
    for i, char in enumerate(text):
        if char == "`":
            code = not code
        elif not code and char == "[":
            depth += 1
        elif not code and char == "]" and depth > 0 and text[i + 1:i + 2] != "(":
            depth -= 1
        elif not code and char == ")" and depth > 0 and "](" in word:
            depth -= 1
        if char == " " and not code and depth == 0:
            if word:
                found.append(word)
            word = ""
        else:
            word += char
    return found + ([word] if word else [])


def wrapped(text, first, rest):
    """Returns lines of at most WIDTH characters, as far as words allow it."""
    lines, line = [], first
    for word in words(text):
        filled = line.strip() != "" and line != first
        longer = f"{line} {word}" if filled else line + word
        if filled and len(longer) > WIDTH and not FORBIDDEN.match(word):
            lines.append(line)
            longer = rest + word
        line = longer
    return lines + [line]


def too_long(lines):
    """Returns the indices of lines of prose that are too long and could be broken."""
    return [i for i, (line, prose) in enumerate(zip(lines, kinds(lines)))
            if prose and len(line) > WIDTH and len(wrap_at(lines, i)) > 1]


def wrap_at(lines, index):
    item = ITEM.match(lines[index])
    indent = re.match(" *", lines[index])[0]
    first = item[0] if item else indent
    return wrapped(lines[index][len(first):], first, " " * len(first) if item else indent)


def wrap(lines):
    """Returns the lines with each one that is too long broken. The rest goes to the next line of its paragraph."""
    lines = list(lines)
    i = 0
    while i < len(lines):
        if i not in too_long(lines[:i + 1]):
            i += 1
            continue
        parts = wrap_at(lines, i)
        after = i + 1
        prose = kinds(lines)
        goes_on = after < len(lines) and prose[after] and not ITEM.match(lines[after])
        hard = lines[i].endswith("  ")
        if goes_on and not hard:  # the rest joins the next line of the paragraph
            indent = re.match(" *", parts[-1])[0]
            lines[i:after + 1] = parts[:-1] + [indent + parts[-1].strip() + " " + lines[after].strip()]
        else:
            lines[i:after] = parts
        i += len(parts) - 1
    return lines


def planted():
    long = "word " * 30
    cases = ((["| " + long + "|"], 0), (["```", long, "```"], 0), (["    " + long], 0), (["# " + long], 0), ([long], 1),
             (["- " + long], 1), (["- a", "  " + long], 1), (["[" + long + "](x.md)"], 0), (["a `" + long + "`"], 1))
    for lines, faults in cases:
        if len(too_long(lines)) != faults:
            sys.exit(f"planted {lines}, expected {faults}, found {too_long(lines)}")
    mended = wrap(["- " + "w " * 59 + "- end of it", "  more", "", "other"])
    if mended != ["- " + ("w " * 58).strip() + " w -", "  end of it more", "", "other"]:
        sys.exit(f"wrapped as {mended}")
    print(f"{len(cases) + 1} planted texts judged as they should be")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*")
    parser.add_argument("--wrap", action="store_true")
    parser.add_argument("--planted", action="store_true")
    arguments = parser.parse_args()
    if arguments.planted:
        planted()
        return
    faults = 0
    for file in arguments.files:
        with open(file, encoding="utf-8") as page:
            lines = page.read().split("\n")
        if arguments.wrap:
            lines = wrap(lines)
            with open(file, "w", encoding="utf-8") as page:
                page.write("\n".join(lines))
        for index in too_long(lines):
            faults += 1
            print(f"{file}:{index + 1}: {len(lines[index])} characters, at most {WIDTH}")
    print(f"{len(arguments.files)} pages checked")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
