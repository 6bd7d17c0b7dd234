#include <goodput/fit/refined_fitter.hpp>
#include <iostream>

void fit() {  // {nodes, GPUs}, {batch a GPU, accumulation}, seconds
    const goodput::ThroughputSample samples[] = {{{1, 1}, {128, 0}, 0.31}, {{1, 2}, {128, 0}, 0.34}};
    std::cout << goodput::fit_refined(samples).report() << "\n";
}
