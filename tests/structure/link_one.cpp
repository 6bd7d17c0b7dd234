// Two such sources form one program: it links only if everything in the headers is inline or a template.
#include "goodput/agent.hpp"
#include "goodput/availability.hpp"
#include "goodput/deadlines.hpp"
#include "goodput/goodput.hpp"
#include "goodput/hadar.hpp"
#include "goodput/hosts.hpp"
#include "goodput/memory.hpp"
#include "goodput/moves.hpp"
#include "goodput/pairs.hpp"
#include "goodput/parallel.hpp"
#include "goodput/policies.hpp"
#include "goodput/proof.hpp"
#include "goodput/proving.hpp"
#include "goodput/share.hpp"
#include "goodput/sim.hpp"
#include "goodput/statistics.hpp"
#include "goodput/tasks.hpp"

std::string_view version_of_the_other();

namespace {

/// Uses functions whose bodies may be in one of several sources.
struct Mine {
    [[nodiscard]] static double value(const goodput::Round&, const goodput::Job&,
                                      const goodput::Option& option) {
        return option.goodput;
    }
};

bool plans() {
    const goodput::Snapshot nobody{.cluster = {{"A"}, {{"node", 0, 4}}}};
    goodput::JobMemory memory;
    goodput::PairedScheduler<Mine> paired;
    goodput::PromisedScheduler promised{goodput::Scheduler(Mine())};
    return goodput::plan(nobody, Mine()).decisions.empty() && paired.plan(nobody, {}).decisions.empty() &&
           promised.plan(nobody, {}).decisions.empty() && !memory.save().empty();
}

}  // namespace

int main() { return version_of_the_other() == goodput::version && plans() ? 0 : 1; }
