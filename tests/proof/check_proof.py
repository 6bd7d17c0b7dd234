#!/usr/bin/env python3
"""check_proof.py CERTIFICATE [PROBLEM]: checks a certificate in VIPR 1.1 with exact integers.

PROBLEM is a line of `goodput allot` (JSON); the certificate has to be about exactly this problem. Prints what is
proven and exits with 0, or prints what is wrong and exits with 1. Shares no code with the library.
"""
import json
import math
import re
import sys
from fractions import Fraction

LESS, EQUAL, MORE = -1, 0, 1
SENSES = {"L": LESS, "E": EQUAL, "G": MORE}


class Refused(Exception):
    pass


def require(condition, complaint):
    if not condition:
        raise Refused(complaint)


class Row:
    """The row  sum of coefficient * x  (<=, =, >=)  rhs  and the assumptions it rests on; numbers are times `unit`."""

    def __init__(self, sense, rhs, entries, assumed=frozenset()):
        self.sense, self.rhs, self.entries, self.assumed = sense, rhs, entries, assumed

    def absurd(self):
        return not self.entries and ((self.sense <= 0 and self.rhs < 0) or (self.sense >= 0 and self.rhs > 0))

    def dominates(self, other):
        if self.absurd():
            return True
        if self.entries != other.entries:
            return False
        if other.sense == EQUAL:
            return self.sense == EQUAL and self.rhs == other.rhs
        if other.sense == LESS:
            return self.sense <= 0 and self.rhs <= other.rhs
        return self.sense >= 0 and self.rhs >= other.rhs


class Certificate:
    def __init__(self, text):
        # All numbers of the file are stored as multiples of 1 / unit, so that every stored number is whole.
        self.unit = math.lcm(1, *(int(d) for d in set(re.findall(r"/(\d+)", text)) if int(d) > 0))
        lines = (line for line in text.split("\n") if not line.lstrip().startswith("%"))
        self.tokens = iter([token for line in lines for token in line.split()])
        self.rows = []
        self.proven = None

    def next(self):
        token = next(self.tokens, None)
        require(token is not None, "the file ends early")
        return token

    def keyword(self, word):
        token = self.next()
        require(token == word, f"{word} expected, not {token}")

    def index(self, below, least=0):
        token = self.next()
        require(re.fullmatch(r"-?\d+", token), f"{token} is no index")
        require(least <= int(token) < below, f"index {token} is out of range")
        return int(token)

    def count(self):
        return self.index(1 << 62)

    def number(self, token=None):
        """Returns a number times the unit, which is whole."""
        token = self.next() if token is None else token
        match = re.fullmatch(r"(-?\d+)(?:/(\d+))?", token)
        require(match and match[2] != "0" and (not match[2] or int(match[2]) > 0), f"{token} is no number")
        return int(match[1]) * (self.unit // int(match[2] or 1))

    def entries(self, token=None):
        token = self.next() if token is None else token
        if token == "OBJ":
            return self.objective
        require(re.fullmatch(r"\d+", token), f"{token} is no number of entries")
        entries = {}
        for _ in range(int(token)):
            variable = self.index(self.variables)
            require(variable not in entries, f"variable {variable} is named twice")
            entries[variable] = self.number()
        return {variable: value for variable, value in entries.items() if value}

    def row(self):
        self.next()  # name of the row
        sense = self.next()
        require(sense in SENSES, f"{sense} is no sense")
        rhs = self.number()
        return Row(SENSES[sense], rhs, self.entries())

    def check(self):
        self.keyword("VER")
        require(re.fullmatch(r"1\.[01]", self.next()), "unknown version")
        self.keyword("VAR")
        self.variables = self.count()
        self.names = [self.next() for _ in range(self.variables)]
        self.keyword("INT")
        self.whole = {self.index(self.variables) for _ in range(self.count())}
        self.keyword("OBJ")
        sense = self.next()
        require(sense == "max", "only max is known here")
        self.objective = self.entries()
        self.keyword("CON")
        count, _ = self.count(), self.count()
        for _ in range(count):
            self.rows.append(self.row())
        self.given = list(self.rows)
        self.keyword("RTP")
        kind = self.next()
        require(kind in ("infeas", "range"), f"RTP {kind}")
        lower = upper = None
        if kind == "range":
            token = self.next()
            lower = None if token == "-inf" else self.number(token)
            token = self.next()
            upper = None if token == "inf" else self.number(token)
        best = self.check_solutions()
        if lower is not None:
            require(best is not None and best >= lower * self.unit, "no solution reaches the lower bound")
        require(kind == "range" or best is None, "a solution of what is said to be infeasible")
        self.check_derivations()
        require(next(self.tokens, None) is None, "something follows the derivations")
        if kind == "infeas":
            last = self.rows[-1] if len(self.rows) > len(self.given) else None
            require(last and last.absurd(), "the last derivation is no contradiction")
            require(not last.assumed, "the last derivation rests on assumptions")
        elif upper is not None:
            last = self.rows[-1] if self.rows else None
            require(last and last.dominates(Row(LESS, upper, self.objective)), "the upper bound is not derived")
            require(not last.assumed, "the last derivation rests on assumptions")
        self.proven = (kind, *(None if b is None else Fraction(b, self.unit) for b in (lower, upper)))
        return self.proven

    def check_solutions(self):
        self.keyword("SOL")
        best = None
        for _ in range(self.count()):
            name = self.next()
            values = self.entries()
            for variable, value in values.items():
                require(variable not in self.whole or value % self.unit == 0, f"{name}: a part of an option")
            for number, row in enumerate(self.rows):
                total = sum(c * values.get(variable, 0) for variable, c in row.entries.items())
                rhs = row.rhs * self.unit
                require(total <= rhs if row.sense == LESS else total >= rhs if row.sense == MORE else total == rhs,
                        f"{name} breaks row {number}")
            value = sum(c * values.get(variable, 0) for variable, c in self.objective.items())
            best = value if best is None else max(best, value)
        return best

    def check_derivations(self):
        self.keyword("DER")
        for _ in range(self.count()):
            number = len(self.rows)
            row = self.row()
            self.keyword("{")
            reason = self.next()
            if reason == "asm":
                row.assumed = frozenset([number])
            elif reason in ("lin", "rnd"):
                derived = self.combine(number)
                if reason == "rnd":
                    self.round(derived)
                require(derived.dominates(row), f"row {number}: {reason} derives something else")
                row.assumed = derived.assumed
            elif reason == "uns":
                row.assumed = self.discharge(number, row)
            else:
                raise Refused(f"row {number}: unknown reason {reason}")
            self.keyword("}")
            self.index(1 << 62, -1)
            self.rows.append(row)

    def combine(self, number):
        """Returns the linear combination, which is in units of 1 / unit^2 until it is divided."""
        entries, rhs, sense, assumed, used = {}, 0, EQUAL, frozenset(), set()
        for _ in range(self.count()):
            index = self.index(number)
            require(index not in used, f"row {number}: row {index} is used twice")
            used.add(index)
            multiplier = self.number()
            if multiplier == 0:
                continue
            row = self.rows[index]
            its_sense = row.sense if multiplier > 0 else -row.sense
            if its_sense != EQUAL:
                require(sense in (EQUAL, its_sense), f"row {number}: the multiplier of row {index} has the wrong sign")
                sense = its_sense
            for variable, coefficient in row.entries.items():
                entries[variable] = entries.get(variable, 0) + multiplier * coefficient
            rhs += multiplier * row.rhs
            assumed |= row.assumed
        # A number that does not divide evenly cannot occur in the derived row; fractions keep it exact.
        unit = self.unit
        divide = lambda value: value // unit if value % unit == 0 else Fraction(value, unit)
        return Row(sense, divide(rhs), {v: divide(c) for v, c in entries.items() if c}, assumed)

    def round(self, row):
        for variable, coefficient in row.entries.items():
            require(variable in self.whole and coefficient % self.unit == 0, "rnd of what is not whole")
        if row.sense == LESS:
            row.rhs = row.rhs // self.unit * self.unit
        elif row.sense == MORE:
            row.rhs = -(-row.rhs // self.unit) * self.unit

    def discharge(self, number, row):
        first, one, second, other = (self.index(number) for _ in range(4))
        less, more = self.rows[one], self.rows[other]
        if less.sense == MORE:
            less, more = more, less
        require(less.sense == LESS and more.sense == MORE and less.entries == more.entries,
                f"row {number}: no two sides of one sum")
        require(less.rhs % self.unit == 0 and more.rhs == less.rhs + self.unit,
                f"row {number}: the two sides leave something out")
        for variable, coefficient in less.entries.items():
            require(variable in self.whole and coefficient % self.unit == 0, f"row {number}: a side is not whole")
        for index in (first, second):
            require(self.rows[index].dominates(row), f"row {number}: row {index} does not imply it")
        return (self.rows[first].assumed - {one}) | (self.rows[second].assumed - {other})

    def compare(self, problem):
        """Requires that the certificate's problem is the given one, to the last bit. Returns the capacities that
        include the solver's tolerance."""
        exact = lambda value: Fraction(value) * self.unit
        options = [option for job in problem["jobs"] for option in job["options"]]
        require(self.variables == len(options) and self.whole == set(range(len(options))), "other variables")
        values = {v: exact(option["value"]) for v, option in enumerate(options) if option["value"]}
        require(self.objective == values, "another objective")
        capacities, jobs, resources = len(problem["capacity"]), len(problem["jobs"]), problem["capacity"]
        require(len(self.given) == len(options) + capacities + jobs, "another number of rows")
        rows = iter(self.given)
        for v in range(len(options)):
            row = next(rows)
            require((row.sense, row.rhs, row.entries) == (MORE, 0, {v: self.unit}), f"another bound of variable {v}")
        uses = [{} for _ in range(capacities)]
        for v, option in enumerate(options):
            for resource, units in option["use"]:
                if units:
                    uses[resource][v] = uses[resource].get(v, 0) + exact(units)
        tolerant = []
        for r, capacity in enumerate(resources):
            row = next(rows)
            require(row.sense == LESS and row.entries == uses[r], f"another capacity {r}")
            if row.rhs != exact(capacity):
                require(row.rhs == exact(capacity + 1e-12 * capacity), f"another capacity {r}")
                tolerant.append(r)
        first = 0
        for job, its in enumerate(problem["jobs"]):
            row = next(rows)
            last = first + len(its["options"])
            sense, first, mine = EQUAL if its.get("must") else LESS, last, dict.fromkeys(range(first, last), self.unit)
            require((row.sense, row.rhs, row.entries) == (sense, self.unit, mine), f"another job {job}")
        return tolerant


def check(text, problem=None):
    """Returns what the certificate proves, ("range", lower, upper) or ("infeas", None, None), and the capacities that
    include a tolerance. Raises Refused if it proves nothing."""
    certificate = Certificate(text)
    proven = certificate.check()
    return proven, certificate.compare(problem) if problem is not None else []


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="ascii") as file:
        text = file.read()
    problem = None
    if len(sys.argv) == 3:
        with open(sys.argv[2], encoding="utf-8") as file:
            problem = json.loads(file.readline())
    try:
        (kind, lower, upper), tolerant = check(text, problem)
    except Refused as refused:
        print(f"refused: {refused}")
        sys.exit(1)
    if kind == "infeas":
        print("proven: no allotment keeps all constraints")
    else:
        name = lambda bound: "unknown" if bound is None else repr(float(bound))
        print(f"proven: the answer is worth at least {name(lower)}, and no allotment more than {name(upper)}")
    if tolerant:
        print(f"capacities with the solver's tolerance: {tolerant}")


if __name__ == "__main__":
    main()
