#include <goodput/schedule/scheduler.hpp>

using namespace goodput;

struct Right {
    void list(const Round&, const Job&, std::span<const int>, std::vector<Option>&) {}
};
struct RightConst {
    void list(const Round&, const Job&, std::span<const int>, auto& options) const { options.clear(); }
    static double ask(const Round&, const Job&, std::span<const int>, const AtPrices&, double,
                      std::vector<Option>&) {
        return 0;
    }
};
Snapshot now;
Plan right = Scheduler<Sia>().offering(Right{}).plan(now);
Plan right_const = Scheduler<Sia>().offering(RightConst{}).plan(now);

struct Misspelled {
    void lists(const Round&, const Job&, std::span<const int>, std::vector<Option>&) {}
};
// says: OptionMaker: list is missing, or is not: void list(
Plan misspelled = Scheduler<Sia>().offering(Misspelled{}).plan(now);

class PrivateMaker {
    void list(const Round&, const Job&, std::span<const int>, std::vector<Option>&) {}
};
// says: OptionMaker: list is missing, or is not:
Plan private_maker = Scheduler<Sia>().offering(PrivateMaker{}).plan(now);

struct WithoutMost {
    void list(const Round&, const Job&, std::vector<Option>&) {}
};
// says: OptionMaker: list is missing, or is not:
// says: std::span<const int> most_gpus, std::vector<Option>& options
Plan without_most = Scheduler<Sia>().offering(WithoutMost{}).plan(now);

struct ReturnsOptions {
    std::vector<Option> list(const Round&, const Job&, std::span<const int>) { return {}; }
};
// says: OptionMaker: list is missing, or is not:
Plan returns_options = Scheduler<Sia>().offering(ReturnsOptions{}).plan(now);

struct OfACopy {
    void list(const Round&, const Job&, std::span<const int>, std::vector<Option>) {}
};
// says: OptionMaker: list takes a copy of the options, or const ones, and adds nothing
Plan of_a_copy = Scheduler<Sia>().offering(OfACopy{}).plan(now);

struct OfASpan {
    void list(const Round&, const Job&, std::span<int>, std::vector<Option>&) {}
};
// says: OptionMaker: list is missing, or is not:
Plan of_a_span = Scheduler<Sia>().offering(OfASpan{}).plan(now);

struct ChangesJob {
    void list(const Round&, Job&, std::span<const int>, std::vector<Option>&) {}
};
// says: OptionMaker: list is missing, or is not: void list(const Round&, const Job&,
auto changes_job = Scheduler<Sia>().offering(ChangesJob{});

struct AsksForNothing : Right {
    void ask(const Round&, const Job&, std::span<const int>, const AtPrices&, double, std::vector<Option>&) {}
};
// says: PricedOptionMaker: ask is not: double ask(
Plan asks_for_nothing = Scheduler<Sia>().offering(AsksForNothing{}).plan(now);

struct AsksWithoutLeast : Right {
    double ask(const Round&, const Job&, std::span<const int>, const AtPrices&, std::vector<Option>&) {
        return 0;
    }
};
// says: PricedOptionMaker: ask is not:
Plan asks_without_least = Scheduler<Sia>().offering(AsksWithoutLeast{}).plan(now);

struct PredictsWithoutAsking : Right {
    void predict(const Job&, const std::optional<GradientStatistics>&, std::span<Option>) {}
};
// says: PredictingMaker: predict does not take these arguments
Plan predicts_without_asking = Scheduler<Sia>().offering(PredictsWithoutAsking{}).plan(now);

struct WhyNot : Right {
    bool why_none(const Round&, const Job&) { return false; }
};
// says: ReasonMaker: why_none is not: std::string why_none(const Round&, const Job&)
Plan why_not = Scheduler<Sia>().offering(WhyNot{}).plan(now);

struct KeepsWithoutRound : Right {
    void list_kept(const Job&, std::vector<Option>&) {}
};
// says: KeptMaker: list_kept does not take these arguments
Plan keeps_without_round = Scheduler<Sia>().offering(KeepsWithoutRound{}).plan(now);

struct Asked : ListedShapes {
    double ask(const Round&, const Job&, std::span<const int>, const AtPrices&, double,
               std::vector<Option>&) {
        return 0;
    }
};
struct WholeRounds {
    void value_round(const Round&, std::span<const OptionRow>) const {}
};
// says: ValuesBeside
// says: double value_beside(round, row, option) const
Scheduler<WholeRounds, LeastMovesPlacer, Allotter<>, GoodputPredictor, Limits<>, Asked> no_value_beside;
