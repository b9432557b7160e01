// One instruction as the engine and the core see it. Python (engine/program.py) fills these tables; nothing here knows an ISA.
#pragma once

#include <cstdint>

namespace ws {

// What the engine does with an instruction besides calling its handler.
enum class Kind : uint8_t {
  Alu = 0,            // handler only
  Memory = 1,         // handler that may touch memory; addresses are left in the context
  Branch = 2,         // guarded jump to `target`
  BranchIndexed = 3,  // operand 0: row offset of the index; `target`: first entry in the branch table, `aux`: number of entries
  Call = 4,           // `target`: first record of the function; `aux`: caller's frame size in bytes
  CallIndirect = 5,
  Return = 6,  // from a function; in an entry it exits
  Exit = 7,
  Trap = 8,
  Breakpoint = 9,
  Barrier = 10,   // `sub`: BarrierOp; operands: barrier id, thread count (or -1), result row, predicate row; `aux`: BarrierOperandFlags
  WarpSync = 11,  // bar.warp.sync; operand 0: member mask (row, or immediate when aux & 1)
  SyncAlu = 12,   // shfl, vote, match, redux, elect: as WarpSync for its member mask (operand index `sub`), then the handler
  Fence = 13,     // `sub`: scope (0 cta, 1 cluster, 2 gpu, 3 sys)
  Sleep = 14,     // nanosleep: operand 0 (row, or immediate when aux & 1) is in ns
  Nop = 15,
};

enum class BarrierOp : uint8_t { Sync = 0, Arrive = 1, RedPopc = 2, RedAnd = 3, RedOr = 4 };
enum BarrierOperandFlags : uint32_t { kBarrierIdImm = 1, kBarrierCountImm = 2, kBarrierPredNegate = 4, kBarrierUnaligned = 8 };

enum class Space : uint8_t { Global = 0, Shared = 1, Local = 2, Const = 3, Param = 4, Generic = 5 };
enum class MemoryOp : uint8_t { None = 0, Load = 1, Store = 2, Atomic = 3, Reduction = 4, Prefetch = 5 };
enum class CacheOp : uint8_t {
  Ca = 0,
  Cg = 1,
  Cs = 2,
  Lu = 3,
  Cv = 4,
  Nc = 5,
  Wb = 6,
  Wt = 7,
  Volatile = 8,
  Relaxed = 9,
  Acquire = 10,
  Release = 11
};

inline constexpr int kWarpSize = 32;
inline constexpr uint8_t kGuardNegate = 1, kUniformBranch = 2, kVectorAccess = 4;
inline constexpr uint8_t kWholeWarp = 8;  // waits, like SyncAlu, until all lanes of the warp that have not exited are here
inline constexpr int32_t kNoGuard = -1;

// `regs` = the warp's register block plus the frame offset; `operands` = the record's first operand. See docs/architecture.md.
struct WarpContext;
using Handler = void (*)(uint8_t* regs, const int64_t* operands, uint32_t mask, WarpContext* context);

struct alignas(64) Record {
  Handler handler;        //  0 compiled semantics, or null
  uint32_t operands;      //  8 first entry in the operand pool
  int32_t guard;          // 12 byte offset of the guard predicate in the frame, kNoGuard: none
  uint32_t target;        // 16 branch or call target (record index), or first entry of the branch table
  uint32_t aux;           // 20 by kind
  uint32_t uses;          // 24 first entry in the register-use pool: reads, then writes
  uint32_t address;       // 28 byte address of the instruction in its code (16 bytes per issue slot)
  uint32_t line;          // 32 PTX line
  uint16_t timing;        // 36 entry of the program's timing table
  uint16_t n_operands;    // 38
  Kind kind;              // 40
  uint8_t flags;          // 41 kGuardNegate, kUniformBranch, kVectorAccess, kWholeWarp
  uint8_t n_reads;        // 42
  uint8_t n_writes;       // 43
  uint8_t sub;            // 44 by kind
  Space space;            // 45 of a memory access
  MemoryOp memory_op;     // 46
  CacheOp cache_op;       // 47
  uint8_t bytes;          // 48 per lane, of a memory access
  uint8_t scope;          // 49 0 none/cta, 1 cluster, 2 gpu, 3 sys
  uint8_t element_bytes;  // 50 of one element of a vector access
  uint8_t reserved[13];
};
static_assert(sizeof(Record) == 64, "the NumPy dtype in engine/program.py mirrors this layout");

// Register-use pool entries (uint16): a 32-bit register unit by its index in the frame, or kPredicateUse | predicate index.
inline constexpr uint16_t kPredicateUse = 0x8000;

}  // namespace ws
