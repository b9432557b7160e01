// Register-file read ports of a sub-core: which instructions need more than one cycle to collect their operands.
#pragma once

#include <cstdint>
#include <memory>

#include "base/config.h"
#include "exec/record.h"

namespace ws {

class RegisterFile {
 public:
  virtual ~RegisterFile() = default;
  // Cycles beyond the first that the reads of an issuing instruction keep the issue port busy. `reads`: register-use entries.
  virtual uint32_t read(uint32_t slot, const uint16_t* reads, uint32_t n) = 0;
  virtual void reset() = 0;
};

// core.register_file: "ideal" (never busy) or "banked" ([regfile]: banks, ports of a bank, operand-reuse cache).
std::unique_ptr<RegisterFile> make_register_file(const Config& config);

}  // namespace ws
