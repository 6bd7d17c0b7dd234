#!/usr/bin/env python3
"""Twenty jobs on a Slurm cluster of five nodes with two GPU types, all on this machine, under the controller of
examples/slurm; and the same jobs at the same times on a second such cluster under Slurm alone, with the GPUs
that their owners would ask for. Meanwhile the controller is killed and started again, and a node of its
cluster crashes and comes back; plain Slurm is spared that, because it lets a job that lost its node wait for two
minutes.

    elastic_cluster.py EXAMPLES_SLURM_FOLDER CONTROLLER TRAINING_STAND_IN [--folder SCRATCH] [--port 17100]
                       [--plugin SCHED_GOODPUT]

With --plugin the first cluster's slurmctld schedules with that plugin, and is itself killed and started again; the second
cluster has the controller beside it, and no faults.

Fails unless every job completes, once; no GPU is ever given twice, by what Slurm says and by locks that the
trainings hold; and what jobs hold is what the controller's plans say. Prints both average completion times.
Needs the Debian packages slurmctld slurmd slurm-client munge.
"""
import argparse
import collections
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

NODES = ["small:3:t4:4", "big:2:a100:8"]
CRASHED_NODE = "small1"
CONTROLLER_KILLED_AT, CONTROLLER_BACK_AT = 22, 29
NODE_CRASHES_AT, NODE_BACK_AT = 34, 49
SLURMCTLD_KILLED_AT, SLURMCTLD_BACK_AT = 44, 47  # nobody can submit meanwhile
SAVED_AFTER = 6  # seconds: a slurmctld that is killed forgets what was submitted in the last five
GIVE_UP_AT = 220
INTERVAL = 5
RESTART = 6  # seconds: Slurm ends the job and starts it again, which loads its checkpoint

# What a submitter would write in the comment; rates as a short run on one GPU of each type would show.
LIMITS = {
    "vision": "batch=128-4096 local=t4:1-256,a100:1-1024 rate=t4:388,a100:2427",
    "speech": "batch=32-512 local=t4:1-64,a100:1-256 rate=t4:79,a100:459",
    "language": "batch=16-1024 local=t4:1-32,a100:1-192 rate=t4:32,a100:215",
}
# Useful examples by size of job, and the GPUs that its owner asks for under Slurm alone.
SIZES = {"small": (1, {"vision": 20000, "speech": 4000, "language": 1800}),
         "medium": (2, {"vision": 80000, "speech": 16000, "language": 7000}),
         "large": (4, {"vision": 180000, "speech": 36000, "language": 16000})}


def workload():
    """Twenty jobs over forty seconds: as many of each application, mostly small ones, as in published traces."""
    jobs = []
    sizes = "small medium small large small small medium small medium large".split() * 2
    for index, size in enumerate(sizes):
        application = ("vision", "speech", "language")[index % 3]
        jobs.append((2.0 * index, application, *[SIZES[size][0], SIZES[size][1][application]]))
    return jobs


class Cluster:
    def __init__(self, script, folder, port, nodes=NODES, **variables):
        self.script, self.folder, self.variables = script, folder, {**os.environ, **variables}
        os.makedirs(folder)
        self.call("start", str(port), *nodes)
        self.environment = dict(os.environ)
        with open(os.path.join(folder, "environment")) as file:
            for line in file:
                name, value = line.removeprefix("export ").strip().split("=", 1)
                self.environment[name] = value
        self.work = os.path.join(folder, "work")
        os.makedirs(self.work)
        self.submitted = {}

    def call(self, action, *arguments):
        subprocess.run([self.script, action, self.folder, *arguments], env=self.variables, check=True)

    def run(self, *command):
        return subprocess.run(command, env=self.environment, cwd=self.work, check=True, stdout=subprocess.PIPE,
                              text=True).stdout

    def submit(self, *arguments):
        job = self.run("sbatch", "--parsable", *arguments).strip()
        self.submitted[job] = time.time()

    def jobs(self):
        """By job, what `squeue --json` says; nothing while Slurm does not answer."""
        try:
            return {str(job["job_id"]): job for job in json.loads(self.run("squeue", "--json"))["jobs"]}
        except (subprocess.CalledProcessError, ValueError):
            return {}

    def completing_nodes(self):
        """Nodes on which Slurm still ends a job; nothing while Slurm does not answer."""
        try:
            return set(self.run("sinfo", "-h", "-N", "-t", "completing", "-o", "%N").split())
        except subprocess.CalledProcessError:
            return set()

    def events(self, name):
        return [event for event in read_lines(os.path.join(self.work, "events")) if event["event"] == name]

    def completed(self):
        """By job, how often Slurm's record says that it completed."""
        completed = collections.Counter()
        with open(os.path.join(self.folder, "log", "completions")) as file:
            for line in file:
                fields = dict(part.split("=", 1) for part in line.split() if "=" in part)
                completed[fields["JobId"]] += fields["JobState"] == "COMPLETED"
        return completed

    def all_finished(self):
        return len({event["job"] for event in self.events("finish")}) == len(self.submitted)

    def all_completed(self):
        completed = self.completed()
        return self.all_finished() and all(completed[job] > 0 for job in self.submitted)


def read_lines(file):
    if not os.path.exists(file):
        return []
    with open(file) as lines:
        return [json.loads(line) for line in lines if line.endswith("\n")]


def held(job):
    """(node, number of GPUs, their indices) of a running job. Slurm knows no indices of what was started before the node
    had registered with a slurmctld that was started again."""
    shares = []
    resources = job.get("job_resources") or {}
    for node, detail in zip(resources.get("allocated_nodes", []), job.get("gres_detail", [])):
        indices = set()
        named = re.search(r"IDX:([\d,-]+)", detail)
        for part in named.group(1).split(",") if named else []:
            first, _, last = part.partition("-")
            indices.update(range(int(first), int(last or first) + 1))
        count = len(indices) if named else int(re.search(r"CNT:(\d+)", detail).group(1))
        shares.append((node["nodename"], count, indices))
    return shares


class Checks:
    def __init__(self):
        self.faults = []
        self.seen = []  # (time, {job: (nodes, GPUs a node)}) of the elastic cluster
        self.completing = []  # (time, nodes on which Slurm still ends a job, so that it starts none there)

    def status(self, folder, keep):
        """The exit status; what was written goes, unless a check has failed or it is to be kept."""
        if self.faults:
            print(f"{len(self.faults)} faults; what was written is in {folder}")
        elif not keep:
            shutil.rmtree(folder)
        return 1 if self.faults else 0

    def require(self, holds, what):
        if not holds:
            self.faults.append(what)
            print("FAULT:", what, flush=True)

    def look(self, cluster, name, remember):
        taken = collections.Counter()
        now = time.time()
        shares = {}
        for number, job in cluster.jobs().items():
            if job["job_state"] != "RUNNING":
                continue
            share = held(job)
            for node, _, indices in share:
                taken.update((node, index) for index in indices)
            sizes = {count for _, count, _ in share}
            if share:
                shares[number] = (tuple(sorted(node for node, _, _ in share)), max(sizes))
        twice = [gpu for gpu, times in taken.items() if times > 1]
        self.require(not twice, f"{name}: Slurm gives {twice} to two jobs")
        if remember:
            self.seen.append((now, shares))
            self.completing.append((now, cluster.completing_nodes()))

    def completions(self, cluster, name, slurmctld_was_killed):
        finished = collections.Counter(event["job"] for event in cluster.events("finish"))
        self.require(set(finished) == set(cluster.submitted), f"{name}: these never finished: "
                     f"{sorted(set(cluster.submitted) - set(finished))}")
        self.require(all(times == 1 for times in finished.values()) and not cluster.events("finish again"),
                     f"{name}: a job finished twice")
        self.require(not cluster.events("gpus taken"), f"{name}: locked GPUs were given: {cluster.events('gpus taken')}")
        completed = cluster.completed()
        # A slurmctld that is killed forgets its last seconds: a job that completed in them is started again, finds that
        # it is done, and completes once more.
        wrong = [job for job in cluster.submitted
                 if completed[job] != 1 and not (slurmctld_was_killed and completed[job] == 2)]
        self.require(not wrong, f"{name}: by Slurm's record not completed exactly once: {wrong}")

    def plan_was_followed(self, log, slurmctld_was_killed):
        """What a job holds is what it was last released for, which is what the round before wanted; and what
        rounds go on wanting, it gets."""
        goals, released, checked = {}, collections.defaultdict(list), 0
        rounds = []
        for entry in log:
            if "goals" in entry:
                goals = entry["goals"]
                rounds.append(entry)
            elif entry.get("action") == "release" and "error" not in entry:
                goal = entry["goal"]
                wanted = goals.get(entry["job"])
                self.require(wanted is not None and wanted["nodes"] == goal["nodes"] and
                             wanted["gpus_per_node"] == goal["gpus_per_node"],
                             f"job {entry['job']} was released for {goal}, but the plan was {wanted}")
                released[entry["job"]].append((entry["time_s"], (tuple(goal["nodes"]), goal["gpus_per_node"])))
        for moment, shares in self.seen:
            for job, share in shares.items():
                before = [goal for when, goal in released[job] if when <= moment]
                self.require(before and before[-1] == share or len(before) > 1 and before[-2] == share,
                             f"job {job} holds {share}, but was released for {before[-1:]}")
                checked += 1
        lasting = 0
        for first, second, third, fourth in zip(rounds, rounds[1:], rounds[2:], rounds[3:]):
            if slurmctld_was_killed and fourth["time_s"] - first["time_s"] > 3.5 * INTERVAL:
                continue  # it was away meanwhile
            at_the_end = [shares for moment, shares in self.seen if moment <= fourth["time_s"]][-1]
            # A job that is ended in the moment in which its node dies stays on that node for Slurm, until Slurm asks
            # the node again, a minute later.
            blocked = set.intersection(*[nodes for moment, nodes in self.completing
                                         if third["time_s"] <= moment <= fourth["time_s"]] or [set()])
            for job, goal in first["goals"].items():
                if blocked.intersection(goal["nodes"]):
                    continue
                if goal["nodes"] and all(job in later["goals"] and later["goals"][job]["nodes"] == goal["nodes"] and
                                         later["goals"][job]["gpus_per_node"] == goal["gpus_per_node"]
                                         for later in (second, third, fourth)):
                    self.require(at_the_end.get(job) == (tuple(goal["nodes"]), goal["gpus_per_node"]),
                                 f"three rounds long the plan wanted {goal['nodes']} for job {job}, "
                                 f"but it holds {at_the_end.get(job)}")
                    lasting += 1
        self.require(checked > 100 and lasting > 10, f"too little to check: {checked} holdings, {lasting} goals")
        return checked, lasting


def describe(name, cluster):
    finish = {event["job"]: event["time_s"] for event in cluster.events("finish")}
    times = [finish[job] - at for job, at in cluster.submitted.items() if job in finish]
    starts = collections.Counter(event["job"] for event in cluster.events("start") if event["rank"] == 0)
    restarts = sum(starts.values()) - len(starts)
    average = sum(times) / max(len(times), 1)
    print(f"{name}: {len(times)} jobs, average completion time {average:.1f} s, longest {max(times, default=0):.1f} s, "
          f"all done after {max(finish.values(), default=0) - min(cluster.submitted.values()):.0f} s, "
          f"{restarts} restarts", flush=True)
    return average


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scripts")
    parser.add_argument("controller")
    parser.add_argument("training")
    parser.add_argument("--folder", help="left in place; by default a temporary one, kept only where a check fails")
    parser.add_argument("--port", type=int, default=17100)
    parser.add_argument("--plugin", help="sched_goodput.so: slurmctld of the first cluster schedules with it")
    options = parser.parse_args()
    options.controller, options.training = os.path.abspath(options.controller), os.path.abspath(options.training)
    folder = options.folder or tempfile.mkdtemp(prefix="goodput-slurm-")
    script, batch = (os.path.join(os.path.abspath(options.scripts), name) for name in ("cluster.sh", "train.sh"))
    checks = Checks()
    clusters = []
    controller = None
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    try:
        log = os.path.join(folder, "plans.log")
        names = ("plugin", "controller beside Slurm") if options.plugin else ("elastic", "plain Slurm")
        parameters = f"goodput_interval={INTERVAL},goodput_poll=1,goodput_restart={RESTART},goodput_settle=20,goodput_log={log}"
        elastic = Cluster(script, os.path.join(folder, "elastic"), options.port,
                          **({"GOODPUT_SLURM_PLUGIN": os.path.abspath(options.plugin),
                              "GOODPUT_SLURM_PARAMETERS": parameters} if options.plugin else {}))
        clusters.append(elastic)
        plain = Cluster(script, os.path.join(folder, "plain"), options.port + 50)
        clusters.append(plain)

        def start_controller():
            nonlocal controller
            cluster, its_log = (plain, os.path.join(folder, "beside.log")) if options.plugin else (elastic, log)
            controller = subprocess.Popen([options.controller, "--interval", str(INTERVAL), "--poll", "1", "--restart",
                                           str(RESTART), "--log", its_log], env=cluster.environment, cwd=folder)

        def kill_controller():
            controller.kill()
            controller.wait()

        start_controller()
        begin = time.time()

        def kill_slurmctld():
            # On a busy machine the last jobs may have been submitted late.
            time.sleep(max(0, max(elastic.submitted.values()) + SAVED_AFTER - time.time()))
            elastic.call("crash", "slurmctld")

        if options.plugin:
            todo = [(SLURMCTLD_KILLED_AT, kill_slurmctld),
                    (SLURMCTLD_BACK_AT, lambda: elastic.call("boot", "slurmctld"))]
        else:
            todo = [(CONTROLLER_KILLED_AT, kill_controller), (CONTROLLER_BACK_AT, start_controller)]
        todo.append((NODE_CRASHES_AT, lambda: elastic.call("crash", CRASHED_NODE)))
        todo.append((NODE_BACK_AT, lambda: elastic.call("boot", CRASHED_NODE)))
        for at, application, gpus, examples in workload():
            command = [batch, options.training, application, str(examples)]
            comment = f"goodput gpus=1-16 {LIMITS[application]}"
            held = ["--hold", "--gres=gpu:1", "--comment", comment, *command]
            todo.append((at, lambda a=held: elastic.submit(*a)))
            usual = held if options.plugin else [f"--gres=gpu:{gpus}", *command]
            todo.append((at, lambda a=usual: plain.submit(*a)))
        todo.sort(key=lambda entry: entry[0])
        while time.time() < begin + GIVE_UP_AT:
            while todo and time.time() >= begin + todo[0][0]:
                todo.pop(0)[1]()
            checks.look(elastic, names[0], True)
            checks.look(plain, names[1], False)
            if not todo and elastic.all_completed() and plain.all_completed():
                break
            time.sleep(0.3)
        controller.terminate()
        checks.require(controller.wait(timeout=10) == 0, "the controller does not end when it is asked to")
        for cluster, name in zip((elastic, plain), names):
            checks.completions(cluster, name, options.plugin and cluster is elastic)
        checked, lasting = checks.plan_was_followed(read_lines(log), bool(options.plugin))
        ours, other = describe(names[0], elastic), describe(names[1], plain)
        sizes = collections.defaultdict(set)
        for _, shares in checks.seen:
            for job, share in shares.items():
                sizes[job].add(share)
        changed = sum(len(each) > 1 for each in sizes.values())
        checks.require(changed > 0, "no job ever changed its GPUs")
        print(f"{checked} holdings and {lasting} lasting goals as planned; {changed} jobs ran on more than one set of "
              f"GPUs; average completion time {other / ours:.2f} times as long under {names[1]}")
    finally:
        if controller and controller.poll() is None:
            controller.kill()
        for cluster in clusters:
            cluster.call("stop")
    return checks.status(folder, bool(options.folder))


if __name__ == "__main__":
    sys.exit(main())
