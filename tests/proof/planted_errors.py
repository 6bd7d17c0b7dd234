#!/usr/bin/env python3
"""planted_errors.py PROGRAM: requires that certificates with one error are refused, and those without are accepted.

PROGRAM is goodput. Plants every kind of error in every certificate that has a place for it.
"""
import copy
import random
import sys
import tempfile
from fractions import Fraction

from check_proof import Certificate, Refused, check
from random_problems import certificates, random_problem

KINDS = []


def plant(kind):
    KINDS.append(kind)
    return kind


class Text:
    """The lines of a certificate and where its sections start. capacities: number of capacity rows; assumed: for each
    row the assumptions it rests on."""

    def __init__(self, text):
        self.lines = text.splitlines()
        at = lambda word: next(i for i, line in enumerate(self.lines) if line.startswith(word))
        self.int, self.obj, self.con, self.rtp, self.sol, self.der = map(at, ("INT", "OBJ", "CON", "RTP", "SOL", "DER"))
        count, bounds = map(int, self.lines[self.con].split()[1:])
        self.given, self.variables = count, bounds

    def row(self, index):
        """Returns the line number of a row."""
        return self.con + 1 + index if index < self.given else self.der + 1 + index - self.given

    def derivations(self, *reasons):
        """Returns the indices of derived rows that have one of these reasons."""
        return [self.given + i for i, line in enumerate(self.lines[self.der + 1:])
                if line.split(" { ")[1].split()[0] in reasons]

    def nodes(self):
        """Returns the linear combinations that use a capacity."""
        return [i for i in self.derivations("lin") if self.first_price(i) is not None]

    def first_price(self, index):
        """Returns the position of the first multiplier of a capacity among the words of the line; None without one."""
        words = self.lines[self.row(index)].split()
        start = words.index("{") + 3
        for position in range(start, len(words) - 2, 2):
            if self.variables <= int(words[position]) < self.variables + self.capacities:
                return position + 1
        return None

    def change(self, index, position, word):
        words = self.lines[self.row(index)].split()
        words[position] = str(word)
        self.lines[self.row(index)] = " ".join(words)

    def words(self, index):
        return self.lines[self.row(index)].split()

    def text(self):
        return "\n".join(self.lines) + "\n"


def changed_number(word, factor=Fraction(1001, 1000)):
    return Fraction(word) * factor


@plant
def a_price_that_is_another(text, _):
    index = text.nodes()[-1]
    position = text.first_price(index)
    text.change(index, position, changed_number(text.words(index)[position]))


@plant
def a_price_below_zero(text, _):
    index = text.nodes()[-1]
    position = text.first_price(index)
    text.change(index, position, -Fraction(text.words(index)[position]))


@plant
def a_multiplier_that_is_missing(text, _):
    index = text.nodes()[0]
    position = text.first_price(index)
    words = text.words(index)
    brace = words.index("{")
    words[brace + 2] = str(int(words[brace + 2]) - 1)
    del words[position - 1:position + 1]
    text.lines[text.row(index)] = " ".join(words)


@plant
def a_row_used_twice(text, _):
    index = text.nodes()[0]
    words = text.words(index)
    brace = words.index("{")
    words[brace + 2] = str(int(words[brace + 2]) + 1)
    words[-2:-2] = words[brace + 3:brace + 5]
    text.lines[text.row(index)] = " ".join(words)


@plant
def a_node_that_is_missing(text, _):
    for index in reversed(text.derivations("uns")):
        words = text.words(index)
        brace = words.index("{")
        first, one, second, other = map(int, words[brace + 2:brace + 6])
        # This must be a node, not a cut, and its first side must not hold without its assumption.
        if second != other and one in text.assumed[first]:
            return text.change(index, brace + 4, first)
    raise IndexError


@plant
def a_node_that_proves_less(text, _):
    index = text.derivations("uns")[-1]
    node = int(text.words(index)[text.words(index).index("{") + 4])
    text.change(node, 2, "1000000000")


@plant
def sides_that_leave_something_out(text, _):
    words = text.words(text.derivations("uns")[-1])
    brace = words.index("{")
    for assumed in (int(words[brace + 3]), int(words[brace + 5])):
        if text.words(assumed)[1] == "G":
            text.change(assumed, 2, int(text.words(assumed)[2]) + 1)


@plant
def sides_of_two_sums(text, _):
    words = text.words(text.derivations("uns")[-1])
    assumed = int(words[words.index("{") + 3])
    text.change(assumed, 5, 2 * int(text.words(assumed)[5]))


@plant
def an_assumption_that_is_kept(text, _):
    for index in reversed(text.derivations("uns")):  # discharges another assumption
        words = text.words(index)
        brace = words.index("{")
        first, one = int(words[brace + 2]), int(words[brace + 3])
        if one in text.assumed[first]:
            return text.change(index, brace + 3, next(row for row in text.derivations("asm") if row != one))
    raise IndexError


@plant
def an_assumption_as_the_end(text, _):
    if "OBJ" not in text.words(text.given + len(text.lines) - text.der - 2):
        raise IndexError
    text.lines[-1] = text.lines[-1].split(" { ")[0] + " { asm } -1"


@plant
def a_cut_that_is_not_valid(text, _):
    for index in text.derivations("uns"):
        words = text.words(index)
        brace = words.index("{")
        first, one, second, other = map(int, words[brace + 2:brace + 6])
        if second != other or words[1] != "L" or "OBJ" in words or int(words[2]) < 1:
            continue
        for row in (index, one, other):
            text.change(row, 2, int(text.words(row)[2]) - 1)
        return
    raise IndexError


@plant
def a_rounding_of_what_is_not_whole(text, _):
    index = text.nodes()[-1]
    words = text.words(index)
    words[words.index("lin")] = "rnd"
    bound = Fraction(words[2])
    if bound.denominator == 1:
        raise IndexError
    words[2] = str(bound.numerator // bound.denominator)
    text.lines[text.row(index)] = " ".join(words)


@plant
def a_row_that_comes_later(text, _):
    index = text.nodes()[0]
    words = text.words(index)
    text.change(index, words.index("{") + 3, index)


@plant
def another_objective(text, _):
    words = text.lines[text.obj + 1].split()
    words[2] = str(changed_number(words[2]))
    text.lines[text.obj + 1] = " ".join(words)


@plant
def an_option_worth_less(text, problem):
    option = next(o for job in problem["jobs"] for o in job["options"] if o["value"] > 0)
    option["value"] *= 0.5


@plant
def a_larger_capacity(text, _):
    text.change(text.variables, 2, Fraction(text.words(text.variables)[2]) + 1)


@plant
def a_capacity_that_forgets_an_option(text, _):
    words = text.words(text.variables)
    words[3] = str(int(words[3]) - 1)
    text.lines[text.row(text.variables)] = " ".join(words[:-2])


@plant
def an_option_that_is_missing(text, problem):
    problem["jobs"][0]["options"].append({"value": 1, "use": []})


@plant
def two_options_for_a_job(text, _):
    text.change(text.given - 1, 2, 2)


@plant
def a_job_that_must_run(text, problem):
    problem["jobs"][0]["must"] = not problem["jobs"][0].get("must", False)


@plant
def options_below_zero(text, _):
    text.change(0, 2, -1)


@plant
def an_option_in_parts(text, _):
    words = text.lines[text.int + 1].split()
    text.lines[text.int] = f"INT {len(words) - 1}"
    text.lines[text.int + 1] = " ".join(words[:-1])


@plant
def a_solution_in_parts(text, _):
    words = text.lines[text.sol + 1].split()
    words[3] = "1/2"
    text.lines[text.sol + 1] = " ".join(words)


@plant
def a_solution_that_takes_too_much(text, _):
    words = text.lines[text.sol + 1].split()
    words[3] = "1000000"
    text.lines[text.sol + 1] = " ".join(words)


@plant
def a_solution_that_is_missing(text, _):
    text.lines[text.sol:text.sol + 2] = ["SOL 0"]


def lines_of_range(text):
    words = text.lines[text.rtp].split()
    if words[1] != "range":
        raise IndexError
    return words


@plant
def a_bound_that_is_too_low(text, _):
    words = lines_of_range(text)
    words[3] = str(Fraction(words[3]) - Fraction(1, 1000))
    text.lines[text.rtp] = " ".join(words)


@plant
def an_objective_that_is_too_high(text, _):
    words = lines_of_range(text)
    words[2] = str(Fraction(words[2]) + Fraction(1, 1000))
    text.lines[text.rtp] = " ".join(words)


@plant
def no_allotment_where_there_is_one(text, _):
    lines_of_range(text)
    text.lines[text.rtp] = "RTP infeas"


@plant
def an_end_that_is_missing(text, _):
    text.lines[text.der] = f"DER {len(text.lines) - text.der - 2}"
    del text.lines[-1]


def main():
    draw = random.Random(48)
    problems = [random_problem(draw, hard=True) for _ in range(60)]
    planted, accepted = {kind.__name__: 0 for kind in KINDS}, []
    with tempfile.TemporaryDirectory() as folder:
        for problem, answer, text in certificates(sys.argv[1], problems, folder):
            certificate = Certificate(text)
            certificate.check()
            certificate.compare(problem)
            for kind in KINDS:
                bad, other = Text(text), copy.deepcopy(problem)
                bad.capacities = len(problem["capacity"])
                bad.assumed = [row.assumed for row in certificate.rows]
                try:
                    kind(bad, other)
                except (IndexError, StopIteration):
                    continue  # this certificate has no place for the error
                if bad.text() == text and other == problem:
                    continue
                try:
                    check(bad.text(), other)
                    accepted.append(kind.__name__)
                except Refused:
                    planted[kind.__name__] += 1
    for kind, count in planted.items():
        print(f"{count:4} refused: {kind.replace('_', ' ')}")
    for kind in sorted(set(accepted)):
        print(f"ACCEPTED {accepted.count(kind)} times: {kind.replace('_', ' ')}")
    unseen = [kind for kind, count in planted.items() if count == 0]
    sys.exit(f"never planted: {unseen}" if unseen else 1 if accepted else 0)


if __name__ == "__main__":
    main()
