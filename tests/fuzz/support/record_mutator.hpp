#ifndef GOODPUT_TESTS_FUZZ_SUPPORT_RECORD_MUTATOR_HPP
#define GOODPUT_TESTS_FUZZ_SUPPORT_RECORD_MUTATOR_HPP

// Mutates inputs made of fields and records (bytes.hpp): a field becomes another number of its kind or
// equal to its neighbours, a record is repeated, left out or swapped with another. This makes ties,
// duplicates and things that vanish and return, which changes of single bytes hardly ever do. Sometimes the
// fuzzer's own mutations have a turn. The result depends on the seed alone.
//
// Include this in one source of a fuzz target: it defines the functions that libFuzzer looks for.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "fuzz/support/bytes.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace fuzz {

using Record = std::array<std::uint32_t, record_fields>;

class RecordMutator {
public:
    RecordMutator(const std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed)
        : most_(max_size / record_bytes), state_(seed) {
        for (std::size_t begin = 0; begin < size; begin += record_bytes) {
            records_.emplace_back();
            std::memcpy(records_.back().data(), data + begin, std::min(record_bytes, size - begin));
        }
    }

    void mutate() {
        for (std::size_t changes = 1 + below(4); changes > 0; --changes) change();
    }

    /// Inserts records of another input, or replaces some by them.
    void take_from(const std::vector<Record>& other) {
        if (other.empty()) return;
        for (std::size_t runs = 1 + below(3); runs > 0; --runs) {
            const std::size_t from = below(other.size()), count = std::min(other.size() - from, 1 + below(8)),
                              at = below(records_.size() + 1);
            if (below(2) == 0) records_.erase(place(at), place(std::min(records_.size(), at + count)));
            const auto first = other.begin() + static_cast<std::ptrdiff_t>(from);
            records_.insert(place(at), first, first + static_cast<std::ptrdiff_t>(count));
        }
    }

    [[nodiscard]] const std::vector<Record>& records() const { return records_; }

    /// Writes as many whole records as there is room for, and returns their bytes.
    std::size_t write(std::uint8_t* data) const {
        const std::size_t count = std::min(records_.size(), most_);
        for (std::size_t r = 0; r < count; ++r)
            std::memcpy(data + r * record_bytes, records_[r].data(), record_bytes);
        return count * record_bytes;
    }

private:
    std::uint64_t random() {  // splitmix64
        std::uint64_t z = state_ += 0x9E3779B97F4A7C15U;
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9U;
        z = (z ^ (z >> 27)) * 0x94D049BB133111EBU;
        return z ^ (z >> 31);
    }
    std::size_t below(std::size_t n) { return n == 0 ? 0 : random() % n; }
    std::vector<Record>::iterator place(std::size_t record) {
        return records_.begin() + static_cast<std::ptrdiff_t>(record);
    }

    /// Returns a field that Bytes reads as a small number, an ordinary one, one of the ties, or a hostile
    /// one.
    std::uint32_t new_field() {
        const auto any = static_cast<std::uint32_t>(random());
        const auto kind_of = [&](unsigned kind, std::uint32_t value) {
            return (value << 8) | kind | (any & (255U - kind));
        };
        switch (below(8)) {
            case 0:
            case 1:
                return any % 9;
            case 2:
                return 1U << (any % 32);
            case 3:
                return kind_of(hostile_kind, any >> 8);
            case 4:
            case 5:
                return kind_of(tie_kind, any >> 8) & ~0x40U;
            default:
                return any & ~std::uint32_t{tie_kind};
        }
    }

    void change_field(std::uint32_t& field) {
        switch (below(5)) {
            case 0:
                field += 1;
                break;
            case 1:
                field -= 1;
                break;
            case 2:  // the number next to the kind
                field += static_cast<std::uint32_t>(below(2) == 0 ? 256 : -256);
                break;
            default:
                field = new_field();
        }
    }

    void change() {
        if (records_.empty() || below(24) == 0) {
            Record fresh{};
            for (std::uint32_t& field : fresh) field = new_field();
            records_.insert(place(below(records_.size() + 1)), fresh);
            return;
        }
        const std::size_t one = below(records_.size()), other = below(records_.size()),
                          column = below(record_fields);
        switch (below(16)) {
            case 0:  // an equal of another record
                records_[one] = records_[other];
                break;
            case 1:
            case 2:
                records_.insert(place(one), Record(records_[other]));
                break;
            case 3:  // the same and a little different
                records_.insert(place(one), Record(records_[one]));
                change_field(records_[one][column]);
                break;
            case 4:
                records_.erase(place(one));
                break;
            case 5:
                std::swap(records_[one], records_[other]);
                break;
            case 6: {  // repeats a run of records
                const std::size_t count = std::min(records_.size() - one, 1 + below(12));
                const std::vector<Record> run(place(one), place(one + count));
                records_.insert(place(other), run.begin(), run.end());
                break;
            }
            case 7:
                records_.erase(place(one), place(std::min(records_.size(), one + 1 + below(12))));
                break;
            case 8:
            case 9:  // the same number in the same column
                records_[one][column] = records_[other][column];
                break;
            case 10:
                records_[one][column] = records_[other][below(record_fields)];
                break;
            case 11: {  // makes a column of equal numbers
                const std::uint32_t field = records_[one][column];
                for (std::size_t r = one; r <= other; ++r) records_[r][column] = field;
                break;
            }
            default:
                change_field(records_[one][column]);
        }
    }

    std::vector<Record> records_;
    std::size_t most_;
    std::uint64_t state_;
};

}  // namespace fuzz

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size,
                                               unsigned seed) {
    if (seed % 16 == 0 || max_size < fuzz::record_bytes) return LLVMFuzzerMutate(data, size, max_size);
    fuzz::RecordMutator mutator(data, size, max_size, seed);
    mutator.mutate();
    return mutator.write(data);
}

extern "C" std::size_t LLVMFuzzerCustomCrossOver(const std::uint8_t* data, std::size_t size,
                                                 const std::uint8_t* other, std::size_t other_size,
                                                 std::uint8_t* out, std::size_t max_size, unsigned seed) {
    fuzz::RecordMutator mutator(data, size, max_size, seed);
    mutator.take_from(fuzz::RecordMutator(other, other_size, max_size, seed).records());
    return mutator.write(out);
}

#endif
