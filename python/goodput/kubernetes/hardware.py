"""Finds out which resources of a node are accelerators, and of which type."""

from __future__ import annotations

import re
from typing import Dict

# The names that device plugins give to whole GPUs and parts of them. The resource "gpu" of any vendor counts.
_ACCELERATORS = re.compile(
    r"nvidia\.com/(gpu\.shared|mig-[0-9a-z.+-]+?(\.shared)?)"
    r"|amd\.com/[a-z]+_nps[0-9]+"
    r"|gpu\.intel\.com/(i915|xe)"
    r"|habana\.ai/gaudi[0-9]*"
    r"|google\.com/tpu|aws\.amazon\.com/neuron|huawei\.com/ascend[0-9a-z-]*|cambricon\.com/mlu[0-9]*"
    r"|[a-z0-9.-]+/gpu", re.IGNORECASE)

# Labels that name the product, the most exact first. Each applies to accelerators of the given vendor, or of any.
_PRODUCTS = (("nvidia.com/gpu.product", "nvidia.com"), ("amd.com/gpu.product-name", "amd.com"),
             ("beta.amd.com/gpu.product-name", "amd.com"), ("gpu.intel.com/product", "gpu.intel.com"),
             ("cloud.google.com/gke-accelerator", ""), ("cloud.google.com/gke-tpu-accelerator", "google.com"),
             ("karpenter.k8s.aws/instance-gpu-name", ""), ("karpenter.azure.com/sku-gpu-name", ""),
             ("gpu.nvidia.com/model", "nvidia.com"), ("node.kubernetes.io/instance-type", ""),
             ("beta.kubernetes.io/instance-type", ""))


class Accelerators:
    """The resources that count as accelerators: known ones, and those that the user names."""

    def __init__(self, more: "tuple[str, ...]" = ()) -> None:
        self._more = frozenset(more)

    def __contains__(self, resource: str) -> bool:
        return resource in self._more or _ACCELERATORS.fullmatch(resource) is not None


def is_part(resource: str) -> bool:
    """Whether the resource is part of a GPU, or a share of one."""
    return "/mig-" in resource or resource.endswith(".shared") or "_nps" in resource


def product_of(resource: str, labels: Dict[str, str]) -> str:
    """Returns the GPU type of a node's resource, such as NVIDIA-A100-SXM4-80GB. Without a label of the product it is
    the instance type, and without that the resource. For a part of a GPU, the part's name is appended."""
    vendor, _, device = resource.partition("/")
    product = next((labels[label] for label, of_vendor in _PRODUCTS
                    if labels.get(label) and of_vendor in ("", vendor)), "")
    if not product:
        return resource
    whole = device.lower() in ("gpu", "i915", "xe", "tpu", "neuron") or device.lower().startswith("gaudi")
    part = device[4:] if device.startswith("mig-") else device
    if whole or product.endswith(part):  # nvidia.com/gpu.product may name the part already: A100-SXM4-40GB-MIG-1g.10gb
        return product
    return f"{product}-MIG-{part}" if device.startswith("mig-") else f"{product}-{part}"
