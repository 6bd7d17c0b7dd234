// Values of one's own type: whole cents instead of floating-point numbers, added up exactly. Which bids win
// the GPUs of a night, and at which price a GPU?

#include <cstdint>
#include <goodput/allot/allot.hpp>
#include <iostream>

// [values]
using Cents = std::int64_t;
using Bids = goodput::BasicAllotmentProblem<Cents>;
// [/values]

int main() {
    Bids bids;
    bids.capacity = {16, 8};  // T4, A100
    for (Cents bidder = 0; bidder < 40; ++bidder) {
        bids.add_job();
        bids.add_option(100 * (5 + bidder % 7) + 1, {{0, 2}});
        bids.add_option(100 * (9 + bidder % 11) + 3, {{0, 4}});
        bids.add_option(100 * (12 + bidder % 13) + 7, {{1, 1}});
    }
    const goodput::AllotResult won = goodput::allot(bids, {.gap = 0});

    Cents sum = 0;
    double t4 = 0, a100 = 0;
    for (std::size_t bidder = 0; bidder < bids.jobs(); ++bidder) {
        if (won.choice[bidder] == goodput::no_option) continue;
        sum += bids.value(bidder, won.choice[bidder]);
        for (const goodput::ResourceUse& use : bids.uses(bidder, won.choice[bidder]))
            (use.resource == 0 ? t4 : a100) += use.units;
    }
    std::cout << won.report() << "\n"
              << t4 << " T4 and " << a100 << " A100 for " << sum / 100 << "." << sum % 100 / 10 << sum % 10
              << "; prices " << won.prices[0] << " and " << won.prices[1] << " cents a GPU\n";
    const bool exact =
        won.objective == static_cast<double>(sum) && won.status == goodput::AllotStatus::optimal;
    return exact && t4 <= 16 && a100 <= 8 ? 0 : 1;
}
