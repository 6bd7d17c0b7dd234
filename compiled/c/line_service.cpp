#include "goodput/line_service.hpp"

#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "json/json_lines.hpp"
#include "json/json_parse.hpp"
#include "plan/allot.hpp"
#include "plan/fit.hpp"
#include "plan/plan.hpp"
#include "plan/share.hpp"

namespace goodput {

namespace {

using cli::Field;
using cli::Json;

constexpr const char* subject = "options";

bool is_set(const Field& flag) { return flag.given() && flag.boolean(); }
std::string text_or_none(const Field& text) { return text.given() ? text.text() : std::string(); }

/// Returns the settings of a policy in the form of the command line, key=value.
std::vector<std::string> settings_of(const Json& options) {
    std::vector<std::string> settings;
    const auto given = options.find("policy_options");
    if (given == options.end() || given->is_null()) return settings;
    if (!given->is_object()) Field(options, subject)["policy_options"].refuse("an object");
    for (const auto& [name, value] : given->items())
        settings.push_back(name + "=" + (value.is_string() ? value.get<std::string>() : value.dump()));
    return settings;
}

/// Returns the server of the command that the options name. Refuses options that the command does not have.
cli::ServeDocument server_of(const Json& options) {
    std::ostream nowhere(nullptr);
    cli::Warnings none(nowhere, true);
    const Field field(options, subject, &none);
    const bool strict = is_set(field["strict"]);
    const Field command = field["command"];
    if (command.is("plan")) {
        field.knows(
            {"command", "policy", "policy_options", "explain", "advise", "memory", "proof", "strict"});
        cli::PlanCommand plan{.policy_options = settings_of(options),
                              .explain = is_set(field["explain"]),
                              .strict = strict,
                              .memory = text_or_none(field["memory"]),
                              .proof = text_or_none(field["proof"]),
                              .advise = is_set(field["advise"])};
        if (field["policy"].given()) plan.policy = field["policy"].text();
        return cli::plan_server(plan, cli::refined_models());
    }
    if (command.is("allot")) {
        field.knows({"command", "warm", "relax", "explain", "proof", "strict"});
        return cli::allot_server({.warm = is_set(field["warm"]),
                                  .relax = is_set(field["relax"]),
                                  .explain = is_set(field["explain"]),
                                  .strict = strict,
                                  .proof = text_or_none(field["proof"])});
    }
    field.knows({"command", "strict"});
    if (command.is("fit")) return cli::fit_server();
    if (command.is("share")) return cli::share_server();
    command.refuse("one of plan, allot, fit, share");
}

/// Parses the options; server_of() checks that the command has them.
Json options_of(std::string_view text) {
    std::vector<std::string> twice;
    try {
        return cli::parse_json(text, twice);
    } catch (const Json::exception& error) {
        throw std::invalid_argument(std::string(subject) + ": not JSON: " + error.what());
    }
}

}  // namespace

struct LineService::Inside {
    explicit Inside(const Json& options)
        : server(server_of(options), is_set(Field(options, subject)["strict"])) {}

    cli::LineServer server;
};

LineService::LineService(std::string_view options) : inside_(std::make_unique<Inside>(options_of(options))) {}
LineService::LineService(LineService&&) noexcept = default;
LineService& LineService::operator=(LineService&&) noexcept = default;
LineService::~LineService() = default;

std::string LineService::answer(std::string_view line) {
    return cli::text_of_document(inside_->server.answer(std::string(line)));
}

}  // namespace goodput
