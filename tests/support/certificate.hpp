#ifndef GOODPUT_TESTS_SUPPORT_CERTIFICATE_HPP
#define GOODPUT_TESTS_SUPPORT_CERTIFICATE_HPP

// Checks VIPR certificates like check_proof.py (which explains more of what is wrong), for tests and fuzz
// targets that write many small ones. Supports what the library's certificates contain: maximise, asm, lin,
// rnd, uns.

#include <cstddef>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <boost/multiprecision/cpp_int.hpp>

namespace support {

class Certificate {
public:
    using Number = boost::multiprecision::cpp_rational;

    /// Returns what is wrong with the certificate, or an empty text if it is a proof.
    static std::string complaint(const std::string& text) {
        try {
            Certificate(text).check();
            return "";
        } catch (const std::exception& error) {
            return error.what();
        }
    }

private:
    using Sum = std::map<std::size_t, Number>;
    struct Row {
        int sense = 0;  // -1: at most, 1: at least
        Number rhs = 0;
        Sum sum{};
        std::set<std::size_t> assumed{};

        [[nodiscard]] bool absurd() const {
            return sum.empty() && ((sense <= 0 && rhs < 0) || (sense >= 0 && rhs > 0));
        }
        [[nodiscard]] bool dominates(const Row& other) const {
            if (absurd()) return true;
            if (sum != other.sum || (sense != 0 && sense != other.sense)) return false;
            return other.sense == 0  ? rhs == other.rhs
                   : other.sense < 0 ? rhs <= other.rhs
                                     : rhs >= other.rhs;
        }
    };

    explicit Certificate(const std::string& text) : in_(text) {}

    static void require(bool holds, const char* what, std::size_t row = 0) {
        if (!holds) throw std::runtime_error(std::string(what) + ", row " + std::to_string(row));
    }
    std::string word() {
        std::string next;
        require(static_cast<bool>(in_ >> next), "the text ends early");
        return next;
    }
    void keyword(const char* wanted) { require(word() == wanted, wanted); }
    std::size_t index(std::size_t below) {
        const std::size_t at = std::stoul(word());
        require(at < below, "an index is out of range", at);
        return at;
    }
    Number number() { return Number(word()); }
    Sum sum() {
        const std::string count = word();
        if (count == "OBJ") return objective_;
        Sum sum;
        for (std::size_t left = std::stoul(count); left > 0; --left) {
            const std::size_t variable = index(variables_);
            if (const Number coefficient = number(); coefficient != 0) sum[variable] = coefficient;
        }
        return sum;
    }
    Row row() {
        word();
        Row row;
        const std::string sense = word();
        row.sense = sense == "L" ? -1 : sense == "G" ? 1 : 0;
        row.rhs = number();
        row.sum = sum();
        return row;
    }
    static bool whole(const Number& number) { return denominator(number) == 1; }
    static bool whole(const Sum& sum) {
        for (const auto& [variable, coefficient] : sum)
            if (!whole(coefficient)) return false;
        return true;
    }
    static Number times(const Sum& a, const Sum& b) {
        Number product = 0;
        for (const auto& [variable, coefficient] : a)
            if (const auto it = b.find(variable); it != b.end()) product += coefficient * it->second;
        return product;
    }

    void check() {
        std::string first = word();
        for (std::string rest; first == "%"; first = word()) std::getline(in_, rest);
        require(first == "VER" && word() == "1.1", "VER 1.1");
        keyword("VAR");
        variables_ = std::stoul(word());
        for (std::size_t v = 0; v < variables_; ++v) word();
        keyword("INT");
        require(std::stoul(word()) == variables_, "all variables are whole");
        for (std::size_t v = 0; v < variables_; ++v) require(index(variables_) == v, "each once", v);
        keyword("OBJ");
        keyword("max");
        objective_ = sum();
        keyword("CON");
        const std::size_t given = std::stoul(word());
        word();
        while (rows_.size() < given) rows_.push_back(row());
        keyword("RTP");
        const bool range = word() == "range";
        const std::string lower = range ? word() : "-inf";
        const Number upper = range ? number() : Number(0);
        keyword("SOL");
        if (word() == "1") {
            word();
            const Sum values = sum();
            require(range && whole(values), "a solution in parts");
            for (std::size_t r = 0; r < given; ++r) {
                const Number used = times(rows_[r].sum, values);
                require(rows_[r].sense < 0   ? used <= rows_[r].rhs
                        : rows_[r].sense > 0 ? used >= rows_[r].rhs
                                             : used == rows_[r].rhs,
                        "the solution breaks a row", r);
            }
            require(times(objective_, values) >= Number(lower), "the solution is worth less");
        } else {
            require(lower == "-inf", "there is no solution");
        }
        keyword("DER");
        for (std::size_t left = std::stoul(word()); left > 0; --left) derive();
        const Row& last = rows_.back();
        require(last.assumed.empty(), "assumptions are left", rows_.size());
        require(range ? last.dominates({-1, upper, objective_}) : last.absurd(), "the end is another");
    }

    void derive() {
        const std::size_t at = rows_.size();
        Row derived = row();
        keyword("{");
        const std::string reason = word();
        if (reason == "asm") {
            derived.assumed = {at};
        } else if (reason == "uns") {
            const std::size_t a = index(at), one = index(at), b = index(at), other = index(at);
            const Row &less = rows_[rows_[one].sense < 0 ? one : other],
                      &more = rows_[rows_[one].sense < 0 ? other : one];
            require(less.sense < 0 && more.sense > 0 && less.sum == more.sum && whole(less.sum) &&
                        whole(less.rhs) && more.rhs == less.rhs + 1,
                    "no two sides", at);
            require(rows_[a].dominates(derived) && rows_[b].dominates(derived), "a side does not imply it",
                    at);
            std::set<std::size_t> first = rows_[a].assumed, second = rows_[b].assumed;
            first.erase(one);
            second.erase(other);
            first.merge(second);
            derived.assumed = first;
        } else {
            require(reason == "lin" || reason == "rnd", "a reason", at);
            Row combined;
            for (std::size_t left = std::stoul(word()); left > 0; --left) {
                const Row& used = rows_[index(at)];
                const Number multiplier = number();
                const int sense = multiplier > 0 ? used.sense : -used.sense;
                require(sense == 0 || combined.sense == 0 || sense == combined.sense, "a multiplier's sign",
                        at);
                if (sense != 0) combined.sense = sense;
                combined.rhs += multiplier * used.rhs;
                for (const auto& [variable, coefficient] : used.sum)
                    combined.sum[variable] += multiplier * coefficient;
                combined.assumed.insert(used.assumed.begin(), used.assumed.end());
            }
            std::erase_if(combined.sum, [](const auto& entry) { return entry.second == 0; });
            if (reason == "rnd") {
                require(whole(combined.sum) && combined.sense < 0, "nothing to round", at);
                const auto above = numerator(combined.rhs), below = denominator(combined.rhs);
                combined.rhs = Number(above / below - (above < 0 && above % below != 0 ? 1 : 0));
            }
            require(combined.dominates(derived), "it derives something else", at);
            derived.assumed = combined.assumed;
        }
        keyword("}");
        word();
        rows_.push_back(derived);
    }

    std::istringstream in_;
    std::size_t variables_ = 0;
    Sum objective_;
    std::vector<Row> rows_;
};

}  // namespace support

#endif
