// goodput: the library through a pipe. Each subcommand does one job: JSON lines in, JSON lines out.

#include <algorithm>
#include <cmath>
#include <exception>
#include <filesystem>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "goodput/version.hpp"
#include "json/names.hpp"
#include "plan/allot.hpp"
#include "plan/fit.hpp"
#include "plan/parallel.hpp"
#include "plan/peer_models.hpp"
#include "plan/plan.hpp"
#include "plan/policies.hpp"
#include "plan/share.hpp"
#include "replay/contenders.hpp"
#include "replay/replay.hpp"
#include "replay/replay_options.hpp"
#include "replay/scene.hpp"
#include "worlds/replay_elasticflow.hpp"
#include "worlds/replay_fixed.hpp"
#include "worlds/replay_synergy.hpp"
#include "worlds/replay_tasks.hpp"
#include "worlds/replay_time_shared.hpp"

namespace {

constexpr int wrong_options = 2;

const std::string lines_footer =
    "Every line of input gets one line of output. One that cannot be used (an empty one too) gets\n"
    "{\"line\": N, \"error\": \"...\"}; the others are still served, and the exit status is 1 at the end.";

/// Accepts numbers for which `holds`. Messages say `expected`, and do not mention the largest number of the
/// type.
CLI::Validator number_that(bool (*holds)(double), const std::string& expected) {
    return CLI::Validator(
        [holds, expected](std::string& text) {
            double number = 0;
            const bool good = CLI::detail::lexical_cast(text, number) && holds(number);
            return good ? std::string() : text + " is not " + expected;
        },
        "");
}
const CLI::Validator at_least_0 =
    number_that([](double number) { return number >= 0 && std::isfinite(number); }, "a number of at least 0");
const CLI::Validator above_0 =
    number_that([](double number) { return number > 0 && std::isfinite(number); }, "a number above 0");

void add_strict(CLI::App* app, bool& strict, const std::string& more = "") {
    app->add_flag("--strict", strict,
                  "Refuse lines with unknown fields or GPU types" + more +
                      ", which are otherwise warned of on standard error, once each");
}

/// Throws std::invalid_argument if the first word is not a command.
void check_command(const CLI::App& app, const std::string& word) {
    std::vector<std::string> names;
    for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
        names.push_back(command->get_name());
    if (std::find(names.begin(), names.end(), word) != names.end()) return;
    throw std::invalid_argument("there is no command '" + word + "'" + cli::did_you_mean(word, names) +
                                "; there are " + cli::joined(names));
}

/// Returns what the parsed command does not have, an option or a file as argument, or an empty text.
std::string not_expected(const CLI::App& app) {
    for (const CLI::App* command : app.get_subcommands()) {
        std::vector<std::string> names;
        for (const CLI::Option* option : command->get_options())
            for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
        for (const std::string& word : app.remaining(true)) {
            const std::string name = word.substr(0, word.find('='));
            if (name.starts_with("--") && name != "--")
                return command->get_name() + " has no option '" + name + "'" +
                       cli::did_you_mean(name, names) + "; see goodput " + command->get_name() + " --help\n";
        }
        for (const std::string& word : app.remaining(true))
            if (command->get_name() != "replay" && std::filesystem::exists(word))
                return command->get_name() + " reads standard input: goodput " + command->get_name() + " < " +
                       word + "\n";
    }
    return "";
}

/// Returns that an option was given too often, or an empty text: CLI11 says "At Most 1 required".
std::string given_twice(const CLI::ParseError& error) {
    const std::string message = error.what();
    const std::size_t end = message.find(": At Most 1 required");
    return end == std::string::npos ? "" : message.substr(0, end) + " may be given only once\n";
}

/// Returns the exit status of a command line that cannot be parsed, or that asks for help.
int end_with(const CLI::App& app, const CLI::ParseError& error) {
    std::ostringstream out, messages;
    const bool fine = app.exit(error, out, messages) == 0;
    std::cout << out.str();
    std::string message = fine ? "" : not_expected(app);
    if (message.empty()) message = given_twice(error);
    if (message.empty()) message = messages.str();
    if (!message.empty()) std::cerr << "goodput: " << cli::shortened(message);
    return fine ? 0 : wrong_options;
}

/// Returns the command as typed in a shell, without the files and folders that it writes: a page should not
/// depend on where it is kept.
std::string command_line(int argc, char** argv) {
    std::string line = "goodput";
    for (int i = 1; i < argc; ++i) {
        const std::string word = argv[i];
        const std::string name = word.substr(0, word.find('='));
        if (name == "--report" || name == "--csv" || name == "--latex" || name == "--charts") {
            if (name == word) ++i;
            continue;
        }
        const bool plain = !word.empty() && word.find_first_not_of(
                                                "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                "0123456789-_=+:,./@%") == std::string::npos;
        if (plain) {
            line += ' ' + word;
            continue;
        }
        line += " '";
        for (const char letter : word) line += letter == '\'' ? std::string("'\\''") : std::string(1, letter);
        line += '\'';
    }
    return line;
}

int run(int argc, char** argv) {
    CLI::App app("Which job gets how many GPUs of which type, on which nodes, with which batch size.",
                 "goodput");
    app.require_subcommand(1);
    app.set_version_flag("--version", std::string(goodput::version));

    cli::AllotCommand allot;
    CLI::App* allot_app = app.add_subcommand("allot", "Solve allotment problems, one JSON document a line");
    allot_app->add_flag("--warm", allot.warm,
                        "Start every line from the prices of the line before, as rounds of one cluster may");
    allot_app->add_flag("--cold")
        ->description("Start every line anew, which is done in any case without --warm")
        ->excludes("--warm");
    CLI::Option* relax =
        allot_app->add_flag("--relax", allot.relax, "The linear relaxation: jobs may be split");
    allot_app
        ->add_flag(
            "--explain", allot.explain,
            "Add \"explanations\": why every job got what it got, what a unit of every resource is worth")
        ->excludes(relax);
    const std::string proof_text =
        "File that gets a certificate of the bound in the format VIPR 1.1, which other programs can check; "
        "that of "
        "line N > 1 is FILE.N. Adds \"proof\"";
    allot_app->add_option("--proof", allot.proof, proof_text)->excludes(relax);
    allot_app->footer(
        lines_footer +
        "\n\nWhere the jobs that must run do not fit together, status is \"infeasible\": every choice is "
        "null\n(with --relax: empty), objective, bound and prices mean nothing and are 0. \"conflict\" then "
        "names "
        "jobs\nthat do not fit together as whole jobs, though all but any one of them do, and the resources "
        "that "
        "they lack\n(both empty if that could not be found out by the deadline).");

    add_strict(allot_app, allot.strict);

    bool strict_fit = false, strict_share = false;
    CLI::App* fit_app =
        app.add_subcommand("fit", "Fit a job's measurements and predict, one JSON document a line");
    add_strict(fit_app, strict_fit);
    fit_app->footer(lines_footer);

    cli::PlanCommand plan;
    std::string models;
    CLI::App* plan_app = app.add_subcommand("plan", "Plan scheduling rounds, one JSON document a line");
    plan_app->add_option("--policy", plan.policy, "One of " + std::string(cli::policy_names))
        ->capture_default_str();
    plan_app
        ->add_option("--policy-option", plan.policy_options,
                     "Setting of the policy, key=value; may be repeated")
        ->allow_extra_args(false);
    plan_app->add_option(
        "--models", models,
        "How jobs learn their speed: Pollux's seven parameters, fitted to each GPU type alone, and Sia's "
        "projection to others (separate); the same as in Sia's public simulator (published); or models of "
        "all GPU types of a job together (refined), as if left out");
    plan_app->add_flag("--explain", plan.explain,
                       "Add \"why\" to every job of the plan: why it has what it has, and what would change "
                       "that");
    plan_app->add_flag(
        "--advise", plan.advise,
        "Add \"advice\": how many nodes of each of the line's \"offers\" are worth their price");
    plan_app->add_option("--memory", plan.memory,
                         "File that keeps what is remembered of jobs: read at the start, if it is there, and "
                         "written after every line. Promises are not in it");
    plan_app->add_option("--proof", plan.proof, proof_text);
    add_strict(plan_app, plan.strict, ", invalid jobs or nodes");
    plan_app->footer(lines_footer + "\nWhat a line says is then forgotten as if it had not been read.");

    CLI::App* share_app = app.add_subcommand(
        "share", "Share GPU types by time among jobs of a fixed size, one JSON document a line");
    add_strict(share_app, strict_share);
    share_app->footer("Objectives: " + cli::share_objective_names() + ".\n" + lines_footer);

    cli::ParallelCommand parallel;
    CLI::App* parallel_app = app.add_subcommand(
        "parallel",
        "Cut large models into stages on GPUs of several types and zones, one JSON document a line");
    parallel_app
        ->add_option("--profiles", parallel.profiles,
                     "Folder of what was measured layer by layer: profiles_tmp.json, llm_info.json, "
                     "multizone_bandwidths_het.json, communication_cost.json")
        ->required();
    parallel_app
        ->add_option("--time-model", parallel.time_model,
                     "How time and memory follow from the profiles: as in Sailor's public simulator "
                     "(published), or with constants fitted to measured runs (refined)")
        ->check(CLI::IsMember(cli::time_model_names()))
        ->capture_default_str();
    parallel_app->add_option("--report", parallel.report,
                             "HTML file: timeline of the stages and memory of the GPUs of each plan, at the "
                             "end of the input (of the last 20)");
    add_strict(parallel_app, parallel.strict);
    parallel_app->footer(
        lines_footer +
        "\n\nA line with \"plan\" is only evaluated. Where no plan fits, it is null, and \"why\" says what "
        "stands in the way.");

    cli::ReplayCommand replay;
    std::vector<std::string> world_names;
    for (const cli::ReplayWorld& world : cli::replay_worlds()) world_names.emplace_back(world.name);
    CLI::App* replay_app = app.add_subcommand("replay", "Replay a trace of jobs under each policy");
    const auto group = [&](const std::string& name) { return replay_app->option_defaults()->group(name); };

    group("What is replayed");
    replay_app
        ->add_option(
            "--world", replay.world,
            "How jobs train, as in a public simulator: Sia's (sia); Gavel's (gavel), jobs of fixed numbers "
            "of GPUs that take turns; Synergy's (synergy), where CPU cores and memory are shared out, too; "
            "Shockwave's (shockwave), turns of jobs whose batches grow; ElasticFlow's "
            "(elasticflow), elastic jobs with deadlines")
        ->check(CLI::IsMember(world_names))
        ->capture_default_str();
    replay_app->add_option(
        "--workload", replay.workload,
        "CSV file: name,time,application,num_replicas,batch_size; an embedded one if left out");
    replay_app->add_option(
        "--profiles", replay.profiles,
        "Folder of measured applications (seconds of a step; progress in iterations at the smallest batch "
        "size); embedded models of five if left out");
    replay_app->add_option(
        "--cluster", replay.cluster,
        std::string("Nodes by GPU type, TYPE:NODESxGPUS[/spot][/MTBF_H],...: spot nodes are a pool of their "
                    "own, called TYPE-spot-0 and so on; each node of such a group is lost once in MTBF_H "
                    "hours on average; if left out ") +
            cli::usual_cluster + ", with --profiles " + cli::usual_measured_cluster);
    replay_app
        ->add_option("--load", replay.load,
                     "Divides the times of submission: with 2 the same jobs come in half the time")
        ->capture_default_str();
    replay_app
        ->add_option(
            "--trace-seed", replay.trace_seed,
            "Which trace: of the embedded mix, other jobs at other times (1 if left out); of a file, "
            "its jobs in another order at the same times (as they are if left out)")
        ->check(at_least_0);
    replay_app->add_option(
        "--events", replay.events,
        "CSV file: time,event,subject,gpu_type,gpus; what happens on the way: job_fails, node_fails, "
        "node_drains, node_returns, node_added (the last two columns are for this one, and empty else)");
    replay_app
        ->add_option("--rates", replay.rates,
                     "Examples a second of one GPU of each type, as jobs declare them: known before their "
                     "first run (given) or not (none)")
        ->check(CLI::IsMember({"given", "none"}))
        ->capture_default_str();

    group("Who decides");
    replay_app
        ->add_option("--policy", replay.policies,
                     "One or more of " + cli::contender_names() +
                         ", separated by commas; all of these if left out. In sia, too, on jobs of a fixed "
                         "size: " +
                         cli::fixed_policy_names() + ". In gavel: " + cli::gavel_policy_names() +
                         "; in shockwave: " + cli::shockwave_policy_names() + "; in elasticflow: " +
                         cli::elasticflow_policy_names() + "; in tasks: " + cli::tasks_policy_names())
        ->delimiter(',')
        ->allow_extra_args(false);
    replay_app
        ->add_option("--policy-option", replay.policy_options,
                     "Setting of the policy, key=value; may be repeated, with one policy only")
        ->allow_extra_args(false);
    replay_app->add_option(
        "--models", replay.models,
        "How jobs learn their speed: as in Sia's public simulator (published), the same model "
        "fitted exactly (separate), or models of all GPU types together (refined); if left out "
        "refined for sia-refined, goodput and goodput-declared, published for the others");
    replay_app
        ->add_option("--sizes", replay.sizes,
                     "Whether policies that can choose how many GPUs and which batch a job has do so "
                     "(elastic), or keep to those of the trace (fixed)")
        ->check(CLI::IsMember({"elastic", "fixed"}))
        ->capture_default_str();
    replay_app
        ->add_option("--moves", replay.moves,
                     "What other nodes of the same shape cost a job: nothing (free) or a restart")
        ->check(CLI::IsMember({"free", "restart"}))
        ->capture_default_str();
    CLI::Option* interval = replay_app
                                ->add_option("--interval", replay.interval_seconds,
                                             "Seconds from one decision to the next; 360 in gavel, and for "
                                             "its policies in sia; 300 in synergy, 120 in shockwave; in "
                                             "elasticflow a slot, that of the trace; in "
                                             "tasks at most 3600")
                                ->capture_default_str();
    replay_app->add_option("--seed", replay.seed, "Breaks ties between equal values; 0: as they come")
        ->check(at_least_0)
        ->capture_default_str();

    group("What comes out");
    CLI::Option* json =
        replay_app->add_flag("--json", replay.json, "One JSON document a policy and line instead of a table");
    replay_app
        ->add_flag("--jobs", replay.jobs,
                   "Add \"completions\" to --json: name, completion_h (hours from submission to completion) "
                   "and restarts of every job")
        ->needs(json);
    replay_app->add_option("--report", replay.report,
                           "HTML file: figures, completion times, who held which GPUs when, prices");
    replay_app->add_option("--csv", replay.csv, "CSV file: a row a policy, with the fields of --json");
    replay_app->add_option("--latex", replay.latex,
                           "LaTeX file: the tables, the best of each column in bold");
    replay_app->add_option("--charts", replay.charts,
                           "Folder, made where it is not there: each chart as an SVG file");

    group("Failures and checkpoints");
    replay_app
        ->add_option("--node-mtbf-h", replay.node_mtbf_hours,
                     "Each node fails at random, once in this many hours on average, in addition to "
                     "--events; 0: never")
        ->check(at_least_0)
        ->capture_default_str();
    replay_app->add_option("--node-off-s", replay.node_off_seconds, "Seconds until such a node returns")
        ->check(at_least_0)
        ->capture_default_str();
    replay_app
        ->add_option("--interruptions-seed", replay.interruptions_seed, "Which random failures these are")
        ->check(at_least_0)
        ->capture_default_str();
    replay_app
        ->add_option(
            "--checkpoint", replay.checkpoint_seconds,
            "Seconds of training from one checkpoint to the next; there is also one after every epoch")
        ->capture_default_str();
    replay_app
        ->add_option(
            "--checkpoints", replay.checkpoints,
            "They cost nothing (free); or half a restart, after every --checkpoint seconds (fixed), or "
            "as often as loses least (chosen). If left out free, and chosen where nodes fail at random")
        ->check(CLI::IsMember({"free", "fixed", "chosen"}));
    replay_app
        ->add_option(
            "--availability", replay.availability,
            "Whether values count what interruptions are expected to cost (values), or policies value "
            "goodput as if nodes never failed (ignored)")
        ->check(CLI::IsMember({"values", "ignored"}))
        ->capture_default_str();

    group("Nodes that are rented");
    replay_app->add_option(
        "--offers", replay.offers,
        "Nodes to rent instead of --cluster, which then only says the GPU types and what fairness is "
        "relative to: TYPE:NODESxGPUS@PRICE_H[/spot][/MTBF_H],...; at most this many nodes, at this price in "
        "dollars per hour each, lost once in MTBF_H hours on average");
    replay_app
        ->add_option(
            "--rent", replay.rent,
            "Who says how many nodes of --offers there are: what jobs are worth (ours), Pollux's band "
            "of utility (pollux), or all of them always (fixed); if left out ours")
        ->check(CLI::IsMember({"ours", "pollux", "fixed"}));
    replay_app
        ->add_option("--hour-worth", replay.hour_worth,
                     "Dollars that an hour is worth in which a job is not complete")
        ->check(above_0)
        ->capture_default_str();
    replay_app
        ->add_option("--rent-start-s", replay.rent_start_seconds,
                     "Seconds from the order of a node, which is paid, to its first job")
        ->check(at_least_0)
        ->capture_default_str();

    group("The worlds synergy and shockwave");
    replay_app
        ->add_option("--host", replay.hosts,
                     "Who gives cores and memory in synergy: one or more of " + cli::synergy_host_names() +
                         ", separated by commas; all if left out. Each goes with each --policy, which is "
                         "then one or more of " +
                         cli::synergy_policy_names())
        ->delimiter(',')
        ->allow_extra_args(false);
    replay_app->add_option("--cores", replay.cores, "CPU cores of a node in synergy; 24 if left out");
    replay_app->add_option("--memory-gib", replay.memory_gib,
                           "Memory of a node in synergy, in GiB; 500 if left out");
    replay_app->add_option("--placement", replay.placement,
                           "Which nodes the published allocators of synergy look at first: those with the "
                           "fewest free GPUs (synergy, if left out), or the first ones (random)");
    replay_app->add_option("--table", replay.table,
                           "Which of the tables of speeds counts in shockwave; tacc if left out");
    replay_app->footer(
        "JCT: job completion time, hours from submission to completion. rho: that over what the job\n"
        "would take alone with a share 1/N of the cluster, N being the average number of jobs during\n"
        "its life (finish-time fairness). Effective GPUs: how many, each the fastest for its job and\n"
        "never idle, would have done the same. Nodes are called TYPE-0, TYPE-1 and so on; failures\n"
        "strike at their second, other events act with the next decision.\n\n"
        "Profiles: APPLICATION/placements-TYPE.csv and scalability-TYPE.csv have step_time and sync_time in\n"
        "seconds; validation-BATCH.csv has a row an epoch, whose progress counts the iterations done by its\n"
        "end, as many as it takes at the smallest BATCH that there is a file of.");

    try {
        if (argc > 1 && argv[1][0] != '-') check_command(app, argv[1]);
        app.parse(argc, argv);
        const auto serve = [](bool strict, cli::ServeDocument server) {
            return serve_lines(std::cin, std::cout, strict, std::move(server));
        };
        if (allot_app->parsed()) return serve(allot.strict, allot_server(allot));
        if (fit_app->parsed()) return serve(strict_fit, cli::fit_server());
        if (plan_app->parsed()) return serve(plan.strict, plan_server(plan, cli::plan_models(models)));
        if (share_app->parsed()) return serve(strict_share, cli::share_server());
        if (parallel_app->parsed()) return run_parallel(parallel, std::cin, std::cout);
        replay.own_rounds = interval->count() == 0;
        if (replay.own_rounds) replay.interval_seconds = cli::world_called(replay.world).interval_seconds;
        for (const CLI::Option* option : replay_app->get_options())
            if (option->count() > 0) replay.given.push_back(option->get_name());
        replay.line = command_line(argc, argv);
        return run_replay(replay, std::cout);
    } catch (const CLI::ParseError& error) {
        return end_with(app, error);
    } catch (const std::invalid_argument& error) {
        std::cerr << "goodput: " << cli::shortened(error.what()) << '\n';
        return wrong_options;
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::ios::sync_with_stdio(false);
    try {
        return run(argc, argv);
    } catch (const std::exception& error) {
        std::cerr << "goodput: " << cli::shortened(error.what()) << '\n';
        return 1;
    }
}
