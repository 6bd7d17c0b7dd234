#!/usr/bin/env python3
"""Runs twenty jobs on a Slurm cluster of five nodes with two GPU types, all on this machine, under the
controller of examples/slurm. Runs the same jobs at the same times on a second such cluster under Slurm alone,
with the GPUs that their owners would request. Meanwhile the controller is killed and restarted, and a node of
its cluster crashes and returns. Plain Slurm is spared that, because it makes a job that lost its node wait for
two minutes.

    elastic_cluster.py EXAMPLES_SLURM_FOLDER CONTROLLER TRAINING_STAND_IN [--folder SCRATCH] [--port 17100]
                       [--plugin SCHED_GOODPUT]

With --plugin, the first cluster's slurmctld schedules with that plugin, and is itself killed and restarted. The
second cluster then has the controller, and no faults.

Fails unless every job completes, once; no GPU is ever given twice, according to Slurm and to locks that the trainings
hold; and jobs hold what the controller's plans say. Prints both average completion times.
Needs the Debian packages slurmctld slurmd slurm-client munge.
"""
import argparse
import collections
import dataclasses
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
SLURMCTLD_KILLED_AT, SLURMCTLD_BACK_AT = 44, 47  # no job can be submitted meanwhile
SAVED_AFTER = 6  # seconds: a slurmctld that is killed forgets the submissions of the last five
GIVE_UP_AT = 220
INTERVAL = 5
RESTART = 6  # seconds: Slurm ends the job and starts it again, and it loads its checkpoint

# What a submitter would write in the comment, with rates that a short run on one GPU of each type shows.
LIMITS = {
    "vision": "batch=128-4096 local=t4:1-256,a100:1-1024 rate=t4:388,a100:2427",
    "speech": "batch=32-512 local=t4:1-64,a100:1-256 rate=t4:79,a100:459",
    "language": "batch=16-1024 local=t4:1-32,a100:1-192 rate=t4:32,a100:215",
}
# Useful examples by size of job, and the GPUs that its owner requests under Slurm alone.
SIZES = {"small": (1, {"vision": 20000, "speech": 4000, "language": 1800}),
         "medium": (2, {"vision": 80000, "speech": 16000, "language": 7000}),
         "large": (4, {"vision": 180000, "speech": 36000, "language": 16000})}


def workload():
    """Twenty jobs over forty seconds, equally many per application; most are small, as in published traces."""
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
        """Returns what `squeue --json` says by job, or None if Slurm does not answer."""
        try:
            return {str(job["job_id"]): job for job in json.loads(self.run("squeue", "--json"))["jobs"]}
        except (subprocess.CalledProcessError, ValueError):
            return None

    def node_states(self):
        """Returns Slurm's word for each node's state ("idle", "completing*", ...), or None if Slurm does not answer."""
        try:
            return dict(line.split() for line in self.run("sinfo", "-h", "-N", "-o", "%N %T").splitlines()) or None
        except (subprocess.CalledProcessError, ValueError):
            return None

    def events(self, name):
        return [event for event in read_lines(os.path.join(self.work, "events")) if event["event"] == name]

    def completed(self):
        """Returns how often Slurm's record says that each job completed."""
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
    """Returns (node, number of GPUs, their indices) of a running job. Slurm does not know the indices if the job
    started before its node had registered with a restarted slurmctld."""
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


def starts_jobs(state):
    """Whether Slurm starts jobs on a node in this state: not while it ends one there, nor if the node is silent (*)."""
    return state.rstrip("-") in ("idle", "planned", "mixed", "allocated")


@dataclasses.dataclass
class Look:
    """What Slurm said between two moments. None stands for an unanswered request."""
    asked: float
    answered: float
    jobs: dict | None  # by job: (state, reason)
    shares: dict | None  # by running job: (nodes, GPUs per node)
    nodes: dict | None  # by node: its state


def share_of(goal):
    return tuple(goal["nodes"]), goal["gpus_per_node"]


class Checks:
    def __init__(self):
        self.faults = []
        self.seen = []  # answers about the elastic cluster, in order of time

    def status(self, folder, keep):
        """Returns the exit status. Removes what was written unless a check has failed or the caller wants to keep
        it."""
        if self.faults:
            print(f"{len(self.faults)} faults; what was written is in {folder}")
        elif not keep:
            shutil.rmtree(folder)
        return 1 if self.faults else 0

    def require(self, holds, what, story=None):
        """Records a fault unless `holds`. `story` then returns lines of what was logged about it."""
        if holds:
            return
        self.faults.append(what)
        print("FAULT:", what, *(story() if story else []), sep="\n    ", flush=True)

    def look(self, cluster, name, remember):
        taken = collections.Counter()
        asked = time.time()
        jobs = cluster.jobs()
        answered = time.time()
        shares = {}
        for number, job in (jobs or {}).items():
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
        if not remember:
            return
        nodes = cluster.node_states()
        states = {number: (job["job_state"], job["state_reason"]) for number, job in (jobs or {}).items()}
        self.seen.append(Look(asked, answered, jobs and states, None if jobs is None else shares, nodes))

    def completions(self, cluster, name, slurmctld_was_killed):
        finished = collections.Counter(event["job"] for event in cluster.events("finish"))
        self.require(set(finished) == set(cluster.submitted), f"{name}: these never finished: "
                     f"{sorted(set(cluster.submitted) - set(finished))}")
        self.require(all(times == 1 for times in finished.values()) and not cluster.events("finish again"),
                     f"{name}: a job finished twice")
        self.require(not cluster.events("gpus taken"), f"{name}: locked GPUs were given: {cluster.events('gpus taken')}")
        completed = cluster.completed()
        # A slurmctld that is killed forgets its last seconds: a job that completed in them is started again, finds
        # that it is done, and completes once more.
        wrong = [job for job in cluster.submitted
                 if completed[job] != 1 and not (slurmctld_was_killed and completed[job] == 2)]
        self.require(not wrong, f"{name}: by Slurm's record not completed exactly once: {wrong}")

    def story(self, cluster, log, job, begin, end):
        """Returns what is known about a job and the nodes that it has or should have, from some seconds before to
        some after: CI's machine is gone by the time a person looks."""
        lines, told, standing, names = [], {}, {}, set()

        def tell(moment, subject, what):
            if told.get(subject) != what and moment < begin - 2 * INTERVAL:
                standing[subject] = (moment, f"{subject}: {what}")
            elif told.get(subject) != what:
                lines.append((moment, f"{subject}: {what}"))
            told[subject] = what

        for entry in log:
            if "goals" in entry:
                goal = entry["goals"].get(job)
                names.update(goal["nodes"] if goal else [])
                refused = entry.get("refused", {}).get(job)
                lines.append((entry["time_s"], f"round: {share_of(goal) if goal else 'no goal'}" +
                              (f", refused: {refused}" if refused else "")))
            elif entry.get("job") == job:
                lines.append((entry["time_s"], f"{entry.get('action', 'controller')}: "
                              f"{share_of(entry['goal']) if 'goal' in entry else ''} {entry.get('error', '')}"))
            elif "job" not in entry:
                lines.append((entry["time_s"], f"controller: {entry}"))
        for look in self.seen:
            names.update((look.shares or {}).get(job, ((), 0))[0])
        for look in self.seen:
            if look.jobs is None:
                tell(look.answered, f"job {job}", "squeue did not answer")
            else:
                tell(look.answered, f"job {job}", f"{look.jobs.get(job, 'unknown to Slurm')}, "
                     f"holds {look.shares.get(job)}")
            for node in sorted(names):
                tell(look.answered, f"node {node}", look.nodes.get(node) if look.nodes else "sinfo did not answer")
        for event in read_lines(os.path.join(cluster.work, "events")):
            if event["job"] == job:
                lines.append((event["time_s"], f"training on {event['node']}: {event['event']}"))
        looks = [look.answered for look in self.seen if begin <= look.answered <= end]
        longest = max((b - a for a, b in zip(looks, looks[1:])), default=0)
        zero = self.seen[0].asked if self.seen else begin
        around = [line for line in lines if begin - 2 * INTERVAL <= line[0] <= end + INTERVAL]
        return [f"{moment - zero:6.1f} s  {what}" for moment, what in sorted([*standing.values(), *around])] + [
                    f"{len(looks)} looks from {begin - zero:.1f} to {end - zero:.1f} s, at most {longest:.1f} s apart"]

    def plan_was_followed(self, cluster, log, slurmctld_was_killed):
        """Checks that a job holds what it was last released for, which the round before wanted; that it is not
        stopped to get what it holds; and that it gets what rounds keep wanting."""
        goals, checked = {}, 0
        released = collections.defaultdict(list)  # by job: (since when, (nodes, GPUs per node), whether known)
        acted = {}  # by job: when it was last changed
        rounds = []

        def story_of(job, begin, end):
            return lambda: self.story(cluster, log, job, begin, end)

        for entry in log:
            now, job = entry["time_s"], entry.get("job")
            if "goals" in entry:
                goals = entry["goals"]
                rounds.append(entry)
            if "action" not in entry or "error" in entry:
                continue
            share, action = share_of(entry["goal"]), entry["action"]
            if action == "ask":
                # The release follows. A controller that is killed, or gets no answer from Slurm, does not log it.
                released[job].append((now, share, False))
            elif action == "release":
                wanted = goals.get(job)
                self.require(wanted is not None and share_of(wanted) == share,
                             f"job {job} was released for {share}, but the plan was {wanted}", story_of(job, now, now))
                asked, _, _ = released[job].pop()
                released[job].append((asked, share, True))
            elif action == "requeue held":
                last = next((look for look in reversed(self.seen) if look.answered <= now), None)
                known = last and last.shares is not None and last.asked > acted.get(job, 0)
                self.require(not known or last.shares.get(job) != share,
                             f"job {job} was stopped to get {share}, which it held", story_of(job, now, now))
            if action != "note":
                acted[job] = now
        for look in self.seen:
            for job, share in (look.shares or {}).items():
                allowed, last = [], 0
                for begun, goal, known in reversed(released[job]):
                    if begun <= look.answered and last < 2:
                        allowed.append(goal)
                        last += known
                self.require(share in allowed, f"job {job} holds {share}, but was released for {allowed[:1]}",
                             story_of(job, look.asked, look.answered))
                checked += 1
        lasting, missed = 0, set()
        for first, second, third, fourth in zip(rounds, rounds[1:], rounds[2:], rounds[3:]):
            if slurmctld_was_killed and fourth["time_s"] - first["time_s"] > 3.5 * INTERVAL:
                continue  # the controller was away meanwhile
            for job, goal in first["goals"].items():
                share = share_of(goal)
                if not share[0] or not all(job in later["goals"] and share_of(later["goals"][job]) == share
                                           for later in (second, third, fourth)):
                    continue
                got = self.got_it(job, share, second["time_s"], fourth["time_s"])
                lasting += got is True
                if (job, share) in missed:
                    continue  # already reported
                if got is False:
                    missed.add((job, share))
                self.require(got is not False, f"three rounds long the plan wanted {share} for job {job}, and nothing was "
                             "in its way for the last two, but it did not get that",
                             story_of(job, first["time_s"], fourth["time_s"]))
        for window in zip(*(rounds[k:] for k in range(6))):
            for job, goal in window[0]["goals"].items():
                share = share_of(goal)
                begin, end = window[0]["time_s"], window[-1]["time_s"]
                if share[0] and all(job in later["goals"] and share_of(later["goals"][job]) == share for later in window) \
                        and (job, share) not in missed and self.waited_in_vain(job, share, begin, end):
                    missed.add((job, share))
                    self.require(False, f"five rounds long the plan wanted {share} for job {job}, where Slurm started "
                                 "nobody", story_of(job, begin, end))
        self.require(checked > 100 and lasting > 10, f"too little to check: {checked} holdings, {lasting} goals")
        return checked, lasting

    def got_it(self, job, share, begin, end):
        """Whether a job that should have a share all the time from `begin` to `end` held it at some moment. None if
        that is unknown, or Slurm could not start the job. The job need not hold the share at the end: it may have
        just completed, or Slurm has ended it because it started it on a node that was dead without Slurm knowing.
        Another check shows that the controller does not end it."""
        looks = [look for look in self.seen if begin <= look.asked and look.answered <= end]
        if any(look.shares and look.shares.get(job) == share for look in looks):
            return True
        moments = [begin, *(look.answered for look in looks), end]
        if any(look.shares is None or look.nodes is None for look in looks) or \
                max(b - a for a, b in zip(moments, moments[1:])) > INTERVAL:
            return None
        if not all(node in look.nodes and starts_jobs(look.nodes[node]) for look in looks for node in share[0]):
            return None
        return False

    def waited_in_vain(self, job, share, begin, end):
        """Whether a job that should have a share all the time from `begin` to `end` lacked it because Slurm never
        started jobs on one of its nodes. False if that is unknown."""
        looks = [look for look in self.seen if begin <= look.asked and look.answered <= end]
        if not looks or any(look.shares is None or look.nodes is None or look.shares.get(job) == share for look in looks):
            return False
        return any(not any(starts_jobs(look.nodes.get(node, "unknown")) for look in looks) for node in share[0])


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
    parser.add_argument("--folder", help="scratch folder to keep; default: a temporary one, kept if a check fails")
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
        logs = [os.path.join(folder, "plans.log")]
        names = ("plugin", "controller beside Slurm") if options.plugin else ("elastic", "plain Slurm")
        parameters = (f"goodput_interval={INTERVAL},goodput_poll=1,goodput_restart={RESTART},goodput_settle=20,"
                      f"goodput_log={logs[0]}")
        elastic = Cluster(script, os.path.join(folder, "elastic"), options.port,
                          **({"GOODPUT_SLURM_PLUGIN": os.path.abspath(options.plugin),
                              "GOODPUT_SLURM_PARAMETERS": parameters} if options.plugin else {}))
        clusters.append(elastic)
        plain = Cluster(script, os.path.join(folder, "plain"), options.port + 50)
        clusters.append(plain)

        def start_controller():
            nonlocal controller
            cluster, its_log = (plain, os.path.join(folder, "beside.log")) if options.plugin else (elastic, logs[-1])
            controller = subprocess.Popen([options.controller, "--interval", str(INTERVAL), "--poll", "1", "--restart",
                                           str(RESTART), "--log", its_log], env=cluster.environment, cwd=folder)

        def kill_controller():
            controller.kill()
            controller.wait()
            logs.append(os.path.join(folder, "plans-afterwards.log"))  # its last line may be incomplete

        start_controller()
        begin = time.time()

        def kill_slurmctld():
            # On a busy machine, the last jobs may have been submitted late.
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
        checked, lasting = checks.plan_was_followed(elastic, [entry for log in logs for entry in read_lines(log)],
                                                   bool(options.plugin))
        ours, other = describe(names[0], elastic), describe(names[1], plain)
        sizes = collections.defaultdict(set)
        for look in checks.seen:
            for job, share in (look.shares or {}).items():
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
