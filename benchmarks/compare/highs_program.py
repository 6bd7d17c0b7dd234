"""Uses a HiGHS program as judge and rival: writes allotment problems as MPS files, reads its answers and checks them.

HiGHS is any executable `highs` (github.com/ERGO-Code/HiGHS, 1.10 or later). Every point that it returns is checked
here against every row exactly as the problem gives it, in decimal arithmetic: a solver's own tolerances do not count.
"""
import os
import re
import resource
import subprocess
import tempfile


CLOCK = """#define _GNU_SOURCE
#include <dlfcn.h>
#include <time.h>

/* The process's CPU time, asked of the kernel every 20 microseconds and carried on in between. */
int clock_gettime(clockid_t clock, struct timespec* now) {
    static int (*real)(clockid_t, struct timespec*);
    static __thread long long asked, known, last;
    if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
    if (clock != CLOCK_MONOTONIC && clock != CLOCK_REALTIME) return real(clock, now);
    real(CLOCK_MONOTONIC, now);
    long long elapsed = now->tv_sec * 1000000000LL + now->tv_nsec;
    if (asked == 0 || elapsed - asked > 20000) {
        real(CLOCK_PROCESS_CPUTIME_ID, now);
        known = now->tv_sec * 1000000000LL + now->tv_nsec;
        asked = elapsed;
    }
    if (known + elapsed - asked > last) last = known + elapsed - asked;
    now->tv_sec = last / 1000000000LL;
    now->tv_nsec = last % 1000000000LL;
    return 0;
}
"""
environment = dict(os.environ)


def count_cpu_time():
    """Makes CPU time the clock of every program run here from now on, so that a busy machine does not matter.

    Deadlines and limits of both solvers then are CPU seconds, and so is what they print. Needs a C compiler, `cc`.
    """
    folder = tempfile.mkdtemp()
    source, library = os.path.join(folder, "clock.c"), os.path.join(folder, "clock.so")
    with open(source, "w") as file:
        file.write(CLOCK)
    subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl"], check=True)
    environment["LD_PRELOAD"] = library


def run_timed(command, text=None):
    """Returns the output of a command, and the CPU seconds that it took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(command, input=text, capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode < 0:
        raise RuntimeError(f"{command[0]} was ended by signal {-run.returncode}")
    return run.stdout, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def columns_of(problem):
    """Returns (job, option) of each column, in order."""
    return [(job, option) for job, given in enumerate(problem["jobs"]) for option in range(len(given["options"]))]


def uses_of(option):
    """Returns units by resource: a resource named twice counts once, with the sum."""
    units = {}
    for resource_number, amount in option["use"]:
        units[int(resource_number)] = units.get(int(resource_number), 0) + amount
    return {number: amount for number, amount in units.items() if amount != 0}


def write_mps(problem, path, integer=True, least=False):
    """Writes the problem as a free MPS file: rows are the resources, then the jobs; columns are the options.

    `least`: as a problem of least cost, with negated values, for programs that do not know the section OBJSENSE.
    """
    capacity, jobs = problem["capacity"], problem["jobs"]
    with open(path, "w") as file:
        print("NAME allotment", "ROWS" if least else "OBJSENSE\n    MAX\nROWS", " N value", sep="\n", file=file)
        for number in range(len(capacity)):
            print(f" L r{number}", file=file)
        for number, job in enumerate(jobs):
            print(f" {'E' if job.get('must') else 'L'} j{number}", file=file)
        print("COLUMNS", file=file)
        if integer:
            print("    integers 'MARKER' 'INTORG'", file=file)
        for number, job in enumerate(jobs):
            for choice, option in enumerate(job["options"]):
                name = f"x{number}_{choice}"
                value = -option["value"] if least else option["value"]
                print(f"    {name} value {value}\n    {name} j{number} 1", file=file)
                for row, amount in uses_of(option).items():
                    print(f"    {name} r{row} {amount}", file=file)
        if integer:
            print("    integers 'MARKER' 'INTEND'", file=file)
        print("RHS", file=file)
        for number, amount in enumerate(capacity):
            print(f"    right r{number} {amount}", file=file)
        for number in range(len(jobs)):
            print(f"    right j{number} 1", file=file)
        print("BOUNDS", file=file)
        for job, option in columns_of(problem):
            print(f" UP bound x{job}_{option} 1", file=file)
        print("ENDATA", file=file)


def faults_of(problem, choice):
    """Returns sentences about what is wrong with an allotment, and its exact value. `choice`: by job an option or
    None."""
    left, value, faults = list(problem["capacity"]), 0, []
    if len(choice) != len(problem["jobs"]):
        return ["choices for another number of jobs"], None
    for number, (job, chosen) in enumerate(zip(problem["jobs"], choice)):
        if chosen is None:
            if job.get("must"):
                faults.append(f"job {number} has to run and does not")
            continue
        option = job["options"][chosen]
        value += option["value"]
        for row, amount in uses_of(option).items():
            left[row] -= amount
    faults += [f"row {row} is exceeded by {-amount}" for row, amount in enumerate(left) if amount < 0]
    return faults, value


def read_solution(text):
    """Parses a raw solution file: model status, objective, values by column name, duals by row name."""
    lines = text.splitlines()
    status = lines[lines.index("Model status") + 1].strip() if "Model status" in lines else "unknown"
    objective, values, duals, kind, part = None, {}, {}, None, None
    for line in lines:
        if line.startswith("# Primal solution values"):
            kind = "primal"
        elif line.startswith("# Dual solution values"):
            kind = "dual"
        elif line.startswith("# Basis"):
            break
        elif line.startswith("# Columns"):
            part = "columns"
        elif line.startswith("# Rows"):
            part = "rows"
        else:
            cells = line.split()
            if len(cells) == 2 and cells[0] == "Objective" and kind == "primal":
                objective = float(cells[1])
            elif len(cells) == 2 and part == "columns" and kind == "primal":
                values[cells[0]] = float(cells[1])
            elif len(cells) == 2 and part == "rows" and kind == "dual":
                duals[cells[0]] = float(cells[1])
    return status, objective, values, duals


def number_after(label, log):
    found = re.search(rf"^\s*{label}\s+(\S+)", log, re.MULTILINE)
    try:
        return float(found.group(1)) if found else None
    except ValueError:
        return None


class HighsModel:
    """One problem, written once for several runs."""

    def __init__(self, program, problem, integer=True):
        self.program, self.problem, self.integer = program, problem, integer
        self.folder = tempfile.TemporaryDirectory()
        self.path = os.path.join(self.folder.name, "problem.mps")
        write_mps(problem, self.path, integer)
        self.reading = min(self._run(0, ["presolve = off", "time_limit = 0"])[1] for _ in range(2))

    def _run(self, gap, lines):
        options, solution = (os.path.join(self.folder.name, name) for name in ("options", "solution"))
        if os.path.exists(solution):
            os.remove(solution)
        with open(options, "w") as file:
            print("threads = 1", "parallel = off", "random_seed = 0", f"mip_rel_gap = {gap}", "mip_abs_gap = 0",
                  f"log_file = {os.path.join(self.folder.name, 'log')}", f"solution_file = {solution}",
                  "write_solution_to_file = true", "write_solution_style = 0", *lines, sep="\n", file=file)
        log, seconds = run_timed([self.program, "--options_file", options, self.path])
        text = ""
        if os.path.exists(solution):
            with open(solution) as file:
                text = file.read()
        return log, seconds, text

    def solve(self, gap, limit):
        """Solves to the relative gap, in at most `limit` seconds by HiGHS's clock.

        Seconds are CPU seconds of the whole process, without those for starting and reading the file.
        """
        log, seconds, text = self._run(gap, [f"time_limit = {limit}"])
        if not text:
            raise RuntimeError(f"{self.program} wrote no solution: {log[-400:]}")
        status, objective, values, duals = read_solution(text)
        answer = {"seconds": max(seconds - self.reading, 1e-4), "status": status, "log": log,
                  "finished": status in ("Optimal", "Infeasible"), "infeasible": status == "Infeasible",
                  "bound": number_after("Dual bound", log), "objective": None, "choice": None, "faults": []}
        if not self.integer:
            answer["duals"], answer["values"], answer["objective"] = duals, values, objective
        elif values:
            choice = [None] * len(self.problem["jobs"])
            for job, option in columns_of(self.problem):
                value = values.get(f"x{job}_{option}", 0.0)
                if abs(value - round(value)) > 1e-5:
                    answer["faults"].append(f"x{job}_{option} is {value}")
                if value > 0.5:
                    if choice[job] is not None:
                        answer["faults"].append(f"job {job} has two options")
                    choice[job] = option
            faults, value = faults_of(self.problem, choice)
            answer["faults"] += faults
            if not answer["faults"]:
                answer["choice"], answer["objective"] = choice, value
        return answer


def least_of(call, quick=0.05):
    """Returns the answer with the least time of three calls, or of one call if that is not quick."""
    best = None
    for _ in range(3):
        answer = call()
        if best is None or answer["seconds"] < best["seconds"]:
            best = answer
        if answer["seconds"] >= quick:
            break
    return best


def version_of(program):
    log, _ = run_timed([program, "--version"])
    found = re.search(r"\d+\.\d+\.\d+", log)
    return found.group(0) if found else "of an unknown version"
