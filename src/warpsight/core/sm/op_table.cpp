#include "sm/op_table.h"

#include <algorithm>
#include <stdexcept>

namespace ws {
namespace {

constexpr size_t kMaxPipes = 32;  // sub-cores keep sets of pipes in 32-bit masks

}  // namespace

OpTable::OpTable(const Config& config) {
  std::unordered_map<std::string, uint8_t> pipe_index;
  for (const std::string& name : config.texts("pipe")) {
    const std::string at = "pipe." + name + ".";
    Pipe pipe;
    pipe.name = name;
    pipe.busy = stall_named(config.text(at + "busy"), at + "busy");
    pipe.result = stall_named(config.text(at + "result"), at + "result");
    pipe.memory = config.flag(at + "memory");
    pipe.shared = config.flag(at + "shared");
    for (const std::string& unit : config.texts(at + "units")) {
      auto it = std::find(units_.begin(), units_.end(), unit);
      if (it == units_.end()) it = units_.insert(units_.end(), unit);
      pipe.units.push_back(static_cast<uint8_t>(it - units_.begin()));
    }
    if (pipe.units.empty()) throw std::invalid_argument(at + "units: at least one is needed");
    pipe_index[name] = static_cast<uint8_t>(pipes_.size());
    pipes_.push_back(std::move(pipe));
  }
  if (pipes_.size() > kMaxPipes || units_.size() > kMaxPipes) throw std::invalid_argument("pipe: more than 32 pipes or units");
  for (const std::string& name : config.texts("op")) {
    const std::string at = "op." + name + ".";
    const auto pipe = pipe_index.find(config.text(at + "pipe"));
    if (pipe == pipe_index.end()) throw std::invalid_argument(at + "pipe: no pipe '" + config.text(at + "pipe") + "'");
    by_name_[name] = static_cast<uint16_t>(ops_.size());
    ops_.push_back({name, pipe->second, static_cast<uint16_t>(config.u(at + "latency")), static_cast<uint16_t>(config.u(at + "interval"))});
  }
}

uint16_t OpTable::find(const std::string& name) const {
  const auto it = by_name_.find(name);
  if (it == by_name_.end()) throw std::invalid_argument("GPU model has no operation class [op." + name + "]");
  return it->second;
}

}  // namespace ws
