#include <goodput/goodput.hpp>

int main() {
    const goodput::Cluster cluster{{"a100"}, {{"n0", 0, 8}, {"n1", 0, 8}}};
    goodput::validate(cluster);
    return goodput::pools_of(cluster).size() == 1 ? 0 : 1;
}
