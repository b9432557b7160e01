// Timing entries of a program, "8*ffma+mufu" or "chain(iadd3+imad_x)", as the sequences of issue slots that a sub-core walks through.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "exec/machine.h"
#include "sm/op_table.h"

namespace ws {

struct IssueSlot {
  uint16_t op;   // index into OpTable::ops
  bool chained;  // waits for the result of the slot before
};

// The slots of one record: slots[first, first + count). count 0: executes for free with the next one. The record executes with slot
// `executes`: the last one, but of a memory instruction the last one of a memory pipe, which hands over the access.
struct Plan {
  uint32_t first = 0;
  uint32_t count = 0;
  uint32_t executes = 0;
};

// Grammar: sequence := item ('+' item)*;  item := [NUMBER '*'] (NAME | 'chain(' sequence ')').
class TimingPlans {
 public:
  // One plan a record. Throws std::invalid_argument for text that the grammar does not allow, for classes the GPU file lacks, and for
  // memory instructions whose entry names no class of a memory pipe.
  TimingPlans(const Program& program, const OpTable& table);
  const Plan& of(uint32_t record) const { return plans_[record]; }
  const IssueSlot& slot(uint32_t index) const { return slots_[index]; }

 private:
  std::vector<Plan> plans_;
  std::vector<IssueSlot> slots_;
};

std::vector<IssueSlot> parse_timing(const std::string& text, const OpTable& table);

}  // namespace ws
