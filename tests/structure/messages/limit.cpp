#include <goodput/schedule/scheduler.hpp>

using namespace goodput;

struct Right {
    void rows(const Round&, LimitRows&) {}
    void uses(const Round&, const Job&, const Option&, LimitUses&) {}
    void start_job(const Round&, const Job&) {}
    bool counts_dollars() const { return false; }
};
struct RightConst {
    void rows(const Round&, auto& rows) const { rows.add("licences", 4, ""); }
    static void uses(const Round&, const Job&, Option, LimitUses) {}
};
Snapshot now;
Plan right = Scheduler<Sia>().limited_by(Right{}, RightConst{}).plan(now);

struct NoRows {
    void uses(const Round&, const Job&, const Option&, LimitUses&) {}
};
// says: Limit: rows is missing, or is not: void rows(const Round&, LimitRows&)
Plan no_rows = Scheduler<Sia>().limited_by(NoRows{}).plan(now);

struct NoUses {
    void rows(const Round&, LimitRows&) {}
    void use(const Round&, const Job&, const Option&, LimitUses&) {}
};
// says: Limit: uses is missing, or is not:
// says: void uses(const Round&, const Job&, const Option&, LimitUses&)
Plan no_uses = Scheduler<Sia>().limited_by(NoUses{}).plan(now);

struct RowsOfACopy : Right {
    void rows(const Round&, LimitRows) {}
};
// says: Limit: rows takes a copy of its rows, or const ones, and adds nothing
auto rows_of_a_copy = Scheduler<Sia>().limited_by(RowsOfACopy{});

struct RowsWithoutRound : Right {
    void rows(LimitRows&) {}
};
// says: Limit: rows is missing, or is not: void rows(const Round&, LimitRows&)
Plan rows_without_round = Scheduler<Sia>().limited_by(Right{}, RowsWithoutRound{}).plan(now);

struct RowsOfAVector : Right {
    void rows(const Round&, std::vector<LimitRow>&) {}
};
// says: Limit: rows is missing, or is not:
Plan rows_of_a_vector = Scheduler<Sia>().limited_by(RowsOfAVector{}).plan(now);

struct UsesWithoutJob : Right {
    void uses(const Round&, const Option&, LimitUses&) {}
};
// says: Limit: uses is missing, or is not:
Limits uses_without_job(UsesWithoutJob{});

struct UsesChangesOption : Right {
    void uses(const Round&, const Job&, Option&, LimitUses&) {}
};
// says: Limit: uses is missing, or is not: void uses(const Round&, const Job&, const Option&,
// LimitUses&)
Plan uses_changes_option = Scheduler<Sia>().limited_by(UsesChangesOption{}).plan(now);

struct UsesOfRows : Right {
    void uses(const Round&, const Job&, const Option&, std::vector<ResourceUse>&) {}
};
// says: Limit: uses is missing, or is not:
Limits<UsesOfRows> uses_of_rows;

class PrivateLimit {
    void rows(const Round&, LimitRows&) {}

public:
    void uses(const Round&, const Job&, const Option&, LimitUses&) {}
};
// says: Limit: rows is missing, or is not:
Plan private_limit = Scheduler<Sia>().limited_by(PrivateLimit{}).plan(now);

struct StartsWithoutRound : Right {
    void start_job(const Job&) {}
};
// says: Limit: start_job does not take these arguments: void start_job(const Round&, const Job&)
Plan starts_without_round = Scheduler<Sia>().limited_by(StartsWithoutRound{}).plan(now);

struct DollarsNotConst : Right {
    bool counts_dollars() { return true; }
};
// says: Limit: counts_dollars is not: bool counts_dollars() const
Plan dollars_not_const = Scheduler<Sia>().limited_by(DollarsNotConst{}).plan(now);

struct WarnsOfText : Right {
    std::string warn(const Round&) const { return ""; }
};
// says: Limit: warn is not: void warn(const Round&, std::vector<std::string>& warnings) const
Plan warns_of_text = Scheduler<Sia>().limited_by(WarnsOfText{}).plan(now);
