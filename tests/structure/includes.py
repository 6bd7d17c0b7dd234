#!/usr/bin/env python3
"""Tests whether every header includes what it names.

    includes.py INCLUDE      # the folder that holds goodput/

A header must reach, through its own includes, the header of ours that defines a type, concept or function that it
names, and the standard header of each name of `std`. The script reads the text, so it takes a second instead of
minutes with a compiler. The program of structure.link shows that the headers compile together.
"""
import collections
import pathlib
import re
import sys

STANDARD = {
    "algorithm": "all_of any_of clamp copy count count_if equal fill find find_if for_each iter_swap lower_bound max "
    "max_element min min_element minmax none_of nth_element partial_sort partition remove remove_if replace reverse "
    "rotate sort stable_sort stable_partition transform unique upper_bound adjacent_find",
    "any": "any any_cast",
    "array": "array",
    "bit": "bit_cast bit_ceil bit_floor bit_width countl_zero countr_zero has_single_bit popcount",
    "chrono": "chrono",
    "cmath": "abs ceil cos erf erfc exp exp2 expm1 fabs floor fma fmod frexp hypot isfinite isinf isnan ldexp llround "
    "log log10 log1p log2 lround nextafter pow round sin sqrt tan tgamma trunc",
    "compare": "partial_ordering strong_ordering weak_ordering",
    "concepts": "convertible_to copy_constructible default_initializable derived_from floating_point integral "
    "invocable move_constructible movable regular same_as signed_integral totally_ordered unsigned_integral",
    "cstdint": "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t",
    "deque": "deque",
    "exception": "exception_ptr",
    "functional": "function hash reference_wrapper",
    "initializer_list": "initializer_list",
    "limits": "numeric_limits",
    "map": "map multimap",
    "memory": "make_shared make_unique shared_ptr unique_ptr weak_ptr",
    "numbers": "numbers",
    "numeric": "accumulate exclusive_scan gcd inner_product iota lcm partial_sum reduce",
    "optional": "make_optional nullopt optional",
    "queue": "priority_queue",
    "random": "mt19937 mt19937_64 normal_distribution uniform_int_distribution uniform_real_distribution",
    "set": "multiset set",
    "span": "span",
    "stdexcept": "invalid_argument logic_error out_of_range runtime_error",
    "string": "stod stoi string to_string",
    "string_view": "string_view",
    "tuple": "make_tuple tie tuple",
    "type_traits": "conditional_t decay_t false_type is_same_v remove_cvref_t true_type",
    "utility": "declval exchange forward in_place make_pair move pair swap",
    "variant": "get_if holds_alternative monostate variant visit",
    "vector": "vector",
}
OF_NAME = {name: header for header, names in STANDARD.items() for name in names.split()}


def without_comments(text):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", text, flags=re.S)
    return re.sub(r"\"(\\.|[^\"\\])*\"", '""', text)


def defined_names(text):
    """Returns the names defined in a namespace, outside of classes and functions."""
    names = set()
    depth, open_names = 0, []  # whether each open brace is a namespace's
    for token in re.finditer(
        r"(namespace[\w\s:]*)\{|\{|\}"
        r"|\b(?:struct|class|enum class|concept)\s+(\w+)(?=[^;<>(){}]*(?:\{|=))"
        r"|\busing\s+(\w+)\s*=|[\w>&*\]]\s+[&*]?(\w+)\(",
        text,
    ):
        if token.group(1):
            open_names.append(True)
        elif token.group(0) == "{":
            open_names.append(False)
        elif token.group(0) == "}":
            if open_names:
                open_names.pop()
        elif all(open_names):
            names.add(token.group(2) or token.group(3) or token.group(4))
    return names


KEYWORDS = set("return case else throw co_return requires not and or in".split())


def declared_names(text):
    """Returns local names, parameters and members: each hides the same name of a namespace."""
    names = set(re.findall(r"\b(?:struct|class|using|typename|enum)\s+(\w+)", text))
    for before, name in re.findall(r"([\w>&*\]]+)\s+[&*]*(?=(\w+)\s*[,;:)=({\[])", text):
        if before not in KEYWORDS:
            names.add(name)
    return names


def main():
    root = pathlib.Path(sys.argv[1])
    headers = sorted(str(path.relative_to(root)) for path in (root / "goodput").rglob("*.hpp"))
    text = {name: without_comments(re.sub(r"(?m)^\s*#.*$", "", (root / name).read_text())) for name in headers}
    included = {name: re.findall(r"(?m)^\s*#\s*include\s*[<\"]([^>\"]+)", (root / name).read_text()) for name in headers}

    def reached(name):
        found, next_ones = set(), [name]
        while next_ones:
            one = next_ones.pop()
            if one not in found:
                found.add(one)
                next_ones.extend(included.get(one, []))
        return found

    defined = {name: defined_names(text[name]) for name in headers}
    defined_in = collections.defaultdict(set)
    for name in headers:
        for word in defined[name]:
            defined_in[word].add(name)

    # Boost names its headers after what they define.
    of_boost = {pathlib.Path(one).stem: one for names in included.values() for one in names if one.startswith("boost/")}

    complaints = []
    for name in headers:
        reach = reached(name)
        own = defined[name] | declared_names(text[name]) | KEYWORDS
        # A header of bodies knows the members of the classes in the header that includes it at its end.
        for front in included[name]:
            if name in included.get(front, []):
                own |= declared_names(text[front])
        # Types and concepts count anywhere, functions only where they are called without a prefix.
        words = set(re.findall(r"(?<![\w.>:])(?:detail::)?([A-Z]\w+)\b", text[name]))
        words |= set(re.findall(r"(?<![\w.>:])(?:detail::)?([a-z]\w+)(?=\()", text[name]))
        for word in sorted(words & defined_in.keys() - own):
            if not defined_in[word] & reach:
                complaints.append(f"{name}: names {word} without including {' or '.join(sorted(defined_in[word]))}")
        if "operator<=>" in text[name] and "compare" not in reach:
            complaints.append(f"{name}: compares by <=> without including <compare>")
        for word in sorted(set(re.findall(r"\bboost::(\w+)", text[name])) & of_boost.keys()):
            if of_boost[word] not in reach:
                complaints.append(f"{name}: names boost::{word} without including <{of_boost[word]}>")
        for word in sorted(set(re.findall(r"\bstd::(?:ranges::)?(\w+)", text[name])) & OF_NAME.keys()):
            if OF_NAME[word] not in reach:
                complaints.append(f"{name}: names std::{word} without including <{OF_NAME[word]}>")
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    print(f"{len(headers)} headers, {len(complaints)} complaints")
    sys.exit(1 if complaints or not headers else 0)


main()
