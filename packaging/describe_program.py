#!/usr/bin/env python3
"""Writes the man page and the completions of the program goodput from what its --help says, and from the schema of its
lines, docs/goodput.schema.json.

    packaging/describe_program.py build/release/examples/goodput           writes them
    packaging/describe_program.py build/release/examples/goodput --check   fails if they are not up to date
"""

import json
import pathlib
import re
import subprocess
import sys

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "python"))
from make_documents import inside, name_of, range_of  # noqa: E402

SCHEMA = json.loads((root / "docs" / "goodput.schema.json").read_text(encoding="utf-8"))


class Option:
    def __init__(self, names, value, text, group):
        self.names, self.value, self.text, self.group = names, value, text, group
        braces = re.search(r"\{(.*)\}", value)
        one_of = re.match(r"One of ([\w-]+(?:, [\w-]+)*)$", text)
        self.choices = braces[1].split(",") if braces else one_of[1].split(", ") if one_of else []

    @property
    def long(self):
        return next(name for name in self.names if name.startswith("--"))


class Command:
    def __init__(self, program, name=None):
        self.name = name
        page = subprocess.run([program, *([name] if name else []), "--help"], capture_output=True, text=True,
                              check=True).stdout.splitlines()
        self.summary = page[0]
        self.options, self.commands, self.notes = [], [], []
        section = group = None
        for line in page[2:]:
            if line.endswith(":") and not line.startswith(" ") and section != "Notes":
                group = line[:-1]
                section = "Subcommands" if group == "Subcommands" else "Options"
            elif section == "Options" and line.startswith("  -"):
                # "-h,--help   Text" or "--policy TEXT=sia   Text" or "--warm Excludes: --cold   Text"
                line = re.sub(r" (Excludes|Needs):( --[\w-]+)+", lambda m: " " * len(m[0]), line)
                spec, _, text = line.strip().partition("  ")
                names, _, value = spec.partition(" ")
                self.options.append(Option(names.split(","), value, text.strip(), group))
            elif section == "Options" and line.startswith("      "):
                last = self.options[-1]
                self.options[-1] = Option(last.names, last.value, (last.text + " " + line.strip()).strip(), group)
            elif section == "Subcommands" and line.startswith("  "):
                name, _, text = line.strip().partition("  ")
                self.commands.append((name, text.strip()))
            elif section and line and not line.startswith(" "):
                section = "Notes"
                self.notes.append(line)
            elif section == "Notes":
                self.notes.append(line)


def for_roff(text):
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text


def value_name(option):
    """TEXT, FLOAT, or what it may be."""
    if option.choices:
        return "|".join(option.choices) if len(option.choices) < 6 else "NAME"
    return re.split(r"[ :=]", option.value)[0]


def objects_of(schema, found=None):
    """The names of the objects that a part of the schema refers to, and so on, in their order."""
    found = [] if found is None else found
    for part in [schema, *inside(schema)]:
        if "$ref" in part and name_of(part) not in found:
            found.append(name_of(part))
            objects_of(SCHEMA["$defs"][name_of(part)], found)
        elif part is not schema:
            objects_of(part, found)
    return found


def lines_of(command, described):
    """What a line of a command may contain: object by object, those that an earlier command has by reference."""
    lines = []
    for name in objects_of(SCHEMA["commands"][command]["in"]) if command in SCHEMA["commands"] else ():
        of = SCHEMA["$defs"][name]
        if name in described:
            lines += [f".SS {name}", f"The same as in GOODPUT {described[name].upper()}."]
            continue
        described[name] = command
        lines += [f".SS {name}", for_roff(of["description"])]
        for field, schema in of["properties"].items():
            within = objects_of(schema)
            said = ", ".join(filter(None, ["required" if field in of.get("required", ()) else "", within[0] if within else "",
                                           range_of(schema)]))
            lines += [".TP", f"\\fB{for_roff(field)}\\fR" + (f" ({for_roff(said)})" if said else ""),
                      for_roff(schema["description"])]
    return lines


def man_page(top, commands, version):
    described = {}
    lines = [f'.TH GOODPUT 1 "" "goodput {version}" "User commands"',
             ".SH NAME", "goodput \\- share GPUs among training jobs by goodput",
             ".SH SYNOPSIS"]
    for command in commands:
        lines += [f".B goodput {command.name}", ".RI [ OPTION .\\|.\\|. ]", ".br"]
    lines += [".SH DESCRIPTION", for_roff(top.summary),
              "Most commands read one JSON document a line from standard input and write one a line to standard output."]
    for command in commands:
        lines += [f".SH GOODPUT {command.name.upper()}", for_roff(command.summary) + "."]
        group = "Options"
        for option in command.options:
            if option.group != group:
                group = option.group
                lines.append(f".SS {for_roff(group)}")
            names = ", ".join(f"\\fB{for_roff(name)}\\fR" for name in option.names)
            value = f" \\fI{for_roff(value_name(option))}\\fR" if option.value else ""
            default = re.search(r"=([^ {}]+)$", option.value.replace(" ...", ""))
            text = option.text + (f" (where left out: {default[1]})" if default else "")
            lines += [".TP", names + value, for_roff(text)]
        for note in ["", *command.notes] if command.notes else []:
            lines.append(".PP" if not note else for_roff(note))
        lines += lines_of(command.name, described)
    lines += [".SH EXIT STATUS", ".TP", "0", "All went well.", ".TP", "1",
              "A line of input was refused, or a file could not be read.", ".TP", "2",
              "Options or the command make no sense; nothing was read."]
    return "\n".join(lines) + "\n"


def bash(commands):
    cases = []
    for command in commands:
        cases.append(f"        {command.name})")
        cases.append('            case "$before" in')
        for option in command.options:
            if option.choices:
                cases.append(f'                {option.long}) words="{" ".join(option.choices)}" ;;')
            elif option.value:
                cases.append(f"                {option.long}) COMPREPLY=($(compgen -f -- \"$word\")); return ;;")
        cases.append(f'                *) words="{" ".join(n for o in command.options for n in o.names)}" ;;')
        cases += ["            esac", "            ;;"]
    names = " ".join(command.name for command in commands)
    return "\n".join(["# Completion of goodput for bash. Written by packaging/describe_program.py.", "_goodput() {",
                      '    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}" words=""',
                      "    COMPREPLY=()", "    if [ \"$COMP_CWORD\" -eq 1 ]; then",
                      f'        COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))', "        return",
                      "    fi", '    case "${COMP_WORDS[1]}" in', *cases, "    esac",
                      '    COMPREPLY=($(compgen -W "$words" -- "$word"))', "}", "complete -F _goodput goodput"]) + "\n"


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


def zsh(commands):
    lines = ["#compdef goodput", "# Completion of goodput for zsh. Written by packaging/describe_program.py.", "",
             "_goodput() {", "    local -a commands", "    commands=("]
    lines += [f"        {quoted(command.name + ':' + command.summary)}" for command in commands]
    lines += ["    )", "    if (( CURRENT == 2 )); then", "        _describe command commands",
              "        _arguments '--help' '--version'", "        return", "    fi", '    case "$words[2]" in']
    for command in commands:
        lines += [f"        {command.name})", "            shift words; (( CURRENT-- ))", "            _arguments \\"]
        for option in command.options:
            text = re.sub(r"([\[\]:\\])", r"\\\1", option.text)
            for name in option.names:
                value = ""
                if option.choices:
                    value = ":value:(" + " ".join(option.choices) + ")"
                elif option.value:
                    value = ":value:_files"
                star = "*" if "..." in option.value else ""
                lines.append(f"                {quoted(f'{star}{name}[{text}]{value}')} \\")
        lines[-1] = lines[-1][:-2]
        lines.append("            ;;")
    return "\n".join(lines + ["    esac", "}", "", '_goodput "$@"']) + "\n"


def fish(commands):
    names = " ".join(command.name for command in commands)
    lines = ["# Completion of goodput for fish. Written by packaging/describe_program.py.",
             f"set -l commands {names}",
             'complete -c goodput -n "not __fish_seen_subcommand_from $commands" -f -l help',
             'complete -c goodput -n "not __fish_seen_subcommand_from $commands" -f -l version']
    for command in commands:
        lines.append(f'complete -c goodput -n "not __fish_seen_subcommand_from $commands" -f -a {command.name} '
                     f"-d {quoted(command.summary)}")
        for option in command.options:
            name = " ".join(f"-l {n[2:]}" if n.startswith("--") else f"-s {n[1:]}" for n in option.names)
            value = f" -x -a '{' '.join(option.choices)}'" if option.choices else " -r" if option.value else ""
            lines.append(f'complete -c goodput -n "__fish_seen_subcommand_from {command.name}" {name}{value} '
                         f"-d {quoted(option.text)}")
    return "\n".join(lines) + "\n"


def main():
    program = sys.argv[1]
    top = Command(program)
    commands = [Command(program, name) for name, _ in top.commands]
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    files = {"docs/goodput.1": man_page(top, commands, version),
             "packaging/completions/goodput.bash": bash(commands),
             "packaging/completions/_goodput": zsh(commands),
             "packaging/completions/goodput.fish": fish(commands)}
    stale = [name for name, text in files.items()
             if not (root / name).exists() or (root / name).read_text() != text]
    if "--check" in sys.argv[2:]:
        for name in stale:
            print(f"{name} is not what {pathlib.Path(program).name} --help says: run packaging/describe_program.py")
        return 1 if stale else 0
    for name in stale:
        (root / name).write_text(files[name])
    return 0


if __name__ == "__main__":
    sys.exit(main())
