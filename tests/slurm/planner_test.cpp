// A running job is never stopped because Slurm says nothing about it or its nodes.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "hands.hpp"
#include "planner.hpp"
#include "state.hpp"

#include <doctest/doctest.h>

namespace slurm_planner {

slurm::Job elastic(const std::string& id, std::vector<std::string> nodes = {}, int gpus_per_node = 0) {
    slurm::Job job;
    job.id = id;
    job.comment = "goodput gpus=1-8 batch=128-4096 local=a100:1-256 rate=a100:1000 restart=30";
    job.admin_comment = "goodput first seen 0";
    job.folder = "/nowhere";
    job.asks_per_node = true;
    job.state = nodes.empty() ? slurm::JobState::held : slurm::JobState::running;
    job.held_gpus.assign(nodes.size(), gpus_per_node);
    job.holds = {std::move(nodes), gpus_per_node};
    return job;
}

slurm::State state_of(std::vector<slurm::Node> nodes, std::vector<slurm::Job> jobs) {
    slurm::State state;
    state.time_seconds = 10000;
    state.nodes = std::move(nodes);
    state.jobs = std::move(jobs);
    return state;
}

struct Tried {
    slurm::Round round{};
    std::set<std::string> stopped{}, held{}, asked{};
};

Tried try_round(const slurm::State& state) {
    Tried tried;
    tried.round = slurm::Planner(30).plan(state);
    slurm::Log log("/dev/null");
    slurm::Hands hands(
        [&](slurm::Change change, const slurm::Job& job, const slurm::Goal&) -> std::string {
            if (change == slurm::Change::requeue_held) tried.stopped.insert(job.id);
            if (change == slurm::Change::hold) tried.held.insert(job.id);
            if (change == slurm::Change::ask) tried.asked.insert(job.id);
            return "";
        },
        log);
    hands.take_next_steps(state, tried.round);
    return tried;
}

const slurm::Node n0{"n0", "a100", 8}, n1{"n1", "a100", 8};

TEST_CASE("a running job whose node is not listed is left alone, and the others are planned") {
    for (const std::vector<slurm::Node>& nodes :
         {std::vector<slurm::Node>{}, std::vector<slurm::Node>{n1}, std::vector<slurm::Node>{n0}}) {
        const slurm::State state =
            state_of(nodes, {elastic("12", {"n2"}, 4), elastic("13"), elastic("14", {"n0", "n2"}, 8)});
        const Tried tried = try_round(state);
        CHECK(tried.stopped.empty());
        REQUIRE(tried.round.refused.contains("12"));
        CHECK(tried.round.refused.at("12").find("'n2'") != std::string::npos);
        CHECK(tried.round.refused.contains("14"));
        CHECK(!tried.round.goals.contains("12"));
        REQUIRE(tried.round.goals.contains("13"));
        // Job 14 keeps n0, as far as it exists.
        const bool free_node = !nodes.empty() && nodes.front().name == "n1";
        CHECK(tried.round.goals.at("13").share.empty() == !free_node);
        CHECK(tried.asked.contains("13") == free_node);
    }
}

TEST_CASE("a running job whose node has lost GPUs is left alone") {
    const slurm::Node shrunk{"n0", "a100", 6};
    const Tried alone = try_round(state_of({shrunk, n1}, {elastic("12", {"n0"}, 8), elastic("13")}));
    CHECK(alone.stopped.empty());
    CHECK(alone.round.refused.at("12").find("8, but must be at most the 6") != std::string::npos);
    REQUIRE(alone.round.goals.contains("13"));
    CHECK(alone.round.goals.at("13").share.nodes == std::vector<std::string>{"n1"});
    // The first job has room. The rest of the node belongs to the other one, and no third job gets it.
    const Tried both =
        try_round(state_of({shrunk}, {elastic("12", {"n0"}, 4), elastic("14", {"n0"}, 4), elastic("15")}));
    CHECK(!both.stopped.contains("14"));
    CHECK(both.round.refused.contains("14"));
    CHECK(both.round.goals.at("12").share.gpus_per_node + both.round.goals.at("15").share.gpus_per_node <= 4);
}

TEST_CASE("a running job is left alone if Slurm does not say what it holds") {
    slurm::Job untold = elastic("12", {"n0"}, 4), unclear = untold;
    untold.holds = {};
    untold.held_gpus.clear();
    unclear.unclear = "gres_detail is of 1 nodes, but the job has 2";
    for (const slurm::Job& job : {untold, unclear}) {
        const Tried tried = try_round(state_of({n0, n1}, {job}));
        CHECK(tried.stopped.empty());
        CHECK(tried.round.refused.contains("12"));
        // A goal from a round that knew it makes no difference.
        slurm::Round before;
        before.goals["12"] = {{{"n1"}, 8}, {}, ""};
        slurm::Log log("/dev/null");
        int changes = 0;
        slurm::Hands hands(
            [&](slurm::Change, const slurm::Job&, const slurm::Goal&) -> std::string {
                ++changes;
                return "";
            },
            log);
        hands.take_next_steps(state_of({n0, n1}, {job}), before);
        CHECK(changes == 0);
    }
}

TEST_CASE("a released job that cannot start where it was released for is planned anew") {
    slurm::Job waits = elastic("12");
    waits.state = slurm::JobState::pending;
    waits.asks = {{"n0"}, 8};
    // As long as the job can start there, it is on its way.
    const Tried sound = try_round(state_of({n0, n1}, {waits, elastic("13")}));
    CHECK(sound.round.goals.at("12").share == waits.asks);
    CHECK(sound.held.empty());

    slurm::Node silent = n0, drained = n0;
    silent.answers = false;
    drained.drained = true;
    for (const slurm::Node& lost : {silent, drained}) {
        CAPTURE(lost.drained);
        const Tried tried = try_round(state_of({lost, n1}, {waits}));
        CHECK(tried.round.goals.at("12").share.nodes == std::vector<std::string>{"n1"});
        CHECK(tried.held == std::set<std::string>{"12"});
        // Half of the GPUs it was released for do not suffice.
        slurm::Job wide = waits;
        wide.asks = {{"n0", "n1"}, 4};
        CHECK(try_round(state_of({lost, n1}, {wide})).round.goals.at("12").share.nodes ==
              std::vector<std::string>{"n1"});
        // A job does not wait for a node that no job gets.
        const Tried alone = try_round(state_of({lost}, {waits, elastic("13")}));
        CHECK(alone.round.goals.at("12").share.empty());
        CHECK(alone.held == std::set<std::string>{"12"});
        CHECK(alone.asked.empty());
        // A job that runs there stays.
        const Tried runs = try_round(state_of({lost, n1}, {elastic("14", {"n0"}, 4), waits}));
        CHECK(runs.stopped.empty());
        CHECK(runs.round.goals.at("12").share.nodes == std::vector<std::string>{"n1"});
    }
}

TEST_CASE("a job does not wait long if Slurm does not finish ending another one") {
    slurm::Job waits = elastic("12");
    waits.state = slurm::JobState::pending;
    waits.asks = {{"n0"}, 8};
    slurm::Node ends = n0;
    ends.ending = true;
    slurm::Planner planner(30);
    const auto node_at = [&](double seconds, const slurm::Node& first) {
        slurm::State state = state_of({first, n1}, {waits, elastic("14", {"n0"}, 4)});
        state.jobs.resize(first.ending ? 1 : 2);
        state.time_seconds = seconds;
        return planner.plan(state).goals.at("12").share.nodes;
    };
    const std::vector<std::string> here{"n0"}, elsewhere{"n1"};
    CHECK(node_at(10000, ends) == here);
    CHECK(node_at(10030, ends) == here);  // as long as a restart takes
    CHECK(node_at(10031, ends) == elsewhere);
    waits.asks = {{"n1"}, 8};
    CHECK(node_at(10040, ends) == elsewhere);
    // The next job that ends there gets its own time.
    waits.asks = {{"n0"}, 4};
    CHECK(node_at(10050, n0) == here);
    CHECK(node_at(10060, ends) == here);
}

TEST_CASE("a job that an operator holds has no GPUs kept for it") {
    slurm::Job withheld = elastic("12");
    withheld.held_by_admin = true;
    const Tried tried = try_round(state_of({n0}, {withheld, elastic("13")}));
    CHECK(!tried.round.goals.contains("12"));
    CHECK(tried.round.refused.empty());
    CHECK(tried.asked == std::set<std::string>{"13"});
    CHECK(tried.round.goals.at("13").share.gpus_per_node == 8);
}

TEST_CASE("a job with a deadline is promised its end in time, and runs at the latest when it has to") {
    slurm::Job paper = elastic("12");
    paper.comment += " work=2e6";
    std::vector<slurm::Job> jobs{paper};
    for (const char* other : {"13", "14", "15", "16", "17", "18", "19", "20"}) jobs.push_back(elastic(other));
    // The earliest deadline, in whole rounds, that can be promised leaves no time to wait.
    slurm::Round round;
    for (double seconds = 60; seconds < 1e5; seconds += 60) {
        jobs[0].deadline_seconds = 10000 + seconds;
        round = slurm::Planner(30).plan(state_of({n0}, jobs));
        if (round.goals.at("12").promise == "kept") break;
    }
    CHECK(round.goals.at("12").promise == "kept");
    CHECK(round.goals.at("12").share.gpus_per_node >= 1);
    CHECK(round.goals.at("13").promise.empty());

    jobs[0].comment = elastic("12").comment + " work=9e9";
    const slurm::Round late = slurm::Planner(30).plan(state_of({n0}, jobs));
    CHECK(late.goals.at("12").promise.starts_with("refused: it could not end"));
    jobs[0].comment = elastic("12").comment;
    const slurm::Round unknown = slurm::Planner(30).plan(state_of({n0}, jobs));
    CHECK(unknown.goals.at("12").promise.starts_with("refused: how much work"));
}

TEST_CASE("the cost of a restart is estimated from reported starts, unless the comment states it") {
    const std::filesystem::path folder = std::filesystem::temp_directory_path() / "goodput-slurm-starts-test";
    std::filesystem::create_directory(folder);
    const std::string line =
        R"({"gpu_type": "a100", "nodes": 1, "gpus": 1, "local_batch": 256, "accumulation": 0, "step_s": 0.256, "start_s": )";
    // Two runs. All reports of one run have the same start, which counts once.
    std::ofstream(folder / "goodput-12.reports") << line << "800}\n"
                                                 << line << "800}\n"
                                                 << line << "800}\n"
                                                 << line << "400}\n";
    // Returns the earliest deadline that the job, which has yet to start, can be promised.
    const auto earliest = [&](const std::string& comment, const std::string& reports) {
        slurm::Job paper = elastic("12");
        paper.comment = "goodput gpus=1-1 batch=256-256 local=a100:256-256 rate=a100:1000 work=1e6" + comment;
        paper.folder = reports;
        for (double seconds = 60;; seconds += 60) {
            slurm::Planner planner(30);
            paper.deadline_seconds = 0;
            planner.plan(state_of({}, {paper}));  // the planner reads the reports
            paper.deadline_seconds = 10000 + seconds;
            if (planner.plan(state_of({n0}, {paper})).goals.at("12").promise == "kept") return seconds;
            REQUIRE(seconds < 1e5);
        }
    };
    const double unknown = earliest("", "/nowhere"), reported = earliest("", folder.string());
    // (0.1 * 30 + 800 + 400) / 2.1 = 573 s instead of 30 s
    CHECK(reported - unknown >= 480);
    CHECK(reported - unknown <= 600);
    CHECK(earliest(" restart=30", folder.string()) == unknown);
    std::filesystem::remove_all(folder);
}

TEST_CASE("a comment probably meant for the controller is named, and the job is left alone") {
    const std::string sound = elastic("12").comment, rest = sound.substr(std::string("goodput").size());
    const auto said_of = [](const std::string& comment) {
        slurm::Job job = elastic("12");
        job.comment = comment;
        const Tried tried = try_round(state_of({n0}, {job, elastic("13")}));
        CHECK(tried.asked.contains("13"));
        CHECK(tried.asked.contains("12") == !tried.round.refused.contains("12"));
        return tried.round.refused.contains("12") ? tried.round.refused.at("12") : std::string();
    };
    CHECK(said_of(sound) == "");
    for (const char* first : {"godput", "Goodput", "goodputt", "good-put"}) {
        CAPTURE(first);
        CHECK(said_of(first + rest) == "job 12, comment: first word is '" + std::string(first) +
                                           "', but must be goodput, or the job is left as it is (did you "
                                           "mean goodput?)");
    }
    CHECK(said_of("godput gpus=1-8 bach=128-4096 local:a100:1-256").find("'godput'") != std::string::npos);
    CHECK(said_of(rest.substr(1)).find("first word is 'gpus=1-8', but must be goodput") != std::string::npos);
    CHECK(said_of("goodput gpu=1-8" + rest).find("key is gpu, but must be gpus, batch, ") !=
          std::string::npos);
    CHECK(said_of("goodput gpu=1-8" + rest).find("(did you mean gpus?)") != std::string::npos);

    // Comments written for other purposes.
    for (const char* other : {"", "good run", "gpus=4 of the old kind", "rerun of batch 12, rate=high"}) {
        CAPTURE(other);
        slurm::Job job = elastic("12");
        job.comment = other;
        const Tried tried = try_round(state_of({n0}, {job}));
        CHECK(tried.round.refused.empty());
        CHECK(tried.asked.empty());
    }
}

TEST_CASE("a job is released for GPUs in the words of its own request") {
    slurm::Job job = elastic("12");
    CHECK(slurm::gres_of(job, {{"n0"}, 4}) == "gres:gpu:4");
    job.gres_word = "gres/";
    job.gpu_type = "a100";
    CHECK(slurm::gres_of(job, {{"n0"}, 4}) == "gres/gpu:a100:4");
}

TEST_SUITE("data") {
    TEST_CASE("a list as a node's state, as since Slurm 23.02, takes no GPUs from running jobs") {
        const auto read = [](const char* name) {
            std::ifstream file(std::string(GOODPUT_DATA_DIR "/cases/slurm_nodes_state_list/") + name);
            return std::string(std::istreambuf_iterator<char>(file), {});
        };
        const slurm::State state =
            slurm::read_state(read("q.json"), read("n.json"), "10 RUNNING\n12 RUNNING\n", 1795590000);
        CHECK(state.nodes.size() == 2);
        const Tried tried = try_round(state);
        CHECK(tried.round.refused.empty());
        REQUIRE(tried.round.goals.contains("12"));
        CHECK(tried.round.goals.at("12").share.gpus_per_node >= 4);
    }
}

}  // namespace slurm_planner
