// Operation classes ([op.NAME] of the GPU file) and the pipes they issue to ([pipe.NAME]).
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/config.h"
#include "sm/stall.h"

namespace ws {

// What an instruction asks for when it issues. A pipe is one or more execution units, of which any will do: `fma` is the heavy or the lite
// half.
struct Pipe {
  std::string name;
  std::vector<uint8_t> units;  // indices of units, in the order of preference
  Stall busy;                  // reason of a warp that waits for the pipe
  Stall result;                // reason of a warp that waits for a result
  bool memory = false;         // hands accesses to the load/store unit
  bool shared = false;         // one for the SM, not for each sub-core
};

struct OpClass {
  std::string name;
  uint8_t pipe;
  uint16_t latency;   // cycles from issue to the issue of a dependent instruction
  uint16_t interval;  // cycles the unit is busy
};

class OpTable {
 public:
  explicit OpTable(const Config& config);  // throws std::invalid_argument naming the key
  const std::vector<Pipe>& pipes() const { return pipes_; }
  const std::vector<std::string>& units() const { return units_; }
  const std::vector<OpClass>& ops() const { return ops_; }
  uint16_t find(const std::string& name) const;  // throws std::invalid_argument

 private:
  std::vector<Pipe> pipes_;
  std::vector<std::string> units_;
  std::vector<OpClass> ops_;
  std::unordered_map<std::string, uint16_t> by_name_;
};

}  // namespace ws
