// Includes what goodput::goodput provides: the headers of the three libraries that our headers include.
#include <ceres/jet.h>
#include <ceres/tiny_solver.h>
#include <boost/graph/adjacency_list.hpp>
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <goodput/version.hpp>

int main() {
    const Eigen::Matrix2d identity = Eigen::Matrix2d::Identity();
    const boost::adjacency_list<> two_nodes(2);
    const ceres::Jet<double, 1> three{3.0, 0};
    const bool right = (three * three).v[0] == 6 && num_vertices(two_nodes) == 2 &&
                       identity.llt().solve(identity).isApprox(identity);
    return right && goodput::version == CONSUMER_VERSION ? 0 : 1;
}
