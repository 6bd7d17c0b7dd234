#!/usr/bin/env python3
"""Tests what goodput.kubernetes makes of objects of the API, usual and odd ones: the program accepts every snapshot,
its plan fits the cluster, and no input ends in a traceback.

    PYTHONPATH=python kubernetes_test.py PROGRAM DOCS
"""

import contextlib
import copy
import io
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

from goodput.kubernetes.__main__ import main
from goodput.kubernetes.objects import parsed_time
from goodput.kubernetes.quantity import amount, count
from kubernetes_objects import A100, GPU, T4, container, job, listed, node, owner, pod

PROGRAM, DOCS = sys.argv.pop(1), sys.argv.pop(1)
TRIALS = 1500 if os.environ.get("GOODPUT_TEST_TRIALS") == "1" else 300
NOW = "2026-11-28T13:30:00Z"
GATE = {"key": "dedicated", "value": "research", "effect": "NoSchedule"}


def run(written, *options):
    """Runs goodput.kubernetes. Returns its status, standard output and standard error."""
    text = written if isinstance(written, (str, bytes)) else json.dumps(written)
    out, err = io.StringIO(), io.StringIO()
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        file.write(text if isinstance(text, bytes) else text.encode(errors="replace"))
        file.flush()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([file.name, "--now", NOW, "--program", PROGRAM, *options])
    return status, out.getvalue(), err.getvalue()


def plan(snapshot, *options):
    """Runs the program. Returns its status, answer and standard error."""
    done = subprocess.run([PROGRAM, "plan", "--policy", "goodput", *options], input=json.dumps(snapshot) + "\n",
                          capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout), done.stderr


class Case(unittest.TestCase):
    def snapshot(self, *objects, options=(), says=()):
        """Returns the snapshot of a list. Reading it must give only notes with these words, and the program must
        accept it without a warning."""
        status, out, err = run(listed(*objects), *options)
        self.assertEqual(status, 0, err)
        self.assertEqual(out.count("\n"), 1)
        notes = [line for line in err.splitlines() if "all pods are of namespace" not in line]
        for words in says:
            self.assertTrue(any(words in line for line in notes), f"'{words}' is not in {notes}")
        self.assertEqual([line for line in notes if not any(words in line for words in says)], [])
        made = json.loads(out)
        code, answer, warned = plan(made, "--strict")
        self.assertEqual((code, warned), (0, ""), answer)
        self.assertNotIn("warnings", answer)
        return made

    def nodes(self, *objects, **more):
        return {each["name"]: each for each in self.snapshot(*objects, **more)["nodes"]}

    def jobs(self, *objects, **more):
        return {each["name"]: each for each in self.snapshot(*objects, **more)["jobs"]}

    def advice(self, *objects, options=()):
        status, out, err = run(listed(*objects), "--advise", *options)
        self.assertEqual(status, 0, err)
        return out


class Quantities(unittest.TestCase):
    def test_all_forms(self):
        for written, number in (("2", 2), ("1500m", 1.5), ("2Gi", 2**31), ("1e3", 1000), ("1E3", 1000), ("1E", 1e18),
                                ("5E-1", 0.5),
                                ("0.5", .5), (".5", .5), ("5.", 5), ("+1", 1), ("1Ki", 1024), ("3k", 3000), ("7M", 7e6),
                                ("2Ti", 2**41),
                                ("100n", 1e-7), ("4u", 4e-6), (3, 3), (2.5, 2.5), ("0", 0), (" 8 ", 8)):
            self.assertAlmostEqual(amount(written), number, msg=written, delta=1e-9 * number)

    def test_what_is_none(self):
        for written in ("", "x", "1x", "1 Gi", "Gi", "--1", "1e", "1e3Gi", "-1", "-500m", "1e999", None, True, [], {},
                        "1,5", "NaN", "inf",
                        "٣", "9" * 400):
            with self.assertRaises(ValueError, msg=repr(written)) as caught:
                amount(written)
            self.assertLess(len(str(caught.exception)), 120)
        for written in ("1500m", "1e9", "0.5"):
            with self.assertRaises(ValueError, msg=written):
                count(written)
        self.assertEqual(count("8000m"), 8)


class Documents(Case):
    def test_a_list_several_documents_and_lists_by_kind_are_the_same(self):
        objects = [node("a"), pod("p", 2)]
        first = run(listed(*objects))[1]
        self.assertEqual(len(json.loads(first)["jobs"]), 1)
        several = "\n".join(json.dumps(each, indent=4) for each in objects)
        self.assertEqual(run(several)[1], first)
        bare = copy.deepcopy(objects)
        for each in bare:
            del each["kind"]  # as the API itself lists them
        by_kind = json.dumps({"kind": "NodeList", "items": bare[:1]})
        by_kind += json.dumps({"kind": "PodList", "items": bare[1:]})
        self.assertEqual(run(by_kind)[1], first)
        self.assertEqual(run({"items": objects})[1], first)
        self.assertEqual(run("\ufeff" + json.dumps(listed(*objects)))[1], first)

    def test_what_is_no_json_is_told_with_its_place(self):
        whole = json.dumps(listed(node("a")), indent=1)
        for written, words in ((whole[:200], "line"), ("{", "line 1, column 2"), (whole + "\n]", "column"),
                               ("[]", "document 1 is a list"),
                               ("3", "document 1 is a number"), ("null", "document 1 is null"),
                               ('"Node"', "document 1 is a text"),
                               ('{"kind": "List", "items": {}}', "document 1: 'items' is an object"),
                               ('{"kind": "List"}', "document 1: 'items' is null"), ("[" * 100000, "nested too deeply"),
                               ('{"kind": "Node", "x": NaN}', "NaN is no JSON"),
                               (b"\xff\xfe", "byte 1 of the input is no UTF-8"),
                               ("error: the server has asked for credentials", "line 1, column 1"),
                               ("1" * 5000, "document"), ("", "the input is empty"), ("\n", "the input is empty")):
            status, out, err = run(written)
            self.assertEqual((status, out), (1, ""), written[:60])
            self.assertIn(words, err)
            self.assertEqual(err.count("\n"), 1, err)

    def test_nothing_is_an_empty_snapshot(self):
        for written in (listed(), listed(pod("p", 0)), listed(node("cpu-only", None))):
            status, out, err = run(written)
            self.assertEqual(status, 0)
            self.assertEqual((json.loads(out)["nodes"], json.loads(out)["jobs"]), ([], []))
            self.assertIn("no node with GPUs is listed", err)
            self.assertEqual(plan(json.loads(out))[0], 0)
            self.assertEqual(run(written, "--advise")[0], 0)

    def test_unknown_kinds_are_counted_and_objects_without_a_name_told(self):
        crd = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}, "spec": {"items": 3}}
        nameless = node("x")
        del nameless["metadata"]["name"]
        made = self.snapshot(node("a"), crd, crd, {"kind": "Secret"}, nameless, node("a"), says=(
            "input: 2 objects of Widget: not read", "1 object of Secret",
            "object 5 (node without a name): metadata.name is missing",
            "node 'a': it is listed twice"))
        self.assertEqual(len(made["nodes"]), 1)
        for odd in (None, 3, "x", []):
            status, _, err = run({"kind": "List", "items": [node("a"), odd]})
            self.assertEqual(status, 0)
            self.assertIn("object 2: it is no object", err)

    def test_names_cannot_break_messages(self):
        evil = pod("x", "-1")
        evil["metadata"]["name"] = "x\n\x1b[31m\u00e4"
        self.snapshot(node("a"), evil, says=(r"pod 'team/x\n\x1b[31m\xe4': container 'main' asks for", ))

        evil["metadata"]["name"] = "x\ty"
        self.snapshot(node("a"), evil, says=(r"pod 'team/x\ty': container 'main' asks for", ))

    def test_a_sentence_names_the_first_object_and_counts_the_others(self):
        twice = [container("-1"), container("-1")]
        for others, words in ((0, "pod 'team/p0': "), (1, "pod 'team/p0' and 1 other: "),
                              (2, "pod 'team/p0' and 2 others: ")):
            self.snapshot(node("a"), *[pod(f"p{i}", containers=twice) for i in range(others + 1)],
                          says=(f"{words}container 'main' asks for nvidia.com/gpu: '-1' is negative",))

    def test_times(self):
        for written, there in (("2026-11-28T12:00:00Z", 0), ("2026-11-28T12:00:00.5Z", .5),
                               ("2026-11-28T12:00:00.123456789Z", .123456),
                               ("2026-11-28T14:00:00+02:00", 0)):
            self.assertAlmostEqual(parsed_time(written), 1795867200 + there, places=5)
        for written in ("", "yesterday", "2026-11-28", "2026-13-28T12:00:00Z", "2026-11-28T12:00:00"):
            self.assertIsNone(parsed_time(written))
        made = self.snapshot(node("a"), pod("p", created="2026-11-28T13:40:00Z"), pod("q", created="soon"))
        self.assertEqual(made["time_s"], parsed_time("2026-11-28T13:40:00Z"))  # a clock that is behind the API server's
        made = self.snapshot(node("a"), pod("p", created="2036-11-28T13:40:00Z"))
        self.assertEqual((made["time_s"], made["jobs"][0]["submitted_s"]), (parsed_time(NOW),) * 2)

    def test_wrong_options_end_with_status_2(self):
        for options in (["--now", "yesterday"], ["--restart-seconds", "-1"], ["--restart-seconds", "x"],
                        ["--nonsense"]):
            with self.assertRaises(SystemExit) as caught, contextlib.redirect_stderr(io.StringIO()):
                main(options)
            self.assertEqual(caught.exception.code, 2)
        status, _, err = run(listed(node("a")), "--advise", "--program", "./no-such-program")
        self.assertEqual(status, 1)
        self.assertIn("./no-such-program cannot be run: No such file", err)
        status, _, err = run(listed(node("a")), "--advise", "--program", "/bin/false")
        self.assertEqual(status, 1)
        self.assertIn("/bin/false gave no plan", err)
        with contextlib.redirect_stderr(io.StringIO()) as err:
            self.assertEqual(main(["no-such-file.json"]), 1)
        self.assertIn("no-such-file.json: No such file", err.getvalue())

    def test_it_is_a_module_that_reads_standard_input(self):
        done = subprocess.run([sys.executable, "-m", "goodput.kubernetes", "--now", NOW],
                              input=json.dumps(listed(node("a"), pod("p"))),
                              capture_output=True, text=True, check=True)
        self.assertEqual(len(json.loads(done.stdout)["jobs"]), 1)
        self.assertIn("all pods are of namespace 'team'", done.stderr)


class Nodes(Case):
    def test_a_node_with_everything(self):
        made = self.nodes(node("a", labels={"topology.kubernetes.io/zone": "z1", "topology.kubernetes.io/rack": "r1"},
                               cpu="95500m", memory="1048576Mi"), pod("p", 0, on="a", cpu="1500m", memory="24Gi"))
        self.assertEqual(made["a"],
                         {"name": "a", "gpu_type": A100, "gpus": 8, "zone": "z1", "rack": "r1", "cores": 94.0,
                                     "memory_gib": 1000.0})

    def test_vendors_and_products(self):
        for resource, labels, gpu_type in (
                (GPU, {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "node.kubernetes.io/instance-type": "p5"},
                 "NVIDIA-H100-80GB-HBM3"),
                (GPU, {"cloud.google.com/gke-accelerator": "nvidia-l4"}, "nvidia-l4"),
                (GPU, {"karpenter.k8s.aws/instance-gpu-name": "t4"}, "t4"),
                (GPU, {"node.kubernetes.io/instance-type": "p4d.24xlarge"}, "p4d.24xlarge"), (GPU, {}, GPU),
                (GPU, {"amd.com/gpu.product-name": "MI300X"}, GPU),
                ("amd.com/gpu", {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}, "AMD_Instinct_MI300X_OAM"),
                ("gpu.intel.com/i915", {"gpu.intel.com/product": "Max_1550"}, "Max_1550"),
                ("gpu.intel.com/xe", {}, "gpu.intel.com/xe"),
                ("habana.ai/gaudi", {"node.kubernetes.io/instance-type": "dl1.24xlarge"}, "dl1.24xlarge"),
                ("nvidia.com/mig-1g.10gb", {"nvidia.com/gpu.product": A100}, A100 + "-MIG-1g.10gb"),
                (GPU, {"nvidia.com/gpu.product": A100 + "-MIG-1g.10gb"}, A100 + "-MIG-1g.10gb"),
                ("nvidia.com/gpu.shared", {"nvidia.com/gpu.product": "Tesla-T4-SHARED"}, "Tesla-T4-SHARED-gpu.shared"),
                ("metax-tech.com/gpu", {}, "metax-tech.com/gpu")):
            made = self.nodes(node("a", 4, None, labels=labels, resource=resource))
            self.assertEqual(made["a"]["gpu_type"], gpu_type, (resource, labels))

    def test_resources_that_are_no_gpus(self):
        for resource in ("nvidia.com/gpu-memory", "gpu.intel.com/i915_monitoring", "example.com/widget",
                         "hugepages-2Mi", "amd.com/dri"):
            self.assertEqual(run(listed(node("a", 4, None, resource=resource)))[1].count('"gpu_type"'), 0, resource)
        self.assertEqual(self.nodes(node("a", 4, None, resource="example.com/widget"),
                                    options=("--resource", "example.com/widget"))["a"]["gpus"], 4)

    def test_parts_of_amd_gpus(self):
        made = self.nodes(node("a", 64, None, labels={"amd.com/gpu.product-name": "MI300X"},
                               resource="amd.com/cpx_nps4"))
        self.assertEqual(made["a"]["gpu_type"], "MI300X-cpx_nps4")

    def test_a_node_on_which_no_cores_are_left_says_so(self):
        objects = [node("a"), pod("all", 0, on="a", cpu="96"), pod("w", cpu="100m")]
        made = self.snapshot(*objects)
        self.assertEqual(made["nodes"][0]["cores"], 0.001)
        self.assertEqual(plan(made)[1]["plan"][0]["nodes"], [])

    def test_spot_by_cloud(self):
        for label, value in (("karpenter.sh/capacity-type", "spot"), ("eks.amazonaws.com/capacityType", "SPOT"),
                             ("cloud.google.com/gke-spot", "true"), ("cloud.google.com/gke-preemptible", "true"),
                             ("kubernetes.azure.com/scalesetpriority", "spot")):
            self.assertIs(self.nodes(node("a", labels={label: value}))["a"].get("spot"), True, label)
            self.assertNotIn("spot", self.nodes(node("a", labels={label: "on-demand"}))["a"])

    def test_nodes_as_clouds_label_them(self):
        google = node("gke-a3", 8, None, labels={
            "cloud.google.com/gke-accelerator": "nvidia-h100-80gb", "cloud.google.com/gke-accelerator-count": "8",
            "cloud.google.com/gke-nodepool": "a3", "cloud.google.com/gke-spot": "true",
            "cloud.google.com/gce-topology-block": "b1",
            "cloud.google.com/gce-topology-subblock": "s7", "node.kubernetes.io/instance-type": "a3-highgpu-8g",
            "topology.kubernetes.io/region": "us-east4", "topology.kubernetes.io/zone": "us-east4-a"},
            taints=[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}])
        amazon = node("ip-10-0-1-7.ec2.internal", 8, "NVIDIA-H100-80GB-HBM3", labels={
            "eks.amazonaws.com/capacityType": "ON_DEMAND", "karpenter.sh/capacity-type": "on-demand",
            "karpenter.k8s.aws/instance-gpu-name": "h100", "node.kubernetes.io/instance-type": "p5.48xlarge",
            "topology.k8s.aws/network-node-layer-1": "nn-1", "topology.k8s.aws/network-node-layer-3": "nn-3",
            "topology.kubernetes.io/zone": "us-east-1a"})
        azure = node("aks-spot-0", 4, None, labels={
            "kubernetes.azure.com/accelerator": "nvidia", "kubernetes.azure.com/scalesetpriority": "spot",
            "node.kubernetes.io/instance-type": "Standard_NC96ads_A100_v4",
            "topology.kubernetes.io/zone": "westeurope-1"},
            taints=[{"key": "kubernetes.azure.com/scalesetpriority", "value": "spot", "effect": "NoSchedule"}])
        found = {name: (each["gpu_type"], each.get("spot", False), each["zone"], each.get("rack"))
                 for name, each in self.nodes(google, amazon, azure).items()}
        self.assertEqual(found, {
            "gke-a3": ("nvidia-h100-80gb", True, "us-east4-a", "s7"),
            "ip-10-0-1-7.ec2.internal": ("NVIDIA-H100-80GB-HBM3", False, "us-east-1a", "nn-3"),
            "aks-spot-0": ("Standard_NC96ads_A100_v4", True, "westeurope-1", None)})

    def test_closed_nodes_take_nothing_new(self):
        deleted = node("d")
        deleted["metadata"]["deletionTimestamp"] = "2026-11-28T13:00:00Z"
        objects = [node("c", cordoned=True), node("n", ready="Unknown"), deleted, node("p", conditions=[]),
                   pod("waits", 1)]
        made = self.nodes(*objects)
        self.assertEqual([name for name in made if made[name].get("drained")], ["c", "n", "d"])
        said = self.advice(*objects)
        for words in ("c (0 of 8 GPUs in use): it is cordoned.",
                      "n (0 of 8 GPUs in use): it is not ready (NodeStatusUnknown).",
                      "d (0 of 8 GPUs in use): it is being deleted.",
                      "team/pod/waits (1 GPU in 1 pod, 90 min old) could start on p (1)."):
            self.assertIn(words, said)

    def test_several_resources_of_a_node_are_places_that_share_its_host(self):
        objects = [node("m", 6, cpu="64", memory="512Gi",
                        more={"nvidia.com/mig-1g.10gb": "7", "nvidia.com/mig-3g.40gb": "0"}),
                   pod("whole", 2, on="m", cpu="8"),
                   pod("slice", 3, on="m", resource="nvidia.com/mig-1g.10gb", cpu="4"),
                   pod("more", 4, resource="nvidia.com/mig-1g.10gb")]
        made = self.snapshot(*objects)
        nodes = {each["name"]: each for each in made["nodes"]}
        self.assertEqual({name: (each["gpus"], each["gpu_type"]) for name, each in nodes.items()},
                         {"m": (6, A100), "m/mig-1g.10gb": (7, A100 + "-MIG-1g.10gb")})
        self.assertEqual(sum(each["cores"] for each in nodes.values()), 64)
        self.assertEqual(self.jobs(*objects)["team/pod/slice"]["host"]["cores_per_gpu"], [1.333333] * 2)
        answer = {each["name"]: each["nodes"] for each in plan(made)[1]["plan"]}
        self.assertEqual(answer["team/pod/more"], [["m/mig-1g.10gb", 4]])

    def test_odd_nodes(self):
        odd = node("odd", more={"cpu": "-3", "memory": "lots", "nvidia.com/mig-1g.10gb": "eight"})
        self.snapshot(odd, node("a"), says=("node 'odd': status.allocatable['cpu']: '-3' is negative",
                                            "status.allocatable['memory']: 'lots' is not a quantity",
                                            "status.allocatable['nvidia.com/mig-1g.10gb']: 'eight' is not a quantity"))
        bare = {"kind": "Node", "metadata": {"name": "bare"}}
        self.snapshot(bare, node("a"), says=("node 'bare': status.allocatable is missing",))
        unplugged = node("unplugged", None)
        unplugged["status"]["capacity"][GPU] = "8"
        self.snapshot(unplugged, node("a"),
                      says=("node 'unplugged': has nvidia.com/gpu, but none that can be allocated",))
        silent = node("silent")
        del silent["status"]["allocatable"]["cpu"], silent["status"]["allocatable"]["memory"]
        self.assertNotIn("cores", self.nodes(silent)["silent"])
        self.assertNotIn("host", self.jobs(silent, pod("p"))["team/pod/p"])

    def test_a_node_that_lost_gpus_under_its_pods_is_closed(self):
        made = self.nodes(node("a", 6), pod("p", 8, on="a"))
        self.assertEqual((made["a"]["gpus"], made["a"]["drained"]), (8, True))

    def test_daemon_sets_take_cores_and_gpus_for_good(self):
        made = self.snapshot(node("a"), pod("d", 1, on="a", cpu="6", owners=owner("DaemonSet", "d", "apps/v1")),
                             pod("e", 0, on="a", cpu="10", owners=owner("DaemonSet", "e", "apps/v1")))
        self.assertEqual((made["nodes"][0]["gpus"], made["nodes"][0]["cores"], made["jobs"]), (7, 80.0, []))


class Pods(Case):
    def host(self, *containers, **more):
        made = self.jobs(node("a"), pod("p", containers=list(containers), **more))["team/pod/p"]
        return made["gpus"][0], made["host"]["cores_per_gpu"][0], made["host"]["memory_gib_per_gpu"][0]

    def test_several_containers_add_up(self):
        self.assertEqual(self.host(container(2, "4", "8Gi"), container(0, "500m", "512Mi", "log")), (2, 2.25, 4.25))

    def test_an_init_container_counts_where_it_is_more_and_a_sidecar_beside_all(self):
        sidecar = container(0, "1", "1Gi", "side", restartPolicy="Always")
        self.assertEqual(self.host(container(1, "4", "8Gi"), initContainers=[container(0, "6", "2Gi", "load")]),
                         (1, 6.0, 8.0))
        self.assertEqual(self.host(container(1, "4", "8Gi"),
                                   initContainers=[sidecar, container(0, "6", "2Gi", "load")]), (1, 7.0, 9.0))
        self.assertEqual(self.host(container(1, "4", "8Gi"),
                                   initContainers=[container(2, "4", "2Gi", "load"), sidecar]), (2, 2.5, 4.5))

    def test_limits_stand_in_for_requests_and_overhead_is_added(self):
        self.assertEqual(self.host(container(1, "4", "8Gi", limits_only=True),
                                   overhead={"cpu": "250m", "memory": "1Gi"}), (1, 4.25, 9.0))
        only = {"name": "c", "resources": {"limits": {"cpu": "2", "memory": "2Gi", GPU: 1}}}
        self.assertEqual(self.host(only), (1, 2.0, 2.0))
        self.assertEqual(self.host(container(1, "4", "8Gi"), resources={"requests": {"cpu": "10"}}), (1, 10.0, 8.0))

    def test_finished_pods_are_gone(self):
        made = self.snapshot(node("a"), pod("s", 4, on="a", phase="Succeeded"), pod("f", 4, on="a", phase="Failed"),
                             pod("r", 4, on="a"))
        self.assertEqual([each["name"] for each in made["jobs"]], ["team/pod/r"])

    def test_a_pod_that_is_assigned_or_ends_holds_its_gpus(self):
        ending = pod("ending", 2, on="a")
        ending["metadata"]["deletionTimestamp"] = "2026-11-28T13:29:00Z"
        made = self.jobs(node("a"), pod("pulls", 2, on="a", phase="Pending"), ending,
                         pod("lost", 2, on="a", phase="Unknown"))
        self.assertTrue(all(each["placement"]["nodes"] == [["a", 2]] and each["preemptible"] is False
                            for each in made.values()))

    def test_a_running_pod_keeps_what_it_holds(self):
        made = self.jobs(node("a"), pod("p", 2, on="a", cpu="8", started="2026-11-28T13:20:00Z"))
        self.assertEqual(made["team/pod/p"]["placement"], {"nodes": [["a", 2]]})
        self.assertEqual(made["team/pod/p"]["attained_gpu_s"], 1200)
        self.assertEqual(made["team/pod/p"]["host"]["cores_per_gpu"], [4, 4])
        self.assertEqual(self.nodes(node("a"), pod("p", 2, on="a", cpu="8"))["a"]["cores"], 96)

    def test_cores_of_unlike_pods_of_a_running_gang_are_taken_from_their_nodes(self):
        unlike = [pod("w-0", 2, on="a", cpu="8", owners=owner("Job", "t")),
                  pod("w-1", 2, on="b", cpu="20", owners=owner("Job", "t"))]
        made = self.snapshot(node("a"), node("b"), *unlike)
        self.assertEqual([each["cores"] for each in made["nodes"]], [88, 76])
        self.assertEqual(made["jobs"][0]["host"]["cores_per_gpu"], [0, 0])

    def test_pods_on_nodes_that_are_not_listed(self):
        made = self.snapshot(node("a"), pod("g", 2, on="gone"), pod("c", 0, on="gone"), says=(
            "pod 'team/g': runs on node 'gone', which is not listed",))
        self.assertEqual(made["jobs"], [])
        made = self.jobs(node("a"),
                         *[pod(f"g-{i}", 2, on=on, owners=owner("Job", "g")) for i, on in enumerate(("a", "gone"))],
                         says=("not listed",))
        self.assertEqual(made["team/job/g"]["placement"]["nodes"], [["a", 2]])

    def test_odd_requests_are_told_and_close_the_node_that_the_pod_is_on(self):
        made = self.snapshot(node("a"), pod("o", "-2", on="a"), pod("w", "1500m"), pod("c", 1, cpu="many"), says=(
            "pod 'team/o': container 'main' asks for nvidia.com/gpu: '-2' is negative",
            "pod 'team/w': container 'main' asks for nvidia.com/gpu: '1500m' is not a number of devices",
            "pod 'team/c': container 'main' asks for cpu: 'many' is not a quantity"))
        self.assertTrue(made["nodes"][0]["drained"])
        self.assertEqual([each["name"] for each in made["jobs"]], ["team/pod/c"])

    def test_devices_that_are_not_read_are_told(self):
        self.snapshot(node("a"), pod("d", 0, resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": "one"}]),
                      pod("f", 0, annotations={"gpu-fraction": "0.5"}), says=(
            "pod 'team/d': asks for devices by resource claims",
            "pod 'team/f': asks for a part of a GPU by an annotation"))


class Gangs(Case):
    def names(self, *objects, **more):
        return {name: made["gpus"][0] for name, made in self.jobs(node("a"), node("b"), *objects, **more).items()}

    def workers(self, number=2, gpus=2, **more):
        return [pod(f"w-{i}", gpus, **more) for i in range(number)]

    def test_by_owner(self):
        for owners, name in ((owner("Job", "train"), "team/job/train"),
                             (owner("PyTorchJob", "train", "kubeflow.org/v1"), "team/pytorchjob/train"),
                             (owner("Notebook", "n", "kubeflow.org/v1"), "team/notebook/n"),
                             (owner("TrainJob", "t"), "team/trainjob/t")):
            self.assertEqual(self.names(*self.workers(owners=owners)), {name: 4})
        for kind in ("ReplicaSet", "StatefulSet"):
            self.assertEqual(self.names(*self.workers(owners=owner(kind, "serve"))),
                             {"team/pod/w-0": 2, "team/pod/w-1": 2})
        self.assertEqual(self.names(*self.workers()), {"team/pod/w-0": 2, "team/pod/w-1": 2})

    def test_by_the_groups_of_schedulers(self):
        for more, name in (({"labels": {"kueue.x-k8s.io/pod-group-name": "g"}}, "team/group/g"),
                           ({"labels": {"scheduling.x-k8s.io/pod-group": "g"}}, "team/group/g"),
                           ({"annotations": {"scheduling.k8s.io/group-name": "g"}}, "team/group/g"),
                           ({"annotations": {"pod-group-name": "g"}, "labels": {"kai.scheduler/queue": "q"}},
                            "team/group/g"),
                           ({"labels": {"jobset.sigs.k8s.io/jobset-name": "s"}, "owners": owner("Job", "s-workers-0")},
                            "team/jobset/s"),
                           ({"labels": {"training.kubeflow.org/job-name": "t"}}, "team/trainingjob/t"),
                           ({"labels": {"ray.io/cluster": "r"}}, "team/raycluster/r"),
                           ({"labels": {"leaderworkerset.sigs.k8s.io/name": "l",
                                        "leaderworkerset.sigs.k8s.io/group-index": "1"}},
                            "team/leaderworkerset/l-1")):
            self.assertEqual(self.names(*self.workers(**more)), {name: 4}, more)

    def test_namespaces_are_told_apart(self):
        self.assertEqual(self.names(pod("w", 1, namespace="x", owners=owner("Job", "j")),
                                    pod("w", 1, namespace="y", owners=owner("Job", "j"))),
                         {"x/job/j": 1, "y/job/j": 1})

    def test_owners_of_owners_that_are_listed(self):
        launcher = job("mpi-launcher", gpus=0, owners=owner("MPIJob", "mpi", "kubeflow.org/v2"), status={"active": 1})
        made = self.names(launcher, pod("mpi-launcher-x", 0, on="a", owners=owner("Job", "mpi-launcher")),
                          *self.workers(owners=owner("MPIJob", "mpi", "kubeflow.org/v2")))
        self.assertEqual(made, {"team/mpijob/mpi": 4})
        jobs = [job(f"j{i}", owners=owner("Sweep", "s", "example.com/v1"), status={"active": 1}) for i in range(2)]
        made = self.names(*jobs, *[pod(f"j{i}-x", 1, owners=owner("Job", f"j{i}")) for i in range(2)])
        self.assertEqual(made, {"team/sweep/s": 2})
        cron = job("nightly-1", gpus=1, owners=owner("CronJob", "nightly"), status={"active": 1})
        self.assertEqual(self.names(cron, pod("nightly-1-x", 1, owners=owner("Job", "nightly-1"))),
                         {"team/job/nightly-1": 1})

    def test_suspended_jobs_wait_with_the_pods_of_their_template(self):
        objects = [node("a"), node("b"),
                   job("train", 2, gpus=8, suspend=True, cpu="16", template_labels={"kueue.x-k8s.io/queue-name": "q"})]
        made = self.jobs(*objects)
        self.assertEqual((made["team/job/train"]["gpus"], made["team/job/train"]["host"]["cores_per_gpu"]),
                         ([16, 16], [2, 2]))
        said = self.advice(*objects)
        self.assertIn("team/job/train (16 GPUs in 2 pods, 2 h old, suspended) could start on a (8), b (8).", said)

    def test_pods_that_a_job_has_not_made_yet(self):
        half = [pod("t-0", 2, owners=owner("Job", "t"))]
        self.assertEqual(self.names(job("t", 3, gpus=2), *half), {"team/job/t": 6})
        self.assertEqual(self.names(job("t", 3, gpus=2, status={"succeeded": 2}), *half), {"team/job/t": 2})
        self.assertEqual(self.names(job("t", 3, gpus=2,
                                        status={"conditions": [{"type": "Complete", "status": "True"}]})), {})
        self.assertEqual(self.names(job("t", -4, gpus=2)), {})
        for done, wanted in ((0, {"team/job/t": 6}), (1, {"team/job/t": 2})):
            queue = job("t", 3, gpus=2, status={"succeeded": done})
            del queue["spec"]["completions"]
            self.assertEqual(self.names(queue, *half), wanted)
        replicas = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob",
                    "metadata": {"name": "p", "namespace": "team"},
                    "spec": {"runPolicy": {"suspend": True}, "pytorchReplicaSpecs": {
                        "Master": {"replicas": 1, "template": {"spec": {"containers": [container(1)]}}},
                        "Worker": {"replicas": 3, "template": {"spec": {"containers": [container(2)]}}}}}}
        self.assertEqual(self.names(replicas), {"team/pytorchjob/p": 7})

    def test_pods_without_gpus_only_take_cores(self):
        made = self.snapshot(node("a"), pod("l", 0, on="a", cpu="6", owners=owner("Job", "t")),
                             pod("w", 2, owners=owner("Job", "t")))
        self.assertEqual((made["nodes"][0]["cores"], [each["gpus"][0] for each in made["jobs"]]), (90, [2]))

    def test_half_of_a_gang(self):
        indexed = {"batch.kubernetes.io/job-completion-index": "0"}
        objects = [node("a", 4), pod("t-0", 4, on="a", owners=owner("Job", "t"), annotations=indexed),
                   *[pod(f"t-{i}", 4, owners=owner("Job", "t"), annotations=indexed) for i in (1, 2)]]
        made = self.jobs(*objects, node("b"))
        self.assertEqual({name: each["gpus"][0] for name, each in made.items()},
                         {"team/job/t": 4, "team/job/t (waiting pods)": 8})
        self.assertIn("part of a gang: 1 pod with 4 GPUs runs already", self.advice(*objects))
        queue = [pod(f"t-{i}", 4, on="a" if i == 0 else "", owners=owner("Job", "t")) for i in range(3)]
        self.assertEqual(self.names(*queue), {"team/job/t": 4, "team/job/t (t-1)": 4, "team/job/t (t-2)": 4})
        apart = self.workers(owners=owner("Job", "t"), annotations={"goodput/gang": "false"})
        self.assertEqual(self.names(*apart), {"team/pod/w-0": 2, "team/pod/w-1": 2})

    def test_several_resources_in_one_gang(self):
        mixed = [pod("w-0", 1, owners=owner("Job", "t")),
                 pod("w-1", 1, owners=owner("Job", "t"), resource="amd.com/gpu")]
        self.assertEqual(self.names(*mixed,
                                    says=("gang 'team/job/t': is left out of the snapshot: its pods want GPUs",)), {})
        both = node("ab", 2, more={"amd.com/gpu": "2"})
        held = [pod("w-0", 1, on="ab", owners=owner("Job", "t")),
                pod("w-1", 1, on="ab", owners=owner("Job", "t"), resource="amd.com/gpu")]
        self.assertEqual(self.names(both, *held), {"team/job/t": 1, "team/job/t (nvidia.com/gpu)": 1})

    def test_priorities_become_weights(self):
        classes = [{"kind": "PriorityClass", "metadata": {"name": "high"}, "value": 1000}]
        suspended = job("j", priorityClassName="high", suspend=True)
        made = self.jobs(node("a"), pod("low", priority=-5), pod("mid"), pod("high", priority=1000), suspended,
                         *classes)
        self.assertEqual([made[f"team/{name}"].get("weight", 1)
                          for name in ("pod/low", "pod/mid", "pod/high", "job/j")], [1, 10, 100, 100])
        made = self.jobs(node("a"), pod("runs", on="a", priority=7), pod("low"), pod("high", priority=9))
        self.assertEqual([each.get("weight", 1) for each in made.values()], [10, 1, 1])
        made = self.jobs(node("a"), *[pod(f"p{i}", priority=i) for i in range(10)])
        self.assertAlmostEqual(max(each.get("weight", 1) for each in made.values()), 1000, places=3)

    def test_topology_that_is_required(self):
        for key, field in (("kubernetes.io/hostname", {"max_nodes": 1}),
                           ("topology.kubernetes.io/zone", {"within": "zone"}),
                           ("cloud.google.com/gce-topology-block", {"within": "rack"}), ("example.com/row", {})):
            made = self.jobs(node("a", labels={"topology.kubernetes.io/zone": "z",
                                               "cloud.google.com/gce-topology-block": "b"}),
                             pod("p", annotations={"kueue.x-k8s.io/podset-required-topology": key}))["team/pod/p"]
            self.assertEqual({name: made[name] for name in ("max_nodes", "within") if name in made}, field)
        made = self.snapshot(node("a", labels={"example.com/row": "7"}), options=("--rack-label", "example.com/row"))
        self.assertEqual(made["nodes"][0]["rack"], "7")


class Matching(Case):
    """Each case has a special node 'a' and a node 'b'. Where can the pod go?"""

    def where(self, special, **spec):
        made = self.snapshot(node("a", **special), node("b"), pod("p", **spec), says=("is left out",))
        types = {each["name"]: each["gpu_type"] for each in made["nodes"]}
        usable = made["jobs"][0]["batch"]["local"] if made["jobs"] else {}
        return "".join(name for name in "ab" if types[name] in usable)

    def snapshot(self, *objects, says=(), **more):
        status, out, err = run(listed(*objects))
        self.assertEqual(status, 0, err)
        self.assertEqual(plan(json.loads(out), "--strict")[0], 0)
        return json.loads(out)

    def affinity(self, *terms):
        required = {"nodeSelectorTerms": list(terms)}
        return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}

    def test_taints(self):
        for toleration, where in (({"key": "dedicated", "operator": "Exists"}, "ab"), ({"operator": "Exists"}, "ab"),
                                  ({"key": "dedicated", "value": "research"}, "ab"),
                                  ({"key": "dedicated", "value": "other"}, "b"),
                                  ({"key": "dedicated", "value": "research", "effect": "NoExecute"}, "b"), ({}, "b"),
                                  ({"key": 3, "effect": []}, "b")):
            self.assertEqual(self.where({"taints": [GATE]}, tolerations=[toleration]), where, toleration)
        self.assertEqual(self.where({"taints": [{"key": "x", "effect": "PreferNoSchedule"}]}), "ab")
        self.assertEqual(self.where({"taints": [{"key": "x", "effect": "NoExecute"}]}), "b")

    def test_a_taint_named_like_the_resource_is_tolerated_once_pods_are_made(self):
        tainted = node("a", taints=[{"key": GPU, "value": "present", "effect": "NoSchedule"}])
        self.assertEqual(len(self.snapshot(tainted, job("j", suspend=True))["jobs"]), 1)
        self.assertEqual(len(self.snapshot(tainted, pod("p"))["jobs"]), 0)

    def test_node_selectors(self):
        self.assertEqual(self.where({"labels": {"disk": "fast"}}, nodeSelector={"disk": "fast"}), "a")
        self.assertEqual(self.where({"labels": {"disk": "slow"}}, nodeSelector={"disk": "fast"}), "")
        self.assertEqual(self.where({"product": T4}, nodeSelector={"nvidia.com/gpu.product": T4}), "a")

    def test_node_affinity(self):
        def says(key, operator, *values):
            return {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}

        labels = {"labels": {"disk": "fast", "generation": "7"}}
        for terms, where in (([says("disk", "In", "fast", "ssd")], "a"), ([says("disk", "NotIn", "fast")], "b"),
                             ([says("disk", "Exists")], "a"), ([says("disk", "DoesNotExist")], "b"),
                             ([says("generation", "Gt", "6")], "a"),
                             ([says("generation", "Gt", "7")], ""), ([says("generation", "Lt", "8")], "a"),
                             ([says("generation", "Lt", "6")], ""), ([says("disk", "Gt", "6")], ""),
                             ([says("disk", "Like", "f")], ""),
                             ([says("disk", "In", "slow"), says("disk", "DoesNotExist")], "b"), ([{}], ""), ([], ""),
                             ([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["b"]}]}], "b"),
                             ([{"matchExpressions": [{"key": "disk", "operator": "In", "values": 3}]}], "")):
            self.assertEqual(self.where(labels, **self.affinity(*terms)), where, terms)
        preferred = {"affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 1, "preference": says("disk", "In", "slow")}]}}}
        self.assertEqual(self.where(labels, **preferred), "ab")

    def test_pods_that_are_too_large_for_a_node(self):
        self.assertEqual(self.where({"gpus": 4}, gpus=8), "b")
        self.assertEqual(self.where({"gpus": 4}, gpus=4), "ab")
        self.assertIn("No node can take it: its pods need 8 GPUs on one node (1 node).",
                      self.advice(node("a", 4), pod("p", 8)))

    def test_pods_that_would_leave_gaps_are_not_planned_over_several_nodes(self):
        three = [pod(f"w-{i}", 3, owners=owner("Job", "t")) for i in range(4)]
        self.assertEqual(self.snapshot(node("a"), node("b"), *three)["jobs"], [])
        made = self.snapshot(node("a"), node("b", 6, T4), *three)
        self.assertEqual(list(made["jobs"][0]["batch"]["local"]), [T4])
        said = self.advice(node("a"), node("b"), *three)
        self.assertIn("No node can take it: its pods of 3 GPUs do not fill nodes of 8 without gaps (2 nodes)", said)


class Speeds(Case):
    def batch(self, annotations, *nodes, says=()):
        return self.jobs(*(nodes or (node("a"), node("b", 8, T4))), pod("p", 2, annotations=annotations),
                         says=says)["team/pod/p"]["batch"]

    def test_equal_ones_are_assumed(self):
        self.assertEqual(self.batch({}), {"initial": 2, "max": 2, "target": 2, "local": {A100: [1, 1], T4: [1, 1]},
                                          "rate": {A100: 1, T4: 1}})

    def test_measured_ones(self):
        made = self.batch({f"goodput/speed.{A100}": "2600", f"goodput/speed.{T4}": "4.2e2"})
        self.assertEqual((made["rate"], made["local"], made["initial"]),
                         ({A100: 2600, T4: 420}, {A100: [2600] * 2, T4: [2600] * 2}, 5200))
        made = self.batch({f"goodput/speed.{A100}": "2600"},
                          says=(f"has no speed on {T4}: as fast as its slowest type is assumed",))
        self.assertEqual(made["rate"], {A100: 2600, T4: 2600})
        made = self.batch({"goodput/speed.nvidia.com-gpu": "5"}, node("a", 8, None))
        self.assertEqual(made["rate"], {GPU: 5})
        for extreme in ("1e-6", "1e9"):
            self.batch({f"goodput/speed.{A100}": extreme, f"goodput/speed.{T4}": extreme})

    def test_a_type_without_a_speed_is_as_fast_as_the_slowest(self):
        made = self.batch({f"goodput/speed.{A100}": "9", f"goodput/speed.{T4}": "3"}, node("a"), node("b", 8, T4),
                          node("c", 8, "L4"),
                          says=("has no speed on L4",))
        self.assertEqual(made["rate"], {A100: 9, T4: 3, "L4": 3})

    def test_a_long_name_of_a_product_is_cut_as_the_key_of_an_annotation_has_to_be(self):
        product = "x" * 56 + ".yz-abc"
        made = self.batch({"goodput/speed." + "x" * 56: "7"}, node("a", 8, product))
        self.assertEqual(made["rate"], {product: 7})

    def test_a_faster_type_is_chosen(self):
        objects = [node("a"), node("b", 8, T4),
                   pod("p", 8, annotations={f"goodput/speed.{A100}": "100", f"goodput/speed.{T4}": "300"})]
        self.assertIn("could start on b (8)", self.advice(*objects))

    def test_what_makes_no_sense_is_told(self):
        made = self.batch({f"goodput/speed.{A100}": "fast", "goodput/speed.": "1", "goodput/spede": "1",
                           "goodput/move": "yes",
                           "goodput/restart-seconds": "-1", "goodput/speed.H100": "3", f"goodput/speed.{T4}": "0"},
                           says=(
            f"pod 'team/p': goodput/speed.{A100} is 'fast', but has to be examples per second",
            f"goodput/speed.{T4} is '0'",
            "there is no annotation goodput/speed.:", "there is no annotation goodput/spede",
            "goodput/move is 'yes', but has to be 'true' or 'false'", "goodput/restart-seconds: '-1' is negative",
            "gang 'team/pod/p': has a speed on H100, a GPU type that it cannot use here"))
        self.assertEqual(set(made["rate"]), {A100, T4})


class Moves(Case):
    @staticmethod
    def pod(name, *more, **fields):
        return pod(name, *more, owners=owner("Job", name), **fields)

    def test_running_gangs_stay_unless_they_may_move(self):
        running = self.pod("r", 2, on="a", cpu="8", annotations={"goodput/restart-seconds": "60"})
        made = self.jobs(node("a"), running, options=("--move",))["team/job/r"]
        self.assertNotIn("preemptible", made)
        self.assertEqual((made["restart_cost_s"], made["host"]["cores_per_gpu"]), (60, [4, 4]))
        made = self.nodes(node("a"), running, options=("--move",))
        self.assertEqual(made["a"]["cores"], 96)
        may = self.pod("r", 2, on="a", annotations={"goodput/move": "true"})
        self.assertNotIn("preemptible", self.jobs(node("a"), may)["team/job/r"])
        half = [pod("h-0", 2, on="a", owners=owner("Job", "h")), pod("h-1", 2, owners=owner("Job", "h"))]
        self.assertIs(self.jobs(node("a"), *half, options=("--move",))["team/job/h"]["preemptible"], False)
        ages = self.pod("r", 2, on="a", annotations={"goodput/restart-seconds": "1e12"})
        self.assertEqual(self.jobs(node("a"), ages, options=("--move",))["team/job/r"]["restart_cost_s"], 1e7)
        never = self.pod("r", 2, on="a", annotations={"goodput/move": "false"})
        self.assertIs(self.jobs(node("a"), never, options=("--move",))["team/job/r"]["preemptible"], False)

    def test_a_gang_that_runs_where_it_could_not_start_stays(self):
        for more in ([], [node("b")]):
            made = self.jobs(node("a", taints=[GATE]), *more, self.pod("r", 2, on="a"),
                             options=("--move",))["team/job/r"]
            self.assertIs(made["preemptible"], False)

    def test_a_pod_without_an_owner_or_one_that_ends_stays(self):
        ending = self.pod("e", 1, on="a")
        ending["metadata"]["deletionTimestamp"] = "2026-11-28T13:29:00Z"
        made = self.jobs(node("a"), ending, pod("alone", 1, on="a"), options=("--move",))
        self.assertEqual([each["preemptible"] for each in made.values()], [False, False])

    def test_moves_are_told(self):
        objects = [node("a"), node("b"), self.pod("r", 1, on="a"), self.pod("s", 1, on="b"), pod("w", 8, priority=1000)]
        self.assertIn("team/pod/w (8 GPUs in 1 pod, priority 1000, 90 min old) waits.", self.advice(*objects))
        said = self.advice(*objects, options=("--move", "--restart-seconds", "1"))
        self.assertIn("could start on", said)
        self.assertIn("once the changes below are made", said)
        self.assertRegex(said, r"team/job/[rs] (moves from|stops)")


class Advice(Case):
    def test_the_page(self):
        with open(os.path.join(DOCS, "kubernetes.json"), encoding="utf-8") as file:
            written = file.read()
        status, out, err = run(written)
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(plan(json.loads(out), "--strict")[2], "")

    def test_fragments_and_what_is_in_the_way(self):
        objects = [node("a", 4), node("b", 4), pod("x", 2, on="a"), pod("y", 3, on="b", priority=9),
                   *[pod(f"g-{i}", 2, owners=owner("Job", "g"), priority=5) for i in range(2)]]
        said = self.advice(*objects)
        for words in ("team/job/g (4 GPUs in 2 pods, priority 5, 90 min old) waits.",
                      "3 of the 4 GPUs that it wants stay free",
                      "Kubernetes may preempt these of lower priority for it: team/pod/x (2 GPUs).",
                      "In its way: team/pod/y (3 GPUs).", "3 of 8 GPUs:",
                      "a (2 of 4): a pod would fit, but no whole gang",
                      "b (1 of 4): fragmented: the smallest waiting pod that may use it needs 2.",
                      "one more node of 4: ", "it would start team/job/g."):
            self.assertIn(words, said)
        never = [pod(f"g-{i}", 2, owners=owner("Job", "g"), priority=5, preemptionPolicy="Never") for i in range(2)]
        self.assertNotIn("may preempt", self.advice(*objects[:4], *never))

    def test_room_for_scattered_pods_is_told(self):
        workers = [pod(f"g-{i}", 2, owners=owner("Job", "g"), priority=5) for i in range(2)]
        said = self.advice(node("a", 4), node("b", 4), pod("x", 2, on="a"), pod("y", 2, on="b"), *workers)
        self.assertIn("Its pods have room if they may lie scattered: on a (2), b (2).", said)
        said = self.advice(node("a", 4), node("b", 4), pod("x", 2, on="a"), pod("y", 2, on="b"), *workers,
                           pod("z", 1, priority=1))
        self.assertIn("on a (2), b (2), unless these of lower priority start first: team/pod/z.", said)
        said = self.advice(node("a", 4), node("b", 4), pod("x", 2, on="a"), pod("y", 2, on="b"), *workers,
                           pod("z", 1, priority=5))
        self.assertNotIn("scattered", said)

    def test_pods_that_have_to_be_together(self):
        together = {"kueue.x-k8s.io/podset-required-topology": "kubernetes.io/hostname"}
        workers = [pod(f"g-{i}", 4, owners=owner("Job", "g"), annotations=together) for i in range(2)]
        said = self.advice(node("a"), node("b"), pod("x", 1, on="a"), pod("y", 1, on="b"), *workers)
        self.assertRegex(said, "All its pods have to be in one node: 8 NVIDIA")
        self.assertIn("In its way: team/pod/x (1 GPU), team/pod/y (1 GPU).", said)
        self.assertNotIn("scattered", said)

    def test_cores_that_are_missing(self):
        said = self.advice(node("a", cpu="16"), pod("x", 1, on="a", cpu="12"), pod("w", 1, cpu="8"))
        self.assertIn("Enough GPUs, but too few cores or too little memory for one of its pods: a.", said)
        self.assertIn("a (7 of 8): too few cores or too little memory is left for a waiting pod.", said)
        self.assertNotIn("in pieces", said)
        self.assertNotIn("It can never start here", said)
        self.assertIn("it would start team/pod/w.", said)

    def test_nodes_that_nobody_may_use(self):
        said = self.advice(node("a", taints=[GATE]), pod("w"))
        self.assertIn("a (8 of 8): no waiting gang may use it (it does not tolerate the taint dedicated=", said)
        self.assertIn("No node can take it: it does not tolerate the taint dedicated=research:NoSchedule (1 node).",
                      said)
        self.assertIn("no further gang waits", self.advice(node("a")))

    def test_one_more_node_is_no_closed_one(self):
        self.assertIn("it would start team/pod/w.", self.advice(node("a", cordoned=True), pod("w")))

    def test_gates_are_told(self):
        self.assertIn("held back by a scheduling gate",
                      self.advice(node("a"), pod("w", schedulingGates=[{"name": "kueue.x-k8s.io/admission"}])))

    def test_speeds_are_told(self):
        self.assertIn("No speeds are known, so all GPU types count as equally fast.", self.advice(node("a"), pod("w")))
        said = self.advice(node("a"), pod("w", annotations={f"goodput/speed.{A100}": "3"}), pod("v"))
        self.assertIn("Speeds of 1 of 2 gangs are known by annotation", said)


def random_cluster(chance):
    """Returns nodes, pods and jobs that the API server could list: no node holds more than it has."""
    nodes, pods, free = [], [], {}
    zones = [f"z{i}" for i in range(chance.randint(1, 3))]
    for i in range(chance.randint(1, 9)):
        size, product = chance.choice([(8, A100), (8, A100), (4, T4), (4, A100), (7, "NVIDIA-L40S"), (1, T4)])
        labels = {"topology.kubernetes.io/zone": chance.choice(zones)} if chance.random() < .7 else {}
        if chance.random() < .2:
            labels["cloud.google.com/gke-spot"] = "true"
        if chance.random() < .3:
            labels["disk"] = chance.choice(["fast", "slow"])
        more = {"nvidia.com/mig-1g.10gb": "7"} if chance.random() < .2 else {}
        nodes.append(node(f"n{i}", size, product if chance.random() < .9 else None, cpu=chance.choice(["16", "95500m"]),
                          memory=chance.choice(["64Gi", "1e12"]), labels=labels, more=more,
                          cordoned=chance.random() < .15,
                          taints=[GATE] if chance.random() < .2 else [], ready=chance.choice(["True"] * 9 + ["False"])))
        free[f"n{i}"] = {GPU: size, "nvidia.com/mig-1g.10gb": 7 if more else 0,
                         "cpu": float(16 if nodes[-1]["status"]["allocatable"]["cpu"] == "16" else 95),
                         "memory": 60.0 if nodes[-1]["status"]["allocatable"]["memory"] == "64Gi" else 900.0}
    for i in range(chance.randint(0, 14)):
        resource = chance.choice([GPU] * 5 + ["nvidia.com/mig-1g.10gb"])
        gpus, cores, memory = chance.choice([0, 1, 1, 2, 3, 4, 8]), chance.choice([0, 1, 4]), chance.choice([1, 8, 30])
        more = {"namespace": chance.choice(["x", "y"]), "priority": chance.choice([0, 0, 5, 1000]), "cpu": str(cores),
                "memory": f"{memory}Gi"}
        if chance.random() < .3:
            more["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if chance.random() < .2:
            more["nodeSelector"] = {"disk": "fast"}
        if chance.random() < .2:
            more["annotations"] = {f"goodput/speed.{T4}": "3", f"goodput/speed.{A100}": str(chance.randint(1, 900))}
        if chance.random() < .7:
            more["owners"] = owner(chance.choice(["Job", "PyTorchJob", "ReplicaSet", "DaemonSet"]), f"o{i}")
        for k in range(chance.choice([1, 1, 2, 3, 4])):
            on = chance.choice(sorted(free)) if chance.random() < .5 else ""
            if on:
                room = free[on]
                if room[resource] < gpus or room["cpu"] < cores or room["memory"] < memory:
                    continue
                room[resource] -= gpus
                room["cpu"] -= cores
                room["memory"] -= memory
            elif more.get("owners", [{}])[0].get("kind") == "DaemonSet":
                continue
            pods.append(pod(f"p{i}-{k}", gpus, on=on, resource=resource, **more))
    jobs = [job(f"s{i}", chance.randint(1, 4), gpus=chance.choice([1, 2, 4, 8]), suspend=True)
            for i in range(chance.randint(0, 2))]
    return nodes, pods, jobs


def packs(sizes, rooms):
    """Whether pods of these sizes can be placed so that each node's GPUs are filled exactly."""
    if not sizes:
        return not any(rooms)
    return any(room >= sizes[0] and packs(sizes[1:], rooms[:i] + [room - sizes[0]] + rooms[i + 1:])
               for i, room in enumerate(rooms) if room not in rooms[:i])


class Random(Case):
    def test_the_program_takes_every_snapshot_and_its_plan_fits(self):
        started = moved = 0
        for seed in range(TRIALS // 6):
            chance = random.Random(seed)
            nodes, pods, jobs = random_cluster(chance)
            options = ("--move",) if seed % 3 == 2 else ()
            status, out, err = run(listed(*nodes, *pods, *jobs), *options)
            self.assertEqual(status, 0, (seed, err))
            snapshot = json.loads(out)
            code, answer, warned = plan(snapshot, "--strict")
            self.assertEqual((code, warned), (0, ""), (seed, answer))
            self.assertNotIn("warnings", answer, seed)
            self.fits(seed, nodes, pods, jobs, snapshot, answer)
            started += sum(1 for entry in answer["plan"] if entry["starts"] == "start")
            moved += sum(1 for entry in answer["plan"] if entry["starts"] in ("move", "restart", "stops"))
            status, said, err = run(listed(*nodes, *pods, *jobs), "--advise", *options)
            self.assertEqual(status, 0, (seed, err))
            self.assertEqual(said.count(" could start on "),
                             sum(1 for entry in answer["plan"] if entry["starts"] == "start"), (seed, said))
        self.assertGreater(started, TRIALS // 10)
        self.assertGreater(moved, 0)

    def fits(self, seed, nodes, pods, jobs, snapshot, answer):
        """Checks that no node gives more GPUs, cores or memory than its remaining pods leave, that a node closed to
        new pods gets nothing, and that no gang starts where its selector or a taint forbids it."""
        size = {each["name"]: each["gpus"] for each in snapshot["nodes"]}
        drained = {each["name"] for each in snapshot["nodes"] if each.get("drained")}
        held = {each["name"]: each.get("placement", {}).get("nodes", []) for each in snapshot["jobs"]}
        cores = {each["metadata"]["name"]: amount(each["status"]["allocatable"]["cpu"]) for each in nodes}
        stays = {each["name"] for each in snapshot["jobs"] if each.get("preemptible") is False}
        by_job = {each["name"]: each for each in snapshot["jobs"]}
        waiting = {}
        for each in pods + jobs:
            meta, spec = each["metadata"], each["spec"]
            if "template" in spec:
                waiting[f"{meta['namespace']}/job/{meta['name']}"] = [spec["template"]] * spec["parallelism"]
                continue
            reference = meta.get("ownerReferences", [{}])[0]
            gang = reference.get("kind") in ("Job", "PyTorchJob")
            kind, last = (reference["kind"].lower(), reference["name"]) if gang else ("pod", meta["name"])
            name = f"{meta['namespace']}/{kind}/{last}"
            movable = any(entry["name"] == name and name not in stays and held[name] for entry in answer["plan"])
            if "nodeName" in spec and not movable and each["status"]["phase"] == "Running":
                cores[spec["nodeName"]] -= amount(spec["containers"][0]["resources"]["requests"]["cpu"])
        labels = {each["metadata"]["name"]: each for each in nodes}
        for name in ("cores", "memory_gib"):
            left = {each["name"]: each[name] for each in snapshot["nodes"]}
            for entry in answer["plan"]:
                for where, gpus in entry["nodes"]:
                    left[where] -= by_job[entry["name"]]["host"][f"{name}_per_gpu"][0] * gpus
            self.assertGreaterEqual(min(left.values(), default=0), -1e-4, (seed, name, left))
        for entry in answer["plan"]:
            before = dict(map(tuple, held[entry["name"]]))
            for index, (name, gpus) in enumerate(entry["nodes"]):
                size[name] -= gpus
                self.assertLessEqual(gpus, before.get(name, 0) if name in drained else gpus, (seed, entry))
                if entry["name"] not in stays:
                    host = name.split("/")[0]
                    cores[host] -= by_job[entry["name"]]["host"]["cores_per_gpu"][0] * gpus
                    if "disk" in str(self.selector(entry["name"], pods)) and not before:
                        self.assertEqual(labels[host]["metadata"]["labels"].get("disk"), "fast", (seed, entry))
                    if not before and labels[host]["spec"].get("taints"):
                        self.assertTrue(self.tolerates(entry["name"], pods), (seed, entry))
            if entry["name"] in waiting and entry["nodes"]:
                sizes = [int(each["spec"]["containers"][0]["resources"]["limits"].get(GPU, 0))
                         for each in waiting[entry["name"]]]
                self.assertTrue(packs(sorted(sizes, reverse=True), [gpus for _, gpus in entry["nodes"]]),
                                (seed, entry, sizes))
        self.assertGreaterEqual(min(size.values(), default=0), 0, seed)
        self.assertGreaterEqual(min(cores.values(), default=0), -1e-6, (seed, cores))

    @staticmethod
    def of_gang(name, pods):
        """Returns the waiting pods of a job that starts."""
        bare = name.split(" (")[0]
        namespace, kind, last = bare.split("/")
        return [each for each in pods if each["metadata"]["namespace"] == namespace and "nodeName" not in each["spec"]
                and
                (each["metadata"]["name"] == last if kind == "pod" else
                 each["metadata"].get("ownerReferences", [{}])[0].get("name") == last)]

    def selector(self, name, pods):
        return [each["spec"].get("nodeSelector") for each in self.of_gang(name, pods)]

    def tolerates(self, name, pods):
        found = self.of_gang(name, pods)
        return bool(found) and all(any(t.get("key") == "dedicated" for t in each["spec"]["tolerations"])
                                   for each in found)

    def test_no_input_ends_in_a_traceback(self):
        odd = [None, True, -1, 3.5, "", "x", "-1", "1e400", [], {}, [None], {"a": None}, [[]], "9" * 30, 10**30,
               "\ud83d", "a\nb\x1b", ["x"], [{}]]

        def damage(value, chance):
            """Replaces or removes something at a random place."""
            if isinstance(value, dict) and value and chance.random() < .85:
                key = chance.choice(sorted(value))
                if chance.random() < .15:
                    return {name: each for name, each in value.items() if name != key}
                return {**value, key: damage(value[key], chance)}
            if isinstance(value, list) and value and chance.random() < .85:
                i = chance.randrange(len(value))
                return value[:i] + [damage(value[i], chance)] + value[i + 1:]
            return copy.deepcopy(chance.choice(odd))

        read = 0
        for seed in range(TRIALS):
            chance = random.Random(seed)
            nodes, pods, jobs = random_cluster(chance)
            damaged = listed(*nodes, *pods, *jobs)
            for _ in range(chance.randint(1, 6)):
                damaged = damage(damaged, chance)
            with self.subTest(seed=seed):
                status, out, err = run(damaged, *(("--advise",) if seed % 25 == 0 else ()))
                self.assertIn(status, (0, 1), err)
                self.assertTrue(out if status == 0 else err)
                if status == 0 and seed % 25:
                    read += 1
                    snapshot = json.loads(out)
                    if seed % 10 == 1:
                        code, answer, _ = plan(snapshot)
                        self.assertEqual(code, 0, answer)
                        self.assertFalse([words
                                          for words in answer.get("warnings",
                                                                  []) if "is left" in words or "comes to it" in words],
                                                                  answer)
        self.assertGreater(read, TRIALS // 3)


if __name__ == "__main__":
    unittest.main()
