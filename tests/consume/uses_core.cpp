#include <goodput/core/placement.hpp>
#include <goodput/version.hpp>

int main() {
    const goodput::Cluster cluster{{"a100"}, {{"n0", 0, 8}, {"n1", 0, 8}}};
    goodput::validate(cluster);
    return !goodput::version.empty() && goodput::allotment_of({{0, 8}, {1, 8}}, cluster).occupied_gpus() == 16
               ? 0
               : 1;
}
