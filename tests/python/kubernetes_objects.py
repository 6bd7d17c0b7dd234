"""Objects as the API server of Kubernetes writes them, for tests: with the fields that goodput.kubernetes reads, and
some of the many that it ignores."""

A100, T4 = "NVIDIA-A100-SXM4-80GB", "Tesla-T4"
GPU = "nvidia.com/gpu"


def node(name, gpus=8, product=A100, *, cpu="96", memory="1000Gi", labels=None, taints=(), cordoned=False, ready="True",
         resource=GPU, more=None, conditions=None):
    """Returns a node with a working device plugin and feature discovery. If `product` is None, it has no labels of
    them."""
    labelled = {"kubernetes.io/hostname": name, "kubernetes.io/arch": "amd64", "kubernetes.io/os": "linux"}
    if product:
        labelled.update({"nvidia.com/gpu.product": product, "nvidia.com/gpu.count": str(gpus),
                         "nvidia.com/gpu.present": "true"})
    labelled.update(labels or {})
    taints = list(taints)
    spec = {"podCIDR": "10.244.1.0/24", "providerID": "aws:///eu-central-1a/i-0123"}
    if cordoned:
        spec["unschedulable"] = True
        taints.append({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule",
                       "timeAdded": "2026-11-28T10:00:00Z"})
    if taints:
        spec["taints"] = taints
    allocatable = {"cpu": cpu, "memory": memory, "ephemeral-storage": "95551679124", "hugepages-1Gi": "0",
                   "pods": "110"}
    if gpus is not None:
        allocatable[resource] = str(gpus)
    allocatable.update(more or {})
    return {"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1", "labels": labelled,
                         "annotations": {"node.alpha.kubernetes.io/ttl": "0"},
                         "creationTimestamp": "2026-10-01T00:00:00Z"},
            "spec": spec,
            "status": {"capacity": dict(allocatable), "allocatable": allocatable,
                       "conditions": conditions if conditions is not None else [
                           {"type": "MemoryPressure", "status": "False", "reason": "KubeletHasSufficientMemory"},
                           {"type": "Ready", "status": ready,
                            "reason": "KubeletReady" if ready == "True" else "NodeStatusUnknown"}],
                       "nodeInfo": {"kubeletVersion": "v1.31.2"}}}


def container(gpus=0, cpu="1", memory="1Gi", name="main", resource=GPU, limits_only=False, **more):
    resources = {"requests": {"cpu": cpu, "memory": memory}, "limits": {"memory": memory}}
    if gpus:
        resources["limits"][resource] = gpus if isinstance(gpus, str) else str(gpus)
        if not limits_only:
            resources["requests"][resource] = resources["limits"][resource]
    return {"name": name, "image": "registry.example.org/train:1", "resources": resources, **more}


def owner(kind, name, api_version="batch/v1"):
    return [{"apiVersion": api_version, "kind": kind, "name": name, "uid": f"uid-{kind}-{name}", "controller": True,
             "blockOwnerDeletion": True}]


def pod(name, gpus=1, *, on="", namespace="team", cpu="1", memory="1Gi", owners=None, labels=None, annotations=None,
        phase=None,
        priority=0, created="2026-11-28T12:00:00Z", started="2026-11-28T12:01:00Z", containers=None, resource=GPU,
        **spec):
    """Returns a pod that runs on a node, or waits for one."""
    metadata = {"name": name, "namespace": namespace, "uid": f"uid-{namespace}-{name}", "creationTimestamp": created}
    for key, value in (("labels", labels), ("annotations", annotations), ("ownerReferences", owners)):
        if value:
            metadata[key] = value
    made = {"containers": [container(gpus, cpu, memory, resource=resource)] if containers is None else containers,
            "restartPolicy": "Never", "schedulerName": "default-scheduler", "priority": priority,
            "preemptionPolicy": "PreemptLowerPriority",
            "tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute",
                             "tolerationSeconds": 300}]}
    made["tolerations"] += spec.pop("tolerations", [])
    made.update(spec)
    status = {"phase": phase or ("Running" if on else "Pending"), "qosClass": "Burstable"}
    if on:
        made["nodeName"] = on
        status["startTime"] = started
    else:
        status["conditions"] = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made, "status": status}


def job(name, parallelism=1, *, gpus=1, namespace="team", suspend=False, completions=None, status=None, owners=None,
        labels=None,
        cpu="1", memory="1Gi", created="2026-11-28T11:00:00Z", template_labels=None, **spec):
    metadata = {"name": name, "namespace": namespace, "creationTimestamp": created}
    if owners:
        metadata["ownerReferences"] = owners
    if labels:
        metadata["labels"] = labels
    template = {"metadata": {"labels": {"batch.kubernetes.io/job-name": name, **(template_labels or {})}},
                "spec": {"containers": [container(gpus, cpu, memory)], "restartPolicy": "Never", **spec}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata,
            "spec": {"parallelism": parallelism, "completions": parallelism if completions is None else completions,
                     "suspend": suspend, "template": template}, "status": status or {}}


def listed(*objects):
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}
