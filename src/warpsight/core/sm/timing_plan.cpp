#include "sm/timing_plan.h"

#include <cctype>
#include <stdexcept>
#include <string_view>

namespace ws {
namespace {

constexpr size_t kMaxSlots = 1 << 16;  // of one entry; a typing mistake in a count should not eat the host's memory

class Parser {
 public:
  Parser(std::string_view text, const OpTable& table) : text_(text), table_(table) {}

  std::vector<IssueSlot> run() {
    if (text_.empty()) return {};
    std::vector<IssueSlot> out = sequence(false);
    if (at_ != text_.size()) fail("'+' or the end expected");
    return out;
  }

 private:
  std::vector<IssueSlot> sequence(bool chained) {
    std::vector<IssueSlot> out = item(chained);
    while (take("+")) {
      const std::vector<IssueSlot> more = item(chained);
      out.insert(out.end(), more.begin(), more.end());
    }
    return out;
  }

  std::vector<IssueSlot> item(bool chained) {
    uint32_t times = 1;
    if (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_]))) {
      times = 0;
      while (at_ < text_.size() && std::isdigit(static_cast<unsigned char>(text_[at_])) && times < kMaxSlots)
        times = times * 10 + (text_[at_++] - '0');
      if (!take("*")) fail("'*' expected after a count");
    }
    std::vector<IssueSlot> once;
    if (take("chain(")) {
      once = sequence(true);
      if (!take(")")) fail("')' expected");
      once.front().chained = chained;  // the first step of a group waits only if the group does
    } else {
      const size_t start = at_;
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) || text_[at_] == '_')) ++at_;
      if (at_ == start) fail("an operation class expected");
      once.push_back({table_.find(std::string(text_.substr(start, at_ - start))), chained});
    }
    if (times * once.size() > kMaxSlots) fail("too many slots");
    std::vector<IssueSlot> out;
    for (uint32_t i = 0; i < times; ++i) out.insert(out.end(), once.begin(), once.end());
    return out;
  }

  bool take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) return false;
    at_ += word.size();
    return true;
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw std::invalid_argument("timing entry '" + std::string(text_) + "', column " + std::to_string(at_ + 1) + ": " + what);
  }

  std::string_view text_;
  const OpTable& table_;
  size_t at_ = 0;
};

}  // namespace

std::vector<IssueSlot> parse_timing(const std::string& text, const OpTable& table) {
  std::vector<IssueSlot> slots = Parser(text, table).run();
  if (!slots.empty()) slots.front().chained = false;
  return slots;
}

TimingPlans::TimingPlans(const Program& program, const OpTable& table) {
  struct Entry {
    Plan plan;
    uint32_t access;  // last slot of a memory pipe, or kNone
  };
  constexpr uint32_t kNone = ~0u;
  std::vector<Entry> entries;
  for (const std::string& text : program.timing) {
    const std::vector<IssueSlot> slots = parse_timing(text, table);
    const uint32_t first = static_cast<uint32_t>(slots_.size()), count = static_cast<uint32_t>(slots.size());
    Entry entry{{first, count, first + count - 1}, kNone};
    for (uint32_t i = 0; i < count; ++i)
      if (table.pipes()[table.ops()[slots[i].op].pipe].memory) entry.access = first + i;
    slots_.insert(slots_.end(), slots.begin(), slots.end());
    entries.push_back(entry);
  }
  plans_.reserve(program.records.size());
  for (const Record& record : program.records) {
    if (record.timing >= entries.size())
      throw std::invalid_argument("record of PTX line " + std::to_string(record.line) + " has no timing entry");
    const bool folded = record.space == Space::Param || record.space == Space::Const;  // an operand from the constant bank
    const Entry& entry = entries[record.timing];
    const bool access = record.kind == Kind::Memory && entry.access != kNone;
    if (record.kind == Kind::Memory && !access && !folded)
      throw std::invalid_argument("timing entry '" + program.timing[record.timing] + "' of the memory instruction of PTX line " +
                                  std::to_string(record.line) + " has no class of a memory pipe");
    plans_.push_back(entry.plan);
    if (access) plans_.back().executes = entry.access;
  }
}

}  // namespace ws
