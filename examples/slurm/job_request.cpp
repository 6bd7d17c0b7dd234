#include "job_request.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "goodput/core/detail/names.hpp"
#include "goodput/core/error.hpp"
#include "json/text_parts.hpp"

namespace slurm {

namespace {

using cli::next_part;

constexpr std::string_view known_keys[]{"gpus", "batch", "local", "rate", "restart", "work", "pause"};

bool is_known(std::string_view key) {
    return std::find(std::begin(known_keys), std::end(known_keys), key) != std::end(known_keys);
}

/// Words of a comment: "key=value", or a key alone.
class Comment {
public:
    explicit Comment(const Job& job) : subject_("job " + job.id + ", comment") {
        std::string_view rest = job.comment;
        next_part(rest, ' ');  // goodput
        while (!rest.empty()) {
            std::string_view value = next_part(rest, ' ');
            if (value.empty()) continue;
            const std::string_view key = next_part(value, '=');
            if (!is_known(key))
                goodput::bad_input(subject_, "key", key,
                                   "gpus, batch, local, rate, restart, work or pause" +
                                       goodput::did_you_mean(key, known_keys));
            if (!values_.emplace(key, value).second)
                goodput::bad_input(subject_, key, std::string_view("given twice"), "given once");
        }
    }

    [[nodiscard]] bool has(std::string_view key) const { return values_.contains(key); }
    [[nodiscard]] std::string_view value(std::string_view key, std::string_view expected) const {
        const auto found = values_.find(key);
        if (found == values_.end()) goodput::bad_input(subject_, key, std::string_view("missing"), expected);
        return found->second;
    }

    template <class Number>
    [[nodiscard]] Number number(std::string_view key, std::string_view text,
                                std::string_view expected) const {
        const auto number = cli::number_in<Number>(text);
        if (!number) goodput::bad_input(subject_, key, value(key, expected), expected);
        return *number;
    }

    /// "least-most".
    [[nodiscard]] std::pair<int, int> range(std::string_view key, std::string_view text,
                                            std::string_view expected) const {
        std::string_view most = text;
        const std::string_view least = next_part(most, '-');
        const std::pair<int, int> range{number<int>(key, least, expected), number<int>(key, most, expected)};
        if (range.first > range.second) goodput::bad_input(subject_, key, value(key, expected), expected);
        return range;
    }

    /// Calls visit(type, text) for the parts of "TYPE:text,TYPE:text".
    template <class Visit>
    void by_type(std::string_view key, std::string_view expected, Visit visit) const {
        for (std::string_view rest = value(key, expected); !rest.empty();) {
            std::string_view text = next_part(rest, ',');
            const std::string_view type = next_part(text, ':');
            visit(type, text);
        }
    }

private:
    std::string subject_;
    std::map<std::string_view, std::string_view> values_;
};

}  // namespace

bool is_elastic(const Job& job) {
    std::string_view rest = job.comment;
    return next_part(rest, ' ') == "goodput";
}

void require_no_slip(const Job& job) {
    constexpr std::string_view meant[]{"goodput"};
    std::string_view rest = job.comment;
    const std::string_view first = next_part(rest, ' ');
    int known = 0;
    for (rest = job.comment; !rest.empty();) {
        std::string_view value = next_part(rest, ' ');
        const std::string_view key = next_part(value, '=');
        if (!value.empty() && is_known(key)) ++known;
    }
    if (first == meant[0] || known == 0 || (known == 1 && goodput::nearest_name(first, meant).empty()))
        return;
    goodput::bad_input("job " + job.id + ", comment", "first word", "'" + std::string(first) + "'",
                       "goodput, or the job is left as it is" + goodput::did_you_mean(first, meant));
}

JobRequest read_request(const Job& job, const std::vector<std::string>& gpu_types,
                        double usual_restart_seconds) {
    const Comment comment(job);
    JobRequest request;
    request.pause = comment.has("pause");
    if (!job.asks_per_node)
        goodput::bad_input("job " + job.id, "request for GPUs",
                           std::string_view("not of the form that can be changed"), "--gres=gpu:1");
    goodput::Job& wanted = request.job;
    wanted.name = job.id;
    constexpr std::string_view gpus = "fewest-most GPUs, as in gpus=1-8";
    std::tie(wanted.min_gpus, wanted.max_gpus) = comment.range("gpus", comment.value("gpus", gpus), gpus);
    constexpr std::string_view batch = "the initial and the largest total batch size, as in batch=128-4096";
    std::tie(wanted.initial_batch, wanted.max_batch) =
        comment.range("batch", comment.value("batch", batch), batch);
    wanted.restart_cost_seconds = usual_restart_seconds;
    request.restart_known = comment.has("restart");
    if (request.restart_known)
        wanted.restart_cost_seconds =
            comment.number<double>("restart", comment.value("restart", ""), "seconds");
    if (comment.has("work"))
        request.work = comment.number<double>("work", comment.value("work", ""), "useful examples");
    if (request.work && !(*request.work >= 0 && *request.work <= 1e15))
        goodput::bad_input("job " + job.id + ", comment", "work", *request.work,
                           "useful examples, 0 to 1e15");

    wanted.types.resize(gpu_types.size());
    const auto of_type = [&](std::string_view type, auto set) {
        const auto found = std::find(gpu_types.begin(), gpu_types.end(), type);
        const bool may_use = job.gpu_type.empty() || job.gpu_type == type;
        if (found != gpu_types.end() && may_use)
            set(wanted.types[static_cast<std::size_t>(found - gpu_types.begin())]);
    };
    constexpr std::string_view local = "least-most examples by GPU type, as in local=t4:1-64,a100:1-256";
    comment.by_type("local", local, [&](std::string_view type, std::string_view text) {
        const auto [least, most] = comment.range("local", text, local);
        of_type(type, [&, least = least, most = most](goodput::TypeLimits& limits) {
            limits.min_atomic_batch = least;
            limits.max_atomic_batch = most;
        });
    });
    constexpr std::string_view rate = "examples a second by GPU type, as in rate=t4:400,a100:2500";
    if (comment.has("rate"))
        comment.by_type("rate", rate, [&](std::string_view type, std::string_view text) {
            const double examples = comment.number<double>("rate", text, rate);
            of_type(type, [&](goodput::TypeLimits& limits) { limits.reference_rate = examples; });
        });
    return request;
}

}  // namespace slurm
